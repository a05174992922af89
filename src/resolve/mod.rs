//! Stage 3: which versions.
//!
//! A [`Request`] (one environment on one platform) and a [`Facts`] (what indexes say) go in, a [`Resolution`] comes
//! out, or an [`Explanation`] of why there is none. Nothing here does I/O or looks at the machine it runs on.
//!
//! ```text
//! Request --> python_order --> pubgrub <--> Provider <--> Run <--> Facts <--> Source
//!                                 |                        |
//!                                 |                        +-- scout: asks ahead, decides nothing
//!                                 +--> answer --> Resolution
//!                                 +--> explain --> edits (each solved) --> Explanation
//! ```
//!
//! Whether a release counts is fixed while a solve runs (`releases.rs`); when a reached release demands exactly one that
//! does not count by itself (a pre-release, a withdrawn or local version), it is admitted and the solve starts again.

pub mod request;
pub mod resolution;

pub mod facts;

mod edges;
mod package;

pub mod candidate;
mod releases;
mod run;

mod provider;

mod answer;
pub mod held;

mod edits;
pub mod explain;

use std::cell::RefCell;

use crate::index::source::SourceError;
use crate::pep::Version;
use crate::target::PythonMinor;

pub use explain::Explanation;
pub(crate) use explain::describe_root;
pub use facts::Facts;
pub use request::Request;
pub use resolution::Resolution;
pub(crate) use run::circumstances;

use candidate::Unfit;
use package::Node;
use provider::{Provider, Tree};
use releases::Absence;
use run::{Admitted, Run};

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing satisfies the request.
    #[error("no set of packages satisfies environment `{}` on {}", .0.env, .0.platform)]
    NoSolution(Box<Explanation>),
    /// No released Python is in the declared range, or not the one asked for.
    #[error("Python {asked} is not in the range `{declared}` of environment `{env}`")]
    PythonOutOfRange {
        /// The environment.
        env: String,
        /// The Python asked for.
        asked: PythonMinor,
        /// The declared range.
        declared: String,
    },
    /// An index could not be asked.
    #[error(transparent)]
    Source(SourceError),
    /// The network is switched off and the cache does not have it.
    #[error("{what} is not in the cache, and the network is switched off")]
    Offline {
        /// What is missing.
        what: String,
    },
    /// A deadline passed; only tried edits have one.
    #[error("out of time")]
    OutOfTime,
}

/// Solves one environment on one platform.
///
/// # Errors
/// [`Error::NoSolution`] explains itself and carries edits that were tried; the others say why there is no answer.
pub fn resolve(request: &Request, facts: &mut Facts<'_>) -> Result<Resolution, Error> {
    facts.progress().solving(&request.env.name, &request.platform.to_string());
    resolve_without_edits(request, facts).map_err(|error| match error {
        Error::NoSolution(mut explanation) => {
            explanation.edits = edits::try_edits(request, facts, &explanation);
            Error::NoSolution(explanation)
        }
        other => other,
    })
}

/// Solves as [`resolve`] does, but a refusal carries no edits: for who asks many questions and wants the reasons only.
///
/// # Errors
/// As for [`resolve`].
pub fn resolve_without_edits(request: &Request, facts: &mut Facts<'_>) -> Result<Resolution, Error> {
    match solve(request, facts)? {
        Outcome::Solved(resolution) => Ok(*resolution),
        Outcome::Refused(refusal) => {
            let explanation = explain::explain(request, facts, &refusal)?;
            Err(Error::NoSolution(Box::new(explanation)))
        }
    }
}

/// How a solve ended.
pub(crate) enum Outcome {
    Solved(Box<Resolution>),
    Refused(Box<Refusal>),
}

/// A solve without answer.
pub(crate) struct Refusal {
    pub(crate) tree: Tree,
    pub(crate) admitted: Admitted,
}

/// Solves without explaining.
pub(crate) fn solve(request: &Request, facts: &mut Facts<'_>) -> Result<Outcome, Error> {
    if let (Some(asked), true) = (request.python, run::minors(request).is_empty()) {
        let (env, declared) = (request.env.name.clone(), request.env.python.to_string());
        return Err(Error::PythonOutOfRange { env, asked, declared });
    }
    let mut admitted = Admitted::new();
    loop {
        let run = RefCell::new(Run::new(request, facts, &admitted));
        let order = run.borrow_mut().python_order()?;
        let first = order.first().copied();
        if let Some(first) = first {
            run.borrow_mut().scout(first);
        }
        let provider = Provider::new(&run, order);
        let solved = pubgrub::resolve(&provider, Node::Root, Version::new([0]));
        let outcome = match solved {
            Ok(selected) => Ok(selected),
            Err(pubgrub::PubGrubError::NoSolution(tree)) => Err(tree),
            Err(
                pubgrub::PubGrubError::ErrorChoosingVersion { source, .. }
                | pubgrub::PubGrubError::ErrorRetrievingDependencies { source, .. }
                | pubgrub::PubGrubError::ErrorInShouldCancel(source),
            ) => return Err(source),
        };
        let mut demands = provider.demands();
        if let (Err(_), Some(first)) = (&outcome, first) {
            demands.extend(run.borrow_mut().demands_ahead(first));
        }
        let news = newly_admitted(&mut run.borrow_mut(), demands)?;
        if !news.is_empty() {
            drop(provider);
            drop(run);
            admitted.extend(news);
            continue;
        }
        return match outcome {
            Ok(selected) => Ok(Outcome::Solved(Box::new(answer::answer(&run, &provider, &selected)?))),
            Err(tree) => {
                drop(provider);
                drop(run);
                Ok(Outcome::Refused(Box::new(Refusal { tree, admitted })))
            }
        };
    }
}

/// Keeps the demands for versions that exist, do not count so far, and would count once admitted.
fn newly_admitted(run: &mut Run<'_, '_>, demands: Admitted) -> Result<Admitted, Error> {
    let mut news = Admitted::new();
    for (name, version) in demands {
        for minor in run.minors() {
            let Some(releases) = run.releases(&name, minor)? else { continue };
            // `==1.0` also demands its local versions, but only the very version is admitted by being named.
            if let Some(Err(Absence::Prerelease | Absence::Unfit(Unfit::Yanked { .. }) | Absence::Local)) =
                releases.get(&version)
            {
                news.insert((name.clone(), version.clone()));
            }
        }
    }
    Ok(news)
}
