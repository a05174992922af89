//! Our probes in real frameworks on this machine's processor, from the real index (when `MACML_LIVE` is set): each finds
//! everything right, and finds what is sabotaged.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use macml::verify::protocol::{CHECKS, Device, ElementType, Event, Framework, Limits, PROTOCOL, Question, Request};
use macml::verify::protocol::{Sizes, Tolerances, Why};
use macml::verify::{Probe, Transcript, Verdict, Word, judge};

use crate::real_answers::live;
use crate::support::real::{environment, folder, full, torch};

fn request(framework: Framework) -> Request {
    Request {
        protocol: PROTOCOL,
        framework,
        release: None,
        device: Device::Cpu,
        seed: 7,
        questions: vec![
            Question::Product,
            Question::Training,
            Question::Optimizer,
            Question::Autocast,
            Question::Numbers,
            Question::Again,
            Question::Convert,
        ],
        types: vec![ElementType::Float32, ElementType::Float16, ElementType::Bfloat16, ElementType::Complex64],
        sizes: Sizes::for_memory(8 << 30),
        limits: Limits { begin: 400, end: 500 },
        tolerances: Tolerances::default(),
    }
}

/// Everything of this machine, since the frameworks need a home and a folder for temporary files.
fn env() -> BTreeMap<String, String> {
    std::env::vars().collect()
}

fn ask(probe: &Probe, request: &Request) -> (Transcript, Verdict) {
    let transcript = probe.ask(request);
    let verdict = judge(&transcript);
    let name = format!("{}-{}.json", request.framework, std::process::id());
    std::fs::write(folder().join(name), serde_json::to_string_pretty(&transcript).unwrap()).unwrap();
    eprintln!("{}: {} in {:?} s", verdict.subject(), verdict.word, verdict.seconds);
    eprintln!("  {} compared, largest {:?}", verdict.compared, verdict.largest);
    (transcript, verdict)
}

/// Asks a framework everything, which must all be right, and returns what was not asked.
#[track_caller]
fn all_right(framework: Framework, python: &Path) -> Vec<String> {
    let request = request(framework);
    let (transcript, verdict) = ask(&Probe::python(framework, python, env()), &request);
    assert_eq!(verdict.word, Word::Ok, "{:#?}\n{:#?}", verdict.problems, transcript.printed);
    assert!(transcript.checks().all(|check| check.elements > 0 && check.shapes.iter().all(|shape| !shape.is_empty())));
    // On the CPU too, what is compared are two computations: rounding must show.
    for check in transcript.checks().filter(|check| check.id.starts_with("linear") || check.id.starts_with("conv")) {
        let exact = check.id == "convert" && check.element == ElementType::Float32;
        assert_eq!(check.max_rel == Some(0.0), exact, "{check:?}");
    }
    if framework != Framework::Coremltools {
        let trainings: Vec<_> = transcript.trainings().collect();
        assert_eq!(trainings.len(), 2);
        assert!(trainings.iter().all(|one| one.apart.is_some_and(|apart| apart > 0.0) && one.device.steps > 2));
        assert!(transcript.checks().any(|check| check.round == 1));
    }
    let asked = |id: &str| transcript.checks().any(|check| check.id == id);
    let in_question = |question| match framework {
        Framework::Coremltools => question == Question::Convert,
        _ => question != Question::Convert,
    };
    let known = CHECKS.iter().filter(|known| in_question(known.question));
    known.map(|known| known.id).filter(|id| !asked(id)).map(str::to_owned).collect()
}

#[test]
fn torch_on_the_cpu() {
    if !full() {
        return;
    }
    let python = torch();
    // Nothing that is known is left out.
    assert_eq!(all_right(Framework::Torch, &python), Vec::<String>::new());
}

#[test]
fn tensorflow_on_the_cpu() {
    if !full() {
        return;
    }
    let python = environment("tensorflow", &["tensorflow-cpu"]);
    let left = all_right(Framework::Tensorflow, &python);
    // Tensors are not changed in place, and have no strides of their own.
    let expected =
        ["linear-expanded-input", "attention-long-grouped", "in-place-strided", "random-strided", "linear-complex"];
    assert_eq!(left, expected);
}

#[test]
fn mlx_on_the_cpu() {
    if !live() {
        return;
    }
    let python = environment("mlx", &["mlx[cpu]"]);
    let left = all_right(Framework::Mlx, &python);
    assert_eq!(left, ["in-place-strided", "random-strided", "autocast-linear", "autocast-conv2d"]);
}

#[test]
fn coremltools_converts() {
    if !live() {
        return;
    }
    let python = environment("coremltools", &["coremltools"]);
    let left = all_right(Framework::Coremltools, &python);
    assert_eq!(left, if cfg!(target_os = "macos") { vec![] } else { vec!["convert-predict"] });
}

/// What the machine lacks is told by the real frameworks as what it is.
#[test]
fn a_device_that_is_not_there() {
    if !full() || cfg!(target_os = "macos") {
        return;
    }
    let word = |framework, python: &Path, device| {
        let request = Request { device, ..request(framework) };
        ask(&Probe::python(framework, python, env()), &request).1.word
    };
    let torch = torch();
    assert_eq!(word(Framework::Torch, &torch, Device::Mps), Word::NotBuilt);
    assert_eq!(word(Framework::Torch, &torch, Device::Cuda), Word::NoDevice);
    let mlx = environment("mlx", &["mlx[cpu]"]);
    assert_eq!(word(Framework::Mlx, &mlx, Device::Mps), Word::NotBuilt);
    let tensorflow = environment("tensorflow", &["tensorflow-cpu"]);
    assert_eq!(word(Framework::Tensorflow, &tensorflow, Device::Mps), Word::NotBuilt);
}

/// Runs the torch probe with something of torch replaced; references are computed in float64 and stay right.
fn sabotaged(sabotage: &str, request: &Request) -> (Transcript, Verdict) {
    let mut probe = Probe::python(Framework::Torch, &torch(), env());
    let text = probe.args[3].to_str().unwrap().to_owned();
    let place = "    import torch.nn.functional as F\n";
    assert!(text.contains(place));
    let indented: String = sabotage.lines().map(|line| format!("    {line}\n")).collect();
    probe.args[3] = OsString::from(text.replacen(place, &format!("{place}{indented}"), 1));
    ask(&probe, request)
}

#[test]
fn a_sabotaged_torch_is_found_out() {
    if !full() {
        return;
    }
    let few = |questions: &[Question]| {
        let mut request =
            Request { questions: questions.to_vec(), types: vec![ElementType::Float32], ..request(Framework::Torch) };
        request.sizes.steps = 60;
        request
    };
    let numbers = few(&[Question::Numbers]);
    let ids = |verdict: &Verdict, word: Word| -> Vec<String> {
        let found = verdict.problems.iter().filter(|problem| problem.word == word);
        found.filter_map(|problem| problem.id.clone()).collect()
    };
    // One part in a thousand, for thin inputs with bias alone, as of https://github.com/pytorch/pytorch/issues/188438.
    let thin = "right = F.linear
def linear(x, w, b=None):
    result = right(x, w, b)
    thin = b is not None and x.shape[-1] == 2 and x.dtype == torch.float32
    return result * 1.001 if thin else result
F.linear = linear";
    let (_, verdict) = sabotaged(thin, &numbers);
    assert_eq!((verdict.word, verdict.word.class().code()), (Word::WrongNumbers, 3), "{:#?}", verdict.problems);
    assert_eq!(ids(&verdict, Word::WrongNumbers), ["linear-thin-bias"]);
    // In place on views, nothing is written: https://github.com/pytorch/pytorch/issues/118115.
    let frozen = "right = torch.Tensor.addcdiv_
def addcdiv_(self, *args, **more):
    view = not self.is_contiguous() and self.dtype == torch.float32
    return self if view else right(self, *args, **more)
torch.Tensor.addcdiv_ = addcdiv_";
    let (_, verdict) = sabotaged(frozen, &few(&[Question::Optimizer, Question::Numbers]));
    assert_eq!(verdict.word, Word::WrongNumbers);
    let found = ids(&verdict, Word::WrongNumbers);
    assert!(found.contains(&"in-place-strided".to_owned()) && found.contains(&"adam-strided".to_owned()), "{found:?}");
    // NaN from a convolution.
    let nan = "right = F.conv1d
F.conv1d = lambda x, w, b: right(x, w, b) / (0.0 if x.dtype == torch.float32 else 1.0)";
    let (_, verdict) = sabotaged(nan, &numbers);
    assert_eq!((verdict.word, ids(&verdict, Word::Nan)), (Word::Nan, vec!["conv1d-bias".to_owned()]));
    // An optimizer that does nothing, to anything or to float32 alone.
    let idle = few(&[Question::Training]);
    let (_, verdict) = sabotaged("torch.optim.SGD.step = lambda self: None", &idle);
    assert_eq!(verdict.word, Word::Failed, "{:#?}", verdict.problems);
    assert!(verdict.problems.iter().all(|problem| problem.id.as_deref() == Some("training-convolution")));
    let frozen = "right = torch.optim.SGD.step
def step(self):
    if self.param_groups[0]['params'][0].dtype != torch.float32: right(self)
torch.optim.SGD.step = step";
    let (_, verdict) = sabotaged(frozen, &idle);
    let words: Vec<_> = verdict.problems.iter().map(|problem| problem.word).collect();
    assert_eq!(words, [Word::WrongNumbers, Word::DidNotLearn, Word::DidNotLearn]);
    // An abort in the middle, with everything before it known.
    let abort = "import os\nright = F.layer_norm\nF.layer_norm = lambda *all: os.abort()";
    let (transcript, verdict) = sabotaged(abort, &numbers);
    assert_eq!((verdict.word, verdict.problems[0].id.as_deref()), (Word::Crashed, Some("layer-norm")));
    assert!(transcript.checks().count() > 20);
    // Out of time: the probe stops by itself.
    let torch = Probe::python(Framework::Torch, &torch(), env());
    let all = few(&[Question::Product, Question::Training, Question::Numbers]);
    let short = Request { limits: Limits { begin: 0, end: 500 }, ..all.clone() };
    let (transcript, verdict) = ask(&torch, &short);
    assert_eq!(verdict.word, Word::Incomplete, "{:#?}", verdict.problems);
    let skipped = |transcript: &Transcript, why: Why| -> Vec<String> {
        let ids = transcript.events.iter().filter_map(|event| match event {
            Event::Skipped(skipped) if skipped.why == why => Some(skipped.id.clone()),
            _ => None,
        });
        ids.collect()
    };
    assert!(skipped(&transcript, Why::Time).len() > 10 && transcript.checks().next().is_none());
    // A machine with little memory is not asked for much.
    let mut small = all;
    small.sizes.most = 8 << 20;
    let (transcript, verdict) = ask(&torch, &small);
    assert_eq!(verdict.word, Word::Incomplete, "{:#?}", verdict.problems);
    let large = ["product", "matmul-long", "bmm-long", "linear-rows-bias", "attention-long-grouped", "sum-long"];
    assert_eq!(skipped(&transcript, Why::Memory), large);
}
