//! What kind of Mac it is, and as what macml and the terminal run.

use super::python::is_apple_silicon;
use crate::diag::Code;
use crate::doctor::facts::Facts;
use crate::doctor::{Diagnosis, Subject};
use crate::host::{Chip, Process};
use crate::knowledge::Knowledge;
use crate::target::MacosVersion;

/// What the line on the machine is about.
pub(crate) const MACHINE: &str = "machine";

pub(super) fn findings(facts: &Facts, _knowledge: &Knowledge) -> Vec<Diagnosis> {
    let Some(host) = &facts.machine.host else { return Vec::new() };
    if host.arm64 == Some(false) || host.cpu.starts_with("Intel") {
        let seen = format!("this Mac has an Intel processor, `{}`", host.cpu);
        let why = "torch, TensorFlow and MLX have no current releases for it, and none uses its GPU";
        let diagnosis = Diagnosis::error(Code::IntelMac, Subject::Mac, seen, why).about(MACHINE);
        return vec![
            diagnosis.remedy("work on the CPU with older releases, or on a server: macml locks for Linux too"),
        ];
    }
    let mut found = Vec::new();
    let newer = MacosVersion::told_by(&host.macos).filter(|macos| macos.major() > MacosVersion::NEWEST_MAJOR);
    let chip = host.cpu.strip_prefix("Apple M").and_then(|rest| rest.split(' ').next()?.parse::<u8>().ok());
    let what = newer.map(|macos| format!("macOS {macos}")).or_else(|| {
        chip.filter(|chip| *chip > Chip::NEWEST_GENERATION).map(|_| format!("the processor `{}`", host.cpu))
    });
    if let Some(what) = what {
        let seen = format!("this Mac has {what}, which is newer than what this macml knows");
        let why = "what works with the releases before need not with it, and nothing is known of that here";
        let diagnosis = Diagnosis::note(Code::NewerThanKnown, Subject::Mac, seen, why).about(MACHINE);
        found.push(diagnosis.remedy("look for a newer macml, and ask the GPU itself").command("macml verify"));
    }
    let parents = facts.machine.parents.iter().filter(|parent| parent.translated == Some(true));
    let parents: Vec<String> = parents.map(|parent| format!("`{}`", parent.name)).collect();
    if is_apple_silicon(facts) && (host.process == Process::Translated || !parents.is_empty()) {
        let who = if parents.is_empty() { "macml".to_owned() } else { parents.join(", ") };
        let seen = format!("{who} runs under Rosetta, as a program for Intel, on this {}", host.cpu);
        let why = "what is started there runs for Intel too, and installs packages for Intel";
        let diagnosis = Diagnosis::error(Code::TranslatedTerminal, Subject::Mac, seen, why).about(MACHINE);
        found.push(
            diagnosis
                .remedy("leave `Open using Rosetta` out in the Finder's information on the terminal, and open it anew")
                .command("arch -arm64 zsh"),
        );
    }
    found
}
