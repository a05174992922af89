//! The solver against brute force, on generated universes small enough to try everything.

mod brute;
mod case;
mod rules;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::time::Duration;
use std::time::Instant;

use macml::manifest::model::Root;
use macml::manifest::model::RootSource;
use macml::manifest::model::RootTable;
use macml::pep::Specifiers;
use macml::resolve;
use macml::resolve::Request;
use macml::resolve::Resolution;
use macml::resolve::request::Preferences;
use macml::target::PythonMinor;
use proptest::prelude::*;
use proptest::test_runner::Config;
use proptest::test_runner::RngAlgorithm;
use proptest::test_runner::TestCaseResult;
use proptest::test_runner::TestRng;
use proptest::test_runner::TestRunner;

use crate::support::solving::mac_env;
use crate::support::solving::request;
use crate::support::solving::root;
use crate::support::solving::solve;
use crate::support::solving::solve_shuffled;
use crate::support::solving::text;

use brute::Answer;
use brute::Grounded;
use case::Case;
use case::EXTRAS;
use case::Framework;

/// How often each part of the comparison took place, so that a test which compares nothing fails.
#[derive(Default, Debug)]
struct Tally {
    cases: u32,
    solved: u32,
    refused: u32,
    preferred: u32,
    ambiguous: u32,
    other_python: u32,
    refused_by_rule: u32,
    shaped_by_rule: u32,
}

#[test]
fn solver_agrees_with_brute_force() {
    let full = std::env::var("MACML_LIVE").is_ok_and(|live| live == "full");
    let (batches, time) = if full { (20_000, 1800) } else { (60, 12) };
    let first: u64 = std::env::var("MACML_SEED").map_or(1, |seed| seed.parse().unwrap());
    let tally = RefCell::new(Tally::default());
    let end = Instant::now() + Duration::from_secs(time);
    for seed in first..first + batches {
        if Instant::now() > end {
            break;
        }
        // A failing case is written out whole; a file of regressions would only hold its seed.
        let config = Config { cases: 50, failure_persistence: None, max_shrink_iters: 20_000, ..Config::default() };
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
        let outcome =
            runner.run(&(case::cases(), any::<u64>()), |(case, seed)| compare(&case, seed, &mut tally.borrow_mut()));
        if let Err(error) = outcome {
            panic!("MACML_SEED={seed} repeats it\n{error}");
        }
    }
    let tally = tally.into_inner();
    eprintln!("{tally:?}");
    assert!(tally.preferred * 10 > tally.cases, "few cases compare the preferred answer: {tally:?}");
    assert!(tally.refused * 50 > tally.cases, "few cases are refused: {tally:?}");
    assert!(tally.ambiguous * 5 < tally.cases, "too many cases are open: {tally:?}");
    assert!(tally.other_python > 0, "no case leaves the first Python: {tally:?}");
    assert!(tally.shaped_by_rule * 50 > tally.cases, "few cases have an answer by rules: {tally:?}");
    assert!(tally.refused_by_rule * 50 > tally.cases, "few cases are refused for rules: {tally:?}");
}

/// Compares one case; the texts for people are in the failure message.
fn compare(case: &Case, seed: u64, tally: &mut Tally) -> TestCaseResult {
    tally.cases += 1;
    let (universe, request) = (case.universe(), ask(case));
    let answer = solve(&request, &universe);
    let shuffled = text(&solve_shuffled(&request, &universe, seed));
    let straight = text(&answer);
    prop_assert_eq!(&straight, &shuffled, "answers in the order of seed {} change the answer", seed);

    let order = case.python_order();
    let all: Vec<(u16, Vec<Answer>)> = order.iter().map(|minor| (*minor, case.answers(*minor))).collect();
    let is_grounded = |answer: &&Answer| answer.grounded == Grounded::Yes;
    let solvable = all.iter().find(|(_, answers)| answers.iter().any(|answer| is_grounded(&answer)));
    let perhaps = all.iter().find(|(_, answers)| !answers.is_empty());
    let resolution = match answer {
        Ok(resolution) => resolution,
        Err(resolve::Error::NoSolution(_)) => {
            tally.refused += 1;
            tally.refused_by_rule += u32::from(straight.contains("(rule `"));
            // Whether a release that demands what does not count by itself is reached at all is left open by the rule.
            let plain = |answer: &&Answer| answer.releases.iter().all(|(of, at)| case.counts_from_the_start(*of, *at));
            let best = all.iter().find_map(|(minor, answers)| Some((minor, show(case, answers.iter().find(plain)?))));
            prop_assert!(best.is_none(), "refused, but there is an answer: {:?}\n{}", best, straight);
            tally.ambiguous += u32::from(solvable.is_some());
            return Ok(());
        }
        Err(error) => return Err(TestCaseError::fail(format!("neither answer nor refusal: {error}"))),
    };
    tally.solved += 1;
    tally.shaped_by_rule += u32::from(!resolution.rules.is_empty());
    let minor = resolution.python.minor;
    let Some((_, answers)) = all.iter().find(|(of, _)| *of == minor) else {
        return Err(TestCaseError::fail(format!("Python {minor} was not asked for")));
    };
    let releases = releases(case, &resolution)?;
    let same: Vec<&Answer> = answers.iter().filter(|answer| answer.releases == releases).collect();
    let Some(chosen) = same.first() else {
        return Err(TestCaseError::fail(format!("not a valid answer (or more than is reachable):\n{straight}")));
    };
    // Several where the set meets a rule by more than one alternative.
    let details: Vec<TestCaseResult> = same.iter().map(|chosen| check_details(case, &resolution, chosen)).collect();
    if !details.iter().any(Result::is_ok) {
        details.into_iter().next().expect("there is one")?;
    }

    let agreed = match (solvable, perhaps) {
        (Some((a, _)), Some((b, _))) => a == b,
        _ => false,
    };
    let best = |only_grounded: bool| {
        let counted = answers.iter().filter(|answer| !only_grounded || is_grounded(answer));
        counted.map(|answer| root_ranks(case, answer)).min()
    };
    if !agreed || best(true) != best(false) {
        tally.ambiguous += 1;
        return Ok(());
    }
    tally.preferred += 1;
    tally.other_python += u32::from(perhaps.is_some_and(|(of, _)| *of != order[0]));
    prop_assert_eq!(Some(minor), perhaps.map(|(of, _)| *of), "Pythons in the order {:?}\n{}", order, straight);
    if case.has_alternatives() {
        return Ok(());
    }
    let ranks = root_ranks(case, chosen);
    if best(true).as_ref() != Some(&ranks) {
        let better = answers.iter().find(|answer| Some(root_ranks(case, answer)) == best(true)).unwrap();
        return Err(TestCaseError::fail(format!("roots can be better: {}\n{straight}", show(case, better))));
    }
    let dominating = answers
        .iter()
        .filter(is_grounded)
        .find(|other| root_ranks(case, other) == ranks && dominates(case, other, chosen));
    if let Some(other) = dominating {
        return Err(TestCaseError::fail(format!("everything can be better: {}\n{straight}", show(case, other))));
    }
    Ok(())
}

/// Compares edges and patch releases of Python with those of the same answer by brute force.
fn check_details(case: &Case, resolution: &Resolution, chosen: &Answer) -> TestCaseResult {
    for (at, _) in case.packages.iter().enumerate().filter(|(at, _)| chosen.releases.contains_key(at)) {
        let name = Case::name(at);
        let requires: BTreeSet<&str> =
            resolution.packages[&name.parse().unwrap()].requires.iter().map(|one| one.as_str()).collect();
        // A package that asks for an extra of itself may or may not be listed.
        let expected: BTreeSet<String> =
            chosen.edges.get(&at).into_iter().flatten().map(|to| Case::name(*to)).collect();
        let without_itself = |names: BTreeSet<String>| names.into_iter().filter(|one| *one != name).collect::<Vec<_>>();
        let requires = without_itself(requires.into_iter().map(str::to_owned).collect());
        prop_assert_eq!(requires, without_itself(expected), "edges of {}", name);
    }
    let minor = resolution.python.minor;
    for patch in Case::patches(minor) {
        let version = format!("3.{minor}.{patch}").parse().unwrap();
        let left = resolution.python_full.contains(&version);
        prop_assert_eq!(
            left,
            chosen.patches.contains(&patch),
            "3.{}.{} in `{}`",
            minor,
            patch,
            &resolution.python_full
        );
    }
    Ok(())
}

/// Reads the numbers of the chosen releases.
fn releases(case: &Case, resolution: &Resolution) -> Result<BTreeMap<usize, usize>, TestCaseError> {
    let at = |name: &str| (0..case.packages.len()).find(|at| Case::name(*at) == name);
    let mut releases = BTreeMap::new();
    for (name, package) in &resolution.packages {
        let at = at(name.as_str()).ok_or_else(|| TestCaseError::fail(format!("unknown package `{name}`")))?;
        let count = case.packages[at].releases.len();
        let found = (0..count).find(|release| case.version(at, *release).text().parse() == Ok(package.version.clone()));
        let found =
            found.ok_or_else(|| TestCaseError::fail(format!("unknown release `{name} {}`", package.version)))?;
        releases.insert(at, found);
    }
    Ok(releases)
}

fn root_ranks(case: &Case, answer: &Answer) -> Vec<brute::Rank> {
    case.root_order(answer.minor).into_iter().map(|root| case.rank(root.to, answer.releases[&root.to])).collect()
}

/// Says whether every package that both have is at least as good in `one` as in `other`, and some is better.
fn dominates(case: &Case, one: &Answer, other: &Answer) -> bool {
    let common = one
        .releases
        .iter()
        .filter_map(|(at, release)| Some((case.rank(*at, *release), case.rank(*at, *other.releases.get(at)?))));
    let common: Vec<_> = common.collect();
    common.iter().all(|(one, other)| one <= other) && common.iter().any(|(one, other)| one < other)
}

fn show(case: &Case, answer: &Answer) -> String {
    let one = |(at, release): (&usize, &usize)| format!("{} {}", Case::name(*at), case.version(*at, *release).text());
    answer.releases.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Writes the question as a request.
fn ask(case: &Case) -> Request {
    let specifiers = |spec: case::Spec| -> Specifiers { spec.text().parse().unwrap() };
    let mut env = mac_env(">=3.11,<3.14");
    env.roots = case
        .roots
        .iter()
        .map(|line| Root {
            source: RootSource::Versions(specifiers(line.spec)),
            extras: (line.extra != 0).then(|| EXTRAS[line.extra as usize].parse().unwrap()).into_iter().collect(),
            marker: line.mark.text().map(|text| text.parse().unwrap()),
            table: if line.framework == Framework::Yes { RootTable::Frameworks } else { RootTable::Dependencies },
            ..root(&Case::name(line.to), "")
        })
        .collect();
    let named = |table: &BTreeMap<usize, case::Spec>| {
        table.iter().map(|(at, spec)| (Case::name(*at).parse().unwrap(), specifiers(*spec))).collect()
    };
    env.resolution.constraints = named(&case.constraints);
    env.resolution.overrides = named(&case.overrides);
    env.resolution.prereleases = case.prereleases.iter().map(|at| Case::name(*at).parse().unwrap()).collect();
    let locked = |(at, release): (&usize, &usize)| {
        (Case::name(*at).parse().unwrap(), vec![case.version(*at, *release).text().parse().unwrap()])
    };
    let preferences = Preferences {
        python: case.locked_python.map(|minor| PythonMinor { major: 3, minor }),
        versions: case.locked.iter().map(locked).collect(),
        alike: None,
    };
    Request { preferences, knowledge: std::sync::Arc::new(case.knowledge()), ..request(env) }
}
