//! Our probes in real frameworks on this machine's processor, from the real index (when `MACML_LIVE` is set): each finds
//! everything right, and finds what is sabotaged.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use macml::verify::protocol::{CHECKS, Device, ElementType, Event, Framework, Limits, PROTOCOL, Question, Request};
use macml::verify::protocol::{Sizes, Tolerances, Why};
use macml::verify::{Outcome, Probe, Transcript, Tried, Verdict, Word, judge, remaining, tried};

use crate::real_answers::live;
use crate::support::real::{environment, folder, full, torch};

fn request(framework: Framework) -> Request {
    Request {
        protocol: PROTOCOL,
        framework,
        release: None,
        device: Device::Cpu,
        seed: 7,
        questions: Question::USUAL.into(),
        types: ElementType::ASKED.into(),
        sizes: Sizes::for_memory(8 << 30),
        limits: Limits { begin: 400, end: 500 },
        tolerances: Tolerances::default(),
        operators: Vec::new(),
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
    assert_eq!(word(Framework::Torch, &torch, Device::Mps), Word::NoDevice);
    assert_eq!(word(Framework::Torch, &torch, Device::Cuda), Word::NoDevice);
    let mlx = environment("mlx", &["mlx[cpu]"]);
    assert_eq!(word(Framework::Mlx, &mlx, Device::Mps), Word::NoDevice);
    let tensorflow = environment("tensorflow", &["tensorflow-cpu"]);
    assert_eq!(word(Framework::Tensorflow, &tensorflow, Device::Mps), Word::NoDevice);
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
    let large = [
        "product",
        "matmul-long",
        "matmul-long-transposed",
        "bmm-long",
        "linear-rows-bias",
        "attention-long-grouped",
        "sum-long",
    ];
    assert_eq!(skipped(&transcript, Why::Memory), large);
}

/// Breaks torch as it was broken on some Mac, as nearly as reports say when: each must show in the checks that are there
/// for it, and in no other.
#[test]
fn what_was_wrong_on_macs_is_asked_so_that_it_shows() {
    if !full() {
        return;
    }
    let conditions =
        "linear, sdpa, product, batched = F.linear, F.scaled_dot_product_attention, torch.Tensor.__matmul__, torch.bmm
def wrong(result, bad):
    return result * 1.5 if bad else result
def bad_linear(x, w, b=None):
    half, deep = x.dtype in (torch.float16, torch.bfloat16), x.dim() > 2
    bad = half and b is None and deep and x.shape[-1] in (315, 634, 1024)  # issue 180776
    bad = bad or b is not None and x.dtype == torch.float32 and x.dim() == 3 and x.shape[0] > 65536  # issue 189495
    bad = bad or x.dtype == torch.bfloat16 and x.dim() == 3 and w.stride(0) == 1 != w.stride(1)  # issue 197796
    bad = bad or x.dtype == torch.complex64 and x.dim() > 4  # pull 190352
    bad = bad or x.dtype == torch.float32 and x.dim() > 4 and x.requires_grad  # issue 187201
    bad = bad or b is not None and x.dtype == torch.float32 and deep and x.shape[-2] == 1  # issue 188438
    return wrong(linear(x, w, b), bad)
def bad_sdpa(q, k, v, **more):
    half = q.dtype in (torch.float16, torch.bfloat16)
    bad = more.get('is_causal') and half  # issue 195910
    bad = bad or q.shape[-2] <= 8 and k.shape[-2] >= 1024 and k.shape[1] < q.shape[1] and half  # issue 174861
    return wrong(sdpa(q, k, v, **more), bad)
def long(a, b):  # issues 193487 and 195163
    most = a.shape[-1] >= 32767 and a.shape[-1] % 16 and min(a.shape[-2], b.shape[-1]) >= 16
    return most and a.dtype == torch.float32
F.linear, F.scaled_dot_product_attention = bad_linear, bad_sdpa
torch.Tensor.__matmul__ = lambda a, b: wrong(product(a, b), long(a, b))
torch.bmm = lambda a, b: wrong(batched(a, b), long(a, b))
convolve = F.conv2d
def bad_conv2d(x, w, *all, **more):  # issue 192212
    return wrong(convolve(x, w, *all, **more), x.dtype == torch.float32 and not w.is_contiguous())
F.conv2d = bad_conv2d";
    let request = Request { questions: vec![Question::Numbers], ..request(Framework::Torch) };
    let (_, verdict) = sabotaged(conditions, &request);
    let found: BTreeSet<&str> = verdict.problems.iter().filter_map(|problem| problem.id.as_deref()).collect();
    let expected = [
        "attention-causal",
        "attention-long-grouped",
        "bmm-long",
        "conv2d-sliced-weight",
        "linear-complex",
        "linear-deep",
        "linear-deep-backward",
        "linear-rows-bias",
        "linear-thin-bias",
        "linear-transposed-weight",
        "matmul-long",
        "matmul-long-transposed",
    ];
    assert!(verdict.problems.iter().all(|problem| problem.word == Word::WrongNumbers), "{:#?}", verdict.problems);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
}

/// What is asked about operators.
fn operators(framework: Framework, names: &[&str]) -> Request {
    let operators = names.iter().map(|&name| name.to_owned()).collect();
    Request { questions: vec![Question::Operators], operators, ..request(framework) }
}

fn of_outcome(all: &[Tried], outcome: Outcome) -> Vec<String> {
    all.iter().filter(|one| one.outcome == outcome).map(|one| one.title().replace('`', "")).collect()
}

#[test]
fn torch_tries_every_operator_it_knows() {
    if !full() {
        return;
    }
    let python = torch();
    let begun = std::time::Instant::now();
    let (transcript, verdict) =
        ask(&Probe::python(Framework::Torch, &python, env()), &operators(Framework::Torch, &[]));
    assert!(begun.elapsed().as_secs() < 60);
    assert_eq!(verdict.word, Word::Ok, "{:#?}", verdict.problems);
    let all = tried(&transcript);
    let supported = of_outcome(&all, Outcome::Supported);
    assert_eq!(supported.len(), all.len(), "{:?}", verdict.notes);
    assert!(all.len() > 880 && remaining(&transcript).is_empty());
    for name in [
        "sparse_mm[coo] backward",
        "sparse_mm[csr]",
        "pad[circular,3d] backward",
        "pad[reflect,1d]",
        "interpolate[bicubic,antialias] backward",
        "interpolate[trilinear,align_corners]",
        "interpolate[nearest-exact,3d]",
        "grid_sample[3d,nearest,reflection] backward",
        "linalg_svd backward",
        "linalg_eigh",
        "linalg_householder_product",
        "ctc_loss[mean] backward",
        "autograd_function backward",
        "weight_norm",
        "lstm backward",
        "scatter_reduce[amax]",
    ] {
        assert!(supported.iter().any(|one| one == name), "{name}");
    }
    // Two computations are compared, so that most show rounding; those that do not move or count numbers.
    let compared: Vec<&Tried> = all.iter().filter(|one| one.error.is_some()).collect();
    let rounded = compared.iter().filter(|one| one.error > Some(0.0)).count();
    assert!(compared.len() > 860 && rounded > 650, "{} {rounded}", compared.len());
    // Ten times as exact as it has to be, so that no other processor is taken for wrong.
    let inexact: Vec<_> = compared.iter().filter(|one| one.error > Some(2.5e-5)).collect();
    assert!(inexact.is_empty(), "{inexact:#?}");
}

#[test]
fn torch_tries_operators_and_modules_by_name() {
    if !full() {
        return;
    }
    let python = torch();
    let names = [
        "torch.nn.TransformerEncoderLayer",
        "LSTM",
        "torch.linalg.qr",
        "interpolate[bicubic]",
        "aten::grid_sampler_2d_backward",
        "aten::isin.Tensor_Tensor_out",
        "aten::addcdiv_",
    ];
    let probe = Probe::python(Framework::Torch, &python, env());
    let (transcript, verdict) = ask(&probe, &operators(Framework::Torch, &names));
    assert_eq!(verdict.word, Word::Ok, "{:#?}", verdict.problems);
    let all = tried(&transcript);
    let of = |asked: &str| -> Vec<String> {
        all.iter().filter(|one| one.asked.as_deref() == Some(asked)).map(|one| one.title().replace('`', "")).collect()
    };
    let layer = of(names[0]);
    assert_eq!(layer[..2], ["torch.nn.TransformerEncoderLayer", "torch.nn.TransformerEncoderLayer backward"]);
    // What it runs forward, and what it runs backward.
    for name in ["aten::addmm", "aten::native_layer_norm", "aten::native_layer_norm_backward", "aten::mm"] {
        assert!(layer.iter().any(|one| one == name), "{name} {layer:?}");
    }
    assert_eq!(of(names[1])[0], "torch.nn.LSTM");
    assert_eq!(of(names[2]), ["linalg_qr[reduced]", "linalg_qr[reduced] backward", "linalg_qr[complete]"]);
    // By its whole name a case is that one alone.
    assert_eq!(of(names[3]), ["interpolate[bicubic]", "interpolate[bicubic] backward"]);
    assert_eq!(of(names[4]), ["aten::grid_sampler_2d_backward"]);
    assert_eq!(of(names[5]), ["isin"]);
    assert_eq!(of(names[6]), ["aten::addcdiv_"]);
    // What is unknown is said, and is no success.
    let (transcript, verdict) = ask(&probe, &operators(Framework::Torch, &["nonsense", "pad[odd]", "linalg_inv"]));
    assert_eq!(verdict.word, Word::Incomplete);
    assert_eq!(of_outcome(&tried(&transcript), Outcome::NotTried), ["nonsense", "pad[odd]"]);
    assert!(verdict.problems[0].sentence.ends_with("torch 2.13.0+cu130 has no operator of this name"));
}

#[test]
fn operators_that_are_sabotaged_are_found_out() {
    if !full() {
        return;
    }
    let names = [
        "linalg_qr",
        "grid_sample[3d]",
        "interpolate[trilinear]",
        "autograd_function",
        "histc",
        "aten::hardswish_backward",
    ];
    let request = operators(Framework::Torch, &names);
    let found = |sabotage: &str| {
        let (transcript, verdict) = sabotaged(sabotage, &request);
        let all = tried(&transcript);
        let bad: Vec<Tried> = all.into_iter().filter(|one| one.outcome != Outcome::Supported).collect();
        (bad, verdict)
    };
    let (bad, verdict) = found("");
    assert!(bad.is_empty() && verdict.word == Word::Ok, "{bad:#?}");
    // By one part in a thousand, in one mode alone; its gradients are off with it.
    let (bad, verdict) = found(
        "right = F.grid_sample
def wrong(x, g, mode, **more):
    result = right(x, g, mode=mode, **more)
    return result * 1.001 if x.dim() == 5 and mode == 'nearest' and x.dtype == torch.float32 else result
F.grid_sample = wrong",
    );
    assert_eq!((verdict.word, verdict.word.class().code()), (Word::WrongNumbers, 3));
    assert_eq!(bad.len(), 6);
    assert!(bad.iter().all(|one| one.outcome == Outcome::Wrong && one.name.starts_with("grid_sample[3d,nearest")));
    // A custom backward pass alone.
    let (bad, verdict) = found("right = torch.Tensor.exp
def exp(self):
    return right(self) * (1.001 if self.dtype == torch.float32 and not torch.is_grad_enabled() and Now.id.endswith('backward') else 1)
torch.Tensor.exp = exp");
    assert_eq!((verdict.word, bad.len()), (Word::WrongNumbers, 1), "{bad:#?}");
    assert_eq!(bad[0].title(), "`autograd_function` backward");
    let (bad, verdict) = found(
        "def missing(*all, **more):
    raise NotImplementedError(\"The operator 'aten::histc' is not currently implemented for the MPS device.\")
right = torch.histc
torch.histc = lambda x, **more: (right if x.dtype == torch.float64 else missing)(x, **more)",
    );
    assert_eq!((verdict.word, bad.len(), bad[0].outcome), (Word::Failed, 1, Outcome::Fails));
    let words = "NotImplementedError: The operator 'aten::histc' is not currently implemented for the MPS device.";
    assert_eq!(bad[0].why.as_deref(), Some(words));
    // A fallback that Python hears, and one that it does not.
    let warned = "warned = \"The operator 'aten::histc' is not currently supported on the MPS backend and will fall back to run on the CPU.\"
right = torch.histc
def histc(x, **more):
    if x.dtype == torch.float32: SAY
    return right(x, **more)
torch.histc = histc";
    for say in ["warnings.warn(warned)", "os.write(2, (warned + chr(10)).encode())"] {
        let (bad, verdict) = found(&warned.replace("SAY", say));
        assert_eq!((verdict.word, bad.len(), bad[0].outcome), (Word::Fallback, 1, Outcome::Fallback), "{bad:#?}");
        let sentence = "`histc` in float32: `aten::histc` computed on the CPU instead of the device";
        assert_eq!(verdict.problems[0].sentence, sentence);
    }
    // A result that lies elsewhere. This machine has one device, so the tensor only says so.
    let (bad, _) = found(
        "class Elsewhere(torch.Tensor):
    device = property(lambda self: torch.device('cuda'))
right = torch.histc
def histc(x, **more):
    result = right(x, **more)
    return result.as_subclass(Elsewhere) if x.dtype == torch.float32 else result
torch.histc = histc",
    );
    assert_eq!(
        (bad.len(), bad[0].outcome, bad[0].why.as_deref()),
        (1, Outcome::Fallback, Some("computed on cuda instead of the device"))
    );
    // A crash in the middle: the rest is known, and can be asked again.
    let mut short = operators(Framework::Torch, &["linalg_qr", "histc", "linalg_det"]);
    short.limits = Limits { begin: 60, end: 60 };
    let crash = "right = torch.histc
def histc(x, **more):
    if x.dtype == torch.float32: os.abort()
    return right(x, **more)
torch.histc = histc";
    let (transcript, verdict) = sabotaged(crash, &short);
    assert_eq!((verdict.word, verdict.problems[0].id.as_deref()), (Word::Crashed, Some("histc")));
    assert_eq!(remaining(&transcript), ["linalg_det"]);
    let (transcript, verdict) = sabotaged(&crash.replace("os.abort()", "time.sleep(300)"), &short);
    assert_eq!((verdict.word, verdict.problems[0].id.as_deref()), (Word::Hung, Some("histc")));
    assert_eq!(of_outcome(&tried(&transcript), Outcome::Fails), ["histc"]);
}

/// Two devices are made of one processor, so that what is placed on the first while the second is asked for shows.
#[test]
fn tensorflow_tells_what_it_places_elsewhere() {
    if !full() {
        return;
    }
    let python = environment("tensorflow", &["tensorflow-cpu"]);
    let on_second = |more: &str, questions: &[Question]| {
        let mut probe = Probe::python(Framework::Tensorflow, &python, env());
        let text = probe.args[3].to_str().unwrap().to_owned();
        let (there, here) = ("THERE = \"/CPU:0\" if DEVICE == \"cpu\" else \"/GPU:0\"\n", "HERE = \"/CPU:0\"\n");
        assert!(text.contains(there) && text.contains(here));
        let second = "THERE = \"/CPU:1\"
two = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(tf.config.list_physical_devices(\"CPU\")[0], two)
";
        let text = text.replacen(there, second, 1).replacen(&format!("\n{here}"), &format!("\n{here}{more}\n"), 1);
        probe.args[3] = OsString::from(text);
        ask(&probe, &Request { questions: questions.to_vec(), ..request(Framework::Tensorflow) })
    };
    // All that our checks and trainings compute is where it should be, however much of theirs lies on the host.
    let (transcript, verdict) = on_second("", &Question::USUAL);
    assert_eq!(verdict.word, Word::Ok, "{:#?}", verdict.problems);
    assert!(transcript.fallbacks().is_empty());
    // By itself, inside of a function, and with integers alone, which is no fault.
    let elsewhere = "softmax, rsqrt, span = tf.nn.softmax, tf.math.rsqrt, tf.range
def outside(x):
    with tf.device(HERE): return softmax(x)
@tf.function
def inside(x):
    with tf.device(HERE): y = rsqrt(x)
    return y * 1
def integers(*all):
    with tf.device(HERE): return span(*all)
tf.nn.softmax, tf.math.rsqrt, tf.range = outside, inside, integers";
    let (transcript, verdict) = on_second(elsewhere, &[Question::Numbers]);
    assert_eq!(verdict.word, Word::Fallback);
    let mut found: Vec<_> =
        transcript.fallbacks().iter().map(|one| (one.operator.clone(), one.during.clone())).collect();
    found.sort();
    let expected =
        [("Rsqrt", "layer-norm"), ("Softmax", "attention-causal")].map(|(one, id)| (one.to_owned(), id.to_owned()));
    assert_eq!(found, expected);
}

#[test]
fn tensorflow_knows_which_operators_have_kernels() {
    if !full() {
        return;
    }
    let python = environment("tensorflow", &["tensorflow-cpu"]);
    let probe = Probe::python(Framework::Tensorflow, &python, env());
    let (transcript, verdict) = ask(&probe, &operators(Framework::Tensorflow, &[]));
    assert_eq!(verdict.word, Word::Ok, "{:#?}", verdict.problems);
    assert!(tried(&transcript).len() > 160);
    let names = ["Conv2D", "tf.linalg.qr", "CTCLoss", "CTCLossV2", "nonsense"];
    let (transcript, verdict) = ask(&probe, &operators(Framework::Tensorflow, &names));
    let all = tried(&transcript);
    assert_eq!(of_outcome(&all, Outcome::Supported), ["Conv2D", "Qr", "CTCLoss"]);
    // It is computed by NVIDIA's library alone.
    assert_eq!(of_outcome(&all, Outcome::Fails), ["CTCLossV2"]);
    assert_eq!(of_outcome(&all, Outcome::NotTried), ["nonsense"]);
    assert_eq!(verdict.word, Word::Failed);
    // This TensorFlow is built without a GPU, so of the operators that are looked up for one hardly any has a kernel.
    let mut probe = Probe::python(Framework::Tensorflow, &python, env());
    let text = probe.args[3].to_str().unwrap().replacen("kind = THERE", "kind = \"/GPU:0\"", 1);
    probe.args[3] = OsString::from(text);
    let (transcript, verdict) = ask(&probe, &operators(Framework::Tensorflow, &["MatMul", "Svd", "AddV2"]));
    assert_eq!(of_outcome(&tried(&transcript), Outcome::Fallback), ["MatMul", "Svd", "AddV2"]);
    assert_eq!((verdict.word, verdict.word.class().code()), (Word::Fallback, 1));
    let sentence = "`MatMul`: computed on the CPU instead of the device: there is no kernel for GPU";
    assert_eq!(verdict.problems[0].sentence, sentence);
}
