//! Folders whose volume counts: its format and room, who keeps it in step with other machines, what can be done there.

use std::path::{Path, PathBuf};

use crate::doctor::Facts;
use crate::doctor::facts::Folder;
use crate::environment;
use crate::sys;
use crate::sys::disk;
use crate::sys::fs::FsError;
use crate::sys::tree;

use super::Look;
use super::glance::unseen;

/// Formats of which it is known that links can be made there. Of others one is made, for a moment.
const WITH_LINKS: [&str; 8] = ["apfs", "hfs", "ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay"];

/// Looks at folders and their volumes.
pub(super) fn folders(look: &Look<'_>, facts: &mut Facts) {
    let temporary = look.env.get("TMPDIR").map_or_else(|| look.at("/tmp"), PathBuf::from);
    let environments = look.env.folder(sys::Folder::Data).map(|data| data.join("macml"));
    let all = [
        ("project", look.project.clone()),
        ("cache", look.cache.clone()),
        ("environments", environments),
        ("temporary", Some(temporary)),
    ];
    // Those of other tools lie where they were made, and nobody moves them out of a folder that is synchronized.
    let foreign =
        facts.environments.iter().filter(|one| one.there && !one.unreadable && one.kind.as_deref() != Some("macml"));
    let foreign: Vec<PathBuf> = foreign.map(|one| PathBuf::from(&one.folder)).collect();
    let all = all.into_iter().filter_map(|(of, folder)| Some((of, folder?)));
    let all: Vec<(&str, PathBuf)> = all.chain(foreign.into_iter().map(|folder| ("environment", folder))).collect();
    for (of, folder) in all {
        match one(&folder, of, look.env.home()) {
            Ok(found) => facts.folders.push(found),
            Err(error) => unseen(facts, format!("the folder `{}`", folder.display()), error.cause),
        }
    }
}

/// Looks at a folder, or where it is not there yet at the one in which it would be made.
fn one(folder: &Path, of: &str, home: Option<&Path>) -> Result<Folder, FsError> {
    let mut found = Folder { folder: folder.display().to_string(), of: of.to_owned(), ..Folder::default() };
    let mut nearest = None;
    for above in folder.ancestors() {
        if let Some(there) = sys::resolve(above)? {
            nearest = Some((above, there));
            break;
        }
    }
    let Some((above, there)) = nearest else { return Ok(found) };
    let whole = folder.strip_prefix(above).map_or_else(|_| there.clone(), |below| there.join(below));
    found.format = disk::format(&there)?;
    found.free = Some(disk::space(&there)?.free);
    found.synchronized_by = match home {
        Some(home) => environment::synchronized_by(&whole, home)?.map(service),
        None => None,
    };
    let writable = tree::may_make(folder).is_ok();
    found.writable = Some(writable);
    let known = found.format.as_deref().is_some_and(|format| WITH_LINKS.contains(&format));
    found.links = match (known, writable) {
        (true, _) => Some(true),
        (false, true) => Some(tree::may_link(&there, ".macml-").is_ok()),
        (false, false) => None,
    };
    Ok(found)
}

/// Says a service as people see it.
fn service(program: String) -> String {
    if program == "iCloud" { "iCloud Drive".to_owned() } else { program }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Laid;
    use super::*;

    #[test]
    fn each_folder_is_told_with_its_volume() {
        let laid = Laid::new(&[
            ("home/Library/Mobile Documents/com~apple~CloudDocs/p/macml.toml", ""),
            ("home/x", ""),
            ("tmp/x", ""),
        ]);
        let home = laid.root().join("home");
        let mut facts = Facts::default();
        let env = laid.env(&[]);
        let look = Look {
            project: Some(home.join("Library/Mobile Documents/com~apple~CloudDocs/p")),
            cache: Some(home.join("Dropbox/not/yet")),
            ..laid.looking(&env)
        };
        folders(&look, &mut facts);
        let told: Vec<_> = facts.folders.iter().map(|one| (one.of.as_str(), one.synchronized_by.as_deref())).collect();
        let expected = [
            ("project", Some("iCloud Drive")),
            ("cache", Some("Dropbox")),
            ("environments", None),
            ("temporary", None),
        ];
        assert_eq!(told, expected);
        for folder in &facts.folders {
            assert!(folder.free.unwrap() > 0 && folder.writable.unwrap() && folder.links == Some(true), "{folder:?}");
        }
        assert!(facts.unseen.is_empty());
    }

    #[test]
    fn a_folder_that_cannot_be_looked_at_is_a_line() {
        let laid = Laid::new(&[("tmp/x", "")]);
        laid.link("round", "round");
        let env = laid.env(&[("TMPDIR", laid.root().join("tmp/x/below").to_str().unwrap())]);
        let look = Look { cache: Some(laid.root().join("round")), ..laid.looking(&env) };
        let mut facts = Facts::default();
        folders(&look, &mut facts);
        assert!(facts.unseen[0].what.ends_with("/round`"), "{:?}", facts.unseen);
        // Something that is no folder is none that can be written to.
        let temporary = facts.folders.iter().find(|one| one.of == "temporary").unwrap();
        assert_eq!((temporary.writable, temporary.free.is_some()), (Some(false), true));
    }
}
