//! What this process sees of the GPU, and what numbers it gave.

use super::releases::wants_gpu;
use crate::diag::Code;
use crate::doctor::facts::{Facts, Project};
use crate::doctor::{Diagnosis, Subject};
use crate::host::{Host, Process};
use crate::knowledge::Knowledge;

/// What the lines on devices are about.
pub(crate) const METAL: &str = "metal";

pub(super) fn findings(facts: &Facts, _knowledge: &Knowledge) -> Vec<Diagnosis> {
    let mut found = Vec::new();
    found.extend(no_device(facts));
    found.extend(records(facts));
    found
}

/// Why Metal lists no device, and what helps then.
struct Cause {
    says: &'static str,
    remedy: &'static str,
    command: Option<&'static str>,
}

impl Cause {
    /// Finds the one that explains it, the surest first.
    fn of(facts: &Facts, host: &Host) -> Self {
        let machine = &facts.machine;
        let cause = |says, remedy| Self { says, remedy, command: None };
        if machine.sandboxed == Some(true) {
            cause(
                "a sandbox holds it",
                "start it outside of the sandbox: in Terminal, not from an agent or an editor that confines it",
            )
        } else if machine.virtual_machine == Some(true) || host.cpu.contains("Virtual") {
            cause(
                "this is a virtual machine",
                "run it on the Mac itself; in a virtual machine work on the CPU, with `gpu = \"optional\"`",
            )
        } else if host.process == Process::Translated {
            let arm = Some("arch -arm64 zsh");
            Self { command: arm, ..cause("it runs under Rosetta", "start a shell and a macml for Apple Silicon") }
        } else if machine.ssh {
            cause("it came by ssh", "log in at the Mac's own screen as well, and run it in Terminal there")
        } else {
            cause(
                "nothing that would explain it was seen",
                "restart the Mac; if it stays, the system's own report on graphics says more",
            )
        }
    }
}

fn no_device(facts: &Facts) -> Option<Diagnosis> {
    let host = facts.machine.host.as_ref().filter(|_| super::python::is_apple_silicon(facts))?;
    facts.metal.as_ref().filter(|metal| metal.devices.is_empty())?;
    let asked =
        facts.environments.iter().any(|one| one.there && !one.distributions.is_empty() && wants_gpu(facts, one));
    let declared = |project: &Project| project.declared.iter().any(|one| one.gpu.as_deref() != Some("optional"));
    // Where nobody wants it, a CI's Mac least of all, nothing is wrong.
    let wanted = match &facts.project {
        Some(project) => declared(project),
        None => asked || facts.machine.ci.is_none(),
    };
    if !wanted {
        return None;
    }
    let cause = Cause::of(facts, host);
    let seen = format!("Metal lists no device for this process, and {}", cause.says);
    let why =
        "no framework can use the GPU from here, whatever is installed; torch then speaks of a macOS that is too old";
    let diagnosis = Diagnosis::error(Code::NoGpu, Subject::Gpu, seen, why).about(METAL).remedy(cause.remedy);
    Some(match cause.command {
        Some(command) => diagnosis.command(command),
        None => diagnosis,
    })
}

fn records(facts: &Facts) -> Vec<Diagnosis> {
    let Some(host) = &facts.machine.host else { return Vec::new() };
    let mut found = Vec::new();
    let now = format!("macOS {}", host.macos);
    let records = facts.project.iter().flat_map(|project| &project.records);
    for one in records.clone().filter(|one| one.of_this_lock && one.system == now) {
        if ["wrong-numbers", "nan", "did-not-learn"].contains(&one.word.as_str()) {
            let seen = format!(
                "`macml verify` found `{}` on `{}` with this lock, in environment `{}`",
                one.word, one.device, one.env
            );
            let why = "results of this GPU cannot be trusted with these releases on this macOS";
            let diagnosis = Diagnosis::error(Code::WrongNumbers, Subject::Gpu, seen, why).about(&one.env);
            found.push(diagnosis.remedy("see what was wrong, and take other releases").command("macml verify"));
        }
    }
    let changed = records
        .filter(|one| !one.system.is_empty() && (one.system != now || !one.chip.is_empty() && one.chip != host.cpu));
    if let Some(one) = changed.clone().next() {
        let all: Vec<&str> = changed.map(|one| one.of.as_str()).collect();
        let of = if all.contains(&"verify") { "verify" } else { "bench" };
        let seen = format!(
            "the last `macml {}` of environment `{}` was on {}, {}; this is {now}, {}",
            one.of, one.env, one.system, one.chip, host.cpu
        );
        let why = "kernels of the GPU come with macOS: what was right and fast there need not be here";
        let diagnosis = Diagnosis::warning(Code::MacosChanged, Subject::Gpu, seen, why).about(&one.env);
        found.push(diagnosis.remedy("ask again on this one").command(format!("macml {of}")));
    }
    found
}
