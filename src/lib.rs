//! macml: declare, lock and prove machine-learning environments for Apple Silicon Macs.
//!
//! This page is the map: the spine, the modules in order, what always holds, and which files on disk belong to whom.
//!
//! # The spine
//!
//! A project says in macml.toml what it needs: chip, macOS floor, Python range, frameworks, dependencies. [`manifest`]
//! reads that into a value that is always valid, or lists every mistake with its place. Each environment on each platform
//! becomes one [`resolve::Request`] for one [`target`], which is made from what was declared and never from the machine that
//! runs macml. [`resolve`] searches for versions, with Python itself as one of the packages; it asks its questions through
//! [`index::source::Source`] and does no I/O, so that the same questions have the same answer in a test, behind a mirror
//! and on the other side of the world. [`knowledge`] adds what metadata leaves out: which releases do not work on that
//! Mac, which need or exclude each other, which wheel is really for which macOS. The answer is a graph of releases, or an
//! explanation with edits that were solved before being suggested. [`lock`] turns the graph into macml.lock: every file that may be installed, by name, size and
//! sha256, in bytes that do not depend on who wrote them.
//!
//! ```text
//! macml.toml -> Manifest -> Target -+
//!               Knowledge ----------+-> Request -> Resolution -> Lockfile -> macml.lock
//! PyPI, mirrors, cache -> Source ---+
//! ```
//!
//! What is locked becomes an environment: [`install`] judges each wheel, unpacks it once into the cache and plans a tree of
//! files; [`environment`] builds that tree as a generation beside the one that counts, and makes the project's link lead to
//! it in one rename.
//!
//! ```text
//! macml.lock + Host -> files of this machine -> Plan -> Generation -> .venv
//! ```
//!
//! Which operators of torch have a GPU kernel is told without a Mac: [`operators`] reads the table that torch's wheel carries.
//!
//! And an environment, macml's own or anybody's, is asked whether its GPU computes right: [`verify`] starts probes and judges
//! what they answer, [`pipeline::verify`] says which, and what was known before.
//!
//! ```text
//! Generation or folder -> Subject -> probes -> Verdict -> Record in .macml/
//! ```
//!
//! All of it is held together without a Mac by [`pipeline::check`]: does the lock answer macml.toml, has the environment the
//! locked files, would dyld load its libraries together, is anything known against its releases. What dyld would say is told
//! by [`check`] from facts that are read once of each wheel; locks of other tools and anybody's folders are judged alike.
//!
//! ```text
//! macml.lock, a lock of another tool, a folder -> Set for each Mac -> facts of its wheels -> Parts -> Verdict
//! ```
//!
//! Where something is wrong, [`doctor`] judges everything that was seen at once, and [`explain`] finds the cause behind an error
//! text; [`pipeline::doctor`] looks.
//!
//! ```text
//! this machine, or a file of another -> Facts -> Diagnoses with remedies
//! error text + Facts -> Explanation
//! ```
//!
//! # Modules in order
//!
//! They are declared below in the order of the spine, and **a module imports only modules declared above it**.
//! `tests/it/tidy` holds them to it, and to three narrower bans: `resolve` never sees `sys`, and of `index` only
//! `index::source`; `check` and `verify` never see `manifest`, `index` or `resolve`; and the process's environment is
//! captured in the binary only.
//!
//! | module | owns |
//! | --- | --- |
//! | [`sys`] | every file, socket, program and environment variable; errors name the path or address |
//! | [`diag`] | findings: what we tell people, as data, with stable codes |
//! | [`progress`] | events that stages report and the binary may draw |
//! | [`page`] | what every HTML page begins with: head, colours in light and dark, style |
//! | [`pep`] | the vocabulary that Python's packaging standards fix: names, versions, markers, tags, metadata, hashes |
//! | [`host`] | what a Mac is, and looking at this one |
//! | [`python`] | interpreters: finding, judging and choosing them |
//! | [`target`] | what is resolved for: platform, floor and Python, with the tags that fit |
//! | [`knowledge`] | what metadata leaves out, as data with a source for each piece |
//! | [`operators`] | which operators of torch a Mac's GPU has, from the table in torch's wheel, and since which release |
//! | [`manifest`] | stage 1, what the user asked for |
//! | [`index`] | stage 2, what exists: pages, metadata, mirrors, cache; and locked wheels, whole and checked |
//! | [`resolve`] | stage 3, which versions, or why none |
//! | [`lock`] | stage 4, the lockfile: read, write, compare; and locks of other tools, which are only read |
//! | [`install`] | stage 5, from wheels to files: judging, unpacking once, planning and linking a tree |
//! | [`cache`] | everything below the cache folder together: how much it is, what of it goes |
//! | [`environment`] | environments on disk: generations, the link to the one that counts, their stamp, who is trusted |
//! | [`check`] | stage 6, proof from files: facts of wheels, what dyld says of their libraries together, what is in a tree; its verb is [`pipeline::check`] |
//! | [`verify`] | stage 7, does the GPU compute right: probes in child processes, and what their answers mean |
//! | [`mod@bench`] | how fast it is: measured in a child process, kept, compared, drawn |
//! | [`doctor`] | what is wrong with a machine, its Pythons and a project, from facts |
//! | [`explain`] | from an error text to its cause |
//! | [`pipeline`] | the order of the stages, once, from top to bottom |
//! | [`matrix`] | what works on which Python and macOS: many solves of one set, and the answers kept of them |
//! | [`import`] | what other files ask for, line by line: requirements, pyproject.toml |
//! | [`init`] | a first macml.toml |
//!
//! The binary, `src/bin/macml/`, turns words into calls and results into text; it alone knows about flags, colours,
//! terminals and exit codes.
//!
//! # What always holds
//!
//! * **Pure in the middle.** Host, index and environment are plain data by the time logic sees them. The one trait made
//!   for substitution is [`index::source::Source`].
//! * **Same inputs, same bytes.** Nothing that is decided depends on the clock, on the machine, on the order in which
//!   answers arrive, or on the order of a hash map.
//! * **Two kinds of bad news.** An `Error` (we could not get an answer; one enum for each stage, exit code 2) and a
//!   [`diag::Finding`] (we looked, and here is what is wrong). "Nothing satisfies this" is an answer too, with exit code 1.
//! * **Strings become types at the edge** by which they enter, through one fallible constructor; inside there are no
//!   unchecked names, versions or hashes.
//! * **Nothing is installed that is not locked**, and nothing is locked without size and sha256.
//! * **No address of a registry** stands in a lock, or as text anywhere in this repository.
//! * **Each third-party crate has one home**, so that it can be replaced; `tests/it/tidy/rules.rs` lists them.
//!
//! # Files on disk
//!
//! | file | written by | read by |
//! | --- | --- | --- |
//! | `macml.toml` | people (`macml add` is to come) | [`manifest`] |
//! | `macml.lock` | [`lock`], whole or not at all | [`lock`]; later stages need nothing else |
//! | `~/.cache/macml/` | [`index`]: pages with their freshness, metadata and torch's table of operators for good, wheels until they are unpacked; [`install`]: unpacked wheels; [`matrix`]: cells; [`python`]: what interpreters said; [`verify`]: native probes; [`check`]: facts of wheels in `facts-v1/`, by sha256 | the same, and [`cache`], which tidies; losing it costs time only |
//! | `~/.config/macml/config.toml` | people: mirrors, certificates, defaults | [`index`], through the binary |
//! | `schema/*.json` | a test, from the types | editors, and programs that read our files |
//! | `.macml/`, `.venv` | [`environment`]: generations, and the link to the one that counts | Python, editors, shells |
//! | `.macml/bench/NAME.jsonl` | [`mod@bench`]: one run a line, whole or not at all | the same |
//! | `.macml/verified/` | [`verify`]: what was verified of each environment, and in which circumstances | [`pipeline::sync`] |
//! | `~/.local/share/macml/env/` | [`environment`]: those of projects in iCloud, Dropbox and their like, or on exFAT | the same |
//! | `~/.local/state/macml/built/` | [`environment`]: what this user's macml built, and where | the shell hook, `macml env` |
//! | `~/.local/state/macml/cpu/` | [`environment`]: what hides the GPU from a Python | `macml run --device cpu` |
//! | `~/.local/state/macml/fallbacks/` | [`environment`]: what notes fallbacks in a Python, and the notes of a run | `macml run --report-fallbacks` |
//!
//! # Tests
//!
//! Most stand beside the code. `tests/it` holds wiring: the real binary against a loopback index, scenarios, schemas, the
//! rules of the house. None of those needs a network. What asks the real index runs when `MACML_LIVE` is set, and in CI.
//! `tests/bench` is the benchmark.

pub mod sys;

pub mod diag;

pub mod progress;

pub mod page;

pub mod pep;

pub mod host;

pub mod python;

pub mod target;

pub mod knowledge;

pub mod operators;

pub mod manifest;

pub mod index;

pub mod resolve;

pub mod lock;

pub mod install;

pub mod cache;

pub mod environment;

pub mod check;

pub mod verify;

pub mod bench;

pub mod doctor;

pub mod explain;

pub mod pipeline;

pub mod matrix;

pub mod import;

pub mod init;
