//! `Verdict`: what a transcript means, in one word and as many sentences as it takes. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::memory::out_of_memory;
use super::operators::{self, Outcome, Tried};
use super::protocol::{CHECKS, Check, Device, DeviceSeen, ElementType, Event, Framework, PROTOCOL, ProbeKind};
use super::protocol::{Operator, Question, Skipped, Surrounding, Training, Why};
use super::transcript::{Ended, Transcript};

/// What one run of a probe means.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Verdict {
    /// The word of the problem that tells most, or `ok`.
    pub word: Word,
    /// Which probe it was.
    pub probe: ProbeKind,
    /// What it loaded, or was to load.
    pub framework: Framework,
    /// Its version, as far as it told.
    pub version: Option<String>,
    /// Where it was to compute.
    pub device: Device,
    /// What the device is, as far as it told.
    pub device_name: Option<String>,
    /// The system, as the probe saw it.
    pub system: Option<String>,
    /// Everything that is wrong, the most telling first.
    pub problems: Vec<Problem>,
    /// What was not asked or is worth knowing, and is not wrong.
    pub notes: Vec<String>,
    /// How many computations were compared.
    pub compared: u64,
    /// For each element type the largest error there was, over the scale of its reference, and where.
    pub largest: BTreeMap<ElementType, Largest>,
    /// How long the probe took, as far as it told.
    pub seconds: Option<f64>,
}

/// The largest error in an element type.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Largest {
    /// Over the scale of the reference.
    pub error: f64,
    /// The check.
    pub id: String,
}

/// Something that is wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Problem {
    /// Its word.
    pub word: Word,
    /// The check, training or operator it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What people read.
    pub sentence: String,
}

/// What a probe's answer means, the most telling first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// Nothing could be started.
    NotRun,
    /// The framework, or the probe itself, cannot be loaded.
    CannotLoad,
    /// Another release was loaded than the one asked about.
    WrongRelease,
    /// The framework is built without that device.
    NotBuilt,
    /// The machine may have such a device, but this process is kept from it.
    NotVisible,
    /// There is no such device, or the framework cannot use it.
    NoDevice,
    /// Results are NaN or infinite.
    Nan,
    /// Results are wrong.
    WrongNumbers,
    /// Training did not lower the loss on the device, while it did on the CPU; or left weights as they were.
    DidNotLearn,
    /// The probe's process broke.
    Crashed,
    /// The probe did not come to an end.
    Hung,
    /// The probe's answer cannot be read, or is not whole.
    Garbage,
    /// The framework raised an error instead of computing.
    Failed,
    /// Something was computed on the CPU instead of the device.
    Fallback,
    /// State of the optimizer does not lie on the device.
    OptimizerElsewhere,
    /// The GPU had no memory left, which says nothing of what is installed.
    OutOfMemory,
    /// Something that was to be asked was not asked.
    Incomplete,
    /// All that was asked is right.
    Ok,
}

/// What a word means for a program that calls `macml verify`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// All is right: exit code 0.
    Yes,
    /// It could not be told: 2.
    Unknown,
    /// It does not work: 1.
    No,
    /// It works, and its numbers are wrong: 3.
    Numbers,
}

impl Word {
    /// Every word, the most telling first.
    pub const ALL: [Self; 18] = [
        Self::NotRun,
        Self::CannotLoad,
        Self::WrongRelease,
        Self::NotBuilt,
        Self::NotVisible,
        Self::NoDevice,
        Self::Nan,
        Self::WrongNumbers,
        Self::DidNotLearn,
        Self::Crashed,
        Self::Hung,
        Self::Garbage,
        Self::Failed,
        Self::Fallback,
        Self::OptimizerElsewhere,
        Self::OutOfMemory,
        Self::Incomplete,
        Self::Ok,
    ];

    /// Returns what it means for a program that calls.
    pub fn class(self) -> Class {
        match self {
            Self::Ok => Class::Yes,
            Self::Nan | Self::WrongNumbers | Self::DidNotLearn => Class::Numbers,
            Self::NotRun | Self::NotVisible | Self::NoDevice | Self::Hung | Self::OutOfMemory => Class::Unknown,
            Self::CannotLoad
            | Self::WrongRelease
            | Self::NotBuilt
            | Self::Crashed
            | Self::Garbage
            | Self::Failed
            | Self::Fallback
            | Self::OptimizerElsewhere
            | Self::Incomplete => Class::No,
        }
    }

    /// Returns the word for several answers together: of the class that [`Class::of_all`] says, the one that tells most.
    pub fn of_all(words: impl IntoIterator<Item = Self>) -> Self {
        let tells_more = |word: &Self| (word.class(), std::cmp::Reverse(*word));
        words.into_iter().max_by_key(tells_more).unwrap_or(Self::NotRun)
    }

    /// Returns whether it says that this process has no such device, which `--if-possible` forgives.
    pub fn is_absence(self) -> bool {
        matches!(self, Self::NoDevice | Self::NotVisible)
    }

    /// Returns the word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotRun => "not-run",
            Self::CannotLoad => "cannot-load",
            Self::WrongRelease => "wrong-release",
            Self::NotBuilt => "not-built",
            Self::NotVisible => "not-visible",
            Self::NoDevice => "no-device",
            Self::Nan => "nan",
            Self::WrongNumbers => "wrong-numbers",
            Self::DidNotLearn => "did-not-learn",
            Self::Crashed => "crashed",
            Self::Hung => "hung",
            Self::Garbage => "garbage",
            Self::Failed => "failed",
            Self::Fallback => "fallback",
            Self::OptimizerElsewhere => "optimizer-elsewhere",
            Self::OutOfMemory => "out-of-memory",
            Self::Incomplete => "incomplete",
            Self::Ok => "ok",
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Class {
    /// Returns the class of several answers together: wrong numbers above all, then what does not work, then what could
    /// not be told; of none that it could not be told.
    pub fn of_all(words: impl IntoIterator<Item = Word>) -> Self {
        words.into_iter().map(Word::class).max().unwrap_or(Self::Unknown)
    }

    /// Returns the exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Yes => 0,
            Self::No => 1,
            Self::Unknown => 2,
            Self::Numbers => 3,
        }
    }
}

impl Verdict {
    /// Makes the one for a probe that should have been run and could not be.
    pub fn not_run(probe: ProbeKind, framework: Framework, device: Device, sentence: String) -> Self {
        let problem = Problem { word: Word::NotRun, id: None, sentence };
        Self::unasked(probe, framework, device, problem)
    }

    /// Makes the one for what could not be asked at all.
    pub fn unasked(probe: ProbeKind, framework: Framework, device: Device, problem: Problem) -> Self {
        Self {
            word: problem.word,
            probe,
            framework,
            version: None,
            device,
            device_name: None,
            system: None,
            problems: vec![problem],
            notes: Vec::new(),
            compared: 0,
            largest: BTreeMap::new(),
            seconds: None,
        }
    }

    /// Says what was asked, in words: `torch 2.13.0 on mps (Apple M1), darwin 26.4 arm64`.
    pub fn subject(&self) -> String {
        let mut text = self.framework.to_string();
        if let Some(version) = &self.version {
            text = format!("{text} {version}");
        }
        text = format!("{text} on {}", self.device);
        if let Some(name) = &self.device_name {
            text = format!("{text} ({name})");
        }
        match &self.system {
            Some(system) => format!("{text}, {system}"),
            None => text,
        }
    }
}

/// Judges what a probe answered.
pub fn judge(transcript: &Transcript) -> Verdict {
    judge_all(transcript, &[])
}

/// Judges what processes of one probe answered: the first, and those that were asked afterwards, each what those before
/// did not come to.
pub fn judge_all(first: &Transcript, later: &[Transcript]) -> Verdict {
    let all: Vec<&Transcript> = std::iter::once(first).chain(later).collect();
    let mut problems = Vec::new();
    let mut notes = Vec::new();
    for transcript in &all {
        let mut judge = Judge { transcript, problems: Vec::new(), notes: Vec::new() };
        if judge.could_answer() {
            judge.numbers();
            judge.trainings();
            if std::ptr::eq(*transcript, first) {
                judge.operators(&operators::tried_in_all(first, later));
            }
            judge.fallbacks();
            judge.skipped();
            judge.end();
            if transcript.is_done() {
                judge.whole();
            }
        }
        problems.extend(judge.problems);
        notes.extend(judge.notes);
    }
    problems.sort_by_key(|problem| problem.word);
    let seconds = all.iter().flat_map(|transcript| &transcript.events).filter_map(|event| match event {
        Event::Done(done) => Some(done.seconds),
        _ => None,
    });
    Verdict {
        word: problems.first().map_or(Word::Ok, |problem| problem.word),
        probe: first.probe,
        framework: first.request.framework,
        version: first.version().map(str::to_owned),
        device: first.request.device,
        // Where there is none, a probe names what it runs on instead.
        device_name: first.device().filter(|device| device.available).and_then(|device| device.name.clone()),
        system: first.hello().map(|hello| hello.system.clone()),
        problems,
        notes,
        compared: all.iter().flat_map(|transcript| errors(transcript)).count() as u64,
        largest: largest(&all),
        seconds: seconds.reduce(|a, b| a + b),
    }
}

fn largest(transcripts: &[&Transcript]) -> BTreeMap<ElementType, Largest> {
    let mut found: BTreeMap<ElementType, Largest> = BTreeMap::new();
    for (element, id, error) in transcripts.iter().flat_map(|transcript| errors(transcript)) {
        let entry = found.entry(element).or_insert_with(|| Largest { error, id: id.into() });
        if error > entry.error {
            *entry = Largest { error, id: id.into() };
        }
    }
    found
}

/// Lists what was compared, by type and name, with its error.
fn errors(transcript: &Transcript) -> impl Iterator<Item = (ElementType, &str, f64)> {
    let checks = transcript.checks().filter_map(|one| Some((one.element, one.id.as_str(), one.max_rel?)));
    let operators = transcript.operators().filter_map(|one| Some((one.element?, one.name.as_str(), one.max_rel?)));
    checks.chain(operators)
}

struct Judge<'a> {
    transcript: &'a Transcript,
    problems: Vec<Problem>,
    notes: Vec<String>,
}

impl Judge<'_> {
    fn find(&mut self, word: Word, id: Option<&str>, sentence: String) {
        self.problems.push(Problem { word, id: id.map(str::to_owned), sentence });
    }

    /// Says that the probe ended because memory was over, if it printed that.
    fn ran_out(&self) -> Option<String> {
        self.transcript.printed.iter().rev().find_map(|line| out_of_memory(line, self.memory()))
    }

    fn memory(&self) -> u64 {
        self.transcript.request.sizes.memory
    }

    /// Judges whether there is a framework and a device that could answer at all.
    fn could_answer(&mut self) -> bool {
        let transcript = self.transcript;
        let framework = transcript.request.framework;
        if let Ended::NotStarted(_) = &transcript.ended {
            self.find(Word::NotRun, None, format!("the probe of {framework} {}", transcript.ended));
            return false;
        }
        let told = transcript.events.iter().find_map(|event| match event {
            Event::CannotLoad(told) => Some(told),
            _ => None,
        });
        if let Some(told) = told {
            self.find(Word::CannotLoad, None, format!("{framework} cannot be loaded: {}", one_line(&told.error)));
            return false;
        }
        let Some(hello) = transcript.hello() else {
            self.silent();
            return false;
        };
        if hello.protocol != PROTOCOL || hello.framework != framework {
            let sentence = format!(
                "the probe speaks protocol {} for {}, and was asked in {PROTOCOL} about {framework}",
                hello.protocol, hello.framework
            );
            self.find(Word::Garbage, None, sentence);
            return false;
        }
        let version = transcript.version().unwrap_or("without a version");
        if let Some(wanted) = &transcript.request.release
            && release(wanted) != release(version)
        {
            let sentence = format!("{framework} {version} was loaded, and {wanted} was to be asked");
            self.find(Word::WrongRelease, None, sentence);
            return false;
        }
        match transcript.device() {
            Some(device) if device.available => true,
            Some(device) => {
                let (word, sentence) = absent(transcript, device);
                self.find(word, None, sentence);
                false
            }
            None => {
                self.end();
                if self.problems.is_empty() {
                    self.find(Word::Garbage, None, "the probe said nothing of a device".into());
                }
                false
            }
        }
    }

    /// Judges a probe that did not even say that it runs.
    fn silent(&mut self) {
        let transcript = self.transcript;
        let framework = transcript.request.framework;
        let words = transcript.last_words().map_or_else(String::new, |words| format!(": {words}"));
        if let Some(refusal) = transcript.loader_words() {
            self.find(Word::CannotLoad, None, format!("{framework} cannot be loaded: {refusal}"));
            return;
        }
        let (word, sentence) = match &transcript.ended {
            Ended::Signal(_) => {
                (Word::Crashed, format!("the probe {} while loading {framework}{words}", transcript.ended))
            }
            Ended::OutOfTime(_) => (Word::Hung, format!("the probe {} while loading {framework}", transcript.ended)),
            Ended::NotStarted(_) | Ended::Code(_) => {
                (Word::Garbage, format!("the probe said nothing that can be read, and {}{words}", transcript.ended))
            }
        };
        self.find(word, None, sentence);
    }

    fn numbers(&mut self) {
        for check in self.transcript.checks() {
            let tolerance = self.transcript.request.tolerances.of(check.element);
            if let Some((word, sentence)) = wrong(check, tolerance, self.memory()) {
                self.find(word, Some(&check.id), format!("{}: {sentence}", named(check)));
            }
            // What fell back is told by its operator, where that is known.
            let known = || self.transcript.fallbacks().iter().any(|one| one.during == check.id);
            if let Some(place) = &check.elsewhere
                && !known()
            {
                self.find(Word::Fallback, Some(&check.id), format!("{}: its result lies on {place}", named(check)));
            }
        }
    }

    fn trainings(&mut self) {
        let tolerances = self.transcript.request.tolerances;
        for training in self.transcript.trainings() {
            for (word, sentence) in taught(training, tolerances.learned, tolerances.loss, self.memory()) {
                self.find(word, Some(&training.id), format!("`{}`: {sentence}", training.id));
            }
        }
    }

    fn operators(&mut self, tried: &[Tried]) {
        const MOST_NAMED: usize = 8;
        let mut unasked = Vec::new();
        for one in tried {
            let id = one.name.as_str();
            let why = one.why.as_deref().unwrap_or_default();
            match one.outcome {
                Outcome::Supported => {}
                // How the probe ended is told once, with the operator's name.
                Outcome::Fails if matches!(one.word, Word::Crashed | Word::Hung) => {}
                Outcome::NotTried if one.asked.is_none() => unasked.push(one.title()),
                Outcome::NotTried => self.find(one.word, Some(id), format!("{} was not tried: {why}", one.title())),
                Outcome::Fallback | Outcome::Fails | Outcome::Wrong => {
                    let element = one.element.map_or_else(String::new, |element| format!(" in {element}"));
                    self.find(one.word, Some(id), format!("{}{element}: {why}", one.title()));
                }
            }
        }
        if !unasked.is_empty() {
            let more = unasked.len().saturating_sub(MOST_NAMED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            unasked.truncate(MOST_NAMED);
            self.notes.push(format!("operators that were not tried: {}{more}", unasked.join(", ")));
        }
        if let Some(tally) = operators::tally(tried) {
            self.notes.push(format!("operators: {tally}"));
        }
    }

    fn fallbacks(&mut self) {
        // Those of operators that were tried are told with them.
        let ids: BTreeSet<String> = self.transcript.operators().map(Operator::id).collect();
        for fallback in self.transcript.fallbacks().into_iter().filter(|one| !ids.contains(&one.during)) {
            let during = match fallback.during.as_str() {
                "" => String::new(),
                id => format!(", in `{id}`"),
            };
            let sentence = format!("`{}` was computed on the CPU instead of the device{during}", fallback.operator);
            self.find(Word::Fallback, Some(&fallback.operator), sentence);
        }
    }

    fn skipped(&mut self) {
        let mut late = 0;
        for event in &self.transcript.events {
            let Event::Skipped(skipped) = event else { continue };
            match skipped.why {
                Why::Time => late += 1,
                _ => self.notes.push(left_out(skipped)),
            }
        }
        if late > 0 {
            let limit = self.transcript.request.limits.begin;
            let many = if late == 1 { "1 computation was".into() } else { format!("{late} computations were") };
            let over = if limit == 0 { "there was no time".into() } else { format!("{limit} s were over") };
            let sentence = format!("{many} not begun, because {over}");
            self.find(Word::Incomplete, None, sentence);
        }
    }

    /// Judges how the probe ended.
    fn end(&mut self) {
        let transcript = self.transcript;
        if let Some(text) = &transcript.unreadable {
            self.find(Word::Garbage, None, format!("the probe said something that is no answer: {text}"));
        }
        let ended = &transcript.ended;
        if transcript.is_done() {
            if *ended != Ended::Code(0) {
                self.notes.push(format!("when all was said, the probe {ended}"));
            }
            return;
        }
        let id = transcript.unfinished().map(|at| at.id.as_str());
        let place = transcript.unfinished().map_or_else(String::new, |at| {
            let element = at.element.map_or_else(String::new, |element| format!(" in {element}"));
            format!(" in the middle of `{}`{element}", at.id)
        });
        let words = transcript.last_words().map_or_else(String::new, |words| format!(": {words}"));
        let (word, sentence) = match ended {
            Ended::OutOfTime(_) => (Word::Hung, format!("the probe {ended}{place}")),
            Ended::Code(0) => (Word::Garbage, format!("the probe ended{place} without having said that it is through")),
            Ended::Code(_) | Ended::Signal(_) | Ended::NotStarted(_) => match self.ran_out() {
                Some(sentence) => (Word::OutOfMemory, sentence),
                None => (Word::Crashed, format!("the probe {ended}{place}{words}")),
            },
        };
        self.find(word, id, sentence);
    }

    /// Judges whether what nobody can do without was asked.
    fn whole(&mut self) {
        let transcript = self.transcript;
        let float32 = transcript.request.types.contains(&ElementType::Float32);
        let asked = |question| float32 && transcript.request.questions.contains(&question);
        let computed =
            |id: &str| transcript.checks().any(|check| check.id == id && check.element == ElementType::Float32);
        let coreml = transcript.request.framework == Framework::Coremltools;
        if asked(Question::Product) && !coreml && !computed("product") {
            self.find(Word::Incomplete, None, "no product in float32 was computed".into());
        }
        if asked(Question::Training) && !coreml && transcript.trainings().next().is_none() {
            self.find(Word::Incomplete, None, "nothing was trained".into());
        }
        let knows = matches!(transcript.request.framework, Framework::Torch | Framework::Tensorflow);
        let knows = knows && transcript.probe == ProbeKind::Python && transcript.request.operators.is_empty();
        if asked(Question::Operators) && knows && transcript.operators().next().is_none() {
            self.find(Word::Incomplete, None, "no operator was tried".into());
        }
        if asked(Question::Convert) && coreml && !computed("convert") {
            self.find(Word::Incomplete, None, "no model was converted".into());
        }
    }
}

/// Puts what a framework said into one line that people read to its end.
pub(super) fn one_line(error: &str) -> String {
    const MOST: usize = 400;
    let line = error.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Returns a release without its local part.
fn release(version: &str) -> &str {
    version.split_once('+').map_or(version, |(release, _)| release)
}

/// Says why there is no device.
fn absent(transcript: &Transcript, device: &DeviceSeen) -> (Word, String) {
    let framework = transcript.request.framework;
    let asked = transcript.request.device;
    let words = device.error.as_ref().map_or_else(String::new, |error| format!(": {}", one_line(error)));
    let system = transcript.hello().map_or("", |hello| hello.system.as_str());
    let mac = system.starts_with("darwin");
    let foreign = asked == Device::Mps && !mac;
    let unbuilt = match device.built {
        Some(false) if foreign => {
            let sentence = format!("{asked} is there on Macs only, this system is {system}");
            return (Word::NoDevice, format!("{sentence}, and this {framework} is built without {asked}"));
        }
        // Another build would find no device either.
        Some(false) if device.listed == Some(0) => format!(", and this {framework} is built without {asked}"),
        Some(false) => return (Word::NotBuilt, format!("this {framework} is built without {asked}")),
        _ => String::new(),
    };
    let is = |surrounding| device.surroundings.contains(&surrounding);
    let listed = device.listed.is_some_and(|count| count > 0);
    let keeper = if is(Surrounding::Hidden) && asked == Device::Cuda {
        Some("`CUDA_VISIBLE_DEVICES` hides every device from it")
    } else if is(Surrounding::Sandbox) && !listed {
        Some("it runs in a sandbox")
    } else if is(Surrounding::VirtualMachine) && !listed {
        Some("it runs in a virtual machine")
    } else if is(Surrounding::Ssh) && !listed && mac {
        Some("it was started by ssh")
    } else if device.listed == Some(0) && mac {
        // Every Mac that macml is for has a GPU.
        Some("the system lists none for it, as in a sandbox")
    } else {
        None
    };
    if let Some(keeper) = keeper {
        return (Word::NotVisible, format!("this process sees no GPU: {keeper}{unbuilt}"));
    }
    if is(Surrounding::Rosetta) {
        return (
            Word::NoDevice,
            format!("{framework} runs translated by Rosetta, where it has no {asked}{unbuilt}{words}"),
        );
    }
    let seen = if listed { ", though the system lists one" } else { "" };
    (Word::NoDevice, format!("{framework} finds no {asked} device that it can use{seen}{unbuilt}{words}"))
}

/// Says what an error means that a framework raised instead of computing.
fn raised(error: &str, memory: u64) -> (Word, String) {
    match out_of_memory(error, memory) {
        Some(sentence) => (Word::OutOfMemory, sentence),
        None => (Word::Failed, one_line(error)),
    }
}

/// Says what is wrong with a result.
pub(super) fn wrong(check: &Check, tolerance: f64, memory: u64) -> Option<(Word, String)> {
    if let Some(error) = &check.error {
        return Some(raised(error, memory));
    }
    let of = |count: u64| format!("{count} of {} elements", check.elements);
    if check.nan > 0 {
        return Some((Word::Nan, format!("{} are NaN", of(check.nan))));
    }
    if check.inf > 0 {
        return Some((Word::Nan, format!("{} are infinite", of(check.inf))));
    }
    let Some(error) = check.max_rel else {
        return Some((Word::Nan, "the error is not finite".into()));
    };
    if check.elements == 0 {
        return Some((Word::Garbage, "there is no result, and no error either".into()));
    }
    // Written so that what cannot be compared is not taken for small.
    let small = error <= tolerance;
    (!small).then(|| {
        let worst = if check.worst.is_empty() { String::new() } else { format!(", most at {:?}", check.worst) };
        let shapes: Vec<String> = check.shapes.iter().map(|shape| format!("{shape:?}")).collect();
        let shapes = if shapes.is_empty() { String::new() } else { format!(", operands {}", shapes.join(" ")) };
        let many = if check.beyond > 0 { format!(" in {}", of(check.beyond)) } else { String::new() };
        let allowed = format!("{tolerance:.1e} is allowed");
        (Word::WrongNumbers, format!("off by {error:.1e} of its scale{many}{worst}; {allowed}{shapes}"))
    })
}

/// Names a check with what it computes.
fn named(check: &Check) -> String {
    let what = CHECKS.iter().find(|known| known.id == check.id).map(|known| format!(" ({})", known.what));
    let again = if check.round > 0 { " after other work" } else { "" };
    format!("`{}`{} in {}{again}", check.id, what.unwrap_or_default(), check.element)
}

/// Says what is wrong with a training.
fn taught(training: &Training, learned: f64, loss: f64, memory: u64) -> Vec<(Word, String)> {
    if let Some(error) = &training.error {
        return vec![raised(error, memory)];
    }
    let (here, there) = (&training.cpu, &training.device);
    let mut found = Vec::new();
    if there.not_finite > 0 {
        found
            .push((Word::Nan, format!("the loss is NaN or infinite at {} of {} steps", there.not_finite, there.steps)));
    }
    let below = |last: Option<f64>, first: Option<f64>| matches!((last, first), (Some(last), Some(first)) if last < learned * first);
    let shown = |value: Option<f64>| value.map_or_else(|| "no number".into(), |value| format!("{value:.4}"));
    let course = |curve: &super::protocol::Curve| {
        format!("from {} to {} in {} steps", shown(curve.first), shown(curve.last), curve.steps)
    };
    if there.not_finite == 0 && !below(there.last, there.first) {
        if below(here.least, here.first) {
            let sentence = format!("the loss went {} on the device, and {} on the CPU", course(there), course(here));
            found.push((Word::DidNotLearn, sentence));
        } else {
            let sentence = format!("the loss went {} on the device, and no better on the CPU", course(there));
            found.push((Word::Failed, sentence));
        }
    }
    if there.not_finite == 0 && training.apart.is_none_or(|apart| apart > loss) {
        let apart = training.apart.map_or_else(|| "by no finite number".into(), |apart| format!("by {apart:.1e}"));
        let sentence =
            format!("the losses on the device and on the CPU are apart {apart} of the first; {loss:.1e} is allowed");
        found.push((Word::WrongNumbers, sentence));
    }
    if training.moved == Some(false) {
        let word = if below(here.least, here.first) { Word::DidNotLearn } else { Word::Failed };
        found.push((word, "some weights are as they were before".into()));
    }
    if training.state_on_device == Some(false) {
        let places: Vec<String> = training.state.iter().map(|(name, place)| format!("`{name}` on {place}")).collect();
        found.push((Word::OptimizerElsewhere, format!("the optimizer keeps {}", places.join(", "))));
    }
    found
}

/// Says what was left out.
fn left_out(skipped: &Skipped) -> String {
    let element = skipped.element.map_or_else(String::new, |element| format!(" in {element}"));
    let why = match skipped.why {
        Why::NoOperation => "the framework has none here",
        Why::NoType => "the device does not have the type",
        Why::Time => "the time was over",
        Why::Memory => "it needs more memory than this machine can spare",
        Why::System => "this system cannot",
    };
    format!("`{}`{element} was not asked: {why}", skipped.id)
}
