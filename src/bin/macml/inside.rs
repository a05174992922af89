//! What is inside an environment of the project: bringing it in line with its lock, holding it, and the variables that a
//! program gets which runs in it. Shared by the verbs that start programs there.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use macml::environment::Activation;
use macml::environment::Change;
use macml::environment::Generation;
use macml::environment::Generations;
use macml::environment::InUse;
use macml::environment::Place;
use macml::manifest;
use macml::manifest::Project;
use macml::pipeline;
use macml::pipeline::verify::Locked;
use macml::pipeline::verify::lock_in;
use macml::sys::Folder;
use macml::sys::fs;
use macml::sys::tree;
use macml::target::Platform;
use macml::verify::Circumstances;
use macml::verify::Subject;

use crate::args::ReachArgs;
use crate::commands::sync;
use crate::commands::sync::SyncArgs;
use crate::context;
use crate::context::Context;
use crate::error::CommandError;
use crate::error::Kind;
use crate::printer::Printer;
use crate::printer::WARN;
use crate::printer::styled;

/// Which environment, and how far it is brought in line first.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct InsideArgs {
    /// The environment of macml.toml that is meant [env: MACML_ENV] [default: default]
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Option<String>,

    /// Take the environment as it is, be it not as locked [env: MACML_NO_SYNC]
    #[arg(long, conflicts_with_all = ["locked", "frozen", "offline"])]
    pub(crate) no_sync: bool,

    /// Fail where macml.lock does not answer macml.toml, instead of solving [env: MACML_LOCKED]
    #[arg(long, conflicts_with = "frozen")]
    pub(crate) locked: bool,

    /// Take macml.lock as it is, whatever macml.toml says by now [env: MACML_FROZEN]
    #[arg(long)]
    pub(crate) frozen: bool,

    /// Use what the cache has and ask no index [env: MACML_OFFLINE]
    #[arg(long)]
    pub(crate) offline: bool,
}

/// An environment of the project that is there, and stays while this value lives.
#[derive(Debug)]
pub(crate) struct Inside {
    /// The project.
    pub(crate) project: Project,
    /// Where the environment lies.
    pub(crate) place: Place,
    /// The generation at the link.
    pub(crate) generation: Generation,
    /// Whether it was brought in line with its lock just now.
    pub(crate) in_line: bool,
    /// Keeps it; a program that this process becomes or starts keeps it too.
    pub(crate) held: InUse,
}

impl Inside {
    /// Brings the environment in line with its lock, unless that is not wanted, and holds it.
    pub(crate) fn enter(args: &InsideArgs, context: &Context, printer: &Printer) -> Result<Self, CommandError> {
        let project = context.project()?.ok_or_else(|| {
            let error = manifest::Error::NotFound { start: context.start.clone() };
            CommandError::from_pipeline(pipeline::Error::Manifest(error), context)
        })?;
        let place = place(args.env.as_deref(), context, &project)?;
        let in_line = !args.no_sync && !context::flag(&context.env, "MACML_NO_SYNC")?;
        if in_line {
            let wanted = SyncArgs {
                locked: args.locked,
                frozen: args.frozen,
                reach: ReachArgs { offline: args.offline, ..ReachArgs::default() },
                env: context.env_name(args.env.as_deref()).map(str::to_owned).into_iter().collect(),
                ..SyncArgs::default()
            };
            sync::make_ready(&wanted, context, printer).map_err(|error| match Generations::current(&place) {
                Ok(Some(_)) => error.hint("`--no-sync` takes the environment as it is"),
                _ => error,
            })?;
        }
        let (generation, held) = ready(context, &place)?;
        Ok(Self { project, place, generation, in_line, held })
    }

    /// Returns the folder of the environment's programs.
    pub(crate) fn bin(&self) -> PathBuf {
        self.generation.path.join("bin")
    }

    /// Returns PATH with the generation's programs first, and without the folders that lead to environments otherwise: the
    /// project's own link, which may lead elsewhere in a moment, and what was active before.
    pub(crate) fn search_path(&self, context: &Context) -> OsString {
        let own = self.bin();
        let before = context.env.raw("VIRTUAL_ENV").map(|before| Path::new(before).join("bin"));
        let inherited = context.env.raw("PATH").unwrap_or(OsStr::new("/usr/bin:/bin"));
        let stale = |entry: &Path| {
            // Paths compare by their parts: with a slash behind it is the same.
            entry == own || entry == self.place.link.join("bin") || before.as_deref() == Some(entry)
        };
        let mut path = own.clone().into_os_string().into_vec();
        for entry in inherited.as_bytes().split(|byte| *byte == b':') {
            if !stale(Path::new(OsStr::from_bytes(entry))) {
                path.push(b':');
                path.extend_from_slice(entry);
            }
        }
        OsString::from_vec(path)
    }

    /// Lists the variables that a program in it gets otherwise than this process: those without a value go.
    pub(crate) fn changes(&self, context: &Context, path: OsString) -> BTreeMap<OsString, Option<OsString>> {
        let activation = Activation {
            root: self.generation.path.clone(),
            prompt: self.project.manifest.prompt(&self.place.env),
            run_env: self.project.manifest.run_env.clone(),
        };
        let value = |change| match change {
            Change::Set(value) => Some(OsString::from(value)),
            Change::Unset => None,
        };
        let all = activation.changes(context.env.get("PATH"), context.env.get("VIRTUAL_ENV")).into_iter();
        let mut changes: BTreeMap<OsString, _> = all.map(|(name, change)| (name.into(), value(change))).collect();
        changes.extend(MISLEADING.map(|name| (name.into(), None)));
        // Neither has to be text.
        changes.insert("PATH".into(), Some(path));
        changes.insert("VIRTUAL_ENV".into(), Some(self.generation.path.clone().into_os_string()));
        changes
    }

    /// Returns it as what probes are started in.
    fn subject(&self, context: &Context) -> Result<Subject, CommandError> {
        let mut vars = context.env.all();
        for (name, value) in self.changes(context, self.search_path(context)) {
            // A probe is given text alone.
            let Ok(name) = name.into_string() else { continue };
            match value.map(OsString::into_string) {
                Some(Ok(value)) => drop(vars.insert(name, value)),
                _ => drop(vars.remove(&name)),
            }
        }
        let subject = Subject::inside(&self.generation.path, &self.place.env, vars);
        let subject = subject.map_err(|error| CommandError::new(Kind::Disk, error))?;
        subject.ok_or_else(|| CommandError::usage(format!("`{}` has no Python", context.shown(&self.place.link))))
    }

    /// Says of what something is measured in it: of which lock and content, on which machine.
    pub(crate) fn circumstances(&self, context: &Context) -> Result<Circumstances, CommandError> {
        let lockfile = lock_in(self.project.folder())
            .map_err(|error| CommandError::from_pipeline(pipeline::Error::Lockfile(error), context))?;
        let stamp = self.generation.stamp().map_err(|error| CommandError::new(Kind::Disk, error))?;
        let host = context.host()?;
        let platform = stamp.as_ref().and_then(|stamp| stamp.platform.parse::<Platform>().ok());
        let entry = platform.and_then(|platform| lockfile.as_ref()?.env(&self.place.env, platform));
        Ok(match (&lockfile, entry, &stamp) {
            (Some(lockfile), Some(entry), Some(stamp)) => {
                let locked = Locked {
                    folder: self.project.folder(),
                    lockfile,
                    entry,
                    content: &stamp.content,
                    host: host.as_ref(),
                };
                locked.circumstances()
            }
            _ => Circumstances::of(None, stamp.map(|stamp| stamp.content), host.as_ref()),
        })
    }

    /// Warns of packages of another Python that PYTHONPATH would put before those that were locked.
    pub(crate) fn warn_of_strangers(&self, context: &Context, printer: &Printer) {
        let Some(path) = context.env.raw("PYTHONPATH") else { return };
        for entry in path.as_bytes().split(|byte| *byte == b':').map(|entry| Path::new(OsStr::from_bytes(entry))) {
            let packages = entry.ends_with("site-packages") || entry.ends_with("dist-packages");
            if packages && !entry.starts_with(&self.generation.path) {
                let text = "PYTHONPATH puts the packages of another Python before those of the environment";
                printer.aside(&format!("{}: {text}: `{}`\n", styled(WARN, "warning"), entry.display()));
            }
        }
    }
}

/// Returns the environment that is meant as what probes are started in: the folder of one that macml did not make, or one of
/// the project, in line with its lock and held.
pub(crate) fn subject(
    folder: Option<&Path>,
    args: &InsideArgs,
    context: &Context,
    printer: &Printer,
) -> Result<(Option<Inside>, Subject), CommandError> {
    match folder {
        Some(folder) => Ok((None, prefix(folder, context)?)),
        None => {
            let inside = Inside::enter(args, context, printer).map_err(|error| match context.project() {
                Ok(None) => error.hint("`--prefix DIR` takes an environment that is no project's"),
                _ => error,
            })?;
            let subject = inside.subject(context)?;
            Ok((Some(inside), subject))
        }
    }
}

/// Returns an environment that macml did not make, as what probes are started in.
fn prefix(typed: &Path, context: &Context) -> Result<Subject, CommandError> {
    let root = context.cwd.join(typed);
    if matches!(fs::kind(&root), Ok(None)) {
        let error = CommandError::usage(format!("there is no `{}`", context.shown(&root)));
        return Err(error.hint("name the folder of an environment, of venv or conda"));
    }
    let activation = Activation { root: root.clone(), prompt: String::new(), run_env: BTreeMap::new() };
    let mut vars = context.env.all();
    for (name, change) in activation.changes(context.env.get("PATH"), context.env.get("VIRTUAL_ENV")) {
        match change {
            Change::Set(value) => drop(vars.insert(name, value)),
            Change::Unset => drop(vars.remove(&name)),
        }
    }
    MISLEADING.iter().for_each(|name| drop(vars.remove(*name)));
    let subject = Subject::inside(&root, &context.shown(&root), vars);
    let subject = subject.map_err(|error| CommandError::new(Kind::Disk, error))?;
    subject.ok_or_else(|| {
        CommandError::usage(format!("`{}` is no environment of Python", context.shown(&root)))
            .hint("name the folder that has `bin/python` and `lib/python3.X/site-packages` in it")
    })
}

/// Variables that would make the environment's Python another one: these say which program it is, as the launcher of
/// python.org's and Homebrew's says to what it starts.
const MISLEADING: [&str; 2] = ["PYTHONEXECUTABLE", "__PYVENV_LAUNCHER__"];

/// Finds where the environment lies.
fn place(typed: Option<&str>, context: &Context, project: &Project) -> Result<Place, CommandError> {
    let name = context.env_name(typed).unwrap_or("default");
    pipeline::env(&project.manifest.envs, name).map_err(|error| CommandError::from_pipeline(error, context))?;
    let data = context.env.folder(Folder::Data).map(|data| data.join("macml"));
    Place::within(project.folder(), name, context.env.home(), data.as_deref())
        .map_err(|error| CommandError::new(Kind::Disk, error))
}

/// Demands that the environment is there, and keeps it.
fn ready(context: &Context, place: &Place) -> Result<(Generation, InUse), CommandError> {
    /// Each time the environment must have been replaced and cleaned away within a moment.
    const MOST_TRIES: u32 = 3;
    let mut tries = 0;
    loop {
        let current = Generations::current(place).map_err(|error| CommandError::new(Kind::Disk, error))?;
        let Some(generation) = current else {
            let link = context.shown(&place.link);
            return Err(CommandError::usage(format!("there is no environment at `{link}`")).hint(match &*place.env {
                "default" => "`macml sync` makes it".to_owned(),
                other => format!("`macml sync --env {other}` makes it"),
            }));
        };
        match generation.hold().and_then(InUse::inherited) {
            Ok(held) => {
                let python = generation.path.join("bin/python");
                return match fs::kind(&python).map_err(|error| CommandError::new(Kind::Disk, error))? {
                    Some(_) => Ok((generation, held)),
                    None => Err(without_python(context, place, &python)),
                };
            }
            Err(error) if tries == MOST_TRIES => return Err(CommandError::new(Kind::Disk, error)),
            Err(_) => tries += 1,
        }
    }
}

/// Makes the error for an environment whose Python was removed since it was built.
fn without_python(context: &Context, place: &Place, python: &Path) -> CommandError {
    let link = context.shown(&place.link);
    let text = match tree::read_link(python) {
        Ok(Some(target)) => format!("the Python of `{link}` is gone: there is no `{}`", target.display()),
        _ => format!("`{link}` has no Python"),
    };
    CommandError::usage(text).hint("`macml sync` builds it with one that is there")
}
