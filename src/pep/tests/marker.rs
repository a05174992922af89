//! Markers: grammar, evaluation for one machine and for many.

use proptest::prelude::*;

use crate::pep::ExtraName;
use crate::pep::Marker;
use crate::pep::MarkerEnv;
use crate::pep::Truth;
use crate::pep::Version;

fn mac() -> MarkerEnv {
    MarkerEnv {
        os_name: "posix".to_owned(),
        sys_platform: "darwin".to_owned(),
        platform_machine: "arm64".to_owned(),
        platform_system: "Darwin".to_owned(),
        platform_release_floor: Some(Version::new([23, 0, 0])),
        python_version: (3, 11),
        python_full_version: None,
    }
}

fn check(text: &str, expected: Truth) {
    let marker: Marker = text.parse().unwrap();
    assert_eq!(marker.evaluate(&mac(), &[]), expected, "{text}");
    assert_eq!(marker.to_string().parse::<Marker>().unwrap(), marker, "{text}");
}

fn check_extras(text: &str, extras: &[&str], expected: Truth) {
    let extras: Vec<ExtraName> = extras.iter().map(|extra| extra.parse().unwrap()).collect();
    assert_eq!(text.parse::<Marker>().unwrap().evaluate(&mac(), &extras), expected, "{text}");
}

use Truth::{Always, Never, Unknown};

#[test]
fn fixed_variables() {
    check("sys_platform == 'darwin'", Always);
    check("sys.platform == \"darwin\" and os.name != 'nt'", Always);
    check("platform.machine == 'x86_64'", Never);
    check("platform_python_implementation == 'CPython' and implementation_name == 'cpython'", Always);
    check("python_implementation == 'PyPy' or platform.python_implementation == 'Jython'", Never);
    check("python_version >= '3.9'", Always);
    check("python_version < '3.9' or python_version in '3.10 3.11'", Always);
    check("python_version == '3.11.*'", Always);
    check("'3.9' <= python_version", Always);
    check("python_version not in '3.10, 3.11'", Never);
}

#[test]
fn texts_are_not_ordered() {
    check("sys_platform > 'a'", Never);
    check("sys_platform < 'z'", Never);
    check("sys_platform >= 'darwin'", Always);
    check("sys_platform >= 'a'", Never);
    check("'arm' not in platform_machine", Never);
    check("'arm' in platform_machine", Always);
    check("platform_machine in 'x86_64 arm64'", Always);
    check("python_version >= 'three'", Never);
}

#[test]
fn comparisons_that_packaging_refuses_are_false() {
    check("sys_platform ~= 'darwin'", Never);
    check("sys_platform === 'darwin'", Never);
    check("python_version ~= '3'", Never);
    check_extras("extra < 'b'", &["a"], Never);
    check("platform_version < '20'", Never);
}

#[test]
fn precedence() {
    check("os_name == 'nt' and os_name == 'nt' or os_name == 'posix'", Always);
    check("os_name == 'nt' and (os_name == 'nt' or os_name == 'posix')", Never);
    check(
        "((os_name == 'posix'))and(\"a\"in'cpa'or os_name=='nt')".replace("\"a\"in'cpa'", "'x'in os_name ").as_str(),
        Always,
    );
    let deep = |depth: usize| format!("{}os_name == 'posix'{}", "(".repeat(depth), ")".repeat(depth));
    check(&deep(200), Always);
    assert!(deep(201).parse::<Marker>().is_err());
}

#[test]
fn refused() {
    for text in [
        "",
        "os_name",
        "os_name ==",
        "os_name == 'a' and",
        "(os_name == 'a'",
        "os_name == 'a')",
        "os_name == 'a",
        "foo == 'a'",
        "os_name = 'a'",
        "os_name notin 'a'",
        "os_name == os_name",
        "'a' == 'a'",
        "os_name == 'a'\n",
        "os_name == 'a' AND os_name == 'b'",
        "'a' in extras",
        "os_name == 'a\\n'",
        "os_name inposix",
        "os_name == 'a' or",
    ] {
        assert!(text.parse::<Marker>().is_err(), "{text}");
    }
}

#[test]
fn extras() {
    check_extras("extra == 'a'", &[], Never);
    check_extras("extra == 'A_B'", &["a-b"], Always);
    check_extras("'a' == extra", &["a", "b"], Always);
    check_extras("extra != 'a'", &["a", "b"], Never);
    check_extras("extra != 'a'", &[], Always);
    check_extras("extra == 'a' and extra == 'b'", &["a", "b"], Always);
    let marker: Marker = "extra == 'B' and (os_name == 'x' or extra == 'a_c' or extra == 'b')".parse().unwrap();
    let names: Vec<String> = marker.mentions_extra().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["a-c", "b"]);
    assert_eq!(marker.variables().len(), 2);
}

#[test]
fn every_patch_of_a_minor() {
    check("python_full_version >= '3.11.3'", Unknown);
    check("python_full_version >= '3.11.3' or python_full_version < '3.11.3'", Always);
    check("python_full_version > '3.11.3' and python_full_version < '3.11.4'", Never);
    check("python_full_version >= '3.11.0'", Always);
    check("python_full_version >= '3.11'", Always);
    check("python_full_version > '3.11'", Unknown);
    check("python_full_version < '3.11.0rc1'", Never);
    check("python_full_version < '3.12.0a1'", Always);
    check("implementation_version >= '3.11.3' or python_full_version < '3.11.3'", Always);
    check("python_full_version != '3.11.8'", Unknown);
    check("python_full_version ~= '3.11.2' or python_full_version in '3.11.0, 3.11.1'", Always);
    check("python_full_version not in '3.11.0 3.11.14' and python_full_version <= '3.11.0'", Never);
    check("'3.11.4' <= python_full_version or '3.11.4' > python_full_version", Always);
    check("'3.11' in python_full_version", Always);
    check("'5' in python_full_version", Unknown);
    check("'rc' in python_full_version", Never);
    check("python_full_version == '3.11.*'", Always);
    check("python_full_version === '3.11'", Never);
    check("python_full_version == '1!3.11.2'", Never);
}

#[test]
fn every_darwin_from_the_floor_up() {
    check("platform_release >= '22' and platform_release < '23'", Never);
    check("platform_release >= '23'", Always);
    check("platform_release >= '20.1.0'", Always);
    check("platform_release < '24' or platform_release >= '24'", Always);
    check("platform_release >= '24'", Unknown);
    check("platform_release == '23.*'", Unknown);
    check("platform_release == '23.*' or platform_release >= '24.0'", Always);
    check("'23.1.5' ~= platform_release and platform_release >= '23.2'", Never);
    check("'23' in platform_release", Unknown);
    check("'Microsoft' in platform_release", Never);
    check("platform_release > '9'", Always);
}

#[test]
fn the_unknown_stays_unknown_unless_the_rest_decides() {
    check("platform_version == 'x'", Unknown);
    check("platform_version == 'x' and os_name == 'nt'", Never);
    check("platform_version == 'x' or os_name == 'posix'", Always);
    check("platform_version == 'x' or platform_version != 'x'", Unknown);
    check("python_full_version >= '3.11.3' or platform_release >= '24'", Unknown);
    let linux = MarkerEnv { platform_release_floor: None, ..mac() };
    let marker: Marker = "platform_release >= '5' or platform_release < '5'".parse().unwrap();
    assert_eq!(marker.evaluate(&linux, &[]), Unknown);
}

#[test]
fn one_patch_is_exact() {
    let check = |text: &str, patch: &str, expected: Truth| {
        let env = MarkerEnv { python_full_version: Some(patch.parse().unwrap()), ..mac() };
        assert_eq!(text.parse::<Marker>().unwrap().evaluate(&env, &[]), expected, "{text} on {patch}");
    };
    check("python_full_version >= '3.11.3'", "3.11.2", Never);
    check("python_full_version >= '3.11.3'", "3.11.3", Always);
    check("'5' in python_full_version", "3.11.15", Always);
    check("implementation_version === '3.11.3'", "3.11.3", Always);
}

#[test]
fn many_cuts_are_decided_one_by_one() {
    let many = |variable: &str| {
        let all: Vec<String> = (0..70)
            .map(|number| {
                format!("{variable} == '{}.{number}'", if variable == "platform_release" { "24" } else { "3.11" })
            })
            .collect();
        all.join(" or ")
    };
    check(&format!("{} or {}", many("platform_release"), many("python_full_version")), Unknown);
    check(&format!("({} or {}) and os_name == 'nt'", many("platform_release"), many("python_full_version")), Never);
}

fn comparisons() -> impl Strategy<Value = String> {
    let versions = prop::sample::select(vec![
        "3.11.0",
        "3.11.2",
        "3.11",
        "3.11.3rc1",
        "3.12",
        "3.11.2.post1",
        "3.10.7",
        "23.1",
        "24",
        "23.1.2.5",
        "23.*",
        "3.11.*",
    ]);
    let operators = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">=", "~=", "===", "in", "not in"]);
    let variables = prop::sample::select(vec!["python_full_version", "implementation_version", "platform_release"]);
    (variables, operators, versions, any::<bool>()).prop_map(|(variable, operator, version, reversed)| {
        // A part of an unknown text has no cuts.
        if reversed && !operator.contains("in") {
            format!("'{version}' {operator} {variable}")
        } else {
            format!("{variable} {operator} '{version}'")
        }
    })
}

fn markers() -> impl Strategy<Value = String> {
    comparisons().prop_recursive(3, 8, 3, |inner| {
        (prop::collection::vec(inner, 2..4), prop::sample::select(vec![" and ", " or "]))
            .prop_map(|(parts, word)| format!("({})", parts.join(word)))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn display_round_trips(text in markers()) {
        let marker: Marker = text.parse().unwrap();
        prop_assert_eq!(marker.to_string().parse::<Marker>().unwrap(), marker);
    }

    /// Whatever is claimed of all machines is so on each of them; and in ranges of versions nothing decidable is missed.
    #[test]
    fn claims_hold_on_every_machine(text in markers()) {
        let marker: Marker = text.parse().unwrap();
        let claim = marker.evaluate(&mac(), &[]);
        let mut seen = std::collections::BTreeSet::new();
        for patch in [0, 1, 2, 3, 4, 20] {
            let env = MarkerEnv { python_full_version: Some(Version::new([3, 11, patch])), ..mac() };
            let one = marker.evaluate(&env, &[]);
            seen.insert(format!("{one:?}"));
            if claim != Unknown {
                prop_assert_eq!(one, claim);
            }
        }
        if claim == Unknown {
            prop_assert!(seen.len() > 1 || seen.contains("Unknown"));
        }
    }
}

#[test]
fn markers_of_lockfiles_ask_sets() {
    let names = |names: &[&str]| -> Vec<ExtraName> { names.iter().map(|name| name.parse().unwrap()).collect() };
    let (extras, groups) = (names(&["plot"]), names(&["dev"]));
    let asked = crate::pep::Asked { extras: &extras, groups: &groups };
    let check = |text: &str, expected: Truth| {
        let marker = Marker::parse_locked(text).unwrap();
        assert_eq!(marker.evaluate_asked(&mac(), asked), expected, "{text}");
        assert_eq!(Marker::parse_locked(&marker.to_string()).unwrap(), marker, "{text}");
    };
    check("'Plot' in extras", Always);
    check("'dev' in extras or 'plot' in dependency_groups", Never);
    check("'dev' in dependency_groups and sys_platform == 'darwin'", Always);
    check("'docs' not in dependency_groups and 'plot' not in extras", Never);
    for text in ["extras == 'plot'", "'plot' == extras", "extras in 'plot'", "dependency_groups"] {
        assert!(Marker::parse_locked(text).is_err(), "{text}");
    }
    assert!("'plot' in extras".parse::<Marker>().is_err());
}
