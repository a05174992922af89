//! `Laid`: a whole machine laid out in a folder: real headers, and behind each a script that stands in for what it would
//! do.
//!
//! `Machine::starter` names a script which runs the text after a program's header, so that a Mac's Pythons can be started
//! anywhere; it writes down which were started.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::header::made::{ARM64, Signed, elf, mach_o};
use super::super::{Arch, Error, Machine, Search, Seen, System, Wanted};
use crate::pep::Specifiers;
use crate::sys::Env;

/// A machine in a folder.
pub(super) struct Laid {
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
    pub(super) fn new(system: System) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // On a Mac the folder for such things lies behind a link.
        let root = folder.path().canonicalize().unwrap();
        let laid = Self { root, system, vars: Vec::new(), folder };
        laid.file("start", STARTER.as_bytes());
        laid.file("start.ran", b"");
        laid.with("HOME", "Users/dev")
    }

    pub(super) fn mac() -> Self {
        Self::new(System::Mac)
    }

    pub(super) fn linux() -> Self {
        Self::new(System::Linux).with("PATH", "usr/bin")
    }

    /// Sets a variable to places of the machine.
    pub(super) fn with(mut self, name: &str, places: &str) -> Self {
        let places: Vec<String> = places.split(':').map(|place| self.root.join(place).display().to_string()).collect();
        self.vars.retain(|(known, _)| known != name);
        self.vars.push((name.to_owned(), places.join(":")));
        self
    }

    pub(super) fn at(&self, place: &str) -> PathBuf {
        self.root.join(place)
    }

    /// Writes a file that may be run.
    pub(super) fn file(&self, place: &str, bytes: &[u8]) {
        let path = self.at(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }

    pub(super) fn link(&self, place: &str, to: &str) {
        let path = self.at(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(to, path).unwrap();
    }

    /// Puts a program at a place: a header and what it does.
    pub(super) fn program(&self, place: &str, header: &[u8], does: &str) {
        self.file(place, &[header, b"\n#THEN\n", does.as_bytes()].concat());
    }

    /// Puts a healthy Python of the machine's own architecture at a place.
    pub(super) fn python(&self, place: &str, version: &str) {
        self.program(place, &self.native(), &says(&self.facts(version)));
    }

    pub(super) fn native(&self) -> Vec<u8> {
        if self.system == System::Mac { mach_o(ARM64, Signed::Yes) } else { elf(62) }
    }

    /// What a healthy Python says it is.
    pub(super) fn facts(&self, version: &str) -> Value {
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

    pub(super) fn machine(&self) -> Machine {
        let env = Env::from_map(self.vars.iter().cloned().collect(), self.root.clone());
        let arch = if self.system == System::Mac { Arch::Arm64 } else { Arch::X86_64 };
        let starter = vec![self.at("start").into()];
        Machine { starter, ..Machine::of(&env, self.system, arch, &self.root) }
    }

    pub(super) fn search(&self) -> Search {
        Search {
            machine: self.machine(),
            cache: Some(self.folder.path().join("cache")),
            limit: Duration::from_secs(60),
            named: None,
        }
    }

    /// Returns the places of what was started since the last call.
    pub(super) fn started(&self) -> Vec<String> {
        let log = self.at("start.ran");
        let text = std::fs::read_to_string(&log).unwrap();
        std::fs::write(&log, "").unwrap();
        let mut places: Vec<String> = text.lines().map(|line| self.shown(line)).collect();
        places.sort();
        places
    }

    /// Makes a text the same on every machine.
    pub(super) fn shown(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.root.display()), "/")
    }

    /// Lays out what was seen: place, origin, verdict, remedy.
    pub(super) fn report(&self, seen: &[Seen]) -> String {
        let mut text = String::new();
        for one in seen {
            let path = one.candidate.path.display();
            match &one.verdict {
                Ok(found) => writeln!(text, "{path} [{:?}] is {} ({:?})", found.origin, found.version, found.arch),
                Err(refusal) => {
                    let remedy = one.remedy(&self.machine());
                    writeln!(text, "{path} [{:?}] {refusal}\n  -> {}", one.candidate.origin, remedy.unwrap_or_default())
                }
            }
            .unwrap();
        }
        self.shown(&text)
    }

    pub(super) fn check(&self, expected: &str) {
        assert_eq!(self.report(&self.search().all()).trim(), expected.trim());
    }

    /// Looks at one path as `--python` does.
    pub(super) fn check_named(&self, place: &str, expected: &str) {
        let search = Search { named: Some(self.at(place)), ..self.search() };
        assert_eq!(self.report(&search.all()).trim(), expected.trim());
    }

    pub(super) fn wanted(&self, minor: Option<(u64, u64)>, within: &str) -> Wanted {
        let Machine { system, arch, .. } = self.machine();
        let within: Specifiers = within.parse().unwrap();
        Wanted { system, arch, minor, within, suggested: minor.unwrap_or((3, 13)) }
    }

    pub(super) fn chosen(&self, minor: (u64, u64), within: &str) -> String {
        match self.search().choose(&self.wanted(Some(minor), within)) {
            Ok(interpreter) => self.shown(&interpreter.path.display().to_string()),
            Err(error) => panic!("{}", self.told(&error)),
        }
    }

    pub(super) fn told(&self, error: &Error) -> String {
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

pub(super) const MODULES: [&str; 5] = ["_lzma", "_bz2", "_ssl", "_ctypes", "_sqlite3"];

/// A program that answers as a healthy Python does.
pub(super) fn says(facts: &Value) -> String {
    says_with(facts, |module| json!([{ "loading": module, "file": null }, { "loaded": module }]))
}

/// A program that answers so, with lines of its own for each module.
pub(super) fn says_with(facts: &Value, lines: impl Fn(&str) -> Value) -> String {
    let modules = MODULES.map(|module| lines(module).as_array().unwrap().clone()).concat();
    let lines = [vec![facts.clone()], modules, vec![json!({ "end": true })]].concat();
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    format!("cat <<'END'\n{}\nEND\n", lines.join("\n"))
}

/// Changes some of the facts.
pub(super) fn but(mut facts: Value, changes: Value) -> Value {
    facts.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    facts
}

impl Laid {
    pub(super) fn entry(&self) -> PathBuf {
        let mut entries = std::fs::read_dir(self.folder.path().join("cache/python-v1")).unwrap();
        let entry = entries.next().unwrap().unwrap().path();
        assert!(entries.next().is_none());
        entry
    }

    /// Says that the Python is started again, once, and answers as before.
    #[track_caller]
    pub(super) fn is_asked_again(&self) {
        self.check("/usr/bin/python3.12 [Path] is 3.12.4 (X86_64)");
        assert_eq!(self.started().len(), 1);
        self.check("/usr/bin/python3.12 [Path] is 3.12.4 (X86_64)");
        assert_eq!(self.started().len(), 0);
    }
}
