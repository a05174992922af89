//! TensorFlow with Apple's Metal plugin, from the lock to what dyld says, without a network: facts of the real wheels are in
//! the cache, as if those of the lock had been read before.

use std::collections::BTreeMap;

use macml::check::facts::FactsCache;
use macml::check::facts::WheelFacts;
use macml::index::builtin;
use macml::pep::Sha256;
use serde_json::Value;

use crate::dyld::record::Record;
use crate::support::project::Project;
use crate::support::project::Run;
use crate::support::published::Published;
use crate::support::published::Rel;
use crate::support::server::FakeIndex;

const SENTENCE: &str = "dyld says: Library not loaded: @rpath/_pywrap_tensorflow_internal.so\n  \
                        Referenced from: tensorflow-plugins/libmetal_plugin.dylib";
const HINT: &str = "`tensorflow-metal` 1.2.0 needs `tensorflow` >=2.13, <2.20";

/// Returns the name of a wheel for Macs.
fn wheel(name: &str, version: &str) -> String {
    format!("{name}-{version}-cp311-cp311-macosx_12_0_arm64.whl")
}

/// Keeps the facts of these wheels in the project's cache.
fn keep(project: &Project, wheels: &BTreeMap<Sha256, String>) {
    let facts = Record::read().facts();
    let cache = FactsCache::inside(&project.path().join("cache"));
    for (sha256, wheel) in wheels {
        // Of what else a lock has nothing was ever kept, and neither of the two needs a library of it.
        let facts = facts.get(wheel).cloned().unwrap_or_else(|| {
            assert!(!wheel.starts_with("tensorflow"), "{wheel}");
            WheelFacts::default()
        });
        cache.put(&wheel.parse().unwrap(), *sha256, &facts).unwrap();
    }
}

fn check(project: &Project, words: &[&str]) -> Run {
    let cache = project.path().join("cache").display().to_string();
    project.run_with(&[("MACML_CACHE_DIR", cache.as_str())], &[&["check", "--offline"], words].concat())
}

/// Holds a check in text and JSON against whether its libraries load.
fn is_told(project: &Project, words: &[&str], loads: bool) {
    let run = check(project, words);
    let json = check(project, &[words, &["--output-format", "json"]].concat()).json_as("check.schema.json");
    let parts = json["parts"].as_array().unwrap();
    let libraries: Vec<&Value> = parts.iter().filter(|part| part["level"] == "libraries").collect();
    let [part] = &libraries[..] else { panic!("{json:#}") };
    assert!(part["images"].as_u64().unwrap() > 40, "{json:#}");
    assert_eq!(part["unread"]["wheels"], 0, "{json:#}");
    let errors: Vec<&Value> =
        part["findings"].as_array().unwrap().iter().filter(|one| one["severity"] == "error").collect();
    if loads {
        assert_eq!((errors.len(), &part["verdict"]), (0, &"load".into()), "{json:#}");
        assert_eq!((run.code, &json["verdict"]), (0, &"ok".into()), "{}{}", run.stdout, run.stderr);
        run.never_says(&["error", "Library not loaded"]);
        return;
    }
    assert_eq!((run.code, &json["exit-code"], &part["verdict"]), (1, &1.into(), &"do-not-load".into()), "{json:#}");
    let [error] = &errors[..] else { panic!("{json:#}") };
    assert_eq!((&error["code"], &error["package"]), (&"library-missing".into(), &"tensorflow-metal".into()));
    assert_eq!(error["path"], "tensorflow-plugins/libmetal_plugin.dylib");
    let note = error["notes"][0].as_str().unwrap();
    assert!(note.starts_with(SENTENCE), "{note}");
    assert!(error["hint"].as_str().unwrap().starts_with(HINT), "{error:#}");
    let lock = std::fs::read_to_string(project.path().join(error["file"].as_str().unwrap())).unwrap();
    // The line with the name, or the head of its table.
    let mut lines = lock.lines().skip(error["line"].as_u64().unwrap() as usize - 1).take(2);
    assert!(lines.any(|line| line == "name = \"tensorflow-metal\""), "{error:#}");
    run.says(1, &["Library not loaded: @rpath/_pywrap_tensorflow_internal.so", HINT, "check failed"]);
}

fn published() -> Published {
    let rel = |requires: &[&str]| Rel {
        requires: requires.iter().map(|one| (*one).to_owned()).collect(),
        wheel_tags: vec!["cp311-cp311-macosx_12_0_arm64".to_owned()],
        ..Rel::default()
    };
    Published::default()
        .with_release("tensorflow", "2.21.0", rel(&["six"]))
        .with_release("tensorflow", "2.19.1", rel(&["six"]))
        .with_release("tensorflow-metal", "1.2.0", rel(&["six", "wheel"]))
        .with("six", "1.17.0", &[])
        .with("wheel", "0.45.1", &[])
}

#[test]
fn of_macml_s_lock_the_pair_that_was_forced_does_not_load() {
    let index = FakeIndex::from_published(&published());
    let rest = |tensorflow: &str, rules: &str| {
        format!(
            "[frameworks]\ntensorflow = \"=={tensorflow}\"\ntensorflow-metal = \"==1.2.0\"\n\n\
             [resolution]\nignore-rules = [{rules}]\n"
        )
    };
    let locked = |tensorflow: &str, rules: &str| {
        let project = Project::asking(&index, "14.0", "==3.11.*", &rest(tensorflow, rules)).requiring_the_gpu();
        let run = project.run(&["lock"]);
        (project, run)
    };
    let digests = |tensorflow: &str| {
        let mac = [wheel("tensorflow", tensorflow), wheel("tensorflow_metal", "1.2.0")];
        let any = ["six-1.17.0-py3-none-any.whl", "wheel-0.45.1-py3-none-any.whl"].map(str::to_owned);
        mac.into_iter().chain(any).map(|wheel| (Sha256::of(&index.bytes(&wheel)), wheel)).collect()
    };

    let (_, run) = locked("2.21.0", "");
    run.says(1, &["tensorflow-metal"]);
    let (forced, run) = locked("2.21.0", "\"metal-dead-for-tf-2.20\", \"metal-1.2.0-tf\"");
    run.says(0, &[]);
    // Of what was never read nothing is said, and nobody fetched anything.
    let sent = index.sent();
    let unread = check(&forced, &[]);
    unread.says(0, &["4 of 4 wheels were never read", "`--wheels` fetches and reads them"]);
    unread.never_says(&["Library not loaded"]);
    keep(&forced, &digests("2.21.0"));
    is_told(&forced, &[], false);
    // What was not asked for is not fetched either.
    assert_eq!(index.sent(), sent);

    let (loads, run) = locked("2.19.1", "");
    run.says(0, &[]);
    keep(&loads, &digests("2.19.1"));
    is_told(&loads, &[], true);
}

/// The lock that uv made, where the wheels for Python 3.11, of which facts are kept, stand in the place of those for 3.12.
#[test]
fn of_uv_s_lock_the_pair_does_not_load() {
    let text = include_str!("../check_foreign/tensorflow.uv.lock").replace("cp312", "cp311");
    let pypi = builtin::index("pypi").unwrap().as_str().trim_end_matches('/').to_owned();
    let text = text.replace("{INDEX}", &pypi);
    for (tensorflow, loads) in [("2.21.0", false), ("2.19.1", true)] {
        let text = text.replace("2.21.0", tensorflow);
        let project = Project::empty();
        project.write("uv.lock", &text);
        let wheels = text.lines().filter_map(|line| {
            let (url, rest) = line.split_once("url = \"")?.1.split_once("\", hash = \"sha256:")?;
            let wheel = url.rsplit_once('/')?.1;
            let is_for_macs = ["arm64.whl", "universal2.whl", "any.whl"].iter().any(|end| wheel.ends_with(end));
            is_for_macs.then(|| (rest[..64].parse().unwrap(), wheel.to_owned()))
        });
        keep(&project, &wheels.collect());
        let words = ["--lock", "uv.lock", "--macos", "14.0", "--python", "3.11", "--wheels"];
        is_told(&project, &words, loads);
    }
}
