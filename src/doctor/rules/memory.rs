//! Memory, and variables that change what torch does with it and with operators without a kernel: bug reports R25, R26.

use crate::diag::Code;
use crate::doctor::facts::{Facts, MetalDevice};
use crate::doctor::{Diagnosis, Subject};
use crate::host::gigabytes;
use crate::knowledge::Knowledge;

/// What the line on memory is about.
pub(crate) const MEMORY: &str = "memory";

pub(super) fn findings(facts: &Facts, _knowledge: &Knowledge) -> Vec<Diagnosis> {
    let mut found = Vec::new();
    found.extend(unlimited(facts));
    found.extend(refused(facts));
    found.extend(fallback(facts));
    found.extend(below(facts));
    found.extend(short(facts));
    found
}

/// A variable as programs get it, and what else is said of it.
struct Set<'f> {
    /// The value that counts for what macml starts.
    value: &'f str,
    /// Where that is said.
    place: String,
    /// Another value in the shell, which counts for what is started otherwise.
    shell: Option<&'f str>,
}

/// Finds a variable: `macml run` and the hooks put that of `[run.env]` before that of the shell.
fn variable<'f>(facts: &'f Facts, name: &str) -> Option<Set<'f>> {
    let shell = facts.shell.variable(name);
    let declared = facts.project.iter().flat_map(|project| &project.declared);
    let mut all = declared.flat_map(|one| &one.run_env);
    match (all.find(|one| one.name == name), shell) {
        (Some(own), shell) => {
            let shell = shell.filter(|value| *value != own.value);
            Some(Set { value: &own.value, place: "`[run.env]` of macml.toml".to_owned(), shell })
        }
        (None, Some(value)) => Some(Set { value, place: "the shell".to_owned(), shell: None }),
        (None, None) => None,
    }
}

impl Set<'_> {
    /// Says which of two values counts where.
    fn precedence(&self) -> Option<String> {
        let shell = self.shell?;
        Some(format!(
            "the shell says `{shell}`: `macml run` and the shell hooks put that of macml.toml in its place, and programs \
             that are started otherwise, such as the kernel of a notebook, get that of the shell"
        ))
    }

    /// Says how it is taken away.
    fn taken_away(&self, name: &str, says: &str, diagnosis: Diagnosis) -> Diagnosis {
        match self.place.as_str() {
            "the shell" => diagnosis.remedy(says).command(format!("unset {name}")),
            _ => diagnosis.remedy(format!("{says}; it stands in macml.toml, under `[run.env]`")),
        }
    }
}

fn unlimited(facts: &Facts) -> Option<Diagnosis> {
    const NAME: &str = "PYTORCH_MPS_HIGH_WATERMARK_RATIO";
    let set = variable(facts, NAME)?;
    let lifts = |value: &str| value.trim().parse::<f64>().is_ok_and(|ratio| ratio <= 0.0);
    if !lifts(set.value) && !set.shell.is_some_and(lifts) {
        return None;
    }
    let seen = format!("{NAME} is `{}` in {}", set.value, set.place);
    let why = "torch then takes memory without any limit, and the Mac swaps until it freezes instead of an error";
    let mut diagnosis = Diagnosis::warning(Code::MemoryUnlimited, Subject::Mac, seen, why).about(MEMORY);
    diagnosis.details.extend(set.precedence());
    let device = facts.metal.as_ref().and_then(|metal| metal.devices.first());
    let limit = device.and_then(MetalDevice::torch_limit).map(gigabytes);
    if let (Some(limit), Some(total)) = (limit, facts.memory.total.map(gigabytes)) {
        diagnosis = diagnosis.detail(format!("the usual limit on this Mac is {limit}, of {total} of memory"));
    }
    Some(set.taken_away(NAME, "take it away; make batches or models smaller first", diagnosis))
}

/// Shares of memory that torch refuses when the first tensor goes to the GPU: the high one is 0 to 2, and the low one, 1.4 where
/// nothing else is said, is no higher, <https://github.com/pytorch/pytorch/blob/v2.13.0/aten/src/ATen/mps/MPSAllocator.h>.
fn refused(facts: &Facts) -> Option<Diagnosis> {
    const NAMES: [&str; 2] = ["PYTORCH_MPS_HIGH_WATERMARK_RATIO", "PYTORCH_MPS_LOW_WATERMARK_RATIO"];
    const LOW: f64 = 1.4;
    const MOST: f64 = 2.0;
    let [high, low] = NAMES.map(|name| variable(facts, name));
    let number = |set: &Option<Set<'_>>| set.as_ref().map(|set| set.value.trim().parse::<f64>().ok());
    let (name, set, why) = match (number(&high), number(&low)) {
        (Some(None), _) => (NAMES[0], high?, "it is no number, and torch stops at it".to_owned()),
        (_, Some(None)) => (NAMES[1], low?, "it is no number, and torch stops at it".to_owned()),
        (Some(Some(value)), _) if !(0.0..=MOST).contains(&value) => {
            (NAMES[0], high?, format!("torch takes 0 to {MOST}, and stops with `invalid high watermark ratio`"))
        }
        (Some(Some(value)), low_value) if value > 0.0 && low_value.flatten().unwrap_or(LOW) > value => (
            NAMES[0],
            high?,
            format!(
                "{} is {} where nothing else is said and may not be higher: torch stops with `invalid low watermark ratio` at \
                 the first tensor on the GPU",
                NAMES[1],
                low_value.flatten().unwrap_or(LOW)
            ),
        ),
        _ => return None,
    };
    let seen = format!("{name} is `{}` in {}", set.value, set.place);
    let mut diagnosis = Diagnosis::error(Code::MemoryRatio, Subject::Mac, seen, why).about(MEMORY);
    diagnosis.details.extend(set.precedence());
    Some(set.taken_away(name, "take it away, or set both: the low one no higher than the high one", diagnosis))
}

fn fallback(facts: &Facts) -> Option<Diagnosis> {
    const NAME: &str = "PYTORCH_ENABLE_MPS_FALLBACK";
    let set = variable(facts, NAME)?;
    if set.value != "1" && set.shell != Some("1") {
        return None;
    }
    let seen = format!("{NAME} is `{}` in {}", set.value, set.place);
    let why = "with `1`, operators without a kernel for the GPU run on the CPU after one warning, and training is slow without an error";
    let mut diagnosis = Diagnosis::warning(Code::FallbackSet, Subject::Gpu, seen, why);
    diagnosis.details.extend(set.precedence());
    diagnosis =
        diagnosis.detail("torch reads it once, when it is imported: set in a script after that, it has no effect");
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
    let diagnosis = Diagnosis::warning(Code::MemoryBelow, Subject::Mac, seen, why).about(MEMORY);
    Some(diagnosis.remedy("take smaller batches or models here").command("macml explain memory"))
}

/// macOS swaps what was not used for long even where there is room: half of the memory that there is, or pressure, is more.
fn short(facts: &Facts) -> Option<Diagnosis> {
    let memory = &facts.memory;
    let (total, swap) = (memory.total?, memory.swap_used.unwrap_or_default());
    let level = memory.pressure_level.unwrap_or(1);
    // What is wired cannot be swapped: more than half leaves less than torch takes for a model.
    let wired = memory.wired.filter(|wired| facts.machine.host.is_some() && *wired > total / 2);
    let swapped =
        (swap > 0).then(|| format!("{} of swap are used beside {} of memory", gigabytes(swap), gigabytes(total)));
    let held = wired.map(|wired| {
        format!(
            "{} of {} of memory are wired: held by the system and by programs, and not to be swapped",
            gigabytes(wired),
            gigabytes(total)
        )
    });
    let pressure = match level {
        4.. => Some("memory is nearly used up (pressure: critical)"),
        2.. => Some("memory is short (pressure: warning)"),
        _ if wired.is_some() => Some("other programs hold much of the memory"),
        _ if swap >= total / 2 => Some("much of the memory is in swap"),
        _ => None,
    }?;
    let said: Vec<String> = [held, swapped].into_iter().flatten().collect();
    let said = if said.is_empty() { String::new() } else { format!(": {}", said.join("; ")) };
    let why =
        "the GPU shares this memory: what does not fit waits for the disk or is refused, and training crawls or stops";
    let seen = format!("{pressure}{said}");
    // Under normal pressure nobody waits for what lies in swap.
    let diagnosis = match (level, wired) {
        (..=1, None) => Diagnosis::note(Code::MemoryShort, Subject::Mac, seen, why),
        _ => Diagnosis::warning(Code::MemoryShort, Subject::Mac, seen, why),
    };
    let diagnosis = diagnosis.about(MEMORY);
    Some(diagnosis.remedy("close other programs, browsers and containers first").command("macml explain memory"))
}
