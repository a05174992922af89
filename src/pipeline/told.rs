//! What the knowledge tells of an answer, kept or just solved: what condemns it, what it lacks, its known problems.

use std::collections::BTreeMap;

use crate::diag::Code;
use crate::diag::Finding;
use crate::knowledge::Hit;
use crate::knowledge::Knowledge;
use crate::knowledge::Reach;
use crate::knowledge::judge;
use crate::knowledge::rule::Problem;
use crate::knowledge::rule::Rule;
use crate::knowledge::rule::Says;
use crate::manifest::model::EnvSpec;
use crate::pep::PackageName;
use crate::pep::Version;
use crate::resolve;
use crate::resolve::resolution::Held;
use crate::target::Platform;
use crate::target::PythonMinor;

/// Something known to go wrong with a release of an answer.
#[derive(Clone, PartialEq, Debug)]
pub struct KnownProblem {
    /// The package.
    pub name: PackageName,
    /// Its version.
    pub version: Version,
    /// What goes wrong.
    pub problem: Problem,
    /// On which Macs from the floor upward.
    pub reach: Reach,
    /// More of it, as a sentence.
    pub reason: String,
    /// What to take instead, where that is known: `` `torch` >=2.14 ``.
    pub prefer: Option<String>,
    /// The name of the rule.
    pub rule: String,
}

/// The releases of one environment on one platform.
#[derive(Clone, Copy, Debug)]
pub struct Set<'a> {
    /// The environment as declared.
    pub env: &'a EnvSpec,
    /// The platform.
    pub platform: Platform,
    /// The chosen Python.
    pub python: PythonMinor,
    /// The chosen releases.
    pub releases: &'a BTreeMap<PackageName, Version>,
    /// Roots that are older than their newest release.
    pub held: &'a [Held],
}

/// What the knowledge tells of a set.
#[derive(Clone, Default, Debug)]
pub struct Told {
    /// What is known to go wrong at the floor, the worst first.
    pub problems: Vec<KnownProblem>,
    /// Warnings and notes.
    pub findings: Vec<Finding>,
}

/// Says what the knowledge tells of a set.
pub fn tell(knowledge: &Knowledge, Set { env, platform, python, releases: set, held }: Set<'_>) -> Told {
    let mut findings = Vec::new();
    let mut problems = Vec::new();
    if let Some(on) = resolve::circumstances(env, platform) {
        let judgement = judge(knowledge, set, python, &on, &env.resolution.ignore_rules);
        findings.extend(judgement.condemned.iter().map(condemned));
        findings.extend(judgement.lacking.iter().filter(|hit| hit.reach == Reach::AtFloor).map(lacking));
        findings.extend(better_apart(env, set));
        let at_floor = judgement.problems.iter().filter(|hit| hit.reach == Reach::AtFloor);
        problems.extend(at_floor.filter_map(KnownProblem::new));
        findings.extend(env.resolution.ignore_rules.iter().filter_map(|id| ignored(knowledge, id, set)));
    }
    findings.extend(unknown(knowledge, held, set));
    Told { problems, findings }
}

impl KnownProblem {
    /// Reads a rule that applies; `None` when it tells of no problem.
    pub fn new(hit: &Hit<'_>) -> Option<Self> {
        let rule = hit.rule;
        Some(Self {
            name: rule.package.clone(),
            version: hit.version.clone(),
            problem: rule.problem()?,
            reach: hit.reach,
            reason: rule.reason.clone(),
            prefer: rule.prefer().map(ToString::to_string),
            rule: rule.id.clone(),
        })
    }
}

/// Says that what is known now condemns a set that was locked.
pub(super) fn condemned(hit: &Hit<'_>) -> Finding {
    let message = format!("by what is known now this set does not work: {}", hit.rule.statement_of(&hit.version));
    let hint = format!("`macml lock -P {}` solves with it", hit.rule.package);
    Finding::warning(Code::NewlyKnown, message).noting(hit.rule.ground()).hinting(hint)
}

/// Says what goes wrong with a release, and what to take instead.
pub(super) fn problem(hit: &Hit<'_>) -> Option<Finding> {
    let KnownProblem { name, version, problem, reason, prefer, .. } = KnownProblem::new(hit)?;
    let reason = reason.trim_end_matches('.');
    let message = format!("known problem of `{name}` {version}, {}: {reason}", problem.title());
    let finding = Finding::warning(Code::KnownProblem, message).noting(hit.rule.source());
    Some(match prefer {
        Some(prefer) => finding.hinting(format!("prefer {prefer}")),
        None => finding,
    })
}

/// Says what a set will not do, or what one should know of it.
pub(super) fn lacking(hit: &Hit<'_>) -> Finding {
    let rule = hit.rule;
    let (message, source) = match &rule.says {
        Says::Advice(advice) => {
            let in_set = if advice.with.is_some() || advice.without.is_some() { " in this set" } else { "" };
            (format!("`{}` {}{in_set}: {}", rule.package, hit.version, rule.reason), rule.source())
        }
        _ => (rule.statement_of(&hit.version), rule.brief()),
    };
    let finding = Finding::note(Code::KnownLimit, message.trim_end_matches('.')).noting(source);
    match rule.prefer().map(ToString::to_string).or_else(|| way_out(rule)) {
        Some(prefer) => finding.hinting(format!("prefer {prefer}")),
        None => finding,
    }
}

/// Returns what to take of the other package, where a rule keeps its newer releases out: `` `numpy` <2.4 ``.
fn way_out(rule: &Rule) -> Option<String> {
    let Says::Conflicts(other) = &rule.says else { return None };
    other.apart()
}

/// Says that a rule is switched off, where it would have been about something in the set.
pub(super) fn ignored(knowledge: &Knowledge, id: &str, set: &BTreeMap<PackageName, Version>) -> Option<Finding> {
    let group = knowledge.one_night.iter().find(|group| group.id == id).map(|group| group.packages.clone());
    let names = knowledge.rule(id).map(|rule| vec![rule.package.clone()]).or(group)?;
    let message = format!("rule `{id}` is switched off by `ignore-rules`");
    let finding = Finding::note(Code::RuleIgnored, message).noting(knowledge.brief(id)?);
    names.iter().any(|name| set.contains_key(name)).then_some(finding)
}

/// Advises to give PyTorch and TensorFlow an environment each, where the plugin is there: without it TensorFlow keeps
/// nothing back.
fn better_apart(env: &EnvSpec, set: &BTreeMap<PackageName, Version>) -> Option<Finding> {
    set.keys().find(|name| name.as_str() == "tensorflow-metal")?;
    let torch = env.roots.iter().find(|root| root.name.as_str() == "torch")?;
    let tensorflow = env.roots.iter().find(|root| ["tensorflow", "tensorflow-macos"].contains(&root.name.as_str()))?;
    let message = format!("`torch` and `{}` in one environment hold each other back", tensorflow.name);
    let split = "move it to an environment of its own: `[env.tensorflow.frameworks]` with \
                 `tensorflow = \"*\"` and `tensorflow-metal = \"*\"`, and `python = \">=3.10,<3.13\"` under \
                 `[env.tensorflow]`";
    let finding = Finding::note(Code::BetterApart, message)
        .at(tensorflow.span, "the Metal plugin keeps this at an older TensorFlow, NumPy and Python")
        .at(torch.span, "which this then has to share")
        .hinting(split);
    Some(finding)
}

/// Says which frameworks are newer than the knowledge: nothing is known of them, neither good nor bad.
pub(super) fn unknown(knowledge: &Knowledge, held: &[Held], set: &BTreeMap<PackageName, Version>) -> Vec<Finding> {
    let newest = held.iter().map(|held| (&held.name, &held.newest, false));
    let chosen = set.iter().map(|(name, version)| (name, version, true));
    let mut findings = Vec::new();
    for (name, version, taken) in chosen.chain(newest) {
        let Some(known) = knowledge.unknown(name, version) else { continue };
        let date = &knowledge.date;
        let message = format!("`{name}` {version} is newer than what this macml knows ({date}, up to {known})");
        let finding = if taken { Finding::warning } else { Finding::note };
        let note = "whether its GPU works and what it goes together with is unknown";
        findings.push(finding(Code::NewerThanKnowledge, message).noting(note));
    }
    findings
}
