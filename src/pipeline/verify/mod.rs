//! From an environment to verdicts: does its GPU train, and are its numbers right.
//!
//! ```text
//! Subject -> which frameworks -> what is known to go wrong here -> each probe, found or built -> Verdict
//!         -> which of what is wrong was known -> Record in .macml/, from which sync knows how the GPU stands
//! ```
//!
//! Whoever calls decides which environment it is, and who may compile; what is asked of a probe is decided here, once.

mod foreseen;
mod operators;
mod standing;

use crate::host::Host;
use crate::knowledge::Knowledge;
use crate::pep::Version;
use crate::progress::Progress;
use crate::verify;
use crate::verify::Probe;
use crate::verify::Subject;
use crate::verify::Transcript;
use crate::verify::Tried;
use crate::verify::Verdict;
use crate::verify::Word;
use crate::verify::native;
use crate::verify::native::Builder;
use crate::verify::native::Torch;
use crate::verify::protocol::At;
use crate::verify::protocol::Device;
use crate::verify::protocol::ElementType;
use crate::verify::protocol::Framework;
use crate::verify::protocol::Limits;
use crate::verify::protocol::PROTOCOL;
use crate::verify::protocol::ProbeKind;
use crate::verify::protocol::Question;
use crate::verify::protocol::Request;
use crate::verify::protocol::Sizes;
use crate::verify::protocol::Tolerances;

pub use foreseen::{Foreseen, Unfit};
pub use operators::Names;
pub use standing::{Kept, Locked, keep, lock_in, standing};

/// What is to be verified, where, and by which probes.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The environment.
    pub subject: &'a Subject,
    /// Where to compute.
    pub device: Device,
    /// The Mac that this is; `None` elsewhere.
    pub host: Option<&'a Host>,
    /// How many bytes of memory there are.
    pub memory: u64,
    /// How long each probe may take.
    pub limits: Limits,
    /// Which probes.
    pub probes: Probes,
    /// The operators to try, through Python, and nothing else; of none those that probes know. `None` for all the rest.
    pub operators: Option<&'a [String]>,
    /// Names of knowledge that the project switched off.
    pub ignored: &'a [String],
}

/// Which probes are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Probes {
    /// The Python one of each framework, and for torch the native one if there is one or somebody lets it be built.
    Usual,
    /// The native one, and nothing else.
    Native,
    /// The Python ones, and nothing else.
    Python,
    /// All: that the native one cannot be run is an answer too.
    Both,
}

/// Who lets a native probe be built that nobody demanded: it takes minutes.
#[derive(Clone, Copy)]
pub enum Consent<'a> {
    /// The user's settings do.
    Given,
    /// Somebody can be asked, about this torch.
    Asked(&'a dyn Fn(&Torch) -> bool),
    /// Nobody does.
    Withheld,
}

/// What came of a probe.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// What it means.
    pub verdict: Verdict,
    /// The release that is installed, and was asked about; none where there is no such framework.
    pub installed: Option<Version>,
    /// For each of the verdict's problems the names of the rules by which it was known.
    pub known: Vec<Vec<String>>,
    /// What came of each operator, where those were asked about.
    pub tried: Vec<Tried>,
    /// Whether something was not begun, because the time was over.
    pub late: bool,
}

/// Why a native probe was not run that nobody demanded.
#[derive(Debug)]
pub enum NotAsked {
    /// It was not built yet, and nobody said that it may be.
    NotBuilt,
    /// It cannot be.
    Cannot(native::NotRun),
    /// There is no folder for it.
    NoCache,
}

/// All that came of it.
#[derive(Debug)]
pub struct Outcome {
    /// One for each probe that was run, or should have been.
    pub answers: Vec<Answer>,
    /// Why the native probe was left out; `None` where it was not, or was not to be run.
    pub left_out: Option<NotAsked>,
}

/// What every random number of a probe follows from: the same for everybody, so that reports can be compared.
const SEED: u64 = 20_261_130;

impl Job<'_> {
    /// Says what is known to go wrong in the environment on this machine.
    pub fn foresee(&self, knowledge: &Knowledge) -> Foreseen {
        match (self.host, self.subject.python()) {
            (Some(host), Some(python)) => {
                foreseen::foresee(knowledge, &self.subject.installed, python, host, self.device, self.ignored)
            }
            _ => Foreseen::default(),
        }
    }

    /// Returns what a probe of a framework is asked. Of operators nothing else is asked: of none those that the probe knows.
    fn request(&self, framework: Framework, release: &Version, operators: Option<&[String]>) -> Request {
        Request {
            protocol: PROTOCOL,
            framework,
            release: Some(release.to_string()),
            device: self.device,
            seed: SEED,
            questions: if operators.is_some() { vec![Question::Operators] } else { Question::USUAL.into() },
            types: ElementType::ASKED.into(),
            sizes: Sizes::for_memory(self.memory),
            limits: self.limits,
            tolerances: Tolerances::default(),
            operators: operators.unwrap_or_default().to_vec(),
        }
    }

    /// Runs a probe, and says meanwhile what it is at.
    fn ask(&self, probe: &Probe, request: Request, progress: &dyn Progress) -> Transcript {
        let release = request.release.as_deref().unwrap_or_default();
        let what = format!("{} {release} on {} {}", request.framework, self.device, probe.kind.way());
        progress.probing(&what, request.limits.end);
        let transcript = probe.ask_telling(&request, &mut |at: &At| match at.element {
            Some(element) => progress.asking(&format!("{} in {element}", at.id)),
            None => progress.asking(&at.id),
        });
        progress.probed();
        transcript
    }
}

impl Outcome {
    /// Returns the word for all of it.
    pub fn word(&self) -> Word {
        Word::of_all(self.answers.iter().map(|answer| answer.verdict.word))
    }

    /// Returns whether all that is wrong is that this process has no GPU.
    pub fn is_absence(&self) -> bool {
        !self.answers.is_empty() && self.answers.iter().all(|answer| answer.verdict.word.is_absence())
    }
}

/// Runs the probes, one after another. What goes wrong is in the answers.
pub fn verify(
    job: &Job<'_>,
    foreseen: &Foreseen,
    builder: Option<&Builder<'_>>,
    consent: Consent<'_>,
    progress: &dyn Progress,
) -> Outcome {
    let mut outcome = Outcome { answers: Vec::new(), left_out: None };
    if let Some(wanted) = job.operators {
        outcome.answers = operators::ask(job, wanted, foreseen, progress);
        return outcome;
    }
    let ask = |probe: &Probe, framework: Framework, release: &Version, caution: Option<String>| {
        let transcript = job.ask(probe, job.request(framework, release, None), progress);
        let mut verdict = verify::judge(&transcript);
        verdict.notes.splice(0..0, caution);
        verdict.notes.extend(foreseen.remarks(framework));
        Answer { late: transcript.is_late(), ..foreseen.explain(verdict, Some(release.clone())) }
    };
    let frameworks = job.subject.frameworks();
    for (framework, release) in &frameworks {
        if job.probes != Probes::Native {
            let probe = Probe::python(*framework, &job.subject.interpreter, job.subject.vars.clone());
            outcome.answers.push(ask(&probe, *framework, release, None));
        }
        if *framework == Framework::Torch && job.probes != Probes::Python {
            match native(job, builder, consent) {
                Ok((torch, executable)) => {
                    let probe = executable.probe(&torch, job.subject.vars.clone());
                    outcome.answers.push(ask(&probe, *framework, release, executable.caution()));
                }
                Err(why) if job.probes == Probes::Usual => outcome.left_out = Some(why),
                Err(why) => {
                    let verdict = Verdict::not_run(ProbeKind::Native, *framework, job.device, why.to_string());
                    outcome.answers.push(foreseen.explain(verdict, Some(release.clone())));
                }
            }
        }
    }
    let has_torch = frameworks.iter().any(|(framework, _)| *framework == Framework::Torch);
    if matches!(job.probes, Probes::Native | Probes::Both) && !has_torch {
        let sentence = "the native probe asks torch, which is not installed here".to_owned();
        let verdict = Verdict::not_run(ProbeKind::Native, Framework::Torch, job.device, sentence);
        outcome.answers.push(foreseen.explain(verdict, None));
    }
    outcome
}

/// Finds the native probe for the environment's torch, or builds it where that is wanted.
fn native(
    job: &Job<'_>,
    builder: Option<&Builder<'_>>,
    consent: Consent<'_>,
) -> Result<(Torch, native::Executable), NotAsked> {
    let torch = Torch::inside(&job.subject.site_packages).map_err(|error| NotAsked::Cannot(error.into()))?;
    let torch = torch.ok_or_else(|| {
        let missing = job.subject.site_packages.join("torch/version.py");
        NotAsked::Cannot(native::NotRun::NotWhole(missing))
    })?;
    let builder = builder.ok_or(NotAsked::NoCache)?;
    let cannot = NotAsked::Cannot;
    if let Some(found) = builder.find(&torch).map_err(cannot)? {
        return Ok((torch, found));
    }
    // Nobody is asked for what cannot be.
    builder.ready(&torch).map_err(cannot)?;
    let may = match consent {
        _ if job.probes != Probes::Usual => true,
        Consent::Given => true,
        Consent::Asked(ask) => ask(&torch),
        Consent::Withheld => false,
    };
    match may {
        true => builder.build(&torch).map(|built| (torch, built)).map_err(cannot),
        false => Err(NotAsked::NotBuilt),
    }
}

impl std::fmt::Display for NotAsked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotBuilt => f.write_str("it was not built yet for this torch"),
            Self::Cannot(reason) => write!(f, "{reason}"),
            Self::NoCache => f.write_str("there is no cache folder to build it in"),
        }
    }
}
