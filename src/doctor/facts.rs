//! `Facts`: everything that `macml doctor` looked at, as one file: `macml doctor --facts` writes it, `--host FILE` replays it.
//!
//! The file is meant to be sent to others: it holds no name of a user or machine and no secret. Home is `~`; of variables that
//! may hold a secret only the name is kept; addresses lose what stands before `@`. Paths are text, as they are shown.
//!
//! What is not known is absent (`None`, an empty list); whether that is because it could not be seen is in [`Facts::unseen`].

use serde::{Deserialize, Serialize};

use crate::diag::Severity;
use crate::host::Host;

/// The number of this form.
pub const VERSION: u32 = 1;

/// Everything that was looked at.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Facts {
    /// The number of this form: 1.
    pub version: u32,
    /// The macml that looked.
    pub macml: String,
    /// Where it comes from: `seen`, `recorded: ADDRESS`, `made: the source of each field`.
    pub source: String,
    /// The machine.
    pub machine: Machine,
    /// What this process sees of the GPU; absent where nobody asked.
    pub metal: Option<Metal>,
    /// Memory.
    pub memory: Memory,
    /// Compilers.
    pub tools: Tools,
    /// The shell and the variables that count.
    pub shell: Shell,
    /// Folders of PATH, in its order, with what counts of them.
    pub path: Vec<PathFolder>,
    /// Interpreters that were found, with those on PATH and those that environments stand on.
    pub pythons: Vec<Python>,
    /// Homebrews that are there.
    pub homebrews: Vec<Homebrew>,
    /// The project in reach.
    pub project: Option<Project>,
    /// Locks of other tools in the folder: `uv.lock`, `pylock.toml`, requirements files with hashes.
    pub locks: Vec<OtherLock>,
    /// Environments: the project's, the active ones, the one that was named.
    pub environments: Vec<Environment>,
    /// Folders whose volume counts: the project, the cache, environments, temporary files.
    pub folders: Vec<Folder>,
    /// Proxies, certificates, indexes.
    pub network: Network,
    /// What could not be seen, and why.
    pub unseen: Vec<Unseen>,
}

/// The machine.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Machine {
    /// `macos` or `linux`.
    pub system: String,
    /// What macml was built for: `aarch64`, `x86_64`.
    pub macml_arch: String,
    /// The Mac; absent where it is none. Its memory and whether this process is translated are in it.
    pub host: Option<Host>,
    /// The model, `hw.model`: `MacBookAir10,1`.
    pub model: Option<String>,
    /// The version of a system that is no macOS: `Linux 6.8`.
    pub release: Option<String>,
    /// Whether a hypervisor is below, `kern.hv_vmm_present`.
    pub virtual_machine: Option<bool>,
    /// Whether a sandbox holds this process.
    pub sandboxed: Option<bool>,
    /// Whether it came by ssh: `SSH_CONNECTION` is set.
    pub ssh: bool,
    /// The CI that runs it: the name of the variable, such as `GITHUB_ACTIONS`.
    pub ci: Option<String>,
    /// Whether it runs in a container.
    pub container: Option<bool>,
    /// Programs that started this one, the nearest first: shell, terminal, editor.
    pub parents: Vec<Parent>,
}

/// A program that macml was started from.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Parent {
    /// Its name: `zsh`, `iTerm2`.
    pub name: String,
    /// Whether it runs under Rosetta.
    pub translated: Option<bool>,
}

/// What this process sees of Metal.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Metal {
    /// The devices, `MTLCopyAllDevices`; none inside a sandbox and in most virtual machines.
    pub devices: Vec<MetalDevice>,
}

/// A device of Metal.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct MetalDevice {
    /// Its name: `Apple M3 Max`, `Apple Paravirtual device`.
    pub name: String,
    /// `recommendedMaxWorkingSetSize` in bytes.
    pub working_set: Option<u64>,
}

impl MetalDevice {
    /// Returns how many bytes torch takes at most where nothing else is said: 1.7 times what Metal recommends,
    /// <https://docs.pytorch.org/docs/stable/mps_environment_variables.html>.
    pub fn torch_limit(&self) -> Option<u64> {
        self.working_set.map(|bytes| (bytes / 10).saturating_mul(17))
    }
}

/// Memory, in bytes.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Memory {
    /// All of it.
    pub total: Option<u64>,
    /// The part that is free or can be made free at once, in percent: `kern.memorystatus_level`, `MemAvailable`.
    pub free_percent: Option<u64>,
    /// `kern.memorystatus_vm_pressure_level`: 1 normal, 2 warning, 4 critical.
    pub pressure_level: Option<u64>,
    /// Held by the system and by programs so that it cannot be moved.
    pub wired: Option<u64>,
    /// Swap that is used.
    pub swap_used: Option<u64>,
    /// Swap that there is.
    pub swap_total: Option<u64>,
}

/// Compilers and the tools around them.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Tools {
    /// The folder that `xcode-select` leads to, or `DEVELOPER_DIR`.
    pub developer_dir: Option<String>,
    /// Whether that folder is there, with a compiler in it.
    pub developer_dir_works: Option<bool>,
    /// Whether the Command Line Tools are there: `/Library/Developer/CommandLineTools/usr/bin/clang`.
    pub command_line_tools: Option<bool>,
    /// Their version, as their receipt says.
    pub command_line_tools_version: Option<String>,
    /// Xcodes in `/Applications`.
    pub xcodes: Vec<String>,
    /// Whether `metal` is there, the compiler of shaders.
    pub metal_toolchain: Option<bool>,
    /// Whether Rosetta is installed.
    pub rosetta: Option<bool>,
    /// A compiler on a system that is no macOS: its path.
    pub compiler: Option<String>,
}

impl Tools {
    /// Returns whether nothing can be compiled on this Mac: the developer folder is empty, or there are no tools at all.
    pub fn lacks_compiler(&self) -> bool {
        let orphaned = self.developer_dir.is_some() && self.developer_dir_works == Some(false);
        orphaned || (self.command_line_tools == Some(false) && self.xcodes.is_empty())
    }
}

/// The shell and the variables that count.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Shell {
    /// The login shell, `SHELL`.
    pub login: Option<String>,
    /// The terminal, `TERM_PROGRAM`.
    pub terminal: Option<String>,
    /// Variables that change what Python, frameworks or downloads do, by name. A value that may be a secret is `(set)`.
    pub variables: Vec<Variable>,
    /// What the files of shells set up that counts here.
    pub files: Vec<ShellFile>,
}

impl Shell {
    /// Returns the value of a variable that counts; what is empty is unset.
    pub fn variable(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|one| one.name == name).map(|one| one.value.as_str());
        found.filter(|value| !value.is_empty())
    }
}

/// A variable.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A file that a shell reads.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ShellFile {
    /// Its path.
    pub path: String,
    /// What it sets up, of `conda`, `pyenv`, `direnv`, `macml`, `homebrew`.
    pub sets_up: Vec<String>,
}

/// A folder of PATH.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct PathFolder {
    /// Its path, as PATH has it.
    pub folder: String,
    /// Whether it is there.
    pub there: bool,
    /// Programs of interest in it: `python`, `python3`, `python3.X`, `pip`, `pip3`, `conda`, `mamba`, `direnv`, `brew`, `uv`.
    pub programs: Vec<Program>,
}

/// A program on PATH.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// The file that it leads to; absent where it is a link to nothing.
    pub resolved: Option<String>,
    /// What it was built for: `arm64`, `x86_64`; empty for a script.
    pub archs: Vec<String>,
    /// The interpreter of a script, as its first line says, looking behind `env` and behind the `/bin/sh` of a long line.
    pub interpreter: Option<String>,
    /// Whether that is a file.
    pub interpreter_there: Option<bool>,
}

/// An interpreter.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Python {
    /// Its path.
    pub path: String,
    /// The file that it leads to.
    pub resolved: String,
    /// Whose it is: `homebrew`, `pyenv`, `python-org`, `uv`, `path`, `elsewhere`, `conda`, `conda-base`, `apple`.
    pub origin: String,
    /// Its prefix.
    pub prefix: Option<String>,
    /// Its version, with the patch where that is known.
    pub version: Option<String>,
    /// What it was built for.
    pub archs: Vec<String>,
    /// Modules of its standard library that it lacks, `_lzma`; told without running it.
    pub missing: Vec<String>,
    /// Its own files that the system does not let run: unsigned, or changed after they were signed.
    pub unsigned: Vec<Unsigned>,
    /// Whether its file has `com.apple.quarantine`.
    pub quarantined: Option<bool>,
    /// The signal that ended it when it was started; only where it was started at some time.
    pub ended_by: Option<i32>,
    /// The file of certificates that its `ssl` takes, and whether it is there.
    pub certificates: Option<Certificates>,
    /// Whether packages may not be installed into it: `EXTERNALLY-MANAGED`.
    pub externally_managed: bool,
}

/// A file of an interpreter that the system does not let run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Unsigned {
    /// The file.
    pub path: String,
    /// What is wrong: `missing`, or what `codesign` would say of it.
    pub signature: String,
}

/// Certificates that an interpreter trusts.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Certificates {
    /// The file that is looked for.
    pub file: String,
    /// Whether it is there.
    pub there: bool,
}

/// A Homebrew.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Homebrew {
    /// Its prefix: `/opt/homebrew`, `/usr/local`.
    pub prefix: String,
    /// Whether `bin/brew` is there.
    pub brew: bool,
    /// Formulae of interest that it has, with versions: `libomp 21.1.5`, `mlx 0.30.0`, `python@3.13 3.13.9`.
    pub formulae: Vec<String>,
}

/// The project in reach.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Project {
    /// Its folder.
    pub folder: String,
    /// What is wrong with macml.toml; empty where it is valid.
    pub mistakes: Vec<String>,
    /// What it says for Macs, one for each environment.
    pub declared: Vec<Declared>,
    /// How macml.lock is: `missing`, `damaged`, `stale`, `current`.
    pub lock: Option<String>,
    /// What was verified and measured of its environments.
    pub records: Vec<Record>,
}

/// A lock of another tool.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct OtherLock {
    /// The file.
    pub path: String,
    /// Releases without a wheel for this Mac, which are built from their sources where it is installed: `pkg 1.0`. Looked
    /// for where there is no compiler.
    pub from_source: Vec<String>,
}

/// What a project says of one environment, for Macs.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Declared {
    /// The environment's name.
    pub env: String,
    /// The lowest chip: `m1`.
    pub chip: Option<String>,
    /// The lowest macOS: `14.0`.
    pub macos: Option<String>,
    /// `required` or `optional`.
    pub gpu: Option<String>,
    /// The range of Pythons.
    pub python: Option<String>,
    /// Least memory in bytes.
    pub memory: Option<u64>,
    /// Frameworks that it names.
    pub frameworks: Vec<String>,
    /// Variables of `[run.env]`.
    pub run_env: Vec<Variable>,
    /// Rules of the knowledge that it switches off: `ignore-rules`.
    pub ignored: Vec<String>,
}

/// A record of `verify` or `bench`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Record {
    /// The environment's name.
    pub env: String,
    /// `verify` or `bench`.
    pub of: String,
    /// The system then: `macOS 15.6.1`.
    pub system: String,
    /// The processor then.
    pub chip: String,
    /// Whether it is of the lock and the content that are there now.
    pub of_this_lock: bool,
    /// The word of the verdict: `ok`, `wrong-numbers`; empty for `bench`.
    pub word: String,
    /// On which device: `mps`.
    pub device: String,
}

/// An environment.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Environment {
    /// Its folder.
    pub folder: String,
    /// How it is known: `project NAME`, `VIRTUAL_ENV`, `CONDA_PREFIX`, `this folder`, `named`.
    pub roles: Vec<String>,
    /// Who made it: `macml`, `venv`, `conda`, `staged`; absent for something that is none, or is not there.
    pub kind: Option<String>,
    /// Whether there is something.
    pub there: bool,
    /// Whether it may not be read, or its `pyvenv.cfg` may not: nothing is known of it then.
    pub unreadable: bool,
    /// Of macml's: whether it is the one that the lock says: `current`, `stale`, `moved`, `changed`.
    pub standing: Option<String>,
    /// Its interpreter, the first path: `…/bin/python`.
    pub python: Option<String>,
    /// What that leads to; absent where it is a link to nothing.
    pub python_resolved: Option<String>,
    /// `home` of pyvenv.cfg.
    pub home: Option<String>,
    /// Its Python's version.
    pub python_version: Option<String>,
    /// What its interpreter was built for.
    pub archs: Vec<String>,
    /// `include-system-site-packages`.
    pub system_site: bool,
    /// Whether it has a pip of its own.
    pub pip: bool,
    /// What is installed.
    pub distributions: Vec<Distribution>,
    /// Left-overs of installs that were stopped: `~orch`, `~orch-2.12.0.dist-info`.
    pub leftovers: Vec<String>,
    /// `.pth` files and links that have the hidden flag.
    pub hidden: Vec<String>,
    /// Commands of its `bin` whose first line leads nowhere, with that line.
    pub broken_commands: Vec<BrokenCommand>,
    /// Libraries of interest in it: OpenMP runtimes, libmlx, Metal libraries of mlx, plugins of TensorFlow.
    pub libraries: Vec<Library>,
    /// What the proof that its libraries load said: with `--full` only.
    pub proof: Option<Vec<Proved>>,
}

impl Environment {
    /// Returns the name that a project has for it; `None` where it is no project's.
    pub fn of_project(&self) -> Option<&str> {
        self.roles.iter().find_map(|role| role.strip_prefix("project "))
    }
}

/// A distribution that is installed.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Distribution {
    /// Its normalized name.
    pub name: String,
    /// Its version, as the folder says.
    pub version: String,
    /// Who installed it: `pip`, `uv`, `conda`, `macml`.
    pub installer: Option<String>,
    /// The tags of its `WHEEL`.
    pub tags: Vec<String>,
    /// Its requirements, as METADATA has them.
    pub requires: Vec<String>,
    /// How its RECORD is: `whole`, `missing` (there is none), `unread`, `gone` (files that it names are not there), `none`
    /// (of the older `.egg-info`, which never has one). What conda brought is held against conda's notes instead.
    pub record: String,
    /// Files that RECORD names and that are gone, the first few.
    pub gone: Vec<String>,
    /// How many they are.
    pub gone_count: usize,
    /// How many native libraries it has, by RECORD: `.so` and `.dylib`.
    pub native: usize,
    /// Whether it is worked on where it lies, or by address.
    pub editable: bool,
}

/// A command whose first line leads nowhere.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct BrokenCommand {
    /// The command.
    pub name: String,
    /// Its first line.
    pub line: String,
}

/// A library of interest.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Library {
    /// Its path.
    pub path: String,
    /// What it is: `openmp`, `mlx`, `metallib`, `tensorflow-plugin`.
    pub kind: String,
    /// The distribution that brought it; absent for one from outside.
    pub package: Option<String>,
    /// Its install name.
    pub install_name: Option<String>,
    /// Its version, where a formula, a file name or its header tells it.
    pub version: Option<String>,
    /// What it was built for.
    pub archs: Vec<String>,
}

/// Something that the proof of loading said.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Proved {
    /// The code.
    pub code: String,
    /// `error`, `warning` or `note`.
    pub severity: Severity,
    /// The sentence.
    pub message: String,
    /// Further sentences.
    pub notes: Vec<String>,
    /// What to do.
    pub hint: Option<String>,
}

/// A folder whose volume counts.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Folder {
    /// The folder.
    pub folder: String,
    /// What it is for: `project`, `cache`, `environments` of macml, `environment` of another tool, `temporary`.
    pub of: String,
    /// The format of its volume: `apfs`, `exfat`.
    pub format: Option<String>,
    /// Bytes that are free there.
    pub free: Option<u64>,
    /// The service that synchronizes it: `iCloud Drive`, `Dropbox`, `OneDrive`, `Google Drive`.
    pub synchronized_by: Option<String>,
    /// Whether something can be written there.
    pub writable: Option<bool>,
    /// Whether links can be made there.
    pub links: Option<bool>,
}

/// Proxies, certificates, indexes.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Network {
    /// The proxy of the system's settings, where they have one.
    pub system_proxy: Option<String>,
    /// Certificate authorities that an administrator added to the system's store.
    pub added_authorities: Option<u64>,
    /// Files that variables or settings name for certificates.
    pub certificate_files: Vec<Certificates>,
    /// Mirrors of macml's own settings.
    pub mirrors: Vec<String>,
    /// Indexes that pip and uv are set to, with where.
    pub other_settings: Vec<OtherSetting>,
    /// What `--network` measured.
    pub measured: Vec<Measured>,
}

/// An index that another tool is set to.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct OtherSetting {
    /// The tool: `pip`, `uv`.
    pub tool: String,
    /// Where that is set: a file or a variable.
    pub place: String,
    /// The address, without a password; `pypi` for the default index.
    pub index: String,
}

/// How an index or a mirror answered.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Measured {
    /// Its name: `pypi`, `tuna`.
    pub name: String,
    /// Milliseconds to the answer of a page; absent where none came.
    pub page_ms: Option<u64>,
    /// Bytes a second of a file; absent where none came.
    pub bytes_per_second: Option<u64>,
    /// Why there was no answer.
    pub error: Option<String>,
}

/// Something that could not be seen.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Unseen {
    /// What: `the Metal devices`.
    pub what: String,
    /// Why.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_computed_of_whatever_a_file_says() {
        let limit = |bytes| MetalDevice { working_set: Some(bytes), ..MetalDevice::default() }.torch_limit();
        assert_eq!((limit(10 << 30), limit(u64::MAX)), (Some(17 << 30), Some(u64::MAX)));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test compares a file of the repository")]
    fn the_schema_is_published() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/facts.schema.json");
        let text = serde_json::to_string_pretty(&schemars::schema_for!(Facts)).unwrap() + "\n";
        if std::env::var_os("MACML_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert!(std::fs::read_to_string(&path).unwrap_or_default() == text, "stale: run this test with MACML_BLESS=1");
    }
}
