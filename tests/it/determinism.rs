//! Same inputs, same answer: whatever order and with whatever delay the indexes answer in.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::time::Instant;

use macml::index::source::Answer;
use macml::index::source::Ask;
use macml::index::source::InMemorySource;
use macml::index::source::Source;
use macml::index::source::SourceError;
use macml::progress::Silent;
use macml::resolve;
use macml::resolve::Facts;
use macml::resolve::Request;

use crate::support::solving::Random;
use crate::support::solving::mac_env;
use crate::support::solving::request;
use crate::support::solving::root;
use crate::support::solving::text;
use crate::support::universe::Packages;
use crate::support::universe::Rel;
use crate::support::universe::Universe;

#[test]
fn order_and_delay_of_answers_change_nothing() {
    let mut kinds = [0, 0];
    for universe_seed in 1..=4 {
        let (universe, request) = layered(universe_seed);
        let straight = solve_delayed(&request, &universe, Delays::None);
        kinds[usize::from(straight.starts_with("python"))] += 1;
        for seed in 0..12 {
            let delayed = solve_delayed(&request, &universe, Delays::Seed(seed));
            assert_eq!(straight, delayed, "universe {universe_seed}, delays {seed}");
        }
    }
    assert!(kinds[1] > 0, "no universe has an answer");
}

#[test]
fn of_several_rules_that_refuse_the_same_one_is_told_each_time() {
    let names: Vec<String> = (0..6).map(|at| format!("other-{at}")).collect();
    let rule = |name: &String| {
        format!(
            "[[rule]]\nid = \"apart-from-{name}\"\npackage = \"one\"\nversions = \"*\"\nkind = \"conflicts\"\n\
             other = [\"{name}\"]\nreason = \"It was made up.\"\nevidence = [\"files of one\"]\n\
             confidence = \"measured\"\n"
        )
    };
    let rules: String = names.iter().map(rule).collect();
    let mut env = mac_env(">=3.12,<3.13");
    env.roots = names.iter().map(String::as_str).chain(["one"]).map(|name| root(name, "")).collect();
    let knowledge = std::sync::Arc::new(macml::knowledge::Knowledge::with_rules_of(&rules).unwrap());
    let request = Request { knowledge, ..request(env) };
    let release = || BTreeMap::from([("1.0".to_owned(), Rel::default())]);
    let packages: Packages = names.iter().cloned().chain(["one".to_owned()]).map(|name| (name, release())).collect();
    let universe = Universe::of_pypi(packages);
    let first = solve_delayed(&request, &universe, Delays::None);
    assert!(first.contains("(rule `apart-from-other-"), "{first}");
    for _ in 0..20 {
        assert_eq!(first, solve_delayed(&request, &universe, Delays::None));
    }
}

/// Makes some forty packages in layers: each release asks for a few packages further down, newer ones for more.
fn layered(seed: u64) -> (Universe, Request) {
    const COUNT: usize = 40;
    let mut random = Random(seed);
    let name = |at: usize| format!("{}-{at}", ["lib", "core", "app", "zip", "net"][at % 5]);
    let mut packages = Packages::new();
    for at in 0..COUNT {
        let mut releases = BTreeMap::new();
        for major in 1..=4 + random.below(5) {
            let mut rel = Rel::default();
            for _ in 0..random.below(3) {
                let below = at + 1 + random.below(9);
                if below < COUNT {
                    let bound = match random.below(5) {
                        0 => format!(">={}", random.below(5)),
                        1 => format!("<{}", 3 + random.below(6)),
                        2 => format!("!={}.0", 1 + random.below(6)),
                        _ => String::new(),
                    };
                    rel.requires.push(format!("{}{bound}", name(below)));
                }
            }
            match random.below(12) {
                0 => rel.wheels = vec!["cp312-cp312-macosx_11_0_arm64".to_owned()],
                1 => rel.requires_python = Some(">=3.12,!=3.13.2".to_owned()),
                2 => rel.yanked = Some("broken".to_owned()),
                3 => {
                    rel.wheels = vec!["py3-none-macosx_14_0_arm64".to_owned(), "py3-none-macosx_26_0_arm64".to_owned()]
                }
                _ => {}
            }
            let suffix = if random.below(10) == 0 { "rc1" } else { "" };
            releases.insert(format!("{major}.0{suffix}"), rel);
        }
        packages.insert(name(at), releases);
    }
    let mut env = mac_env(">=3.11,<3.14");
    env.roots = (0..8).map(|at| root(&name(at), "")).collect();
    env.roots.sort_by(|a, b| a.name.cmp(&b.name));
    (Universe::of_pypi(packages), request(env))
}

#[derive(Clone, Copy)]
enum Delays {
    None,
    Seed(u64),
}

fn solve_delayed(request: &Request, universe: &Universe, delays: Delays) -> String {
    let inner = universe.source();
    let answer = match delays {
        Delays::None => resolve::resolve(request, &mut Facts::new(&mut { inner }, &Silent)),
        Delays::Seed(seed) => {
            let mut source = Delayed { inner, random: Random(seed), due: HashMap::new(), slow: Random(seed).below(2) };
            resolve::resolve(request, &mut Facts::new(&mut source, &Silent))
        }
    };
    // What a refusal proposes is limited by time, so only the reasons must be the same.
    let text = text(&answer);
    text.lines().filter(|line| !line.trim_start().starts_with("try:")).collect::<Vec<_>>().join("\n")
}

/// Gives each question a delay when it is asked; pages or metadata, by turns, are far slower than the others.
struct Delayed {
    inner: InMemorySource,
    random: Random,
    due: HashMap<Ask, usize>,
    slow: usize,
}

impl Source for Delayed {
    fn ask(&mut self, ask: Ask) {
        let is_slow = usize::from(matches!(ask, Ask::Page { .. })) == self.slow;
        let delay = self.random.below(100) + if is_slow { 1000 } else { 0 };
        self.due.insert(ask, delay);
    }

    fn wait(&mut self, until: Option<Instant>) -> Option<(Ask, Result<Answer, SourceError>)> {
        let order = |ask: &Ask| (self.due[ask], format!("{ask:?}"));
        let next = self.due.keys().min_by_key(|ask| order(ask)).cloned().expect("wait follows a question");
        self.due.remove(&next);
        self.inner.ask(next);
        self.inner.wait(until)
    }
}
