//! Rules of the house that no compiler checks: who may import whom, where things live, and what must not be written
//! anywhere. Every rule is a function from files to complaints, and is shown to complain about a made-up offender.

mod lock;
mod rules;

use std::path::Path;
use std::process::Command;

use rules::Text;

/// Reads every text file that belongs to the project: those that git knows or would add, or in an unpacked archive all
/// but build products.
fn tree() -> Vec<Text> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listing = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output();
    let mut paths: Vec<String> = match listing {
        Ok(output) if output.status.success() => {
            String::from_utf8(output.stdout).unwrap().split('\0').map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    paths.retain(|path| !path.is_empty());
    if paths.is_empty() {
        walk(root, root, &mut paths);
    }
    paths.sort();
    paths.dedup();
    let read = |path: String| Some(Text { text: std::fs::read_to_string(root.join(&path)).ok()?, path });
    paths.into_iter().filter_map(read).collect()
}

fn walk(root: &Path, folder: &Path, paths: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            let built = name.starts_with("target") || [".git", ".darwin", ".macml"].contains(&name.as_str());
            if !built && !name.starts_with(".venv") {
                walk(root, &path, paths);
            }
        } else {
            paths.push(path.strip_prefix(root).unwrap().to_string_lossy().into_owned());
        }
    }
}

/// Fails with one line for each complaint.
#[track_caller]
fn assert_clean(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

/// Holds the tree to one rule.
#[track_caller]
fn check(rule: fn(&[Text]) -> Vec<String>) {
    let tree = tree();
    assert!(tree.iter().any(|file| file.path == "src/lib.rs"), "the tree was not found");
    assert_clean(&rule(&tree));
}

#[test]
fn modules_import_only_what_is_declared_above_them() {
    check(rules::module_order);
}

#[test]
fn narrower_bans_hold() {
    check(rules::narrow_bans);
}

#[test]
fn every_file_says_what_it_owns() {
    check(rules::front_matter);
}

#[test]
fn no_file_is_too_long() {
    check(rules::length);
}

#[test]
fn no_file_is_named_after_nothing() {
    check(rules::empty_names);
}

#[test]
fn no_address_of_a_registry_is_written_out() {
    check(rules::registry_hosts);
}

#[test]
fn nobody_is_told_to_install_the_stranger_of_our_name() {
    check(rules::wrong_wheel);
}

#[test]
fn no_path_of_a_build_machine_is_written_out() {
    check(rules::machine_paths);
}

#[test]
fn crates_have_one_home() {
    check(rules::crate_homes);
}

#[test]
fn no_test_is_switched_off_and_nothing_is_left_to_do() {
    check(rules::leftovers);
}

#[test]
fn every_dependency_says_why_it_is_there() {
    check(rules::dependency_reasons);
}

#[test]
fn the_tree_is_found_without_git_too() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut walked = Vec::new();
    walk(root, root, &mut walked);
    for file in tree() {
        assert!(walked.contains(&file.path), "`{}` was not walked", file.path);
    }
}

/// Live tests fail where a program is missing that they need: what `.ci/run` installs for them, runners have to have too.
#[test]
fn runners_have_what_live_tests_need() {
    let tree = tree();
    let text = |path: &str| &tree.iter().find(|file| file.path == path).unwrap().text;
    let (own, runners) = (text(".ci/run"), text(".github/workflows/ci.yml"));
    let tools = own.split_once("run_tools() {").unwrap().1.split_once("\n}").unwrap().0;
    let pinned = tools.split_whitespace().filter(|word| word.contains("=="));
    let shells = tools.lines().find_map(|line| line.trim().strip_prefix("apt-get install ")).unwrap();
    let shells =
        shells.split_whitespace().take_while(|word| !word.starts_with('>')).filter(|word| !word.starts_with('-'));
    let needed: Vec<&str> = pinned.chain(shells).collect();
    assert!(needed.len() > 6, "{needed:?}");
    let missing: Vec<&&str> =
        needed.iter().filter(|one| !runners.split_whitespace().any(|word| word == **one)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
