//! What is to be said of the libraries of an environment: facts and dyld's answer in, findings out. One file for each rule.
//!
//! ```text
//! Installed of each ─┐
//! dyld's Answer ─────┼─> Case -> each rule -> Said: a Finding, and what it is about
//! Knowledge ─────────┘
//! ```
//!
//! An error is only what is certain: dyld refuses it, two runtimes meet that are known to crash, or a library meets another
//! line than the one release that it was built for. Each trouble of the answer is told by one rule. Many of one kind are one
//! finding, with the first and their number. What the knowledge excuses is told as a note with the reason.
//!
//! A rule knows no package by name; those that speak of pairs of packages ask the knowledge for what would fit. The page
//! of each code is in `diag`, as `macml explain` prints it.

mod architecture;
mod case;
mod cpython;
mod damaged;
mod fits;
mod foreign;
mod library;
mod macos;
mod metal;
mod native_half;
mod numpy;
mod openmp;
mod order;
mod outside;
mod pjrt;
pub mod requirement;
mod said;
mod signature;
mod symbol;
mod undecided;

pub use case::{Case, Installed};
pub use macos::{Minimum, minimum};
pub use requirement::{Beside, unmet};
pub use said::Said;

/// Says everything that is to be said of a case, the worst first.
pub fn judge(case: &Case<'_>) -> Vec<Said> {
    let rules = [
        native_half::findings,
        architecture::findings,
        damaged::findings,
        cpython::findings,
        library::findings,
        symbol::findings,
        requirement::findings,
        signature::findings,
        openmp::findings,
        numpy::findings,
        metal::findings,
        pjrt::findings,
        order::findings,
        macos::findings,
        foreign::findings,
        outside::findings,
        undecided::findings,
    ];
    let mut findings: Vec<Said> = rules.iter().flat_map(|rule| rule(case)).collect();
    findings.sort_by_key(|said| said.finding.severity);
    findings
}
