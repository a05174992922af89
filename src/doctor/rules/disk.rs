//! Volumes and folders: no room, nothing to write to, formats without links, folders that are synchronized, hidden files:
//! bug report R23.

use crate::diag::{Code, few};
use crate::doctor::facts::{Facts, Folder};
use crate::doctor::{Diagnosis, Subject};
use crate::knowledge::Knowledge;
use crate::sys::disk::Bytes;

/// An environment with torch takes about this much where nothing can be linked, twice while one is built beside the other.
const LITTLE: u64 = 3 << 30;

/// Not even one of the large wheels.
const NONE: u64 = 1 << 29;

pub(super) fn findings(facts: &Facts, _knowledge: &Knowledge) -> Vec<Diagnosis> {
    let of = |folder: &Folder| {
        let all = of_folder(folder).into_iter();
        all.map(|diagnosis| diagnosis.about(&folder.folder)).collect::<Vec<_>>()
    };
    let mut found: Vec<Diagnosis> = facts.folders.iter().flat_map(of).collect();
    // Folders of one volume have the same room.
    let mut told: Vec<Option<u64>> = Vec::new();
    found.retain(|one| {
        let folder = facts.folders.iter().find(|folder| Some(&folder.folder) == one.about.as_ref());
        let free = folder.and_then(|folder| folder.free);
        let again = one.code == Code::DiskFull && told.contains(&free);
        if one.code == Code::DiskFull {
            told.push(free);
        }
        !again
    });
    for environment in facts.environments.iter().filter(|one| !one.hidden.is_empty()) {
        let seen = format!("{} in environment `{}` are hidden", few(&environment.hidden, 3), environment.folder);
        let why = "Python skips `.pth` files that have the hidden flag, which iCloud Drive sets on names that begin with a dot";
        let diagnosis = Diagnosis::error(Code::HiddenFiles, Subject::Environment, seen, why).about(&environment.folder);
        let command = format!("chflags -R nohidden {}", super::python::quoted(&environment.folder));
        found.push(
            diagnosis.remedy("take the flag off, and keep environments out of synchronized folders").command(command),
        );
    }
    found
}

fn of_folder(folder: &Folder) -> Vec<Diagnosis> {
    let mut found = Vec::new();
    let path = &folder.folder;
    if folder.of == "temporary" && folder.writable == Some(false) {
        let seen = format!("temporary files cannot be written: TMPDIR is `{path}`");
        let why = "installers and compilers stop where they want to write there";
        let diagnosis = Diagnosis::error(Code::TemporaryFolder, Subject::Disk, seen, why);
        found.push(diagnosis.remedy("unset TMPDIR, or let it name a folder of yours").command("unset TMPDIR"));
    }
    let written = match folder.of.as_str() {
        "project" => Some("macml.lock and `.venv` are written there: nothing can be locked or built"),
        "cache" => Some("what is downloaded is kept there: nothing can be built"),
        _ => None,
    };
    if let Some(why) = written.filter(|_| folder.writable == Some(false)) {
        let seen = format!("`{path}` cannot be written to by this user");
        let diagnosis = Diagnosis::error(Code::VolumeUnfit, Subject::Disk, seen, why);
        let quoted = super::python::quoted(path);
        found.push(
            diagnosis
                .remedy("make it yours again, as after `sudo macml`, or take another folder")
                .command(format!("sudo chown -R \"$(id -un)\" {quoted}")),
        );
    }
    if let Some(free) =
        folder.free.filter(|free| *free < LITTLE && folder.of != "temporary" && folder.of != "environment")
    {
        let seen = format!("the volume of `{path}` has {} left", Bytes(free));
        let why = "torch alone takes more when it is unpacked; an install that runs out of room stops half-way";
        let diagnosis = match free < NONE {
            true => Diagnosis::error(Code::DiskFull, Subject::Disk, seen, why),
            false => Diagnosis::warning(Code::DiskFull, Subject::Disk, seen, why),
        };
        found.push(
            diagnosis.remedy("let go of what nothing uses, first of macml's own cache").command("macml cache prune"),
        );
    }
    if folder.links == Some(false) && folder.of == "project" {
        let format = folder.format.as_deref().unwrap_or("unknown");
        let seen = format!("the volume of `{path}` ({format}) cannot hold links");
        let why = "`.venv` is a link to the environment that counts, and environments are made of links";
        let diagnosis = Diagnosis::warning(Code::VolumeUnfit, Subject::Disk, seen, why);
        found.push(diagnosis.remedy("move the project to a volume in APFS"));
    }
    let holds = ["environments", "environment"].contains(&folder.of.as_str());
    if let Some(service) = folder.synchronized_by.as_deref().filter(|_| holds) {
        let what = if folder.of == "environment" { "an environment lies" } else { "environments lie" };
        let seen = format!("{what} in `{path}`, which {service} synchronizes");
        let why = "it takes files away, adds some with other names and hides them while Python runs";
        let diagnosis = Diagnosis::warning(Code::SyncedFolder, Subject::Disk, seen, why);
        found.push(diagnosis.remedy("move the project to a folder that is not synchronized"));
    }
    found
}
