//! The examples as Macs have them, from the real index, and what can happen to such a tree. Runs when `MACML_LIVE` is set,
//! with the cache of the live tests of `sync`, which stage the same trees; what takes more than that and 150 MB,
//! another 800 MB, only where that is `full`.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use macml::index::builtin;
use serde_json::Value;

use crate::real_answers::live;
use crate::support::project::Project;
use crate::support::project::Run;
use crate::support::real::full;
use crate::sync::live::good;
use crate::sync::live::run;
use crate::sync::live::vars;
use crate::uv_agreement::install_uv;

/// Makes a project of an example.
fn example(name: &str) -> Project {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
    let project = Project::empty();
    for file in ["macml.toml", "macml.lock"] {
        project.write(file, &fs::read_to_string(source.join(file)).unwrap());
    }
    project
}

fn stage(project: &Project, folder: &str) {
    good(project, &["sync", "--locked", "--target", folder, "--platform", "macos-arm64"]);
}

/// Runs a check in the same way twice, for people and for programs.
fn check(project: &Project, words: &[&str]) -> (Run, Value) {
    let words = [&["check"], words].concat();
    let text = run(project, &words);
    let json = run(project, &[&words[..], &["--output-format", "json"]].concat());
    assert_eq!((text.code, ""), (json.code, json.stderr.as_str()), "{words:?}");
    let json = json.json_as("check.schema.json");
    assert_eq!(json["exit-code"], text.code);
    (text, json)
}

fn part<'a>(json: &'a Value, level: &str) -> &'a Value {
    let parts: Vec<&Value> = json["parts"].as_array().unwrap().iter().filter(|part| part["level"] == level).collect();
    let [part] = parts[..] else { panic!("{level}: {json:#}") };
    part
}

/// What is told as an error, a line for each: level, code, package, path.
fn errors(json: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for part in json["parts"].as_array().unwrap() {
        for one in part["findings"].as_array().unwrap().iter().filter(|one| one["severity"] == "error") {
            let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
            let path = text(&one["path"]);
            let path = path.split_once("site-packages/").map_or(path.as_str(), |(_, path)| path);
            lines.push(format!("{} {} {} {path}", text(&part["level"]), text(&one["code"]), text(&one["package"])));
        }
    }
    lines
}

/// Says that nothing speaks against it, and returns the digest of its files where there is one.
fn passes(name: &str, project: &Project, words: &[&str]) -> Option<String> {
    let (text, json) = check(project, words);
    eprint!("{name} {}:\n{}", words.join(" "), text.stdout);
    assert_eq!((text.code, &json["verdict"], errors(&json)), (0, &"ok".into(), vec![]), "{name} {words:?}");
    assert_eq!((&json["counts"]["errors"], &part(&json, "libraries")["verdict"]), (&0.into(), &"load".into()));
    assert_eq!(part(&json, "libraries")["unread"]["wheels"], 0);
    part(&json, "environment")["digest"].as_str().map(str::to_owned)
}

#[test]
fn the_examples_staged_for_macs_pass() {
    if !live() {
        return;
    }
    // The fourth has a torch of its own, 70 MB.
    for name in ["mlx", "pytorch", "tensorflow", "coreml"] {
        let project = example(name);
        stage(&project, "one");
        stage(&project, "deep/two");
        // All that is to be known is in the cache.
        let words = ["--offline", "--target", "one"];
        assert_eq!(passes(name, &project, &words), None);
        let digest = |folder| passes(name, &project, &["--offline", "--full", "--target", folder]).unwrap();
        let one = digest("one");
        assert_eq!(one.len(), 64, "{one}");
        assert_eq!(digest("deep/two"), one, "{name}");
    }
}

/// The wheels are downloaded for it, and nothing of them is kept but the facts.
#[test]
fn the_examples_pass_by_their_locks() {
    if !live() {
        return;
    }
    for name in ["mlx", "pytorch", "tensorflow", "coreml"].into_iter().take(if full() { 4 } else { 1 }) {
        let project = example(name);
        let cache = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let vars = own(cache.path());
        let words = ["check", "--wheels", "--output-format", "json"];
        let run = |words: &[&str]| project.run_with(&borrowed(&vars), words);
        let json = run(&words).json_as("check.schema.json");
        let read = part(&json, "libraries");
        eprintln!("{name}: {} {}", read["fetched"], read["seconds"]);
        assert_eq!((&json["verdict"], errors(&json), &read["verdict"]), (&"ok".into(), vec![], &"load".into()));
        let number = &read["packages"];
        assert!(number.as_u64().unwrap() > 10);
        assert_eq!((&read["fetched"]["wheels"], &read["unread"]["wheels"]), (number, &0.into()));
        let bytes: u64 = sizes(cache.path());
        assert!(bytes < read["fetched"]["bytes"].as_u64().unwrap() / 5, "{bytes} bytes are left in the cache");
        // The second time nothing is.
        let again = run(&["check", "--offline", "--output-format", "json"]).json_as("check.schema.json");
        let read = part(&again, "libraries");
        assert_eq!((&read["verdict"], &read["fetched"]["wheels"]), (&"load".into(), &0.into()));
    }
}

/// The bytes of all files below a folder.
fn sizes(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let size = |entry: fs::DirEntry| match entry.file_type().unwrap().is_dir() {
        true => sizes(&entry.path()),
        false => entry.metadata().unwrap().len(),
    };
    entries.map(size).sum()
}

/// The variables of the other runs, with a cache of its own.
fn own(cache: &Path) -> Vec<(String, String)> {
    let mut vars = vars();
    vars.retain(|(name, _)| name != "MACML_CACHE_DIR");
    vars.push(("MACML_CACHE_DIR".to_owned(), cache.display().to_string()));
    vars
}

fn borrowed(vars: &[(String, String)]) -> Vec<(&str, &str)> {
    vars.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

const FORCED: &str = r#"
[target]
chip = "m1"
macos = "14.0"
python = "==3.12.*"

[frameworks]
tensorflow = "==2.21.*"
tensorflow-metal = "==1.2.0"

[resolution]
ignore-rules = ["metal-dead-for-tf-2.20", "metal-1.2.0-tf"]
exclude-newer = "2026-11-30"
"#;

const PYPROJECT: &str = r#"
[project]
name = "forced"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = ["tensorflow==2.21.*", "tensorflow-metal==1.2.0; sys_platform == 'darwin'"]
"#;

/// By macml's lock, by one that uv makes now, and by one that it made: 250 MB.
#[test]
fn tensorflow_2_21_with_metal_1_2_0_does_not_load() {
    if !full() {
        return;
    }
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("check-verb");
    let vars = own(&cache);
    let project = Project::new(FORCED);
    project.run_with(&borrowed(&vars), &["lock"]).says(0, &[]);
    project.write("made/uv.lock", &made_by_uv());
    project.write("pyproject.toml", PYPROJECT);
    let uv = Command::new(install_uv())
        .args(["lock", "--quiet"])
        .env("UV_PYTHON_DOWNLOADS", "never")
        .current_dir(project.path())
        .output()
        .unwrap();
    assert!(uv.status.success(), "{}", String::from_utf8_lossy(&uv.stderr));

    let uv = |lock| ["check", "--wheels", "--lock", lock, "--macos", "14.0", "--python", "3.12"];
    let own = ["check", "--wheels"];
    for words in [&own[..], &uv("uv.lock"), &uv("made/uv.lock")] {
        project.run_with(&borrowed(&vars), words).says(
            1,
            &[
                "error[library-missing]: `tensorflow-plugins/libmetal_plugin.dylib` of `tensorflow-metal` 1.2.0",
                "dyld says: Library not loaded: @rpath/_pywrap_tensorflow_internal.so",
                "`tensorflow-metal` 1.2.0 needs `tensorflow` >=2.13, <2.20",
            ],
        );
        let words = [words, &["--output-format", "json"]].concat();
        let json = project.run_with(&borrowed(&vars), &words).json_as("check.schema.json");
        let libraries = part(&json, "libraries");
        assert_eq!((&libraries["verdict"], &libraries["unread"]["wheels"]), (&"do-not-load".into(), &0.into()));
        let errors: Vec<String> = errors(&json).into_iter().filter(|one| one.starts_with("libraries")).collect();
        assert_eq!(
            errors,
            ["libraries library-missing tensorflow-metal tensorflow-plugins/libmetal_plugin.dylib"],
            "{words:?}"
        );
    }
}

/// A lock that uv made earlier, which is abridged.
fn made_by_uv() -> String {
    let pypi = builtin::index("pypi").unwrap();
    include_str!("../check_foreign/tensorflow.uv.lock").replace("{INDEX}", pypi.as_str().trim_end_matches('/'))
}

/// A file of a tree in another form, until it is put back.
struct Changed {
    path: PathBuf,
    bytes: Vec<u8>,
    mode: fs::Permissions,
    time: std::time::SystemTime,
}

impl Changed {
    fn remove(path: PathBuf) -> Self {
        let (bytes, about) = (fs::read(&path).unwrap(), fs::metadata(&path).unwrap());
        fs::remove_file(&path).unwrap();
        Self { path, bytes, mode: about.permissions(), time: about.modified().unwrap() }
    }

    /// Puts other bytes in its place: not into it, since it may be one with the file in the cache.
    fn write(path: PathBuf, change: impl FnOnce(&[u8]) -> Vec<u8>) -> Self {
        let this = Self::remove(path);
        this.put(&change(&this.bytes));
        this
    }

    fn put(&self, bytes: &[u8]) {
        fs::write(&self.path, bytes).unwrap();
        fs::set_permissions(&self.path, self.mode.clone()).unwrap();
    }

    /// Gives it the time that it had.
    fn quietly(self) -> Self {
        fs::File::options().append(true).open(&self.path).unwrap().set_modified(self.time).unwrap();
        self
    }

    fn back(self) {
        let _ = fs::remove_file(&self.path);
        self.put(&self.bytes);
        self.quietly();
    }
}

/// Returns the image for Intel of a universal one.
fn intel(universal: &[u8]) -> Vec<u8> {
    let number = |at: usize| u32::from_be_bytes(universal[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!(number(0), 0xcafe_babe);
    let entry = (0..number(4)).map(|one| 8 + 20 * one).find(|at| number(*at) == 0x0100_0007).unwrap();
    let (offset, size) = (number(entry + 8), number(entry + 12));
    universal[offset..offset + size].to_vec()
}

#[test]
fn what_happens_to_a_real_tree_is_named() {
    if !live() {
        return;
    }
    let project = example("mlx");
    stage(&project, "tree");
    let lib = fs::read_dir(project.path().join("tree/lib")).unwrap().next().unwrap().unwrap().path();
    let path = |name: &str| lib.join("site-packages").join(name);
    let quick = &["--offline", "--target", "tree"][..];
    let fully = &["--offline", "--full", "--target", "tree"][..];
    // The words by which it is found; what is told, as programs and as people read it; then all is as it was.
    let told = |words: &[&str], expected: &[&str], parts: &[&str], changed: Changed| {
        let (text, json) = check(&project, words);
        eprintln!("{}", text.stdout);
        assert_eq!(
            (text.code, errors(&json)),
            (1, expected.iter().map(|one| (*one).to_owned()).collect()),
            "{words:?}"
        );
        text.says(1, parts);
        changed.back();
    };

    let flipped = Changed::write(path("mlx/lib/libmlx.dylib"), |bytes| {
        let mut bytes = bytes.to_vec();
        bytes[0x8123] ^= 0x10;
        bytes
    });
    let flipped = flipped.quietly();
    assert_eq!(check(&project, quick).0.code, 0, "whoever puts the time back is found by reading all");
    told(
        fully,
        &[
            "environment file-changed mlx-metal mlx/lib/libmlx.dylib",
            "libraries signature-broken mlx-metal mlx/lib/libmlx.dylib",
        ],
        &["mlx/lib/libmlx.dylib` of `mlx-metal`", "has other bytes", "error[signature-broken]"],
        flipped,
    );
    told(
        quick,
        &[
            "environment file-changed protobuf google/_upb/_message.abi3.so",
            "libraries wrong-architecture protobuf google/_upb/_message.abi3.so",
        ],
        &["google/_upb/_message.abi3.so` of `protobuf`", "error[wrong-architecture]", "x86_64"],
        Changed::write(path("google/_upb/_message.abi3.so"), intel),
    );
    told(
        quick,
        &[
            "environment file-missing mlx-metal mlx/lib/libmlx.dylib",
            "libraries library-missing mlx mlx/core.cpython-313-darwin.so",
        ],
        &["mlx/lib/libmlx.dylib` of `mlx-metal`", "is gone", "Library not loaded: @rpath/libmlx.dylib"],
        Changed::remove(path("mlx/lib/libmlx.dylib")),
    );
    told(
        quick,
        &["environment file-changed mlx-lm mlx_lm/generate.py"],
        &["mlx_lm/generate.py` of `mlx-lm`", "bytes instead of"],
        Changed::write(path("mlx_lm/generate.py"), |bytes| [bytes, b"\n# edited\n"].concat()),
    );
    told(
        quick,
        &["environment file-missing mlx mlx/nn/losses.py"],
        &["mlx/nn/losses.py` of `mlx`", "is gone"],
        Changed::remove(path("mlx/nn/losses.py")),
    );
    passes("mlx", &project, fully);
}
