//! What `macml tree --output-format json` prints: schema/tree.schema.json is generated from here.

use macml::lock::Lockfile;
use macml::lock::tree::Node;
use serde::Serialize;

use crate::commands::tree::Grown;
use crate::error::CommandError;
use crate::report::lock::ReportedError;

/// The number of this form of the report.
const SCHEMA: u32 = 1;

/// What `macml tree --output-format json` prints to stdout, on success and on failure: one document, nothing else.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Report {
    /// The number of this form: 1.
    schema: u32,
    /// The verb: `tree`.
    command: Command,
    /// The exit code of the process: 0 yes, 1 the lock is stale or a package is not there, 2 macml could not tell.
    exit_code: u8,
    /// One for each environment and platform that was asked about.
    environments: Vec<Environment>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ReportedError>,
}

/// A verb with this report.
#[derive(Serialize, Clone, Copy, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Command {
    /// `macml tree`
    Tree,
}

/// An environment on a platform.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Environment {
    /// Its name.
    name: String,
    /// The platform.
    platform: String,
    /// The Python: `3.13`.
    python: String,
    /// What macml.toml asks for in it.
    roots: Vec<String>,
    /// Every package of the trees that were asked for, by name.
    packages: Vec<Package>,
}

/// A package.
#[derive(Serialize, Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
struct Package {
    /// Its name.
    name: String,
    /// Its version.
    version: String,
    /// What it depends on here, by name.
    requires: Vec<String>,
}

impl Report {
    /// Makes the report of trees.
    pub(crate) fn new(lock: &Lockfile, all: &[Grown]) -> Self {
        let environments = all.iter().map(|grown| Environment::new(lock, grown)).collect();
        Self { schema: SCHEMA, command: Command::Tree, exit_code: 0, environments, error: None }
    }

    /// Makes the report of a run without an answer.
    pub(crate) fn failed(error: &CommandError) -> Self {
        let (exit_code, error) = (error.kind.code(), Some(ReportedError::new(error)));
        Self { schema: SCHEMA, command: Command::Tree, exit_code, environments: Vec::new(), error }
    }
}

impl Environment {
    fn new(lock: &Lockfile, Grown { env, roots, trees }: &Grown) -> Self {
        let mut names = std::collections::BTreeSet::new();
        collect(trees, &mut names);
        let package = |name: &macml::pep::PackageName| {
            let entry = env.entry(name)?;
            let requires = lock.package(entry)?.edges(&env.name, env.platform);
            Some(Package {
                name: name.to_string(),
                version: entry.version.to_string(),
                requires: requires.iter().map(ToString::to_string).collect(),
            })
        };
        Self {
            name: env.name.clone(),
            platform: env.platform.to_string(),
            python: env.python.to_string(),
            roots: roots.iter().map(ToString::to_string).collect(),
            packages: names.into_iter().filter_map(package).collect(),
        }
    }
}

fn collect<'n>(nodes: &'n [Node], names: &mut std::collections::BTreeSet<&'n macml::pep::PackageName>) {
    for node in nodes {
        names.insert(&node.name);
        collect(&node.below, names);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_schema_is_what_the_types_say() {
        crate::report::published::<super::Report>("tree.schema.json");
    }
}
