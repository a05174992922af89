//! What `macml rules --output-format json` prints: schema/rules.schema.json is generated from here.

use std::collections::BTreeMap;

use macml::knowledge;
use macml::knowledge::Force;
use macml::knowledge::Knowledge;
use macml::knowledge::OneNight;
use macml::knowledge::Rule;
use macml::knowledge::rule;
use macml::knowledge::rule::Says;
use macml::knowledge::wheels;
use macml::pep::PackageName;
use macml::pep::Specifiers;
use serde::Serialize;

use crate::commands::rules::selection;
use crate::commands::rules::selection::Selection;

/// The number of this form of the report.
const SCHEMA: u32 = 1;

/// What `macml rules --output-format json` prints to stdout: one document, nothing else.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report {
    /// The number of this form: 1.
    pub(crate) schema: u32,
    /// The verb: `rules`.
    pub(crate) command: Command,
    /// The day to which the knowledge is true, `2026.11.30`.
    pub(crate) date: String,
    /// The newest release of each framework that it was written with; of newer ones nothing is known.
    pub(crate) newest: BTreeMap<String, String>,
    /// The rules asked for, by package.
    pub(crate) rules: Vec<ReportedRule>,
    /// Packages whose nightly builds must be of one night.
    pub(crate) one_night: Vec<ReportedOneNight>,
    /// Wheels that are for a later macOS than their file name says.
    pub(crate) wheels: Vec<ReportedWheel>,
    /// Wheels whose own `WHEEL` file contradicts their file name; the file name is right.
    pub(crate) inner_tags: Vec<ReportedInnerTag>,
    /// What was asked for that is neither a package which the knowledge speaks of nor the name of a rule.
    pub(crate) unknown: Vec<ReportedUnknown>,
}

/// A verb with this report.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Command {
    /// `macml rules`
    Rules,
}

/// One piece of knowledge about a package.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ReportedRule {
    /// Its stable name, which `ignore-rules` in macml.toml takes.
    pub(crate) id: String,
    /// The package that it is about.
    pub(crate) package: String,
    /// The releases of it, as PEP 440 specifiers; `*` for every one.
    pub(crate) versions: String,
    /// What kind of thing it says.
    pub(crate) kind: Kind,
    /// What is at stake.
    pub(crate) scope: Scope,
    /// What it says, as one lowercase sentence.
    pub(crate) statement: String,
    /// `needs-macos` and `needs-python`: what the macOS or the Python must be, as specifiers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) needs: Option<String>,
    /// `requires`: alternatives, any one will do. `conflicts`: the other side; without one the release is of no use.
    pub(crate) other: Vec<Release>,
    /// `advice`: it counts only beside such a release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) with: Option<Release>,
    /// `advice`: it counts only where no such release is in the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) without: Option<Release>,
    /// `advice`: what to take instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prefer: Option<Release>,
    /// `advice`: what goes wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<Problem>,
    /// The macOS versions on which it counts, as specifiers; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) macos: Option<String>,
    /// The generations of chips on which it counts, `m1`; empty for all.
    pub(crate) chips: Vec<String>,
    /// The Pythons on which it counts, as specifiers; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) python: Option<String>,
    /// Whether `macml lock` obeys it on Macs.
    pub(crate) binds: Binds,
    /// Why, as one sentence.
    pub(crate) reason: String,
    /// How it is known.
    pub(crate) confidence: Confidence,
    /// Who says so, never empty.
    pub(crate) evidence: Vec<Evidence>,
}

/// What kind of thing a rule says.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// The releases need one of `other`.
    Requires,
    /// They cannot be beside `other`, or are of no use at all.
    Conflicts,
    /// They need such a macOS.
    NeedsMacos,
    /// They need such a Python.
    NeedsPython,
    /// Something to know of them.
    Advice,
}

/// What a rule endangers.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scope {
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

/// Whether `macml lock` obeys a rule.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Binds {
    /// Always.
    Always,
    /// When macml.toml says `gpu = "required"`.
    GpuRequired,
    /// Never: it is printed where it applies.
    Never,
}

/// What goes wrong.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Problem {
    /// Results are wrong, and nothing says so.
    WrongNumbers,
    /// The process ends, or an operation fails.
    Crash,
    /// It takes far longer than it should.
    Slow,
}

/// How something is known.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Confidence {
    /// Read out of published wheels; nothing was run on a Mac.
    Measured,
    /// Said by those who make it.
    Documented,
    /// Told by users.
    Reported,
}

/// Who says so.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", content = "value", rename_all = "kebab-case")]
pub(crate) enum Evidence {
    /// A published wheel that was read, by its file name.
    Wheel(String),
    /// A page.
    Address(String),
    /// The index's list of the files of this package.
    FilesOf(String),
}

/// Releases of a package.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Release {
    /// The package.
    pub(crate) package: String,
    /// Its versions, as specifiers; `*` for every one.
    pub(crate) versions: String,
}

/// Packages whose nightly builds must be of one night.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ReportedOneNight {
    /// Its stable name, which `ignore-rules` in macml.toml takes.
    pub(crate) id: String,
    /// The packages.
    pub(crate) packages: Vec<String>,
    /// Why, as one sentence.
    pub(crate) reason: String,
    /// Who says so, never empty.
    pub(crate) evidence: Vec<Evidence>,
}

/// Wheels that are for a later macOS than their file name says.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ReportedWheel {
    /// The packages.
    pub(crate) packages: Vec<String>,
    /// Their releases, as specifiers.
    pub(crate) versions: String,
    /// The platform tag in the file name.
    pub(crate) tag: String,
    /// The lowest macOS that they are really for.
    pub(crate) macos: String,
    /// Why, as one sentence.
    pub(crate) reason: String,
    /// How it is known.
    pub(crate) confidence: Confidence,
    /// Who says so, never empty.
    pub(crate) evidence: Vec<Evidence>,
}

/// Wheels whose own `WHEEL` file contradicts their file name.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ReportedInnerTag {
    /// The packages.
    pub(crate) packages: Vec<String>,
    /// Their releases, as specifiers.
    pub(crate) versions: String,
    /// The build number in the file name; 0 for none.
    pub(crate) build: u64,
    /// The platform tag that `WHEEL` names.
    pub(crate) says: String,
    /// Why it is wrong, as one sentence.
    pub(crate) reason: String,
    /// Who says so, never empty.
    pub(crate) evidence: Vec<Evidence>,
}

/// Something asked for that there is not.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct ReportedUnknown {
    /// What was typed.
    pub(crate) name: String,
    /// The package that the knowledge speaks of with the nearest name, if one is near.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) nearest_package: Option<String>,
    /// The rule with the nearest name, if one is near.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) nearest_rule: Option<String>,
}

impl Report {
    /// Makes the report of what was asked for.
    pub(crate) fn new(selection: &Selection<'_>, knowledge: &Knowledge) -> Self {
        let newest = knowledge.newest.iter().map(|(name, version)| (name.to_string(), version.to_string()));
        Self {
            schema: SCHEMA,
            command: Command::Rules,
            date: knowledge.date.clone(),
            newest: newest.collect(),
            rules: selection.rules().map(ReportedRule::from).collect(),
            one_night: selection.nights().map(ReportedOneNight::from).collect(),
            wheels: selection.wheels().map(ReportedWheel::from).collect(),
            inner_tags: selection.inner_tags().map(ReportedInnerTag::from).collect(),
            unknown: selection.unknown.iter().map(ReportedUnknown::from).collect(),
        }
    }
}

impl From<&Rule> for ReportedRule {
    fn from(rule: &Rule) -> Self {
        let unless_any = |specifiers: &Specifiers| (!specifiers.is_any()).then(|| specifiers.to_string());
        let advice = match &rule.says {
            Says::Advice(advice) => Some(advice),
            _ => None,
        };
        let release = |release: Option<&Option<rule::Release>>| release?.as_ref().map(Release::from);
        Self {
            id: rule.id.clone(),
            package: rule.package.to_string(),
            versions: versions(&rule.versions),
            kind: match rule.says {
                Says::Requires(_) => Kind::Requires,
                Says::Conflicts(_) | Says::Unusable => Kind::Conflicts,
                Says::NeedsMacos(_) => Kind::NeedsMacos,
                Says::NeedsPython(_) => Kind::NeedsPython,
                Says::Advice(_) => Kind::Advice,
            },
            scope: rule.scope.into(),
            statement: rule.statement(),
            needs: match &rule.says {
                Says::NeedsMacos(needs) | Says::NeedsPython(needs) => Some(needs.to_string()),
                _ => None,
            },
            other: match &rule.says {
                Says::Requires(any_of) => any_of.iter().map(Release::from).collect(),
                Says::Conflicts(other) => vec![other.into()],
                _ => Vec::new(),
            },
            with: release(advice.map(|advice| &advice.with)),
            without: release(advice.map(|advice| &advice.without)),
            prefer: release(advice.map(|advice| &advice.prefer)),
            problem: rule.problem().map(Problem::from),
            macos: unless_any(&rule.macos),
            chips: rule.chips.iter().map(|generation| format!("m{generation}")).collect(),
            python: unless_any(&rule.python),
            binds: match rule.force() {
                Force::Always => Binds::Always,
                Force::GpuRequired => Binds::GpuRequired,
                Force::Never => Binds::Never,
            },
            reason: rule.reason.clone(),
            confidence: rule.confidence.into(),
            evidence: rule.evidence.iter().map(Evidence::from).collect(),
        }
    }
}

fn versions(specifiers: &Specifiers) -> String {
    if specifiers.is_any() { "*".to_owned() } else { specifiers.to_string() }
}

fn names(packages: &[PackageName]) -> Vec<String> {
    packages.iter().map(ToString::to_string).collect()
}

impl From<&rule::Release> for Release {
    fn from(release: &rule::Release) -> Self {
        Self { package: release.name.to_string(), versions: versions(&release.versions) }
    }
}

impl From<rule::Scope> for Scope {
    fn from(scope: rule::Scope) -> Self {
        match scope {
            rule::Scope::Install => Self::Install,
            rule::Scope::Import => Self::Import,
            rule::Scope::Gpu => Self::Gpu,
            rule::Scope::GpuBf16 => Self::GpuBf16,
            rule::Scope::Convert => Self::Convert,
            rule::Scope::Quantize => Self::Quantize,
            rule::Scope::Predict => Self::Predict,
            rule::Scope::Io => Self::Io,
            rule::Scope::Runtime => Self::Runtime,
        }
    }
}

impl From<rule::Problem> for Problem {
    fn from(problem: rule::Problem) -> Self {
        match problem {
            rule::Problem::WrongNumbers => Self::WrongNumbers,
            rule::Problem::Crash => Self::Crash,
            rule::Problem::Slow => Self::Slow,
        }
    }
}

impl From<rule::Confidence> for Confidence {
    fn from(confidence: rule::Confidence) -> Self {
        match confidence {
            rule::Confidence::Measured => Self::Measured,
            rule::Confidence::Documented => Self::Documented,
            rule::Confidence::Reported => Self::Reported,
        }
    }
}

impl From<&rule::Evidence> for Evidence {
    fn from(evidence: &rule::Evidence) -> Self {
        match evidence {
            rule::Evidence::Wheel(file) => Self::Wheel(file.clone()),
            rule::Evidence::Address(address) => Self::Address(address.clone()),
            rule::Evidence::Files(name) => Self::FilesOf(name.to_string()),
        }
    }
}

impl From<&OneNight> for ReportedOneNight {
    fn from(group: &knowledge::OneNight) -> Self {
        Self {
            id: group.id.clone(),
            packages: names(&group.packages),
            reason: group.reason.clone(),
            evidence: group.evidence.iter().map(Evidence::from).collect(),
        }
    }
}

impl From<&wheels::WheelFact> for ReportedWheel {
    fn from(fact: &wheels::WheelFact) -> Self {
        Self {
            packages: names(&fact.packages),
            versions: versions(&fact.versions),
            tag: fact.tag.clone(),
            macos: fact.macos.to_string(),
            reason: fact.reason.clone(),
            confidence: fact.confidence.into(),
            evidence: fact.evidence.iter().map(Evidence::from).collect(),
        }
    }
}

impl From<&wheels::InnerTag> for ReportedInnerTag {
    fn from(tag: &wheels::InnerTag) -> Self {
        Self {
            packages: names(&tag.packages),
            versions: versions(&tag.versions),
            build: tag.build,
            says: tag.says.clone(),
            reason: tag.reason.clone(),
            evidence: tag.evidence.iter().map(Evidence::from).collect(),
        }
    }
}

impl From<&selection::Unknown<'_>> for ReportedUnknown {
    fn from(unknown: &selection::Unknown<'_>) -> Self {
        Self {
            name: unknown.name.to_owned(),
            nearest_package: unknown.package.map(ToOwned::to_owned),
            nearest_rule: unknown.rule.map(ToOwned::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schema_is_what_the_types_say() {
        crate::report::published::<super::Report>("rules.schema.json");
    }
}
