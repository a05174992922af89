//! Texts that people meet: `tests/explain/known.toml` has them with what must be said.

use std::collections::BTreeSet;

use macml::diag::Code;
use macml::doctor::Facts;
use macml::explain::{Explanation, explain};
use macml::knowledge::Knowledge;
use serde_json::Value;

use crate::doctor::scenarios::{lay, machine};

/// A text and what must come out.
#[derive(serde::Deserialize, Debug)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Known {
    pub(crate) name: String,
    expect: String,
    #[serde(default)]
    says: Vec<String>,
    #[serde(default)]
    never: Vec<String>,
    text: String,
    machine: Option<String>,
    #[serde(default)]
    facts: Value,
}

#[derive(serde::Deserialize)]
struct File {
    log: Vec<Known>,
}

pub(crate) fn known() -> Vec<Known> {
    let file: File = toml::from_str(include_str!("../../explain/known.toml")).unwrap();
    file.log
}

impl Known {
    fn facts(&self) -> Option<Facts> {
        let mut facts = machine(self.machine.as_ref()?);
        if !self.facts.is_null() {
            lay(&mut facts, self.facts.clone());
        }
        Some(serde_json::from_value(facts).unwrap_or_else(|error| panic!("{}: {error}", self.name)))
    }

    fn explained(&self, text: &str) -> Option<Explanation> {
        explain(text.as_bytes(), self.facts().as_ref(), &Knowledge::built_in())
    }
}

/// Everything that people read of an explanation.
fn words(explanation: &Explanation) -> String {
    let Explanation { cause, details, remedy, .. } = explanation;
    let lines = [cause].into_iter().chain(details).chain([&remedy.says]).chain(&remedy.command);
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn every_known_text_leads_to_its_cause() {
    let mut wrong = Vec::new();
    for known in known() {
        let Some(found) = known.explained(&known.text) else {
            wrong.push(format!("{}: unknown", known.name));
            continue;
        };
        let said = words(&found);
        let lacks: Vec<&String> = known.says.iter().filter(|text| !said.contains(text.as_str())).collect();
        let has: Vec<&String> = known.never.iter().filter(|text| said.contains(text.as_str())).collect();
        if found.code.as_str() != known.expect || !lacks.is_empty() || !has.is_empty() {
            wrong.push(format!(
                "{}: {} by {:?}, lacks {lacks:?}, has {has:?}\n{said}",
                known.name, found.code, found.matched
            ));
        }
    }
    assert!(wrong.is_empty(), "{} are wrong\n{}", wrong.len(), wrong.join("\n"));
}

/// Whatever surrounds them: two thousand lines before, colours, quoting, what a continuous integration puts before lines.
#[test]
fn known_texts_are_found_in_long_and_dressed_logs() {
    let before: String = (0..2000).map(|n| format!("Collecting package-{n} (from -r requirements.txt)\n")).collect();
    for known in known() {
        let dress = |with: fn(&str) -> String| known.text.lines().map(|line| with(line) + "\n").collect::<String>();
        let dressed = [
            format!("{before}{}\nuser@mac p % ", known.text),
            dress(|line| format!("2026-01-05T10:11:12.1234567Z {line}")),
            dress(|line| format!("> {line}")),
            dress(|line| format!("\u{1b}[31m{line}\u{1b}[0m")),
            known.text.replace('\n', "\r\n"),
        ];
        for text in dressed {
            let code = known.explained(&text).map(|found| found.code);
            assert_eq!(
                code.map(Code::as_str),
                Some(known.expect.as_str()),
                "{}\n{}",
                known.name,
                &text[text.len().saturating_sub(900)..]
            );
        }
    }
}

/// Cut before its cause, or in the middle of a word, a text leads to its own cause or to none.
#[test]
fn what_is_cut_off_leads_to_no_other_cause() {
    for known in known() {
        let codes: BTreeSet<&str> = [known.expect.as_str()].into();
        for end in (0..known.text.len()).step_by(7).filter(|end| known.text.is_char_boundary(*end)) {
            let Some(found) = known.explained(&known.text[..end]) else { continue };
            // Without the end of the package's name it is any package.
            let others: BTreeSet<&str> =
                ["built-from-source", "native-parts-missing", "library-missing", "symbol-missing", "no-distribution"]
                    .into();
            assert!(
                codes.contains(found.code.as_str()) || others.contains(found.code.as_str()),
                "{} at {end}: {}",
                known.name,
                found.code
            );
        }
    }
}

/// An exception of somebody's own ends the program, whatever was printed before it.
#[test]
fn what_was_caught_is_no_cause() {
    let check = |text: &str, expected: Option<&str>| {
        let code = explain(text.as_bytes(), None, &Knowledge::built_in()).map(|found| found.code.as_str());
        assert_eq!(code, expected, "{text}");
    };
    let known = "RuntimeError: MPS backend out of memory (MPS allocated: 5.38 GB, other";
    check(
        &format!(
            "{known}\nretrying with batch size 4\nTraceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'x'"
        ),
        None,
    );
    check(
        &format!(
            "{known}\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\napp.TrainingError: step failed"
        ),
        Some("out-of-memory"),
    );
    check(
        "UserWarning: The operator 'aten::a' is not currently supported on the MPS backend and will fall back to run on the CPU\nValueError: shapes",
        None,
    );
}

#[test]
fn nothing_panics() {
    let knowledge = Knowledge::built_in();
    for text in [&b""[..], b"\xff\xfe", b"\xff", b"\x1b[", b"\x1b]", b"\r\r\r", b"[", b"#1 ", b"> > > > > > > > >"] {
        assert_eq!(explain(text, None, &knowledge), None);
    }
    let bytes: Vec<u8> = (0..200_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    assert_eq!(explain(&bytes, None, &knowledge), None);
}
