//! The `packaging` package as the judge of `pep/`: generated cases, the same answers. Needs `MACML_LIVE` and Python.

use crate::support::python::python_with;
use std::path::Path;
use std::process::Command;
use std::process::Stdio;

use macml::pep::ExtraName;
use macml::pep::Marker;
use macml::pep::MarkerEnv;
use macml::pep::Requirement;
use macml::pep::RequirementSource;
use macml::pep::Specifiers;
use macml::pep::Tags;
use macml::pep::Truth;
use macml::pep::Version;
use macml::pep::WheelName;
use macml::pep::tag;
use serde_json::Value;
use serde_json::json;

use generate::Generator;

mod generate;

/// How many cases of each kind.
const CASES: [(&str, usize); 5] =
    [("compare", 6_000), ("specifier", 8_000), ("marker", 8_000), ("requirement", 6_000), ("wheel", 4_000)];

type Applies = fn(&Value) -> bool;

/// Where macml answers otherwise on purpose.
///
/// Each row: what to look for in the case, and why. A case that is in none must be answered alike.
const CHOSEN: [(&str, Applies, &str); 9] = [
    (
        "specifier",
        has_identity,
        "`===` takes versions only and compares them as such: a release has one version, not one text",
    ),
    ("requirement", has_identity, "the same"),
    ("specifier", is_star, "`*` alone is every version, as macml.toml writes it"),
    ("requirement", has_no_name, "core metadata allows no name or extra that ends in `_`; no index serves one"),
    ("wheel", has_no_name, "the same, and none that begins with one"),
    (
        "marker",
        compares_alike,
        "two variables or two texts compare nothing; `packaging` takes one for the other's name",
    ),
    ("requirement", compares_alike, "the same"),
    ("requirement", has_line_break, "a requirement is one line"),
    (
        "wheel",
        is_no_file_name,
        "a file's name has no blanks, control characters or slashes: it meets terminals and disks",
    ),
];

fn text(case: &Value) -> &str {
    ["s", "m", "r", "w"].iter().find_map(|key| case[key].as_str()).unwrap_or_default()
}

/// The text without a marker.
fn body(case: &Value) -> &str {
    text(case).split_once(';').map_or(text(case), |(body, _)| body)
}

fn has_identity(case: &Value) -> bool {
    body(case).contains("===")
}

fn is_star(case: &Value) -> bool {
    text(case).trim() == "*"
}

fn has_line_break(case: &Value) -> bool {
    text(case).contains('\n')
}

fn is_no_file_name(case: &Value) -> bool {
    text(case).contains(|c: char| !c.is_ascii_graphic() || "/\\".contains(c))
}

fn has_no_name(case: &Value) -> bool {
    let outside = |c: char| !(c.is_ascii_alphanumeric() || "-_.".contains(c));
    match case["w"].as_str() {
        Some(wheel) => {
            wheel.split('-').next().is_some_and(|name| name.starts_with(['_', '.']) || name.ends_with(['_', '.']))
        }
        None => body(case).split(outside).any(|name| name.ends_with('_')),
    }
}

/// Whether macml refuses the marker for its operands.
fn compares_alike(case: &Value) -> bool {
    let marker = text(case).split_once(';').map_or(text(case), |(_, marker)| marker);
    let refused =
        |marker: &str| marker.parse::<Marker>().is_err_and(|error| error.reason().starts_with("it compares two"));
    refused(marker) || refused(text(case))
}

#[test]
fn pep_answers_as_packaging_does() {
    if !std::env::var("MACML_LIVE").is_ok_and(|value| value == "1" || value == "full") {
        eprintln!("skipped: the comparison with `packaging` needs MACML_LIVE=1");
        return;
    }
    let python = python_with("packaging-oracle", PACKAGING);
    let mut generator = Generator::new(20_261_130);
    let mut cases: Vec<Value> = Vec::new();
    for (kind, count) in CASES {
        cases.extend((0..count).map(|_| generator.case(kind)));
    }
    for (macos, python) in
        [((11, 0), (3, 8)), ((13, 3), (3, 9)), ((14, 5), (3, 13)), ((26, 1), (3, 14)), ((27, 0), (3, 15))]
    {
        let platforms = tag::mac_platforms(macos);
        cases.push(json!({ "kind": "platforms", "os": "mac", "version": [macos.0, macos.1], "ours": platforms }));
        cases.push(json!({ "kind": "tag_list", "python": [python.0, python.1], "platforms": platforms }));
    }
    for (glibc, arch) in
        [((2, 28), "x86_64"), ((2, 17), "aarch64"), ((2, 39), "aarch64"), ((2, 5), "x86_64"), ((3, 1), "x86_64")]
    {
        let platforms = tag::linux_platforms(glibc, arch);
        cases.push(json!({ "kind": "platforms", "os": "linux", "version": [glibc.0, glibc.1], "arch": arch, "ours": platforms }));
        cases.push(json!({ "kind": "tag_list", "python": [3, 12], "platforms": platforms }));
    }
    assert!(cases.len() >= 20_000);

    let answers = ask(&python, &cases);
    assert_eq!(answers.len(), cases.len());
    let mut chosen = [0_usize; CHOSEN.len()];
    let mut meaningful = std::collections::BTreeMap::<&str, usize>::new();
    let mut wrong = Vec::new();
    for (case, theirs) in cases.iter().zip(&answers) {
        let kind = case["kind"].as_str().unwrap();
        *meaningful.entry(kind).or_default() += usize::from(!theirs.is_null());
        let Err(ours) = judge(case, theirs) else { continue };
        match CHOSEN.iter().position(|(of, applies, _)| *of == kind && applies(case)) {
            Some(index) => chosen[index] += 1,
            None => wrong.push(format!("{case}\n  packaging: {theirs}\n  macml:     {ours}")),
        }
    }
    eprintln!("{} cases; readable: {meaningful:?}", cases.len());
    for ((kind, _, reason), count) in CHOSEN.iter().zip(chosen) {
        eprintln!("{count} times in `{kind}` on purpose: {reason}");
    }
    let shown = &wrong[..wrong.len().min(30)];
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), shown.join("\n"));
    // A row for nothing hides what it was written for; cases that nobody can read prove little.
    assert!(chosen.iter().all(|count| *count > 0), "{chosen:?}");
    assert!(CASES.iter().all(|(kind, count)| meaningful[kind] * 2 > *count), "{meaningful:?}");
}

/// The release that is compared with, so that a newer one fails nobody's run by surprise.
const PACKAGING: &str = "packaging==26.4";

fn ask(python: &Path, cases: &[Value]) -> Vec<Value> {
    let questions = tempfile::NamedTempFile::new().unwrap();
    let lines: Vec<String> = cases.iter().map(Value::to_string).collect();
    std::fs::write(questions.path(), lines.join("\n") + "\n").unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/oracle/judge.py");
    let output =
        Command::new(python).arg(script).stdin(questions.reopen().unwrap()).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success());
    output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

/// Compares with our answer; an error is ours.
fn judge(case: &Value, theirs: &Value) -> Result<(), String> {
    let ours = match case["kind"].as_str().unwrap() {
        "compare" => compare(case),
        "specifier" => specifier(case),
        "marker" => return marker(case, theirs),
        "requirement" => return requirement(case, theirs),
        "wheel" => wheel(case),
        "platforms" => case["ours"].clone(),
        "tag_list" => return tag_list(case, theirs),
        kind => panic!("no kind `{kind}`"),
    };
    if ours == *theirs { Ok(()) } else { Err(ours.to_string()) }
}

fn compare(case: &Value) -> Value {
    let read = |key: &str| case[key].as_str().unwrap().parse::<Version>().ok();
    match (read("a"), read("b")) {
        (Some(a), Some(b)) => json!([a.to_string(), b.to_string(), a.cmp(&b) as i8]),
        _ => Value::Null,
    }
}

fn specifier(case: &Value) -> Value {
    let Ok(specifiers) = text(case).parse::<Specifiers>() else { return Value::Null };
    let versions = case["v"].as_array().unwrap();
    versions.iter().map(|version| specifiers.contains(&version.as_str().unwrap().parse().unwrap())).collect()
}

/// Every machine of the case is asked for alone, and all patches and releases of it at once.
fn marker(case: &Value, theirs: &Value) -> Result<(), String> {
    let Ok(marker) = text(case).parse::<Marker>() else {
        return if theirs.is_null() { Ok(()) } else { Err("unreadable".to_owned()) };
    };
    let Some(theirs) = theirs.as_array() else { return Err(format!("read as {marker}")) };
    let field = |env: &Value, key: &str| env[key].as_str().unwrap().to_owned();
    for (env, holds) in case["envs"].as_array().unwrap().iter().zip(theirs) {
        let extras: Vec<ExtraName> =
            env["extra"].as_array().unwrap().iter().map(|extra| extra.as_str().unwrap().parse().unwrap()).collect();
        let version: Version = field(env, "python_full_version").parse().unwrap();
        let every = MarkerEnv {
            os_name: field(env, "os_name"),
            sys_platform: field(env, "sys_platform"),
            platform_machine: field(env, "platform_machine"),
            platform_system: field(env, "platform_system"),
            platform_release_floor: Some(field(&case["envs"][0], "platform_release").parse().unwrap()),
            python_version: (version.release()[0], version.release()[1]),
            python_full_version: None,
        };
        let one = MarkerEnv { python_full_version: Some(version), ..every.clone() };
        let varies = |variable: &str| marker.variables().iter().any(|one| one.as_str() == variable);
        for (env, certain) in [(one, !varies("platform_release") && !varies("platform_version")), (every, false)] {
            let agrees = match (marker.evaluate(&env, &extras), holds.as_bool()) {
                // Comparisons that `packaging` refuses are false here, so the whole has an answer.
                (_, None) => true,
                (Truth::Always, Some(holds)) => holds,
                (Truth::Never, Some(holds)) => !holds,
                (Truth::Unknown, Some(_)) => !certain,
            };
            if !agrees {
                return Err(format!("{:?} for {env:?} with {extras:?}", marker.evaluate(&env, &extras)));
            }
        }
    }
    Ok(())
}

fn requirement(case: &Value, theirs: &Value) -> Result<(), String> {
    let Ok(ours) = text(case).parse::<Requirement>() else {
        return if theirs.is_null() { Ok(()) } else { Err("unreadable".to_owned()) };
    };
    let read = |key: &str| theirs[key].as_str();
    let (versions, url) = match &ours.source {
        RequirementSource::Versions(versions) => (versions.clone(), None),
        RequirementSource::Url(url) => (Specifiers::any(), Some(url.as_str())),
    };
    let same = !theirs.is_null()
        && read("name") == Some(ours.name.as_str())
        && theirs["extras"] == json!(ours.extras)
        && read("specifier")
            .and_then(|text| text.parse::<Specifiers>().ok())
            .is_some_and(|one| one.range() == versions.range())
        && read("url") == url
        && read("marker").map(|text| text.parse::<Marker>().unwrap()) == ours.marker;
    if same { Ok(()) } else { Err(format!("{ours}")) }
}

fn wheel(case: &Value) -> Value {
    let Ok(wheel) = text(case).parse::<WheelName>() else { return Value::Null };
    let mut tags = Vec::new();
    for python in wheel.python_tags() {
        for abi in wheel.abi_tags() {
            tags.extend(wheel.platform_tags().map(|platform| format!("{python}-{abi}-{platform}")));
        }
    }
    tags.sort();
    tags.dedup();
    let version = wheel.version.to_string();
    json!({ "name": wheel.name, "version": version, "build": wheel.build, "tags": tags })
}

fn tag_list(case: &Value, theirs: &Value) -> Result<(), String> {
    let number = |index: usize| case["python"][index].as_u64().unwrap();
    let platforms: Vec<String> = serde_json::from_value(case["platforms"].clone()).unwrap();
    let tags = Tags::cpython((number(0), number(1)), &platforms);
    for (place, tag) in (0..).zip(theirs.as_array().unwrap()) {
        let wheel: WheelName = format!("x-1-{}.whl", tag.as_str().unwrap()).parse().unwrap();
        if tags.rank(&wheel) != Some(place) {
            return Err(format!("{tag} has rank {:?} instead of {place}", tags.rank(&wheel)));
        }
    }
    Ok(())
}
