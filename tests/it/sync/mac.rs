//! A sync as on a Mac, whole, on any machine: the Mac is a recorded one, and its Python is a Mach-O header that is started
//! through a script, which has this machine's Python answer in its place.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use std::time::SystemTime;

use macml::environment::Replace;
use macml::environment::Stamp;
use macml::host::Host;
use macml::index::Config;
use macml::index::download::Downloads;
use macml::pipeline::sync;
use macml::pipeline::sync::Error;
use macml::pipeline::sync::Job;
use macml::pipeline::sync::Outcome;
use macml::pipeline::sync::Purpose;
use macml::pipeline::sync::Reaching;
use macml::pipeline::sync::Staleness;
use macml::pipeline::sync::Verdict;
use macml::pipeline::sync::Which;
use macml::pipeline::verify;
use macml::progress::Silent;
use macml::python::Arch;
use macml::python::Machine;
use macml::python::Search;
use macml::python::System;
use macml::sys::Env;
use macml::target::Platform;
use macml::verify::Standing;
use macml::verify::Word;
use macml::verify::protocol::Device;
use macml::verify::protocol::Framework;
use macml::verify::protocol::ProbeKind;

use super::names;
use super::packages;
use super::site;
use crate::support::program::program;
use crate::support::project::Project;
use crate::support::published::Published;
use crate::support::published::Rel;
use crate::support::python::python;
use crate::support::server::FakeIndex;

/// An arm64 program for Macs with a signature, as far as it is looked at.
fn header() -> Vec<u8> {
    let commands: [u32; 10] = [0x1b, 24, 1, 2, 3, 4, 0x1d, 16, 64, 0];
    let head: [u32; 8] = [0xfeed_facf, 0x0100_000c, 0, 2, 2, 40, 0, 0];
    head.iter().chain(&commands).flat_map(|word| word.to_le_bytes()).collect()
}

/// The path of a recorded Mac.
fn host(name: &str) -> String {
    format!("{}/tests/hosts/{name}.json", env!("CARGO_MANIFEST_DIR"))
}

/// Syncs a project as a Mac of tests/hosts would.
fn on(host: &str, project: &Path) -> Result<Outcome, Error> {
    let (real, minor) = python();
    let own = project.join(format!("mac/bin/python{minor}"));
    // Written once: another file is another Python.
    if !own.exists() {
        program(&own, header());
    }
    let starter = project.join("mac/start");
    let answer = "sed -e 's/\"machine\": \"[^\"]*\"/\"machine\": \"arm64\"/' -e 's/\"system\": \"[^\"]*\"/\"system\": \"darwin\"/'";
    program(&starter, format!("#!/bin/sh\nshift\n'{}' \"$@\" | {answer}\n", real.display()));
    let host: Host = serde_json::from_str(&std::fs::read_to_string(self::host(host)).unwrap()).unwrap();
    let vars = BTreeMap::from([("HOME".to_owned(), project.display().to_string())]);
    let env = Env::from_map(vars, project.to_owned());
    let cache = project.join(".cache/macml");
    let mut config = Config::new(env.clone());
    config.cache_dir = Some(cache.clone());
    config.offline = true;
    let root = project.join("mac");
    let machine = Machine { starter: vec![starter.into()], ..Machine::of(&env, System::Mac, Arch::Arm64, &root) };
    let job = Job {
        source: sync::Source {
            start: project.to_owned(),
            home: Some(project.to_owned()),
            version: env!("CARGO_PKG_VERSION").parse().unwrap(),
            staleness: Staleness::Ignore,
            cache: Some(cache),
            wheels: None,
        },
        which: Which::Default,
        purpose: Purpose::Build,
        link_mode: None,
        compile: false,
        replace: Replace::Never,
        search: Search { machine, cache: None, limit: Duration::from_secs(60), named: Some(own) },
        host: Some(host),
        data: Some(project.join(".local/share/macml")),
        state: Some(project.join(".local/state/macml")),
        now: SystemTime::now(),
    };
    let mut reaching = Reaching {
        connect: &mut |_, _| panic!("a frozen lock needs no index"),
        download: &|_, wanted| Downloads::begin(&config, wanted, std::sync::Arc::new(Silent)),
    };
    sync::sync(&job, &mut reaching, &Silent)
}

#[test]
fn a_mac_gets_the_wheels_of_its_macos_and_is_told_of_its_memory() {
    let minor = &python().1;
    let abi = format!("cp{0}-cp{0}", minor.replace('.', ""));
    let tags = ["14_0", "15_0"].map(|macos| format!("{abi}-macosx_{macos}_arm64"));
    let gpu = Rel { wheel_tags: tags.to_vec(), ..Rel::default() };
    let index = FakeIndex::from_published(&Published::default().with_release("gpu", "1.0", gpu));
    let roots = "memory = \"16GB\"\n[dependencies]\ngpu = \"*\"\n";
    let project = Project::asking(&index, "14.0", &format!("=={minor}.*"), roots);
    let folder = project.path().canonicalize().unwrap();
    // Both files come into the cache.
    for macos in ["14.0", "15.0"] {
        let words = ["sync", "--target", "tree", "--platform", "macos-arm64", "--macos", macos];
        project.run(&words).says(0, &["staged"]);
    }
    let generation = || folder.join(".venv").canonicalize().unwrap();
    for (host, macos, warnings) in [
        ("vm", "14_0", &["this Mac has 7 GB of memory, and the project asks for 16 GB"][..]),
        ("m3-max-macos15", "15_0", &[]),
    ] {
        let outcome = on(host, &folder).unwrap();
        let synced = &outcome.environments[0];
        assert_eq!(
            (synced.verdict, &synced.warnings[..]),
            (Verdict::Built, &warnings.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>()[..]),
            "{host}"
        );
        assert_eq!(packages(&generation(), &site()), names(&["gpu-1.0"]));
        let wheel = std::fs::read_to_string(generation().join(site()).join("gpu-1.0.dist-info/WHEEL")).unwrap();
        assert!(wheel.contains(&format!("macosx_{macos}_arm64")), "{host}: {wheel}");
        assert_eq!(on(host, &folder).unwrap().environments[0].verdict, Verdict::Unchanged, "{host}");
    }
    let before = generation();
    assert!(matches!(on("m1-macos13", &folder), Err(Error::Unfit(_))));
    assert_eq!(generation(), before);
}

/// The GPU is verified with a lock once a record says so, and no longer than all is as it was.
#[test]
fn a_mac_is_told_how_its_gpu_stands() {
    let index = FakeIndex::from_published(&Published::default().with("torch", "2.13.0", &[]).with("other", "1.0", &[]));
    let minor = &python().1;
    let roots = |lines: &str| format!("[dependencies]\n{lines}\n");
    let project = Project::asking(&index, "14.0", &format!("=={minor}.*"), &roots("other = \"*\""));
    let folder = project.path().canonicalize().unwrap();
    let into_cache = || project.run(&["sync", "--target", "tree", "--platform", "macos-arm64"]).says(0, &["staged"]);
    let gpu = |host: &str| on(host, &folder).unwrap().environments.remove(0).gpu;
    into_cache();
    assert_eq!(gpu("m3-max-macos15"), None, "nothing in it would use a GPU");

    let before = std::fs::read_to_string(folder.join("macml.toml")).unwrap();
    project.write("macml.toml", &before.replace("other = ", "torch = "));
    std::fs::remove_dir_all(folder.join("tree")).unwrap();
    into_cache();
    assert_eq!(gpu("m3-max-macos15"), Some(Standing::Never));
    let locked = verify::lock_in(&folder).unwrap().unwrap();
    let entry = locked.env("default", Platform::MacosArm64).unwrap();
    let content = Stamp::read(&folder.join(".venv").canonicalize().unwrap()).unwrap().unwrap().content;
    let mac: Host = serde_json::from_str(&std::fs::read_to_string(host("m3-max-macos15")).unwrap()).unwrap();
    let found = |word: Word, device: Device| {
        let sentence = String::new();
        let verdict = macml::verify::Verdict {
            word,
            ..macml::verify::Verdict::not_run(ProbeKind::Python, Framework::Torch, device, sentence)
        };
        let (known, tried) = (Vec::new(), Vec::new());
        let answers = vec![verify::Answer { verdict, installed: None, known, tried, late: false }];
        let locked = verify::Locked { folder: &folder, lockfile: &locked, entry, content: &content, host: Some(&mac) };
        verify::keep(&locked, &verify::Outcome { answers, left_out: None }, 1_700_000_000).unwrap()
    };
    assert_eq!(found(Word::Ok, Device::Cpu), verify::Kept::Written);
    assert_eq!(gpu("m3-max-macos15"), Some(Standing::Never), "the processor is no GPU");
    assert_eq!(found(Word::Ok, Device::Mps), verify::Kept::Written);
    assert_eq!(gpu("m3-max-macos15"), Some(Standing::Verified { since: 1_700_000_000 }));
    // Somebody without a GPU of his own looked: nothing is known better by that.
    assert_eq!(found(Word::NotVisible, Device::Mps), verify::Kept::Nothing);
    assert_eq!(gpu("m3-max-macos15"), Some(Standing::Verified { since: 1_700_000_000 }));
    assert_eq!(found(Word::WrongNumbers, Device::Mps), verify::Kept::Written);
    assert_eq!(gpu("m3-max-macos15"), Some(Standing::NotRight(Word::WrongNumbers)));
    assert_eq!(gpu("m5-macos26"), Some(Standing::OtherSystem("macOS 15.6.1".to_owned())));
    // The same packages in an environment that was built otherwise.
    project
        .write("macml.toml", &format!("[project]\nname = \"another\"\n\n{}", before.replace("other = ", "torch = ")));
    assert_eq!(gpu("m3-max-macos15"), Some(Standing::OtherContent));
}
