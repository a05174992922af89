//! One file for each rule: facts in, diagnoses out. A rule looks at nothing but the facts and the knowledge.

mod compiler;
mod disk;
mod gpu;
mod installed;
mod interpreter;
mod mac;
mod memory;
mod network;
mod openmp;
mod path;
mod project;
mod proof;
mod python;
mod releases;
mod remedies;
mod rosetta;
mod variables;

pub(super) use compiler::COMPILER;
pub(super) use gpu::METAL;
pub(super) use mac::MACHINE;
pub(super) use memory::MEMORY;

use super::diagnosis::Diagnosis;
use super::facts::Facts;
use crate::diag::Code;
use crate::knowledge::Knowledge;

/// What each rule is: of what was seen, it says what is wrong.
type Rule = fn(&Facts, &Knowledge) -> Vec<Diagnosis>;

/// Every rule, in the order in which they speak.
const RULES: &[Rule] = &[
    mac::findings,
    rosetta::findings,
    path::findings,
    interpreter::findings,
    variables::findings,
    compiler::findings,
    disk::findings,
    network::findings,
    project::findings,
    gpu::findings,
    memory::findings,
    installed::findings,
    releases::findings,
    openmp::findings,
];

/// Leaves out what another one says better: of a Mac below what a project is for, that its wheels are for later ones, and of a
/// torch without the GPU, that its wheel is; to install either again helps nobody.
fn leave_out(all: &mut Vec<Diagnosis>, facts: &Facts) {
    let below = all.iter().any(|one| one.code == Code::BelowFloor);
    let of_project = |one: &Diagnosis| {
        let mut environments = facts.environments.iter().filter(|environment| environment.of_project().is_some());
        environments.any(|environment| one.about.as_ref() == Some(&environment.folder))
    };
    let without_gpu: Vec<Option<String>> =
        all.iter().filter(|one| one.code == Code::MpsNeedsMacos).map(|one| one.about.clone()).collect();
    all.retain(|one| {
        let later = one.code == Code::LaterMacosWheel;
        let torch = one.seen.starts_with("`torch` ") && without_gpu.contains(&one.about);
        !(later && (torch || below && of_project(one)))
    });
}

/// Says everything that is to be said of some facts, the worst first and each section together.
pub fn judge(facts: &Facts, knowledge: &Knowledge) -> Vec<Diagnosis> {
    let mut all: Vec<Diagnosis> = RULES.iter().flat_map(|rule| rule(facts, knowledge)).collect();
    // The proof of `--full` says some of it again, with less of a remedy.
    let says = |one: &Diagnosis, other: &Diagnosis| {
        let file = one.code == Code::NotAsRecorded && other.code == Code::FileMissing;
        other.about == one.about && (other.code == one.code || file)
    };
    let is_new = |one: &Diagnosis| !all.iter().any(|other| says(one, other));
    let proved: Vec<Diagnosis> = proof::findings(facts).into_iter().filter(is_new).collect();
    all.extend(proved);
    leave_out(&mut all, facts);
    all.sort_by_key(|one| (one.severity, one.subject));
    all
}
