//! `Group`: the processes that a started program leads, which end together: at its limit, and when a signal ends this
//! process.
//!
//! A program that is started has a group of its own, so that all of it can be ended at once. Ctrl-C therefore does not
//! reach it: whoever is interrupted has to take it along.

use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering};

use super::signals;
use super::signals::{DEFAULT, posix};

/// How many groups can be there at a time; those beyond are not taken along.
const MOST: usize = 64;

/// The numbers of the groups that are there; 0 for none.
static GROUPS: [AtomicI32; MOST] = [const { AtomicI32::new(0) }; MOST];

/// What ends a process that is interrupted, left or asked to go: SIGHUP, SIGINT, SIGQUIT, SIGTERM. They have these numbers
/// on every system that macml runs on.
const ENDING: [i32; 4] = [1, 2, 3, 15];

const SIGKILL: i32 = 9;

// SAFETY: the declarations are those of POSIX on every system that macml runs on, where `pid_t` and `int` are 32 bits. Any
// two numbers may be given to `kill`, and any to `raise`.
#[expect(unsafe_code, reason = "the standard library does not kill groups")]
unsafe extern "C" {
    safe fn kill(process: i32, signal: i32) -> i32;
    safe fn raise(signal: i32) -> i32;
}

/// A group that ends when a signal ends this process, until this value is dropped.
pub(super) struct Group {
    id: i32,
    place: Option<&'static AtomicI32>,
}

impl Group {
    /// Prepares for signals. A program that is started from here on can be taken along.
    pub(super) fn prepare() {
        static PREPARED: Once = Once::new();
        PREPARED.call_once(|| ENDING.into_iter().for_each(listen));
    }

    /// Takes the group that a child leads, which was not waited for yet.
    pub(super) fn led_by(child: u32) -> Self {
        let id = i32::try_from(child).unwrap_or_default();
        let free = |place: &&AtomicI32| place.compare_exchange(0, id, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        let place = if id > 1 { GROUPS.iter().find(free) } else { None };
        Self { id, place }
    }

    /// Kills it. The number is the group's own until its leader is waited for.
    pub(super) fn kill(&self) {
        if self.id > 1 {
            kill(-self.id, SIGKILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            place.store(0, Ordering::SeqCst);
        }
    }
}

/// Has a signal take the groups along.
fn listen(number: i32) {
    // The handler does only what a handler may: it reads atomic numbers and calls `kill`, `signal` and `raise`.
    let handler: extern "C" fn(i32) = ended;
    signals::take(number, handler as *const () as usize);
}

/// Kills every group, and ends this process by the same signal, so that whoever started it sees what ended it.
extern "C" fn ended(number: i32) {
    for place in &GROUPS {
        let id = place.load(Ordering::SeqCst);
        if id > 1 {
            kill(-id, SIGKILL);
        }
    }
    // The signal waits until this function is left.
    posix::signal(number, DEFAULT);
    raise(number);
}
