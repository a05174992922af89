//! What tests share: made-up packages, the wheels of them, and servers on loopback.

pub(crate) mod server;
pub(crate) mod socks;
pub(crate) mod universe;
pub(crate) mod wheel;
