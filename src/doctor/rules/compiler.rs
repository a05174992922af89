//! No compiler: bug report R20. Only a warning, as wheels need none, unless something has to be compiled.

use crate::diag::{Code, few};
use crate::doctor::facts::Facts;
use crate::doctor::{Diagnosis, Subject};
use crate::knowledge::Knowledge;

pub(super) fn findings(facts: &Facts, _knowledge: &Knowledge) -> Vec<Diagnosis> {
    if facts.machine.host.is_none() {
        return Vec::new();
    }
    let tools = &facts.tools;
    let orphaned = tools.developer_dir.as_deref().filter(|_| tools.developer_dir_works == Some(false));
    let seen = match (orphaned, tools.command_line_tools) {
        (Some(folder), _) => format!("the developer folder is `{folder}`, and there is no compiler in it"),
        (None, Some(false)) if tools.xcodes.is_empty() => "the Command Line Tools are not installed".to_owned(),
        _ => return Vec::new(),
    };
    let needs = facts.project.as_ref().map(|project| project.needs_compiler.as_slice()).unwrap_or_default();
    let diagnosis = if needs.is_empty() {
        let why = "packages without a wheel cannot be built, and git may be missing; nothing here needs it now";
        Diagnosis::warning(Code::NoCompiler, Subject::Tools, seen, why)
    } else {
        let why = format!("{} have no wheel and are compiled when they are installed", few(needs, 4));
        Diagnosis::error(Code::NoCompiler, Subject::Tools, seen, why)
    };
    vec![diagnosis.remedy("install the Command Line Tools").command("xcode-select --install")]
}
