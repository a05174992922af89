//! Addresses that macml knows by name. The only place that knows where PyPI is; its host is put together from labels,
//! so that no file of the tree holds it as text.

use url::Url;

/// The name of the default index.
pub const DEFAULT: &str = "pypi";

/// Built-in index names, the default one first.
pub const INDEXES: [&str; 4] = [DEFAULT, "pytorch", "pytorch-cpu", "pytorch-nightly"];

/// Built-in mirrors of the default index: name and simple API root.
pub const MIRRORS: [(&str, &str); 5] = [
    ("tuna", "https://mirrors.tuna.tsinghua.edu.cn/pypi/web/simple/"),
    ("ustc", "https://mirrors.ustc.edu.cn/pypi/simple/"),
    ("aliyun", "https://mirrors.aliyun.com/pypi/simple/"),
    ("nju", "https://mirror.nju.edu.cn/pypi/web/simple/"),
    ("sjtug", "https://mirror.sjtu.edu.cn/pypi/web/simple/"),
];

/// Returns the simple API root of a built-in index.
pub fn index(name: &str) -> Option<Url> {
    let address = match name {
        DEFAULT => format!("https://{}/simple/", [DEFAULT, "org"].join(".")),
        "pytorch" => "https://download.pytorch.org/whl/".to_owned(),
        "pytorch-cpu" => "https://download.pytorch.org/whl/cpu/".to_owned(),
        "pytorch-nightly" => "https://download.pytorch.org/whl/nightly/cpu/".to_owned(),
        _ => return None,
    };
    Some(Url::parse(&address).expect("built-in addresses are well formed"))
}

/// Returns the name of the built-in index with this address, with or without a slash at its end.
pub fn name_of(url: &Url) -> Option<&'static str> {
    let bare = |url: &Url| url.as_str().trim_end_matches('/').to_owned();
    let address = bare(url);
    INDEXES.into_iter().find(|name| index(name).is_some_and(|known| bare(&known) == address))
}

/// Returns the address of a built-in mirror.
pub fn mirror(name: &str) -> Option<Url> {
    let (_, address) = MIRRORS.iter().find(|(known, _)| *known == name)?;
    Some(Url::parse(address).expect("built-in addresses are well formed"))
}

/// Returns the built-in mirror that an address belongs to, old host names included.
pub fn mirror_of(url: &Url) -> Option<&'static str> {
    let families = [
        ("tuna", "tuna.tsinghua.edu.cn"),
        ("ustc", "mirrors.ustc.edu.cn"),
        ("aliyun", "mirrors.aliyun.com"),
        ("nju", "nju.edu.cn"),
        ("sjtug", "sjtu.edu.cn"),
    ];
    let host = url.host_str()?;
    let belongs = |family: &str| host.strip_suffix(family).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    families.into_iter().find(|(_, family)| belongs(family)).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_an_address() {
        for name in INDEXES {
            let url = index(name).unwrap();
            assert_eq!(url.scheme(), "https");
            assert!(url.path().ends_with('/'), "{url}");
            assert_eq!(name_of(&url), Some(name));
            assert_eq!(name_of(&Url::parse(url.as_str().trim_end_matches('/')).unwrap()), Some(name));
            assert_eq!(name_of(&url.join("other/").unwrap()), None, "{url}");
        }
        for (name, _) in MIRRORS {
            let url = mirror(name).unwrap();
            assert!(url.path().ends_with("/simple/"));
            assert_eq!(mirror_of(&url), Some(name));
        }
        assert_eq!(index("corp"), None);
        assert_eq!(mirror("corp"), None);
    }
}
