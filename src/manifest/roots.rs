//! `[frameworks]` and `[dependencies]`: raw entries to [`Root`]s.

use std::collections::BTreeMap;

use super::keys::BUILT_IN_INDEXES;
use super::keys::FRAMEWORKS;
use super::meant::meant;
use super::model::Root;
use super::model::RootSource;
use super::model::RootTable;
use super::raw::Entry;
use super::raw::Item;
use super::raw::Raw;
use super::raw::Value;
use super::raw::both;
use super::raw::nearest;
use super::specifier;
use crate::diag::Code;
use crate::diag::Finding;
use crate::diag::Span;
use crate::pep::ExtraName;
use crate::pep::Marker;
use crate::pep::PackageName;
use crate::pep::WheelName;
use crate::target::Platform;

const SOURCE_PACKAGE: &str = "source packages are not supported yet";

/// Reads the two tables of one environment.
pub(super) struct Roots<'a> {
    /// The names that `index = "…"` may use besides the built-in ones.
    indexes: &'a [String],
    /// The environment's platforms; `None` when they could not be read.
    platforms: Option<&'a [Platform]>,
    /// Where mistakes go.
    findings: &'a mut Vec<Finding>,
    seen: BTreeMap<PackageName, Span>,
}

impl<'a> Roots<'a> {
    /// Starts on an environment.
    pub(super) fn new(
        indexes: &'a [String],
        platforms: Option<&'a [Platform]>,
        findings: &'a mut Vec<Finding>,
    ) -> Self {
        Self { indexes, platforms, findings, seen: BTreeMap::new() }
    }

    /// Reads both tables: frameworks first, each in the order of their names.
    pub(super) fn read(mut self, frameworks: Option<&Raw>, dependencies: Option<&Raw>) -> Vec<Root> {
        let mut roots = Vec::new();
        for (table, raw) in [(RootTable::Frameworks, frameworks), (RootTable::Dependencies, dependencies)] {
            let from = roots.len();
            for entry in raw.iter().flat_map(|raw| &raw.entries) {
                roots.extend(self.entry(table, entry));
            }
            // Stable: alternatives of one package stay in the order of the file.
            roots[from..].sort_by(|a, b| a.name.cmp(&b.name));
        }
        roots
    }

    fn entry(&mut self, table: RootTable, entry: &Entry) -> Vec<Root> {
        let name: PackageName = match entry.key.parse() {
            Ok(name) => name,
            Err(error) => {
                self.findings.push(bad_key(&error, &entry.key, entry.key_span));
                return Vec::new();
            }
        };
        if table == RootTable::Frameworks && !FRAMEWORKS.contains(&name.as_str()) {
            let finding = Finding::error(Code::InvalidValue, format!("`{}` is not a framework", entry.key));
            let finding = finding.at(entry.key_span, "").noting(format!("frameworks are {}", both(FRAMEWORKS)));
            let finding = match meant(name.as_str()).filter(|meant| FRAMEWORKS.contains(meant)) {
                Some(meant) => finding.hinting(format!("write `{meant}`")),
                None => match nearest(name.as_str(), FRAMEWORKS.iter().copied()) {
                    Some(near) => finding.hinting(format!("write `{near}`, or move it to `[dependencies]`")),
                    None => finding.hinting("move it to `[dependencies]`"),
                },
            };
            self.findings.push(finding);
        }
        if let Some(first) = self.seen.insert(name.clone(), entry.key_span) {
            self.seen.insert(name.clone(), first);
            self.findings.push(duplicate(&name, entry.key_span, first));
        }
        let whole = Span { start: entry.key_span.start, end: entry.span.end.max(entry.key_span.end) };
        let root = |source| Root {
            name: name.clone(),
            extras: Vec::new(),
            source,
            marker: None,
            index: None,
            platform: None,
            table,
            span: whole,
        };
        match &entry.value {
            Value::Text(text) => {
                let written = Item { text: text.clone(), span: entry.span };
                let specifiers = self.report(specifier::parse(&entry.key, &written));
                specifiers.map(|set| root(RootSource::Versions(set))).into_iter().collect()
            }
            Value::Table(raw) => self.long(raw, &entry.key, root).into_iter().collect(),
            Value::Tables(tables) => self.alternatives(entry, tables, root),
            Value::Bool(_) | Value::Texts(_) | Value::Broken => Vec::new(),
        }
    }

    fn alternatives(&mut self, entry: &Entry, tables: &[Raw], root: impl Fn(RootSource) -> Root) -> Vec<Root> {
        if tables.is_empty() {
            let message = format!("the list of `{}` is empty", entry.key);
            self.findings.push(Finding::error(Code::InvalidValue, message).at(entry.span, ""));
        }
        let mut roots: Vec<Root> = Vec::new();
        for raw in tables {
            let Some(one) = self.long(raw, &entry.key, &root) else { continue };
            let one = Root { span: raw.span, ..one };
            if let Some(twin) = roots.iter().find(|other| other.platform == one.platform && other.marker == one.marker)
            {
                let message = format!("two alternatives of `{}` apply to the same machines", entry.key);
                let finding = Finding::error(Code::ConflictingKeys, message).at(one.span, "applies where");
                let finding = finding.at(twin.span, "this one does");
                self.findings.push(finding.hinting("give each another `platform` or `marker`"));
            }
            roots.push(one);
        }
        roots
    }

    fn long(&mut self, raw: &Raw, key: &str, root: impl Fn(RootSource) -> Root) -> Option<Root> {
        let extras = self.extras(raw);
        let marker = raw.text("marker").and_then(|written| {
            if written.text.trim().is_empty() {
                let finding = Finding::error(Code::InvalidValue, "the marker is empty").at(written.span, "");
                self.findings.push(finding.hinting("leave `marker` out where it always applies"));
                return None;
            }
            let parsed = written.text.parse::<Marker>();
            self.report(
                parsed.map_err(|error| Finding::error(Code::InvalidValue, error.to_string()).at(written.span, "")),
            )
        });
        let index = raw.text("index").and_then(|written| self.index(&written));
        let platform = raw.text("platform").and_then(|written| self.platform(key, &written));
        let source = self.source(raw, key, &root);
        let root = root(source?);
        Some(Root { extras, marker, index, platform, ..root })
    }

    fn extras(&mut self, raw: &Raw) -> Vec<ExtraName> {
        let mut extras: Vec<ExtraName> = Vec::new();
        for written in raw.texts("extras") {
            match written.text.parse() {
                Ok(extra) => extras.push(extra),
                Err(error) => self.findings.push(bad_name(&error, &written.text, written.span)),
            }
        }
        extras.sort();
        extras.dedup();
        extras
    }

    fn index(&mut self, written: &Item) -> Option<String> {
        let names = || BUILT_IN_INDEXES.iter().copied().chain(self.indexes.iter().map(String::as_str));
        if names().any(|name| name == written.text) {
            return Some(written.text.clone());
        }
        let finding = Finding::error(Code::InvalidValue, format!("no index is named `{}`", written.text));
        let finding = finding.at(written.span, "");
        let finding = finding.noting(format!("there are {}", both(&names().collect::<Vec<_>>())));
        let hinted = match nearest(&written.text, names()) {
            Some(near) => finding.hinting(format!("write `{near}`")),
            None => finding.hinting("declare it: `[[index]]` with `name` and `url`"),
        };
        self.findings.push(hinted);
        None
    }

    fn platform(&mut self, key: &str, written: &Item) -> Option<Platform> {
        let platform = self.report(super::floor::platform(written))?;
        if self.platforms.is_some_and(|platforms| !platforms.contains(&platform)) {
            let message = format!("this requirement of `{key}` never applies");
            let finding = Finding::warning(Code::MarkerNeverMatches, message);
            self.findings.push(finding.at(written.span, "not among the environment's `platforms`"));
        }
        Some(platform)
    }

    fn source(&mut self, raw: &Raw, key: &str, root: &impl Fn(RootSource) -> Root) -> Option<RootSource> {
        if raw.get("editable").or_else(|| raw.get("git")).is_some() {
            return None;
        }
        let present: Vec<_> = ["version", "path", "url"].into_iter().filter_map(|name| raw.get(name)).collect();
        if let [first, second, ..] = present.as_slice() {
            let message = format!("`{}` and `{}` exclude each other", first.key, second.key);
            let finding = Finding::error(Code::ConflictingKeys, message);
            self.findings.push(finding.at(second.key_span, "").at(first.key_span, "already says which artifacts"));
            return None;
        }
        if let (Some(index), Some(place)) = (raw.get("index"), raw.get("path").or_else(|| raw.get("url"))) {
            let message = format!("`index` and `{}` exclude each other", place.key);
            let finding = Finding::error(Code::ConflictingKeys, message);
            self.findings.push(finding.at(index.key_span, "").at(place.key_span, "no index is asked for this"));
        }
        if let (Some(digest), None) = (raw.get("sha256"), raw.get("url")) {
            let finding = Finding::error(Code::ConflictingKeys, "`sha256` belongs to `url`");
            self.findings.push(finding.at(digest.key_span, "nothing here is downloaded from an address"));
        }
        match present.first().map(|entry| (entry.key.as_str(), entry.text())) {
            // A key that was refused or has another type was reported already.
            Some((_, None)) => None,
            Some(("version", Some(written))) => self.report(specifier::parse(key, &written)).map(RootSource::Versions),
            Some(("path", Some(written))) => self.path(&written, &root(RootSource::Path(written.text.clone())).name),
            Some((_, Some(written))) => self.url(raw, &written, &root(RootSource::Path(String::new())).name),
            None if raw.entries.iter().any(|entry| matches!(entry.value, Value::Broken)) => None,
            None => {
                let message = format!("`{key}` does not say which version");
                let finding = Finding::error(Code::MissingKey, message).at(raw.span, "no `version`, `path` or `url`");
                self.findings.push(finding.hinting("add `version = \"*\"` for any"));
                None
            }
        }
    }

    fn path(&mut self, written: &Item, name: &PackageName) -> Option<RootSource> {
        let path = written.text.as_str();
        self.wheel(path.rsplit('/').next().unwrap_or_default(), written, name)?;
        if path.starts_with('/') || super::project::escapes(path) {
            let finding = Finding::warning(Code::PathOutsideProject, format!("`{path}` is outside the project"));
            let finding = finding.at(written.span, "the lock works only where this file is");
            self.findings.push(finding.hinting("keep the wheel inside the project"));
        }
        Some(RootSource::Path(path.to_owned()))
    }

    fn url(&mut self, raw: &Raw, written: &Item, name: &PackageName) -> Option<RootSource> {
        let digest = match raw.get("sha256") {
            Some(entry) => entry.text().and_then(|digest| {
                let parsed = digest.text.parse();
                self.report(parsed.map_err(|error: crate::pep::hash::HashError| {
                    let finding = Finding::error(Code::InvalidValue, error.to_string()).at(digest.span, "");
                    match digest.text.strip_prefix("sha256:") {
                        Some(_) => finding.hinting("leave out `sha256:`"),
                        None => finding,
                    }
                }))
            }),
            None => {
                let finding = Finding::error(Code::MissingKey, "`url` needs `sha256`").at(written.span, "");
                self.findings.push(finding.hinting("add `sha256 = \"…\"`, what `shasum -a 256` prints for the file"));
                None
            }
        };
        if written.text.starts_with("git+") {
            let finding = Finding::error(Code::Unsupported, "git requirements are not supported yet");
            self.findings.push(finding.at(written.span, ""));
            return None;
        }
        let url = match super::settings::address(written, &["https", "http", "file"]) {
            Ok(url) => url,
            Err(finding) => {
                self.findings.push(finding);
                return None;
            }
        };
        let file = url.path_segments().and_then(|mut parts| parts.next_back()).unwrap_or_default();
        self.wheel(&percent_decoded(file), written, name)?;
        Some(RootSource::Url { url, sha256: digest? })
    }

    /// Checks that a file is a wheel of the package.
    fn wheel(&mut self, file: &str, written: &Item, name: &PackageName) -> Option<()> {
        let at = |code, message: String| Finding::error(code, message).at(written.span, "");
        if !file.ends_with(".whl") {
            let finding = at(Code::Unsupported, SOURCE_PACKAGE.to_owned());
            self.findings.push(finding.hinting("build a wheel of it and name that"));
            return None;
        }
        let wheel: WheelName = match file.parse() {
            Ok(wheel) => wheel,
            Err(error) => {
                self.findings.push(at(Code::InvalidValue, format!("{error}")));
                return None;
            }
        };
        if wheel.name != *name {
            self.findings
                .push(at(Code::InvalidValue, format!("`{file}` is a wheel of `{}`, not of `{name}`", wheel.name)));
            return None;
        }
        Some(())
    }

    fn report<T>(&mut self, result: Result<T, Finding>) -> Option<T> {
        result.map_err(|finding| self.findings.push(finding)).ok()
    }
}

/// Reports a package named twice, with both places.
pub(super) fn duplicate(name: &PackageName, again: Span, first: Span) -> Finding {
    let finding = Finding::error(Code::DuplicateName, format!("`{name}` is named twice"));
    finding.at(again, "again here").at(first, "first named here")
}

/// Reports a text that is no package or extra name.
pub(super) fn bad_name(error: &crate::pep::name::NameError, written: &str, span: Span) -> Finding {
    let finding = Finding::error(Code::InvalidValue, error.to_string()).at(span, "");
    match requirement_parts(written) {
        Some((name, _)) => finding.hinting(format!("write `{name}`")),
        None => finding,
    }
}

/// Reports a key of a table of requirements that is no package name.
fn bad_key(error: &crate::pep::name::NameError, written: &str, span: Span) -> Finding {
    let finding = Finding::error(Code::InvalidValue, error.to_string()).at(span, "");
    match requirement_parts(written) {
        Some((name, rest)) if rest.starts_with('[') => {
            finding.hinting(format!("write `{name} = {{ version = \"*\", extras = […] }}`"))
        }
        Some((name, rest)) => finding.hinting(format!("write `{name} = \"{rest}\"`")),
        None => finding,
    }
}

/// Takes a requirement of pip apart: its name and what follows.
fn requirement_parts(written: &str) -> Option<(&str, &str)> {
    let (name, rest) = written.split_at(written.find(['[', '=', '<', '>', '!', '~', ';'])?);
    name.trim().parse::<PackageName>().ok()?;
    Some((name.trim(), rest.trim()))
}

pub(super) fn percent_decoded(text: &str) -> String {
    let hex = |byte: u8| (byte as char).to_digit(16);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if let [high, low, after @ ..] = tail
            && let (b'%', Some(high), Some(low)) = (first, hex(*high), hex(*low))
        {
            bytes.push((high * 16 + low) as u8);
            rest = after;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
