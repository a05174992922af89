//! `macml check --lock FILE`: what is read of locks of other tools for some Macs, what is told of them with its line, and
//! what is found on indexes afterwards.

mod complete;
mod live;
mod made;

use macml::diag::Code;
use macml::host::Host;
use macml::lock::foreign::Choice;
use macml::lock::foreign::Chosen;
use macml::pipeline::check::Because;
use macml::pipeline::check::Sum;
use macml::pipeline::check::Word;
use macml::pipeline::check::foreign;
use macml::pipeline::check::foreign::Lacks;

use made::{Project, SDIST, demo, index, package, package_of, shown, told, uv_lock};

const MAC: &str = "cp312-cp312-macosx_11_0_arm64";

#[test]
fn the_real_pair_of_tensorflow_and_its_plugin_becomes_a_set() {
    let project = Project::new(&[("uv.lock", include_str!("tensorflow.uv.lock"))]).asking(&["m5,26.0"]);
    let foreign = project.read("uv.lock");
    assert_eq!(told(&foreign), [] as [&str; 0]);
    assert_eq!((foreign.part.word, &foreign.part.sum), (Word::Readable, &Sum::Releases(33)));
    assert_eq!(foreign.sets.len(), 2);
    let because: Vec<Because> = foreign.sets.iter().map(|set| set.of.on.as_ref().unwrap().because).collect();
    assert_eq!(because, [Because::Floor, Because::Asked]);
    let lines: Vec<String> = shown(&foreign.sets[0])
        .into_iter()
        .filter(|line| line.starts_with("tensorflow") || line.starts_with("h5py"))
        .collect();
    assert_eq!(
        lines,
        [
            "h5py 3.14.0: h5py-3.14.0-cp312-cp312-macosx_11_0_arm64.whl 2829207 index pypi",
            "tensorflow 2.21.0: tensorflow-2.21.0-cp312-cp312-macosx_12_0_arm64.whl 223488205 index pypi",
            "tensorflow-metal 1.2.0: tensorflow_metal-1.2.0-cp312-cp312-macosx_12_0_arm64.whl 1357400 index pypi",
        ]
    );
    assert_eq!(foreign.lacks(), Lacks::Nothing);
    assert_eq!(foreign.indexes, []);
    let (file, line) = &foreign.lines[&"tensorflow-metal".parse().unwrap()];
    assert_eq!(*file, project.path("uv.lock"));
    assert_eq!(foreign.source.text.lines().nth(*line), Some("name = \"tensorflow-metal\""));
    // On a Python that the plugin has no wheel for, the lock has no answer; uv would say so on the Mac only.
    let foreign = Project::new(&[("uv.lock", include_str!("tensorflow.uv.lock"))]).python(Some("3.13")).read("uv.lock");
    assert_eq!(foreign.part.word, Word::Unfit);
    let metal = told(&foreign).into_iter().find(|line| line.contains("metal"));
    let expected = "error[lock-unfit]: `tensorflow-metal` 1.2.0: no wheel for Python 3.13; newest is 3.12 <- name = \"tensorflow-metal\"";
    assert_eq!(metal.as_deref(), Some(expected));
}

#[test]
fn one_lock_for_several_pythons_and_systems_is_read_for_each_mac() {
    let forks = [
        demo(&[
            "{ name = \"numpy\", version = \"1.26.4\", source = { registry = \"{INDEX}\" }, marker = \"python_full_version < '3.12'\" }",
            "{ name = \"numpy\", version = \"2.3.0\", source = { registry = \"{INDEX}\" }, marker = \"python_full_version >= '3.12'\" }",
            "{ name = \"cuda\", marker = \"sys_platform == 'linux'\" }",
            "mlx",
        ]),
        package("numpy", "1.26.4", &["cp311-cp311-macosx_11_0_arm64"]),
        package("numpy", "2.3.0", &[MAC, "cp312-cp312-macosx_14_0_arm64"]),
        package("cuda", "1.0", &["py3-none-manylinux_2_17_x86_64"]),
        package(
            "mlx",
            "0.30.0",
            &["cp311-cp311-macosx_14_0_arm64", "cp312-cp312-macosx_14_0_arm64", "cp312-cp312-macosx_26_0_arm64"],
        ),
    ];
    let foreign = Project::uv(&forks).asking(&["m5,26.1", "m1,14.0", "m2,13.0"]).read("uv.lock");
    let sets: Vec<Vec<String>> = foreign.sets.iter().map(shown).collect();
    let numpy = |tag: &str| format!("numpy 2.3.0: numpy-2.3.0-cp312-cp312-macosx_{tag}_arm64.whl 7 index pypi");
    let mlx = |tag: &str| format!("mlx 0.30.0: mlx-0.30.0-cp312-cp312-macosx_{tag}_arm64.whl 7 index pypi");
    assert_eq!(
        sets,
        [
            vec![mlx("14_0"), numpy("14_0")],
            vec![mlx("26_0"), numpy("14_0")],
            vec!["mlx 0.30.0: no file".to_owned(), numpy("11_0")],
        ]
    );
    assert_eq!(
        told(&foreign),
        ["error[lock-unfit]: on m2,13.0: `mlx` 0.30.0: needs macOS 14; it has 13.0 <- name = \"mlx\""]
    );
    let foreign = Project::uv(&forks).python(Some("3.11")).read("uv.lock");
    assert_eq!(shown(&foreign.sets[0])[1], "numpy 1.26.4: numpy-1.26.4-cp311-cp311-macosx_11_0_arm64.whl 7 index pypi");
    let foreign = Project::uv(&forks).macos("13.0").read("uv.lock");
    assert_eq!(
        told(&foreign),
        ["error[lock-unfit]: `mlx` 0.30.0: needs macOS 14; your floor is 13.0 <- name = \"mlx\""]
    );
}

#[test]
fn what_depends_on_the_patch_release_is_told_and_may_be_absent() {
    let packages = [
        demo(&[
            "{ name = \"numpy\", version = \"2.2.0\", source = { registry = \"{INDEX}\" }, marker = \"python_full_version < '3.12.4'\" }",
            "{ name = \"numpy\", version = \"2.3.0\", source = { registry = \"{INDEX}\" }, marker = \"python_full_version >= '3.12.4'\" }",
        ]),
        package("numpy", "2.2.0", &[MAC]),
        package("numpy", "2.3.0", &[MAC]),
    ];
    let foreign = Project::uv(&packages).read("uv.lock");
    assert_eq!(shown(&foreign.sets[0]), ["numpy 2.3.0: numpy-2.3.0-cp312-cp312-macosx_11_0_arm64.whl 7 index pypi"]);
    assert_eq!(
        told(&foreign),
        [
            "note[lock-read]: `numpy` 2.3.0 is there only where `python_full_version >= \"3.12.4\"` holds <- name = \"numpy\""
        ]
    );
    let wanted = foreign::wanted(&foreign, &foreign.sets[0]);
    assert!(wanted.packages.is_empty() && wanted.spare.contains(&"numpy".parse().unwrap()));
    // Where the patch release is known, nothing is open.
    let text = uv_lock(">=3.11", &packages.concat());
    let project = Project::new(&[("uv.lock", &text), (".python-version", "3.12.3\n")]).python(None);
    let foreign = project.read("uv.lock");
    assert_eq!(shown(&foreign.sets[0]), ["numpy 2.2.0: numpy-2.2.0-cp312-cp312-macosx_11_0_arm64.whl 7 index pypi"]);
    assert_eq!(
        told(&foreign),
        ["note[lock-read]: judged for Python 3.12.3, which `.python-version` names; `--python` names another"]
    );
}

#[test]
fn the_python_is_the_declared_one_else_the_kept_one_else_the_lowest() {
    let lock = uv_lock(
        ">=3.11",
        &[demo(&["numpy"]), package("numpy", "2.3.0", &["cp312-abi3-macosx_11_0_arm64", "py3-none-any"])].concat(),
    );
    let check = |declared: Option<&str>, kept: Option<&str>, expected: Result<(&str, Option<&str>), (&str, &str)>| {
        let mut files = vec![("uv.lock", lock.as_str())];
        files.extend(kept.map(|text| (".python-version", text)));
        let project = Project::new(&files).python(declared);
        let found = project.try_read("uv.lock");
        match expected {
            Ok((python, note)) => {
                let foreign = found.unwrap();
                assert_eq!(foreign.sets[0].of.python.to_string(), python, "{declared:?} {kept:?}");
                let note =
                    note.map(|because| format!("note[lock-read]: judged for {because}; `--python` names another"));
                assert_eq!(told(&foreign), note.into_iter().collect::<Vec<_>>(), "{declared:?} {kept:?}");
            }
            Err((message, hint)) => {
                let error = found.unwrap_err();
                assert_eq!((project.bare(&error.to_string()).as_str(), error.hint()), (message, Some(hint)));
            }
        }
    };
    let hint = "`--python` names one, such as `--python 3.12`";
    check(Some("3.13"), Some("3.12\n"), Ok(("3.13", None)));
    check(None, Some("cpython-3.12\n"), Ok(("3.12", Some("Python 3.12, which `.python-version` names"))));
    check(None, Some("3.12.4\n3.11\n"), Ok(("3.12", Some("Python 3.12.4, which `.python-version` names"))));
    check(None, None, Ok(("3.11", Some("Python 3.11, the lowest that `requires-python` admits"))));
    check(None, Some("\n"), Ok(("3.11", Some("Python 3.11, the lowest that `requires-python` admits"))));
    let unknown = "`.python-version` names `pypy3.10`, which is no CPython that macml judges for";
    check(None, Some("pypy3.10\n"), Err((unknown, hint)));
    // One that the lock is not for is an answer, not a failure.
    let foreign = Project::new(&[("uv.lock", &lock), (".python-version", "3.10\n")]).python(None).read("uv.lock");
    assert_eq!((foreign.part.word, foreign.sets.len()), (Word::Unfit, 0));
    assert_eq!(told(&foreign)[0], "error[lock-unfit]: the lock is for Python >=3.11, not for 3.10");

    let project = Project::new(&[("uv.lock", &uv_lock(">=3.40", &demo(&[])))]).python(None);
    let error = project.try_read("uv.lock").unwrap_err();
    assert_eq!(project.bare(&error.to_string()), "`uv.lock` is for Python >=3.40, and macml knows none of these");
    let project = Project::new(&[("requirements.txt", "numpy==2.3.0\n")]).python(None);
    let error = project.try_read("requirements.txt").unwrap_err();
    assert_eq!(project.bare(&error.to_string()), "`requirements.txt` does not say for which Python it is");
    assert_eq!(error.hint(), Some(hint));
}

#[test]
fn the_macos_is_the_declared_one_else_that_of_this_mac() {
    let mut project = Project::uv(&[demo(&["numpy"]), package("numpy", "2.3.0", &[MAC])]);
    project.declared.macos = None;
    let error = project.try_read("uv.lock").unwrap_err();
    assert_eq!(project.bare(&error.to_string()), "`uv.lock` does not say for which macOS it is judged");
    assert_eq!(error.hint(), Some("`--macos` names the lowest that must work, such as `--macos 14.0`"));
    let host = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hosts/m5-macos26.json")).unwrap();
    let host: Host = serde_json::from_str(&host).unwrap();
    let lock = project.path("uv.lock");
    let foreign = foreign::read(&lock, &project.declared, &project.choice, &[], Some(&host)).unwrap();
    let on = foreign.sets[0].of.on.as_ref().unwrap();
    assert_eq!((on.mac.macos.major(), on.mac.chip.to_string().as_str()), (26, "m1"));
    assert!(told(&foreign)[0].contains("that of this Mac; `--macos` names another"), "{:?}", told(&foreign));
}

#[test]
fn indexes_have_names_and_files_have_places() {
    let at = |address: &str| format!("{{ registry = \"{address}\" }}");
    let any = &["py3-none-any"];
    let hash = Sha256Of("g-1-py3-none-any.whl");
    let tuna = "https://mirrors.tuna.tsinghua.edu.cn/pypi/web/simple";
    let packages = [
        demo(&["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]),
        package("a", "1", any),
        package_of(&at(&index("pytorch")), "b", "1", any, ""),
        package_of(&at(&format!("{}/", index("pytorch-cpu"))), "c", "1", any, ""),
        package_of(&at(tuna), "d", "1", any, ""),
        package_of(&at("https://me:s3cret@host.example:8443/one?token=s3cret"), "e", "1", any, ""),
        package_of(&at("https://host.example:8443/two/"), "f", "1", any, ""),
        package_of(
            "{ url = \"https://t0ken:s3cret@files.example/g-1-py3-none-any.whl?s3cret=1\" }",
            "g",
            "1",
            &[],
            &hash.wheels("url = \"https://s3cret@files.example/g-1-py3-none-any.whl\""),
        ),
        package_of(
            "{ path = \"wheels/h-1-py3-none-any.whl\" }",
            "h",
            "1",
            &[],
            &Sha256Of("h-1-py3-none-any.whl").wheels("filename = \"h-1-py3-none-any.whl\""),
        ),
        package_of(
            "{ registry = \"local\" }",
            "i",
            "1",
            &[],
            &Sha256Of("i-1-py3-none-any.whl").wheels("path = \"i-1-py3-none-any.whl\""),
        ),
        package_of(&at("https://pytorch/simple"), "j", "1", any, ""),
    ];
    let foreign = Project::uv(&packages).read("uv.lock");
    assert_eq!(
        shown(&foreign.sets[0]),
        [
            "a 1: a-1-py3-none-any.whl 7 index pypi",
            "b 1: b-1-py3-none-any.whl 7 index pytorch",
            "c 1: c-1-py3-none-any.whl 7 index pytorch-cpu",
            "d 1: d-1-py3-none-any.whl 7 index mirrors-tuna-tsinghua-edu-cn",
            "e 1: e-1-py3-none-any.whl 7 index host-example-8443",
            "f 1: f-1-py3-none-any.whl 7 index host-example-8443-2",
            "g 1: g-1-py3-none-any.whl ? https://files.example/g-1-py3-none-any.whl",
            "h 1: h-1-py3-none-any.whl ? path wheels/h-1-py3-none-any.whl",
            "i 1: i-1-py3-none-any.whl ? path local/i-1-py3-none-any.whl",
            "j 1: j-1-py3-none-any.whl 7 index pytorch-2",
        ]
    );
    let indexes: Vec<(&str, &str)> = foreign.indexes.iter().map(|one| (one.name.as_str(), one.url.as_str())).collect();
    assert_eq!(
        indexes,
        [
            ("mirrors-tuna-tsinghua-edu-cn", &*format!("{tuna}/")),
            ("host-example-8443", "https://host.example:8443/one/"),
            ("host-example-8443-2", "https://host.example:8443/two/"),
            ("pytorch-2", "https://pytorch/simple/"),
        ]
    );
    assert_eq!(foreign.lacks(), Lacks::Sizes);
    assert!(!format!("{foreign:?}").contains("s3cret"));
}

/// Writes wheels of which the digest is that of a name.
struct Sha256Of(&'static str);

impl Sha256Of {
    fn wheels(&self, place: &str) -> String {
        format!("wheels = [{{ {place}, hash = \"sha256:{}\" }}]\n", macml::pep::Sha256::of(self.0.as_bytes()))
    }
}

#[test]
fn what_is_built_is_told_and_what_has_nothing_is_an_error() {
    let packages = [
        demo(&["onlysource", "later", "intel", "other", "repository", "folder", "linked", "free"]),
        package_of("{ registry = \"{INDEX}\" }", "onlysource", "1.0", &[], SDIST),
        package_of("{ registry = \"{INDEX}\" }", "later", "1.0", &["cp312-cp312-macosx_15_0_arm64"], SDIST),
        package("intel", "1.0", &["cp312-cp312-macosx_11_0_x86_64"]),
        package("other", "1.0", &["cp312-cp312-win_amd64", "cp312-cp312-manylinux_2_17_x86_64"]),
        package("free", "1.0", &["cp312-cp312t-macosx_11_0_arm64"]),
        package_of(
            "{ git = \"https://me:s3cret@git.example/x.git?rev=v1#0123456789012345678901234567890123456789\" }",
            "repository",
            "1.0",
            &[],
            "",
        ),
        package_of("{ directory = \"vendored\" }", "folder", "1.0", &[], ""),
        package_of("{ editable = \"packages/linked\" }", "linked", "1.0", &[], ""),
    ];
    let foreign = Project::uv(&packages).read("uv.lock");
    let rest = "nothing can be said of the libraries that building makes";
    assert_eq!(
        told(&foreign),
        [
            "error[lock-unfit]: `free` 1.0: only free-threaded wheels for Python 3.12 <- name = \"free\"",
            "error[lock-unfit]: `intel` 1.0: only Intel wheels <- name = \"intel\"",
            "error[lock-unfit]: `other` 1.0: no wheel for arm64 Macs (its wheels are for `manylinux_2_17_x86_64`, `win_amd64`) <- name = \"other\"",
            &format!(
                "warning[built-from-source]: `folder` 1.0 is built on each machine (it comes from the folder `vendored`, and {rest}) <- name = \"folder\""
            ),
            &format!(
                "warning[built-from-source]: `later` 1.0 is built on each machine (needs macOS 15; your floor is 14.0, and {rest}) <- name = \"later\""
            ),
            &format!(
                "warning[built-from-source]: `onlysource` 1.0 is built on each machine (only a source archive, and {rest}) <- name = \"onlysource\""
            ),
            &format!(
                "warning[built-from-source]: `repository` 1.0 is built on each machine (it comes from the repository `https://git.example/x.git`, and {rest}) <- name = \"repository\""
            ),
            "note[lock-read]: `linked` 1.0 is linked from `packages/linked`, and not looked at <- name = \"linked\"",
        ]
    );
    assert_eq!(foreign.part.word, Word::Unfit);
    assert!(foreign.sets[0].releases.iter().all(|release| release.file.is_none()));
    assert!(foreign.part.told.iter().all(|one| one.package.is_some()));
    let wanted = foreign::wanted(&foreign, &foreign.sets[0]);
    let spare: Vec<&str> = wanted.spare.iter().map(|name| name.as_str()).collect();
    assert_eq!(spare, ["demo", "folder", "linked", "pip", "setuptools", "wheel"]);
    // From a repository it is built, and it is there then.
    assert!(wanted.packages.iter().any(|one| one.name.as_str() == "repository" && one.wheel.is_none()));
    assert!(!format!("{foreign:?}").contains("s3cret"));
}

#[test]
fn the_project_itself_is_no_release_however_it_is_installed() {
    for source in ["virtual", "editable"] {
        let project = demo(&["numpy"]).replace("virtual", source);
        let foreign = Project::uv(&[project, package("numpy", "2.3.0", &[MAC])]).read("uv.lock");
        assert_eq!(told(&foreign), [] as [&str; 0], "{source}");
        assert_eq!(foreign.sets[0].releases.len(), 1, "{source}");
        assert_eq!(foreign.part.sum, Sum::Releases(1), "{source}");
        assert!(foreign::wanted(&foreign, &foreign.sets[0]).spare.contains(&"demo".parse().unwrap()), "{source}");
    }
}

#[test]
fn what_an_environment_should_have() {
    let packages = [
        demo(&["numpy", "setuptools"]),
        package("numpy", "2.3.0", &[MAC]),
        package("setuptools", "80.0.0", &["py3-none-any"]),
    ];
    let foreign = Project::uv(&packages).read("uv.lock");
    let wanted = foreign::wanted(&foreign, &foreign.sets[0]);
    let packages: Vec<String> =
        wanted.packages.iter().map(|one| format!("{} {} {}", one.name, one.version, one.wheel.is_some())).collect();
    assert_eq!(packages, ["numpy 2.3.0 true", "setuptools 80.0.0 true"]);
    let spare: Vec<&str> = wanted.spare.iter().map(|name| name.as_str()).collect();
    assert_eq!(spare, ["demo", "pip", "wheel"]);
}

#[test]
fn workspaces_groups_and_extras_are_chosen_among() {
    let member = |name: &str, dependency: &str, more: &str| {
        format!(
            "[[package]]\nname = \"{name}\"\nversion = \"0.1.0\"\nsource = {{ editable = \"packages/{name}\" }}\ndependencies = [{{ name = \"{dependency}\" }}]\n\n{more}"
        )
    };
    let groups = "[package.dev-dependencies]\ndev = [{ name = \"tests\" }]\ndocs = [{ name = \"pages\" }]\n\n[package.optional-dependencies]\nplot = [{ name = \"plots\" }]\n\n";
    let any = &["py3-none-any"];
    let packages = [
        "[manifest]\nmembers = [\"api\", \"model\"]\n\n".to_owned(),
        member("api", "web", groups),
        member("model", "numpy", ""),
        package("web", "1", any),
        package("numpy", "2.3.0", &[MAC]),
        package("tests", "1", any),
        package("pages", "1", any),
        package("plots", "1", any),
    ];
    let names = |choice: Choice| {
        let foreign = Project::uv(&packages).choosing(choice).read("uv.lock");
        let names: Vec<String> =
            foreign.sets.iter().flat_map(|set| &set.releases).map(|one| one.name.to_string()).collect();
        (names.join(" "), told(&foreign))
    };
    let named = |names: &[&str]| Chosen::Named(names.iter().map(|name| name.parse().unwrap()).collect());
    let all = "note[lock-read]: judged for all 2 members of the workspace; `--package` names one";
    assert_eq!(names(Choice::default()), ("numpy tests web".to_owned(), vec![all.to_owned()]));
    let one = Choice { members: vec!["model".parse().unwrap()], ..Choice::default() };
    assert_eq!(names(one), ("numpy".to_owned(), vec![]));
    let more = Choice {
        members: vec!["api".parse().unwrap()],
        extras: named(&["plot"]),
        groups: named(&["docs"]),
        default_groups: false,
    };
    assert_eq!(names(more), ("pages plots web".to_owned(), vec![]));
    let unknown = Choice { members: vec!["other".parse().unwrap()], ..Choice::default() };
    let error = "error[lock-unfit]: the lock has no member `other`; it has `api` and `model`";
    assert_eq!(names(unknown), (String::new(), vec![error.to_owned()]));
    let unknown = Choice { extras: named(&["gpu"]), ..Choice::default() };
    assert_eq!(names(unknown).1[0], "error[lock-unfit]: the lock has no extra `gpu`; it has `plot`");
}

#[test]
fn a_later_revision_is_a_warning_and_an_early_one_nothing() {
    let text = uv_lock(">=3.11", &[demo(&["numpy"]), package("numpy", "2.3.0", &[MAC])].concat());
    let of =
        |revision: &str| told(&Project::new(&[("uv.lock", &text.replace("revision = 3\n", revision))]).read("uv.lock"));
    assert_eq!(of(""), [] as [&str; 0]);
    let said = of("revision = 99\n");
    assert_eq!(said.len(), 1);
    assert!(
        said[0].starts_with("warning[newer-lock]: written in revision 99 of uv.lock, which is newer than"),
        "{said:?}"
    );
    let text = text.replace("version = 1\n", "version = 2\n");
    assert!(Project::new(&[("uv.lock", &text)]).try_read("uv.lock").is_err());
}

#[test]
fn a_lock_that_is_not_for_macs_has_no_answer() {
    let text = uv_lock(
        ">=3.11",
        &[demo(&["numpy"]), package("numpy", "2.3.0", &["cp312-cp312-manylinux_2_17_x86_64"])].concat(),
    );
    let text = text.replace(
        "\n\n[[package]]\nname = \"demo\"",
        "\nsupported-markers = [\"sys_platform == 'linux'\"]\n\n[[package]]\nname = \"demo\"",
    );
    let foreign = Project::new(&[("uv.lock", &text)]).asking(&["m5,26.0"]).read("uv.lock");
    assert_eq!((foreign.part.word, foreign.sets.len(), &foreign.part.sum), (Word::Unfit, 0, &Sum::Nothing));
    let what = "the lock is not for this Mac: its environments are `sys_platform == \"linux\"`";
    assert_eq!(
        told(&foreign),
        [format!("error[lock-unfit]: {what}"), format!("error[lock-unfit]: on m5,26.0: {what}")]
    );
}

#[test]
fn what_a_list_of_requirements_leaves_open_is_told() {
    let list = "-i https://me:s3cret@index.example/simple\n--no-binary foo\nnumpy==2.3.0\nrequests\nwindows==1; sys_platform == 'win32'\n-r more.txt\n-e ./own#egg=own\n";
    let project = Project::new(&[("requirements.txt", list), ("more.txt", "\nscipy==1.0\n")]);
    let foreign = project.read("requirements.txt");
    let said: Vec<String> = told(&foreign).iter().map(|line| project.bare(line)).collect();
    let open = "(what is installed may be another file tomorrow)";
    assert_eq!(
        said,
        [
            format!("warning[not-pinned]: `requests` is not pinned to one version {open} <- requests"),
            format!("warning[not-pinned]: `numpy` has no hash {open} <- numpy==2.3.0"),
            format!("warning[not-pinned]: `requests` has no hash {open} <- requests"),
            format!("warning[not-pinned]: `scipy` has no hash {open} (line 2 of `more.txt`)"),
            "note[lock-read]: `own` is linked from `./own`, and not looked at <- -e ./own#egg=own".to_owned(),
            "note[lock-read]: `-i` names `https://index.example/simple` <- -i https://*********@index.example/simple"
                .to_owned(),
            "note[lock-read]: `--no-binary` is passed over <- --no-binary foo".to_owned(),
        ]
    );
    assert_eq!(foreign.part.word, Word::Readable);
    assert_eq!(foreign.lacks(), Lacks::Files);
    // A release without a version is none that anything is known of.
    assert_eq!(shown(&foreign.sets[0]), ["numpy 2.3.0: no file", "scipy 1.0: no file"]);
    let spare = foreign::wanted(&foreign, &foreign.sets[0]).spare;
    assert!(["requests", "own"].iter().all(|name| spare.contains(&name.parse().unwrap())));
    let (file, line) = &foreign.lines[&"scipy".parse().unwrap()];
    assert_eq!((file.file_name().unwrap().to_str(), *line), (Some("more.txt"), 2));
    // Many with one shortcoming are told together.
    let many: String = (0..40).map(|number| format!("package-{number}==1.0\n")).collect();
    let foreign = Project::new(&[("requirements.txt", &many)]).read("requirements.txt");
    assert_eq!(
        told(&foreign),
        [format!(
            "warning[not-pinned]: 40 requirements have no hash, the first of them `package-0` {open} <- package-0==1.0"
        )]
    );
    assert_eq!(foreign.part.told[0].finding.code, Code::NotPinned);
}

#[test]
fn requirements_of_a_windows_shell_and_files_that_cannot_be_meant() {
    let project = Project::new(&[("requirements.txt", ""), ("poetry.lock", "")]);
    let text = format!("numpy==2.3.0 --hash=sha256:{}\r\n", made::digest("numpy", "2.3.0", MAC));
    let utf16: Vec<u8> = [0xfeff_u16].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    std::fs::write(project.path("requirements.txt"), utf16).unwrap();
    let foreign = project.read("requirements.txt");
    assert_eq!(told(&foreign), [] as [&str; 0]);
    assert_eq!(shown(&foreign.sets[0]), ["numpy 2.3.0: no file"]);
    let error = project.try_read("poetry.lock").unwrap_err();
    assert!(error.hint().is_some_and(|hint| hint.contains("poetry export")), "{error}");
    let error = project.try_read("nothing.lock").unwrap_err();
    assert_eq!(project.bare(&error.to_string()), "there is no file `nothing.lock`");
}
