//! The environments of a project against its lock: which trees there are, what in them is not as locked, and the facts of
//! packages whose libraries are other ones than the lock says.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use crate::check::contents;
use crate::check::contents::Contents;
use crate::check::contents::Difference;
use crate::check::contents::How;
use crate::check::contents::Tree;
use crate::check::contents::Unsure;
use crate::check::contents::Wanted;
use crate::check::contents::What;
use crate::check::facts;
use crate::check::facts::WheelFacts;
use crate::check::facts::macho;
use crate::check::facts::macho::Pages;
use crate::diag::Code;
use crate::diag::Finding;
use crate::diag::Severity;
use crate::diag::few;
use crate::environment;
use crate::environment::Generations;
use crate::environment::Place;
use crate::environment::Stamp;
use crate::environment::Standing;
use crate::host::Host;
use crate::install;
use crate::install::INSTALLERS;
use crate::install::WheelCache;
use crate::lock::Lockfile;
use crate::lock::model::LockedEnv;
use crate::pep::PackageName;
use crate::pep::Version;
use crate::pep::WheelName;
use crate::pipeline::sync::Mark;
use crate::python::word;
use crate::sys::fs;
use crate::sys::fs::FsError;
use crate::target::Floor;
use crate::target::MacosVersion;
use crate::target::Platform;

use super::part::Level;
use super::part::Of;
use super::part::Part;
use super::part::Sum;
use super::part::Told;
use super::part::Word;

/// How many packages are named in one sentence.
const MOST_NAMED: usize = 5;

/// The largest RECORD.
const LONGEST_RECORD: u64 = 256 << 20;

/// The longest magic of a format that facts are read of.
const MAGIC: usize = 4;

/// A tree that belongs to an environment.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    /// The environment.
    pub env: String,
    /// The platform.
    pub platform: Platform,
    /// The macOS that its files are for; `None` off Macs.
    pub macos: Option<MacosVersion>,
    /// What it is.
    pub form: Form,
    /// How people name it: `.venv`, or the folder that was named.
    pub name: String,
    /// The tree.
    pub tree: Tree,
    /// The folder of the project that it was built for, where that is another one.
    pub built_for: Option<PathBuf>,
}

/// What a tree is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// A generation at the project's link.
    Built,
    /// One that was staged for another machine.
    Staged,
}

/// What is at the link of an environment.
#[derive(Clone, PartialEq, Debug)]
pub enum There {
    /// A tree of macml's for the platform.
    Tree(Box<Found>),
    /// Nothing that could be looked at, and why.
    Nothing(Box<Part>),
}

/// Where environments are looked for besides the project.
#[derive(Clone, Copy, Debug, Default)]
pub struct Homes<'a> {
    /// This user's folder.
    pub home: Option<&'a Path>,
    /// This user's folder for environments of projects whose own folder does not suit them.
    pub data: Option<&'a Path>,
    /// This Mac; `None` on other machines.
    pub host: Option<&'a Host>,
}

/// How an environment is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// How closely.
    pub level: contents::Level,
    /// Unpacked wheels.
    pub cache: Option<&'a WheelCache>,
    /// What puts it right where packages are others, as a hint.
    pub remedy: &'a str,
    /// What puts single files right, as a hint.
    pub files: &'a str,
}

/// An environment that was looked at.
#[derive(Clone, PartialEq, Debug)]
pub struct Environment {
    /// What is to be said.
    pub part: Part,
    /// Packages whose facts are not, or may not be, those of their locked wheels, or that are not locked, with the files beside that no
    /// RECORD names.
    pub touched: BTreeMap<PackageName, Vec<String>>,
    /// Files that are gone, from the folder of packages, with the package of each.
    pub gone: BTreeMap<String, PackageName>,
}

/// A package as it is in a tree.
#[derive(Clone, PartialEq, Debug)]
pub struct Read {
    /// Its name.
    pub name: PackageName,
    /// Its version; `None` where there is no distribution of it.
    pub version: Option<Version>,
    /// The wheel that it is from, where it is the locked release.
    pub wheel: Option<WheelName>,
    /// What is known of its files.
    pub facts: WheelFacts,
}

/// Why a folder that was named is no tree to look at.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing was staged there.
    #[error("`{}` is no tree that macml staged", .0.display())]
    NotStaged(PathBuf),
    /// It was staged for another environment than the named ones.
    #[error("`{}` was staged for environment `{env}`", folder.display())]
    OtherEnv {
        /// The folder.
        folder: PathBuf,
        /// The environment.
        env: String,
    },
    /// The disk.
    #[error(transparent)]
    Disk(#[from] FsError),
}

impl Error {
    /// Says what to do.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Self::NotStaged(folder) => Some(format!(
                "`macml sync --target DIR --platform macos-arm64` stages one; `macml check --prefix {}` looks at any other",
                folder.display()
            )),
            Self::OtherEnv { env, .. } => Some(format!("say `--env {env}`, or leave it out")),
            Self::Disk(_) => None,
        }
    }
}

/// Looks for the environment that macml built of a project in `folder`, for the platform of a locked one.
///
/// # Errors
/// When that cannot be told.
pub fn built(folder: &Path, entry: &LockedEnv, homes: &Homes<'_>) -> Result<There, FsError> {
    let place = Place::within(folder, &entry.name, homes.home, homes.data)?;
    let link = Place::link_name(&entry.name);
    let target = match place.standing()? {
        Standing::Nothing => return Ok(absent(entry, None)),
        Standing::Foreign => {
            let message = format!("`{link}` is not macml's, so that nothing says what should be in it");
            let hint = format!("`macml check --prefix {link}` looks at it by itself");
            return Ok(absent(entry, Some(Finding::note(Code::EnvironmentForeign, message).hinting(hint))));
        }
        Standing::Ours(target) => target,
    };
    let gone = || {
        let message = format!("`{link}` leads to `{}`, where no whole environment is", target.display());
        absent(entry, Some(Finding::warning(Code::EnvironmentGone, message).hinting(remedy(&entry.name))))
    };
    let Some(generation) = Generations::current(&place)? else { return Ok(gone()) };
    let Some(stamp) = generation.stamp()? else { return Ok(gone()) };
    if stamp.platform != entry.platform.to_string() {
        return Ok(absent(entry, None));
    }
    let Some(tree) = Tree::generation(&generation.path, &stamp, &place.link)? else { return Ok(gone()) };
    let macos = match &entry.floor {
        Floor::Mac { macos: floor, .. } => {
            let here = homes.host.and_then(|host| MacosVersion::told_by(&host.macos));
            Some(here.map_or(*floor, |here| here.max(*floor)))
        }
        Floor::Glibc(..) => None,
    };
    let Stamp { project, .. } = stamp;
    let (env, platform) = (entry.name.clone(), entry.platform);
    let built_for = (project != place.project).then_some(project);
    Ok(There::Tree(Box::new(Found { env, platform, macos, form: Form::Built, name: link, tree, built_for })))
}

fn absent(entry: &LockedEnv, finding: Option<Finding>) -> There {
    let told = finding.into_iter().map(Told::from).collect();
    There::Nothing(Box::new(Part {
        level: Level::Environment,
        of: Some(of(entry)),
        word: Word::Absent,
        otherwise: Word::Absent,
        sum: Sum::Nothing,
        told,
        took: Duration::ZERO,
    }))
}

fn of(entry: &LockedEnv) -> Of {
    Of { env: entry.name.clone(), platform: entry.platform, python: entry.python, on: None }
}

fn remedy(env: &str) -> String {
    match env {
        "default" => "`macml sync` builds it anew".to_owned(),
        env => format!("`macml sync --env {env}` builds it anew"),
    }
}

/// Says what builds an environment anew of which single files are others: syncing looks at no single file.
fn remedy_of_files(env: &str) -> String {
    match env {
        "default" => "`macml env remove default` and then `macml sync` build it anew".to_owned(),
        env => format!("`macml env remove {env}` and then `macml sync --env {env}` build it anew"),
    }
}

/// Takes a tree that was staged, of one of the named environments, or of any where none is named.
///
/// # Errors
/// When there is none in the folder, or it is of another environment.
pub fn staged(folder: &Path, only: &[String]) -> Result<Found, Error> {
    let none = || Error::NotStaged(folder.to_owned());
    let mark = Mark::of(folder)?.ok_or_else(none)?;
    let (platform, macos) = mark.machine().ok_or_else(none)?;
    let tree = Tree::staged(folder)?.ok_or_else(none)?;
    if !only.is_empty() && !only.contains(&mark.env) {
        return Err(Error::OtherEnv { folder: folder.to_owned(), env: mark.env });
    }
    let name = folder.display().to_string();
    Ok(Found { env: mark.env, platform, macos, form: Form::Staged, name, tree, built_for: None })
}

impl Found {
    /// Takes the lowest Mac that is locked for, where it is said to be for a lower one, or for none: nothing else is there.
    pub fn at_least(&mut self, entry: &LockedEnv) {
        if let Floor::Mac { macos: floor, .. } = &entry.floor {
            self.macos = Some(self.macos.map_or(*floor, |macos| macos.max(*floor)));
        }
    }

    /// Says what puts it right, as a hint.
    pub fn remedy(&self) -> String {
        if self.form == Form::Built {
            return remedy(&self.env);
        }
        let env = if self.env == "default" { String::new() } else { format!(" --env {}", self.env) };
        let macos = self.macos.map(|macos| format!(" --macos {macos}")).unwrap_or_default();
        let folder = word(Path::new(&self.name));
        format!("`macml sync --target {folder} --platform {}{macos}{env}` stages it anew", self.platform)
    }

    /// Holds it against what is locked of its environment on its platform.
    ///
    /// # Errors
    /// When the folder of its packages cannot be read.
    pub fn judge(
        &self,
        lock: &Lockfile,
        level: contents::Level,
        cache: Option<&WheelCache>,
    ) -> Result<Environment, FsError> {
        let Some(entry) = lock.env(&self.env, self.platform) else { return Ok(self.unlocked()) };
        let wanted = Wanted::of(lock, entry, self.macos);
        let remedy = self.remedy();
        let mut own = Vec::new();
        if let Some(folder) = &self.built_for {
            let message = format!("`{}` was built for `{}`, which its commands name", self.name, folder.display());
            own.push(Finding::error(Code::EnvironmentMoved, message).hinting(&remedy));
        }
        let other = self.tree.python != entry.python;
        if other {
            let message = format!("`{}` has Python {}, and {} is locked", self.name, self.tree.python, entry.python);
            let finding = Finding::error(Code::EnvironmentPython, message).hinting(&remedy);
            own.push(finding.noting("its packages were looked at by name only: their wheels are for another Python"));
        }
        // Wheels for another Python have other files throughout.
        let level = if other { contents::Level::Names } else { level };
        let files = match self.form {
            Form::Built => remedy_of_files(&self.env),
            Form::Staged => remedy.clone(),
        };
        let look = Look { level, cache, remedy: &remedy, files: &files };
        let mut environment = environment(&of(entry), &self.tree, &wanted, &look)?;
        environment.part.put_first(own);
        if other {
            environment.part.otherwise = Word::Unsure;
        }
        Ok(environment)
    }

    /// What is there belongs to an environment that the lock does not have.
    fn unlocked(&self) -> Environment {
        let message =
            format!("`{}` is of environment `{}` on {}, which is not locked", self.name, self.env, self.platform);
        let finding =
            Finding::error(Code::PackageNotLocked, message).hinting("`macml lock` brings the lock up to date");
        let of = Of { env: self.env.clone(), platform: self.platform, python: self.tree.python, on: None };
        let sum = Sum::Environment { root: self.tree.root.clone(), files: 0, hashed: 0, digest: None };
        // None of its files was held against anything.
        let (level, word, otherwise, took) = (Level::Environment, Word::Differs, Word::Unsure, Duration::ZERO);
        let part = Part { level, of: Some(of), word, otherwise, sum, told: vec![finding.into()], took };
        Environment { part, touched: BTreeMap::new(), gone: BTreeMap::new() }
    }
}

impl Part {
    /// Adds what speaks against an environment, before all else of its kind.
    fn put_first(&mut self, findings: Vec<Finding>) {
        if findings.iter().any(|one| one.severity == Severity::Error) {
            self.word = self.level.no();
        }
        self.told.splice(0..0, findings.into_iter().map(Told::from));
        self.told.sort_by_key(|one| one.finding.severity);
    }
}

/// Holds a tree against what should be in it: names first, then files, then bytes, as the level says.
///
/// # Errors
/// When the folder of its packages cannot be read.
pub fn environment(of: &Of, tree: &Tree, wanted: &Wanted, look: &Look<'_>) -> Result<Environment, FsError> {
    let begun = Instant::now();
    let contents = contents::look(tree, wanted, look.level, look.cache)?;
    let mut told = differences(&contents, wanted, look);
    let follows = told.len() < contents.differences.len();
    told.extend(unsure(&contents));
    told.sort_by_key(|one| one.finding.severity);
    let unreadable = contents.unsure.iter().any(|one| matches!(one, Unsure::Unreadable { .. }));
    // What was not told of each file is not as locked, whatever of the rest is allowed.
    let otherwise = if unreadable || follows { Word::Unsure } else { Word::AsLocked };
    let word = if contents.differences.is_empty() { otherwise } else { Word::Differs };
    let (touched, gone) = (touched(tree, &contents), contents.gone(&tree.site));
    let Contents { files, hashed, digest, .. } = contents;
    let sum = Sum::Environment { root: tree.root.clone(), files, hashed, digest };
    let (level, of, took) = (Level::Environment, Some(of.clone()), begun.elapsed());
    let part = Part { level, of, word, otherwise, sum, told, took };
    Ok(Environment { part, touched, gone })
}

/// Says of each difference what it is. Of a package that is not there, or is of another release, no file is as locked,
/// which is not told of each.
fn differences(contents: &Contents, wanted: &Wanted, look: &Look<'_>) -> Vec<Told> {
    let all = &contents.differences;
    let is_other = |what: &What| matches!(what, What::NotInstalled { .. } | What::OtherVersion { .. });
    let others = all.iter().filter(|one| is_other(&one.what)).filter_map(|one| one.package.as_ref());
    let others: BTreeSet<&PackageName> = others.collect();
    let follows = |one: &Difference| {
        let is_file = matches!(one.what, What::Missing { .. } | What::Changed { .. });
        is_file && one.package.as_ref().is_some_and(|name| others.contains(name))
    };
    all.iter().filter(|one| !follows(one)).map(|one| difference(one, wanted, look)).collect()
}

fn difference(one: &Difference, wanted: &Wanted, &Look { remedy, files: of_files, .. }: &Look<'_>) -> Told {
    let locked = one.package.as_ref().and_then(|name| wanted.packages.iter().find(|locked| locked.name == *name));
    let whose = match (&one.package, locked) {
        (_, Some(locked)) => format!(" of `{}` {}", locked.name, locked.version),
        (Some(name), None) => format!(" of `{name}`"),
        (None, None) => String::new(),
    };
    let name = one.package.as_ref().map(|name| format!("`{name}`")).unwrap_or_default();
    let sentence = || release(&name, &one.what).unwrap_or_default();
    let (code, message, hint) = match &one.what {
        What::NotInstalled { .. } => (Code::PackageNotInstalled, sentence(), remedy.to_owned()),
        What::NotLocked { .. } => {
            let hint = format!("put it into `macml.toml` if it is needed; {remedy}, without it else");
            (Code::PackageNotLocked, sentence(), hint)
        }
        What::OtherVersion { .. } => (Code::PackageOtherVersion, sentence(), remedy.to_owned()),
        What::Missing { path } => (Code::FileMissing, format!("`{path}`{whose} is gone"), of_files.to_owned()),
        What::Changed { path, how } => {
            let how = match how {
                How::Size { expected, found } => format!("has {found} bytes instead of {expected}"),
                How::Bytes => "has other bytes".to_owned(),
                How::NotAFile { found } => format!("is {found}"),
                How::NotExecutable => "can no longer be run".to_owned(),
                How::Respelled { found } => format!("is called `{found}`"),
            };
            (Code::FileChanged, format!("`{path}`{whose} {how}"), of_files.to_owned())
        }
        What::Extra { path, files } => {
            let many = if *files == 1 { String::new() } else { format!(", with {files} files") };
            let near = one.package.as_ref().map(|_| format!(", in a folder{whose}")).unwrap_or_default();
            let hint = "move it away, or put the package that it is of into `macml.toml`".to_owned();
            (Code::FileExtra, format!("`{path}` is of no locked package{near}{many}"), hint)
        }
    };
    let path = one.what.path().map(str::to_owned);
    Told { finding: Finding::error(code, message).hinting(hint), package: one.package.clone(), path }
}

/// Says how what is there differs from a release that is locked, or is none; `None` of what is about a file.
pub(super) fn release(name: &str, what: &What) -> Option<String> {
    match what {
        What::NotInstalled { locked } => Some(format!("{name} {locked} is locked, and is not there")),
        What::NotLocked { found } => Some(format!("{name} {found} is there, and is not locked")),
        What::OtherVersion { found, locked } => Some(format!("{name} {found} is there, and {locked} is locked")),
        What::Missing { .. } | What::Changed { .. } | What::Extra { .. } => None,
    }
}

/// Says what could not be told.
fn unsure(contents: &Contents) -> Vec<Told> {
    let mut told = Vec::new();
    let mut trusted: Vec<&PackageName> = Vec::new();
    let warn = |message: String, package: Option<&PackageName>, path: Option<&String>, code| Told {
        finding: Finding::warning(code, message),
        package: package.cloned(),
        path: path.cloned(),
    };
    let unrecorded = Code::Unrecorded;
    for one in &contents.unsure {
        match one {
            Unsure::Record { package } => trusted.push(package),
            Unsure::NoRecord { package } => {
                let message = format!("`{package}` has no RECORD: which files are its is not known");
                told.push(warn(message, Some(package), None, unrecorded));
            }
            Unsure::NoDigest { package, path } => {
                let message =
                    format!("RECORD of `{package}` has no digest of `{path}`: its bytes were held against nothing");
                told.push(warn(message, Some(package), Some(path), unrecorded));
            }
            Unsure::Outside { package, path } => {
                let message =
                    format!("RECORD of `{package}` names `{path}`, outside of the environment: nobody looked there");
                told.push(warn(message, Some(package), None, unrecorded));
            }
            Unsure::Unreadable { path, why } => {
                told.push(warn(format!("`{path}` cannot be read: {why}"), None, Some(path), Code::Unreadable));
            }
        }
    }
    if let Some(first) = trusted.first() {
        let message = match trusted.len() {
            1 => format!("RECORD of `{first}` was taken at its word: the cache does not have its wheel"),
            many => format!("RECORD of {many} packages was taken at its word: the cache does not have their wheels"),
        };
        let names: Vec<String> = trusted.iter().map(|name| format!("`{name}`")).collect();
        let finding = Finding::note(Code::RecordTrusted, message);
        let (finding, package) = match trusted.len() {
            1 => (finding, Some((*first).clone())),
            _ => (finding.noting(few(&names, MOST_NAMED)), None),
        };
        told.push(Told { finding, package, path: None });
    }
    told
}

/// Lists the packages of which something differs that facts are read of, with the files beside.
fn touched(tree: &Tree, contents: &Contents) -> BTreeMap<PackageName, Vec<String>> {
    let mut touched: BTreeMap<PackageName, Vec<String>> = BTreeMap::new();
    for one in &contents.differences {
        let Some(name) = &one.package else { continue };
        let counts = match &one.what {
            What::NotInstalled { .. } | What::NotLocked { .. } | What::OtherVersion { .. } | What::Extra { .. } => true,
            What::Changed { how: How::NotExecutable, .. } => false,
            What::Missing { path } | What::Changed { path, .. } => tells(tree, path),
        };
        if counts {
            let beside = touched.entry(name.clone()).or_default();
            if let What::Extra { path, .. } = &one.what {
                beside.push(path.clone());
            }
        }
    }
    // Where RECORD was taken at its word, nothing says that a file is the wheel's.
    for one in &contents.unsure {
        if let Unsure::Record { package } | Unsure::NoRecord { package } | Unsure::NoDigest { package, .. } = one {
            touched.entry(package.clone()).or_default();
        }
    }
    touched
}

/// Returns whether facts may come of a file: all but texts whose name says so, unless it is a module at the top, METADATA,
/// or something else by its content.
fn tells(tree: &Tree, path: &str) -> bool {
    const TEXTS: [&str; 8] = [".py", ".pyi", ".txt", ".md", ".json", ".h", ".hpp", ".typed"];
    let inside = path.strip_prefix(&tree.site).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path);
    let file = path.rsplit('/').next().unwrap_or_default();
    let is_top = inside.ends_with(".py")
        && (!inside.contains('/') || inside.split_once('/').is_some_and(|(_, rest)| rest == "__init__.py"));
    let is_noted = inside.contains(".dist-info/") && INSTALLERS.contains(&file);
    if is_top || !is_noted && !TEXTS.iter().any(|end| file.ends_with(end)) {
        return true;
    }
    let path = tree.root.join(path);
    let start = match fs::kind(&path) {
        Ok(Some(fs::Kind::File)) => fs::read_start(&path, MAGIC as u64).ok().flatten(),
        _ => None,
    };
    start.and_then(|start| <[u8; MAGIC]>::try_from(start).ok()).is_some_and(|magic| {
        macho::may_be(magic) || magic == *b"\x7fELF" || magic.starts_with(b"MZ") || magic == *b"MTLB"
    })
}

/// Reads the facts of touched packages from a tree: of the files that RECORD names, or the wheel where there is none, and
/// of those beside them. What cannot be read is left out, and noted in `part`.
///
/// # Errors
/// When the folder of packages cannot be read.
pub fn read(
    tree: &Tree,
    wanted: &Wanted,
    cache: Option<&WheelCache>,
    touched: &BTreeMap<PackageName, Vec<String>>,
    part: &mut Part,
) -> Result<Vec<Read>, FsError> {
    let site = tree.root.join(&tree.site);
    let distributions = environment::distribution_folders(&site)?;
    let mut all = Vec::with_capacity(touched.len());
    let mut failed = Vec::new();
    for (name, beside) in touched {
        let locked = wanted.packages.iter().find(|locked| locked.name == *name);
        let mut version: Option<Version> = None;
        let mut files: BTreeSet<String> = BTreeSet::new();
        for (folder, package) in distributions.iter().filter(|(_, package)| package.name == name.as_str()) {
            let found = match locked {
                Some(locked) if locked.is(package) => Some(locked.version.clone()),
                _ => package.version.parse().ok(),
            };
            // Where there are two, the one that is not locked came later.
            if version.is_none() || found.as_ref() != locked.map(|locked| &locked.version) {
                version = found;
            }
            let record = site.join(folder).join("RECORD");
            let bytes = fs::read_plain(&record, LONGEST_RECORD).unwrap_or_else(|error| {
                failed.push(error);
                None
            });
            let rows = bytes.and_then(|bytes| install::recorded(&bytes));
            files.extend(rows.into_iter().flatten().filter_map(|row| install::from_root(&tree.site, &row.path)));
        }
        let wheel = locked.and_then(|locked| locked.wheel.as_ref());
        if let (true, Some((wheel, sha256)), Some(cache)) = (files.is_empty(), wheel, cache)
            && let Ok(Some(unpacked)) = cache.look(wheel, *sha256)
        {
            let layout = tree.layout();
            files.extend(unpacked.own_files().map(|file| layout.place(&unpacked, &file.path)));
        }
        for path in beside {
            match below(tree, path) {
                Ok(below) => files.extend(below),
                Err(error) => failed.push(error),
            }
        }
        let is_locked = version.is_some() && version.as_ref() == locked.map(|locked| &locked.version);
        let from_site: Vec<String> = files.iter().map(|path| from_site(&tree.site, path)).collect();
        let (facts, unread) = facts::read_tree_as_far(&site, from_site.iter().map(String::as_str), Pages::Hashed);
        failed.extend(unread.into_iter().map(|(_, error)| error));
        let wheel = wheel.filter(|_| is_locked).map(|(wheel, _)| wheel.clone());
        all.push(Read { name: name.clone(), version, wheel, facts });
    }
    let inside = |FsError { path, cause, .. }: FsError| {
        (path.strip_prefix(&tree.root).unwrap_or(&path).display().to_string(), cause.to_string())
    };
    part.unread(&failed.into_iter().map(inside).collect::<Vec<_>>());
    Ok(all)
}

/// Lists the files of a path that ends in `/` where it is a folder.
fn below(tree: &Tree, path: &str) -> Result<Vec<String>, FsError> {
    if !path.ends_with('/') {
        return Ok(vec![path.to_owned()]);
    }
    let all = fs::walk(&tree.root.join(path))?.into_iter();
    Ok(all.filter_map(|file| Some(file.strip_prefix(&tree.root).ok()?.to_str()?.to_owned())).collect())
}

/// Writes a path from the folder of packages, as RECORD does.
fn from_site(site: &str, path: &str) -> String {
    match path.strip_prefix(site).and_then(|rest| rest.strip_prefix('/')) {
        Some(rest) => rest.to_owned(),
        None => "../".repeat(site.split('/').count()) + path,
    }
}
