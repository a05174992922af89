//! What macml reads in locks that uv makes, against uv itself and against `packaging`. Runs when `MACML_LIVE` is set.
//!
//! The projects are small: only metadata is downloaded.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use macml::lock::foreign::{self, Choice, Chosen, Machine, Presence, Taken};
use macml::pep::ExtraName;
use macml::target::{Floor, MacosVersion, Platform, PythonMinor, Target};
use serde_json::json;

use crate::support::python::python_with;
use crate::uv_agreement::install_uv;

/// A project, and what of it is asked for: extras and groups.
struct Case {
    name: &'static str,
    /// The oldest macOS for which every package has a wheel or a source.
    oldest: &'static str,
    pyproject: &'static str,
    asks: &'static [(&'static [&'static str], &'static [&'static str])],
}

const CASES: &[Case] = &[
    Case {
        name: "torch",
        oldest: "13.0",
        pyproject: r#"
[project]
name = "demo"
version = "0.1.0"
requires-python = ">=3.10"
dependencies = ["torch==2.8.0", "torchvision==0.23.0", "numpy>=1.26", "requests[socks]"]
[project.optional-dependencies]
plot = ["matplotlib; sys_platform == 'darwin'"]
[dependency-groups]
dev = ["iniconfig"]
lint = ["ruff", { include-group = "dev" }]
"#,
        asks: &[(&[], &[]), (&["plot"], &["lint"])],
    },
    Case {
        name: "tensorflow",
        oldest: "13.0",
        pyproject: r#"
[project]
name = "demo"
version = "0.1.0"
requires-python = ">=3.10,<3.13"
dependencies = ["tensorflow==2.19.1", "tensorflow-metal==1.2.0; sys_platform == 'darwin'"]
"#,
        asks: &[(&[], &[])],
    },
    Case {
        name: "mlx-conflicts",
        oldest: "14.0",
        pyproject: r#"
[project]
name = "demo"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = ["mlx-lm; sys_platform == 'darwin'", "requests"]
[project.optional-dependencies]
old = ["numpy==2.1.0", "pandas"]
new = ["numpy==2.2.0", "pandas"]
[dependency-groups]
a = ["packaging==24.0"]
b = ["packaging==23.0"]
[tool.uv]
environments = ["sys_platform == 'darwin'", "sys_platform == 'linux'"]
conflicts = [[{ extra = "old" }, { extra = "new" }], [{ group = "a" }, { group = "b" }]]
"#,
        asks: &[(&[], &[]), (&["old"], &["a"]), (&["new"], &["b"]), (&["new"], &["a"])],
    },
];

/// Package, and its version with the wheel; `source` where none fits.
type Answer = BTreeMap<String, (String, String)>;

#[test]
fn what_macml_reads_is_what_uv_and_packaging_take() {
    if !matches!(std::env::var("MACML_LIVE").as_deref(), Ok("1" | "full")) {
        eprintln!("skipped: needs the real index, set MACML_LIVE=1");
        return;
    }
    let uv = install_uv();
    let packaging = python_with("packaging-oracle", "packaging==26.4");
    for case in CASES {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign").join(case.name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("pyproject.toml"), case.pyproject).unwrap();
        run(&uv, &folder, &["lock", "--quiet"]);
        for (extras, groups) in case.asks {
            agree(&uv, &packaging, case, &folder, extras, groups);
        }
    }
}

fn agree(uv: &Path, packaging: &Path, case: &Case, folder: &Path, extras: &[&str], groups: &[&str]) {
    let names = |names: &[&str]| Chosen::Named(names.iter().map(|name| name.parse::<ExtraName>().unwrap()).collect());
    let choice = Choice { extras: names(extras), groups: names(groups), ..Choice::default() };
    let mut flags: Vec<&str> = extras.iter().flat_map(|extra| ["--extra", extra]).collect();
    flags.extend(groups.iter().flat_map(|group| ["--group", group]));
    let lock = folder.join("uv.lock");
    for (format, file) in [("pylock.toml", "pylock.toml"), ("requirements.txt", "requirements.txt")] {
        let output = ["export", "--quiet", "--no-emit-project", "--frozen", "--format", format, "-o", file];
        run(uv, folder, &[&output[..], &flags].concat());
    }
    let (pylock, requirements) = (folder.join("pylock.toml"), folder.join("requirements.txt"));
    let machines = [("3.11.9", "14.0"), ("3.12.3", case.oldest), ("3.12.3", "26.0")];
    let question = machines.map(|(python, macos)| {
        let macos: MacosVersion = macos.parse().unwrap();
        json!({ "python": python, "macos": [macos.major(), macos.minor()], "darwin": macos.darwin().to_string() })
    });
    let theirs = select(packaging, &json!({ "file": pylock, "machines": question }));
    for ((python, macos), theirs) in machines.into_iter().zip(theirs) {
        let machine = machine(python, macos);
        let what = format!("{} {extras:?} {groups:?} on Python {python}, macOS {macos}", case.name);
        let ours = answer(&pylock, &machine, &Choice::default());
        assert_eq!(ours, theirs, "pylock.toml: {what}");
        assert_eq!(answer(&lock, &machine, &choice), theirs, "uv.lock: {what}");
        hashes_hold(&requirements, &lock, &machine, &choice, &what);
        eprintln!("{what}: {} packages", theirs.len());
    }
    // uv looks at a real Python, so this is for the one at hand.
    let python = python_version(folder, uv);
    let output = Command::new(uv)
        .args(["sync", "--dry-run", "--frozen", "--no-config", "--python-platform", "aarch64-apple-darwin"])
        .args(["--python", &python])
        .args(&flags)
        .env("MACOSX_DEPLOYMENT_TARGET", "14.0")
        .env("UV_PYTHON_DOWNLOADS", "never")
        .current_dir(folder)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    let added = text.lines().filter_map(|line| line.trim().strip_prefix("+ ")?.split_once("=="));
    let theirs: BTreeMap<String, String> = added.map(|(name, version)| (name.into(), version.into())).collect();
    let ours = answer(&lock, &machine(&python, "14.0"), &choice);
    let ours: BTreeMap<String, String> = ours.into_iter().map(|(name, (version, _))| (name, version)).collect();
    assert_eq!(ours, theirs, "{} {extras:?} {groups:?}: uv sync on Python {python}\n{text}", case.name);
}

fn machine(python: &str, macos: &str) -> Machine {
    let minor: PythonMinor = python.rsplit_once('.').unwrap().0.parse().unwrap();
    let floor = Floor::Mac { macos: macos.parse().unwrap(), chip: "m1".parse().unwrap() };
    let target = Target { platform: Platform::MacosArm64, floor, python: minor };
    Machine { target, python_full: Some(python.parse().unwrap()) }
}

/// What macml reads in a lock that names its wheels.
fn answer(path: &Path, machine: &Machine, choice: &Choice) -> Answer {
    let lock = foreign::read(path).unwrap();
    let selection = lock.on(machine, choice).unwrap();
    let mut answer = Answer::new();
    for selected in &selection.packages {
        assert_eq!(selected.presence, Presence::Certain, "{}", selected.release.name);
        let wheel = match &selected.taken {
            // uv writes the names of files in lower case into a pylock.toml, and `packaging` takes them as written.
            Taken::Wheel(wheel) => wheel.file.to_string().to_ascii_lowercase(),
            Taken::Source(_) => "source".to_owned(),
            Taken::Project => continue,
            other => panic!("{}: {other:?}", selected.release.name),
        };
        let version = selected.release.version.as_ref().unwrap().to_string();
        answer.insert(selected.release.name.to_string(), (version, wheel));
    }
    answer
}

/// The requirements name the same releases, and the wheel of each is one of those whose hashes they name.
fn hashes_hold(requirements: &Path, lock: &Path, machine: &Machine, choice: &Choice, what: &str) {
    let lock = foreign::read(lock).unwrap();
    let selection = lock.on(machine, choice).unwrap();
    let list = foreign::read(requirements).unwrap();
    assert!(list.notes.is_empty(), "{what}: {:?}", list.notes);
    let listed = list.on(machine, &Choice::default()).unwrap();
    let wanted = selection.packages.iter().filter(|one| one.taken != Taken::Project);
    assert_eq!(listed.packages.len() + 1, selection.packages.len(), "{what}");
    for (one, line) in wanted.zip(&listed.packages) {
        assert_eq!((&one.release.name, &one.release.version), (&line.release.name, &line.release.version), "{what}");
        let Taken::OneOf(hashes) = line.taken else { panic!("{what}: {:?}", line.taken) };
        if let Taken::Wheel(wheel) = one.taken {
            assert!(hashes.contains(&wheel.sha256.unwrap()), "{what}: {}", wheel.file);
        }
    }
}

fn select(python: &Path, question: &serde_json::Value) -> Vec<Answer> {
    let mut child = Command::new(python)
        .args(["-c", include_str!("select.py")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(question.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let answers: Vec<Answer> = serde_json::from_slice(&output.stdout).unwrap();
    let lower = |(name, (version, wheel)): (String, (String, String))| (name, (version, wheel.to_ascii_lowercase()));
    answers.into_iter().map(|answer| answer.into_iter().map(lower).collect()).collect()
}

fn run(uv: &Path, folder: &Path, args: &[&str]) {
    let mut command = Command::new(uv);
    command.args(args).arg("--no-config").env("UV_PYTHON_DOWNLOADS", "never").current_dir(folder);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the version of the Python that uv finds.
fn python_version(folder: &Path, uv: &Path) -> String {
    let mut command = Command::new(uv);
    let output =
        command.args(["python", "find", "--show-version", "--no-config"]).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
