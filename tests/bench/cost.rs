//! What knowledge costs: solving with it beside solving without, in this process, every question answered from memory.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use macml::index::source::{Answer, Ask, Source, SourceError};
use macml::index::{Config, Mirror, OnlineSource};
use macml::knowledge::Knowledge;
use macml::manifest;
use macml::progress::Silent;
use macml::resolve::request::Preferences;
use macml::resolve::{self, Facts, Request};
use macml::sys::Env;

use crate::index::Index;
use crate::researcher::ROOTS;
use crate::server::Server;

/// How long one timed run lasts at least: what is quicker is solved several times in it.
const LEAST: Duration = Duration::from_millis(50);

/// Answers from memory what was asked before, and asks the loopback index the rest.
struct Replay {
    far: OnlineSource,
    known: HashMap<Ask, Answer>,
    ready: VecDeque<Ask>,
    /// How many questions were ever asked of `far`, and how many of them it has answered.
    asked_far: usize,
    answered_far: usize,
}

impl Replay {
    /// Forgets what a solve asked ahead and did not need, taking in what is still to come.
    fn settle(&mut self) {
        self.ready.clear();
        while self.answered_far < self.asked_far {
            self.wait(None);
        }
    }
}

impl Source for Replay {
    fn ask(&mut self, ask: Ask) {
        if self.known.contains_key(&ask) {
            self.ready.push_back(ask);
        } else {
            self.asked_far += 1;
            self.far.ask(ask);
        }
    }

    fn wait(&mut self, until: Option<Instant>) -> Option<(Ask, Result<Answer, SourceError>)> {
        if let Some(ask) = self.ready.pop_front() {
            let answer = self.known[&ask].clone();
            return Some((ask, Ok(answer)));
        }
        let (ask, answer) = self.far.wait(until)?;
        self.answered_far += 1;
        if let Ok(answer) = &answer {
            self.known.insert(ask.clone(), answer.clone());
        }
        Some((ask, answer))
    }
}

/// Times solving, `runs` times each way, and prints a table.
pub(crate) fn print(target: &Path, runs: usize) {
    let start = Instant::now();
    let knowledge = Knowledge::built_in();
    println!("Reading the knowledge takes {} once, and is not in the table.\n", show(start.elapsed()));
    let server =
        Server::start(Index::new(std::collections::HashMap::new(), Some(target.join("bench-index"))), Duration::ZERO);
    let researcher = ROOTS.map(|root| (root, "*"));
    let projects: [(&str, &[(&str, &str)]); 5] = [
        ("a researcher's list", &researcher),
        ("torch", &[("torch", "*")]),
        ("torch, torchvision, torchaudio", &[("torch", "*"), ("torchvision", "*"), ("torchaudio", "*")]),
        (
            // Without knowledge these lines are what leads to the same answer.
            "tensorflow <2.20, tensorflow-metal",
            &[("tensorflow", ">=2.18,<2.20"), ("tensorflow-metal", "*")],
        ),
        ("tensorflow, tensorflow-metal", &[("tensorflow", "*"), ("tensorflow-metal", "*")]),
    ];
    println!("| solved for macOS 15.0 | packages | without | with | ratio of medians | of the least |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    for (title, roots) in projects {
        let mut source = Replay {
            far: connect(&server, &target.join("bench-answers").join("cost-cache")),
            known: HashMap::new(),
            ready: VecDeque::new(),
            asked_far: 0,
            answered_far: 0,
        };
        let requests = [Arc::default(), knowledge.clone()].map(|knowledge| request(roots, knowledge));
        let mut packages = [0; 2];
        let mut times = [Vec::new(), Vec::new()];
        let mut solve = |request: &Request| {
            let mut facts = Facts::new(&mut source, &Silent);
            let begun = Instant::now();
            let resolution = resolve::resolve(request, &mut facts).unwrap_or_else(|error| panic!("{title}: {error}"));
            let took = begun.elapsed();
            source.settle();
            (resolution.packages.len(), took, source.asked_far)
        };
        // Fills the memory and the processor's caches.
        let (mut usual, mut asked) = (Duration::ZERO, 0);
        for _ in 0..3 {
            for (packages, request) in packages.iter_mut().zip(&requests) {
                (*packages, usual, asked) = solve(request);
            }
        }
        let repeats = u32::try_from(LEAST.as_micros() / usual.as_micros().max(1)).expect("a small number").max(1);
        for _ in 0..runs {
            // Turns are taken within a run too, so that what else the machine does falls on both.
            let mut run = [Duration::ZERO; 2];
            for _ in 0..repeats {
                for (run, request) in run.iter_mut().zip(&requests) {
                    let (_, took, asked_now) = solve(request);
                    assert_eq!(asked_now, asked, "`{title}` still asks the index");
                    *run += took;
                }
            }
            times.iter_mut().zip(run).for_each(|(times, run)| times.push(run / repeats));
        }
        times.iter_mut().for_each(|times| times.sort_unstable());
        let [without, with] = &times;
        let median = |times: &[Duration]| (times[(times.len() - 1) / 2] + times[times.len() / 2]) / 2;
        let ratio = |with: Duration, without: Duration| with.as_secs_f64() / without.as_secs_f64();
        let packages = match packages {
            [without, with] if without == with => with.to_string(),
            [without, with] => format!("{without}, {with}"),
        };
        println!(
            "| {title} | {packages} | {} | {} | {:.2} | {:.2} |",
            range(median(without), without),
            range(median(with), with),
            ratio(median(with), median(without)),
            ratio(with[0], without[0]),
        );
    }
    println!(
        "\nMedians of {runs} runs (least–most), the two taking turns, questions answered from memory. A run is as many \
         solves as take {} ms, and its time that of one. Two numbers of packages are two answers.",
        LEAST.as_millis()
    );
}

fn request(roots: &[(&str, &str)], knowledge: Arc<Knowledge>) -> Request {
    let lines: String = roots.iter().map(|(name, versions)| format!("{name} = \"{versions}\"\n")).collect();
    let text = format!(
        "[target]\nchip = \"m1\"\nmacos = \"15.0\"\ngpu = \"required\"\npython = \">=3.11,<3.14\"\n\n[dependencies]\n{lines}"
    );
    let context = manifest::Context { folder: "project", version: &semver::Version::new(0, 1, 0) };
    let (manifest, _) = manifest::parse(&text, context).expect("a manifest without mistakes");
    let env = manifest.envs.into_iter().next().expect("an environment");
    Request {
        platform: env.platforms[0],
        env,
        indexes: vec!["pypi".into()],
        preferences: Preferences::default(),
        direct: BTreeMap::new(),
        python: None,
        knowledge,
    }
}

fn connect(server: &Server, cache: &Path) -> OnlineSource {
    std::fs::create_dir_all(cache).unwrap();
    let mut config = Config::new(Env::from_map(BTreeMap::new(), cache.to_owned()));
    config.cache_dir = Some(cache.to_owned());
    config.mirrors = vec![Mirror::at("pypi", &server.url()).expect("an address")];
    config.mirror_only = true;
    OnlineSource::new(&config, Arc::new(Silent)).unwrap()
}

fn range(median: Duration, sorted: &[Duration]) -> String {
    format!("{} ({}–{})", show(median), show(sorted[0]), show(sorted[sorted.len() - 1]))
}

fn show(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
