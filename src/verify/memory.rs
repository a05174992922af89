//! What a framework says when memory is over. That is no fault of what is installed, and no wrong number either.

/// Says what an error means that tells of memory that was over, with its numbers read out; `None` for another error.
/// `memory` is that of the machine in bytes.
pub fn out_of_memory(error: &str, memory: u64) -> Option<String> {
    let mps = error.contains("MPS backend out of memory");
    let cuda = error.contains("CUDA out of memory");
    // Metal's own, which reaches MLX and the Metal plugin.
    let metal = error.contains("kIOGPUCommandBufferCallbackErrorOutOfMemory");
    if !(mps || cuda || metal) {
        return None;
    }
    let wanted = amount(error, "Tried to allocate ").map_or_else(String::new, |wanted| format!(" for {wanted} more"));
    let mut facts = Vec::new();
    facts.extend(amount(error, "MPS allocated: ").map(|own| format!("{own} are this process's")));
    facts.extend(
        amount(error, "other allocations: ")
            .map(|others| format!("{others} are its other buffers on the GPU, outside of torch's tensors")),
    );
    if let Some(allowed) = amount(error, "max allowed: ") {
        let part = bytes(&allowed).filter(|_| memory > 0).map(|bytes| 100.0 * bytes / memory as f64);
        let whole = memory as f64 / f64::from(1_u32 << 30);
        let part = part.map_or_else(String::new, |part| format!(", {part:.0} % of this machine's {whole:.0} GB"));
        facts.push(format!("{allowed} are allowed{part}"));
    }
    facts.extend(amount(error, "total capacity of ").map(|total| format!("the GPU has {total}")));
    facts.extend(amount(error, "of which ").map(|free| format!("{free} of it are free")));
    let facts = if facts.is_empty() { String::new() } else { format!(": {}", facts.join(", ")) };
    let advice = match mps {
        true => {
            "take smaller sizes or types first, then close other programs, and lift the limit by \
             PYTORCH_MPS_HIGH_WATERMARK_RATIO last: at 0.0 the Mac may freeze"
        }
        false => {
            "close other programs that use the GPU and run it again; in a program of yours, take smaller sizes or types"
        }
    };
    Some(format!("the GPU had no memory{wanted}{facts}; that is no fault of the install: {advice}"))
}

/// Reads the amount that follows some words: `640.00 MB`.
fn amount(error: &str, words: &str) -> Option<String> {
    let (_, rest) = error.split_once(words)?;
    let mut parts = rest.split_whitespace();
    let (number, unit) = (parts.next()?, parts.next()?);
    number.parse::<f64>().ok()?;
    let unit: String = unit.chars().take_while(char::is_ascii_alphabetic).collect();
    unit.ends_with('B').then(|| format!("{number} {unit}"))
}

/// Turns an amount into bytes. MPS says GB for what others call GiB.
fn bytes(amount: &str) -> Option<f64> {
    let (number, unit) = amount.split_once(' ')?;
    let power = "KMGT".find(unit.chars().next()?).map_or(0, |at| at as i32 + 1);
    Some(number.parse::<f64>().ok()? * 1024_f64.powi(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bug report R25, of <https://github.com/Comfy-Org/ComfyUI/issues/2489>.
    #[test]
    fn r25_the_numbers_are_read_out() {
        let error = "RuntimeError: MPS backend out of memory (MPS allocated: 5.38 GB, other allocations: 1.26 GB, max \
                     allowed: 6.77 GB). Tried to allocate 640.00 MB on private pool. Use \
                     PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause \
                     system failure).";
        let told = out_of_memory(error, 8 << 30).unwrap();
        let begins = "the GPU had no memory for 640.00 MB more: 5.38 GB are this process's, 1.26 GB are its other buffers \
                      on the GPU, outside of torch's tensors, 6.77 GB are allowed, 85 % of this machine's 8 GB; that is no fault \
                      of the install: take smaller sizes or types first";
        assert!(told.starts_with(begins), "{told}");
        assert!(told.ends_with("at 0.0 the Mac may freeze"), "{told}");
    }

    #[test]
    fn others_are_told_apart_from_errors_that_speak_of_memory() {
        let error = "OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of \
                     139.72 GiB of which 10.25 MiB is free. Process 7 has 139.70 GiB memory in use.";
        let told = out_of_memory(error, 1 << 40).unwrap();
        let begins =
            "the GPU had no memory for 20.00 GiB more: the GPU has 139.72 GiB, 10.25 MiB of it are free; that is";
        assert!(told.starts_with(begins), "{told}");
        let bare = out_of_memory("CUDA out of memory", 0).unwrap();
        assert!(bare.starts_with("the GPU had no memory; that is no fault of the install"), "{bare}");
        for other in ["MPS backend out of time", "invalid memory format", ""] {
            assert_eq!(out_of_memory(other, 1), None, "{other}");
        }
    }
}
