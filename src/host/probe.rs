//! The only reader of what macOS says of the machine.

use super::Host;

/// Why the machine could not be looked at.
#[derive(Debug, thiserror::Error)]
#[error("could not read `{name}` from the system")]
pub struct ProbeError {
    /// The name of the value.
    pub name: &'static str,
    /// What the system said.
    #[source]
    pub cause: std::io::Error,
}

/// Looks at this machine; `None` where it is no Mac.
///
/// # Errors
/// When macOS does not say what it must know.
pub fn probe() -> Result<Option<Host>, ProbeError> {
    unimplemented!()
}
