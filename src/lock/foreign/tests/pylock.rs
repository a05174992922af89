//! `pylock.toml`: the rules of PEP 751.

use super::*;

fn project() -> String {
    let (a, b) = (digest('a'), digest('b'));
    format!(
        r#"lock-version = "1.0"
environments = ["sys_platform == 'darwin'", "sys_platform == 'linux'"]
requires-python = ">=3.11"
extras = ["Plot"]
dependency-groups = ["dev", "docs"]
default-groups = ["dev"]
created-by = "somebody"

[[packages]]
name = "numpy"
version = "1.26.4"
marker = "python_version < '3.12'"
index = "{INDEX}"
sdist = {{ name = "numpy-1.26.4.tar.gz", url = "https://files.example/numpy-1.26.4.tar.gz", size = 3, hashes = {{ sha256 = "{a}" }} }}

[[packages]]
name = "numpy"
version = "2.3.0"
marker = "python_version >= '3.12'"
index = "{INDEX}"

[[packages.wheels]]
name = "numpy-2.3.0-cp312-cp312-macosx_11_0_arm64.whl"
url = "https://me:s3cret@files.example/n/numpy-2.3.0-cp312-cp312-macosx_11_0_arm64.whl"
upload-time = 2025-06-01T00:00:00Z
size = 5
hashes = {{ sha256 = "{b}" }}

[[packages.wheels]]
path = "wheels/numpy-2.3.0-cp312-cp312-macosx_14_0_arm64.whl"
hashes = {{ sha512 = "00" }}

[[packages]]
name = "matplotlib"
version = "3.10.0"
marker = "'plot' in extras and sys_platform == 'darwin'"
wheels = [{{ name = "matplotlib-3.10.0-cp312-cp312-macosx_15_0_arm64.whl", hashes = {{ sha256 = "{a}" }} }}]

[[packages]]
name = "pytest"
version = "8.0"
marker = "'dev' in dependency_groups or 'docs' in dependency_groups"
archive = {{ url = "https://files.example/pytest-8.0-py3-none-any.whl", hashes = {{ sha256 = "{a}" }} }}

[[packages]]
name = "sphinx"
marker = "'docs' in dependency_groups"
vcs = {{ type = "git", url = "https://token@git.example/sphinx.git", commit-id = "0123" }}

[[packages]]
name = "mine"
directory = {{ path = "lib", editable = true }}

[[packages]]
name = "tarball"
version = "1.0"
archive = {{ path = "x/tarball-1.0.tar.gz", hashes = {{ sha256 = "{a}" }} }}

[packages.tool.somebody]
anything = 1
"#
    )
}

fn on(lock: &ForeignLock, macos: &str, python: &str, choice: &Choice) -> Vec<String> {
    shown(&lock.on(&machine(macos, python), choice).unwrap())
}

#[test]
fn markers_extras_and_groups_decide() {
    let lock = pylock_toml(&project()).unwrap();
    assert_eq!(lock.format.to_string(), "pylock.toml, written by somebody");
    assert_eq!(
        on(&lock, "14.0", "3.12", &Choice::default()),
        [
            "mine ?: source",
            "numpy 2.3.0: numpy-2.3.0-cp312-cp312-macosx_14_0_arm64.whl",
            "pytest 8.0: pytest-8.0-py3-none-any.whl",
            "tarball 1.0: source: only a source archive",
        ]
    );
    assert_eq!(
        on(&lock, "13.0", "3.11", &Choice { default_groups: false, ..asking(&["plot"], &["docs"]) }),
        [
            "matplotlib 3.10.0: nothing: no wheel for Python 3.11; oldest is 3.12",
            "mine ?: source",
            "numpy 1.26.4: source: only a source archive",
            "pytest 8.0: pytest-8.0-py3-none-any.whl",
            "sphinx ?: source",
            "tarball 1.0: source: only a source archive",
        ]
    );
    let nothing = Choice { default_groups: false, ..Choice::default() };
    assert_eq!(on(&lock, "13.0", "3.12", &nothing)[1], "numpy 2.3.0: numpy-2.3.0-cp312-cp312-macosx_11_0_arm64.whl");
    let needs = on(&lock, "13.0", "3.12", &asking(&["plot"], &[]));
    assert_eq!(needs[0], "matplotlib 3.10.0: nothing: needs macOS 15; your floor is 13.0");
}

#[test]
fn files_and_sources_are_kept_without_secrets() {
    let lock = pylock_toml(&project()).unwrap();
    let text = format!("{lock:?}");
    assert!(!text.contains("s3cret") && !text.contains("token"), "{text}");
    let numpy = &lock.releases[1];
    assert_eq!(numpy.origin, Origin::Index(Address::of(INDEX).unwrap()));
    let [first, second] = &numpy.wheels[..] else { panic!("{numpy:?}") };
    assert_eq!((first.size, first.sha256.unwrap().to_string()), (Some(5), digest('b')));
    assert_eq!(first.path.as_deref(), Some("/n/numpy-2.3.0-cp312-cp312-macosx_11_0_arm64.whl"));
    assert_eq!((second.size, second.sha256), (None, None));
    assert_eq!(second.path.as_deref(), Some("wheels/numpy-2.3.0-cp312-cp312-macosx_14_0_arm64.whl"));
    assert_eq!(
        lock.releases[4].origin,
        Origin::Repository { address: "https://git.example/sphinx.git".to_owned(), commit: Some("0123".to_owned()) }
    );
}

#[test]
fn a_name_in_lower_case_gives_way_to_that_of_the_file() {
    let text = project().replace("name = \"matplotlib-3.10.0", "url = \"https://files.example/Matplotlib-3.10.0-cp312-cp312-macosx_15_0_arm64.whl\", name = \"matplotlib-3.10.0");
    assert_eq!(
        pylock_toml(&text).unwrap().releases[2].wheels[0].file.to_string(),
        "Matplotlib-3.10.0-cp312-cp312-macosx_15_0_arm64.whl"
    );
}

#[test]
fn what_the_standard_makes_an_error_is_one() {
    let refused = |from: &str, to: &str| {
        assert!(project().contains(from), "{from}");
        let lock = pylock_toml(&project().replace(from, to)).unwrap();
        lock.on(&machine("14.0", "3.12"), &Choice::default()).unwrap_err().to_string()
    };
    assert_eq!(refused(">=3.11", ">=3.13"), "the lock is for Python >=3.13, not for 3.12");
    assert_eq!(
        refused(
            "\"sys_platform == 'darwin'\", \"sys_platform == 'linux'\"",
            "\"sys_platform == 'win32'\", \"os_name == 'nt'\""
        ),
        "the lock is not for this Mac: its environments are `sys_platform == \"win32\"` and `os_name == \"nt\"`"
    );
    assert_eq!(
        refused("python_version < '3.12'", "python_version < '3.13'"),
        "`numpy` stands for this Mac twice: in line 9 and in line 16"
    );
    assert_eq!(
        refused("name = \"mine\"", "name = \"mine\"\nrequires-python = \"<3.12\""),
        "line 50: `mine` is for Python <3.12, not for 3.12"
    );
    let member = Choice { members: vec!["mine".parse().unwrap()], ..Choice::default() };
    let error = pylock_toml(&project()).unwrap().on(&machine("14.0", "3.12"), &member).unwrap_err();
    assert_eq!(error.to_string(), "the lock has no member `mine`");
}

#[test]
fn a_package_without_a_file_has_nothing() {
    let text = "lock-version = \"1.0\"\ncreated-by = \"x\"\n[[packages]]\nname = \"bare\"\nversion = \"1\"\n";
    assert_eq!(on(&pylock_toml(text).unwrap(), "14.0", "3.12", &Choice::default()), ["bare 1: nothing: no files"]);
}

#[test]
fn newer_versions_are_refused_and_newer_minors_told() {
    let refused = pylock_toml(&project().replace("\"1.0\"\nenv", "\"2.0\"\nenv")).unwrap_err();
    assert_eq!(refused, "`pylock.toml`, line 1: `lock-version`: version 2.0 of pylock.toml; macml reads version 1");
    let lock = pylock_toml(&project().replace("\"1.0\"\nenv", "\"1.3\"\nenv")).unwrap();
    assert_eq!(
        notes(&lock),
        ["pylock.toml:1: written in version 1.3 of pylock.toml, which is newer than what macml knows"]
    );
    let odd = pylock_toml("lock-version = \"one\"").unwrap_err();
    assert_eq!(odd, "`pylock.toml`, line 1: `lock-version`: `one` is not a version such as `1.0`");
}

#[test]
fn broken_files_are_refused_with_their_line() {
    let broken = |from: &str, to: &str| {
        assert!(project().contains(from), "{from}");
        pylock_toml(&project().replacen(from, to, 1)).unwrap_err()
    };
    assert_eq!(broken("created-by = \"somebody\"", ""), "`pylock.toml`, line 1: the file has no `created-by`");
    assert_eq!(
        broken(
            "directory = { path = \"lib\"",
            "vcs = { type = \"git\", path = \".\", commit-id = \"0\" }\ndirectory = { path = \"lib\""
        ),
        "`pylock.toml`, line 50: `packages`: `mine` has `vcs` and another source beside it"
    );
    assert_eq!(broken(", commit-id = \"0123\"", ""), "`pylock.toml`, line 48: `vcs` has no `commit-id`");
    assert_eq!(broken("hashes = { sha512 = \"00\" }", ""), "`pylock.toml`, line 29: a wheel has no `hashes`");
    assert_eq!(
        broken("editable = true", "editable = 1"),
        "`pylock.toml`, line 52: `editable`: it is not `true` or `false`"
    );
    assert_eq!(broken("sha256 = \"b", "sha256 = \"z").split(": ").nth(1), Some("`sha256`"));
    assert_eq!(
        broken("'plot' in extras", "extras == 'plot'"),
        "`pylock.toml`, line 36: `marker`: `extras == 'plot' and sys_platform == 'darwin'` is not an environment marker: `extras` stands to the right of `in` or `not in`"
    );
}
