//! What is there, section by section: a line with a mark for each thing that was looked at.

use serde::Serialize;

use super::diagnosis::{Diagnosis, Subject};
use super::facts::{Facts, Record};
use crate::diag::Severity;
use crate::host::{Process, gigabytes};
use crate::sys::disk::Bytes;

/// Lines about one subject.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Section {
    /// What it is about.
    pub subject: Subject,
    /// Its heading.
    pub title: String,
    /// What was seen.
    pub lines: Vec<Line>,
}

/// One thing that was looked at.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Line {
    /// How it is.
    pub mark: Mark,
    /// What it is.
    pub text: String,
}

/// How something is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// As it should be.
    Good,
    /// Worth knowing.
    Note,
    /// Perhaps a problem.
    Warning,
    /// A problem.
    Error,
    /// It could not be seen.
    Unseen,
}

/// Says what is there, a section for each subject of which something was seen.
pub fn sections(facts: &Facts, diagnoses: &[Diagnosis]) -> Vec<Section> {
    let parts = [
        (Subject::Mac, "Mac", machine(facts)),
        (Subject::Gpu, "GPU", gpu(facts)),
        (Subject::Tools, "Tools", tools(facts)),
        (Subject::Pythons, "Pythons", pythons(facts)),
        (Subject::Project, "Project", project(facts)),
        (Subject::Environment, "Environments", environments(facts)),
        (Subject::Disk, "Disk", disk(facts)),
        (Subject::Network, "Network", network(facts)),
    ];
    let sections = parts.into_iter().map(|(subject, title, texts)| {
        let mark = worst(diagnoses, subject);
        let lines =
            texts.into_iter().map(|text| Line { mark: marked(&text, diagnoses, subject, mark), text }).collect();
        Section { subject, title: title.to_owned(), lines }
    });
    let mut sections: Vec<Section> = sections.collect();
    let unseen = |one: &super::facts::Unseen| format!("{} could not be seen: {}", one.what, one.why);
    sections[0].lines.extend(facts.unseen.iter().map(|one| Line { mark: Mark::Unseen, text: unseen(one) }));
    sections.retain(|section| !section.lines.is_empty());
    sections
}

/// What is said of a GPU that nobody asked; nothing is wrong with it.
const NOT_VERIFIED: &str = "not verified yet";

/// How the worst of what is said on a subject is.
fn worst(diagnoses: &[Diagnosis], subject: Subject) -> Mark {
    match diagnoses.iter().filter(|one| one.subject == subject).map(|one| one.severity).min() {
        Some(Severity::Error) => Mark::Error,
        Some(Severity::Warning) => Mark::Warning,
        Some(Severity::Note) => Mark::Note,
        None => Mark::Good,
    }
}

/// Marks the line that what is wrong names; where it names none, every line of the subject.
fn marked(text: &str, diagnoses: &[Diagnosis], subject: Subject, worst: Mark) -> Mark {
    let names = |one: &&Diagnosis| {
        let said = [&one.seen].into_iter().chain(&one.details);
        let mut words = text.split([' ', ',']).filter(|word| word.contains('/') || word.contains('.'));
        let mut said = said.map(String::as_str);
        words.any(|word| said.any(|sentence| sentence.contains(word)))
    };
    if text.starts_with(NOT_VERIFIED) {
        return Mark::Note;
    }
    let of_subject: Vec<&Diagnosis> = diagnoses.iter().filter(|one| one.subject == subject).collect();
    if subject == Subject::Mac {
        let memory = |one: &Diagnosis| one.code.as_str().starts_with("memory-");
        let is_memory = text.contains(" of memory");
        let own = of_subject.into_iter().filter(|one| memory(one) == is_memory).cloned().collect::<Vec<_>>();
        return self::worst(&own, subject);
    }
    let named = of_subject.iter().copied().filter(|one| names(one)).map(|one| one.severity).min();
    match named {
        Some(Severity::Error) => Mark::Error,
        Some(Severity::Warning) => Mark::Warning,
        Some(Severity::Note) => Mark::Note,
        None if subject == Subject::Gpu || subject == Subject::Tools => worst,
        None => Mark::Good,
    }
}

fn machine(facts: &Facts) -> Vec<String> {
    let mut lines = Vec::new();
    match &facts.machine.host {
        Some(host) => {
            let model = facts.machine.model.as_deref().map_or_else(String::new, |model| format!(" ({model})"));
            let process = if host.process == Process::Translated { ", under Rosetta" } else { "" };
            lines.push(format!("{}{model}, macOS {}{process}", host.cpu, host.macos));
        }
        None => lines.extend(facts.machine.release.clone()),
    }
    if let Some(total) = facts.memory.total {
        let free = facts.memory.free_percent.map_or_else(String::new, |free| format!(", {free} % free"));
        let swap = facts.memory.swap_used.filter(|used| *used > 0);
        let swap = swap.map_or_else(String::new, |used| format!(", {} of swap used", gigabytes(used)));
        lines.push(format!("{} of memory{free}{swap}", gigabytes(total)));
    }
    lines
}

fn gpu(facts: &Facts) -> Vec<String> {
    let mut lines = Vec::new();
    let Some(metal) = &facts.metal else { return lines };
    if metal.devices.is_empty() {
        lines.push("Metal lists no device".to_owned());
    }
    for device in &metal.devices {
        let told = |(bytes, limit)| format!(", {} recommended, torch stops at {}", gigabytes(bytes), gigabytes(limit));
        let recommended = device.working_set.zip(device.torch_limit()).map(told);
        lines.push(format!("Metal: {}{}", device.name, recommended.unwrap_or_default()));
    }
    let records = facts.project.iter().flat_map(|project| &project.records).filter(|one| one.of == "verify");
    let standing = |one: &Record| {
        let lock = if one.of_this_lock { "with this lock" } else { "with another lock" };
        format!("verify of `{}` on {}: {}, on {} {lock}", one.env, one.device, one.word, one.system)
    };
    let all: Vec<String> = records.map(standing).collect();
    if all.is_empty() && facts.project.is_some() && facts.machine.host.is_some() {
        lines.push(format!("{NOT_VERIFIED}: `macml verify`"));
    }
    lines.extend(all);
    lines
}

fn tools(facts: &Facts) -> Vec<String> {
    let tools = &facts.tools;
    let mut lines = Vec::new();
    match (tools.command_line_tools, &tools.compiler) {
        (Some(true), _) => {
            let version = tools.command_line_tools_version.as_deref().unwrap_or_default();
            lines.push(format!("Command Line Tools {version}").trim_end().to_owned());
        }
        (Some(false), _) => lines.push("no Command Line Tools".to_owned()),
        (None, Some(compiler)) => lines.push(format!("compiler {compiler}")),
        (None, None) => {}
    }
    let brews = facts.homebrews.iter().filter(|one| one.brew).map(|one| format!("Homebrew {}", one.prefix));
    lines.extend(brews);
    lines
}

fn pythons(facts: &Facts) -> Vec<String> {
    let on_path = facts.path.iter().flat_map(|folder| folder.programs.iter().map(|one| (&folder.folder, one)));
    let first = |name: &str| on_path.clone().find(|(_, program)| program.name == name);
    let told = ["python", "python3", "pip", "pip3"].into_iter().filter_map(first).map(|(folder, program)| {
        let archs = if program.archs.is_empty() { String::new() } else { format!(", {}", program.archs.join(" and ")) };
        let known = facts.pythons.iter().find(|one| Some(&one.resolved) == program.resolved.as_ref());
        let version = known.and_then(|one| one.version.as_deref());
        let version = version.map_or_else(String::new, |version| format!(", Python {version}"));
        format!("{} is {folder}/{}{version}{archs}", program.name, program.name)
    });
    told.collect()
}

fn project(facts: &Facts) -> Vec<String> {
    let Some(project) = &facts.project else { return Vec::new() };
    let lock = project.lock.as_deref().map_or_else(String::new, |lock| format!(", macml.lock {lock}"));
    let mut lines = vec![format!("{}{lock}", project.folder)];
    for one in &project.declared {
        let mac =
            [one.chip.as_deref(), one.macos.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(", macOS ");
        let gpu = one.gpu.as_deref().map_or_else(String::new, |gpu| format!(", gpu {gpu}"));
        lines.push(format!("`{}`: {mac}{gpu}, Python {}", one.env, one.python.as_deref().unwrap_or("any")));
    }
    lines
}

fn environments(facts: &Facts) -> Vec<String> {
    const FRAMEWORKS: [&str; 6] = ["torch", "torchvision", "tensorflow", "tensorflow-metal", "mlx", "coremltools"];
    let told = facts.environments.iter().map(|one| {
        if !one.there {
            return format!("{} is not there yet", one.folder);
        }
        let version = |name: &&str| one.distributions.iter().find(|own| own.name == **name).map(|own| &own.version);
        let all = FRAMEWORKS.iter().filter_map(|name| Some(format!("{name} {}", version(name)?)));
        let frameworks: Vec<String> = all.collect();
        let frameworks = if frameworks.is_empty() { String::new() } else { format!(": {}", frameworks.join(", ")) };
        let python = one.python_version.as_deref().map_or_else(String::new, |version| format!(", Python {version}"));
        format!("{} ({}){python}, {} packages{frameworks}", one.folder, one.roles.join(", "), one.distributions.len())
    });
    told.collect()
}

fn disk(facts: &Facts) -> Vec<String> {
    let told = facts.folders.iter().map(|one| {
        let free = one.free.map_or_else(String::new, |free| format!(", {} free", Bytes(free)));
        let format = one.format.as_deref().map_or_else(String::new, |format| format!(", {format}"));
        format!("{}: {}{format}{free}", one.of, one.folder)
    });
    told.collect()
}

fn network(facts: &Facts) -> Vec<String> {
    let network = &facts.network;
    let mut lines: Vec<String> =
        network.system_proxy.iter().map(|proxy| format!("proxy of the system: {proxy}")).collect();
    if !network.mirrors.is_empty() {
        lines.push(format!("mirrors: {}", network.mirrors.join(", ")));
    }
    lines.extend(network.other_settings.iter().map(|one| format!("{} uses {} ({})", one.tool, one.index, one.place)));
    for one in &network.measured {
        lines.push(match (&one.error, one.page_ms) {
            (Some(error), _) => format!("{}: {error}", one.name),
            (None, Some(ms)) => {
                let speed = one.bytes_per_second.map_or_else(String::new, |speed| format!(", {}/s", Bytes(speed)));
                format!("{}: {ms} ms{speed}", one.name)
            }
            (None, None) => continue,
        });
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Code;
    use crate::doctor::facts::{Memory, Python};

    #[test]
    fn what_is_wrong_marks_its_own_line() {
        let memory = Memory { total: Some(8 << 30), ..Memory::default() };
        let unseen = vec![super::super::facts::Unseen { what: "this Mac".to_owned(), why: "no answer".to_owned() }];
        let facts = Facts { memory, unseen, pythons: vec![Python::default()], ..Facts::default() };
        let low = Diagnosis::warning(Code::MemoryBelow, Subject::Mac, "s", "w");
        let sections = sections(&facts, &[low]);
        let marks: Vec<(Mark, &str)> = sections[0].lines.iter().map(|line| (line.mark, line.text.as_str())).collect();
        assert_eq!(marks, [(Mark::Warning, "8 GB of memory"), (Mark::Unseen, "this Mac could not be seen: no answer")]);
        assert_eq!(sections.len(), 1);
    }
}
