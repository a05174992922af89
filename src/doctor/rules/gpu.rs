//! What this process sees of the GPU, and what numbers it gave.

use super::releases::{releases, wants_gpu};
use crate::diag::Code;
use crate::doctor::facts::Facts;
use crate::doctor::{Diagnosis, Subject};
use crate::host::Process;
use crate::knowledge::Knowledge;
use crate::pep::Version;

pub(super) fn findings(facts: &Facts, _knowledge: &Knowledge) -> Vec<Diagnosis> {
    let mut found = Vec::new();
    found.extend(no_device(facts));
    found.extend(plugin(facts));
    found.extend(records(facts));
    found
}

fn no_device(facts: &Facts) -> Option<Diagnosis> {
    let host = facts.machine.host.as_ref().filter(|_| super::python::is_apple_silicon(facts))?;
    facts.metal.as_ref().filter(|metal| metal.devices.is_empty())?;
    let asked = facts.environments.iter().any(|one| one.there && wants_gpu(facts, one));
    let declared =
        facts.project.iter().flat_map(|project| &project.declared).any(|one| one.gpu.as_deref() != Some("optional"));
    if facts.project.is_some() && !declared || facts.project.is_none() && !asked && facts.machine.ci.is_some() {
        return None;
    }
    let machine = &facts.machine;
    let (place, remedy) = if machine.sandboxed == Some(true) {
        (
            "a sandbox holds it",
            "start it outside of the sandbox: in Terminal, not from an agent or an editor that confines it",
        )
    } else if machine.virtual_machine == Some(true) || host.cpu.contains("Virtual") {
        (
            "this is a virtual machine",
            "run it on the Mac itself; in a virtual machine work on the CPU, with `gpu = \"optional\"`",
        )
    } else if host.process == Process::Translated {
        ("it runs under Rosetta", "start a macml for Apple Silicon")
    } else if machine.ssh {
        ("it came by ssh", "log in at the Mac's own screen as well, and run it in Terminal there")
    } else {
        (
            "nothing that would explain it was seen",
            "restart the Mac; if it stays, the system's own report on graphics says more",
        )
    };
    let seen = format!("Metal lists no device for this process, and {place}");
    let why =
        "no framework can use the GPU from here, whatever is installed; torch then speaks of a macOS that is too old";
    Some(Diagnosis::error(Code::NoGpu, Subject::Gpu, seen, why).remedy(remedy))
}

fn plugin(facts: &Facts) -> Vec<Diagnosis> {
    if facts.machine.host.is_none() {
        return Vec::new();
    }
    let there = facts.environments.iter().filter(|one| one.there && wants_gpu(facts, one));
    let without = there.filter_map(|environment| {
        let set = releases(environment);
        let version = |name: &str| set.iter().find(|(one, _)| one.as_str() == name).map(|(_, version)| version);
        let tensorflow = version("tensorflow").or_else(|| version("tensorflow-macos"))?;
        if version("tensorflow-metal").is_some() {
            return None;
        }
        let seen =
            format!("`tensorflow` {tensorflow} is without `tensorflow-metal` in environment `{}`", environment.folder);
        let why = "TensorFlow uses the GPU of a Mac through that plugin only, and works on the CPU in silence";
        let diagnosis = Diagnosis::warning(Code::MetalPluginMissing, Subject::Gpu, seen, why);
        let last: Version = "2.20.dev0".parse().ok()?;
        Some(match *tensorflow < last {
            true => diagnosis
                .remedy(
                    "add the plugin that this release loads: 1.2.0 for 2.18 and 2.19, 1.1.0 or 1.2.0 for 2.14 to 2.17",
                )
                .command("macml lock"),
            false => diagnosis
                .remedy("no plugin loads into TensorFlow 2.20 or later: take 2.19 with the plugin 1.2.0")
                .command("macml lock"),
        })
    });
    without.collect()
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
            let diagnosis = Diagnosis::error(Code::WrongNumbers, Subject::Gpu, seen, why);
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
        let diagnosis = Diagnosis::warning(Code::MacosChanged, Subject::Gpu, seen, why);
        found.push(diagnosis.remedy("ask again on this one").command(format!("macml {of}")));
    }
    found
}
