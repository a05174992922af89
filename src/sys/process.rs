//! Programs: run one to its end, within a time limit, with what it printed. Errors carry the command line.
//!
//! How a program ended is an answer, whatever it was; an error is a program that could not be started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::Read;
use std::os::unix::process::CommandExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use super::group::Group;

/// A program to run: nothing of this process's environment reaches it, and its standard input is empty.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file to run.
    pub path: PathBuf,
    /// What follows it on the command line.
    pub args: Vec<OsString>,
    /// All of its environment.
    pub env: BTreeMap<String, String>,
    /// How long it may take; then it is killed, with everything it started that is still in its process group.
    pub limit: Duration,
}

/// How a program ended, and what it printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    /// How it ended.
    pub end: End,
    /// The first [`MOST_OUTPUT`] bytes of its standard output.
    pub stdout: Vec<u8>,
    /// The first [`MOST_OUTPUT`] bytes of its standard error.
    pub stderr: Vec<u8>,
}

/// How a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It was killed when its time was over.
    OutOfTime,
}

/// A program that could not be started.
#[derive(Debug, thiserror::Error)]
#[error("could not run `{command}`")]
pub struct ProcessError {
    /// The command line.
    pub command: String,
    /// What the system said.
    #[source]
    pub cause: std::io::Error,
}

/// How much of each stream is kept.
pub const MOST_OUTPUT: usize = 1 << 20;

/// How long a stream is waited for after the program's end: what it started may hold it open for ever.
const LINGER: Duration = Duration::from_millis(500);

impl fmt::Display for Program {
    /// Writes the command line as a shell would take it, with long words cut.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.path.to_string_lossy()))?;
        self.args.iter().try_for_each(|arg| write!(f, " {}", shown(&arg.to_string_lossy())))
    }
}

/// Quotes a word where a shell would need that, and cuts it where people would not read on.
fn shown(word: &str) -> String {
    const MOST: usize = 200;
    let first = word.lines().next().unwrap_or_default();
    let cut: String = first.chars().take(MOST).collect();
    let more = if cut.len() < word.len() { "…" } else { "" };
    let plain = |c: char| c.is_alphanumeric() || "/._-+=@:,%".contains(c);
    match cut.chars().all(plain) && !cut.is_empty() {
        true => format!("{cut}{more}"),
        false => format!("'{}{more}'", cut.replace('\'', r"'\''")),
    }
}

/// Runs a program to its end or to its limit. A signal that ends this process meanwhile ends the program too.
///
/// # Errors
/// When it cannot be started.
pub fn run(program: &Program) -> Result<Output, ProcessError> {
    run_telling(program, &mut |_| {})
}

/// Runs a program likewise, and passes on each line of its standard output soon after it was printed, as far as the stream
/// is kept.
///
/// # Errors
/// When it cannot be started.
pub fn run_telling(program: &Program, tell: &mut dyn FnMut(&str)) -> Result<Output, ProcessError> {
    let failed = |cause| ProcessError { command: program.to_string(), cause };
    let begun = Instant::now();
    Group::prepare();
    let mut child = start(program).map_err(failed)?;
    let group = Group::led_by(child.id());
    let stdout = Stream::read(child.stdout.take().expect("it was asked for"));
    let stderr = Stream::read(child.stderr.take().expect("it was asked for"));
    let mut told = 0;
    let mut look = || stdout.lines(&mut told).iter().for_each(|line| tell(line));
    let end = wait(&mut child, &group, begun, program.limit, &mut look).map_err(failed)?;
    drop(group);
    let deadline = Instant::now() + LINGER;
    Ok(Output { end, stdout: stdout.all(deadline), stderr: stderr.all(deadline) })
}

fn start(program: &Program) -> std::io::Result<Child> {
    let mut command = Command::new(&program.path);
    command.args(&program.args).env_clear().envs(&program.env).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Somebody may just be writing it; and a thread that forks holds every file open that another one writes.
    let mut tries = 0;
    loop {
        match command.spawn() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy && tries < 20 => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(25));
            }
            other => return other,
        }
    }
}

fn wait(
    child: &mut Child,
    group: &Group,
    begun: Instant,
    limit: Duration,
    look: &mut dyn FnMut(),
) -> std::io::Result<End> {
    let mut pause = Duration::from_millis(1);
    loop {
        look();
        if let Some(status) = child.try_wait()? {
            return Ok(end(status));
        }
        let Some(left) = limit.checked_sub(begun.elapsed()) else {
            group.kill();
            // Where the group could not be killed, at least the child; it may have ended by now.
            let _ = child.kill();
            child.wait()?;
            return Ok(End::OutOfTime);
        };
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

fn end(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Code(code),
        (None, signal) => End::Signal(signal.unwrap_or_default()),
    }
}

/// A stream that a thread reads, so that the program never waits for a reader.
struct Stream {
    kept: Arc<Mutex<Vec<u8>>>,
    done: mpsc::Receiver<()>,
}

impl Stream {
    fn read(mut source: impl Read + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (tell, done) = mpsc::channel();
        let into = kept.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            loop {
                match source.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => {
                        let mut into = into.lock().unwrap_or_else(PoisonError::into_inner);
                        let room = MOST_OUTPUT.saturating_sub(into.len());
                        into.extend_from_slice(&buffer[..count.min(room)]);
                    }
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            // Nobody may be waiting any more.
            let _ = tell.send(());
        });
        Self { kept, done }
    }

    /// Returns the lines that came whole since `from`, which moves on.
    fn lines(&self, from: &mut usize) -> Vec<String> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let new = kept.get(*from..).unwrap_or_default();
        let Some(end) = new.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        *from += end + 1;
        String::from_utf8_lossy(&new[..end]).lines().map(str::to_owned).collect()
    }

    /// Returns what came until the stream's end, or until `deadline`.
    fn all(self, deadline: Instant) -> Vec<u8> {
        let _ = self.done.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Duration) -> Program {
        Program {
            path: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            env: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
            limit,
        }
    }

    const LONG: Duration = Duration::from_secs(60);

    #[track_caller]
    fn check(script: &str, end: End, stdout: &str, stderr: &str) {
        let output = run(&sh(script, LONG)).unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        assert_eq!((output.end, text(&output.stdout), text(&output.stderr)), (end, stdout.into(), stderr.into()));
    }

    #[test]
    fn every_end_is_told_with_what_was_printed() {
        check("echo out; echo err >&2", End::Code(0), "out\n", "err\n");
        check("echo out; exit 7", End::Code(7), "out\n", "");
        check("echo out; kill -9 $$", End::Signal(9), "out\n", "");
        check("cat; echo $HOME$MACML_OFFLINE end", End::Code(0), "end\n", "");
    }

    #[test]
    fn lines_are_passed_on_while_it_runs() {
        let begun = Instant::now();
        let mut heard = Vec::new();
        let script = "echo one; printf 'two\\nthr'; sleep 1; printf 'ee\\nfour'";
        run_telling(&sh(script, LONG), &mut |line| heard.push((line.to_owned(), begun.elapsed()))).unwrap();
        let lines: Vec<&str> = heard.iter().map(|(line, _)| line.as_str()).collect();
        assert_eq!(lines[..2], ["one", "two"]);
        // What comes with the end may not have arrived when that is noticed; `Output` has it.
        assert!(lines.len() == 2 || lines[2] == "three", "{lines:?}");
        assert!(heard[1].1 < Duration::from_millis(900), "{heard:?}");
    }

    #[test]
    fn one_that_hangs_is_killed_with_what_it_started() {
        let begun = Instant::now();
        let output = run(&sh("echo $$; sleep 300 & echo $!; sleep 300", Duration::from_millis(300))).unwrap();
        assert_eq!(output.end, End::OutOfTime);
        assert!(begun.elapsed() < Duration::from_secs(30));
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        for id in text.lines() {
            let gone = || run(&sh(&format!("kill -0 {id}"), LONG)).unwrap().end != End::Code(0) || is_dead(id);
            let deadline = Instant::now() + Duration::from_secs(20);
            while !gone() {
                assert!(Instant::now() < deadline, "{id} lives");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }

    /// Whether a process that has a number still only waits to be taken note of, as in containers without an `init`.
    fn is_dead(id: &str) -> bool {
        let status = run(&sh(&format!("ps -o stat= -p {id}"), LONG)).unwrap();
        status.stdout.starts_with(b"Z")
    }

    #[test]
    fn what_it_left_running_is_not_waited_for() {
        let begun = Instant::now();
        let output = run(&sh("echo out; sleep 40 &", LONG)).unwrap();
        assert_eq!((output.end, output.stdout.as_slice()), (End::Code(0), &b"out\n"[..]));
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn of_much_output_the_beginning_is_kept() {
        let script = "i=0; while [ $i -lt 300 ]; do printf '%08192d' $i; i=$((i+1)); done; echo end >&2";
        let output = run(&sh(script, LONG)).unwrap();
        assert_eq!((output.end, output.stdout.len()), (End::Code(0), MOST_OUTPUT));
        assert_eq!(output.stderr, b"end\n");
    }

    #[test]
    fn one_that_cannot_be_started_is_named_with_its_words() {
        let mut program = sh("", LONG);
        program.path = "/nowhere/a program".into();
        program.args = ["-I", "it's", "", "import sys\nmore", &"x".repeat(300)].map(OsString::from).into();
        let error = run(&program).unwrap_err();
        let cut = "x".repeat(200);
        let expected = format!(r"could not run `'/nowhere/a program' -I 'it'\''s' '' 'import sys…' {cut}…`");
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.cause.kind(), std::io::ErrorKind::NotFound);
    }
}
