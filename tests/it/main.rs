//! The one test target. Each module says what belongs in it.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests may look at the world and stop at once"
)]

// The lockfile: fixtures of every version, its schema, and writing as one step.
mod lock;
// Packages that come into macml.toml and go again.
mod edit;
// What is locked, in the forms of other tools.
mod export;
// Three ways to read a lock: as a tree, against another one, against what is newer.
mod tree;
// A first macml.toml.
mod init;
// Lists of real projects, read where they lie.
mod import_cases;
// The manifests that we show, and their locks.
mod examples;
// How good and bad macml.toml files are read and explained.
mod manifest;
// The transcripts in README.md and README.zh-CN.md.
mod readme;
// What several tests share.
mod support;

// Resolver scenarios of another project.
mod packse;
// The solver against brute force, on generated universes.
mod properties;
// Same inputs, same answer, in whatever order the indexes answer.
mod determinism;
// Small universes with what must come out and why.
mod scenarios;
// Pairs of wheels of which it was read whether they load.
mod truth;
// What dyld says of pairs of real wheels.
mod dyld;
// What is to be said of the libraries of an environment.
mod check_rules;
// Locks of other tools, read for the Macs that `macml check` judges for.
mod check_foreign;
// Environments that somebody else made: of venv, pip and conda, made ones and real ones, and without a macml.toml.
mod check_prefix;
// What a check says of the libraries of a set and of what is known of it.
mod check_libraries;
// What `macml doctor` says of machines, from facts; gathering them; the verb.
mod doctor;
// From error texts to causes: those that are known, those that are not ours, and the verb.
mod explain;
// The schemas we publish.
mod schema;
// Rules of the house: order of modules, homes of crates, words that must stand nowhere.
mod tidy;

// Asking indexes, mirrors and caches over loopback.
mod index;
// What the cache keeps of whom, and for whom it counts.
mod kept;
// Getting locked wheels, whole and checked, whatever servers, disks and other processes do.
mod download;
// Wheels by path and by address, from macml.toml to the lock.
mod direct;
// Wheels that lie, each refused by name before anything is written.
mod hostile_wheels;
// The cache of unpacked wheels, and trees that are linked from it.
mod unpack;
// Trees held against their lock: what is told of each edit, and the one digest of an environment.
mod contents;
// A project's lock and environments as `check` sees them: sets for each Mac, what is told of each edit.
mod check_project;
// Recorded Macs, and which example each can carry.
mod hosts;
// Installing popular wheels with macml and with the `installer` package (live).
mod installer_agreement;
// Environments on disk: generations and their link, whoever kills, waits, fills the disk or brings one of his own.
mod generations;
// What a person reads when an index is there, and when it is gone.
mod online;
// What works on which Python and macOS: the table, the JSON, the page, and what is kept of them.
mod matrix;
// The page of the benchmark, and its block in a README: structure, hostile words, odd histories.
mod bench_page;
// The flags of `macml bench` that write files or measure something else, through the binary; and those in real frameworks
// (live).
mod bench_modes;
mod live_bench_modes;
// Probes that answer well, answer badly, break, hang and lie, through the real runner.
mod verify;
// `macml verify` through the binary: words and exit codes, the native probe, what is kept, and who interrupts it.
mod verify_verb;
// Our probes in real frameworks, on this machine's processor (live).
mod live_verify;

// The tables of operators of torch's real wheels (live).
mod live_operators;
// Pages and METADATA of the real index.
mod live_index;
// The native probe, built and run against real torches (live), and the records of that.
mod live_native;
// That the knowledge can be true: its rules can match a release, and what they quote exists (live).
mod knowledge_evidence;
// macml and uv on the same real lists.
mod uv_agreement;
// What is read of Mach-O images: made ones, damaged ones, and real ones beside `lief` (live).
mod facts;
// What `macml check` gets of wheels and of indexes.
mod check_facts;
// What macml reads in uv's locks, against uv and `packaging` (live).
mod foreign_agreement;
// `macml check` through the binary.
mod check_verb;
// `macml sync` through the binary: environments and trees, what stands against them, kills.
mod sync;
// `macml ops`: what is told of torch's operators, what is read of its wheel, and what stands in the way.
mod ops;
/// `macml why` through the binary.
mod why;
// `macml bench` through the binary: recorded probes, broken ones, what is kept and compared; and real ones (live).
mod bench;
mod live_bench;
// Everything in `pep/` against the `packaging` package (live).
mod oracle;

// The binary: arguments, streams, exit codes, JSON.
mod cli;
// The action that guards a project on GitHub: its script with made programs, and its steps.
mod github_action;
// The hooks for `pre-commit`: what they say, and the real one that runs them (live).
mod pre_commit;
// `macml bundle`: the locked wheels as a folder.
mod bundle;
// `macml cache`: what counts, what goes, and what must stay.
mod cache;
// `macml env`: what is on disk, the way back, and the end.
mod env;
// The hook and the activation scripts in the real shells, and the real direnv.
mod hook;
// `macml python`: with the real Python of the machine, and with what only looks like one.
mod python;
// `macml rules`, and rules that a project ignores.
mod rules;
// `macml run`: what it starts, with whose streams, signals and terminal, and in which generation.
mod run;
// The order of the stages, over an index in memory.
mod pipeline;
// Mistakes that people make, each told in one error and with nothing written.
mod bad_input;
// Which test produces each code of a finding.
mod codes;
// Public bug reports, each a test named by its number.
mod reports;
// Answers of the real index that must come out (live), and the same bytes whoever serves them.
mod real_answers;
// Sets for which metadata is not enough: what a person reads (recorded), and what the real index gives (live).
mod knowledge_cases;
