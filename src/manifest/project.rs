//! `[project]`: its name, its own code, and which macml it accepts.

use super::Context;
use super::raw::Item;
use super::raw::Raw;
use crate::diag::Code;
use crate::diag::Finding;

/// Reports a project that asks for another macml than this one.
///
/// A later macml may have keys that this one cannot know, so this finding stands alone.
pub(super) fn refuses_this_macml(file: &Raw, context: &Context<'_>) -> Option<Finding> {
    let written = file.table("project")?.text("requires-macml")?;
    let wanted: semver::VersionReq = written.text.parse().ok()?;
    let mut release = context.version.clone();
    release.pre = semver::Prerelease::EMPTY;
    if wanted.matches(&release) || wanted.matches(context.version) {
        return None;
    }
    let message = format!("this project asks for macml `{wanted}`, and this is macml {}", context.version);
    let finding = Finding::error(Code::RequiresMacml, message).at(written.span, "asked for here");
    Some(finding.hinting(format!("install a macml that satisfies `{wanted}`")))
}

/// Reads `requires-macml`.
pub(super) fn requires_macml(project: &Raw, findings: &mut Vec<Finding>) -> Option<semver::VersionReq> {
    let written = project.text("requires-macml")?;
    let parsed = written.text.parse();
    parsed
        .map_err(|error: semver::Error| {
            let message = format!("`{}` is not a requirement on macml: {error}", written.text);
            let finding = Finding::error(Code::InvalidValue, message).at(written.span, "");
            findings.push(finding.hinting("write it as `>=0.1, <1`"));
        })
        .ok()
}

/// Reads `name`, or takes the folder's.
pub(super) fn name(project: Option<&Raw>, context: &Context<'_>, findings: &mut Vec<Finding>) -> String {
    let Some(written) = project.and_then(|project| project.text("name")) else { return context.folder.to_owned() };
    if written.text.trim().is_empty() || written.text.chars().any(char::is_control) {
        let finding = Finding::error(Code::InvalidValue, "the project's name is empty or holds control characters");
        findings.push(finding.at(written.span, "").hinting("leave `name` out to use the folder's name"));
    }
    written.text
}

/// Reads `paths`.
pub(super) fn paths(project: &Raw, findings: &mut Vec<Finding>) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for Item { text, span } in project.texts("paths") {
        let error = |message: String| Finding::error(Code::InvalidValue, message).at(*span, "");
        if text.trim().is_empty() {
            findings.push(error("a path is empty".into()).hinting("write `.` for the project's own folder"));
        } else if text.starts_with(['/', '~']) {
            let finding = error(format!("`{text}` is not relative to the project"));
            findings.push(finding.hinting("name a folder inside the project, such as `src`"));
        } else if escapes(text) {
            let finding = error(format!("`{text}` leads out of the project"));
            findings.push(finding.hinting("name a folder inside the project, such as `src`"));
        } else if text.chars().any(char::is_control) {
            findings.push(error(format!("`{}` holds control characters", text.escape_debug())));
        } else if !paths.contains(text) {
            paths.push(text.clone());
        }
    }
    paths
}

/// Returns whether a relative path leads out of the folder it starts in.
pub(super) fn escapes(path: &str) -> bool {
    let mut depth = 0_i32;
    path.split('/').any(|part| {
        depth += match part {
            "" | "." => 0,
            ".." => -1,
            _ => 1,
        };
        depth < 0
    })
}
