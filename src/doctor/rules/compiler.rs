//! No compiler: bug report R20. Only a warning, as wheels need none, unless something has to be compiled.

use crate::diag::{Code, few};
use crate::doctor::facts::Facts;
use crate::doctor::{Diagnosis, Subject};
use crate::knowledge::Knowledge;

/// What the line on compilers is about.
pub(crate) const COMPILER: &str = "compiler";

pub(super) fn findings(facts: &Facts, _knowledge: &Knowledge) -> Vec<Diagnosis> {
    if facts.machine.host.is_none() || !facts.tools.lacks_compiler() {
        return Vec::new();
    }
    let tools = &facts.tools;
    let orphaned = tools.developer_dir.as_deref().filter(|_| tools.developer_dir_works == Some(false));
    let seen = match orphaned {
        Some(folder) => format!("the developer folder is `{folder}`, and there is no compiler in it"),
        None => "the Command Line Tools are not installed".to_owned(),
    };
    let needs: Vec<(&str, &[String])> = facts
        .locks
        .iter()
        .filter(|lock| !lock.from_source.is_empty())
        .map(|lock| (lock.path.as_str(), lock.from_source.as_slice()))
        .collect();
    let diagnosis = match needs.first() {
        None => {
            let why = "packages without a wheel cannot be built, and git may be missing; nothing here needs it now";
            Diagnosis::warning(Code::NoCompiler, Subject::Tools, seen, why)
        }
        Some((lock, packages)) => {
            let packages: Vec<String> = packages.iter().map(|one| format!("`{one}`")).collect();
            let why = match packages.as_slice() {
                [one] => format!(
                    "{one} of `{lock}` has no wheel for this Mac, and is built from source where it is installed"
                ),
                all => format!(
                    "{} of `{lock}` have no wheel for this Mac, and are built from source where they are installed",
                    few(all, 4)
                ),
            };
            Diagnosis::error(Code::NoCompiler, Subject::Tools, seen, why)
        }
    };
    let diagnosis = diagnosis.about(COMPILER);
    // Tools that are there are chosen again rather than installed.
    vec![match orphaned.is_some() && tools.command_line_tools == Some(true) {
        true => diagnosis
            .remedy("take the Command Line Tools, which are installed, instead")
            .command("sudo xcode-select --switch /Library/Developer/CommandLineTools"),
        false => diagnosis.remedy("install the Command Line Tools").command("xcode-select --install"),
    }]
}
