//! Requirements files: their grammar, hashes, and what is told of them.

use super::*;

fn on(lock: &ForeignLock) -> Vec<String> {
    shown(&lock.on(&machine("14.0", "3.12"), &Choice::default()).unwrap())
}

#[test]
fn hashed_lists_of_pip_tools_pip_and_uv() {
    let (a, b) = (digest('a'), digest('b'));
    let lock = list(&format!(
        "# made by a tool\n\
         --index-url https://me:s3cret@index.example/simple\n\
         \n\
         torch==2.8.0 ; sys_platform == 'darwin' \\\n    --hash=sha256:{a} \\\n    --hash=sha256:{b}\n    # via demo\n\
         numpy[extra]==2.3.0 --hash sha256:{a}  # Kommentar, 注释\n\
         colorama==0.4.6 ; sys_platform == 'win32' --hash=sha256:{a}\n\
         sha512only==1.0 --hash=sha512:00\n"
    ))
    .unwrap();
    assert_eq!(on(&lock), ["numpy 2.3.0: one of 1", "sha512only 1.0: one of 0", "torch 2.8.0: one of 2"]);
    assert_eq!(lock.releases[0].line, 4);
    assert_eq!(
        notes(&lock),
        [
            "requirements.txt:2: `--index-url` names `https://index.example/simple`",
            "requirements.txt:10: `sha512only` has hashes, but none of them is a sha256",
        ]
    );
    assert!(!format!("{lock:?}").contains("s3cret"));
}

#[test]
fn what_is_not_locked_is_told() {
    let lock = list("torch\nnumpy>=2,<3\nsix==1.16.0\nmarked==1.*\n").unwrap();
    assert_eq!(on(&lock)[3], "torch ?: one of 0");
    assert_eq!(
        notes(&lock),
        [
            "requirements.txt:1: `torch` is not pinned to one version",
            "requirements.txt:1: `torch` has no hash",
            "requirements.txt:2: `numpy` is not pinned to one version",
            "requirements.txt:2: `numpy` has no hash",
            "requirements.txt:3: `six` has no hash",
            "requirements.txt:4: `marked` is not pinned to one version",
            "requirements.txt:4: `marked` has no hash",
        ]
    );
}

#[test]
fn files_by_address_and_path() {
    let (a, b) = (digest('a'), digest('b'));
    let lock = list(&format!(
        "one @ https://me:pw@files.example/one-1.0-py3-none-any.whl#sha256={a}\n\
         https://files.example/two-2.0%2Bcpu-cp312-cp312-macosx_11_0_arm64.whl ; sys_platform == 'darwin' --hash=sha256:{b}\n\
         ./wheels/three-3.0-cp311-cp311-macosx_11_0_arm64.whl\n\
         https://files.example/four-4.0.tar.gz#egg=four&sha256={a}\n\
         five @ git+https://token@git.example/five.git@0123456789012345678901234567890123456789\n\
         git+ssh://git@git.example/six.git@main#egg=six[x]&subdirectory=a\n\
         -e git+https://git.example/seven.git#egg=seven\n\
         -e ./packages/eight ; sys_platform == 'linux'\n\
         --editable=.\n\
         ./source\n\
         file:///srv/nine-9.0-py3-none-any.whl\n"
    ))
    .unwrap();
    assert_eq!(
        on(&lock),
        [
            "five ?: source",
            "four ?: source",
            "nine 9.0: nine-9.0-py3-none-any.whl",
            "one 1.0: one-1.0-py3-none-any.whl",
            "seven ?: source",
            "six ?: source",
            "three 3.0: nothing: no wheel for Python 3.12; newest is 3.11",
            "two 2.0+cpu: two-2.0+cpu-cp312-cp312-macosx_11_0_arm64.whl",
        ]
    );
    let of = |name: &str| lock.releases.iter().find(|release| release.name.as_str() == name).unwrap();
    assert_eq!(of("one").wheels[0].sha256.unwrap().to_string(), a);
    assert_eq!(of("one").wheels[0].path.as_deref(), Some("/one-1.0-py3-none-any.whl"));
    let commit = Some("0123456789012345678901234567890123456789".to_owned());
    assert_eq!(of("five").origin, Origin::Repository { address: "https://git.example/five.git".to_owned(), commit });
    assert_eq!(of("six").origin, Origin::Repository { address: "ssh://git.example/six.git".to_owned(), commit: None });
    assert!(!format!("{lock:?}").contains("token") && !format!("{lock:?}").contains("pw@"));
    let unnamed = "which package this is can be told only by building it";
    assert_eq!(
        notes(&lock),
        [
            format!("requirements.txt:8: {unnamed}"),
            format!("requirements.txt:9: {unnamed}"),
            format!("requirements.txt:10: {unnamed}"),
            "requirements.txt:3: `three` has no hash".to_owned(),
            "requirements.txt:11: `nine` has no hash".to_owned(),
        ]
    );
}

#[test]
fn other_files_are_included_and_constraints_pin() {
    let a = digest('a');
    let lock = list_with(
        "-r more/base.txt\n-c constraints.txt\n--requirement https://me:pw@files.example/x.txt\nsix\nnumpy==2.3.0\n",
        &[
            ("more/base.txt", "-rdeep.txt\nbase==1.0 --hash=sha256:aa\n".replace("aa", &a).as_str()),
            ("more/deep.txt", "deep==1.0\n"),
            (
                "constraints.txt",
                format!("six==1.16.0 --hash=sha256:{a}\nnumpy==2.3.0 --hash=sha256:{a}\nunused==1.0\n").as_str(),
            ),
        ],
    )
    .unwrap();
    assert_eq!(
        on(&lock),
        ["base 1.0: one of 1", "deep 1.0: one of 0", "numpy 2.3.0: one of 1", "six 1.16.0: one of 1"]
    );
    assert_eq!(
        notes(&lock),
        [
            "requirements.txt:3: `--requirement` names `https://files.example/x.txt`, which was not read",
            "more/deep.txt:1: `deep` has no hash",
        ]
    );
    assert_eq!(lock.releases[0].place(), "line 1 of `more/deep.txt`");
}

#[test]
fn options_are_named_and_passed_over() {
    let lock = list(
        "--require-hashes\n--pre --trusted-host host.example\n-f wheels/\n--extra-index-url=https://u:p@extra.example/s?t=1\n--proxy http://u:p@host.example\n",
    )
    .unwrap();
    assert_eq!(
        notes(&lock),
        [
            "requirements.txt:1: `--require-hashes` is passed over",
            "requirements.txt:2: `--pre` is passed over",
            "requirements.txt:2: `--trusted-host` is passed over",
            "requirements.txt:3: `-f` names `wheels/`",
            "requirements.txt:4: `--extra-index-url` names `https://extra.example/s`",
            "requirements.txt:5: `--proxy` is passed over",
        ]
    );
}

#[test]
fn one_package_may_stand_twice_under_markers_only() {
    let a = digest('a');
    let text = format!(
        "numpy==1.26.4 ; python_version < '3.12' --hash=sha256:{a}\nnumpy==2.3.0 ; python_version >= '3.12' --hash=sha256:{a}\n"
    );
    assert_eq!(on(&list(&text).unwrap()), ["numpy 2.3.0: one of 1"]);
    let twice = list(&text.replace("< '3.12'", "< '3.13'")).unwrap();
    let error = twice.on(&machine("14.0", "3.12"), &Choice::default()).unwrap_err();
    assert_eq!(error.to_string(), "`numpy` stands for this Mac twice: in line 1 and in line 2");
    let same = format!("six==1.0 --hash=sha256:{a}\nsix==1.0 --hash=sha256:{}\n", digest('b'));
    assert_eq!(on(&list(&same).unwrap()), ["six 1.0: one of 2"]);
}

#[test]
fn broken_lines_are_refused_with_file_and_line() {
    let refused = |text: &str| list(text).unwrap_err();
    assert_eq!(
        refused("ok==1\n\n=2\n"),
        "`requirements.txt`, line 3: `=2` is not a dependency specifier: it does not begin with a package name"
    );
    assert_eq!(
        refused("six==1 --hash=sha256:zz"),
        "`requirements.txt`, line 1: `zz` is not a sha256 of 64 hexadecimal digits"
    );
    assert_eq!(refused("six==1 --hash=aa"), "`requirements.txt`, line 1: `--hash` names no kind of hash");
    assert_eq!(refused("six==1 --hash"), "`requirements.txt`, line 1: `--hash` names no kind of hash");
    assert_eq!(refused("-r"), "`requirements.txt`, line 1: nothing follows `-r`");
    assert_eq!(refused("a==1\n-r gone.txt"), "`requirements.txt`, line 2: there is no file `gone.txt`");
    assert_eq!(
        refused("one @ https://files.example/two-1.0-py3-none-any.whl"),
        "`requirements.txt`, line 1: `two-1.0-py3-none-any.whl` is not a wheel of one"
    );
    assert_eq!(refused("-r requirements.txt"), "`requirements.txt`, line 1: `requirements.txt` includes itself");
    let nested = list_with("-r a.txt", &[("a.txt", "six==1\nx y\n")]).unwrap_err();
    assert!(nested.starts_with("`a.txt`, line 2: `x y` is not a dependency specifier"), "{nested}");
    let secret = refused("six @ https://me:s3cret@files.example/x y\n");
    assert!(!secret.contains("s3cret"), "{secret}");
}
