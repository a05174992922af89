//! What macml asks of a probe and what a probe answers, as JSON; one protocol for the native probe and the Python ones.
//!
//! A probe is given the request as its last argument, as one JSON object, and nothing on its standard input. It prints
//! [`Event`]s on its standard output, one a line, each behind [`PREFIX`]: [`Event::Hello`] first, [`Event::Device`] next,
//! [`Event::At`] *before* whatever it begins, and what came of it as soon as it is known, [`Event::Done`] last. It
//! flushes each line, so that of a probe that aborts or hangs it is known what it was doing, and what was right before.
//! Lines without the prefix are for people. A probe exits with 0 once it has said `done`, whatever it found: judging is
//! not its work, and every probe answers with what it measured, never with whether that is good.
//!
//! **What is compared with what.** Inputs come from [`Request::seed`] and are made on the CPU: normally distributed
//! float32, rounded to the element type that is asked. The reference is the same operation on the same rounded inputs on
//! the CPU in float64. So the error of a check is that of the device's arithmetic alone, and on the device `cpu` too a
//! check compares two computations that share no kernel, instead of one with itself. Training is repeated from the same
//! first weights: on the device in float32, and on the CPU in float32 or, where the device is the CPU, in float64.
//!
//! This file stands alone (`std`, `serde`, `serde_json`): the native probe is built from its text.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The version of the protocol. A probe that is asked in another one says [`Event::Hello`] with its own and exits.
pub const PROTOCOL: u32 = 1;

/// What stands before each event, so that whatever else a framework prints is told apart.
pub const PREFIX: &str = "macml-probe: ";

/// What stands before [`At::id`] on a line of standard error, so that of what a framework prints there past its probe it
/// is known when it was. A probe need not print it.
pub const AT: &str = "macml-probe at: ";

/// What a probe is asked.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Request {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// What is to be loaded.
    pub framework: Framework,
    /// The release that it has to be (`2.13.0`), where that is known: of another one the probe asks nothing further.
    pub release: Option<String>,
    /// Where to compute.
    pub device: Device,
    /// What every random number follows from.
    pub seed: u64,
    /// What to ask, in the order of [`Question`].
    pub questions: Vec<Question>,
    /// The element types to ask about; a probe says [`Event::Skipped`] of one that its device lacks.
    pub types: Vec<ElementType>,
    /// How large the work is.
    pub sizes: Sizes,
    /// How long it may take.
    pub limits: Limits,
    /// How far from the reference a result may be. The probe does not judge; it may look more closely where it is close.
    pub tolerances: Tolerances,
    /// What to try for [`Question::Operators`]: operators (`aten::linalg_qr`, `linalg_qr`, `torch.linalg.qr`), variants
    /// of them (`interpolate[bicubic]`), modules of `torch.nn`, TensorFlow's operators (`Conv2D`). Of none, all that the
    /// probe knows how to try.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operators: Vec<String>,
}

/// What a probe loads, by the name of its package.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Framework {
    /// PyTorch, by Python or by its C++ library.
    Torch,
    /// TensorFlow, with or without the Metal plugin.
    Tensorflow,
    /// MLX.
    Mlx,
    /// Core ML tools.
    Coremltools,
}

/// Where to compute.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Device {
    /// The GPU of a Mac, through whatever the framework uses for it: MPS, the Metal plugin, Metal, Core ML.
    Mps,
    /// A GPU through CUDA.
    Cuda,
    /// The processor.
    Cpu,
}

/// What can be asked. Whether the device is there is asked always.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// A square matrix product in every type: the check `product`.
    Product,
    /// A small network trained until its loss is below a bound, and the same on the CPU: [`Event::Training`].
    Training,
    /// Whether the state of the optimizer is on the device, and whether Adam moves strided weights as it should.
    Optimizer,
    /// Automatic mixed precision in each half type: checks whose names begin with `autocast-`.
    Autocast,
    /// Shapes and layouts that are known to have been wrong somewhere: the checks of [`CHECKS`].
    Numbers,
    /// The products and the linear layers once more, after other work has been through the allocator: round 1.
    Again,
    /// Converting a small model, and predicting with it where the system can (Core ML tools alone).
    Convert,
    /// Operators one by one: [`Event::Operator`] (the Python probes of torch and TensorFlow alone).
    Operators,
}

/// An element type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ElementType {
    /// 64 bits, real.
    Float64,
    /// 32 bits, real.
    Float32,
    /// 16 bits, real, IEEE.
    Float16,
    /// 16 bits, real, with the exponent of float32.
    Bfloat16,
    /// Two float32.
    Complex64,
}

/// How large the work is. [`Sizes::for_memory`] knows what a machine bears.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Sizes {
    /// The memory of the machine in bytes; on a Mac the GPU has no other.
    pub memory: u64,
    /// The most bytes that what a probe holds at one time may come to; what needs more is skipped.
    pub most: u64,
    /// The side of the square product.
    pub product: u64,
    /// The inner length of long products: over 32767, where products were wrong, and no multiple of any tile, which would
    /// hide it.
    pub long: u64,
    /// The rows of large batches: more than 65536, where linear layers were wrong.
    pub rows: u64,
    /// The bytes that go through the allocator, in pieces of many sizes, before [`Question::Again`].
    pub churn: u64,
    /// The most steps of a training.
    pub steps: u64,
}

/// How long a probe may take, in seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Limits {
    /// After this the probe begins nothing new: it says [`Event::Skipped`] of the rest, and `done`.
    pub begin: u64,
    /// After this it is killed.
    pub end: u64,
}

/// How far from the reference a result may be: its largest error over the largest magnitude of the reference.
///
/// Scaled so, because the error of one element of a product depends on all that were added up, not on what is left of
/// them. What is wrong on GPUs is wrong by a tenth and more; these catch one part in a thousand in float32, and in the
/// half types what their eleven and eight bits can show.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Tolerances {
    /// For float64.
    pub float64: f64,
    /// For float32 and complex64.
    pub float32: f64,
    /// For float16.
    pub float16: f64,
    /// For bfloat16.
    pub bfloat16: f64,
    /// For each loss of the two trainings, over the first loss on the CPU.
    pub loss: f64,
    /// The part of the first loss below which a training must come.
    pub learned: f64,
}

/// What a probe says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// It runs, and has loaded its framework.
    Hello(Hello),
    /// It runs, and cannot load its framework.
    CannotLoad(CannotLoad),
    /// What it found where the device should be. Without a device only `done` follows.
    Device(DeviceSeen),
    /// What it begins now.
    At(At),
    /// What came of a computation.
    Check(Check),
    /// What came of a training.
    Training(Training),
    /// What it did not ask, and why.
    Skipped(Skipped),
    /// An operator that ran on the CPU instead of the device, each once.
    Fallback(Fallback),
    /// The operators that will be tried from here on, so that it is known what was not when the probe ends early.
    Planned(Planned),
    /// What came of an operator.
    Operator(Operator),
    /// It is through.
    Done(Done),
}

/// Who speaks.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Hello {
    /// The protocol of the probe.
    pub protocol: u32,
    /// Which probe it is.
    pub probe: ProbeKind,
    /// What it loaded.
    pub framework: Framework,
    /// The versions of what it loaded, by package: the framework's own under its name, and `python`, `numpy`, …
    pub versions: BTreeMap<String, String>,
    /// The system, as the framework's process sees it: `darwin 15.6.1 arm64`.
    pub system: String,
}

/// The kinds of probes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeKind {
    /// Linked to libtorch.
    Native,
    /// A script in the environment's Python.
    Python,
}

/// A framework that could not be loaded, told by a probe that could say so itself.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct CannotLoad {
    /// What the loader or the import said, at most a few lines.
    pub error: String,
}

/// What was found where the device should be.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct DeviceSeen {
    /// Whether the framework was built with support for it (`is_built`); none where a framework does not say.
    pub built: Option<bool>,
    /// Whether the framework says that it can be used (`is_available`).
    pub available: bool,
    /// What the framework calls it: `mps:0`, `/physical_device:GPU:0`, `Device(gpu, 0)`.
    pub id: Option<String>,
    /// What it is: `Apple M3 Max`, `NVIDIA H200`, the processor's name.
    pub name: Option<String>,
    /// How many devices the system itself lists for this process (Metal's list on a Mac); none where nobody asked.
    pub listed: Option<u32>,
    /// Why it cannot be used, in the words of the framework.
    pub error: Option<String>,
    /// What is special about this process, where the probe can tell.
    pub surroundings: Vec<Surrounding>,
}

/// What may keep a process from a GPU that the machine has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Surrounding {
    /// A sandbox.
    Sandbox,
    /// A session by ssh.
    Ssh,
    /// A virtual machine.
    VirtualMachine,
    /// Translation of x86-64 code.
    Rosetta,
    /// A setting that hides devices from this process, such as `CUDA_VISIBLE_DEVICES`.
    Hidden,
}

/// What a probe begins now.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct At {
    /// The id of a check or of a training, or another word for what is going on (`import`, `churn`).
    pub id: String,
    /// The element type, where there is one.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub element: Option<ElementType>,
    /// The round, 1 for [`Question::Again`].
    #[serde(default)]
    pub round: u32,
}

/// What came of a computation. Numbers that JSON lacks (NaN, infinities) are null.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Check {
    /// Which one: a name of [`CHECKS`].
    pub id: String,
    /// The element type of its inputs.
    #[serde(rename = "type")]
    pub element: ElementType,
    /// The round: 0, and 1 for [`Question::Again`].
    #[serde(default)]
    pub round: u32,
    /// The shapes of its operands.
    #[serde(default)]
    pub shapes: Vec<Vec<u64>>,
    /// What the framework said instead of computing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How many elements the result has; 0 beside an error.
    #[serde(default)]
    pub elements: u64,
    /// The largest difference from the reference, over the elements that are finite in both.
    #[serde(default)]
    pub max_abs: Option<f64>,
    /// That, over the largest magnitude of the reference (or alone where the reference is 0 everywhere).
    #[serde(default)]
    pub max_rel: Option<f64>,
    /// Where the largest difference is, as an index into the result.
    #[serde(default)]
    pub worst: Vec<u64>,
    /// How many elements differ by more than the tolerance of the type, over the same scale.
    #[serde(default)]
    pub beyond: u64,
    /// How many elements are NaN that are not in the reference.
    #[serde(default)]
    pub nan: u64,
    /// How many elements are infinite that are not in the reference.
    #[serde(default)]
    pub inf: u64,
    /// Where the result lay, as the framework calls it, when that is not the device that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// How long it took on the device, until the result was there.
    #[serde(default)]
    pub seconds: f64,
}

/// What came of a training, on the device and on the CPU from the same first weights and the same data.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Training {
    /// Which one: `training-dense`, `training-convolution`.
    pub id: String,
    /// What the framework said instead of training.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// On the device.
    #[serde(default)]
    pub device: Curve,
    /// On the CPU.
    #[serde(default)]
    pub cpu: Curve,
    /// The largest difference of the two losses at one step, over the first loss on the CPU.
    #[serde(default)]
    pub apart: Option<f64>,
    /// Which state the optimizer keeps, and where it lies: `exp_avg` on `mps:0`.
    #[serde(default)]
    pub state: BTreeMap<String, String>,
    /// Whether all of that state which has the shape of a weight lies on the device; none where that cannot be asked.
    #[serde(default)]
    pub state_on_device: Option<bool>,
    /// Whether every weight of the model changed.
    #[serde(default)]
    pub moved: Option<bool>,
}

/// The course of a loss.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Curve {
    /// At the first step.
    pub first: Option<f64>,
    /// At the last step.
    pub last: Option<f64>,
    /// The smallest.
    pub least: Option<f64>,
    /// How many steps it took.
    pub steps: u64,
    /// At how many steps it was NaN or infinite.
    pub not_finite: u64,
    /// How long it took.
    pub seconds: f64,
}

/// What a probe did not ask.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Skipped {
    /// The id of what was left out.
    pub id: String,
    /// The element type, where only that one was left out.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub element: Option<ElementType>,
    /// Why.
    pub why: Why,
    /// More, in the words of the framework.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Why something was not asked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// This release of the framework has no such operation.
    NoOperation,
    /// The device does not have the element type, and the framework says so.
    NoType,
    /// The time was over ([`Limits::begin`]).
    Time,
    /// It needs more memory than it may have.
    Memory,
    /// This system cannot (predicting with Core ML anywhere but on a Mac).
    System,
}

/// An operator that ran on the CPU instead of the device.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Fallback {
    /// Its name, `aten::linalg_cholesky_ex.L`.
    pub operator: String,
    /// What the probe was doing.
    pub during: String,
    /// What the framework said.
    pub message: String,
}

/// What will be tried.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Planned {
    /// The names, as [`Operator::name`] will have them; a module's own operators are not known yet.
    pub operators: Vec<String>,
}

/// What came of an operator, or of a module, in one pass.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Operator {
    /// Which one: `linalg_qr[reduced]`, `aten::addmm`, `torch.nn.LSTM`, `Conv2D`.
    pub name: String,
    /// The name in [`Request::operators`] for which it was tried; none where nobody asked for one.
    #[serde(default)]
    pub asked: Option<String>,
    /// Which pass.
    #[serde(default)]
    pub pass: Pass,
    /// The element type of its inputs, as far as they are not integers.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub element: Option<ElementType>,
    /// The shapes of its inputs.
    #[serde(default)]
    pub shapes: Vec<Vec<u64>>,
    /// Why it was not tried; then nothing below is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_tried: Option<String>,
    /// What the framework said instead of computing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why its result was compared with nothing, though it ran: it is random, or the CPU has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<String>,
    /// The operators that fell back to the CPU in it, as the framework names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
    /// Where a result lay, or where it would be computed, when that is not the device that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
    /// How many elements its results have.
    #[serde(default)]
    pub elements: u64,
    /// As in [`Check`], of the worst of its results.
    #[serde(default)]
    pub max_abs: Option<f64>,
    /// As in [`Check`], of the worst of its results.
    #[serde(default)]
    pub max_rel: Option<f64>,
    /// As in [`Check`], of the worst of its results.
    #[serde(default)]
    pub worst: Vec<u64>,
    /// As in [`Check`], over all results.
    #[serde(default)]
    pub beyond: u64,
    /// As in [`Check`], over all results.
    #[serde(default)]
    pub nan: u64,
    /// As in [`Check`], over all results.
    #[serde(default)]
    pub inf: u64,
    /// How long it took on the device.
    #[serde(default)]
    pub seconds: f64,
}

/// A pass through an operator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pass {
    /// Its results.
    #[default]
    Forward,
    /// Its gradients.
    Backward,
}

/// The end of a probe's work.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Done {
    /// How long all of it took.
    pub seconds: f64,
    /// The most memory that the device had in use, where that can be asked.
    #[serde(default)]
    pub device_bytes: Option<u64>,
}

/// A check by name: what it computes, and why it is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KnownCheck {
    /// Its name.
    pub id: &'static str,
    /// Which question it belongs to.
    pub question: Question,
    /// What it computes, as people say it.
    pub what: &'static str,
}

/// Names a check.
const fn known(id: &'static str, question: Question, what: &'static str) -> KnownCheck {
    KnownCheck { id, question, what }
}

/// Every check. A probe asks those that its framework has; `shape @ shape` are what the torch probes use.
pub const CHECKS: &[KnownCheck] = &[
    known("product", Question::Product, "square matrix product"),
    // Plain, odd and thin shapes.
    known("matmul-odd", Question::Numbers, "matrix product of odd sizes (127, 255) @ (255, 63)"),
    known("matmul-thin", Question::Numbers, "matrix product with a thin operand (1, 1000) @ (1000, 3)"),
    known("matmul-transposed", Question::Numbers, "matrix product of transposed operands"),
    known("bmm", Question::Numbers, "batched matrix product (8, 64, 48) @ (8, 48, 80)"),
    // pytorch issues 195163 and pull 183535: garbage from an inner length of 32767 on, where both other sides are at least
    // 16; issue 193487: where the first operand is a transposed view.
    known("matmul-long", Question::Numbers, "matrix product with a long inner side (25, long) @ (long, 25)"),
    known("matmul-long-transposed", Question::Numbers, "matrix product of a transposed view (long, 25) @ (long, 25)"),
    known("bmm-long", Question::Numbers, "batched matrix product with a long inner side (2, 25, long) @ (2, long, 25)"),
    // pytorch issue 188438: the bias is dropped for thin inputs.
    known("linear-thin", Question::Numbers, "thin linear layer (80, 1, 2) to 192 without bias"),
    known("linear-thin-bias", Question::Numbers, "thin linear layer (80, 1, 2) to 192 with bias"),
    known("linear-vector-bias", Question::Numbers, "linear layer with bias on one row (1, 64) to 32"),
    // pytorch issue 189495.
    known("linear-rows-bias", Question::Numbers, "linear layer with bias on many rows (rows, 2, 8) to 16"),
    // pytorch issue 180776: other numbers at each call in half precision, for this shape among others.
    known("linear-deep", Question::Numbers, "linear layer without bias on four dimensions (1, 3, 28, 315) to 315"),
    known("linear-deep-bias", Question::Numbers, "linear layer with bias on four dimensions (4, 8, 16, 64) to 48"),
    // pytorch issues 162730, 167154 and, for three dimensions, 197796.
    known("linear-transposed-weight", Question::Numbers, "linear layer whose weight is a transposed view"),
    known("linear-sliced-weight", Question::Numbers, "linear layer whose weight is every second column"),
    known("linear-expanded-input", Question::Numbers, "linear layer whose input is an expanded view"),
    known("linear-backward", Question::Numbers, "gradients of a linear layer with bias"),
    known("conv2d", Question::Numbers, "convolution (4, 3, 32, 32) with 8 filters of 3 x 3"),
    known("conv2d-bias", Question::Numbers, "convolution with bias"),
    known("conv2d-strided", Question::Numbers, "convolution with stride 2, padding 1 and two groups"),
    // pytorch issue 192212.
    known("conv2d-sliced-weight", Question::Numbers, "convolution whose weight is a slice"),
    known("conv2d-backward", Question::Numbers, "gradients of a convolution with bias"),
    known("conv1d-bias", Question::Numbers, "convolution in one dimension with bias"),
    known("conv-transpose2d", Question::Numbers, "transposed convolution"),
    // pytorch issue 195910: future tokens are seen in half precision.
    known("attention-causal", Question::Numbers, "causal attention (1, 4, 64, 64)"),
    // pytorch issue 174861.
    known("attention-long-grouped", Question::Numbers, "grouped attention over 1100 keys"),
    known("softmax", Question::Numbers, "softmax (64, 1000)"),
    known("layer-norm", Question::Numbers, "layer norm (64, 257)"),
    known("sum-long", Question::Numbers, "sum of a million elements"),
    known("embedding", Question::Numbers, "rows of a table by index"),
    // pytorch issue 118115: in place on views, nothing is written.
    known("in-place-strided", Question::Numbers, "addcmul and addcdiv in place on a transposed tensor"),
    known("copy-strided", Question::Numbers, "copies into every second column"),
    // pytorch pull 165267.
    known(
        "random-strided",
        Question::Numbers,
        "random numbers in place on a transposed tensor: the part that is written",
    ),
    // pytorch issue 187201 and pull 190352: these end the process where there are five dimensions, some of length 1.
    known("linear-deep-backward", Question::Numbers, "gradients of a linear layer on five dimensions (2, 1, 2, 1, 2)"),
    known("linear-complex", Question::Numbers, "linear layer of complex numbers on five dimensions (2, 1, 2, 1, 2)"),
    known("autocast-linear", Question::Autocast, "linear layer under mixed precision"),
    known("autocast-conv2d", Question::Autocast, "convolution under mixed precision"),
    known("adam-strided", Question::Optimizer, "weights after five steps of Adam, one of them transposed"),
    known("convert", Question::Convert, "weights of a converted model, as they lie on disk"),
    known("convert-predict", Question::Convert, "prediction of a converted model"),
];

impl ProbeKind {
    /// Says how it asks, for people.
    pub fn way(self) -> &'static str {
        match self {
            Self::Native => "natively",
            Self::Python => "through Python",
        }
    }
}

impl Question {
    /// What is asked of a framework, in order; a probe passes over what is none of its framework's. Operators are a run of
    /// their own.
    pub const USUAL: [Self; 7] =
        [Self::Product, Self::Training, Self::Optimizer, Self::Autocast, Self::Numbers, Self::Again, Self::Convert];
}

impl ElementType {
    /// Those that are asked. Half types on every chip: where one emulates them, what it computes has to be right too.
    pub const ASKED: [Self; 4] = [Self::Float32, Self::Float16, Self::Bfloat16, Self::Complex64];
}

impl Sizes {
    /// Chooses the sizes for a machine: a twentieth of its memory at most at one time, and never over 1 GiB.
    ///
    /// On a Mac of 8 GiB other programs hold most of them, and torch refuses more than a share; see pytorch's `MPS
    /// backend out of memory`.
    pub fn for_memory(memory: u64) -> Self {
        let most = (memory / 20).clamp(64 << 20, 1 << 30);
        Self { memory, most, product: 1000, long: 32_769, rows: 65_600, churn: most / 2, steps: 200 }
    }
}

impl Default for Tolerances {
    fn default() -> Self {
        Self { float64: 1e-10, float32: 1e-4, float16: 1e-2, bfloat16: 5e-2, loss: 2e-2, learned: 0.1 }
    }
}

impl Operator {
    /// Returns what [`At::id`] was when it began: its name, and the pass where that is not the first.
    pub fn id(&self) -> String {
        match self.pass {
            Pass::Forward => self.name.clone(),
            Pass::Backward => format!("{} backward", self.name),
        }
    }
}

impl Tolerances {
    /// Returns the one for an element type.
    pub fn of(&self, element: ElementType) -> f64 {
        match element {
            ElementType::Float64 => self.float64,
            ElementType::Float32 | ElementType::Complex64 => self.float32,
            ElementType::Float16 => self.float16,
            ElementType::Bfloat16 => self.bfloat16,
        }
    }
}

impl Event {
    /// Writes it as the line that a probe prints, without the line's end.
    pub fn to_line(&self) -> String {
        format!("{PREFIX}{}", serde_json::to_string(self).expect("events are plain data with text keys"))
    }

    /// Reads a line of what a probe printed; none when it is not an event's.
    ///
    /// The prefix may stand anywhere in it: what else prints does not always end its lines.
    pub fn of_line(line: &str) -> Option<Result<Self, serde_json::Error>> {
        said(line)
    }
}

/// Reads a line of what a probe printed likewise, as whatever that probe may have said.
pub fn said<E: DeserializeOwned>(line: &str) -> Option<Result<E, serde_json::Error>> {
    let (_, text) = line.split_once(PREFIX)?;
    Some(serde_json::from_str(text.trim_end()))
}

impl fmt::Display for Framework {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Torch => "torch",
            Self::Tensorflow => "tensorflow",
            Self::Mlx => "mlx",
            Self::Coremltools => "coremltools",
        })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mps => "mps",
            Self::Cuda => "cuda",
            Self::Cpu => "cpu",
        })
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Float64 => "float64",
            Self::Float32 => "float32",
            Self::Float16 => "float16",
            Self::Bfloat16 => "bfloat16",
            Self::Complex64 => "complex64",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_and_is_read_back_from_among_other_output() {
        let check = Event::Check(Check {
            id: "linear-thin-bias".into(),
            element: ElementType::Float32,
            round: 1,
            shapes: vec![vec![80, 1, 2], vec![192, 2], vec![192]],
            error: None,
            elements: 15_360,
            max_abs: Some(f64::NAN),
            max_rel: Some(2.3e-1),
            worst: vec![0, 0, 7],
            beyond: 300,
            nan: 2,
            inf: 0,
            elsewhere: None,
            seconds: 0.25,
        });
        let line = check.to_line();
        assert!(
            line.starts_with(r#"macml-probe: {"event":"check","id":"linear-thin-bias","type":"float32","round":1,"#)
        );
        let Some(Ok(Event::Check(read))) = Event::of_line(&format!("warning without an end{line}\r\n")) else {
            panic!("{line}");
        };
        // JSON has no NaN: what is not finite is nothing.
        assert_eq!((read.max_abs, read.max_rel, read.nan), (None, Some(2.3e-1), 2));
        assert!(Event::of_line("a warning").is_none());
        assert!(Event::of_line("macml-probe: {\"event\":\"check\"").unwrap().is_err());
        assert!(Event::of_line("macml-probe: {\"event\":\"later\"}").unwrap().is_err());
    }

    #[test]
    fn a_request_refuses_what_it_does_not_know() {
        let request = Request {
            protocol: PROTOCOL,
            framework: Framework::Torch,
            release: Some("2.13.0".into()),
            device: Device::Mps,
            seed: 7,
            questions: vec![Question::Product, Question::Again],
            types: vec![ElementType::Float32, ElementType::Bfloat16],
            sizes: Sizes::for_memory(8 << 30),
            limits: Limits { begin: 240, end: 300 },
            tolerances: Tolerances::default(),
            operators: Vec::new(),
        };
        let text = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), request);
        assert!(
            text.contains(r#""device":"mps","seed":7,"questions":["product","again"],"types":["float32","bfloat16"]"#)
        );
        let more = text.replacen('{', r#"{"faster":true,"#, 1);
        assert!(serde_json::from_str::<Request>(&more).unwrap_err().to_string().contains("unknown field `faster`"));
    }

    #[test]
    fn a_mac_of_8_gib_is_not_exhausted() {
        let sizes = Sizes::for_memory(8 << 30);
        assert!(sizes.most <= 410 << 20 && sizes.churn <= sizes.most, "{sizes:?}");
        assert!(sizes.long > 32_768 && sizes.long % 2 == 1 && sizes.rows > 65_536);
        // The largest checks: rows in float32 with their float64 reference, and the product thrice.
        let rows = sizes.rows * 2 * (8 + 16) * (4 + 8);
        let product = 3 * sizes.product * sizes.product * (4 + 8);
        assert!(rows < sizes.most && product < sizes.most, "{rows} {product}");
        assert_eq!(Sizes::for_memory(512 << 30).most, 1 << 30);
    }

    #[test]
    fn no_two_checks_have_one_name() {
        let mut names: Vec<_> = CHECKS.iter().map(|check| check.id).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CHECKS.len());
    }
}
