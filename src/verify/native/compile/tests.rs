//! Building with a cargo that is a script, against a torch of empty files.

use std::sync::Mutex;

use super::*;

/// A machine with a torch, a cargo and a compiler.
struct Machine {
    root: tempfile::TempDir,
    said: Said,
    limit: Duration,
}

#[derive(Default)]
struct Said(Mutex<Vec<String>>);

impl Progress for Said {
    fn note(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

/// Counts its calls, and makes a probe that tells what it was made with.
const GOOD: &str = r#"echo call >> "$HOME/calls"
echo '   Compiling libc v0.2.0' >&2
echo '   Compiling torch-sys v0.26.0' >&2
sleep 0.5
echo '   Compiling macml-probe v0.0.0' >&2
mkdir -p "$CARGO_TARGET_DIR/debug"
{ pwd; echo "$@"; env; ls "$LIBTORCH/lib"; } > "$CARGO_TARGET_DIR/debug/macml-probe"
sleep 0.3"#;

impl Machine {
    fn new(cargo: &str) -> Self {
        let machine =
            Self { root: tempfile::tempdir().unwrap(), said: Said::default(), limit: Duration::from_secs(60) };
        let libraries = [LIBRARIES.as_slice(), &["torch_cuda"]].concat();
        for name in libraries {
            machine.write(&format!("site/torch/lib/{}", library(name)), "");
        }
        machine.write("site/torch/include/torch/csrc/api/include/torch/torch.h", "");
        machine.program("bin/c++", "exit 1");
        machine.program("bin/cargo", cargo);
        machine
    }

    fn write(&self, path: &str, text: &str) {
        fs::write_atomic(&self.root.path().join(path), text.as_bytes(), Durability::Cached).unwrap();
    }

    fn program(&self, path: &str, script: &str) {
        let path = self.root.path().join(path);
        fs::create_folder(path.parent().unwrap()).unwrap();
        fs::remove_file(&path).unwrap();
        let mut file = NewFile::create(&path, Mode::PROGRAM).unwrap();
        file.write(format!("#!/bin/sh\n{script}\n").as_bytes()).unwrap();
        file.finish(None).unwrap();
    }

    fn torch(&self, version: &str) -> Torch {
        Torch { folder: self.root.path().join("site/torch"), version: version.parse().unwrap() }
    }

    fn build(&self, version: &str) -> Result<Executable, NotRun> {
        self.with(|builder| builder.build(&self.torch(version)))
    }

    fn with<T>(&self, use_it: impl FnOnce(&Builder<'_>) -> T) -> T {
        let root = self.root.path();
        let vars = [
            ("PATH", format!("{}:/usr/bin:/bin", root.join("bin").display())),
            ("HOME", root.display().to_string()),
            ("RUSTFLAGS", "-C target-cpu=native".to_owned()),
            ("https_proxy", "socks5://127.0.0.1:9".to_owned()),
        ];
        let env = Env::from_map(vars.map(|(name, value)| (name.to_owned(), value)).into(), root.to_owned());
        let cache = root.join("cache");
        use_it(&Builder { cache: &cache, env: &env, progress: &self.said, limit: self.limit })
    }

    fn calls(&self) -> usize {
        fs::read_text(&self.root.path().join("calls")).unwrap().unwrap_or_default().lines().count()
    }

    /// What lies in the cache, without the files that are locked.
    fn kept(&self) -> Vec<String> {
        let names = fs::names(&self.root.path().join("cache/probes-v1")).unwrap();
        names.into_iter().filter(|name| !name.ends_with(".turn")).collect()
    }

    fn digest(&self, version: &str) -> String {
        let torch = self.torch(version);
        tree::digest(Line::of(&torch.version).unwrap(), &torch.version).to_string()
    }
}

fn text(path: &Path) -> String {
    fs::read_text(path).unwrap().unwrap()
}

#[test]
fn a_probe_is_built_once_and_found_again() {
    let machine = Machine::new(GOOD);
    assert!(machine.with(|builder| builder.find(&machine.torch("2.13.0"))).unwrap().is_none());
    let probe = machine.build("2.13.0+cu130").unwrap();
    assert_eq!((probe.built.torch.as_str(), probe.built.tch.as_str()), ("2.13.0", "0.26"));
    assert_eq!((probe.built.size, probe.caution()), (text(&probe.path).len() as u64, None));
    assert_eq!(machine.kept(), [machine.digest("2.13.0")]);
    assert_eq!(fs::names(probe.path.parent().unwrap()).unwrap(), ["built", "macml-probe"]);
    let again = machine.build("2.13.0").unwrap();
    assert_eq!((again.path, again.built), (probe.path, probe.built));
    assert!(machine.with(|builder| builder.find(&machine.torch("2.13.0+cpu"))).unwrap().is_some());
    assert_eq!(machine.calls(), 1);
    let said = machine.said.0.lock().unwrap();
    let compiler = machine.root.path().join("bin/c++");
    let first = format!(
        "building the native probe for torch 2.13.0+cu130 with tch 0.26 and `{}`, once: this takes a few minutes",
        compiler.display()
    );
    let expected = [
        first.as_str(),
        "compiling the crates that the probe needs",
        "compiling tch 0.26 against torch 2.13, the longest part",
        "compiling and linking the probe",
    ];
    assert_eq!(said[..4], expected);
    assert!(said[4].starts_with("built the native probe in "), "{said:?}");
}

/// Flags of whatever project is at hand must not end up in what all projects share, and neither must CUDA.
#[test]
fn cargo_gets_the_tree_a_libtorch_without_cuda_and_little_else() {
    let machine = Machine::new(GOOD);
    let made_with = text(&machine.build("2.13.0").unwrap().path);
    let mut lines = made_with.lines();
    let folder = lines.next().unwrap().to_owned();
    assert!(folder.contains(&format!("/cache/probes-v1/.new-{}-", machine.digest("2.13.0"))), "{folder}");
    assert_eq!(lines.next().unwrap(), "build --locked --bin macml-probe");
    let rest: Vec<&str> = lines.collect();
    for expected in ["LIBTORCH_CXX11_ABI=1", "https_proxy=socks5://127.0.0.1:9", "CARGO_TERM_COLOR=never"] {
        assert!(rest.contains(&expected), "{expected}\n{made_with}");
    }
    assert!(!made_with.contains("RUSTFLAGS") && !made_with.contains("torch_cuda"), "{made_with}");
    for name in LIBRARIES.map(library) {
        assert!(rest.contains(&name.as_str()), "{name}\n{made_with}");
    }
    let compiler = format!("CXX={}", machine.root.path().join("bin/c++").display());
    assert!(rest.contains(&compiler.as_str()), "{made_with}");
}

#[test]
fn an_experimental_line_says_so_and_is_compiled_by_its_own_compiler() {
    let machine = Machine::new(&format!("cat c++ > \"$HOME/wrapper\"; cat mend.h > \"$HOME/header\"\n{GOOD}"));
    let probe = machine.build("2.15.0").unwrap();
    let caution = "experimental: tch 0.26 was not made for torch 2.15, and is built against it all the same";
    assert_eq!(probe.caution().as_deref(), Some(caution));
    let folder = text(&probe.path).lines().next().unwrap().to_owned();
    assert!(text(&probe.path).lines().any(|line| line == format!("CXX={folder}/c++")));
    let wrapper = text(&machine.root.path().join("wrapper"));
    assert!(wrapper.contains(&format!("-std=c++20 -include '{folder}/mend.h'")), "{wrapper}");
    assert!(text(&machine.root.path().join("header")).contains("inline Tensor cholesky("));
}

#[test]
fn two_at_once_build_one() {
    let machine = Machine::new(GOOD);
    std::thread::scope(|scope| {
        let both = [(), ()].map(|()| scope.spawn(|| machine.build("2.13.0").unwrap().path));
        let [first, second] = both.map(|one| one.join().unwrap());
        assert_eq!(first, second);
    });
    assert_eq!((machine.calls(), machine.kept().len()), (1, 1));
}

#[test]
fn what_failed_is_told_with_its_last_words_and_leaves_nothing_that_counts() {
    let script =
        "i=0; while [ $i -lt 40 ]; do echo line $i; i=$((i+1)); done; echo; echo 'error: no such header' >&2; exit 101";
    let machine = Machine::new(script);
    let error = machine.build("2.13.0").unwrap_err();
    let NotRun::Failed { log, last } = &error else { panic!("{error}") };
    assert_eq!((last.len(), last[10].as_str(), last[11].as_str()), (12, "line 39", "error: no such header"));
    assert_eq!(text(log).lines().count(), 42);
    let first = format!("building it failed; all that cargo said is in `{}`\nline 29\n", log.display());
    assert!(error.to_string().starts_with(&first), "{error}");
    assert_eq!(machine.kept(), [format!("{}.log", machine.digest("2.13.0"))]);
    assert!(machine.with(|builder| builder.find(&machine.torch("2.13.0"))).unwrap().is_none());
    machine.program("bin/cargo", GOOD);
    machine.build("2.13.0").unwrap();
    assert_eq!(machine.kept(), [machine.digest("2.13.0")]);
}

#[test]
fn what_takes_too_long_is_ended() {
    let mut machine = Machine::new("echo working; sleep 300");
    machine.limit = Duration::from_millis(400);
    let begun = Instant::now();
    let error = machine.build("2.13.0").unwrap_err();
    let NotRun::OutOfTime { log, .. } = &error else { panic!("{error}") };
    assert_eq!(text(log), "working\n");
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert_eq!(machine.kept(), [format!("{}.log", machine.digest("2.13.0"))]);
}

/// The outer shell stands for macml: it starts the script as macml does, and is gone before cargo is through.
#[test]
fn cargo_ends_when_macml_is_gone() {
    let machine = Machine::new("echo $$ > \"$HOME/id\"; exec sleep 300");
    let root = machine.root.path();
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let outer = r#"sh -c "$1" sh "$2" "$3" "$4" & until [ -s "$HOME/id" ]; do sleep 0.1; done"#;
    let args = [outer.to_owned(), "sh".to_owned(), SCRIPT.to_owned(), text(root.to_owned()), text(root.join("log"))];
    let words = ["-c".to_owned()].into_iter().chain(args).chain([text(root.join("bin/cargo"))]);
    let env = [("PATH", "/usr/bin:/bin".to_owned()), ("HOME", text(root.to_owned()))];
    let env: BTreeMap<String, String> = env.map(|(name, value)| (name.to_owned(), value)).into();
    let sh = |args: Vec<OsString>| Program { path: "/bin/sh".into(), args, env: env.clone(), limit: machine.limit };
    assert_eq!(process::run(&sh(words.map(OsString::from).collect())).unwrap().end, End::Code(0));
    let id = fs::read_text(&root.join("id")).unwrap().unwrap();
    // One that is dead and was not waited for still has a number.
    let lives = format!("kill -0 {0} && ! ps -o stat= -p {0} | grep -q Z", id.trim());
    let deadline = Instant::now() + Duration::from_secs(30);
    while process::run(&sh(vec!["-c".into(), lives.clone().into()])).unwrap().end == End::Code(0) {
        assert!(Instant::now() < deadline, "it lives");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn what_a_killed_build_left_does_not_count_and_goes() {
    let machine = Machine::new(GOOD);
    let [own, other] = ["2.13.0", "2.11.0"].map(|version| machine.digest(version));
    machine.write(&format!("cache/probes-v1/.new-{own}-abc/target/debug/macml-probe"), "half");
    machine.write(&format!("cache/probes-v1/.new-{other}-abc/Cargo.toml"), "of another one, who may be at work");
    machine.write(&format!("cache/probes-v1/{own}/macml-probe"), "without a word about it");
    machine.build("2.13.0").unwrap();
    assert_eq!((machine.calls(), machine.kept()), (1, vec![format!(".new-{other}-abc"), own]));
}

#[test]
fn a_probe_that_lost_bytes_is_built_again() {
    let machine = Machine::new(GOOD);
    let probe = machine.build("2.13.0").unwrap();
    fs::write_atomic(&probe.path, b"short", Durability::Cached).unwrap();
    let again = machine.build("2.13.0").unwrap();
    assert_eq!((machine.calls(), text(&again.path).len() as u64), (2, again.built.size));
    fs::write_atomic(&again.path.with_file_name("built"), b"{", Durability::Cached).unwrap();
    machine.build("2.13.0").unwrap();
    assert_eq!(machine.calls(), 3);
}

#[test]
fn without_a_line_a_tool_or_a_whole_torch_nothing_is_begun() {
    let machine = Machine::new(GOOD);
    let reason = |version| machine.build(version).unwrap_err().to_string();
    assert_eq!(reason("2.14.0"), "there is no tch for torch 2.14");
    let header = machine.root.path().join("site/torch/include/torch/csrc/api/include/torch/torch.h");
    fs::remove_file(&header).unwrap();
    assert_eq!(reason("2.13.0"), format!("torch is not whole: there is no `{}`", header.display()));
    let library = machine.root.path().join("site/torch/lib").join(library("c10"));
    fs::remove_file(&library).unwrap();
    assert_eq!(reason("2.13.0"), format!("torch is not whole: there is no `{}`", library.display()));
    assert_eq!((machine.calls(), machine.kept().len()), (0, 0));
}

#[test]
fn it_runs_with_the_libraries_of_the_environment_that_is_asked_about() {
    let machine = Machine::new(GOOD);
    let probe = machine.build("2.13.0").unwrap();
    let other = Torch { folder: "/elsewhere/site-packages/torch".into(), version: "2.13.0".parse().unwrap() };
    let env = BTreeMap::from([("HOME".to_owned(), "/h".to_owned()), (LIBRARY_PATH.to_owned(), "/old".to_owned())]);
    let asking = probe.probe(&other, env);
    assert_eq!(asking.env[LIBRARY_PATH], "/elsewhere/site-packages/torch/lib");
    assert_eq!((asking.env["HOME"].as_str(), asking.program), ("/h", probe.path));
}
