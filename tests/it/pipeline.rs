//! The order of the stages, over an index in memory: what is solved, kept, tried and written.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use macml::index::source::Ask;
use macml::index::source::File;
use macml::index::source::InMemorySource;
use macml::index::source::MetadataAnswer;
use macml::index::source::Page;
use macml::index::source::PageAnswer;
use macml::index::source::Release;
use macml::index::source::Source;
use macml::index::source::SourceError;
use macml::manifest::Manifest;
use macml::pep::Metadata;
use macml::pep::Sha256;
use macml::pipeline;
use macml::pipeline::Error;
use macml::pipeline::Job;
use macml::pipeline::Outcome;
use macml::pipeline::Purpose;
use macml::pipeline::Reach;
use macml::pipeline::Trial;
use macml::pipeline::Upgrade;
use macml::pipeline::Verdict;
use macml::progress::Silent;

/// Pure wheels: `name version`, then what each requires.
type Universe<'a> = &'a [(&'a str, &'a str, &'a [&'a str])];

const SMALL: Universe<'_> = &[("a", "1.0", &["b"]), ("b", "1.0", &[])];
const GROWN: Universe<'_> = &[("a", "1.0", &["b"]), ("a", "1.1", &["b"]), ("b", "1.0", &[]), ("b", "1.1", &[])];

const MANIFEST: &str = r#"
[target]
chip = "m1"
macos = "14.0"
gpu = "optional"
python = ">=3.11,<3.14"
[dependencies]
a = "*"
"#;

fn source(universe: Universe<'_>) -> InMemorySource {
    let mut source = InMemorySource::default();
    let mut pages: BTreeMap<&str, BTreeMap<_, Release>> = BTreeMap::new();
    for (name, version, requires) in universe {
        let filename: Arc<str> = format!("{name}-{version}-py3-none-any.whl").into();
        let file = File {
            wheel: filename.parse().unwrap(),
            filename: filename.clone(),
            url: format!("https://packages.example.com/{filename}").into(),
            sha256: Some(Sha256::of(filename.as_bytes())),
            size: Some(1),
            requires_python: None,
            upload_day: None,
            yanked: None,
            metadata_file: None,
        };
        let release = Release { wheels: vec![Arc::new(file)], source_archive: false };
        pages.entry(name).or_default().insert(version.parse().unwrap(), release);
        let mut text = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n");
        text.extend(requires.iter().map(|one| format!("Requires-Dist: {one}\n")));
        let metadata = Metadata::parse(text.as_bytes()).unwrap();
        source.metadata.insert(filename, MetadataAnswer::Found(Arc::new(metadata)));
    }
    for (name, releases) in pages {
        source.pages.insert(("pypi".into(), name.parse().unwrap()), Arc::new(Page::new(releases)));
    }
    source
}

/// A cache that has nothing.
#[derive(Default)]
struct Empty(Vec<Ask>);

impl Source for Empty {
    fn ask(&mut self, ask: Ask) {
        self.0.push(ask);
    }

    fn wait(&mut self, _: Option<Instant>) -> Option<(Ask, Result<macml::index::source::Answer, SourceError>)> {
        let ask = self.0.pop().expect("wait is only called with questions pending");
        assert!(matches!(ask, Ask::Page { .. }), "without pages nothing else is asked");
        Some((ask, Ok(macml::index::source::Answer::Page(PageAnswer::Offline))))
    }
}

struct Project {
    folder: tempfile::TempDir,
    connected: Cell<usize>,
    /// What the cache has; nothing when absent.
    cached: Cell<Option<Universe<'static>>>,
    /// Connections made for the summary only.
    asides: Cell<usize>,
}

impl Project {
    fn new(manifest: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = Self { folder, connected: Cell::default(), cached: Cell::default(), asides: Cell::default() };
        project.write("macml.toml", manifest);
        project
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn lock_text(&self) -> Option<String> {
        std::fs::read_to_string(self.folder.path().join("macml.lock")).ok()
    }

    fn lock(&self, universe: Universe<'_>, change: impl FnOnce(&mut Job)) -> Result<Outcome, Error> {
        let mut job = job(self.folder.path());
        change(&mut job);
        let mut connect = |_: &Manifest, reach: Reach| -> Result<Box<dyn Source>, SourceError> {
            match (reach, self.cached.get()) {
                (Reach::Cache, Some(cached)) => return Ok(Box::new(source(cached))),
                (Reach::Cache, None) => return Ok(Box::new(Empty::default())),
                (Reach::Aside, _) => self.asides.set(self.asides.get() + 1),
                (Reach::Network, _) => self.connected.set(self.connected.get() + 1),
            }
            Ok(Box::new(source(universe)))
        };
        pipeline::lock(&job, &mut connect, &Silent)
    }

    fn locked(&self, universe: Universe<'_>, change: impl FnOnce(&mut Job)) -> (Verdict, String) {
        let outcome = self.lock(universe, change).unwrap();
        let env = |env: &macml::lock::model::LockedEnv| {
            let packages = env.packages.iter().map(|one| format!("{} {}", one.name, one.version)).collect::<Vec<_>>();
            format!("{} {} {}: {}", env.name, env.platform, env.python, packages.join(", "))
        };
        (outcome.verdict, outcome.lockfile.envs.iter().map(env).collect::<Vec<_>>().join("; "))
    }
}

/// Two frameworks, the second built for one release of the first.
const OLD: Universe<'_> = &[("torch", "1.0", &[]), ("torchvision", "1.0", &["torch==1.0"]), ("plain", "1.0", &[])];
const NEW: Universe<'_> = &[
    ("torch", "1.0", &[]),
    ("torch", "2.0", &[]),
    ("torchvision", "1.0", &["torch==1.0"]),
    ("torchvision", "2.0", &["torch==2.0"]),
    ("plain", "1.0", &[]),
    ("plain", "2.0", &[]),
];

/// A lock that is kept says which newer releases there are: from the cache, and of frameworks that it lacks from the
/// index, unless the lock was only to be checked.
#[test]
fn a_kept_lock_says_what_is_newer_and_why_it_is_not_taken() {
    let either = "the lock kept the older one, or other packages exclude it; `-U` tries again";
    let check = |torch: &str, cached: Option<Universe<'static>>, purpose: Purpose, asides: usize, expected: &[&str]| {
        let manifest = MANIFEST.replace("[dependencies]\na = \"*\"", "");
        let manifest = format!(
            "{manifest}[dependencies]\nplain = \"*\"\n[frameworks]\ntorchvision = \"*\"\ntorch = \"{torch}\"\n"
        );
        let project = Project::new(&manifest);
        project.lock(OLD, |_| ()).unwrap();
        project.cached.set(cached);
        let outcome = project.lock(NEW, |job| job.purpose = purpose).unwrap();
        assert_eq!((outcome.verdict, project.connected.get()), (Verdict::Unchanged, 1));
        let held = outcome.answers[0].held.iter();
        let held = held.map(|held| format!("{} {}: {}", held.name, held.newest, held.reason)).collect::<Vec<_>>();
        assert_eq!((held, project.asides.get()), (expected.iter().map(ToString::to_string).collect(), asides));
    };
    let plain = &*format!("plain 2.0: {either}");
    // Two that were kept together are no reason for each other.
    let both = [&*format!("torch 2.0: {either}"), &*format!("torchvision 2.0: {either}")];
    check("*", Some(NEW), Purpose::Write, 0, &[both[0], both[1], plain]);
    check("*", Some(OLD), Purpose::Write, 0, &[]);
    let own =
        ["torch 2.0: your line asks for `<2`", "torchvision 2.0: it asks for `torch` ==2.0; your line asks for `<2`"];
    check("<2", Some(NEW), Purpose::Check, 0, &[own[0], own[1], plain]);
    check("<2", None, Purpose::Check, 0, &[]);
    check("<2", None, Purpose::Write, 1, &own);
}

#[test]
fn a_package_that_no_environment_has_is_not_upgraded_in_silence() {
    let project = Project::new(MANIFEST);
    let outcome = project.lock(SMALL, |job| job.upgrade = names(&["b", "pytorch"])).unwrap();
    let findings = outcome.findings.iter().map(|finding| finding.message.clone()).collect::<Vec<_>>();
    assert_eq!(findings, ["no environment has `pytorch`: there is nothing of it to upgrade; did you mean `torch`?"]);
    assert_eq!(outcome.findings[0].code, macml::diag::Code::NothingToUpgrade);
}

/// A wheel by path is often built anew under the same name, and macml.toml does not change with it.
#[test]
fn a_wheel_by_path_that_has_changed_makes_the_lock_stale() {
    let name = "a-1.0-py3-none-any.whl";
    let project = Project::new(&MANIFEST.replace("a = \"*\"", &format!("a = {{ path = \"{name}\" }}")));
    // The index in memory takes the name of a file for its content.
    project.write(name, name);
    let check = |verdict| {
        let outcome = project.lock(SMALL, |job| job.purpose = Purpose::Check).unwrap();
        assert_eq!((outcome.verdict, outcome.stale), (verdict, vec![]));
    };
    project.lock(SMALL, |_| ()).unwrap();
    let lock = project.lock_text().unwrap().replace("size = 0", &format!("size = {}", name.len()));
    project.write("macml.lock", &lock);
    check(Verdict::Unchanged);
    project.write(name, &name.to_uppercase());
    check(Verdict::Stale);
}

fn names(names: &[&str]) -> Upgrade {
    Upgrade::Packages(names.iter().map(|name| name.parse().unwrap()).collect())
}

#[test]
fn a_current_lock_needs_no_index_and_is_not_touched() {
    let project = Project::new(MANIFEST);
    let old = "default macos-arm64 3.13: a 1.0, b 1.0".to_owned();
    assert_eq!(project.locked(SMALL, |_| ()), (Verdict::Written, old.clone()));
    let text = project.lock_text();
    for purpose in [Purpose::Write, Purpose::Check, Purpose::Show] {
        assert_eq!(project.locked(GROWN, |job| job.purpose = purpose), (Verdict::Unchanged, old.clone()));
    }
    project.write("macml.toml", &format!("# comment\n{MANIFEST}"));
    assert_eq!(project.locked(GROWN, |job| job.purpose = Purpose::Check), (Verdict::Unchanged, old));
    assert_eq!((project.connected.get(), project.lock_text()), (1, text));
}

#[test]
fn pins_move_only_when_asked_to() {
    let check = |change: &dyn Fn(&mut Job), expected: &str| {
        let project = Project::new(MANIFEST);
        project.lock(SMALL, |_| ()).unwrap();
        // A new root makes the lock stale, whatever is upgraded.
        project.write("macml.toml", &MANIFEST.replace("a = \"*\"", "a = \"*\"\nb = \"*\""));
        assert_eq!(
            project.locked(GROWN, |job| change(job)),
            (Verdict::Written, format!("default macos-arm64 3.13: {expected}"))
        );
    };
    check(&|_| (), "a 1.0, b 1.0");
    check(&|job| job.upgrade = Upgrade::Everything, "a 1.1, b 1.1");
    check(&|job| job.upgrade = names(&["b"]), "a 1.0, b 1.1");
}

#[test]
fn one_package_moves_without_any_change_of_the_manifest() {
    let project = Project::new(MANIFEST);
    project.lock(SMALL, |_| ()).unwrap();
    let moved = project.locked(GROWN, |job| job.upgrade = names(&["b"]));
    assert_eq!(moved, (Verdict::Written, "default macos-arm64 3.13: a 1.0, b 1.1".to_owned()));
    assert_eq!(project.locked(GROWN, |job| job.upgrade = names(&["unheard-of"])).0, Verdict::Unchanged);
}

#[test]
fn an_environment_alone_leaves_the_others_as_they_are() {
    let both = format!("{MANIFEST}[env.two]\n[env.two.dependencies]\nb = \"*\"\n");
    let project = Project::new(&both);
    project.lock(SMALL, |_| ()).unwrap();
    let only = |job: &mut Job| {
        job.only = vec!["two".to_owned()];
        job.upgrade = Upgrade::Everything;
    };
    let expected = "default macos-arm64 3.13: a 1.0, b 1.0; two macos-arm64 3.13: b 1.1";
    assert_eq!(project.locked(GROWN, only), (Verdict::Written, expected.to_owned()));

    // An environment that is gone from the manifest goes from the lock, without asking an index.
    project.write("macml.toml", MANIFEST);
    let asked = project.connected.get();
    assert_eq!(project.locked(GROWN, |job| job.purpose = Purpose::Check).0, Verdict::Stale);
    let expected = "default macos-arm64 3.13: a 1.0, b 1.0";
    assert_eq!(project.locked(GROWN, |_| ()), (Verdict::Written, expected.to_owned()));
    assert_eq!(project.connected.get(), asked);
}

#[test]
fn other_platforms_stay_close_to_the_first() {
    let manifest = MANIFEST.replace("chip =", "platforms = [\"macos-arm64\", \"linux-x86_64\"]\nchip =");
    let project = Project::new(MANIFEST);
    project.lock(SMALL, |_| ()).unwrap();
    project.write("macml.toml", &manifest);
    let expected = "default macos-arm64 3.13: a 1.0, b 1.0; default linux-x86_64 3.13: a 1.0, b 1.0";
    assert_eq!(project.locked(GROWN, |_| ()), (Verdict::Written, expected.to_owned()));
}

#[test]
fn nothing_but_an_answer_to_the_manifest_is_written() {
    let project = Project::new(MANIFEST);
    assert_eq!(project.locked(SMALL, |job| job.purpose = Purpose::Show).0, Verdict::Differs);
    assert_eq!(project.locked(SMALL, |job| job.purpose = Purpose::Check).0, Verdict::Stale);
    let macos = |text: &str| Trial { macos: Some(text.parse().unwrap()), python: None };
    assert_eq!(project.locked(SMALL, |job| job.trial = macos("13.0")).0, Verdict::Tried);
    let python = Trial { macos: None, python: Some("3.12".parse().unwrap()) };
    assert_eq!(
        project.locked(SMALL, |job| job.trial = python),
        (Verdict::Tried, "default macos-arm64 3.12: a 1.0, b 1.0".to_owned())
    );
    project.write("macml.toml", &MANIFEST.replace("a = ", "nowhere = "));
    let refused = project.lock(SMALL, |_| ()).unwrap_err();
    assert!(refused.is_refusal(), "{refused}");
    let refused = project.lock(SMALL, |job| job.purpose = Purpose::Check).unwrap_err();
    assert!(refused.is_refusal(), "a check tells that nothing satisfies the manifest");
    assert_eq!(project.lock_text(), None);

    // What is tried is what is declared: no trial.
    project.write("macml.toml", MANIFEST);
    assert_eq!(project.locked(SMALL, |job| job.trial = macos("14.0")).0, Verdict::Written);
}

#[test]
fn trials_that_make_no_sense_are_refused() {
    let project = Project::new(MANIFEST);
    let python = |text: &str| Trial { macos: None, python: Some(text.parse().unwrap()) };
    let error = project.lock(SMALL, |job| job.trial = python("3.99")).unwrap_err();
    assert_eq!(error.to_string(), "macml knows no release of Python 3.99");
    project.write("macml.toml", "[target]\nplatforms = [\"linux-x86_64\"]\npython = \">=3.11\"\ngpu = \"optional\"\n");
    let macos = Trial { macos: Some("14.0".parse().unwrap()), python: None };
    let error = project.lock(SMALL, |job| job.trial = macos).unwrap_err();
    assert_eq!(error.to_string(), "no environment looked at is for Macs, so there is no macOS floor to try");
}

#[test]
fn a_manifest_edited_meanwhile_is_not_answered() {
    let project = Project::new(MANIFEST);
    let mut connect = |_: &Manifest, _: Reach| -> Result<Box<dyn Source>, SourceError> {
        project.write("macml.toml", &format!("{MANIFEST}b = \"*\"\n"));
        Ok(Box::new(source(SMALL)))
    };
    let error = pipeline::lock(&job(project.folder.path()), &mut connect, &Silent).unwrap_err();
    assert!(matches!(error, Error::ManifestChanged { .. }), "{error}");
    assert_eq!(project.lock_text(), None);
}

#[test]
fn two_at_once_take_turns() {
    let project = Project::new(MANIFEST);
    let start = project.folder.path();
    let one = |start: &Path| {
        let job = job(start);
        let mut asked = false;
        let mut connect = |_: &Manifest, reach: Reach| -> Result<Box<dyn Source>, SourceError> {
            asked |= reach == Reach::Network;
            std::thread::sleep(std::time::Duration::from_millis(50));
            Ok(Box::new(source(SMALL)))
        };
        let verdict = pipeline::lock(&job, &mut connect, &Silent).unwrap().verdict;
        (verdict, asked)
    };
    let mut ends = std::thread::scope(|scope| {
        let runs = [(); 4].map(|()| scope.spawn(|| one(start)));
        runs.map(|run| run.join().unwrap())
    });
    ends.sort_by_key(|(_, asked)| !asked);
    assert_eq!(ends[0], (Verdict::Written, true));
    assert!(ends[1..].iter().all(|end| *end == (Verdict::Unchanged, false)), "the others find the work done: {ends:?}");
}

fn job(start: &Path) -> Job {
    Job {
        start: start.to_owned(),
        home: Some(start.to_owned()),
        version: semver::Version::new(0, 1, 0),
        only: Vec::new(),
        upgrade: Upgrade::Nothing,
        trial: Trial::default(),
        purpose: Purpose::Write,
    }
}

#[test]
fn a_lock_that_newer_knowledge_condemns_is_kept_with_a_warning() {
    let manifest = MANIFEST.replace("optional", "required").replace("a = \"*\"", "torch = \"*\"");
    let project = Project::new(&manifest);
    let outcome = project.lock(&[("torch", "2.14.1", &[]), ("torch", "2.15.0", &[])], |_| {}).unwrap();
    let knowledge = macml::knowledge::Knowledge::built_in();
    assert_eq!(outcome.lockfile.knowledge, knowledge.date);
    assert_eq!(outcome.lockfile.envs[0].rules, ["torch-2.15-mps-needs-macos-15"]);
    assert_eq!(outcome.lockfile.envs[0].packages[0].version.to_string(), "2.14.1");

    // As an older macml, which did not know the rule, would have locked it.
    project.write("macml.lock", &project.lock_text().unwrap().replace("2.14.1", "2.15.0"));
    let outcome = project.lock(&[], |_| {}).unwrap();
    assert_eq!(outcome.verdict, Verdict::Unchanged);
    let findings = &outcome.answers[0].findings;
    let newly = findings.iter().find(|finding| finding.code == macml::diag::Code::NewlyKnown).expect("it is said");
    assert!(newly.message.contains("needs macOS >=15.0"), "{newly:?}");
    assert!(newly.hint.as_ref().unwrap().contains("macml lock -P torch"), "{newly:?}");
    assert_eq!(project.connected.get(), 1, "knowledge newer than a lock is no reason to solve");
}
