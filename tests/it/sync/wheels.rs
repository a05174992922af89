//! What wheels bring, in an environment: commands, scripts, data, headers, `.pth`; wheels that cannot be together; wheels
//! that are not what was locked.

use std::process::Command;

use super::Here;
use super::names;
use super::packages;
use super::site;
use super::with_files;
use crate::support::published::Published;
use crate::support::published::Rel;
use crate::support::server::FakeIndex;
use crate::support::wheel;

fn tool() -> Rel {
    with_files(
        &[],
        &[
            ("tool/__init__.py", "import sys\n\ndef main():\n    print('tool in', sys.prefix)\n    return 3\n"),
            ("tool/__main__.py", "print('run as a module')\n"),
            ("tool-paths.pth", "import sys; sys.from_pth = True\n"),
            ("{info}/entry_points.txt", "[console_scripts]\ntool = tool:main\n"),
            ("{data}/scripts/scripted", "#!python\nimport tool, sys\nprint('script', sys.argv[1:])\n"),
            ("{data}/data/share/tool/words.txt", "words\n"),
            ("{data}/headers/tool.h", "#define TOOL 1\n"),
        ],
    )
}

fn command(here: &Here, name: &str, words: &[&str]) -> (i32, String) {
    let output = Command::new(here.path().join(".venv/bin").join(name)).args(words).output().unwrap();
    (output.status.code().unwrap(), super::said(&output))
}

#[test]
fn commands_scripts_data_and_what_says_who_installed_it() {
    let index = FakeIndex::from_published(&Published::default().with_release("tool", "1.0", tool()));
    let here = Here::new(&index, "tool = \"*\"");
    here.sync();
    let venv = here.path().join(".venv");
    assert_eq!(command(&here, "tool", &[]), (3, format!("tool in {}\n", venv.display())));
    assert_eq!(command(&here, "scripted", &["a b"]), (0, "script ['a b']\n".to_owned()));
    assert_eq!(here.python("import sys; print(sys.from_pth)"), "True");
    let root = here.generation();
    assert_eq!(std::fs::read_to_string(root.join("share/tool/words.txt")).unwrap(), "words\n");
    let header = root.join(format!("include/site/python{}/tool/tool.h", crate::support::python::python().1));
    assert_eq!(std::fs::read_to_string(header).unwrap(), "#define TOOL 1\n");
    let info = here.site().join("tool-1.0.dist-info");
    assert_eq!(std::fs::read_to_string(info.join("INSTALLER")).unwrap(), "macml\n");
    assert_eq!(std::fs::read_to_string(info.join("REQUESTED")).unwrap(), "");
    assert!(!info.join("direct_url.json").exists());
    assert_eq!(packages(&root, &site()), names(&["tool-1.0"]));
    // Commands name the link, so that they serve whichever generation it leads to.
    let text = std::fs::read_to_string(root.join("bin/tool")).unwrap();
    assert!(text.starts_with(&format!("#!{}/bin/python\n", venv.display())), "{text}");
    let listed = command(&here, "pip", &["list", "--format", "freeze"]);
    assert_eq!(listed, (0, "tool==1.0\n".to_owned()));
    let activated =
        Command::new("sh").arg("-c").arg(". \"$0\" && tool").arg(venv.join("bin/activate")).output().unwrap();
    assert!(super::said(&activated).contains("tool in "), "{}", super::said(&activated));
}

/// R22: a blank and letters of other scripts in the project's path.
#[test]
fn r22_a_space_in_the_path() {
    let index = FakeIndex::from_published(&Published::default().with_release("tool", "1.0", tool()));
    let here = Here::new(&index, "");
    for accent in ["é", "e\u{301}"] {
        let folder = format!("Application Support/実験 {accent}/it's \"here\"");
        here.project.write(&format!("{folder}/macml.toml"), &super::manifest("tool = \"*\""));
        here.run(&["sync", "-C", &folder]).says(0, &[".venv ready: 1 package"]);
        here.run(&["sync", "-C", &folder]).says(0, &[".venv unchanged"]);
        let bin = here.path().join(&folder).join(".venv/bin");
        for (name, code) in [("tool", 3), ("scripted", 0), ("pip", 0)] {
            let output = Command::new(bin.join(name)).arg("list").output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{name}: {}", super::said(&output));
        }
        packages(&here.path().join(&folder).join(".venv"), &site());
    }
}

#[test]
fn the_projects_own_folders_are_on_the_import_path() {
    let index = FakeIndex::from_published(&super::two());
    let here = Here::new(&index, "aa = \"*\"");
    let text = super::manifest("aa = \"*\"").replace("name = \"made\"", "name = \"made\"\npaths = [\"src\", \"gone\"]");
    here.project.write("macml.toml", &text);
    here.project.write("src/own/__init__.py", "print('own')\n");
    let run = here.sync();
    run.says(0, &["warning: there is no folder `gone`, which `paths` in macml.toml names", ".venv ready"]);
    assert_eq!(here.python("import own"), "own");
    here.sync().says(0, &["unchanged"]);
}

#[test]
fn a_wheel_by_path_says_where_it_came_from() {
    let index = FakeIndex::from_published(&super::two());
    let built = &wheel::build("mine", "1.0", &Rel::default())[0];
    let here = Here::new(&index, "mine = { path = \"vendor/mine-1.0-py3-none-any.whl\" }\naa = \"*\"");
    std::fs::create_dir(here.path().join("vendor")).unwrap();
    let path = here.path().join("vendor").join(&built.filename);
    std::fs::write(&path, &built.bytes).unwrap();
    here.sync().says(0, &["ready: 3 packages"]);
    let text = std::fs::read_to_string(here.site().join("mine-1.0.dist-info/direct_url.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["url"], format!("file://{}", path.display()));
    packages(&here.generation(), &site());
    here.sync().says(0, &["unchanged"]);
    // Another file under that name: the lock is stale.
    let other = &wheel::build("mine", "1.0", &with_files(&[], &[("mine/new.py", "")]))[0];
    std::fs::write(&path, &other.bytes).unwrap();
    here.run(&["sync", "--locked"]).says(1, &["does not answer"]);
    here.sync().says(0, &["macml.lock written", "ready"]);
    assert!(here.site().join("mine/new.py").exists());
}

/// R07: a file that moves from one package to another is there afterwards.
#[test]
fn r07_a_library_that_moves_to_another_package() {
    let library = |name: &'static str, text: &'static str| with_files(&[], &[(name, text)]);
    let mut old = library("mlx/lib/libmlx.dylib", "old");
    old.files.insert("mlx/core.py".to_owned(), "library = 'old'\n".to_owned());
    let mut new = library("mlx/core.py", "library = 'new'\n");
    new.requires.push("mlx-metal".to_owned());
    let published = Published::default()
        .with_release("mlx", "0.26.3", old)
        .with_release("mlx", "0.26.5", new)
        .with_release("mlx-metal", "0.26.5", library("mlx/lib/libmlx.dylib", "new"));
    let index = FakeIndex::from_published(&published);
    let here = Here::new(&index, "mlx = \"==0.26.3\"");
    here.sync();
    assert_eq!(std::fs::read_to_string(here.site().join("mlx/lib/libmlx.dylib")).unwrap(), "old");
    here.depend("mlx = \"==0.26.5\"");
    here.sync().says(0, &[" ~ mlx 0.26.3 -> 0.26.5", " + mlx-metal 0.26.5"]);
    assert_eq!(std::fs::read_to_string(here.site().join("mlx/lib/libmlx.dylib")).unwrap(), "new");
    assert_eq!(packages(&here.generation(), &site()), names(&["mlx-0.26.5", "mlx_metal-0.26.5"]));
    here.depend("mlx = \"==0.26.3\"");
    here.sync().says(0, &[" - mlx-metal 0.26.5"]);
    packages(&here.generation(), &site());
}

/// R07, second input: a file that a RECORD names is gone. That is no longer what was built.
#[test]
fn r07_a_missing_package_is_seen_and_made_good() {
    let index = FakeIndex::from_published(&super::two());
    let here = Here::new(&index, "aa = \"*\"");
    here.sync();
    std::fs::remove_dir_all(here.site().join("bb")).unwrap();
    here.run(&["sync", "--check"]).says(1, &["is not as locked"]);
    here.sync().says(0, &["ready"]);
    packages(&here.generation(), &site());
}

/// R16: a file without a hash on its page is locked with one all the same, and installed.
#[test]
fn r16_a_file_without_a_hash_on_its_page() {
    let index = FakeIndex::from_published(&super::two());
    index.behave(|behaviour| {
        behaviour.unhashed_files.insert("bb-2.0-py3-none-any.whl".to_owned());
    });
    let here = Here::new(&index, "bb = \"*\"");
    here.sync();
    assert!(here.project.lock().unwrap().contains("sha256 = \""));
    packages(&here.generation(), &site());
}

/// R16: other bytes under the locked name, on another index.
#[test]
fn r16_other_bytes_under_one_name() {
    let (first, other) = (FakeIndex::from_published(&super::two()), Published::default());
    let other =
        other.with("aa", "1.0", &["bb"]).with_release("bb", "2.0", with_files(&[], &[("bb/other.py", "x = 1\n")]));
    let other = FakeIndex::from_published(&other);
    let here = Here::new(&first, "aa = \"*\"");
    here.run(&["lock"]).says(0, &[]);
    let mirrors = other.url().to_string();
    let vars = [("MACML_MIRROR", &*mirrors), ("MACML_CACHE_DIR", "other-cache")];
    let run = here.run_with(&vars, &["sync"]);
    run.says(
        1,
        &[
            "`bb-2.0-py3-none-any.whl` could not be had as locked",
            "sha256",
            "lists another file of that name",
            "it was replaced, or the lock was made from another index",
            "`macml lock -P bb`",
        ],
    );
    assert!(!here.path().join(".venv").exists());
    // The page tells the truth, and other bytes come.
    first.behave(|behaviour| {
        behaviour.altered_files.insert("bb-2.0-py3-none-any.whl".to_owned());
    });
    let run = here.run(&["sync", "--cache-dir", "third-cache"]);
    run.says(1, &["could not be had as locked", "though its page lists the locked one"]);
    assert!(!here.path().join(".venv").exists());
}

#[test]
fn wheels_that_own_one_path() {
    let own = |text: &'static str| with_files(&[], &[("shared/data.txt", text), ("shared/__init__.py", "")]);
    let published = Published::default()
        .with_release("one", "1.0", own("1"))
        .with_release("same", "1.0", own("1"))
        .with_release("other", "1.0", own("2"));
    let index = FakeIndex::from_published(&published);
    let here = Here::new(&index, "one = \"*\"\nsame = \"*\"");
    here.sync();
    let before = here.generation();
    let both = "one = \"*\"\nsame = \"*\"\nother = \"*\"";
    here.depend(both);
    here.run(&["sync"]).says(
        1,
        &[
            "both own",
            "shared/data.txt`, with different bytes",
            "`one-1.0-py3-none-any.whl`",
            "`other-1.0-py3-none-any.whl`",
            "allow-overlap",
        ],
    );
    assert_eq!(here.generation(), before);
    here.depend(&format!("{both}\n[resolution]\nallow-overlap = [\"shared/data.txt\"]"));
    here.sync().says(0, &["ready: 3 packages"]);
    assert_eq!(packages(&here.generation(), &site()).len(), 3);
}

#[test]
fn a_wheel_that_lies_is_refused_and_the_old_environment_stays() {
    let evil = with_files(&[], &[("{data}/scripts/../../../../evil", "x")]);
    let index = FakeIndex::from_published(&super::two().with_release("bb", "3.0", evil));
    let here = Here::new(&index, "bb = \"<3\"");
    here.sync();
    let before = here.generation();
    here.depend("bb = \">=3\"");
    here.run(&["sync"]).says(1, &["`bb-3.0-py3-none-any.whl`", "evil"]);
    assert_eq!(here.generation(), before);
    packages(&before, &site());
}

/// Somebody edits a file of one environment that is a hard link; another project must not get the edit.
#[test]
fn an_edit_through_a_hard_link_does_not_spread() {
    let index = FakeIndex::from_published(&super::two());
    let (first, second) = (Here::new(&index, "aa = \"*\""), Here::new(&index, "aa = \"*\""));
    let cache = first.path().join("cache").display().to_string();
    let vars = [("MACML_CACHE_DIR", &*cache)];
    first.run_with(&vars, &["sync", "--link-mode", "hardlink"]).says(0, &["ready"]);
    let path = first.site().join("bb/__init__.py");
    std::fs::write(&path, "raise SystemExit('edited')\n").unwrap();
    let run = second.run_with(&vars, &["sync", "--link-mode", "hardlink"]);
    run.says(0, &["note: the cached `bb-2.0-py3-none-any.whl` was changed by somebody", "ready"]);
    assert_eq!(second.python("import aa, bb; print(bb.__version__)"), "2.0");
    packages(&second.generation(), &site());
    // What was edited stays edited where it was edited.
    assert!(std::fs::read_to_string(path).unwrap().contains("edited"));
}

#[test]
fn files_are_linked_as_asked() {
    use std::os::unix::fs::MetadataExt as _;
    let index = FakeIndex::from_published(&super::two());
    let here = Here::new(&index, "bb = \"*\"");
    let links = |words: &[&str], vars: &[(&str, &str)]| {
        let _ = std::fs::remove_dir_all(here.path().join(".macml"));
        here.run_with(vars, &[&["sync"], words].concat()).says(0, &["ready"]);
        std::fs::metadata(here.site().join("bb/__init__.py")).unwrap().nlink()
    };
    assert_eq!(links(&["--link-mode", "copy"], &[]), 1);
    assert_eq!(links(&["--link-mode", "hardlink"], &[]), 2);
    assert_eq!(links(&[], &[("MACML_LINK_MODE", "copy")]), 1);
    here.run(&["sync", "--link-mode", "symlink"]).says(2, &["`symlink` is not a link mode"]);
    here.run_with(&[("MACML_LINK_MODE", "x")], &["sync"]).says(2, &["MACML_LINK_MODE: `x` is not a link mode"]);
}

#[test]
fn modules_are_compiled_when_asked() {
    let broken =
        with_files(&[], &[("bad/__init__.py", "x = \n"), ("bad/good.py", "def f():\n    return f.__code__\n")]);
    let index = FakeIndex::from_published(&super::two().with_release("bad", "1.0", broken));
    let here = Here::new(&index, "aa = \"*\"");
    here.sync();
    here.run(&["sync", "--compile"]).says(0, &["ready"]);
    let cached = super::walk(&here.site()).into_iter().filter(|path| path.extension().is_some_and(|end| end == "pyc"));
    assert_eq!(cached.filter(|path| path.to_string_lossy().contains("/bb/")).count(), 1);
    let file = here.python(
        "import bb, marshal, importlib.util as u; p = u.cache_from_source(bb.__file__); \
                            print(marshal.loads(open(p, 'rb').read()[16:]).co_filename)",
    );
    assert_eq!(file, here.path().join(".venv").join(site()).join("bb/__init__.py").display().to_string());
    // One that is compiled will do for those who do not ask.
    here.sync().says(0, &["unchanged"]);
    here.run(&["sync", "--compile"]).says(0, &["unchanged"]);
    here.depend("bad = \"*\"");
    here.run(&["sync", "--compile"]).says(0, &["warning: not every module could be compiled: ", "ready"]);
}
