//! What is said of a cause: its sentence with what was captured, and what the facts of a machine add or rule out.

use std::collections::BTreeMap;

use super::explanation::{Explanation, Matched};
use super::find::Found;
use crate::diag::Code;
use crate::doctor::{Facts, Remedy};
use crate::host::{Host, Process};
use crate::knowledge::rule::Says;
use crate::knowledge::{Knowledge, judge_here};
use crate::operators::kernels::{self, Later};
use crate::target::{Gpu, MacosVersion, PythonMinor};
use crate::verify;

/// How much of a line is shown.
const SHOWN: usize = 240;

impl Found<'_> {
    /// Says where it stands.
    pub(super) fn matched(&self) -> Matched {
        let text = &self.line.text;
        let text = match text.char_indices().nth(SHOWN) {
            None => text.clone(),
            Some(_) => {
                let chars: Vec<char> = text.chars().collect();
                let (head, tail) = (&chars[..SHOWN / 2], &chars[chars.len() - SHOWN / 2..]);
                format!("{} … {}", head.iter().collect::<String>(), tail.iter().collect::<String>())
            }
        };
        Matched { signature: self.signature.name.clone(), line: self.line.number, text }
    }
}

/// Says what a cause means here.
pub(super) fn judge(
    found: &Found<'_>,
    others: Vec<(Code, Matched)>,
    facts: Option<&Facts>,
    knowledge: &Knowledge,
) -> Explanation {
    let signature = found.signature;
    let filled = |sentence: &String| signature.filled(sentence, &found.captures);
    let mut explanation = Explanation {
        code: signature.code,
        matched: found.matched(),
        cause: filled(&signature.cause),
        details: Vec::new(),
        remedy: Remedy { says: filled(&signature.remedy), command: signature.command.as_ref().map(filled) },
        others,
    };
    kernel(found, facts, &mut explanation);
    memory(found, facts, &mut explanation);
    if let Some(facts) = facts {
        device(found, facts, knowledge, &mut explanation);
        killed(facts, &mut explanation);
        pair(facts, &mut explanation);
        distribution(found, facts, &mut explanation);
        module(found, facts, &mut explanation);
        reachable(facts, &mut explanation);
    }
    explanation
}

/// Leaves a command out that has nothing to work on where there is no project, or names what there is instead; from another
/// system the Mac is asked by a file.
fn reachable(facts: &Facts, explanation: &mut Explanation) {
    let Some(command) = explanation.remedy.command.clone() else { return };
    let elsewhere = facts.machine.host.is_none() && facts.machine.system == "linux";
    if elsewhere && command == "macml doctor" && explanation.code != Code::Killed {
        explanation.remedy.says.push_str("; ask on the Mac, `macml doctor --host mac.json` reads the answer here");
        explanation.remedy.command = Some("macml doctor --facts > mac.json".to_owned());
        return;
    }
    if facts.project.is_some() {
        return;
    }
    let there = facts.environments.iter().find(|one| one.there && !one.distributions.is_empty());
    let torch = installed(facts, "torch");
    let mut words = command.split(' ');
    explanation.remedy.command = match (words.next(), words.next()) {
        (Some("macml"), Some("check")) if !command.contains("--index") => {
            there.map(|one| format!("macml check --prefix {}", crate::environment::Shell::Bash.quote(&one.folder)))
        }
        (Some("macml"), Some("ops")) => torch.map(|torch| command.replacen("ops", &format!("ops --torch {torch}"), 1)),
        (Some("macml"), Some("sync" | "lock" | "check" | "verify" | "run")) => None,
        _ => Some(command),
    };
}

/// The name on the index of what is imported by another.
const IMPORTED: [(&str, &str); 7] = [
    ("PIL", "pillow"),
    ("cv2", "opencv-python"),
    ("sklearn", "scikit-learn"),
    ("yaml", "pyyaml"),
    ("mlx_lm", "mlx-lm"),
    ("skimage", "scikit-image"),
    ("bs4", "beautifulsoup4"),
];

/// Whether a module that was not found is there, in an environment whose Python did not run.
fn module(found: &Found<'_>, facts: &Facts, explanation: &mut Explanation) {
    let (Code::ModuleMissing, Some(module)) = (explanation.code, found.captures.name("module")) else { return };
    let module = module.as_str();
    let name = IMPORTED.iter().find(|(import, _)| *import == module).map_or(module, |(_, name)| name);
    let has = facts.environments.iter().find_map(|environment| {
        let one = environment.distributions.iter().find(|one| one.name == name)?;
        Some((environment, one))
    });
    if let Some((environment, one)) = has {
        explanation.cause = format!(
            "`{name}` {} is installed in `{}`, so that another Python ran than the one of that environment",
            one.version, environment.folder
        );
        explanation.remedy.says = "start the program with that environment's Python".to_owned();
        let python = environment.python.as_deref();
        explanation.remedy.command = match environment.of_project() {
            Some("default") => Some("macml run python train.py".to_owned()),
            Some(env) => Some(format!("macml run --env {env} python train.py")),
            None => python.map(|python| format!("{python} train.py")),
        };
    }
}

/// The release of a package in the environment that counts: the project's, or the active one.
fn installed<'f>(facts: &'f Facts, package: &str) -> Option<&'f str> {
    let all = facts.environments.iter().flat_map(|environment| &environment.distributions);
    all.filter(|one| one.name == package).map(|one| one.version.as_str()).next()
}

/// Which torch has the kernel.
fn kernel(found: &Found<'_>, facts: Option<&Facts>, explanation: &mut Explanation) {
    let (Code::OperatorMissing, Some(operator)) = (explanation.code, found.captures.name("operator")) else { return };
    let torch = facts.and_then(|facts| installed(facts, "torch"));
    let version = torch.and_then(|text| text.parse().ok());
    let later = kernels::later(operator.as_str(), version.as_ref());
    if later != Later::Unknown {
        let here = torch.map_or_else(String::new, |torch| format!("; torch {torch} is installed"));
        explanation.details.push(format!("`{}` {later}{here}", operator.as_str()));
    }
}

/// The numbers of an error about memory, read out.
fn memory(found: &Found<'_>, facts: Option<&Facts>, explanation: &mut Explanation) {
    if explanation.code != Code::OutOfMemory {
        return;
    }
    // A Mac's error says nothing of another machine's memory.
    let mac = facts.filter(|facts| facts.machine.host.is_some());
    let total = mac.and_then(|facts| facts.memory.total).unwrap_or_default();
    let text = format!("{}{}", found.line.text, found.after);
    explanation.details.extend(verify::out_of_memory(&text, total));
}

/// Why torch found no device.
fn device(found: &Found<'_>, facts: &Facts, knowledge: &Knowledge, explanation: &mut Explanation) {
    if !["mps-macos", "is-available-false"].contains(&found.signature.name.as_str()) {
        return;
    }
    let Some(host) = &facts.machine.host else { return };
    let (macos, torch) = (&host.macos, installed(facts, "torch"));
    let translated = host.process == Process::Translated || facts.pythons.iter().any(|python| is_intel(&python.archs));
    let no_device = facts.metal.as_ref().is_some_and(|metal| metal.devices.is_empty());
    if host.arm64 == Some(false) || host.cpu.starts_with("Intel") {
        explanation.code = Code::IntelMac;
        explanation.cause =
            format!("this Mac has an Intel processor (`{}`): torch uses the GPU of Apple Silicon only", host.cpu);
        explanation.remedy.says = "work on the CPU with older releases, or on a server".to_owned();
        explanation.remedy.command = None;
        return;
    }
    let above = torch.and_then(|torch| above(torch, host, knowledge));
    if let (Some(above), Some(torch)) = (above, torch) {
        explanation.code = Code::MpsNeedsMacos;
        let said = found.captures.name("said").map(|said| format!("; that it says {} is out of date", said.as_str()));
        explanation.cause = format!(
            "torch {torch} needs macOS {} for the GPU, and this Mac has {macos}{}",
            above.needs,
            said.unwrap_or_default()
        );
        explanation.details.push(above.source);
        explanation.remedy.says = above.way;
        let project = facts.project.is_some();
        explanation.remedy.command = project.then(|| format!("macml lock --macos {} --dry-run", above.macos));
    } else if no_device {
        explanation.code = Code::NoGpu;
        let place = match (facts.machine.sandboxed, facts.machine.virtual_machine, facts.machine.ssh) {
            (Some(true), _, _) => "a sandbox",
            (_, Some(true), _) => "a virtual machine",
            (_, _, true) => "a session by ssh",
            _ => "where it runs",
        };
        explanation.cause = format!("Metal lists no device for this process, {place}; macOS {macos} is late enough");
        explanation.remedy.says = "run it in Terminal on the Mac itself".to_owned();
        explanation.remedy.command = None;
    } else if translated {
        explanation.code = Code::RosettaPython;
        explanation.cause = format!("a Python for Intel runs under Rosetta on this {}, and sees no GPU", host.cpu);
        explanation.remedy.says = "take a Python for Apple Silicon, and build the environment anew with it".to_owned();
        explanation.remedy.command = Some("brew install python@3.13".to_owned());
    } else {
        explanation
            .details
            .push(format!("this Mac has macOS {macos}, and macml sees the GPU: the process that failed did not"));
    }
}

fn is_intel(archs: &[String]) -> bool {
    !archs.is_empty() && archs.iter().all(|arch| arch == "x86_64")
}

/// A torch that needs a later macOS for the GPU than the one that is there.
struct Above {
    needs: String,
    macos: MacosVersion,
    way: String,
    source: String,
}

fn above(torch: &str, host: &Host, knowledge: &Knowledge) -> Option<Above> {
    let macos = MacosVersion::told_by(&host.macos)?;
    let set = BTreeMap::from([("torch".parse().ok()?, torch.parse().ok()?)]);
    // No rule on what a torch needs of macOS speaks of Pythons.
    let (python, _) = PythonMinor::RELEASED.into_iter().next_back()?;
    let judgement = judge_here(knowledge, &set, python, (host, Gpu::Required), &[])?;
    judgement.condemned.iter().find_map(|hit| match &hit.rule.says {
        Says::NeedsMacos(needs) => Some(Above {
            needs: needs.to_string(),
            macos,
            way: knowledge.way_out(hit, &set, macos)?,
            source: hit.rule.source(),
        }),
        _ => None,
    })
}

/// What the system had against a process.
fn killed(facts: &Facts, explanation: &mut Explanation) {
    if explanation.code != Code::Killed {
        return;
    }
    if facts.machine.host.is_none() && facts.machine.system == "linux" {
        explanation.cause =
            "the system ended the process at once: on Linux that is mostly the kernel, which had no memory left"
                .to_owned();
        explanation.remedy.says =
            "take a smaller batch or model, or give the machine or container more memory; the kernel's log says whom it ended"
                .to_owned();
        explanation.remedy.command = Some("dmesg | tail".to_owned());
        return;
    }
    let unsigned = facts.pythons.iter().find(|python| !python.unsigned.is_empty());
    if let Some(python) = unsigned {
        explanation.code = Code::PythonKilled;
        explanation.cause =
            format!("the system does not let `{}` run: its signature does not fit its bytes", python.path);
        explanation.remedy.says = "install that Python anew, or sign it where it lies".to_owned();
    }
}

/// Which releases are installed that do not belong together.
fn pair(facts: &Facts, explanation: &mut Explanation) {
    let names: &[&str] = match explanation.code {
        Code::KnownConflict => &["tensorflow", "tensorflow-metal"],
        Code::ExtensionMismatch => &["torch", "torchvision", "torchaudio"],
        _ => return,
    };
    let all = names.iter().filter_map(|name| Some(format!("`{name}` {}", installed(facts, name)?)));
    let all: Vec<String> = all.collect();
    if all.len() > 1 {
        explanation.details.push(format!("installed are {}", all.join(", ")));
    }
}

/// Whether the Python that asked is one for Intel.
fn distribution(found: &Found<'_>, facts: &Facts, explanation: &mut Explanation) {
    /// Packages that are for CUDA, and have no wheel for a Mac.
    const CUDA: [&str; 10] =
        ["triton", "xformers", "flash-attn", "cupy", "deepspeed", "vllm", "tensorrt", "apex", "auto-gptq", "nvidia"];
    if explanation.code != Code::NoDistribution {
        return;
    }
    let Some(host) = &facts.machine.host else { return };
    let package = found.captures.name("package").map(|package| package.as_str().to_ascii_lowercase().replace('_', "-"));
    if let Some(package) = package
        && (package.contains("+cu") || CUDA.iter().any(|name| package.starts_with(name)))
    {
        explanation.code = Code::CudaOnMac;
        explanation.cause = format!("`{package}` is for CUDA, which no Mac has: there is no wheel of it for one");
        explanation.remedy.says = match package.contains("+cu") {
            true => "ask for the release without `+cu…`: the wheel for Macs has the GPU in it".to_owned(),
            false => "leave it out on a Mac: with a marker, `sys_platform == 'linux'`".to_owned(),
        };
        explanation.remedy.command = None;
        return;
    }
    let first = facts.path.iter().flat_map(|folder| &folder.programs).find(|one| one.name.starts_with("python"));
    let archs = first.map(|program| program.archs.as_slice()).unwrap_or_default();
    if host.arm64 == Some(true) && is_intel(archs) {
        let path = first.and_then(|program| program.resolved.as_deref()).unwrap_or("the first on PATH");
        explanation.code = Code::RosettaPython;
        explanation.cause = format!(
            "the Python that asked, `{path}`, is for Intel and runs under Rosetta on this {}: it is offered no wheel for Apple Silicon",
            host.cpu
        );
        explanation.remedy.says = "take a Python for Apple Silicon".to_owned();
        explanation.remedy.command = Some("macml sync".to_owned());
    } else if host.arm64 == Some(false) {
        explanation.code = Code::IntelMac;
        explanation.cause =
            format!("this Mac has an Intel processor (`{}`), for which there is no such wheel", host.cpu);
        explanation.remedy.says = "work on the CPU with older releases, or on a server".to_owned();
        explanation.remedy.command = None;
    }
}
