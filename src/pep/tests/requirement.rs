//! Dependency specifiers, strict and lenient.

use crate::pep::Requirement;

fn check(text: &str, expected: &str) {
    let requirement: Requirement = text.parse().unwrap();
    assert_eq!(requirement.to_string(), expected, "{text}");
    assert_eq!(requirement.to_string().parse::<Requirement>().unwrap(), requirement, "{text}");
}

fn check_lenient(text: &str, expected: &str) {
    assert_eq!(Requirement::parse_lenient(text).unwrap().to_string(), expected, "{text}");
}

#[test]
fn written_as_the_standard_says() {
    check("torch", "torch");
    check("Torch_Vision >= 2.1 , < 3", "torch-vision>=2.1, <3");
    check(
        "torch[opt,Extra_A,opt]>=2.1; sys_platform == 'darwin'",
        "torch[extra-a,opt]>=2.1; sys_platform == \"darwin\"",
    );
    check("torch [ ] (>=1,)", "torch>=1");
    check("torch()", "torch");
    check("foo @ https://x/y.whl", "foo @ https://x/y.whl");
    check("foo@https://x/y;z ; extra == 'A_b'", "foo @ https://x/y;z ; extra == \"a-b\"");
    check("foo===1.0", "foo===1.0");
    check("\tfoo-1>1", "foo-1>1");
}

#[test]
fn refused() {
    for text in [
        "",
        "-foo",
        "foo bar",
        "foo >=1 <2",
        "foo>=1.9.*",
        "foo>=1,,<2",
        "foo,",
        "foo>=1;",
        "foo[a",
        "foo[a,]",
        "foo(>=1",
        "foo @",
        "foo @ u; extra == 'a'",
        "foo *",
        "foo; os_name",
        "foo>=1)",
        "foo-",
        "foo[a b]",
        "foo>=1\n",
    ] {
        assert!(text.parse::<Requirement>().is_err(), "{text}");
    }
}

#[test]
fn read_leniently() {
    check_lenient("torch (>=1.9.*)", "torch>=1.9");
    check_lenient("six>=1.4 <2", "six>=1.4, <2");
    check_lenient("six>=1.4,", "six>=1.4");
    check_lenient("jupyter-client>=7.4.4;python_version<'3'", "jupyter-client>=7.4.4; python_version < \"3\"");
    check_lenient("foo @ https://x/y.whl; extra == 'a'", "foo @ https://x/y.whl ; extra == \"a\"");
    check_lenient("torch (==1.13.*) ; extra == 'a'", "torch==1.13.*; extra == \"a\"");
    for text in ["foo bar", "foo>=x", "foo; python_version"] {
        assert!(Requirement::parse_lenient(text).is_err(), "{text}");
    }
}

#[test]
fn errors_say_what_is_wrong() {
    let error = |text: &str| text.parse::<Requirement>().unwrap_err().to_string();
    assert_eq!(error("-foo"), "`-foo` is not a dependency specifier: it does not begin with a package name");
    assert_eq!(error("foo[a"), "`foo[a` is not a dependency specifier: the `[` of its extras is not closed");
}
