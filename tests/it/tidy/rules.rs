//! The rules: from files to complaints, each `path:line: what is wrong`. Files that a rule must not hit by its own words
//! are made up from pieces here.

/// A file of the project.
pub(super) struct Text {
    /// Relative to the project, with `/`.
    pub(super) path: String,
    /// All of it.
    pub(super) text: String,
}

impl Text {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Numbers the lines.
    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(at, line)| (at + 1, line))
    }

    /// Numbers the lines that are not comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines().filter(|(_, line)| !line.trim_start().starts_with("//"))
    }

    /// Numbers the lines of code above the tests, which stand at the end of a file or in their own.
    fn shipped(&self) -> impl Iterator<Item = (usize, &str)> {
        let own = self.path.ends_with("/tests.rs") || self.path.contains("/tests/");
        let tests = self.text.lines().position(|line| line.starts_with("#[cfg(test)]")).unwrap_or(usize::MAX);
        self.code().filter(move |(at, _)| !own && *at <= tests)
    }

    fn complain(&self, line: usize, what: impl std::fmt::Display) -> String {
        format!("{}:{line}: {what}", self.path)
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Returns what follows each `needle` that does not continue a longer word or path.
fn after<'a>(line: &'a str, needle: &'a str) -> impl Iterator<Item = &'a str> {
    let starts = |at: &usize| !line[..*at].ends_with(|before: char| is_word(before) || before == ':' || before == '$');
    line.match_indices(needle).map(|(at, _)| at).filter(starts).map(move |at| &line[at + needle.len()..])
}

fn word(text: &str) -> &str {
    &text[..text.find(|character| !is_word(character)).unwrap_or(text.len())]
}

/// Returns the top-level module that a file of the library is in.
fn module(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("src/")?;
    let name = rest.split('/').next()?;
    (name != "bin" && name != "lib.rs").then(|| name.trim_end_matches(".rs"))
}

pub(super) fn module_order(files: &[Text]) -> Vec<String> {
    let Some(lib) = files.iter().find(|file| file.path == "src/lib.rs") else {
        return vec!["src/lib.rs:1: is missing".to_owned()];
    };
    let declared: Vec<&str> = lib
        .code()
        .filter_map(|(_, line)| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'))
        .collect();
    let place = |name: &str| declared.iter().position(|known| *known == name);
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        let Some(own) = module(&file.path) else { continue };
        let Some(own_place) = place(own) else {
            complaints.push(file.complain(1, format_args!("module `{own}` is not declared in src/lib.rs")));
            continue;
        };
        for (at, line) in file.code() {
            for rest in after(line, "crate::") {
                let name = word(rest);
                if name.is_empty() {
                    complaints.push(file.complain(at, "name one module for each `use crate::`"));
                } else {
                    match place(name) {
                        Some(other) if other <= own_place => {}
                        Some(_) => complaints.push(
                            file.complain(at, format_args!("`{own}` may not import `{name}`, declared below it")),
                        ),
                        None => complaints.push(file.complain(at, format_args!("`{name}` is no module of the crate"))),
                    }
                }
            }
            for rest in after(line, "super::super::") {
                let name = word(rest.trim_start_matches("super::"));
                if name != own && place(name).is_some() {
                    complaints
                        .push(file.complain(at, format_args!("say `crate::{name}`, so that the order can be seen")));
                }
            }
        }
    }
    complaints
}

pub(super) fn narrow_bans(files: &[Text]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() && file.path.starts_with("src/")) {
        let own = module(&file.path).unwrap_or_default();
        for (at, line) in file.code() {
            for rest in after(line, "crate::") {
                let bad = match own {
                    "resolve" => word(rest) == "sys" || (word(rest) == "index" && !rest.starts_with("index::source")),
                    "check" | "verify" => ["manifest", "index", "resolve"].contains(&word(rest)),
                    _ => false,
                };
                if bad {
                    complaints.push(file.complain(at, format_args!("`{own}` must not know `{}`", word(rest))));
                }
            }
            let captures = after(line, "Env::capture").chain(after(line, "sys::Env::capture")).count()
                + line.matches("::Env::capture").count();
            if captures > 0 && file.path != "src/bin/macml/context.rs" {
                complaints.push(file.complain(at, "the environment is taken in src/bin/macml/context.rs only"));
            }
        }
    }
    complaints
}

pub(super) fn front_matter(files: &[Text]) -> Vec<String> {
    let silent = |file: &&Text| file.is_rust() && !file.text.starts_with("//! ");
    let complain = |file: &Text| file.complain(1, "start with `//! ` and what the file owns");
    files.iter().filter(silent).map(complain).collect()
}

pub(super) fn length(files: &[Text]) -> Vec<String> {
    let long =
        |file: &&Text| [".rs", ".py"].iter().any(|end| file.path.ends_with(end)) && file.text.lines().count() > 900;
    files
        .iter()
        .filter(long)
        .map(|file| file.complain(901, "split it: it has more than one reason to change"))
        .collect()
}

pub(super) fn empty_names(files: &[Text]) -> Vec<String> {
    const EMPTY: [&str; 6] = ["utils", "util", "helpers", "common", "types", "misc"];
    let empty = |file: &&Text| {
        let stem = file.path.strip_suffix(".rs").map(|path| path.trim_end_matches("/mod"));
        stem.is_some_and(|stem| EMPTY.contains(&stem.rsplit('/').next().unwrap_or_default()))
    };
    files.iter().filter(empty).map(|file| file.complain(1, "name it after what it owns")).collect()
}

/// The hosts, from their labels.
fn hosts() -> Vec<String> {
    let labels = [
        ["pypi", "org"],
        ["pythonhosted", "org"],
        ["crates", "io"],
        ["npmjs", "org"],
        ["npmjs", "com"],
        ["debian", "org"],
    ];
    labels.iter().map(|labels| labels.join(".")).collect()
}

pub(super) fn registry_hosts(files: &[Text]) -> Vec<String> {
    let hosts = hosts();
    let mut complaints = Vec::new();
    // What cargo writes into its own locks, ours and those of the native probe.
    let is_lock =
        |path: &str| path == "Cargo.lock" || (path.starts_with("src/verify/native/") && path.ends_with(".lock"));
    for file in files.iter().filter(|file| !is_lock(&file.path)) {
        for (at, line) in file.lines() {
            let line = line.to_ascii_lowercase();
            for host in hosts.iter().filter(|host| line.contains(host.as_str())) {
                // Not the host itself, or it would stand in a log.
                complaints.push(file.complain(at, format_args!("an address at `{}…`", &host[..4])));
            }
        }
    }
    complaints
}

pub(super) fn wrong_wheel(files: &[Text]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files {
        for (at, line) in file.lines() {
            let told = line.match_indices("install ").any(|(start, verb)| {
                let before = line[..start].trim_end();
                let by = ["pip", "pip3", "pipx", "tool"].iter().any(|tool| before.ends_with(tool));
                by && names_macml(&line[start + verb.len()..])
            });
            let told = told || line.match_indices("uvx ").any(|(start, verb)| names_macml(&line[start + verb.len()..]));
            if told {
                complaints.push(file.complain(at, "the wheel is `macml-cli`: the other name is somebody else's"));
            }
        }
    }
    complaints
}

/// Whether a word of a command's arguments is our name, alone or with a version.
fn names_macml(arguments: &str) -> bool {
    let end = arguments.find(['`', ';', '|', '&', '。', '，']).unwrap_or(arguments.len());
    arguments[..end].split_whitespace().any(|argument| {
        let argument = argument.trim_matches(['"', '\'', '.', ',', ')', '*']);
        argument
            .strip_prefix("macml")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['=', '<', '>', '~', '[', '@']))
    })
}

pub(super) fn machine_paths(files: &[Text]) -> Vec<String> {
    let mut places = vec![["", "work", ""].join("/"), ["", "root", ""].join("/"), ["shared", "facts"].join("/")];
    places.push(env!("CARGO_MANIFEST_DIR").to_owned());
    let mut complaints = Vec::new();
    for file in files {
        for (at, line) in file.lines() {
            for place in places.iter().filter(|place| line.contains(place.as_str())) {
                complaints.push(file.complain(at, format_args!("`{place}` is a place of one machine")));
            }
        }
    }
    complaints
}

/// Crates and where they may be named. What a crate is for is said in Cargo.toml.
const HOMES: [(&str, &[&str]); 28] = [
    ("annotate_snippets", &["src/bin/macml/"]),
    ("anstream", &["src/bin/macml/"]),
    ("anstyle", &["src/bin/macml/"]),
    ("clap", &["src/bin/macml/"]),
    ("clap_complete", &["src/bin/macml/"]),
    ("flate2", &["src/install/archive", "src/install/content", "src/check/facts/cache"]),
    ("html5gum", &["src/index/"]),
    ("icu_normalizer", &["src/install/names"]),
    ("indicatif", &["src/bin/macml/"]),
    ("memchr", &["src/check/facts/"]),
    ("object", &["src/check/facts/macho/"]),
    ("pep440_rs", &["src/pep/"]),
    ("pep508_rs", &["src/pep/"]),
    ("postcard", &["src/index/", "src/check/facts/cache"]),
    ("pubgrub", &["src/resolve/"]),
    ("regex", &["src/explain/"]),
    ("reqwest", &["src/sys/http"]),
    ("rustls", &["src/sys/http"]),
    ("rustls_platform_verifier", &["src/sys/http"]),
    ("rustix", &["src/sys/"]),
    // `pep/hash.rs` for bytes at hand, the others for bytes that stream by.
    ("sha2", &["src/pep/hash.rs", "src/sys/", "src/index/", "src/install/", "src/check/facts/macho/signature"]),
    ("tch", &["src/bin/macml-probe/"]),
    ("tempfile", &["src/sys/"]),
    ("saphyr_parser", &["src/import/yaml.rs"]),
    ("tokio", &["src/sys/http", "src/index/"]),
    (
        "toml",
        &[
            "src/manifest/",
            "src/lock/",
            "src/import/",
            "src/index/user_config.rs",
            "src/index/foreign.rs",
            "src/explain/",
            "src/knowledge/",
            "src/bin/macml/",
        ],
    ),
    ("version_ranges", &["src/pep/range", "src/resolve/"]),
    ("zip", &["src/index/remote_zip"]),
];

pub(super) fn crate_homes(files: &[Text]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() && file.path.starts_with("src/")) {
        let strangers = HOMES.iter().filter(|(_, homes)| !homes.iter().any(|home| file.path.starts_with(home)));
        for (name, homes) in strangers {
            let path = format!("{name}::");
            let import = format!("use {name}");
            for (at, line) in file.shipped() {
                let imports = after(line, &import).any(|rest| rest.starts_with([';', ' ']));
                if imports || after(line, &path).next().is_some() {
                    complaints.push(file.complain(at, format_args!("`{name}` is at home in {}", homes.join(", "))));
                }
            }
        }
    }
    complaints
}

pub(super) fn leftovers(files: &[Text]) -> Vec<String> {
    let off = ["#[", "ignore"].concat();
    let marks = [["TO", "DO"].concat(), ["FIX", "ME"].concat(), ["XX", "X:"].concat()];
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() || file.path.ends_with(".toml")) {
        for (at, line) in file.lines() {
            if file.is_rust() && line.trim_start().starts_with(&off) {
                complaints.push(file.complain(at, "a test that never runs proves nothing: use `MACML_LIVE`"));
            }
            for mark in marks.iter().filter(|mark| line.contains(mark.as_str())) {
                complaints.push(file.complain(at, format_args!("do it, or file an issue: `{mark}`")));
            }
        }
    }
    complaints
}

pub(super) fn dependency_reasons(files: &[Text]) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.path == "Cargo.toml") {
        let mut inside = false;
        let mut before = "";
        for (at, line) in file.lines() {
            if line.starts_with('[') {
                inside = line.ends_with("dependencies]");
            } else if inside && line.contains('=') && !line.starts_with(['#', ' ']) && !before.starts_with('#') {
                complaints.push(file.complain(at, "say in a comment above what the crate is for"));
            }
            before = line;
        }
    }
    complaints
}

/// Each rule against made-up files, of which it must complain, and their harmless neighbours, of which it must not.
mod made_up {
    use super::*;

    /// Holds one made-up file, beside a small library, to a rule.
    #[track_caller]
    fn check(rule: fn(&[Text]) -> Vec<String>, path: &str, text: &str, expected: &[usize]) {
        let lib = "//! Map.\n\npub mod sys;\n\npub mod pep;\npub mod index;\n\npub mod resolve;\n\npub mod check;\n";
        let mut files = vec![Text { path: path.to_owned(), text: text.to_owned() }];
        if path != "src/lib.rs" {
            files.push(Text { path: "src/lib.rs".to_owned(), text: lib.to_owned() });
        }
        let complaints = rule(&files);
        let at: Vec<usize> =
            complaints.iter().map(|complaint| complaint.split(':').nth(1).unwrap().parse().unwrap()).collect();
        assert_eq!(at, expected, "{path}: {text}: {complaints:?}");
    }

    #[test]
    fn order() {
        let check = |path, text, expected: &[usize]| check(module_order, path, text, expected);
        check("src/pep/name.rs", "use crate::sys;\nuse crate::pep::Hash;", &[]);
        check("src/pep/name.rs", "use crate::index::Page;", &[1]);
        check("src/pep/name.rs", "fn a() { crate::resolve::run(crate::index::x) }", &[1, 1]);
        check("src/pep.rs", "use crate::check;", &[1]);
        check("src/pep/name.rs", "// Read by `crate::index`.", &[]);
        check("src/pep/name.rs", "//! Text.\n\nuse crate::{sys, pep};", &[3]);
        check("src/pep/name.rs", "use crate::*;", &[1]);
        check("src/pep/name.rs", "use crate::Everything;", &[1]);
        check("src/pep/name.rs", "use super::super::index::Page;", &[1]);
        check("src/pep/name/tests.rs", "use super::super::range::Range;", &[]);
        check("src/extra/mod.rs", "//! Not declared.", &[1]);
        check("src/bin/macml/main.rs", "use crate::args;", &[]);
        check("src/pep/name.rs", "pub(crate) fn a() {}", &[]);
    }

    #[test]
    fn bans() {
        let check = |path, text, expected: &[usize]| check(narrow_bans, path, text, expected);
        check("src/resolve/mod.rs", "use crate::index::source::Source;\nuse crate::pep::Name;", &[]);
        check("src/resolve/mod.rs", "use crate::index::cache::Cache;", &[1]);
        check("src/resolve/mod.rs", "use crate::index::{source, cache};", &[1]);
        check("src/resolve/mod.rs", "use crate::index;", &[1]);
        check("src/resolve/mod.rs", "let e = crate::sys::fs::read();", &[1]);
        check("src/check/scan.rs", "use crate::manifest::Manifest;", &[1]);
        check("src/verify/mod.rs", "use crate::resolve::Resolution;", &[1]);
        check("src/lock/mod.rs", "use crate::resolve::Resolution;\nuse crate::index::cache;", &[]);
        check("src/bin/macml/context.rs", "let env = macml::sys::Env::capture();", &[]);
        check("src/bin/macml/main.rs", "let env = macml::sys::Env::capture();", &[1]);
        check("src/index/pypi.rs", "let env = Env::capture();", &[1]);
    }

    #[test]
    fn fronts() {
        check(front_matter, "src/pep/name.rs", "//! Names.\n", &[]);
        check(front_matter, "src/pep/name.rs", "use std::fmt;\n", &[1]);
        check(front_matter, "tests/it/x.rs", "", &[1]);
        check(front_matter, "README.md", "# macml", &[]);
    }

    #[test]
    fn lengths() {
        check(length, "src/pep/name.rs", &"//! x\n".repeat(900), &[]);
        check(length, "src/pep/name.rs", &"//! x\n".repeat(901), &[901]);
        check(length, "tests/it/x.rs", &"//! x\n".repeat(901), &[901]);
        check(length, "tests/data.json", &"x\n".repeat(2000), &[]);
    }

    #[test]
    fn names() {
        check(empty_names, "src/pep/name.rs", "", &[]);
        check(empty_names, "src/pep/utils.rs", "", &[1]);
        check(empty_names, "tests/it/common/mod.rs", "", &[1]);
    }

    #[test]
    fn hosts_of_registries() {
        for host in hosts() {
            check(registry_hosts, "README.md", &format!("fine\nhttps://files.{}/simple", host.to_uppercase()), &[2]);
            check(registry_hosts, "tests/page.html", &format!("<a href='//{host}/x'>"), &[1]);
            check(registry_hosts, "Cargo.lock", &format!("registry+https://{host}/index"), &[]);
            check(
                registry_hosts,
                "src/verify/native/tch-1.0/manifest.lock",
                &format!("registry+https://{host}/index"),
                &[],
            );
            check(registry_hosts, "src/verify/native/tch-1.0/manifest.toml", &format!("# https://{host}"), &[1]);
        }
        check(registry_hosts, "README.md", "PyPI, `pypi`, the crate registry, Debian", &[]);
    }

    #[test]
    fn wheels() {
        let install = |what: &str| ["pip ", "install ", what].concat();
        check(wrong_wheel, "README.md", &install("macml-cli"), &[]);
        check(wrong_wheel, "README.md", &install("torch` and then `macml lock`"), &[]);
        check(wrong_wheel, "README.md", &install("-U macml"), &[1]);
        check(wrong_wheel, "README.zh-CN.md", &format!("运行 `{}`。", install("macml")), &[1]);
        check(wrong_wheel, "src/bin/macml/error.rs", &format!("\"{}\"", install("'macml>=0.1'")), &[1]);
        check(wrong_wheel, "README.md", &["uv tool ", "install ", "macml"].concat(), &[1]);
        check(wrong_wheel, "README.md", &["uv", "x ", "macml lock"].concat(), &[1]);
        check(wrong_wheel, "README.md", "cargo install macml", &[]);
    }

    #[test]
    fn paths() {
        check(machine_paths, "README.md", "/Users/ada/project and ~/.cache/macml", &[]);
        check(machine_paths, "README.md", &["see ", "/ro", "ot/.cargo"].concat(), &[1]);
        check(machine_paths, "tests/x.json", &["\"", "/wo", "rk/elsewhere\""].concat(), &[1]);
        check(machine_paths, "tests/x.json", env!("CARGO_MANIFEST_DIR"), &[1].repeat(times_in_manifest_dir()));
    }

    /// The project's own folder may itself lie in one of the other places.
    fn times_in_manifest_dir() -> usize {
        let folder = env!("CARGO_MANIFEST_DIR");
        1 + ["work", "root"].iter().filter(|name| folder.contains(&["", name, ""].join("/"))).count()
    }

    #[test]
    fn homes() {
        let check = |path, text, expected: &[usize]| check(crate_homes, path, text, expected);
        check("src/resolve/provider.rs", "use pubgrub::Ranges;", &[]);
        check("src/lock/format.rs", "use pubgrub::Ranges;", &[1]);
        check("src/index/pypi.rs", "let client = reqwest::Client::new();", &[1]);
        check("src/sys/http/retry.rs", "use reqwest::Client;", &[]);
        check("src/index/simple.rs", "use zip::ZipArchive;", &[1]);
        check("src/index/simple.rs", "a.zip(b); self::zip::x(); use zip;", &[1]);
        check("src/lock/mod.rs", "use pep440_rs::Version;", &[1]);
        check("src/pep/version.rs", "use pep440_rs::Version;", &[]);
        check("src/resolve/mod.rs", "toml::from_str(text)", &[1]);
        check("src/lock/mod.rs", "use crate::manifest::toml::Key;", &[]);
        check("src/index/cache.rs", "//! Files.\n#[cfg(test)]\nmod tests {\n    use tempfile::TempDir;\n}", &[]);
        check("src/index/cache.rs", "use tempfile::TempDir;\n#[cfg(test)]\nmod tests {}", &[1]);
    }

    #[test]
    fn left_over() {
        check(leftovers, "src/pep/name.rs", &["    #[", "ignore]\n// fine"].concat(), &[1]);
        check(leftovers, "src/pep/name.rs", &["// TO", "DO: names"].concat(), &[1]);
        check(leftovers, "src/pep/name.rs", "// Ignores case.", &[]);
    }

    #[test]
    fn reasons() {
        let check = |text, expected: &[usize]| check(dependency_reasons, "Cargo.toml", text, expected);
        check("[dependencies]\n# Why.\nserde = \"1\"\n\n[lints.rust]\nx = \"deny\"", &[]);
        check("[dependencies]\n# Why.\nserde = \"1\"\ntoml = \"1\"", &[4]);
        check("[dev-dependencies]\ninsta = \"1\"", &[2]);
    }
}
