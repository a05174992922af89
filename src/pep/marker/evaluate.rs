//! Deciding a marker over a set of machines.
//!
//! Two values vary among the machines of a [`MarkerEnv`]: the patch of Python and the release of Darwin. Both are
//! versions of three numbers, from a lowest one upward. Every comparison cuts that line at a few places computed from
//! its own text, so a marker is constant between cuts, and trying the first version of each stretch tries them all.
//! What has no such cuts (a part of an unknown text) is unknown, and stays so through `and` and `or` unless the other
//! side decides.

use std::collections::BTreeSet;

use super::Asked;
use super::Compare;
use super::Expr;
use super::Marker;
use super::MarkerEnv;
use super::Meaning;
use super::Operator;
use super::Side;
use super::Truth;
use super::Variable;
use crate::pep::name::ExtraName;
use crate::pep::version::Specifiers;
use crate::pep::version::Version;

/// More combinations than this are not tried; each comparison is then decided by itself.
const MOST_COMBINATIONS: usize = 1000;

type Triple = [u64; 3];

impl Marker {
    /// Evaluates for `env`; `extras` are the extras asked for (`extra == "…"` is false when there are none).
    pub fn evaluate(&self, env: &MarkerEnv, extras: &[ExtraName]) -> Truth {
        self.evaluate_asked(env, Asked { extras, groups: &[] })
    }

    /// Evaluates for `env` and what is `asked` of the lockfile that the marker stands in.
    pub fn evaluate_asked(&self, env: &MarkerEnv, asked: Asked<'_>) -> Truth {
        let (mut patches, mut releases) = (None, None);
        self.root.visit(&mut |compare| {
            let line = match compare.variable {
                Variable::PythonFullVersion | Variable::ImplementationVersion => {
                    patches.get_or_insert_with(|| Line::patches(env))
                }
                Variable::PlatformRelease => releases.get_or_insert_with(|| Line::releases(env)),
                _ => return,
            };
            if let Some(line) = line {
                compare.cut(line);
            }
        });
        let patches = patches.flatten().map_or_else(Vec::new, Line::values);
        let releases = releases.flatten().map_or_else(Vec::new, Line::values);
        if patches.len().max(1) * releases.len().max(1) > MOST_COMBINATIONS {
            return self.root.decide(&|compare| compare.decide_alone(env, asked));
        }
        common(each(&patches).flat_map(|patch| {
            each(&releases).map(move |release| {
                let machine = Machine { env, asked, patch, release };
                self.root.decide(&|compare| compare.decide(&machine))
            })
        }))
    }
}

/// Goes through the values, or once through nothing when there are none.
fn each(values: &[Value]) -> impl Iterator<Item = Option<&Value>> {
    let nothing = values.is_empty().then_some(None);
    values.iter().map(Some).chain(nothing)
}

/// Returns what all agree on.
fn common(mut truths: impl Iterator<Item = Truth>) -> Truth {
    let first = truths.next().unwrap_or(Truth::Unknown);
    if first != Truth::Unknown && truths.all(|truth| truth == first) { first } else { Truth::Unknown }
}

impl Truth {
    fn of(holds: bool) -> Self {
        if holds { Self::Always } else { Self::Never }
    }
}

impl Expr {
    fn decide(&self, leaf: &dyn Fn(&Compare) -> Truth) -> Truth {
        let (all, decisive, otherwise) = match self {
            Self::Compare(compare) => return leaf(compare),
            Self::And(all) => (all, Truth::Never, Truth::Always),
            Self::Or(all) => (all, Truth::Always, Truth::Never),
        };
        let mut truth = otherwise;
        for one in all {
            match one.decide(leaf) {
                one if one == decisive => return decisive,
                Truth::Unknown => truth = Truth::Unknown,
                _ => {}
            }
        }
        truth
    }
}

/// A value of a variable that is a version.
struct Value {
    text: String,
    version: Version,
}

impl Value {
    fn of(version: &Version) -> Self {
        Self { text: version.to_string(), version: version.clone() }
    }

    fn triple(triple: Triple) -> Self {
        Self::of(&Version::new(triple))
    }
}

/// The machines of `env` that share a patch of Python and a release of Darwin.
struct Machine<'a> {
    env: &'a MarkerEnv,
    asked: Asked<'a>,
    patch: Option<&'a Value>,
    release: Option<&'a Value>,
}

/// The versions of three numbers that a varying value can be, and where comparisons cut them.
struct Line {
    lowest: Triple,
    /// The first that is too high.
    end: Option<Triple>,
    cuts: BTreeSet<Triple>,
}

impl Line {
    fn patches(env: &MarkerEnv) -> Option<Self> {
        let (major, minor) = env.python_version;
        let vary = env.python_full_version.is_none();
        vary.then(|| Self {
            lowest: [major, minor, 0],
            end: Some([major, minor.saturating_add(1), 0]),
            cuts: BTreeSet::new(),
        })
    }

    fn releases(env: &MarkerEnv) -> Option<Self> {
        let lowest = triple(env.platform_release_floor.as_ref()?);
        Some(Self { lowest, end: None, cuts: BTreeSet::new() })
    }

    /// Adds every place where a specifier with this version can begin or cease to hold.
    fn cut_at(&mut self, version: &Version) {
        if version.epoch() != 0 {
            return;
        }
        let [a, b, c] = triple(version);
        let next = |number: u64| number.saturating_add(1);
        let cuts = [[a, 0, 0], [next(a), 0, 0], [a, b, 0], [a, next(b), 0], [a, b, c], [a, b, next(c)]];
        let fits = |cut: &Triple| *cut > self.lowest && self.end.is_none_or(|end| *cut < end);
        let cuts: Vec<Triple> = cuts.into_iter().filter(fits).collect();
        self.cuts.extend(cuts);
    }

    /// Returns the first version of each stretch.
    fn values(self) -> Vec<Value> {
        std::iter::once(self.lowest).chain(self.cuts).map(Value::triple).collect()
    }

    /// Whether every version of the line contains `part`, or none does, so that any of them can tell.
    fn settles(&self, part: &str) -> bool {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if self.end.is_none() {
            let possible = part.split('.').count() <= 3 && part.split('.').all(digits);
            return part.is_empty() || !possible;
        }
        let [a, b, _] = self.lowest;
        let stem = format!("{a}.{b}.");
        // Else it would begin at the end of the stem and go on in the patch.
        let overlaps = |(at, _): (usize, char)| stem.ends_with(&part[..at]) && digits(&part[at..]);
        stem.contains(part) || !part.char_indices().any(overlaps)
    }
}

fn triple(version: &Version) -> Triple {
    let release = version.release();
    std::array::from_fn(|index| release.get(index).copied().unwrap_or(0))
}

/// Finds the versions of three numbers that are parts of `text`.
fn triples_within(text: &str) -> Vec<Version> {
    let mut found = Vec::new();
    for (start, _) in text.char_indices().filter(|(_, c)| c.is_ascii_digit()) {
        let tail = &text[start..];
        let end = tail.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(tail.len());
        let mut parts = tail[..end].splitn(4, '.');
        let (Some(a), Some(b), Some(c)) = (parts.next(), parts.next(), parts.next()) else { continue };
        found.extend((1..=c.len()).filter_map(|length| format!("{a}.{b}.{}", &c[..length]).parse::<Version>().ok()));
    }
    found
}

impl Compare {
    /// Cuts the line of the variable's values where this comparison changes.
    fn cut(&self, line: &mut Line) {
        match (&self.meaning, self.side) {
            (Meaning::Specifier(specifiers), _) => specifiers.versions().for_each(|version| line.cut_at(version)),
            (Meaning::Identity(text), _) => text.parse().iter().for_each(|version| line.cut_at(version)),
            (Meaning::Candidate(version), _) => version.iter().for_each(|version| line.cut_at(version)),
            (Meaning::Text, Side::Left) => triples_within(&self.text).iter().for_each(|version| line.cut_at(version)),
            (Meaning::Text, Side::Right) => {}
        }
    }

    /// Decides over all values of its own variable, whatever the rest of the marker asks.
    fn decide_alone(&self, env: &MarkerEnv, asked: Asked<'_>) -> Truth {
        let values = |line: Option<Line>| {
            line.map_or_else(Vec::new, |mut line| {
                self.cut(&mut line);
                line.values()
            })
        };
        match self.variable {
            Variable::PythonFullVersion | Variable::ImplementationVersion => {
                let patches = values(Line::patches(env));
                common(each(&patches).map(|patch| self.decide(&Machine { env, asked, patch, release: None })))
            }
            Variable::PlatformRelease => {
                let releases = values(Line::releases(env));
                common(each(&releases).map(|release| self.decide(&Machine { env, asked, patch: None, release })))
            }
            _ => self.decide(&Machine { env, asked, patch: None, release: None }),
        }
    }

    fn decide(&self, machine: &Machine<'_>) -> Truth {
        let env = machine.env;
        let text = |value: &str| Truth::of(self.holds_as_text(self.operator, value));
        match self.variable {
            Variable::OsName => text(&env.os_name),
            Variable::SysPlatform => text(&env.sys_platform),
            Variable::PlatformMachine => text(&env.platform_machine),
            Variable::PlatformSystem => text(&env.platform_system),
            Variable::PlatformPythonImplementation => text("CPython"),
            Variable::ImplementationName => text("cpython"),
            Variable::Extra => Truth::of(self.holds_for(machine.asked.extras)),
            Variable::Extras => Truth::of(self.is_among(machine.asked.extras)),
            Variable::DependencyGroups => Truth::of(self.is_among(machine.asked.groups)),
            Variable::PythonVersion => {
                let (major, minor) = env.python_version;
                Truth::of(self.holds(&Value::of(&Version::new([major, minor]))))
            }
            Variable::PythonFullVersion | Variable::ImplementationVersion => {
                let line = Line::patches(env);
                match &env.python_full_version {
                    Some(version) => Truth::of(self.holds(&Value::of(version))),
                    None => self.decide_varying(line.as_ref(), machine.patch),
                }
            }
            Variable::PlatformRelease => self.decide_varying(Line::releases(env).as_ref(), machine.release),
            Variable::PlatformVersion => self.decide_varying(None, None),
        }
    }

    fn decide_varying(&self, line: Option<&Line>, value: Option<&Value>) -> Truth {
        // These are false between any two texts, known or not.
        let hopeless =
            matches!(self.operator, Operator::Less | Operator::Greater | Operator::Compatible | Operator::Identical);
        match (&self.meaning, self.side, line, value) {
            (Meaning::Text, ..) if hopeless && !self.variable.is_version() => Truth::Never,
            (Meaning::Text, Side::Right, Some(line), Some(value))
                if !matches!(self.operator, Operator::In | Operator::NotIn) || line.settles(&self.text) =>
            {
                Truth::of(self.holds(value))
            }
            (Meaning::Text, Side::Right, ..) => Truth::Unknown,
            (_, _, Some(_), Some(value)) => Truth::of(self.holds(value)),
            _ => Truth::Unknown,
        }
    }

    fn holds(&self, value: &Value) -> bool {
        match &self.meaning {
            Meaning::Specifier(specifiers) => specifiers.contains(&value.version),
            Meaning::Identity(text) => text.to_lowercase() == value.text.to_lowercase(),
            Meaning::Candidate(_) if self.operator == Operator::Identical => {
                self.text.to_lowercase() == value.text.to_lowercase()
            }
            Meaning::Candidate(candidate) => {
                match Specifiers::parse_one(&format!("{}{}", self.operator.as_str(), value.text)) {
                    Some(specifiers) => candidate.as_ref().is_some_and(|version| specifiers.contains(version)),
                    None => self.holds_as_text(self.operator, &value.text),
                }
            }
            Meaning::Text => self.holds_as_text(self.operator, &value.text),
        }
    }

    fn holds_as_text(&self, operator: Operator, value: &str) -> bool {
        let (left, right) = match self.side {
            Side::Left => (value, self.text.as_str()),
            Side::Right => (self.text.as_str(), value),
        };
        match operator {
            Operator::In => right.contains(left),
            Operator::NotIn => !right.contains(left),
            Operator::Equal | Operator::LessEqual | Operator::GreaterEqual => left == right,
            Operator::NotEqual => left != right,
            Operator::Less | Operator::Greater | Operator::Compatible | Operator::Identical => false,
        }
    }

    /// Decides `'x' in extras` and `'x' not in extras`, which is all that the grammar lets be asked of a set.
    fn is_among(&self, names: &[ExtraName]) -> bool {
        names.iter().any(|name| name.as_str() == self.text) == (self.operator == Operator::In)
    }

    /// Decides a comparison with `extra` for all extras asked for; none is the empty text.
    fn holds_for(&self, extras: &[ExtraName]) -> bool {
        let any = |operator: Operator| match extras {
            [] => self.holds_as_text(operator, ""),
            _ => extras.iter().any(|extra| self.holds_as_text(operator, extra.as_str())),
        };
        match self.operator {
            Operator::Equal => any(Operator::Equal),
            Operator::NotEqual => !any(Operator::Equal),
            Operator::NotIn => !any(Operator::In),
            operator => any(operator),
        }
    }
}
