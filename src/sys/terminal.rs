//! The terminal behind a stream.

use rustix::termios;

/// Returns how many columns the terminal behind standard output has; none where there is none, or it does not say.
pub fn columns() -> Option<usize> {
    let size = termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}
