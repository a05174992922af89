//! Index settings of pip and uv: reported, with the line that would adopt them, and never adopted.
//!
//! A user behind a mirror has often told pip so years ago and wonders why macml is slow or refused.

use std::path::{Path, PathBuf};

use url::Url;

use super::builtin;
use super::config::{Config, Mirror};
use crate::diag::{Code, Finding};
use crate::sys::Env;
use crate::sys::fs;
use crate::sys::http::shown;

/// Files of pip that hold for every user.
const SYSTEM: [&str; 2] = ["/etc/pip.conf", "/Library/Application Support/pip/pip.conf"];

/// Finds where pip or uv would ask another index than `config` does; `project` is the folder of macml.toml.
/// Files that cannot be read are passed over: they are not ours.
pub fn foreign_settings(config: &Config, project: &Path) -> Vec<Finding> {
    settings(&config.env, Some(project), &SYSTEM.map(PathBuf::from))
        .into_iter()
        .filter(|setting| !is_known(setting, config))
        .map(|setting| setting.finding())
        .collect()
}

/// An index that pip or uv is set to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignIndex {
    /// `pip` or `uv`.
    pub tool: &'static str,
    /// The variable, or file and key.
    pub place: String,
    /// The name of one that macml knows, else the address, without user, password and query.
    pub index: String,
}

/// Lists every index that pip or uv is set to, those that macml uses too; `root` is that of the machine. Files that cannot be
/// read are passed over.
pub fn foreign_indexes(env: &Env, project: Option<&Path>, root: &Path) -> Vec<ForeignIndex> {
    let system = SYSTEM.map(|path| root.join(path.trim_start_matches('/')));
    let found = settings(env, project, &system).into_iter();
    found
        .map(|Setting { tool, place, url, .. }| {
            let known = builtin::name_of(&url);
            ForeignIndex { tool, place, index: known.map_or_else(|| shown(&url), str::to_owned) }
        })
        .collect()
}

/// An address that pip or uv would ask.
#[derive(Debug, PartialEq, Eq)]
struct Setting {
    /// `pip` or `uv`.
    tool: &'static str,
    /// The variable, or file and key.
    place: String,
    url: Url,
    role: Role,
}

/// What the address is for.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Role {
    /// In the place of the default index.
    Default,
    /// Beside it.
    Extra,
}

impl Setting {
    fn finding(&self) -> Finding {
        let address = shown(&self.url);
        let message = format!("{} names the index `{address}`, which macml does not use", self.place);
        let hint = match self.role {
            Role::Default => {
                let mirror = builtin::mirror_of(&self.url).unwrap_or(&address);
                format!("to use it, write `mirrors = [\"{mirror}\"]` into ~/.config/macml/config.toml")
            }
            Role::Extra => {
                format!("to use it, write `[[index]]`, `name = \"…\"` and `url = \"{address}\"` into macml.toml")
            }
        };
        let finding = Finding::note(Code::ForeignIndexSetting, message).hinting(hint);
        if self.url.username().is_empty() && self.url.password().is_none() {
            finding
        } else {
            finding.noting("its user and password belong into ~/.netrc")
        }
    }
}

fn is_known(setting: &Setting, config: &Config) -> bool {
    let bare = |url: &Url| shown(url).trim_end_matches('/').to_owned();
    let url = bare(&setting.url);
    let same = |mirror: &Mirror| bare(&mirror.url) == url || builtin::mirror_of(&setting.url) == Some(&mirror.label);
    config.mirrors.iter().any(same) || config.canonical().iter().any(|(_, known)| bare(known) == url)
}

fn settings(env: &Env, project: Option<&Path>, system: &[PathBuf]) -> Vec<Setting> {
    let mut found = Vec::new();
    let variables = [
        ("PIP_INDEX_URL", Role::Default),
        ("PIP_EXTRA_INDEX_URL", Role::Extra),
        ("UV_DEFAULT_INDEX", Role::Default),
        ("UV_INDEX_URL", Role::Default),
        ("UV_INDEX", Role::Extra),
        ("UV_EXTRA_INDEX_URL", Role::Extra),
    ];
    for (name, role) in variables {
        let tool = if name.starts_with("PIP") { "pip" } else { "uv" };
        add(&mut found, tool, &format!("the variable `{name}`"), env.get(name).unwrap_or_default(), role);
    }
    for path in pip_files(env, system) {
        pip_file(&mut found, &path);
    }
    for path in uv_files(env, project) {
        uv_file(&mut found, &path);
    }
    found
}

/// Adds every address of a list; uv writes `name=address`.
fn add(found: &mut Vec<Setting>, tool: &'static str, place: &str, text: &str, role: Role) {
    for one in text.split_whitespace() {
        let named = one.split_once('=').filter(|(name, _)| !name.contains([':', '/', '?']));
        let address = named.map_or(one, |(_, address)| address);
        let url = Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
        found.extend(url.map(|url| Setting { tool, place: place.to_owned(), url, role }));
    }
}

fn pip_files(env: &Env, system: &[PathBuf]) -> Vec<PathBuf> {
    let mut files = system.to_vec();
    if let Some(home) = env.home() {
        files.push(home.join("Library/Application Support/pip/pip.conf"));
        files.push(home.join(".pip/pip.conf"));
        files.push(env.get("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from).join("pip/pip.conf"));
    }
    files.extend(env.get("VIRTUAL_ENV").map(|folder| Path::new(folder).join("pip.conf")));
    files.extend(env.get("PIP_CONFIG_FILE").map(PathBuf::from));
    files
}

/// Reads `index-url` and `extra-index-url`, whose value may go on in indented lines.
fn pip_file(found: &mut Vec<Setting>, path: &Path) {
    let Some(text) = text_of(path) else { return };
    let mut role = None;
    for line in text.lines() {
        let line_ = line.trim();
        if line_.is_empty() || line_.starts_with(['#', ';', '[']) {
            role = role.filter(|_| !line_.starts_with('['));
            continue;
        }
        let mut value = line_;
        if !line.starts_with([' ', '\t']) {
            let Some((key, rest)) = line_.split_once(['=', ':']) else { continue };
            role = match key.trim().replace('_', "-").as_str() {
                "index-url" => Some((Role::Default, "index-url")),
                "extra-index-url" => Some((Role::Extra, "extra-index-url")),
                _ => None,
            };
            value = rest;
        }
        if let Some((role, key)) = role {
            add(found, "pip", &format!("`{key}` in `{}`", path.display()), value, role);
        }
    }
}

fn uv_files(env: &Env, project: Option<&Path>) -> Vec<PathBuf> {
    if let Some(file) = env.get("UV_CONFIG_FILE") {
        return vec![file.into()];
    }
    let mut files: Vec<PathBuf> =
        project.into_iter().flat_map(|project| ["uv.toml", "pyproject.toml"].map(|name| project.join(name))).collect();
    let base = env.get("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| Some(env.home()?.join(".config")));
    files.extend(base.map(|base| base.join("uv/uv.toml")));
    files
}

/// Reads a file of settings; what is none, or is longer than any, says nothing.
fn text_of(path: &Path) -> Option<String> {
    const MOST: u64 = 4 << 20;
    String::from_utf8(fs::read_plain(path, MOST).ok()??).ok()
}

fn uv_file(found: &mut Vec<Setting>, path: &Path) {
    let Some(text) = text_of(path) else { return };
    let Ok(mut table) = text.parse::<toml::Table>() else { return };
    if path.file_name().is_some_and(|name| name == "pyproject.toml") {
        let uv = table.remove("tool").and_then(|tool| tool.get("uv").and_then(toml::Value::as_table).cloned());
        let Some(uv) = uv else { return };
        table = uv;
    }
    if let Some(pip) = table.get("pip").and_then(toml::Value::as_table).cloned() {
        uv_table(found, path, &pip);
    }
    uv_table(found, path, &table);
}

fn uv_table(found: &mut Vec<Setting>, path: &Path, table: &toml::Table) {
    let place = |key: &str| format!("`{key}` in `{}`", path.display());
    let text = |value: &toml::Value| value.as_str().unwrap_or_default().to_owned();
    if let Some(value) = table.get("index-url") {
        add(found, "uv", &place("index-url"), &text(value), Role::Default);
    }
    for value in table.get("extra-index-url").and_then(toml::Value::as_array).into_iter().flatten() {
        add(found, "uv", &place("extra-index-url"), &text(value), Role::Extra);
    }
    for index in table.get("index").and_then(toml::Value::as_array).into_iter().flatten() {
        let default = index.get("default").and_then(toml::Value::as_bool).unwrap_or_default();
        let url = index.get("url").map(text).unwrap_or_default();
        add(found, "uv", &place("[[index]]"), &url, if default { Role::Default } else { Role::Extra });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn check(vars: &[(&str, &str)], files: &[(&str, &str)], wanted: &[(&str, &str)]) {
        let home = tempfile::tempdir().unwrap();
        for (path, text) in files {
            fs::write_atomic(&home.path().join(path), text.as_bytes(), fs::Durability::Cached).unwrap();
        }
        let mut map = BTreeMap::from([("HOME".to_owned(), home.path().display().to_string())]);
        map.extend(vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let config = Config::new(Env::from_map(map, home.path().to_owned()));
        let found = settings(&config.env, Some(&home.path().join("project")), &[]);
        let findings: Vec<_> = found.iter().filter(|one| !is_known(one, &config)).map(Setting::finding).collect();
        assert_eq!(findings.len(), wanted.len(), "{findings:?}");
        for (finding, (message, hint)) in findings.iter().zip(wanted) {
            assert!(finding.message.contains(message), "{}", finding.message);
            assert!(finding.hint.as_ref().unwrap().contains(hint), "{finding:?}");
            assert!(!format!("{finding:?}").contains("s3cret"));
        }
    }

    #[test]
    fn variables_of_pip_and_uv() {
        check(&[], &[], &[]);
        check(
            &[("PIP_INDEX_URL", "https://mirrors.aliyun.com/pypi/simple")],
            &[],
            &[("PIP_INDEX_URL", "[\"aliyun\"]")],
        );
        let corp = "https://me:s3cret@corp.example/simple";
        check(
            &[("UV_DEFAULT_INDEX", corp)],
            &[],
            &[("`https://corp.example/simple`", "[\"https://corp.example/simple\"]")],
        );
        check(
            &[("UV_INDEX", "corp=https://corp.example/a https://b.example/")],
            &[],
            &[("corp.example/a", "[[index]]"), ("b.example", "[[index]]")],
        );
        check(&[("PIP_INDEX_URL", builtin::index("pypi").unwrap().as_str())], &[], &[]);
    }

    #[test]
    fn files_of_pip_and_uv() {
        let pip = "[global]\ntimeout = 60\nindex-url = https://pypi.tuna.tsinghua.edu.cn/simple\n[install]\n\
                   extra-index-url =\n    https://a.example/simple\n    https://b.example/simple\ntrusted-host = c.example\n";
        let three = [("index-url", "[\"tuna\"]"), ("a.example", "[[index]]"), ("b.example", "[[index]]")];
        check(&[], &[(".config/pip/pip.conf", pip)], &three);
        check(&[], &[(".pip/pip.conf", pip)], &three);
        let uv = "[[index]]\nurl = \"https://mirror.sjtu.edu.cn/pypi/web/simple\"\ndefault = true\n";
        check(&[], &[(".config/uv/uv.toml", uv)], &[("[[index]]", "[\"sjtug\"]")]);
        let project = "[tool.uv.pip]\nindex-url = \"https://corp.example/simple\"\n";
        check(&[], &[("project/pyproject.toml", project)], &[("pyproject.toml", "corp.example")]);
        check(&[], &[("project/pyproject.toml", "[project]\nname = \"x\"\n"), (".config/uv/uv.toml", "no toml")], &[]);
    }
}
