//! Which versions work on which Python and macOS: the newest set for each, by real solves.
//!
//! A [`Question`] is a set of packages, solved once for each cell: with the cell's Python alone, and its macOS as the
//! floor. All cells share one [`Facts`], so that every page and every METADATA travels once. What a cell found is kept
//! on disk for as long as index pages count as fresh.
//!
//! ```text
//! Question x Axes --> cells --kept?--> from disk
//!                       `-----solve-> resolve --> Answer --judge--> Cell --> Table
//! ```

pub mod axes;

mod kept;

mod reading;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::diag::Span;
use crate::host::Chip;
use crate::index::Config;
use crate::index::source::Source;
use crate::index::source::SourceError;
use crate::knowledge;
use crate::knowledge::Circumstances;
use crate::knowledge::Knowledge;
use crate::manifest::Manifest;
use crate::manifest::model::EnvSpec;
use crate::manifest::model::Gpu;
use crate::manifest::model::IndexSpec;
use crate::manifest::model::MacFloor;
use crate::manifest::model::Root;
use crate::manifest::model::RootSource;
use crate::manifest::model::RootTable;
use crate::pep::PackageName;
use crate::pep::Requirement;
use crate::pep::RequirementSource;
use crate::pep::Sha256;
use crate::pep::Specifiers;
use crate::pep::Version;
use crate::pipeline;
use crate::progress::Progress;
use crate::resolve;
use crate::resolve::Facts;
use crate::resolve::Request;
use crate::resolve::request::Preferences;
use crate::target::MacosVersion;
use crate::target::Platform;
use crate::target::PythonMinor;

pub use axes::Axes;
pub use reading::Mark;

use kept::Kept;

/// The sets that are asked about where nobody names any.
pub const STACKS: [&[&str]; 4] = [
    &["torch", "torchvision", "torchaudio"],
    &["tensorflow", "tensorflow-metal"],
    &["mlx", "mlx-lm"],
    &["coremltools"],
];

/// One set of packages, to be solved for every Python and macOS.
#[derive(Clone, Debug)]
pub struct Question {
    /// The packages that a cell tells the versions of, in this order.
    pub asked: Vec<PackageName>,
    /// What is solved; each cell puts its own Python and macOS in.
    request: Request,
    /// The lowest chip.
    chip: Chip,
    /// Digest of the knowledge that it is solved with.
    known: Sha256,
    /// The manifest's indexes.
    indexes: Vec<IndexSpec>,
}

/// Which answers of earlier runs count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reuse {
    /// Those no older than index pages may be.
    Fresh,
    /// All of them, however old.
    Any,
    /// None.
    Nothing,
}

/// What a cell found.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// The newest working set, with everything that it needs.
    Set(BTreeMap<PackageName, Version>),
    /// Why there is none: lowercase sentences, in the order of reasoning.
    Refusal(Vec<String>),
}

/// One Python on one macOS.
#[derive(Clone, PartialEq, Debug)]
pub struct Cell {
    /// The Python.
    pub python: PythonMinor,
    /// The lowest macOS.
    pub macos: MacosVersion,
    /// What it found.
    pub answer: Answer,
    /// Rules of the knowledge that tell of something wrong with exactly this set at this floor, by name, worst first.
    pub problems: Vec<String>,
    /// Frameworks of the set that are later than the knowledge, which says nothing of them.
    pub unknown: Vec<PackageName>,
}

/// The answers to one question.
#[derive(Clone, Debug)]
pub struct Table {
    /// The packages that a cell tells the versions of, in this order.
    pub asked: Vec<PackageName>,
    /// What was asked for, as in a requirement: `torch >=2.13`.
    pub lines: Vec<String>,
    /// Whether the GPU must be usable.
    pub gpu: Gpu,
    /// The lowest chip.
    pub chip: Chip,
    /// What was asked about.
    pub axes: Axes,
    /// A row for each Python, a cell for each macOS.
    pub rows: Vec<Vec<Cell>>,
    /// What the cells were judged by.
    pub knowledge: Arc<Knowledge>,
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Packages that no index has.
    #[error("{}", .0.join("; "))]
    Unknown(Vec<String>),
    /// The indexes cannot be reached at all: a setting is wrong.
    #[error(transparent)]
    Connect(SourceError),
    /// A cell could not be solved, for another reason than that there is no set.
    #[error(transparent)]
    Resolve(#[from] resolve::Error),
}

/// Why a text does not name packages of a question.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// No dependency specifier.
    #[error(transparent)]
    Form(#[from] crate::pep::requirement::RequirementError),
    /// An address, which has one version only.
    #[error("`{0}` names one file: ask with a range of versions")]
    Address(String),
}

impl Question {
    /// Asks about the roots of an environment; `env` need not be one of the manifest's. A floor of its own gives way to
    /// that of each cell.
    ///
    /// # Errors
    /// When a wheel by path or address has a file name that says nothing.
    pub fn new(manifest: &Manifest, folder: &Path, mut env: EnvSpec, chip: Chip) -> Result<Self, pipeline::Error> {
        env.platforms = vec![Platform::MacosArm64];
        let macos = MacosVersion::new(MacosVersion::NEWEST_MAJOR, 0);
        env.mac = Some(MacFloor { macos, macos_span: nowhere(), chip: chip.clone() });
        env.python = Specifiers::any();
        let here = |root: &&Root| root.platform.is_none_or(Platform::is_mac);
        let named = env.roots.iter().filter(here).filter(|root| root.table == RootTable::Frameworks);
        let mut asked: Vec<PackageName> = Vec::new();
        for root in named {
            if !asked.contains(&root.name) {
                asked.push(root.name.clone());
            }
        }
        let request = pipeline::request(manifest, folder, (&env, Platform::MacosArm64), Preferences::default())?;
        let known = kept::digest(&request.knowledge);
        Ok(Self { asked, request, chip, known, indexes: manifest.indexes.clone() })
    }

    /// Puts a cell's Python and macOS in.
    fn at(&self, python: PythonMinor, macos: MacosVersion) -> Request {
        let mut request = self.request.clone();
        request.env.python = format!("=={python}.*").parse().expect("a minor makes a specifier");
        request.env.mac.as_mut().expect("a question is about Macs").macos = macos;
        request
    }

    /// Writes what is asked for of each package.
    fn lines(&self) -> Vec<String> {
        let roots = self.request.env.roots.iter().filter(|root| self.asked.contains(&root.name));
        let mut lines: Vec<String> = roots.map(resolve::explain::describe_root).collect();
        lines.dedup();
        lines
    }

    /// Returns the macOS versions at which answers may change.
    pub fn floors(&self, own: Option<MacosVersion>) -> Vec<MacosVersion> {
        let names: Vec<&PackageName> = self.request.env.roots.iter().map(|root| &root.name).collect();
        axes::floors(&self.request.knowledge, &names, own)
    }
}

/// Reads one argument, `torch` or `torch>=2.13`, as a line of `[frameworks]`.
///
/// # Errors
/// When it is no dependency specifier, or names an address.
pub fn root(text: &str) -> Result<Root, RootError> {
    let Requirement { name, extras, source, marker } = text.parse()?;
    let RequirementSource::Versions(specifiers) = source else { return Err(RootError::Address(text.to_owned())) };
    let (source, table, span) = (RootSource::Versions(specifiers), RootTable::Frameworks, nowhere());
    Ok(Root { name, extras, source, marker, index: None, platform: None, table, span })
}

/// Makes an environment of roots that no manifest declares.
pub fn environment(roots: Vec<Root>, gpu: Gpu) -> EnvSpec {
    EnvSpec {
        name: "default".to_owned(),
        platforms: vec![Platform::MacosArm64],
        mac: None,
        glibc: (2, 28),
        gpu,
        python: Specifiers::any(),
        python_span: nowhere(),
        memory: None,
        roots,
        resolution: crate::manifest::model::Resolution::default(),
    }
}

fn nowhere() -> Span {
    Span { start: 0, end: 0 }
}

/// How the indexes are reached, once something has to be solved.
pub type Connect<'a> = &'a mut dyn FnMut() -> Result<Box<dyn Source>, SourceError>;

/// Answers questions. `config` says where answers are kept and whom `connect` reaches.
///
/// # Errors
/// When a package does not exist, or an index could not be asked; cells solved before are kept for the next run.
pub fn answer(
    questions: &[(Question, Axes)],
    reuse: Reuse,
    config: &Config,
    connect: Connect<'_>,
    progress: &dyn Progress,
) -> Result<Vec<Table>, Error> {
    let mut kept = Kept::new(config, reuse, progress);
    let mut tables: Vec<Vec<Vec<Option<Answer>>>> = Vec::new();
    for (question, axes) in questions {
        let cell = |python: &PythonMinor, macos: &MacosVersion| kept.read(question, &question.at(*python, *macos));
        let row = |python| axes.floors.iter().map(|macos| cell(python, macos)).collect();
        tables.push(axes.pythons.iter().map(row).collect());
    }
    let open = tables.iter().flatten().flatten().filter(|answer| answer.is_none()).count();
    if open > 0 {
        let mut source = connect().map_err(Error::Connect)?;
        let mut solving =
            Solving { facts: Facts::new(&mut *source, progress), progress, kept: &mut kept, done: 0, open };
        for ((question, axes), table) in questions.iter().zip(&mut tables) {
            solving.fill(question, axes, table)?;
        }
    }
    let table = |((question, axes), answers): (&(Question, Axes), Vec<Vec<Option<Answer>>>)| {
        let row = |(python, answers): (&PythonMinor, Vec<Option<Answer>>)| {
            let answers = answers.into_iter().map(|answer| answer.expect("every cell is filled"));
            let cells = axes.floors.iter().zip(answers).map(|(macos, answer)| question.judge(*python, *macos, answer));
            cells.collect()
        };
        Table {
            asked: question.asked.clone(),
            lines: question.lines(),
            gpu: question.request.env.gpu,
            chip: question.chip.clone(),
            axes: axes.clone(),
            rows: axes.pythons.iter().zip(answers).map(row).collect(),
            knowledge: question.request.knowledge.clone(),
        }
    };
    Ok(questions.iter().zip(tables).map(table).collect())
}

/// What all cells of a run share.
struct Solving<'s, 'k> {
    facts: Facts<'s>,
    progress: &'s dyn Progress,
    kept: &'k mut Kept<'s>,
    done: usize,
    /// How many cells there are to solve.
    open: usize,
}

impl Solving<'_, '_> {
    /// Solves the cells of a question that have no answer yet.
    fn fill(&mut self, question: &Question, axes: &Axes, table: &mut [Vec<Option<Answer>>]) -> Result<(), Error> {
        if table.iter().flatten().all(Option::is_some) {
            return Ok(());
        }
        let unknown = resolve::explain::unknown_roots(&question.request, &mut self.facts)?;
        if !unknown.is_empty() {
            return Err(Error::Unknown(unknown));
        }
        let names = question.asked.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        for (python, row) in axes.pythons.iter().zip(table) {
            for (macos, answer) in axes.floors.iter().zip(row).filter(|(_, answer)| answer.is_none()) {
                self.done += 1;
                let place = format!("macOS {macos} ({} of {})", self.done, self.open);
                self.progress.solving(&format!("{names} on Python {python}"), &place);
                let request = question.at(*python, *macos);
                let found = match resolve::resolve_without_edits(&request, &mut self.facts) {
                    Ok(resolution) => {
                        let packages = resolution.packages.into_iter();
                        Answer::Set(packages.map(|(name, package)| (name, package.version)).collect())
                    }
                    Err(resolve::Error::NoSolution(explanation)) => Answer::Refusal(explanation.reasons),
                    Err(error) => return Err(error.into()),
                };
                self.kept.write(question, &request, &found);
                *answer = Some(found);
            }
        }
        Ok(())
    }
}

impl Question {
    /// Looks up what the knowledge says of an answer.
    fn judge(&self, python: PythonMinor, macos: MacosVersion, answer: Answer) -> Cell {
        let Answer::Set(set) = &answer else {
            return Cell { python, macos, answer, problems: Vec::new(), unknown: Vec::new() };
        };
        let (env, knowledge) = (&self.request.env, &self.request.knowledge);
        let on = Circumstances { macos, chip: self.chip.clone(), gpu: env.gpu };
        let judgement = knowledge::judge(knowledge, set, python, &on, &env.resolution.ignore_rules);
        let here = |hit: &&knowledge::Hit<'_>| hit.reach == knowledge::Reach::AtFloor;
        let told = judgement.condemned.iter().chain(&judgement.problems).filter(here);
        let problems = told.map(|hit| hit.rule.id.clone()).collect();
        let later = set.iter().filter(|(name, version)| knowledge.unknown(name, version).is_some());
        let unknown = later.map(|(name, _)| name.clone()).collect();
        Cell { python, macos, answer, problems, unknown }
    }
}
