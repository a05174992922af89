//! What specifiers admit, and how legacy ones are read.

use crate::pep::Specifiers;
use crate::pep::Version;

fn check(specifiers: &str, version: &str, expected: bool) {
    let set: Specifiers = specifiers.parse().unwrap();
    assert_eq!(set.contains(&version.parse().unwrap()), expected, "{version} in {specifiers}");
}

#[test]
fn local_versions_belong_to_the_release_they_are_built_from() {
    check("==1.2.3", "1.2.3+x", true);
    check("==1.2.3+x", "1.2.3+x", true);
    check("==1.2.3+x", "1.2.3", false);
    check("==1.2.3+x", "1.2.3+y", false);
    check("!=1.2.3", "1.2.3+x", false);
    check("!=1.2.3+x", "1.2.3", true);
    check("<=1.2.3", "1.2.3+x", true);
    check(">=1.2.3", "1.2.3+x", true);
    check("==1.2.*", "1.2.3+x", true);
    check("===1.2.3", "1.2.3+x", false);
}

#[test]
fn greater_refuses_the_family_of_its_version() {
    check(">1.7", "1.7.0.post1", false);
    check(">1.7", "1.7+local", false);
    check(">1.7", "1.7.post1+local", false);
    check(">1.7", "1.7.1.dev1", true);
    check(">1.7.post1", "1.7.post1+local", false);
    check(">1.7.post1", "1.7.post2.dev1", true);
    check(">1.7rc1", "1.7rc1.post1", false);
    check(">1.7rc1", "1.7rc2.dev0", true);
    check(">1.7.dev1", "1.7.dev1+local", false);
    check(">1.7.dev1", "1.7.dev2", true);
}

#[test]
fn less_refuses_pre_releases_of_its_version_unless_it_is_one() {
    check("<1.2.3", "1.2.3rc1", false);
    check("<1.2.3", "1.2.3.dev1", false);
    check("<1.2.3rc1", "1.2.3b1", true);
    check("<1.2.3.post1", "1.2.3.post1.dev0", false);
    check("<1.2.3.post1", "1.2.3+x", true);
    check("<0", "0.dev0", false);
}

#[test]
fn families() {
    check("==1.*", "1.dev0", true);
    check("==1.*", "2.dev0", false);
    check("==1.0.*", "1", true);
    check("!=1.2.*", "1.2rc1", false);
    check("~=1.2.3", "1.3.dev0", false);
    check("~=1.2.post4", "1.9", true);
    check("~=1.2.post4", "1.2.post3", false);
    check("==1!1.*", "1.5", false);
}

#[test]
fn several_specifiers_must_all_hold() {
    check(">=2.1,!=2.3.*,<3", "2.3.1", false);
    check(">=2.1, !=2.3.*, <3", "2.4", true);
    check("", "0.dev0", true);
    check("*", "1", true);
}

#[test]
fn legacy_specifiers() {
    let check = |text: &str, expected: &str| assert_eq!(Specifiers::parse_lenient(text).unwrap().to_string(), expected);
    check(">=1.9.*", ">=1.9");
    check("(>=1.9.*)", ">=1.9");
    check(">=1.4<2", ">=1.4, <2");
    check(">=2.7 !=3.0.* !=3.1.*", ">=2.7, !=3.0.*, !=3.1.*");
    check(">=1.4,", ">=1.4");
    check(",>=1.4,,<2", ">=1.4, <2");
    check("==2.7*", "==2.7.*");
    check("!=~3.0", "!=3.0");
    check("~=3.8.*", "==3.8.*");
    check(">= '2.7'", ">=2.7");
    check(">=2.7.,<3", ">=2.7, <3");
    check("<3.13,>=3.9", "<3.13, >=3.9");
    for text in ["1.2", "python", ">=", ">=x", "=>3", "== 1.2 or 3"] {
        assert!(Specifiers::parse_lenient(text).is_err(), "{text}");
    }
}

#[test]
fn strict_reading_takes_none_of_that() {
    for text in [">=1.9.*", ">=1.4<2", ">=1.4 <2", "==2.7*", "1.2", ">=1+x", "~=1", "===x", ">=18446744073709551616"] {
        assert!(text.parse::<Specifiers>().is_err(), "{text}");
    }
    // The number has no successor to end the family.
    assert!("==18446744073709551615.*".parse::<Specifiers>().is_err());
}

#[test]
fn what_a_set_names() {
    let set = |text: &str| text.parse::<Specifiers>().unwrap();
    let exact = |text: &str| set(text).exact().map(Version::to_string);
    assert_eq!(exact(">=1,==1.4"), Some("1.4".to_owned()));
    assert_eq!(exact("===1.4+x"), Some("1.4+x".to_owned()));
    assert_eq!(exact("==1.4.*"), None);
    assert!(set(">=1rc1").names_prerelease());
    assert!(set("<2.dev0").names_prerelease());
    assert!(!set("!=1rc1").names_prerelease());
    assert!(!set(">=1.post1").names_prerelease());
    assert!(set(" , ").is_any());
}

#[test]
fn errors_are_one_line() {
    let error = ">=1.x".parse::<Specifiers>().unwrap_err().to_string();
    assert!(!error.contains('\n') && error.starts_with("`>=1.x` is not a version specifier: "), "{error}");
}
