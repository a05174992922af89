//! Operators of torch, and which of them have a kernel for a Mac's GPU.
//!
//! ```text
//! native_functions.yaml of a wheel -> table -> Kernel, State
//! kernels.txt, made from the tables of every release -> kernels -> "first in torch X"
//! what people write -> name -> names of operators -> ask -> rows, one for each
//! ```
//!
//! torch's own wheel carries the table from which its dispatcher is made (`torchgen/packaged/ATen/native/`), so what a
//! Mac's torch can do is told anywhere. What the table cannot tell: kernels that are registered in C++ only, which types
//! and shapes a kernel refuses, and what a composite calls. Trying operators on a GPU is `verify`'s.
//!
//! Knows nothing of wheels, indexes and files: it is given texts.

mod ask;
mod name;
mod table;

pub mod kernels;

pub use ask::{
    Asked, Change, Comparison, Counts, Overloads, Row, ask, by_base, compare, counts, knows, last, missing,
    missing_inside, row, together,
};
pub use name::{Mentioned, Name, NameError, mentioned, readings, split};
pub use table::{Backend, Kernel, Operator, State, Table, TableError};

/// Where a wheel of torch carries its table.
pub const TABLE_PATH: &str = "torchgen/packaged/ATen/native/native_functions.yaml";
