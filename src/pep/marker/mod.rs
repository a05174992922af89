//! Environment markers (PEP 508) and their evaluation over a set of machines.
//!
//! `parse.rs` reads the text, `evaluate.rs` decides; both as the `packaging` package does. Where `packaging` raises an
//! error instead of answering (`~=` between texts, `extra < "a"`), the comparison is false.
//! <https://packaging.python.org/en/latest/specifications/dependency-specifiers/>

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::name::ExtraName;
use super::version::Specifiers;
use super::version::Version;

mod evaluate;
mod parse;

/// A parsed marker expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Marker {
    root: Expr,
}

/// Why a text is no marker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not an environment marker: {reason}")]
pub struct MarkerError {
    text: String,
    reason: String,
}

impl MarkerError {
    /// Returns what is wrong, without the text.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

/// Whether a marker holds on all, none or only some of the machines that a [`MarkerEnv`] stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Truth {
    /// Holds on every one.
    Always,
    /// Holds on none.
    Never,
    /// Holds on some, or cannot be told.
    Unknown,
}

/// The values of marker variables on the machines resolved for; what varies among them is a set or unknown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MarkerEnv {
    /// `os_name`, `posix` on all of ours.
    pub os_name: String,
    /// `sys_platform`: `darwin` or `linux`.
    pub sys_platform: String,
    /// `platform_machine`: `arm64`, `aarch64` or `x86_64`.
    pub platform_machine: String,
    /// `platform_system`: `Darwin` or `Linux`.
    pub platform_system: String,
    /// `platform_release`: the lowest kernel release (Darwin version) that counts; unknown on Linux.
    pub platform_release_floor: Option<Version>,
    /// `python_version`, major and minor.
    pub python_version: (u64, u64),
    /// `python_full_version` when it is one patch release; `None` stands for every patch of the minor.
    pub python_full_version: Option<Version>,
}

/// A variable of markers, under its current name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Variable {
    /// `os_name`
    OsName,
    /// `sys_platform`
    SysPlatform,
    /// `platform_machine`
    PlatformMachine,
    /// `platform_python_implementation`
    PlatformPythonImplementation,
    /// `platform_release`
    PlatformRelease,
    /// `platform_system`
    PlatformSystem,
    /// `platform_version`
    PlatformVersion,
    /// `python_version`
    PythonVersion,
    /// `python_full_version`
    PythonFullVersion,
    /// `implementation_name`
    ImplementationName,
    /// `implementation_version`
    ImplementationVersion,
    /// `extra`
    Extra,
    /// `extras`, in markers of lockfiles only
    Extras,
    /// `dependency_groups`, in markers of lockfiles only
    DependencyGroups,
}

/// What somebody asks of a lockfile, for its markers with `extras` and `dependency_groups`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Asked<'a> {
    /// The extras, for `extra` and `extras`.
    pub extras: &'a [ExtraName],
    /// The dependency groups, for `dependency_groups`.
    pub groups: &'a [ExtraName],
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Expr {
    And(Vec<Self>),
    Or(Vec<Self>),
    Compare(Box<Compare>),
}

/// One comparison of a variable with a text.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Compare {
    variable: Variable,
    operator: Operator,
    text: String,
    side: Side,
    meaning: Meaning,
}

/// On which side of the operator the variable stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Left,
    Right,
}

/// What the text is compared as, decided once.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Meaning {
    /// Operator and text are a specifier that the variable's value must satisfy.
    Specifier(Specifiers),
    /// `===`: the value must be this text, whatever the case.
    Identity(String),
    /// The text is a version (or is not) that must satisfy the specifier made of operator and value.
    Candidate(Option<Version>),
    /// Texts.
    Text,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operator {
    Less,
    LessEqual,
    Equal,
    NotEqual,
    GreaterEqual,
    Greater,
    Compatible,
    Identical,
    In,
    NotIn,
}

impl Marker {
    /// Reads a marker of a lockfile, which may also ask `'x' in extras` and `'x' in dependency_groups`.
    ///
    /// <https://packaging.python.org/en/latest/specifications/pylock-toml/>
    ///
    /// # Errors
    /// When the text is no such marker.
    pub fn parse_locked(text: &str) -> Result<Self, MarkerError> {
        parse::marker(text, parse::Place::Lockfile).map_err(|reason| MarkerError { text: text.to_owned(), reason })
    }

    /// Returns the variables that the marker depends on.
    pub fn variables(&self) -> BTreeSet<Variable> {
        let mut variables = BTreeSet::new();
        self.root.visit(&mut |compare| {
            variables.insert(compare.variable);
        });
        variables
    }

    /// Returns the extras that the marker names, sorted, without repeats.
    pub fn mentions_extra(&self) -> Vec<ExtraName> {
        let mut extras = BTreeSet::new();
        self.root.visit(&mut |compare| {
            if compare.variable == Variable::Extra {
                extras.extend(compare.text.parse::<ExtraName>());
            }
        });
        extras.into_iter().collect()
    }
}

impl Expr {
    fn visit<'a>(&'a self, visitor: &mut impl FnMut(&'a Compare)) {
        match self {
            Self::And(all) | Self::Or(all) => all.iter().for_each(|one| one.visit(visitor)),
            Self::Compare(compare) => visitor(compare),
        }
    }
}

impl Variable {
    /// Those that requirements may use.
    const ALL: [Self; 12] = [
        Self::OsName,
        Self::SysPlatform,
        Self::PlatformMachine,
        Self::PlatformPythonImplementation,
        Self::PlatformRelease,
        Self::PlatformSystem,
        Self::PlatformVersion,
        Self::PythonVersion,
        Self::PythonFullVersion,
        Self::ImplementationName,
        Self::ImplementationVersion,
        Self::Extra,
    ];

    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OsName => "os_name",
            Self::SysPlatform => "sys_platform",
            Self::PlatformMachine => "platform_machine",
            Self::PlatformPythonImplementation => "platform_python_implementation",
            Self::PlatformRelease => "platform_release",
            Self::PlatformSystem => "platform_system",
            Self::PlatformVersion => "platform_version",
            Self::PythonVersion => "python_version",
            Self::PythonFullVersion => "python_full_version",
            Self::ImplementationName => "implementation_name",
            Self::ImplementationVersion => "implementation_version",
            Self::Extra => "extra",
            Self::Extras => "extras",
            Self::DependencyGroups => "dependency_groups",
        }
    }

    /// Whether values are compared as versions where both sides are some.
    fn is_version(self) -> bool {
        matches!(
            self,
            Self::PlatformRelease | Self::PythonVersion | Self::PythonFullVersion | Self::ImplementationVersion
        )
    }
}

impl Operator {
    fn as_str(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::GreaterEqual => ">=",
            Self::Greater => ">",
            Self::Compatible => "~=",
            Self::Identical => "===",
            Self::In => "in",
            Self::NotIn => "not in",
        }
    }
}

impl FromStr for Marker {
    type Err = MarkerError;

    fn from_str(text: &str) -> Result<Self, MarkerError> {
        parse::marker(text, parse::Place::Requirement).map_err(|reason| MarkerError { text: text.to_owned(), reason })
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.root, f)
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (all, word) = match self {
            Self::Compare(compare) => return fmt::Display::fmt(compare, f),
            Self::And(all) => (all, " and "),
            Self::Or(all) => (all, " or "),
        };
        for (index, one) in all.iter().enumerate() {
            if index > 0 {
                f.write_str(word)?;
            }
            match (self, one) {
                (Self::And(_), Self::Or(_)) => write!(f, "({one})")?,
                _ => fmt::Display::fmt(one, f)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Compare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quote = if self.text.contains('"') { '\'' } else { '"' };
        let (variable, operator, text) = (self.variable.as_str(), self.operator.as_str(), &self.text);
        match self.side {
            Side::Left => write!(f, "{variable} {operator} {quote}{text}{quote}"),
            Side::Right => write!(f, "{quote}{text}{quote} {operator} {variable}"),
        }
    }
}
