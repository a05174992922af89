//! What the proof of `--full` said: of each environment, whether its libraries load.

use crate::diag::{Code, Severity};
use crate::doctor::facts::{Environment, Facts};
use crate::doctor::{Diagnosis, Subject};

pub(super) fn findings(facts: &Facts) -> Vec<Diagnosis> {
    facts.environments.iter().flat_map(of).collect()
}

/// What the proof that libraries load said.
fn of(environment: &Environment) -> Vec<Diagnosis> {
    let code = |name: &str| Code::ALL.iter().copied().find(|code| code.as_str() == name);
    let all = environment.proof.iter().flatten().filter_map(|one| {
        let seen = format!("{}, in environment `{}`", one.message, environment.folder);
        let why = one.notes.first().cloned().unwrap_or_else(|| {
            "what is there was held against what was installed, and libraries against each other".to_owned()
        });
        let code = code(&one.code)?;
        let diagnosis = match one.severity {
            Severity::Error => Diagnosis::error(code, Subject::Environment, seen, why),
            Severity::Warning => Diagnosis::warning(code, Subject::Environment, seen, why),
            // Notes of a proof are for `macml check`.
            Severity::Note => return None,
        };
        let mut diagnosis = diagnosis.about(&environment.folder);
        diagnosis.details.extend(one.notes.iter().skip(1).cloned());
        let hint = one.hint.clone().unwrap_or_else(|| "see what else is to be said of it".to_owned());
        Some(diagnosis.remedy(hint).command(format!("macml explain {}", code.as_str())))
    });
    all.collect()
}
