//! `uv.lock`: its sources, forks, extras, groups, members, conflicts.

use super::*;

/// A made project with a fork, extras, groups, and every kind of source.
fn project() -> String {
    let (a, b) = (digest('a'), digest('b'));
    format!(
        r#"version = 1
revision = 3
requires-python = ">=3.10"
resolution-markers = ["python_full_version >= '3.12'", "python_full_version < '3.12'"]

[options]
exclude-newer = "2026-01-01T00:00:00Z"

[[package]]
name = "demo"
version = "0.1.0"
source = {{ virtual = "." }}
dependencies = [
    {{ name = "numpy", version = "1.26.4", source = {{ registry = "{INDEX}" }}, marker = "python_full_version < '3.12'" }},
    {{ name = "numpy", version = "2.3.0", source = {{ registry = "{INDEX}" }}, marker = "python_full_version >= '3.12'" }},
    {{ name = "torch", extra = ["opt"] }},
    {{ name = "winonly", marker = "sys_platform == 'win32'" }},
]

[package.optional-dependencies]
plot = [{{ name = "drawing" }}]

[package.dev-dependencies]
dev = [{{ name = "testing" }}]
docs = [{{ name = "repository" }}]

[package.metadata]
requires-dist = [{{ name = "numpy" }}]
provides-extras = ["plot", "nothing"]

[[package]]
name = "numpy"
version = "1.26.4"
source = {{ registry = "{INDEX}" }}
resolution-markers = ["python_full_version < '3.12'"]
sdist = {{ url = "https://files.example/numpy-1.26.4.tar.gz", hash = "sha256:{a}", size = 5 }}
wheels = [
    {{ url = "https://me:s3cret@files.example/p/numpy-1.26.4-cp311-cp311-macosx_11_0_arm64.whl?x=1", hash = "sha256:{b}", size = 7, upload-time = "2025-01-01T00:00:00Z" }},
    {{ url = "https://files.example/p/numpy-1.26.4-cp311-cp311-manylinux_2_17_x86_64.whl", hash = "sha256:{a}" }},
]

[[package]]
name = "numpy"
version = "2.3.0"
source = {{ registry = "{INDEX}" }}
resolution-markers = ["python_full_version >= '3.12'"]
wheels = [
    {{ url = "https://files.example/p/numpy-2.3.0-cp312-cp312-macosx_11_0_arm64.whl", hash = "sha256:{b}" }},
    {{ url = "https://files.example/p/numpy-2.3.0-cp312-cp312-macosx_14_0_arm64.whl", hash = "sha256:{a}" }},
]

[[package]]
name = "torch"
version = "2.8.0"
source = {{ registry = "{INDEX}" }}
wheels = [
    {{ url = "https://files.example/p/torch-2.8.0-cp312-none-macosx_14_0_arm64.whl", hash = "sha256:{b}" }},
    {{ url = "https://files.example/p/torch-2.8.0-cp311-none-macosx_11_0_arm64.whl", hash = "sha512:ff" }},
]

[package.optional-dependencies]
opt = [{{ name = "einsum" }}]

[[package]]
name = "einsum"
version = "3.0"
source = {{ path = "wheels/einsum-3.0-py3-none-any.whl" }}
wheels = [{{ filename = "einsum-3.0-py3-none-any.whl", hash = "sha256:{a}" }}]

[[package]]
name = "winonly"
version = "1.0"
source = {{ registry = "{INDEX}" }}
sdist = {{ url = "https://files.example/winonly-1.0.tar.gz", hash = "sha256:{a}" }}

[[package]]
name = "drawing"
version = "1.0"
source = {{ registry = "../wheels" }}
sdist = {{ path = "drawing-1.0.tar.gz", hash = "sha256:{a}" }}

[[package]]
name = "testing"
version = "1.0"
source = {{ url = "https://token@files.example/testing-1.0-py3-none-any.whl" }}
wheels = [{{ url = "https://token@files.example/testing-1.0-py3-none-any.whl", hash = "sha256:{a}" }}]

[[package]]
name = "repository"
version = "1.0"
source = {{ git = "https://me:pw@git.example/x.git?rev=v1#0123456789012345678901234567890123456789" }}
"#
    )
}

fn on(lock: &ForeignLock, macos: &str, python: &str, choice: &Choice) -> Vec<String> {
    shown(&lock.on(&machine(macos, python), choice).unwrap())
}

#[test]
fn a_mac_gets_what_its_python_and_floor_say() {
    let lock = uv_lock(&project()).unwrap();
    assert_eq!(lock.format, Format::Uv { revision: 3 });
    assert_eq!(lock.notes, []);
    let common = ["testing 1.0: testing-1.0-py3-none-any.whl"];
    assert_eq!(
        on(&lock, "14.0", "3.12", &Choice::default()),
        [
            "demo 0.1.0: project",
            "einsum 3.0: einsum-3.0-py3-none-any.whl",
            "numpy 2.3.0: numpy-2.3.0-cp312-cp312-macosx_14_0_arm64.whl",
            common[0],
            "torch 2.8.0: torch-2.8.0-cp312-none-macosx_14_0_arm64.whl",
        ]
    );
    assert_eq!(
        on(&lock, "13.0", "3.12", &Choice { default_groups: false, ..Choice::default() }),
        [
            "demo 0.1.0: project",
            "einsum 3.0: einsum-3.0-py3-none-any.whl",
            "numpy 2.3.0: numpy-2.3.0-cp312-cp312-macosx_11_0_arm64.whl",
            "torch 2.8.0: nothing: needs macOS 14; your floor is 13.0",
        ]
    );
    assert_eq!(
        on(&lock, "13.0", "3.11", &Choice::default())[2],
        "numpy 1.26.4: numpy-1.26.4-cp311-cp311-macosx_11_0_arm64.whl"
    );
    // Nothing for 3.10, but numpy can be built there.
    let oldest = on(&lock, "13.0", "3.10", &Choice::default());
    assert_eq!(oldest[2], "numpy 1.26.4: source: no wheel for Python 3.10; oldest is 3.11");
    assert_eq!(oldest[4], "torch 2.8.0: nothing: no wheel for Python 3.10; oldest is 3.11");
}

#[test]
fn extras_and_groups_are_asked_for_by_name() {
    let lock = uv_lock(&project()).unwrap();
    let words = |names: &[ExtraName]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        (words(&lock.extras), words(&lock.groups)),
        (vec!["nothing".to_owned(), "plot".to_owned()], vec!["dev".to_owned(), "docs".to_owned()])
    );
    let asked = on(&lock, "14.0", "3.12", &asking(&["plot", "nothing"], &["docs"]));
    assert!(asked.contains(&"drawing 1.0: source: only a source archive".to_owned()), "{asked:?}");
    assert!(asked.contains(&"repository 1.0: source".to_owned()), "{asked:?}");
    let all = Choice { extras: Chosen::All, groups: Chosen::All, ..Choice::default() };
    assert_eq!(on(&lock, "14.0", "3.12", &all), asked);
    let refused = |choice: &Choice| lock.on(&machine("14.0", "3.12"), choice).unwrap_err().to_string();
    assert_eq!(refused(&asking(&["gpu"], &[])), "the lock has no extra `gpu`; it has `nothing` and `plot`");
    assert_eq!(refused(&asking(&[], &["lint"])), "the lock has no group `lint`; it has `dev` and `docs`");
    let member = Choice { members: vec!["other".parse().unwrap()], ..Choice::default() };
    assert_eq!(refused(&member), "the lock has no member `other`; it has `demo`");
}

#[test]
fn sources_are_kept_and_secrets_are_not() {
    let lock = uv_lock(&project()).unwrap();
    let text = format!("{lock:?}");
    for secret in ["s3cret", "token", "pw@", "?x=1"] {
        assert!(!text.contains(secret), "{secret}");
    }
    let of = |name: &str| lock.releases.iter().find(|release| release.name.as_str() == name).unwrap();
    assert_eq!(of("torch").origin, Origin::Index(Address::of(INDEX).unwrap()));
    assert_eq!(of("drawing").origin, Origin::LocalIndex("../wheels".to_owned()));
    assert_eq!(of("einsum").origin, Origin::Path("wheels/einsum-3.0-py3-none-any.whl".to_owned()));
    assert_eq!(
        of("testing").origin,
        Origin::Url(Address::of("https://files.example/testing-1.0-py3-none-any.whl").unwrap())
    );
    let commit = Some("0123456789012345678901234567890123456789".to_owned());
    assert_eq!(of("repository").origin, Origin::Repository { address: "https://git.example/x.git".to_owned(), commit });
    let wheel = &of("numpy").wheels[0];
    assert_eq!((wheel.size, wheel.sha256.unwrap().to_string()), (Some(7), digest('b')));
    assert_eq!(wheel.path.as_deref(), Some("/p/numpy-1.26.4-cp311-cp311-macosx_11_0_arm64.whl"));
    assert_eq!(of("torch").wheels[1].sha256, None);
    assert_eq!((of("numpy").line, of("demo").line), (31, 9));
}

#[test]
fn the_default_index_is_read_by_whatever_name_it_has() {
    let lock = uv_lock(&project().replace(INDEX, &default_index())).unwrap();
    let origin = &lock.releases.iter().find(|release| release.name.as_str() == "torch").unwrap().origin;
    assert_eq!(*origin, Origin::Index(Address::of(&default_index()).unwrap()));
}

#[test]
fn a_fork_inside_a_minor_is_possible_until_the_patch_is_named() {
    let text = project().replace("'3.12'", "'3.12.4'");
    let lock = uv_lock(&text).unwrap();
    let both = on(&lock, "14.0", "3.12", &Choice::default());
    assert_eq!(
        both[2..4],
        [
            "numpy 1.26.4 (if python_full_version < \"3.12.4\"): source: no wheel for Python 3.12; newest is 3.11",
            "numpy 2.3.0 (if python_full_version >= \"3.12.4\"): numpy-2.3.0-cp312-cp312-macosx_14_0_arm64.whl",
        ]
    );
    assert_eq!(
        on(&lock, "14.0", "3.12.4", &Choice::default())[2],
        "numpy 2.3.0: numpy-2.3.0-cp312-cp312-macosx_14_0_arm64.whl"
    );
    assert!(on(&lock, "14.0", "3.12.3", &Choice::default())[2].starts_with("numpy 1.26.4: source"));
}

#[test]
fn locks_for_other_pythons_and_other_machines_are_refused() {
    let refused = |text: &str, python: &str| {
        uv_lock(text).unwrap().on(&machine("14.0", python), &Choice::default()).unwrap_err().to_string()
    };
    assert_eq!(refused(&project(), "3.9"), "the lock is for Python >=3.10, not for 3.9");
    let exact = project().replace(">=3.10", ">=3.11.4");
    assert_eq!(refused(&exact, "3.11.3"), "the lock is for Python >=3.11.4, not for 3.11.3");
    assert!(uv_lock(&exact).unwrap().on(&machine("14.0", "3.11"), &Choice::default()).is_ok());
    let linux = project().replace("[options]", "supported-markers = [\"sys_platform == 'linux'\"]\n[options]");
    assert_eq!(
        refused(&linux, "3.12"),
        "the lock is not for this Mac: its environments are `sys_platform == \"linux\"`"
    );
}

/// A workspace of two members whose extras exclude each other.
fn workspace() -> String {
    format!(
        r#"version = 1
requires-python = ">=3.11"
conflicts = [[{{ package = "app", extra = "old" }}, {{ package = "app", extra = "new" }}]]

[manifest]
members = ["app", "lib"]

[[package]]
name = "app"
source = {{ editable = "." }}
dependencies = [
    {{ name = "lib" }},
    {{ name = "dep", version = "1.0", source = {{ registry = "{INDEX}" }}, marker = "extra == 'extra-3-app-old'" }},
    {{ name = "dep", version = "2.0", source = {{ registry = "{INDEX}" }}, marker = "extra == 'extra-3-app-new' or extra != 'extra-3-app-old'" }},
]

[package.optional-dependencies]
old = [{{ name = "dep", version = "1.0", source = {{ registry = "{INDEX}" }} }}]
new = [{{ name = "dep", version = "2.0", source = {{ registry = "{INDEX}" }} }}]

[[package]]
name = "lib"
version = "0.2.0"
source = {{ editable = "packages/lib" }}
dependencies = [{{ name = "low" }}]

[[package]]
name = "low"
version = "1"
source = {{ directory = "low" }}

[[package]]
name = "dep"
version = "1.0"
source = {{ registry = "{INDEX}" }}

[[package]]
name = "dep"
version = "2.0"
source = {{ registry = "{INDEX}" }}
"#
    )
}

#[test]
fn members_are_taken_all_or_by_name() {
    let lock = uv_lock(&workspace()).unwrap();
    assert_eq!(lock.members.iter().map(ToString::to_string).collect::<Vec<_>>(), ["app", "lib"]);
    let all = lock.on(&machine("14.0", "3.12"), &Choice::default()).unwrap();
    assert_eq!(shown(&all), ["app ?: source", "dep 2.0: nothing: no files", "lib 0.2.0: source", "low 1: source"]);
    let one = Choice { members: vec!["lib".parse().unwrap()], ..Choice::default() };
    assert_eq!(names(&lock.on(&machine("14.0", "3.12"), &one).unwrap()), ["lib 0.2.0", "low 1"]);
}

#[test]
fn what_excludes_each_other_decides_markers_and_is_refused_together() {
    let lock = uv_lock(&workspace()).unwrap();
    let on = |choice: &Choice| lock.on(&machine("14.0", "3.12"), choice);
    assert_eq!(names(&on(&asking(&["old"], &[])).unwrap())[1], "dep 1.0");
    assert_eq!(names(&on(&asking(&["new"], &[])).unwrap())[1], "dep 2.0");
    let both = on(&asking(&["old", "new"], &[])).unwrap_err();
    assert_eq!(both.to_string(), "`app[old]` and `app[new]` exclude each other in this lock");
    // The same extra, asked for by another member.
    let asked =
        workspace().replace("[{ name = \"low\" }]", "[{ name = \"low\" }, { name = \"app\", extra = [\"old\"] }]");
    assert_eq!(
        names(&uv_lock(&asked).unwrap().on(&machine("14.0", "3.12"), &Choice::default()).unwrap())[1],
        "dep 1.0"
    );
}

#[test]
fn one_package_twice_is_refused() {
    let text = workspace().replace(" or extra != 'extra-3-app-old'", " or extra == 'extra-3-app-old'");
    let error = uv_lock(&text).unwrap().on(&machine("14.0", "3.12"), &asking(&["old"], &[])).unwrap_err();
    assert_eq!(error.to_string(), "`dep` stands for this Mac twice: in line 32 and in line 37");
}

#[test]
fn scripts_and_workspaces_without_a_project_ask_by_name() {
    let text = format!(
        r#"version = 1
requires-python = ">=3.11"

[manifest]
requirements = [{{ name = "dep", extras = ["x"], marker = "sys_platform == 'darwin'" }}]

[manifest.dependency-groups]
dev = [{{ name = "tool" }}]

[[package]]
name = "dep"
version = "1.0"
source = {{ registry = "{INDEX}" }}
resolution-markers = ["python_full_version < '3.12'"]

[[package]]
name = "dep"
version = "2.0"
source = {{ registry = "{INDEX}" }}
resolution-markers = ["python_full_version >= '3.12'"]

[package.optional-dependencies]
x = [{{ name = "more" }}]

[[package]]
name = "more"
version = "1.0"
source = {{ registry = "{INDEX}" }}

[[package]]
name = "tool"
version = "1.0"
source = {{ registry = "{INDEX}" }}
"#
    );
    let lock = uv_lock(&text).unwrap();
    let on = |python: &str| names(&lock.on(&machine("14.0", python), &Choice::default()).unwrap());
    assert_eq!(on("3.12"), ["dep 2.0", "more 1.0", "tool 1.0"]);
    assert_eq!(on("3.11"), ["dep 1.0", "tool 1.0"]);
}

#[test]
fn newer_formats_are_refused_and_newer_revisions_told() {
    let newer = uv_lock("version = 2\nrevision = 0\n").unwrap_err();
    assert_eq!(newer, "`uv.lock`, line 1: `version`: version 2 of uv.lock; macml reads version 1");
    let lock = uv_lock(&project().replace("revision = 3", "revision = 99\nnew-key = 1")).unwrap();
    assert_eq!(notes(&lock), ["uv.lock:2: written in revision 99 of uv.lock, which is newer than what macml knows"]);
    let old = uv_lock("version = 1\n[[distribution]]\nname = \"x\"\n").unwrap_err();
    assert_eq!(old, "`uv.lock`, line 2: `version`: written before uv 0.3: lock again with a newer uv");
}

#[test]
fn broken_files_are_refused_with_their_line() {
    let refused = |text: &str| uv_lock(text).unwrap_err();
    let broken = |from: &str, to: &str| {
        let text = workspace();
        assert!(text.contains(from), "{from}");
        refused(&text.replacen(from, to, 1))
    };
    assert_eq!(refused(""), "`uv.lock`, line 1: the file has no `version`");
    assert!(refused("version = \n").starts_with("`uv.lock`, line 1: "));
    assert_eq!(
        broken("{ name = \"low\" }", "{ name = \"gone\" }"),
        "`uv.lock`, line 25: `dependencies`: `gone` is no package of this file"
    );
    assert_eq!(
        broken("version = \"1.0\", source", "version = \"9\", source"),
        "`uv.lock`, line 13: `dependencies`: `dep 9` is no package of this file"
    );
    assert_eq!(
        broken("{ name = \"low\" }", "{ name = \"dep\" }"),
        "`uv.lock`, line 25: `dependencies`: `dep` is more than one package of this file"
    );
    assert_eq!(
        broken("members = [\"app\", \"lib\"]", "members = [\"app\", \"dep\"]"),
        "`uv.lock`, line 6: `members`: `dep` is no package of this file"
    );
    assert_eq!(
        broken("{ directory = \"low\" }", "{ moon = \"low\" }"),
        "`uv.lock`, line 30: `source`: a source of a kind that macml does not know: it has `moon`"
    );
    assert_eq!(broken("extra == 'extra-3-app-old'\"", "extra = 'x'\"").split(": ").nth(1), Some("`marker`"));
    let wheels = |wheel: &str| refused(&format!("{}wheels = [{{ filename = \"{wheel}\" }}]\n", workspace()));
    assert_eq!(
        wheels("dep-3.0-py3-none-any.whl"),
        "`uv.lock`, line 41: `wheels`: `dep-3.0-py3-none-any.whl` is not a wheel of dep 2.0"
    );
    assert_eq!(
        wheels("../dep-2.0-py3-none-any.whl"),
        "`uv.lock`, line 41: `wheels`: `../dep-2.0-py3-none-any.whl` is not a plain file name"
    );
    let secret = broken("{ directory = \"low\" }", "{ url = \"me:s3cret@host\" }");
    assert!(!secret.contains("s3cret") && secret.contains("line 30"), "{secret}");
    // Without any project there is nowhere to begin.
    assert_eq!(
        refused("version = 1\n[[package]]\nname = \"a\"\nsource = { registry = \"x\" }\n"),
        "`uv.lock`, line 1: `package`: none of the packages is the project"
    );
    assert!(uv_lock("version = 1\n").is_ok());
}
