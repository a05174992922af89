//! What is there, section by section: a line with a mark for each thing that was looked at.

use serde::Serialize;

use super::diagnosis::{Diagnosis, Subject};
use super::facts::{Facts, Record};
use super::rules::{COMPILER, MACHINE, MEMORY, METAL};
use crate::diag::Severity;
use crate::host::{Process, gigabytes};
use crate::sys::disk::Bytes;
use crate::target::MacosVersion;

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

/// A line before it has its mark.
struct Told {
    text: String,
    /// What a diagnosis on the same thing calls it.
    about: Vec<String>,
    /// How it is where nothing is said of it.
    quiet: Mark,
}

impl Told {
    fn of(text: impl Into<String>, about: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { text: text.into(), about: about.into_iter().map(Into::into).collect(), quiet: Mark::Good }
    }

    /// Marks it: as the worst is that is said of it.
    fn marked(self, diagnoses: &[&Diagnosis]) -> Line {
        let is_on = |one: &&&Diagnosis| one.about.as_ref().is_some_and(|about| self.about.contains(about));
        let worst = diagnoses.iter().filter(is_on).map(|one| one.severity).min();
        Line { mark: worst.map_or(self.quiet, Mark::from), text: self.text }
    }
}

impl From<Severity> for Mark {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Error => Self::Error,
            Severity::Warning => Self::Warning,
            Severity::Note => Self::Note,
        }
    }
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
    let sections = parts.into_iter().map(|(subject, title, told)| {
        // An environment may be marked for what is said of it under another heading: its Python, its plugin.
        let here: Vec<&Diagnosis> =
            diagnoses.iter().filter(|one| subject == Subject::Environment || one.subject == subject).collect();
        let title = match (subject, facts.machine.host.is_some()) {
            (Subject::Mac, false) => "Machine",
            _ => title,
        };
        Section { subject, title: title.to_owned(), lines: told.into_iter().map(|told| told.marked(&here)).collect() }
    });
    let mut sections: Vec<Section> = sections.collect();
    let unseen = |one: &super::facts::Unseen| format!("{} could not be seen: {}", one.what, one.why);
    sections[0].lines.extend(facts.unseen.iter().map(|one| Line { mark: Mark::Unseen, text: unseen(one) }));
    sections.retain(|section| !section.lines.is_empty());
    sections
}

fn machine(facts: &Facts) -> Vec<Told> {
    let mut lines = Vec::new();
    match &facts.machine.host {
        Some(host) => {
            let model = facts.machine.model.as_deref().map_or_else(String::new, |model| format!(" ({model})"));
            let process = if host.process == Process::Translated { ", under Rosetta" } else { "" };
            let told = Told::of(format!("{}{model}, macOS {}{process}", host.cpu, host.macos), [MACHINE]);
            let known = MacosVersion::told_by(&host.macos).is_some();
            lines.push(if known { told } else { Told { quiet: Mark::Unseen, ..told } });
        }
        None => lines.extend(facts.machine.release.as_ref().map(|release| Told::of(release, [MACHINE]))),
    }
    if let Some(total) = facts.memory.total {
        let free = facts
            .memory
            .free_percent
            .filter(|free| *free <= 100)
            .map_or_else(String::new, |free| format!(", {free} % free"));
        let swap = facts.memory.swap_used.filter(|used| *used > 0);
        let swap = swap.map_or_else(String::new, |used| format!(", {} of swap used", gigabytes(used)));
        lines.push(Told::of(format!("{} of memory{free}{swap}", gigabytes(total)), [MEMORY]));
    }
    lines
}

fn gpu(facts: &Facts) -> Vec<Told> {
    let mut lines = Vec::new();
    let Some(metal) = &facts.metal else { return lines };
    if metal.devices.is_empty() {
        lines.push(Told { quiet: Mark::Note, ..Told::of("Metal lists no device", [METAL]) });
    }
    for device in &metal.devices {
        let told = |(bytes, limit)| format!(", {} recommended, torch stops at {}", gigabytes(bytes), gigabytes(limit));
        let recommended = device.working_set.zip(device.torch_limit()).map(told);
        lines.push(Told::of(format!("Metal: {}{}", device.name, recommended.unwrap_or_default()), [METAL]));
    }
    let records = facts.project.iter().flat_map(|project| &project.records).filter(|one| one.of == "verify");
    let standing = |one: &Record| {
        let lock = if one.of_this_lock { "with this lock" } else { "with another lock" };
        let text = format!("verify of `{}` on {}: {}, on {} {lock}", one.env, one.device, one.word, one.system);
        Told::of(text, [&one.env])
    };
    let all: Vec<Told> = records.map(standing).collect();
    if all.is_empty() && facts.project.is_some() && facts.machine.host.is_some() {
        let nothing: [&str; 0] = [];
        lines.push(Told { quiet: Mark::Note, ..Told::of("not verified yet: `macml verify`", nothing) });
    }
    lines.extend(all);
    lines
}

fn tools(facts: &Facts) -> Vec<Told> {
    let tools = &facts.tools;
    let mut lines = Vec::new();
    match (tools.command_line_tools, &tools.compiler) {
        (Some(true), _) => {
            let version = tools.command_line_tools_version.as_deref().unwrap_or_default();
            lines.push(Told::of(format!("Command Line Tools {version}").trim_end(), [COMPILER]));
        }
        (Some(false), _) => {
            let instead = tools.xcodes.first().map_or_else(String::new, |xcode| format!(", {xcode} is there"));
            lines.push(Told::of(format!("no Command Line Tools{instead}"), [COMPILER]));
        }
        (None, Some(compiler)) => lines.push(Told::of(format!("compiler {compiler}"), [COMPILER])),
        (None, None) => {}
    }
    let brews = facts.homebrews.iter().filter(|one| one.brew);
    lines.extend(brews.map(|one| Told::of(format!("Homebrew {}", one.prefix), [&one.prefix])));
    lines
}

fn pythons(facts: &Facts) -> Vec<Told> {
    let on_path = facts.path.iter().flat_map(|folder| folder.programs.iter().map(|one| (&folder.folder, one)));
    let first = |name: &str| on_path.clone().find(|(_, program)| program.name == name && program.resolved.is_some());
    let told = ["python", "python3", "pip", "pip3"].into_iter().filter_map(first).map(|(folder, program)| {
        let archs = if program.archs.is_empty() { String::new() } else { format!(", {}", program.archs.join(" and ")) };
        let known = facts.pythons.iter().find(|one| Some(&one.resolved) == program.resolved.as_ref());
        let version = known.and_then(|one| one.version.as_deref());
        let version = version.map_or_else(String::new, |version| format!(", Python {version}"));
        let about = [Some(folder.clone()), program.resolved.clone(), known.map(|one| one.path.clone())];
        let text = format!("{} is {folder}/{}{version}{archs}", program.name, program.name);
        Told::of(text, about.into_iter().flatten())
    });
    told.collect()
}

fn project(facts: &Facts) -> Vec<Told> {
    let Some(project) = &facts.project else { return Vec::new() };
    let lock = project.lock.as_deref().map_or_else(String::new, |lock| format!(", macml.lock {lock}"));
    let mut lines = vec![Told::of(format!("{}{lock}", project.folder), [&project.folder])];
    for one in &project.declared {
        let mac =
            [one.chip.as_deref(), one.macos.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(", macOS ");
        let gpu = one.gpu.as_deref().map_or_else(String::new, |gpu| format!(", gpu {gpu}"));
        let text = format!("`{}`: {mac}{gpu}, Python {}", one.env, one.python.as_deref().unwrap_or("any"));
        lines.push(Told::of(text, [&one.env]));
    }
    lines
}

fn environments(facts: &Facts) -> Vec<Told> {
    const FRAMEWORKS: [&str; 6] = ["torch", "torchvision", "tensorflow", "tensorflow-metal", "mlx", "coremltools"];
    let told = facts.environments.iter().map(|one| {
        if !one.there {
            return Told { quiet: Mark::Note, ..Told::of(format!("{} is not there yet", one.folder), [&one.folder]) };
        }
        let version = |name: &&str| one.distributions.iter().find(|own| own.name == **name).map(|own| &own.version);
        let all = FRAMEWORKS.iter().filter_map(|name| Some(format!("{name} {}", version(name)?)));
        let frameworks: Vec<String> = all.collect();
        let frameworks = if frameworks.is_empty() { String::new() } else { format!(": {}", frameworks.join(", ")) };
        let python = one.python_version.as_deref().map_or_else(String::new, |version| format!(", Python {version}"));
        let packages = match one.distributions.len() {
            1 => "1 package".to_owned(),
            many => format!("{many} packages"),
        };
        let text = format!("{} ({}){python}, {packages}{frameworks}", one.folder, one.roles.join(", "));
        let about = [Some(&one.folder), one.python.as_ref(), one.python_resolved.as_ref()];
        Told::of(text, about.into_iter().flatten())
    });
    told.collect()
}

fn disk(facts: &Facts) -> Vec<Told> {
    let told = facts.folders.iter().map(|one| {
        let free = one.free.map_or_else(String::new, |free| format!(", {} free", Bytes(free)));
        let format = one.format.as_deref().map_or_else(String::new, |format| format!(", {format}"));
        Told::of(format!("{}: {}{format}{free}", one.of, one.folder), [&one.folder])
    });
    told.collect()
}

/// What was measured has a table of its own.
fn network(facts: &Facts) -> Vec<Told> {
    let network = &facts.network;
    let nothing: [&str; 0] = [];
    let proxy = network.system_proxy.iter().map(|proxy| Told::of(format!("proxy of the system: {proxy}"), nothing));
    let mut lines: Vec<Told> = proxy.collect();
    if !network.mirrors.is_empty() {
        lines.push(Told::of(format!("mirrors: {}", network.mirrors.join(", ")), nothing));
    }
    lines.extend(
        network
            .other_settings
            .iter()
            .map(|one| Told::of(format!("{} uses {} ({})", one.tool, one.index, one.place), [&one.place])),
    );
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
        let low = Diagnosis::warning(Code::MemoryBelow, Subject::Mac, "s", "w").about(MEMORY);
        let sections = sections(&facts, &[low]);
        let marks: Vec<(Mark, &str)> = sections[0].lines.iter().map(|line| (line.mark, line.text.as_str())).collect();
        assert_eq!(marks, [(Mark::Warning, "8 GB of memory"), (Mark::Unseen, "this Mac could not be seen: no answer")]);
        assert_eq!(sections.len(), 1);
    }
}
