//! action.yml: that it only calls run.sh, takes no input into the text of a script, and names what is there. It is read by
//! the line, as it is written; whether it is YAML with the keys that GitHub knows is asked of a real reader (live).

use std::collections::BTreeSet;
use std::process::Command;

use macml::cache::FACTS;

use super::{ACTION, read};
use crate::real_answers::live;

const CALL: &str = "bash \"$GITHUB_ACTION_PATH/run.sh\" ";

/// Returns what stands between each `before` and the next character that no name has.
fn names<'a>(text: &'a str, before: &'a str) -> BTreeSet<&'a str> {
    let rest = text.match_indices(before).map(|(at, _)| &text[at + before.len()..]);
    rest.map(|rest| &rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '-').unwrap_or(rest.len())]).collect()
}

/// Returns the keys below a key of the top level.
fn below<'a>(text: &'a str, key: &str) -> BTreeSet<&'a str> {
    let inner = text.split_once(&format!("\n{key}:\n")).unwrap().1.lines().take_while(|line| line.starts_with(' '));
    let direct = inner.filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    direct.map(|line| line.strip_suffix(':').unwrap()).collect()
}

/// Complains of scripts in a description of steps that are more than a call of run.sh.
fn scripts(text: &str) -> Vec<String> {
    let run = text.lines().filter_map(|line| line.trim_start().trim_start_matches("- ").strip_prefix("run:"));
    let plain = |script: &&str| {
        !script.trim_start().strip_prefix(CALL).is_some_and(|verb| verb.chars().all(char::is_alphabetic))
    };
    run.filter(plain).map(str::to_owned).collect()
}

#[test]
fn its_steps_only_call_the_script() {
    let text = read(&format!("{ACTION}/action.yml"));
    assert_eq!(scripts(&text), Vec::<String>::new());
    let called: BTreeSet<&str> = names(&text, CALL);
    assert_eq!(called, BTreeSet::from(["build", "check", "facts", "find"]));
    let script = read(&format!("{ACTION}/run.sh"));
    assert!(!script.contains("${{"));
    assert_eq!(names(&script, "\nrun_"), called);
    for offender in ["run: echo ${{ inputs.args }}", "- run: |", &format!("run: {CALL}check ${{{{ inputs.args }}}}")] {
        assert_eq!(scripts(offender).len(), 1, "{offender}");
    }
}

#[test]
fn it_names_what_is_there() {
    let (text, script) = (read(&format!("{ACTION}/action.yml")), read(&format!("{ACTION}/run.sh")));
    assert_eq!(names(&text, "inputs."), below(&text, "inputs"), "inputs");

    let ids: BTreeSet<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("id: ")).collect();
    assert_eq!(names(&text, "steps."), ids, "steps");
    for id in ids {
        for output in names(&text, &format!("steps.{id}.outputs.")) {
            assert!(output == "cache-hit" || names(&script, " output ").contains(output), "{id}.{output}");
        }
    }

    let pairs = text.lines().filter_map(|line| line.trim().split_once(": "));
    let given: Vec<(&str, &str)> =
        pairs.filter(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_')).collect();
    assert_eq!(given.len(), 7);
    for (name, value) in given {
        let from = match name.strip_prefix("INPUT_") {
            Some(input) => format!("inputs.{}", input.to_lowercase().replace('_', "-")),
            None => "steps.find.outputs.macml".to_owned(),
        };
        assert_eq!(value, format!("${{{{ {from} }}}}"), "{name}");
        assert!(script.contains(name), "{name}");
    }

    // As our own runs pin them.
    let runs = read(".github/workflows/ci.yml");
    assert!(runs.contains(&format!("uses: ./{ACTION}\n")));
    for used in text.lines().filter_map(|line| line.trim().strip_prefix("uses: ")) {
        assert!(used.starts_with("actions/cache/") && used.ends_with("@v4"), "{used}");
    }
}

/// Each workflow that the READMEs show gives inputs that there are.
#[test]
fn the_readmes_give_it_inputs_that_it_has() {
    let action = read(&format!("{ACTION}/action.yml"));
    for file in ["README.md", "README.zh-CN.md"] {
        let text = read(file);
        let uses: Vec<&str> =
            text.split(&format!("{ACTION}@")).skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
        assert!(!uses.is_empty(), "{file} does not show the action");
        assert!(text.contains(&format!("/cache/{FACTS}]")), "{file} keeps another folder on GitLab");
        for shown in uses {
            let with = shown.split_once("with:\n").map_or("", |(_, with)| with);
            let given: BTreeSet<&str> = with
                .lines()
                .take_while(|line| line.starts_with("   "))
                .map(|line| line.trim().split(':').next().unwrap())
                .collect();
            assert!(given.is_subset(&below(&action, "inputs")), "{file}: {given:?}");
        }
    }
}

/// Reads a YAML file with the reader that `pre-commit` brings.
fn yaml(file: &str) -> serde_json::Value {
    const READ: &str = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
    let ran =
        Command::new("python3").args(["-c", READ, file]).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(ran.status.success(), "{file}: {}", String::from_utf8_lossy(&ran.stderr));
    serde_json::from_slice(&ran.stdout).unwrap()
}

#[test]
fn it_is_yaml_with_the_keys_that_github_knows() {
    if !live() {
        eprintln!("not asked for: set MACML_LIVE=1 to read action.yml with PyYAML");
        return;
    }
    let action = yaml(&format!("{ACTION}/action.yml"));
    let keys = |value: &serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(keys(&action), ["name", "description", "inputs", "outputs", "runs"].map(str::to_owned).into());
    assert_eq!(action["runs"]["using"], "composite");
    for (name, input) in action["inputs"].as_object().unwrap() {
        assert!(input["description"].is_string() && input["default"].is_string(), "{name}: {input}");
    }
    let steps = action["runs"]["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 8);
    for step in steps {
        let known = ["name", "id", "if", "uses", "with", "run", "shell", "env"].map(str::to_owned).into();
        assert!(keys(step).is_subset(&known), "{step}");
        assert_eq!(step["run"].is_string(), step["shell"] == "bash", "{step}");
        assert_ne!(step["run"].is_string(), step["uses"].is_string(), "{step}");
        let needs: &[&str] = match step["run"].as_str().map_or("", |run| run.strip_prefix(CALL).unwrap()) {
            "find" => &["INPUT_MACML"],
            "facts" | "check" => &["INPUT_ARGS", "INPUT_WORKING_DIRECTORY", "MACML"],
            _ => &[],
        };
        let given = step["env"].as_object().map(|env| env.keys().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(given.unwrap_or_default(), needs, "{step}");
    }
    yaml(".github/workflows/ci.yml");
}
