//! `Exec::watched`: runs a program as if this process had become it, and reads along what it prints to its standard error, and
//! to its standard output where both go into one file or pipe.
//!
//! It stays in this process's group, with the same standard input, output and terminal. Its standard error is a terminal
//! when ours is one, of the same size and with the same settings, but for the ends of lines, which the real one makes.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{ExitCode, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus};
use rustix::pty::OpenptFlags;
use rustix::termios;

use super::exec::Exec;
use super::signals;
use super::signals::Signals;

/// How a watched program ended.
#[derive(Clone, Copy, Debug)]
pub struct Watched(WaitStatus);

/// How much is still passed on after a program's end: more than what was on its way then. What it started may go on for
/// ever.
const MOST_AFTER: u64 = 2 << 20;

/// How long a stream must have been empty, where nothing tells that no more can be on its way.
const SETTLED: Duration = Duration::from_millis(30);

/// The terminal whose keys send signals, where there is one.
const TERMINAL: &str = "/dev/tty";

/// How long printed lines are waited for before this process stops as the program did.
const BEFORE_STOP: Duration = Duration::from_millis(300);

impl Exec {
    /// Runs it to its end; `seen` gets what it prints to its standard error, after that was passed on.
    ///
    /// # Errors
    /// When it could not be started: what the system said, as of [`Exec::become_it`].
    pub fn watched(self, seen: impl FnMut(&[u8]) + Send + 'static) -> std::io::Result<Watched> {
        let Stream { from, to, terminal } = Stream::open()?;
        let held = terminal.then(|| to.try_clone()).transpose()?;
        let signals = Signals::catch(terminal)?;
        let caught = signals.caught();
        let mut command = self.command();
        // Two ways into one file or pipe would mix what the program printed in one order. Of a terminal both stay as they are:
        // programs set its modes through the one that they write to.
        if !terminal && is_one_stream() {
            command.stdout(Stdio::from(to.try_clone()?));
        }
        command.stderr(Stdio::from(to));
        let child = command.spawn();
        // It has the other end still.
        drop(command);
        let child = match child {
            Ok(child) => child,
            Err(error) => {
                caught.into_iter().for_each(signals::let_act);
                return Err(error);
            }
        };
        let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process has a number");
        let alive = Arc::new(Mutex::new(Some(id)));
        let from = Arc::new(from);
        let window = if terminal { Arc::downgrade(&from) } else { Weak::new() };
        let relay = Relay::start(from, seen);
        let told = alive.clone();
        std::thread::spawn(move || pass_on(signals, &told, &window));
        let status = loop {
            match rustix::process::waitpid(Some(id), WaitOptions::UNTRACED) {
                // Without a terminal nobody would notice, and have it go on.
                Ok(Some((_, status))) if status.stopped() && File::open(TERMINAL).is_ok() => {
                    relay.settle(Instant::now() + BEFORE_STOP);
                    stop_too(status);
                }
                Ok(Some((_, status))) if !status.stopped() => break status,
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        };
        // The number may be another one's from here on.
        *alive.lock().unwrap_or_else(PoisonError::into_inner) = None;
        caught.into_iter().for_each(signals::let_act);
        drop(held);
        relay.finish();
        Ok(Watched(status))
    }
}

impl Watched {
    /// Returns whether it ended by itself, with 0.
    pub fn succeeded(self) -> bool {
        self.0.exit_status() == Some(0)
    }

    /// Returns the number of the signal that ended it.
    pub fn signal(self) -> Option<i32> {
        self.0.terminating_signal()
    }

    /// Ends as the program did: with its code, which is returned, or by the same signal.
    pub fn pass_on(self) -> ExitCode {
        if let Some(signal) = self.0.terminating_signal() {
            if let Some(named) = Signal::from_named_raw(signal) {
                // One core is enough.
                let _ = rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
                signals::end_by(named);
                // Another thread may be the one that it is delivered to.
                std::thread::sleep(SETTLED);
            }
            // As a shell has it, where a signal did not act.
            return ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX));
        }
        ExitCode::from(self.0.exit_status().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
    }
}

/// Stops this process by what stopped the program.
fn stop_too(status: WaitStatus) {
    let Some(signal) = status.stopping_signal().and_then(Signal::from_named_raw) else { return };
    if signal == Signal::TSTP {
        // It is told again when this process goes on.
        signals::let_act(signal);
    }
    let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
}

/// Sends the program what this process is sent, unless it was sent that too.
fn pass_on(mut signals: Signals, alive: &Mutex<Option<Pid>>, window: &Weak<File>) {
    while let Some(signal) = signals.next() {
        if signal == Signal::CONT {
            signals::tell(Signal::TSTP);
        }
        if let (Signal::CONT | Signal::WINCH, Some(window)) = (signal, window.upgrade()) {
            copy_size(&*window);
        }
        // Keys of the terminal reach every process that is in front.
        let key = [Signal::INT, Signal::QUIT, Signal::TSTP, Signal::WINCH].contains(&signal);
        if key && is_in_front() {
            continue;
        }
        if let Some(id) = *alive.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = rustix::process::kill_process(id, signal);
        }
    }
}

/// Whether the keys of this process's terminal go to its group.
fn is_in_front() -> bool {
    let terminal = File::open(TERMINAL);
    terminal.is_ok_and(|terminal| termios::tcgetpgrp(&terminal).ok() == Some(rustix::process::getpgrp()))
}

fn copy_size(to: impl AsFd) {
    if let Ok(size) = termios::tcgetwinsize(std::io::stderr()) {
        let _ = termios::tcsetwinsize(to, size);
    }
}

/// Whether standard output and standard error are one file or pipe.
fn is_one_stream() -> bool {
    let identity =
        |fd: &dyn Fn() -> rustix::io::Result<rustix::fs::Stat>| fd().ok().map(|stat| (stat.st_dev, stat.st_ino));
    let out = identity(&|| rustix::fs::fstat(std::io::stdout()));
    out.is_some() && out == identity(&|| rustix::fs::fstat(std::io::stderr()))
}

/// What stands for standard error.
struct Stream {
    /// Our end.
    from: File,
    /// The program's.
    to: OwnedFd,
    /// Whether it is a terminal.
    terminal: bool,
}

impl Stream {
    fn open() -> std::io::Result<Self> {
        // Where there are no more terminals, it goes without.
        if termios::isatty(std::io::stderr())
            && let Ok((from, to)) = Self::terminal()
        {
            return Ok(Self { from, to, terminal: true });
        }
        let (from, to) = std::io::pipe()?;
        Ok(Self { from: OwnedFd::from(from).into(), to: to.into(), terminal: false })
    }

    fn terminal() -> std::io::Result<(File, OwnedFd)> {
        let from = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        rustix::io::fcntl_setfd(&from, rustix::io::FdFlags::CLOEXEC)?;
        rustix::pty::grantpt(&from)?;
        rustix::pty::unlockpt(&from)?;
        let name = std::ffi::OsString::from_vec(rustix::pty::ptsname(&from, Vec::new())?.into_bytes());
        let no_control = i32::try_from(rustix::fs::OFlags::NOCTTY.bits()).expect("it is a low bit");
        let to = File::options().read(true).write(true).custom_flags(no_control).open(name)?;
        let mut settings = termios::tcgetattr(std::io::stderr())?;
        settings.output_modes.remove(termios::OutputModes::OPOST);
        termios::tcsetattr(&to, termios::OptionalActions::Now, &settings)?;
        copy_size(&from);
        Ok((from.into(), to.into()))
    }
}

/// Passes on what comes, in a thread.
struct Relay(Arc<Mutex<Passing>>);

/// Locked while something is on its way.
struct Passing {
    /// Where it comes from; none when there is no more. Once it is closed, the program has no reader either.
    from: Option<Arc<File>>,
    /// How much was passed on.
    count: u64,
}

impl Passing {
    fn is_empty(&self) -> bool {
        let waiting = |from: &Arc<File>| rustix::io::ioctl_fionread(&**from).is_ok_and(|count| count > 0);
        !self.from.as_ref().is_some_and(waiting)
    }
}

impl Relay {
    fn start(from: Arc<File>, mut seen: impl FnMut(&[u8]) + Send + 'static) -> Self {
        let shared = Arc::new(Mutex::new(Passing { from: Some(from.clone()), count: 0 }));
        let relay = Self(shared.clone());
        std::thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            loop {
                wait_for(&*from, PollFlags::IN);
                let mut passing = shared.lock().unwrap_or_else(PoisonError::into_inner);
                match (&*from).read(&mut buffer) {
                    Ok(count) if count > 0 && write(&buffer[..count]).is_ok() => {
                        passing.count += u64::try_from(count).unwrap_or(0);
                        seen(&buffer[..count]);
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    // The end, which Linux calls an error for terminals; or nobody reads what is written.
                    _ => {
                        passing.from = None;
                        break;
                    }
                }
            }
        });
        relay
    }

    fn lock(&self) -> MutexGuard<'_, Passing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until what was printed is passed on.
    fn settle(&self, deadline: Instant) {
        let mut quiet = Quiet::default();
        while Instant::now() < deadline {
            // It may be on its way for long, where nobody reads on.
            let empty = match self.0.try_lock() {
                Ok(passing) => passing.is_empty(),
                Err(TryLockError::Poisoned(passing)) => passing.into_inner().is_empty(),
                Err(TryLockError::WouldBlock) => false,
            };
            if quiet.is_settled(empty) {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until what the program printed is passed on; not for those that it left running.
    fn finish(self) {
        let most = self.lock().count + MOST_AFTER;
        let mut quiet = Quiet::default();
        loop {
            let passing = self.lock();
            if quiet.is_settled(passing.is_empty()) || passing.from.is_none() || passing.count > most {
                return;
            }
            drop(passing);
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Since when a stream has been empty.
#[derive(Default)]
struct Quiet(Option<Instant>);

impl Quiet {
    /// Takes note of whether it is empty now; returns whether it was for long enough.
    fn is_settled(&mut self, empty: bool) -> bool {
        self.0 = if empty { self.0.or_else(|| Some(Instant::now())) } else { None };
        self.0.is_some_and(|since| since.elapsed() >= SETTLED)
    }
}

/// Writes all to standard error, be it one that does not wait.
fn write(mut bytes: &[u8]) -> std::io::Result<()> {
    let mut stderr = std::io::stderr();
    while !bytes.is_empty() {
        match stderr.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => bytes = &bytes[count..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => wait_for(&stderr, PollFlags::OUT),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Waits until a stream is ready; where it cannot be asked, reading or writing waits itself.
fn wait_for(stream: impl AsFd, event: PollFlags) {
    let mut asked = [PollFd::new(&stream, event)];
    while rustix::event::poll(&mut asked, None) == Err(rustix::io::Errno::INTR) {}
}
