//! `macml tree`: what is locked, and who asks for what.

use std::fmt::Write as _;
use std::process::ExitCode;

use macml::lock::Lockfile;
use macml::lock::model::LockedEnv;
use macml::lock::tree::Growth;
use macml::lock::tree::Node;
use macml::lock::tree::grow;
use macml::lock::tree::unasked;
use macml::manifest;
use macml::manifest::Project;
use macml::pep::PackageName;
use macml::pipeline;
use macml::target::Platform;

use crate::args::FormatArg;
use crate::args::OutputArgs;
use crate::characters;
use crate::context;
use crate::context::Context;
use crate::error;
use crate::error::CommandError;
use crate::error::Kind;
use crate::printer::ASIDE;
use crate::printer::NAME;
use crate::printer::Printer;
use crate::printer::styled;
use crate::report;
use crate::report::tree::Report;

/// Show what is locked as a tree, or who asks for a package
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Reads macml.lock as it is and asks nobody; one that does not answer macml.toml is an error. `(*)` marks what was shown with all \
that is below it further up.
Exit code: 0, 1 the lock is stale or a package is in no environment, 2 macml could not tell.")]
pub(crate) struct TreeArgs {
    /// Begin from these packages instead of those of macml.toml
    #[arg(value_name = "PACKAGE")]
    names: Vec<PackageName>,

    /// Turn it round: show who asks for the packages, up to macml.toml
    #[arg(short, long, requires = "names")]
    invert: bool,

    /// Show at most so many levels below the first
    #[arg(short, long, value_name = "N")]
    depth: Option<usize>,

    /// Show this environment only; may be repeated
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,

    /// Show this platform only
    #[arg(long, value_name = "PLATFORM")]
    platform: Option<Platform>,

    #[command(flatten)]
    output: OutputArgs,
}

/// A tree for each environment and platform.
pub(crate) struct Grown {
    /// The environment.
    pub(crate) env: LockedEnv,
    /// What macml.toml asks for in it.
    pub(crate) roots: Vec<PackageName>,
    /// Its trees.
    pub(crate) trees: Vec<Node>,
}

/// Runs the verb.
pub(crate) fn run(args: &TreeArgs, context: &Context, printer: &Printer) -> ExitCode {
    let format = match context.format(args.output.format) {
        Ok(format) => format,
        Err(error) => return error.show(printer),
    };
    match (format, grown(args, context)) {
        (FormatArg::Text, Ok((_, all))) => {
            let branches = if characters::is_utf8(&context.env) { UTF8 } else { ASCII };
            error::finish(printer.result(&text(&all, args, branches)), 0, printer)
        }
        (FormatArg::Json, Ok((lock, all))) => {
            error::finish(printer.data(&report::text(&Report::new(&lock, &all))), 0, printer)
        }
        (FormatArg::Text, Err(error)) => error.show(printer),
        (FormatArg::Json, Err(error)) => {
            error.show(printer);
            error::finish(printer.data(&report::text(&Report::failed(&error))), error.kind.code(), printer)
        }
    }
}

fn grown(args: &TreeArgs, context: &Context) -> Result<(Lockfile, Vec<Grown>), CommandError> {
    let failed = |error| CommandError::from_pipeline(pipeline::Error::Manifest(error), context);
    let path = manifest::discover(&context.start, context.env.home()).map_err(failed)?;
    let project = manifest::read(&path, &context::version()).map_err(failed)?;
    let lock =
        pipeline::current_lock(&project, &args.env).map_err(|error| CommandError::from_not_current(error, context))?;
    let wanted = |env: &&LockedEnv| {
        (args.env.is_empty() || args.env.contains(&env.name)) && args.platform.is_none_or(|one| one == env.platform)
    };
    let envs: Vec<&LockedEnv> = lock.envs.iter().filter(wanted).collect();
    if envs.is_empty() {
        let platform = args.platform.map_or_else(String::new, |platform| format!(" for {platform}"));
        return Err(CommandError::usage(format!("nothing is locked{platform}")));
    }
    let absent = args.names.iter().find(|name| envs.iter().all(|env| env.entry(name).is_none()));
    if let Some(name) = absent {
        let error = CommandError::new(Kind::Unsatisfiable, format!("`{name}` is in no environment of macml.lock"));
        return Err(error.hint(format!("`macml add {name}` adds it")));
    }
    let mut all = Vec::new();
    for env in envs {
        let roots = roots(&project, &lock, env);
        let from = if args.names.is_empty() { &roots } else { &args.names };
        let trees = grow(&lock, env, &Growth { from, inverted: args.invert, depth: args.depth });
        if !trees.is_empty() || args.names.is_empty() {
            all.push(Grown { env: env.clone(), roots, trees });
        }
    }
    Ok((lock, all))
}

/// What macml.toml asks for, frameworks first, and what is there by knowledge alone.
fn roots(project: &Project, lock: &Lockfile, env: &LockedEnv) -> Vec<PackageName> {
    let declared = project.manifest.envs.iter().filter(|one| one.name == env.name).flat_map(|one| &one.roots);
    let mut names: Vec<PackageName> = declared.map(|root| root.name.clone()).chain(unasked(lock, env)).collect();
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| env.entry(name).is_some() && seen.insert(name.clone()));
    names
}

/// How branches are drawn: to one of several, to the last, beside those that follow, and below the last.
type Branches = [&'static str; 4];
const UTF8: Branches = ["├── ", "└── ", "│   ", "    "];
const ASCII: Branches = ["|-- ", "`-- ", "|   ", "    "];

fn text(all: &[Grown], args: &TreeArgs, branches: Branches) -> String {
    let mut out = String::new();
    let mut again = false;
    for (at, Grown { env, roots, trees }) in all.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        let head = format!("{} on {}", env.name, env.platform);
        let _ = writeln!(out, "{}: Python {}", styled(NAME, head), env.python);
        let own: &[PackageName] = if args.invert { roots } else { &[] };
        draw(&mut out, trees, "", branches, own);
        again |= trees.iter().any(is_again);
    }
    if again {
        let _ = writeln!(out, "{}", styled(ASIDE, "(*) shown further up with what is below it"));
    }
    out
}

fn is_again(node: &Node) -> bool {
    node.again || node.below.iter().any(is_again)
}

fn draw(
    out: &mut String,
    nodes: &[Node],
    indent: &str,
    [middle, last, beside, below]: Branches,
    roots: &[PackageName],
) {
    for (at, node) in nodes.iter().enumerate() {
        let is_last = at + 1 == nodes.len();
        let again = if node.again { " (*)" } else { "" };
        let root = if roots.contains(&node.name) { " (in macml.toml)" } else { "" };
        let branch = if is_last { last } else { middle };
        let aside = styled(ASIDE, format!("{again}{root}"));
        let _ = writeln!(out, "{indent}{branch}{} {}{aside}", node.shown, node.version);
        let inner = format!("{indent}{}", if is_last { below } else { beside });
        draw(out, &node.below, &inner, [middle, last, beside, below], roots);
    }
}
