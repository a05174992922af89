//! Whole machines laid out in a folder: real headers, and behind each a script that stands in for what it would do.
//!
//! `Machine::starter` names a script which runs the text after a program's header, so that a Mac's Pythons can be started
//! anywhere; it writes down which were started.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::header::made::{ARM64, Signed, X86_64, elf, mach_o, universal};
use super::*;
use crate::pep::Specifiers;
use crate::sys::Env;

/// A machine in a folder.
struct Laid {
    root: PathBuf,
    system: System,
    vars: Vec<(String, String)>,
    folder: tempfile::TempDir,
}

const STARTER: &str = "\
#!/bin/sh
echo \"$1\" >> \"$0.ran\"
eval \"$(sed -n '/^#THEN/,$p' \"$1\")\"
";

impl Laid {
    fn new(system: System) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // On a Mac the folder for such things lies behind a link.
        let root = folder.path().canonicalize().unwrap();
        let laid = Self { root, system, vars: Vec::new(), folder };
        laid.file("start", STARTER.as_bytes());
        laid.file("start.ran", b"");
        laid.with("HOME", "Users/dev")
    }

    fn mac() -> Self {
        Self::new(System::Mac)
    }

    fn linux() -> Self {
        Self::new(System::Linux).with("PATH", "usr/bin")
    }

    /// Sets a variable to places of the machine.
    fn with(mut self, name: &str, places: &str) -> Self {
        let places: Vec<String> = places.split(':').map(|place| self.root.join(place).display().to_string()).collect();
        self.vars.push((name.to_owned(), places.join(":")));
        self
    }

    fn at(&self, place: &str) -> PathBuf {
        self.root.join(place)
    }

    /// Writes a file that may be run.
    fn file(&self, place: &str, bytes: &[u8]) {
        let path = self.at(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }

    fn link(&self, place: &str, to: &str) {
        let path = self.at(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(to, path).unwrap();
    }

    /// Puts a program at a place: a header and what it does.
    fn program(&self, place: &str, header: &[u8], does: &str) {
        self.file(place, &[header, b"\n#THEN\n", does.as_bytes()].concat());
    }

    /// Puts a healthy Python of the machine's own architecture at a place.
    fn python(&self, place: &str, version: &str) {
        self.program(place, &self.native(), &says(&self.facts(version)));
    }

    fn native(&self) -> Vec<u8> {
        if self.system == System::Mac { mach_o(ARM64, Signed::Yes) } else { elf(62) }
    }

    /// What a healthy Python says it is.
    fn facts(&self, version: &str) -> Value {
        let numbers: Vec<u64> = version.split('.').map(|part| part.parse().unwrap()).collect();
        let mac = self.system == System::Mac;
        let prefix = self.at(&format!("prefix/{version}"));
        json!({
            "abi_flags": "",
            "base_prefix": prefix,
            "free_threaded": false,
            "implementation": "cpython",
            "include": prefix.join("include"),
            "level": "final",
            "libc": if mac { Value::Null } else { "glibc 2.36".into() },
            "machine": if mac { "arm64" } else { "x86_64" },
            "platform": if mac { "macosx-11.0-arm64" } else { "linux-x86_64" },
            "platlibdir": "lib",
            "platstdlib": prefix.join("lib"),
            "serial": 0,
            "soabi": "cpython",
            "stdlib": prefix.join("lib"),
            "system": if mac { "darwin" } else { "linux" },
            "venv": true,
            "version": numbers,
        })
    }

    fn machine(&self) -> Machine {
        let env = Env::from_map(self.vars.iter().cloned().collect(), self.root.clone());
        let arch = if self.system == System::Mac { Arch::Arm64 } else { Arch::X86_64 };
        let starter = vec![self.at("start").into()];
        Machine { starter, ..Machine::of(&env, self.system, arch, &self.root) }
    }

    fn search(&self) -> Search {
        Search {
            machine: self.machine(),
            cache: Some(self.folder.path().join("cache")),
            limit: Duration::from_secs(60),
            named: None,
        }
    }

    /// Returns the places of what was started since the last call.
    fn started(&self) -> Vec<String> {
        let log = self.at("start.ran");
        let text = std::fs::read_to_string(&log).unwrap();
        std::fs::write(&log, "").unwrap();
        let mut places: Vec<String> = text.lines().map(|line| self.shown(line)).collect();
        places.sort();
        places
    }

    /// Makes a text the same on every machine.
    fn shown(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.root.display()), "/")
    }

    /// Lays out what was seen: place, origin, verdict, remedy.
    fn report(&self, seen: &[Seen]) -> String {
        let mut text = String::new();
        for one in seen {
            let path = one.candidate.path.display();
            match &one.verdict {
                Ok(found) => writeln!(text, "{path} [{:?}] is {} ({:?})", found.origin, found.version, found.arch),
                Err(refusal) => {
                    let remedy = refusal.remedy(&one.candidate, one.version.as_ref(), &self.machine());
                    writeln!(text, "{path} [{:?}] {refusal}\n  -> {}", one.candidate.origin, remedy.unwrap_or_default())
                }
            }
            .unwrap();
        }
        self.shown(&text)
    }

    fn check(&self, expected: &str) {
        assert_eq!(self.report(&self.search().all()).trim(), expected.trim());
    }

    /// Looks at one path as `--python` does.
    fn check_named(&self, place: &str, expected: &str) {
        let search = Search { named: Some(self.at(place)), ..self.search() };
        assert_eq!(self.report(&search.all()).trim(), expected.trim());
    }

    fn wanted(&self, minor: Option<(u64, u64)>, within: &str) -> Wanted {
        let Machine { system, arch, .. } = self.machine();
        let within: Specifiers = within.parse().unwrap();
        Wanted { system, arch, minor, within, suggested: minor.unwrap_or((3, 13)) }
    }

    fn chosen(&self, minor: (u64, u64), within: &str) -> String {
        match self.search().choose(&self.wanted(Some(minor), within)) {
            Ok(interpreter) => self.shown(&interpreter.path.display().to_string()),
            Err(error) => panic!("{}", self.told(&error)),
        }
    }

    fn told(&self, error: &Error) -> String {
        let mut text = format!("{error}\n");
        match error {
            Error::None { seen, remedy, .. } => {
                for misfit in seen {
                    writeln!(text, "  {} {}", misfit.seen.candidate.path.display(), misfit.refusal).unwrap();
                }
                writeln!(text, "-> {remedy}").unwrap();
            }
            Error::Named(misfit) => writeln!(text, "-> {}", misfit.remedy.as_deref().unwrap_or_default()).unwrap(),
            Error::OtherMachine { .. } => {}
        }
        self.shown(&text)
    }
}

const MODULES: [&str; 5] = ["_lzma", "_bz2", "_ssl", "_ctypes", "_sqlite3"];

/// A program that answers as a healthy Python does.
fn says(facts: &Value) -> String {
    says_with(facts, |module| json!([{ "loading": module, "file": null }, { "loaded": module }]))
}

/// A program that answers so, with lines of its own for each module.
fn says_with(facts: &Value, lines: impl Fn(&str) -> Value) -> String {
    let modules = MODULES.map(|module| lines(module).as_array().unwrap().clone()).concat();
    let lines = [vec![facts.clone()], modules, vec![json!({ "end": true })]].concat();
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    format!("cat <<'END'\n{}\nEND\n", lines.join("\n"))
}

/// Changes some of the facts.
fn but(mut facts: Value, changes: Value) -> Value {
    facts.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    facts
}

/// A Mac that has seen much.
fn full_mac() -> Laid {
    let mac = Laid::mac().with("PATH", "Users/dev/p/.venv/bin:Users/dev/miniconda3/bin:opt/homebrew/bin:usr/bin");
    let intel = || mach_o(X86_64, Signed::Yes);
    let both = || universal(&[(X86_64, intel()), (ARM64, mac.native())]);
    // Homebrew for Apple Silicon, and an old one for Intel.
    mac.file("opt/homebrew/bin/brew", b"#!/bin/bash\n");
    for (minor, patch) in [(12, 11), (13, 9)] {
        let keg = format!("opt/homebrew/Cellar/python@3.{minor}/3.{minor}.{patch}");
        let real = format!("Frameworks/Python.framework/Versions/3.{minor}/bin/python3.{minor}");
        mac.python(&format!("{keg}/{real}"), &format!("3.{minor}.{patch}"));
        mac.link(&format!("{keg}/bin/python3.{minor}"), &format!("../{real}"));
        let opt = format!("opt/homebrew/opt/python@3.{minor}");
        mac.link(&opt, &format!("../Cellar/python@3.{minor}/3.{minor}.{patch}"));
        mac.link(&format!("opt/homebrew/bin/python3.{minor}"), &format!("../opt/python@3.{minor}/bin/python3.{minor}"));
    }
    mac.link("opt/homebrew/opt/python@3", "python@3.13");
    mac.link("opt/homebrew/bin/python3", "python3.13");
    mac.program("usr/local/opt/python@3.11/bin/python3.11", &intel(), "exit 99");
    // pyenv.
    mac.file("Users/dev/.pyenv/bin/pyenv", b"#!/bin/bash\n");
    mac.file("Users/dev/.pyenv/shims/python3", b"#!/usr/bin/env bash\n");
    let pyenv = |version: &str, name: &str| format!("Users/dev/.pyenv/versions/{version}/bin/{name}");
    let lacking = says_with(&mac.facts("3.10.13"), |module| match module {
        "_lzma" => json!([{ "missing": module }]),
        _ => json!([{ "loading": module, "file": null }, { "loaded": module }]),
    });
    mac.program(&pyenv("3.10.13", "python3.10"), &mac.native(), &lacking);
    mac.link(&pyenv("3.10.13", "python"), "python3.10");
    mac.program(&pyenv("3.9.18", "python3.9"), &mach_o(ARM64, Signed::No), "exit 99");
    mac.program(&pyenv("2.7.18", "python2.7"), &mac.native(), "exit 99");
    mac.link(&pyenv("2.7.18", "python"), "python2.7");
    let pypy = but(mac.facts("3.10.14"), json!({ "implementation": "pypy" }));
    mac.program(&pyenv("pypy3.10-7.3.17", "python"), &mac.native(), &says(&pypy));
    mac.link("Users/dev/.pyenv/versions/work", "3.10.13/envs/work");
    mac.file("Users/dev/.pyenv/versions/3.10.13/envs/work/pyvenv.cfg", b"home = /x/bin\n");
    mac.link("Users/dev/.pyenv/versions/3.10.13/envs/work/bin/python", "../../../bin/python3.10");
    // python.org.
    let framework = "Library/Frameworks/Python.framework/Versions";
    mac.program(&format!("{framework}/3.11/bin/python3.11"), &both(), &says(&mac.facts("3.11.9")));
    mac.link(&format!("{framework}/Current"), "3.11");
    mac.link("usr/local/bin/python3", &mac.at(&format!("{framework}/3.11/bin/python3.11")).display().to_string());
    let free = but(mac.facts("3.13.9"), json!({ "free_threaded": true }));
    mac.program("Library/Frameworks/PythonT.framework/Versions/3.13/bin/python3.13t", &both(), &says(&free));
    // uv.
    let uv = "Users/dev/.local/share/uv/python";
    mac.program(&format!("{uv}/cpython-3.11.9-macos-x86_64-none/bin/python3.11"), &intel(), "exit 99");
    mac.python(&format!("{uv}/cpython-3.12.7-macos-aarch64-none/bin/python3.12"), "3.12.7");
    mac.python(&format!("{uv}/cpython-3.12.13-macos-aarch64-none/bin/python3.12"), "3.12.13");
    mac.link(&format!("{uv}/cpython-3.12-macos-aarch64-none"), "cpython-3.12.13-macos-aarch64-none");
    mac.python(&format!("{uv}/.temp/x/bin/python3.12"), "3.12.7");
    let candidate = but(mac.facts("3.15.0"), json!({ "level": "candidate", "serial": 2 }));
    mac.program(&format!("{uv}/cpython-3.15.0rc2-macos-aarch64-none/bin/python3.15"), &mac.native(), &says(&candidate));
    // conda: an Intel one, with an environment, and one for Apple Silicon.
    for base in ["miniconda3", "miniforge3"] {
        let at = |place: &str| format!("Users/dev/{base}/{place}");
        for place in ["conda-meta/history", "condabin/conda", "envs/ml/conda-meta/history", "envs/ml/condabin/conda"] {
            mac.file(&at(place), b"");
        }
        let header = if base == "miniconda3" { intel() } else { mac.native() };
        mac.program(&at("bin/python3.11"), &header, "exit 99");
        mac.program(&at("envs/ml/bin/python3.12"), &header, &says(&mac.facts("3.12.4")));
    }
    // Apple's.
    let apple =
        ["usr/bin", "Library/Developer/CommandLineTools/usr/bin", "Applications/Xcode.app/Contents/Developer/usr/bin"];
    for place in apple {
        mac.program(&format!("{place}/python3"), &both(), "exit 99");
    }
    // An environment that is active.
    mac.file("Users/dev/p/.venv/pyvenv.cfg", b"home = /x\n");
    mac.link("Users/dev/p/.venv/bin/python3", &mac.at("opt/homebrew/bin/python3.13").display().to_string());
    mac
}

const FULL_MAC: &str = "\
/opt/homebrew/opt/python@3.13/bin/python3.13 [Homebrew] is 3.13.9 (Arm64)
/opt/homebrew/opt/python@3.12/bin/python3.12 [Homebrew] is 3.12.11 (Arm64)
/usr/local/opt/python@3.11/bin/python3.11 [Homebrew] is built for x86_64, and Apple Silicon needs arm64
  -> `brew install python@3.13`
/Users/dev/.pyenv/versions/3.10.13/bin/python3.10 [Pyenv] lacks `_lzma`, needed by torchvision and pandas among others
  -> `/opt/homebrew/bin/brew install xz`, then `arch -arm64 pyenv install --force 3.10.13`
/Users/dev/.pyenv/versions/3.9.18/bin/python3.9 [Pyenv] has no code signature, and macOS kills such programs on Apple Silicon
  -> `arch -arm64 pyenv install --force 3.9.18`
/Users/dev/.pyenv/versions/2.7.18/bin/python [Pyenv] is Python 2.7, and 3.8 is the oldest that is locked for
  -> `brew install python@3.13`
/Users/dev/.pyenv/versions/pypy3.10-7.3.17/bin/python [Pyenv] is PyPy, and wheels are locked for CPython
  -> `brew install python@3.13`
/Library/Frameworks/Python.framework/Versions/3.11/bin/python3.11 [PythonOrg] is 3.11.9 (Arm64)
/Library/Frameworks/PythonT.framework/Versions/3.13/bin/python3.13t [PythonOrg] is a free-threaded build, for which few packages have wheels
  -> `brew install python@3.13`
/Users/dev/.local/share/uv/python/cpython-3.15.0rc2-macos-aarch64-none/bin/python3.15 [Uv] is a pre-release, 3.15.0rc2
  -> `brew install python@3.13`
/Users/dev/.local/share/uv/python/cpython-3.12.13-macos-aarch64-none/bin/python3.12 [Uv] is 3.12.13 (Arm64)
/Users/dev/.local/share/uv/python/cpython-3.12.7-macos-aarch64-none/bin/python3.12 [Uv] is 3.12.7 (Arm64)
/Users/dev/.local/share/uv/python/cpython-3.11.9-macos-x86_64-none/bin/python3.11 [Uv] is built for x86_64, and Apple Silicon needs arm64
  -> `uv python install --reinstall 3.11`
/Users/dev/miniforge3/envs/ml/bin/python3.12 [Conda(\"ml\")] is 3.12.4 (Arm64)
/Users/dev/miniconda3/envs/ml/bin/python3.12 [Conda(\"ml\")] is built for x86_64, and Apple Silicon needs arm64
  -> `brew install python@3.13`
/Users/dev/miniforge3/bin/python3.11 [CondaBase] is conda's base, which conda itself runs on and changes
  -> `brew install python@3.13`
/Users/dev/miniconda3/bin/python3.11 [CondaBase] is conda's base, which conda itself runs on and changes
  -> `brew install python@3.13`
/usr/bin/python3 [Apple] is Apple's stand-in for the Python of its developer tools, not one to build on
  -> `brew install python@3.13`
/Library/Developer/CommandLineTools/usr/bin/python3 [Apple] is the Python of Apple's developer tools, which their updates replace, not one to build on
  -> `brew install python@3.13`
/Applications/Xcode.app/Contents/Developer/usr/bin/python3 [Apple] is the Python of Apple's developer tools, which their updates replace, not one to build on
  -> `brew install python@3.13`";

#[test]
fn a_mac_that_has_seen_much() {
    let mac = full_mac();
    mac.check(FULL_MAC);
    // Strangers were not started: no Intel program, nothing of Apple's, no base of conda, nothing without a signature.
    let ran = [
        "/Library/Frameworks/Python.framework/Versions/3.11/bin/python3.11",
        "/Library/Frameworks/PythonT.framework/Versions/3.13/bin/python3.13t",
        "/Users/dev/.local/share/uv/python/cpython-3.12.13-macos-aarch64-none/bin/python3.12",
        "/Users/dev/.local/share/uv/python/cpython-3.12.7-macos-aarch64-none/bin/python3.12",
        "/Users/dev/.local/share/uv/python/cpython-3.15.0rc2-macos-aarch64-none/bin/python3.15",
        "/Users/dev/.pyenv/versions/3.10.13/bin/python3.10",
        "/Users/dev/.pyenv/versions/pypy3.10-7.3.17/bin/python",
        "/Users/dev/miniforge3/envs/ml/bin/python3.12",
        "/opt/homebrew/opt/python@3.12/bin/python3.12",
        "/opt/homebrew/opt/python@3.13/bin/python3.13",
    ];
    assert_eq!(mac.started(), ran);
    // The second time all is known.
    mac.check(FULL_MAC);
    assert!(mac.started().is_empty());
}
