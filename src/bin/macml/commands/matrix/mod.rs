//! `macml matrix`: the newest working set for each Python and macOS.

mod html;
mod table;

use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use macml::diag::Source;
use macml::host::Chip;
use macml::index::Config;
use macml::index::OnlineSource;
use macml::index::source;
use macml::manifest::Manifest;
use macml::manifest::Project;
use macml::manifest::model::EnvSpec;
use macml::manifest::model::Gpu;
use macml::manifest::model::RootTable;
use macml::matrix;
use macml::matrix::Axes;
use macml::matrix::Question;
use macml::matrix::Reuse;
use macml::matrix::Table;
use macml::pep::Specifiers;
use macml::pipeline;
use macml::sys::fs;
use macml::target::MacosVersion;
use macml::target::PythonMinor;

use crate::args::FormatArg;
use crate::args::OutputArgs;
use crate::context::Context;
use crate::context::serving;
use crate::destination;
use crate::error;
use crate::error::CommandError;
use crate::printer::GOOD;
use crate::printer::Printer;
use crate::printer::styled;
use crate::progress::Draw;
use crate::progress::Transfers;
use crate::render;
use crate::report;
use crate::report::matrix::Report;

/// Show which versions work, for each Python and macOS
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Packages named together are one set, solved together in each cell; a macml.toml in reach lends them its floor, GPU and \
indexes. Without any, the [frameworks] of macml.toml are shown, solved with all of their environment; without a \
macml.toml, the usual stacks. Answers are kept for ten minutes, as index pages are.
Exit code: 0 there is a table, 1 nothing works anywhere, 2 macml could not tell.")]
pub(crate) struct MatrixArgs {
    /// The packages of the set, such as `torch` or `torch>=2.13`
    #[arg(value_name = "FRAMEWORK")]
    frameworks: Vec<String>,

    /// The environment of macml.toml to show [default: default]
    #[arg(long, value_name = "NAME")]
    env: Option<String>,

    /// Whether the GPU must be usable [default: as in macml.toml, else required]
    #[arg(long, value_name = "HOW", value_enum)]
    gpu: Option<GpuArg>,

    /// The lowest chip that must work [default: as in macml.toml, else m1]
    #[arg(long, value_name = "CHIP")]
    chip: Option<Chip>,

    /// Only these Pythons, such as `>=3.11,<3.14` or `3.12` [default: every one with an answer]
    #[arg(long, value_name = "RANGE", value_parser = pythons)]
    python: Option<Specifiers>,

    /// Only these macOS versions, such as `13.0,14.0`; may be repeated [default: where answers may change]
    #[arg(long, value_name = "VERSION", value_delimiter = ',')]
    macos: Vec<MacosVersion>,

    /// Write a page to this file too, which may replace an earlier page only; `-` writes it to stdout, and nothing else
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Use what the cache has and ask no index [env: MACML_OFFLINE]
    #[arg(long)]
    offline: bool,

    /// Solve every cell, whatever earlier runs found
    #[arg(long)]
    refresh: bool,

    /// Fetch through this mirror, tuna, ustc, aliyun, nju, sjtug or an address; may be repeated [env: MACML_MIRROR]
    #[arg(long, value_name = "NAME|URL")]
    mirror: Vec<String>,

    #[command(flatten)]
    output: OutputArgs,
}

/// `--gpu`.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum GpuArg {
    /// It must.
    Required,
    /// It may.
    Optional,
}

/// Reads `--python`: a range, or one Python for itself.
fn pythons(text: &str) -> Result<Specifiers, String> {
    let text = match text.parse::<PythonMinor>() {
        Ok(minor) => format!("=={minor}.*"),
        Err(_) => text.to_owned(),
    };
    text.parse().map_err(|error: macml::pep::version::SpecifiersError| error.to_string())
}

/// Runs the verb.
pub(crate) fn run(args: &MatrixArgs, context: &Context, printer: &Printer) -> ExitCode {
    let format = match context.format(args.output.format) {
        Ok(format) => format,
        Err(error) => return error.show(printer),
    };
    let page_only = args.html.as_deref() == Some(Path::new("-"));
    if page_only && args.output.format == Some(FormatArg::Json) {
        return CommandError::usage("`--html -` and JSON cannot both go to stdout")
            .hint("give the page a file: `--html FILE`")
            .show(printer);
    }
    // Solving takes minutes.
    let page = args.html.as_deref().filter(|_| !page_only).map_or(Ok(()), |file| destination::for_page(file, context));
    let draw = Arc::new(Draw::new(context.progress, printer));
    let tables = page.and_then(|()| tables(args, context, &draw, printer));
    draw.clear();
    let result = tables.and_then(|tables| match &args.html {
        Some(file) if !page_only => write(&context.cwd.join(file), &tables).map(|()| tables),
        _ => Ok(tables),
    });
    match (format, result) {
        (FormatArg::Json, result) if !page_only => {
            if let Err(error) = &result {
                error.show(printer);
            }
            let report = Report::new(&result);
            error::finish(printer.data(&report::text(&report)), report.exit_code, printer)
        }
        (_, Err(error)) => error.show(printer),
        (_, Ok(tables)) => {
            let code = u8::from(!tables.iter().any(Table::has_answer));
            let written = match (page_only, &args.html) {
                (true, _) => printer.data(&html::page(&tables)),
                (false, None) => printer.result(&table::text(&tables)),
                (false, Some(file)) => {
                    let end = format!("\n{} written\n", styled(GOOD, file.display()));
                    printer.result(&(table::text(&tables) + &end))
                }
            };
            error::finish(written, code, printer)
        }
    }
}

/// Writes the page, whole or not at all.
fn write(path: &Path, tables: &[Table]) -> Result<(), CommandError> {
    let written = fs::write_atomic(path, html::page(tables).as_bytes(), fs::Durability::Flushed);
    written.map(drop).map_err(CommandError::from_disk)
}

fn tables(
    args: &MatrixArgs,
    context: &Context,
    draw: &Arc<Draw>,
    printer: &Printer,
) -> Result<Vec<Table>, CommandError> {
    let project = context.project()?;
    if let Some(project) = &project {
        let source = Source { name: context.shown(Path::new(&project.source.name)), text: project.source.text.clone() };
        project.findings.iter().for_each(|finding| printer.aside(&(render::finding(finding, Some(&source)) + "\n")));
    }
    let (manifest, envs) = args.asked(project.as_ref(), context)?;
    let folder = project.as_ref().map_or(&*context.cwd, Project::folder);
    let mut questions = Vec::new();
    for env in envs {
        questions.push(args.question(&manifest, folder, env, context)?);
    }
    let config = serving(&context.config(args.offline, &args.mirror)?, &manifest);
    let reuse = match (args.refresh, config.offline) {
        (true, _) => Reuse::Nothing,
        (false, true) => Reuse::Any,
        (false, false) => Reuse::Fresh,
    };
    let mut connect = || -> Result<Box<dyn source::Source>, _> { online(&config, draw) };
    matrix::answer(&questions, reuse, &config, &mut connect, &**draw).map_err(CommandError::from_matrix)
}

fn online(config: &Config, draw: &Arc<Draw>) -> Result<Box<dyn source::Source>, source::SourceError> {
    Ok(Box::new(OnlineSource::new(config, Arc::new(Transfers(draw.clone())))?))
}

impl MatrixArgs {
    /// Finds out which sets are asked about: the manifest whose indexes serve them, and an environment for each.
    fn asked(&self, project: Option<&Project>, context: &Context) -> Result<(Manifest, Vec<EnvSpec>), CommandError> {
        let env = match project {
            Some(project) => Some(self.env_of(&project.manifest, context)?),
            None if self.env.is_some() => {
                return Err(CommandError::usage("there is no macml.toml whose environment could be shown")
                    .hint("go to the project's folder, or name it with `-C DIR` or `--project DIR`"));
            }
            None => None,
        };
        let gpu = match (self.gpu, env) {
            (Some(GpuArg::Required), _) | (None, None) => Gpu::Required,
            (Some(GpuArg::Optional), _) => Gpu::Optional,
            (None, Some(env)) => env.gpu,
        };
        let set = |texts: &[&str]| {
            let roots = texts.iter().map(|text| matrix::root(text)).collect::<Result<Vec<_>, _>>();
            let roots = roots.map_err(|error| CommandError::usage(error.to_string()))?;
            let mac = env.and_then(|env| env.mac.clone());
            Ok::<_, CommandError>(EnvSpec { mac, ..matrix::environment(roots, gpu) })
        };
        let named = self.frameworks.iter().map(String::as_str).collect::<Vec<_>>();
        let envs = match env {
            _ if !named.is_empty() => vec![set(&named)?],
            Some(env) => {
                if env.roots.iter().all(|root| root.table != RootTable::Frameworks) {
                    return Err(CommandError::usage(format!("environment `{}` has no frameworks", env.name))
                        .hint("name the packages: `macml matrix FRAMEWORK…`"));
                }
                vec![EnvSpec { gpu, ..env.clone() }]
            }
            None => matrix::STACKS.iter().map(|stack| set(stack)).collect::<Result<_, _>>()?,
        };
        let mut manifest = project.map_or_else(Manifest::default, |project| project.manifest.clone());
        manifest.envs.clone_from(&envs);
        Ok((manifest, envs))
    }

    /// Finds the environment that gives the settings, and the set where no packages are named.
    fn env_of<'m>(&self, manifest: &'m Manifest, context: &Context) -> Result<&'m EnvSpec, CommandError> {
        let name = self.env.as_deref().unwrap_or("default");
        pipeline::env(&manifest.envs, name).map_err(|error| CommandError::from_pipeline(error, context))
    }

    fn question(
        &self,
        manifest: &Manifest,
        folder: &Path,
        env: EnvSpec,
        context: &Context,
    ) -> Result<(Question, Axes), CommandError> {
        let declared = env.mac.clone();
        let m1 = || "m1".parse().expect("a chip");
        let chip = self.chip.clone().or_else(|| declared.as_ref().map(|mac| mac.chip.clone())).unwrap_or_else(m1);
        let question = Question::new(manifest, folder, env, chip);
        let question = question.map_err(|error| CommandError::from_pipeline(error, context))?;
        let range = self.python.clone().unwrap_or_else(Specifiers::any);
        let pythons = matrix::axes::pythons(&range);
        if pythons.is_empty() {
            return Err(CommandError::usage(format!("no released Python is in `{range}`")));
        }
        let mut floors = self.macos.clone();
        floors.sort_unstable();
        floors.dedup();
        if floors.is_empty() {
            floors = question.floors(declared.map(|mac| mac.macos));
        }
        Ok((question, Axes { pythons, floors }))
    }
}
