//! What the global options and the environment mean together: folders, colours, how much is said.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use macml::doctor::Facts;
use macml::host;
use macml::host::Host;
use macml::index::Config;
use macml::index::ConfigFile;
use macml::index::IndexAddress;
use macml::index::Mirror;
use macml::index::OnlineSource;
use macml::index::source::{Source, SourceError};
use macml::manifest;
use macml::manifest::model::IndexSpec;
use macml::manifest::{Manifest, Project};
use macml::pipeline;
use macml::pipeline::Reach;
use macml::progress::{Progress, Silent};
use macml::sys::Env;
use macml::sys::fs;

use crate::args::ColorArg;
use crate::args::FormatArg;
use crate::args::GlobalArgs;
use crate::error::CommandError;
use crate::error::Kind;
use crate::printer::Level;
use crate::progress::{Draw, Transfers};
use crate::recorded;

/// Everything a verb needs besides its own arguments.
#[derive(Debug)]
pub(crate) struct Context {
    /// The environment, taken once.
    pub(crate) env: Env,
    /// The working folder after `-C`; relative paths are meant from here.
    pub(crate) cwd: PathBuf,
    /// Where the search for macml.toml begins.
    pub(crate) start: PathBuf,
    /// How much is said.
    pub(crate) level: Level,
    /// Whether progress is drawn.
    pub(crate) progress: Drawing,
    /// Where downloads and pages are to be kept instead of the usual place.
    pub(crate) cache_dir: Option<PathBuf>,
    /// The user's settings.
    pub(crate) config: ConfigFile,
    /// A recorded Mac to be taken for this one.
    pub(crate) host: Option<PathBuf>,
}

/// Whether progress is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Drawing {
    /// On the terminal behind stderr.
    Terminal,
    /// As a line for each large thing that is done: no terminal is there, or a machine reads along.
    Lines,
    /// Not at all.
    Nothing,
}

impl Context {
    /// Puts together what was typed and what the environment says; what was typed wins.
    pub(crate) fn new(args: &GlobalArgs, env: Env, stderr_is_terminal: Terminal) -> Result<Self, CommandError> {
        let cwd = match &args.directory {
            Some(directory) => {
                let cwd = env.cwd().join(directory);
                if !fs::is_folder(&cwd) {
                    return Err(no_folder(&cwd, directory));
                }
                cwd
            }
            None => env.cwd().to_owned(),
        };
        let path = |typed: &Option<PathBuf>, name: &str| {
            let typed = typed.clone().or_else(|| env.get(name).map(PathBuf::from));
            typed.map(|path| cwd.join(path))
        };
        let start = path(&args.project, "MACML_PROJECT").unwrap_or_else(|| cwd.clone());
        if !fs::is_folder(&start) {
            return Err(no_folder(&start, &start));
        }
        let level = match (args.quiet, args.verbose) {
            (0, 0) if flag(&env, "MACML_QUIET")? => Level::Quiet,
            (0, 0) if flag(&env, "MACML_VERBOSE")? => Level::Verbose,
            (0, 0) => Level::Normal,
            (0, _) => Level::Verbose,
            (_, _) => Level::Quiet,
        };
        if let Some(other) = env.get("MACML_COLOR").filter(|text| named_color(text).is_none()) {
            return Err(CommandError::usage(format!("`{other}` is not a value of MACML_COLOR"))
                .hint("set it to `auto`, `always` or `never`, or leave it out"));
        }
        let hidden = args.no_progress || flag(&env, "MACML_NO_PROGRESS")? || level == Level::Quiet;
        let dumb = env.get("TERM") == Some("dumb");
        let progress = match stderr_is_terminal {
            _ if hidden => Drawing::Nothing,
            Terminal::Yes if !is_ci(&env) && !dumb => Drawing::Terminal,
            _ => Drawing::Lines,
        };
        let cache_dir = path(&args.cache_dir, "MACML_CACHE_DIR");
        let config = match path(&args.config_file, "MACML_CONFIG_FILE") {
            _ if args.no_config => ConfigFile::Nothing,
            Some(path) => ConfigFile::Named(path),
            None if flag(&env, "MACML_NO_CONFIG")? => ConfigFile::Nothing,
            None => ConfigFile::Usual,
        };
        let host = args.host.as_ref().map(|path| cwd.join(path));
        Ok(Self { start, level, progress, cache_dir, config, host, cwd, env })
    }

    /// Returns the Mac that this is, or that was recorded; `None` where it is no Mac.
    pub(crate) fn host(&self) -> Result<Option<Host>, CommandError> {
        let Some(path) = &self.host else {
            return host::probe().map_err(|error| CommandError::new(Kind::Disk, error));
        };
        recorded::read(path, self)?.host(path, self).map(Some)
    }

    /// Returns the facts of `--host FILE`, where it is given: this machine is not to be looked at then.
    pub(crate) fn recorded_facts(&self) -> Result<Option<Facts>, CommandError> {
        let Some(path) = &self.host else { return Ok(None) };
        recorded::read(path, self).map(|recorded| Some(recorded.facts()))
    }

    /// Decides for whom is printed; what was typed wins.
    pub(crate) fn format(&self, typed: Option<FormatArg>) -> Result<FormatArg, CommandError> {
        Ok(self.format_of(typed)?.unwrap_or(FormatArg::Text))
    }

    /// Decides for whom a verb prints that has formats of its own; what was typed wins.
    pub(crate) fn format_of<F: clap::ValueEnum>(&self, typed: Option<F>) -> Result<Option<F>, CommandError> {
        let (None, Some(text)) = (&typed, self.env.get("MACML_OUTPUT_FORMAT")) else { return Ok(typed) };
        F::from_str(text, false).map(Some).map_err(|_| {
            let values = F::value_variants().iter().filter_map(clap::ValueEnum::to_possible_value);
            let names: Vec<String> = values.map(|value| format!("`{}`", value.get_name())).collect();
            let (last, rest) = names.split_last().expect("a verb prints in some format");
            CommandError::usage(format!("`{text}` is not a value of MACML_OUTPUT_FORMAT"))
                .hint(format!("use {} or {last}", rest.join(", ")))
        })
    }

    /// Puts together how indexes are reached: the user's settings, changed by what was typed.
    pub(crate) fn config(&self, offline: bool, mirrors: &[String]) -> Result<Config, CommandError> {
        let config = Config::load(self.env.clone(), &self.config);
        let mut config = config.map_err(|error| CommandError::from_config(error, self))?;
        config.offline |= offline;
        if let Some(folder) = &self.cache_dir {
            config.cache_dir = Some(folder.clone());
        }
        if !mirrors.is_empty() {
            let mirrors = mirrors.iter().map(|text| Mirror::parse(text)).collect::<Result<_, _>>();
            config.mirrors = mirrors.map_err(|reason| CommandError::usage(format!("`--mirror`: {reason}")))?;
        }
        Ok(config)
    }

    /// Reads the macml.toml in reach, if there is one.
    pub(crate) fn project(&self) -> Result<Option<Project>, CommandError> {
        let read = match manifest::discover(&self.start, self.env.home().map(Path::new)) {
            Err(manifest::Error::NotFound { .. }) => return Ok(None),
            Err(error) => Err(error),
            Ok(path) => manifest::read(&path, &version()),
        };
        read.map(Some).map_err(|error| CommandError::from_pipeline(pipeline::Error::Manifest(error), self))
    }

    /// Returns the environment that is meant, where one is named: on the command line, or for everything that is done.
    pub(crate) fn env_name<'a>(&'a self, typed: Option<&'a str>) -> Option<&'a str> {
        typed.or_else(|| self.env.get("MACML_ENV"))
    }

    /// Returns `path` as people know it: relative to the working folder where it lies in it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.cwd) {
            Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
            Ok(inside) => inside.display().to_string(),
            Err(_) => path.display().to_string(),
        }
    }
}

/// Returns the version of this macml.
pub(crate) fn version() -> semver::Version {
    env!("CARGO_PKG_VERSION").parse().expect("cargo checks the version of the package")
}

/// Adds what a manifest says of its indexes.
pub(crate) fn serving(config: &Config, manifest: &Manifest) -> Config {
    let address = |index: &IndexSpec| IndexAddress { name: index.name.clone(), url: index.url.clone() };
    Config {
        indexes: manifest.indexes.iter().map(address).collect(),
        need_upload_times: manifest.envs.iter().any(|env| env.resolution.exclude_newer.is_some()),
        ..config.clone()
    }
}

/// Makes what reaches the indexes of a manifest, with progress where that is worth showing.
pub(crate) fn reaching<'a>(
    config: &'a Config,
    draw: &'a Arc<Draw>,
) -> impl FnMut(&Manifest, Reach) -> Result<Box<dyn Source>, SourceError> + 'a {
    |manifest, reach| {
        let mut config = serving(config, manifest);
        config.offline |= reach == Reach::Cache;
        let progress: Arc<dyn Progress> = match reach {
            Reach::Network => Arc::new(Transfers(draw.clone())),
            Reach::Aside | Reach::Cache => Arc::new(Silent),
        };
        Ok(Box::new(OnlineSource::new(&config, progress)?))
    }
}

/// Takes the snapshot of this process, once.
pub(crate) fn capture() -> std::io::Result<Env> {
    Env::capture()
}

/// Whether a stream ends at a terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Terminal {
    /// It does.
    Yes,
    /// It is a pipe or a file.
    No,
}

impl From<bool> for Terminal {
    fn from(terminal: bool) -> Self {
        if terminal { Self::Yes } else { Self::No }
    }
}

/// Decides on colours for a stream.
pub(crate) fn color(typed: Option<ColorArg>, env: &Env, terminal: Terminal) -> anstream::ColorChoice {
    let named = env.get("MACML_COLOR").and_then(named_color);
    let forced = env.get("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    let on = match typed.or(named).unwrap_or(ColorArg::Auto) {
        ColorArg::Always => true,
        ColorArg::Never => false,
        ColorArg::Auto if env.get("NO_COLOR").is_some() => false,
        ColorArg::Auto if forced => true,
        ColorArg::Auto => terminal == Terminal::Yes && env.get("TERM") != Some("dumb"),
    };
    if on { anstream::ColorChoice::AlwaysAnsi } else { anstream::ColorChoice::Never }
}

fn named_color(text: &str) -> Option<ColorArg> {
    <ColorArg as clap::ValueEnum>::from_str(text, false).ok()
}

/// Reads a variable that says yes or no; unset says no.
pub(crate) fn flag(env: &Env, name: &str) -> Result<bool, CommandError> {
    match env.get(name).map(str::to_ascii_lowercase).as_deref() {
        None | Some("0" | "false" | "no" | "off") => Ok(false),
        Some("1" | "true" | "yes" | "on") => Ok(true),
        Some(other) => Err(CommandError::usage(format!("`{other}` is not a value of {name}"))
            .hint("set it to `1` or `0`, or leave it out")),
    }
}

fn no_folder(path: &Path, shown: &Path) -> CommandError {
    match fs::kind(path) {
        Ok(Some(fs::Kind::File)) => CommandError::usage(format!("`{}` is a file, not a folder", shown.display()))
            .hint("name the folder that it lies in"),
        _ => CommandError::usage(format!("there is no folder `{}`", shown.display())),
    }
}

/// Returns whether a machine reads along.
pub(crate) fn is_ci(env: &Env) -> bool {
    env.get("CI").is_some_and(|value| !matches!(value, "0" | "false"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(vars: &[(&str, &str)]) -> Env {
        let vars = vars.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Env::from_map(vars, PathBuf::from("/"))
    }

    fn context(args: &GlobalArgs, vars: &[(&str, &str)]) -> Context {
        let mut all = vec![("HOME", "/home/x")];
        all.extend_from_slice(vars);
        Context::new(args, env(&all), Terminal::Yes).unwrap()
    }

    #[test]
    fn what_was_typed_goes_before_the_variables() {
        let check = |args: &GlobalArgs, vars: &[(&str, &str)], cache: Option<&str>, config: ConfigFile| {
            let context = context(args, vars);
            assert_eq!((context.cache_dir, context.config), (cache.map(PathBuf::from), config));
        };
        let none = GlobalArgs::default();
        check(&none, &[], None, ConfigFile::Usual);
        let vars = [("MACML_CACHE_DIR", "v"), ("MACML_CONFIG_FILE", "/f")];
        check(&none, &vars, Some("/v"), ConfigFile::Named("/f".into()));
        check(&none, &[("MACML_NO_CONFIG", "1")], None, ConfigFile::Nothing);
        let typed = GlobalArgs { cache_dir: Some("/t".into()), no_config: true, ..GlobalArgs::default() };
        check(&typed, &vars, Some("/t"), ConfigFile::Nothing);
    }

    #[test]
    fn a_recorded_mac_goes_before_the_one_that_is_there() {
        let host = |file: Option<PathBuf>| context(&GlobalArgs { host: file, ..GlobalArgs::default() }, &[]).host();
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts/m5-macos26.json");
        assert_eq!(host(Some(recorded)).unwrap().unwrap().cpu, "Apple M5");
        assert_eq!(host(None).unwrap().is_some(), cfg!(target_os = "macos"));
        let error = |file: PathBuf| host(Some(file)).unwrap_err().source.to_string();
        let folder = tempfile::tempdir().unwrap();
        assert!(error(folder.path().join("absent")).starts_with("there is no file `"));
        fs::write_atomic(&folder.path().join("x"), b"{}", fs::Durability::Cached).unwrap();
        assert!(
            error(folder.path().join("x")).ends_with("is neither facts of `macml doctor --facts` nor a recorded Mac")
        );
    }

    #[test]
    fn progress_needs_a_terminal_and_nobody_against_it() {
        let check = |args: &GlobalArgs, vars: &[(&str, &str)], drawing: Drawing| {
            assert_eq!(context(args, vars).progress, drawing, "{vars:?}");
        };
        let none = GlobalArgs::default();
        check(&none, &[], Drawing::Terminal);
        check(&none, &[("CI", "true")], Drawing::Lines);
        check(&none, &[("CI", "false")], Drawing::Terminal);
        check(&none, &[("TERM", "dumb")], Drawing::Lines);
        check(&none, &[("MACML_NO_PROGRESS", "1")], Drawing::Nothing);
        check(&none, &[("MACML_NO_PROGRESS", "1"), ("CI", "true")], Drawing::Nothing);
        check(&GlobalArgs { quiet: 1, ..GlobalArgs::default() }, &[], Drawing::Nothing);
        let piped = Context::new(&none, env(&[("HOME", "/home/x")]), Terminal::No).unwrap();
        assert_eq!(piped.progress, Drawing::Lines);
    }

    #[test]
    fn colours_obey_the_flag_then_the_variables_then_the_terminal() {
        use anstream::ColorChoice::{AlwaysAnsi, Never};
        let check = |typed, vars: &[(&str, &str)], terminal, expected| {
            assert_eq!(color(typed, &env(vars), terminal), expected, "{typed:?} {vars:?}");
        };
        check(None, &[], Terminal::Yes, AlwaysAnsi);
        check(None, &[], Terminal::No, Never);
        check(None, &[("NO_COLOR", "1")], Terminal::Yes, Never);
        check(None, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], Terminal::Yes, Never);
        check(None, &[("CLICOLOR_FORCE", "1")], Terminal::No, AlwaysAnsi);
        check(None, &[("CLICOLOR_FORCE", "0")], Terminal::No, Never);
        check(None, &[("TERM", "dumb")], Terminal::Yes, Never);
        check(Some(ColorArg::Always), &[("NO_COLOR", "1")], Terminal::No, AlwaysAnsi);
        check(None, &[("MACML_COLOR", "always")], Terminal::No, AlwaysAnsi);
    }

    #[test]
    fn a_colour_that_is_none_is_refused() {
        let all = env(&[("HOME", "/home/x"), ("MACML_COLOR", "blue")]);
        assert!(Context::new(&GlobalArgs::default(), all, Terminal::Yes).is_err());
    }

    #[test]
    fn a_variable_that_is_neither_yes_nor_no_is_refused() {
        assert!(flag(&env(&[("MACML_OFFLINE", "On")]), "MACML_OFFLINE").unwrap());
        assert!(!flag(&env(&[("MACML_OFFLINE", "")]), "MACML_OFFLINE").unwrap());
        assert!(flag(&env(&[("MACML_OFFLINE", "maybe")]), "MACML_OFFLINE").is_err());
    }
}
