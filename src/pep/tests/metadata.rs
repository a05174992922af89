//! METADATA as old and new tools write it.

use proptest::prelude::*;

use crate::pep::Marker;
use crate::pep::Metadata;
use crate::pep::Requirement;
use crate::pep::Specifiers;
use crate::pep::Version;
use crate::pep::WheelName;

fn parse(text: &str) -> Metadata {
    Metadata::parse(text.as_bytes()).unwrap()
}

fn check_error(text: &str, expected: &str) {
    assert_eq!(Metadata::parse(text.as_bytes()).unwrap_err().to_string(), expected);
}

#[test]
fn fields() {
    let metadata = parse(concat!(
        "Metadata-Version: 9.9\nName: Foo_Bar\nVersion: 1.0\nSummary: x\nRequires-Python: >=3.8, !=3.9.*\n",
        "Requires-Dist: torch (>=1.9.*)\nRequires-Dist: six; extra == 'A_b'\nrequires-dist: numpy\n",
        "Provides-Extra: A_b\nProvides-Extra: _\nProvides-Extra: c\n\nRequires-Dist: body\n",
    ));
    assert_eq!((metadata.name.as_str(), metadata.version.to_string()), ("foo-bar", "1.0".to_owned()));
    let requires: Vec<String> = metadata.requires_dist.iter().map(ToString::to_string).collect();
    assert_eq!(requires, ["torch>=1.9", "six; extra == \"a-b\"", "numpy"]);
    assert_eq!(metadata.requires_python.unwrap().to_string(), ">=3.8, !=3.9.*");
    assert_eq!(metadata.provides_extra.iter().map(|extra| extra.as_str()).collect::<Vec<_>>(), ["a-b", "c"]);
}

#[test]
fn folded_lines_and_line_ends() {
    let metadata =
        parse("Name: foo\r\nVersion:\r\n 1.0\r\nRequires-Dist: six\r\n\t>=1.4,\r\n <2\r\n\r\nName: body\r\n");
    assert_eq!(metadata.requires_dist[0].to_string(), "six>=1.4, <2");
    assert_eq!(parse("\u{feff}Name: foo\rVersion: 1.0\r").version.to_string(), "1.0");
}

#[test]
fn other_encodings() {
    let metadata = Metadata::parse(b"Name: foo\nAuthor: J\xfcrgen\nVersion: 1.0\n").unwrap();
    assert_eq!(metadata.version.to_string(), "1.0");
    assert_eq!(parse("Name: foo\nAuthor: J\u{fc}rgen\nVersion: 1.0\n").name.as_str(), "foo");
}

#[test]
fn what_was_not_given() {
    let metadata = parse("Name: foo\nVersion: 1.0\nRequires-Python: UNKNOWN\nHome-page: UNKNOWN\n");
    assert_eq!((metadata.requires_python, metadata.requires_dist.len()), (None, 0));
    assert_eq!(parse("Name: foo\nVersion: 1.0\nRequires-Python:\n").requires_python, None);
}

#[test]
fn unreadable() {
    check_error("Version: 1.0\n", "no `Name` field");
    check_error("Name: foo\n", "no `Version` field");
    check_error("Name: foo\n\nVersion: 1.0\n", "no `Version` field");
    check_error("", "no `Name` field");
    let error = Metadata::parse(b"Name: foo\nVersion: 1.0\nRequires-Dist: six >=x\n").unwrap_err().to_string();
    assert!(error.starts_with("field `Requires-Dist`: `six >=x` is not a dependency specifier: "), "{error}");
    assert!(Metadata::parse(b"Name: foo\nVersion: x\n").is_err());
    assert!(Metadata::parse(b"Name: foo\nVersion: 1\nRequires-Python: x\n").is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever a stranger publishes is read or refused; what is read can be written and read again.
    #[test]
    fn no_text_stops_the_program(
        text in "[ -~\u{e9}\u{3000}]{0,30}",
        body in "[0-9a-z.*+!=<>~, ()'\";\\[\\]@_-]{0,40}",
        bytes in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let _ = Metadata::parse(&bytes);
        for text in [&text, &body] {
            let _ = Specifiers::parse_lenient(text);
            let _ = text.parse::<Marker>();
            let _ = format!("foo-{text}-py3-none-any.whl").parse::<WheelName>();
            let _ = Metadata::parse(format!("Name: foo\nVersion: 1\nRequires-Dist: foo{text}\n").as_bytes());
            if let Ok(requirement) = Requirement::parse_lenient(&format!("foo {text}")) {
                prop_assert_eq!(requirement.to_string().parse::<Requirement>().unwrap(), requirement);
            }
            if let Ok(version) = text.parse::<Version>() {
                prop_assert_eq!(version.to_string().parse::<Version>().unwrap(), version);
            }
        }
    }
}
