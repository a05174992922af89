//! `macml env`: the environments of a project on disk, the way back to the generation before, and their end.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use macml::environment;
use macml::environment::Built;
use macml::environment::Generations;
use macml::environment::Known;
use macml::environment::Listed;
use macml::environment::ListedGeneration;
use macml::environment::PackageChange;
use macml::environment::Place;
use macml::environment::Replace;
use macml::environment::Stamp;
use macml::environment::Standing;
use macml::manifest;
use macml::pipeline;
use macml::sys::Folder;
use macml::sys::disk::Bytes;
use macml::sys::fs::FsError;

use crate::amount;
use crate::args::FormatArg;
use crate::args::OutputArgs;
use crate::commands::sync;
use crate::context::Context;
use crate::error;
use crate::error::CommandError;
use crate::error::Kind;
use crate::printer::BAD;
use crate::printer::GOOD;
use crate::printer::NAME;
use crate::printer::Printer;
use crate::printer::WARN;
use crate::printer::styled;
use crate::report;
use crate::report::env::Change;
use crate::report::env::Report;
use crate::report::env::State;
use crate::report::env::Verb;

/// List the environments on disk, go back to the one before, or remove them
#[derive(clap::Args, Debug)]
pub(crate) struct EnvArgs {
    #[command(subcommand)]
    verb: EnvVerb,
}

/// The verbs below `macml env`.
#[derive(clap::Subcommand, Debug)]
enum EnvVerb {
    List(ListArgs),
    Rollback(RollbackArgs),
    Remove(RemoveArgs),
}

/// List every environment with its generations, the newest first
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Each `macml sync` that changes something builds a generation, to which .venv then leads. Shown are those of macml.toml \
and those that are left of others.
Exit code: 0, also when there is none; 2 macml could not tell.")]
struct ListArgs {
    /// Add up the files of each generation; those that it shares with others or with the cache count in each
    #[arg(long)]
    size: bool,

    #[command(flatten)]
    output: OutputArgs,
}

/// Make an environment again what it was before the last sync
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Nothing is built or downloaded: .venv is made to lead to the generation that it led to before. A second rollback leads \
back, as `cd -` does. macml.toml and macml.lock stay as they are, so that the next `macml sync` goes forward again, and \
so does `macml run` without `--no-sync`: to stay, bring back the old macml.lock first.
Exit code: 0 done, 1 there is no generation before, 2 macml could not.")]
struct RollbackArgs {
    /// The environment [default: default]
    #[arg(long, value_name = "NAME", default_value = "default", hide_default_value = true)]
    env: String,

    #[command(flatten)]
    output: OutputArgs,
}

/// Remove environments: the link and every generation
#[derive(clap::Args, Debug)]
#[command(after_help = "\
What macml did not make stays, and so do generations in which something runs that `macml run` started. macml.toml and \
macml.lock are not changed: `macml sync` builds the environment again.
Exit code: 0 done, 1 something stays, 2 macml could not.")]
struct RemoveArgs {
    /// The environments, of macml.toml or left over
    #[arg(value_name = "NAME", required_unless_present = "all")]
    names: Vec<String>,

    /// Remove every environment of the project
    #[arg(long, conflicts_with = "names")]
    all: bool,

    #[command(flatten)]
    output: OutputArgs,
}

/// What came of a verb.
struct Answer {
    report: Report,
    text: String,
    /// What is not as asked for, though there is an answer.
    error: Option<CommandError>,
}

/// Runs the verb.
pub(crate) fn run(args: &EnvArgs, context: &Context, printer: &Printer) -> ExitCode {
    let (output, verb) = match &args.verb {
        EnvVerb::List(args) => (&args.output, Verb::List),
        EnvVerb::Rollback(args) => (&args.output, Verb::Rollback),
        EnvVerb::Remove(args) => (&args.output, Verb::Remove),
    };
    let format = match context.format(output.format) {
        Ok(format) => format,
        Err(error) => return error.show(printer),
    };
    let folder = Ground::of(context);
    let answer = folder.and_then(|ground| match &args.verb {
        EnvVerb::List(args) => ground.list(args, context),
        EnvVerb::Rollback(args) => ground.rollback(&args.env, context, printer),
        EnvVerb::Remove(args) => ground.remove(args, context, printer),
    });
    let answer =
        answer.unwrap_or_else(|error| Answer { report: Report::new(verb), text: String::new(), error: Some(error) });
    let code = answer.error.as_ref().map_or(0, |error| error.kind.code());
    let report = match &answer.error {
        Some(error) => answer.report.failed(error),
        None => answer.report,
    };
    let written = match format {
        FormatArg::Json => printer.data(&report::text(&report)),
        FormatArg::Text if answer.text.is_empty() => Ok(()),
        FormatArg::Text => printer.result(&answer.text),
    };
    answer.error.iter().for_each(|error| printer.error(&error.text()));
    error::finish(written, code, printer)
}

/// Where a project's environments are looked for.
struct Ground {
    project: PathBuf,
    /// The environments of macml.toml, in its order.
    declared: Vec<String>,
    home: Option<PathBuf>,
    data: Option<PathBuf>,
    state: Option<PathBuf>,
}

impl Ground {
    fn of(context: &Context) -> Result<Self, CommandError> {
        let project = context.project()?.ok_or_else(|| {
            let error = manifest::Error::NotFound { start: context.start.clone() };
            CommandError::from_pipeline(pipeline::Error::Manifest(error), context)
        })?;
        let folder = |kind| context.env.folder(kind).map(|folder| folder.join("macml"));
        Ok(Self {
            project: project.folder().to_owned(),
            declared: project.manifest.envs.iter().map(|env| env.name.clone()).collect(),
            home: context.env.home().map(PathBuf::from),
            data: folder(Folder::Data),
            state: folder(Folder::State),
        })
    }

    fn place(&self, env: &str) -> Result<Place, FsError> {
        Place::within(&self.project, env, self.home.as_deref(), self.data.as_deref())
    }

    /// Looks at every environment: the declared ones, then those that are left over.
    fn all(&self) -> Result<Vec<Listed>, FsError> {
        let mut all = Vec::new();
        for env in &self.declared {
            all.push(Listed::of(self.place(env)?)?);
        }
        for env in environment::names(&self.place("default")?)? {
            if !self.declared.contains(&env) {
                let listed = Listed::of(self.place(&env)?)?;
                // Somebody else's `.venv-old` is none of the project's.
                if listed.is_there() {
                    all.push(listed);
                }
            }
        }
        Ok(all)
    }

    /// Finds an environment by its name, which must be one of the project's: a name is a part of paths.
    fn find(&self, name: &str, context: &Context) -> Result<Listed, CommandError> {
        let all = self.all().map_err(disk)?;
        let known = all.iter().map(|listed| listed.place.env.clone()).collect();
        all.into_iter().find(|listed| listed.place.env == name).ok_or_else(|| {
            CommandError::from_pipeline(pipeline::Error::UnknownEnv { name: name.to_owned(), known }, context)
        })
    }

    fn open(place: &Place, context: &Context, printer: &Printer) -> Result<Generations, CommandError> {
        let mut waiting = || {
            let text = "waiting for another macml that changes environments of this project";
            printer.aside(&format!("{}: {text}\n", styled(NAME, "note")));
        };
        Generations::open(place, &mut waiting).map_err(|error| failed(error, context))
    }

    fn list(&self, args: &ListArgs, context: &Context) -> Result<Answer, CommandError> {
        let mut environments = Vec::new();
        let mut lines = Vec::new();
        for listed in self.all().map_err(disk)? {
            let declared = self.declared.contains(&listed.place.env);
            let mut sizes = BTreeMap::new();
            for one in listed.generations.iter().filter(|_| args.size) {
                sizes.insert(one.generation.name.clone(), one.weigh().map_err(disk)?.1);
            }
            let size = |one: &ListedGeneration| sizes.get(&one.generation.name).copied();
            let link = context.shown(&self.project.join(Place::link_name(&listed.place.env)));
            lines.push(heading(&listed, declared, &link));
            let now = SystemTime::now();
            lines.extend(listed.generations.iter().map(|one| line(one, size(one), now)));
            environments.push(report::env::Environment {
                name: listed.place.env.clone(),
                declared,
                link: listed.place.link.display().to_string(),
                state: state(&listed),
                store: listed.place.store.display().to_string(),
                generations: listed.generations.iter().map(|one| reported(one, size(one))).collect(),
            });
        }
        let report = Report { environments: Some(environments), ..Report::new(Verb::List) };
        Ok(Answer { report, text: lines.join("\n") + "\n", error: None })
    }

    fn rollback(&self, name: &str, context: &Context, printer: &Printer) -> Result<Answer, CommandError> {
        let listed = self.find(name, context)?;
        let none = || {
            CommandError::new(Kind::Refused, format!("environment `{name}` has no generation before this one"))
                .hint("each `macml sync` that changes something leaves the one before")
        };
        // Opening makes folders, which nobody asked for where there is nothing.
        if !listed.generations.iter().any(|one| one.before) {
            return Err(none());
        }
        let generations = Self::open(&listed.place, context, printer)?;
        let current = Generations::current(&listed.place).map_err(disk)?;
        let before = generations.before().map_err(disk)?.ok_or_else(none)?;
        let from = current.as_ref().map(environment::Generation::stamp).transpose().map_err(disk)?.flatten();
        let to = before.stamp().map_err(disk)?.ok_or_else(none)?;
        generations.activate(&before, Replace::Never).map_err(|error| failed(error, context))?;
        let noted = self.note(&listed.place, &before);
        let trusted = *noted.as_ref().unwrap_or(&false);
        drop(generations);

        let changes = changes(from.as_ref(), &to);
        let shown = context.shown(&self.project.join(Place::link_name(name)));
        let mut lines = changes.iter().map(sync::change).collect::<Vec<_>>();
        if changes.is_empty() && from.is_some() {
            lines.push("the packages are the same".to_owned());
        }
        lines.push(format!(
            "{} is what was built {}: Python {}, {}",
            styled(GOOD, shown),
            amount::ago(to.built, SystemTime::now()),
            to.python,
            amount::count(to.packages.len(), "package")
        ));
        if let Err(error) = &noted {
            printer.aside(&no_note(error));
        } else if !trusted {
            let text = "this generation is not known as one that macml built here as it is: no shell activates it by \
                        itself until `macml sync`";
            printer.aside(&format!("{}: {text}\n", styled(WARN, "warning")));
        }
        let rollback = report::env::Rollback {
            environment: name.to_owned(),
            from: current.map(|current| current.name.to_string()),
            to: before.name.to_string(),
            changes: changes.into_iter().map(Change::from).collect(),
            trusted,
        };
        let report = Report { rollback: Some(rollback), ..Report::new(Verb::Rollback) };
        Ok(Answer { report, text: lines.join("\n") + "\n", error: None })
    }

    /// Makes the note on what counts that of another generation, if this user's macml built that; says whether it counts.
    fn note(&self, place: &Place, generation: &environment::Generation) -> Result<bool, FsError> {
        let Some(state) = &self.state else { return Ok(false) };
        if let Some(built) = Built::of_earlier(state, place, generation)? {
            built.write(state, place)?;
        }
        Ok(matches!(Known::of(state, place)?, Known::Built(_)))
    }

    fn remove(&self, args: &RemoveArgs, context: &Context, printer: &Printer) -> Result<Answer, CommandError> {
        let chosen = match args.all {
            true => self.all().map_err(disk)?,
            false => args.names.iter().map(|name| self.find(name, context)).collect::<Result<_, _>>()?,
        };
        let (mut removed, mut lines, mut stays) = (Vec::new(), Vec::new(), Vec::new());
        for listed in chosen {
            let Place { env, link, .. } = listed.place.clone();
            let link = context.shown(&self.project.join(link.file_name().unwrap_or_default()));
            if listed.standing == Standing::Foreign {
                stays.push(format!("`{link}` was not made by macml"));
            }
            if !listed.is_there() {
                if listed.standing != Standing::Foreign && !args.all {
                    lines.push(format!("environment `{env}` is not built: nothing to remove"));
                }
                continue;
            }
            let generations = Self::open(&listed.place, context, printer)?;
            let in_use = generations.remove().map_err(|error| failed(error, context))?;
            if let Some(state) = &self.state {
                // Without a generation it says nothing to anybody.
                if let Err(error) = Built::forget_all(state, &listed.place) {
                    printer.aside(&format!("{}: {error} ({})\n", styled(WARN, "warning"), error.cause));
                }
            }
            let in_use: Vec<String> = in_use.iter().map(|one| one.path.display().to_string()).collect();
            stays.extend(in_use.iter().map(|path| format!("something runs in `{}`", context.shown(Path::new(path)))));
            let count = listed.generations.len().saturating_sub(in_use.len());
            let gone = amount::count(count, "generation");
            lines.push(format!("{} environment `{env}`: {gone}", styled(GOOD, "removed")));
            removed.push(report::env::Removed { environment: env, generations: count, in_use });
        }
        if lines.is_empty() && stays.is_empty() {
            lines.push("no environment is built: nothing to remove".to_owned());
        }
        let error = (!stays.is_empty()).then(|| {
            let error = CommandError::new(Kind::Refused, "not all of it was removed");
            CommandError { reasons: stays, ..error }
        });
        let report = Report { removed: Some(removed), ..Report::new(Verb::Remove) };
        let text = lines.iter().map(|line| format!("{line}\n")).collect();
        Ok(Answer { report, text, error })
    }
}

/// Warns that this user's notes could not be changed; what they are of is as asked for.
fn no_note(error: &FsError) -> String {
    let remedy = "XDG_STATE_HOME names another folder for such notes";
    format!("{}: no shell activates it by itself: {error} ({}); {remedy}\n", styled(WARN, "warning"), error.cause)
}

fn disk(error: FsError) -> CommandError {
    CommandError::from_disk(error)
}

fn failed(error: environment::Error, context: &Context) -> CommandError {
    match error {
        environment::Error::Foreign { link } => {
            let link = context.shown(&link);
            CommandError::new(Kind::Environment, format!("`{link}` was not made by macml, and stays as it is"))
                .hint("give it another name, or remove it")
        }
        environment::Error::File(error) => disk(error),
        environment::Error::Obstacle { .. } => CommandError::new(Kind::Environment, error).hint("move it away"),
        error => CommandError::new(Kind::Environment, error),
    }
}

fn state(listed: &Listed) -> State {
    match listed.standing {
        Standing::Nothing => State::Absent,
        Standing::Foreign => State::Foreign,
        Standing::Ours(_) if listed.generations.iter().any(|one| one.current) => State::Active,
        Standing::Ours(_) => State::Broken,
    }
}

/// Says what an environment is, and what stands at its link.
fn heading(listed: &Listed, declared: bool, link: &str) -> String {
    let state = match state(listed) {
        State::Active => link.to_owned(),
        State::Broken => format!("{link}, {}", styled(BAD, "which leads to nothing: `macml sync` builds it")),
        State::Absent if listed.generations.is_empty() => "not built".to_owned(),
        State::Absent => format!("no {link}: `macml sync` makes it"),
        State::Foreign => format!("{link}, {}", styled(WARN, "which macml did not make")),
    };
    let left = if declared { "" } else { ", not in macml.toml" };
    format!("{}: {state}{left}", styled(NAME, &listed.place.env))
}

/// Lays out a generation.
fn line(one: &ListedGeneration, size: Option<u64>, now: SystemTime) -> String {
    let mark = if one.current { styled(GOOD, "*") } else { " ".to_owned() };
    let mut parts = vec![
        one.generation.name.to_string(),
        format!("built {}", amount::ago(one.stamp.built, now)),
        format!("Python {}", one.stamp.python),
        amount::count(one.stamp.packages.len(), "package"),
    ];
    parts.extend(size.map(|size| Bytes(size).to_string()));
    parts.extend(one.in_use.then(|| "in use".to_owned()));
    parts.extend(one.before.then(|| "`macml env rollback` leads here".to_owned()));
    format!("  {mark} {}", parts.join(", "))
}

fn reported(one: &ListedGeneration, bytes: Option<u64>) -> report::env::Generation {
    report::env::Generation {
        name: one.generation.name.to_string(),
        path: one.generation.path.display().to_string(),
        current: one.current,
        before: one.before,
        in_use: one.in_use,
        built: one.stamp.built,
        python: one.stamp.python.clone(),
        platform: one.stamp.platform.clone(),
        packages: one.stamp.packages.len(),
        bytes,
    }
}

/// Lists what is different in another generation: Python first, packages by name.
fn changes(from: Option<&Stamp>, to: &Stamp) -> Vec<PackageChange> {
    let Some(from) = from else { return Vec::new() };
    let python =
        PackageChange { name: "python".to_owned(), before: Some(from.python.clone()), after: Some(to.python.clone()) };
    let python = (from.python != to.python).then_some(python);
    python.into_iter().chain(environment::package_changes(&from.packages, &to.packages)).collect()
}
