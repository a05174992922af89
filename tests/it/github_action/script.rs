//! run.sh: arguments as typed, exit codes, folders, and where macml comes from.

use macml::cache::FACTS;

use super::Runner;
use crate::support::program::program;

#[test]
fn arguments_arrive_as_typed_and_nothing_is_expanded() {
    let runner = Runner::new().with_macml();
    std::fs::write(runner.path("work/file"), "").unwrap();
    let check = |typed: &str, expected: &[&str]| {
        let step = runner.step("check", &[("INPUT_ARGS", typed)]);
        assert_eq!(step.code, Some(0), "{typed:?}: {step:?}");
        let seen = runner.seen().unwrap();
        assert_eq!(seen[..3], ["check", "--output-format", "github"], "{typed:?}");
        assert_eq!(seen[3..], *expected, "{typed:?}");
    };
    check("", &[]);
    check("--wheels", &["--wheels"]);
    check(" --lock\tuv.lock \n --macos 14.0\r\n", &["--lock", "uv.lock", "--macos", "14.0"]);
    check("--lock 'my lock'", &["--lock", "my lock"]);
    check("--lock=\"my lock\"", &["--lock=my lock"]);
    check("--lock my\\ lock", &["--lock", "my lock"]);
    check("'' \"\"", &["", ""]);
    check("a'b c'd", &["ab cd"]);
    check(r#"'a"b\' "c'd\"e\\f\n""#, &["a\"b\\", "c'd\"e\\f\\n"]);
    check("* ~ $HOME ${HOME} {a,b} !! #c", &["*", "~", "$HOME", "${HOME}", "{a,b}", "!!", "#c"]);
    check("$(touch owned) `touch owned`", &["$(touch", "owned)", "`touch", "owned`"]);
    check("; touch owned && x | y > z", &[";", "touch", "owned", "&&", "x", "|", "y", ">", "z"]);
    check("--env 実験", &["--env", "実験"]);
    check("-n -e %s%n \\\\n", &["-n", "-e", "%s%n", "\\n"]);
    assert_eq!(std::fs::read_dir(runner.path("work")).unwrap().count(), 1, "something was run");
}

#[test]
fn arguments_that_are_not_closed_are_a_mistake() {
    let runner = Runner::new().with_macml();
    for (typed, expected) in [
        ("--lock 'uv.lock", "`args` has a ' that is not closed: --lock 'uv.lock"),
        ("\"a", "`args` has a \" that is not closed"),
        ("a\\", "`args` ends with a backslash"),
        ("50%\n'", "not closed: 50%25%0A'"),
    ] {
        for verb in ["facts", "check"] {
            runner.step(verb, &[("INPUT_ARGS", typed)]).failed_with(expected);
            assert_eq!(runner.seen(), None);
        }
    }
}

#[test]
fn the_exit_code_passes_through_and_is_an_output() {
    let runner = Runner::new().with_macml();
    for (code, verdict) in [("0", "yes"), ("1", "no"), ("2", "unknown"), ("101", "unknown"), ("143", "unknown")] {
        let step = runner.step("check", &[("FAKE_CODE", code)]);
        assert_eq!(step.code, Some(code.parse().unwrap()), "{step:?}");
        assert_eq!((step.output("exit-code"), step.output("verdict")), (code, verdict));
        assert_eq!(step.stdout, "::error file=macml.toml::told\n");
        assert_eq!(step.stderr, "");
    }
}

#[test]
fn the_check_runs_in_the_working_directory() {
    let runner = Runner::new().with_macml();
    let elsewhere = runner.text("temp");
    for (given, folder) in [
        ("", "work"),
        (".", "work"),
        ("a project", "work/a project"),
        ("-", "work/-"),
        ("--help", "work/--help"),
        ("$(touch owned)", "work/$(touch owned)"),
        (&elsewhere, "temp"),
    ] {
        std::fs::create_dir_all(runner.path(folder)).unwrap();
        // `CDPATH` would lead elsewhere, and print where.
        let vars = [("INPUT_WORKING_DIRECTORY", given), ("CDPATH", &runner.text("action"))];
        let step = runner.step("check", &vars);
        assert_eq!((step.code, runner.seen_in()), (Some(0), runner.path(folder)), "{given}: {step:?}");
    }
    assert!(!runner.path("work/owned").exists());
    std::fs::remove_file(runner.path("seen")).unwrap();
    for given in ["nowhere", "src"] {
        let step = runner.step("check", &[("INPUT_WORKING_DIRECTORY", given), ("CDPATH", &runner.text("action"))]);
        step.failed_with(&format!("`working-directory` is no folder: {given}"));
        assert_eq!(runner.seen(), None);
    }
}

#[test]
fn a_macml_that_is_there_is_taken() {
    let runner = Runner::new();
    let check = |vars: &[(&str, &str)], expected: &str| {
        let step = runner.step("find", vars);
        assert_eq!((step.code, step.outputs.len()), (Some(0), 1), "{step:?}");
        assert_eq!(step.output("macml"), expected);
    };
    let (given, on_path) = (runner.text("work/my macml"), runner.text("bin/macml"));
    program(given.as_ref(), super::MACML);
    check(&[("INPUT_MACML", &given)], &given);
    check(&[("INPUT_MACML", "my macml")], &given);
    program(on_path.as_ref(), super::MACML);
    check(&[], &on_path);
    check(&[("INPUT_MACML", &given)], &given);
}

#[test]
fn a_macml_that_is_none_is_told() {
    let runner = Runner::new().with_macml();
    std::fs::write(runner.path("work/text"), "").unwrap();
    for given in ["text", "nowhere", "macml", "."] {
        let step = runner.step("find", &[("INPUT_MACML", given)]);
        step.failed_with(&format!("`macml` is no program: {given}"));
        assert_eq!(step.outputs.len(), 0);
    }
}

#[test]
fn outputs_cannot_be_forged() {
    let runner = Runner::new();
    let given = runner.text("work/macml\nbuild=true");
    program(given.as_ref(), super::MACML);
    let step = runner.step("find", &[("INPUT_MACML", &given)]);
    step.failed_with("`macml` has a line break");
    assert_eq!(step.outputs.len(), 0);
}

#[test]
fn without_one_macml_is_built_and_kept_by_what_it_is_built_from() {
    let runner = Runner::new();
    let find = || {
        let step = runner.step("find", &[]);
        assert_eq!((step.code, step.output("build")), (Some(0), "true"), "{step:?}");
        assert_eq!(step.output("macml"), runner.text("temp/macml/bin/macml"));
        assert_eq!(step.output("folder"), runner.text("temp/macml/bin"));
        let key = step.output("key").to_owned();
        assert!(key.starts_with("macml-program-") && !key.contains([' ', '/', ',']), "{key}");
        key
    };
    let before = find();
    assert_eq!(find(), before);
    for changed in ["src/lib.rs", "Cargo.lock", "Cargo.toml"] {
        let file = runner.path("action").join(changed);
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{text}# changed\n")).unwrap();
        assert_ne!(find(), before, "{changed}");
        std::fs::write(&file, text).unwrap();
        assert_eq!(find(), before);
    }
    std::fs::rename(runner.path("action/src/lib.rs"), runner.path("action/src/main.rs")).unwrap();
    assert_ne!(find(), before, "a name");
}

#[test]
fn it_is_built_apart_from_the_project() {
    let runner = Runner::new().with_cargo();
    let step = runner.step("build", &[("RUSTFLAGS", "-D warnings"), ("CARGO_BUILD_TARGET", "wasm32-wasip1")]);
    assert_eq!(step.code, Some(0), "{step:?}");
    let seen = runner.seen().unwrap();
    assert_eq!(seen[..2], ["install", "--locked"]);
    assert!(seen.windows(2).any(|pair| pair == ["--bin", "macml"]), "{seen:?}");
    assert_eq!(runner.seen_in(), runner.path("action"));
    assert_eq!(std::fs::read_to_string(runner.path("seen.settings")).unwrap(), "unsetunset");
    assert!(runner.path("temp/macml/bin/macml").is_file());

    // One that was restored is not built again, but one that does not start is.
    assert_eq!(runner.step("build", &[]).code, Some(0));
    assert_eq!(runner.seen(), None);
    std::fs::write(runner.path("temp/macml/bin/macml"), "#!/nowhere\n").unwrap();
    assert_eq!(runner.step("build", &[]).code, Some(0));
    assert!(runner.seen().is_some());
}

#[test]
fn without_cargo_or_with_one_that_fails_it_is_said_what_to_do() {
    let runner = Runner::new();
    runner.step("build", &[]).failed_with("put `- uses: dtolnay/rust-toolchain@stable` before this step");
    let runner = runner.with_cargo();
    let step = runner.step("build", &[("FAKE_CODE", "101")]);
    step.failed_with("macml could not be built: cargo says above why");
}

#[test]
fn facts_are_kept_where_macml_keeps_them() {
    let runner = Runner::new();
    let cache = runner.text("a cache");
    let vars = [("MACML", env!("CARGO_BIN_EXE_macml")), ("MACML_CACHE_DIR", &cache)];
    let step = runner.step("facts", &vars);
    assert_eq!(step.code, Some(0), "{step:?}");
    assert_eq!(step.output("folder"), format!("{cache}/{FACTS}"));
}

#[test]
fn facts_are_kept_by_locks_and_arguments() {
    let runner = Runner::new().with_macml();
    let facts = |vars: &[(&str, &str)]| {
        let step = runner.step("facts", vars);
        assert_eq!(step.code, Some(0), "{step:?}");
        assert!(step.output("key").starts_with(step.output("earlier")), "{step:?}");
        step.output("key").to_owned()
    };
    let mut keys = vec![facts(&[])];
    let mut another = |vars: &[(&str, &str)]| {
        let key = facts(vars);
        assert!(!keys.contains(&key), "{vars:?}");
        assert_eq!(facts(vars), key);
        keys.push(key);
    };
    let args = |typed: &'static str| [("INPUT_ARGS", typed)];
    another(&args("--wheels"));
    another(&args("--whe els"));
    std::fs::write(runner.path("work/macml.lock"), "1").unwrap();
    another(&[]);
    std::fs::write(runner.path("work/macml.lock"), "2").unwrap();
    another(&[]);
    another(&args("--lock 'a lock'"));
    another(&args("--lock='a lock'"));
    std::fs::write(runner.path("work/a lock"), "1").unwrap();
    another(&args("--lock 'a lock'"));
    another(&args("--lock='a lock'"));
    std::fs::write(runner.path("work/a lock"), "2").unwrap();
    another(&args("--lock 'a lock'"));
    another(&args("--lock='a lock'"));
    std::fs::create_dir(runner.path("work/inner")).unwrap();
    another(&[("INPUT_WORKING_DIRECTORY", "inner"), ("INPUT_ARGS", "--lock 'a lock'")]);
}

#[test]
fn facts_are_saved_only_where_there_are_some() {
    let runner = Runner::new().with_macml();
    let saved = || runner.step("check", &[("FAKE_CODE", "1")]).outputs.contains_key("facts");
    assert!(!saved());
    let folder = runner.path("the cache").join(FACTS);
    std::fs::create_dir_all(&folder).unwrap();
    assert!(!saved());
    std::fs::write(folder.join("one"), "").unwrap();
    assert!(saved());
}

/// As the steps of action.yml follow each other, on a machine with nothing but cargo.
#[test]
fn from_nothing_to_a_verdict() {
    let runner = Runner::new().with_cargo();
    let found = runner.step("find", &[]);
    let macml = ("MACML", found.output("macml"));
    assert_eq!(runner.step("build", &[]).code, Some(0));
    let args = ("INPUT_ARGS", "--wheels --on 'm5,27.0'");
    let facts = runner.step("facts", &[macml, args]);
    assert_eq!(facts.output("folder"), runner.text("the cache/facts-v1"));
    let checked = runner.step("check", &[macml, args, ("FAKE_CODE", "1")]);
    assert_eq!((checked.code, checked.output("verdict")), (Some(1), "no"));
    assert_eq!(runner.seen().unwrap()[3..], ["--wheels", "--on", "m5,27.0"]);
}
