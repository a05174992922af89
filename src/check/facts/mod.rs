//! What is known of the Mach-O images of a wheel or a tree: read once, kept by the wheel's sha256.
//!
//! ```text
//! wheel, as it is inflated ---+
//! wheel, unpacked in the cache +-> gather -> macho (Image), metal, python -> WheelFacts <-> FactsCache
//! files of a tree ------------+
//! ```
//!
//! Nothing here judges: an image that cannot load is a fact too. Facts are of one wheel alone, whatever stands beside it.

mod cache;
mod exports;
mod gather;
mod image;
pub mod macho;
mod metal;
mod python;

pub use cache::FactsCache;
pub use exports::{Export, Exports, ReExport, Trie, TrieError};
pub use gather::{read_tree, read_tree_as_far, read_unpacked, read_wheel};
pub use image::{
    Architecture, Build, Dependency, Image, Import, Imports, Kind, Markers, NumpyAbi, Ordinal, Pjrt, Platform,
    Signature, Slice, Table, Unloadable, Version, WheelFacts,
};
pub use image::{Foreign, ForeignFormat, Hook, Link, MetalLibrary, Package};
