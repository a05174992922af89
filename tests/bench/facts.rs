//! What is known of releases from outside macml, `facts.toml`, and how an answer is marked by it. Nothing here may look
//! at `macml::knowledge`.

use std::fmt;

use macml::pep::{PackageName, Specifiers, Version};
use macml::target::MacosVersion;
use serde::Deserialize;

use crate::asked::{Answer, Origin, Package};
use crate::requests::{Request, parsed};

/// What is known.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Facts {
    fact: Vec<Fact>,
    none: Vec<NoSet>,
    seen: Vec<Seen>,
}

/// Something that is true of a set. The fields are described in `facts.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fact {
    package: PackageName,
    #[serde(default = "Specifiers::any", deserialize_with = "parsed")]
    versions: Specifiers,
    #[serde(default)]
    with: Vec<Party>,
    #[serde(default)]
    without: Vec<PackageName>,
    #[serde(default)]
    below: Option<Floor>,
    #[serde(default)]
    gpu: bool,
    #[serde(default)]
    source: bool,
    mark: Told,
    because: String,
    how: How,
    evidence: Vec<String>,
}

/// Another package of a set.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Party {
    package: PackageName,
    #[serde(default = "Specifiers::any", deserialize_with = "parsed")]
    versions: Specifiers,
}

/// A macOS.
#[derive(Deserialize)]
struct Floor(#[serde(deserialize_with = "parsed")] MacosVersion);

/// A request that no set satisfies.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoSet {
    request: String,
    because: String,
    how: How,
    evidence: Vec<String>,
}

/// Releases that facts were gathered for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Seen {
    package: PackageName,
    #[serde(deserialize_with = "parsed")]
    versions: Specifiers,
}

/// Where a fact comes from.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum How {
    Measured,
    Documented,
    Reported,
}

impl fmt::Display for How {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Measured => "measured",
            Self::Documented => "documented",
            Self::Reported => "reported",
        })
    }
}

/// The marks that a fact may give.
#[derive(Deserialize, Clone, Copy)]
enum Told {
    #[serde(rename = "works")]
    Works,
    #[serde(rename = "fails in use")]
    FailsInUse,
    #[serde(rename = "GPU unsupported")]
    GpuUnsupported,
    #[serde(rename = "GPU refused")]
    GpuRefused,
    #[serde(rename = "cannot load")]
    CannotLoad,
}

/// What an answer is worth, the worst last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Mark {
    /// No set satisfies the request, and that is what was said.
    NoneExists,
    /// Every package has a wheel, and nothing that is known says otherwise.
    Works,
    /// Imports, and fails at what was asked for.
    FailsInUse,
    /// Below what upstream says it needs, without being stopped.
    GpuUnsupported,
    /// The framework does not use the GPU.
    GpuRefused,
    /// A part of it cannot be imported.
    CannotLoad,
    /// A package has neither a wheel nor a source archive.
    CannotInstall,
    /// The facts do not reach so far.
    NotKnown,
    /// Nothing was found, although there may be something.
    NoAnswer,
}

impl Mark {
    pub(crate) const ALL: [Self; 9] = [
        Self::Works,
        Self::NoneExists,
        Self::FailsInUse,
        Self::GpuUnsupported,
        Self::GpuRefused,
        Self::CannotLoad,
        Self::CannotInstall,
        Self::NotKnown,
        Self::NoAnswer,
    ];

    /// Returns whether there is nothing to complain of.
    pub(crate) fn is_right(self) -> bool {
        matches!(self, Self::NoneExists | Self::Works)
    }
}

impl From<Told> for Mark {
    fn from(told: Told) -> Self {
        match told {
            Told::Works => Self::Works,
            Told::FailsInUse => Self::FailsInUse,
            Told::GpuUnsupported => Self::GpuUnsupported,
            Told::GpuRefused => Self::GpuRefused,
            Told::CannotLoad => Self::CannotLoad,
        }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::NoneExists => "none exists",
            Self::Works => "works",
            Self::FailsInUse => "fails in use",
            Self::GpuUnsupported => "GPU unsupported",
            Self::GpuRefused => "GPU refused",
            Self::CannotLoad => "cannot load",
            Self::CannotInstall => "cannot install",
            Self::NotKnown => "not known",
            Self::NoAnswer => "no answer",
        })
    }
}

/// An answer's mark and what it rests on.
pub(crate) struct Verdict {
    pub(crate) mark: Mark,
    /// Why, and with what evidence; remarks on an answer that works.
    pub(crate) reasons: Vec<Reason>,
}

/// One reason of a verdict.
#[derive(Clone, PartialEq)]
pub(crate) struct Reason {
    /// The package that it is about; none for a whole request.
    pub(crate) package: Option<PackageName>,
    pub(crate) because: String,
    pub(crate) evidence: String,
}

impl Facts {
    /// Reads what is known, which may speak of these requests only.
    pub(crate) fn read(requests: &[Request]) -> Self {
        let facts: Self = toml::from_str(include_str!("facts.toml")).expect("facts.toml can be read");
        for none in &facts.none {
            assert!(requests.iter().any(|request| request.id == none.request), "no request `{}`", none.request);
        }
        facts
    }

    /// Marks an answer.
    pub(crate) fn judge(&self, request: &Request, answer: &Answer) -> Verdict {
        let none = self.none.iter().find(|none| none.request == request.id);
        let Some(set) = answer.set() else {
            return match none {
                Some(none) => Verdict {
                    mark: Mark::NoneExists,
                    reasons: vec![reason(None, &none.because, none.how, &none.evidence)],
                },
                None => Verdict { mark: Mark::NoAnswer, reasons: Vec::new() },
            };
        };
        let mut found: Vec<(Mark, Reason)> = Vec::new();
        for package in set {
            let name = || Some(package.name.clone());
            let unfounded = |because: String| Reason { package: name(), because, evidence: String::new() };
            if package.origin == Origin::Nowhere {
                let what = format!("`{}` {} has no file for that Mac and Python", package.name, package.version);
                found.push((Mark::CannotInstall, unfounded(what)));
            }
            let seen = self.seen.iter().find(|seen| seen.package == package.name);
            if seen.is_some_and(|seen| !seen.versions.contains(&package.version)) {
                let what = format!("nobody has looked at `{}` {}", package.name, package.version);
                found.push((Mark::NotKnown, unfounded(what)));
            }
            let facts = self.fact.iter().filter(|fact| fact.holds(request, package, set));
            found.extend(facts.map(|fact| (fact.mark.into(), reason(name(), &fact.because, fact.how, &fact.evidence))));
        }
        // What is known to be bad stays bad, however little is known of the rest.
        let bad = found.iter().map(|(mark, _)| *mark).filter(|mark| !mark.is_right());
        let mark = bad.clone().filter(|mark| *mark != Mark::NotKnown).max().or(bad.max()).unwrap_or(Mark::Works);
        assert!(none.is_none() || mark != Mark::Works, "`{}` has an answer, say the facts, and none", request.id);
        let reasons = found.into_iter().filter(|(one, _)| *one == mark).map(|(_, reason)| reason).collect();
        Verdict { mark, reasons }
    }
}

impl Fact {
    /// Returns whether it is true of a package of a set.
    fn holds(&self, request: &Request, package: &Package, set: &[Package]) -> bool {
        self.package == package.name
            && self.versions.contains(&package.version)
            && self.with.iter().all(|party| set.iter().any(|other| party.is(&other.name, &other.version)))
            && self.without.iter().all(|name| set.iter().all(|other| other.name != *name))
            && self.below.as_ref().is_none_or(|floor| request.macos < floor.0)
            && (request.gpu || !self.gpu)
            && (package.origin == Origin::Source || !self.source)
    }
}

impl Party {
    fn is(&self, name: &PackageName, version: &Version) -> bool {
        self.package == *name && self.versions.contains(version)
    }
}

fn reason(package: Option<PackageName>, because: &str, how: How, evidence: &[String]) -> Reason {
    Reason { package, because: because.to_owned(), evidence: format!("{how}: {}", evidence.join(", ")) }
}
