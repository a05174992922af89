//! Memory, and variables that change what torch does with it and with operators without a kernel: bug reports R25, R26.

use crate::diag::Code;
use crate::doctor::facts::{Facts, MetalDevice};
use crate::doctor::{Diagnosis, Subject};
use crate::host::gigabytes;
use crate::knowledge::Knowledge;

pub(super) fn findings(facts: &Facts, _knowledge: &Knowledge) -> Vec<Diagnosis> {
    let mut found = Vec::new();
    found.extend(unlimited(facts));
    found.extend(fallback(facts));
    found.extend(below(facts));
    found.extend(short(facts));
    found
}

fn variable<'f>(facts: &'f Facts, name: &str) -> Option<(&'f str, String)> {
    if let Some(value) = facts.shell.variable(name) {
        return Some((value, "the shell".to_owned()));
    }
    let declared = facts.project.iter().flat_map(|project| &project.declared);
    let mut all = declared.flat_map(|one| one.run_env.iter().map(|variable| (one.env.as_str(), variable)));
    let (env, variable) = all.find(|(_, one)| one.name == name)?;
    Some((variable.value.as_str(), format!("`[run.env]` of environment `{env}`")))
}

fn unlimited(facts: &Facts) -> Option<Diagnosis> {
    let (value, place) = variable(facts, "PYTORCH_MPS_HIGH_WATERMARK_RATIO")?;
    if value.trim().parse::<f64>().ok()? > 0.0 {
        return None;
    }
    let seen = format!("PYTORCH_MPS_HIGH_WATERMARK_RATIO is `{value}` in {place}");
    let why = "torch then takes memory without any limit, and the Mac swaps until it freezes instead of an error";
    let mut diagnosis = Diagnosis::warning(Code::MemoryUnlimited, Subject::Mac, seen, why);
    let device = facts.metal.as_ref().and_then(|metal| metal.devices.first());
    let limit = device.and_then(MetalDevice::torch_limit).map(gigabytes);
    if let (Some(limit), Some(total)) = (limit, facts.memory.total.map(gigabytes)) {
        diagnosis = diagnosis.detail(format!("the usual limit on this Mac is {limit}, of {total} of memory"));
    }
    Some(
        diagnosis
            .remedy("take it away; make batches or models smaller first")
            .command("unset PYTORCH_MPS_HIGH_WATERMARK_RATIO"),
    )
}

fn fallback(facts: &Facts) -> Option<Diagnosis> {
    const NAME: &str = "PYTORCH_ENABLE_MPS_FALLBACK";
    let (value, place) = variable(facts, NAME)?;
    if value != "1" {
        return None;
    }
    let seen = format!("{NAME} is `1` in {place}");
    let why = "operators without a kernel for the GPU run on the CPU after one warning, and training is slow without an error";
    let mut diagnosis = Diagnosis::warning(Code::FallbackSet, Subject::Gpu, seen, why);
    let declared = facts.project.iter().flat_map(|project| &project.declared).flat_map(|one| &one.run_env);
    for other in declared.filter(|one| one.name == NAME && place == "the shell" && one.value != value) {
        diagnosis = diagnosis.detail(format!(
            "`[run.env]` says `{}`, which counts for `macml run` and in the project's folders",
            other.value
        ));
    }
    Some(diagnosis.remedy("see which operators those are").command("macml run --report-fallbacks python train.py"))
}

fn below(facts: &Facts) -> Option<Diagnosis> {
    let total = facts.memory.total?;
    let declared = facts.project.iter().flat_map(|project| &project.declared);
    let (env, asked) = declared.filter_map(|one| Some((&one.env, one.memory?))).max_by_key(|(_, memory)| *memory)?;
    if facts.machine.host.is_none() || total >= asked {
        return None;
    }
    let seen =
        format!("this Mac has {} of memory, and environment `{env}` asks for {}", gigabytes(total), gigabytes(asked));
    let why = "CPU and GPU share it: what fits elsewhere swaps here, or is refused";
    let diagnosis = Diagnosis::warning(Code::MemoryBelow, Subject::Mac, seen, why);
    Some(diagnosis.remedy("take smaller batches or models here").command("macml explain memory"))
}

/// macOS swaps what was not used for long even where there is room: half of the memory that there is, or pressure, is more.
fn short(facts: &Facts) -> Option<Diagnosis> {
    let memory = &facts.memory;
    let (total, swap) = (memory.total?, memory.swap_used.unwrap_or_default());
    let level = memory.pressure_level.unwrap_or(1);
    if level < 2 && swap < total / 2 {
        return None;
    }
    let pressure = match level {
        4 => "memory is nearly used up (pressure: critical)",
        2 => "memory is short (pressure: warning)",
        _ => "much of the memory is in swap",
    };
    let seen = format!("{pressure}: {} of swap are used beside {} of memory", gigabytes(swap), gigabytes(total));
    let why = "the GPU waits for memory that comes back from the disk, and training crawls or stops";
    let diagnosis = Diagnosis::warning(Code::MemoryShort, Subject::Mac, seen, why);
    Some(diagnosis.remedy("close other programs, browsers and containers first").command("macml explain memory"))
}
