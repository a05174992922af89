//! What is known of a set on its Mac: as an answer, as news, or as something to know.

use macml::pipeline::check::{Because, Class};
use macml::target::Gpu;

use super::sets::{Made, check, one, set, text};
use crate::check_rules::made::wheel;

fn tensorflow(version: &str) -> Made {
    set([], "14.0").built("tensorflow", version)
}

#[test]
fn a_lock_of_others_without_the_plugin() {
    let part = tensorflow("2.21.0").known();
    check(
        &part,
        "condemned",
        Class::No,
        "known-conflict",
        &[
            "does not work on macOS 14.0: `tensorflow` 2.21.0 needs `tensorflow-metal` for the GPU",
            "rule `tensorflow-gpu-needs-metal`: TensorFlow's own wheel computes on the CPU.",
            "= add `tensorflow-metal`, and what it goes with: `tensorflow-metal` 1.2.0 needs `tensorflow` >=2.13, <2.20",
        ],
    );
    assert_eq!(one(&part, "known-conflict").package.as_ref().unwrap().as_str(), "tensorflow");
    let part = tensorflow("2.18.1").known();
    assert_eq!(
        one(&part, "known-conflict").finding.hint.as_deref(),
        Some("add `tensorflow-metal` 1.2.0, the newest known to go with `tensorflow` 2.18.1")
    );
    // Where the GPU is only welcome it is something to know.
    let gpu = |set: &mut macml::pipeline::check::Set| set.of.on.as_mut().unwrap().mac.gpu = Gpu::Optional;
    let part = tensorflow("2.18.1").but(gpu).known();
    check(
        &part,
        "clean",
        Class::Yes,
        "known-limit",
        &["note[known-limit]: `tensorflow` 2.18.1 needs `tensorflow-metal`"],
    );
}

#[test]
fn who_solved_it_for_which_mac() {
    let torch = || set([], "13.7").built("torch", "2.11.0");
    let news = "warning[newly-known]: by what is known now this set does not work: `torch` 2.11.0 needs macOS >=14.0 for the GPU";
    let part = torch().locked().known();
    check(&part, "clean", Class::Yes, "newly-known", &[news, "`macml lock -P torch` solves with it"]);
    let part = torch().locked().because(Because::Here).known();
    check(&part, "clean", Class::Yes, "newly-known", &[news, "take `torch` 2.8.0"]);
    for part in [torch().locked().asked().known(), torch().known(), torch().because(Because::Here).known()] {
        check(&part, "condemned", Class::No, "known-conflict", &["take `torch` 2.8.0", "only Macs with macOS >=14.0"]);
    }
    // On a later one it works.
    assert_eq!(set([], "15.0").built("torch", "2.11.0").asked().known().word.as_str(), "clean");
}

#[test]
fn known_problems_are_those_of_the_mac() {
    let part = |chip: &str, macos: &str| {
        let chip = chip.parse().unwrap();
        let set = set([], macos).built("torch", "2.12.0").asked();
        set.but(|set| set.of.on.as_mut().unwrap().mac.chip = chip).known()
    };
    let m5 = part("m5", "26.2");
    assert_eq!(m5.word.as_str(), "clean");
    let told = text(&m5);
    assert!(told.contains("warning[known-problem]: known problem of `torch` 2.12.0, wrong results: "), "{told}");
    assert!(told.contains("rule `mps-m5-half-linear`") && told.contains("= prefer `torch` >="), "{told}");
    let m1 = text(&part("m1", "26.2"));
    assert!(!m1.contains("mps-m5-half-linear") && m1.contains("mps-matmul-long-inner"), "{m1}");
    // Worst first.
    let severities: Vec<_> = m5.told.iter().map(|told| told.finding.severity).collect();
    assert!(severities.is_sorted(), "{told}");
}

#[test]
fn what_is_newer_than_the_knowledge() {
    let part = set([], "15.0").built("torch", "2.99.0").known();
    check(&part, "clean", Class::Yes, "newer-than-knowledge", &["warning[newer-than-knowledge]: `torch` 2.99.0"]);
    assert_eq!(one(&part, "newer-than-knowledge").package.as_ref().unwrap().as_str(), "torch");
}

#[test]
fn wheels_that_are_for_a_later_macos_than_their_name_says() {
    let mlx = |macos: &str| set([wheel("mlx-0.32.4-cp311-cp311-macosx_26_0_arm64")], macos);
    let part = mlx("26.0").known();
    check(
        &part,
        "condemned",
        Class::No,
        "wheel-needs-macos",
        &[
            "error[wheel-needs-macos]: by what is known this set does not work on macOS 26.0: \
             `mlx-0.32.4-cp311-cp311-macosx_26_0_arm64.whl` needs macOS 26.2",
            "built for macOS 26.2, which its file name cannot say. (measured)",
            "only Macs with macOS 26.2 or later",
        ],
    );
    assert_eq!(mlx("26.2").known().word.as_str(), "clean");
    let part = mlx("26.0").locked().known();
    check(&part, "clean", Class::Yes, "newly-known", &["needs macOS 26.2"]);
    // Whose own tag is wrong is taken all the same.
    let part = set([wheel("torch-2.10.0-cp311-none-macosx_11_0_arm64")], "15.0").known();
    let told = text(&part);
    assert!(told.contains("`macosx_110_0_arm64`, and its file name is right"), "{told}");
    assert_eq!(part.word.as_str(), "clean", "{told}");
}

#[test]
fn what_binds_only_above_the_lowest_mac_is_a_note() {
    let rule = "[[rule]]\nid = \"a-on-26\"\npackage = \"a\"\nversions = \"*\"\nkind = \"conflicts\"\nscope = \"import\"\n\
                macos = \">=26.0\"\nreason = \"It crashes.\"\nevidence = [\"https://github.com/a/a/issues/1\"]\n\
                confidence = \"reported\"\n";
    let knowledge = macml::knowledge::Knowledge::with_rules_of(rule).unwrap();
    let part = |made: Made| macml::pipeline::check::known(&made.set, &knowledge);
    let a = |macos: &str| set([], macos).built("a", "1.0");
    check(&part(a("14.0")), "clean", Class::Yes, "known-limit", &["on macOS >=26.0 this set does not work: `a` 1.0"]);
    // Of one Mac only what is there counts.
    assert_eq!(part(a("14.0").asked()).told, []);
    check(&part(a("26.0").asked()), "condemned", Class::No, "known-conflict", &["`a` 1.0 is of no use on a Mac"]);
}

#[test]
fn what_counts_on_one_chip_binds_there() {
    let rule = "[[rule]]\nid = \"a-on-m1\"\npackage = \"a\"\nversions = \">=2\"\nkind = \"conflicts\"\nscope = \"import\"\n\
                chips = [\"m1\"]\nreason = \"It crashes.\"\nevidence = [\"https://github.com/a/a/issues/1\"]\n\
                confidence = \"reported\"\n";
    let knowledge = macml::knowledge::Knowledge::with_rules_of(rule).unwrap();
    let part = |made: Made| macml::pipeline::check::known(&made.set, &knowledge);
    let a = || set([], "14.0").built("a", "2.0");
    check(&part(a().asked()), "condemned", Class::No, "known-conflict", &["= take `a` <2"]);
    check(&part(a()), "clean", Class::Yes, "known-limit", &["note[known-limit]: `a` 2.0"]);
}
