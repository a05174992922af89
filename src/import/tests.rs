//! Lines with what they come to; all of it made up.

use std::collections::BTreeMap;

use super::*;
use crate::target::MacosVersion;

fn imported(files: &[(&str, &str)]) -> Result<Imported, Error> {
    let files: BTreeMap<PathBuf, String> =
        files.iter().map(|(name, text)| (PathBuf::from(name), (*text).to_owned())).collect();
    let first = files.keys().find(|path| path.ends_with("requirements.txt") || path.ends_with("pyproject.toml"));
    let first =
        first.or_else(|| files.keys().find(|path| path.ends_with("environment.yml") || path.ends_with("uv.lock")));
    let first = first.expect("one of the two").clone();
    let mut read = |path: &Path| files.get(path).cloned().ok_or_else(|| "there is no such file".to_owned());
    import(&first, &Machines::macs(MacosVersion::new(14, 0)), &mut read)
}

fn of(text: &str) -> Imported {
    imported(&[("requirements.txt", text)]).unwrap()
}

/// Writes what each line comes to, in short.
fn verdicts(imported: &Imported) -> Vec<String> {
    let short = |item: &Item| match &item.verdict {
        Verdict::Kept => format!("{} kept", item.line),
        Verdict::Translated { to, .. } => format!("{} -> {to}", item.line),
        Verdict::Dropped { .. } => format!("{} dropped", item.line),
        Verdict::Refused { .. } => format!("{} refused", item.line),
    };
    imported.items.iter().map(short).collect()
}

fn lines(imported: &Imported) -> Vec<String> {
    imported.lines.iter().map(Line::written).collect()
}

#[track_caller]
fn check(text: &str, verdict: &str, line: &str) {
    let imported = of(text);
    let all = verdicts(&imported);
    assert!(all.iter().any(|one| one == verdict), "{text}: {all:?}");
    assert_eq!(lines(&imported).join("\n"), line, "{text}");
}

/// Bug report R14, its literal input.
#[test]
fn r14_a_list_with_everything_that_its_grammar_has() {
    let text = "pandas #可选,仅音频需要\nnumpy>=1.26 \\\n    --hash=sha256:aaaa \\\n    # via scipy\nPillow >= 10 ; sys_platform==\"darwin\"   # keep\n\
                -r extra/额外.txt\nhttps://example.test/a%20b/pkg-1.0-py3-none-any.whl#sha256=bbbb\n";
    for text in [text.to_owned(), text.replace('\n', "\r\n")] {
        let imported = imported(&[("requirements.txt", &text), ("extra/额外.txt", "scipy\n")]).unwrap();
        assert_eq!(
            lines(&imported),
            [
                "numpy = \">=1.26\"",
                "pandas = \"*\"",
                "pillow = \">=10\"",
                "pkg = { url = \"https://example.test/a%20b/pkg-1.0-py3-none-any.whl\", sha256 = \"bbbb\" }",
                "scipy = \"*\"",
            ]
        );
        assert_eq!(imported.items.iter().map(|item| item.line).collect::<Vec<_>>(), [1, 2, 5, 6, 1, 7]);
        assert!(imported.notes[0].starts_with("1 hashes"), "{:?}", imported.notes);
    }
}

#[test]
fn requirements_keep_what_they_mean() {
    check("torch==1.2", "1 kept", "torch = \"==1.2\"");
    check(
        "Datasets[vision, audio]~=3.1",
        "1 kept",
        "datasets = { version = \"~=3.1\", extras = [\"audio\", \"vision\"] }",
    );
    check("a>=1,!=1.5,<2", "1 kept", "a = \">=1, !=1.5, <2\"");
    check("a ; sys_platform == 'darwin'", "1 kept", "a = \"*\"");
    check("a ; sys.platform == 'darwin'", "1 kept", "a = \"*\"");
    check("a ; sys_platform == 'win32'", "1 dropped", "");
    check("a ; 'arm' not in platform_machine", "1 dropped", "");
    check("a ; platform_machine == 'aarch64'", "1 dropped", "");
    check("a ; python_version <= '3.10'", "1 kept", "a = { version = \"*\", marker = \"python_version <= '3.10'\" }");
    // A line that no Mac uses may be as broken as it likes.
    check("torch==2.7.1${CUDA_TAG} ; sys_platform != 'darwin'", "1 dropped", "");
    check("torch==2.7.1${CUDA_TAG}", "1 refused", "");
    check("a=>1", "1 refused", "");
}

#[test]
fn what_is_for_other_machines_is_translated_or_dropped() {
    check("torch==2.8.0+cu128", "1 -> torch = \"==2.8.0\"", "torch = \"==2.8.0\"");
    check("torch>=2.4", "1 kept", "torch = \">=2.4\"");
    check("onnxruntime-gpu==1.17", "1 -> onnxruntime = \"==1.17\"", "onnxruntime = \"==1.17\"");
    check("sklearn==0.0", "1 -> scikit-learn = \"*\"", "scikit-learn = \"*\"");
    check("tensorflow-macos", "1 -> tensorflow = \"*\"", "tensorflow = \"*\"");
    check("tensorflow-macos==2.10.0", "1 kept", "tensorflow-macos = \"==2.10.0\"");
    for gone in [
        "xformers",
        "nvidia-cublas-cu12==12.1.3.1",
        "triton==3.1",
        "pywin32",
        "windows-curses ; sys_platform == 'darwin'",
    ] {
        check(gone, "1 dropped", "");
    }
    for option in
        ["--extra-index-url https://u:p@x.example/cu128", "-f https://x.example", "--no-binary=opencc", "--pre"]
    {
        let imported = of(option);
        assert_eq!(verdicts(&imported), ["1 dropped"], "{option}");
        assert!(!format!("{imported:?}").contains("u:p"), "{option}");
    }
}

#[test]
fn what_cannot_work_is_refused_and_what_is_odd_is_said() {
    check("bitsandbytes==0.41.1", "1 refused", "");
    check("bitsandbytes<0.49", "1 refused", "");
    check("bitsandbytes>=0.41", "1 kept", "bitsandbytes = \">=0.41\"");
    for refused in ["auto-gptq", "PySide2==5.15.5", "uuid"] {
        check(refused, "1 refused", "");
    }
    assert!(of("tk==0.1.0").notes[0].contains("Tkinter"));
}

/// The kernel of macOS 14 is Darwin 23: what is for older ones holds nowhere, and a marker may stand right behind a wheel.
#[test]
fn kernels_below_the_floor_are_decided() {
    let wheel = "https://example.test/x-1.0-cp311-cp311-macosx_12_0_arm64.whl";
    for marker in ["; platform_release < '22.0.0'", " ; platform_release >= '21' and platform_release < '22'"] {
        check(&format!("{wheel}{marker}"), "1 dropped", "");
    }
    check(&format!("{wheel}; platform_release >= '23.0.0'"), "1 refused", "");
}

#[test]
fn places_of_code_are_told_apart() {
    let own = |text: &str, folder: &str| {
        let imported = of(text);
        assert_eq!(imported.paths, [folder], "{text}");
        assert!(matches!(imported.items[0].verdict, Verdict::Translated { .. }), "{text}");
    };
    own("-e .", ".");
    own("\"--editable=./\"", ".");
    own("-e ./sd-scripts # remark", "sd-scripts");
    own("-e .[gui]", ".");
    for refused in [
        "-e ../[gui]",
        "/Users/dev/x",
        "git+https://example.test/x.git@main",
        "x @ git+https://example.test/x.git@0123456789012345678901234567890123456789",
        "https://example.test/x/archive/main.zip#egg=x",
        "https://example.test/x-1.0-py3-none-any.whl",
    ] {
        check(refused, "1 refused", "");
    }
    check(
        "./vendor/x-1.0-py3-none-any.whl",
        "1 -> x = { path = \"vendor/x-1.0-py3-none-any.whl\" }",
        "x = { path = \"vendor/x-1.0-py3-none-any.whl\" }",
    );
}

#[test]
fn the_same_package_is_asked_for_once() {
    check("tqdm\ntqdm\n", "2 -> tqdm = \"*\"", "tqdm = \"*\"");
    check("torch>=2.4.1\nTorch<2.7\n", "2 -> torch = \">=2.4.1, <2.7\"", "torch = \">=2.4.1, <2.7\"");
    check("torch<2\ntorch>=2.7\n", "2 refused", "torch = \"<2\"");
    check(
        "a[x]\na[y]>=1\n",
        "2 -> a = { version = \">=1\", extras = [\"x\", \"y\"] }",
        "a = { version = \">=1\", extras = [\"x\", \"y\"] }",
    );
    let several = of("accelerate==0.15.0 albumentations==1.3.0 -f https://x.example/whl\n");
    assert_eq!(verdicts(&several), ["1 -> 2 requirements", "1 kept", "1 kept", "1 dropped"]);
}

#[test]
fn included_files_count_and_those_that_are_not_there_stop_all() {
    let all = imported(&[
        ("p/requirements.txt", "-r ./base.txt\n-c ../constraints.txt\nb\n"),
        ("p/base.txt", "a==1\n-r more/x.txt\n"),
        ("p/more/x.txt", "c\n"),
        ("constraints.txt", "numpy<2\nd==1 ; python_version < '3.9'\n"),
    ])
    .unwrap();
    assert_eq!(lines(&all), ["a = \"==1\"", "b = \"*\"", "c = \"*\""]);
    assert_eq!(all.constraints, BTreeMap::from([("numpy".to_owned(), "<2".to_owned())]));
    let gone = imported(&[("p/requirements.txt", "a\n-r environments/base.txt\n"), ("p/base.txt", "b\n")]).unwrap_err();
    let Error::Included { line, included, beside, .. } = &gone else { panic!("{gone}") };
    assert_eq!((*line, included.display().to_string().as_str()), (2, "p/environments/base.txt"));
    assert_eq!(beside.as_deref(), Some(Path::new("p/base.txt")));
    let circle = imported(&[("requirements.txt", "-r x.txt"), ("x.txt", "-r requirements.txt")]).unwrap_err();
    assert!(matches!(circle, Error::Circle { line: 1, .. }), "{circle}");
}

#[test]
fn projects_are_read() {
    let text = "[project]\nname = \"p\"\nrequires-python = \">=3.10,<=3.12\"\ndependencies = [\n  # 説明\n  \"torch>=2\", # x\n  \"pywin32; sys_platform == 'win32'\",\n]\n\
                [project.optional-dependencies]\ngui = [\"x\"]\n[dependency-groups]\ndev = [\"pytest\"]\n[tool.uv.sources]\ntorch = { index = \"x\" }\n";
    let imported = imported(&[("pyproject.toml", text)]).unwrap();
    assert_eq!((imported.name.as_deref(), lines(&imported)), (Some("p"), vec!["torch = \">=2\"".to_owned()]));
    assert_eq!(imported.python.as_ref().map(ToString::to_string).as_deref(), Some(">=3.10, <=3.12"));
    assert_eq!(verdicts(&imported), ["6 kept", "7 dropped"]);
    assert_eq!(imported.notes.len(), 4, "{:?}", imported.notes);
    assert!(imported.notes.iter().any(|note| note.contains("only 3.12.0")), "{:?}", imported.notes);
}

#[test]
fn forms_that_are_not_read_are_named() {
    let machines = Machines::macs(MacosVersion::new(14, 0));
    for name in ["Pipfile", "poetry.lock", "setup.py", "pylock.lock"] {
        let error = import(Path::new(name), &machines, &mut |_| panic!("nothing is read")).unwrap_err();
        assert!(matches!(error, Error::OtherForm { .. }), "{name}");
    }
}

#[test]
fn sources_of_uv_are_where_a_package_comes_from() {
    let text = "[project]\nname = \"p\"\ndependencies = [\"a\", \"b_c>=1\", \"d\", \"e\"]\n[tool.uv]\nexclude-newer = \"1 week\"\n\
                constraint-dependencies = [\"numpy<2\"]\n[tool.uv.sources]\na = { git = \"https://example.test/a\", rev = \"main\" }\n\
                b-c = { path = \"../b\", marker = \"sys_platform == 'linux'\" }\nd = [{ index = \"x\", marker = \"sys_platform == 'linux'\" }]\n\
                [[tool.uv.index]]\nname = \"x\"\nurl = \"https://u:p@example.test/simple\"\n";
    let imported = imported(&[("pyproject.toml", text)]).unwrap();
    assert_eq!(lines(&imported), ["b-c = \">=1\"", "d = \"*\"", "e = \"*\""]);
    let expected =
        ["3 refused", "3 dropped", "3 kept", "3 kept", "3 kept", "6 -> [resolution] constraints: numpy = \"<2\""];
    assert_eq!(verdicts(&imported), expected);
    let notes = imported.notes.join("\n");
    for said in ["clock", "the indexes of `d`", "mirrors = "] {
        assert!(notes.contains(said), "{said}: {notes}");
    }
    assert!(!notes.contains("u:p"), "{notes}");
}

#[test]
fn no_password_is_told_and_no_requirement_is_passed_over() {
    let secret = "x @ git+https://dev:s3cr3t@example.test/x@main\nhttps://dev:s3cr3t@example.test/y-1.0-py3-none-any.whl#sha256=ab\n";
    let imported = of(secret);
    assert_eq!(verdicts(&imported), ["1 refused", "2 refused"]);
    assert!(!format!("{imported:?}").contains("s3cr3t"), "{imported:?}");
    let odd =
        super::tests::imported(&[("pyproject.toml", "[project]\ndependencies = [\n1,\n{ a = 1 },\n\"b\"]\n")]).unwrap();
    assert_eq!(verdicts(&odd), ["3 refused", "4 refused", "5 kept"]);
}

#[test]
fn poetry_has_a_form_of_its_own() {
    let text = "[tool.poetry]\nname = \"p\"\n[tool.poetry.dependencies]\npython = \">=3.8.1,<3.12,!=3.9.7\"\ntorch = \"^2.1\"\n\
                a = { version = \"~1.2\", extras = [\"x\"], markers = \"sys_platform == 'darwin'\" }\nb = { git = \"https://example.test/b\", branch = \"main\" }\n\
                c = { path = \"../c\", develop = true }\nd = [{ version = \"1.0\", python = \"<3.11\" }, { version = \"2.0\", python = \">=3.11\" }]\n\
                [tool.poetry.group.dev.dependencies]\npytest = \"*\"\n[[tool.poetry.source]]\nname = \"m\"\nurl = \"https://mirror.example/simple\"\n";
    let imported = imported(&[("pyproject.toml", text)]).unwrap();
    assert_eq!(
        lines(&imported),
        [
            "a = { version = \">=1.2, <1.3\", extras = [\"x\"] }",
            "d = { version = \"==1.0\", marker = \"python_version < '3.11'\" }",
            "d = { version = \"==2.0\", marker = \"python_version >= '3.11'\" }",
            "torch = \">=2.1, <3\"",
        ]
    );
    assert_eq!(imported.python.as_ref().map(ToString::to_string).as_deref(), Some(">=3.8.1, <3.12, !=3.9.7"));
    let refused = imported.items.iter().filter(|item| matches!(item.verdict, Verdict::Refused { .. })).count();
    assert_eq!((refused, imported.notes.len()), (2, 2), "{:?}", imported.items);
}

#[test]
fn environments_of_conda_are_read() {
    let text = "# x\nname: p\nchannels: [conda-forge, defaults]\ndependencies:\n  - python=3.11\n  - apple::tensorflow-deps=2.9.0\n  - pytorch==2.2.1\n\
                \x20 - numpy=1.26\n  - scipy=1.11.4=py39_0\n  - python.app\n  - libxyz\n  - ffmpeg\n  - pip\n  - pip:\n    - \"--requirement=./dev.txt\"\n    - -e .\n\
                prefix: C:\\x\n";
    for text in [text.to_owned(), text.replace('\n', "\r\n")] {
        let imported = imported(&[("environment.yml", &text), ("dev.txt", "pandas\nnumpy<2 # x\n")]).unwrap();
        assert_eq!(imported.name.as_deref(), Some("p"));
        assert_eq!(imported.python.as_ref().map(ToString::to_string).as_deref(), Some("==3.11.*"));
        let expected = [
            "5 -> [target] python = \"==3.11.*\"",
            "6 dropped",
            "7 -> torch = \"==2.2.1\"",
            "8 -> numpy = \"==1.26.*\"",
            "9 kept",
            "10 dropped",
            "11 refused",
            "12 dropped",
            "13 dropped",
            "15 kept",
            "1 kept",
            "2 -> numpy = \"==1.26.*, <2\"",
            "16 -> [project] paths = [\".\"]",
        ];
        assert_eq!(verdicts(&imported), expected);
        assert!(imported.notes[0].contains("`conda-forge`, `defaults`, `apple`"), "{:?}", imported.notes);
    }
    for (damaged, why) in [
        ("name: x\n", "no `dependencies`"),
        ("dependencies: [", "line "),
        ("dependencies: [[[[[[[[[[[[[[[[[[[[", "too deeply"),
        ("a: &a [1]\ndependencies: *a\n", "an alias"),
        ("", "no `dependencies`"),
        ("dependencies:\n- npm: [x]\n", "neither a package"),
    ] {
        let error = super::tests::imported(&[("environment.yml", damaged)]).unwrap_err();
        assert!(error.to_string().contains(why), "{damaged}: {error}");
    }
}

#[test]
fn of_uv_lock_the_roots_are_read() {
    let text = "version = 1\nrequires-python = \">=3.11\"\n[[package]]\nname = \"six\"\nversion = \"1.16.0\"\nsource = { registry = \"x\" }\n\
                [[package]]\nname = \"p\"\nversion = \"0.1\"\nsource = { virtual = \".\" }\n[package.metadata]\nrequires-dist = [\n\
                { name = \"torch\", specifier = \">=2\" },\n{ name = \"six\", marker = \"sys_platform == 'win32'\" },\n\
                { name = \"g\", git = \"https://example.test/g?rev=main#0123456789012345678901234567890123456789\" },\n\
                { name = \"h\", marker = \"extra == 'gui'\" },\n]\n";
    let imported = imported(&[("uv.lock", text)]).unwrap();
    assert_eq!(lines(&imported), ["torch = \">=2\""]);
    assert_eq!(verdicts(&imported), ["13 kept", "14 dropped", "15 refused", "16 dropped"]);
    assert_eq!(imported.name.as_deref(), Some("p"));
}

#[test]
fn what_lies_in_an_environment_is_pinned() {
    let of = |name: &str, direct_url: Option<&str>| Installed {
        name: name.to_owned(),
        version: "1.0".to_owned(),
        direct_url: direct_url.map(str::to_owned),
    };
    let git = r#"{"url": "https://example.test/g", "vcs_info": {"vcs": "git", "commit_id": "0123456789012345678901234567890123456789"}}"#;
    let wheel =
        r#"{"url": "https://example.test/w-1.0-py3-none-any.whl", "archive_info": {"hashes": {"sha256": "ab"}}}"#;
    let folder = r#"{"url": "file:///Users/dev/f", "dir_info": {"editable": true}}"#;
    let all = [
        of("a", None),
        of("f", Some(folder)),
        of("g", Some(git)),
        of("pip", None),
        of("w", Some(wheel)),
        of("xformers", None),
    ];
    let machines = Machines::macs(MacosVersion::new(14, 0));
    let imported = import_installed(Path::new(".venv"), &all, Some("3.12".parse().unwrap()), &machines);
    let wheel = "w = { url = \"https://example.test/w-1.0-py3-none-any.whl\", sha256 = \"ab\" }";
    assert_eq!(lines(&imported), ["a = \"==1.0\"", wheel]);
    assert_eq!(verdicts(&imported), ["0 kept", "0 refused", "0 refused", &format!("0 -> {wheel}"), "0 dropped"]);
}
