//! Training a small network with Adam, on the device and on the CPU, from the same first weights and the same data.

use std::collections::BTreeMap;
use std::time::Instant;

use tch::COptimizer;
use tch::{Device, Kind, Reduction, TchError, Tensor};

use crate::protocol::{Curve, Request, Training};

/// A network, its data and what it is to learn.
pub(crate) struct Network {
    /// Its name in the protocol.
    pub(crate) id: &'static str,
    /// The shapes of its weights.
    weights: &'static [&'static [i64]],
    /// Makes input and target.
    data: fn() -> Result<[Tensor; 2], TchError>,
    /// Computes the loss.
    loss: fn(&[Tensor], &Tensor, &Tensor) -> Result<Tensor, TchError>,
    rate: f64,
}

/// The networks.
pub(crate) const NETWORKS: &[Network] = &[
    Network {
        id: "training-dense",
        weights: &[&[64, 16], &[64], &[64, 64], &[64], &[1, 64], &[1]],
        data: dense_data,
        loss: dense_loss,
        rate: 1e-2,
    },
    Network {
        id: "training-convolution",
        weights: &[&[8, 1, 3, 3], &[8], &[16, 8, 3, 3], &[16], &[4, 16], &[4]],
        data: pictures,
        loss: convolution_loss,
        rate: 1e-2,
    },
];

/// How many steps are taken in any case, so that there is a curve to compare.
const FEWEST_STEPS: u64 = 20;

/// Trains on the device until the loss is below the bound, and as many steps on the CPU.
pub(crate) fn compare(network: &Network, request: &Request, device: Device) -> Result<Training, TchError> {
    tch::manual_seed((request.seed >> 1).cast_signed());
    let weights = network.weights.iter().map(|shape| first(shape)).collect::<Result<Vec<_>, _>>()?;
    let data = (network.data)()?;
    let run = Run { network, weights: &weights, data: &data };
    let steps = request.sizes.steps;
    let there = run.train(device, Kind::Float, steps, Some(request.tolerances.learned))?;
    // On one device two computations in one type would be the same one twice.
    let kind = if device == Device::Cpu { Kind::Double } else { Kind::Float };
    let here = run.train(Device::Cpu, kind, u64::try_from(there.losses.len()).unwrap_or(steps), None)?;
    let first = here.losses.first().copied().unwrap_or(f64::NAN);
    let differences = there.losses.iter().zip(&here.losses).map(|(there, here)| (there - here).abs());
    let apart = differences.filter(|apart| apart.is_finite()).fold(0.0, f64::max) / first;
    Ok(Training {
        id: network.id.to_owned(),
        error: None,
        device: there.curve(),
        cpu: here.curve(),
        apart: Some(apart).filter(|apart| apart.is_finite()),
        // tch cannot look into its optimizers.
        state: BTreeMap::new(),
        state_on_device: None,
        moved: Some(there.moved),
    })
}

struct Run<'a> {
    network: &'a Network,
    weights: &'a [Tensor],
    data: &'a [Tensor; 2],
}

struct Trained {
    losses: Vec<f64>,
    moved: bool,
    seconds: f64,
}

impl Run<'_> {
    fn train(&self, device: Device, kind: Kind, steps: u64, until: Option<f64>) -> Result<Trained, TchError> {
        let begun = Instant::now();
        let copy = |tensor: &Tensor| match tensor.kind() {
            Kind::Int64 => tensor.f_to_device(device),
            _ => tensor.f_to_device_(device, kind, false, true),
        };
        let weights =
            self.weights.iter().map(|weight| copy(weight)?.f_set_requires_grad(true)).collect::<Result<Vec<_>, _>>()?;
        let [input, target] = [copy(&self.data[0])?, copy(&self.data[1])?];
        let mut optimizer = COptimizer::adam(self.network.rate, 0.9, 0.999, 0.0, 1e-8, false)?;
        for weight in &weights {
            optimizer.add_parameters(weight, 0)?;
        }
        let mut losses: Vec<f64> = Vec::new();
        for step in 0..steps {
            optimizer.zero_grad()?;
            let loss = (self.network.loss)(&weights, &input, &target)?;
            let value = loss.f_double_value(&[])?;
            losses.push(value);
            let bound = until.map(|part| losses[0] * part);
            if step + 1 >= FEWEST_STEPS && bound.is_some_and(|bound| value < bound) {
                break;
            }
            loss.f_backward()?;
            optimizer.step()?;
        }
        let mut moved = true;
        for (weight, first) in weights.iter().zip(self.weights) {
            let now = weight.f_detach()?.f_to_device(Device::Cpu)?.f_to_kind(Kind::Float)?;
            moved &= now.f_ne_tensor(first)?.f_any()?.f_int64_value(&[])? != 0;
        }
        Ok(Trained { losses, moved, seconds: begun.elapsed().as_secs_f64() })
    }
}

impl Trained {
    fn curve(&self) -> Curve {
        let finite = |loss: Option<&f64>| loss.copied().filter(|loss| loss.is_finite());
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        Curve {
            first: finite(self.losses.first()),
            last: finite(self.losses.last()),
            least: self.losses.iter().copied().filter(|loss| loss.is_finite()).reduce(f64::min),
            steps: count(self.losses.len()),
            not_finite: count(self.losses.iter().filter(|loss| !loss.is_finite()).count()),
            seconds: self.seconds,
        }
    }
}

/// Makes a first weight: small for what has many inputs.
fn first(shape: &[i64]) -> Result<Tensor, TchError> {
    let inputs: i64 = shape.iter().skip(1).product();
    let scale = if shape.len() > 1 { 1.0 / (inputs.max(1) as f64).sqrt() } else { 0.01 };
    Tensor::f_randn(shape, (Kind::Float, Device::Cpu))?.f_mul_scalar(scale)
}

/// A smooth function of sixteen numbers.
fn dense_data() -> Result<[Tensor; 2], TchError> {
    let input = Tensor::f_randn([256, 16], (Kind::Float, Device::Cpu))?;
    let direction = Tensor::f_randn([16, 1], (Kind::Float, Device::Cpu))?.f_mul_scalar(0.25)?;
    let target = input.f_matmul(&direction)?.f_sin()?;
    Ok([input, target])
}

fn dense_loss(weights: &[Tensor], input: &Tensor, target: &Tensor) -> Result<Tensor, TchError> {
    let hidden = input.f_linear(&weights[0], Some(&weights[1]))?.f_relu()?;
    let hidden = hidden.f_linear(&weights[2], Some(&weights[3]))?.f_relu()?;
    hidden.f_linear(&weights[4], Some(&weights[5]))?.f_mse_loss(target, Reduction::Mean)
}

/// Noisy pictures of four kinds: stripes across, stripes down, a checkerboard, and nothing.
fn pictures() -> Result<[Tensor; 2], TchError> {
    const SIDE: i64 = 12;
    const COUNT: i64 = 128;
    let sign = |at: i64| if at / 2 % 2 == 0 { 1.0 } else { -1.0 };
    let kinds: [fn(f64, f64) -> f64; 4] = [|row, _| row, |_, column| column, |row, column| row * column, |_, _| 0.0];
    let mut pixels: Vec<f32> = Vec::new();
    for picture in 0..COUNT {
        let kind = kinds[usize::try_from(picture % 4).unwrap_or_default()];
        for at in 0..SIDE * SIDE {
            #[expect(clippy::cast_possible_truncation, reason = "it is 1, 0 or -1")]
            pixels.push(kind(sign(at / SIDE), sign(at % SIDE)) as f32);
        }
    }
    let noise = Tensor::f_randn([COUNT, 1, SIDE, SIDE], (Kind::Float, Device::Cpu))?.f_mul_scalar(0.3)?;
    let input = Tensor::f_from_slice(&pixels)?.f_reshape([COUNT, 1, SIDE, SIDE])?.f_add(&noise)?;
    let target = Tensor::f_arange(COUNT, (Kind::Int64, Device::Cpu))?.f_remainder(4)?;
    Ok([input, target])
}

fn convolution_loss(weights: &[Tensor], input: &Tensor, target: &Tensor) -> Result<Tensor, TchError> {
    let convolve = |input: &Tensor, at: usize| {
        input.f_conv2d(&weights[at], Some(&weights[at + 1]), [1, 1], [1, 1], [1, 1], 1)?.f_relu()
    };
    let first = convolve(input, 0)?.f_max_pool2d([2, 2], [2, 2], [0, 0], [1, 1], false)?;
    let second = convolve(&first, 2)?.f_mean_dim([2, 3].as_slice(), false, None::<Kind>)?;
    let answer = second.f_linear(&weights[4], Some(&weights[5]))?;
    answer.f_cross_entropy_loss(target, None::<Tensor>, Reduction::Mean, -100, 0.0)
}
