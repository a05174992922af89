//! Every table and key of macml.toml, as data.
//!
//! The one list that the reader (`raw.rs`), the JSON schema (`schema.rs`) and its descriptions in editors come from.
//! What a value may be beyond its shape is decided in `validate.rs`; a pattern here must never be stricter than that.

/// A table with its keys.
pub(super) struct Table {
    /// How people write its name: `[target]`; empty for the whole file.
    pub(super) title: &'static str,
    /// What it is for.
    pub(super) doc: &'static str,
    /// The keys it has.
    pub(super) keys: &'static [Key],
    /// What keys of the user's own choosing stand for.
    pub(super) others: Option<Others>,
    /// Further constraints, as a JSON object merged into the table's schema.
    pub(super) rules: Option<&'static str>,
}

/// Keys of the user's own choosing.
pub(super) struct Others {
    /// Which names.
    pub(super) names: Names,
    /// What each takes.
    pub(super) shape: Shape,
    /// What each is.
    pub(super) doc: &'static str,
}

/// Which names a table with [`Others`] admits.
pub(super) enum Names {
    /// Those that match a pattern.
    Pattern(&'static str),
    /// The [`FRAMEWORKS`], in any spelling that PEP 503 holds equal.
    Frameworks,
}

/// A key with what it takes.
pub(super) struct Key {
    /// As written.
    pub(super) name: &'static str,
    /// What it takes.
    pub(super) shape: Shape,
    /// What it is for.
    pub(super) doc: &'static str,
    /// What holds when it is absent, as JSON.
    pub(super) default: Option<&'static str>,
    /// Values to learn from, as JSON.
    pub(super) examples: &'static [&'static str],
    /// Whether it must be there.
    pub(super) need: Need,
}

/// Whether a key must be there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// It must.
    Required,
    /// It may.
    Optional,
}

/// What a key takes.
pub(super) enum Shape {
    /// `true` or `false`.
    Bool,
    /// Text.
    Text(Text),
    /// A list of texts.
    Texts(Text),
    /// One of a few words.
    Word(&'static [&'static str]),
    /// A list of some of a few words.
    Words(&'static [&'static str]),
    /// A day, quoted or as a TOML date.
    Day,
    /// A table.
    Table(&'static Table),
    /// An array of tables.
    Tables(&'static Table),
    /// A version, a [`REQUIREMENT`] table or a list of those.
    Requirement,
    /// Nothing yet: the sentence that refuses it.
    Refused(&'static str),
}

/// A kind of text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Text {
    /// Anything.
    Free,
    /// PEP 440 specifiers.
    Specifiers,
    /// A chip.
    Chip,
    /// A macOS version.
    Macos,
    /// A glibc version.
    Glibc,
    /// An amount of memory.
    Memory,
    /// A package name.
    Package,
    /// An index's own name.
    IndexName,
    /// A sha256.
    Sha256,
    /// The address of an index.
    IndexUrl,
    /// The address of a wheel.
    WheelUrl,
    /// The path of a wheel.
    WheelPath,
    /// The name of the default environment.
    Extends,
}

impl Text {
    /// Returns the pattern that every valid value matches.
    pub(super) fn pattern(self) -> Option<&'static str> {
        Some(match self {
            Self::Free => return None,
            Self::Specifiers => r"^\s*(\*|(===|[<>=!~]=|[<>])[^;]*)\s*$",
            Self::Chip => r"^m[1-9][0-9]*(-(pro|max|ultra))?$",
            Self::Macos => r"^(1[1-5]|2[6-9]|[3-9][0-9]|[1-9][0-9][0-9]+)(\.[0-9]+)?$",
            Self::Glibc => r"^2\.[0-9]+$",
            Self::Memory => r"^[1-9][0-9]*(GB|TB)$",
            Self::Package => PACKAGE_NAME,
            Self::IndexName => r"^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$",
            Self::Sha256 => r"^[0-9a-fA-F]{64}$",
            Self::IndexUrl => r"^[Hh][Tt][Tt][Pp][Ss]?://(:?@)?[^@/?#]+(/[^?#]*)?$",
            Self::WheelUrl => r"^([Hh][Tt][Tt][Pp][Ss]?|[Ff][Ii][Ll][Ee])://[^?#]+\.whl$",
            Self::WheelPath => r"\.whl$",
            Self::Extends => "^default$",
        })
    }
}

/// What `[frameworks]` admits: what `macml verify` knows how to test.
pub(super) const FRAMEWORKS: &[&str] =
    &["torch", "torchvision", "torchaudio", "tensorflow", "tensorflow-metal", "keras", "mlx", "mlx-lm", "coremltools"];

/// Indexes that need no `[[index]]`.
pub(super) const BUILT_IN_INDEXES: &[&str] = &["pypi", "pytorch", "pytorch-cpu", "pytorch-nightly"];

/// The names of `Platform::ALL`, as data; a test holds them equal.
pub(super) const PLATFORMS: &[&str] = &["macos-arm64", "linux-x86_64", "linux-aarch64"];

const PACKAGE_NAME: &str = r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$";
const GIT: &str = "git requirements are not supported yet";
const EDITABLE: &str = "editable requirements are not supported yet";

/// The whole file.
pub(super) static FILE: Table = Table {
    title: "",
    doc: "What a machine-learning project on Apple Silicon needs. `macml lock` finds a set that works.",
    keys: &[
        key("project", Shape::Table(&PROJECT), "The project itself."),
        key("target", Shape::Table(&TARGET), "The lowest machine that must work.").required(),
        key("frameworks", Shape::Table(&REQUIRED_FRAMEWORKS), "What `macml verify` tests."),
        key("dependencies", Shape::Table(&DEPENDENCIES), "Everything else that is installed."),
        key("env", Shape::Table(&ENVS), "Further environments, each solved on its own."),
        key("index", Shape::Tables(&INDEX), "Package indexes besides the built-in ones."),
        key("resolution", Shape::Table(&RESOLUTION), "How versions are chosen, for all environments."),
        key("run", Shape::Table(&RUN), "How programs are started."),
    ],
    others: None,
    rules: None,
};

static PROJECT: Table = Table {
    title: "[project]",
    doc: "The project itself.",
    keys: &[
        key("name", Shape::Text(Text::Free), "The project's name. Default: the folder's name.")
            .examples(&[r#""mnist-mps""#]),
        key("requires-macml", Shape::Text(Text::Free), "Which versions of macml the project accepts (semver).")
            .examples(&[r#"">=0.1, <1""#]),
        key("paths", Shape::Texts(Text::Free), "Folders of the project's own code, put on the import path.")
            .default("[]")
            .examples(&[r#"["src"]"#]),
    ],
    others: None,
    rules: None,
};

/// Written once for `[target]` and `[env.NAME]`, which differ in what is required.
macro_rules! target_keys {
    ($python:expr, $($more:expr),*) => {
        &[
            key("platforms", Shape::Words(PLATFORMS), "Where it must work.")
                .default(r#"["macos-arm64"]"#)
                .examples(&[r#"["macos-arm64", "linux-x86_64"]"#]),
            key("chip", Shape::Text(Text::Chip), "The lowest chip that must work; needed with `macos-arm64`.")
                .examples(&[r#""m1""#, r#""m3-max""#]),
            key("macos", Shape::Text(Text::Macos), "The lowest macOS that must work; needed with `macos-arm64`.")
                .examples(&[r#""14.0""#]),
            key("gpu", Shape::Word(&["required", "optional"]), "Whether the GPU must be usable.")
                .default(r#""required""#),
            $python,
            key("memory", Shape::Text(Text::Memory), "Least unified memory; a smaller Mac is warned at `macml sync`.")
                .examples(&[r#""16GB""#]),
            key("glibc", Shape::Text(Text::Glibc), "The lowest glibc of the Linux platforms.")
                .default(r#""2.28""#),
            $($more),*
        ]
    };
}

static TARGET: Table = Table {
    title: "[target]",
    doc: "The lowest machine that must work.",
    keys: target_keys!(
        key("python", Shape::Text(Text::Specifiers), "Admitted Pythons, as PEP 440 specifiers.")
            .examples(&[r#"">=3.11,<3.14""#])
            .required(),
    ),
    others: None,
    rules: Some(
        r#"{
            "if": {
                "required": ["platforms"],
                "properties": { "platforms": { "not": { "contains": { "const": "macos-arm64" } } } }
            },
            "then": { "properties": { "chip": false, "macos": false } },
            "else": { "required": ["chip", "macos"] }
        }"#,
    ),
};

static ENVS: Table = Table {
    title: "[env]",
    doc: "Further environments, each solved on its own and installed as `.venv-NAME`.",
    keys: &[],
    others: Some(Others {
        names: Names::Pattern(r"^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$"),
        shape: Shape::Table(&ENV),
        doc: "An environment. Keys of `[target]` that it does not write are those of `[target]`.",
    }),
    rules: Some(r#"{ "propertyNames": { "not": { "const": "default" } } }"#),
};

/// One of the further environments.
pub(super) static ENV: Table = Table {
    title: "[env.NAME]",
    doc: "An environment. Keys of `[target]` that it does not write are those of `[target]`.",
    keys: target_keys!(
        key("python", Shape::Text(Text::Specifiers), "Admitted Pythons, as PEP 440 specifiers.")
            .examples(&[r#"">=3.10,<3.13""#]),
        key(
            "extends",
            Shape::Text(Text::Extends),
            "`default`: start from the default environment's tables. Absent: from nothing.",
        ),
        key("frameworks", Shape::Table(&REQUIRED_FRAMEWORKS), "What `macml verify` tests in it."),
        key("dependencies", Shape::Table(&DEPENDENCIES), "Everything else that is installed in it.")
    ),
    others: None,
    rules: None,
};

static REQUIRED_FRAMEWORKS: Table = Table {
    title: "[frameworks]",
    doc: "The frameworks, which `macml verify` tests on the GPU.",
    keys: &[],
    others: Some(Others { names: Names::Frameworks, shape: Shape::Requirement, doc: "Admitted versions, or a table." }),
    rules: None,
};

static DEPENDENCIES: Table = Table {
    title: "[dependencies]",
    doc: "Everything that is installed besides the frameworks.",
    keys: &[],
    others: Some(Others {
        names: Names::Pattern(PACKAGE_NAME),
        shape: Shape::Requirement,
        doc: "Admitted versions, or a table.",
    }),
    rules: None,
};

/// One requirement in its long form.
pub(super) static REQUIREMENT: Table = Table {
    title: "a requirement",
    doc: "A requirement in its long form.",
    keys: &[
        key("version", Shape::Text(Text::Specifiers), "Admitted versions, as PEP 440 specifiers; `*` is any.")
            .examples(&[r#"">=2.13""#, r#""*""#]),
        key("extras", Shape::Texts(Text::Package), "Extras of the package that are wanted too.").default("[]"),
        key("marker", Shape::Text(Text::Free), "Where it applies, as a PEP 508 marker.")
            .examples(&[r#""python_version < '3.13'""#]),
        key("platform", Shape::Word(PLATFORMS), "The one platform where it applies."),
        key("index", Shape::Text(Text::IndexName), "The one index that serves it.").examples(&[r#""pytorch-nightly""#]),
        key("path", Shape::Text(Text::WheelPath), "A wheel on disk, relative to the project."),
        key("url", Shape::Text(Text::WheelUrl), "The address of a wheel; needs `sha256`."),
        key("sha256", Shape::Text(Text::Sha256), "What the wheel at `url` must hash to."),
        key("git", Shape::Refused(GIT), ""),
        key("rev", Shape::Refused(GIT), ""),
        key("branch", Shape::Refused(GIT), ""),
        key("tag", Shape::Refused(GIT), ""),
        key("editable", Shape::Refused(EDITABLE), ""),
    ],
    others: None,
    rules: Some(
        r#"{
            "oneOf": [
                { "required": ["version"] },
                { "required": ["path"], "properties": { "index": false } },
                { "required": ["url", "sha256"], "properties": { "index": false } }
            ],
            "dependentRequired": { "sha256": ["url"] }
        }"#,
    ),
};

static INDEX: Table = Table {
    title: "[[index]]",
    doc: "A package index.",
    keys: &[
        key("name", Shape::Text(Text::IndexName), "The name that requirements use.")
            .examples(&[r#""corp""#])
            .required(),
        key("url", Shape::Text(Text::IndexUrl), "Its simple API root (PEP 503, PEP 691), without credentials.")
            .examples(&[r#""https://packages.example.com/simple""#])
            .required(),
        key("explicit", Shape::Bool, "Whether it serves only requirements that name it.").default("false"),
    ],
    others: None,
    rules: Some(
        r#"{ "properties": { "name": { "not": { "enum": ["pypi", "pytorch", "pytorch-cpu", "pytorch-nightly"] } } } }"#,
    ),
};

static RESOLUTION: Table = Table {
    title: "[resolution]",
    doc: "How versions are chosen, for all environments.",
    keys: &[
        key("exclude-newer", Shape::Day, "Nothing uploaded after this UTC day counts.").examples(&[r#""2026-11-15""#]),
        key("prereleases", Shape::Texts(Text::Package), "Packages allowed to use pre-releases.")
            .default("[]")
            .examples(&[r#"["torch"]"#]),
        key("constraints", Shape::Table(&CONSTRAINTS), "Narrows versions without adding packages."),
        key("overrides", Shape::Table(&OVERRIDES), "Replaces what other packages ask for."),
        key("ignore-rules", Shape::Texts(Text::Free), "Pieces of macml's knowledge to switch off, by name.")
            .default("[]"),
        key(
            "wheels",
            Shape::Word(&["host", "floor"]),
            "`host`: lock one wheel per macOS generation, sync picks for the host. `floor`: only the floor's wheel.",
        )
        .default(r#""host""#),
        key("allow-overlap", Shape::Texts(Text::Free), "Paths that two wheels may both own with different bytes.")
            .default("[]"),
    ],
    others: None,
    rules: None,
};

static CONSTRAINTS: Table = Table {
    title: "[resolution.constraints]",
    doc: "Narrows versions without adding packages.",
    keys: &[],
    others: Some(Others {
        names: Names::Pattern(PACKAGE_NAME),
        shape: Shape::Text(Text::Specifiers),
        doc: "Versions that remain admitted.",
    }),
    rules: None,
};

static OVERRIDES: Table = Table {
    title: "[resolution.overrides]",
    doc: "Replaces what other packages ask for.",
    keys: &[],
    others: Some(Others {
        names: Names::Pattern(PACKAGE_NAME),
        shape: Shape::Text(Text::Specifiers),
        doc: "Versions that are admitted instead.",
    }),
    rules: None,
};

static RUN: Table = Table {
    title: "[run]",
    doc: "How programs are started.",
    keys: &[key("env", Shape::Table(&RUN_ENV), "Variables that `macml run` sets.")],
    others: None,
    rules: None,
};

static RUN_ENV: Table = Table {
    title: "[run.env]",
    doc: "Variables that `macml run` sets.",
    keys: &[],
    others: Some(Others {
        names: Names::Pattern("^[A-Za-z_][A-Za-z0-9_]*$"),
        shape: Shape::Text(Text::Free),
        doc: "The variable's value.",
    }),
    rules: Some(
        r#"{
            "propertyNames": {
                "not": { "pattern": "^((PATH|BASH_ENV|ENV|ZDOTDIR|PROMPT_COMMAND)$|DYLD_|LD_|PYTHON)" }
            }
        }"#,
    ),
};

const fn key(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    Key { name, shape, doc, default: None, examples: &[], need: Need::Optional }
}

impl Key {
    const fn default(mut self, json: &'static str) -> Self {
        self.default = Some(json);
        self
    }

    const fn examples(mut self, json: &'static [&'static str]) -> Self {
        self.examples = json;
        self
    }

    const fn required(mut self) -> Self {
        self.need = Need::Required;
        self
    }
}

impl Table {
    /// Returns a key by name.
    pub(super) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Returns every table with fixed keys, for finding where a stray key belongs.
    pub(super) fn all() -> [&'static Self; 8] {
        [&FILE, &PROJECT, &TARGET, &ENV, &INDEX, &RESOLUTION, &RUN, &REQUIREMENT]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pep::PackageName;
    use crate::target::Platform;

    #[test]
    fn lists_agree_with_the_types() {
        assert_eq!(PLATFORMS, Platform::ALL.map(|platform| platform.to_string()));
        for name in FRAMEWORKS {
            assert_eq!(name.parse::<PackageName>().unwrap().as_str(), *name, "normalized");
        }
    }

    #[test]
    fn of_every_framework_it_is_known_which_releases_are_unknown() {
        let knowledge = crate::knowledge::Knowledge::built_in();
        let unlisted =
            FRAMEWORKS.iter().find(|name| !knowledge.newest.contains_key(&name.parse::<PackageName>().unwrap()));
        assert_eq!(unlisted, None);
    }

    #[test]
    fn every_key_says_what_it_is_for() {
        for table in Table::all() {
            for key in table.keys.iter().filter(|key| !matches!(key.shape, Shape::Refused(_))) {
                assert!(key.doc.ends_with('.'), "{} `{}`", table.title, key.name);
            }
        }
    }
}
