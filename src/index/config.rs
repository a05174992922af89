//! `Config`: how indexes are reached in one run, from config.toml, `MACML_*` variables and the manifest's `[[index]]`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use url::Url;

use super::builtin;
use super::user_config::UserConfig;
use crate::diag::Finding;
use crate::diag::Source;
use crate::sys::fs::{self, FsError};
use crate::sys::{Env, Folder};

/// How indexes are reached in one run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The manifest's indexes. One with a built-in name takes the built-in one's place.
    pub indexes: Vec<IndexAddress>,
    /// Stand-ins, in the order in which they are tried.
    pub mirrors: Vec<Mirror>,
    /// Never ask an index that has a mirror.
    pub mirror_only: bool,
    /// Use only what is cached.
    pub offline: bool,
    /// Where pages and metadata are kept; `None` keeps nothing.
    pub cache_dir: Option<PathBuf>,
    /// The most bytes that the cache may keep; `None` sets no limit.
    pub cache_size: Option<u64>,
    /// Whether `macml verify` may build its native probe without being asked to.
    pub build_native_probe: bool,
    /// `exclude-newer` is set: every wheel must have an upload time.
    pub need_upload_times: bool,
    /// PEM files trusted beside the store.
    pub certificates: Vec<PathBuf>,
    /// How long a server may stay silent; `None` is the usual time.
    pub stall: Option<Duration>,
    /// Proxies, certificates and secrets.
    pub env: Env,
}

/// Which config.toml is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConfigFile {
    /// The one at the usual place, if there is one.
    Usual,
    /// This one, which must be there.
    Named(PathBuf),
    /// None.
    Nothing,
}

/// An index of the manifest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexAddress {
    /// Its name.
    pub name: String,
    /// Its simple API root.
    pub url: Url,
}

/// A stand-in for an index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mirror {
    /// The index it stands in for.
    pub index: String,
    /// What to call it: the built-in name, or the address without secrets.
    pub label: String,
    /// Its simple API root.
    pub url: Url,
}

/// Why there is no [`Config`].
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// config.toml cannot be read.
    #[error(transparent)]
    File(#[from] FsError),
    /// config.toml has mistakes.
    #[error("`{}` has mistakes", .file.name)]
    Mistakes {
        /// Its text.
        file: Source,
        /// Every mistake.
        findings: Vec<Finding>,
    },
    /// The config.toml that was named is not there.
    #[error("there is no `{}`", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A variable cannot be meant.
    #[error("`{variable}`: {reason}")]
    Variable {
        /// Its name.
        variable: &'static str,
        /// What is wrong.
        reason: String,
    },
}

impl Config {
    /// Makes the configuration of an empty config.toml: no mirrors, the usual cache.
    pub fn new(env: Env) -> Self {
        Self {
            indexes: Vec::new(),
            mirrors: Vec::new(),
            mirror_only: false,
            offline: false,
            cache_dir: default_cache(&env),
            cache_size: None,
            build_native_probe: false,
            need_upload_times: false,
            certificates: Vec::new(),
            stall: None,
            env,
        }
    }

    /// Reads `file` and the variables `MACML_MIRROR`, `MACML_MIRROR_ONLY`, `MACML_OFFLINE`, `MACML_CACHE_DIR`,
    /// which go before it.
    ///
    /// # Errors
    /// When the file cannot be read, or anything in it or in a variable cannot be meant.
    pub fn load(env: Env, file: &ConfigFile) -> Result<Self, ConfigError> {
        let path = match file {
            ConfigFile::Usual => config_file(&env),
            ConfigFile::Named(path) => Some(path.clone()),
            ConfigFile::Nothing => None,
        };
        let user = match path {
            Some(path) => match settings(&path)? {
                Some(text) => UserConfig::parse(&text, env.home()).map_err(|findings| ConfigError::Mistakes {
                    file: Source { name: path.display().to_string(), text },
                    findings,
                })?,
                None if matches!(file, ConfigFile::Named(_)) => return Err(ConfigError::Missing { path }),
                None => UserConfig::default(),
            },
            None => UserConfig::default(),
        };
        let mut config = Self::new(env);
        config.mirrors = user.mirrors;
        config.mirror_only = user.mirror_only;
        config.offline = user.offline;
        config.certificates = user.certificates;
        config.cache_size = user.cache_size;
        config.build_native_probe = user.build_native_probe;
        if let Some(text) = config.env.get("MACML_MIRROR") {
            let mirrors = text.split([',', ' ']).filter(|part| !part.is_empty()).map(Mirror::parse);
            config.mirrors = mirrors
                .collect::<Result<_, _>>()
                .map_err(|reason| ConfigError::Variable { variable: "MACML_MIRROR", reason })?;
        }
        if let Some(switch) = switch(&config.env, "MACML_MIRROR_ONLY")? {
            config.mirror_only = switch;
        }
        if let Some(switch) = switch(&config.env, "MACML_OFFLINE")? {
            config.offline = switch;
        }
        if config.env.get("MACML_CACHE_DIR").is_none() {
            config.cache_dir = user.cache_dir.or(config.cache_dir);
        }
        Ok(config)
    }

    /// Returns every index with its own address.
    pub(super) fn canonical(&self) -> Vec<(String, Url)> {
        let built_in = builtin::INDEXES.iter().filter_map(|name| Some(((*name).to_owned(), builtin::index(name)?)));
        let named = |name: &str| self.indexes.iter().any(|index| index.name == name);
        let mut all: Vec<_> = built_in.filter(|(name, _)| !named(name)).collect();
        all.extend(self.indexes.iter().map(|index| (index.name.clone(), index.url.clone())));
        all
    }
}

/// Reads the user's settings; what stands there instead of a file has no end, or none that is waited for.
fn settings(path: &Path) -> Result<Option<String>, FsError> {
    match fs::kind(path)? {
        Some(fs::Kind::File) | None => fs::read_text(path),
        Some(_) => {
            let cause = std::io::Error::other("it is no file");
            Err(FsError { doing: "read", path: path.to_owned(), cause })
        }
    }
}

impl Mirror {
    /// Reads `tuna`, an address (both for the default index), or `INDEX=ADDRESS`.
    ///
    /// # Errors
    /// Says what is wrong, as a lowercase fragment without secrets.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(url) = builtin::mirror(text) {
            return Ok(Self { index: builtin::DEFAULT.to_owned(), label: text.to_owned(), url });
        }
        let (index, address) = match text.split_once('=') {
            Some((index, address)) if !index.contains(['/', ':', '?']) => (index.trim(), address.trim()),
            _ => (builtin::DEFAULT, text),
        };
        if !address.contains("://") {
            let names = builtin::MIRRORS.map(|(name, _)| format!("`{name}`")).join(", ");
            // What has an `@` may be an address whose beginning was forgotten, with a password in it.
            let address = if address.contains('@') { "the text" } else { &format!("`{address}`") };
            return Err(format!("{address} is neither a known mirror ({names}) nor an address"));
        }
        Self::at(index, address)
    }

    /// Makes a mirror of `index` at `address`.
    ///
    /// # Errors
    /// Says what is wrong with the address, without secrets.
    pub fn at(index: &str, address: &str) -> Result<Self, String> {
        let url = Url::parse(address).map_err(|cause| format!("the address of a mirror cannot be read: {cause}"))?;
        let label = crate::sys::http::shown(&url);
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("`{label}` begins with `{}:`, not `https:`", url.scheme()));
        }
        Ok(Self { index: index.to_owned(), label, url })
    }
}

/// Returns where config.toml is looked for: `$XDG_CONFIG_HOME/macml`, else `~/.config/macml`.
pub fn config_file(env: &Env) -> Option<PathBuf> {
    Some(env.folder(Folder::Config)?.join("macml/config.toml"))
}

fn default_cache(env: &Env) -> Option<PathBuf> {
    match env.get("MACML_CACHE_DIR") {
        Some(folder) => Some(env.cwd().join(folder)),
        None => Some(env.folder(Folder::Cache)?.join("macml")),
    }
}

fn switch(env: &Env, variable: &'static str) -> Result<Option<bool>, ConfigError> {
    match env.get(variable) {
        None => Ok(None),
        Some("1" | "true" | "yes") => Ok(Some(true)),
        Some("0" | "false" | "no") => Ok(Some(false)),
        Some(other) => Err(ConfigError::Variable { variable, reason: format!("`{other}` is neither `1` nor `0`") }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn load(vars: &[(&str, &str)], file: &str) -> Result<Config, ConfigError> {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        fs::write_atomic(&home.path().join(".config/macml/config.toml"), file.as_bytes(), fs::Durability::Cached)?;
        let mut map = BTreeMap::from([("HOME".to_owned(), home.path().display().to_string())]);
        map.extend(vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        Config::load(Env::from_map(map, "/project".into()), &ConfigFile::Usual)
    }

    fn labels(config: &Config) -> Vec<(&str, &str)> {
        config.mirrors.iter().map(|mirror| (&*mirror.index, &*mirror.label)).collect()
    }

    #[test]
    fn variables_go_before_the_file() {
        let file = "mirrors = [\"tuna\"]\nmirror-only = true\ncache-dir = \"/big\"\n";
        let config = load(&[], file).unwrap();
        assert_eq!((labels(&config), config.mirror_only, config.offline), (vec![("pypi", "tuna")], true, false));
        assert_eq!(config.cache_dir, Some("/big".into()));
        let vars = [
            ("MACML_MIRROR", "ustc, pytorch=https://m.example/whl https://me:s3cret@a.example/simple?a=b"),
            ("MACML_MIRROR_ONLY", "0"),
            ("MACML_OFFLINE", "1"),
            ("MACML_CACHE_DIR", "cache"),
        ];
        let config = load(&vars, file).unwrap();
        let wanted = [("pypi", "ustc"), ("pytorch", "https://m.example/whl"), ("pypi", "https://a.example/simple")];
        assert_eq!(labels(&config), wanted);
        assert_eq!((config.mirror_only, config.offline), (false, true));
        assert_eq!(config.cache_dir, Some("/project/cache".into()));
    }

    #[test]
    fn folders() {
        let env = |vars: &[(&str, &str)]| {
            let vars = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            Config::new(Env::from_map(vars.collect(), "/project".into())).cache_dir
        };
        assert_eq!(env(&[("HOME", "/home/me")]), Some("/home/me/.cache/macml".into()));
        assert_eq!(env(&[("HOME", "/home/me"), ("XDG_CACHE_HOME", "/x")]), Some("/x/macml".into()));
        assert_eq!(env(&[("HOME", "/home/me"), ("XDG_CACHE_HOME", "x")]), Some("/home/me/.cache/macml".into()));
        assert_eq!(env(&[]), None);
    }

    #[test]
    fn mistakes_are_named_without_secrets() {
        let check = |vars: &[(&str, &str)], file: &str, parts: &[&str]| {
            let error = load(vars, file).unwrap_err().to_string();
            assert!(parts.iter().all(|part| error.contains(part)), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        };
        check(&[("MACML_MIRROR", "tuno")], "", &["`MACML_MIRROR`", "`tuno`", "`tuna`"]);
        check(&[("MACML_MIRROR", "me:s3cret@a.example")], "", &["`MACML_MIRROR`", "nor an address"]);
        check(&[("MACML_MIRROR", "https://me:s3cret@:99999/")], "", &["`MACML_MIRROR`"]);
        check(&[("MACML_OFFLINE", "maybe")], "", &["`MACML_OFFLINE`", "`maybe`"]);
        check(&[], "mirors = 1", &["config.toml", "mistakes"]);
    }
}
