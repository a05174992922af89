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

/// Says everything that is to be said of some facts, the worst first and each section together.
pub fn judge(facts: &Facts, knowledge: &Knowledge) -> Vec<Diagnosis> {
    let mut all: Vec<Diagnosis> = RULES.iter().flat_map(|rule| rule(facts, knowledge)).collect();
    // The proof of `--full` says some of it again, with less of a remedy.
    let is_new = |one: &Diagnosis| !all.iter().any(|other| (other.code, &other.about) == (one.code, &one.about));
    let proved: Vec<Diagnosis> = proof::findings(facts).into_iter().filter(is_new).collect();
    all.extend(proved);
    all.sort_by_key(|one| (one.severity, one.subject));
    all
}
