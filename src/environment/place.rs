//! `Place`: where an environment of a project lies, and what stands at its link.
//!
//! In the project, unless another program keeps the project's folder in step with other machines, or its volume is made for
//! carrying files about: neither leaves links, modes and thousands of files as they are.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use super::generation::GenerationName;
use crate::pep::Sha256;
use crate::sys;
use crate::sys::disk;
use crate::sys::fs::FsError;
use crate::sys::tree;

/// The folder of a project that is macml's.
pub(super) const OWN: &str = ".macml";

/// Where an environment of a project lies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The project's folder with every link followed, so that it is one however it is reached.
    pub project: PathBuf,
    /// The environment's name.
    pub env: String,
    /// What people and editors name: `.venv`, or `.venv-NAME`.
    pub link: PathBuf,
    /// The folder of its generations.
    pub store: PathBuf,
    /// Why that is not in the project.
    pub elsewhere: Option<Elsewhere>,
    /// Where environments lie that are not in their project.
    foreign: Option<PathBuf>,
}

/// Why the environments of a project do not lie in it. As text it follows "the project".
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Elsewhere {
    /// This program keeps the folder in step with other machines.
    Synced(String),
    /// The volume has this format.
    Volume(&'static str),
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Synced(program) => write!(f, "lies in a folder that {program} keeps in step with other machines"),
            Self::Volume(format) => write!(f, "lies on a volume of the format {format}"),
        }
    }
}

/// What stands at the link of an environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Nothing.
    Nothing,
    /// Our link, to this generation, which need not be there any more.
    Ours(PathBuf),
    /// Something that macml did not make.
    Foreign,
}

impl Place {
    /// Finds it out without looking for folders that other programs keep in step: see [`Place::within`].
    ///
    /// # Errors
    /// As for [`Place::within`].
    pub fn of(project: &Path, env: &str, data: Option<&Path>) -> Result<Self, FsError> {
        Self::within(project, env, None, data)
    }

    /// Finds it out. `home` is this user's folder, below which other programs keep folders in step; `data` that for macml's
    /// own files, where the environments of projects lie whose own folder does not suit them.
    ///
    /// # Errors
    /// When the project's folder is not there or cannot be looked at, or its path is no UTF-8.
    pub fn within(project: &Path, env: &str, home: Option<&Path>, data: Option<&Path>) -> Result<Self, FsError> {
        let failed =
            |kind: std::io::ErrorKind| FsError { doing: "look at", path: project.to_owned(), cause: kind.into() };
        let project = sys::resolve(project)?.ok_or_else(|| failed(std::io::ErrorKind::NotFound))?;
        // Stamps, notes and the first lines of commands name it as text.
        let text = project.to_str().ok_or_else(|| failed(std::io::ErrorKind::InvalidFilename))?;
        let foreign = data.map(|data| data.join("env"));
        let elsewhere = match &foreign {
            Some(_) => elsewhere(&project, home)?,
            None => None,
        };
        let store = match (&elsewhere, &foreign) {
            (Some(_), Some(foreign)) => foreign.join(Sha256::of(text.as_bytes()).to_string()),
            _ => project.join(OWN).join("env"),
        };
        let link = project.join(Self::link_name(env));
        Ok(Self { store: store.join(env), project, env: env.to_owned(), link, elsewhere, foreign })
    }

    /// Returns the name of an environment's link.
    pub fn link_name(env: &str) -> String {
        if env == "default" { ".venv".to_owned() } else { format!(".venv-{env}") }
    }

    /// Says what stands at the link. A link that leads into a folder of generations is ours: that of this place, or that
    /// where the project's would lie, or did, when it lay elsewhere itself.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn standing(&self) -> Result<Standing, FsError> {
        match tree::read_link(&self.link)? {
            Some(target) => {
                let target = self.project.join(target);
                Ok(if self.is_ours(&target) { Standing::Ours(target) } else { Standing::Foreign })
            }
            None if tree::facts(&self.link)?.is_some() => Ok(Standing::Foreign),
            None => Ok(Standing::Nothing),
        }
    }

    fn is_ours(&self, target: &Path) -> bool {
        let Some(store) = target.parent() else { return false };
        if store == self.store {
            return true;
        }
        let named = target
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.parse::<GenerationName>().is_ok());
        let plain = target.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
        let above = store.parent();
        let other = above.and_then(Path::parent) == self.foreign.as_deref() && self.foreign.is_some();
        let same_env = store.file_name() == Some(self.env.as_ref());
        named && plain && same_env && (other || above == Some(&self.project.join(OWN).join("env")))
    }

    /// Returns the folder that is this user's own, the store's root: all below it must be folders, not links.
    pub(super) fn root(&self) -> &Path {
        match (&self.elsewhere, &self.foreign) {
            (Some(_), Some(foreign)) => foreign,
            _ => &self.project,
        }
    }

    /// Returns the folders from the root to the store, in order.
    pub(super) fn folders(&self) -> Vec<&Path> {
        let mut folders: Vec<&Path> = self.store.ancestors().take_while(|folder| *folder != self.root()).collect();
        folders.reverse();
        folders
    }

    /// Returns what the link has to say to lead to a generation: a relative path, so that the project may be moved with
    /// it, where that is possible.
    pub(super) fn target(&self, generation: &Path) -> PathBuf {
        generation.strip_prefix(&self.project).unwrap_or(generation).to_owned()
    }
}

/// Finds out why the environments of a project should not lie in it.
fn elsewhere(project: &Path, home: Option<&Path>) -> Result<Option<Elsewhere>, FsError> {
    if let Some(format) = disk::exchange_format(project)? {
        return Ok(Some(Elsewhere::Volume(format)));
    }
    let Some(home) = home else { return Ok(None) };
    Ok(synchronized_by(project, home)?.map(Elsewhere::Synced))
}

/// Says which program keeps a folder, with every link followed, in step with other machines; `home` is this user's.
///
/// # Errors
/// When that cannot be told.
pub fn synchronized_by(folder: &Path, home: &Path) -> Result<Option<String>, FsError> {
    let Some(home) = sys::resolve(home)? else { return Ok(None) };
    let Ok(below) = folder.strip_prefix(&home) else { return Ok(None) };
    synced(&home, below)
}

/// Says which program keeps a folder below home in step.
fn synced(home: &Path, below: &Path) -> Result<Option<String>, FsError> {
    let parts: Vec<&str> = below.iter().map(|part| part.to_str().unwrap_or_default()).collect();
    Ok(match &parts[..] {
        ["Library", "Mobile Documents", ..] => Some("iCloud".to_owned()),
        // One folder for each account: `OneDrive-Personal`, `GoogleDrive-name@example.org`, `Dropbox`.
        ["Library", "CloudStorage", account, ..] => Some(match account.split(['-', ' ']).next().unwrap_or_default() {
            "GoogleDrive" => "Google Drive".to_owned(),
            program => program.to_owned(),
        }),
        // In iCloud there are two of that name if these two folders are among what it keeps.
        [folder @ ("Desktop" | "Documents"), ..] => {
            let kept = home.join("Library/Mobile Documents/com~apple~CloudDocs").join(folder);
            tree::facts(&kept)?.map(|_| "iCloud".to_owned())
        }
        // With an account's kind behind it: `Dropbox (Personal)`, `OneDrive - Company`.
        [folder, ..] => ["Dropbox", "OneDrive", "Google Drive"]
            .into_iter()
            .find(|program| {
                folder.strip_prefix(program).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '-']))
            })
            .map(str::to_owned),
        [] => None,
    })
}

/// Says what keeps a path from being a folder of macml's; `None` when it is one, or nothing is there.
pub(super) fn obstacle(path: &Path) -> Result<Option<&'static str>, FsError> {
    Ok(match tree::facts(path)? {
        Some(facts) if facts.folder => None,
        Some(facts) if facts.plain => Some("a file"),
        Some(_) if tree::read_link(path)?.is_some() => Some("a symbolic link"),
        Some(_) => Some("no folder"),
        None => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::fs;

    struct Home(tempfile::TempDir);

    impl Home {
        fn new(folders: &[&str]) -> Self {
            let home = Self(tempfile::tempdir().unwrap());
            for folder in folders {
                fs::create_folder(&home.path().join(folder)).unwrap();
            }
            home
        }

        fn path(&self) -> PathBuf {
            sys::resolve(self.0.path()).unwrap().unwrap()
        }

        fn place(&self, project: &str) -> Place {
            fs::create_folder(&self.path().join(project)).unwrap();
            let data = self.path().join("data/macml");
            Place::within(&self.path().join(project), "default", Some(&self.path()), Some(&data)).unwrap()
        }
    }

    #[test]
    fn folders_that_are_kept_in_step_have_their_environments_elsewhere() {
        let home = Home::new(&["Library/Mobile Documents/com~apple~CloudDocs/Desktop"]);
        let check = |project: &str, program: Option<&str>| {
            let place = home.place(project);
            let why = place.elsewhere.as_ref().map(ToString::to_string);
            let expected =
                program.map(|program| format!("lies in a folder that {program} keeps in step with other machines"));
            assert_eq!(why, expected, "{project}");
            let digest = Sha256::of(place.project.to_str().unwrap().as_bytes());
            let expected = match program {
                Some(_) => home.path().join(format!("data/macml/env/{digest}/default")),
                None => place.project.join(".macml/env/default"),
            };
            assert_eq!(place.store, expected);
        };
        check("Library/Mobile Documents/com~apple~CloudDocs/p", Some("iCloud"));
        check("Library/CloudStorage/OneDrive-Personal/p", Some("OneDrive"));
        check("Library/CloudStorage/GoogleDrive-a@example.org/My Drive/p", Some("Google Drive"));
        check("Library/CloudStorage/Dropbox/p", Some("Dropbox"));
        check("Dropbox/p", Some("Dropbox"));
        check("Dropbox (Personal)/a/p", Some("Dropbox"));
        check("OneDrive - Company/p", Some("OneDrive"));
        check("Desktop/p", Some("iCloud"));
        for project in ["Documents/p", "p", "work/Dropbox/p", "Dropboxes/p", "Library/p", "work/Desktop/p"] {
            check(project, None);
        }
    }

    #[test]
    fn without_a_folder_for_it_nothing_lies_elsewhere() {
        let home = Home::new(&["Dropbox/p"]);
        let place = Place::within(&home.path().join("Dropbox/p"), "tf", Some(&home.path()), None).unwrap();
        assert_eq!((place.elsewhere, place.store), (None, home.path().join("Dropbox/p/.macml/env/tf")));
        assert_eq!(place.link, home.path().join("Dropbox/p/.venv-tf"));
        let absent = Place::within(&home.path().join("none"), "tf", None, None).unwrap_err();
        assert_eq!(absent.to_string(), format!("could not look at `{}`", home.path().join("none").display()));
    }

    #[test]
    fn links_into_stores_are_ours_wherever_the_project_lay() {
        let home = Home::new(&[]);
        let name = "0123456789abcdef.3";
        for project in ["p", "Dropbox/p"] {
            let place = home.place(project);
            let check = |target: PathBuf, ours: bool| {
                fs::remove_file(&place.link).unwrap();
                tree::symlink(&target, &place.link).unwrap();
                let expected = if ours { Standing::Ours(place.project.join(&target)) } else { Standing::Foreign };
                assert_eq!(place.standing().unwrap(), expected, "{}", target.display());
            };
            assert_eq!(place.standing().unwrap(), Standing::Nothing);
            check(place.store.join(name), true);
            check(place.target(&place.store.join(name)), true);
            check(Path::new(".macml/env/default").join(name), true);
            check(home.path().join("data/macml/env/other/default").join(name), true);
            check(home.path().join("data/macml/env/other/tf").join(name), false);
            check(Path::new(".macml/env/tf").join(name), false);
            check(Path::new(".macml/env/default/../default").join(name), false);
            check("venv".into(), false);
            check("/".into(), false);
            check(home.path().join("data/macml/env").join(name), false);
            fs::remove_file(&place.link).unwrap();
            std::fs::create_dir(&place.link).unwrap();
            assert_eq!(place.standing().unwrap(), Standing::Foreign);
        }
        // Out of the project no relative path would outlive a move of it.
        assert!(home.place("Dropbox/p").target(&home.place("Dropbox/p").store).is_absolute());
    }
}
