//! One file for each rule: facts in, diagnoses out. A rule looks at nothing but the facts and the knowledge.

mod compiler;
mod disk;
mod interpreter;
mod mac;
mod network;
mod path;
mod python;
mod rosetta;
mod variables;

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
];

/// Says everything that is to be said of some facts, the worst first and each section together.
pub fn judge(facts: &Facts, knowledge: &Knowledge) -> Vec<Diagnosis> {
    let mut all: Vec<Diagnosis> = RULES.iter().flat_map(|rule| rule(facts, knowledge)).collect();
    all.sort_by_key(|one| (one.severity, one.subject));
    all
}
