//! The machine: which Mac or Linux, what is below and around this process, which programs started it.

use crate::doctor::Facts;
use crate::doctor::facts::Machine;
use crate::doctor::facts::Parent;
use crate::sys::Env;
use crate::sys::fs;
use crate::sys::mac;

use super::Look;
use super::glance::unseen;

/// Variables of which one is set where a CI runs us, the particular ones first.
const CI: [&str; 15] = [
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "CIRCLECI",
    "CIRRUS_CI",
    "BUILDKITE",
    "TF_BUILD",
    "JENKINS_URL",
    "TRAVIS",
    "APPVEYOR",
    "TEAMCITY_VERSION",
    "BITBUCKET_BUILD_NUMBER",
    "CODEBUILD_BUILD_ID",
    "DRONE",
    "XCS",
    "CI",
];

/// How many programs above this one are told.
const MOST_PARENTS: usize = 16;

/// Looks at the machine.
pub(super) fn machine(look: &Look<'_>, facts: &mut Facts) {
    if let Some(why) = &look.host_unseen {
        unseen(facts, "this Mac", why);
    }
    let env = look.env;
    let on_mac = look.is_mac();
    let text = |path: &str| fs::read_start(&look.at(path), 64 << 10).ok().flatten();
    let lossy = |path: &str| text(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    facts.machine = Machine {
        system: if on_mac { "macos" } else { std::env::consts::OS }.to_owned(),
        macml_arch: std::env::consts::ARCH.to_owned(),
        host: look.host.cloned(),
        model: kernel_text("hw.model"),
        release: if on_mac { None } else { lossy("/proc/sys/kernel/osrelease").and_then(|text| release(&text)) },
        virtual_machine: match on_mac {
            true => kernel_number("kern.hv_vmm_present").map(|present| present != 0),
            false => lossy("/proc/cpuinfo").and_then(|text| virtual_machine(&text)),
        },
        sandboxed: if env.get("APP_SANDBOX_CONTAINER_ID").is_some() { Some(true) } else { mac::sandboxed() },
        ssh: ["SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY"].iter().any(|name| env.get(name).is_some()),
        ci: ci(env),
        container: (!on_mac).then(|| container(look, env)),
        parents: parents(look),
    };
}

/// Reads a number of the kernel, of either of its sizes.
pub(super) fn kernel_number(name: &str) -> Option<u64> {
    mac::number(&mac::value(name).ok()??)
}

fn kernel_text(name: &str) -> Option<String> {
    let bytes = mac::value(name).ok()??;
    Some(mac::text(&bytes)).filter(|text| !text.is_empty())
}

/// Returns the name of this machine, for it to vanish.
pub(super) fn host_name(look: &Look<'_>) -> Option<String> {
    let linux = || fs::read_text(&look.at("/proc/sys/kernel/hostname")).ok().flatten();
    kernel_text("kern.hostname").or_else(linux).map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Says which kernel it is, without what a distribution or a user added to its number.
fn release(text: &str) -> Option<String> {
    let number: String = text.trim().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    Some(format!("Linux {}", number.trim_end_matches('.'))).filter(|_| !number.is_empty())
}

/// Says whether a processor tells of a hypervisor, which those of Intel's kind do.
fn virtual_machine(cpuinfo: &str) -> Option<bool> {
    let flags = cpuinfo.lines().find_map(|line| line.strip_prefix("flags"))?;
    Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
}

fn ci(env: &Env) -> Option<String> {
    let set = |name: &&str| env.get(name).is_some_and(|value| !matches!(value, "false" | "False" | "0"));
    CI.into_iter().find(set).map(str::to_owned)
}

fn container(look: &Look<'_>, env: &Env) -> bool {
    let there = |path: &str| fs::kind(&look.at(path)).ok().flatten().is_some();
    let groups = fs::read_text(&look.at("/proc/1/cgroup")).ok().flatten().unwrap_or_default();
    let named = ["docker", "kubepods", "containerd", "/lxc/", "libpod"].iter().any(|name| groups.contains(name));
    named || there("/.dockerenv") || there("/run/.containerenv") || env.get("container").is_some()
}

/// What one process says of itself.
struct Told {
    name: String,
    translated: Option<bool>,
    parent: u32,
}

/// Climbs from this process to the first.
fn parents(look: &Look<'_>) -> Vec<Parent> {
    climb(&mut |id| match look.is_mac() {
        true => {
            let id = id.unwrap_or_else(std::process::id);
            of_kernel(&mac::process(id).ok()??)
        }
        false => {
            let id = id.map_or_else(|| "self".to_owned(), |id| id.to_string());
            of_proc(&fs::read_text(&look.at(&format!("/proc/{id}/stat"))).ok()??)
        }
    })
}

/// Climbs; `told` is asked for a process by its number, first for this one.
fn climb(told: &mut dyn FnMut(Option<u32>) -> Option<Told>) -> Vec<Parent> {
    let mut parents = Vec::new();
    let mut next = told(None).map(|own| own.parent);
    // The first process started everything, and says nothing of a terminal.
    while let Some(id) = next.filter(|id| *id > 1 && parents.len() < MOST_PARENTS) {
        let Some(Told { name, translated, parent }) = told(Some(id)) else { break };
        parents.push(Parent { name, translated });
        next = Some(parent).filter(|parent| *parent != id);
    }
    parents
}

/// Reads a `kinfo_proc` of <sys/sysctl.h>: `p_flag`, `p_comm` and `e_ppid` in a program of 64 bits.
fn of_kernel(bytes: &[u8]) -> Option<Told> {
    const SIZE: usize = 648;
    const FLAG: usize = 32;
    const NAME: usize = 243;
    const NAME_SIZE: usize = 17;
    const PARENT: usize = 560;
    /// `P_TRANSLATED` of <sys/proc.h>.
    const TRANSLATED: u32 = 0x2_0000;
    if bytes.len() != SIZE {
        return None;
    }
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let name = &bytes[NAME..NAME + NAME_SIZE];
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(NAME_SIZE);
    let name = String::from_utf8_lossy(&name[..end]).into_owned();
    Some(Told { name, translated: Some(word(FLAG)? & TRANSLATED != 0), parent: word(PARENT)? })
}

/// Reads `/proc/ID/stat`, whose second word is the name in brackets and may hold anything, brackets too.
fn of_proc(stat: &str) -> Option<Told> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let parent = after.split_whitespace().nth(1)?.parse().ok()?;
    Some(Told { name: name.to_owned(), translated: None, parent })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::tests::Laid;
    use super::*;

    /// A `kinfo_proc`, made after the header.
    fn kinfo(name: &str, flag: u32, parent: u32) -> Vec<u8> {
        let mut bytes = vec![0; 648];
        bytes[32..36].copy_from_slice(&flag.to_ne_bytes());
        bytes[243..243 + name.len()].copy_from_slice(name.as_bytes());
        bytes[560..564].copy_from_slice(&parent.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_terminal_that_is_translated_is_told_with_all_that_it_started() {
        let processes = BTreeMap::from([
            (900, kinfo("macml", 0x4004, 800)),
            (800, kinfo("zsh", 0x2_4004, 700)),
            (700, kinfo("login", 0x4100, 600)),
            (600, kinfo("iTerm2-a-long-na", 0x2_4004, 1)),
        ]);
        let parents = climb(&mut |id| of_kernel(&processes[&id.unwrap_or(900)]));
        let told: Vec<_> = parents.iter().map(|one| (one.name.as_str(), one.translated)).collect();
        assert_eq!(told, [("zsh", Some(true)), ("login", Some(false)), ("iTerm2-a-long-na", Some(true))]);
        // Of another size it is of another system.
        assert!(of_kernel(&vec![0; 640]).is_none() && of_kernel(&[]).is_none());
        // Numbers that lead in a circle.
        let circle = climb(&mut |id| of_kernel(&kinfo("a", 0, if id == Some(5) { 6 } else { 5 })));
        assert_eq!(circle.len(), MOST_PARENTS);
        assert!(climb(&mut |_| None).is_empty());
    }

    #[test]
    fn what_linux_says_is_read() {
        let laid = Laid::new(&[
            ("proc/sys/kernel/osrelease", "6.8.0-1021-azure-of-zhang\n"),
            ("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n"),
            ("proc/self/stat", "900 (macml) S 800 900 800 0"),
            ("proc/800/stat", "800 (a (b) c) S 700 1 1 0"),
            ("proc/700/stat", "700 (sshd) S 1 1 1 0"),
            ("proc/1/cgroup", "0::/\n"),
        ]);
        let facts =
            laid.look(&[("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22"), ("CI", "true"), ("GITLAB_CI", "0")], machine);
        let Machine { release, virtual_machine, parents, container, ssh, ci, .. } = facts.machine;
        assert_eq!((release.as_deref(), virtual_machine, container), (Some("Linux 6.8.0"), Some(true), Some(false)));
        assert_eq!((ssh, ci.as_deref()), (true, Some("CI")));
        let names: Vec<_> = parents.iter().map(|one| (one.name.as_str(), one.translated)).collect();
        assert_eq!(names, [("a (b) c", None), ("sshd", None)]);
        // What is not there is not told, and is no error.
        let facts = Laid::new(&[(".dockerenv", "")]).look(&[], machine);
        assert_eq!((facts.machine.release, facts.machine.virtual_machine, facts.machine.ci), (None, None, None));
        assert!(facts.machine.parents.is_empty() && facts.unseen.is_empty());
        assert_eq!(facts.machine.container, Some(true));
    }

    #[test]
    fn numbers_of_the_kernel() {
        assert_eq!(mac::number(&7_u32.to_ne_bytes()), Some(7));
        assert_eq!(mac::number(&(1_u64 << 40).to_ne_bytes()), Some(1 << 40));
        assert_eq!(mac::number(&[1, 2, 3]), None);
        assert_eq!(virtual_machine("processor: 0\n"), None);
        assert_eq!(virtual_machine("flags: fpu\n"), Some(false));
        assert_eq!(release("unknown"), None);
    }
}
