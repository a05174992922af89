//! `Project`: a folder with a macml.toml, and the binary run in it as a person would.

use std::path::Path;
use std::process::Command;
use std::process::Stdio;

use super::server::FakeIndex;

/// A folder with a macml.toml, and a macml that sees nothing of the machine but that.
pub(crate) struct Project {
    folder: tempfile::TempDir,
    mirrors: Option<String>,
}

/// How one run ended.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Project {
    pub(crate) fn new(manifest: &str) -> Self {
        let project = Self::empty();
        project.write("macml.toml", manifest);
        project
    }

    pub(crate) fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), mirrors: None }
    }

    /// Makes one for Macs from macOS `macos` up that reaches `index` in the place of PyPI, and nothing else; `rest` follows
    /// the `[target]`.
    pub(crate) fn asking(index: &FakeIndex, macos: &str, python: &str, rest: &str) -> Self {
        let head = format!("[target]\nchip = \"m1\"\nmacos = \"{macos}\"\ngpu = \"optional\"\npython = \"{python}\"\n");
        let mut project = Self::new(&(head + rest));
        project.mirrors = Some(index.url().to_string());
        project
    }

    /// Puts another index before those that are reached.
    pub(crate) fn through(mut self, mirror: &FakeIndex) -> Self {
        let others = self.mirrors.take().expect("a project that asks an index");
        self.mirrors = Some(format!("{},{others}", mirror.url()));
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Reads macml.lock, if there is one.
    pub(crate) fn lock(&self) -> Option<String> {
        std::fs::read_to_string(self.path().join("macml.lock")).ok()
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_macml"));
        // HOME ends the search for macml.toml, so that nothing above the folder counts.
        command.args(words).current_dir(self.path()).env_clear().env("HOME", self.path()).stdin(Stdio::null());
        if let Some(mirrors) = &self.mirrors {
            command.env("MACML_MIRROR", mirrors).env("MACML_MIRROR_ONLY", "1");
        }
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Run {
        self.run_with(&[], words)
    }

    pub(crate) fn run_with(&self, vars: &[(&str, &str)], words: &[&str]) -> Run {
        let output = self.command(words).envs(vars.iter().copied()).output().unwrap();
        // Temporary folders have other names each time, and on a Mac a link above them.
        let own = self.path().display().to_string();
        let real = self.path().canonicalize().unwrap().display().to_string();
        let text =
            |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap().replace(&real, "[HERE]").replace(&own, "[HERE]");
        Run { code: output.status.code().unwrap(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }
}

impl Run {
    /// Says that it failed with nothing on stdout and this on stderr.
    pub(crate) fn fails(&self, code: i32, stderr: &str) {
        assert_eq!((self.code, self.stdout.as_str(), self.stderr.trim_end()), (code, "", stderr.trim()));
    }

    /// Says that it ended with this code, and that what it printed has each of these parts, wherever it was printed.
    pub(crate) fn says(&self, code: i32, parts: &[&str]) {
        let all = format!("{}{}", self.stdout, self.stderr);
        assert_eq!(self.code, code, "{all}");
        for part in parts {
            assert!(all.contains(part), "`{part}` is not in\n{all}");
        }
    }

    /// Says that nothing printed has any of these parts.
    pub(crate) fn never_says(&self, parts: &[&str]) {
        let all = format!("{}{}", self.stdout, self.stderr);
        for part in parts {
            assert!(!all.contains(part), "`{part}` is in\n{all}");
        }
    }

    /// Reads the report of `macml lock`.
    pub(crate) fn json(&self) -> serde_json::Value {
        self.json_as("report.schema.json")
    }

    /// Reads the report on stdout, which must be as a schema of schema/ says.
    pub(crate) fn json_as(&self, schema: &str) -> serde_json::Value {
        let json = serde_json::from_str(&self.stdout).unwrap();
        valid_report(&json, schema);
        json
    }
}

fn valid_report(report: &serde_json::Value, schema: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema").join(schema);
    let schema: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("report.json", schema).unwrap();
    let mut schemas = boon::Schemas::new();
    let index = compiler.compile("report.json", &mut schemas).unwrap();
    schemas.validate(report, index).map_err(|error| format!("{error:#}")).unwrap();
}
