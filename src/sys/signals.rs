//! Signals while another program does the work: they are told to a thread instead of ending this process.

use std::io::{PipeReader, Read as _};
use std::os::fd::IntoRawFd as _;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::process::Signal;

/// What a program may be sent by people and supervisors, and can act on. Those of the terminal's window come apart.
const PASSED_ON: [Signal; 9] = [
    Signal::HUP,
    Signal::INT,
    Signal::QUIT,
    Signal::TERM,
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::TSTP,
    Signal::CONT,
];

/// Where the handler writes.
static TO: AtomicI32 = AtomicI32::new(-1);

/// What the system calls the default, and ignoring.
const DEFAULT: usize = 0;
const IGNORED: usize = 1;

// `signal` keeps the handler and restarts what it interrupted on every system that macml runs on: BSD's semantics.
#[expect(unsafe_code, reason = "the standard library has no signals")]
mod posix {
    // SAFETY: the declarations are those of POSIX, with `int` of 32 bits; `signal` takes two small numbers or a function
    // in the second's place, and refuses what it does not know.
    unsafe extern "C" {
        pub(super) safe fn signal(number: i32, handler: usize) -> usize;
        fn write(descriptor: i32, bytes: *const u8, count: usize) -> isize;
    }

    pub(super) extern "C" fn tell(number: i32) {
        let byte = number.to_le_bytes()[0];
        let to = super::TO.load(std::sync::atomic::Ordering::Relaxed);
        // SAFETY: `write` may be called by a handler; one byte is there.
        let _ = unsafe { write(to, &raw const byte, 1) };
    }
}

/// Signals that are told.
pub(super) struct Signals {
    from: PipeReader,
    caught: Vec<Signal>,
}

impl Signals {
    /// Has them told from now on. Those that this process was made to ignore stay ignored, also by what it starts.
    pub(super) fn catch(with_window: bool) -> std::io::Result<Self> {
        let (from, to) = std::io::pipe()?;
        TO.store(to.into_raw_fd(), Ordering::Relaxed);
        let window = with_window.then_some(Signal::WINCH);
        let mut caught = Vec::new();
        for number in PASSED_ON.into_iter().chain(window) {
            if take(number.as_raw(), handler()) {
                caught.push(number);
            }
        }
        Ok(Self { from, caught })
    }

    /// Lists those that are told.
    pub(super) fn caught(&self) -> Vec<Signal> {
        self.caught.clone()
    }

    /// Waits for the next one.
    pub(super) fn next(&mut self) -> Option<Signal> {
        let mut byte = [0];
        self.from.read_exact(&mut byte).ok()?;
        Signal::from_named_raw(byte[0].into())
    }
}

/// Has a signal handled, unless it is one that this process was started to ignore, as by `nohup`; returns whether it is.
pub(super) fn take(number: i32, handler: usize) -> bool {
    let ignored = posix::signal(number, handler) == IGNORED;
    if ignored {
        posix::signal(number, IGNORED);
    }
    !ignored
}

fn handler() -> usize {
    posix::tell as *const () as usize
}

/// Has a signal told again.
pub(super) fn tell(signal: Signal) {
    posix::signal(signal.as_raw(), handler());
}

/// Gives a signal its own effect again.
pub(super) fn let_act(signal: Signal) {
    posix::signal(signal.as_raw(), DEFAULT);
}

/// Ends this process by a signal: a handler of it is left first.
pub(super) fn end_by(signal: Signal) {
    let_act(signal);
    let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
}
