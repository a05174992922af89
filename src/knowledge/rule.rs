//! One piece of knowledge, always valid: what it is about, when it counts, what it says, why, and who says so.

use std::fmt;

use crate::pep::PackageName;
use crate::pep::Specifiers;
use crate::pep::Version;

/// One piece of knowledge.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// Its stable name, which `ignore-rules` takes.
    pub id: String,
    /// The package it is about.
    pub package: PackageName,
    /// The releases of it; pre-releases count where they lie inside.
    pub versions: Specifiers,
    /// What is said of them.
    pub says: Says,
    /// What is at stake.
    pub scope: Scope,
    /// The macOS versions (`14.4`) on which it counts; any when all.
    pub macos: Specifiers,
    /// The generations of chips on which it counts, 1 for M1; empty for all.
    pub chips: Vec<u8>,
    /// The Pythons on which it counts; any when all.
    pub python: Specifiers,
    /// Why, as one sentence for people.
    pub reason: String,
    /// Who says so, never empty.
    pub evidence: Vec<Evidence>,
    /// How it is known.
    pub confidence: Confidence,
}

/// What a rule says of its releases.
#[derive(Clone, PartialEq, Debug)]
pub enum Says {
    /// They need one of these; never empty.
    Requires(Vec<Release>),
    /// They cannot be beside that one.
    Conflicts(Release),
    /// They are of no use at all.
    Unusable,
    /// They need such a macOS (`>=15.0`).
    NeedsMacos(Specifiers),
    /// They need such a Python.
    NeedsPython(Specifiers),
    /// Something to know of them; never binding.
    Advice(Advice),
}

/// Something to know of a release.
#[derive(Clone, PartialEq, Debug)]
pub struct Advice {
    /// It counts only beside such a release.
    pub with: Option<Release>,
    /// It counts only where no such release is.
    pub without: Option<Release>,
    /// What to take instead.
    pub prefer: Option<Release>,
    /// What goes wrong, if something does.
    pub problem: Option<Problem>,
}

/// Releases of a package: `tensorflow>=2.14,<2.20`.
#[derive(Clone, PartialEq, Debug)]
pub struct Release {
    /// The package.
    pub name: PackageName,
    /// Its versions.
    pub versions: Specifiers,
}

/// What goes wrong on a Mac, the worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Problem {
    /// Results are wrong, and nothing says so.
    WrongNumbers,
    /// The process ends, or an operation fails.
    Crash,
    /// It takes far longer than it should.
    Slow,
}

/// What a rule endangers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Scope {
    /// Installing the set.
    Install,
    /// Importing the library.
    Import,
    /// Computing on the GPU.
    Gpu,
    /// Computing in bfloat16 on the GPU.
    GpuBf16,
    /// Converting a model to Core ML.
    Convert,
    /// Quantizing a model.
    Quantize,
    /// Predicting with a converted model.
    Predict,
    /// Reading and writing media.
    Io,
    /// Some use at run time.
    Runtime,
}

/// When a rule binds on Macs, apart from the macOS and the chips on which it counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Force {
    /// Always.
    Always,
    /// When the GPU must be usable.
    GpuRequired,
    /// Never: it is told where it applies.
    Never,
}

/// Who says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Evidence {
    /// A published wheel that was read, by its file name.
    Wheel(String),
    /// A page.
    Address(String),
    /// The index's list of the files of a package.
    Files(PackageName),
}

/// How something is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Confidence {
    /// Read out of published wheels; nothing was run on a Mac.
    Measured,
    /// Said by those who make it.
    Documented,
    /// Told by users.
    Reported,
}

impl Rule {
    /// Returns whether the rule is about this release of its package.
    pub fn is_about(&self, version: &Version) -> bool {
        self.versions.contains(version)
    }

    /// Returns when the rule binds.
    pub fn force(&self) -> Force {
        match self.scope {
            _ if matches!(self.says, Says::Advice(_)) => Force::Never,
            Scope::Install | Scope::Import => Force::Always,
            Scope::Gpu => Force::GpuRequired,
            _ => Force::Never,
        }
    }

    /// Returns the releases that the rule names besides its own.
    pub fn others(&self) -> Vec<&Release> {
        match &self.says {
            Says::Requires(any_of) => any_of.iter().collect(),
            Says::Conflicts(other) => vec![other],
            Says::Advice(advice) => [&advice.with, &advice.without, &advice.prefer].into_iter().flatten().collect(),
            Says::Unusable | Says::NeedsMacos(_) | Says::NeedsPython(_) => Vec::new(),
        }
    }

    /// Returns what goes wrong, if the rule tells of that.
    pub fn problem(&self) -> Option<Problem> {
        match &self.says {
            Says::Advice(advice) => advice.problem,
            _ => None,
        }
    }

    /// Returns what to take instead, if the rule knows.
    pub fn prefer(&self) -> Option<&Release> {
        match &self.says {
            Says::Advice(advice) => advice.prefer.as_ref(),
            _ => None,
        }
    }

    /// Names the Macs on which it counts: `macOS >=26.0, <27.0, m1`; `every Mac` for all.
    pub fn macs(&self) -> String {
        let macos = (!self.macos.is_any()).then(|| format!("macOS {}", self.macos));
        let chips = self.chips.iter().map(|chip| format!("m{chip}"));
        let all: Vec<String> = macos.into_iter().chain(chips).collect();
        if all.is_empty() { "every Mac".to_owned() } else { all.join(", ") }
    }

    /// Writes what the rule says as a lowercase sentence: `` `tensorflow-metal` 1.2.0 needs `tensorflow` … ``.
    pub fn statement(&self) -> String {
        format!("{} {}", Release { name: self.package.clone(), versions: self.versions.clone() }, self.predicate())
    }

    /// Writes what the rule says of one of its releases.
    pub fn statement_of(&self, version: &Version) -> String {
        format!("`{}` {version} {}", self.package, self.predicate())
    }

    fn predicate(&self) -> String {
        let purpose = self.scope.purpose();
        match &self.says {
            Says::Requires(any_of) => {
                let any_of = any_of.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ");
                format!("needs {any_of}{purpose}")
            }
            Says::Conflicts(other) => format!("cannot be beside {other}{purpose}"),
            Says::Unusable if self.scope == Scope::Gpu => "cannot use the GPU".to_owned(),
            Says::Unusable => "is of no use on a Mac".to_owned(),
            Says::NeedsMacos(needs) => format!("needs macOS {needs}{purpose}"),
            Says::NeedsPython(needs) => format!("needs Python {needs}{purpose}"),
            Says::Advice(Advice { problem: Some(problem), .. }) => format!("is known for {}", problem.title()),
            Says::Advice(_) => "has something to know".to_owned(),
        }
    }

    /// Writes where a reader finds the rule and its ground: ``rule `id`: Reason (measured: …)``.
    pub fn ground(&self) -> String {
        format!("rule `{}`: {} ({}: {})", self.id, self.reason, self.confidence, named(&self.evidence))
    }

    /// Writes the reason with the name under which `macml rules` shows the rest: ``rule `id`: Reason.``
    pub fn brief(&self) -> String {
        format!("rule `{}`: {}", self.id, self.reason)
    }

    /// Writes the reason as the rest of a sentence: without a capital that only begins it, and without a stop.
    pub fn clause(&self) -> String {
        /// Names that a reason may begin with, and nothing else of their form.
        const NAMES: [&str; 6] = ["Apple", "Apple's", "TensorFlow's", "Python", "Metal", "Keras"];
        let reason = self.reason.trim_end_matches('.');
        let first = reason.split(' ').next().unwrap_or_default();
        let mut chars = first.chars();
        let begins = chars.next().filter(char::is_ascii_uppercase);
        // `MPS`, `F.linear` and `METADATA` are names by their form.
        let plain = chars.clone().all(|char| char.is_ascii_lowercase() || char == '-');
        match begins.filter(|_| plain && !NAMES.contains(&first)) {
            Some(letter) => format!("{}{}", letter.to_ascii_lowercase(), &reason[letter.len_utf8()..]),
            None => reason.to_owned(),
        }
    }

    /// Writes where a reader who has the reason finds the rule and who says so: ``rule `id` (measured)``.
    pub fn source(&self) -> String {
        format!("rule `{}` ({})", self.id, self.confidence)
    }
}

impl Problem {
    /// Writes what goes wrong in two words.
    pub fn title(self) -> &'static str {
        match self {
            Self::WrongNumbers => "wrong results",
            Self::Crash => "a crash",
            Self::Slow => "slowness",
        }
    }
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 9] = [
        Self::Install,
        Self::Import,
        Self::Gpu,
        Self::GpuBf16,
        Self::Convert,
        Self::Quantize,
        Self::Predict,
        Self::Io,
        Self::Runtime,
    ];

    /// Writes what a requirement of this scope is for, with a blank before; nothing where all use is meant.
    pub fn purpose(self) -> &'static str {
        match self {
            Self::Install | Self::Import => "",
            Self::Gpu => " for the GPU",
            Self::GpuBf16 => " for bfloat16 on the GPU",
            Self::Convert => " for conversion",
            Self::Quantize => " for quantization",
            Self::Predict => " for prediction",
            Self::Io => " for reading and writing media",
            Self::Runtime => " in some uses",
        }
    }
}

/// Names the first pieces of evidence; a list of all of them is `macml rules ID`.
pub(super) fn named(evidence: &[Evidence]) -> String {
    const MOST: usize = 2;
    let mut named = evidence.iter().take(MOST).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if evidence.len() > MOST {
        named += ", …";
    }
    named
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.versions.to_string();
        match self.versions.exact() {
            _ if self.versions.is_any() => write!(f, "`{}`", self.name),
            Some(exact) if text == format!("=={exact}") => write!(f, "`{}` {exact}", self.name),
            _ => write!(f, "`{}` {text}", self.name),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Install => "install",
            Self::Import => "import",
            Self::Gpu => "gpu",
            Self::GpuBf16 => "gpu-bf16",
            Self::Convert => "convert",
            Self::Quantize => "quantize",
            Self::Predict => "predict",
            Self::Io => "io",
            Self::Runtime => "runtime",
        })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WrongNumbers => "wrong-numbers",
            Self::Crash => "crash",
            Self::Slow => "slow",
        })
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Measured => "measured",
            Self::Documented => "documented",
            Self::Reported => "reported",
        })
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wheel(file) => f.write_str(file),
            Self::Address(address) => f.write_str(address),
            Self::Files(name) => write!(f, "files of {name}"),
        }
    }
}

impl fmt::Display for Says {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Requires(_) => "requires",
            Self::Conflicts(_) | Self::Unusable => "conflicts",
            Self::NeedsMacos(_) => "needs-macos",
            Self::NeedsPython(_) => "needs-python",
            Self::Advice(_) => "advice",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::knowledge::Knowledge;

    #[test]
    fn reasons_go_on_with_a_sentence() {
        let knowledge = Knowledge::built_in();
        let clauses: Vec<String> = knowledge.rules().iter().map(super::Rule::clause).collect();
        assert!(clauses.iter().all(|clause| !clause.ends_with('.')));
        let upper = |word: &&str| word.starts_with(|char: char| char.is_uppercase());
        let first: BTreeSet<&str> =
            clauses.iter().filter_map(|clause| clause.split(' ').next()).filter(upper).collect();
        let names = ["Apple", "Apple's", "F.linear", "METADATA", "MPS", "Python", "SAM", "TensorFlow's"];
        assert_eq!(first, BTreeSet::from(names), "a name that is not known, or a word that is none");
        assert!(clauses.iter().any(|clause| clause.starts_with("it takes Homebrew's")));
    }
}
