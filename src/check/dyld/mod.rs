//! Whether dyld would accept the images of a tree together: its search for libraries and its search for symbols, over
//! facts instead of files.
//!
//! ```text
//! distributions -> Tree ─┐
//!            -> host (which roots, after whose roots) ─> Process: load, as dyld does ─> library: which file answers
//!                                                                └─> symbol: who exports it ─> Answer
//! ```
//!
//! The rules are those of Apple's published loader, <https://github.com/apple-oss-distributions/dyld> (dyld-1378), and of
//! those who call it: Python opens extensions with all binds at once and visible to all, `ctypes` opens libraries that only
//! their dependents see.
//!
//! What is asked: would each image load. What cannot be told from files, in what order a program opens them, is a model in
//! `host`. No package is known by name here; what is known of frameworks is where they look for plugins.
//!
//! An image is judged once, in the process in which it is first needed. That it would find other libraries in another one
//! was never seen, and is said where it is.

mod answer;
mod cpython;
mod host;
mod library;
mod process;
mod symbol;
mod system;
mod tree;

pub use answer::{Answer, Brought, Expected, Grade, Judged, Library, Outside, Refusal, Tried, Trouble, What};
pub use process::simulate;
pub use tree::Distribution;
pub(super) use tree::leaf;
