//! Small made locks, and what is shown of their reading.

use std::path::Path;
use std::path::PathBuf;

use macml::diag::Severity;
use macml::index::builtin;
use macml::lock::foreign::Choice;
use macml::pep::Sha256;
use macml::pipeline::check::Declared;
use macml::pipeline::check::Mac;
use macml::pipeline::check::Set;
use macml::pipeline::check::foreign;
use macml::pipeline::check::foreign::Error;
use macml::pipeline::check::foreign::Foreign;
use macml::target::Gpu;
use tempfile::TempDir;

/// A folder with files in it.
pub(super) struct Project {
    folder: TempDir,
    pub(super) declared: Declared,
    pub(super) choice: Choice,
    pub(super) asked: Vec<Mac>,
}

impl Project {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, addresses(text)).unwrap();
        }
        let declared = Declared {
            macos: Some("14.0".parse().unwrap()),
            chip: "m1".parse().unwrap(),
            gpu: Gpu::Optional,
            python: Some("3.12".parse().unwrap()),
        };
        Self { folder, declared, choice: Choice::default(), asked: Vec::new() }
    }

    /// A project with one `uv.lock` of these packages.
    pub(super) fn uv(packages: &[String]) -> Self {
        Self::new(&[("uv.lock", &uv_lock(">=3.11", &packages.concat()))])
    }

    pub(super) fn python(mut self, python: Option<&str>) -> Self {
        self.declared.python = python.map(|text| text.parse().unwrap());
        self
    }

    pub(super) fn macos(mut self, macos: &str) -> Self {
        self.declared.macos = Some(macos.parse().unwrap());
        self
    }

    pub(super) fn asking(mut self, macs: &[&str]) -> Self {
        self.asked = macs.iter().map(|mac| mac.parse().unwrap()).collect();
        self
    }

    pub(super) fn choosing(mut self, choice: Choice) -> Self {
        self.choice = choice;
        self
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn try_read(&self, name: &str) -> Result<Foreign, Error> {
        foreign::read(&self.path(name), &self.declared, &self.choice, &self.asked, None)
    }

    pub(super) fn read(&self, name: &str) -> Foreign {
        self.try_read(name).unwrap()
    }

    /// Returns a text without the folder's path.
    pub(super) fn bare(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.folder.path().display()), "")
    }
}

/// Writes the address of an index of macml's as other tools do.
pub(super) fn index(name: &str) -> String {
    builtin::index(name).unwrap().as_str().trim_end_matches('/').to_owned()
}

/// Fills in where the default index is.
fn addresses(text: &str) -> String {
    text.replace("{INDEX}", &index("pypi"))
}

/// A `uv.lock` of the project `demo` at its root, which is among `packages`.
pub(super) fn uv_lock(requires: &str, packages: &str) -> String {
    format!("version = 1\nrevision = 3\nrequires-python = \"{requires}\"\n\n{packages}")
}

/// The project, which depends on these.
pub(super) fn demo(dependencies: &[&str]) -> String {
    let dependencies: Vec<String> = dependencies
        .iter()
        .map(|one| if one.starts_with('{') { (*one).to_owned() } else { format!("{{ name = \"{one}\" }}") })
        .collect();
    let dependencies = dependencies.join(", ");
    format!(
        "[[package]]\nname = \"demo\"\nversion = \"0.1.0\"\nsource = {{ virtual = \".\" }}\ndependencies = [{dependencies}]\n\n"
    )
}

/// A release of the default index with wheels of these tags.
pub(super) fn package(name: &str, version: &str, tags: &[&str]) -> String {
    package_of("{ registry = \"{INDEX}\" }", name, version, tags, "")
}

/// A release of `source`; `more` stands at its end.
pub(super) fn package_of(source: &str, name: &str, version: &str, tags: &[&str], more: &str) -> String {
    let wheels: String = tags
        .iter()
        .map(|tags| {
            let file = file(name, version, tags);
            let sha256 = Sha256::of(file.as_bytes());
            format!("    {{ url = \"https://files.example/a/{file}\", hash = \"sha256:{sha256}\", size = 7 }},\n")
        })
        .collect();
    let wheels = if tags.is_empty() { String::new() } else { format!("wheels = [\n{wheels}]\n") };
    format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = {source}\n{wheels}{more}\n")
}

pub(super) const SDIST: &str = "sdist = { url = \"https://files.example/a/source.tar.gz\", hash = \"sha256:1111111111111111111111111111111111111111111111111111111111111111\" }\n";

/// The name of a wheel, as `support::universe` makes it too, whose digest is that of its name.
pub(super) fn file(name: &str, version: &str, tags: &str) -> String {
    format!("{}-{version}-{tags}.whl", name.replace('-', "_"))
}

pub(super) fn digest(name: &str, version: &str, tags: &str) -> String {
    Sha256::of(file(name, version, tags).as_bytes()).to_string()
}

/// One line for each release: name, version, file, size, place.
pub(super) fn shown(set: &Set) -> Vec<String> {
    let line = |release: &macml::pipeline::check::Release| {
        let file = release.file.as_ref().map_or("no file".to_owned(), |file| {
            let size = file.size.map_or("?".to_owned(), |size| size.to_string());
            let place = match &file.place {
                macml::index::download::Place::Index(name) => format!("index {name}"),
                macml::index::download::Place::Address(url) => url.to_string(),
                macml::index::download::Place::Path(path) => {
                    let name = path.file_name().unwrap().to_string_lossy().into_owned();
                    let parent = path.parent().and_then(Path::file_name).unwrap().to_string_lossy().into_owned();
                    format!("path {parent}/{name}")
                }
            };
            format!("{} {size} {place}", file.wheel)
        });
        format!("{} {}: {file}", release.name, release.version)
    };
    set.releases.iter().map(line).collect()
}

/// One line for each finding: how bad, its code, what, and the text that it points at.
pub(super) fn told(foreign: &Foreign) -> Vec<String> {
    let line = |told: &macml::pipeline::check::Told| {
        let severity = match told.finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let label =
            told.finding.labels.first().map_or(String::new(), |label| {
                format!(" <- {}", &foreign.source.text[label.span.start..label.span.end])
            });
        let notes: String = told.finding.notes.iter().map(|note| format!(" ({note})")).collect();
        format!("{severity}[{}]: {}{notes}{label}", told.finding.code, told.finding.message)
    };
    foreign.part.told.iter().map(line).collect()
}
