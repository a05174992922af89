//! The native probe through the verb: found, built with a cargo that is a script, left out, and demanded in vain.

use std::path::Path;

use macml::verify::protocol::{Event, ProbeKind};
use serde_json::json;

use super::{Prefix, good, lines, of_release, program};
use crate::support::terminal::play;

/// What the native probe would answer on a processor.
fn native() -> Vec<Event> {
    let mut events = good();
    for event in &mut events {
        if let Event::Hello(hello) = event {
            hello.probe = ProbeKind::Native;
        }
    }
    events
}

/// Makes an environment with a torch that a probe could be built against, whose Python answers well.
fn prefix(release: &str) -> Prefix {
    let prefix = Prefix::answering(release, &of_release(good(), release), "");
    let suffix = if cfg!(target_os = "macos") { "dylib" } else { "so" };
    let site = prefix.site();
    let libraries = ["torch_cpu", "torch", "c10"].map(|name| format!("torch/lib/lib{name}.{suffix}"));
    let header = "torch/include/torch/csrc/api/include/torch/torch.h".to_owned();
    for file in libraries.into_iter().chain([header]) {
        std::fs::create_dir_all(site.join(&file).parent().unwrap()).unwrap();
        std::fs::write(site.join(&file), "").unwrap();
    }
    std::fs::write(site.join("torch/version.py"), format!("__version__ = '{release}+cpu'\n")).unwrap();
    prefix
}

/// Makes one for torch 2.13.
pub(super) fn buildable() -> Prefix {
    prefix("2.13.0")
}

/// Puts a compiler and a cargo on the way that makes a probe which gives this answer, and counts its calls.
fn with_tools(prefix: &Prefix, events: &[Event]) -> String {
    let tools = prefix.path().join("tools");
    program(&tools.join("c++"), "#!/bin/sh\nexit 1\n");
    std::fs::write(prefix.path().join("native"), lines(events)).unwrap();
    let cargo = format!(
        "#!/bin/sh\necho call >> '{0}/calls'\nmkdir -p \"$CARGO_TARGET_DIR/debug\"\n\
         printf '#!/bin/sh\\ncat {0}/native\\n' > \"$CARGO_TARGET_DIR/debug/macml-probe\"\n\
         chmod 755 \"$CARGO_TARGET_DIR/debug/macml-probe\"\n",
        prefix.path().display()
    );
    program(&tools.join("cargo"), &cargo);
    format!("{}:/usr/bin:/bin", tools.display())
}

fn calls(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("calls")).unwrap_or_default().lines().count()
}

const CPU: [&str; 2] = ["--device", "cpu"];

#[test]
fn it_is_built_once_where_that_is_demanded_and_used_ever_after() {
    let prefix = prefix("2.13.0");
    let path = with_tools(&prefix, &native());
    let vars = [("PATH", path.as_str())];
    let run = |words: &[&str]| prefix.verify_with(&vars, &[&CPU, words].concat());
    // Nobody compiles for minutes who did not ask for it.
    let plain = run(&[]);
    plain.says(0, &["native: not run (it was not built yet for this torch; `macml verify --native` builds it)"]);
    plain.says(0, &["ok  torch 2.13.0 through Python on cpu", "env on cpu: ok"]);
    run(&["--python"]).never_says(&["native"]);
    assert_eq!(calls(prefix.path()), 0);
    let alone = run(&["--native"]);
    alone.says(0, &["ok  torch 2.13.0+cu130 natively on cpu", "note: built the native probe in", "env on cpu: ok"]);
    alone.never_says(&["through Python on cpu"]);
    run(&[]).says(0, &["through Python on cpu", "natively on cpu"]);
    run(&["--native", "--python"]).says(0, &["through Python on cpu", "natively on cpu"]);
    run(&["--python"]).never_says(&["natively"]);
    assert_eq!(calls(prefix.path()), 1);
    // One that is wrong natively is wrong.
    let mut wrong = native();
    let product = wrong.iter_mut().find_map(|event| match event {
        Event::Check(check) if check.id == "product" => Some(check),
        _ => None,
    });
    product.unwrap().max_rel = Some(1e-1);
    std::fs::write(prefix.path().join("native"), lines(&wrong)).unwrap();
    run(&[]).says(3, &["ok  torch 2.13.0", "wrong-numbers  torch", "env on cpu: wrong-numbers"]);
}

#[test]
fn the_user_s_settings_let_it_be_built() {
    let prefix = prefix("2.13.0");
    let path = with_tools(&prefix, &native());
    prefix.project.write(".config/macml/config.toml", "build-native-probe = true\n");
    prefix.verify_with(&[("PATH", &path)], &CPU).says(0, &["natively on cpu"]);
    assert_eq!(calls(prefix.path()), 1);
}

#[test]
fn a_person_is_asked_at_a_terminal_and_nobody_else() {
    let prefix = prefix("2.13.0");
    let path = with_tools(&prefix, &native());
    let command = ["$macml", "verify", "--prefix", "env", "--device", "cpu"];
    let asked = |answer: &str| {
        let steps = json!([["wait", "build it now? [y/N] "], ["send", answer]]);
        play(prefix.path(), &[("PATH", &path)], &steps, &command)
    };
    let (shown, code) = asked("\n");
    assert!(code == 0 && shown.contains("native: not run (it was not built yet"), "{code} {shown}");
    assert_eq!(calls(prefix.path()), 0);
    let quietly = |vars: &[(&str, &str)], words: &[&str]| {
        let vars = [&[("PATH", path.as_str())], vars].concat();
        let (shown, code) = play(prefix.path(), &vars, &json!([]), &[&command[..], words].concat());
        assert!(code == 0 && !shown.contains("build it now?"), "{code} {shown}");
    };
    quietly(&[("CI", "1")], &[]);
    quietly(&[], &["--output-format", "json"]);
    quietly(&[], &["--python"]);
    assert_eq!(calls(prefix.path()), 0);
    let (shown, code) = asked("y\n");
    assert!(code == 0 && shown.contains("natively on cpu"), "{code} {shown}");
    assert_eq!(calls(prefix.path()), 1);
}

/// What was demanded and cannot be run is an answer; what was not is only told.
#[test]
fn what_cannot_be_built_is_told_with_the_reason() {
    let check = |prefix: &Prefix, vars: &[(&str, &str)], reason: &str| {
        let plain = prefix.verify_with(vars, &CPU);
        plain.says(0, &[&format!("native: not run ({reason}"), "env on cpu: ok"]);
        plain.never_says(&["`macml verify --native` builds it"]);
        let demanded = prefix.verify_with(vars, &[&CPU[..], &["--native"]].concat());
        demanded.says(2, &["not-run  torch", reason, "env on cpu: not-run", "hint: `--python` asks without it"]);
        let both = prefix.verify_with(vars, &[&CPU[..], &["--native", "--python"]].concat());
        both.says(2, &["ok  torch", "not-run  torch", "env on cpu: not-run"]);
    };
    check(&prefix("2.12.0"), &[], "there is no tch for torch 2.12");
    check(&prefix("2.8.0"), &[], "torch 2.8.0+cpu is untried");
    let bare = prefix("2.13.0");
    let empty = bare.path().join("empty").display().to_string();
    check(&bare, &[("PATH", &empty)], "there is no cargo to build it with");
    let broken = prefix("2.13.0");
    let path = with_tools(&broken, &native());
    program(&broken.path().join("tools/cargo"), "#!/bin/sh\necho 'error: no space'\nexit 101\n");
    let run = broken.verify_with(&[("PATH", &path)], &["--native", "--device", "cpu"]);
    run.says(
        2,
        &["not-run  torch", "  not-run: building it failed; all that cargo said is in `", "\n    error: no space\n"],
    );
    let part = prefix("2.13.0");
    let path = with_tools(&part, &native());
    std::fs::remove_dir_all(part.site().join("torch/include")).unwrap();
    check(&part, &[("PATH", &path)], "torch is not whole: there is no `");
    // Another framework cannot be asked natively.
    let mlx = Prefix::new(&["mlx-0.32.4"], "exit 1");
    mlx.verify(&["--native", "--device", "cpu"]).says(2, &["not-run  torch", "torch, which is not installed here"]);
}

/// A row of a tch that was not made for its torch says so wherever it is used.
#[test]
fn an_experimental_probe_says_so() {
    let prefix = prefix("2.15.0");
    let path = with_tools(&prefix, &of_release(native(), "2.15.0"));
    let run = prefix.verify_with(&[("PATH", &path)], &["--native", "--device", "cpu"]);
    run.says(0, &["note: experimental: tch 0.26 was not made for torch 2.15"]);
}
