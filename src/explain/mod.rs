//! From an error text to its cause: which of the known patterns it holds, which of them is the cause, and what the facts of
//! the machine and the project say to it.
//!
//! Input: a text, and [`crate::doctor::Facts`] where there are any. Output: an [`Explanation`], or none: rather nothing than a
//! guess. Pure.

use crate::doctor::Facts;
use crate::knowledge::Knowledge;

mod explanation;

pub use explanation::{Explanation, Matched};

/// Finds the cause behind a text.
pub fn explain(_text: &[u8], _facts: Option<&Facts>, _knowledge: &Knowledge) -> Option<Explanation> {
    None
}
