//! Version specifiers as people write them: strict PEP 440, with the likely meaning of what is not.

use super::raw::Item;
use crate::diag::Code;
use crate::diag::Finding;
use crate::pep::PackageName;
use crate::pep::Specifiers;
use crate::pep::Version;

/// Parses the specifiers written for `name`; says what is wrong otherwise.
pub(super) fn parse(name: &str, written: &Item) -> Result<Specifiers, Finding> {
    let text = written.text.trim();
    if text == "*" {
        return Ok(Specifiers::any());
    }
    if let Some(mistake) = known_mistake(name, text) {
        return Err(mistake.at(written.span, ""));
    }
    let specifiers: Specifiers = text.parse().map_err(|error| {
        let finding = Finding::error(Code::InvalidSpecifier, format!("{error}")).at(written.span, "");
        match repaired(text) {
            Some(better) => finding.hinting(format!("write `{better}`")),
            None => finding,
        }
    })?;
    if specifiers.range().is_empty() {
        let message = format!("no version of `{name}` can satisfy `{text}`");
        return Err(Finding::error(Code::InvalidValue, message).at(written.span, "admits nothing"));
    }
    Ok(specifiers)
}

/// Recognizes what is plainly something else than specifiers.
fn known_mistake(name: &str, text: &str) -> Option<Finding> {
    let invalid = |message: String, hint: String| Some(Finding::error(Code::InvalidSpecifier, message).hinting(hint));
    if text.is_empty() {
        return invalid(format!("the version of `{name}` is empty"), "write `*` for any version".into());
    }
    if text.eq_ignore_ascii_case("latest") || text.eq_ignore_ascii_case("any") {
        return invalid(format!("`{text}` is not a version specifier"), "write `*` for any version".into());
    }
    if text.starts_with("git+") || text.starts_with("git:") {
        return Some(Finding::error(Code::Unsupported, "git requirements are not supported yet"));
    }
    if text.contains("://") || text.ends_with(".whl") {
        let key = if text.contains("://") { "{ url = \"…\", sha256 = \"…\" }" } else { "{ path = \"…\" }" };
        return invalid(
            format!("`{name}` takes version specifiers here, not the place of a file"),
            format!("write `{name} = {key}`"),
        );
    }
    let narrow = ascii_width(text);
    if narrow != text {
        let message = format!("`{text}` holds full-width characters");
        let finding = Finding::error(Code::InvalidSpecifier, message);
        return Some(match (narrow.parse::<Specifiers>(), bare(&narrow)) {
            (Ok(_), _) => finding.hinting(format!("write `{narrow}`")),
            (_, Some([exact, least])) => finding.hinting(format!("write `{exact}` or `{least}`")),
            _ => finding.hinting("write digits and signs in their ASCII form"),
        });
    }
    if let Some((versions, marker)) = text.split_once(';') {
        return invalid(
            format!("a marker does not belong in the version of `{name}`"),
            format!("write `{name} = {{ version = \"{}\", marker = \"{}\" }}`", versions.trim(), quoted(marker.trim())),
        );
    }
    if let Some(suggestions) = bare(text) {
        let message = format!("`{text}` has no operator: it could mean exactly or at least that version");
        let [exact, least] = suggestions;
        let hint = format!("write `{name} = \"{exact}\"` or `{name} = \"{least}\"`");
        return Some(Finding::error(Code::BareVersion, message).hinting(hint));
    }
    if let Some(range) = text.strip_prefix('^').and_then(caret) {
        return invalid(format!("`{text}` is not a PEP 440 version specifier"), format!("write `{range}`"));
    }
    if let Some(version) = text.strip_prefix('~').filter(|rest| rest.parse::<Version>().is_ok()) {
        return invalid(format!("`{text}` is not a PEP 440 version specifier"), format!("write `~={version}`"));
    }
    let name_end = text.find(['=', '<', '>', '!', '~', '[', ' ']).unwrap_or(text.len());
    let same = |named: PackageName| name.parse::<PackageName>().is_ok_and(|name| name == named);
    if text[..name_end].parse::<PackageName>().is_ok_and(same) {
        let rest = text[name_end..].trim();
        let hint = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((extras, versions)) => {
                let extras: Vec<_> = extras.split(',').map(|extra| format!("\"{}\"", extra.trim())).collect();
                let versions = if versions.trim().is_empty() { "*" } else { versions.trim() };
                format!("write `{name} = {{ version = \"{versions}\", extras = [{}] }}`", extras.join(", "))
            }
            None if rest.is_empty() => "write `*` for any version".into(),
            None => format!("write `{name} = \"{rest}\"`"),
        };
        return invalid(format!("the version of `{name}` repeats the package's name"), hint);
    }
    None
}

/// Returns the two things that a version without an operator may mean.
fn bare(text: &str) -> Option<[String; 2]> {
    if let Some(stem) = text.strip_suffix(".*").filter(|stem| stem.parse::<Version>().is_ok()) {
        return Some([format!("=={text}"), format!(">={stem}")]);
    }
    let version: Version = text.parse().ok()?;
    let plain = !version.any_prerelease() && !version.is_post() && version.local().is_empty();
    let family = plain && version.release().len() < 3;
    Some([if family { format!("=={text}.*") } else { format!("=={text}") }, format!(">={text}")])
}

/// Translates the caret of poetry and cargo.
fn caret(text: &str) -> Option<String> {
    let version: Version = text.parse().ok()?;
    let release = version.release();
    let at = release.iter().position(|part| *part != 0).unwrap_or(release.len() - 1);
    let mut upper: Vec<String> = release[..at].iter().map(u64::to_string).collect();
    upper.push((release[at] + 1).to_string());
    Some(format!(">={text},<{}", upper.join(".")))
}

/// Repairs slips of the pen; `None` unless the result is valid.
fn repaired(text: &str) -> Option<String> {
    let mut pieces: Vec<String> = Vec::new();
    for piece in text.replace(',', " ").split_whitespace() {
        match pieces.last_mut() {
            Some(last) if last.ends_with(['=', '<', '>', '!', '~']) => last.push_str(piece),
            _ => pieces.push(piece.to_owned()),
        }
    }
    for piece in &mut pieces {
        let end = piece.find(|char: char| !"=<>!~".contains(char)).unwrap_or(piece.len());
        let (operator, version) = piece.split_at(end);
        let operator = match operator {
            "=" => "==",
            "=>" => ">=",
            "=<" => "<=",
            "<>" | "=!" => "!=",
            "~" | "=~" => "~=",
            other => other,
        };
        let wild = if matches!(operator, "==" | "!=") { version } else { version.trim_end_matches(".*") };
        *piece = format!("{operator}{wild}");
    }
    let better = pieces.join(",");
    better.parse::<Specifiers>().is_ok_and(|set| !set.range().is_empty()).then_some(better)
}

/// Turns the full-width digits and signs of Chinese and Japanese keyboards into ASCII.
fn ascii_width(text: &str) -> String {
    let narrow = |char: char| match char {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(char) - 0xfee0).unwrap_or(char),
        '\u{3000}' => ' ',
        other => other,
    };
    text.chars().map(narrow).collect()
}

/// Makes a text fit between double quotes of TOML.
fn quoted(text: &str) -> String {
    text.replace('"', "'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Span;

    fn check(text: &str, expected: &str) {
        let written = Item { text: text.to_owned(), span: Span { start: 0, end: text.len() } };
        let got = match parse("torch", &written) {
            Ok(specifiers) => format!("ok {specifiers}"),
            Err(finding) => format!("{}: {}", finding.code, finding.hint.unwrap_or_default()),
        };
        assert_eq!(got, expected, "for `{text}`");
    }

    #[test]
    fn valid_specifiers_pass() {
        check("*", "ok *");
        check(" >=2.1,<3 ", "ok >=2.1, <3");
        check("==2.13.*", "ok ==2.13.*");
    }

    #[test]
    fn bare_versions_get_two_suggestions() {
        check("2.13", "bare-version: write `torch = \"==2.13.*\"` or `torch = \">=2.13\"`");
        check("2.13.1", "bare-version: write `torch = \"==2.13.1\"` or `torch = \">=2.13.1\"`");
        check("2.13.*", "bare-version: write `torch = \"==2.13.*\"` or `torch = \">=2.13\"`");
        check("2.13rc1", "bare-version: write `torch = \"==2.13rc1\"` or `torch = \">=2.13rc1\"`");
    }

    #[test]
    fn foreign_spellings_are_translated() {
        check("^2.13", "invalid-specifier: write `>=2.13,<3`");
        check("^0.3.1", "invalid-specifier: write `>=0.3.1,<0.4`");
        check("~2.13", "invalid-specifier: write `~=2.13`");
        check("=2.13", "invalid-specifier: write `==2.13`");
        check("=>2.13", "invalid-specifier: write `>=2.13`");
        check(">=2.13 <3", "invalid-specifier: write `>=2.13,<3`");
        check(">=2.*", "invalid-specifier: write `>=2`");
        check("torch>=2", "invalid-specifier: write `torch = \">=2\"`");
        check("torch[opt]>=2", "invalid-specifier: write `torch = { version = \">=2\", extras = [\"opt\"] }`");
        check("＞＝2.13，<3", "invalid-specifier: write `>=2.13,<3`");
        check("２.13", "invalid-specifier: write `==2.13.*` or `>=2.13`");
        check("latest", "invalid-specifier: write `*` for any version");
        check("", "invalid-specifier: write `*` for any version");
        check("git+https://example.com/x", "unsupported: ");
        check(
            ">=2; python_version < \"3.12\"",
            "invalid-specifier: write `torch = { version = \">=2\", marker = \"python_version < '3.12'\" }`",
        );
    }

    #[test]
    fn impossible_ranges_are_refused() {
        check(">2,<1", "invalid-value: ");
        check("nonsense here", "invalid-specifier: ");
    }
}
