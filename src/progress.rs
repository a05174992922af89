//! What stages say while they work. Every event has an empty default; the binary draws them.

use std::time::Duration;

/// Receives events, possibly from several threads.
pub trait Progress: Send + Sync {
    /// A page, metadata or file was asked for; `pending` requests are now under way.
    fn requested(&self, what: &str, pending: usize) {
        let _ = (what, pending);
    }

    /// One request was answered; `done` so far in this run, `pending` left.
    fn answered(&self, what: &str, done: usize, pending: usize) {
        let _ = (what, done, pending);
    }

    /// Bytes of a large body arrived.
    fn received(&self, bytes: u64) {
        let _ = bytes;
    }

    /// Wheels are to be got: so many files and bytes in all, of which `present` bytes are there already.
    fn downloading(&self, files: usize, bytes: u64, present: u64) {
        let _ = (files, bytes, present);
    }

    /// Bytes of a wheel arrived.
    fn arrived(&self, bytes: u64) {
        let _ = bytes;
    }

    /// Bytes of a wheel are there that did not arrive: another process got them.
    fn found(&self, bytes: u64) {
        let _ = bytes;
    }

    /// Bytes of a wheel that counted as there were wrong, and have to come again.
    fn lost(&self, bytes: u64) {
        let _ = bytes;
    }

    /// A wheel is whole.
    fn downloaded(&self, file: &Downloaded<'_>) {
        let _ = file;
    }

    /// The solver took up an environment.
    fn solving(&self, environment: &str, platform: &str) {
        let _ = (environment, platform);
    }

    /// A step of bringing an environment up to date was taken.
    fn step(&self, step: Step) {
        let _ = step;
    }

    /// A probe was started, which is stopped after so many seconds.
    fn probing(&self, what: &str, limit: u64) {
        let _ = (what, limit);
    }

    /// It began a computation.
    fn asking(&self, what: &str) {
        let _ = what;
    }

    /// It has ended.
    fn probed(&self) {}

    /// Something worth one line that is no finding, such as a mirror passed over.
    fn note(&self, text: &str) {
        let _ = text;
    }
}

/// A wheel that is whole, with its sha256 checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Downloaded<'a> {
    /// Its file name.
    pub file: &'a str,
    /// Its size in bytes.
    pub size: u64,
    /// How much of that arrived now, and was not there before.
    pub arrived: u64,
    /// How long that took.
    pub took: Duration,
}

/// A step of bringing an environment up to date, in the order in which they are taken. Whatever ends the process after
/// one of them leaves the old environment or the new one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Step {
    /// The environments of the project are this process's to change.
    Begun,
    /// All wheels are in the cache, unpacked.
    Unpacked,
    /// A folder for the new generation is there.
    Made,
    /// Its files are there, those of the wheels and its own.
    Linked,
    /// Its modules are compiled, if that was asked for.
    Compiled,
    /// It has its stamp.
    Stamped,
    /// It has its name.
    Published,
    /// The project's link leads to it.
    Activated,
    /// This user is known to have built it.
    Recorded,
    /// Generations that are no longer needed are gone.
    Cleaned,
}

impl Step {
    /// Every step.
    pub const ALL: [Self; 10] = [
        Self::Begun,
        Self::Unpacked,
        Self::Made,
        Self::Linked,
        Self::Compiled,
        Self::Stamped,
        Self::Published,
        Self::Activated,
        Self::Recorded,
        Self::Cleaned,
    ];
}

/// Says nothing.
pub struct Silent;

impl Progress for Silent {}
