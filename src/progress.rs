//! What stages say while they work. Every event has an empty default; the binary draws them.

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

    /// The solver took up an environment.
    fn solving(&self, environment: &str, platform: &str) {
        let _ = (environment, platform);
    }

    /// Something worth one line that is no finding, such as a mirror passed over.
    fn note(&self, text: &str) {
        let _ = text;
    }
}

/// Says nothing.
pub struct Silent;

impl Progress for Silent {}
