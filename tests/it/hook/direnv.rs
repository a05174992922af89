//! `use macml` in the real direnv.
