//! From an error text to its cause: which of the known patterns it holds, which of them is the cause, and what the facts of
//! the machine and the project say to it.
//!
//! Input: a text, and [`crate::doctor::Facts`] where there are any. Output: an [`Explanation`], or none: rather nothing than a
//! guess. Pure.

mod text;

mod signature;

mod find;

mod judge;

mod explanation;

use crate::doctor::Facts;
use crate::knowledge::Knowledge;

pub use explanation::{Explanation, Matched};

/// Finds the cause behind a text; `None` where none is known.
pub fn explain(text: &[u8], facts: Option<&Facts>, knowledge: &Knowledge) -> Option<Explanation> {
    let on_mac = facts.is_none_or(|facts| facts.machine.host.is_some() || facts.machine.system != "linux");
    let log = find::Log::new(text::lines(text), on_mac);
    let (cause, others) = log.cause()?;
    let others = others.iter().map(|one| (one.signature.code, one.matched())).collect();
    Some(judge::judge(&cause, others, facts, knowledge))
}
