//! `macml rules` through the binary, against the knowledge that the library has; and what a project ignores of it.

use std::collections::BTreeSet;
use std::process::Stdio;

use macml::knowledge::Knowledge;
use macml::knowledge::Rule;

use crate::support::project::Project;
use crate::support::project::Run;

const NIGHTS: &str = "torch-nightlies-of-one-night";
const SCHEMA: &str = "rules.schema.json";

/// Runs it where nothing can be read but the program itself.
fn rules(words: &[&str]) -> Run {
    let project = Project::empty();
    project.write("macml.toml", "this is no manifest");
    project.run(&[&["rules"], words].concat())
}

/// Returns the second words of lines that are indented by two blanks: names of the list.
fn listed(text: &str) -> Vec<&str> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    lines.filter_map(|line| line.split_whitespace().next()).collect()
}

/// Returns the packages that a rule is about or names.
fn spoken_of(rule: &Rule) -> BTreeSet<&str> {
    let others = rule.others().into_iter().map(|release| release.name.as_str());
    others.chain([rule.package.as_str()]).collect()
}

#[test]
fn all_are_listed_once_below_their_packages() {
    let knowledge = Knowledge::built_in();
    let run = rules(&[]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let mut names = listed(&run.stdout);
    names.retain(|name| !name.starts_with("macosx_"));
    let ids: BTreeSet<&str> = knowledge.ids().collect();
    assert_eq!(names.len(), ids.len());
    assert_eq!(names.into_iter().collect::<BTreeSet<_>>(), ids);
    let mut heading = "";
    let mut headings = BTreeSet::new();
    for line in run.stdout.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("  ").and_then(|line| line.split_whitespace().next()) {
            None => {
                heading = line;
                assert!(headings.insert(heading), "`{heading}` twice");
            }
            Some(id) => {
                let own = knowledge.rule(id).is_none_or(|rule| rule.package.as_str() == heading);
                assert!(own, "`{id}` below `{heading}`");
            }
        }
    }
    let last = run.stdout.lines().last().unwrap();
    assert!(last.contains(&format!("; knowledge of {}; newest releases known: ", knowledge.date)), "{last}");
    assert!(knowledge.newest.iter().all(|(name, version)| last.contains(&format!("{name} {version}"))), "{last}");
}

#[test]
fn columns_stand_below_each_other() {
    for group in rules(&[]).stdout.split("\n\n") {
        let kinds =
            [" requires ", " conflicts ", " needs-macos ", " needs-python ", " advice ", " one-night ", " wheel "];
        let column = |line: &str| kinds.iter().filter_map(|kind| line.find(kind)).min();
        let columns: BTreeSet<_> = group.lines().filter(|line| line.starts_with("  ")).map(column).collect();
        assert!(columns.len() <= 1 && !columns.contains(&None), "{group}");
    }
}

#[test]
fn a_package_lists_all_that_speaks_of_it_its_own_first() {
    let knowledge = Knowledge::built_in();
    let packages = knowledge.packages();
    assert!(packages.len() >= 3);
    for package in packages {
        let run = rules(&[package.as_str()]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{package}");
        let about = knowledge.about(package).map(|rule| rule.id.as_str());
        let nights = knowledge.one_night.iter().filter(|night| night.packages.contains(package));
        let expected: BTreeSet<&str> = about.chain(nights.map(|night| night.id.as_str())).collect();
        let names = listed(&run.stdout).into_iter().filter(|name| !name.starts_with("macosx_"));
        assert_eq!(names.collect::<BTreeSet<_>>(), expected, "{package}");
        if knowledge.rules().iter().any(|rule| rule.package == *package) {
            assert_eq!(run.stdout.lines().next(), Some(package.as_str()));
        }
        // What has no name of its own to ask for is shown with its ground.
        for fact in knowledge.wheels_of(package) {
            assert!(
                run.stdout.contains(&format!("    {} ({})\n    {}\n", fact.reason, fact.confidence, fact.evidence[0]))
            );
        }
    }
    // Spelling does not matter.
    assert_eq!(rules(&["TorchVision"]).stdout, rules(&["torchvision"]).stdout);
}

#[test]
fn kinds_and_scopes_narrow_the_list() {
    let knowledge = Knowledge::built_in();
    let nights = rules(&["--kind", "one-night"]);
    assert_eq!(listed(&nights.stdout), [NIGHTS]);
    let run = rules(&["--kind", "requires", "--kind", "needs-macos", "--scope", "gpu"]);
    let kind = |rule: &&Rule| ["requires", "needs-macos"].contains(&rule.says.to_string().as_str());
    let both = knowledge.rules().iter().filter(kind).filter(|rule| rule.scope.to_string() == "gpu");
    assert_eq!(listed(&run.stdout).into_iter().collect::<BTreeSet<_>>(), both.map(|rule| rule.id.as_str()).collect());
    let nothing = rules(&["--kind", "one-night", "--scope", "gpu"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (0, ""));
    assert_eq!(nothing.stderr, "note: no rule is of this kind and scope\n");
    rules(&["--scope", "gp"]).says(2, &["tip: a similar value exists: 'gpu'"]);
}

#[test]
fn a_name_shows_a_rule_whole() {
    let expected = "\
torch-nightlies-of-one-night
  nightly builds of torch, torchvision and torchaudio go together only when they are of one night
  packages    torch, torchvision, torchaudio
  kind        one-night
  binds       always, on every platform
  reason      Nightly builds of these packages load each other's libraries, and only those of one night are built together.
  evidence    https://github.com/pytorch/audio/issues/2610
              https://github.com/pytorch/audio/issues/3858
  switch off  ignore-rules = [\"torch-nightlies-of-one-night\"] under `[resolution]` in macml.toml
              then `macml lock` chooses as if it were not known; macml.lock says that it was ignored
";
    let run = rules(&[NIGHTS]);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, expected, ""));
    // Every rule, with all of its evidence, each on a line of its own.
    let knowledge = Knowledge::built_in();
    let ids: Vec<&str> = knowledge.ids().collect();
    let run = rules(&ids);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let blocks: Vec<&str> = run.stdout.split("\n\n").collect();
    assert_eq!(blocks.len(), ids.len());
    for (block, rule) in blocks.iter().zip(knowledge.rules()) {
        let line = |text: &str| block.lines().any(|line| line.ends_with(text));
        assert!(block.starts_with(&format!("{}\n  {}\n", rule.id, rule.statement())), "{block}");
        assert!(line(&rule.reason) && block.contains(&format!("[\"{}\"]", rule.id)), "{block}");
        assert!(rule.evidence.iter().all(|one| line(&format!("  {one}"))), "{block}");
    }
}

#[test]
fn what_there_is_not_is_no_error_and_the_nearest_is_named() {
    let check = |name: &str, hint: &str| {
        let run = rules(&[name]);
        let note = format!("note: no rule speaks of `{name}`, and none is named so\n");
        let hint = if hint.is_empty() { String::new() } else { format!("hint: did you mean {hint}?\n") };
        assert_eq!((run.code, run.stdout.as_str(), run.stderr), (0, "", note + &hint));
    };
    check("torchvison", "the package `torchvision`");
    check("PyTorch", "the package `torch`");
    check("torch>=2.15", "the package `torch`");
    check("torch-nightlys-of-one-night", "the rule `torch-nightlies-of-one-night`");
    check("left-pad", "");
    check("汉字", "");
    // The rest is shown all the same.
    let run = rules(&["left-pad", NIGHTS]);
    assert!(run.stdout.starts_with(NIGHTS) && run.stderr.contains("`left-pad`"));
}

#[test]
fn programs_read_the_same_as_one_document() {
    let knowledge = Knowledge::built_in();
    let json = |words: &[&str]| rules(&[words, &["--output-format", "json"]].concat()).json_as(SCHEMA);
    let all = json(&[]);
    assert_eq!((&all["schema"], &all["command"]), (&1.into(), &"rules".into()));
    assert_eq!(all["date"], knowledge.date.as_str());
    assert_eq!(all["newest"]["torch"], knowledge.newest[&"torch".parse().unwrap()].to_string());
    let (rules_of, nights) = (all["rules"].as_array().unwrap(), all["one-night"].as_array().unwrap());
    let ids: BTreeSet<&str> = rules_of.iter().chain(nights).map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids, knowledge.ids().collect());
    for one in rules_of {
        let rule = knowledge.rule(one["id"].as_str().unwrap()).unwrap();
        assert_eq!(one["kind"], rule.says.to_string());
        assert_eq!(one["scope"], rule.scope.to_string());
        assert_eq!(one["confidence"], rule.confidence.to_string());
        assert_eq!(one["problem"].as_str().map(ToOwned::to_owned), rule.problem().map(|problem| problem.to_string()));
        assert_eq!(one["evidence"].as_array().unwrap().len(), rule.evidence.len());
        let named = ["other", "with", "without", "prefer"].iter().flat_map(|key| match &one[key] {
            serde_json::Value::Array(several) => several.clone(),
            serde_json::Value::Null => Vec::new(),
            single => vec![single.clone()],
        });
        let named = named.map(|release| release["package"].as_str().unwrap().to_owned());
        let named: BTreeSet<String> = named.chain([one["package"].as_str().unwrap().to_owned()]).collect();
        assert_eq!(named.iter().map(String::as_str).collect::<BTreeSet<_>>(), spoken_of(rule));
    }
    assert_eq!(all["wheels"].as_array().unwrap().len(), knowledge.wheels.len());
    assert_eq!(all["inner-tags"].as_array().unwrap().len(), knowledge.inner_tags.len());
    let one = json(&[NIGHTS]);
    assert_eq!(one["one-night"][0]["id"], NIGHTS);
    assert_eq!((&one["rules"], &one["wheels"]), (&serde_json::json!([]), &serde_json::json!([])));
    let twice = json(&["torch", NIGHTS]);
    assert_eq!(twice["one-night"].as_array().unwrap().len(), 1);
    let unknown = json(&["torchvison"]);
    assert_eq!(unknown["unknown"], serde_json::json!([{ "name": "torchvison", "nearest-package": "torchvision" }]));
    let project = Project::empty();
    let by_variable = project.run_with(&[("MACML_OUTPUT_FORMAT", "json")], &["rules"]);
    assert_eq!(by_variable.json_as(SCHEMA), all);
    project
        .run_with(&[("MACML_OUTPUT_FORMAT", "yaml")], &["rules"])
        .fails(2, "error: `yaml` is not a value of MACML_OUTPUT_FORMAT\n\nhint: use `text` or `json`");
}

#[test]
fn colours_are_for_terminals_and_quiet_is_quiet() {
    let plain = rules(&["torch", "torchvison"]);
    assert!(!plain.stdout.contains('\u{1b}') && !plain.stderr.contains('\u{1b}'));
    let colored = rules(&["torch", "torchvison", "--color", "always"]);
    assert!(colored.stdout.contains('\u{1b}') && colored.stderr.contains('\u{1b}'));
    assert_eq!(anstream::adapter::strip_str(&colored.stdout).to_string(), plain.stdout);
    let quiet = rules(&["torch", "torchvison", "-q"]);
    assert_eq!((quiet.code, quiet.stdout.as_str(), quiet.stderr.as_str()), (0, "", ""));
    let json = rules(&["-q", "torchvison", "--output-format", "json"]);
    assert_eq!((json.json_as(SCHEMA)["unknown"][0]["name"].as_str(), json.stderr.as_str()), (Some("torchvison"), ""));
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let project = Project::empty();
    for words in [&["rules"][..], &["rules", "--output-format", "json"], &["rules", NIGHTS]] {
        let mut child = project.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(0), String::new()));
    }
}

#[test]
fn what_is_ignored_is_said_by_the_lock() {
    let target = "[target]\nchip = \"m1\"\nmacos = \"14.0\"\npython = \">=3.11,<3.14\"\ngpu = \"optional\"\n";
    let ignoring = format!("{target}[resolution]\nignore-rules = [\"{NIGHTS}\", \"dropped\"]\n");
    let project = Project::new(target);
    project.run(&["lock", "--offline"]).says(0, &["macml.lock written"]);
    let before = project.lock().unwrap();
    assert!(!before.contains("ignore-rules"));
    project.write("macml.toml", &ignoring);
    let run = project.run(&["lock", "--offline"]);
    let line = format!("ignore-rules = [\"dropped\", \"{NIGHTS}\"]\n");
    run.says(
        0,
        &[
            "warning[unknown-rule]: macml has no rule `dropped` to ignore\n --> macml.toml:7:",
            &format!(" + ignore-rules dropped, {NIGHTS}\n"),
        ],
    );
    let after = project.lock().unwrap();
    assert!(after.contains(&line), "{after}");
    let digest = |lock: &str| lock.lines().filter(|line| !line.starts_with("inputs = ")).collect::<Vec<_>>().join("\n");
    assert_eq!(digest(&after.replace(&line, "")), digest(&before), "nothing else has changed");
    let report = project.run(&["lock", "--check", "--output-format", "json"]).json();
    assert_eq!(report["verdict"], "unchanged");
    assert_eq!(report["environments"][0]["ignore-rules"], serde_json::json!(["dropped", NIGHTS]));
    project.write("macml.toml", target);
    let stale = project.run(&["lock", "--check", "--offline"]);
    stale.says(1, &[&format!(" - ignore-rules dropped, {NIGHTS}\n"), "does not answer `macml.toml`"]);
}
