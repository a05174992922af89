//! What moves the digest of an environment's inputs, and what does not.

use crate::manifest::Context;
use crate::manifest::Manifest;
use crate::manifest::parse;
use crate::pep::Sha256;
use crate::target::Platform;

const BASE: &str = r#"
[project]
name = "x"
paths = ["src"]

[target]
platforms = ["macos-arm64", "linux-x86_64"]
chip = "m1"
macos = "14.0"
python = ">=3.11,<3.14"
memory = "16GB"

[frameworks]
torch = ">=2.13,!=2.13.1"

[dependencies]
scikit-learn = { version = ">=1.5", extras = ["a", "b"], marker = "python_version >= '3.12'" }
numba = [
  { version = ">=0.60", platform = "macos-arm64" },
  { version = "==0.59.*", platform = "linux-x86_64" },
]
mylib = { path = "vendor/mylib-1.0-py3-none-any.whl" }
inner = { version = "*", index = "corp" }

[[index]]
name = "corp"
url = "https://packages.example.com/simple"
explicit = true

[[index]]
name = "unused"
url = "https://unused.example.com/simple"
explicit = true

[[index]]
name = "all"
url = "https://all.example.com/simple"

[resolution]
exclude-newer = "2026-11-15"
prereleases = ["torch", "numpy"]
constraints = { numpy = "<2.4" }
overrides = { protobuf = ">=6" }
ignore-rules = ["b", "a"]

[run.env]
A = "1"
"#;

fn manifest(text: &str) -> Manifest {
    let context = Context { folder: "x", version: &semver::Version::new(0, 1, 0) };
    parse(text, context).unwrap_or_else(|findings| panic!("{findings:#?}\n{text}")).0
}

fn digest(text: &str, platform: Platform) -> Sha256 {
    let manifest = manifest(text);
    manifest.envs[0].inputs(platform, &manifest.indexes)
}

/// Says on which platforms replacing `from` by `to` moves the digest: `mac`, `linux`, both or none.
fn check(from: &str, to: &str, expected: &[&str]) {
    assert!(BASE.contains(from), "{from}");
    let changed = BASE.replace(from, to);
    let platforms = [("mac", Platform::MacosArm64), ("linux", Platform::LinuxX86_64)];
    let moved = platforms.into_iter().filter(|(_, one)| digest(BASE, *one) != digest(&changed, *one));
    assert_eq!(moved.map(|(name, _)| name).collect::<Vec<_>>(), expected, "`{from}` to `{to}`");
}

#[test]
fn the_form_of_the_file_does_not_matter() {
    check("[target]", "# A comment.\n\n[target] # 中文", &[]);
    check("\n", "\r\n", &[]);
    check(">=3.11,<3.14", " < 3.14 , >= 3.11 ", &[]);
    check(">=2.13,!=2.13.1", "!=2.13.1,>=2.13,>=2.13", &[]);
    check("scikit-learn", "Scikit_Learn", &[]);
    check(r#"["a", "b"]"#, r#"["B", "a", "A"]"#, &[]);
    check("python_version >= '3.12'", "python_version>=\\\"3.12\\\"", &[]);
    check(r#"["torch", "numpy"]"#, r#"["NumPy", "torch"]"#, &[]);
    check(r#"ignore-rules = ["b", "a"]"#, r#"ignore-rules = ["a", "b", "a"]"#, &[]);
    check("packages.example.com/simple", "packages.example.com/simple/", &[]);
    check(r#"exclude-newer = "2026-11-15""#, "exclude-newer = 2026-11-15", &[]);
    check(r#"platforms = ["macos-arm64", "linux-x86_64"]"#, r#"platforms = ["linux-x86_64", "macos-arm64"]"#, &[]);
}

#[test]
fn what_the_answer_does_not_depend_on_does_not_matter() {
    check(r#"name = "x""#, r#"name = "y""#, &[]);
    check(r#"paths = ["src"]"#, r#"paths = ["lib"]"#, &[]);
    check("16GB", "32GB", &[]);
    check(r#"A = "1""#, r#"A = "2""#, &[]);
    check("ignore-rules", "allow-overlap = [\"x\"]\nignore-rules", &[]);
    check("https://unused.example.com", "https://elsewhere.example.com", &[]);
}

#[test]
fn what_the_answer_depends_on_matters() {
    let both: &[&str] = &["mac", "linux"];
    check(r#"chip = "m1""#, r#"chip = "m2""#, &["mac"]);
    check(r#"macos = "14.0""#, r#"macos = "13.0""#, &["mac"]);
    check("memory", "glibc = \"2.31\"\nmemory", &["linux"]);
    check("memory", "gpu = \"optional\"\nmemory", both);
    check(">=3.11,<3.14", ">=3.12,<3.14", both);
    check("!=2.13.1", "!=2.13.2", both);
    check(">=0.60", ">=0.61", &["mac"]);
    check("==0.59.*", "==0.58.*", &["linux"]);
    check(r#"["a", "b"]"#, r#"["a"]"#, both);
    check("python_version >= '3.12'", "python_version >= '3.13'", both);
    check("mylib-1.0", "mylib-1.1", both);
    check(r#", index = "corp""#, "", both);
    check(r#"index = "corp""#, r#"index = "all""#, both);
    check("packages.example.com", "other.example.com", both);
    check("all.example.com", "other.example.com", both);
    check("explicit = true\n\n[[index]]\nname = \"unused\"", "\n[[index]]\nname = \"unused\"", both);
    check("2026-11-15", "2026-11-16", both);
    check(r#"prereleases = ["torch", "numpy"]"#, r#"prereleases = ["torch"]"#, both);
    check("<2.4", "<2.5", both);
    check(">=6", ">=7", both);
    check(r#"["b", "a"]"#, r#"["b"]"#, both);
    check("ignore-rules", "wheels = \"floor\"\nignore-rules", both);
    check("[resolution]", "[[index]]\nname = \"z\"\nurl = \"https://z.example.com\"\n\n[resolution]", both);
}

/// Locks in the world hold digests of this text: a difference here is version 2 of the format.
#[test]
fn the_format_is_version_1() {
    let manifest = manifest(BASE);
    let lines = [
        "macml-inputs 1",
        "platform macos-arm64",
        "floor macos 14.0 chip m1",
        "gpu required",
        "python <3.14 >=3.11",
        r#"root ["inner",[],["versions","*"],null,"corp"]"#,
        r#"root ["mylib",[],["path","vendor/mylib-1.0-py3-none-any.whl"],null,null]"#,
        r#"root ["numba",[],["versions",">=0.60"],null,null]"#,
        r#"root ["scikit-learn",["a","b"],["versions",">=1.5"],"python_version >= \"3.12\"",null]"#,
        r#"root ["torch",[],["versions","!=2.13.1 >=2.13"],null,null]"#,
        r#"index ["all","https://all.example.com/simple",false]"#,
        r#"index ["corp","https://packages.example.com/simple",true]"#,
        "exclude-newer 2026-11-15",
        "prerelease numpy",
        "prerelease torch",
        "constraint numpy <2.4",
        "override protobuf >=6",
        r#"ignore-rule "a""#,
        r#"ignore-rule "b""#,
        "wheels host",
    ];
    let text = manifest.envs[0].lines(Platform::MacosArm64, &manifest.indexes);
    assert_eq!(text.lines().collect::<Vec<_>>(), lines);
    assert_eq!(digest(BASE, Platform::MacosArm64), Sha256::of((lines.join("\n") + "\n").as_bytes()));
}
