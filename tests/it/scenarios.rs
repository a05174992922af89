//! Walks `tests/scenarios/resolve`: each file is a universe, a manifest, what must come out, and why it exists.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use macml::diag::Finding;
use macml::diag::Severity;
use macml::index::source::IndexName;
use macml::knowledge::Knowledge;
use macml::manifest::Manifest;
use macml::pipeline;
use macml::pipeline::Set;
use macml::resolve;
use macml::resolve::Request;
use macml::resolve::Resolution;
use macml::resolve::request::Preferences;
use macml::target::Platform;
use serde::Deserialize;

use crate::support::solving::refusal;
use crate::support::solving::solve;
use crate::support::solving::solve_shuffled;
use crate::support::solving::text;
use crate::support::universe::Universe;

/// One file.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Scenario {
    /// The reason it exists: a sentence of the design, a report by its number, a mistake once made.
    why: String,
    /// macml.toml. Without a `[target]` it gets one: an M1 with macOS 14, the GPU optional, and the Pythons of `python`.
    manifest: String,
    /// The Pythons of the target that is put in.
    #[serde(default = "usual_pythons")]
    python: String,
    /// The environment that is solved; the default one when absent.
    env: Option<String>,
    /// Rules in place of those that are built in, as in the file of a family.
    rules: Option<String>,
    /// What the indexes have.
    index: Universe,
    /// What an earlier lock says.
    #[serde(default)]
    lock: Lock,
    /// What comes out, by platform; platforms are solved in the order of the lockfile.
    expect: BTreeMap<String, Expected>,
}

fn usual_pythons() -> String {
    ">=3.11,<3.14".to_owned()
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Lock {
    python: Option<String>,
    #[serde(default)]
    packages: Vec<String>,
}

/// What is left out is not looked at, but for warnings: those not listed must not be there.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Expected {
    python: Option<String>,
    /// Patch releases that must and (with `!`) must not be left over.
    #[serde(default)]
    patches: Vec<String>,
    /// All packages, `name version`.
    packages: Option<Vec<String>>,
    /// All files of a package, as in the universe.
    #[serde(default)]
    wheels: BTreeMap<String, Vec<String>>,
    /// All edges of a package.
    #[serde(default)]
    requires: BTreeMap<String, Vec<String>>,
    /// The extras in use of a package.
    #[serde(default)]
    extras: BTreeMap<String, Vec<String>>,
    /// The index of a package.
    #[serde(default)]
    from: BTreeMap<String, String>,
    /// Words about a root that is held back.
    #[serde(default)]
    held: BTreeMap<String, Vec<String>>,
    /// The names of the rules that the lock will list.
    rules: Option<Vec<String>>,
    /// Words on why a later Python of the range was not taken.
    python_held: Option<Vec<String>>,
    /// The names of the rules that tell of known problems at the floor, the worst first.
    problems: Option<Vec<String>>,
    /// Findings, each as `code: word, word`.
    #[serde(default)]
    findings: Vec<String>,
    /// Words of the refusal, in any order.
    refusal: Option<Vec<String>>,
    /// Words of the edits that are proposed in a refusal.
    #[serde(default)]
    edits: Vec<String>,
    /// Words that must be in no text for people.
    #[serde(default)]
    never: Vec<String>,
}

#[test]
fn every_scenario_comes_out_as_written() {
    let only = std::env::var("MACML_SCENARIO").ok();
    let mut failures = Vec::new();
    let files = files();
    assert!(files.len() > 100, "only {} scenarios found", files.len());
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let outcome = std::panic::catch_unwind(|| run(&file));
        let problem = match outcome {
            Ok(Ok(())) => continue,
            Ok(Err(problem)) => problem,
            Err(panic) => panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "panicked".to_owned()),
        };
        failures.push(format!("{name}: {problem}"));
    }
    assert!(failures.is_empty(), "{} scenarios fail\n\n{}", failures.len(), failures.join("\n\n"));
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios/resolve");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|one| one == "toml")).collect();
    files.sort();
    files
}

fn run(file: &Path) -> Result<(), String> {
    let scenario: Scenario = toml::from_str(&std::fs::read_to_string(file).unwrap()).map_err(|e| e.to_string())?;
    let manifest = parse(&scenario);
    let env = match &scenario.env {
        None => &manifest.envs[0],
        Some(name) => manifest.envs.iter().find(|env| env.name == *name).ok_or("no such environment")?,
    };
    let own = manifest.indexes.iter().filter(|index| !index.explicit).map(|index| index.name.as_str());
    let indexes: Vec<IndexName> = own.chain(["pypi"]).map(IndexName::from).collect();
    let knowledge = match &scenario.rules {
        None => Knowledge::built_in(),
        Some(rules) => Arc::new(Knowledge::with_rules_of(rules).map_err(|error| error.to_string())?),
    };
    let mut preferences = scenario.lock.preferences();
    for platform in &env.platforms {
        let request = Request {
            env: env.clone(),
            platform: *platform,
            indexes: indexes.clone(),
            preferences,
            direct: scenario.index.direct(),
            python: None,
            knowledge: knowledge.clone(),
        };
        let answer = solve(&request, &scenario.index);
        for seed in 1..4 {
            let shuffled = text(&solve_shuffled(&request, &scenario.index, seed));
            if shuffled != text(&answer) {
                return Err(format!("order {seed} of answers changes\n{}to\n{shuffled}", text(&answer)));
            }
        }
        if let Some(expected) = scenario.expect.get(&platform.to_string()) {
            compare(&answer, expected, &knowledge).map_err(|problem| {
                format!("{problem} ({platform})\n  why: {}\n  got: {}", scenario.why.trim(), text(&answer))
            })?;
        }
        preferences = match answer {
            Ok(resolution) => chosen(&resolution),
            Err(_) => break,
        };
    }
    let known = |name: &String| name.parse::<Platform>().is_ok_and(|platform| env.platforms.contains(&platform));
    match scenario.expect.keys().find(|name| !known(name)) {
        Some(name) => Err(format!("expects something of `{name}`, which is not solved for")),
        None => Ok(()),
    }
}

/// What the other platforms take as preference.
fn chosen(resolution: &Resolution) -> Preferences {
    let version = |(name, package): (&macml::pep::PackageName, &resolve::resolution::Package)| {
        (name.clone(), vec![package.version.clone()])
    };
    Preferences {
        python: Some(resolution.python),
        versions: resolution.packages.iter().map(version).collect(),
        alike: Some((resolution.platform, resolution.packages.keys().cloned().collect())),
    }
}

fn parse(scenario: &Scenario) -> Manifest {
    let target =
        format!("[target]\nchip = \"m1\"\nmacos = \"14.0\"\ngpu = \"optional\"\npython = \"{}\"\n", scenario.python);
    let text = match scenario.manifest.contains("[target]") {
        true => scenario.manifest.clone(),
        false => format!("{target}{}", scenario.manifest),
    };
    crate::support::solving::manifest(&text)
}

impl Lock {
    fn preferences(&self) -> Preferences {
        let mut preferences =
            Preferences { python: self.python.as_ref().map(|text| text.parse().unwrap()), ..Preferences::default() };
        for line in &self.packages {
            let (name, version) = line.split_once(' ').unwrap();
            preferences.versions.entry(name.parse().unwrap()).or_default().push(version.parse().unwrap());
        }
        preferences
    }
}

fn compare(
    answer: &Result<Resolution, resolve::Error>,
    expected: &Expected,
    knowledge: &Knowledge,
) -> Result<(), String> {
    let everything = text(answer);
    if let Some(word) = expected.never.iter().find(|word| everything.contains(word.as_str())) {
        return Err(format!("`{word}` must not be said"));
    }
    match (answer, &expected.refusal) {
        (Ok(resolution), None) => compare_resolution(resolution, expected, knowledge),
        (Ok(_), Some(_)) => Err("solved, but there is no answer".to_owned()),
        (Err(_), None) => Err("refused, but there is an answer".to_owned()),
        (Err(resolve::Error::Source(error)), Some(_)) => Err(format!("an index failed: {error}")),
        (Err(error), Some(words)) => {
            let text = refusal(error);
            let (why, edits) = text.split_once("\n  try:").unwrap_or((&text, ""));
            missing(why, words, "refusal")?;
            missing(edits, &expected.edits, "edits")
        }
    }
}

fn compare_resolution(resolution: &Resolution, expected: &Expected, knowledge: &Knowledge) -> Result<(), String> {
    if let Some(python) = &expected.python {
        same("python", &resolution.python.to_string(), python)?;
    }
    for patch in &expected.patches {
        let (version, left) = patch.strip_prefix('!').map_or((patch.as_str(), true), |version| (version, false));
        if resolution.python_full.contains(&version.parse().unwrap()) != left {
            return Err(format!("patch release {patch} in `{}`", resolution.python_full));
        }
    }
    if let Some(packages) = &expected.packages {
        let got = resolution.packages.iter().map(|(name, package)| format!("{name} {}", package.version));
        same("packages", &got.collect::<Vec<_>>(), packages)?;
    }
    let package = |name: &String| {
        resolution.packages.get(&name.parse().unwrap()).ok_or_else(|| format!("`{name}` is not in the answer"))
    };
    for (name, wheels) in &expected.wheels {
        let package = package(name)?;
        let head = format!("{}-{}-", name.replace(['-', '.'], "_"), package.version);
        let tail = |file: &str| file.strip_prefix(&head).and_then(|file| file.strip_suffix(".whl")).unwrap().to_owned();
        let mut wheels = wheels.clone();
        wheels.sort();
        same(&format!("wheels of {name}"), &package.wheels.iter().map(|file| tail(&file.filename)).collect(), &wheels)?;
        if let Some(file) = package.wheels.iter().find(|file| file.sha256.is_none() || file.size.is_none()) {
            return Err(format!("`{}` has no size or no sha256", file.filename));
        }
    }
    for (name, requires) in &expected.requires {
        let got = package(name)?.requires.iter().map(ToString::to_string).collect();
        same(&format!("edges of {name}"), &got, requires)?;
    }
    for (name, extras) in &expected.extras {
        let got = package(name)?.extras.iter().map(ToString::to_string).collect();
        same(&format!("extras of {name}"), &got, extras)?;
    }
    for (name, index) in &expected.from {
        let origin = resolve::resolution::Origin::Index(index.as_str().into());
        if package(name)?.origin != origin {
            return Err(format!("`{name}` comes from {:?}", package(name)?.origin));
        }
    }
    for (name, words) in &expected.held {
        let held = resolution.held.iter().find(|held| held.name.as_str() == name.as_str());
        let held = held.ok_or_else(|| format!("`{name}` is not said to be held back"))?;
        missing(&format!("{} {} {}", held.chosen, held.newest, held.reason), words, "reason for holding back")?;
    }
    if let Some(rules) = &expected.rules {
        same("rules", &resolution.rules, rules)?;
    }
    if let Some(words) = &expected.python_held {
        let held = resolution.python_held.as_ref().map(|held| format!("Python {}: {}", held.newer, held.reason));
        missing(&held.unwrap_or_default(), words, "reason for an older Python")?;
    }
    let releases: BTreeMap<_, _> =
        resolution.packages.iter().map(|(name, package)| (name.clone(), package.version.clone())).collect();
    let (env, platform, python) = (&resolution.env, resolution.platform, resolution.python);
    let told = pipeline::tell(knowledge, Set { env, platform, python, releases: &releases, held: &resolution.held });
    if let Some(problems) = &expected.problems {
        let got = told.problems.iter().map(|problem| problem.rule.clone()).collect();
        same("known problems", &got, problems)?;
    }
    let findings: Vec<Finding> = resolution.findings.iter().chain(&told.findings).cloned().collect();
    if let Some(word) = expected.never.iter().find(|word| format!("{findings:?}").contains(word.as_str())) {
        return Err(format!("`{word}` must not be said"));
    }
    compare_findings(&findings, &expected.findings)
}

fn compare_findings(findings: &[Finding], expected: &[String]) -> Result<(), String> {
    let mut left: Vec<_> = findings.iter().collect();
    for line in expected {
        let (code, words) = line.split_once(':').unwrap_or((line, ""));
        let words: Vec<String> = words.split(',').map(|word| word.trim().to_owned()).collect();
        let said = |at: &usize| {
            let finding = left[*at];
            let whole =
                format!("{} {} {}", finding.message, finding.notes.join(" "), finding.hint.as_deref().unwrap_or(""));
            finding.code.as_str() == code && missing(&whole, &words, "finding").is_ok()
        };
        let at = (0..left.len()).find(said).ok_or_else(|| format!("no finding `{line}`"))?;
        left.remove(at);
    }
    match left.iter().find(|finding| finding.severity != Severity::Note) {
        Some(finding) => Err(format!("finding not expected: {}: {}", finding.code, finding.message)),
        None => Ok(()),
    }
}

/// Fails naming the first word that is not in `text`; case does not matter, nor do backticks.
fn missing(text: &str, words: &[String], what: &str) -> Result<(), String> {
    let plain = |text: &str| text.to_lowercase().replace('`', "");
    let text = plain(text);
    match words.iter().find(|word| !text.contains(&plain(word))) {
        Some(word) => Err(format!("`{word}` is not in the {what}")),
        None => Ok(()),
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: &T, expected: &T) -> Result<(), String> {
    if got == expected { Ok(()) } else { Err(format!("{what}: expected {expected:?}, got {got:?}")) }
}
