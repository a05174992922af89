//! `CommandError`: the one place where an error becomes text, an exit code and advice that names flags.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use macml::bench::readme;
use macml::bench::readme::ReadmeError;
use macml::diag::Finding;
use macml::diag::Severity;
use macml::diag::Source;
use macml::environment;
use macml::environment::VenvError;
use macml::index::ConfigError;
use macml::index::download::DownloadError;
use macml::index::download::Fault;
use macml::install::UnpackError;
use macml::lock;
use macml::manifest;
use macml::manifest::Project;
use macml::manifest::edit::EditError;
use macml::matrix;
use macml::pep::PackageName;
use macml::pep::WheelName;
use macml::pipeline;
use macml::pipeline::Before;
use macml::pipeline::NotCurrent;
use macml::pipeline::Outcome;
use macml::pipeline::sync;
use macml::pipeline::sync::Synced;
use macml::python;
use macml::resolve;
use macml::sys::fs::FsError;

use crate::context::Context;
use crate::printer::BAD;
use crate::printer::Colors;
use crate::printer::Level;
use crate::printer::NAME;
use crate::printer::Printer;
use crate::printer::WARN;
use crate::printer::styled;
use crate::render;

/// What an end without a yes means for the exit code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Nothing satisfies the manifest.
    Unsatisfiable,
    /// macml.lock does not answer macml.toml.
    Stale,
    /// The command line, the environment or the user's settings make no sense.
    Usage,
    /// macml.toml is missing or wrong.
    Manifest,
    /// macml.lock cannot be used.
    Lockfile,
    /// A locked file, or this machine, stands against the environment.
    Refused,
    /// Something is in an environment's place.
    Environment,
    /// An index could not be asked.
    Index,
    /// A file could not be read or written.
    Disk,
}

/// How many mistakes in a file people are shown: a file of another kind has thousands.
const MOST_SHOWN: usize = 100;

/// An error on its way to people.
#[derive(Debug)]
pub(crate) struct CommandError {
    /// What kind it is.
    pub(crate) kind: Kind,
    /// The error and its causes.
    pub(crate) source: Box<dyn Error + Send + Sync>,
    /// What stands between the error and its causes: the lines of macml.toml that clash.
    pub(crate) lines: Vec<String>,
    /// Mistakes in a file, with the file.
    pub(crate) findings: Option<Box<(Source, Vec<Finding>)>>,
    /// Causes besides those of `source`: why a refusal is one.
    pub(crate) reasons: Vec<String>,
    /// What to do, best first.
    pub(crate) hints: Vec<String>,
}

impl Kind {
    /// Returns the exit code: 1 the answer is no, 2 there is no answer.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Unsatisfiable | Self::Stale | Self::Refused => 1,
            Self::Usage | Self::Manifest | Self::Lockfile | Self::Environment | Self::Index | Self::Disk => 2,
        }
    }

    /// Returns the word in JSON.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Unsatisfiable => "unsatisfiable",
            Self::Stale => "stale",
            Self::Usage => "usage",
            Self::Manifest => "manifest",
            Self::Lockfile => "lockfile",
            Self::Refused => "refused",
            Self::Environment => "environment",
            Self::Index => "index",
            Self::Disk => "disk",
        }
    }
}

/// What to do about a volume that is full.
const MAKE_ROOM: &str = "make room there; `macml cache size` says what the cache takes, `macml cache clean` empties it";

impl CommandError {
    /// Makes one without hints.
    pub(crate) fn new(kind: Kind, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { kind, source: source.into(), lines: Vec::new(), findings: None, reasons: Vec::new(), hints: Vec::new() }
    }

    /// Makes one about the command line or the environment.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message.into())
    }

    /// Makes the one for a working folder that was deleted.
    pub(crate) fn no_folder(cause: std::io::Error) -> Self {
        Self::new(Kind::Disk, cause).hint("go to a folder that exists: the working folder was deleted")
    }

    /// Adds advice.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Returns the causes below the error, from the top, without those that only repeat the one above.
    pub(crate) fn causes(&self) -> Vec<String> {
        let mut causes = chain(&*self.source);
        causes.extend(self.reasons.iter().cloned());
        causes
    }

    /// Turns what the pipeline says into what people read, with the advice that names flags.
    pub(crate) fn from_pipeline(error: pipeline::Error, context: &Context) -> Self {
        use pipeline::Error as E;
        match error {
            E::Manifest(error) => Self::from_manifest(error, context),
            E::UnknownEnv { ref name, ref known } => {
                let hint = match nearest(name, known) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("its environments: {}", listed(known)),
                };
                Self::new(Kind::Usage, error).hint(hint)
            }
            E::NoMac | E::UnknownPython { .. } => Self::new(Kind::Usage, error),
            E::DirectWheel { .. } | E::Build(_) => Self::new(Kind::Manifest, error),
            E::Connect(error) => Self::new(Kind::Index, error),
            E::Edit(ref edit) => {
                let hint = match edit {
                    EditError::NoEnv(_) => None,
                    EditError::Absent { .. } => Some("`macml tree` shows what is asked for, and by what"),
                    EditError::Several(_) | EditError::Unclear => {
                        Some("edit macml.toml by hand, then run `macml lock`")
                    }
                };
                hint.into_iter().fold(Self::new(Kind::Manifest, error.to_string()), Self::hint)
            }
            E::ManifestChanged { .. } => Self::new(Kind::Manifest, error).hint("run it again"),
            E::Lockfile(lock::Error::Newer { .. }) => Self::new(Kind::Lockfile, error)
                .hint("update macml; or delete the lock to solve afresh, without the versions that it keeps"),
            E::Lockfile(lock::Error::Fs(error)) | E::Disk(error) => Self::from_disk(error),
            E::Lockfile(_) => Self::new(Kind::Lockfile, error),
            E::Resolve { cause, project } => Self::from_resolve(cause, &project, context),
        }
    }

    /// Turns a lock that cannot be used as it is into what people read.
    pub(crate) fn from_not_current(error: NotCurrent, context: &Context) -> Self {
        let relock = "`macml lock` brings it up to date";
        match error {
            NotCurrent::Pipeline(error) => Self::from_pipeline(error, context),
            NotCurrent::Unlocked => Self::new(Kind::Stale, error).hint("`macml lock` writes it"),
            NotCurrent::Broken => Self::new(Kind::Stale, error).hint(relock),
            NotCurrent::Stale(ref reasons) => {
                let reasons = reasons.iter().map(ToString::to_string).collect();
                Self { reasons, ..Self::new(Kind::Stale, error).hint(relock) }
            }
        }
    }

    /// Turns a mistake in the user's settings into what people read.
    pub(crate) fn from_config(error: ConfigError, context: &Context) -> Self {
        match error {
            ConfigError::Mistakes { file, findings } => Self::mistakes(Kind::Usage, file, findings, context),
            ConfigError::File(error) => Self::new(Kind::Disk, error),
            ConfigError::Missing { .. } => {
                Self::new(Kind::Usage, error).hint("`--no-config` runs without settings of your own")
            }
            ConfigError::Variable { .. } => Self::new(Kind::Usage, error),
        }
    }

    fn mistakes(kind: Kind, file: Source, findings: Vec<Finding>, context: &Context) -> Self {
        let name = context.shown(Path::new(&file.name));
        let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
        let plural = if errors == 1 { "" } else { "s" };
        let mut error = Self::new(kind, format!("{errors} error{plural} in `{name}`"));
        error.findings = Some(Box::new((Source { name, ..file }, findings)));
        error
    }

    fn from_manifest(error: manifest::Error, context: &Context) -> Self {
        match error {
            manifest::Error::NotFound { .. } => Self::new(Kind::Manifest, error)
                .hint("go to the project's folder, or name it with `-C DIR` or `--project DIR`"),
            manifest::Error::Invalid { text, findings } => Self::mistakes(Kind::Manifest, text, findings, context),
            manifest::Error::Fs(error) => Self::new(Kind::Disk, error),
            manifest::Error::Missing { .. } | manifest::Error::NotText { .. } => Self::new(Kind::Manifest, error),
        }
    }

    fn from_resolve(error: resolve::Error, project: &Project, context: &Context) -> Self {
        use resolve::Error as E;
        match error {
            E::NoSolution(ref explanation) => {
                let name = context.shown(Path::new(&project.source.name));
                let place = |line: &resolve::explain::Line| {
                    format!("{name}:{}: {}", project.source.line_column(line.span.start).0, line.text)
                };
                let lines = explanation.lines.iter().map(place).collect();
                let reasons = explanation.reasons.clone();
                let edit = |edit: &resolve::explain::Edit| {
                    // Where another floor or Python was tried, the way out may be what is declared.
                    match declares(project, &explanation.env, &edit.change) {
                        true => format!("{}, as declared, gives {}", edit.change, edit.gives),
                        false => format!("{} gives {}", edit.change, edit.gives),
                    }
                };
                let hints = explanation.edits.iter().map(edit).collect();
                // A rule to ignore that is misspelt may be the very reason.
                let told = || Box::new((Source { name, text: project.source.text.clone() }, project.findings.clone()));
                let findings = (!project.findings.is_empty()).then(told);
                Self { lines, findings, reasons, hints, ..Self::new(Kind::Unsatisfiable, error) }
            }
            E::PythonOutOfRange { .. } => Self::new(Kind::Usage, error),
            E::Offline { .. } => {
                Self::new(Kind::Index, error).hint("run it once without `--offline` (or MACML_OFFLINE)")
            }
            E::Source(error) => Self::new(Kind::Index, error),
            E::OutOfTime => Self::new(Kind::Index, error),
        }
    }

    /// Turns what stands in the way of a matrix into what people read.
    pub(crate) fn from_matrix(error: matrix::Error) -> Self {
        match error {
            matrix::Error::Unknown(_) => Self::new(Kind::Unsatisfiable, error),
            matrix::Error::Resolve(resolve::Error::Offline { .. }) => {
                Self::new(Kind::Index, error).hint("run it once without `--offline` (or MACML_OFFLINE)")
            }
            matrix::Error::Connect(_) | matrix::Error::Resolve(_) => Self::new(Kind::Index, error),
        }
    }

    /// Turns the search for a Python that found none into what people read.
    pub(crate) fn from_python(error: python::Error) -> Self {
        let (reasons, hint) = match &error {
            python::Error::OtherMachine { .. } => (Vec::new(), None),
            python::Error::Named(misfit) => (Vec::new(), misfit.remedy.clone()),
            python::Error::None { seen, remedy, .. } => {
                let reason = |one: &python::Misfit| format!("`{}` {}", one.seen.candidate.path.display(), one.refusal);
                (seen.iter().map(reason).collect(), Some(remedy.clone()))
            }
        };
        let hints = hint.into_iter().collect();
        Self { reasons, hints, ..Self::new(Kind::Unsatisfiable, error) }
    }

    /// Turns a file or folder that could not be used into what people read.
    pub(crate) fn from_disk(error: FsError) -> Self {
        let another = error.of_another().map(|path| {
            let what = path.display();
            format!("`{what}` belongs to another user, as after `sudo macml`: make it yours, or run macml as that one")
        });
        another.into_iter().fold(Self::new(Kind::Disk, error), Self::hint)
    }

    /// Turns what stands in the way of an environment into what people read.
    pub(crate) fn from_sync(error: sync::Error, context: &Context) -> Self {
        use sync::Error as E;
        match error {
            E::Lock(error) => Self::from_pipeline(error, context),
            E::Stale(outcome) => Self::stale(&outcome),
            E::NoLock => Self::new(Kind::Stale, error).hint("`macml lock` writes it"),
            E::BrokenLock => Self::new(Kind::Lockfile, error).hint("`macml lock` brings it up to date"),
            E::NotLocked { .. } => Self::new(Kind::Stale, error).hint("`macml lock` brings it up to date"),
            E::OtherPlatform { ref env, platform, ref has, .. } => {
                let table = if env == "default" { "[target]".to_owned() } else { format!("[env.{env}]") };
                let remedy = format!("add \"{platform}\" to `platforms` under `{table}` in macml.toml");
                let staged = has.first().map(|other| {
                    format!("`macml sync --target DIR --platform {other}` stages the files for such a machine")
                });
                let error = Self::new(Kind::Refused, error).hint(remedy);
                staged.into_iter().fold(error, Self::hint)
            }
            E::NoFile { ref name, .. } => {
                let hint = format!("`macml lock -P {name}` locks another release, if one has files for it");
                Self::new(Kind::Refused, error).hint(hint)
            }
            E::Python(error) => Self::from_python(error),
            E::Unfit(unfit) => {
                let remedy = unfit.remedy();
                Self::new(Kind::Refused, unfit).hint(remedy)
            }
            E::Plan(_) => Self::new(Kind::Refused, error),
            E::NoPlatform => Self::new(Kind::Refused, error)
                .hint("`--target DIR --platform NAME` stages the files of one on any machine"),
            E::NoFolder(_) => Self::new(Kind::Usage, error).hint("`macml bundle` makes one of the locked wheels"),
            E::NotInFolder { .. } => {
                Self::new(Kind::Index, error).hint("without `--from` they are fetched from the index")
            }
            E::Download(error) => Self::from_download(error),
            E::Unpack(UnpackError::Wheel(_) | UnpackError::Digest { .. }) => Self::new(Kind::Refused, error),
            E::Environment(environment::Error::Foreign { .. }) => Self::new(Kind::Environment, error)
                .hint("`macml sync --replace` gives it another name and puts the environment in its place"),
            E::TargetTaken { .. } => {
                Self::new(Kind::Environment, error).hint("name a folder that is empty or not there")
            }
            E::TargetHas { .. } => Self::new(Kind::Environment, error).hint("move it away, or name another folder"),
            E::BelowFloor { asked, .. } => {
                Self::new(Kind::Usage, error).hint(format!("`macml lock --macos {asked}` tries that floor"))
            }
            E::Colon(_) | E::Interpreter(_) => {
                Self::new(Kind::Environment, error).hint("give the project's folder, or the one with it, another name")
            }
            E::Environment(environment::Error::Obstacle { .. }) => {
                Self::new(Kind::Environment, error).hint("move it away")
            }
            E::Venv(VenvError::Unwritable(_)) => Self::new(Kind::Environment, error),
            E::Disk(error) | E::Environment(environment::Error::File(error)) => Self::from_disk(error),
            E::NoCache => Self::new(Kind::Disk, error).hint("name a folder with `--cache-dir DIR`"),
            E::NoSpace { .. } => Self::new(Kind::Disk, error).hint(MAKE_ROOM),
            E::Unpack(_) | E::Link(_) | E::Venv(_) | E::Environment(_) => Self::new(Kind::Disk, error),
        }
    }

    fn from_download(error: DownloadError) -> Self {
        let kind = match &error {
            DownloadError::NoCache | DownloadError::NoSpace { .. } | DownloadError::Disk(_) => Kind::Disk,
            DownloadError::Unobtainable { faults, .. } if faults.iter().any(Fault::is_other) => Kind::Refused,
            DownloadError::Unobtainable { .. }
            | DownloadError::Offline { .. }
            | DownloadError::Index(_)
            | DownloadError::Lost => Kind::Index,
        };
        let hint = match &error {
            DownloadError::Offline { .. } => Some("run it once without `--offline` (or MACML_OFFLINE)".to_owned()),
            DownloadError::Unobtainable { file, faults, .. } => {
                let replaced = faults.iter().any(|fault| matches!(fault, Fault::Another { .. }));
                let name = file.parse::<WheelName>().ok().filter(|_| replaced).map(|wheel| wheel.name);
                name.map(|name| format!("`macml lock -P {name}` takes what the index has now"))
            }
            DownloadError::NoSpace { .. } => Some(MAKE_ROOM.to_owned()),
            _ => None,
        };
        hint.into_iter().fold(Self::new(kind, error), Self::hint)
    }

    /// Makes the one for a README whose block cannot be replaced; `typed` is how the file was named.
    pub(crate) fn from_readme(error: ReadmeError, typed: &Path) -> Self {
        let (begin, end) = (readme::BEGIN, readme::END);
        let kind = if let ReadmeError::Disk(_) = &error { Kind::Disk } else { Kind::Usage };
        let hint = match &error {
            ReadmeError::Disk(_) => None,
            ReadmeError::Absent(_) => Some(format!("make it, with the two lines `{begin}` and `{end}`")),
            ReadmeError::NotText { .. } => Some("save it as UTF-8".to_owned()),
            ReadmeError::Markers { .. } => Some(format!(
                "leave these two lines in `{}`, each once, where the table belongs: `{begin}` and below it `{end}`",
                typed.display()
            )),
        };
        hint.into_iter().fold(Self::new(kind, error), Self::hint)
    }

    /// Makes the one for an environment that should be as locked and is not.
    pub(crate) fn not_as_locked(synced: &Synced, name: &str) -> Self {
        let error = Self::new(Kind::Stale, format!("`{name}` is not as locked"));
        let reasons = synced.differences.iter().map(ToString::to_string).collect();
        Self { reasons, ..error }.hint("`macml sync` brings it up to date")
    }

    /// Makes the one for a package that was asked about and is in no environment.
    pub(crate) fn not_in_lock(name: &PackageName, outcome: &Outcome) -> Self {
        let error = Self::new(Kind::Unsatisfiable, format!("`{name}` is in no environment: nothing asks for it"));
        let near = |other: &&PackageName| strsim::damerau_levenshtein(other.as_str(), name.as_str());
        let names = outcome.lockfile.packages.iter().map(|package| &package.name);
        match names.min_by_key(near).filter(|other| near(other) <= 1 + name.as_str().len() / 4) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        }
    }

    /// Makes the one for a lock that should be current and is not.
    pub(crate) fn stale(outcome: &Outcome) -> Self {
        let what = match outcome.before {
            Before::Absent => "there is no `macml.lock`",
            Before::Broken => "`macml.lock` cannot be used as it is",
            Before::Whole(_) => "`macml.lock` does not answer `macml.toml`",
        };
        let hint = match outcome.before {
            Before::Absent => "`macml lock` writes it",
            Before::Broken | Before::Whole(_) => "`macml lock` brings it up to date",
        };
        let mut error = Self::new(Kind::Stale, what).hint(hint);
        error.reasons = outcome.stale.iter().map(ToString::to_string).collect();
        if let Some(unsolved) = &outcome.unsolved {
            error.reasons.push(format!("what should be in it could not be found out: {unsolved}"));
            error.reasons.extend(chain(&**unsolved));
        }
        error
    }

    /// Lays it out for people.
    pub(crate) fn text(&self) -> String {
        let mut lines = Vec::new();
        if let Some((source, findings)) = self.findings.as_deref() {
            let shown = findings.iter().take(MOST_SHOWN);
            lines.extend(shown.map(|finding| render::finding(finding, Some(source))));
            if let Some(more @ 1..) = findings.len().checked_sub(MOST_SHOWN) {
                lines.push(format!("and {more} more\n"));
            }
        }
        lines.push(format!("{}: {}", styled(BAD, "error"), self.source));
        lines.extend(self.lines.iter().map(|line| format!("  {line}")));
        let cause = |cause: String| format!("  {}: {}", styled(BAD, "cause"), cause.replace('\n', "\n    "));
        lines.extend(self.causes().into_iter().map(cause));
        if !self.hints.is_empty() {
            lines.push(String::new());
        }
        lines.extend(self.hints.iter().map(|hint| format!("{}: {hint}", styled(NAME, "hint"))));
        lines.join("\n") + "\n"
    }

    /// Lays it out for people who asked for something else, so that it is no failure.
    pub(crate) fn note(&self) -> String {
        let hints = self.hints.iter().map(|hint| format!("{}: {hint}\n", styled(NAME, "hint")));
        format!("{}: {}\n{}", styled(WARN, "note"), self.source, hints.collect::<String>())
    }

    /// Writes it to stderr and returns the exit code.
    pub(crate) fn show(&self, printer: &Printer) -> ExitCode {
        printer.error(&self.text());
        self.kind.code().into()
    }
}

/// Returns the causes below an error, from the top, without those that only repeat the one above.
fn chain(error: &dyn Error) -> Vec<String> {
    let mut above = error.to_string();
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !above.ends_with(&text) {
            causes.push(text.clone());
        }
        above = text;
        next = cause.source();
    }
    causes
}

/// Returns the name most like a misspelt one, if one is like it.
pub(crate) fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a String> {
    let scored = known.iter().map(|one| (strsim::jaro_winkler(name, one), one));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.75).then_some(best.1)
}

pub(crate) fn listed(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Shows what clap says: its help on stdout with success, its errors on stderr with 2.
pub(crate) fn usage(error: &clap::Error, colors: Colors) -> ExitCode {
    let text = error.render().ansi().to_string();
    let printer = Printer::new(colors, Level::Normal);
    if error.use_stderr() {
        printer.error(&text);
        return ExitCode::from(2);
    }
    finish(printer.data(&text), 0, &printer)
}

/// Turns the last write to stdout and the verdict's code into the exit code: a reader that left early is no failure.
pub(crate) fn finish(written: std::io::Result<()>, code: u8, printer: &Printer) -> ExitCode {
    match written {
        Ok(()) => code.into(),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => code.into(),
        Err(error) => CommandError::new(Kind::Disk, StdoutError(error)).show(printer),
    }
}

/// stdout could not be written to.
#[derive(Debug, thiserror::Error)]
#[error("could not write to stdout")]
struct StdoutError(#[source] std::io::Error);

/// Returns whether an edit says what an environment declares already.
fn declares(project: &Project, env: &str, change: &str) -> bool {
    let env = project.manifest.envs.iter().find(|one| one.name == env);
    let macos = env.and_then(|env| env.mac.as_ref()).map(|mac| format!("macos = \"{}\"", mac.macos));
    let python = env.map(|env| format!("python = \"{}\"", env.python));
    [macos, python].iter().flatten().any(|declared| change.ends_with(&format!("] {declared}")))
}

#[cfg(test)]
mod tests {
    use macml::diag::Code;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("could not read `x`")]
    struct Outer(#[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("disk on fire")]
    struct Inner;

    #[test]
    fn an_error_shows_its_causes_then_what_to_do() {
        let error = CommandError::new(Kind::Disk, Outer(Inner)).hint("leave the building");
        let text = anstream::adapter::strip_str(&error.text()).to_string();
        assert_eq!(text, "error: could not read `x`\n  cause: disk on fire\n\nhint: leave the building\n");
    }

    #[test]
    fn what_belongs_to_another_user_is_told() {
        use std::os::unix::fs::MetadataExt as _;
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let own = folder.join(".macml");
        std::fs::create_dir(&own).unwrap();
        let text = |path: &Path, kind: std::io::ErrorKind| {
            let error = FsError { doing: "lock", path: path.to_owned(), cause: kind.into() };
            CommandError::from_disk(error).text()
        };
        let denied = std::io::ErrorKind::PermissionDenied;
        assert!(!text(&own.join("env/.lock"), denied).contains("another user"));
        // Who is not root has nothing that belongs to another but what is root's.
        let foreign = match std::os::unix::fs::chown(&own, Some(12_345), None) {
            Ok(()) => own,
            Err(_) => "/".into(),
        };
        if foreign.metadata().unwrap().uid() != folder.metadata().unwrap().uid() {
            let told = format!("`{}` belongs to another user, as after `sudo macml`", foreign.display());
            assert!(text(&foreign.join("env/.lock"), denied).contains(&told));
            assert!(!text(&foreign.join("env/.lock"), std::io::ErrorKind::StorageFull).contains("another user"));
        }
    }

    #[test]
    fn of_thousands_of_mistakes_the_first_are_shown() {
        let text = "x".repeat(5_000);
        let finding = |at: usize| Finding::error(Code::UnknownKey, "unknown").at((at..at + 1).into(), "");
        let findings = (0..text.len()).map(finding).collect();
        let source = Source { name: "macml.toml".to_owned(), text };
        let mut error = CommandError::usage("5000 errors");
        error.findings = Some(Box::new((source, findings)));
        let text = error.text();
        assert_eq!(text.matches("unknown-key").count(), MOST_SHOWN);
        assert!(text.contains("and 4900 more"), "{text}");
    }

    #[test]
    fn only_a_refusal_is_a_no() {
        let codes = [Kind::Unsatisfiable, Kind::Usage, Kind::Manifest, Kind::Lockfile, Kind::Index, Kind::Disk];
        assert_eq!(codes.map(Kind::code), [1, 2, 2, 2, 2, 2]);
    }
}
