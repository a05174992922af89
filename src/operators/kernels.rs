//! Which torch release has which kernels, from the tables of all Mac wheels: committed data, so that nothing is asked.
//!
//! kernels.txt has a line for each release, and one for each operator with the releases in which something changed for
//! tensors on the GPU:
//!
//! ```text
//! release 2.13.0 2584 sha256 of its table
//! linalg_qr 1.12.0 none 2.14.0 gpu
//! ```
//!
//! A live test writes it (`MACML_BLESS=1`) and holds it against the wheels.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

use super::name::Name;
use super::table::{Backend, State, Table};
use crate::pep::{Sha256, Version};

/// The committed data.
const TEXT: &str = include_str!("kernels.txt");

/// The word for an operator that a release does not have any more.
const GONE: &str = "gone";

/// A release whose table was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Release {
    /// Its version.
    pub version: Version,
    /// How many operators its table spells out.
    pub functions: usize,
    /// The digest of its table.
    pub sha256: Sha256,
}

/// From which release on an operator runs on the GPU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct First {
    /// The release. It and all later ones that are known have it.
    pub version: Version,
    /// Whether it is the oldest release that is known, so that nothing earlier can be told.
    pub always: bool,
    /// [`State::Gpu`] for a kernel, [`State::Composite`] for other operators that it calls.
    pub state: State,
}

/// What is known of every release.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernels {
    /// Oldest first.
    releases: Vec<Release>,
    /// By operator, what changed in which release, by its position; `None` where the release has no such operator.
    changes: BTreeMap<Name, Vec<(usize, Option<State>)>>,
}

/// Returns what is committed.
pub fn known() -> &'static Kernels {
    static KNOWN: OnceLock<Kernels> = OnceLock::new();
    KNOWN.get_or_init(|| Kernels::parse(TEXT).expect("a test reads the committed file"))
}

/// What is known of the kernel of an operator that a torch left to the CPU, or refused.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Later {
    /// A later release has one.
    From(Version),
    /// None has one, up to this.
    None(Version),
    /// Nothing that would help.
    #[default]
    Unknown,
}

/// Says which release after this `torch` has the kernel that an operator lacked in it: `aten::linalg_qr.out`.
pub fn later(operator: &str, torch: Option<&Version>) -> Later {
    let Ok(name) = operator.parse::<Name>() else { return Later::Unknown };
    match (known().first(&name), known().releases().last()) {
        // It has one by the table: of another kind, or its code sends such tensors on.
        (Some(first), _) if first.always || torch.is_none_or(|torch| first.version <= *torch) => Later::Unknown,
        (Some(first), _) => Later::From(first.version),
        (None, Some(last)) if known().knows(&name) => Later::None(last.version.clone()),
        (None, _) => Later::Unknown,
    }
}

impl Later {
    /// Returns the release from which on there is a kernel.
    pub fn from(&self) -> Option<&Version> {
        if let Self::From(version) = self { Some(version) } else { None }
    }

    /// Returns the newest release that is known, where that has none either.
    pub fn none_until(&self) -> Option<&Version> {
        if let Self::None(version) = self { Some(version) } else { None }
    }
}

impl std::fmt::Display for Later {
    /// Says it in words; nothing where nothing is known.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::From(version) => write!(f, "runs on the GPU from torch {version} on"),
            Self::None(version) => write!(f, "no torch up to {version} has a GPU kernel"),
            Self::Unknown => Ok(()),
        }
    }
}

impl Kernels {
    /// Puts tables together, oldest first.
    pub fn of(tables: &[(Release, Table)]) -> Self {
        let mut changes: BTreeMap<Name, Vec<(usize, Option<State>)>> = BTreeMap::new();
        for (at, (_, table)) in tables.iter().enumerate() {
            for (name, _) in table.operators() {
                let state = Some(table.state(name, Backend::Mps));
                let all = changes.entry(name.clone()).or_default();
                if all.last().is_none_or(|(_, last)| *last != state) {
                    all.push((at, state));
                }
            }
            for (name, all) in &mut changes {
                if table.get(name).is_none() && all.last().is_some_and(|(_, last)| last.is_some()) {
                    all.push((at, None));
                }
            }
        }
        Self { releases: tables.iter().map(|(release, _)| release.clone()).collect(), changes }
    }

    /// Writes it.
    pub fn text(&self) -> String {
        let mut text =
            "# Operators of torch's Mac wheels. Written by the test `live_operators`; do not edit.\n".to_owned();
        let mut line = |line: std::fmt::Arguments<'_>| {
            writeln!(text, "{line}").expect("writing to a text does not fail");
        };
        for Release { version, functions, sha256 } in &self.releases {
            line(format_args!("release {version} {functions} {sha256}"));
        }
        for (name, changes) in &self.changes {
            let words = changes.iter().map(|(at, state)| {
                let state = state.map_or(GONE, State::word);
                format!(" {} {state}", self.releases[*at].version)
            });
            line(format_args!("{name}{}", words.collect::<String>()));
        }
        text
    }

    /// Reads what [`Kernels::text`] wrote.
    fn parse(text: &str) -> Option<Self> {
        let mut releases = Vec::new();
        let mut changes = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<&str> = line.split(' ').collect();
            if let ["release", version, functions, sha256] = words[..] {
                let version: Version = version.parse().ok()?;
                releases.push(Release { version, functions: functions.parse().ok()?, sha256: sha256.parse().ok()? });
                continue;
            }
            let (name, rest) = words.split_first()?;
            let change = |pair: &[&str]| {
                let [version, state] = pair else { return None };
                let version: Version = version.parse().ok()?;
                let at = releases.iter().position(|release| release.version == version)?;
                let state = match *state {
                    GONE => None,
                    word => Some([State::Gpu, State::Composite, State::None].into_iter().find(|s| s.word() == word)?),
                };
                Some((at, state))
            };
            changes.insert(name.parse().ok()?, rest.chunks(2).map(change).collect::<Option<Vec<_>>>()?);
        }
        Some(Self { releases, changes })
    }

    /// Returns the releases, oldest first.
    pub fn releases(&self) -> &[Release] {
        &self.releases
    }

    /// Returns whether some release has an operator, or an overload of it where none is named.
    pub fn knows(&self, name: &Name) -> bool {
        !self.meant(name).is_empty()
    }

    /// Returns what an operator is in a release; `None` where it is not there, or one of both is unknown.
    pub fn state(&self, name: &Name, version: &Version) -> Option<State> {
        let at = self.releases.iter().position(|release| release.version == *version)?;
        let changes = self.changes.get(name)?;
        changes.iter().take_while(|(from, _)| *from <= at).last()?.1
    }

    /// Returns in which releases an operator is there: from which on, and from which on no more.
    pub fn life(&self, name: &Name) -> Option<(&Version, Option<&Version>)> {
        let changes = self.meant(name).into_iter().filter_map(|name| self.changes.get(name));
        let from = changes.clone().filter_map(|changes| Some(changes.first()?.0)).min()?;
        let ends = changes.map(|changes| changes.last().filter(|(_, state)| state.is_none()).map(|(at, _)| *at));
        let until = ends.collect::<Option<Vec<usize>>>().and_then(|ends| ends.into_iter().max());
        Some((&self.releases[from].version, until.map(|until| &self.releases[until].version)))
    }

    /// Returns from which release on an operator runs on the GPU in every later one; of a name without overload, where
    /// there is none without, the overload counts that came last.
    pub fn first(&self, name: &Name) -> Option<First> {
        let all = self.meant(name).into_iter().map(|name| self.first_of(name));
        // One that never came says that the whole is not there yet.
        let all: Option<Vec<(usize, First)>> = all.collect();
        all?.into_iter().max_by_key(|(at, _)| *at).map(|(_, first)| first)
    }

    fn first_of(&self, name: &Name) -> Option<(usize, First)> {
        let changes = self.changes.get(name)?;
        let runs = |state: &Option<State>| matches!(state, Some(State::Gpu | State::Composite));
        let after = changes.iter().rposition(|(_, state)| !runs(state)).map_or(0, |last| last + 1);
        let (at, _) = changes.get(after)?;
        let (_, state) = changes.last()?;
        let version = self.releases.get(*at)?.version.clone();
        Some((*at, First { version, always: *at == 0, state: (*state)? }))
    }

    fn meant(&self, name: &Name) -> Vec<&Name> {
        if let Some((name, _)) = self.changes.get_key_value(name) {
            return vec![name];
        }
        if !name.overload().is_empty() {
            return Vec::new();
        }
        let from_first = self.changes.range(name..).map(|(name, _)| name);
        from_first.take_while(|other| other.base() == name.base()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        let functions = text.split(' ').map(|one| {
            let (name, kernel) = one.split_once('=').unwrap();
            let dispatch = if kernel.is_empty() { String::new() } else { format!("  dispatch:\n    {kernel}: f\n") };
            format!("- func: {name}(Tensor self) -> Tensor\n{dispatch}")
        });
        Table::parse(&functions.collect::<String>()).unwrap()
    }

    fn made() -> Kernels {
        let releases = [
            ("1.12.0", "a=MPS b=CPU c=CPU d.x=CPU d.y=MPS e=MPS f= h=CPU"),
            ("2.0.0", "a=MPS b=CPU c=MPS d.x=MPS d.y=MPS f="),
            ("2.1.0", "a=MPS b=CPU c=CPU d.x=MPS d.y=MPS e=MPS f="),
            ("2.10.0", "a=MPS b=CPU c=MPS d.x=MPS d.y=MPS e=MPS f= g=CompositeExplicitAutograd"),
        ];
        let tables = releases.map(|(version, text)| {
            let release =
                Release { version: version.parse().unwrap(), functions: 7, sha256: Sha256::of(text.as_bytes()) };
            (release, table(text))
        });
        Kernels::of(&tables)
    }

    #[test]
    fn the_first_release_is_the_one_that_all_later_ones_follow() {
        let kernels = made();
        let check = |name: &str, wanted: Option<(&str, bool, State)>| {
            let first = kernels.first(&name.parse().unwrap());
            let first = first.map(|first| (first.version.to_string(), first.always, first.state));
            assert_eq!(first, wanted.map(|(version, always, state)| (version.to_owned(), always, state)), "{name}");
        };
        check("a", Some(("1.12.0", true, State::Gpu)));
        check("b", None);
        check("c", Some(("2.10.0", false, State::Gpu)));
        check("d", Some(("2.0.0", false, State::Gpu)));
        check("d.y", Some(("1.12.0", true, State::Gpu)));
        check("d.z", None);
        check("e", Some(("2.1.0", false, State::Gpu)));
        check("f", Some(("1.12.0", true, State::Composite)));
        check("g", Some(("2.10.0", false, State::Composite)));
        let name = |text: &str| text.parse::<Name>().unwrap();
        let state = |text: &str, version: &str| kernels.state(&name(text), &version.parse().unwrap());
        assert_eq!((state("c", "2.0.0"), state("c", "2.1.0")), (Some(State::Gpu), Some(State::None)));
        assert_eq!((state("e", "2.0.0"), state("g", "2.1.0"), state("a", "2.1.1")), (None, None, None));
        let life = |text: &str| {
            let (from, until) = kernels.life(&name(text))?;
            Some((from.to_string(), until.map(ToString::to_string)))
        };
        let some = |from: &str, until: Option<&str>| Some((from.to_owned(), until.map(str::to_owned)));
        assert_eq!(life("h"), some("1.12.0", Some("2.0.0")));
        assert_eq!((life("g"), life("e"), life("i")), (some("2.10.0", None), some("1.12.0", None), None));
        assert_eq!(["b", "d", "nothing"].map(|text| kernels.knows(&name(text))), [true, true, false]);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let kernels = made();
        assert_eq!(Kernels::parse(&kernels.text()), Some(kernels));
        assert_eq!(Kernels::parse("a 1.12.0 gpu\n"), None);
        let line = format!("release 1.12.0 7 {}\n", Sha256::of(b""));
        assert_eq!(Kernels::parse(&format!("{line}a 1.12.0 fast\n")), None);
    }

    #[test]
    fn what_is_committed_answers() {
        assert!(known().releases().len() >= 32 && known().text() == TEXT);
        assert!(known().releases().is_sorted_by(|a, b| a.version < b.version));
        let first = |name: &str| {
            let first = known().first(&name.parse().ok()?)?;
            Some((first.version.to_string(), first.state))
        };
        assert_eq!(first("aten::add.Tensor"), Some(("1.12.0".to_owned(), State::Gpu)));
        assert_eq!(first("aten::__lshift__.Tensor"), Some(("2.5.0".to_owned(), State::Gpu)));
        assert_eq!(first("aten::nothing_like_it"), None);
        assert_eq!(later("no name", None), Later::Unknown);
    }
}
