//! Operators one by one: whose each name is, and trying them in as many processes as it takes when some break.

use std::collections::BTreeMap;

use crate::operators;
use crate::operators::kernels;
use crate::pep::Version;
use crate::progress::Progress;
use crate::sys::fs;
use crate::verify;
use crate::verify::Ended;
use crate::verify::Probe;
use crate::verify::Problem;
use crate::verify::Subject;
use crate::verify::Transcript;
use crate::verify::Tried;
use crate::verify::Verdict;
use crate::verify::Word;
use crate::verify::protocol::Device;
use crate::verify::protocol::Framework;
use crate::verify::protocol::ProbeKind;

use super::Answer;
use super::Foreseen;
use super::Job;

/// How many processes a framework's operators may break before the rest is left: each takes as long as it takes to load.
const MOST_PROCESSES: usize = 12;

/// How many of them may hang: each takes all of its time.
const MOST_HANGS: usize = 2;

/// The frameworks whose probes try operators.
const KNOW_OPERATORS: [Framework; 2] = [Framework::Torch, Framework::Tensorflow];

/// What names of operators mean in an environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Names {
    there: Vec<Framework>,
    /// Torch's own list of its modules, as it stands in its text.
    modules: String,
}

impl Names {
    /// Looks at an environment.
    pub fn inside(subject: &Subject) -> Self {
        let there = subject.frameworks().into_iter().map(|(framework, _)| framework);
        let there: Vec<Framework> = there.filter(|framework| KNOW_OPERATORS.contains(framework)).collect();
        let list = subject.site_packages.join("torch/nn/modules/__init__.py");
        // Without it the probes tell what they know.
        let modules = fs::read_text(&list).ok().flatten().unwrap_or_default();
        Self { there, modules }
    }

    /// Returns whether operators of anything can be tried.
    pub fn can_try(&self) -> bool {
        !self.there.is_empty()
    }

    /// Returns whether this may be a name at all.
    pub fn is_name(&self, text: &str) -> bool {
        let (stem, variant) = text.split_once('[').unwrap_or((text, "]"));
        let reads = |text: &str| !operators::readings(text).is_empty();
        // That of a package's own operators: `torchvision::nms`.
        let custom = stem.split_once("::").is_some_and(|(package, name)| reads(package) && reads(name));
        let gap = stem.split('.').any(str::is_empty);
        variant.ends_with(']') && !gap && (reads(stem) || custom || stem.split('.').all(reads))
    }

    /// Returns whether a line of a file is nothing but names, by its words. A sentence has words that are no operators.
    pub fn are_names(&self, words: &[&str]) -> bool {
        let known = |word: &&str| {
            let stem = word.split_once('[').map_or(*word, |(stem, _)| stem);
            let path = stem.contains('.') || stem.contains("::") || stem != *word;
            let reads = |text: &str| operators::readings(text).into_iter().flatten();
            path || self.is_module(stem)
                || reads(stem).chain(reads(&format!("nn.functional.{stem}"))).any(|name| kernels::known().knows(&name))
        };
        words.iter().all(|word| self.is_name(word)) && (words.len() == 1 || words.iter().all(known))
    }

    /// Says whose a name is: `tf.nn.conv2d` and `Conv2D` are TensorFlow's, and all else torch's, its modules too.
    fn owner(&self, name: &str) -> Framework {
        let has = |framework| self.there.contains(&framework);
        let plain = !name.contains(['.', ':']);
        let camel = plain && name.starts_with(|c: char| c.is_ascii_uppercase());
        let tensorflow = ["tf.", "tensorflow."].iter().any(|prefix| name.starts_with(prefix));
        // What only one of both is there for, that one is asked: it knows best what it has.
        let theirs = camel && has(Framework::Tensorflow) && !(has(Framework::Torch) && self.is_module(name));
        if tensorflow || theirs { Framework::Tensorflow } else { Framework::Torch }
    }

    fn is_module(&self, name: &str) -> bool {
        ['"', '\''].iter().any(|quote| self.modules.contains(&format!("{quote}{name}{quote}")))
    }
}

/// Tries these operators, or of none those that the probes know.
pub(super) fn ask(job: &Job<'_>, wanted: &[String], foreseen: &Foreseen, progress: &dyn Progress) -> Vec<Answer> {
    let names = Names::inside(job.subject);
    let mut of: BTreeMap<Framework, Vec<String>> = BTreeMap::new();
    for name in wanted {
        let all = of.entry(names.owner(name)).or_default();
        if !all.contains(name) {
            all.push(name.clone());
        }
    }
    let mut answers = Vec::new();
    for (framework, release) in job.subject.frameworks() {
        match of.remove(&framework) {
            Some(own) => answers.push(of_framework(job, framework, &release, &own, foreseen, progress)),
            None if wanted.is_empty() && KNOW_OPERATORS.contains(&framework) => {
                answers.push(of_framework(job, framework, &release, &[], foreseen, progress));
            }
            None => {}
        }
    }
    answers.extend(of.into_iter().map(|(framework, own)| absent(framework, own, job.device)));
    answers
}

/// Tries operators of a framework. What broke a process is left out of the next one, so that it hides no other.
fn of_framework(
    job: &Job<'_>,
    framework: Framework,
    release: &Version,
    names: &[String],
    foreseen: &Foreseen,
    progress: &dyn Progress,
) -> Answer {
    let probe = Probe::python(framework, &job.subject.interpreter, job.subject.vars.clone());
    let ask = |names: &[String]| job.ask(&probe, job.request(framework, release, Some(names)), progress);
    let first = ask(names);
    let mut later: Vec<Transcript> = Vec::new();
    while let Some(rest) = again(later.last().unwrap_or(&first)) {
        let hung = |one: &&Transcript| matches!(one.ended, Ended::OutOfTime(_));
        let hangs = std::iter::once(&first).chain(&later).filter(hung).count();
        if later.len() + 1 == MOST_PROCESSES || hangs == MOST_HANGS {
            break;
        }
        later.push(ask(&rest));
    }
    let verdict = verify::judge_all(&first, &later);
    let mut answer = foreseen.explain(verdict, Some(release.clone()));
    answer.tried = verify::tried_in_all(&first, &later);
    answer.late = std::iter::once(&first).chain(&later).any(Transcript::is_late);
    answer
}

/// Lists what is worth asking in another process; `None` where a process came to its end, or nothing is left.
fn again(transcript: &Transcript) -> Option<Vec<String>> {
    let rest = verify::remaining(transcript);
    (!transcript.is_done() && !rest.is_empty()).then_some(rest)
}

/// Answers for operators of a framework that is not installed.
fn absent(framework: Framework, names: Vec<String>, device: Device) -> Answer {
    let why = format!("{framework}, whose it would be, is not installed here");
    let problem = |name: &String| Problem {
        word: Word::Incomplete,
        id: Some(name.clone()),
        sentence: format!("`{name}` was not tried: {why}"),
    };
    let problems: Vec<Problem> = names.iter().map(problem).collect();
    let of_none = Problem { word: Word::Incomplete, id: None, sentence: why.clone() };
    let verdict = Verdict { problems, ..Verdict::unasked(ProbeKind::Python, framework, device, of_none) };
    let known = vec![Vec::new(); names.len()];
    let tried = names.into_iter().map(|name| Tried::not_tried(name, why.clone())).collect();
    Answer { verdict, installed: None, known, tried, late: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(there: &[Framework]) -> Names {
        Names { there: there.to_vec(), modules: "__all__ = [\n    \"LSTM\",\n    'Softmax',\n]".to_owned() }
    }

    #[test]
    fn each_name_has_an_owner() {
        use Framework::{Tensorflow, Torch};
        let check = |there: &[Framework], name: &str, owner: Framework| {
            assert_eq!(names(there).owner(name), owner, "{name} in {there:?}");
        };
        let both = [Torch, Tensorflow];
        check(&both, "tf.nn.conv2d", Tensorflow);
        check(&both, "tensorflow.raw_ops.Conv2D", Tensorflow);
        check(&both, "Conv2D", Tensorflow);
        check(&both, "LSTM", Torch);
        check(&both, "Softmax", Torch);
        check(&both, "nn.Conv2d", Torch);
        check(&both, "torchvision::nms", Torch);
        check(&both, "linalg_qr", Torch);
        // Where only one of both is there, it is asked.
        check(&[Torch], "Conv2D", Torch);
        check(&[Tensorflow], "Softmax", Tensorflow);
        check(&[Torch], "tf.nn.conv2d", Tensorflow);
        check(&[Tensorflow], "linalg_qr", Torch);
    }

    #[test]
    fn sentences_are_no_names() {
        let names = names(&[Framework::Torch]);
        for line in [
            "linalg_qr",
            "aten::linalg_qr.out",
            "grid_sample[2d,bilinear,zeros]",
            "torch.nn.functional.ctc_loss",
            "torch.ops.aten.add.Tensor",
            "interpolate relu LSTM",
            "torchvision::nms pad[reflect]",
            "Conv2D",
            "autograd_function",
        ] {
            assert!(names.are_names(&operators::split(line)), "{line}");
        }
        for line in ["epoch 3 of 5", "relu is fast", "loss: 0.3", "a/b", "x[", "3d", "::x", "aten::", "tf..x"] {
            assert!(!names.are_names(&operators::split(line)), "{line}");
        }
    }
}
