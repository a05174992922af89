//! A first macml.toml: for this Mac, its frameworks and a range of Pythons that has them all.
//!
//! ```text
//! Host, frameworks --matrix--> Range --text()--> macml.toml
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::host::Chip;
use crate::index::Config;
use crate::manifest::Manifest;
use crate::manifest::edit::Line;
use crate::manifest::edit::key;
use crate::manifest::edit::listed;
use crate::manifest::edit::quoted;
use crate::manifest::edit::table_of;
use crate::manifest::model::Gpu;
use crate::manifest::model::RootTable;
use crate::matrix;
use crate::matrix::Answer;
use crate::matrix::Axes;
use crate::matrix::Question;
use crate::matrix::Reuse;
use crate::pep::PackageName;
use crate::pep::Version;
use crate::progress::Progress;
use crate::target::MacosVersion;
use crate::target::Platform;
use crate::target::PythonMinor;

/// What a first macml.toml says.
#[derive(Clone, PartialEq, Debug)]
pub struct Start {
    /// The name of the project; none where the folder's name is meant.
    pub name: Option<String>,
    /// Folders of the project's own code.
    pub paths: Vec<String>,
    /// Where it must work, in the order of [`Platform::ALL`].
    pub platforms: Vec<Platform>,
    /// The lowest Mac, and where it comes from: `this Mac`.
    pub mac: Option<(Chip, MacosVersion, String)>,
    /// Whether the GPU must be usable.
    pub gpu: Gpu,
    /// The Pythons.
    pub python: Range,
    /// What is asked for, each in the table that it belongs into.
    pub lines: Vec<Line>,
    /// Limits for what others ask for.
    pub constraints: BTreeMap<String, String>,
    /// Packages that may be taken as pre-releases.
    pub prereleases: Vec<String>,
}

/// A range of Pythons, and why it is that one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Range {
    /// As macml.toml has it.
    pub specifiers: String,
    /// Why, as a lowercase sentence without a stop.
    pub why: String,
}

/// The oldest Python that is proposed: older ones have no security releases any more in the year to come, or few wheels.
const OLDEST: PythonMinor = PythonMinor { major: 3, minor: 11 };

impl Range {
    /// Returns the usual one: it ends one minor below the newest CPython, for which many packages have no wheels yet.
    pub fn usual() -> Self {
        let newest = newest();
        Self {
            specifiers: format!(">={OLDEST},<{newest}"),
            why: format!("{newest} is the newest CPython, for which many packages have no wheels yet"),
        }
    }

    /// Returns the part of the usual one in which each framework is as new as in any.
    fn of(table: &matrix::Table) -> Self {
        let usual = Self::usual();
        let asked = &table.asked;
        let found = |minor: &PythonMinor| -> Option<Vec<Version>> {
            let cell = table.rows.iter().flatten().find(|cell| cell.python == *minor)?;
            match &cell.answer {
                Answer::Set(set) => asked.iter().map(|name| set.get(name).cloned()).collect(),
                Answer::Refusal(_) => None,
            }
        };
        let minors: Vec<(PythonMinor, Option<Vec<Version>>)> =
            table.axes.pythons.iter().map(|minor| (*minor, found(minor))).collect();
        // Of sets that differ the one counts whose first framework is the newest.
        let Some(best) = minors.iter().filter_map(|(_, set)| set.clone()).max() else { return usual };
        let good: Vec<PythonMinor> =
            minors.iter().filter(|(_, set)| set.as_ref() == Some(&best)).map(|(minor, _)| *minor).collect();
        let (Some(first), Some(last)) = (good.first(), good.last()) else { return usual };
        let next = PythonMinor { minor: last.minor + 1, ..*last };
        let names = asked.iter().zip(&best).map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>();
        let names = match names.as_slice() {
            [one] => format!("{one} works"),
            all => format!("{} work", all.join(", ")),
        };
        let why = match minors.iter().find(|(minor, _)| *minor == next) {
            Some((_, None)) => format!("{names} on each of these; on {next} nothing does"),
            Some((_, Some(_))) => format!("{names} on each of these; {next} has older ones only"),
            None => format!("{names} on each of these; {}", usual.why),
        };
        Self { specifiers: format!(">={first},<{next}"), why }
    }
}

fn newest() -> PythonMinor {
    let released = PythonMinor::RELEASED;
    released[released.len() - 1].0
}

/// Asks which Pythons have all of some frameworks for a Mac; for none of them the usual range is the answer.
///
/// # Errors
/// When one is on no index, or these cannot be asked.
pub fn range(
    frameworks: &[PackageName],
    (chip, macos, gpu): (&Chip, MacosVersion, Gpu),
    config: &Config,
    connect: matrix::Connect<'_>,
    progress: &dyn Progress,
) -> Result<Range, matrix::Error> {
    if frameworks.is_empty() {
        return Ok(Range::usual());
    }
    let roots = frameworks.iter().map(|name| matrix::root(name.as_str()).expect("a name is a requirement"));
    let env = matrix::environment(roots.collect(), gpu);
    let question = Question::new(&Manifest::default(), std::path::Path::new("/"), env, chip.clone());
    let question = question.expect("no wheel is named by path");
    let newest = newest();
    let pythons = PythonMinor::RELEASED.iter().map(|(minor, _)| *minor).filter(|one| *one >= OLDEST && *one < newest);
    let axes = Axes { pythons: pythons.collect(), floors: vec![macos] };
    let tables = matrix::answer(&[(question, axes)], Reuse::Fresh, config, connect, progress)?;
    Ok(tables.first().map_or_else(Range::usual, Range::of))
}

/// Writes macml.toml.
pub fn text(start: &Start) -> String {
    let mut out = String::new();
    if start.name.is_some() || !start.paths.is_empty() {
        out.push_str("[project]\n");
        if let Some(name) = &start.name {
            let _ = writeln!(out, "name = {}", quoted(name));
        }
        if !start.paths.is_empty() {
            let _ = writeln!(out, "paths = {}", listed(&start.paths));
        }
        out.push('\n');
    }
    out.push_str("[target]\n");
    if start.platforms != [Platform::MacosArm64] {
        let platforms: Vec<String> = start.platforms.iter().map(ToString::to_string).collect();
        let _ = writeln!(out, "platforms = {}", listed(&platforms));
    }
    let mut lines: Vec<(String, String)> = Vec::new();
    if let Some((chip, macos, from)) = &start.mac {
        lines.push((format!("chip = \"{chip}\""), format!("the lowest chip that must work: {from}")));
        lines.push((format!("macos = \"{macos}\""), format!("the lowest macOS that must work: {from}")));
    }
    if start.gpu == Gpu::Optional {
        lines.push(("gpu = \"optional\"".to_owned(), "it must work on the CPU alone as well".to_owned()));
    }
    lines.push((format!("python = {}", quoted(&start.python.specifiers)), start.python.why.clone()));
    let width = lines.iter().map(|(line, _)| line.len()).max().unwrap_or_default();
    for (line, why) in lines {
        let _ = writeln!(out, "{line:width$}  # {why}");
    }
    let tables = [("frameworks", RootTable::Frameworks), ("dependencies", RootTable::Dependencies)];
    for (title, table) in tables {
        let mut own: Vec<&Line> = start.lines.iter().filter(|line| table_of(&line.name) == table).collect();
        own.sort_by(|one, other| one.name.cmp(&other.name));
        if !own.is_empty() {
            let _ = writeln!(out, "\n[{title}]");
            for same in own.chunk_by(|one, other| one.name == other.name) {
                let written = match same {
                    [one] => one.written(),
                    [first, others @ ..] => first.written_with(others),
                    [] => continue,
                };
                let _ = writeln!(out, "{written}");
            }
        }
    }
    if !start.constraints.is_empty() || !start.prereleases.is_empty() {
        out.push_str("\n[resolution]\n");
        if !start.prereleases.is_empty() {
            let _ = writeln!(out, "prereleases = {}", listed(&start.prereleases));
        }
        if !start.constraints.is_empty() {
            let all = start.constraints.iter().map(|(name, versions)| format!("{} = {}", key(name), quoted(versions)));
            let _ = writeln!(out, "constraints = {{ {} }}", all.collect::<Vec<_>>().join(", "));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest;

    fn start() -> Start {
        Start {
            name: None,
            paths: Vec::new(),
            platforms: vec![Platform::MacosArm64],
            mac: Some(("m3-max".parse().unwrap(), MacosVersion::new(15, 6), "this Mac".to_owned())),
            gpu: Gpu::Required,
            python: Range::usual(),
            lines: Vec::new(),
            constraints: BTreeMap::new(),
            prereleases: Vec::new(),
        }
    }

    #[track_caller]
    fn valid(text: &str) -> Manifest {
        let version = "0.1.0".parse().unwrap();
        let parsed = manifest::parse(text, manifest::Context { folder: "p", version: &version });
        parsed.unwrap_or_else(|findings| panic!("{text}\n{findings:?}")).0
    }

    #[test]
    fn the_usual_range_ends_below_the_newest_python() {
        let newest = newest();
        let range = Range::usual();
        assert!(range.specifiers.ends_with(&format!(",<{newest}")) && range.why.contains(&newest.to_string()));
        valid(&text(&start()));
    }

    #[test]
    fn everything_that_is_written_is_read_again() {
        let line = |name: &str, versions: &str| Line {
            versions: Some(versions.to_owned()),
            ..Line::of(name.parse().unwrap())
        };
        let full = Start {
            name: Some("my \"project\"".to_owned()),
            paths: vec!["src".to_owned()],
            platforms: vec![Platform::MacosArm64, Platform::LinuxX86_64],
            gpu: Gpu::Optional,
            lines: vec![line("transformers", ">=5"), line("torch", "*"), line("ruamel.yaml", "<1")],
            constraints: BTreeMap::from([("numpy".to_owned(), "<2.4".to_owned())]),
            prereleases: vec!["transformers".to_owned()],
            ..start()
        };
        let manifest = valid(&text(&full));
        let env = &manifest.envs[0];
        assert_eq!((manifest.name.as_str(), env.platforms.len(), env.roots.len()), ("my \"project\"", 2, 3));
        assert_eq!((env.resolution.constraints.len(), env.resolution.prereleases.len()), (1, 1));
        let mac = env.mac.as_ref().unwrap();
        assert_eq!((mac.macos.to_string().as_str(), mac.chip.to_string().as_str()), ("15.6", "m3-max"));
        let linux = Start { platforms: vec![Platform::LinuxX86_64], mac: None, ..start() };
        assert!(valid(&text(&linux)).envs[0].mac.is_none());
    }
}
