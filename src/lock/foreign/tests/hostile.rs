//! Files that lie: every cut and every flipped byte is an answer or one error, in time.

use std::time::{Duration, Instant};

use super::*;

fn soon(what: &str, work: impl FnOnce()) {
    let start = Instant::now();
    work();
    assert!(start.elapsed() < Duration::from_secs(20), "{what} took {:?}", start.elapsed());
}

/// Reads and, where that goes, chooses; only that it ends matters.
fn ask(lock: Result<ForeignLock, String>) {
    match lock {
        Ok(lock) => {
            let all = Choice { extras: Chosen::All, groups: Chosen::All, ..Choice::default() };
            for choice in [Choice::default(), all] {
                let _ = lock.on(&machine("14.0", "3.12"), &choice).map(|selection| shown(&selection));
            }
        }
        Err(error) => assert!(error.contains(", line "), "{error}"),
    }
}

const UV: &str = "version = 1\nconflicts = [[{ package = \"a\", extra = \"x\" }, { package = \"a\", group = \"dev\" }]]\n\
    [[package]]\nname = \"a\"\nsource = { virtual = \".\" }\ndependencies = [{ name = \"b\", extra = [\"y\"], marker = \"os_name == 'posix'\" }]\n\
    [package.optional-dependencies]\nx = [{ name = \"a\" }]\n[package.dev-dependencies]\ndev = [{ name = \"b\" }]\n\
    [[package]]\nname = \"b\"\nversion = \"1\"\nsource = { registry = \"https://index.example\" }\n\
    wheels = [{ url = \"https://f.example/b-1-py3-none-any.whl\", size = 1 }]\n";
const PYLOCK: &str = "lock-version = \"1.0\"\ncreated-by = \"x\"\nextras = [\"x\"]\n[[packages]]\nname = \"b\"\nversion = \"1\"\n\
    marker = \"'x' in extras\"\nwheels = [{ url = \"https://f.example/b-1-py3-none-any.whl\", hashes = { md5 = \"0\" } }]\n";
const LIST: &str = "-c b.txt\na==1 ; os_name == 'posix' --hash=md5:0 \\\n  --hash=sha512:1 # x\n-e git+https://u:p@h/x@y#egg=z\n./b-1-py3-none-any.whl\n";

#[test]
fn cut_and_damaged_files_end_in_an_answer_or_one_error() {
    type Reader = fn(&str) -> Result<ForeignLock, String>;
    let readers: [(&str, Reader); 3] =
        [(UV, uv_lock), (PYLOCK, pylock_toml), (LIST, |text| list_with(text, &[("b.txt", "")]))];
    for (text, read) in readers {
        assert!(read(text).is_ok(), "{:?}", read(text));
        for end in 0..text.len() {
            ask(read(&text[..end]));
            for byte in ["\"", "\0", "名", "9", " -"] {
                ask(read(&format!("{}{byte}{}", &text[..end], &text[end + 1..])));
            }
        }
    }
}

#[test]
fn circles_and_deep_chains_end() {
    soon("a long chain of dependencies", || {
        let package = |at: usize| {
            let source = if at == 0 { "{ virtual = \".\" }" } else { "{ registry = \"x\" }" };
            let next = (at + 1) % 5000;
            format!(
                "[[package]]\nname = \"p{at}\"\nversion = \"1\"\nsource = {source}\ndependencies = [{{ name = \"p{next}\" }}]\n"
            )
        };
        let text = format!("version = 1\n{}", (0..5000).map(package).collect::<String>());
        let lock = uv_lock(&text).unwrap();
        assert_eq!(lock.on(&machine("14.0", "3.12"), &Choice::default()).unwrap().packages.len(), 5000);
    });
    soon("many extras that exclude each other", || {
        let items: Vec<String> = (0..300).map(|at| format!("{{ package = \"a\", extra = \"x{at}\" }}")).collect();
        let sets: Vec<String> = items.iter().map(|item| format!("[{item}]")).collect();
        let parts: String =
            (0..300).map(|at| format!("x{at} = [{{ name = \"a\", extra = [\"x{}\"] }}]\n", at + 1)).collect();
        let text = format!(
            "version = 1\nconflicts = [{}]\n[[package]]\nname = \"a\"\nsource = {{ virtual = \".\" }}\n\
             dependencies = [{{ name = \"a\", extra = [\"x0\"] }}]\n[package.optional-dependencies]\n{parts}",
            sets.join(", ")
        );
        ask(uv_lock(&text));
    });
}

#[test]
fn too_much_is_refused() {
    let many = |head: &str, one: &str| format!("{head}{}", one.repeat(super::super::pieces::MOST_RELEASES + 1));
    soon("too many packages", || {
        let uv = uv_lock(&many("version = 1\n", "[[package]]\nname = \"a\"\n")).unwrap_err();
        assert_eq!(uv, "`uv.lock`, line 40002: `package`: more than 20000 of them");
    });
    let marker =
        format!("version = 1\nsupported-markers = [\"{}os_name == 'x'\"]\n", "os_name == 'x' or ".repeat(5000));
    assert_eq!(
        uv_lock(&marker).unwrap_err(),
        "`uv.lock`, line 2: `supported-markers`: a marker of more than 32768 bytes"
    );
    let deep = format!("version = 1\na = {}", "[".repeat(100_000));
    assert!(uv_lock(&deep).is_err());
    let mut read = |path: &Path| Ok(format!("-r {}x\n", path.display()));
    let chain = super::super::requirements::parse(Path::new("a"), "-r b\n".to_owned(), &mut read).unwrap_err();
    assert!(chain.to_string().ends_with("it includes more files, or longer ones, than any list"), "{chain}");
}
