//! Interpreters on machines laid out in a folder: what is found, what is started, what is refused and in which words.

#![expect(clippy::disallowed_methods, reason = "tests lay out files")]

mod laid;

use std::time::Duration;

use serde_json::{Value, json};

use super::header::made::{ARM64, Signed, X86_64, elf, mach_o, universal};
use super::*;
use laid::{Laid, MODULES, but, says, says_with};

/// A Mac that has seen much.
fn full_mac() -> Laid {
    let mac = Laid::mac().with("PATH", "Users/dev/p/.venv/bin:Users/dev/miniconda3/bin:opt/homebrew/bin:usr/bin");
    let intel = || mach_o(X86_64, Signed::Yes);
    let both = || universal(&[(X86_64, intel()), (ARM64, mac.native())]);
    // Homebrew for Apple Silicon, and an old one for Intel.
    mac.file("opt/homebrew/bin/brew", b"#!/bin/bash\n");
    for (minor, patch) in [(12, 11), (13, 9)] {
        let keg = format!("opt/homebrew/Cellar/python@3.{minor}/3.{minor}.{patch}");
        let real = format!("Frameworks/Python.framework/Versions/3.{minor}/bin/python3.{minor}");
        mac.python(&format!("{keg}/{real}"), &format!("3.{minor}.{patch}"));
        mac.link(&format!("{keg}/bin/python3.{minor}"), &format!("../{real}"));
        let opt = format!("opt/homebrew/opt/python@3.{minor}");
        mac.link(&opt, &format!("../Cellar/python@3.{minor}/3.{minor}.{patch}"));
        mac.link(&format!("opt/homebrew/bin/python3.{minor}"), &format!("../opt/python@3.{minor}/bin/python3.{minor}"));
    }
    mac.link("opt/homebrew/opt/python@3", "python@3.13");
    mac.link("opt/homebrew/bin/python3", "python3.13");
    mac.program("usr/local/opt/python@3.11/bin/python3.11", &intel(), "exit 99");
    // pyenv.
    mac.file("Users/dev/.pyenv/bin/pyenv", b"#!/bin/bash\n");
    mac.file("Users/dev/.pyenv/shims/python3", b"#!/usr/bin/env bash\n");
    let pyenv = |version: &str, name: &str| format!("Users/dev/.pyenv/versions/{version}/bin/{name}");
    let lacking = says_with(&mac.facts("3.10.13"), |module| match module {
        "_lzma" => json!([{ "missing": module }]),
        _ => json!([{ "loading": module, "file": null }, { "loaded": module }]),
    });
    mac.program(&pyenv("3.10.13", "python3.10"), &mac.native(), &lacking);
    mac.link(&pyenv("3.10.13", "python"), "python3.10");
    mac.program(&pyenv("3.9.18", "python3.9"), &mach_o(ARM64, Signed::No), "exit 99");
    mac.program(&pyenv("2.7.18", "python2.7"), &mac.native(), "exit 99");
    mac.link(&pyenv("2.7.18", "python"), "python2.7");
    let pypy = but(mac.facts("3.10.14"), json!({ "implementation": "pypy" }));
    mac.program(&pyenv("pypy3.10-7.3.17", "python"), &mac.native(), &says(&pypy));
    mac.link("Users/dev/.pyenv/versions/trial", "3.10.13/envs/trial");
    mac.file("Users/dev/.pyenv/versions/3.10.13/envs/trial/pyvenv.cfg", b"home = /x/bin\n");
    mac.link("Users/dev/.pyenv/versions/3.10.13/envs/trial/bin/python", "../../../bin/python3.10");
    // python.org.
    let framework = "Library/Frameworks/Python.framework/Versions";
    mac.program(&format!("{framework}/3.11/bin/python3.11"), &both(), &says(&mac.facts("3.11.9")));
    mac.link(&format!("{framework}/Current"), "3.11");
    mac.link("usr/local/bin/python3", &mac.at(&format!("{framework}/3.11/bin/python3.11")).display().to_string());
    let free = but(mac.facts("3.13.9"), json!({ "free_threaded": true }));
    mac.program("Library/Frameworks/PythonT.framework/Versions/3.13/bin/python3.13t", &both(), &says(&free));
    // uv.
    let uv = "Users/dev/.local/share/uv/python";
    mac.program(&format!("{uv}/cpython-3.11.9-macos-x86_64-none/bin/python3.11"), &intel(), "exit 99");
    mac.python(&format!("{uv}/cpython-3.12.7-macos-aarch64-none/bin/python3.12"), "3.12.7");
    mac.python(&format!("{uv}/cpython-3.12.13-macos-aarch64-none/bin/python3.12"), "3.12.13");
    mac.link(&format!("{uv}/cpython-3.12-macos-aarch64-none"), "cpython-3.12.13-macos-aarch64-none");
    mac.python(&format!("{uv}/.temp/x/bin/python3.12"), "3.12.7");
    let candidate = but(mac.facts("3.15.0"), json!({ "level": "candidate", "serial": 2 }));
    mac.program(&format!("{uv}/cpython-3.15.0rc2-macos-aarch64-none/bin/python3.15"), &mac.native(), &says(&candidate));
    // conda: an Intel one, with an environment, and one for Apple Silicon.
    for base in ["miniconda3", "miniforge3"] {
        let at = |place: &str| format!("Users/dev/{base}/{place}");
        for place in ["conda-meta/history", "condabin/conda", "envs/ml/conda-meta/history", "envs/ml/condabin/conda"] {
            mac.file(&at(place), b"");
        }
        let header = if base == "miniconda3" { intel() } else { mac.native() };
        mac.program(&at("bin/python3.11"), &header, "exit 99");
        mac.program(&at("envs/ml/bin/python3.12"), &header, &says(&mac.facts("3.12.4")));
    }
    // Apple's.
    let apple =
        ["usr/bin", "Library/Developer/CommandLineTools/usr/bin", "Applications/Xcode.app/Contents/Developer/usr/bin"];
    for place in apple {
        mac.program(&format!("{place}/python3"), &both(), "exit 99");
    }
    // An environment that is active.
    mac.file("Users/dev/p/.venv/pyvenv.cfg", b"home = /x\n");
    mac.link("Users/dev/p/.venv/bin/python3", &mac.at("opt/homebrew/bin/python3.13").display().to_string());
    mac
}

const FULL_MAC: &str = "\
/opt/homebrew/opt/python@3.13/bin/python3.13 [Homebrew] is 3.13.9 (Arm64)
/opt/homebrew/opt/python@3.12/bin/python3.12 [Homebrew] is 3.12.11 (Arm64)
/usr/local/opt/python@3.11/bin/python3.11 [Homebrew] is built for x86_64, and Apple Silicon needs arm64
  -> `brew install python@3.11`
/Users/dev/.pyenv/versions/3.10.13/bin/python3.10 [Pyenv] lacks `_lzma`, needed by torchvision and pandas among others
  -> `/opt/homebrew/bin/brew install xz`, then `arch -arm64 pyenv install --force 3.10.13`
/Users/dev/.pyenv/versions/3.9.18/bin/python3.9 [Pyenv] has no code signature, and macOS kills such programs on Apple Silicon
  -> `arch -arm64 pyenv install --force 3.9.18`
/Users/dev/.pyenv/versions/2.7.18/bin/python [Pyenv] is Python 2.7, and 3.8 is the oldest that is locked for
  -> `brew install python@3.13`
/Users/dev/.pyenv/versions/pypy3.10-7.3.17/bin/python [Pyenv] is PyPy, and wheels are locked for CPython
  -> `brew install python@3.13`
/Library/Frameworks/Python.framework/Versions/3.11/bin/python3.11 [PythonOrg] is 3.11.9 (Arm64)
/Library/Frameworks/PythonT.framework/Versions/3.13/bin/python3.13t [PythonOrg] is a free-threaded build, for which few packages have wheels
  -> `brew install python@3.13`
/Users/dev/.local/share/uv/python/cpython-3.15.0rc2-macos-aarch64-none/bin/python3.15 [Uv] is a pre-release, 3.15.0rc2
  -> `brew install python@3.13`
/Users/dev/.local/share/uv/python/cpython-3.12.13-macos-aarch64-none/bin/python3.12 [Uv] is 3.12.13 (Arm64)
/Users/dev/.local/share/uv/python/cpython-3.12.7-macos-aarch64-none/bin/python3.12 [Uv] is 3.12.7 (Arm64)
/Users/dev/.local/share/uv/python/cpython-3.11.9-macos-x86_64-none/bin/python3.11 [Uv] is built for x86_64, and Apple Silicon needs arm64
  -> `uv python install cpython-3.11-macos-aarch64-none`
/Users/dev/miniforge3/envs/ml/bin/python3.12 [Conda(\"ml\")] is 3.12.4 (Arm64)
/Users/dev/miniconda3/envs/ml/bin/python3.12 [Conda(\"ml\")] is built for x86_64, and Apple Silicon needs arm64
  -> `brew install python@3.12`
/Users/dev/miniforge3/bin/python3.11 [CondaBase] is conda's base, which conda itself runs on and changes
  -> `brew install python@3.13`
/Users/dev/miniconda3/bin/python3.11 [CondaBase] is built for x86_64, and Apple Silicon needs arm64
  -> `brew install python@3.11`
/usr/bin/python3 [Apple] is Apple's stand-in for the Python of its developer tools, not one to build on
  -> `brew install python@3.13`
/Library/Developer/CommandLineTools/usr/bin/python3 [Apple] is the Python of Apple's developer tools, which their updates replace, not one to build on
  -> `brew install python@3.13`
/Applications/Xcode.app/Contents/Developer/usr/bin/python3 [Apple] is the Python of Apple's developer tools, which their updates replace, not one to build on
  -> `brew install python@3.13`";

#[test]
fn a_mac_that_has_seen_much() {
    let mac = full_mac();
    mac.check(FULL_MAC);
    // Strangers were not started: no Intel program, nothing of Apple's, no base of conda, nothing without a signature.
    let ran = [
        "/Library/Frameworks/Python.framework/Versions/3.11/bin/python3.11",
        "/Library/Frameworks/PythonT.framework/Versions/3.13/bin/python3.13t",
        "/Users/dev/.local/share/uv/python/cpython-3.12.13-macos-aarch64-none/bin/python3.12",
        "/Users/dev/.local/share/uv/python/cpython-3.12.7-macos-aarch64-none/bin/python3.12",
        "/Users/dev/.local/share/uv/python/cpython-3.15.0rc2-macos-aarch64-none/bin/python3.15",
        "/Users/dev/.pyenv/versions/3.10.13/bin/python3.10",
        "/Users/dev/.pyenv/versions/pypy3.10-7.3.17/bin/python",
        "/Users/dev/miniforge3/envs/ml/bin/python3.12",
        "/opt/homebrew/opt/python@3.12/bin/python3.12",
        "/opt/homebrew/opt/python@3.13/bin/python3.13",
    ];
    assert_eq!(mac.started(), ran);
    // The second time all is known.
    mac.check(FULL_MAC);
    assert!(mac.started().is_empty());
}

#[test]
fn a_linux_with_much_on_its_path() {
    let linux = Laid::new(System::Linux).with(
        "PATH",
        "Users/dev/p/.venv/bin:Users/dev/.pyenv/shims:Users/dev/asdf/shims:opt/conda/bin:Users/dev/.local/bin:\
         Users/dev/.pyenv/versions/3.11.7/bin:nowhere:usr/bin:bin:home/linuxbrew/.linuxbrew/bin",
    );
    linux.file("Users/dev/p/.venv/pyvenv.cfg", b"home = /usr/bin\n");
    linux.link("Users/dev/p/.venv/bin/python3", &linux.at("usr/bin/python3").display().to_string());
    linux.file("Users/dev/.pyenv/shims/python3.12", b"#!/usr/bin/env bash\n");
    linux.file("Users/dev/asdf/shims/python3", b"#!/usr/bin/env bash\n");
    for place in ["conda-meta/history", "condabin/conda", "envs/ml/conda-meta/history"] {
        linux.file(&format!("opt/conda/{place}"), b"");
    }
    linux.program("opt/conda/bin/python3.12", &elf(62), "exit 99");
    linux.link("opt/conda/bin/python3", "python3.12");
    linux.python("Users/dev/.pyenv/versions/3.11.7/bin/python3.11", "3.11.7");
    linux.program("Users/dev/.pyenv/versions/3.12.1/bin/python3.12", &elf(183), "exit 99");
    let uv = "Users/dev/.local/share/uv/python/cpython-3.13.1-linux-x86_64-gnu/bin/python3.13";
    linux.python(uv, "3.13.1");
    linux.link("Users/dev/.local/share/uv/python/cpython-3.13-linux-x86_64-gnu", "cpython-3.13.1-linux-x86_64-gnu");
    let minor = "../share/uv/python/cpython-3.13-linux-x86_64-gnu/bin/python3.13";
    linux.link("Users/dev/.local/bin/python3.13", minor);
    linux.python("usr/bin/python3.11", "3.11.2");
    linux.link("usr/bin/python3", "python3.11");
    linux.link("bin", "usr/bin");
    linux.file("usr/bin/python3-config", b"#!/bin/sh\n");
    linux.file("usr/bin/python3.9", b"neither\n");
    let brew = "home/linuxbrew/.linuxbrew";
    linux.python(&format!("{brew}/Cellar/python@3.14/3.14.1/bin/python3.14"), "3.14.1");
    linux.link(&format!("{brew}/opt/python@3.14"), "../Cellar/python@3.14/3.14.1");
    linux.link(&format!("{brew}/bin/python3.14"), "../Cellar/python@3.14/3.14.1/bin/python3.14");
    linux.check(
        "\
/Users/dev/asdf/shims/python3 [Path] is a script that starts something else, not a Python
  -> name the Python that it starts
/Users/dev/.local/share/uv/python/cpython-3.13.1-linux-x86_64-gnu/bin/python3.13 [Uv] is 3.13.1 (X86_64)
/Users/dev/.pyenv/versions/3.11.7/bin/python3.11 [Pyenv] is 3.11.7 (X86_64)
/usr/bin/python3.11 [Path] is 3.11.2 (X86_64)
/usr/bin/python3.9 [Path] is not a program for Linux, or it is damaged
  -> `uv python install 3.9`
/home/linuxbrew/.linuxbrew/opt/python@3.14/bin/python3.14 [Homebrew] is 3.14.1 (X86_64)
/Users/dev/.pyenv/versions/3.12.1/bin/python3.12 [Pyenv] is built for aarch64, and this machine needs x86_64
  -> `pyenv install --force 3.12.1`
/opt/conda/bin/python3.12 [CondaBase] is conda's base, which conda itself runs on and changes
  -> `uv python install 3.13`",
    );
}

/// What becomes of a Mac's only Python, whose program does this.
#[track_caller]
fn check_answer(does: &str, expected: &str) {
    let mac = Laid::mac();
    mac.program("opt/homebrew/opt/python@3.13/bin/python3.13", &mac.native(), does);
    let hangs = does.contains("sleep");
    let limit = if hangs { Duration::from_millis(1500) } else { mac.search().limit };
    let search = Search { limit, ..mac.search() };
    let text = mac.report(&search.all());
    let text = text.trim().strip_prefix("/opt/homebrew/opt/python@3.13/bin/python3.13 [Homebrew] ").unwrap();
    assert_eq!(text, expected.trim());
    // Asked again, it is started again: what went wrong may lie elsewhere and be gone.
    mac.started();
    if !hangs {
        search.all();
        assert_eq!(mac.started().len(), 1);
    }
}

#[test]
fn what_does_not_answer_is_told_with_what_it_did() {
    let facts = Laid::mac().facts("3.13.9");
    let whole = says(&facts);
    let loading = |then: &str| {
        let line = json!({ "loading": "_ssl", "file": "/lib/_ssl.cpython-313-darwin.so" });
        format!("cat <<'END'\n{facts}\n{line}\nEND\n{then}")
    };
    check_answer(
        "kill -9 $$",
        "was killed by macOS (signal 9): that is what a broken code signature does\n  -> `brew reinstall python@3.13`",
    );
    check_answer(
        &loading("kill -9 $$"),
        "was killed by macOS (signal 9) while it loaded `/lib/_ssl.cpython-313-darwin.so`: that is what a broken code signature \
         does\n  -> `brew reinstall python@3.13`",
    );
    check_answer(
        "echo 'dyld[1]: Library not loaded: @rpath/Python' >&2; kill -6 $$",
        "crashed (signal 6); it said: dyld[1]: Library not loaded: @rpath/Python\n  -> `brew reinstall python@3.13`",
    );
    check_answer(
        &loading("kill -11 $$"),
        "crashed (signal 11) while it loaded `/lib/_ssl.cpython-313-darwin.so`\n  -> `brew reinstall python@3.13`",
    );
    let here = "find out why `/opt/homebrew/opt/python@3.13/bin/python3.13 -c ''` hangs, or name another";
    check_answer("sleep 300", &format!("did not say within 1.5 s what it is\n  -> {here}"));
    let hung = loading("sleep 300 & sleep 300");
    check_answer(&hung, &format!("did not say within 1.5 s what it is, and hung while it loaded `_ssl`\n  -> {here}"));
    check_answer(
        "echo Traceback >&2; echo 'ModuleNotFoundError: encodings' >&2; echo >&2; exit 1",
        "ended with code 1 when asked what it is: ModuleNotFoundError: encodings\n  -> `brew reinstall python@3.13`",
    );
    check_answer("exit 3", "ended with code 3 when asked what it is\n  -> `brew reinstall python@3.13`");
    check_answer("", "did not say what it is\n  -> name the file of a Python");
    check_answer("echo; echo Hello; echo more", "did not say what it is, but: Hello\n  -> name the file of a Python");
    // Cut off, twice over, with lines that are none, or of another form: all that is no answer.
    let lines: Vec<&str> = whole.lines().collect();
    let cut = [&lines[..lines.len() - 2], &["END"]].concat().join("\n");
    let first = lines[1].chars().take(300).collect::<String>();
    let said = format!("did not say what it is, but: {first}\n  -> name the file of a Python");
    check_answer(&cut, &said);
    check_answer(&format!("{whole}{whole}"), &said);
    check_answer(&whole.replace("\"loaded\":\"_bz2\"", "\"loaded\":\"_lzma\""), &said);
    check_answer(&whole.replace("{\"end\":true}", "{\"end\":false}"), &said);
    check_answer(&whole.replace("{\"end\":true}", "{\"end\":true,\"x\":1}"), &said);
    check_answer(
        "head -c 3000000 /dev/zero | tr '\\0' x",
        &format!("did not say what it is, but: {}\n  -> name the file of a Python", "x".repeat(300)),
    );
    check_answer(
        "printf '\\377\\376'",
        "did not say what it is, but: \u{fffd}\u{fffd}\n  -> name the file of a Python",
    );
}

#[test]
fn modules_that_cannot_be_loaded_are_named() {
    let facts = Laid::mac().facts("3.13.9");
    let broken = says_with(&facts, |module| match module {
        "_ssl" => json!([
            { "loading": module, "file": "/x.so" },
            { "broken": module, "why": "ImportError: dlopen(/x.so): Library not loaded: /opt/homebrew/lib/libssl.3.dylib\n  Referenced from" },
        ]),
        _ => json!([{ "loading": module, "file": null }, { "loaded": module }]),
    });
    check_answer(
        &broken,
        "cannot load `_ssl`: ImportError: dlopen(/x.so): Library not loaded: /opt/homebrew/lib/libssl.3.dylib\n  \
         -> `brew reinstall python@3.13`",
    );
}

/// What becomes of a Python of uv with these facts.
#[track_caller]
fn check_facts(system: System, changes: Value, expected: &str) {
    let laid = Laid::new(system);
    let place = "Users/dev/.local/share/uv/python/cpython-3.13.9-x/bin/python3.13";
    laid.program(place, &laid.native(), &says(&but(laid.facts("3.13.9"), changes)));
    laid.check(&format!("/{place} [Uv] {expected}"));
}

#[test]
fn what_it_says_must_fit_the_machine() {
    let mac = |changes, expected: &str| check_facts(System::Mac, changes, expected);
    mac(json!({}), "is 3.13.9 (Arm64)");
    // Newer Pythons say more.
    mac(json!({ "later": 1 }), "is 3.13.9 (Arm64)");
    mac(
        json!({ "machine": "x86_64" }),
        "runs as x86_64, though it has code for this machine\n  -> use a terminal that does not run under Rosetta",
    );
    mac(
        json!({ "system": "linux" }),
        "did not say what it is, but: it runs on `linux`\n  -> name the file of a Python",
    );
    mac(
        json!({ "version": [3, 7, 16] }),
        "is Python 3.7.16, and 3.8 is the oldest that is locked for\n  -> `brew install python@3.13`",
    );
    mac(
        json!({ "implementation": "graalpy" }),
        "is GraalPy, and wheels are locked for CPython\n  -> `brew install python@3.13`",
    );
    mac(json!({ "level": "beta", "serial": 1 }), "is a pre-release, 3.13.9b1\n  -> `brew install python@3.13`");
    let linux = |changes, expected: &str| check_facts(System::Linux, changes, expected);
    linux(
        json!({ "machine": "aarch64" }),
        "runs as aarch64, though it has code for this machine\n  -> `uv python install 3.13`",
    );
    linux(
        json!({ "libc": null }),
        "is not linked to glibc, which locked wheels for Linux need\n  -> `uv python install 3.13`",
    );
}

#[test]
fn missing_modules_are_told_with_what_brings_them() {
    let check = |system: System, place: &str, missing: &[&str], expected: &str| {
        let laid = if system == System::Mac { Laid::mac() } else { Laid::linux() };
        let says = says_with(&laid.facts("3.12.4"), |module| match missing.contains(&module) {
            true => json!([{ "missing": module }]),
            false => json!([{ "loading": module, "file": null }, { "loaded": module }]),
        });
        laid.program(place, &laid.native(), &says);
        let text = laid.report(&laid.search().all());
        assert_eq!(text.trim().split_once("] ").unwrap().1, expected);
    };
    let all = "lacks `_lzma` and `_bz2` and `_ssl` and `_ctypes` and `_sqlite3`, needed by torchvision and pandas among \
               others, and by packages that read archives, and by everything that downloads, and by numpy and most of what \
               has native parts, and by notebooks and experiment trackers\n  -> ";
    check(
        System::Mac,
        "Users/dev/.pyenv/versions/3.12.4/bin/python3.12",
        &MODULES,
        &format!(
            "{all}`/opt/homebrew/bin/brew install xz bzip2 openssl@3 libffi sqlite`, then `arch -arm64 pyenv install --force 3.12.4`"
        ),
    );
    check(
        System::Linux,
        "Users/dev/.pyenv/versions/3.12.4/bin/python3.12",
        &MODULES,
        &format!(
            "{all}install the development files of xz, bzip2, OpenSSL, libffi, SQLite, then `pyenv install --force 3.12.4`"
        ),
    );
    let lzma = "lacks `_lzma`, needed by torchvision and pandas among others\n  -> ";
    check(
        System::Mac,
        "opt/homebrew/opt/python@3.12/bin/python3.12",
        &["_lzma"],
        &format!("{lzma}`brew reinstall python@3.12`"),
    );
    check(
        System::Linux,
        "usr/bin/python3.12",
        &["_lzma"],
        &format!("{lzma}install the rest of its standard library with the system's package manager"),
    );
}

#[test]
fn one_that_is_named_is_judged_alone_and_called_by_a_name_that_lasts() {
    let mac = full_mac();
    let brew = "/opt/homebrew/opt/python@3.13/bin/python3.13 [Homebrew] is 3.13.9 (Arm64)";
    for place in [
        "opt/homebrew/bin/python3",
        "opt/homebrew/bin/python3.13",
        "opt/homebrew/Cellar/python@3.13/3.13.9/bin/python3.13",
        "opt/homebrew/opt/python@3.13",
        "opt/homebrew/opt/python@3.13/bin/python3.13",
    ] {
        mac.check_named(place, brew);
    }
    mac.check_named(
        "usr/local/bin/python3",
        "/Library/Frameworks/Python.framework/Versions/3.11/bin/python3.11 [PythonOrg] is 3.11.9 (Arm64)",
    );
    mac.check_named(
        "usr/bin/python3",
        "/usr/bin/python3 [Apple] is Apple's stand-in for the Python of its developer tools, not one to build on\n  \
         -> `brew install python@3.13`",
    );
    mac.check_named(
        "Users/dev/p/.venv/bin/python3",
        "/Users/dev/p/.venv/bin/python3 [Elsewhere] belongs to a virtual environment; it was made from the Python in `/x`\n  \
         -> name that one: `/x/python3`",
    );
    mac.check_named(
        "Users/dev/.pyenv/shims/python3",
        "/Users/dev/.pyenv/shims/python3 [Pyenv] is a script that starts something else, not a Python\n  \
         -> name the Python that it starts",
    );
    mac.check_named("nowhere", "/nowhere [Elsewhere] does not exist\n  -> name the file of a Python");
    mac.check_named(
        "Library",
        "/Library [Elsewhere] is a folder without a Python in it\n  -> name the file of a Python",
    );
    mac.file("Users/dev/my tools/python3", b"\x7fELF");
    mac.check_named(
        "Users/dev/my tools/python3",
        "/Users/dev/my tools/python3 [Elsewhere] is not a program for Macs, or it is damaged\n  -> `brew install python@3.13`",
    );
    let mode = std::os::unix::fs::PermissionsExt::from_mode;
    std::fs::set_permissions(mac.at("Users/dev/my tools/python3"), mode(0o644)).unwrap();
    mac.check_named(
        "Users/dev/my tools/python3",
        "/Users/dev/my tools/python3 [Elsewhere] may not be run: it has no executable bit\n  \
         -> `chmod +x '/Users/dev/my tools/python3'`, if it is a Python",
    );
    mac.link("round", "round");
    let round = Search { named: Some(mac.at("round")), ..mac.search() };
    assert!(matches!(&round.all()[..], [Seen { verdict: Err(Refusal::Unreadable(_)), .. }]));
    mac.link("dangling", "nothing");
    mac.check_named("dangling", "/dangling [Elsewhere] does not exist\n  -> name the file of a Python");
    mac.program("odd/python3", &mach_o(ARM64, Signed::No), "exit 99");
    mac.check_named(
        "odd/python3",
        "/odd/python3 [Elsewhere] has no code signature, and macOS kills such programs on Apple Silicon\n  \
         -> install it again, or sign it: `codesign --force --sign - /odd/python3`",
    );
}

#[test]
fn a_pipe_in_the_place_of_a_python_keeps_nobody_waiting() {
    let linux = Laid::linux();
    std::fs::create_dir_all(linux.at("usr/bin")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(linux.at("usr/bin/python3")).status().unwrap();
    assert!(made.success());
    linux.check("/usr/bin/python3 [Path] is not a program for Linux, or it is damaged\n  -> `uv python install 3.13`");
}

#[test]
fn the_first_that_fits_is_chosen_and_no_more_are_started() {
    let mac = full_mac();
    assert_eq!(mac.chosen((3, 13), "*"), "/opt/homebrew/opt/python@3.13/bin/python3.13");
    assert_eq!(mac.started(), ["/opt/homebrew/opt/python@3.13/bin/python3.13"]);
    // What another minor is in the name of is not started.
    assert_eq!(mac.chosen((3, 11), "*"), "/Library/Frameworks/Python.framework/Versions/3.11/bin/python3.11");
    let ran = [
        "/Library/Frameworks/Python.framework/Versions/3.11/bin/python3.11",
        "/Users/dev/.pyenv/versions/pypy3.10-7.3.17/bin/python",
    ];
    assert_eq!(mac.started(), ran);
    // Homebrew's 3.12.11 is excluded, uv's newest is next.
    let uv = "/Users/dev/.local/share/uv/python/cpython-3.12.13-macos-aarch64-none/bin/python3.12";
    assert_eq!(mac.chosen((3, 12), "!=3.12.11"), uv);
    let conda = "/Users/dev/miniforge3/envs/ml/bin/python3.12";
    assert_eq!(mac.chosen((3, 12), "<3.12.5"), conda);
    let interpreter = mac.search().choose(&mac.wanted(None, ">=3.11,<3.13")).unwrap();
    assert_eq!((interpreter.version.to_string().as_str(), interpreter.minor), ("3.12.11", (3, 12)));
    assert_eq!(interpreter.base_prefix, mac.at("prefix/3.12.11"));
}

#[test]
fn a_python_of_conda_comes_with_a_note() {
    let mac = full_mac();
    let note = |within: &str| mac.search().choose(&mac.wanted(Some((3, 12)), within)).unwrap().note();
    assert_eq!(note("*"), None);
    assert_eq!(
        mac.shown(&note("<3.12.5").unwrap()),
        "`/Users/dev/miniforge3/envs/ml/bin/python3.12` is of conda's environment `ml`: what conda changes there changes \
         beneath what is built on it"
    );
}

#[test]
fn when_none_fits_each_is_told_with_the_reason_and_one_thing_to_do() {
    let mac = Laid::mac();
    let told =
        |mac: &Laid, minor, within: &str| mac.told(&mac.search().choose(&mac.wanted(minor, within)).unwrap_err());
    assert_eq!(told(&mac, Some((3, 13)), "*"), "no Python was found on this machine\n-> `brew install python@3.13`\n");
    mac.program("usr/bin/python3", &mac.native(), "exit 99");
    assert_eq!(
        told(&mac, Some((3, 9)), "*"),
        "\
no Python 3.9 that can be used: the one Python found does not fit
  /usr/bin/python3 is Apple's stand-in for the Python of its developer tools, not one to build on
-> `uv python install 3.9`
"
    );
    mac.python("opt/homebrew/opt/python@3.13/bin/python3.13", "3.13.8");
    mac.python("opt/homebrew/opt/python@3.12/bin/python3.12", "3.12.1");
    assert_eq!(
        told(&mac, Some((3, 13)), "!=3.13.8"),
        "\
no Python 3.13 (!=3.13.8) that can be used: none of the 3 Pythons found fits
  /opt/homebrew/opt/python@3.13/bin/python3.13 is Python 3.13.8, which `!=3.13.8` excludes
  /opt/homebrew/opt/python@3.12/bin/python3.12 is Python 3.12
  /usr/bin/python3 is Apple's stand-in for the Python of its developer tools, not one to build on
-> `uv python install '==3.13.*,!=3.13.8'`
"
    );
    assert_eq!(
        told(&mac, None, ">=3.14"),
        "\
no Python >=3.14 that can be used: none of the 3 Pythons found fits
  /opt/homebrew/opt/python@3.13/bin/python3.13 is Python 3.13.8, which `>=3.14` excludes
  /opt/homebrew/opt/python@3.12/bin/python3.12 is Python 3.12.1, which `>=3.14` excludes
  /usr/bin/python3 is Apple's stand-in for the Python of its developer tools, not one to build on
-> `brew install python@3.13`
"
    );
}

#[test]
fn what_is_there_decides_how_a_python_is_installed() {
    let check = |laid: &Laid, expected: &str| {
        let error = laid.search().choose(&laid.wanted(Some((3, 13)), "*")).unwrap_err();
        assert_eq!(laid.told(&error).lines().last().unwrap(), format!("-> `{expected}`"));
    };
    let mac = Laid::mac();
    mac.file("Users/dev/.pyenv/bin/pyenv", b"#!/bin/bash\n");
    check(&mac, "pyenv install 3.13");
    mac.file("Users/dev/.local/bin/uv", b"uv");
    check(&mac, "uv python install 3.13");
    mac.file("opt/homebrew/bin/brew", b"#!/bin/bash\n");
    check(&mac, "brew install python@3.13");
    let linux = Laid::linux();
    check(&linux, "uv python install 3.13");
    linux.file("usr/bin/pyenv", b"#!/bin/bash\n");
    check(&linux, "pyenv install 3.13");
    linux.file("usr/bin/uv", b"uv");
    check(&linux, "uv python install 3.13");
}

#[test]
fn one_that_is_named_must_fit_and_nothing_else_is_taken() {
    let mac = full_mac();
    let choose = |place: &str, minor| {
        let search = Search { named: Some(mac.at(place)), ..mac.search() };
        search.choose(&mac.wanted(Some(minor), "*"))
    };
    assert_eq!(choose("opt/homebrew/bin/python3.12", (3, 12)).unwrap().version.to_string(), "3.12.11");
    let told = |place: &str, minor| mac.told(&choose(place, minor).unwrap_err());
    assert_eq!(
        told("opt/homebrew/bin/python3.12", (3, 13)),
        "`/opt/homebrew/opt/python@3.12/bin/python3.12` is Python 3.12.11\n-> name one that is Python 3.13, or let macml choose\n"
    );
    assert_eq!(
        told("Users/dev/miniforge3", (3, 13)),
        "`/Users/dev/miniforge3/bin/python3.11` is conda's base, which conda itself runs on and changes\n\
         -> `brew install python@3.13`\n"
    );
    assert_eq!(told("gone", (3, 13)), "`/gone` does not exist\n-> name the file of a Python\n");
}

#[test]
fn r01_an_intel_python_is_refused_by_name_architecture_and_remedy() {
    let mac = Laid::mac();
    for place in ["conda-meta/history", "condabin/conda"] {
        mac.file(&format!("Users/dev/miniconda3/{place}"), b"");
    }
    mac.program("Users/dev/miniconda3/bin/python3.11", &mach_o(X86_64, Signed::Yes), "exit 99");
    mac.link("Users/dev/miniconda3/bin/python", "python3.11");
    let expected = "\
no Python 3.11 that can be used: the one Python found does not fit
  /Users/dev/miniconda3/bin/python3.11 is built for x86_64, and Apple Silicon needs arm64
-> `brew install python@3.11`
";
    let wanted = mac.wanted(Some((3, 11)), "*");
    assert_eq!(mac.told(&mac.search().choose(&wanted).unwrap_err()), expected);
    let named = Search { named: Some(mac.at("Users/dev/miniconda3/bin/python")), ..mac.search() };
    assert_eq!(
        mac.told(&named.choose(&wanted).unwrap_err()),
        "`/Users/dev/miniconda3/bin/python` is built for x86_64, and Apple Silicon needs arm64\n-> `brew install python@3.11`\n"
    );
    assert!(mac.started().is_empty());
}

#[test]
fn r19_another_python_is_chosen_where_one_lacks_lzma() {
    let mac = full_mac();
    assert_eq!(
        mac.told(&mac.search().choose(&mac.wanted(Some((3, 10)), "*")).unwrap_err()).lines().nth(4).unwrap(),
        "  /Users/dev/.pyenv/versions/3.10.13/bin/python3.10 lacks `_lzma`, needed by torchvision and pandas among others"
    );
    let uv = "Users/dev/.local/share/uv/python/cpython-3.10.16-macos-aarch64-none/bin/python3.10";
    mac.python(uv, "3.10.16");
    assert_eq!(mac.chosen((3, 10), "*"), format!("/{uv}"));
}

#[test]
fn r21_a_python_that_is_killed_at_once_is_a_verdict() {
    let mac = Laid::mac();
    let uv = "Users/dev/.local/share/uv/python/cpython-3.13.9-macos-aarch64-none/bin/python3.13";
    mac.program(uv, &mac.native(), "kill -9 $$");
    mac.program("opt/homebrew/opt/python@3.12/bin/python3.12", &mach_o(ARM64, Signed::No), "exit 99");
    mac.check(
        "\
/opt/homebrew/opt/python@3.12/bin/python3.12 [Homebrew] has no code signature, and macOS kills such programs on Apple Silicon
  -> `brew reinstall python@3.12`
/Users/dev/.local/share/uv/python/cpython-3.13.9-macos-aarch64-none/bin/python3.13 [Uv] was killed by macOS (signal 9): that is what a broken code signature does
  -> `uv python install --reinstall 3.13`",
    );
    assert_eq!(mac.started(), [format!("/{uv}")]);
}

#[test]
fn r28_what_comes_first_on_the_path_decides_nothing_on_a_mac() {
    let brew = "/opt/homebrew/opt/python@3.13/bin/python3.13";
    for path in ["Users/dev/miniconda3/bin:Users/dev/p/.venv/bin", "Users/dev/p/.venv/bin:Users/dev/miniconda3/bin"] {
        let mac = full_mac().with("PATH", path).with("CONDA_PREFIX", "Users/dev/miniconda3");
        assert_eq!(mac.chosen((3, 13), "*"), brew);
    }
    // On Linux it orders what is found, and neither the environment nor the base of conda is taken.
    let linux = Laid::new(System::Linux).with("PATH", "opt/conda/bin:p/.venv/bin:usr/bin");
    for place in ["opt/conda/conda-meta/history", "opt/conda/condabin/conda", "p/.venv/pyvenv.cfg"] {
        linux.file(place, b"");
    }
    linux.python("opt/conda/bin/python3.12", "3.12.4");
    linux.python("usr/bin/python3.12", "3.12.3");
    linux.link("p/.venv/bin/python3", "../../../usr/bin/python3.12");
    assert_eq!(linux.chosen((3, 12), "*"), "/usr/bin/python3.12");
    assert_eq!(linux.started(), ["/usr/bin/python3.12"]);
}

#[test]
fn an_environment_for_another_kind_of_machine_finds_none_here() {
    let linux = Laid::linux();
    let mac = Laid::mac().wanted(Some((3, 13)), "*");
    assert_eq!(
        linux.search().choose(&mac).unwrap_err().to_string(),
        "an environment for macOS on arm64 needs a Python that this machine, Linux on x86_64, cannot run"
    );
}

/// A Linux with one Python that loads a module from a file, and how to look at it again.
fn kept() -> Laid {
    let linux = Laid::linux();
    linux.file("prefix/3.12.4/lib/lib-dynload/_ssl.so", b"one");
    let says = says_with(&linux.facts("3.12.4"), |module| match module {
        "_ssl" => json!([
            { "loading": module, "file": linux.at("prefix/3.12.4/lib/lib-dynload/_ssl.so") },
            { "loaded": module },
        ]),
        _ => json!([{ "loading": module, "file": null }, { "loaded": module }]),
    });
    linux.program("usr/bin/python3.12", &linux.native(), &says);
    linux.search().all();
    assert_eq!(linux.started().len(), 1);
    linux.search().all();
    assert_eq!(linux.started().len(), 0);
    linux
}

#[test]
fn an_answer_counts_for_the_same_files_only() {
    let linux = kept();
    linux.file("prefix/3.12.4/lib/lib-dynload/_ssl.so", b"other");
    linux.is_asked_again();
    std::fs::remove_file(linux.at("prefix/3.12.4/lib/lib-dynload/_ssl.so")).unwrap();
    linux.is_asked_again();
    // One that it lacked may have come.
    linux.file("prefix/3.12.4/lib/lib-dynload/_lzma.so", b"new");
    linux.is_asked_again();
    let python = linux.at("usr/bin/python3.12");
    let bytes = std::fs::read(&python).unwrap();
    linux.file("usr/bin/new", &bytes);
    std::fs::rename(linux.at("usr/bin/new"), &python).unwrap();
    linux.is_asked_again();
}

#[test]
fn an_entry_that_is_cut_off_changed_or_another_s_is_not_believed() {
    let linux = kept();
    let entry = linux.entry();
    let whole = std::fs::read_to_string(&entry).unwrap();
    for length in (0..whole.len()).step_by(97) {
        std::fs::write(&entry, &whole[..length]).unwrap();
        assert_eq!(linux.search().all().len(), 1);
        assert_eq!(linux.started().len(), 1, "{length}");
    }
    std::fs::write(&entry, whole.replace("3.12.4", "3.12.5")).unwrap();
    linux.is_asked_again();
    std::fs::write(&entry, b"\xff\xfe").unwrap();
    linux.is_asked_again();
    // That of another file, whole and rightly summed.
    std::fs::write(&entry, std::fs::read(kept().entry()).unwrap()).unwrap();
    linux.is_asked_again();
    // A folder in its place: nothing can be kept, and nothing fails.
    std::fs::remove_file(&entry).unwrap();
    std::fs::create_dir(&entry).unwrap();
    linux.check("/usr/bin/python3.12 [Path] is 3.12.4 (X86_64)");
    assert_eq!(linux.started().len(), 1);
    linux.check("/usr/bin/python3.12 [Path] is 3.12.4 (X86_64)");
    assert_eq!(linux.started().len(), 1);
}

#[test]
fn a_stamp_is_another_for_another_file() {
    let linux = kept();
    let stamp = || linux.search().choose(&linux.wanted(Some((3, 12)), "*")).unwrap().stamp();
    let before = stamp();
    assert!(before.starts_with("3.12.4 ") && before.ends_with("/usr/bin/python3.12"), "{before}");
    assert_eq!(stamp(), before);
    linux.python("usr/bin/python3.12", "3.12.4");
    assert_ne!(stamp(), before);
}
