//! Asking: one request put to macml or to uv, on the real index, and what came back.
//!
//! uv is asked with `uv pip compile` for arm64 Macs, the floor in `MACOSX_DEPLOYMENT_TARGET`, which uv takes for the
//! platform's wheel tags. It knows no range of Pythons, so it is asked for the newest of the range first, as that is what
//! a person has, and then for older ones until there is an answer.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use macml::host::Chip;
use macml::pep::{PackageName, Version, WheelName};
use macml::target::{Floor, Platform, PythonMinor, Target};
use serde_json::Value;

use crate::record;
use crate::requests::Request;

/// Who is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tool {
    /// `uv pip compile --only-binary :all:`, since macml takes wheels only.
    Uv,
    /// `uv pip compile` as it comes, which may take a source archive.
    UvSources,
    /// `macml lock`.
    Macml,
}

impl Tool {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Uv => "uv",
            Self::UvSources => "uv, source archives allowed",
            Self::Macml => "macml",
        }
    }
}

/// What came back.
pub(crate) enum Answer {
    /// A set, and the Python that it is for.
    Set {
        /// `3.13`
        python: PythonMinor,
        packages: Vec<Package>,
        /// What was said besides.
        notes: Vec<String>,
    },
    /// Nothing satisfies the request; what was said.
    Nothing(String),
}

impl Answer {
    /// Returns the packages, where there are some.
    pub(crate) fn set(&self) -> Option<&[Package]> {
        match self {
            Self::Set { packages, .. } => Some(packages),
            Self::Nothing(_) => None,
        }
    }

    /// Returns whether something was said of a package besides.
    pub(crate) fn warns_of(&self, name: &PackageName) -> bool {
        match self {
            Self::Set { notes, .. } => notes.iter().any(|note| note.contains(&format!("`{name}`"))),
            Self::Nothing(_) => false,
        }
    }
}

/// What a tool chose, before the index is asked what there is of it.
struct Chosen {
    python: PythonMinor,
    pins: Vec<(PackageName, Version)>,
    notes: Vec<String>,
}

/// A package of an answer.
pub(crate) struct Package {
    pub(crate) name: PackageName,
    pub(crate) version: Version,
    /// What would be installed.
    pub(crate) origin: Origin,
}

/// What would be installed of a release.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Origin {
    /// A wheel that fits the floor and the Python.
    Wheel,
    /// Its source archive, since no wheel fits.
    Source,
    /// Nothing: neither is there.
    Nowhere,
}

/// Asks.
pub(crate) struct Asker {
    macml: PathBuf,
    uv: PathBuf,
    work: PathBuf,
    /// Files of packages, by name.
    pages: HashMap<PackageName, Vec<Value>>,
}

impl Asker {
    /// Works in `work`, where caches are kept from one run to the next; what is fresh is for the index to say.
    pub(crate) fn new(macml: PathBuf, uv: PathBuf, work: PathBuf) -> Self {
        std::fs::create_dir_all(&work).unwrap();
        Self { macml, uv, work, pages: HashMap::new() }
    }

    /// Says which releases are asked.
    pub(crate) fn describe(&self) -> String {
        let version = |tool: &Path| crate::uv::output(Command::new(tool).arg("--version")).trim().to_owned();
        // uv names the machine that it was built for too.
        let uv = version(&self.uv);
        format!("{}, {}", version(&self.macml), uv.split(" (").next().unwrap_or(&uv))
    }

    /// Puts a request to a tool.
    pub(crate) fn ask(&mut self, tool: Tool, request: &Request) -> Answer {
        let chosen = match tool {
            Tool::Macml => self.macml(request),
            Tool::Uv | Tool::UvSources => self.uv(tool, request),
        };
        let Chosen { python, pins, notes } = match chosen {
            Ok(chosen) => chosen,
            Err(said) => return Answer::Nothing(said),
        };
        let target = Target {
            platform: Platform::MacosArm64,
            floor: Floor::Mac { macos: request.macos, chip: "m1".parse::<Chip>().expect("a chip") },
            python,
        };
        let packages = pins.into_iter().map(|(name, version)| {
            let origin = self.origin(&target, &name, &version);
            Package { name, version, origin }
        });
        Answer::Set { python, packages: packages.collect(), notes }
    }

    fn macml(&self, request: &Request) -> Result<Chosen, String> {
        let folder = self.work.join(&request.id);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("macml.toml"), request.manifest()).unwrap();
        let mut command = Command::new(&self.macml);
        command.arg("-C").arg(&folder).args(["lock", "--dry-run", "--output-format", "json"]);
        command.env("MACML_CACHE_DIR", self.work.join("macml-cache")).env("MACML_NO_CONFIG", "1");
        let output = run(&mut command);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.code() {
            Some(0) => {}
            Some(1) => return Err(said),
            _ => panic!("`{}`: macml could not tell: {said}", request.id),
        }
        let report: Value = serde_json::from_slice(&output.stdout).expect("macml reports in JSON");
        let environment = &report["environments"][0];
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let pins = environment["packages"].as_array().expect("packages").iter();
        let pins = pins.map(|package| pin(&text(&package["name"]), &text(&package["version"]))).collect();
        let notes = environment["findings"].as_array().expect("findings").iter();
        let notes = notes.map(|finding| text(&finding["message"])).collect();
        Ok(Chosen { python: text(&environment["python"]).parse().expect("a Python"), pins, notes })
    }

    fn uv(&self, tool: Tool, request: &Request) -> Result<Chosen, String> {
        let lines = self.work.join(format!("{}.in", request.id));
        std::fs::write(&lines, request.lines.join("\n") + "\n").unwrap();
        let mut first = None;
        for python in request.pythons() {
            let mut command = Command::new(&self.uv);
            command.args(["pip", "compile", "--quiet", "--no-header", "--no-annotate", "--no-config"]);
            command.args(["--python-platform", "aarch64-apple-darwin", "--python-version", &python]);
            if tool == Tool::Uv {
                command.args(["--only-binary", ":all:"]);
            }
            command.arg(&lines).env("UV_CACHE_DIR", self.work.join("uv-cache"));
            command.env("MACOSX_DEPLOYMENT_TARGET", request.macos.to_string());
            let output = run(&mut command);
            if output.status.success() {
                let text = String::from_utf8(output.stdout).expect("uv prints UTF-8");
                let pins = text.lines().filter_map(|line| line.split(" ;").next()?.trim().split_once("=="));
                let pins = pins.map(|(name, version)| pin(name, version)).collect();
                let python = python.rsplit_once('.').expect("a patch release").0.parse().expect("a Python");
                return Ok(Chosen { python, pins, notes: Vec::new() });
            }
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let refused = ["No solution found", "Failed to build", "no wheels with a matching"];
            assert!(refused.iter().any(|text| said.contains(text)), "`{}`: uv could not tell: {said}", request.id);
            first.get_or_insert(said);
        }
        Err(first.expect("a request has some Python"))
    }

    /// Says what would be installed of a release, by the files that the index has.
    fn origin(&mut self, target: &Target, name: &PackageName, version: &Version) -> Origin {
        let files = self.pages.entry(name.clone()).or_insert_with(|| {
            let page = record::fetch(&record::Question::Page(name.to_string()));
            let page = page.unwrap_or_else(|| panic!("the index does not have `{name}`"));
            let mut page: Value = serde_json::from_slice(&page).expect("the index answers in JSON");
            match page["files"].take() {
                Value::Array(files) => files,
                _ => panic!("a page lists files"),
            }
        });
        let tags = target.tags();
        let names = || files.iter().filter_map(|file| file["filename"].as_str());
        let mut wheels = names().filter_map(|file| file.parse::<WheelName>().ok());
        if wheels.any(|wheel| wheel.version == *version && tags.rank(&wheel).is_some()) {
            return Origin::Wheel;
        }
        let archive = |file: &str| {
            let stem = file.strip_suffix(".tar.gz").or_else(|| file.strip_suffix(".zip"));
            stem.and_then(|stem| stem.rsplit_once('-')?.1.parse::<Version>().ok()).is_some_and(|one| one == *version)
        };
        if names().any(archive) { Origin::Source } else { Origin::Nowhere }
    }
}

fn pin(name: &str, version: &str) -> (PackageName, Version) {
    (name.parse().expect("a package's name"), version.parse().expect("a version"))
}

/// Runs a tool in the same small environment, whichever it is.
fn run(command: &mut Command) -> Output {
    let kept = |name: &str| {
        let name = name.to_ascii_lowercase();
        ["path", "home", "tmpdir", "lang", "ssl_cert_file"].contains(&name.as_str()) || name.ends_with("_proxy")
    };
    let own: Vec<_> = command.get_envs().map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
    command.env_clear().envs(std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(kept)));
    command.envs(own.into_iter().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}
