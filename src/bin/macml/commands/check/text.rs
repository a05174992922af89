//! What `macml check` tells people: a line for each thing that was looked at, below it what is wrong, and the end in one.

use std::collections::BTreeSet;

use macml::diag::Code;
use macml::diag::Finding;
use macml::diag::Severity;
use macml::pep::PackageName;
use macml::pipeline::check::Because;
use macml::pipeline::check::Class;
use macml::pipeline::check::Judged;
use macml::pipeline::check::Level as Looked;
use macml::pipeline::check::Of;
use macml::pipeline::check::On;
use macml::pipeline::check::Part;
use macml::pipeline::check::Subject;
use macml::pipeline::check::Sum;
use macml::pipeline::check::Told;
use macml::pipeline::check::Verdict;
use macml::pipeline::check::Word;
use macml::sys::disk::Bytes;

use super::Done;
use super::shown;
use crate::amount;
use crate::context::Context;
use crate::printer::BAD;
use crate::printer::GOOD;
use crate::printer::Level;
use crate::printer::NAME;
use crate::printer::WARN;
use crate::printer::styled;
use crate::render;

/// Of so many findings of one kind about one package each is told; of more only these, unless with `-v`.
const MOST: usize = 5;

/// How wide the names of what was looked at are printed.
const WIDTH: usize = 14;

/// Lays out what came of a check.
pub(super) fn text(done: &Done, context: &Context, level: Level) -> String {
    let view = View { done, context, level };
    let mut lines = Vec::new();
    let (whole, of_envs): (Vec<&Part>, Vec<&Part>) = done.outcome.parts.iter().partition(|part| part.of.is_none());
    let about = view.about_the_manifest("  ");
    for (at, part) in whole.iter().enumerate() {
        lines.push(view.line("", part));
        if at == 0 {
            lines.extend(about.iter().cloned());
        }
        lines.extend(view.findings("  ", part));
    }
    if whole.is_empty() {
        lines.extend(about);
    }
    for group in groups(&of_envs) {
        let of = group[0].of.as_ref().expect("what belongs to no environment stands above");
        lines.push(format!("{} on {}, Python {}", styled(NAME, &of.env), of.platform, of.python));
        let mut macs: Vec<&On> = Vec::new();
        for on in group.iter().filter_map(|part| part.of.as_ref()?.on.as_ref()) {
            if !macs.contains(&on) {
                macs.push(on);
            }
        }
        macs.sort_by_key(|on| on.because);
        let several = macs.len() > 1;
        for part in group.iter().filter(|part| !several || on(part).is_none()) {
            lines.push(view.line("  ", part));
            lines.extend(view.findings("    ", part));
        }
        for mac in macs.into_iter().filter(|_| several) {
            lines.push(format!("  for {}", mac_and_why(mac)));
            for part in group.iter().filter(|part| on(part) == Some(mac)) {
                lines.push(view.line("    ", part));
                lines.extend(view.findings("      ", part));
            }
        }
    }
    lines.push(view.last_line());
    lines.join("\n") + "\n"
}

/// Lays out what is wrong, and nothing else.
pub(super) fn errors(done: &Done, context: &Context) -> String {
    let view = View { done, context, level: Level::Quiet };
    let mut lines = view.about_the_manifest("");
    for part in &done.outcome.parts {
        let findings = view.findings("", part);
        // A no has to be told even where nobody says why.
        if findings.is_empty() && part.word.class() >= Class::Unsure {
            let of = part.of.as_ref().map(|of| format!(" of {}", whose(of))).unwrap_or_default();
            lines.push(format!("{}: {}{of}: {}", styled(BAD, "error"), part.level.as_str(), spaced(part.word)));
        }
        lines.extend(findings);
    }
    if lines.is_empty() && done.outcome.verdict.code() != 0 {
        let (how, counts) = end(done);
        lines.push(format!("{}: {how}{counts}", styled(BAD, "error")));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Names an environment, and the Mac that it was judged for.
pub(super) fn whose(of: &Of) -> String {
    match &of.on {
        Some(on) => format!("{} on {}, {}", of.env, of.platform, mac(on)),
        None => format!("{} on {}", of.env, of.platform),
    }
}

/// Says in a sentence what came of a look, without colours.
pub(super) fn sentence(part: &Part, done: &Done, context: &Context) -> String {
    let view = View { done, context, level: Level::Verbose };
    let (word, rest) = view.sentence(part);
    format!("{word}{rest}")
}

/// Says how it ended, without the time: in a word or two, and how much of what there was.
pub(super) fn end(done: &Done) -> (&'static str, String) {
    let outcome = &done.outcome;
    let judged = Judged::of(&outcome.parts, &outcome.findings, done.job.here);
    let counts = [
        Some(amount::count(judged.errors, "error")).filter(|_| judged.errors > 0),
        Some(amount::count(judged.warnings, "warning")).filter(|_| judged.warnings > 0),
        Some(format!("{} not looked at", judged.skipped)).filter(|_| judged.skipped > 0),
    ];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    let how = match outcome.verdict.code() {
        0 => "check passed",
        2 => "check could not tell",
        _ => "check failed",
    };
    let counts = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
    let why = if outcome.verdict == Verdict::Strict { " (--strict)" } else { "" };
    (how, counts + why)
}

struct View<'a> {
    done: &'a Done,
    context: &'a Context,
    level: Level,
}

impl View<'_> {
    /// Says what came of one look, in a line.
    fn line(&self, indent: &str, part: &Part) -> String {
        let style = match part.word.class() {
            Class::Yes => GOOD,
            Class::NotLooked | Class::Unsure => WARN,
            Class::No => BAD,
        };
        let name = match (part.level, &self.done.outcome.lock) {
            (Looked::Lock, Some(lock)) => self.context.shown(lock),
            (level, _) => level.as_str().to_owned(),
        };
        let (word, rest) = self.sentence(part);
        let word = if word.is_empty() { word } else { styled(style, word) };
        let gap = " ".repeat(WIDTH.saturating_sub(name.chars().count()).max(2));
        format!("{indent}{name}{gap}{word}{rest}")
    }

    /// Says what came of a look: the word, where it stands first, and the rest.
    fn sentence(&self, part: &Part) -> (String, String) {
        let notes = match part.told.iter().filter(|told| told.finding.severity == Severity::Note).count() {
            0 => String::new(),
            _ if self.level == Level::Verbose || part.level == Looked::Knowledge => String::new(),
            notes => format!(", {} (-v)", amount::count(notes, "note")),
        };
        let (word, rest) = match part.word {
            Word::Absent => ("not looked at".to_owned(), format!(": {}", self.absent(part))),
            Word::NotForMacs => ("not looked at".to_owned(), ": only those of Macs are judged".to_owned()),
            Word::Load | Word::DoNotLoad => return self.libraries(part, &notes),
            Word::Unsure if matches!(part.sum, Sum::Libraries { unread: (1.., _), .. }) => {
                ("unsure".to_owned(), format!(": {}{notes}", self.unread(part)))
            }
            Word::Unread => ("not looked at".to_owned(), format!(": {}{notes}", self.unread(part))),
            Word::Clean | Word::Condemned => return (String::new(), self.knowledge(part)),
            word => {
                let amount = self.amount(part);
                let first = if part.level == Looked::Lock { ", " } else { ": " };
                let amount = if amount.is_empty() { amount } else { format!("{first}{amount}") };
                (spaced(word), format!("{amount}{notes}"))
            }
        };
        (word, rest)
    }

    fn amount(&self, part: &Part) -> String {
        match &part.sum {
            Sum::Nothing => String::new(),
            Sum::Releases(releases) => {
                let parts = &self.done.outcome.parts;
                let envs = parts.iter().filter_map(|part| part.of.as_ref()).map(|of| &of.env).collect::<BTreeSet<_>>();
                let packages = amount::many(*releases, "package");
                match (&self.done.job.subject, envs.len()) {
                    (Subject::Project { .. }, envs @ 1..) => {
                        format!("{}, {packages}", amount::count(envs, "environment"))
                    }
                    _ => packages,
                }
            }
            Sum::Files(files) => amount::many(*files, "file"),
            Sum::Environment { root, files, hashed, digest } => {
                let all = if hashed == files { "all".to_owned() } else { amount::thousands(*hashed) };
                let verbose = self.level == Level::Verbose;
                let said = [
                    Some(amount::many(*files, "file")),
                    Some(format!("{all} read whole")).filter(|_| *hashed > 0),
                    Some(format!("in {}", self.context.shown(root))).filter(|_| verbose),
                    digest.as_ref().map(|digest| format!("digest sha256:{digest}")),
                ];
                said.into_iter().flatten().collect::<Vec<_>>().join(", ")
            }
            Sum::Libraries { images, wheels, .. } => {
                format!("{} of {}", amount::many(*images, "image"), amount::many(*wheels, "package"))
            }
        }
    }

    /// Says why there is no environment to look at, and what makes one.
    fn absent(&self, part: &Part) -> String {
        if let Some(told) = part.told.first() {
            let hint = told.finding.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            return format!("{}{hint}", told.finding.message);
        }
        let Some(of) = &part.of else { return "there is none".to_owned() };
        let env = if of.env == "default" { String::new() } else { format!(" --env {}", of.env) };
        match Some(of.platform) == self.done.job.here {
            true => format!("there is none; `macml sync{env}` makes it"),
            false => format!(
                "there is none on this machine; `macml sync{env} --target DIR --platform {}` stages one, and `--target \
                 DIR` looks at it",
                of.platform
            ),
        }
    }

    /// Says what was not read, and what reads it.
    fn unread(&self, part: &Part) -> String {
        let Sum::Libraries { wheels, unread: (unread, bytes), without, .. } = &part.sum else {
            return "not every wheel was read".to_owned();
        };
        let all = wheels + unread;
        let size = if *bytes > 0 { format!(", {}", Bytes(*bytes)) } else { String::new() };
        let (were, them) = if *unread == 1 { ("was", "it") } else { ("were", "them") };
        let have = if *without == 1 { "has" } else { "have" };
        let wheels = amount::count(all, "wheel");
        let said = [
            (*unread > 0).then(|| match self.done.job.wheels {
                true => format!("{unread} of {wheels} could not be read"),
                false => format!("{unread} of {wheels} {were} never read: `--wheels` fetches {them}{size}"),
            }),
            (*without > 0)
                .then(|| format!("{without} of {} {have} no wheel to read", amount::count(all + without, "package"))),
        ];
        said.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Says how libraries go together, with the word in the middle.
    fn libraries(&self, part: &Part, notes: &str) -> (String, String) {
        let mac = on(part).map(|on| format!(" on {}", mac(on))).unwrap_or_default();
        let loads = part.word == Word::Load;
        let fetched = match &part.sum {
            Sum::Libraries { fetched: (wheels @ 1.., bytes), .. } => {
                format!(", {} fetched ({})", amount::count(*wheels, "wheel"), Bytes(*bytes))
            }
            _ => String::new(),
        };
        let amount = match &part.sum {
            Sum::Libraries { images: 0, .. } if loads => {
                return (String::new(), format!("none to load{fetched}{notes}"));
            }
            Sum::Libraries { .. } => self.amount(part),
            _ => "they".to_owned(),
        };
        let one = matches!(part.sum, Sum::Libraries { images: 1, .. });
        let verb = match (loads, one) {
            (true, false) => "load together",
            (true, true) => "loads",
            (false, false) => "do not load together",
            (false, true) => "does not load",
        };
        (String::new(), format!("{amount} {}{mac}{fetched}{notes}", styled(if loads { GOOD } else { BAD }, verb)))
    }

    /// Says what is known, and how to see it.
    fn knowledge(&self, part: &Part) -> String {
        let there = match on(part).map(|on| on.because) {
            Some(Because::Floor) => " at the floor",
            Some(Because::Here) => " on this Mac",
            Some(Because::Asked) => " there",
            None => "",
        };
        let problems = part.told.iter().filter(|told| told.finding.code == Code::KnownProblem).count();
        let known = (problems > 0).then(|| format!("{}{there}", amount::count(problems, "known problem")));
        match (part.word, known) {
            (Word::Condemned, known) => {
                let known = known.map(|known| format!("; {known}")).unwrap_or_default();
                format!("{}{there} by what is known{known}", styled(BAD, "condemned"))
            }
            (_, Some(known)) => known,
            (_, None) => format!("nothing known speaks against it{there}"),
        }
    }

    /// Lays out what is to be said of macml.toml.
    fn about_the_manifest(&self, indent: &str) -> Vec<String> {
        let outcome = &self.done.outcome;
        let source = outcome.manifest.as_ref().map(|source| shown(source, self.context));
        let findings = outcome.findings.iter().filter(|finding| self.tells(finding, Severity::Error));
        findings.map(|finding| indented(indent, &render::finding(finding, source.as_ref()))).collect()
    }

    /// Lays out the findings of a part, those of one kind about one package together.
    fn findings(&self, indent: &str, part: &Part) -> Vec<String> {
        type Kind<'a> = (Severity, Code, Option<&'a PackageName>);
        let source = self.done.outcome.source.as_ref().map(|source| shown(source, self.context));
        let mut kinds: Vec<(Kind<'_>, Vec<&Told>)> = Vec::new();
        // Why there is no environment says the line.
        let in_line = usize::from(part.word == Word::Absent && self.level != Level::Verbose);
        let worst = part.told.iter().map(|told| told.finding.severity).min().unwrap_or(Severity::Error);
        // What could not be told has its reason in what is no error.
        let least = if part.word.class() >= Class::Unsure { worst } else { Severity::Error };
        for told in part.told.iter().skip(in_line).filter(|told| self.tells(&told.finding, least)) {
            let kind = (told.finding.severity, told.finding.code, told.package.as_ref());
            match kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, all)) => all.push(told),
                None => kinds.push((kind, vec![told])),
            }
        }
        let mut lines = Vec::new();
        for ((_, code, package), all) in kinds {
            // One more line may as well tell the last.
            let most = if self.level == Level::Verbose || all.len() == MOST + 1 { all.len() } else { MOST };
            lines.extend(
                all.iter().take(most).map(|told| indented(indent, &render::finding(&told.finding, source.as_ref()))),
            );
            if let Some(more @ 1..) = all.len().checked_sub(most) {
                let of = package.map(|package| format!(" of `{package}`")).unwrap_or_default();
                lines.push(format!("{indent}and {more} more{of} [{code}], which `-v` tells"));
            }
        }
        lines
    }

    /// Returns whether a finding is told: those as bad as `least` always.
    fn tells(&self, finding: &Finding, least: Severity) -> bool {
        let most = match self.level {
            Level::Quiet => Severity::Error,
            Level::Normal => Severity::Warning,
            Level::Verbose => Severity::Note,
        };
        finding.severity <= most.max(least)
    }

    /// Says how it ended.
    fn last_line(&self) -> String {
        let outcome = &self.done.outcome;
        let style = match outcome.verdict.code() {
            0 => GOOD,
            2 => WARN,
            _ => BAD,
        };
        let (how, counts) = end(self.done);
        format!("{}{counts}, {}", styled(style, how), amount::duration(outcome.took))
    }
}

fn on(part: &Part) -> Option<&On> {
    part.of.as_ref()?.on.as_ref()
}

fn mac(on: &On) -> String {
    format!("macOS {} ({})", on.mac.macos, on.mac.chip)
}

fn mac_and_why(on: &On) -> String {
    let why = match on.because {
        Because::Floor => "the floor",
        Because::Here => "this Mac",
        Because::Asked => "--on",
    };
    format!("{}, macOS {} ({why})", on.mac.chip, on.mac.macos)
}

/// Puts parts of one environment, platform and Python together, in the order in which the first of each comes.
fn groups<'a>(parts: &[&'a Part]) -> Vec<Vec<&'a Part>> {
    let key = |part: &Part| part.of.as_ref().map(|of| (of.env.clone(), of.platform, of.python));
    let mut groups: Vec<Vec<&Part>> = Vec::new();
    for part in parts {
        match groups.iter_mut().find(|group| key(group[0]) == key(part)) {
            Some(group) => group.push(part),
            None => groups.push(vec![part]),
        }
    }
    groups
}

fn spaced(word: Word) -> String {
    word.as_str().replace('-', " ")
}

fn indented(indent: &str, text: &str) -> String {
    text.trim_end().lines().map(|line| format!("{indent}{line}")).collect::<Vec<_>>().join("\n")
}
