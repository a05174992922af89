//! What findings mean, by who asks: which are denied or allowed, and whether warnings are a no. Pure.

use std::collections::BTreeSet;

use crate::diag::Code;
use crate::diag::Finding;
use crate::diag::Severity;
use crate::target::Platform;

use super::part::Class;
use super::part::Part;
use super::part::Word;

/// What whoever writes a lock is only warned of, and what makes it useless to others: an error unless it is allowed.
const DENIED: [Code; 1] = [Code::PathOutsideProject];

/// What findings mean.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Policy {
    /// Findings of these codes are errors.
    pub deny: BTreeSet<Code>,
    /// Findings of these codes are notes.
    pub allow: BTreeSet<Code>,
    /// Whether a warning, and what was not looked at, make the answer a no.
    pub strict: bool,
}

/// What all parts come to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verdict {
    /// Nothing speaks against it.
    Ok,
    /// A part is a no, or could not be told: its word; of several that of the first no.
    Part(Word),
    /// A finding about macml.toml is an error: what is outside of the project, or what was denied.
    Denied,
    /// There are warnings, or something was not looked at, and neither was to be.
    Strict,
}

/// How many findings there are, by severity, and what was not looked at.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Judged {
    /// Errors.
    pub errors: usize,
    /// Warnings.
    pub warnings: usize,
    /// Notes.
    pub notes: usize,
    /// Parts that could have been looked at, and were not.
    pub skipped: usize,
}

impl Policy {
    /// Makes denied findings errors and allowed ones notes; `findings` are those that belong to no part. The word of a part
    /// follows: its no where an error came, what it would be otherwise where the last one went. A part that could not be
    /// told stays so, and one of which something was not read is no yes: allowing a finding tells nothing.
    pub fn apply(&self, parts: &mut [Part], findings: &mut [Finding]) {
        findings.iter_mut().for_each(|finding| finding.severity = self.severity(finding));
        for part in parts {
            let errors = count(part, Severity::Error);
            part.told.iter_mut().for_each(|told| told.finding.severity = self.severity(&told.finding));
            part.told.sort_by_key(|told| told.finding.severity);
            let left = count(part, Severity::Error);
            match part.word.class() {
                Class::No if errors > 0 && left == 0 => part.word = part.otherwise,
                Class::No => {}
                Class::Yes | Class::Unsure | Class::NotLooked if left > errors => part.word = no(part),
                Class::Yes | Class::Unsure | Class::NotLooked => {}
            }
        }
    }

    fn severity(&self, finding: &Finding) -> Severity {
        if self.deny.contains(&finding.code) {
            Severity::Error
        } else if self.allow.contains(&finding.code) {
            Severity::Note
        } else if DENIED.contains(&finding.code) {
            Severity::Error
        } else {
            finding.severity
        }
    }

    /// Says what all of it comes to; `here` is the platform whose environments can be on this machine.
    pub fn verdict(&self, parts: &[Part], findings: &[Finding], here: Option<Platform>) -> Verdict {
        let judged = Judged::of(parts, findings, here);
        let first = |class: Class| parts.iter().map(|part| part.word).find(|word| word.class() == class);
        let denied = findings.iter().any(|finding| finding.severity == Severity::Error);
        let strict = self.strict && (judged.warnings > 0 || judged.skipped > 0);
        match (first(Class::No), first(Class::Unsure)) {
            (Some(word), _) => Verdict::Part(word),
            (None, _) if denied => Verdict::Denied,
            (None, _) if strict => Verdict::Strict,
            (None, Some(word)) => Verdict::Part(word),
            (None, None) => Verdict::Ok,
        }
    }
}

impl Judged {
    /// Counts what is there after a policy was applied.
    pub fn of(parts: &[Part], findings: &[Finding], here: Option<Platform>) -> Self {
        let of_parts = parts.iter().flat_map(|part| &part.told).map(|told| &told.finding);
        let all: Vec<Severity> = of_parts.chain(findings).map(|finding| finding.severity).collect();
        let number = |severity| all.iter().filter(|one| **one == severity).count();
        Self {
            errors: number(Severity::Error),
            warnings: number(Severity::Warning),
            notes: number(Severity::Note),
            skipped: parts.iter().filter(|part| is_skipped(part, here)).count(),
        }
    }
}

impl Verdict {
    /// Returns it as printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Part(word) => word.as_str(),
            Self::Denied => "denied",
            Self::Strict => "strict",
        }
    }

    /// Returns the exit code: 0 yes, 1 no, 2 that could not be told.
    pub fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Part(word) => match word.class() {
                Class::Yes | Class::NotLooked => 0,
                Class::Unsure => 2,
                Class::No => 1,
            },
            Self::Denied | Self::Strict => 1,
        }
    }
}

fn count(part: &Part, severity: Severity) -> usize {
    part.told.iter().filter(|told| told.finding.severity == severity).count()
}

/// Returns whether a part was not looked at although it could have been: where there is no environment, only one of this
/// machine's own platform.
fn is_skipped(part: &Part, here: Option<Platform>) -> bool {
    match part.word {
        Word::Unread => true,
        Word::Absent => here.is_some() && part.of.as_ref().map(|of| of.platform) == here,
        _ => false,
    }
}

fn no(part: &Part) -> Word {
    match part.word {
        // It answers what was declared all the same.
        Word::Readable | Word::Current => Word::Unfit,
        _ => part.level.no(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::target::PythonMinor;

    use super::super::part::Level;
    use super::super::part::Of;
    use super::super::part::Sum;
    use super::*;

    const CODE: Code = Code::LibraryMissing;
    const OTHER: Code = Code::SeveralOpenmp;

    fn part(level: Level, word: Word, findings: &[(Code, Severity)]) -> Part {
        let told = findings.iter().map(|(code, severity)| {
            let finding = match severity {
                Severity::Error => Finding::error(*code, "made"),
                Severity::Warning => Finding::warning(*code, "made"),
                Severity::Note => Finding::note(*code, "made"),
            };
            finding.into()
        });
        let otherwise = yes(level, word);
        let (sum, told, took) = (Sum::Nothing, told.collect(), Duration::ZERO);
        Part { level, of: None, word, otherwise, sum, told, took }
    }

    /// The word of a part of which everything was looked at.
    fn yes(level: Level, word: Word) -> Word {
        match level {
            Level::Lock if word == Word::Unfit => Word::Readable,
            Level::Lock => Word::Current,
            Level::Index => Word::Offered,
            Level::Environment => Word::AsLocked,
            Level::Libraries => Word::Load,
            Level::Knowledge => Word::Clean,
        }
    }

    fn policy(deny: &[Code], allow: &[Code]) -> Policy {
        Policy { deny: deny.iter().copied().collect(), allow: allow.iter().copied().collect(), strict: false }
    }

    /// Every level with every word that it can have, every severity, and a policy that denies it, allows it or does
    /// neither.
    #[test]
    fn a_word_follows_the_findings() {
        use Severity::{Error, Note, Warning};
        let levels: [(Level, &[Word], Word); 5] = [
            (Level::Lock, &[Word::Current, Word::Readable, Word::Stale, Word::Unfit, Word::Unsure], Word::Stale),
            (Level::Index, &[Word::Offered, Word::NotOffered, Word::Unsure], Word::NotOffered),
            (Level::Environment, &[Word::AsLocked, Word::Differs, Word::Absent, Word::Unsure], Word::Differs),
            (
                Level::Libraries,
                &[Word::Load, Word::DoNotLoad, Word::Unread, Word::NotForMacs, Word::Unsure],
                Word::DoNotLoad,
            ),
            (Level::Knowledge, &[Word::Clean, Word::Condemned, Word::Unsure], Word::Condemned),
        ];
        for (level, words, no) in levels {
            for word in words {
                for severity in [Error, Warning, Note] {
                    for (deny, allow) in [(false, false), (true, false), (false, true)] {
                        // What is no error makes no part a no.
                        if (severity == Error) != (word.class() == Class::No) {
                            continue;
                        }
                        let policy = policy(if deny { &[CODE] } else { &[] }, if allow { &[CODE] } else { &[] });
                        let lock = part(Level::Lock, Word::Current, &[]);
                        let mut parts = [lock, part(level, *word, &[(CODE, severity)])];
                        policy.apply(&mut parts, &mut []);
                        let found = (parts[1].word, parts[1].told[0].finding.severity);
                        let expected = match (deny, allow, severity) {
                            (true, _, Error) => (*word, Error),
                            (true, ..) if matches!(word, Word::Readable | Word::Current) => (Word::Unfit, Error),
                            (true, ..) => (no, Error),
                            (_, true, Error) if *word == Word::Unfit => (Word::Readable, Note),
                            (_, true, Error) => (yes(level, *word), Note),
                            (_, true, _) => (*word, Note),
                            (false, false, _) => (*word, severity),
                        };
                        assert_eq!(found, expected, "{level:?} {word:?} {severity:?} {deny} {allow}");
                        assert!(parts[1].word.class() != Class::No || expected.1 == Error);
                    }
                }
            }
        }
    }

    #[test]
    fn one_error_that_is_left_keeps_the_no() {
        let both = &[(CODE, Severity::Error), (OTHER, Severity::Error)];
        let mut parts = [part(Level::Libraries, Word::DoNotLoad, both)];
        policy(&[], &[CODE]).apply(&mut parts, &mut []);
        assert_eq!(parts[0].word, Word::DoNotLoad);
        let order: Vec<Code> = parts[0].told.iter().map(|told| told.finding.code).collect();
        assert_eq!(order, [OTHER, CODE], "the worst comes first");
        policy(&[], &[CODE, OTHER]).apply(&mut parts, &mut []);
        assert_eq!(parts[0].word, Word::Load);
    }

    #[test]
    fn a_no_without_an_error_is_nobody_s_to_allow() {
        let mut parts = [part(Level::Lock, Word::Stale, &[(CODE, Severity::Warning)])];
        policy(&[], &[CODE]).apply(&mut parts, &mut []);
        assert_eq!(parts[0].word, Word::Stale);
    }

    #[test]
    fn what_was_not_read_is_no_yes_whatever_is_allowed() {
        let levels = [
            (Level::Lock, Word::Stale, Word::Unsure),
            (Level::Environment, Word::Differs, Word::AsRecorded),
            (Level::Libraries, Word::DoNotLoad, Word::Unread),
            (Level::Libraries, Word::DoNotLoad, Word::Unsure),
            (Level::Index, Word::NotOffered, Word::Unsure),
        ];
        for (level, word, otherwise) in levels {
            let mut parts = [Part { otherwise, ..part(level, word, &[(CODE, Severity::Error)]) }];
            policy(&[], &[CODE]).apply(&mut parts, &mut []);
            assert_eq!(parts[0].word, otherwise);
        }
    }

    #[test]
    fn what_only_this_machine_can_use_is_an_error_until_it_is_allowed() {
        const OUTSIDE: Code = Code::PathOutsideProject;
        for (word, found, policy) in [
            (Word::Current, (Word::Unfit, Severity::Error), policy(&[], &[])),
            (Word::Readable, (Word::Unfit, Severity::Error), policy(&[OTHER], &[])),
            (Word::Stale, (Word::Stale, Severity::Error), policy(&[], &[])),
            (Word::Current, (Word::Current, Severity::Note), policy(&[], &[OUTSIDE])),
            (Word::Readable, (Word::Readable, Severity::Note), policy(&[], &[OUTSIDE])),
        ] {
            let mut parts = [part(Level::Lock, word, &[(OUTSIDE, Severity::Warning)])];
            policy.apply(&mut parts, &mut []);
            assert_eq!((parts[0].word, parts[0].told[0].finding.severity), found, "{word:?}");
        }
    }

    #[test]
    fn denying_wins_over_allowing() {
        let mut findings = [Finding::warning(CODE, "made")];
        policy(&[CODE], &[CODE]).apply(&mut [], &mut findings);
        assert_eq!(findings[0].severity, Severity::Error);
        assert_eq!(policy(&[], &[]).verdict(&[], &findings, None), Verdict::Denied);
    }

    #[test]
    fn verdicts_and_exit_codes() {
        let mac = Some(Platform::MacosArm64);
        let with = |word: Word, findings: &[(Code, Severity)]| {
            let level = match word {
                Word::Absent => Level::Environment,
                _ => Level::Libraries,
            };
            let of = Of {
                env: "default".to_owned(),
                platform: Platform::MacosArm64,
                python: PythonMinor { major: 3, minor: 13 },
                on: None,
            };
            Part { of: Some(of), ..part(level, word, findings) }
        };
        let warning = [(CODE, Severity::Warning)];
        let note = [(CODE, Severity::Note)];
        let check = |parts: &[Part], here: Option<Platform>, lax: (Verdict, u8), strict: (Verdict, u8)| {
            for (flag, (verdict, code)) in [(false, lax), (true, strict)] {
                let policy = Policy { strict: flag, ..Policy::default() };
                let found = policy.verdict(parts, &[], here);
                assert_eq!((found, found.code()), (verdict, code), "{parts:?} {here:?} {flag}");
            }
        };
        let ok = (Verdict::Ok, 0);
        let strict = (Verdict::Strict, 1);
        check(&[], mac, ok, ok);
        check(&[with(Word::Load, &[])], mac, ok, ok);
        check(&[with(Word::Load, &note)], mac, ok, ok);
        check(&[with(Word::Load, &warning)], mac, ok, strict);
        check(&[with(Word::Unread, &[])], mac, ok, strict);
        check(&[with(Word::NotForMacs, &[])], mac, ok, ok);
        check(&[with(Word::Absent, &[])], mac, ok, strict);
        check(&[with(Word::Absent, &[])], Some(Platform::LinuxX86_64), ok, ok);
        check(&[with(Word::Absent, &[])], None, ok, ok);
        let unsure = (Verdict::Part(Word::Unsure), 2);
        check(&[with(Word::Unsure, &[])], mac, unsure, unsure);
        check(&[with(Word::Unsure, &warning)], mac, unsure, strict);
        let no = (Verdict::Part(Word::DoNotLoad), 1);
        check(&[with(Word::Unsure, &[]), with(Word::DoNotLoad, &[]), with(Word::Condemned, &[])], mac, no, no);
    }

    #[test]
    fn warnings_about_the_manifest_count_for_strict() {
        let findings = [Finding::warning(CODE, "made")];
        let strict = Policy { strict: true, ..Policy::default() };
        assert_eq!(strict.verdict(&[], &findings, None), Verdict::Strict);
        assert_eq!(Policy::default().verdict(&[], &findings, None), Verdict::Ok);
        let judged = Judged::of(&[part(Level::Libraries, Word::Unread, &[(OTHER, Severity::Note)])], &findings, None);
        assert_eq!(judged, Judged { errors: 0, warnings: 1, notes: 1, skipped: 1 });
    }
}
