//! What an answer depends on, and what it does not.
