//! What `macml explain` tells people of a text, and the list of names.

use macml::diag::Code;
use macml::diag::Language;
use macml::diag::Topic;
use macml::diag::few;
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

/// Lays out the cause behind a text; what is said of it is in English, its page in either language.
pub(crate) fn explanation(found: &Explanation, language: Language) -> String {
    let head = styled(BAD, format!("cause[{}]", found.code));
    let mut lines = vec![format!("{head}: {}", found.cause)];
    let place = format!("line {}", found.matched.line);
    lines.push(format!("  {} {}", styled(ASIDE, format!("{place} |")), found.matched.text));
    lines.extend(found.details.iter().map(|detail| format!("  {detail}")));
    lines.extend(remedy(&found.remedy.says, found.remedy.command.as_deref(), "  "));
    lines.push(String::new());
    lines.push(styled(
        ASIDE,
        match language {
            Language::English => format!("`macml explain {}` says more", found.code),
            Language::Chinese => format!("中文说明：`macml explain {} --lang zh`", found.code),
        },
    ));
    let mut others: Vec<(Code, usize)> = Vec::new();
    for (code, matched) in found.others.iter().filter(|(code, _)| *code != found.code) {
        if !others.iter().any(|(other, _)| other == code) {
            others.push((*code, matched.line));
        }
    }
    if !others.is_empty() {
        let others: Vec<String> = others.iter().map(|(code, line)| format!("{code} (line {line})")).collect();
        lines.push(styled(ASIDE, format!("also in it, and not the cause: {}", few(&others, MOST_OTHERS))));
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

#[cfg(test)]
mod tests {
    use macml::doctor::Remedy;
    use macml::explain::Matched;

    use super::*;

    #[test]
    fn the_cause_comes_with_the_line_it_rests_on_and_what_else_there_was() {
        let matched = |line, text: &str| Matched { signature: "x".to_owned(), line, text: text.to_owned() };
        let remedy = Remedy { says: "use torch 2.14.0".to_owned(), command: Some("macml lock -P torch".to_owned()) };
        let found = Explanation {
            code: Code::LibraryMissing,
            matched: matched(57, "NotImplementedError: aten::x"),
            cause: "`aten::x` has no GPU kernel in torch 2.13.0".to_owned(),
            details: vec!["torch 2.14.0 has one".to_owned()],
            remedy,
            others: vec![
                (Code::SymbolMissing, matched(40, "symbol")),
                (Code::LibraryMissing, matched(30, "the same again")),
                (Code::SymbolMissing, matched(3, "symbol")),
                (Code::DamagedImage, matched(1, "killed")),
            ],
        };
        let expected = "\
cause[library-missing]: `aten::x` has no GPU kernel in torch 2.13.0
  line 57 | NotImplementedError: aten::x
  torch 2.14.0 has one
  remedy: use torch 2.14.0
      macml lock -P torch

`macml explain library-missing` says more
also in it, and not the cause: symbol-missing (line 40), damaged-image (line 1)
";
        assert_eq!(anstream::adapter::strip_str(&explanation(&found, Language::English)).to_string(), expected);
    }
}
