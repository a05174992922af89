//! `Group`: the processes that a started program leads, which end together: at its limit, and when a signal ends this
//! process.
//!
//! A program that is started has a group of its own, so that all of it can be ended at once. Ctrl-C therefore does not
//! reach it: whoever is interrupted has to take it along.

use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::process::{Pid, Signal};

use super::signals;

/// How many groups can be there at a time; those beyond are not taken along.
const MOST: usize = 64;

/// The numbers of the groups that are there; 0 for none.
static GROUPS: [AtomicI32; MOST] = [const { AtomicI32::new(0) }; MOST];

/// What ends a process that is interrupted, left or asked to go.
const ENDING: [Signal; 4] = [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM];

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
        kill(self.id);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            place.store(0, Ordering::SeqCst);
        }
    }
}

/// Kills a group, unless the number is that of none, of all processes, or of the system's first one.
fn kill(id: i32) {
    if let Some(group) = Pid::from_raw(id).filter(|_| id > 1) {
        // It may have ended by now.
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
    }
}

/// Has a signal take the groups along.
fn listen(signal: Signal) {
    // The handler does only what a handler may: it reads atomic numbers and makes the calls `kill`, `getpid` and `signal`.
    let handler: extern "C" fn(i32) = ended;
    signals::take(signal.as_raw(), handler as *const () as usize);
}

/// Kills every group, and ends this process by the same signal, so that whoever started it sees what ended it.
extern "C" fn ended(number: i32) {
    for place in &GROUPS {
        kill(place.load(Ordering::SeqCst));
    }
    if let Some(signal) = Signal::from_named_raw(number) {
        signals::end_by(signal);
    }
}
