//! What changed between two locks, as data, and as lines for people.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::pep::{ExtraName, PackageName, Version};
use crate::target::{Floor, Platform};

use super::format;
use super::model::{LockedEnv, LockedPackage, LockedRef, Lockfile};
use super::pick::Picker;

/// What changed between two locks, by environment and platform; those without a change are left out.
#[derive(Clone, PartialEq, Debug, Default, serde::Serialize)]
pub struct Diff {
    /// The environments that changed, in the order of the lock, removed ones last.
    pub envs: Vec<EnvDiff>,
}

/// What changed in one environment on one platform.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct EnvDiff {
    /// The environment's name.
    pub name: String,
    /// The platform.
    #[serde(serialize_with = "as_text")]
    pub platform: Platform,
    /// Whether it is in both locks.
    pub presence: Presence,
    /// Settings whose value changed: `python`, `macos`, `chip`, `glibc`, `gpu`, `wheels`, `python-full`, `rules`,
    /// `ignore-rules`.
    pub settings: Vec<SettingChange>,
    /// Packages that changed, by name.
    pub packages: Vec<PackageChange>,
}

/// Which of two locks has an environment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Presence {
    /// The new one only.
    Added,
    /// The old one only.
    Removed,
    /// Both.
    Kept,
}

/// A setting of an environment with another value; `None` where it had or has none.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct SettingChange {
    /// Its key in the lock.
    pub key: &'static str,
    /// What it was.
    pub old: Option<String>,
    /// What it is.
    pub new: Option<String>,
}

/// A package that is not as it was.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct PackageChange {
    /// The package.
    pub name: PackageName,
    /// What happened to it.
    #[serde(flatten)]
    pub kind: ChangeKind,
}

/// What happened to a package.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum ChangeKind {
    /// It is new.
    Added {
        /// Its version.
        #[serde(serialize_with = "as_text")]
        version: Version,
    },
    /// It is gone.
    Removed {
        /// The version that it had.
        #[serde(serialize_with = "as_text")]
        version: Version,
    },
    /// A later version.
    Upgraded {
        /// What it was.
        #[serde(serialize_with = "as_text")]
        old: Version,
        /// What it is.
        #[serde(serialize_with = "as_text")]
        new: Version,
    },
    /// An earlier version.
    Downgraded {
        /// What it was.
        #[serde(serialize_with = "as_text")]
        old: Version,
        /// What it is.
        #[serde(serialize_with = "as_text")]
        new: Version,
    },
    /// The same version from elsewhere.
    Moved {
        /// Its version.
        #[serde(serialize_with = "as_text")]
        version: Version,
        /// Where it came from.
        old: String,
        /// Where it comes from.
        new: String,
    },
    /// The same release with other extras or edges, other files, or both.
    Altered {
        /// Its version.
        #[serde(serialize_with = "as_text")]
        version: Version,
        /// Extras that came.
        extras_added: Vec<ExtraName>,
        /// Extras that went.
        extras_removed: Vec<ExtraName>,
        /// Names that it depends on now.
        requires_added: Vec<PackageName>,
        /// Names that it does not depend on any more.
        requires_removed: Vec<PackageName>,
        /// Files that came, those of another content under the same name included.
        files_added: Vec<String>,
        /// Files that went, those of another content under the same name included.
        files_removed: Vec<String>,
    },
}

/// A line for people. The sign says how to colour it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// What kind of line.
    pub sign: Sign,
    /// What follows the sign.
    pub text: String,
}

/// The kind of a [`Line`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sign {
    /// The name of an environment; written without a sign.
    Heading,
    /// `+`
    Added,
    /// `-`
    Removed,
    /// `~`
    Changed,
}

/// Compares two locks; `None` stands for no lock at all.
pub fn diff(old: Option<&Lockfile>, new: Option<&Lockfile>) -> Diff {
    let mut envs = Vec::new();
    if old == new {
        return Diff { envs };
    }
    for env in new.into_iter().flat_map(|lock| &lock.envs) {
        let before = old.and_then(|lock| Some(Side::new(lock, lock.env(&env.name, env.platform)?)));
        envs.extend(diff_env(before, new.map(|lock| Side::new(lock, env))));
    }
    for env in old.into_iter().flat_map(|lock| &lock.envs) {
        if new.and_then(|lock| lock.env(&env.name, env.platform)).is_none() {
            envs.extend(diff_env(old.map(|lock| Side::new(lock, env)), None));
        }
    }
    Diff { envs }
}

/// One environment in its lock.
#[derive(Clone, Copy)]
struct Side<'a> {
    lock: &'a Lockfile,
    env: &'a LockedEnv,
}

impl<'a> Side<'a> {
    fn new(lock: &'a Lockfile, env: &'a LockedEnv) -> Self {
        Self { lock, env }
    }
}

fn diff_env(old: Option<Side<'_>>, new: Option<Side<'_>>) -> Option<EnvDiff> {
    let env = new.or(old)?.env;
    let presence = match (old, new) {
        (None, _) => Presence::Added,
        (_, None) => Presence::Removed,
        _ => Presence::Kept,
    };
    let settings = match presence {
        Presence::Removed => Vec::new(),
        _ => diff_settings(old.map(|side| side.env), new.map(|side| side.env)),
    };
    let entries = |side: Option<Side<'_>>| -> BTreeSet<PackageName> {
        side.into_iter().flat_map(|side| &side.env.packages).map(|entry| entry.name.clone()).collect()
    };
    let names: BTreeSet<_> = entries(old).into_iter().chain(entries(new)).collect();
    // Made only when some release is in both: lists of tags are not free.
    let mut pickers = None;
    let packages = names.into_iter().filter_map(|name| {
        let (before, after) = (old.and_then(|s| s.env.entry(&name)), new.and_then(|s| s.env.entry(&name)));
        let kind = match (before, after) {
            (Some(before), Some(after)) => match diff_release(before, after) {
                Some(kind) => Some(kind),
                None => {
                    let (old, new) = (old?, new?);
                    let files = pickers.get_or_insert_with(|| (Picker::new(old.env), Picker::new(new.env)));
                    alteration((old, before, &files.0), (new, after, &files.1))
                }
            },
            (None, Some(after)) => Some(ChangeKind::Added { version: after.version.clone() }),
            (Some(before), None) => Some(ChangeKind::Removed { version: before.version.clone() }),
            (None, None) => None,
        };
        Some(PackageChange { name, kind: kind? })
    });
    let packages: Vec<_> = packages.collect();
    let changed = presence != Presence::Kept || !settings.is_empty() || !packages.is_empty();
    changed.then(|| EnvDiff { name: env.name.clone(), platform: env.platform, presence, settings, packages })
}

fn diff_settings(old: Option<&LockedEnv>, new: Option<&LockedEnv>) -> Vec<SettingChange> {
    let (mut old, mut new) = (old.map(settings).unwrap_or_default(), new.map(settings).unwrap_or_default());
    let keys = ["python", "python-full", "macos", "chip", "glibc", "gpu", "wheels", "rules", "ignore-rules"];
    let changes = keys.into_iter().map(|key| SettingChange { key, old: old.remove(key), new: new.remove(key) });
    changes.filter(|change| change.old != change.new).collect()
}

fn settings(env: &LockedEnv) -> BTreeMap<&'static str, String> {
    let mut settings = BTreeMap::from([
        ("python", env.python.to_string()),
        ("gpu", format::gpu_text(env.gpu).to_owned()),
        ("wheels", format::wheels_text(env.wheels).to_owned()),
    ]);
    match &env.floor {
        Floor::Mac { macos, chip } => {
            settings.insert("macos", macos.to_string());
            settings.insert("chip", chip.to_string());
        }
        Floor::Glibc(major, minor) => {
            settings.insert("glibc", format!("{major}.{minor}"));
        }
    }
    if let Some(left) = &env.python_full {
        settings.insert("python-full", left.to_string());
    }
    if !env.rules.is_empty() {
        settings.insert("rules", env.rules.join(", "));
    }
    if !env.ignored.is_empty() {
        settings.insert("ignore-rules", env.ignored.join(", "));
    }
    settings
}

fn diff_release(old: &LockedRef, new: &LockedRef) -> Option<ChangeKind> {
    let (before, after) = (old.version.clone(), new.version.clone());
    match new.version.cmp(&old.version) {
        std::cmp::Ordering::Greater => Some(ChangeKind::Upgraded { old: before, new: after }),
        std::cmp::Ordering::Less => Some(ChangeKind::Downgraded { old: before, new: after }),
        // The digest of a wheel by address is compared with the files.
        std::cmp::Ordering::Equal => {
            let (old, new) = (format::origin(&old.origin), format::origin(&new.origin));
            (old != new).then_some(ChangeKind::Moved { version: after, old, new })
        }
    }
}

type Entry<'a> = (Side<'a>, &'a LockedRef, &'a Picker);

fn alteration(old: Entry<'_>, new: Entry<'_>) -> Option<ChangeKind> {
    let (before, after) = (old.0.lock.package(old.1)?, new.0.lock.package(new.1)?);
    let edges = |package: &LockedPackage, env: &LockedEnv| package.edges(&env.name, env.platform).to_vec();
    let (extras_added, extras_removed) = compare(old.1.extras.clone(), new.1.extras.clone());
    let (requires_added, requires_removed) = compare(edges(before, old.0.env), edges(after, new.0.env));
    let files = |package: &LockedPackage, picker: &Picker| {
        picker.kept(package).into_iter().map(|wheel| (wheel.file.to_string(), wheel.sha256)).collect()
    };
    let (added, removed) = compare(files(before, old.2), files(after, new.2));
    let names = |files: Vec<(String, _)>| -> Vec<String> { files.into_iter().map(|(file, _)| file).collect() };
    let (files_added, files_removed) = (names(added), names(removed));
    let nothing = extras_added.is_empty()
        && extras_removed.is_empty()
        && requires_added.is_empty()
        && requires_removed.is_empty()
        && files_added.is_empty()
        && files_removed.is_empty();
    (!nothing).then(|| ChangeKind::Altered {
        version: new.1.version.clone(),
        extras_added,
        extras_removed,
        requires_added,
        requires_removed,
        files_added,
        files_removed,
    })
}

/// Returns what is only in `new`, then what is only in `old`.
fn compare<T: PartialEq + Clone>(old: Vec<T>, new: Vec<T>) -> (Vec<T>, Vec<T>) {
    let only = |some: &[T], others: &[T]| some.iter().filter(|one| !others.contains(one)).cloned().collect();
    (only(&new, &old), only(&old, &new))
}

impl Diff {
    /// Returns whether nothing changed that can be seen in an environment.
    pub fn is_empty(&self) -> bool {
        self.envs.is_empty()
    }

    /// Returns the lines that people read.
    pub fn lines(&self) -> Vec<Line> {
        self.envs.iter().flat_map(EnvDiff::lines).collect()
    }
}

impl EnvDiff {
    fn lines(&self) -> Vec<Line> {
        let line = |sign, text| Line { sign, text };
        let what = match self.presence {
            Presence::Added => " (new)",
            Presence::Removed => " (removed)",
            Presence::Kept => "",
        };
        let mut lines = vec![line(Sign::Heading, format!("{} on {}{what}", self.name, self.platform))];
        for SettingChange { key, old, new } in &self.settings {
            lines.push(match (old, new) {
                (Some(old), Some(new)) => line(Sign::Changed, format!("{key} {old} -> {new}")),
                (None, Some(new)) => line(Sign::Added, format!("{key} {new}")),
                (Some(old), None) => line(Sign::Removed, format!("{key} {old}")),
                (None, None) => continue,
            });
        }
        for PackageChange { name, kind } in &self.packages {
            lines.push(match kind {
                ChangeKind::Added { version } => line(Sign::Added, format!("{name} {version}")),
                ChangeKind::Removed { version } => line(Sign::Removed, format!("{name} {version}")),
                ChangeKind::Upgraded { old, new } | ChangeKind::Downgraded { old, new } => {
                    line(Sign::Changed, format!("{name} {old} -> {new}"))
                }
                ChangeKind::Moved { version, old, new } => {
                    line(Sign::Changed, format!("{name} {version} ({old} -> {new})"))
                }
                ChangeKind::Altered { version, .. } => {
                    line(Sign::Changed, format!("{name} {version} ({})", kind.alterations().join("; ")))
                }
            });
        }
        lines
    }
}

impl ChangeKind {
    /// `extras +vision; requires +pillow -numpy; files +2 -1`.
    fn alterations(&self) -> Vec<String> {
        let Self::Altered {
            extras_added,
            extras_removed,
            requires_added,
            requires_removed,
            files_added,
            files_removed,
            ..
        } = self
        else {
            return Vec::new();
        };
        let mut parts = Vec::new();
        parts.extend(signed("extras", extras_added, extras_removed));
        parts.extend(signed("requires", requires_added, requires_removed));
        let counts = [('+', files_added.len()), ('-', files_removed.len())];
        let counts = counts.into_iter().filter(|(_, count)| *count > 0).map(|(sign, count)| format!(" {sign}{count}"));
        let counts: String = counts.collect();
        parts.extend((!counts.is_empty()).then(|| format!("files{counts}")));
        parts
    }
}

fn signed<T: fmt::Display>(what: &str, added: &[T], removed: &[T]) -> Option<String> {
    let added = added.iter().map(|one| format!(" +{one}"));
    let words: String = added.chain(removed.iter().map(|one| format!(" -{one}"))).collect();
    (!words.is_empty()).then(|| format!("{what}{words}"))
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.sign {
            Sign::Heading => return f.write_str(&self.text),
            Sign::Added => '+',
            Sign::Removed => '-',
            Sign::Changed => '~',
        };
        write!(f, "{sign} {}", self.text)
    }
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines().iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// Serializes as the text that people read.
pub(super) fn as_text<T: fmt::Display, S: serde::Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}
