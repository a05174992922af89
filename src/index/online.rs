//! `OnlineSource`: a [`Source`] over the network and the cache.
//!
//! Questions run on threads of their own; the solver's thread only sends and receives.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Instant;

use super::config::Config;
use super::fault::IndexError;
use super::fetch;
use super::fetch::Network;
use super::source::{Answer, Ask, Source, SourceError};
use crate::diag::Finding;
use crate::progress::Progress;

type Outcome = (Ask, Result<Answer, IndexError>);

/// Asks real indexes.
pub struct OnlineSource {
    network: Arc<Network>,
    answers: mpsc::Receiver<Outcome>,
    sender: mpsc::Sender<Outcome>,
    counts: Arc<Counts>,
    progress: Arc<dyn Progress>,
    runtime: Option<tokio::runtime::Runtime>,
}

#[derive(Default)]
struct Counts {
    asked: AtomicUsize,
    answered: AtomicUsize,
}

impl OnlineSource {
    /// Makes a source; nothing is asked yet.
    ///
    /// # Errors
    /// When a setting cannot be used: an address, a proxy, a certificate file, netrc.
    pub fn new(config: &Config, progress: Arc<dyn Progress>) -> Result<Self, SourceError> {
        let network = Network::new(config, progress.clone()).map_err(|error| SourceError(Arc::new(error)))?;
        let runtime = fetch::runtime("macml-index", 4).map_err(|error| SourceError(Arc::new(error)))?;
        let (sender, answers) = mpsc::channel();
        Ok(Self {
            network: Arc::new(network),
            answers,
            sender,
            counts: Arc::default(),
            progress,
            runtime: Some(runtime),
        })
    }
}

impl Source for OnlineSource {
    fn ask(&mut self, ask: Ask) {
        let what = describe(&ask);
        let asked = self.counts.asked.fetch_add(1, Ordering::Relaxed) + 1;
        self.progress.requested(&what, asked - self.counts.answered.load(Ordering::Relaxed));
        let mut pending = Pending {
            ask: Some(ask.clone()),
            what,
            sender: self.sender.clone(),
            counts: self.counts.clone(),
            progress: self.progress.clone(),
        };
        let network = self.network.clone();
        let runtime = self.runtime.as_ref().expect("the runtime lives as long as the source");
        runtime.spawn(async move {
            let answer = match &ask {
                Ask::Page { index, name } => network.page(index, name).await.map(Answer::Page),
                Ask::Metadata { index, file } => network.metadata(index, file).await.map(Answer::Metadata),
                Ask::Complete { index, file } => network.complete(index, file).await.map(Answer::Complete),
            };
            pending.answer(answer);
        });
    }

    fn findings(&self) -> Vec<Finding> {
        self.network.findings()
    }

    fn wait(&mut self, until: Option<Instant>) -> Option<(Ask, Result<Answer, SourceError>)> {
        let (ask, answer) = match until {
            None => self.answers.recv().expect("this source holds a sender itself"),
            Some(until) => self.answers.recv_timeout(until.saturating_duration_since(Instant::now())).ok()?,
        };
        Some((ask, answer.map_err(|error| SourceError(Arc::new(error)))))
    }
}

impl Drop for OnlineSource {
    /// Lets go of transfers that nobody waits for; what is already known is still written to the cache.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(std::time::Duration::from_millis(200));
        }
    }
}

/// A question under way. Whatever happens to its task, it is answered.
struct Pending {
    ask: Option<Ask>,
    what: String,
    sender: mpsc::Sender<Outcome>,
    counts: Arc<Counts>,
    progress: Arc<dyn Progress>,
}

impl Pending {
    fn answer(&mut self, answer: Result<Answer, IndexError>) {
        if let Some(ask) = self.ask.take() {
            let done = self.counts.answered.fetch_add(1, Ordering::Relaxed) + 1;
            let pending = self.counts.asked.load(Ordering::Relaxed).saturating_sub(done);
            self.progress.answered(&self.what, done, pending);
            let _ = self.sender.send((ask, answer));
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let lost = IndexError::Lost(self.what.clone());
        self.answer(Err(lost));
    }
}

fn describe(ask: &Ask) -> String {
    match ask {
        Ask::Page { name, .. } => name.to_string(),
        Ask::Metadata { file, .. } | Ask::Complete { file, .. } => file.filename.to_string(),
    }
}
