//! The checks: for each name of the protocol the operation, its operands, and running it on the device and for reference.

use std::time::Instant;

use tch::COptimizer;
use tch::{Device, Kind, TchError, Tensor};

use crate::protocol::{ElementType, Sizes};

/// A check, ready to be computed.
pub(crate) struct Case {
    /// Its name in the protocol.
    pub(crate) id: &'static str,
    /// The shapes of its operands.
    pub(crate) shapes: Vec<Vec<i64>>,
    operation: Operation,
}

/// Computes from operands on whatever device they are, with their element type. Views are made in here, so that the device
/// sees them as views.
type Operation = fn(&[Tensor]) -> Result<Tensor, TchError>;

/// What a check computed.
pub(crate) struct Computed {
    /// On the device.
    pub(crate) result: Tensor,
    /// The same on the CPU in float64.
    pub(crate) reference: Tensor,
    /// Where the result lay.
    pub(crate) device: Device,
    /// Where it should.
    pub(crate) wanted: Device,
    /// How long the device took.
    pub(crate) seconds: f64,
}

const NO_BIAS: Option<&Tensor> = None;

/// Returns a check by its name; none when this probe has no such check for an element type.
pub(crate) fn case(id: &'static str, sizes: &Sizes, element: ElementType) -> Option<Case> {
    let side = i64::try_from(sizes.product).ok()?;
    let long = i64::try_from(sizes.long).ok()?;
    let rows = i64::try_from(sizes.rows).ok()?;
    if (id == "linear-complex") != (element == ElementType::Complex64) {
        return None;
    }
    let half = matches!(element, ElementType::Float16 | ElementType::Bfloat16);
    let (shapes, operation): (&[&[i64]], Operation) = match id {
        "product" => (&[&[side, side], &[side, side]], matmul),
        "matmul-odd" => (&[&[127, 255], &[255, 63]], matmul),
        "matmul-thin" => (&[&[1, 1000], &[1000, 3]], matmul),
        "matmul-transposed" => (&[&[96, 64], &[80, 96]], |x| turned(&x[0])?.f_matmul(&turned(&x[1])?)),
        "bmm" => (&[&[8, 64, 48], &[8, 48, 80]], |x| x[0].f_bmm(&x[1])),
        // What lies behind the second operand is not zero: reading past its end shows.
        "matmul-long" => (&[&[25, long], &[long + 63, 25]], |x| x[0].f_matmul(&first_rows(&x[1], x[0].size()[1])?)),
        "matmul-long-transposed" => {
            (&[&[long, 25], &[long + 63, 25]], |x| turned(&x[0])?.f_matmul(&first_rows(&x[1], x[0].size()[0])?))
        }
        "bmm-long" => (&[&[2, 25, long], &[2, long, 25]], |x| x[0].f_bmm(&x[1])),
        "linear-thin" => (&[&[80, 1, 2], &[192, 2]], |x| x[0].f_linear(&x[1], NO_BIAS)),
        "linear-thin-bias" => (&[&[80, 1, 2], &[192, 2], &[192]], linear),
        "linear-vector-bias" => (&[&[1, 64], &[32, 64], &[32]], linear),
        "linear-rows-bias" => (&[&[rows, 2, 8], &[16, 8], &[16]], linear),
        "linear-deep" => (&[&[1, 3, 28, 315], &[315, 315]], |x| x[0].f_linear(&x[1], NO_BIAS)),
        "linear-deep-bias" => (&[&[4, 8, 16, 64], &[48, 64], &[48]], linear),
        "linear-transposed-weight" => (&[&[2, 256, 256], &[256, 256]], |x| x[0].f_linear(&turned(&x[1])?, NO_BIAS)),
        "linear-sliced-weight" => {
            (&[&[32, 64], &[48, 128], &[48]], |x| x[0].f_linear(&x[1].f_slice(1, 0, None, 2)?, Some(&x[2])))
        }
        "linear-expanded-input" => {
            (&[&[1, 1, 64], &[48, 64], &[48]], |x| x[0].f_expand([16, 5, 64], false)?.f_linear(&x[1], Some(&x[2])))
        }
        "linear-deep-backward" => {
            (&[&[2, 1, 2, 1, 2], &[4, 2], &[2, 1, 2, 1, 4]], |x| gradients(x, |x| x[0].f_linear(&x[1], NO_BIAS)))
        }
        // The last side holds the two parts.
        "linear-complex" => (&[&[2, 1, 2, 1, 2, 2], &[4, 2, 2]], |x| x[0].f_linear(&x[1], NO_BIAS)),
        "linear-backward" => (&[&[40, 64], &[48, 64], &[48], &[40, 48]], |x| gradients(x, linear)),
        "conv2d" => (&[&[4, 3, 32, 32], &[8, 3, 3, 3]], |x| convolve(&x[0], &x[1], NO_BIAS)),
        "conv2d-bias" => (&[&[4, 3, 32, 32], &[8, 3, 3, 3], &[8]], |x| convolve(&x[0], &x[1], Some(&x[2]))),
        "conv2d-strided" => {
            (&[&[4, 4, 31, 33], &[8, 2, 3, 3], &[8]], |x| x[0].f_conv2d(&x[1], Some(&x[2]), [2, 2], [1, 1], [1, 1], 2))
        }
        "conv2d-sliced-weight" => {
            (&[&[4, 3, 32, 32], &[8, 6, 3, 3], &[8]], |x| convolve(&x[0], &x[1].f_slice(1, 1, 6, 2)?, Some(&x[2])))
        }
        "conv2d-backward" => (&[&[2, 3, 16, 16], &[8, 3, 3, 3], &[8], &[2, 8, 14, 14]], |x| {
            gradients(x, |x| convolve(&x[0], &x[1], Some(&x[2])))
        }),
        "conv1d-bias" => (&[&[4, 8, 100], &[16, 8, 5], &[16]], |x| x[0].f_conv1d(&x[1], Some(&x[2]), [1], [2], [1], 1)),
        "conv-transpose2d" => (&[&[2, 8, 15, 15], &[8, 4, 3, 3], &[4]], |x| {
            x[0].f_conv_transpose2d(&x[1], Some(&x[2]), [2, 2], [1, 1], [1, 1], 1, [1, 1])
        }),
        "attention-causal" => (&[&[1, 4, 64, 64], &[1, 4, 64, 64], &[1, 4, 64, 64]], |x| {
            Tensor::f_scaled_dot_product_attention(&x[0], &x[1], &x[2], NO_BIAS, 0.0, true, None, false)
        }),
        "attention-long-grouped" => (&[&[1, 8, 4, 64], &[1, 2, 1100, 64], &[1, 2, 1100, 64]], |x| {
            Tensor::f_scaled_dot_product_attention(&x[0], &x[1], &x[2], NO_BIAS, 0.0, false, None, true)
        }),
        "softmax" => (&[&[64, 1000]], |x| x[0].f_softmax(-1, None)),
        "layer-norm" => {
            (&[&[64, 257], &[257], &[257]], |x| x[0].f_layer_norm([257], Some(&x[1]), Some(&x[2]), 1e-5, true))
        }
        // Positive, so that the sum is no remainder of what cancels out; in float32 alone, since in half types it may be kept
        // in something too small for it.
        "sum-long" if element == ElementType::Float32 => (&[&[1000, 1000]], |x| x[0].f_abs()?.f_sum(None::<Kind>)),
        "embedding" => (&[&[500, 33]], |x| {
            let rows = Tensor::f_arange(1000, (Kind::Int64, x[0].device()))?.f_mul_scalar(7)?.f_remainder(500)?;
            Tensor::f_embedding(&x[0], &rows, -1, false, false)
        }),
        "in-place-strided" => (&[&[48, 80], &[80, 48], &[80, 48]], |x| {
            let mut view = turned(&x[0])?;
            let divisor = x[2].f_abs()?.f_add_scalar(1)?;
            let _ = view.f_addcmul_(&x[1], &x[2])?;
            let _ = view.f_addcdiv_(&x[1], &divisor)?;
            // Not the view: whoever holds the tensor must see what was written.
            Ok(x[0].shallow_clone())
        }),
        "copy-strided" => (&[&[64, 50]], |x| {
            let whole = Tensor::f_zeros([64, 100], (x[0].kind(), x[0].device()))?;
            whole.f_slice(1, 0, None, 2)?.f_copy_(&x[0])?;
            Ok(whole)
        }),
        "random-strided" => (&[&[96, 64]], |x| {
            let whole = x[0].f_zeros_like()?;
            let _ = turned(&whole)?.f_uniform_(1.0, 2.0)?;
            whole.f_ge(1.0)?.f_to_kind(x[0].kind())
        }),
        "autocast-linear" if half => (&[&[32, 64], &[48, 64], &[48]], |x| tch::autocast(true, || linear(x))),
        "autocast-conv2d" if half => {
            (&[&[4, 3, 32, 32], &[8, 3, 3, 3]], |x| tch::autocast(true, || convolve(&x[0], &x[1], NO_BIAS)))
        }
        "adam-strided" if element == ElementType::Float32 => (&[&[48, 80], &[32, 16], &[80, 48], &[32, 16]], adam),
        _ => return None,
    };
    Some(Case { id, shapes: shapes.iter().map(|shape| shape.to_vec()).collect(), operation })
}

impl Case {
    /// Estimates what is held at one time: operands and as much again of results, on the device and in float64.
    pub(crate) fn bytes(&self, element: ElementType) -> u64 {
        let operands: u64 =
            self.shapes.iter().map(|shape| shape.iter().map(|side| side.unsigned_abs()).product::<u64>()).sum();
        let size = u64::try_from(kind(element).elt_size_in_bytes()).unwrap_or(u64::MAX);
        operands.saturating_mul(2).saturating_mul(size + 8)
    }

    /// Tells why tch cannot ask this, where that is so.
    pub(crate) fn missing(&self, element: ElementType, device: Device) -> Option<&'static str> {
        let known = device.is_cuda() && element == ElementType::Float16;
        (self.is_autocast() && !known).then_some("tch has mixed precision for CUDA in float16 alone")
    }

    fn is_autocast(&self) -> bool {
        self.id.starts_with("autocast-")
    }
}

/// Computes a check on the device and for reference.
pub(crate) fn compute(case: &Case, element: ElementType, seed: u64, device: Device) -> Result<Computed, TchError> {
    let operands = operands(case, kind(element), seed)?;
    // Mixed precision rounds by itself.
    let kind = if case.is_autocast() { Kind::Float } else { kind(element) };
    let copies = |kind, device| -> Result<Vec<Tensor>, TchError> {
        // Copies, even where they are there already: some checks write.
        operands.iter().map(|operand| operand.f_to_device_(device, kind, false, true)).collect()
    };
    let exact = if element == ElementType::Complex64 { Kind::ComplexDouble } else { Kind::Double };
    let given = copies(kind, device)?;
    let begun = Instant::now();
    let result = (case.operation)(&given)?;
    let found = result.device();
    // Bringing it here waits for it.
    let result = result.f_detach()?.f_to_device(Device::Cpu)?;
    let seconds = begun.elapsed().as_secs_f64();
    let reference = match case.is_autocast() {
        false => (case.operation)(&copies(exact, Device::Cpu)?)?,
        true => tch::autocast(false, || plain_of(case.id)(&copies(exact, Device::Cpu)?))?,
    };
    Ok(Computed { result, reference, device: found, wanted: device, seconds })
}

/// Returns what a check under mixed precision computes without it.
fn plain_of(id: &str) -> Operation {
    match id {
        "autocast-linear" => linear,
        _ => |x| convolve(&x[0], &x[1], NO_BIAS),
    }
}

/// Makes the operands on the CPU: normally distributed, the same for each name whatever was asked before.
fn operands(case: &Case, kind: Kind, seed: u64) -> Result<Vec<Tensor>, TchError> {
    let own = case.id.bytes().fold(seed, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    tch::manual_seed((own >> 1).cast_signed());
    let normal = |shape: &Vec<i64>| Tensor::f_randn(shape, (Kind::Float, Device::Cpu));
    case.shapes
        .iter()
        .map(|shape| match kind {
            Kind::ComplexFloat => normal(shape)?.f_view_as_complex(),
            _ => normal(shape)?.f_to_kind(kind),
        })
        .collect()
}

/// Whether a check has aborted the process on some systems: these come last, so that the others are known then.
pub(crate) fn is_risky(id: &str) -> bool {
    matches!(id, "linear-transposed-weight" | "linear-expanded-input" | "linear-deep-backward" | "linear-complex")
}

/// Returns torch's name of an element type.
pub(crate) const fn kind(element: ElementType) -> Kind {
    match element {
        ElementType::Float64 => Kind::Double,
        ElementType::Float32 => Kind::Float,
        ElementType::Float16 => Kind::Half,
        ElementType::Bfloat16 => Kind::BFloat16,
        ElementType::Complex64 => Kind::ComplexFloat,
    }
}

fn matmul(x: &[Tensor]) -> Result<Tensor, TchError> {
    x[0].f_matmul(&x[1])
}

fn linear(x: &[Tensor]) -> Result<Tensor, TchError> {
    x[0].f_linear(&x[1], Some(&x[2]))
}

fn convolve(input: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor, TchError> {
    input.f_conv2d(weight, bias, [1, 1], [0, 0], [1, 1], 1)
}

fn first_rows(tensor: &Tensor, rows: i64) -> Result<Tensor, TchError> {
    tensor.f_narrow(0, 0, rows)
}

fn turned(tensor: &Tensor) -> Result<Tensor, TchError> {
    tensor.f_transpose(0, 1)
}

/// Returns the gradients of an operation for all operands but the last, in one row; the last is what comes from above.
fn gradients(x: &[Tensor], operation: Operation) -> Result<Tensor, TchError> {
    let (above, operands) = x.split_last().ok_or_else(|| TchError::Shape("there is no operand".to_owned()))?;
    let leaves =
        operands.iter().map(|operand| operand.f_detach()?.f_set_requires_grad(true)).collect::<Result<Vec<_>, _>>()?;
    let loss = operation(&leaves)?.f_mul(above)?.f_sum(None::<Kind>)?;
    let gradients = Tensor::f_run_backward(&[loss], &leaves, false, false)?;
    let rows = gradients.iter().map(|gradient| gradient.f_flatten(0, -1)).collect::<Result<Vec<_>, _>>()?;
    Tensor::f_cat(&rows, 0)
}

/// Returns two weights after five steps of Adam, the first of them a transposed view; the other operands pull at them.
fn adam(x: &[Tensor]) -> Result<Tensor, TchError> {
    let weights = [turned(&x[0])?.f_detach()?.f_set_requires_grad(true)?, x[1].f_detach()?.f_set_requires_grad(true)?];
    let mut optimizer = COptimizer::adam(0.05, 0.9, 0.999, 0.0, 1e-8, false)?;
    for weight in &weights {
        optimizer.add_parameters(weight, 0)?;
    }
    for _ in 0..5 {
        optimizer.zero_grad()?;
        let pull = |weight: &Tensor, to: &Tensor| weight.f_sub(to)?.f_square()?.f_sum(None::<Kind>);
        pull(&weights[0], &x[2])?.f_add(&pull(&weights[1], &x[3])?)?.f_backward()?;
        optimizer.step()?;
    }
    let rows = weights.iter().map(|weight| weight.f_detach()?.f_flatten(0, -1)).collect::<Result<Vec<_>, _>>()?;
    Tensor::f_cat(&rows, 0)
}

/// Allocates and frees pieces of many sizes, `bytes` in all, and computes with each.
pub(crate) fn churn(bytes: u64, device: Device) -> Result<(), TchError> {
    let mut left = i64::try_from(bytes / 4).unwrap_or(i64::MAX);
    let mut kept = Vec::new();
    let mut piece = 37;
    while left > 0 {
        let count = piece.min(left);
        let tensor = Tensor::f_ones([count], (Kind::Float, device))?.f_mul_scalar(3)?;
        // Every third one stays until the end, so that what is freed lies between what is not.
        if piece % 3 == 0 {
            kept.push(tensor);
        }
        left -= count;
        piece = (piece * 7 / 4 + 11) % 4_000_037 + 1;
    }
    Ok(())
}
