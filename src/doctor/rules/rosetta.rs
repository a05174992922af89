//! A Python for Intel on an Apple Silicon Mac: bug report R01.

use super::python::{is_apple_silicon, is_intel, known, used};
use super::remedies::rebuilt;
use crate::diag::Code;
use crate::doctor::facts::Facts;
use crate::doctor::{Diagnosis, Subject};
use crate::knowledge::Knowledge;

pub(super) fn findings(facts: &Facts, _knowledge: &Knowledge) -> Vec<Diagnosis> {
    let Some(host) = facts.machine.host.as_ref().filter(|_| is_apple_silicon(facts)) else { return Vec::new() };
    let intel = used(facts).into_iter().filter(|one| is_intel(one.archs));
    let diagnoses = intel.map(|one| {
        let code = if one.environment.is_some() { Code::IntelEnvironment } else { Code::RosettaPython };
        let seen = format!(
            "the Python {}, `{}`, is for Intel (`x86_64`), and this Mac has an {}",
            one.how, one.path, host.cpu
        );
        let why = "it runs under Rosetta, is offered no wheel for Apple Silicon, and never sees the GPU";
        let mut diagnosis = Diagnosis::error(code, Subject::Pythons, seen, why).about(one.path);
        if known(facts, one.path).is_some_and(|python| python.origin.starts_with("conda")) {
            diagnosis = diagnosis.detail("it is of a conda that was installed for Intel");
        }
        match one.environment.and_then(|environment| Some((environment, environment.of_project()?))) {
            Some((environment, name)) => {
                diagnosis.remedy("build it anew with a Python for Apple Silicon").command(rebuilt(environment, name))
            }
            None => diagnosis
                .remedy("install a Python for Apple Silicon and take its environments instead")
                .command("brew install python@3.13"),
        }
    });
    diagnoses.collect()
}
