//! The project in reach: what is wrong with macml.toml, what it says for Macs, whether macml.lock answers it, and what was
//! verified and measured. Without a network.

use std::collections::BTreeMap;
use std::path::Path;

use crate::bench::History;
use crate::diag::Severity;
use crate::diag::Source;
use crate::doctor::Facts;
use crate::doctor::facts::Declared;
use crate::doctor::facts::Project;
use crate::doctor::facts::Record;
use crate::doctor::facts::Variable;
use crate::environment::Generations;
use crate::lock;
use crate::lock::Lockfile;
use crate::lock::ReadOutcome;
use crate::manifest;
use crate::manifest::FILE_NAME;
use crate::manifest::model::EnvSpec;
use crate::manifest::model::RootTable;
use crate::pipeline::Job;
use crate::pipeline::LOCK_NAME;
use crate::pipeline::Present;
use crate::pipeline::Purpose;
use crate::pipeline::Trial;
use crate::pipeline::Upgrade;
use crate::sys::fs;
use crate::target::Gpu;
use crate::target::Platform;
use crate::verify;
use crate::verify::lock_digest;
use crate::verify::protocol::Device;

use super::Look;
use super::environments;
use super::glance::shown;
use super::glance::unseen;

/// The longest macml.toml and macml.lock that are read.
const LONGEST_MANIFEST: u64 = 16 << 20;
const LONGEST_LOCK: u64 = 256 << 20;

/// The longest file of runs that is read.
const LONGEST_HISTORY: u64 = 16 << 20;

/// Looks at the project, if one is in reach.
pub(super) fn gather(look: &Look<'_>, facts: &mut Facts) {
    let Some(folder) = &look.project else { return };
    let mut project = Project { folder: shown(folder), ..Project::default() };
    let read = match readable(&folder.join(FILE_NAME), LONGEST_MANIFEST) {
        Ok(()) => manifest(folder, facts, &mut project),
        Err(why) => {
            unseen(facts, format!("`{FILE_NAME}`"), why);
            None
        }
    };
    let outcome = match lockfile(folder) {
        Ok(outcome) => Some(outcome),
        Err(why) => {
            unseen(facts, format!("`{LOCK_NAME}`"), why);
            None
        }
    };
    project.lock = match (&outcome, &read) {
        (Some(ReadOutcome::Absent), _) => Some("missing"),
        (Some(ReadOutcome::Conflicted { .. } | ReadOutcome::Damaged { .. }), _) => Some("damaged"),
        (Some(ReadOutcome::Whole(_)), None) | (None, _) => None,
        (Some(whole), Some(read)) => Some(if is_current(whole, read, folder, look) { "current" } else { "stale" }),
    }
    .map(str::to_owned);
    if let Some(read) = &read {
        let lock = match &outcome {
            Some(ReadOutcome::Whole(lock)) => Some(&**lock),
            _ => None,
        };
        for env in &read.manifest.envs {
            records(look, folder, &env.name, lock, facts, &mut project);
        }
    }
    facts.project = Some(project);
}

/// Reads macml.lock; why it could not be read where that is so.
pub(super) fn lockfile(folder: &Path) -> Result<ReadOutcome, String> {
    let path = folder.join(LOCK_NAME);
    readable(&path, LONGEST_LOCK)?;
    lock::read(&path).map_err(|error| error.to_string())
}

/// Says what keeps a file from being read: it may be absent.
fn readable(path: &Path, most: u64) -> Result<(), String> {
    match fs::kind(path).map_err(|error| error.to_string())? {
        None => Ok(()),
        Some(fs::Kind::File) => match fs::size(path).map_err(|error| error.to_string())? {
            Some(size) if size > most => Err(format!("it has {size} bytes")),
            _ => Ok(()),
        },
        Some(_) => Err("it is no file".to_owned()),
    }
}

fn manifest(folder: &Path, facts: &mut Facts, project: &mut Project) -> Option<manifest::Project> {
    let version = env!("CARGO_PKG_VERSION").parse().expect("cargo takes no other versions");
    match manifest::read(&folder.join(FILE_NAME), &version) {
        Ok(read) => {
            let run_env = &read.manifest.run_env;
            project.declared = read.manifest.envs.iter().filter_map(|env| declared(env, run_env)).collect();
            return Some(read);
        }
        Err(manifest::Error::Invalid { text, findings }) => {
            let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
            project.mistakes = errors.map(|finding| mistake(&text, finding)).collect();
        }
        Err(manifest::Error::NotText { .. }) => project.mistakes = vec![format!("`{FILE_NAME}` is not UTF-8 text")],
        Err(error) => unseen(facts, format!("`{FILE_NAME}`"), error),
    }
    None
}

fn mistake(text: &Source, finding: &crate::diag::Finding) -> String {
    let line = finding.labels.first().map(|label| text.line_column(label.span.start).0);
    line.map_or_else(|| finding.message.clone(), |line| format!("line {line}: {}", finding.message))
}

/// Tells what is declared of an environment for Macs; `None` for one that is for none.
fn declared(env: &EnvSpec, run_env: &BTreeMap<String, String>) -> Option<Declared> {
    let mac = env.mac.as_ref()?;
    let frameworks = env.roots.iter().filter(|root| root.table == RootTable::Frameworks);
    let mut frameworks: Vec<String> = frameworks.map(|root| root.name.to_string()).collect();
    frameworks.dedup();
    let variable = |(name, value): (&String, &String)| Variable { name: name.clone(), value: value.clone() };
    Some(Declared {
        env: env.name.clone(),
        chip: Some(mac.chip.to_string()),
        macos: Some(mac.macos.to_string()),
        gpu: Some(
            match env.gpu {
                Gpu::Required => "required",
                Gpu::Optional => "optional",
            }
            .to_owned(),
        ),
        python: Some(env.python.to_string()),
        memory: env.memory,
        frameworks,
        run_env: run_env.iter().map(variable).collect(),
        ignored: env.resolution.ignore_rules.clone(),
    })
}

/// Returns whether a lock answers the manifest, wheels by path included.
fn is_current(whole: &ReadOutcome, project: &manifest::Project, folder: &Path, look: &Look<'_>) -> bool {
    let job = Job {
        start: folder.to_owned(),
        home: look.env.home().map(Path::to_owned),
        version: env!("CARGO_PKG_VERSION").parse().expect("cargo takes no other versions"),
        only: Vec::new(),
        upgrade: Upgrade::Nothing,
        trial: Trial::default(),
        purpose: Purpose::Check,
    };
    let present = Present::from(whole.clone());
    let envs = &project.manifest.envs;
    let kept = || envs.iter().all(|env| present.keep(&job, env, project, folder).is_some());
    present.stale(project, envs).is_empty() && kept()
}

/// Tells what was verified and measured of an environment.
fn records(
    look: &Look<'_>,
    folder: &Path,
    env: &str,
    lock: Option<&Lockfile>,
    facts: &mut Facts,
    project: &mut Project,
) {
    let entry = lock.and_then(|lock| Some((lock, lock.env(env, Platform::MacosArm64)?)));
    let lock = entry.map(|(lock, entry)| lock_digest(lock, entry));
    let generation = environments::place(look, folder, env).and_then(|place| Generations::current(&place).ok()?);
    let content = generation.and_then(|found| Some(found.stamp().ok()??.content));
    let is_now = |then: &verify::Circumstances| lock.is_some() && then.lock == lock && then.content == content;
    match verify::Record::read(folder, env) {
        Ok(Some(record)) => {
            let mut devices: Vec<Device> = record.verified.iter().map(|one| one.verdict.device).collect();
            devices.sort();
            devices.dedup();
            for device in devices {
                let word = record.verdicts(device).map(|verdict| verdict.word).max_by_key(|word| word.class());
                project.records.push(Record {
                    env: env.to_owned(),
                    of: "verify".to_owned(),
                    system: record.circumstances.system.clone(),
                    chip: record.circumstances.chip.clone(),
                    of_this_lock: is_now(&record.circumstances),
                    word: word.map(|word| word.to_string()).unwrap_or_default(),
                    device: device.to_string(),
                });
            }
        }
        Ok(None) => {}
        Err(error) => unseen(facts, format!("what was verified of environment `{env}`"), error),
    }
    let path = History::path(folder, env);
    if fs::size(&path).ok().flatten().is_some_and(|size| size > LONGEST_HISTORY) {
        unseen(facts, format!("what was measured of environment `{env}`"), "there are too many runs");
        return;
    }
    match History::read(folder, env) {
        Ok(history) => {
            // The last run on each machine tells.
            let mut told: Vec<&str> = Vec::new();
            for run in history.runs.iter().rev() {
                let circumstances = &run.circumstances;
                if told.contains(&circumstances.chip.as_str()) {
                    continue;
                }
                told.push(&circumstances.chip);
                let mut devices: Vec<Device> = run.measurements.iter().map(|one| one.device).collect();
                devices.sort();
                devices.dedup();
                let device = devices.into_iter().find(|device| *device != Device::Cpu).unwrap_or(Device::Cpu);
                project.records.push(Record {
                    env: env.to_owned(),
                    of: "bench".to_owned(),
                    system: circumstances.system.clone(),
                    chip: circumstances.chip.clone(),
                    of_this_lock: is_now(circumstances),
                    word: String::new(),
                    device: device.to_string(),
                });
            }
        }
        Err(error) => unseen(facts, format!("what was measured of environment `{env}`"), error),
    }
}
