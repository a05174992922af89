//! What is said where something was not read, and of other Macs: each word once.

use macml::check::facts::{Unloadable, WheelFacts};
use macml::diag::Severity;
use macml::pipeline::check::{Class, Sum};

use super::sets::{check, one, real, reals, set, text};
use crate::check_rules::made::{Wheel, wheel};
use crate::support::image::module;

const METAL: &str = "tensorflow_metal-1.2.0-cp311-cp311-macosx_12_0_arm64";
const TENSORFLOW: &str = "tensorflow-2.21.0-cp311-cp311-macosx_12_0_arm64";

#[test]
fn what_may_be_in_a_wheel_that_was_not_read_is_no_error() {
    let numpy = wheel("numpy-2.3.5-cp311-cp311-macosx_14_0_arm64");
    // By itself the plugin lacks its framework, which is in the set.
    let part = set([real(METAL)], "14.0").unread(&wheel(TENSORFLOW), None).libraries();
    check(
        &part,
        "unread",
        Class::NotLooked,
        "wheel-unread",
        &[
            "warning[wheel-unread]: 1 of 2 wheels was never read: `tensorflow`",
            "what `tensorflow-plugins/libmetal_plugin.dylib` looks for may be in it",
            "= `--wheels` fetches and reads them",
        ],
    );
    assert_eq!(part.told.len(), 1, "{}", text(&part));
    let Sum::Libraries { images, wheels, fetched, unread, .. } = part.sum else { panic!("{:?}", part.sum) };
    assert_eq!((images, wheels, fetched, unread), (1, 1, (0, 0), (1, 1 << 20)));
    // A library that is there under another name might be brought by what is left.
    let part = set(reals(&[TENSORFLOW, METAL]), "14.0").unread(&numpy, None).libraries();
    assert_eq!(part.word.as_str(), "unread", "{}", text(&part));
    // Names that an image which was read does not have are in no other one.
    let pair = ["torch-2.6.0-cp311-none-macosx_11_0_arm64", "torchvision-0.22.1-cp311-cp311-macosx_11_0_arm64"];
    let part = set(reals(&pair), "14.0").unread(&numpy, None).libraries();
    check(&part, "do-not-load", Class::No, "symbol-missing", &["of `torch` 2.6.0 does not have"]);
    one(&part, "wheel-unread");
}

#[test]
fn what_nothing_cures_stays_an_error() {
    let intel = wheel("a-1.0-cp311-cp311-macosx_12_0_arm64").with(module("a/_x.so").broken(Unloadable::Architecture));
    let part = set([intel], "14.0").unread(&wheel("b-1.0-cp311-cp311-macosx_12_0_arm64"), None).libraries();
    check(&part, "do-not-load", Class::No, "wrong-architecture", &["`a/_x.so`"]);
}

#[test]
fn a_damaged_wheel_leaves_it_open() {
    let whole = wheel("a-1.0-cp311-cp311-macosx_12_0_arm64").with(module("a/_x.so"));
    let other = wheel("b-1.0-cp311-cp311-macosx_12_0_arm64");
    let part = set([whole], "14.0").unread(&other, Some("`b/_x.so` is cut short")).libraries();
    check(&part, "unsure", Class::Unsure, "wheel-unread", &["`b` 1.0 was not read: `b/_x.so` is cut short"]);
    assert_eq!(one(&part, "wheel-unread").package.as_ref().unwrap().as_str(), "b");
}

#[test]
fn what_has_no_wheel() {
    let whole = || wheel("a-1.0-cp311-cp311-macosx_12_0_arm64").with(module("a/_x.so"));
    let others = set([whole()], "14.0").built("b", "1.0").built("c", "2.0");
    let built = "warning[wheel-unread]: `b`, `c` have no wheel for this Mac";
    check(&others.libraries(), "unread", Class::NotLooked, "wheel-unread", &[built, "nothing can be said"]);
    // What a lock of macml's lacks for a Mac is told of the lock.
    let part = others.locked().asked().libraries();
    assert_eq!((part.word.as_str(), text(&part).as_str()), ("unread", ""));
}

#[test]
fn other_words() {
    let whole = || wheel("a-1.0-cp311-cp311-macosx_12_0_arm64").with(module("a/_x.so"));
    let part = set([whole()], "14.0").libraries();
    assert_eq!((part.word.as_str(), part.told.len()), ("load", 0));
    let off = set([whole()], "14.0").but(|set| set.of.on = None);
    for part in [off.libraries(), off.known()] {
        assert_eq!((part.word.as_str(), part.word.class(), part.sum), ("not-for-macs", Class::NotLooked, Sum::Nothing));
    }
    assert_eq!(set([whole()], "14.0").known().sum, Sum::Releases(1));
}

#[test]
fn a_mac_below_what_images_are_built_for() {
    let later = || wheel("a-1.0-cp311-cp311-macosx_14_0_arm64").with(module("a/_x.so").minos(14, 2));
    let part = set([later()], "14.0").asked().libraries();
    let told = "warning[macos-above-floor]: `a/_x.so` of `a` 1.0 is built for macOS 14.2, later than 14.0";
    check(&part, "load", Class::Yes, "macos-above-floor", &[told, "take an earlier release of `a`"]);
    assert_eq!(set([later()], "14.2").asked().libraries().told.len(), 0);
    let metal = || wheel("mlx_metal-0.32.4-py3-none-macosx_26_0_arm64").metal("mlx/lib/mlx.metallib", 26, 2);
    let part = set([metal()], "15.0").asked().libraries();
    check(&part, "do-not-load", Class::No, "metal-generation", &["compiled for macOS 26.2, later than 15.0"]);
    assert_eq!(part.told[0].finding.severity, Severity::Error);
    assert_eq!(part.told[0].path.as_deref(), Some("mlx/lib/mlx.metallib"));
}

/// What is told is about the first of several.
#[test]
fn each_finding_says_what_it_is_about() {
    let excused = set(reals(&["torch-1.10.2-cp39-none-macosx_11_0_arm64"]), "14.0").but(|set| set.of.python.minor = 9);
    let part = excused.libraries();
    assert!(!part.told.is_empty());
    for told in &part.told {
        assert_eq!(told.package.as_ref().unwrap().as_str(), "torch", "{told:?}");
        assert!(told.path.as_ref().unwrap().starts_with("torch/"), "{told:?}");
    }
}

#[test]
fn a_wheel_that_macml_does_not_install_is_read_and_warned_of() {
    let said = "`xgboost-2.1.3.dist-info/WHEEL` has 110 bytes, its RECORD says 108";
    let facts = WheelFacts { refused: Some(said.to_owned()), ..WheelFacts::default() };
    let part = set([Wheel::of("xgboost-2.1.3-py3-none-macosx_12_0_arm64", facts)], "14.0").libraries();
    let expected = format!("warning[wheel-refused]: macml does not install the wheel of `xgboost` 2.1.3: {said}");
    check(&part, "load", Class::Yes, "wheel-refused", &[&expected, "take another release of `xgboost`"]);
}
