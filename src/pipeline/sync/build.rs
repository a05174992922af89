//! A new generation: built beside the old one, named, and put in its place.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use std::time::SystemTime;

use crate::environment;
use crate::environment::Building;
use crate::environment::FolderTime;
use crate::environment::Generations;
use crate::environment::Stamp;
use crate::environment::Venv;
use crate::install::Interpreter;
use crate::install::Layout;
use crate::install::LinkMode;
use crate::install::Linked;
use crate::progress::Progress;
use crate::progress::Step;
use crate::sys::process;
use crate::sys::process::End;
use crate::sys::process::Program;
use crate::sys::tree::Mode;
use crate::sys::tree::NewFile;

use super::Difference;
use super::Error;
use super::Present;
use super::Reaching;
use super::Ready;
use super::Synced;
use super::Verdict;
use super::fetch::Fetch;
use super::strays;
use super::tree::Made;
use super::tree::Tree;

/// How long compiling may take.
const COMPILING: Duration = Duration::from_secs(30 * 60);

/// Builds it and makes the link lead to it. Nothing before that touches what the link leads to.
pub(super) fn build(
    ready: &Ready<'_>,
    generations: &Generations,
    before: Option<Present>,
    differences: Vec<Difference>,
    reaching: &Reaching<'_>,
    progress: &dyn Progress,
) -> Result<Synced, Error> {
    let Ready { job, locked, env, entry, place, interpreter, .. } = ready;
    let manifest = &locked.project.manifest;
    let python = place.link.join("bin/python");
    let commands = Interpreter::new(&python.to_string_lossy())?;
    let venv = Venv {
        python: interpreter,
        commands: &commands,
        prompt: &ready.content.prompt,
        project: &place.project,
        paths: &manifest.paths,
        pip: ready.content.pip,
    };
    let site = venv.site();
    let layout = Layout::venv(entry.python, entry.platform, commands.clone()).reserving(venv.own_paths());
    let content = ready.content.digest(job.compile);
    // Held to the end: what is being linked must not be pruned.
    let cache = super::open_cache(&job.source, progress)?;
    let tree = Tree {
        fetch: Fetch {
            cache: &cache,
            folder: &place.project,
            wheels: job.source.wheels.as_deref(),
            download: &|wanted| (reaching.download)(manifest, wanted),
        },
        chosen: &ready.chosen,
        layout,
        allow_overlap: &env.resolution.allow_overlap,
        link_mode: job.link_mode,
        progress,
    };
    let Made { root, linked, got, .. } =
        tree.make(&|| Ok(generations.begin(content)?), &|root: &Building| root.path())?;
    let mut warnings = ready.warnings();
    warnings.extend(interpreter.note());
    warnings.extend(fell_back(&linked, job.link_mode));
    venv.write(root.path())?;
    for (path, text) in environment::activate_scripts(&place.link, &ready.content.prompt) {
        let mut file = NewFile::create(&root.path().join(path), Mode::PLAIN)?;
        file.write(text.as_bytes())?;
        file.finish(None)?;
    }
    progress.step(Step::Linked);
    if job.compile {
        warnings.extend(compile(root.path(), &place.link, &site));
        progress.step(Step::Compiled);
    }
    let stamp = Stamp {
        version: Stamp::VERSION,
        env: env.name.clone(),
        project: place.project.clone(),
        content: content.to_string(),
        interpreter: interpreter.stamp(),
        python: interpreter.version.to_string(),
        platform: entry.platform.to_string(),
        site,
        // These are for the generation to say.
        site_time: FolderTime(0, 0),
        bin_time: FolderTime(0, 0),
        token: String::new(),
        built: job.now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        packages: super::packages(&ready.chosen),
    };
    let strays = strays(before.as_ref())?;
    let generation = generations.publish_telling(root, stamp, &mut || progress.step(Step::Stamped))?;
    progress.step(Step::Published);
    let activated = generations.activate(&generation, job.replace)?;
    progress.step(Step::Activated);
    if let Some(stamp) = generation.stamp()? {
        warnings.extend(ready.note(&generation, &stamp));
    }
    progress.step(Step::Recorded);
    // It is in place: what cannot be removed is in nobody's way.
    if let Err(error) = generations.clean(job.now) {
        warnings.push(format!("old environments could not be removed: {error}"));
    }
    progress.step(Step::Cleaned);
    let told = ready.told();
    let synced = ready.synced(Verdict::Built, before.as_ref());
    Ok(Synced {
        generation: Some(generation.path),
        differences,
        strays,
        downloads: got,
        linked: Some(linked),
        moved_aside: activated.moved_aside,
        problems: told.problems,
        findings: told.findings,
        warnings,
        ..synced
    })
}

/// Says that files are made in another way than was asked for.
fn fell_back(linked: &Linked, asked: Option<LinkMode>) -> Option<String> {
    let (wanted, reason) = linked.fell_back.as_ref().filter(|(wanted, _)| asked == Some(*wanted))?;
    Some(format!("`--link-mode {wanted}` is not possible here, so files were copied: {reason}"))
}

/// Compiles the modules of a generation; code names the link. What goes wrong is a warning: Python compiles by itself.
fn compile(root: &Path, link: &Path, site: &str) -> Option<String> {
    let words = ["-I", "-m", "compileall", "-q", "-j0", "-s"].map(Into::into);
    let paths = [root.as_os_str(), "-p".as_ref(), link.as_os_str()].map(ToOwned::to_owned);
    let program = Program {
        path: root.join("bin/python"),
        args: words.into_iter().chain(paths).chain([root.join(site).into_os_string()]).collect(),
        env: BTreeMap::new(),
        limit: COMPILING,
    };
    let why = match process::run(&program) {
        Ok(output) if output.end == End::Code(0) => return None,
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned();
            if first.is_empty() { format!("{:?}", output.end) } else { first }
        }
        Err(error) => error.to_string(),
    };
    Some(format!("not every module could be compiled: {why}"))
}
