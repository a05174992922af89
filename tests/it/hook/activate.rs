//! Activation by hand, in the shells that have a text for it.
