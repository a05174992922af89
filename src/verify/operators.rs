//! What came of each operator that a probe tried: an outcome, why, and how many there are of each. Pure.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::fallback::{Became, Said};
use super::protocol::{At, Check, ElementType, Event, Operator, Pass, ProbeKind, Question};
use super::transcript::{Ended, Transcript};
use super::verdict::{Word, one_line, wrong};

/// What came of an operator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It ran on the device, and what it computed is right, as far as that can be compared.
    Supported,
    /// It, or a part of it, was computed on the CPU.
    Fallback,
    /// The framework raised an error, or the process broke or hung in it.
    Fails,
    /// It computed something else than the CPU.
    Wrong,
    /// Nothing is known of it.
    NotTried,
}

/// An operator, or a module, in one pass, and what came of it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Tried {
    /// Its name, as the probe has it.
    pub name: String,
    /// Which pass.
    pub pass: Pass,
    /// The name that was asked for; none where all were.
    pub asked: Option<String>,
    /// What came of it.
    pub outcome: Outcome,
    /// What a problem of this kind is called; `ok` where there is none.
    pub word: Word,
    /// Why, in words; none where it is supported and was compared.
    pub why: Option<String>,
    /// The element type of its inputs.
    #[serde(rename = "type")]
    pub element: Option<ElementType>,
    /// The shapes of its inputs.
    pub shapes: Vec<Vec<u64>>,
    /// The largest error over the scale of the reference, where it was compared.
    pub error: Option<f64>,
    /// How long it took on the device, in seconds.
    pub seconds: f64,
    /// The operators without a kernel of the device that were met in it, as the framework names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacking: Vec<String>,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Self; 5] = [Self::Supported, Self::Fallback, Self::Fails, Self::Wrong, Self::NotTried];

    /// Returns the word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Supported => "supported",
            Self::Fallback => "fallback",
            Self::Fails => "fails",
            Self::Wrong => "wrong",
            Self::NotTried => "not-tried",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Tried {
    /// Names it for people: `grid_sample[2d,bilinear,zeros]`, and which pass when it is not the first.
    pub fn title(&self) -> String {
        match self.pass {
            Pass::Forward => format!("`{}`", self.name),
            Pass::Backward => format!("`{}` backward", self.name),
        }
    }

    /// Makes the one for a name that nobody could be asked about.
    pub fn not_tried(name: String, why: String) -> Self {
        Self::cut_short(&name, Some(&name), Outcome::NotTried, Word::Incomplete, why)
    }

    /// What is known of one that did not come to say more.
    fn cut_short(name: &str, asked: Option<&str>, outcome: Outcome, word: Word, why: String) -> Self {
        let (name, pass) = match name.strip_suffix(" backward") {
            Some(name) => (name, Pass::Backward),
            None => (name, Pass::Forward),
        };
        Self {
            name: name.into(),
            pass,
            asked: asked.map(str::to_owned),
            outcome,
            word,
            why: Some(why),
            element: None,
            shapes: Vec::new(),
            error: None,
            seconds: 0.0,
            lacking: Vec::new(),
        }
    }
}

/// Lists what came of each operator, in the order in which they were tried: those that the probe told of, the one in which
/// it ended, and those that it did not come to or does not know.
pub fn tried(transcript: &Transcript) -> Vec<Tried> {
    let mut all: Vec<Tried> = transcript.operators().map(|one| outcome(one, transcript)).collect();
    if !transcript.request.questions.contains(&Question::Operators) {
        return all;
    }
    if let Some(at) = unfinished(transcript) {
        let word = if matches!(transcript.ended, Ended::OutOfTime(_)) { Word::Hung } else { Word::Crashed };
        let words = transcript.last_words().map_or_else(String::new, |words| format!(": {words}"));
        let why = format!("the probe {} in the middle of it{words}", transcript.ended);
        all.push(Tried::cut_short(&at.id, asked_for(transcript, &at.id), Outcome::Fails, word, why));
    }
    for name in planned(transcript) {
        if all.iter().all(|one| one.name != *name) {
            let asked = asked_for(transcript, name);
            all.push(Tried::cut_short(name, asked, Outcome::NotTried, Word::Incomplete, never_begun(transcript, name)));
        }
    }
    // A probe that plans nothing knows no operators.
    if planned(transcript).next().is_none() && transcript.operators().next().is_none() {
        for name in &transcript.request.operators {
            let available = transcript.device().is_some_and(|device| device.available);
            let why = match (transcript.is_done(), available) {
                (true, true) => {
                    format!("the {} probe of {} tries no operators", kind(transcript), transcript.request.framework)
                }
                (true, false) => format!("there is no {} to try it on", transcript.request.device),
                (false, _) => "the probe had ended before".into(),
            };
            all.push(Tried::cut_short(name, Some(name), Outcome::NotTried, Word::Incomplete, why));
        }
    }
    all
}

/// Lists the same of the first process of a probe, and of those that were asked afterwards what those before did not come
/// to.
pub fn tried_in_all(first: &Transcript, later: &[Transcript]) -> Vec<Tried> {
    let mut all = tried(first);
    // A later process is asked by the names that the first one planned.
    let asked: BTreeMap<String, Option<String>> = all.iter().map(|one| (one.name.clone(), one.asked.clone())).collect();
    for mut one in later.iter().flat_map(tried) {
        let planned = if asked.contains_key(&one.name) { Some(&one.name) } else { one.asked.as_ref() };
        one.asked = planned.and_then(|name| asked.get(name)).cloned().flatten();
        all.retain(|before| before.name != one.name || before.outcome != Outcome::NotTried);
        all.push(one);
    }
    all
}

/// Says how many operators there are of each outcome: `831 supported, 12 fallback, 1 fails`; none where none were asked.
pub fn tally(tried: &[Tried]) -> Option<String> {
    let of = |outcome: Outcome| tried.iter().filter(|one| one.outcome == outcome).count();
    let parts = Outcome::ALL.into_iter().map(|outcome| (of(outcome), outcome)).filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts.map(|(count, outcome)| format!("{count} {outcome}")).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Lists the planned operators of which nothing came, because the probe ended in one of them: what is worth asking in
/// another process.
pub fn remaining(transcript: &Transcript) -> Vec<String> {
    let known = |name: &str| transcript.operators().any(|one| one.name == name);
    let broken = unfinished(transcript).map(|at| at.id.strip_suffix(" backward").unwrap_or(&at.id).to_owned());
    let open = planned(transcript).filter(|name| !known(name) && broken.as_ref() != Some(*name));
    open.cloned().collect()
}

fn planned(transcript: &Transcript) -> impl Iterator<Item = &String> {
    let plans = transcript.events.iter().filter_map(|event| match event {
        Event::Planned(planned) => Some(&planned.operators),
        _ => None,
    });
    plans.flatten()
}

/// Returns the operator in the middle of which the probe ended.
fn unfinished(transcript: &Transcript) -> Option<&At> {
    let begun = transcript.events.iter().any(|event| matches!(event, Event::Planned(_)));
    transcript.unfinished().filter(|_| begun && !transcript.is_done())
}

/// Returns the name in the request that is exactly this one; which one a case belongs to only the probe knows.
fn asked_for<'a>(transcript: &'a Transcript, name: &str) -> Option<&'a str> {
    let asked = &transcript.request.operators;
    asked.iter().find(|one| *one == name).or(asked.first()).map(String::as_str)
}

fn kind(transcript: &Transcript) -> &'static str {
    match transcript.probe {
        ProbeKind::Native => "native",
        ProbeKind::Python => "Python",
    }
}

fn never_begun(transcript: &Transcript, name: &str) -> String {
    let skipped = transcript.events.iter().any(|event| matches!(event, Event::Skipped(one) if one.id == name));
    if skipped { "the time was over".into() } else { "the probe had ended before".into() }
}

/// Says what came of one.
fn outcome(operator: &Operator, transcript: &Transcript) -> Tried {
    let mut lacking = fallen(operator, transcript);
    let (outcome, word, why) = judged(operator, &lacking, transcript);
    let refused = operator.error.as_deref().and_then(Said::of).filter(|said| said.became == Became::Failed);
    lacking.extend(refused.map(|said| said.operator));
    Tried {
        name: operator.name.clone(),
        pass: operator.pass,
        asked: operator.asked.clone(),
        outcome,
        word,
        why,
        element: operator.element,
        shapes: operator.shapes.clone(),
        error: operator.max_rel,
        seconds: operator.seconds,
        lacking,
    }
}

/// Lists the operators that fell back in one. Those of threads that are not Python's were only printed.
fn fallen(operator: &Operator, transcript: &Transcript) -> Vec<String> {
    let id = operator.id();
    let printed = transcript.printed_fallbacks.iter().filter(|one| one.during == id).map(|one| &one.operator);
    let mut fallen: Vec<String> = operator.fallbacks.iter().chain(printed).cloned().collect();
    fallen.sort_unstable();
    fallen.dedup();
    fallen
}

fn judged(operator: &Operator, fallen: &[String], transcript: &Transcript) -> (Outcome, Word, Option<String>) {
    if let Some(why) = &operator.not_tried {
        return (Outcome::NotTried, Word::Incomplete, Some(one_line(why)));
    }
    let check = as_check(operator);
    let tolerance = transcript.request.tolerances.of(check.element);
    if let Some((word, why)) = wrong(&check, tolerance, transcript.request.sizes.memory) {
        let fails = matches!(word, Word::Failed | Word::OutOfMemory);
        let outcome = if fails { Outcome::Fails } else { Outcome::Wrong };
        return (outcome, word, Some(why));
    }
    if !fallen.is_empty() {
        let names: Vec<String> = fallen.iter().map(|name| format!("`{name}`")).collect();
        let why = format!("{} computed on the CPU instead of the device", names.join(", "));
        return (Outcome::Fallback, Word::Fallback, Some(why));
    }
    if let Some(place) = &operator.elsewhere {
        let more = operator.not_compared.as_ref().map_or_else(String::new, |more| format!(": {}", one_line(more)));
        return (Outcome::Fallback, Word::Fallback, Some(format!("computed on {place} instead of the device{more}")));
    }
    let why = operator.not_compared.as_ref().map(|why| format!("not compared: {}", one_line(why)));
    (Outcome::Supported, Word::Ok, why)
}

/// What was measured, as a check is judged.
fn as_check(operator: &Operator) -> Check {
    let nothing_to_compare = operator.not_compared.is_some();
    Check {
        id: operator.name.clone(),
        element: operator.element.unwrap_or(ElementType::Float32),
        round: 0,
        shapes: operator.shapes.clone(),
        error: operator.error.clone(),
        // An operator may rightly return tensors without elements.
        elements: operator.elements.max(1),
        max_abs: operator.max_abs,
        max_rel: if nothing_to_compare { Some(0.0) } else { operator.max_rel },
        worst: operator.worst.clone(),
        beyond: operator.beyond,
        nan: operator.nan,
        inf: operator.inf,
        elsewhere: None,
        seconds: operator.seconds,
    }
}
