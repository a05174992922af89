//! What `macml verify` tells people: what is known before, what came of each probe, and what to do.

use std::time::Duration;

use macml::host::Host;
use macml::pipeline::verify::Answer;
use macml::pipeline::verify::Foreseen;
use macml::pipeline::verify::NotAsked;
use macml::pipeline::verify::Unfit;
use macml::verify::Verdict;
use macml::verify::Word;
use macml::verify::protocol::Device;

use super::Done;
use super::FORGIVEN;
use super::operators;
use crate::amount;
use crate::commands::lock;
use crate::printer::BAD;
use crate::printer::GOOD;
use crate::printer::Level;
use crate::printer::NAME;
use crate::printer::WARN;
use crate::printer::styled;

/// Tells what is known to go wrong here, before anything is run.
pub(super) fn before(foreseen: &Foreseen, host: Option<&Host>) -> String {
    const MOST: usize = 3;
    let mut lines: Vec<String> = foreseen.unfit.iter().map(|unfit| cannot(unfit, host)).collect();
    lines.extend(foreseen.problems.iter().take(MOST).map(|known| lock::problem(known).trim_start().to_owned()));
    if foreseen.problems.len() > MOST {
        let rest: Vec<String> = foreseen.problems[MOST..].iter().map(|known| format!("`{}`", known.rule)).collect();
        lines.push(format!(
            "  and {}, which `macml rules NAME` tells: {}",
            amount::count(rest.len(), "more known problem"),
            rest.join(", ")
        ));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Says what cannot use this Mac's GPU.
fn cannot(unfit: &Unfit, host: Option<&Host>) -> String {
    let Unfit { name, statement, reason, last, rule, .. } = unfit;
    let has = host.map(|host| format!(", and this Mac has {}", host.macos)).unwrap_or_default();
    let has = if last.is_some() || statement.contains("macOS") { has } else { String::new() };
    let last =
        last.as_ref().map(|last| format!("; the last {name} known to do it there is {last}")).unwrap_or_default();
    format!("{}: {statement}{has}{last}: {} ({rule})", styled(BAD, "no GPU"), reason.trim_end_matches('.'))
}

/// Lays out what was found.
pub(super) fn text(done: &Done, level: Level) -> String {
    let mut lines = Vec::new();
    for answer in &done.outcome.answers {
        lines.push(line(answer));
        let problems = answer.verdict.problems.iter().zip(&answer.known);
        let problems = problems.filter(|(problem, _)| !operators::tells(problem, answer));
        lines.extend(problems.map(|(problem, known)| {
            let known: Vec<String> = known.iter().map(|rule| format!("`{rule}`")).collect();
            let known = if known.is_empty() { String::new() } else { format!(" (known: {})", known.join(", ")) };
            // What cargo said last has lines of its own.
            format!("  {}: {}{known}", styled(BAD, problem.word), problem.sentence.replace('\n', "\n    "))
        }));
        lines.extend(operators::table(answer, level == Level::Verbose));
        lines.extend(notes(&answer.verdict, level));
    }
    if let Some(left_out) = &done.outcome.left_out {
        let remedy = match left_out {
            NotAsked::NotBuilt => "; `macml verify --native` builds it",
            NotAsked::Cannot(_) | NotAsked::NoCache => "",
        };
        let reason = left_out.to_string();
        let (reason, last) = reason.split_once('\n').unwrap_or((&reason, ""));
        lines.push(format!("native: not run ({reason}{remedy})"));
        lines.extend(last.lines().map(|line| format!("    {line}")));
    }
    let word = done.outcome.word();
    let style = if done.code() == 0 { if done.forgiven { WARN } else { GOOD } } else { BAD };
    let on = done.host.as_ref().filter(|_| done.device == Device::Mps);
    let on = on.map(|host| format!(", macOS {}, {}", host.macos, host.cpu)).unwrap_or_default();
    lines.push(format!("{} on {}{on}: {}", done.name, done.device, styled(style, word)));
    lines.join("\n") + "\n"
}

/// Says what came of a probe, in one line.
fn line(answer: &Answer) -> String {
    let Answer { verdict, installed, .. } = answer;
    let ok = verdict.word == Word::Ok;
    let version = verdict.version.clone().or_else(|| installed.as_ref().map(ToString::to_string));
    let version = version.map(|version| format!(" {version}")).unwrap_or_default();
    let device = verdict.device_name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let mut parts =
        vec![format!("{}{version} {} on {}{device}", verdict.framework, verdict.probe.way(), verdict.device)];
    if verdict.compared > 0 {
        parts.push(format!("{} compared", verdict.compared));
        let largest = verdict.largest.iter().map(|(element, one)| format!("{element} {:.1e}", one.error));
        parts.push(format!("largest error {}", largest.collect::<Vec<_>>().join(" ")));
    }
    parts.extend(verdict.seconds.map(|seconds| amount::duration(Duration::from_secs_f64(seconds.max(0.0)))));
    format!("{}  {}", styled(if ok { GOOD } else { BAD }, verdict.word), parts.join(", "))
}

/// Lists the notes of a verdict, as many as people read.
fn notes(verdict: &Verdict, level: Level) -> Vec<String> {
    const MOST: usize = 3;
    let most = if level == Level::Verbose || verdict.notes.len() == MOST + 1 { usize::MAX } else { MOST };
    let mut lines: Vec<String> =
        verdict.notes.iter().take(most).map(|note| format!("  {}: {note}", styled(NAME, "note"))).collect();
    if let Some(more @ 1..) = verdict.notes.len().checked_sub(most) {
        lines.push(format!("  and {}, which `-v` tells", amount::count(more, "more note")));
    }
    lines
}

/// Tells what is no result.
pub(super) fn asides(done: &Done) -> String {
    let mut lines: Vec<String> = Vec::new();
    for name in &done.missing {
        let text = format!("[frameworks] of macml.toml names `{name}`, which is not installed here");
        lines.push(format!("{}: {text}", styled(WARN, "warning")));
    }
    lines.extend(done.notes.iter().map(|text| format!("{}: {text}", styled(NAME, "note"))));
    lines.extend(done.not_kept().map(|text| format!("{}: {text}", styled(WARN, "note"))));
    if done.forgiven {
        lines.push(format!("{}: {}", styled(WARN, "note"), FORGIVEN));
    }
    lines.extend(done.hints.iter().map(|hint| format!("{}: {hint}", styled(NAME, "hint"))));
    lines.iter().map(|line| format!("{line}\n")).collect()
}
