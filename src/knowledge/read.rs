//! From TOML to [`Knowledge`]: every field of a rule, and what is wrong with one that cannot be read.
//!
//! The files are part of the program, so a mistake in them is a mistake of ours: a test reads them all.

use std::str::FromStr;

use serde::Deserialize;

use crate::diag::Code;
use crate::pep::PackageName;
use crate::pep::Requirement;
use crate::pep::RequirementSource;
use crate::pep::Specifiers;
use crate::pep::Version;
use crate::target::MacosVersion;
use crate::target::PythonMinor;

use super::Excused;
use super::Knowledge;
use super::OneNight;
use super::rule::Advice;
use super::rule::Confidence;
use super::rule::Evidence;
use super::rule::Problem;
use super::rule::Release;
use super::rule::Rule;
use super::rule::Says;
use super::rule::Scope;
use super::wheels::InnerTag;
use super::wheels::WheelFact;

/// The files with rules, by family.
const FAMILIES: [(&str, &str); 7] = [
    ("torch", include_str!("rules/torch.toml")),
    ("tensorflow", include_str!("rules/tensorflow.toml")),
    ("mlx", include_str!("rules/mlx.toml")),
    ("coreml", include_str!("rules/coreml.toml")),
    ("jax", include_str!("rules/jax.toml")),
    ("numpy", include_str!("rules/numpy.toml")),
    ("others", include_str!("rules/others.toml")),
];

/// Why the knowledge cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not TOML, or a field that is none.
    #[error("`{file}` cannot be read")]
    Toml {
        /// The file.
        file: String,
        /// Why.
        #[source]
        cause: Box<toml::de::Error>,
    },
    /// An entry that says what cannot be meant.
    #[error("`{id}` in `{file}`: {why}")]
    Entry {
        /// The file.
        file: String,
        /// The rule, or the first package of a wheel.
        id: String,
        /// What is wrong.
        why: String,
    },
}

/// Reads what is built into macml.
pub(super) fn built_in() -> Result<Knowledge, ReadError> {
    parse(include_str!("knowledge.toml"), include_str!("wheels.toml"), &FAMILIES)
}

/// Reads rules in place of those that are built in.
pub(super) fn rules(text: &str) -> Result<Knowledge, ReadError> {
    parse(include_str!("knowledge.toml"), include_str!("wheels.toml"), &[("own", text)])
}

/// Reads the general file, that of wheels, and one for each family of rules.
fn parse(general: &str, wheels: &str, families: &[(&str, &str)]) -> Result<Knowledge, ReadError> {
    let general: General = toml(general, "knowledge.toml")?;
    let mut knowledge = general.knowledge()?;
    let wheels: Wheels = toml(wheels, "wheels.toml")?;
    for raw in wheels.wheel {
        let entry = Entry { file: "wheels.toml", id: raw.packages.first().cloned().unwrap_or_default() };
        knowledge.wheels.push(raw.fact(&entry)?);
    }
    for raw in wheels.inner_tag {
        let entry = Entry { file: "wheels.toml", id: raw.packages.first().cloned().unwrap_or_default() };
        knowledge.inner_tags.push(raw.inner_tag(&entry)?);
    }
    let excused: RawExcuses = toml(include_str!("excused.toml"), "excused.toml")?;
    for raw in excused.excused {
        let entry = Entry { file: "excused.toml", id: raw.package.clone() };
        knowledge.excused.push(raw.excused(&entry)?);
    }
    let mut rules: Vec<Rule> = Vec::new();
    for (family, text) in families {
        let file = format!("rules/{family}.toml");
        let raw: Rules = toml(text, &file)?;
        for raw in raw.rule {
            let entry = Entry { file: &file, id: raw.id.clone() };
            let rule = raw.rule(&entry)?;
            if rules.iter().any(|other| other.id == rule.id) {
                return Err(entry.wrong("there is another rule of this name"));
            }
            rules.push(rule);
        }
    }
    Ok(knowledge.with_rules(rules))
}

fn toml<T: serde::de::DeserializeOwned>(text: &str, file: &str) -> Result<T, ReadError> {
    toml::from_str(text).map_err(|cause| ReadError::Toml { file: file.to_owned(), cause: Box::new(cause) })
}

/// `knowledge.toml`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct General {
    date: String,
    darwin_only: Vec<String>,
    newest: std::collections::BTreeMap<String, String>,
    one_night: Vec<RawOneNight>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawOneNight {
    id: String,
    packages: Vec<String>,
    reason: String,
    evidence: Vec<String>,
}

/// `wheels.toml`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Wheels {
    #[serde(default)]
    wheel: Vec<RawWheel>,
    #[serde(default)]
    inner_tag: Vec<RawInnerTag>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawWheel {
    packages: Vec<String>,
    versions: String,
    /// The platform tag in the file name.
    tag: String,
    /// The lowest macOS that it is really for.
    macos: String,
    reason: String,
    evidence: Vec<String>,
    confidence: RawConfidence,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawInnerTag {
    packages: Vec<String>,
    versions: String,
    /// The build number in the file name; 0 for none.
    build: u64,
    /// The platform tag in `WHEEL`.
    says: String,
    reason: String,
    evidence: Vec<String>,
}

/// `excused.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawExcuses {
    #[serde(default)]
    excused: Vec<RawExcused>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawExcused {
    package: String,
    versions: String,
    /// The code of the finding.
    code: String,
    /// Its path from `site-packages`.
    image: String,
    /// The name that is missing.
    symbol: Option<String>,
    reason: String,
    evidence: Vec<String>,
}

/// `rules/*.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rules {
    #[serde(default)]
    rule: Vec<RawRule>,
}

/// One rule as written.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct RawRule {
    /// Kebab-case and stable: people write it into `ignore-rules`.
    id: String,
    package: String,
    /// PEP 440 specifiers of `package`; `*` is every release.
    versions: String,
    kind: Kind,
    /// What is at stake; `import` when absent.
    scope: Option<String>,
    /// `needs-macos`, `needs-python`: what the Mac or the Python must be.
    needs: Option<String>,
    /// `requires`: alternatives, any one will do. `conflicts`: the other side; without one the release is of no use.
    #[serde(default)]
    other: Vec<String>,
    /// `advice`: counts only beside such a release.
    with: Option<String>,
    /// `advice`: counts only where no such release is in the set.
    without: Option<String>,
    /// `advice`: what to take instead.
    prefer: Option<String>,
    /// `advice`: `wrong-numbers`, `crash` or `slow` makes it a known problem.
    problem: Option<String>,
    /// Counts on these macOS versions only; `>=26.0,<27.0`.
    macos: Option<String>,
    /// Counts on these generations of chips only: `["m1", "m2"]`.
    #[serde(default)]
    chips: Vec<String>,
    /// Counts on these Pythons only.
    python: Option<String>,
    /// One sentence for people.
    reason: String,
    /// File names of wheels, `https://` addresses, or `files of NAME` for the index's list of files.
    evidence: Vec<String>,
    confidence: RawConfidence,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Requires,
    Conflicts,
    NeedsMacos,
    NeedsPython,
    Advice,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum RawConfidence {
    Measured,
    Documented,
    Reported,
}

/// Where something wrong stands.
struct Entry<'a> {
    file: &'a str,
    id: String,
}

impl Entry<'_> {
    fn wrong(&self, why: impl Into<String>) -> ReadError {
        ReadError::Entry { file: self.file.to_owned(), id: self.id.clone(), why: why.into() }
    }

    fn read<T: FromStr<Err: std::fmt::Display>>(&self, text: &str) -> Result<T, ReadError> {
        text.parse().map_err(|error: T::Err| self.wrong(error.to_string()))
    }

    /// Reads specifiers; a set that nothing can be in is a mistake.
    fn specifiers(&self, text: &str) -> Result<Specifiers, ReadError> {
        if text == "*" {
            return Ok(Specifiers::any());
        }
        let specifiers: Specifiers = self.read(text)?;
        match specifiers.range().is_empty() {
            true => Err(self.wrong(format!("no version can be `{text}`"))),
            false => Ok(specifiers),
        }
    }

    /// Reads specifiers of macOS versions; absent is every one.
    fn macos(&self, text: Option<&str>) -> Result<Specifiers, ReadError> {
        let Some(text) = text else { return Ok(Specifiers::any()) };
        let two_numbers = |part: &str| {
            let number = part.trim().trim_start_matches(['<', '>', '=', '!', '~']);
            number.parse::<MacosVersion>().is_ok() && number.contains('.')
        };
        match text.split(',').all(two_numbers) {
            true => self.specifiers(text),
            false => Err(self.wrong(format!("`{text}` does not compare macOS versions such as `14.0`"))),
        }
    }

    /// Reads specifiers of Python minors: patch releases are what `Requires-Python` is for.
    fn python(&self, text: &str) -> Result<Specifiers, ReadError> {
        let specifiers = self.specifiers(text)?;
        let decided = |(minor, _): &(PythonMinor, u16)| {
            let first = specifiers.contains(&minor.version());
            minor.known_patches().iter().all(|patch| specifiers.contains(patch) == first)
        };
        match PythonMinor::RELEASED.iter().all(decided) {
            true => Ok(specifiers),
            false => Err(self.wrong(format!("`{text}` tells patch releases of a Python apart"))),
        }
    }

    fn names(&self, texts: &[String]) -> Result<Vec<PackageName>, ReadError> {
        match texts {
            [] => Err(self.wrong("it names no package")),
            _ => texts.iter().map(|text| self.read(text)).collect(),
        }
    }

    fn release(&self, text: &str) -> Result<Release, ReadError> {
        let requirement: Requirement = self.read(text)?;
        let plain = requirement.extras.is_empty() && requirement.marker.is_none();
        match requirement.source {
            RequirementSource::Versions(versions) if plain && !versions.range().is_empty() => {
                Ok(Release { name: requirement.name, versions })
            }
            _ => Err(self.wrong(format!("`{text}` is not a package with versions"))),
        }
    }

    fn releases(&self, texts: &[String]) -> Result<Vec<Release>, ReadError> {
        texts.iter().map(|text| self.release(text)).collect()
    }

    fn evidence(&self, texts: &[String]) -> Result<Vec<Evidence>, ReadError> {
        let one = |text: &String| match text {
            file if file.ends_with(".whl") => {
                self.read::<crate::pep::WheelName>(file).map(|_| Evidence::Wheel(file.clone()))
            }
            address if address.starts_with("https://") => Ok(Evidence::Address(address.clone())),
            other => match other.strip_prefix("files of ") {
                Some(name) => self.read(name).map(Evidence::Files),
                None => Err(self.wrong(format!("`{other}` is no wheel, no address and no list of files"))),
            },
        };
        match texts {
            [] => Err(self.wrong("it has no evidence")),
            _ => texts.iter().map(one).collect(),
        }
    }

    fn reason(&self, text: &str) -> Result<String, ReadError> {
        let sentence = text.starts_with(|first: char| !first.is_lowercase()) && text.ends_with('.');
        match sentence && text.chars().count() <= 200 {
            true => Ok(text.to_owned()),
            false => Err(self.wrong("its reason is no sentence of at most 200 characters")),
        }
    }

    fn id(&self, text: &str) -> Result<String, ReadError> {
        let plain = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '-' || one == '.';
        match !text.is_empty() && text.chars().all(plain) {
            true => Ok(text.to_owned()),
            false => Err(self.wrong("its name is not in kebab-case")),
        }
    }
}

impl General {
    fn knowledge(self) -> Result<Knowledge, ReadError> {
        let mut knowledge = Knowledge { date: self.date, ..Knowledge::default() };
        let entry = Entry { file: "knowledge.toml", id: "darwin-only".to_owned() };
        knowledge.darwin_only = entry.names(&self.darwin_only)?;
        for (name, version) in &self.newest {
            let entry = Entry { file: "knowledge.toml", id: name.clone() };
            knowledge.newest.insert(entry.read(name)?, entry.read::<Version>(version)?);
        }
        for raw in self.one_night {
            let entry = Entry { file: "knowledge.toml", id: raw.id.clone() };
            let (id, packages) = (entry.id(&raw.id)?, entry.names(&raw.packages)?);
            let (reason, evidence) = (entry.reason(&raw.reason)?, entry.evidence(&raw.evidence)?);
            knowledge.one_night.push(OneNight { id, packages, reason, evidence });
        }
        Ok(knowledge)
    }
}

impl RawWheel {
    fn fact(&self, entry: &Entry<'_>) -> Result<WheelFact, ReadError> {
        Ok(WheelFact {
            packages: entry.names(&self.packages)?,
            versions: entry.specifiers(&self.versions)?,
            tag: self.tag.clone(),
            macos: entry.read(&self.macos)?,
            reason: entry.reason(&self.reason)?,
            evidence: entry.evidence(&self.evidence)?,
            confidence: self.confidence.into(),
        })
    }
}

impl RawInnerTag {
    fn inner_tag(&self, entry: &Entry<'_>) -> Result<InnerTag, ReadError> {
        Ok(InnerTag {
            packages: entry.names(&self.packages)?,
            versions: entry.specifiers(&self.versions)?,
            build: self.build,
            says: self.says.clone(),
            reason: entry.reason(&self.reason)?,
            evidence: entry.evidence(&self.evidence)?,
        })
    }
}

impl RawExcused {
    fn excused(&self, entry: &Entry<'_>) -> Result<Excused, ReadError> {
        let code = Code::ALL.iter().find(|code| code.as_str() == self.code);
        Ok(Excused {
            package: entry.read(&self.package)?,
            versions: entry.specifiers(&self.versions)?,
            code: *code.ok_or_else(|| entry.wrong(format!("`{}` is no code", self.code)))?,
            image: self.image.clone(),
            symbol: self.symbol.clone(),
            reason: entry.reason(&self.reason)?,
            evidence: entry.evidence(&self.evidence)?,
        })
    }
}

impl RawRule {
    fn rule(&self, entry: &Entry<'_>) -> Result<Rule, ReadError> {
        let scope = match &self.scope {
            None => Scope::Import,
            Some(text) => {
                let known = Scope::ALL.into_iter().find(|scope| scope.to_string() == *text);
                known.ok_or_else(|| entry.wrong(format!("`{text}` is no scope")))?
            }
        };
        let chip = |text: &String| entry.read::<crate::host::Chip>(text).map(|chip| chip.generation());
        let mut chips = self.chips.iter().map(chip).collect::<Result<Vec<_>, _>>()?;
        chips.sort_unstable();
        Ok(Rule {
            id: entry.id(&self.id)?,
            package: entry.read(&self.package)?,
            versions: entry.specifiers(&self.versions)?,
            says: self.says(entry)?,
            scope,
            macos: entry.macos(self.macos.as_deref())?,
            chips,
            python: self.python.as_deref().map_or_else(|| Ok(Specifiers::any()), |text| entry.python(text))?,
            reason: entry.reason(&self.reason)?,
            evidence: entry.evidence(&self.evidence)?,
            confidence: self.confidence.into(),
        })
    }

    fn says(&self, entry: &Entry<'_>) -> Result<Says, ReadError> {
        let advice = [&self.with, &self.without, &self.prefer, &self.problem];
        if self.kind != Kind::Advice && advice.iter().any(|field| field.is_some()) {
            return Err(entry.wrong("`with`, `without`, `prefer` and `problem` belong to `advice`"));
        }
        if !matches!(self.kind, Kind::Requires | Kind::Conflicts) && !self.other.is_empty() {
            return Err(entry.wrong("`other` belongs to `requires` and `conflicts`"));
        }
        if matches!(self.kind, Kind::NeedsMacos | Kind::NeedsPython) != self.needs.is_some() {
            return Err(entry.wrong("`needs` belongs to `needs-macos` and `needs-python`"));
        }
        let release = |text: &Option<String>| text.as_deref().map(|text| entry.release(text)).transpose();
        match self.kind {
            Kind::Requires if self.other.is_empty() => Err(entry.wrong("it requires nothing")),
            Kind::Requires => entry.releases(&self.other).map(Says::Requires),
            Kind::Conflicts => match &entry.releases(&self.other)?[..] {
                [] => Ok(Says::Unusable),
                [other] => Ok(Says::Conflicts(other.clone())),
                _ => Err(entry.wrong("it conflicts with more than one package; write a rule for each")),
            },
            Kind::NeedsMacos => entry.macos(self.needs.as_deref()).map(Says::NeedsMacos),
            Kind::NeedsPython => entry.python(self.needs.as_deref().expect("checked above")).map(Says::NeedsPython),
            Kind::Advice => Ok(Says::Advice(Advice {
                with: release(&self.with)?,
                without: release(&self.without)?,
                prefer: release(&self.prefer)?,
                problem: match self.problem.as_deref() {
                    None => None,
                    Some("wrong-numbers") => Some(Problem::WrongNumbers),
                    Some("crash") => Some(Problem::Crash),
                    Some("slow") => Some(Problem::Slow),
                    Some(other) => return Err(entry.wrong(format!("`{other}` is no problem"))),
                },
            })),
        }
    }
}

impl From<RawConfidence> for Confidence {
    fn from(raw: RawConfidence) -> Self {
        match raw {
            RawConfidence::Measured => Self::Measured,
            RawConfidence::Documented => Self::Documented,
            RawConfidence::Reported => Self::Reported,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_in_can_be_read() {
        let knowledge = built_in().unwrap_or_else(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            panic!("{error}\n{cause}")
        });
        let dotted = knowledge.date.split('.').map(str::len).collect::<Vec<_>>();
        assert_eq!(dotted, [4, 2, 2], "{}", knowledge.date);
        let mut ids = knowledge.ids().collect::<Vec<_>>();
        ids.sort_unstable();
        ids.windows(2).for_each(|pair| assert_ne!(pair[0], pair[1]));
    }

    #[test]
    fn every_mistake_in_a_rule_is_found() {
        let refused = |change: &str, wanted: &str| {
            let whole = "id = \"a\"\npackage = \"p\"\nversions = \">=1\"\nkind = \"requires\"\nother = [\"q\"]\n\
                         reason = \"It does.\"\nevidence = [\"https://example.com\"]\nconfidence = \"measured\"\n";
            let key = change.split(" = ").next().unwrap();
            let kept = whole.lines().filter(|line| line.split(" = ").next() != Some(key)).collect::<Vec<_>>();
            let text = format!("[[rule]]\n{}\n{change}\n", kept.join("\n"));
            let error = rules(&text).map(|_| ()).unwrap_err();
            let mut said = error.to_string();
            if let Some(cause) = std::error::Error::source(&error) {
                said += &cause.to_string();
            }
            assert!(said.contains(wanted), "{change}: {said}");
        };
        refused("id = \"A b\"", "not in kebab-case");
        refused("package = \"-\"", "`-`");
        refused("versions = \">=2,<1\"", "no version can be");
        refused("kind = \"needs-macos\"", "`other` belongs");
        refused("kind = \"conflict\"", "unknown variant");
        refused("other = []", "it requires nothing");
        refused("other = [\"q ; python_version > '3'\"]", "is not a package with versions");
        refused("with = \"q\"", "belong to `advice`");
        refused("macos = \">=14\"", "does not compare macOS");
        refused("macos = \">=16.0\"", "does not compare macOS");
        refused("chips = [\"a17\"]", "is not a chip");
        refused("scope = \"all\"", "is no scope");
        refused("reason = \"because\"", "no sentence");
        refused("evidence = []", "no evidence");
        refused("evidence = [\"hearsay\"]", "no wheel, no address");
        refused("needs = \">=1\"", "`needs` belongs");
        refused("python = \">3.11\"", "tells patch releases");
        refused("extra = 1", "unknown field");
    }
}
