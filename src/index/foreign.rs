//! Indexes that pip or uv are set to: reported with the line that would adopt them, never adopted.

use url::Url;

use crate::diag::Code;
use crate::diag::Finding;
use crate::sys::Env;
use crate::sys::fs;
use crate::sys::http;

use super::builtin;

/// Variables of pip and uv that name an index, best known first.
const VARIABLES: [&str; 3] = ["PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL"];
/// Files of pip below the home folder.
const FILES: [&str; 3] = [".config/pip/pip.conf", "Library/Application Support/pip/pip.conf", ".pip/pip.conf"];

/// Finds a setting of pip or uv for another index than the default one.
pub(super) fn setting(env: &Env) -> Option<Finding> {
    let variables = VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), env.get(name)?.to_owned())));
    let files = FILES.iter().filter_map(|name| {
        // What cannot be read is pip's business.
        let text = fs::read_text(&env.home()?.join(name)).ok()??;
        Some((format!("~/{name}"), index_url(&text)?.to_owned()))
    });
    let (place, address) = variables.chain(files).next()?;
    let url = Url::parse(&address).ok()?;
    if builtin::index(builtin::DEFAULT).is_some_and(|own| own.host() == url.host()) {
        return None;
    }
    let shown = http::shown(&url);
    let known = builtin::MIRRORS.iter().find(|(name, _)| {
        builtin::mirror(name).and_then(|one| one.host().map(|host| host.to_owned()))
            == url.host().map(|host| host.to_owned())
    });
    let name = known.map_or(shown.as_str(), |(name, _)| name);
    let message = format!("`{place}` sets pip or uv to `{shown}`, which macml does not use");
    Some(Finding::note(Code::ForeignIndexSetting, message).hinting(format!(
        "to fetch from there, write `mirrors = [\"{name}\"]` into config.toml or set MACML_MIRROR={name}"
    )))
}

/// Returns the value of `index-url` in the text of a pip.conf.
fn index_url(text: &str) -> Option<&str> {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    let found =
        pairs.map(|(key, value)| (key.trim(), value.trim())).find(|(key, _)| matches!(*key, "index-url" | "index_url"));
    found.map(|(_, value)| value).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(vars: &[(&str, &str)], expected: Option<&str>) {
        let vars = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let finding = setting(&Env::from_map(vars, "/".into()));
        assert_eq!(finding.and_then(|finding| finding.hint).as_deref(), expected);
    }

    #[test]
    fn another_index_is_reported_with_the_line_that_adopts_it() {
        check(&[], None);
        check(
            &[("UV_DEFAULT_INDEX", "https://user:secret@packages.example.com/simple")],
            Some(
                "to fetch from there, write `mirrors = [\"https://packages.example.com/simple\"]` into config.toml or \
                 set MACML_MIRROR=https://packages.example.com/simple",
            ),
        );
        check(
            &[("PIP_INDEX_URL", "https://mirrors.tuna.tsinghua.edu.cn/pypi/web/simple")],
            Some("to fetch from there, write `mirrors = [\"tuna\"]` into config.toml or set MACML_MIRROR=tuna"),
        );
    }

    #[test]
    fn pip_conf_is_understood() {
        assert_eq!(index_url("[global]\nindex-url = https://a.example/simple\n"), Some("https://a.example/simple"));
        assert_eq!(index_url("[global]\ntimeout = 60\n"), None);
    }
}
