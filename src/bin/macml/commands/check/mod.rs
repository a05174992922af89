//! `macml check`: is it what is locked, and do its libraries load together, told without a Mac.

mod github;
mod places;
mod text;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;

use macml::check::contents;
use macml::diag::Code;
use macml::host::Chip;
use macml::index::Config;
use macml::index::IndexAddress;
use macml::index::OnlineSource;
use macml::index::download::Downloads;
use macml::index::source::Source;
use macml::lock::foreign::Choice;
use macml::lock::foreign::Chosen;
use macml::manifest;
use macml::manifest::model::IndexSpec;
use macml::pep::ExtraName;
use macml::pep::PackageName;
use macml::pipeline;
use macml::pipeline::check;
use macml::pipeline::check::Declared;
use macml::pipeline::check::Job;
use macml::pipeline::check::Locks;
use macml::pipeline::check::Mac;
use macml::pipeline::check::Outcome;
use macml::pipeline::check::Policy;
use macml::pipeline::check::Reaching;
use macml::pipeline::check::Subject;
use macml::python::Machine;
use macml::sys::Folder;
use macml::sys::fs;
use macml::target::Gpu;
use macml::target::MacosVersion;
use macml::target::Platform;
use macml::target::PythonMinor;

use crate::args::ReachArgs;
use crate::context::Context;
use crate::context::reaching;
use crate::error;
use crate::error::CommandError;
use crate::error::Kind;
use crate::printer::Level;
use crate::printer::Printer;
use crate::progress::Draw;
use crate::progress::Transfers;
use crate::report;
use crate::report::check::Report;

pub(crate) use places::Place;
pub(crate) use places::place;
pub(crate) use places::shown;

/// Prove without a Mac that an environment is the locked one and that its libraries load together
#[derive(clap::Args, Debug)]
#[command(after_help = "\
In a project: macml.lock is held against macml.toml; then, for each environment and platform in it, the environment that is \
here against the lock, and for Macs what dyld would say of its libraries and what is known of its releases, at the declared \
floor, on this Mac if this is one and its environment is here, and on each Mac of --on. MACML_ENV does not narrow it, as it \
does not narrow `macml lock`. A wheel by path outside the project, of which `macml lock` warns, is an error here; --allow \
path-outside-project accepts it.\n\n\
With --lock, the lock of another tool: uv.lock, pylock.toml, or requirements with hashes; no macml.toml is needed. With \
--prefix, an environment of venv or conda as it is, or with both, whether it is as that lock says. Off Macs --macos has to be \
there, or for --prefix --on; requirements need --python.\n\n\
Libraries are judged by facts that are read once of each wheel and kept in the cache. What was never read is told, with the \
size, and --wheels fetches it; nothing of a wheel is kept but the facts. That libraries load says nothing of what they \
compute: `macml verify` asks that, on the Mac.\n\n\
Words: current, readable, offered, as-locked, as-recorded, load, clean; stale, unfit, not-offered, differs, do-not-load, \
condemned; absent, unread, not-for-macs; unsure. For all of it: ok, the word of what is not, denied (a finding about \
macml.toml: a wheel outside the project, or what --deny names), or strict (--strict alone says no).\n\n\
With `--output-format github`, annotations for GitHub Actions are printed to standard output and the text for people to \
standard error; paths are those of the repository (GITHUB_WORKSPACE), and a table is added to the summary of the job \
(GITHUB_STEP_SUMMARY).\n\n\
Exit code: 0 nothing speaks against it, 1 something does, 2 macml could not tell. Warnings and what was not looked at change \
it with --strict only.")]
pub(crate) struct CheckArgs {
    /// Look at this environment only; may be repeated
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,

    /// Look at the files that `macml sync --target` staged in this folder, instead of the project's environments
    #[arg(long, value_name = "DIR")]
    target: Option<PathBuf>,

    /// Fetch the wheels that were never read; only what was learned of them is kept
    #[arg(long)]
    wheels: bool,

    /// Ask the indexes whether they still offer every locked file, with the same hash and not withdrawn
    #[arg(long)]
    index: bool,

    /// Judge for this Mac too, such as m5,27.0: the wheels that it takes, whether they load, what is known there; may be
    /// repeated
    #[arg(long, value_name = "CHIP,MACOS")]
    on: Vec<Mac>,

    /// Read every file of the environment, not only those whose size or time is not the one they were installed with
    #[arg(long)]
    full: bool,

    /// Make errors of findings of this kind, such as newly-known; may be repeated
    #[arg(long, value_name = "CODE")]
    deny: Vec<String>,

    /// Make notes of findings of this kind; may be repeated
    #[arg(long, value_name = "CODE")]
    allow: Vec<String>,

    /// Fail on warnings too, and where something was not looked at; an environment of another platform than this machine's
    /// does not count
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    reach: ReachArgs,

    /// Print for people, for programs, or as annotations of GitHub Actions [env: MACML_OUTPUT_FORMAT]
    #[arg(long, value_name = "FORMAT", value_enum)]
    output_format: Option<Format>,

    #[command(flatten)]
    outside: OutsideArgs,
}

/// What is looked at outside of a project.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Without macml.toml")]
struct OutsideArgs {
    /// Look at the lock of another tool: uv.lock, pylock.toml, or requirements with hashes
    #[arg(long, value_name = "FILE")]
    lock: Option<PathBuf>,

    /// Look at this environment, of venv or conda; with --lock, whether it is as the lock says
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,

    /// The lowest macOS that must do [default: this Mac's]
    #[arg(long, value_name = "VERSION")]
    macos: Option<MacosVersion>,

    /// The lowest chip that must do [default: m1]
    #[arg(long, value_name = "CHIP")]
    chip: Option<Chip>,

    /// Whether the GPU must be usable [default: required]
    #[arg(long, value_name = "WHETHER", value_enum)]
    gpu: Option<GpuArg>,

    /// The Python [default: the lowest that the lock is for, or the environment's]
    #[arg(long, value_name = "X.Y")]
    python: Option<PythonMinor>,

    /// Take this extra of the lock; may be repeated
    #[arg(long, value_name = "NAME")]
    extra: Vec<ExtraName>,

    /// Take every extra of the lock
    #[arg(long, conflicts_with = "extra")]
    all_extras: bool,

    /// Take this dependency group of the lock, beside those that count by default; may be repeated
    #[arg(long, value_name = "NAME")]
    group: Vec<ExtraName>,

    /// Take every dependency group of the lock
    #[arg(long, conflicts_with_all = ["group", "no_default_groups"])]
    all_groups: bool,

    /// Leave out the dependency groups that count by default
    #[arg(long)]
    no_default_groups: bool,

    /// Take this member of the workspace only; may be repeated
    #[arg(long, value_name = "NAME")]
    package: Vec<PackageName>,
}

/// `--output-format` of this verb.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    /// For people.
    Text,
    /// One JSON document, described by a schema of the folder schema/.
    Json,
    /// Annotations of GitHub Actions on standard output, and the text for people on standard error.
    Github,
}

/// `--gpu`.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum GpuArg {
    /// What cannot compute on the GPU is an error.
    Required,
    /// The GPU is welcome.
    Optional,
}

/// A check, and what came of it.
pub(crate) struct Done {
    /// What was asked.
    pub(crate) job: Job,
    /// What came of it.
    pub(crate) outcome: Outcome,
}

/// Runs the verb.
pub(crate) fn run(args: &CheckArgs, context: &Context, printer: &Printer) -> ExitCode {
    let format = match context.format_of(args.output_format) {
        Ok(format) => format.unwrap_or(Format::Text),
        Err(error) => return error.show(printer),
    };
    let draw = Arc::new(Draw::new(context.progress, printer));
    let done = look(args, context, &draw);
    draw.clear();
    let done = match done {
        Ok(done) => done,
        Err(error) => return fail(&error, format, context, printer),
    };
    let code = done.outcome.verdict.code();
    let written = match format {
        Format::Text if printer.level() == Level::Quiet => {
            printer.error(&text::errors(&done, context));
            Ok(())
        }
        Format::Text => printer.result(&text::text(&done, context, printer.level())),
        Format::Json => printer.data(&report::text(&Report::new(&done, context))),
        Format::Github => {
            match printer.level() {
                Level::Quiet => printer.error(&github::inert(&text::errors(&done, context))),
                level => printer.error(&github::inert(&text::text(&done, context, level))),
            }
            github::summarize(&done, context, printer);
            printer.data(&github::annotations(&done, context, printer.level()))
        }
    };
    error::finish(written, code, printer)
}

/// Tells why nothing was checked.
fn fail(error: &CommandError, format: Format, context: &Context, printer: &Printer) -> ExitCode {
    let written = match format {
        Format::Text => return error.show(printer),
        Format::Json => {
            error.show(printer);
            printer.data(&report::text(&Report::failed(error)))
        }
        Format::Github => {
            printer.error(&github::inert(&error.text()));
            printer.data(&github::failure(error, context))
        }
    };
    error::finish(written, error.kind.code(), printer)
}

fn look(args: &CheckArgs, context: &Context, draw: &Arc<Draw>) -> Result<Done, CommandError> {
    let subject = args.subject(context)?;
    let policy = args.policy()?;
    let config = context.config(args.reach.offline, &args.reach.mirror)?;
    let mut on: Vec<Mac> = Vec::new();
    for mac in &args.on {
        if !on.contains(mac) {
            on.push(mac.clone());
        }
    }
    let job = Job {
        subject,
        on,
        wheels: args.wheels,
        index: args.index,
        level: if args.full { contents::Level::Full } else { contents::Level::Times },
        policy,
        host: context.host()?,
        here: here(context),
        cache: config.cache_dir.clone(),
        now: SystemTime::now(),
    };
    let mut connect = reaching(&config, draw);
    let mut open = |indexes: &[IndexSpec]| {
        let source = OnlineSource::new(&declaring(&config, indexes), Arc::new(Transfers(draw.clone())))?;
        Ok(Box::new(source) as Box<dyn Source>)
    };
    let download = |indexes: &[IndexSpec], wanted: &[_]| {
        Downloads::begin(&declaring(&config, indexes), wanted, Arc::new(Transfers(draw.clone())))
    };
    let reaching = Reaching { connect: &mut connect, open: &mut open, download: &download };
    let outcome = check::check(&job, reaching, &**draw).map_err(|error| failed(error, context))?;
    Ok(Done { job, outcome })
}

/// Turns what stood in the way into what people read.
fn failed(error: check::Error, context: &Context) -> CommandError {
    use check::Error;
    let hint = match &error {
        Error::Pipeline(pipeline::Error::Manifest(manifest::Error::NotFound { .. })) => lock_of_another(context),
        Error::Staged(error) => error.remedy(),
        Error::Foreign(error) => error.hint().map(str::to_owned),
        Error::Prefix(error) => error.hint(),
        Error::NotOfAMac { .. } => Some("leave `--prefix` out: the lock is judged by its wheels then".to_owned()),
        Error::Pipeline(_) | Error::Connect(_) | Error::Disk(_) => None,
    };
    let error = match error {
        Error::Pipeline(error) => CommandError::from_pipeline(error, context),
        Error::Connect(error) => CommandError::new(Kind::Index, error),
        Error::Disk(error) => CommandError::from_disk(error),
        error => CommandError::new(Kind::Usage, error),
    };
    hint.into_iter().fold(error, CommandError::hint)
}

/// Says how the lock of another tool is looked at, where one lies in the working folder.
fn lock_of_another(context: &Context) -> Option<String> {
    let is_file = |name: &&str| matches!(fs::kind(&context.cwd.join(name)), Ok(Some(fs::Kind::File)));
    let name = ["uv.lock", "pylock.toml"].into_iter().find(is_file)?;
    Some(format!(
        "`macml check --lock {name} --macos 14.0` looks at the `{name}` that is here, and needs no macml.toml"
    ))
}

/// Returns the platform whose environments can be on this machine, or on the recorded Mac that stands for it.
fn here(context: &Context) -> Option<Platform> {
    match &context.host {
        Some(_) => Some(Platform::MacosArm64),
        None => Platform::of(&Machine::here(&context.env)?),
    }
}

/// Adds indexes that are declared elsewhere than in a manifest.
fn declaring(config: &Config, indexes: &[IndexSpec]) -> Config {
    let address = |index: &IndexSpec| IndexAddress { name: index.name.clone(), url: index.url.clone() };
    Config { indexes: indexes.iter().map(address).collect(), ..config.clone() }
}

impl CheckArgs {
    /// Decides what is looked at, and refuses what says nothing there.
    fn subject(&self, context: &Context) -> Result<Subject, CommandError> {
        let outside = &self.outside;
        let at = |path: &Path| context.cwd.join(path);
        match (&outside.lock, &outside.prefix) {
            (None, None) => {
                self.refuse_outside(context)?;
                let data = context.env.folder(Folder::Data).map(|data| data.join("macml"));
                Ok(Subject::Project {
                    start: context.start.clone(),
                    home: context.env.home().map(PathBuf::from),
                    data,
                    version: crate::context::version(),
                    only: self.env.clone(),
                    target: self.target.as_deref().map(at),
                })
            }
            (Some(lock), prefix) => {
                self.refuse_inside("--lock", "another tool's lock has one environment")?;
                if self.full && prefix.is_none() {
                    return Err(CommandError::usage(
                        "`--full` reads the files of an environment, and `--lock` has none",
                    )
                    .hint("`--prefix DIR` names the environment that is to be as the lock says"));
                }
                if self.wheels && prefix.is_some() {
                    return Err(CommandError::usage(
                        "`--wheels` fetches wheels, and with `--prefix` its own libraries are judged",
                    )
                    .hint("leave one of the two out"));
                }
                Ok(Subject::Lock(Box::new(Locks {
                    file: at(lock),
                    declared: outside.declared(),
                    choice: outside.choice(),
                    prefix: prefix.as_deref().map(at),
                })))
            }
            (None, Some(prefix)) => {
                self.refuse_inside("--prefix", "a folder has one environment")?;
                for (flag, there) in [("--wheels", self.wheels), ("--index", self.index)] {
                    if there {
                        let text = format!("`{flag}` is about locked files, and `--prefix` alone has no lock");
                        return Err(CommandError::usage(text)
                            .hint("`--lock FILE` names the lock that the environment is to be as"));
                    }
                }
                if let Some(flag) = outside.choosing() {
                    return Err(needs_lock(flag));
                }
                Ok(Subject::Prefix { root: at(prefix), declared: outside.declared() })
            }
        }
    }

    /// Refuses what only makes sense outside of a project.
    fn refuse_outside(&self, context: &Context) -> Result<(), CommandError> {
        let outside = &self.outside;
        if let Some(flag) = outside.choosing() {
            return Err(needs_lock(flag));
        }
        let declaring = [
            ("--macos", outside.macos.is_some()),
            ("--chip", outside.chip.is_some()),
            ("--gpu", outside.gpu.is_some()),
            ("--python", outside.python.is_some()),
        ];
        if let Some((flag, _)) = declaring.iter().find(|(_, there)| *there) {
            let text =
                format!("`{flag}` goes with `--lock FILE` or `--prefix DIR`: in a project macml.toml declares it");
            let error = CommandError::usage(text).hint("`--on m5,27.0` asks about another Mac of the project");
            return Err(lock_of_another(context).into_iter().fold(error, CommandError::hint));
        }
        if self.target.is_some() && !self.env.is_empty() {
            return Err(CommandError::usage("what `--target` names says itself of which environment it is")
                .hint("leave `--env` out"));
        }
        Ok(())
    }

    /// Refuses what only makes sense in a project.
    fn refuse_inside(&self, with: &str, why: &str) -> Result<(), CommandError> {
        if !self.env.is_empty() {
            let text = format!("`--env` names environments of macml.toml, and with `{with}` none is read");
            return Err(CommandError::usage(text).hint(format!("leave `--env` out: {why}")));
        }
        if self.target.is_some() {
            let text = format!("`--target` names what `macml sync` staged, and with `{with}` no macml.toml is read");
            return Err(CommandError::usage(text).hint("`--prefix DIR` takes any environment, staged ones too"));
        }
        Ok(())
    }

    fn policy(&self) -> Result<Policy, CommandError> {
        let deny = codes("--deny", &self.deny)?;
        let allow = codes("--allow", &self.allow)?;
        if let Some(both) = deny.intersection(&allow).next() {
            return Err(
                CommandError::usage(format!("`{both}` is both denied and allowed")).hint("leave one of the two out")
            );
        }
        Ok(Policy { deny, allow, strict: self.strict })
    }
}

impl OutsideArgs {
    fn declared(&self) -> Declared {
        let lowest = || "m1".parse().expect("the first chip is one");
        Declared {
            macos: self.macos,
            chip: self.chip.clone().unwrap_or_else(lowest),
            gpu: match self.gpu {
                None | Some(GpuArg::Required) => Gpu::Required,
                Some(GpuArg::Optional) => Gpu::Optional,
            },
            python: self.python,
        }
    }

    fn choice(&self) -> Choice {
        let chosen = |all: bool, names: &[ExtraName]| if all { Chosen::All } else { Chosen::Named(names.to_vec()) };
        Choice {
            members: self.package.clone(),
            extras: chosen(self.all_extras, &self.extra),
            groups: chosen(self.all_groups, &self.group),
            default_groups: !self.no_default_groups,
        }
    }

    /// Returns the first flag that says what of a lock is taken.
    fn choosing(&self) -> Option<&'static str> {
        let flags = [
            ("--extra", !self.extra.is_empty()),
            ("--all-extras", self.all_extras),
            ("--group", !self.group.is_empty()),
            ("--all-groups", self.all_groups),
            ("--no-default-groups", self.no_default_groups),
            ("--package", !self.package.is_empty()),
        ];
        flags.into_iter().find(|(_, there)| *there).map(|(flag, _)| flag)
    }
}

fn needs_lock(flag: &str) -> CommandError {
    CommandError::usage(format!("`{flag}` says what of another tool's lock is taken, and there is no `--lock`"))
        .hint("`--lock FILE` names it: uv.lock, pylock.toml, or requirements with hashes")
}

/// Reads the codes of findings that a flag names.
fn codes(flag: &str, typed: &[String]) -> Result<BTreeSet<Code>, CommandError> {
    let code = |text: &String| {
        let found = Code::ALL.iter().find(|code| code.as_str() == text);
        found.copied().ok_or_else(|| {
            let known: Vec<String> = Code::ALL.iter().map(ToString::to_string).collect();
            let error = CommandError::usage(format!("`{flag}`: there is no finding called `{text}`"));
            error.hint(match error::nearest(text, &known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "each finding is printed with its name, as in `error[library-missing]`".to_owned(),
            })
        })
    };
    typed.iter().map(code).collect()
}
