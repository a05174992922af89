//! A result beside its reference: how far apart they are, and where. In torch's own float64 on the CPU, whatever the device.

use tch::{Device, Kind, TchError, Tensor};

use crate::checks::Computed;
use crate::device;
use crate::protocol::Check;

/// Fills in what a check found.
pub(crate) fn compare(computed: &Computed, tolerance: f64, check: &mut Check) -> Result<(), TchError> {
    let result = plain(&computed.result)?;
    let reference = plain(&computed.reference)?;
    check.seconds = computed.seconds;
    check.elements = u64::try_from(result.numel()).unwrap_or(u64::MAX);
    check.elsewhere = (computed.device != computed.wanted).then(|| device::name(computed.device));
    if result.size() != reference.size() {
        let [found, expected] = [result.size(), reference.size()];
        return Err(TchError::Shape(format!("the result has the shape {found:?} instead of {expected:?}")));
    }
    let [nan, inf] =
        [count_new(&result.f_isnan()?, &reference.f_isnan()?)?, count_new(&result.f_isinf()?, &reference.f_isinf()?)?];
    check.nan = nan;
    check.inf = inf;
    let finite = result.f_isfinite()?.f_logical_and(&reference.f_isfinite()?)?;
    let zeros = result.f_zeros_like()?;
    let apart = result.f_sub(&reference)?.f_abs()?.f_where_self(&finite, &zeros)?;
    let scale = reference.f_abs()?.f_where_self(&reference.f_isfinite()?, &zeros)?.f_max()?.f_double_value(&[])?;
    let scale = if scale > 0.0 { scale } else { 1.0 };
    let worst = apart.f_max()?.f_double_value(&[])?;
    check.max_abs = Some(worst);
    check.max_rel = Some(worst / scale);
    check.beyond = count(&apart.f_gt(tolerance * scale)?)?;
    check.worst = place(apart.f_flatten(0, -1)?.f_argmax(0, false)?.f_int64_value(&[])?, &result.size());
    Ok(())
}

/// Brings numbers to where they are compared. Complex ones become pairs.
fn plain(tensor: &Tensor) -> Result<Tensor, TchError> {
    let real = if tensor.f_is_complex()? { tensor.f_view_as_real()? } else { tensor.shallow_clone() };
    // First to the CPU: not every device has float64.
    real.f_detach()?.f_to_device(Device::Cpu)?.f_to_kind(Kind::Double)
}

/// Counts where `found` holds and `expected` does not.
fn count_new(found: &Tensor, expected: &Tensor) -> Result<u64, TchError> {
    count(&found.f_logical_and(&expected.f_logical_not()?)?)
}

fn count(mask: &Tensor) -> Result<u64, TchError> {
    Ok(mask.f_sum(Kind::Int64)?.f_int64_value(&[])?.unsigned_abs())
}

/// Turns a position in the flat result into an index.
fn place(flat: i64, shape: &[i64]) -> Vec<u64> {
    let mut left = flat;
    let mut index: Vec<u64> = shape
        .iter()
        .rev()
        .map(|side| {
            let side = (*side).max(1);
            let at = left % side;
            left /= side;
            at.unsigned_abs()
        })
        .collect();
    index.reverse();
    index
}
