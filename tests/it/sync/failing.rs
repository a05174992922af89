//! What stands against an environment: each told in one error, with the old one left as it was.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::Here;
use super::packages;
use super::site;
use super::two;
use super::with_files;
use crate::support::project::Project;
use crate::support::published::Rel;
use crate::support::python::python;
use crate::support::server::Action;
use crate::support::server::FakeIndex;

#[test]
fn offline_serves_what_the_cache_has_and_names_the_rest() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"");
    here.run(&["lock"]).says(0, &[]);
    let missing = here.run(&["sync", "--offline"]);
    missing.says(2, &["aa-1.0-py3-none-any.whl", "bb-2.0-py3-none-any.whl", "run it once without `--offline`"]);
    assert!(!here.path().join(".venv").exists());
    here.sync();
    std::fs::remove_dir_all(here.path().join(".macml")).unwrap();
    let requests = index.requests().len();
    here.run(&["sync", "--offline"]).says(0, &["ready"]);
    assert_eq!(index.requests().len(), requests);
}

#[test]
fn no_python_is_a_no_with_a_remedy() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"");
    let minor = if python().1 == "3.12" { "3.11" } else { "3.12" };
    let text = super::manifest("aa = \"*\"").replace(&format!("=={}.*", python().1), &format!("=={minor}.*"));
    here.project.write("macml.toml", &text);
    let run = here.run(&["sync"]);
    run.says(1, &["hint: "]);
    assert!(!here.path().join(".venv").exists());
    assert_eq!(index.files().iter().filter(|one| one.path.ends_with(".whl")).count(), 0);
    here.run(&["sync", "--python", "/absent/python"]).says(1, &["/absent/python"]);
}

/// R23: what a killed run or another program left in the way.
#[test]
fn r23_leftovers_are_swept() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"");
    here.sync();
    let store = here.generation().parent().unwrap().to_owned();
    for name in [".new-abc/lib/half", ".old-abc/lib/half"] {
        std::fs::create_dir_all(store.join(name)).unwrap();
    }
    let cached = here.path().join(".cache/macml/wheels-v1/.new-half/files");
    std::fs::create_dir_all(&cached).unwrap();
    // What pip leaves when it is stopped, and a package without its RECORD.
    std::fs::create_dir_all(here.site().join("~orch")).unwrap();
    std::fs::create_dir_all(here.site().join("~orch-2.12.0.dist-info")).unwrap();
    std::fs::remove_file(here.site().join("bb-2.0.dist-info/RECORD")).unwrap();
    here.sync().says(0, &["ready", "~orch"]);
    packages(&here.generation(), &site());
    let left: Vec<_> = std::fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".new-")), "{left:?}");
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".old-")), "{left:?}");
    assert!(!cached.exists());
}

/// R23: a folder that cannot be written fails before anything is removed. Root may write everywhere.
#[test]
fn r23_a_read_only_project_is_an_error_and_stays() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"");
    here.sync();
    let before = here.generation();
    let folder = before.parent().unwrap();
    here.depend("aa = \"*\"\nbb = \"<2\"");
    here.run(&["lock"]).says(0, &[]);
    let mode = |mode| std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o555);
    let refused = std::fs::write(folder.join("probe"), "").is_err();
    let run = here.run(&["sync", "--cache-dir", "cache"]);
    mode(0o755);
    if refused {
        run.says(2, &["error: "]);
        assert_eq!(here.generation(), before);
        packages(&before, &site());
    }
    here.sync().says(0, &[if refused { "ready" } else { "unchanged" }]);
}

/// What nobody needs for the environment itself is no reason not to have it, nor to build it again and again.
#[test]
fn where_no_note_can_be_made_there_is_an_environment_all_the_same() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"");
    here.project.write(".local/state", "");
    let told = "no shell activates `.venv` by itself: could not write";
    here.sync().says(0, &["ready", told, "XDG_STATE_HOME"]);
    let built = here.generation();
    here.run(&["sync", "--check"]).says(0, &["unchanged"]);
    here.sync().says(0, &["unchanged", told]);
    assert_eq!(here.generation(), built);
    here.depend("aa = \"*\"\nbb = \"<2\"");
    here.sync().says(0, &["ready", told]);
    here.run(&["env", "rollback"]).says(0, &["warning: ", ".venv is what was built"]);
    assert_eq!(here.generation(), built);
    here.run(&["env", "remove", "default"]).says(0, &["removed environment `default`: 2 generations"]);
}

/// A page that was young when somebody else locked a release of a minute ago.
#[test]
fn a_page_of_the_cache_does_not_hide_what_the_lock_names() {
    let index = FakeIndex::from_published(&two());
    let (here, other) = (Here::new(&index, "bb = \"*\""), Here::new(&index, "bb = \"*\""));
    index.rule("/simple/bb/", 1, Action::Status(404));
    here.run(&["lock"]).says(1, &["`bb`"]);
    other.run(&["lock"]).says(0, &[]);
    here.project.write("macml.lock", &other.project.lock().unwrap());
    here.run(&["sync", "--locked"]).says(0, &["ready"]);
}

#[test]
fn a_colon_in_the_path_is_told_before_anything_is_made() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"");
    here.run(&["lock"]).says(0, &[]);
    for file in ["macml.toml", "macml.lock"] {
        here.project.write(&format!("a:b/{file}"), &std::fs::read_to_string(here.path().join(file)).unwrap());
    }
    for words in [&["-C", "a:b", "sync"][..], &["-C", "a:b", "sync", "--check"], &["-C", "a:b", "run", "python"]] {
        here.run(words)
            .says(2, &["a:b`: its path holds a `:`, at which PATH is cut", "hint: give the project's folder"]);
    }
    assert!(!here.path().join("a:b/.macml").exists());
}

#[test]
fn failures_are_told_to_programs_too() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"");
    let told = |words: &[&str], schema: &str, code: i32, part: &str| {
        let run = here.run(&[words, &["--output-format", "json"]].concat());
        assert_eq!(run.code, code, "{words:?}: {}{}", run.stdout, run.stderr);
        let json = run.json_as(schema);
        let message = json["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(part) && json["exit-code"] == code, "{words:?}: {json}");
    };
    let (sync, env) = ("sync.schema.json", "env.schema.json");
    told(&["bundle"], "bundle.schema.json", 1, "there is no `macml.lock`");
    told(&["sync", "--frozen"], sync, 1, "there is no `macml.lock`");
    told(&["sync", "--env", "tf"], sync, 2, "no environment `tf`");
    told(&["env", "rollback"], env, 1, "no generation before");
    told(&["env", "remove", "tf"], env, 2, "no environment `tf`");
    here.run(&["lock"]).says(0, &[]);
    told(&["sync", "--from", "absent"], sync, 2, "there is no folder `");
    told(&["sync", "--offline"], sync, 2, "aa-1.0-py3-none-any.whl");
    told(&["sync", "--python", "/absent"], sync, 1, "/absent");
    told(&["sync", "--target", ".", "--platform", super::platform()], sync, 2, "was not staged by macml");
    told(&["bundle", "."], "bundle.schema.json", 2, "is the project itself");
    std::fs::remove_dir_all(here.path().join(".macml")).unwrap();
    here.project.write(".macml", "mine");
    told(&["sync"], sync, 2, "is a file, where macml keeps environments");
    here.project.write(".venv", "mine");
    told(&["sync"], sync, 2, "is not macml's");
    told(&["env", "remove", "default"], env, 1, "not all of it was removed");
    here.project.write("macml.lock", "version = 99\n");
    told(&["sync"], sync, 2, "newer macml");
    here.project.write("macml.toml", "[");
    for (words, schema) in [(&["sync"][..], sync), (&["env", "list"], env), (&["bundle"], "bundle.schema.json")] {
        told(words, schema, 2, "in `macml.toml`");
    }
    here.project.write("file", "");
    told(&["cache", "clean", "--cache-dir", "file"], "cache.schema.json", 0, "");
}

#[test]
fn what_stands_in_the_way_is_told_with_what_to_do() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"");
    here.project.write(".macml", "mine");
    here.run(&["sync"]).says(2, &[".macml` is a file, where macml keeps environments", "hint: move it away"]);
    here.run(&["env", "list"]).says(0, &["default: not built"]);
    here.run(&["env", "remove", "--all"]).says(0, &["no environment is built"]);
    std::fs::remove_file(here.path().join(".macml")).unwrap();
    here.sync();
    // A stamp that is none is that of an environment that is not whole.
    let stamp = here.generation().join("macml-stamp.json");
    std::fs::remove_file(&stamp).unwrap();
    std::fs::create_dir(&stamp).unwrap();
    here.run(&["env", "list"]).says(0, &["leads to nothing: `macml sync` builds it"]);
    here.sync().says(0, &["ready"]);
    // One that a clone brought may say anything.
    let stamp = here.generation().join("macml-stamp.json");
    let mut said: serde_json::Value = serde_json::from_slice(&std::fs::read(&stamp).unwrap()).unwrap();
    said["built"] = u64::MAX.into();
    std::fs::write(&stamp, said.to_string()).unwrap();
    for roots in ["bb = \"*\"", "aa = \"*\"", "bb = \"*\""] {
        here.depend(roots);
        here.sync().says(0, &["ready"]);
    }
}

/// A Mac that cannot carry what is locked is told so before anything is downloaded.
#[test]
fn a_mac_below_the_floor() {
    let index = FakeIndex::from_published(&two());
    let project = Project::asking(&index, "14.0", ">=3.11,<3.14", "[dependencies]\naa = \"*\"\n");
    let host = |name: &str| format!("{}/tests/hosts/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let run = |name: &str| project.run(&["sync", "--host", &host(name)]);
    run("m1-macos13").says(
        1,
        &["this Mac has macOS 13.6.9, and environment `default` is locked for 14.0 and later", "hint: update macOS"],
    );
    run("m2-rosetta").says(1, &["runs under Rosetta"]);
    run("intel").says(1, &["Intel processor"]);
    assert_eq!(index.files().iter().filter(|one| one.path.ends_with(".whl")).count(), 0);
    // One that fits goes on to its Python, which this machine does not have.
    if cfg!(target_os = "linux") {
        run("m3-max-macos15").says(1, &["needs a Python that this machine"]);
    }
    assert!(!project.path().join(".venv").exists());
}

#[test]
fn a_lock_that_cannot_be_used() {
    let index = FakeIndex::from_published(&two());
    let here = Here::new(&index, "aa = \"*\"");
    here.project.write("macml.lock", "<<<<<<< ours\nversion = 1\n=======\n>>>>>>> theirs\n");
    here.run(&["sync", "--frozen"]).says(2, &["`macml.lock` cannot be used as it is", "`macml lock`"]);
    here.run(&["sync", "--locked"]).says(1, &["`macml.lock` cannot be used as it is"]);
    here.sync().says(0, &["conflict markers", "macml.lock written", "ready"]);
    std::fs::write(here.path().join("macml.lock"), b"version = 1\n\xff\xfe\n").unwrap();
    here.run(&["sync", "--frozen"]).says(2, &["`macml.lock` cannot be used as it is", "`macml lock`"]);
    here.sync().says(0, &["`macml.lock` is damaged", "solving afresh", "unchanged"]);
    Project::empty().run(&["sync"]).says(2, &["macml.toml"]);
}

#[test]
fn words_that_do_not_go_together() {
    let project = Project::new("");
    project.run(&["sync", "--locked", "--frozen"]).says(2, &["cannot be used with"]);
    project.run(&["sync", "--target", "x"]).says(2, &["--platform"]);
    project.run(&["sync", "--all", "--env", "x"]).says(2, &["cannot be used with"]);
    project.run(&["sync", "--macos", "15.0"]).says(2, &["--target"]);
}

/// Runs a sync with a small volume mounted at a folder of the project; `None` where none can be mounted.
fn on_a_small_volume(here: &Here, folder: &str, size: &str, words: &[&str]) -> Option<(i32, String)> {
    let able = Command::new("unshare").args(["-rm", "true"]).output();
    if !able.is_ok_and(|output| output.status.success()) {
        eprintln!("no volumes can be mounted here");
        return None;
    }
    let script = format!("mount -t tmpfs -o size={size} tmpfs \"$0\" && exec \"$@\"");
    let inner = here.command(&[&["sync"], words].concat());
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", &script]).arg(here.path().join(folder)).arg(inner.get_program());
    command.args(inner.get_args()).current_dir(here.path()).env_clear();
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    let output = command.output().unwrap();
    Some((output.status.code().unwrap(), super::said(&output)))
}

/// R23: a full disk is told with what is needed, what is free and on which volume, and nothing was removed.
#[test]
fn r23_a_full_disk() {
    let text = "all work and no play makes jack a dull boy\n".repeat(1400);
    let mut packed = with_files(&[], &[]);
    packed.files.extend((0..60).map(|at| (format!("packed/f{at}.txt"), format!("{at}\n{text}"))));
    let large = Rel { filling: 3 << 20, ..Rel::default() };
    let index =
        FakeIndex::from_published(&two().with_release("packed", "1.0", packed).with_release("large", "1.0", large));
    let here = Here::new(&index, "aa = \"*\"");
    here.sync();
    let before = here.generation();
    std::fs::create_dir(here.path().join("small")).unwrap();
    let check = |root: &str, folder: &str, words: &[&str], parts: &[&str]| {
        here.depend(root);
        here.run(&["lock"]).says(0, &[]);
        let Some((code, said)) = on_a_small_volume(&here, folder, "2m", words) else { return };
        assert_eq!(code, 2, "{said}");
        for part in [parts, &[" needed, ", " free on the volume `", folder]].concat() {
            assert!(said.contains(part), "`{part}` is not in\n{said}");
        }
        assert_eq!(here.generation(), before);
        packages(&before, &site());
    };
    let cache = ["--cache-dir", "small"];
    check("large = \"*\"", "small", &cache, &["no space for downloads: 3.1 MB"]);
    check("packed = \"*\"", "small", &cache, &["no space for unpacking `packed-1.0-py3-none-any.whl`: 3.6 MB"]);
    // What would be copied is known before the first file is: all of the volume is free still.
    check("packed = \"*\"", ".macml", &[], &["no space for the environment: 3.6 MB needed, 2."]);
    // What half of the tree takes is not what was free.
    let store = "small/.macml/env/default";
    std::fs::create_dir_all(here.path().join(store)).unwrap();
    for file in ["macml.toml", "macml.lock"] {
        std::fs::copy(here.path().join(file), here.path().join("small").join(file)).unwrap();
    }
    let there = ["-C", "small"];
    check(
        "packed = \"*\"",
        store,
        &there,
        &["no space for the environment: 3.", " needed, 2.0 MB free", "hint: make room"],
    );
}
