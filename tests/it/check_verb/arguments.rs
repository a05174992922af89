//! Flags that say nothing together, each refused with what to do instead, to people, programs and GitHub.

use crate::support::project::Project;

#[test]
fn clap_refuses_what_it_can_see() {
    let project = Project::empty();
    let check = |words: &[&str], part: &str| {
        let run = project.run(&[&["check"], words].concat());
        assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{words:?}");
        assert!(run.stderr.contains(part), "{words:?}: {}", run.stderr);
    };
    check(&["--on", "m5"], "`m5` is not a chip and a macOS with a comma between them, such as `m5,27.0`");
    check(&["--on", "m5,16.0"], "`m5,16.0` is not a chip and a macOS");
    check(&["--lock", "uv.lock", "--macos", "16.0"], "macOS 16.0 never existed: 15 was followed by 26");
    check(&["--lock", "uv.lock", "--chip", "intel"], "`intel` is not a chip");
    check(&["--lock", "uv.lock", "--gpu", "maybe"], "[possible values: required, optional]");
    check(&["--lock", "uv.lock", "--all-extras", "--extra", "dev"], "cannot be used with");
    check(&["--lock", "uv.lock", "--all-groups", "--group", "dev"], "cannot be used with");
    check(&["--lock", "uv.lock", "--all-groups", "--no-default-groups"], "cannot be used with");
    check(&["--lock", "uv.lock", "--package", "-x-"], "error: ");
    check(&["--output-format", "xml"], "[possible values: text, json, github]");
}

#[test]
fn flags_of_another_use_are_refused_with_the_remedy() {
    let project = Project::empty();
    project.run(&["check", "--lock", "uv.lock", "--env", "tf"]).fails(
        2,
        "error: `--env` names environments of macml.toml, and with `--lock` none is read\n\n\
         hint: leave `--env` out: another tool's lock has one environment",
    );
    project.run(&["check", "--macos", "14.0"]).fails(
        2,
        "error: `--macos` goes with `--lock FILE` or `--prefix DIR`: in a project macml.toml declares it\n\n\
         hint: `--on m5,27.0` asks about another Mac of the project",
    );
    project.run(&["check", "--lock", "uv.lock", "--prefix", "env", "--wheels"]).fails(
        2,
        "error: `--wheels` fetches wheels, and with `--prefix` its own libraries are judged\n\n\
         hint: leave one of the two out",
    );
    project.run(&["check", "--prefix", "env", "--extra", "dev"]).fails(
        2,
        "error: `--extra` says what of another tool's lock is taken, and there is no `--lock`\n\n\
         hint: `--lock FILE` names it: uv.lock, pylock.toml, or requirements with hashes",
    );
    project.run(&["check", "--deny", "libary-missing"]).fails(
        2,
        "error: `--deny`: there is no finding called `libary-missing`\n\nhint: did you mean `library-missing`?",
    );
}

#[test]
fn a_lock_of_another_tool_that_lies_there_is_pointed_to() {
    let project = Project::empty();
    let hint = |name: &str| {
        format!(
            "hint: `macml check --lock {name} --macos 14.0` looks at the `{name}` that is here, and needs no macml.toml"
        )
    };
    for name in ["pylock.toml", "uv.lock"] {
        project.write(name, "");
        for words in [&["check"][..], &["check", "--macos", "14.0"], &["check", "--on", "m5,27.0"]] {
            let run = project.run(words);
            assert_eq!(run.code, 2, "{words:?}");
            assert!(run.stderr.contains(&hint(name)), "{words:?}: {}", run.stderr);
        }
    }
    let run = project.run(&["lock"]);
    assert!(run.stderr.starts_with("error: no `macml.toml` in ") && !run.stderr.contains("uv.lock"), "{}", run.stderr);
}

#[test]
fn whoever_reads_is_told_of_an_error_in_his_way() {
    let project = Project::empty();
    let words = ["check", "--target", "mac", "--env", "tf"];
    let text = "error: what `--target` names says itself of which environment it is\n\nhint: leave `--env` out";

    let run = project.run(&[&words[..], &["--output-format", "json"]].concat());
    assert_eq!((run.code, run.stderr.trim()), (2, text));
    let json = run.json_as("check.schema.json");
    assert_eq!((&json["verdict"], &json["exit-code"]), (&"error".into(), &2.into()));
    assert_eq!((&json["error"]["kind"], &json["error"]["hints"][0]), (&"usage".into(), &"leave `--env` out".into()));

    for run in [
        project.run(&[&words[..], &["--output-format", "github"]].concat()),
        project.run_with(&[("MACML_OUTPUT_FORMAT", "github")], &words),
        project.run_with(&[("MACML_OUTPUT_FORMAT", "json")], &[&words[..], &["--output-format", "github"]].concat()),
    ] {
        assert_eq!((run.code, run.stderr.trim()), (2, text));
        let command = "::error title=macml check::what `--target` names says itself of which environment it is%0Aleave \
                       `--env` out\n";
        assert_eq!(run.stdout, command);
    }
    project
        .run_with(&[("MACML_OUTPUT_FORMAT", "xml")], &words)
        .fails(2, "error: `xml` is not a value of MACML_OUTPUT_FORMAT\n\nhint: use `text`, `json` or `github`");
    project
        .run_with(&[("MACML_OUTPUT_FORMAT", "github")], &["lock"])
        .fails(2, "error: `github` is not a value of MACML_OUTPUT_FORMAT\n\nhint: use `text` or `json`");
}

#[test]
fn what_is_no_lock_is_named_so() {
    let project = Project::empty();
    project.write("pyproject.toml", "[project]\nname = \"demo\"\n");
    project.write("uv.lock", "\n");
    let remedy = "hint: name uv.lock, pylock.toml or a requirements file with hashes";
    for (named, what) in [
        ("pyproject.toml", "it says what a project asks for, not which files it gets"),
        (".", "it is a folder"),
        ("uv.lock", "it is empty"),
    ] {
        let run = project.run(&["check", "--lock", named, "--macos", "14.0"]);
        run.says(2, &[&format!("is no lock: {what}"), remedy]);
    }
}
