//! Machines laid out in a folder, and what is seen of them: with the trees of the public reports, and with what must neither
//! stop nor break a look.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::path::PathBuf;

use macml::doctor::Facts;
use macml::doctor::facts;
use macml::host::Host;
use macml::pipeline::doctor::Look;
use macml::pipeline::doctor::gather;
use macml::sys::Env;

use crate::support::macho::DYLIB;
use crate::support::macho::EXECUTABLE;
use crate::support::macho::Made;
use crate::support::macho::X86_64;

/// A Mac in a folder.
struct Mac {
    folder: tempfile::TempDir,
    env: BTreeMap<String, String>,
    project: Option<PathBuf>,
    full: bool,
}

impl Mac {
    fn new() -> Self {
        let mac = Self { folder: tempfile::tempdir().unwrap(), env: BTreeMap::new(), project: None, full: false };
        fs::create_dir_all(mac.at("home")).unwrap();
        let home = mac.text("home");
        mac.with("HOME", &home)
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    fn text(&self, path: &str) -> String {
        self.at(path).to_str().unwrap().to_owned()
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    fn program(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.write(path, bytes);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn link(&self, path: &str, target: impl AsRef<Path>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    /// Makes a virtual environment of a Python.
    fn venv(&self, folder: &str, base: &str) {
        let home = self.at(base).parent().unwrap().display().to_string();
        self.write(
            &format!("{folder}/pyvenv.cfg"),
            format!("home = {home}\ninclude-system-site-packages = false\nversion = 3.12.4\n"),
        );
        self.link(&format!("{folder}/bin/python"), self.at(base));
        fs::create_dir_all(self.at(&format!("{folder}/{SITE}"))).unwrap();
    }

    /// Installs a distribution: `files` are written, `recorded` are named besides.
    fn install(&self, folder: &str, name: &str, tag: &str, files: &[(&str, &[u8])], recorded: &[&str]) {
        let info = format!("{name}.dist-info");
        let mut rows = format!("{info}/RECORD,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/INSTALLER,,\n");
        for (path, bytes) in files {
            self.write(&format!("{folder}/{SITE}/{path}"), bytes);
            rows.extend([path, ",,", &bytes.len().to_string(), "\n"]);
        }
        rows.extend(recorded.iter().map(|path| format!("{path},,\n")));
        let (plain, version) = name.split_once('-').unwrap();
        let metadata = format!(
            "Metadata-Version: 2.1\nName: {plain}\nVersion: {version}\nRequires-Dist: x>=1\n\nRequires-Dist: no\n"
        );
        for (file, text) in [
            ("RECORD", rows),
            ("METADATA", metadata),
            ("WHEEL", format!("Wheel-Version: 1.0\nTag: {tag}\n")),
            ("INSTALLER", "pip\n".to_owned()),
        ] {
            self.write(&format!("{folder}/{SITE}/{info}/{file}"), text);
        }
    }

    fn see(&self) -> Facts {
        let env = Env::from_map(self.env.clone(), self.at(""));
        let root = self.at("");
        let host: Host = serde_json::from_str(
            r#"{"cpu": "Apple M3", "macos": "15.6.1", "process": "native", "memory": 17179869184}"#,
        )
        .unwrap();
        let facts = gather(&Look {
            env: &env,
            root: &root,
            host: Some(&host),
            host_unseen: None,
            project: self.project.clone(),
            prefix: None,
            cache: None,
            config: None,
            full: self.full,
        });
        // Home is `~` in what is written; here it is one of the folders that were laid out.
        let home = format!("{}/", self.text("home"));
        let text = serde_json::to_string(&facts).unwrap();
        serde_json::from_str(&text.replace("~/", &home)).unwrap()
    }
}

const SITE: &str = "lib/python3.12/site-packages";

fn python_of(cpu: (u32, u32)) -> Vec<u8> {
    Made { cpu, kind: EXECUTABLE, install_name: None, ..Made::default() }.bytes()
}

fn native() -> Vec<u8> {
    python_of(Made::default().cpu)
}

fn library(name: &'static str) -> Vec<u8> {
    Made { kind: DYLIB, install_name: Some(name), ..Made::default() }.bytes()
}

fn only(facts: &Facts) -> &facts::Environment {
    let [one] = &facts.environments[..] else { panic!("{:?}", facts.environments) };
    one
}

fn distribution<'a>(environment: &'a facts::Environment, name: &str) -> &'a facts::Distribution {
    environment.distributions.iter().find(|one| one.name == name).unwrap()
}

fn python<'a>(facts: &'a Facts, path: &str) -> &'a facts::Python {
    facts.pythons.iter().find(|one| one.path == path).unwrap_or_else(|| panic!("{path}: {:?}", facts.pythons))
}

/// A Python of pyenv with these modules.
fn pyenv(mac: &Mac, modules: &[&str]) -> &'static str {
    mac.program("home/.pyenv/versions/3.12.4/bin/python3.12", native());
    let module = Made { kind: DYLIB, ..Made::default() }.bytes();
    for name in modules {
        mac.write(
            &format!("home/.pyenv/versions/3.12.4/lib/python3.12/lib-dynload/{name}.cpython-312-darwin.so"),
            &module,
        );
    }
    "home/.pyenv/versions/3.12.4/bin/python3.12"
}

const ALL: [&str; 6] = ["_lzma", "_bz2", "_ctypes", "_sqlite3", "_ssl", "_json"];

#[test]
fn r07_a_library_that_record_names_is_gone() {
    let mac = Mac::new();
    let base = pyenv(&mac, &ALL);
    mac.venv("p/.venv", base);
    let tag = "cp312-cp312-macosx_14_0_arm64";
    mac.install("p/.venv", "mlx-0.26.5", tag, &[("mlx/core.cpython-312-darwin.so", b"x")], &[]);
    mac.install("p/.venv", "mlx_metal-0.26.5", "py3-none-macosx_14_0_arm64", &[], &["mlx/lib/libmlx.dylib"]);
    // Another one is found first, of Homebrew.
    let brewed = Made { install_name: Some("/opt/homebrew/opt/mlx/lib/libmlx.dylib"), ..Made::default() }.bytes();
    mac.write("opt/homebrew/Cellar/mlx/0.30.0/lib/libmlx.dylib", brewed);
    mac.link("opt/homebrew/opt/mlx", "../Cellar/mlx/0.30.0");
    mac.link("opt/homebrew/lib/libmlx.dylib", "../Cellar/mlx/0.30.0/lib/libmlx.dylib");
    let env = mac.text("p/.venv");
    let facts = mac.with("VIRTUAL_ENV", &env).see();
    let found = only(&facts);
    let metal = distribution(found, "mlx-metal");
    assert_eq!(
        (metal.record.as_str(), &metal.gone[..], metal.gone_count),
        ("gone", &["mlx/lib/libmlx.dylib".to_owned()][..], 1)
    );
    let mlx = distribution(found, "mlx");
    assert_eq!((mlx.record.as_str(), mlx.native, &mlx.requires[..]), ("whole", 1, &["x>=1".to_owned()][..]));
    assert_eq!((mlx.installer.as_deref(), &mlx.tags[..]), (Some("pip"), &[tag.to_owned()][..]));
    let [brewed] = &found.libraries[..] else { panic!("{:?}", found.libraries) };
    assert_eq!(
        (brewed.kind.as_str(), brewed.package.as_ref(), brewed.version.as_deref()),
        ("mlx", None, Some("0.30.0"))
    );
    assert_eq!(brewed.install_name.as_deref(), Some("/opt/homebrew/opt/mlx/lib/libmlx.dylib"));
    assert_eq!(brewed.archs, ["arm64"]);
    let [brew] = &facts.homebrews[..] else { panic!("{:?}", facts.homebrews) };
    assert_eq!((brew.brew, &brew.formulae[..]), (false, &["mlx 0.30.0".to_owned()][..]));
    assert_eq!(facts.unseen, []);
}

#[test]
fn r09_a_pure_wheel_that_should_have_libraries() {
    let mac = Mac::new();
    let base = pyenv(&mac, &ALL);
    mac.venv("v", base);
    mac.install(
        "v",
        "coremltools-9.0",
        "py3-none-any",
        &[("coremltools/__init__.py", b"")],
        &["coremltools/__pycache__/a.pyc"],
    );
    let env = mac.text("v");
    let facts = mac.with("VIRTUAL_ENV", &env).see();
    let found = distribution(only(&facts), "coremltools");
    assert_eq!((found.native, found.record.as_str(), &found.tags[..]), (0, "whole", &["py3-none-any".to_owned()][..]));
    assert_eq!((only(&facts).kind.as_deref(), only(&facts).python_version.as_deref()), (Some("venv"), Some("3.12.4")));
}

#[test]
fn r19_a_module_is_missing_and_nobody_is_accused_of_built_in_ones() {
    let mac = Mac::new();
    let base = pyenv(&mac, &["_bz2", "_ctypes", "_sqlite3", "_ssl", "_json"]);
    mac.venv("v", base);
    // One of uv's has them inside, and another says so.
    mac.program("home/.local/share/uv/python/cpython-3.13.1-macos-aarch64-none/bin/python3.13", native());
    let lib = "home/.local/share/uv/python/cpython-3.13.1-macos-aarch64-none/lib/python3.13/lib-dynload";
    mac.write(&format!("{lib}/_ctypes.cpython-313-darwin.so"), library("x"));
    mac.program("own/bin/python3.11", native());
    mac.write("own/lib/python3.11/lib-dynload/_ssl.so", library("x"));
    let notes =
        "build_time_vars = {'MODBUILT_NAMES': 'atexit  _lzma _bz2  '\n 'posix _ctypes _sqlite3', 'X': '_ssl'}\n";
    mac.write("own/lib/python3.11/_sysconfigdata__darwin_darwin.py", notes);
    mac.write(
        "own/include/python3.11/patchlevel.h",
        "#define PY_MAJOR_VERSION 3\n#define PY_VERSION              \"3.11.9+\"\n",
    );
    let (env, path) = (mac.text("v"), mac.text("own/bin"));
    let mac = mac.with("VIRTUAL_ENV", &env).with("PATH", &path);
    let facts = mac.see();
    let built = python(&facts, &mac.text(base));
    assert_eq!((&built.missing[..], built.version.as_deref()), (&["_lzma".to_owned()][..], Some("3.12.4")));
    assert_eq!((built.origin.as_str(), &built.unsigned[..]), ("pyenv", &[][..]));
    assert_eq!(only(&facts).home, Some(mac.text("home/.pyenv/versions/3.12.4/bin")));
    assert_eq!(only(&facts).python_resolved, Some(mac.text(base)));
    let uv = facts.pythons.iter().find(|one| one.origin == "uv").unwrap();
    assert_eq!((&uv.missing[..], uv.version.as_deref()), (&[][..], Some("3.13.1")));
    let own = python(&facts, &mac.text("own/bin/python3.11"));
    assert_eq!((&own.missing[..], own.version.as_deref(), own.origin.as_str()), (&[][..], Some("3.11.9+"), "path"));
}

#[test]
fn r21_files_without_a_signature_are_named_and_changed_ones_with_full() {
    let mut mac = Mac::new();
    let folder = "home/.pyenv/versions/3.12.4";
    pyenv(&mac, &ALL);
    let bare = Made { kind: EXECUTABLE, install_name: None, signature: None, ..Made::default() }.bytes();
    mac.program(&format!("{folder}/bin/python3.12"), bare);
    mac.write(&format!("{folder}/lib/libpython3.12.dylib"), Made { signature: None, ..Made::default() }.bytes());
    // For Intel code none is needed.
    mac.program(
        "intel/bin/python3",
        Made { cpu: X86_64, kind: EXECUTABLE, signature: None, ..Made::default() }.bytes(),
    );
    let mut flipped = library("x");
    flipped[0x1001] ^= 1;
    let ssl = format!("{folder}/lib/python3.12/lib-dynload/_ssl.cpython-312-darwin.so");
    mac.write(&ssl, flipped);
    let path = mac.text("intel/bin");
    mac = mac.with("PATH", &path);
    let told = |mac: &Mac| -> Vec<(String, String)> {
        let facts = mac.see();
        let found = python(&facts, &mac.text(&format!("{folder}/bin/python3.12")));
        found.unsigned.iter().map(|one| (one.path.clone(), one.signature.clone())).collect()
    };
    let missing = |mac: &Mac, file: &str| (mac.text(&format!("{folder}/{file}")), "missing".to_owned());
    let heads = vec![missing(&mac, "bin/python3.12"), missing(&mac, "lib/libpython3.12.dylib")];
    assert_eq!(told(&mac), heads);
    assert_eq!(python(&mac.see(), &mac.text("intel/bin/python3")).unsigned, []);
    mac.full = true;
    let changed = (mac.text(&ssl), "invalid signature (code or signature have been modified)".to_owned());
    assert_eq!(told(&mac), [heads, vec![changed]].concat());
}

#[test]
fn r22_blanks_and_either_spelling_of_a_name() {
    for accent in ["\u{e9}", "e\u{301}"] {
        let mac = Mac::new();
        let base = pyenv(&mac, &ALL);
        let folder = format!("home/Library/Application Support/実験 {accent}/proj/.venv");
        mac.venv(&folder, base);
        let bin = |name: &str| format!("{folder}/bin/{name}");
        let own = mac.text(&bin("python"));
        mac.program(&bin("cut"), format!("#!{own}\nprint()\n"));
        mac.program(&bin("pip"), format!("#!/bin/sh\n'''exec' \"{own}\" \"$0\" \"$@\"\n' '''\nprint()\n"));
        mac.program(&bin("macmls"), format!("#!/bin/sh\n'exec' '{own}' \"$0\" \"$@\"\nprint()\n"));
        mac.program(&bin("gone"), "#!/nobody/has/this/python\n");
        mac.program(&bin("behind"), "#!/bin/sh\n'''exec' '/nobody/has this/python' \"$0\" \"$@\"\n");
        mac.program(&bin("long"), format!("#!/{}bin/sh\n", "./".repeat(300)));
        mac.program(&bin("plain"), "#!/bin/sh\necho\n");
        mac.write(&bin("activate"), "# sourced\n");
        let (env, path) = (mac.text(&folder), mac.text(&format!("{folder}/bin")));
        let mac = mac.with("VIRTUAL_ENV", &env).with("PATH", &path);
        let facts = mac.see();
        let found = only(&facts);
        let broken: Vec<&str> = found.broken_commands.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(broken, ["behind", "cut", "gone", "long"]);
        assert_eq!(found.broken_commands[1].line, format!("#!{own}"));
        assert_eq!((found.folder.as_str(), found.pip), (env.as_str(), true));
        let pip = facts.path[0].programs.iter().find(|one| one.name == "pip").unwrap();
        assert_eq!((pip.interpreter.as_deref(), &pip.archs[..]), (Some(own.as_str()), &[][..]));
        assert_eq!(facts.path[0].folder, path);
    }
}

#[test]
fn r23_an_install_that_was_stopped() {
    let mac = Mac::new();
    let base = pyenv(&mac, &ALL);
    mac.venv("v", base);
    for folder in ["~orch", "~orch-2.12.0.dist-info", "torch", "torch-2.13.0.dist-info"] {
        mac.write(&format!("v/{SITE}/{folder}/METADATA"), "Name: torch\nVersion: 2.13.0\n");
    }
    mac.write(&format!("v/{SITE}/old-1.0-py3.12.egg-info"), "Name: old\n");
    let env = mac.text("v");
    let facts = mac.with("VIRTUAL_ENV", &env).see();
    let found = only(&facts);
    assert_eq!(found.leftovers, ["~orch", "~orch-2.12.0.dist-info"]);
    let torch = distribution(found, "torch");
    assert_eq!((torch.version.as_str(), torch.record.as_str()), ("2.13.0", "missing"));
    assert_eq!(distribution(found, "old").record, "none");
}

#[test]
fn r28_conda_and_a_venv_at_once() {
    let mac = Mac::new();
    let base = pyenv(&mac, &ALL);
    mac.venv("p/.venv", base);
    let conda = "home/miniconda3";
    mac.program(&format!("{conda}/bin/python3.11"), python_of(X86_64));
    mac.link(&format!("{conda}/bin/python"), "python3.11");
    mac.program(&format!("{conda}/bin/pip"), format!("#!{}\n", mac.text(&format!("{conda}/bin/python"))));
    fs::create_dir_all(mac.at(&format!("{conda}/condabin"))).unwrap();
    fs::create_dir_all(mac.at(&format!("{conda}/lib/python3.11/site-packages"))).unwrap();
    let note = r#"{"name": "python", "version": "3.11.9", "paths_data": {"paths": [{"_path": "lib/libomp.dylib"}]}}"#;
    mac.write(&format!("{conda}/conda-meta/python-3.11.9-h1_0_cpython.json"), note);
    mac.write(&format!("{conda}/lib/libomp.dylib"), library("@rpath/libomp.dylib"));
    mac.write(&format!("{conda}/ssl/cacert.pem"), "x");
    // One without a pip of its own.
    mac.program(&format!("{conda}/envs/ml/bin/python3.12"), native());
    mac.link(&format!("{conda}/envs/ml/bin/python"), "python3.12");
    fs::create_dir_all(mac.at(&format!("{conda}/envs/ml/conda-meta"))).unwrap();
    let path =
        [format!("{conda}/bin"), "p/.venv/bin".to_owned(), "none".to_owned()].map(|one| mac.text(&one)).join(":");
    let (venv, prefix) = (mac.text("p/.venv"), mac.text(conda));
    let mac = mac.with("PATH", &path).with("VIRTUAL_ENV", &venv).with("CONDA_PREFIX", &prefix);
    let facts = mac.see();
    let [first, second, third] = &facts.path[..] else { panic!("{:?}", facts.path) };
    let named = |folder: &facts::PathFolder| -> Vec<String> {
        folder.programs.iter().map(|one| format!("{} {}", one.name, one.archs.join("+"))).collect()
    };
    assert_eq!(named(first), ["python x86_64", "pip ", "python3.11 x86_64"]);
    assert_eq!(first.programs[1].interpreter, Some(mac.text(&format!("{conda}/bin/python"))));
    assert_eq!((named(second), second.there, third.there), (vec!["python arm64".to_owned()], true, false));
    let [venv, conda_base] = &facts.environments[..] else { panic!("{:?}", facts.environments) };
    assert_eq!(
        (&venv.roles[..], venv.pip, &venv.archs[..]),
        (&["VIRTUAL_ENV".to_owned()][..], false, &["arm64".to_owned()][..])
    );
    assert_eq!((conda_base.kind.as_deref(), conda_base.pip), (Some("conda"), true));
    assert_eq!(
        (&conda_base.archs[..], conda_base.python_version.as_deref()),
        (&["x86_64".to_owned()][..], Some("3.11.9"))
    );
    let [omp] = &conda_base.libraries[..] else { panic!("{:?}", conda_base.libraries) };
    assert_eq!((omp.kind.as_str(), omp.package.as_deref()), ("openmp", Some("python")));
    let base = facts.pythons.iter().find(|one| one.origin == "conda-base").unwrap();
    assert_eq!(
        (base.version.as_deref(), base.certificates.as_ref().map(|one| one.there)),
        (Some("3.11.9"), Some(true))
    );
    let ml = mac.text("home/miniconda3/envs/ml");
    let facts = mac.with("CONDA_PREFIX", &ml).with("VIRTUAL_ENV", "").see();
    assert_eq!((only(&facts).pip, only(&facts).kind.as_deref()), (false, Some("conda")));
}

#[test]
fn with_full_the_libraries_of_an_environment_are_proved() {
    let mut mac = Mac::new();
    let base = pyenv(&mac, &ALL);
    mac.venv("v", base);
    let mut flipped = library("@rpath/liba.dylib");
    flipped[0x1001] ^= 1;
    mac.install("v", "a-1.0", "cp312-cp312-macosx_11_0_arm64", &[("a/liba.dylib", &flipped)], &["a/gone.py"]);
    let env = mac.text("v");
    mac = mac.with("VIRTUAL_ENV", &env);
    assert_eq!(only(&mac.see()).proof, None);
    mac.full = true;
    let facts = mac.see();
    let codes: Vec<&str> = only(&facts).proof.iter().flatten().map(|one| one.code.as_str()).collect();
    assert!(codes.contains(&"signature-broken") && codes.contains(&"not-as-recorded"), "{codes:?}");
}

#[test]
fn environments_are_told_once_with_every_role() {
    let mut mac = Mac::new();
    let base = pyenv(&mac, &ALL);
    mac.venv("p/.venv", base);
    let manifest = "[target]\nchip = \"m2\"\nmacos = \"14.0\"\ngpu = \"optional\"\npython = \">=3.12\"\nmemory = \"16GB\"\n\n\
         [frameworks]\ntorch = \"*\"\n\n[run.env]\nA = \"1\"\n";
    mac.write("p/macml.toml", manifest);
    mac.project = Some(mac.at("p"));
    mac.link("other", "p/.venv");
    let other = mac.text("other");
    let mac = mac.with("VIRTUAL_ENV", &other);
    let facts = mac.see();
    assert_eq!(only(&facts).roles, ["project default", "VIRTUAL_ENV"]);
    assert_eq!((only(&facts).folder.clone(), only(&facts).standing.as_ref()), (mac.text("p/.venv"), None));
    let project = facts.project.as_ref().unwrap();
    assert_eq!((project.lock.as_deref(), &project.mistakes[..]), (Some("missing"), &[][..]));
    let [declared] = &project.declared[..] else { panic!("{project:?}") };
    assert_eq!((declared.chip.as_deref(), declared.macos.as_deref()), (Some("m2"), Some("14.0")));
    assert_eq!((declared.gpu.as_deref(), declared.python.as_deref()), (Some("optional"), Some(">=3.12")));
    assert_eq!((declared.memory, &declared.frameworks[..]), (Some(16 << 30), &["torch".to_owned()][..]));
    assert_eq!((declared.run_env[0].name.as_str(), declared.run_env[0].value.as_str()), ("A", "1"));
    mac.write("p/macml.toml", format!("{manifest}\n[target]\n"));
    mac.write("p/macml.lock", "no lock\n");
    let facts = mac.see();
    let project = facts.project.as_ref().unwrap();
    assert!(!project.mistakes.is_empty() && project.mistakes[0].starts_with("line "), "{:?}", project.mistakes);
    assert_eq!(project.lock.as_deref(), Some("damaged"));
    fs::remove_dir_all(mac.at("p/.venv")).unwrap();
    let facts = mac.see();
    assert!(facts.environments.iter().all(|one| !one.there && one.kind.is_none()), "{:?}", facts.environments);
}

#[test]
fn env_is_looked_behind_and_what_is_no_program_is_passed_over() {
    let mac = Mac::new();
    mac.program("a/pip3", "#!/usr/bin/env python3\n");
    mac.write("a/python3", native());
    mac.program("b/python3", native());
    mac.link("b/python", "nothing");
    mac.link("b/uv", "uv");
    fs::create_dir_all(mac.at("b/conda")).unwrap();
    let path = format!("{}:{}:b", mac.text("a"), mac.text("b"));
    let mac = mac.with("PATH", &path);
    let facts = mac.see();
    let [first, second, third] = &facts.path[..] else { panic!() };
    // The first `python3` may not be run, so that a shell goes on.
    let [pip] = &first.programs[..] else { panic!("{first:?}") };
    assert_eq!(pip.interpreter, Some(mac.text("b/python3")));
    let leads: Vec<_> = second.programs.iter().map(|one| (one.name.as_str(), one.resolved.is_some())).collect();
    assert_eq!(leads, [("python", false), ("python3", true), ("uv", false)]);
    assert_eq!((third.folder.as_str(), third.programs.len()), ("b", 3));
    assert_eq!(facts.pythons.len(), 1);
}

fn pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Makes a file that seems to have a gigabyte.
fn huge(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::File::create(path).unwrap().set_len(1 << 30).unwrap();
}

#[test]
fn nothing_stops_a_look() {
    for full in [false, true] {
        let mut mac = Mac::new();
        mac.full = full;
        mac.project = Some(mac.at("p"));
        pipe(&mac.at("p/macml.toml"));
        pipe(&mac.at("p/macml.lock"));
        pipe(&mac.at("p/.macml/verified/default.json"));
        pipe(&mac.at("bin/python"));
        pipe(&mac.at("v/bin/python"));
        pipe(&mac.at("v/bin/pip"));
        pipe(&mac.at("v/pyvenv.cfg"));
        mac.link("v/bin/round", "round");
        let site = format!("v/{SITE}");
        for (name, make) in [("pipes", pipe as fn(&Path)), ("huge", huge as fn(&Path))] {
            for file in ["METADATA", "WHEEL", "INSTALLER", "direct_url.json"] {
                make(&mac.at(&format!("{site}/{name}-1.0.dist-info/{file}")));
            }
        }
        pipe(&mac.at(&format!("{site}/pipes-1.0.dist-info/RECORD")));
        huge(&mac.at(&format!("{site}/huge-1.0.dist-info/RECORD")));
        let absurd = [
            "/etc/passwd",
            "../../../../../../../../etc/shadow",
            "",
            "a\0b",
            "x/../../../../v/y",
            "./.",
            &"d/".repeat(3000),
        ];
        let rows: String = absurd.iter().map(|path| format!("\"{path}\",,\n")).collect();
        mac.write(&format!("{site}/absurd-1.0.dist-info/RECORD"), rows);
        mac.write(&format!("{site}/torn-1.0.dist-info/RECORD"), "\"never closed");
        mac.write(&format!("{site}/bytes-1.0.dist-info/RECORD"), b"\xff\xfe,,\n");
        fs::create_dir_all(mac.at(&format!("{site}/folder-1.0.dist-info/RECORD"))).unwrap();
        mac.link(&format!("{site}/round-1.0.dist-info"), "round-1.0.dist-info");
        pipe(&mac.at("opt/homebrew/lib/libomp.dylib"));
        huge(&mac.at("opt/homebrew/opt/libomp/lib/libomp.dylib"));
        mac.link("opt/homebrew/opt/python@3.13/bin/python3.13", "nowhere");
        mac.write("home/.conda/environments.txt", "/nowhere\nrelative\n");
        let closed = mac.at("closed");
        fs::create_dir_all(&closed).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        let path = format!("{}:{}:{}/x::{}", mac.text("bin"), mac.text("closed"), mac.text("closed"), "z".repeat(5000));
        let (env, library_path) = (mac.text("v"), format!("{}::relative", mac.text("closed")));
        let mac = mac.with("VIRTUAL_ENV", &env).with("PATH", &path).with("DYLD_LIBRARY_PATH", &library_path);
        let began = std::time::Instant::now();
        let facts = mac.see();
        assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
        let found = facts.environments.iter().find(|one| one.roles == ["VIRTUAL_ENV"]).unwrap();
        let record = |name: &str| distribution(found, name).record.as_str();
        assert_eq!(["pipes", "huge", "torn", "bytes", "folder"].map(record), ["unread"; 5]);
        assert_eq!((found.kind.as_ref(), found.there), (None, true));
        let unseen: Vec<&str> = facts.unseen.iter().map(|one| one.what.as_str()).collect();
        assert!(unseen.contains(&"`macml.toml`") && unseen.contains(&"`macml.lock`"), "{unseen:?}");
        assert!(serde_json::to_string(&facts).is_ok());
    }
}

#[test]
fn ten_thousand_commands_are_looked_at_in_a_moment() {
    let mac = Mac::new();
    let base = pyenv(&mac, &ALL);
    mac.venv("v", base);
    for at in 0..10_000 {
        fs::write(mac.at("v/bin").join(format!("c{at}")), "#!/nobody/python\n").unwrap();
    }
    let env = mac.text("v");
    let facts = mac.with("VIRTUAL_ENV", &env).see();
    assert_eq!(only(&facts).broken_commands.len(), 10_000);
}
