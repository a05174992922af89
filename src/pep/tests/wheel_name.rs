//! Wheel file names.

use crate::pep::WheelName;

fn check(text: &str, expected: (&str, &str, Option<(u64, &str)>, [&str; 3])) {
    let wheel: WheelName = text.parse().unwrap();
    let join = |tags: Vec<&str>| tags.join(".");
    let tags =
        [join(wheel.python_tags().collect()), join(wheel.abi_tags().collect()), join(wheel.platform_tags().collect())];
    let build = wheel.build.as_ref().map(|(number, rest)| (*number, rest.as_str()));
    assert_eq!(
        (wheel.name.as_str(), &*wheel.version.to_string(), build),
        (expected.0, expected.1, expected.2),
        "{text}"
    );
    assert_eq!(tags, expected.3, "{text}");
    assert_eq!(wheel.to_string(), text);
}

#[test]
fn parts() {
    check("foo-1.0-py3-none-any.whl", ("foo", "1.0", None, ["py3", "none", "any"]));
    check(
        "torch-2.10.0-2-cp313-none-macosx_11_0_arm64.whl",
        ("torch", "2.10.0", Some((2, "")), ["cp313", "none", "macosx_11_0_arm64"]),
    );
    check(
        "Foo_Bar-1.0+cu.1-12_x-py2.py3-none-any.whl",
        ("foo-bar", "1.0+cu.1", Some((12, "_x")), ["py2.py3", "none", "any"]),
    );
    check("A.b-1-CP313-CP313-Linux_X86_64.whl", ("a-b", "1", None, ["cp313", "cp313", "linux_x86_64"]));
}

#[test]
fn refused() {
    for text in [
        "foo-1.0-py3-none-any.zip",
        "foo-1.0-py3-none.whl",
        "foo-1.0-x-py3-none-any.whl",
        "foo-1.0-1-2-py3-none-any.whl",
        "foo__bar-1.0-py3-none-any.whl",
        "foo-bar-py3-none-any.whl",
        "foo-1.0-py3..py2-none-any.whl",
        "foo-1.0-3py-none-any.whl",
        "foo-1.0-py3--any.whl",
        "-1.0-py3-none-any.whl",
        "foo-1.0-py3-none-any.WHL",
        "",
        // Names that would lead out of a folder, or drive a terminal.
        "foo-1.0-1/../../x-py3-none-any.whl",
        "foo-1.0-py3-none-any./etc/x.whl",
        "foo-1.0-py3-none-any.c\\x.whl",
        "foo-1.0-1\u{1b}[31m-py3-none-any.whl",
        "foo-1.0-py3-none-a\nny.whl",
        "foo-1.0-py3-none-\u{202e}any.whl",
    ] {
        assert!(text.parse::<WheelName>().is_err(), "{text}");
    }
}
