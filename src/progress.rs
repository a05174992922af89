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

/// Says nothing.
pub struct Silent;

impl Progress for Silent {}
