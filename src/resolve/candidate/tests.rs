//! Which wheel of a release is taken, and the reasons why none is.
