//! What findings come to: exit codes, `--deny`, `--allow`, `--strict`, and what is an error only to whoever checks.

use macml::index::builtin;

use crate::support::project::Project;
use crate::support::published::Published;
use crate::support::published::Rel;
use crate::support::server::FakeIndex;
use crate::support::wheel;

fn offline(project: &Project, words: &[&str]) -> crate::support::project::Run {
    project.run(&[&["check", "--offline"], words].concat())
}

/// The lock that an older macml would have written, which did not know the rule: torch 2.15 and the GPU of macOS 14.
#[test]
fn what_became_known_after_locking_fails_nothing_unless_it_is_denied() {
    let rel = Rel { wheel_tags: vec!["cp313-cp313-macosx_14_0_arm64".to_owned()], ..Rel::default() };
    let published = Published::default().with_release("torch", "2.14.1", rel.clone());
    let index = FakeIndex::from_published(&published.with_release("torch", "2.15.0", rel));
    let project = Project::asking(&index, "14.0", "==3.13.*", "[dependencies]\ntorch = \"*\"\n").requiring_the_gpu();
    project.run(&["lock"]).says(0, &[]);
    let lock = project.lock().unwrap();
    assert!(lock.contains("torch 2.14.1"), "{lock}");
    project.write("macml.lock", &lock.replace("2.14.1", "2.15.0"));

    let news = "[newly-known]: by what is known now this set does not work: `torch` 2.15.0 needs macOS >=15.0";
    let warning = format!("warning{news}");
    offline(&project, &[]).says(0, &[&warning, "`macml lock -P torch` solves with it", "check passed: "]);
    offline(&project, &["--strict"]).says(1, &[&warning, "(--strict)"]);
    offline(&project, &["--deny", "newly-known"]).says(1, &[&format!("error{news}"), "check failed: 1 error"]);
    let allowed = offline(&project, &["--allow", "newly-known", "-v"]);
    allowed.says(0, &[&format!("note{news}")]);
    let word = |words: &[&str]| {
        let json = offline(&project, &[words, &["--output-format", "json"]].concat()).json_as("check.schema.json");
        (json["verdict"].as_str().unwrap().to_owned(), json["exit-code"].as_u64().unwrap())
    };
    assert_eq!(word(&[]), ("ok".to_owned(), 0));
    assert_eq!(word(&["--strict"]), ("strict".to_owned(), 1));
    assert_eq!(word(&["--deny", "newly-known"]), ("condemned".to_owned(), 1));
    // Whoever asks about a Mac is answered; the lowest is judged all the same, and comes first.
    let asked = offline(&project, &["--on", "m5,26.0", "--on", "m1,14.0"]);
    asked.says(1, &["error[known-conflict]", "for m5, macOS 26.0 (--on)", "for m1, macOS 14.0 (--on)"]);
    let at = |text: &str| asked.stdout.find(text).unwrap_or_else(|| panic!("{}", asked.stdout));
    assert!(at("(the floor)") < at("macOS 26.0 (--on)"), "{}", asked.stdout);
    assert_eq!(word(&["--on", "m5,26.0"]), ("ok".to_owned(), 0));
}

/// Bug report R17, for whoever checks: a wheel that only its maintainer has.
#[test]
fn a_wheel_outside_the_project_fails() {
    let own = wheel::build("own", "1.0", &Rel::default()).remove(0);
    let outer = Project::empty();
    std::fs::write(outer.path().join(&own.filename), &own.bytes).unwrap();
    outer.write(
        "inner/macml.toml",
        &format!(
            "[target]\nchip = \"m1\"\nmacos = \"14.0\"\ngpu = \"optional\"\npython = \"==3.13.*\"\n\
             [dependencies]\nown = {{ path = \"../{}\" }}\n",
            own.filename
        ),
    );
    let run = |words: &[&str]| outer.run(&[&["-C", "inner"], words].concat());
    run(&["lock", "--offline"]).says(0, &["warning[path-outside-project]"]);
    let error = format!("error[path-outside-project]: `../{}` is outside the project", own.filename);
    let check = run(&["check", "--offline"]);
    check.says(1, &[&error, "macml.lock    current, 1 environment", "check failed: 1 error"]);
    let json = run(&["check", "--offline", "--output-format", "json"]).json_as("check.schema.json");
    assert_eq!((&json["verdict"], &json["parts"][0]["verdict"]), (&"denied".into(), &"current".into()));
    run(&["check", "--offline", "--allow", "path-outside-project"]).says(0, &["macml.lock    current"]);
}

/// The same of other tools' locks: what `pip freeze` and uv write of a wheel or folder by path.
#[test]
fn what_a_foreign_lock_takes_from_outside_fails() {
    let sha256 = "1".repeat(64);
    let torch = "torch-2.12.0rc3+m5max-cp313-cp313-macosx_26_0_arm64.whl";
    let uv = |source: &str, wheels: &str| {
        format!(
            "version = 1\nrevision = 3\nrequires-python = \">=3.13\"\n\n\
             [[package]]\nname = \"demo\"\nversion = \"0.1.0\"\nsource = {{ virtual = \".\" }}\n\
             dependencies = [{{ name = \"torch\" }}]\n\n\
             [[package]]\nname = \"torch\"\nversion = \"2.12.0rc3+m5max\"\nsource = {{ {source} }}\n{wheels}"
        )
    };
    let wheels = format!("wheels = [{{ filename = \"{torch}\", hash = \"sha256:{sha256}\" }}]\n");
    let listed = |place: &str| format!("torch @ file://{place}/{torch} --hash=sha256:{sha256}\n");
    let check = |name: &str, text: &str, outside: Option<&str>| {
        let project = Project::empty();
        project.write(name, &text.replace("[HERE]", project.path().to_str().unwrap()));
        let words = ["--lock", name, "--macos", "26.0", "--python", "3.13", "--gpu", "optional"];
        let run = offline(&project, &words);
        let Some(outside) = outside else {
            run.never_says(&["path-outside-project"]);
            return;
        };
        let error = format!("error[path-outside-project]: `torch` 2.12.0rc3+m5max comes from `{outside}`");
        run.says(1, &[&error, "unfit, 1 package", "keep it inside the project"]);
        let json = offline(&project, &[&words[..], &["--output-format", "json"]].concat());
        let json = json.json_as("check.schema.json");
        let finding = &json["parts"][0]["findings"][0];
        assert_eq!((&json["verdict"], &finding["package"]), (&"unfit".into(), &"torch".into()));
        assert!(finding["line"].as_u64().is_some(), "{finding:#}");
        let allowed = offline(&project, &[&words[..], &["--allow", "path-outside-project"]].concat());
        assert!(allowed.stdout.contains("readable, 1 package"), "{}", allowed.stdout);
    };
    check("requirements.txt", &listed("/Users/dev/ai"), Some(&format!("/Users/dev/ai/{torch}")));
    check("requirements.txt", &listed("[HERE]/vendor"), None);
    let path = |path: &str| uv(&format!("path = \"{path}/{torch}\""), &wheels);
    check("uv.lock", &path("../ai"), Some(&format!("../ai/{torch}")));
    check("uv.lock", &path("/Users/dev/ai"), Some(&format!("/Users/dev/ai/{torch}")));
    check("uv.lock", &path("vendor/../vendor"), None);
    check("uv.lock", &uv("directory = \"/Users/dev/torch\"", ""), Some("/Users/dev/torch"));
    check("uv.lock", &uv("directory = \"../torch\"", ""), None);
}

/// Bug report R12: a lock made with the index for processors, which has the release for Linux and Windows only.
#[test]
fn a_release_that_has_no_wheel_for_macs_is_named_with_those_it_has() {
    let wheel = |tag: &str| {
        format!(
            "    {{ url = \"https://files.example/torch-2.4.1%2Bcpu-cp311-cp311-{tag}.whl\", hash = \"sha256:{}\" }},\n",
            "1".repeat(64)
        )
    };
    let lock = format!(
        "version = 1\nrevision = 3\nrequires-python = \">=3.11\"\n\n\
         [[package]]\nname = \"demo\"\nversion = \"0.1.0\"\nsource = {{ virtual = \".\" }}\n\
         dependencies = [{{ name = \"torch\" }}]\n\n\
         [[package]]\nname = \"torch\"\nversion = \"2.4.1+cpu\"\nsource = {{ registry = \"{}\" }}\n\
         wheels = [\n{}{}]\n",
        builtin::index("pypi").unwrap(),
        wheel("linux_x86_64"),
        wheel("win_amd64"),
    );
    let project = Project::empty();
    project.write("uv.lock", &lock);
    let run = offline(&project, &["--lock", "uv.lock", "--macos", "14.0", "--python", "3.11"]);
    run.says(
        1,
        &[
            "uv.lock       unfit, 1 package",
            "error[lock-unfit]: `torch` 2.4.1+cpu: no wheel for arm64 Macs",
            "its wheels are for `linux_x86_64`, `win_amd64`",
            "not looked at: 1 of 1 package has no wheel to read",
        ],
    );
    // It is not said to be built, nor that it could be fetched.
    run.never_says(&["`torch` is built", "`--wheels` fetches"]);
}

/// Bug report R11: a lock that does not answer its manifest is said to be stale, and nothing is solved in its place.
#[test]
fn a_stale_lock_fails_with_and_without_a_network() {
    let published = Published::default().with("a", "1.0", &[]).with("a", "2.0", &[]);
    let index = FakeIndex::from_published(&published);
    let project = Project::asking(&index, "14.0", "==3.13.*", "[dependencies]\na = \"<2\"\n");
    project.run(&["lock"]).says(0, &[]);
    let lock = project.lock();
    let toml = std::fs::read_to_string(project.path().join("macml.toml")).unwrap();
    project.write("macml.toml", &toml.replace("a = \"<2\"", "a = \">=2\""));
    for words in [&["check"][..], &["check", "--offline"]] {
        project.run(words).says(
            1,
            &["macml.lock    stale", "error[lock-stale]: `macml.lock` does not answer `macml.toml`", "`macml lock`"],
        );
        assert_eq!(project.lock(), lock);
    }
    std::fs::remove_file(project.path().join("macml.lock")).unwrap();
    offline(&project, &[]).says(1, &["error[lock-missing]"]);
    std::fs::remove_file(project.path().join("macml.toml")).unwrap();
    offline(&project, &[]).says(2, &["no `macml.toml`"]);
}

/// Bug report R11: withdrawn after it was locked.
#[test]
fn a_release_that_was_withdrawn_is_told_by_its_index() {
    let published = |reason: Option<&str>| {
        let rel = Rel { yanked: reason.map(str::to_owned), ..Rel::default() };
        Published::default().with_release("transformers", "4.57.0", rel).with("b", "1.0", &[])
    };
    let index = FakeIndex::from_published(&published(None));
    let lines = "[dependencies]\ntransformers = \"==4.57.0\"\nb = \"*\"\n";
    let project = Project::asking(&index, "14.0", "==3.13.*", lines);
    project.run(&["lock"]).says(0, &[]);
    project.run(&["check", "--index"]).says(0, &["index         offered: 2 files"]);
    let withdrawn = FakeIndex::from_published(&published(Some("broken on import")));
    let mirror = withdrawn.url().to_string();
    let run = project.run_with(&[("MACML_MIRROR", mirror.as_str()), ("HOME", "/nowhere")], &["check", "--index"]);
    run.says(1, &["index         not offered", "transformers", "broken on import"]);
    run.never_says(&["`b` 1.0"]);
}

/// A requirements file whose remarks are Chinese, as it is read whole, in each encoding that editors leave behind.
#[test]
fn r14_a_requirements_file_with_its_own_grammar() {
    let hash = |digit: &str| digit.repeat(64);
    let text = format!(
        "pandas #可选,仅音频需要\nnumpy>=1.26 \\\n    --hash=sha256:{} \\\n    # via scipy\n\
         Pillow >= 10 ; sys_platform==\"darwin\"   # keep\n-r extra/额外.txt\n\
         https://example.test/a%20b/pkg-1.0-py3-none-any.whl#sha256={}\n",
        hash("a"),
        hash("b")
    );
    let project = Project::empty();
    project.write("extra/额外.txt", "scipy>=1.15 # 科学计算\n");
    let check = |name: &str| offline(&project, &["--lock", name, "--macos", "14.0", "--python", "3.12", "-v"]);
    for (name, text) in [("plain.txt", text.clone()), ("bom.txt", format!("\u{feff}{}", text.replace('\n', "\r\n")))] {
        project.write(name, &text);
        let run = check(name);
        let first = format!("--> {name}:1:1");
        run.says(0, &["4 requirements are not pinned to one version, the first of them `pandas`", &first]);
        run.says(
            0,
            &["`pillow` has no hash", "`scipy` has no hash", "line 1 of `", "extra/额外.txt`", "never read: `pkg`"],
        );
        // The hash of numpy belongs to it, and the fragment of an address is no comment.
        for never in ["`numpy` has no hash", "`pkg` has no hash"] {
            assert!(!run.stdout.contains(never), "{}", run.stdout);
        }
    }
    project.write("bad.txt", &format!("{text}pandas#x\n"));
    check("bad.txt").says(2, &["bad.txt`, line 8: `pandas#x` is not a dependency specifier"]);
}
