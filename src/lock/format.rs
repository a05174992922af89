//! Model to text: the bytes of macml.lock. The same model is the same bytes on every machine.
//!
//! Written by hand rather than through a TOML library, so that no new version of one can move a byte.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::manifest::model::{Gpu, Wheels};
use crate::pep::{PackageName, Version};
use crate::resolve::resolution::Origin;
use crate::target::Floor;

use super::model::{LockedEnv, LockedPackage, LockedRef, Lockfile};

/// The version that is written, and the newest that is read.
pub const VERSION: u64 = 1;
/// The revision that is written; newer ones are read too.
pub const REVISION: u64 = 0;

/// Keys of the file, in the order in which they are written.
pub const TOP_KEYS: &[&str] = &["version", "revision", "knowledge", "env", "package"];
/// Keys of `[[env]]`.
pub const ENV_KEYS: &[&str] = &[
    "name",
    "platform",
    "macos",
    "chip",
    "glibc",
    "gpu",
    "wheels",
    "python",
    "python-full",
    "inputs",
    "rules",
    "ignore-rules",
    "packages",
];
/// Keys of `[[package]]`.
pub const PACKAGE_KEYS: &[&str] = &["name", "version", "index", "path", "url", "requires", "requires-in", "wheels"];
/// Keys of one entry of `requires-in`.
pub const EDGES_KEYS: &[&str] = &["env", "platform", "requires"];
/// Keys of one entry of `wheels`.
pub const WHEEL_KEYS: &[&str] = &["file", "size", "sha256"];

const HEADER: &str = "# Written by macml. Do not edit.\n";
/// An array that would make a longer line than this gets a line for each item.
const WIDTH: usize = 100;

/// Writes a lockfile as text.
pub fn to_text(lock: &Lockfile) -> String {
    let mut lock = lock.clone();
    lock.canonicalize();
    let mut out = Writer(HEADER.to_owned());
    out.line(format_args!("version = {VERSION}"));
    out.line(format_args!("revision = {REVISION}"));
    if !lock.knowledge.is_empty() {
        out.text("knowledge", &lock.knowledge);
    }
    let ambiguous = Ambiguous::among(&lock.packages);
    for env in &lock.envs {
        out.env(env, &ambiguous);
    }
    for package in &lock.packages {
        out.package(package);
    }
    out.0
}

/// Which names and versions have more than one origin, so that a reference must say which it means.
struct Ambiguous<'a>(BTreeMap<(&'a PackageName, &'a Version), usize>);

impl<'a> Ambiguous<'a> {
    fn among(packages: &'a [LockedPackage]) -> Self {
        let mut counts = BTreeMap::new();
        for package in packages {
            *counts.entry((&package.name, &package.version)).or_insert(0) += 1;
        }
        Self(counts)
    }

    fn contains(&self, entry: &LockedRef) -> bool {
        self.0.get(&(&entry.name, &entry.version)).is_some_and(|count| *count > 1)
    }
}

/// Finds the line of each package in the text of a lock, from 1, for whoever points into it.
pub fn package_lines(text: &str) -> Vec<(PackageName, usize)> {
    let mut lines = text.lines().zip(1..);
    let mut all = Vec::new();
    while let Some((line, _)) = lines.next() {
        let name = |line: &str| line.strip_prefix("name = \"")?.strip_suffix('"')?.parse().ok();
        if line == "[[package]]"
            && let Some((text, number)) = lines.next()
        {
            all.extend(name(text).map(|name| (name, number)));
        }
    }
    all
}

/// `torch 2.14.1`, `datasets[vision] 4.1.0`, `mylib 1.0 (index corp)`.
fn reference(entry: &LockedRef, ambiguous: &Ambiguous<'_>) -> String {
    let mut text = entry.name.to_string();
    if !entry.extras.is_empty() {
        let extras: Vec<_> = entry.extras.iter().map(|extra| extra.as_str()).collect();
        text = format!("{text}[{}]", extras.join(","));
    }
    text = format!("{text} {}", entry.version);
    if ambiguous.contains(entry) {
        text = format!("{text} ({})", origin(&entry.origin));
    }
    text
}

/// `index corp`, `path vendor/x.whl`, `url https://…`.
pub(super) fn origin(origin: &Origin) -> String {
    let (kind, value) = origin_pair(origin);
    format!("{kind} {value}")
}

/// The key and value under which an origin is written.
fn origin_pair(origin: &Origin) -> (&'static str, &str) {
    match origin {
        Origin::Index(name) => ("index", name),
        Origin::Path(path) => ("path", path),
        Origin::Url { url, .. } => ("url", url),
    }
}

struct Writer(String);

impl Writer {
    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        writeln!(self.0, "{text}").expect("writing to a string cannot fail");
    }

    fn text(&mut self, key: &str, value: &str) {
        self.line(format_args!("{key} = {}", quote(value)));
    }

    fn env(&mut self, env: &LockedEnv, ambiguous: &Ambiguous<'_>) {
        self.line(format_args!("\n[[env]]"));
        self.text("name", &env.name);
        self.text("platform", &env.platform.to_string());
        match &env.floor {
            Floor::Mac { macos, chip } => {
                self.text("macos", &macos.to_string());
                self.text("chip", &chip.to_string());
            }
            Floor::Glibc(major, minor) => self.text("glibc", &format!("{major}.{minor}")),
        }
        self.text("gpu", gpu_text(env.gpu));
        if env.wheels == Wheels::Floor {
            self.text("wheels", wheels_text(env.wheels));
        }
        self.text("python", &env.python.to_string());
        if let Some(left) = &env.python_full {
            self.text("python-full", &left.to_string());
        }
        self.text("inputs", &format!("sha256:{}", env.inputs));
        if !env.rules.is_empty() {
            self.array("", "rules = ", &env.rules, "");
        }
        if !env.ignored.is_empty() {
            self.array("", "ignore-rules = ", &env.ignored, "");
        }
        let entries: Vec<_> = env.packages.iter().map(|entry| reference(entry, ambiguous)).collect();
        self.array("", "packages = ", &entries, "");
    }

    fn package(&mut self, package: &LockedPackage) {
        self.line(format_args!("\n[[package]]"));
        self.text("name", package.name.as_str());
        self.text("version", &package.version.to_string());
        let (kind, value) = origin_pair(&package.origin);
        self.text(kind, value);
        if !package.requires.is_empty() {
            self.array("", "requires = ", &package.requires, "");
        }
        if !package.requires_in.is_empty() {
            self.line(format_args!("requires-in = ["));
            for edges in &package.requires_in {
                let lead = format!(
                    "{{ env = {}, platform = {}, requires = ",
                    quote(&edges.env),
                    quote(&edges.platform.to_string())
                );
                self.array("  ", &lead, &edges.requires, " },");
            }
            self.line(format_args!("]"));
        }
        self.line(format_args!("wheels = ["));
        for wheel in &package.wheels {
            let file = quote(&wheel.file.to_string());
            self.line(format_args!("  {{ file = {file}, size = {}, sha256 = \"{}\" }},", wheel.size, wheel.sha256));
        }
        self.line(format_args!("]"));
    }

    fn array(&mut self, indent: &str, lead: &str, items: &[impl ToString], tail: &str) {
        let items: Vec<_> = items.iter().map(|item| quote(&item.to_string())).collect();
        let line = format!("{indent}{lead}[{}]{tail}", items.join(", "));
        if line.chars().count() <= WIDTH {
            return self.line(format_args!("{line}"));
        }
        self.line(format_args!("{indent}{lead}["));
        for item in items {
            self.line(format_args!("{indent}  {item},"));
        }
        self.line(format_args!("{indent}]{tail}"));
    }
}

/// The word for `gpu`.
pub(super) fn gpu_text(gpu: Gpu) -> &'static str {
    match gpu {
        Gpu::Required => "required",
        Gpu::Optional => "optional",
    }
}

/// The word for `wheels`.
pub(super) fn wheels_text(wheels: Wheels) -> &'static str {
    match wheels {
        Wheels::Host => "host",
        Wheels::Floor => "floor",
    }
}

/// Writes a TOML basic string.
fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for char in text.chars() {
        match char {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            char if char.is_control() && char.is_ascii() => {
                write!(quoted, "\\u{:04X}", char as u32).expect("writing to a string cannot fail");
            }
            char => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}
