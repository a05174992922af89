//! From the files in which projects say what they need to what macml.toml says: requirements files, pyproject.toml,
//! environments of conda, uv.lock.
//!
//! Every requirement and every line of options of every file ends in exactly one [`Verdict`], with its place. Nothing is run, no
//! index is asked, and no variable is put in. Pure, but for [`Read`], which brings the files that a file includes.
//!
//! ```text
//! text --requirements, pyproject, poetry, conda, uv_lock--> items --judge--> verdicts, entries --merge--> Imported
//! ```

pub mod requirements;

mod conda;

mod judge;

mod merge;

mod poetry;

mod pyproject;

mod renamed;

mod uv_lock;

mod yaml;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::manifest::edit::Line;
use crate::pep::{MarkerEnv, Specifiers};
use crate::target::{Platform, PythonMinor, Target};

use requirements::{Asked, AskedItem, What};

/// Reads the text of a file; why not, where that is so.
pub type Read<'a> = &'a mut dyn FnMut(&Path) -> Result<String, String>;

/// What comes of a file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Imported {
    /// The name of the project, where the file says.
    pub name: Option<String>,
    /// The Pythons, where the file binds them.
    pub python: Option<Specifiers>,
    /// What every line comes to, in the order of reading.
    pub items: Vec<Item>,
    /// What is asked for; alternatives of one package by markers stand beside each other.
    pub lines: Vec<Line>,
    /// Limits for what others ask for, by package.
    pub constraints: BTreeMap<String, String>,
    /// Folders of the project's own code.
    pub paths: Vec<String>,
    /// What is worth knowing besides, in sentences.
    pub notes: Vec<String>,
}

/// A line of a file, and what it comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// The file.
    pub file: PathBuf,
    /// Its line, from 1; 0 where it is no file of lines.
    pub line: usize,
    /// What stands there, without its comment.
    pub text: String,
    /// What it comes to.
    pub verdict: Verdict,
}

/// What a line comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It stands in macml.toml with the same meaning.
    Kept,
    /// It stands there in another form.
    Translated {
        /// What it became.
        to: String,
        /// Why.
        why: String,
    },
    /// It means nothing on a Mac, or never holds there.
    Dropped {
        /// Why.
        why: String,
    },
    /// A Mac would want it, and it cannot be had as it stands.
    Refused {
        /// Why.
        why: String,
        /// What to do.
        remedy: String,
    },
}

/// Why nothing is imported.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("could not read `{}`: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A file that another one includes is not there.
    #[error("line {line} of `{}` includes `{}`, which cannot be read: {why}", file.display(), included.display())]
    Included {
        /// The file that includes it.
        file: PathBuf,
        /// The line.
        line: usize,
        /// The path that was tried.
        included: PathBuf,
        /// Why.
        why: String,
        /// A file of that name elsewhere, which may be meant.
        beside: Option<PathBuf>,
    },
    /// A file that includes itself.
    #[error("line {line} of `{}` includes a file that includes it", file.display())]
    Circle {
        /// The file.
        file: PathBuf,
        /// The line.
        line: usize,
    },
    /// A form that is not read.
    #[error("`{}` is {what}", path.display())]
    OtherForm {
        /// The file.
        path: PathBuf,
        /// What it is.
        what: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// A file that is damaged.
    #[error("`{}` is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// The machines that markers are decided for.
#[derive(Clone, PartialEq, Debug)]
pub struct Machines(Vec<MarkerEnv>);

impl Machines {
    /// Takes every Python of a range, on some platforms.
    pub fn new(targets: &[Target]) -> Self {
        Self(targets.iter().map(Target::marker_env).collect())
    }

    /// Takes every Python on some platforms, Macs from a macOS up.
    pub fn on(platforms: &[Platform], macos: crate::target::MacosVersion) -> Self {
        let chip: crate::host::Chip = "m1".parse().expect("it is the first chip");
        let floor = |platform: Platform| match platform.is_mac() {
            true => crate::target::Floor::Mac { macos, chip: chip.clone() },
            false => crate::target::Floor::Glibc(2, 28),
        };
        let targets = platforms.iter().flat_map(|platform| {
            let of = move |(python, _): (PythonMinor, u16)| (*platform, python);
            PythonMinor::RELEASED.into_iter().map(of)
        });
        let target = |(platform, python)| Target { platform, floor: floor(platform), python };
        Self::new(&targets.map(target).collect::<Vec<_>>())
    }

    /// Takes every Python on Macs from a macOS up.
    pub fn macs(macos: crate::target::MacosVersion) -> Self {
        Self::on(&[Platform::MacosArm64], macos)
    }
}

/// Reads a file and all that it includes.
///
/// # Errors
/// When one of them cannot be read; then there is nothing.
pub fn import(path: &Path, machines: &Machines, read: Read<'_>) -> Result<Imported, Error> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let other = |what, instead| Err(Error::OtherForm { path: path.to_owned(), what, instead });
    let ending = path.extension().map(|ending| ending.to_string_lossy().into_owned()).unwrap_or_default();
    match name.as_str() {
        "Pipfile" | "Pipfile.lock" => {
            return other("of Pipenv", "write requirements with `pipenv requirements` and name these");
        }
        "poetry.lock" => return other("a lock of Poetry", "name its pyproject.toml"),
        "pdm.lock" => return other("a lock of PDM", "name its pyproject.toml"),
        "setup.py" => return other("a program, and none is run", "name a requirements file or pyproject.toml"),
        _ if ending == "lock" && name != "uv.lock" => {
            return other(
                "a lock, which says what was chosen and not what is asked for",
                "name the file that it was made from; `macml check --lock` judges it",
            );
        }
        _ => {}
    }
    let text = read(path).map_err(|why| Error::Unreadable { path: path.to_owned(), why })?;
    let asked = match ending.as_str() {
        "toml" => pyproject::read(path, &text)?,
        "lock" => uv_lock::read(path, &text)?,
        "yml" | "yaml" => conda::read(path, &text, read)?,
        _ => requirements::read(path, text, read)?,
    };
    Ok(merge::merged(judge::judge(asked, machines)))
}

/// A distribution of an environment, for [`import_installed`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Installed {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The text of its direct_url.json, where it did not come from an index.
    pub direct_url: Option<String>,
}

/// Takes what lies in an environment, each as an exact pin: what `pip freeze` writes.
pub fn import_installed(
    path: &Path,
    installed: &[Installed],
    python: Option<PythonMinor>,
    machines: &Machines,
) -> Imported {
    // What macml and pip bring along.
    let tools = ["pip", "macml"];
    let wanted = installed.iter().filter(|one| !tools.contains(&one.name.as_str()));
    let items = wanted.map(|one| AskedItem {
        file: path.to_owned(),
        line: 0,
        what: What::Requirement { text: frozen(one), limits: false, editable: false, hashes: 0 },
    });
    let mut asked = Asked { items: items.collect(), ..Asked::default() };
    asked.python = python.map(|python| format!("=={python}.*"));
    asked.notes.push(
        "an environment does not say what was asked for: all that lies in it is pinned; what only came along with others can be \
         removed, and `macml lock` finds it again"
            .to_owned(),
    );
    merge::merged(judge::judge(asked, machines))
}

/// Writes a distribution as `pip freeze` does: from where it came, or its version.
/// <https://packaging.python.org/en/latest/specifications/direct-url/>
fn frozen(one: &Installed) -> String {
    let pinned = || format!("{}=={}", one.name, one.version);
    let Some(direct) = &one.direct_url else { return pinned() };
    let Ok(direct) = serde_json::from_str::<serde_json::Value>(direct) else { return pinned() };
    let text = |value: &serde_json::Value, key: &str| value.get(key)?.as_str().map(str::to_owned);
    let Some(url) = text(&direct, "url") else { return pinned() };
    let sha256 = direct.get("archive_info").and_then(|info| {
        let hashes = info.get("hashes").and_then(|hashes| text(hashes, "sha256"));
        hashes.or_else(|| text(info, "hash")?.strip_prefix("sha256=").map(str::to_owned))
    });
    match (direct.get("vcs_info"), sha256) {
        (Some(vcs), _) => {
            let kind = text(vcs, "vcs").unwrap_or_else(|| "git".to_owned());
            let commit = text(vcs, "commit_id").map(|commit| format!("@{commit}")).unwrap_or_default();
            format!("{} @ {kind}+{url}{commit}", one.name)
        }
        (None, Some(sha256)) if !url.contains('#') => format!("{} @ {url}#sha256={sha256}", one.name),
        _ => format!("{} @ {url}", one.name),
    }
}

#[cfg(test)]
mod tests;
