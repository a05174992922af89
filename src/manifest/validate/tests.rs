//! What environments come to, and that no text makes the reader stumble.

use proptest::prelude::*;

use crate::diag::Code;
use crate::diag::Severity;
use crate::manifest::Context;
use crate::manifest::Manifest;
use crate::manifest::model::EnvSpec;
use crate::manifest::model::Gpu;
use crate::manifest::model::RootTable;
use crate::manifest::parse;

const TARGET: &str = "[target]\nchip = \"m1\"\nmacos = \"14.0\"\npython = \">=3.11,<3.14\"\n";

fn context(version: &semver::Version) -> Context<'_> {
    Context { folder: "folder", version }
}

fn manifest(more: &str) -> Manifest {
    let text = format!("{TARGET}{more}");
    parse(&text, context(&semver::Version::new(0, 1, 0))).unwrap_or_else(|findings| panic!("{findings:#?}")).0
}

/// Compares an environment's requirements, `table/name` each with a platform where it has one.
fn check(manifest: &Manifest, env: &str, expected: &str) {
    let roots = env_of(manifest, env).roots.iter().map(|root| {
        let table = if root.table == RootTable::Frameworks { "f" } else { "d" };
        let platform = root.platform.map(|platform| format!("@{platform}")).unwrap_or_default();
        format!("{table}/{}{platform}", root.name)
    });
    assert_eq!(roots.collect::<Vec<_>>().join(" "), expected, "in `{env}`");
}

fn env_of<'a>(manifest: &'a Manifest, name: &str) -> &'a EnvSpec {
    manifest.envs.iter().find(|env| env.name == name).unwrap()
}

#[test]
fn environments_start_from_nothing_or_from_the_default_one() {
    let manifest = manifest(
        r#"
        [frameworks]
        torch = "*"
        keras = "*"
        [dependencies]
        pandas = "*"
        numpy = [{ version = ">=2", platform = "macos-arm64" }, { version = "*", marker = "python_version < '3.12'" }]
        [env.more]
        extends = "default"
        dependencies.NumPy = "<2"
        dependencies.zlib = "*"
        [env.bare.frameworks]
        mlx = "*"
        [env.empty]
        "#,
    );
    let names: Vec<_> = manifest.envs.iter().map(|env| env.name.as_str()).collect();
    assert_eq!(names, ["default", "bare", "empty", "more"]);
    check(&manifest, "default", "f/keras f/torch d/numpy@macos-arm64 d/numpy d/pandas");
    check(&manifest, "more", "f/keras f/torch d/numpy d/pandas d/zlib");
    check(&manifest, "bare", "f/mlx");
    check(&manifest, "empty", "");
}

#[test]
fn environments_override_the_target_key_by_key() {
    let manifest = manifest(
        r#"
        gpu = "optional"
        memory = "16GB"
        [env.a]
        macos = "15.1"
        python = ">=3.12"
        [env.ci]
        platforms = ["linux-x86_64", "linux-aarch64"]
        gpu = "required"
        glibc = "2.31"
        "#,
    );
    let a = env_of(&manifest, "a");
    let mac = a.mac.as_ref().unwrap();
    assert_eq!((mac.macos.to_string(), mac.chip.to_string()), ("15.1".into(), "m1".into()));
    assert_eq!((a.python.to_string(), a.gpu, a.memory), (">=3.12".into(), Gpu::Optional, Some(16 << 30)));
    let ci = env_of(&manifest, "ci");
    assert_eq!((ci.mac.is_none(), ci.glibc, ci.gpu), (true, (2, 31), Gpu::Required));
    assert_eq!(ci.python.to_string(), ">=3.11, <3.14");
    let default = env_of(&manifest, "default");
    assert_eq!((default.glibc, default.mac.as_ref().unwrap().macos.to_string()), ((2, 28), "14.0".into()));
}

#[test]
fn spans_point_at_what_was_written() {
    let text = format!("\u{feff}# 中文\r\n{TARGET}[dependencies]\nnumpy = \"*\"\n");
    let (manifest, _) = parse(&text, context(&semver::Version::new(0, 1, 0))).unwrap();
    let env = &manifest.envs[0];
    let at = |span: crate::diag::Span| &text[span.start..span.end];
    assert_eq!(at(env.roots[0].span), "numpy = \"*\"");
    assert_eq!(at(env.python_span), "\">=3.11,<3.14\"");
    assert_eq!(at(env.mac.as_ref().unwrap().macos_span), "\"14.0\"");
}

#[test]
fn another_macml_is_the_only_complaint() {
    let asks = |wanted: &str, version: &str| {
        let text = format!("[project]\nrequires-macml = \"{wanted}\"\nfuture = 1\n");
        let findings = parse(&text, context(&version.parse().unwrap())).unwrap_err();
        findings.iter().map(|finding| finding.code).collect::<Vec<_>>()
    };
    assert_eq!(asks(">=0.9", "0.1.0"), [Code::RequiresMacml]);
    assert_eq!(asks("<0.1", "0.1.0"), [Code::RequiresMacml]);
    assert!(!asks(">=0.1, <1", "0.1.0").contains(&Code::RequiresMacml));
    assert!(!asks(">=0.2", "0.2.0-dev").contains(&Code::RequiresMacml), "a build of 0.2 to come is a 0.2");
}

#[test]
fn the_folder_names_a_project_without_a_name() {
    assert_eq!(manifest("").name, "folder");
    assert_eq!(manifest("[project]\nname = \"给定\"").name, "给定");
}

#[test]
fn a_file_that_is_no_manifest_is_told_so_in_few_words() {
    let findings = parse(&"no manifest at all\n".repeat(50_000), context(&semver::Version::new(0, 1, 0))).unwrap_err();
    assert_eq!(findings.len(), 20);
    assert_eq!(findings[19].notes, ["49980 more lines are not TOML"]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_reader_stumble(
        cut in 0..2000_usize,
        length in 0..40_usize,
        put in r#"[\[\]{}="',.#\n\ra-z0-9é中*<>=-]{0,12}"#,
    ) {
        let design = include_str!("../../../tests/manifests/valid/design.toml");
        let start = design.floor_char_boundary(cut.min(design.len()));
        let end = design.ceil_char_boundary((start + length).min(design.len()));
        let text = format!("{}{put}{}", &design[..start], &design[end..]);
        match parse(&text, context(&semver::Version::new(0, 1, 0))) {
            Ok((manifest, findings)) => {
                prop_assert!(findings.iter().all(|finding| finding.severity != Severity::Error));
                prop_assert_eq!(&manifest.envs[0].name, "default");
            }
            Err(findings) => {
                prop_assert!(findings.iter().any(|finding| finding.severity == Severity::Error));
                for label in findings.iter().flat_map(|finding| &finding.labels) {
                    prop_assert!(text.get(label.span.start..label.span.end).is_some(), "{:?} in {:?}", label, text);
                }
            }
        }
    }
}
