//! What was typed. What it means is `context.rs`'s and each command's business.
//!
//! clap never looks at the environment: variables come from `sys::Env`, so that a test can build them.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::CommandFactory as _;
use clap::FromArgMatches as _;

use crate::commands::add::AddArgs;
use crate::commands::add::RemoveArgs;
use crate::commands::bench::BenchArgs;
use crate::commands::bundle::BundleArgs;
use crate::commands::cache::CacheArgs;
use crate::commands::check::CheckArgs;
use crate::commands::completions::CompletionsArgs;
use crate::commands::diff::DiffArgs;
use crate::commands::doctor::DoctorArgs;
use crate::commands::env::EnvArgs;
use crate::commands::explain::ExplainArgs;
use crate::commands::export::ExportArgs;
use crate::commands::hook::HookArgs;
use crate::commands::init::InitArgs;
use crate::commands::lock::LockArgs;
use crate::commands::matrix::MatrixArgs;
use crate::commands::ops::OpsArgs;
use crate::commands::outdated::OutdatedArgs;
use crate::commands::python::PythonArgs;
use crate::commands::rules::RulesArgs;
use crate::commands::run::RunArgs;
use crate::commands::sync::SyncArgs;
use crate::commands::tree::TreeArgs;
use crate::commands::verify::VerifyArgs;
use crate::commands::why::WhyArgs;

/// Verbs by group, in the order of the help page. A test holds it complete.
const GROUPS: &[(&str, &[&str])] = &[
    ("Daily", &["init", "add", "remove", "lock", "sync", "run", "hook"]),
    ("Prove", &["check", "verify", "bench"]),
    ("Repair", &["doctor", "explain", "why", "matrix", "ops", "rules"]),
    ("Plumbing", &["tree", "diff", "outdated", "export", "bundle", "env", "python", "cache", "completions"]),
];

/// Declare, lock and prove machine-learning environments for Apple Silicon Macs.
#[derive(clap::Parser, Debug)]
#[command(name = "macml", version, max_term_width = 100, subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = "\
Three that judge: check looks at files, on any machine and without a Mac; verify computes on the GPU of this machine; doctor \
looks at the machine itself, its Pythons and its project.

Variables that no option stands for: MACML_MIRROR_ONLY asks mirrors alone, never the index behind them; \
MACML_INDEX_NAME_USERNAME and MACML_INDEX_NAME_PASSWORD are sent to the index NAME; MACML_ENV names the environment that \
sync, run, verify and the hook of a shell take instead of the default one.")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The verbs.
#[derive(clap::Subcommand, Debug)]
pub(crate) enum Command {
    Add(AddArgs),
    Bench(BenchArgs),
    Bundle(BundleArgs),
    Cache(CacheArgs),
    Check(CheckArgs),
    Completions(CompletionsArgs),
    Diff(DiffArgs),
    Doctor(DoctorArgs),
    Env(EnvArgs),
    Explain(ExplainArgs),
    Export(ExportArgs),
    Hook(HookArgs),
    Init(InitArgs),
    Lock(LockArgs),
    Matrix(MatrixArgs),
    Ops(OpsArgs),
    Outdated(OutdatedArgs),
    Python(PythonArgs),
    Remove(RemoveArgs),
    Rules(RulesArgs),
    Run(RunArgs),
    Sync(SyncArgs),
    Tree(TreeArgs),
    Verify(VerifyArgs),
    Why(WhyArgs),
}

/// What every verb takes.
#[derive(clap::Args, Debug, Clone, Default)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Go to this folder before anything else
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,

    /// Look for macml.toml from this folder upwards, instead of from the working folder [env: MACML_PROJECT]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,

    /// Print errors and nothing else; JSON is still printed [env: MACML_QUIET]
    #[arg(short, long, global = true, action = clap::ArgAction::Count, conflicts_with = "verbose")]
    pub(crate) quiet: u8,

    /// Say more: what is asked of the indexes [env: MACML_VERBOSE]
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    /// Whether to use colours; `auto` looks at the terminal, NO_COLOR and CLICOLOR_FORCE [env: MACML_COLOR]
    #[arg(long, global = true, value_name = "WHEN", value_enum)]
    pub(crate) color: Option<ColorArg>,

    /// Draw no progress, as in pipes and where CI is set [env: MACML_NO_PROGRESS]
    #[arg(long, global = true)]
    pub(crate) no_progress: bool,

    /// Where downloads and index pages are kept [env: MACML_CACHE_DIR] [default: ~/.cache/macml]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) cache_dir: Option<PathBuf>,

    /// Read user settings from this file [env: MACML_CONFIG_FILE] [default: ~/.config/macml/config.toml]
    #[arg(long, global = true, value_name = "FILE", conflicts_with = "no_config")]
    pub(crate) config_file: Option<PathBuf>,

    /// Read no user settings [env: MACML_NO_CONFIG]
    #[arg(long, global = true)]
    pub(crate) no_config: bool,

    /// Take this recorded Mac for the one that macml runs on
    #[arg(long, global = true, value_name = "FILE", hide = true)]
    pub(crate) host: Option<PathBuf>,
}

/// How far a verb reaches that asks indexes.
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct ReachArgs {
    /// Use what the cache has and ask no index [env: MACML_OFFLINE]
    #[arg(long)]
    pub(crate) offline: bool,

    /// Fetch through this mirror, tuna, ustc, aliyun, nju, sjtug or an address; may be repeated [env: MACML_MIRROR]
    #[arg(long, value_name = "NAME|URL")]
    pub(crate) mirror: Vec<String>,
}

/// For whom a verb prints.
#[derive(clap::Args, Debug, Clone, Copy, Default)]
pub(crate) struct OutputArgs {
    /// Print for people or for programs [env: MACML_OUTPUT_FORMAT]
    #[arg(long = "output-format", value_name = "FORMAT", value_enum)]
    pub(crate) format: Option<FormatArg>,
}

/// The hidden global option with a help of its own; its value is the global one's too, which is the one that is read.
#[derive(clap::Args, Debug, Clone, Default)]
pub(crate) struct ReplayArgs {
    /// Judge the machine of this file, which `macml doctor --facts` wrote anywhere, and look at nothing here
    #[arg(long, value_name = "FILE")]
    host: Option<PathBuf>,
}

/// `--color`.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ColorArg {
    /// Only on a terminal.
    Auto,
    /// Even in a pipe.
    Always,
    /// Not even on a terminal.
    Never,
}

/// `--output-format`.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FormatArg {
    /// For people.
    Text,
    /// One JSON document, described by a schema of the folder schema/.
    Json,
}

/// Parses a command line.
pub(crate) fn parse(words: &[OsString]) -> Result<Args, clap::Error> {
    let matches = command().try_get_matches_from(words)?;
    Args::from_arg_matches(&matches)
}

/// Finds `--color` in words that are not parsed yet, so that an error about the others obeys it.
pub(crate) fn color_in(words: &[OsString]) -> Option<ColorArg> {
    let parse = |text: &str| <ColorArg as clap::ValueEnum>::from_str(text, false).ok();
    let words = words.iter().filter_map(|word| word.to_str()).take_while(|word| *word != "--").collect::<Vec<_>>();
    let split = words.windows(2).filter(|pair| pair[0] == "--color").filter_map(|pair| parse(pair[1]));
    let joined = words.iter().filter_map(|word| parse(word.strip_prefix("--color=")?));
    split.chain(joined).last()
}

/// Builds clap's command with the verbs in groups, which clap cannot do by itself.
pub(crate) fn command() -> clap::Command {
    let command = Args::command().styles(styles());
    let head = styles().get_header().to_owned();
    let mut verbs = Vec::new();
    for (group, names) in GROUPS {
        verbs.push(format!("{head}{group}:{head:#}"));
        for name in *names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about).expect("groups name verbs");
            let literal = styles().get_literal().to_owned();
            verbs.push(format!("  {literal}{name:<12}{literal:#} {about}"));
        }
        verbs.push(String::new());
    }
    let verbs = verbs.join("\n");
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{verbs}\n{head}Global options:{head:#}\n{{options}}{{after-help}}"
    ))
}

fn styles() -> clap::builder::Styles {
    use anstyle::AnsiColor;
    clap::builder::Styles::styled()
        .header(AnsiColor::Green.on_default().bold())
        .usage(AnsiColor::Green.on_default().bold())
        .literal(AnsiColor::Cyan.on_default().bold())
        .placeholder(AnsiColor::Cyan.on_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn the_definition_holds_together() {
        command().debug_assert();
    }

    #[test]
    fn every_verb_stands_in_one_group() {
        let mut grouped = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect::<Vec<_>>();
        let mut verbs = Args::command().get_subcommands().map(|one| one.get_name().to_owned()).collect::<Vec<_>>();
        grouped.sort_unstable();
        verbs.sort_unstable();
        assert_eq!(grouped, verbs);
    }

    #[test]
    fn color_is_found_before_parsing() {
        assert_eq!(color_in(&words("macml --color never lock --nonsense")), Some(ColorArg::Never));
        assert_eq!(color_in(&words("macml lock --color=always")), Some(ColorArg::Always));
        assert_eq!(color_in(&words("macml lock --color pink")), None);
        assert_eq!(color_in(&words("macml lock -- --color=always")), None);
    }

    #[test]
    fn globals_may_follow_the_verb() {
        let args = parse(&words("macml lock -vv -C there")).unwrap();
        assert_eq!((args.global.verbose, args.global.directory), (2, Some(PathBuf::from("there"))));
    }
}
