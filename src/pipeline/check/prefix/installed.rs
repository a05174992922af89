//! The distributions of a tree, with what their installers noted of them.

use std::collections::BTreeSet;

use crate::check::contents::Tree;
use crate::environment;
use crate::install;
use crate::install::Recorded;
use crate::pep::PackageName;
use crate::pep::Version;
use crate::pep::WheelName;
use crate::sys::fs;
use crate::sys::fs::FsError;
use crate::sys::parallel;
use crate::sys::tree;

/// The longest of their small files that is read.
const LONGEST: u64 = 1 << 20;

/// The longest RECORD that is read: 100,000 files have 10 MB.
const LONGEST_RECORD: u64 = 256 << 20;

/// A distribution.
#[derive(Debug)]
pub(in crate::pipeline) struct Distribution {
    /// Its folder of metadata, from the root.
    pub(in crate::pipeline) folder: String,
    /// Its name.
    pub(in crate::pipeline) name: PackageName,
    /// Its version as the folder is named.
    pub(in crate::pipeline) text: String,
    /// The same, where it is one.
    pub(in crate::pipeline) version: Option<Version>,
    /// What RECORD says; `None` where there is none that can be read. Paths are from the root; those outside are left out.
    pub(in crate::pipeline) record: Option<Vec<Recorded>>,
    /// Whether what it is by is the older `.egg-info`, which never has a RECORD.
    pub(in crate::pipeline) egg: bool,
    /// The tags of its wheel.
    pub(in crate::pipeline) tags: Vec<String>,
    /// The folder that it is worked on in, where it was installed so.
    pub(in crate::pipeline) editable: Option<String>,
    /// Who installed it, where that was noted.
    pub(in crate::pipeline) installer: Option<String>,
}

/// Reads them, in the order of their folders.
pub(in crate::pipeline) fn read(tree: &Tree) -> Result<Vec<Distribution>, FsError> {
    let found = environment::distribution_folders(&tree.root.join(&tree.site))?;
    let read = |(entry, package): &(String, environment::Package)| {
        let name = package.name.parse().ok()?;
        let folder = format!("{}/{entry}", tree.site);
        let egg = entry.ends_with(".egg-info");
        // `a-1.0-py3.12.egg-info`: only there a hyphen follows.
        let text = match package.version.split_once("-py") {
            Some((version, _)) if egg => version.to_owned(),
            _ => package.version.clone(),
        };
        let version = text.parse().ok();
        let small = |file: &str| small(tree, &format!("{folder}/{file}"));
        let tags = small("WHEEL").map(|bytes| tags(&String::from_utf8_lossy(&bytes))).unwrap_or_default();
        let editable = small("direct_url.json").and_then(|bytes| editable(&bytes));
        let installer = small("INSTALLER").map(|text| String::from_utf8_lossy(text.trim_ascii()).into_owned());
        let record = record(tree, &folder);
        Some(Distribution { folder, name, text, version, record, egg, tags, editable, installer })
    };
    Ok(parallel::map(&found, tree::workers(), read).into_iter().flatten().collect())
}

/// Reads a small file of a tree; `None` for whatever is none.
pub(in crate::pipeline) fn small(tree: &Tree, path: &str) -> Option<Vec<u8>> {
    let path = tree.root.join(path);
    match fs::kind(&path) {
        // A pipe would be waited for.
        Ok(Some(fs::Kind::File)) => fs::read_start(&path, LONGEST).ok().flatten(),
        _ => None,
    }
}

fn record(tree: &Tree, folder: &str) -> Option<Vec<Recorded>> {
    let path = tree.root.join(folder).join("RECORD");
    let rows = install::recorded(&fs::read_plain(&path, LONGEST_RECORD).ok()??)?;
    let inside = |row: Recorded| Some(Recorded { path: install::from_root(&tree.site, &row.path)?, ..row });
    Some(rows.into_iter().filter_map(inside).collect())
}

/// Reads the lines `Tag:` of WHEEL.
fn tags(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| Some(line.strip_prefix("Tag:")?.trim().to_owned())).collect()
}

/// Returns the folder that an editable install leads to, from direct_url.json.
fn editable(bytes: &[u8]) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    let is = value.get("dir_info")?.get("editable")?.as_bool()?;
    let url = value.get("url")?.as_str()?;
    is.then(|| url.strip_prefix("file://").unwrap_or(url).to_owned())
}

impl Distribution {
    /// Makes the name of a wheel with its tags.
    pub(super) fn wheel(&self) -> Option<WheelName> {
        let mut parts: [BTreeSet<&str>; 3] = Default::default();
        for tag in &self.tags {
            let of_tag: Vec<&str> = tag.split('-').collect();
            for (parts, part) in parts.iter_mut().zip(<[&str; 3]>::try_from(of_tag).ok()?) {
                parts.insert(part);
            }
        }
        let parts = parts.map(|parts| parts.into_iter().collect::<Vec<_>>().join("."));
        let name = self.name.as_str().replace('-', "_");
        format!("{name}-{}-{}.whl", self.version.as_ref()?, parts.join("-")).parse().ok()
    }

    /// Names it with its release.
    pub(super) fn release(&self) -> String {
        format!("`{}` {}", self.name, self.text)
    }

    /// Lists the platforms that its wheel is for: `macosx_14_0_arm64`, `any`.
    pub(super) fn platforms(&self) -> impl Iterator<Item = &str> {
        self.tags.iter().filter_map(|tag| tag.rsplit('-').next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wheels_are_told_by_their_tags() {
        let wheel = |tags: &[&str]| {
            let one = Distribution {
                folder: String::new(),
                name: "a-b".parse().unwrap(),
                text: "1.0".to_owned(),
                version: "1.0+cpu".parse().ok(),
                record: None,
                egg: false,
                tags: tags.iter().map(ToString::to_string).collect(),
                editable: None,
                installer: None,
            };
            one.wheel().map(|wheel| wheel.to_string())
        };
        let named = |name: &str| Some(name.to_owned());
        assert_eq!(wheel(&["cp312-cp312-macosx_14_0_arm64"]), named("a_b-1.0+cpu-cp312-cp312-macosx_14_0_arm64.whl"));
        assert_eq!(wheel(&["py2-none-any", "py3-none-any"]), named("a_b-1.0+cpu-py2.py3-none-any.whl"));
        assert_eq!((wheel(&[]), wheel(&["py3-any"])), (None, None));
    }

    #[test]
    fn what_is_worked_on_elsewhere() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(editable(text.as_bytes()).as_deref(), expected, "{text}");
        };
        check(r#"{"url": "file:///src/a", "dir_info": {"editable": true}}"#, Some("/src/a"));
        check(r#"{"url": "file:///src/a", "dir_info": {}}"#, None);
        check(r#"{"url": "https://example.com/a.whl", "archive_info": {}}"#, None);
        check("[", None);
    }
}
