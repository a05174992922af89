//! What `macml explain` tells people of a text, and the list of names.

use std::collections::BTreeMap;

use macml::diag::Code;
use macml::diag::Topic;
use macml::explain::Explanation;

use crate::amount;
use crate::commands::doctor::remedy;
use crate::printer::ASIDE;
use crate::printer::BAD;
use crate::printer::HEAD;
use crate::printer::NAME;
use crate::printer::WARN;
use crate::printer::styled;

/// Of so many other patterns each is told.
const MOST_OTHERS: usize = 5;

/// Lays out the cause behind a text.
pub(crate) fn explanation(found: &Explanation) -> String {
    let head = styled(BAD, format!("cause[{}]", found.code));
    let mut lines = vec![format!("{head}: {}", found.cause)];
    let place = format!("line {}", found.matched.line);
    lines.push(format!("  {} {}", styled(ASIDE, format!("{place} |")), found.matched.text));
    lines.extend(found.details.iter().map(|detail| format!("  {detail}")));
    lines.extend(remedy(&found.remedy.says, found.remedy.command.as_deref(), "  "));
    lines.push(String::new());
    lines.push(styled(ASIDE, format!("`macml explain {}` says more", found.code)));
    let mut others: BTreeMap<usize, (Code, usize)> = BTreeMap::new();
    for (code, matched) in found.others.iter().filter(|(code, _)| *code != found.code) {
        let there = others.values().any(|(other, _)| other == code);
        if !there {
            others.insert(others.len(), (*code, matched.line));
        }
    }
    if !others.is_empty() {
        let shown: Vec<String> =
            others.values().take(MOST_OTHERS).map(|(code, line)| format!("{code} (line {line})")).collect();
        let more = others.len().saturating_sub(MOST_OTHERS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        lines.push(styled(ASIDE, format!("also in it, and not the cause: {}{more}", shown.join(", "))));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Says that nothing is known of a text of so many lines, and what to do.
pub(super) fn unknown(lines: usize) -> String {
    let head = styled(WARN, "unknown");
    let command = |command: &str, says: &str| {
        let gap = " ".repeat(22_usize.saturating_sub(command.len()));
        format!("  {}{gap}{says}\n", styled(NAME, command))
    };
    format!(
        "{head}: none of the errors that macml knows is in {} of text\n\
         macml does not guess. What may help:\n{}{}{}",
        amount::many(lines, "line"),
        command("macml doctor", "what is wrong with this machine, its Pythons and this project"),
        command("macml verify", "whether the GPU trains, and computes right"),
        command("macml explain TOPIC", &format!("what to look at: {}", super::topics())),
    )
}

/// Lists topics and codes, with what each is about.
pub(super) fn list() -> String {
    let width = Code::ALL.iter().map(|code| code.as_str().len()).max().unwrap_or_default();
    let row = |name: &str, title: &str| {
        let gap = " ".repeat(width - name.len() + 2);
        format!("  {}{gap}{title}\n", styled(NAME, name))
    };
    let topics: String = Topic::ALL.iter().map(|one| row(one.as_str(), one.title())).collect();
    let codes: String = Code::ALL.iter().map(|one| row(one.as_str(), one.title())).collect();
    format!("{}\n{topics}\n{}\n{codes}", styled(HEAD, "Topics"), styled(HEAD, "Codes"))
}
