//! The digest of what an answer depends on: the `inputs` of macml.lock.
//!
//! # Format, version 1
//!
//! The sha256 of UTF-8 lines, each ended by a line feed, in this order:
//!
//! ```text
//! macml-inputs 1
//! platform macos-arm64
//! floor macos 14.0 chip m1            (on Linux: floor glibc 2.28)
//! gpu required
//! python <3.14 >=3.11                 each specifier once, sorted as text
//! root {json}                         for each requirement of the platform, sorted as text
//! index {json}                        for each index that may be asked, besides PyPI
//! exclude-newer 2026-11-15            only when set
//! prerelease NAME                     sorted
//! constraint NAME SPECIFIERS          sorted
//! override NAME SPECIFIERS            sorted
//! ignore-rule ID                      sorted
//! wheels host
//! ```
//!
//! Requirements and indexes are JSON arrays, so that no text can be taken for another line. Indexes that serve
//! everything come in the file's order, since the first that has a name wins; explicit ones follow by name, and only
//! those that a requirement of the platform names.
//!
//! Comments, order, blanks, spelling of names, `[project]`, `memory`, `allow-overlap`, `[run.env]` and the table a
//! requirement stands in never reach it. Locks in the world hold these digests: a changed line means version 2, and
//! version 1 is then kept for reading.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::model::EnvSpec;
use super::model::Gpu;
use super::model::IndexSpec;
use super::model::Root;
use super::model::RootSource;
use super::model::Wheels;
use crate::pep::Sha256;
use crate::pep::Specifiers;
use crate::target::Platform;

impl EnvSpec {
    /// Digests what the answer for `platform` depends on; `indexes` are the manifest's.
    pub fn inputs(&self, platform: Platform, indexes: &[IndexSpec]) -> Sha256 {
        Sha256::of(self.lines(platform, indexes).as_bytes())
    }

    fn lines(&self, platform: Platform, indexes: &[IndexSpec]) -> String {
        let mut text = String::new();
        let mut line = |line: std::fmt::Arguments<'_>| {
            writeln!(text, "{line}").expect("writing to a String does not fail");
        };
        line(format_args!("macml-inputs 1"));
        line(format_args!("platform {platform}"));
        match &self.mac {
            Some(mac) if platform.is_mac() => line(format_args!("floor macos {} chip {}", mac.macos, mac.chip)),
            _ => line(format_args!("floor glibc {}.{}", self.glibc.0, self.glibc.1)),
        }
        line(format_args!("gpu {}", if self.gpu == Gpu::Required { "required" } else { "optional" }));
        line(format_args!("python {}", normal(&self.python)));
        let here = || self.roots.iter().filter(|root| root.platform.is_none_or(|only| only == platform));
        for root in here().map(root_line).collect::<BTreeSet<_>>() {
            line(format_args!("root {root}"));
        }
        let named: BTreeSet<&str> = here().filter_map(|root| root.index.as_deref()).collect();
        let mut explicit: Vec<_> = indexes.iter().filter(|one| one.explicit && named.contains(&*one.name)).collect();
        explicit.sort_by(|a, b| a.name.cmp(&b.name));
        for index in indexes.iter().filter(|index| !index.explicit).chain(explicit) {
            let address = index.url.as_str().trim_end_matches('/');
            line(format_args!("index {}", serde_json::json!([index.name, address, index.explicit])));
        }
        let resolution = &self.resolution;
        if let Some(day) = &resolution.exclude_newer {
            line(format_args!("exclude-newer {day}"));
        }
        for name in resolution.prereleases.iter().collect::<BTreeSet<_>>() {
            line(format_args!("prerelease {name}"));
        }
        for (name, specifiers) in &resolution.constraints {
            line(format_args!("constraint {name} {}", normal(specifiers)));
        }
        for (name, specifiers) in &resolution.overrides {
            line(format_args!("override {name} {}", normal(specifiers)));
        }
        for rule in resolution.ignore_rules.iter().collect::<BTreeSet<_>>() {
            line(format_args!("ignore-rule {}", serde_json::json!(rule)));
        }
        line(format_args!("wheels {}", if resolution.wheels == Wheels::Host { "host" } else { "floor" }));
        text
    }
}

fn root_line(root: &Root) -> String {
    let source = match &root.source {
        RootSource::Versions(specifiers) => serde_json::json!(["versions", normal(specifiers)]),
        RootSource::Path(path) => serde_json::json!(["path", path]),
        RootSource::Url { url, sha256 } => serde_json::json!(["url", url.as_str(), sha256]),
    };
    let marker = root.marker.as_ref().map(ToString::to_string);
    serde_json::json!([root.name, root.extras, source, marker, root.index]).to_string()
}

/// Writes specifiers without regard to their order and repetition.
fn normal(specifiers: &Specifiers) -> String {
    let text = specifiers.to_string();
    let parts: BTreeSet<&str> = text.split(',').map(str::trim).collect();
    parts.into_iter().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
