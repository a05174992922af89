//! `macml run`: becomes a command of the environment.
//!
//! It takes the place of macml in the same process. So the exit code, signals, the terminal with its Ctrl-C and Ctrl-Z, and
//! the standard streams are the command's own, and there is nothing to pass on. With `--report-fallbacks` and
//! `--explain` it stays beside it.

mod beside;
mod fallbacks;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use macml::environment;
use macml::environment::Generation;
use macml::environment::InUse;
use macml::install::Launch;
use macml::sys;
use macml::sys::Exec;
use macml::sys::Folder;
use macml::sys::Identity;
use macml::sys::fs;
use macml::sys::fs::FsError;

use self::beside::Beside;
use self::fallbacks::Watch;
use crate::context::Context;
use crate::destination;
use crate::error::CommandError;
use crate::error::Kind;
use crate::error::listed;
use crate::error::nearest;
use crate::inside::Inside;
use crate::inside::InsideArgs;
use crate::printer::Printer;

/// Run a command in the environment
#[derive(clap::Args, Debug)]
#[command(after_help = "\
The environment is brought in line with macml.lock first, as by `macml sync`, and the lock with macml.toml.\n\n\
COMMAND is looked up among the programs of the environment and then in PATH; a file NAME.py is run by the \
environment's Python, and what is named with a `/` is taken as it is. It runs in macml's place: standard streams, \
terminal, signals and exit code are its own.\n\n\
PATH begins with the environment's programs, VIRTUAL_ENV names it, and PYTHONHOME and others that would make its \
Python another one are unset. [run.env] of macml.toml is set, also where a variable has another value already. When \
the environment is replaced meanwhile, a Python that runs keeps its packages, and so do the workers that it starts; \
commands of packages that others start later, such as a shell script, are the new ones.\n\n\
`--device cpu` sets CUDA_VISIBLE_DEVICES and JAX_PLATFORMS, and puts a file on PYTHONPATH that Python runs first: \
torch then says that it has no MPS, and refuses memory to a program that takes it all the same (\"MPS backend out \
of memory\"); TensorFlow lists no GPU; MLX begins on the CPU and refuses the GPU as default device; Core ML models \
are loaded for the CPU alone. Workers inherit it. It does not reach MLX operations that name a GPU stream, programs \
that are not Python, a Python that is started with -I, -E or -S, nor programs that undo it.\n\n\
`--report-fallbacks` sets PYTORCH_ENABLE_MPS_FALLBACK to 1 where neither [run.env] nor the shell sets it, so that the \
program goes on and every operator is found; [run.env] goes before the shell, and the report says who decided. A file on \
PYTHONPATH notes the warnings of every Python, workers included, before filters drop them, in the file that the program's \
MACML_FALLBACKS names, and what is printed to \
standard error is read along. torch warns of the first operator of a process only: it is told to warn of each, and the \
program still sees the first alone. Other warnings that torch gives once may be seen again. Of a Python that is started \
with -I, -E or -S, and of one that puts a list of its own at `warnings.filters`, only what is printed counts; an error \
that the program catches is not seen. macml stays beside the program then: standard error passes through it, as a \
terminal where it is one, so that lines of it can come a moment later than those of standard output; the exit code is \
the program's, and what ends it by a signal ends macml by the same. What the program leaves running is not waited for, \
and has no standard error any more.\n\n\
`--explain` stays beside the program in the same way, with or without `--report-fallbacks`. Where the program fails, by its \
exit code or by a signal, what it printed last is looked at, with what is known of this machine and the project; the cause \
and its remedy are printed after it, to standard error. The exit code stays the program's.\n\n\
Exit code: the command's; 126 it cannot be run, 127 there is none, as in a shell; 2 there is no environment to run \
it in, or macml could not tell.")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    inside: InsideArgs,

    /// Hide the GPU from the program, as far as is said below
    #[arg(long, value_name = "DEVICE", value_enum)]
    device: Option<DeviceArg>,

    /// Tell at the end which operators torch computed on the CPU instead of the GPU, and which failed for want of a kernel
    #[arg(long)]
    report_fallbacks: bool,

    /// Write that as JSON too (schema/fallbacks.schema.json)
    #[arg(long, value_name = "FILE", requires = "report_fallbacks")]
    fallbacks_to: Option<PathBuf>,

    /// Explain the end of what the command printed to standard error when it fails, as `macml explain` does
    #[arg(long)]
    explain: bool,

    /// The command and all that follows it
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// `--device`.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum DeviceArg {
    /// No MPS, no Metal, no CUDA.
    Cpu,
}

/// Runs the verb; returns only when it could not become the command.
pub(crate) fn run(args: &RunArgs, context: &Context, printer: &Printer) -> ExitCode {
    match prepare(args, context, printer) {
        Err(error) => error.show(printer),
        Ok(Prepared::Nothing { error, code }) => {
            error.show(printer);
            code.into()
        }
        Ok(Prepared::Ready { exec, held, beside }) => {
            let shown = exec.path.clone();
            let cause = match beside.map(|beside| beside.run(exec.clone(), context, printer)) {
                Some(Ok(code)) => return code,
                Some(Err(cause)) => cause,
                None => exec.become_it(),
            };
            drop(held);
            // It was there: what is not is what its first line names.
            let missing = cause.kind() == std::io::ErrorKind::NotFound;
            let named = missing.then(|| named_first(&shown)).flatten();
            let failed = Failed { path: context.shown(&shown), cause };
            let error = CommandError::new(Kind::Usage, failed);
            let error = match named {
                Some(named) => error.hint(format!("its first line asks for `{named}`, which is not there")),
                None => error,
            };
            error.show(printer);
            NOT_RUNNABLE.into()
        }
    }
}

/// What a shell says of a command that is there and cannot be run.
const NOT_RUNNABLE: u8 = 126;
/// What a shell says of a command that is not there.
const NOT_FOUND: u8 = 127;

/// Returns the program that the first line of a script names.
fn named_first(script: &Path) -> Option<String> {
    let start = fs::read_start(script, Launch::MOST).ok()??;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    String::from_utf8_lossy(line).split_whitespace().next().map(str::to_owned)
}

/// What to become, or why nothing.
enum Prepared {
    /// The program, the lock that it inherits, and what is done beside it.
    Ready { exec: Exec, held: InUse, beside: Option<Beside> },
    /// There is no such command.
    Nothing { error: CommandError, code: u8 },
}

/// The system did not start it.
#[derive(Debug, thiserror::Error)]
#[error("could not run `{path}`")]
struct Failed {
    path: String,
    #[source]
    cause: std::io::Error,
}

fn prepare(args: &RunArgs, context: &Context, printer: &Printer) -> Result<Prepared, CommandError> {
    if let Some(file) = &args.fallbacks_to {
        // The program may run for days.
        destination::in_folder(file, context)?;
    }
    let inside = Inside::enter(&args.inside, context, printer)?;
    let generation = &inside.generation;
    let Some((name, rest)) = args.command.split_first() else {
        let error = CommandError::usage("there is no command to run");
        return Err(error.hint(format!("the environment has {}", listed(&commands(generation)))));
    };
    let path = inside.search_path(context);
    let lookup = Lookup { context, generation, link: &inside.place.link, path: &path };
    let (file, name, args_of_it) = match lookup.find(name).map_err(|error| CommandError::new(Kind::Disk, error))? {
        Found::Program { path, name, before } => (path, name, [before, rest.to_vec()].concat()),
        Found::NotRunnable { path, reason } => {
            let error = CommandError::usage(format!("`{}` {reason}", context.shown(&path)));
            return Ok(Prepared::Nothing { error, code: NOT_RUNNABLE });
        }
        Found::Nothing => return Ok(Prepared::Nothing { error: unknown(name, generation), code: NOT_FOUND }),
    };
    let mut changes = inside.changes(context, path);
    if let Some(DeviceArg::Cpu) = args.device {
        let state = folder_for_python("--device cpu", context)?;
        let hiding = environment::without_gpu(&state, context.env.raw("PYTHONPATH"));
        changes.extend(hiding.map_err(|error| CommandError::new(Kind::Disk, error))?);
    }
    let watch = match args.report_fallbacks {
        true => Some(Watch::begin(&inside, args.fallbacks_to.as_deref(), context, &mut changes)?),
        false => None,
    };
    let beside = (watch.is_some() || args.explain).then_some(Beside { watch, explain: args.explain });
    inside.warn_of_strangers(context, printer);
    printer.detail(&format!("running `{}` in `{}`", file.display(), generation.path.display()));
    // A working folder that is reached over a link stays named by it unless macml was told to go elsewhere.
    let folder = (context.cwd != context.env.cwd()).then(|| context.cwd.clone());
    let exec = Exec { path: file, name, args: args_of_it, changes: changes.into_iter().collect(), folder };
    Ok(Prepared::Ready { exec, held: inside.held, beside })
}

/// Returns this user's folder in which an option puts a file for Python.
fn folder_for_python(option: &str, context: &Context) -> Result<PathBuf, CommandError> {
    let state = context.env.folder(Folder::State).ok_or_else(|| {
        CommandError::usage(format!("`{option}` needs a folder of this user for a file that Python runs first"))
            .hint("set HOME, or XDG_STATE_HOME")
    })?;
    Ok(state.join("macml"))
}

/// What a word on the command line stands for.
enum Found {
    /// A program, what it is called, and what precedes the arguments.
    Program { path: PathBuf, name: OsString, before: Vec<OsString> },
    /// Something that is no program.
    NotRunnable { path: PathBuf, reason: &'static str },
    /// Nothing.
    Nothing,
}

/// Where commands are looked for.
struct Lookup<'a> {
    context: &'a Context,
    generation: &'a Generation,
    link: &'a Path,
    /// PATH, the generation's own folder first.
    path: &'a OsStr,
}

impl Lookup<'_> {
    fn find(&self, name: &OsStr) -> Result<Found, FsError> {
        let typed = Path::new(name);
        let is_python = typed.extension().is_some_and(|end| end.eq_ignore_ascii_case("py"));
        if is_python && fs::kind(&self.context.cwd.join(typed))? == Some(fs::Kind::File) {
            // Not as an option.
            let file = if name.as_bytes().starts_with(b"-") { Path::new(".").join(typed) } else { typed.to_owned() };
            let path = self.bin().join("python");
            return Ok(Found::Program { name: path.clone().into(), path, before: vec![file.into()] });
        }
        if name.as_bytes().contains(&b'/') {
            return self.named(typed);
        }
        let mut refused = None;
        let folders =
            self.path.as_bytes().split(|byte| *byte == b':').map(|folder| Path::new(OsStr::from_bytes(folder)));
        for folder in folders.filter(|_| !name.is_empty()) {
            let file = self.context.cwd.join(folder).join(typed);
            // A folder that may not be entered is passed over, as by a shell.
            match self.judge(&file).unwrap_or(Found::Nothing) {
                Found::Program { .. } if folder == self.bin() => return Ok(self.own(&file)),
                Found::Program { path, before, .. } => {
                    return Ok(Found::Program { path, name: name.to_owned(), before });
                }
                Found::NotRunnable { path, reason } => {
                    refused.get_or_insert(Found::NotRunnable { path, reason });
                }
                Found::Nothing => {}
            }
        }
        Ok(match refused {
            // Others of that name may be anything, and a shell passes over folders.
            Some(Found::NotRunnable { reason: IS_FOLDER, .. }) | None => Found::Nothing,
            Some(refused) => refused,
        })
    }

    /// Looks at a path that was named.
    fn named(&self, typed: &Path) -> Result<Found, FsError> {
        let file = self.context.cwd.join(typed);
        match self.judge(&file)? {
            Found::Program { before, .. } => {
                let folder = file.parent().map(sys::resolve).transpose()?.flatten();
                // Over the link it would leave the generation when the link does.
                match (folder == sys::resolve(&self.bin())?, file.file_name()) {
                    (true, Some(name)) => Ok(self.own(&self.bin().join(name))),
                    _ => Ok(Found::Program { path: file, name: typed.into(), before }),
                }
            }
            Found::NotRunnable { reason, .. } => Ok(Found::NotRunnable { path: typed.to_owned(), reason }),
            Found::Nothing => Ok(Found::Nothing),
        }
    }

    /// Says whether there is something that can be run.
    fn judge(&self, file: &Path) -> Result<Found, FsError> {
        let refused = |reason| Ok(Found::NotRunnable { path: file.to_owned(), reason });
        match (fs::kind(file)?, Identity::of(file)?) {
            (Some(fs::Kind::Folder), _) => refused(IS_FOLDER),
            (Some(_), Some(identity)) if identity.may_run() => {
                Ok(Found::Program { path: file.to_owned(), name: file.into(), before: Vec::new() })
            }
            (Some(_), Some(_)) => refused("may not be run: it has no executable bit"),
            _ => Ok(Found::Nothing),
        }
    }

    /// Starts a program of the generation. A launcher names the Python behind the link, which may be another one soon: the
    /// generation's own is started in its place.
    fn own(&self, file: &Path) -> Found {
        // What may be run and not read is no launcher.
        let start = fs::read_start(file, Launch::MOST).ok().flatten();
        let launch = start.and_then(|start| Launch::of(&start));
        let launch = launch.filter(|launch| {
            let folder = Path::new(&launch.interpreter).parent();
            // The project may have been moved since; its link is called as ever.
            let link = self.link.file_name().map(|link| Path::new(link).join("bin"));
            folder.zip(link).is_some_and(|(folder, link)| folder.ends_with(link))
        });
        let name = launch.as_ref().and_then(|launch| Path::new(&launch.interpreter).file_name());
        match (&launch, name) {
            (Some(launch), Some(name)) => {
                let path = self.bin().join(name);
                let arguments = launch.arguments.iter().map(OsString::from);
                let before = arguments.chain([file.as_os_str().to_owned()]).collect();
                Found::Program { name: path.clone().into(), path, before }
            }
            _ => Found::Program { path: file.to_owned(), name: file.into(), before: Vec::new() },
        }
    }

    fn bin(&self) -> PathBuf {
        self.generation.path.join("bin")
    }
}

/// Why a folder is not run.
const IS_FOLDER: &str = "is a folder";

/// Lists the programs of a generation.
fn commands(generation: &Generation) -> Vec<String> {
    let bin = generation.path.join("bin");
    let runnable = |name: &String| {
        let file = bin.join(name);
        let identity = Identity::of(&file).ok().flatten();
        identity.is_some_and(|identity| identity.may_run()) && fs::kind(&file).ok().flatten() == Some(fs::Kind::File)
    };
    fs::names(&bin).unwrap_or_default().into_iter().filter(runnable).collect()
}

/// Makes the error for a command that is nowhere.
fn unknown(name: &OsStr, generation: &Generation) -> CommandError {
    let name = name.to_string_lossy();
    let error = CommandError::usage(format!("there is no command `{name}`, neither in the environment nor in PATH"));
    match nearest(&name, &commands(generation)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("`macml run` by itself lists the commands of the environment"),
    }
}
