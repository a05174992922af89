//! The order of points, and ranges in words.

use std::cmp::Ordering;

use proptest::prelude::*;

use crate::pep::Point;
use crate::pep::Specifiers;
use crate::pep::Version;
use crate::pep::VersionRange;
use crate::pep::range::describe;

fn range(text: &str) -> VersionRange {
    text.parse::<Specifiers>().unwrap().range().clone()
}

#[test]
fn plain_specifiers_are_described_as_they_are_written() {
    for text in [
        ">=1.2, <2",
        "==1.4",
        "==1.4.*",
        "==1.0.*",
        "==1!2.0.*",
        "!=1.4",
        "!=1.4.*",
        ">=1, !=1.4",
        ">1.7",
        "<=2.0",
        ">=1, <2, !=1.3, !=1.5.*",
        "==1.4+cu121",
        "!=1.4+cu121",
        "<2rc1",
        ">=2.dev0",
        ">1.0.post1",
        "<1.0.post1",
    ] {
        assert_eq!(describe(&range(text)), text);
        assert_eq!(range(&describe(&range(text))), range(text), "{text}");
    }
    assert_eq!(describe(&range("~=1.4.2")), ">=1.4.2, <1.5");
    assert_eq!(describe(&range(">=1.2.dev0,<1.3")), "==1.2.*");
}

#[test]
fn other_ranges() {
    assert_eq!(describe(&VersionRange::full()), "any");
    assert_eq!(describe(&VersionRange::empty()), "none");
    assert_eq!(describe(&range("<0")), "none");
    assert_eq!(describe(&range(">=1,<1")), "none");
    assert_eq!(describe(&range("<1").union(&range(">=2,<3")).union(&range("==5.*"))), "<1 or >=2, <3 or ==5.*");
    let one: Version = "1.4".parse().unwrap();
    assert_eq!(describe(&VersionRange::singleton(one.clone())), "==1.4");
    assert_eq!(describe(&VersionRange::singleton(one).complement()), "!=1.4");
}

/// Versions close together, so that families meet.
fn versions() -> impl Strategy<Value = Version> {
    let release = prop::sample::select(vec!["0", "1", "1.0", "1.0.1", "1.1", "1.1.0.0.1", "2", "300.1", "1!1"]);
    let pre = prop::sample::select(vec!["", "", "", "a0", "a1", "b2", "rc1", "rc70"]);
    let post = prop::sample::select(vec!["", "", "", ".post0", ".post1", ".post300"]);
    let dev = prop::sample::select(vec!["", "", "", ".dev0", ".dev1"]);
    let local = prop::sample::select(vec!["", "", "", "+a", "+1", "+1.a"]);
    (release, pre, post, dev, local).prop_map(|(release, pre, post, dev, local)| {
        format!("{release}{pre}{post}{dev}{local}").parse().expect("put together from valid parts")
    })
}

fn specifier() -> impl Strategy<Value = String> {
    let operator = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">=", "~=", "==*", "!=*"]);
    (operator, versions()).prop_map(|(operator, version)| {
        let plain = version.clone().without_local();
        match operator {
            "==" | "!=" => format!("{operator}{version}"),
            "==*" | "!=*" => format!("{}{}.*", &operator[..2], plain.only_release().with_epoch(version.epoch())),
            "~=" => format!("~={}", plain.clone().with_release(plain.release().iter().copied().chain([3]))),
            _ => format!("{operator}{plain}"),
        }
    })
}

/// All bounds of the range that a specifier makes: the points that families add.
fn points() -> impl Strategy<Value = Point> {
    prop_oneof![
        versions().prop_map(Point::from),
        (specifier(), any::<prop::sample::Index>()).prop_map(|(specifier, index)| {
            let range = range(&specifier);
            let bounds: Vec<Point> = range
                .iter()
                .flat_map(|(lower, upper)| [lower.clone(), upper.clone()])
                .filter_map(|bound| match bound {
                    std::ops::Bound::Included(point) | std::ops::Bound::Excluded(point) => Some(point),
                    std::ops::Bound::Unbounded => None,
                })
                .collect();
            let least = || Point::from(Version::new([0]));
            if bounds.is_empty() { least() } else { bounds[index.index(bounds.len())].clone() }
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn points_are_in_one_order(a in points(), b in points(), c in points()) {
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        prop_assert_eq!(a.cmp(&b) == Ordering::Equal, a == b);
        if a <= b && b <= c {
            prop_assert!(a <= c, "{:?} {:?} {:?}", a, b, c);
        }
    }

    #[test]
    fn a_set_of_specifiers_is_what_all_of_them_admit(one in specifier(), other in specifier(), version in versions()) {
        let both: Specifiers = format!("{one}, {other}").parse().unwrap();
        let admits = |text: &str| text.parse::<Specifiers>().unwrap().contains(&version);
        prop_assert_eq!(both.contains(&version), admits(&one) && admits(&other));
        prop_assert_eq!(range(&one).complement().contains(&version.clone().into()), !admits(&one));
        prop_assert_eq!(both.to_string().parse::<Specifiers>().unwrap(), both);
    }

    #[test]
    fn a_specifier_is_described_exactly(text in specifier(), version in versions()) {
        let range = range(&text);
        let described = describe(&range);
        if described != "none" {
            let read: Specifiers = described.parse().unwrap();
            prop_assert_eq!(read.contains(&version), range.contains(&version.into()), "{} as {}", text, described);
        }
    }
}
