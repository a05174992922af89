//! Stage 2: what exists.
//!
//! Names of packages and files go in; pages, METADATA, sizes and hashes come out, whoever served them.
//!
//! ```text
//!   solver ── Ask ──> online ──> fetch ──> cache (pages, METADATA)
//!          <─ Answer ─             │
//!                                  ├─> mirror, mirror, …, the index itself ──> sys::http
//!                                  ├─> simple (page text) ─> stored ─> Page
//!                                  ├─> remote_zip (METADATA inside a wheel, or another file: members)
//!   locked wheels ──> download ────┘   whole files
//!   everybody that could be asked ──> speed ──> sys::http, once each
//! ```

pub mod source;

pub mod builtin;
mod user_config;

pub mod config;

mod simple;
mod stored;

pub mod cache;
mod credentials;
pub mod fault;
mod remote_zip;

mod direct;

mod foreign;

mod fetch;
pub mod members;
mod online;

pub mod download;

pub mod speed;

pub use config::{Config, ConfigError, ConfigFile, IndexAddress, Mirror};
pub use fault::IndexError;
pub use foreign::{ForeignIndex, foreign_indexes, foreign_settings};
pub use members::{MemberAnswer, Members};
pub use online::OnlineSource;
pub use simple::percent_decoded;
