//! Raw tree to [`Manifest`], or every mistake at once.
//!
//! The order of the work; what each table means is in `project.rs`, `floor.rs`, `roots.rs` and `settings.rs`.

use std::collections::BTreeMap;

use super::Context;
use super::floor::Floors;
use super::floor::Keys;
use super::model::EnvSpec;
use super::model::Manifest;
use super::model::Resolution;
use super::model::Root;
use super::project;
use super::raw::Entry;
use super::raw::Raw;
use super::raw::Value;
use super::roots::Roots;
use super::settings;
use crate::diag::Code;
use crate::diag::Finding;
use crate::diag::Span;

/// The environment of the tables outside `[env.NAME]`.
const DEFAULT_ENV: &str = "default";

/// Makes a manifest of the tree; `None` after reporting at least one error.
pub(super) fn validate(file: &Raw, context: &Context<'_>, findings: &mut Vec<Finding>) -> Option<Manifest> {
    let project = file.table("project");
    let indexes = settings::indexes(file.tables("index"), findings);
    let resolution = settings::resolution(file.table("resolution"), findings);
    let mut manifest = Manifest {
        name: project::name(project, context, findings),
        requires_macml: project.and_then(|project| project::requires_macml(project, findings)),
        paths: project.map(|project| project::paths(project, findings)).unwrap_or_default(),
        envs: Vec::new(),
        run_env: settings::run_env(file.table("run").and_then(|run| run.table("env")), findings),
        indexes: Vec::new(),
    };
    let envs = environments(file, &indexes.names, &resolution, findings);
    manifest.indexes = indexes.specs;
    manifest.envs = envs?;
    Some(manifest)
}

fn environments(
    file: &Raw,
    indexes: &[String],
    resolution: &Resolution,
    findings: &mut Vec<Finding>,
) -> Option<Vec<EnvSpec>> {
    let target = file.table("target");
    let base = target.map(|target| Keys::read(target, findings));
    let platforms = base.as_ref().and_then(|base| base.platforms(None));
    let roots = Roots::new(indexes, platforms.as_deref(), findings);
    let roots = roots.read(file.table("frameworks"), file.table("dependencies"));
    let floors = match (target, &base) {
        (Some(target), Some(base)) => base.floors(None, ("[target]", target.span), findings),
        // A `target` of another type was reported already.
        _ if file.get("target").is_some() => None,
        _ => {
            findings.push(no_target(file));
            None
        }
    };
    let mut envs = vec![floors.map(|floors| spec(DEFAULT_ENV, floors, roots.clone(), resolution))];
    let mut further: BTreeMap<&str, Option<EnvSpec>> = BTreeMap::new();
    for entry in file.table("env").iter().flat_map(|table| &table.entries) {
        findings.extend(bad_env_name(entry));
        let Value::Table(raw) = &entry.value else { continue };
        let keys = Keys::read(raw, findings);
        let platforms = keys.platforms(base.as_ref());
        let own = Roots::new(indexes, platforms.as_deref(), findings);
        let own = own.read(raw.table("frameworks"), raw.table("dependencies"));
        let own = if extends(raw, findings) { extended(&roots, own) } else { own };
        // Without `[target]` every environment would repeat what is missing there.
        let floors = base.as_ref().and_then(|base| {
            let title = format!("[env.{}]", entry.key);
            let inherited_gap = target.is_some_and(|target| target.get("python").is_none());
            let mut more = Vec::new();
            let floors = keys.floors(Some(base), (&title, raw.header(entry)), &mut more);
            more.retain(|finding| !(inherited_gap && finding.code == Code::MissingKey));
            findings.append(&mut more);
            floors
        });
        further.insert(&entry.key, floors.map(|floors| spec(&entry.key, floors, own, resolution)));
    }
    envs.extend(further.into_values());
    envs.into_iter().collect()
}

fn spec(name: &str, floors: Floors, roots: Vec<Root>, resolution: &Resolution) -> EnvSpec {
    EnvSpec {
        name: name.to_owned(),
        platforms: floors.platforms,
        mac: floors.mac,
        glibc: floors.glibc,
        gpu: floors.gpu,
        python: floors.python,
        python_span: floors.python_span,
        memory: floors.memory,
        roots,
        resolution: resolution.clone(),
    }
}

/// Lays an environment's own requirements over those of the default environment; a name it has replaces theirs.
fn extended(base: &[Root], own: Vec<Root>) -> Vec<Root> {
    let inherited = base.iter().filter(|root| own.iter().all(|mine| mine.name != root.name)).cloned();
    let mut roots: Vec<Root> = inherited.collect();
    roots.extend(own);
    roots.sort_by(|a, b| (a.table, &a.name).cmp(&(b.table, &b.name)));
    roots
}

fn extends(env: &Raw, findings: &mut Vec<Finding>) -> bool {
    let Some(written) = env.text("extends") else { return false };
    if written.text != DEFAULT_ENV {
        let message = format!("an environment extends `{DEFAULT_ENV}` or nothing, not `{}`", written.text);
        findings.push(Finding::error(Code::InvalidValue, message).at(written.span, ""));
    }
    true
}

fn bad_env_name(entry: &Entry) -> Option<Finding> {
    let name = entry.key.as_str();
    let error = |message: String| Some(Finding::error(Code::InvalidValue, message).at(entry.key_span, ""));
    if name == DEFAULT_ENV {
        return error(format!("`{DEFAULT_ENV}` is the environment of the tables outside `[env]`")).map(|finding| {
            finding.hinting("use `[target]`, `[frameworks]` and `[dependencies]` for it, or choose another name")
        });
    }
    if !settings::simple_name(name) || name.len() > 64 {
        return error(format!("`{}` cannot name an environment", name.escape_debug())).map(|finding| {
            finding.hinting("it names the folder `.venv-NAME`: use lowercase letters, digits, `-`, `_` and `.`")
        });
    }
    None
}

fn no_target(file: &Raw) -> Finding {
    let empty = file.entries.is_empty();
    let message = match empty {
        true => "`macml.toml` is empty: it needs at least `[target]` with `chip`, `macos` and `python`",
        false => "`macml.toml` has no `[target]`, which says where it must work",
    };
    let start = file.entries.first().map_or(Span { start: 0, end: 0 }, |entry| entry.key_span);
    let finding = Finding::error(Code::MissingKey, message).at(start, "");
    finding.hinting("add `[target]` with for example `chip = \"m1\"`, `macos = \"14.0\"`, `python = \">=3.11,<3.14\"`")
}

#[cfg(test)]
mod tests;
