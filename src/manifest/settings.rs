//! `[[index]]`, `[resolution]` and `[run.env]`.

use std::collections::BTreeMap;

use url::Url;

use super::floor::not_a_word;
use super::keys::BUILT_IN_INDEXES;
use super::model::IndexSpec;
use super::model::Resolution;
use super::model::Wheels;
use super::raw::Item;
use super::raw::Raw;
use super::raw::both;
use super::raw::either;
use super::roots::bad_name;
use super::roots::duplicate;
use super::specifier;
use crate::diag::Code;
use crate::diag::Finding;
use crate::diag::Span;
use crate::knowledge::Knowledge;
use crate::pep::PackageName;
use crate::pep::Specifiers;

/// The declared indexes.
pub(super) struct Indexes {
    /// Those that can be used.
    pub(super) specs: Vec<IndexSpec>,
    /// The names of all, so that a bad address is not also reported by those who use the index.
    pub(super) names: Vec<String>,
}

/// Reads every `[[index]]`.
pub(super) fn indexes(tables: &[Raw], findings: &mut Vec<Finding>) -> Indexes {
    let mut specs = Vec::new();
    let mut seen: BTreeMap<String, Span> = BTreeMap::new();
    for raw in tables {
        let missing: Vec<_> = ["name", "url"].into_iter().filter(|key| raw.get(key).is_none()).collect();
        if !missing.is_empty() {
            let finding = Finding::error(Code::MissingKey, format!("`[[index]]` needs {}", both(&missing)));
            findings.push(finding.at(raw.span, ""));
        }
        let url = raw
            .text("url")
            .and_then(|written| address(&written, &["https", "http"]).map_err(|finding| findings.push(finding)).ok());
        let name = raw.text("name");
        if let Some(written) = &name {
            if let Some(finding) = bad_index_name(written) {
                findings.push(finding);
            }
            if let Some(first) = seen.get(&written.text) {
                let message = format!("two indexes are named `{}`", written.text);
                let finding = Finding::error(Code::DuplicateName, message);
                findings.push(finding.at(written.span, "again here").at(*first, "first named here"));
            }
            seen.entry(written.text.clone()).or_insert(written.span);
        }
        if let (Some(name), Some(url)) = (name, url) {
            let explicit = matches!(raw.get("explicit").map(|entry| &entry.value), Some(super::raw::Value::Bool(true)));
            specs.push(IndexSpec { name: name.text, url, explicit, span: raw.span });
        }
    }
    Indexes { specs, names: seen.into_keys().collect() }
}

fn bad_index_name(written: &Item) -> Option<Finding> {
    let name = written.text.as_str();
    let error = |message: String| Some(Finding::error(Code::InvalidValue, message).at(written.span, ""));
    if BUILT_IN_INDEXES.contains(&name) {
        return error(format!("`{name}` is the name of a built-in index"))
            .map(|finding| finding.hinting("choose another name; mirrors of it belong in macml's own configuration"));
    }
    if !simple_name(name) {
        return error(format!("`{}` cannot name an index", name.escape_debug()))
            .map(|finding| finding.hinting("use lowercase letters, digits, `-`, `_` and `.`, such as `corp`"));
    }
    None
}

/// Returns whether a name is lowercase letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
pub(super) fn simple_name(name: &str) -> bool {
    let edge = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(byte);
    let bytes = name.as_bytes();
    edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(inner)
}

/// Reads an address without secrets. The text is never repeated in a message: it may hold one.
pub(super) fn address(written: &Item, schemes: &[&str]) -> Result<Url, Finding> {
    let error = |message: String| Finding::error(Code::InvalidValue, message).at(written.span, "");
    let url = Url::parse(&written.text).map_err(|cause| match cause {
        url::ParseError::RelativeUrlWithoutBase => {
            error("an address begins with its scheme".into()).hinting("put `https://` before it")
        }
        _ => error(format!("not an address: {cause}")),
    })?;
    if !schemes.contains(&url.scheme()) {
        return Err(error(format!("an address here begins with {}, not `{}`", either(schemes), url.scheme())));
    }
    // The standard of browsers also takes `https:host`, blanks and backslashes; tools disagree on those.
    let after_scheme = written.text.get(url.scheme().len()..).unwrap_or_default();
    if !after_scheme.starts_with("://") || written.text.contains(|char: char| char.is_whitespace() || char == '\\') {
        let message = format!("an address is `{}://`, a host and a path, without blanks", url.scheme());
        return Err(error(message));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let finding = error("an address in `macml.toml` must not hold credentials".into());
        return Err(finding.hinting("keep them in `~/.netrc` or in the environment"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        let finding = error("an address in `macml.toml` has no `?…` or `#…`".into());
        return Err(finding.hinting("a digest belongs in `sha256`, a token in `~/.netrc` or in the environment"));
    }
    Ok(url)
}

/// Reads `[resolution]`.
pub(super) fn resolution(raw: Option<&Raw>, findings: &mut Vec<Finding>) -> Resolution {
    let mut resolution = Resolution::default();
    let Some(raw) = raw else { return resolution };
    if let Some(written) = raw.text("exclude-newer") {
        findings.extend(bad_day(&written));
        resolution.exclude_newer = Some(written.text);
    }
    resolution.prereleases = names(raw.texts("prereleases"), findings);
    resolution.constraints = specifiers(raw.table("constraints"), findings);
    resolution.overrides = specifiers(raw.table("overrides"), findings);
    let ignored = raw.texts("ignore-rules");
    resolution.ignore_rules = texts(ignored, findings);
    findings.extend(unknown_rules(ignored));
    resolution.allow_overlap = texts(raw.texts("allow-overlap"), findings);
    if let Some(written) = raw.text("wheels") {
        match written.text.as_str() {
            "host" => resolution.wheels = Wheels::Host,
            "floor" => resolution.wheels = Wheels::Floor,
            _ => findings.push(not_a_word("wheels", &written, &["host", "floor"])),
        }
    }
    resolution
}

fn bad_day(written: &Item) -> Option<Finding> {
    let text = written.text.as_str();
    if is_day(text) {
        return None;
    }
    let message = format!("`{}` is not a day such as `2026-11-15`", text.escape_debug());
    let finding = Finding::error(Code::InvalidValue, message).at(written.span, "");
    Some(match text.get(..10) {
        Some(day) if text.len() > 10 && is_day(day) => {
            finding.hinting(format!("write `{day}`: everything uploaded on that UTC day still counts"))
        }
        _ => finding,
    })
}

/// Returns whether a text is a day of the calendar, `YYYY-MM-DD`.
fn is_day(text: &str) -> bool {
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    if (year.len(), month.len(), day.len()) != (4, 2, 2) || ![year, month, day].into_iter().all(|part| digits(part)) {
        return false;
    }
    let number = |part: &str| part.parse::<u32>().unwrap_or(0);
    let (year, month, day) = (number(year), number(month), number(day));
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn names(items: &[Item], findings: &mut Vec<Finding>) -> Vec<PackageName> {
    let mut seen: BTreeMap<PackageName, Span> = BTreeMap::new();
    for item in items {
        match item.text.parse::<PackageName>() {
            Ok(name) => match seen.get(&name) {
                Some(first) => findings.push(duplicate(&name, item.span, *first)),
                None => {
                    seen.insert(name, item.span);
                }
            },
            Err(error) => findings.push(bad_name(&error, &item.text, item.span)),
        }
    }
    seen.into_keys().collect()
}

fn specifiers(raw: Option<&Raw>, findings: &mut Vec<Finding>) -> BTreeMap<PackageName, Specifiers> {
    let mut seen: BTreeMap<PackageName, Span> = BTreeMap::new();
    let mut result = BTreeMap::new();
    for entry in raw.iter().flat_map(|raw| &raw.entries) {
        let specifiers = entry.text().map(|written| specifier::parse(&entry.key, &written));
        let specifiers = match specifiers {
            Some(Err(finding)) => {
                findings.push(finding);
                None
            }
            Some(Ok(specifiers)) => Some(specifiers),
            None => None,
        };
        match entry.key.parse::<PackageName>() {
            Ok(name) => {
                if let Some(first) = seen.get(&name) {
                    findings.push(duplicate(&name, entry.key_span, *first));
                }
                seen.entry(name.clone()).or_insert(entry.key_span);
                result.extend(specifiers.map(|specifiers| (name, specifiers)));
            }
            Err(error) => findings.push(bad_name(&error, &entry.key, entry.key_span)),
        }
    }
    result
}

/// Reads a set of texts: sorted, without repeats.
fn texts(items: &[Item], findings: &mut Vec<Finding>) -> Vec<String> {
    let blank = items.iter().filter(|item| item.text.trim().is_empty());
    findings.extend(blank.map(|item| Finding::error(Code::InvalidValue, "an empty text").at(item.span, "")));
    let mut texts: Vec<String> = items.iter().map(|item| item.text.clone()).collect();
    texts.sort();
    texts.dedup();
    texts
}

/// Warns of rules to switch off that there are not. A later macml may have dropped one, so it is no mistake.
fn unknown_rules(items: &[Item]) -> Vec<Finding> {
    let written = items.iter().filter(|item| !item.text.trim().is_empty());
    let warning = |item: &Item| {
        let knowledge = Knowledge::built_in();
        if knowledge.has(&item.text) {
            return None;
        }
        let message = format!("macml has no rule `{}` to ignore", item.text.escape_debug());
        let finding = Finding::warning(Code::UnknownRule, message).at(item.span, "");
        Some(match knowledge.nearest_id(&item.text) {
            Some(near) => finding.hinting(format!("did you mean `{near}`?")),
            None => finding.hinting("leave it out: `macml rules` lists those that there are"),
        })
    };
    written.filter_map(warning).collect()
}

/// Reads `[run.env]`.
pub(super) fn run_env(raw: Option<&Raw>, findings: &mut Vec<Finding>) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    for entry in raw.iter().flat_map(|raw| &raw.entries) {
        let at = |message: String| Finding::error(Code::InvalidValue, message).at(entry.key_span, "");
        if let Some(reason) = refusal(&entry.key) {
            findings.push(at(format!("`[run.env]` cannot set `{}`: {reason}", entry.key)));
        } else if !variable_name(&entry.key) {
            let finding = at(format!("`{}` cannot name a variable", entry.key.escape_debug()));
            findings.push(finding.hinting("use letters, digits and `_`, such as `PYTORCH_ENABLE_MPS_FALLBACK`"));
        }
        let Some(value) = entry.text() else { continue };
        if value.text.contains('\0') {
            let finding = Finding::error(Code::InvalidValue, "a variable cannot hold a zero byte");
            findings.push(finding.at(value.span, ""));
        }
        variables.insert(entry.key.clone(), value.text);
    }
    variables
}

/// Says why a variable is not the manifest's to set.
fn refusal(name: &str) -> Option<&'static str> {
    match name {
        "PATH" => Some("`macml run` makes it begin with the environment's own programs"),
        "BASH_ENV" | "ENV" | "ZDOTDIR" | "PROMPT_COMMAND" => Some("it makes shells run code that nobody asked for"),
        _ if name.starts_with("DYLD_") || name.starts_with("LD_") => {
            Some("it loads other libraries than those that were locked and checked")
        }
        _ if name.starts_with("PYTHON") => Some("it changes what the locked Python imports and runs"),
        _ => None,
    }
}

fn variable_name(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().next().is_some_and(|first| !first.is_ascii_digit()) && name.bytes().all(inner)
}
