//! What is told of a lock of another tool, each with its line.

use std::collections::BTreeSet;
use std::collections::HashSet;
use std::path::Path;
use std::path::PathBuf;

use crate::diag;
use crate::diag::Code;
use crate::diag::Finding;
use crate::lock::foreign;
use crate::lock::foreign::Note;
use crate::lock::foreign::Origin;
use crate::lock::foreign::Refusal;
use crate::lock::foreign::Release;
use crate::lock::foreign::model::Folder;
use crate::pep::PackageName;
use crate::pep::Version;
use crate::pipeline::check::part::Part;
use crate::pipeline::check::part::Told;
use crate::pipeline::check::part::Word;
use crate::pipeline::check::set::Mac;
use crate::resolve::candidate::Unfit;

/// Of so many requirements with one shortcoming each is told by itself.
const EACH: usize = 3;

/// So many platforms are named that a release has wheels for.
const PLATFORMS: usize = 6;

impl Part {
    /// Adds what is to be said; an error makes the lock unfit.
    pub(super) fn tell(&mut self, finding: Finding, package: Option<&PackageName>) {
        if finding.severity == diag::Severity::Error {
            self.word = Word::Unfit;
        }
        self.told.push(Told { finding, package: package.cloned(), path: None });
    }

    /// Puts the worst first, and drops what is said twice.
    pub(super) fn settle(&mut self) {
        self.told.sort_by_key(|one| one.finding.severity);
        let mut seen = HashSet::new();
        self.told.retain(|one| seen.insert((one.finding.code, one.finding.message.clone())));
    }
}

/// Points at a line of the lock, or says in which line of which other file it is.
pub(super) fn placed(finding: Finding, source: &diag::Source, lock: &Path, (file, line): (&Path, usize)) -> Finding {
    if file != lock {
        return finding.noting(format!("line {line} of `{}`", file.display()));
    }
    match span(&source.text, line) {
        Some(span) => finding.at(span, ""),
        None => finding,
    }
}

/// Returns where a line stands; of the head of a table the line that names it.
fn span(text: &str, line: usize) -> Option<diag::Span> {
    const NEAR: usize = 6;
    let mut start = 0;
    let mut lines = text.split_inclusive('\n').map(|text| {
        let at = start;
        start += text.len();
        (at, text.trim_end())
    });
    let mut found = lines.nth(line.checked_sub(1)?)?;
    if found.1.starts_with("[[") {
        let names = |(_, text): &(usize, &str)| text.trim_start().starts_with("name");
        let head = found;
        found = lines.take(NEAR).take_while(|(_, text)| !text.starts_with('[')).find(names).unwrap_or(head);
    }
    Some((found.0..found.0 + found.1.len()).into())
}

/// For whom something is told: the floor, or a Mac that was asked about.
#[derive(Clone, Copy)]
pub(super) enum Whom<'a> {
    Floor,
    Asked(&'a Mac),
}

impl Whom<'_> {
    fn on(self) -> String {
        match self {
            Self::Floor => String::new(),
            Self::Asked(mac) => format!("on {mac}: "),
        }
    }

    /// Names the Mac, and says why nothing fits it. What holds for every Mac alike is said as it is for the floor.
    fn words(self, unfit: &Unfit) -> (String, String) {
        match (self, unfit) {
            (Self::Asked(_), Unfit::NeedsMacos { .. }) => (self.on(), unfit.of_one_mac()),
            _ => (String::new(), unfit.to_string()),
        }
    }

    /// Says that a lock has no answer.
    pub(super) fn refused(self, refusal: &Refusal) -> Finding {
        let error = |on: String| Finding::error(Code::LockUnfit, format!("{on}{refusal}"));
        match refusal {
            Refusal::Python { .. } | Refusal::PackagePython { .. } => {
                error(String::new()).hinting("`--python` names another Python")
            }
            Refusal::Unknown { .. } | Refusal::Conflict { .. } => error(String::new()),
            Refusal::Environment { .. } | Refusal::Ambiguous { .. } => error(self.on()),
        }
    }

    /// Says that nothing of a release can be installed.
    pub(super) fn nothing(self, name: &PackageName, version: Option<&Version>, unfit: &Unfit) -> Finding {
        let (on, why) = self.words(unfit);
        Finding::error(Code::LockUnfit, format!("{on}{}: {why}", named(name, version)))
    }

    /// Says that a release is built where it is installed.
    pub(super) fn built(self, name: &PackageName, version: Option<&Version>, unfit: &Unfit) -> Finding {
        let (on, why) = self.words(unfit);
        let message = format!("{on}{} is built on each machine", named(name, version));
        Finding::warning(Code::BuiltFromSource, message)
            .noting(format!("{why}, and nothing can be said of the libraries that building makes"))
    }
}

/// Says for which platforms there are wheels, where there is none for Macs.
pub(super) fn there_are(finding: Finding, release: &Release, unfit: &Unfit) -> Finding {
    let Unfit::OnlyOtherPlatforms { .. } = unfit else { return finding };
    let tags: BTreeSet<&str> = release.wheels.iter().flat_map(|wheel| wheel.file.platform_tags()).collect();
    let named: Vec<String> = tags.iter().take(PLATFORMS).map(|tag| format!("`{tag}`")).collect();
    match tags.len().checked_sub(PLATFORMS) {
        None | Some(0) if named.is_empty() => finding,
        None | Some(0) => finding.noting(format!("its wheels are for {}", named.join(", "))),
        Some(more) => finding.noting(format!("its wheels are for {} and {more} more", named.join(", "))),
    }
}

/// Says that a file or folder is in nobody else's reach.
pub(super) fn outside(name: &PackageName, version: Option<&Version>, path: &str) -> Finding {
    let message = format!("{} comes from `{path}`, outside the project", named(name, version));
    Finding::warning(Code::PathOutsideProject, message)
        .noting("the lock works only where this is")
        .hinting("keep it inside the project")
}

/// Says that what a release is made of is not a file; nothing where nobody needs to know.
pub(super) fn built_here(release: &Release) -> Finding {
    let version = release.version.as_ref();
    let from = match &release.origin {
        Origin::Folder { path, kind: Folder::Built } => format!("the folder `{path}`"),
        Origin::Folder { path, .. } => {
            let message = format!("{} is linked from `{path}`, and not looked at", named(&release.name, version));
            return Finding::note(Code::LockRead, message);
        }
        Origin::Repository { address, .. } => format!("the repository `{address}`"),
        _ => "a source archive".to_owned(),
    };
    let message = format!("{} is built on each machine", named(&release.name, version));
    Finding::warning(Code::BuiltFromSource, message)
        .noting(format!("it comes from {from}, and nothing can be said of the libraries that building makes"))
}

/// Names a release.
pub(super) fn named(name: &PackageName, version: Option<&Version>) -> String {
    version.map_or_else(|| format!("`{name}`"), |version| format!("`{name}` {version}"))
}

/// Tells the notes of the reader. `here` says which packages the Macs get at all.
pub(super) fn notes(
    notes: &[Note],
    here: impl Fn(&PackageName) -> bool,
    source: &diag::Source,
    lock: &Path,
) -> Vec<(Finding, Option<PackageName>)> {
    let at = |note: &Note| -> (PathBuf, usize) { (note.path.clone(), note.line) };
    let mut told = Vec::new();
    let mut open: [Vec<&Note>; 3] = Default::default();
    for note in notes {
        let (kind, name) = match &note.told {
            foreign::Told::Unpinned(name) => (0, name),
            foreign::Told::Unhashed(name) => (1, name),
            foreign::Told::NoSha256(name) => (2, name),
            foreign::Told::NewerRevision { .. } => {
                let finding = Finding::warning(Code::NewerLock, note.told.to_string())
                    .noting("a later revision should only add what can be passed over");
                told.push((finding, None));
                continue;
            }
            other => {
                let (file, line) = at(note);
                let finding = Finding::note(Code::LockRead, other.to_string());
                told.push((placed(finding, source, lock, (&file, line)), None));
                continue;
            }
        };
        if here(name) {
            open[kind].push(note);
        }
    }
    let kinds = ["are not pinned to one version", "have no hash", "have hashes, but none of them is a sha256"];
    for (notes, what) in open.into_iter().zip(kinds) {
        let name = |note: &Note| match &note.told {
            foreign::Told::Unpinned(name) | foreign::Told::Unhashed(name) | foreign::Told::NoSha256(name) => {
                name.clone()
            }
            _ => unreachable!("only these were kept"),
        };
        let finding = |message: String, first: &Note| {
            let (file, line) = at(first);
            let finding =
                Finding::warning(Code::NotPinned, message).noting("what is installed may be another file tomorrow");
            placed(finding, source, lock, (&file, line))
        };
        if notes.len() <= EACH {
            told.extend(notes.iter().map(|note| (finding(note.told.to_string(), note), Some(name(note)))));
        } else {
            let message = format!("{} requirements {what}, the first of them `{}`", notes.len(), name(notes[0]));
            told.push((finding(message, notes[0]), None));
        }
    }
    told
}
