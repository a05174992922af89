//! macml: declare, lock and prove machine-learning environments for Apple Silicon Macs.

pub mod sys;

pub mod diag;

pub mod progress;

pub mod pep;

pub mod host;

pub mod target;

pub mod manifest;

pub mod index;

pub mod resolve;

pub mod lock;

pub mod pipeline;
