//! `Signature`: an error text that people meet, as data, and what it leads to.

use std::sync::OnceLock;

use regex::Captures;
use regex::Regex;
use regex::RegexSet;
use regex::RegexSetBuilder;

use crate::diag::Code;

/// An error text that people meet.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) name: String,
    pub(super) code: Code,
    pub(super) role: Role,
    pub(super) needs: Vec<String>,
    pub(super) unless: Vec<String>,
    /// Whether it is the cause on a Mac only, and elsewhere another is.
    pub(super) only_mac: bool,
    pub(super) cause: String,
    pub(super) remedy: String,
    pub(super) command: Option<String>,
    pattern: Regex,
}

/// What a text is in a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Role {
    /// It explains by itself.
    #[default]
    Cause,
    /// It follows from a cause, and explains where none stands before it.
    Consequence,
    /// It is told in passing, and explains where no error follows.
    Warning,
}

/// A signature as it is written.
#[derive(serde::Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Written {
    name: String,
    code: String,
    #[serde(default)]
    role: Role,
    pattern: String,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    unless: Vec<String>,
    #[serde(default)]
    only_mac: bool,
    cause: String,
    remedy: String,
    command: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    signature: Vec<Written>,
}

/// How many bytes the patterns may take together: with less, a hundred of them are looked for one byte at a time.
const LARGEST: usize = 256 << 20;

/// Every signature, and all of their patterns at once.
#[derive(Debug)]
pub(super) struct Signatures {
    pub(super) all: Vec<Signature>,
    together: RegexSet,
}

impl Signatures {
    /// Returns those that are built in.
    pub(super) fn built_in() -> &'static Self {
        static BUILT_IN: OnceLock<Signatures> = OnceLock::new();
        BUILT_IN.get_or_init(|| Self::parse(include_str!("signatures.toml")).expect("a test reads them"))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let mut together = RegexSetBuilder::new(file.signature.iter().map(|one| &one.pattern));
        let together = together.size_limit(LARGEST).dfa_size_limit(LARGEST).build();
        let together = together.map_err(|error| error.to_string())?;
        let all = file.signature.into_iter().map(Signature::of).collect::<Result<_, _>>()?;
        Ok(Self { all, together })
    }

    /// Returns the first signature whose pattern a line has.
    pub(super) fn of_line<'t>(&self, line: &'t str) -> Option<(&Signature, Captures<'t>)> {
        let at = self.together.matches(line).iter().next()?;
        let signature = &self.all[at];
        Some((signature, signature.pattern.captures(line)?))
    }
}

impl Signature {
    fn of(written: Written) -> Result<Self, String> {
        let code = Code::ALL.iter().copied().find(|code| code.as_str() == written.code);
        Ok(Self {
            code: code.ok_or_else(|| format!("`{}` is no code", written.code))?,
            pattern: Regex::new(&written.pattern).map_err(|error| format!("{}: {error}", written.name))?,
            name: written.name,
            role: written.role,
            needs: written.needs,
            unless: written.unless,
            only_mac: written.only_mac,
            cause: written.cause,
            remedy: written.remedy,
            command: written.command,
        })
    }

    /// Puts what was captured into a sentence.
    pub(super) fn filled(&self, sentence: &str, captures: &Captures<'_>) -> String {
        let names = self.pattern.capture_names().flatten();
        names.fold(sentence.to_owned(), |sentence, name| match captures.name(name) {
            Some(text) => sentence.replace(&format!("{{{name}}}"), text.as_str().trim()),
            None => sentence,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_built_in_ones_are_read_and_say_something() {
        let signatures = Signatures::parse(include_str!("signatures.toml")).unwrap();
        let names: BTreeSet<&str> = signatures.all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names.len(), signatures.all.len());
        for one in &signatures.all {
            assert!(!one.cause.ends_with('.') && !one.remedy.ends_with('.'), "{}", one.name);
            for sentence in [Some(&one.cause), Some(&one.remedy), one.command.as_ref()].into_iter().flatten() {
                let fills = sentence.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
                let known: Vec<&str> = one.pattern.capture_names().flatten().collect();
                assert!(fills.map(|(name, _)| name).all(|name| known.contains(&name)), "{}: {sentence}", one.name);
            }
        }
    }
}
