//! The block between two markers of a Markdown file: a small table of the latest run. All else stays byte for byte.
//!
//! A marker counts where it stands alone on its line and in no fenced code, so that a README may also tell of them.

use std::path::{Path, PathBuf};

use super::run::Measurement;
use super::run::Run;
use super::run::Work;
use super::shown;
use crate::sys::fs;
use crate::sys::fs::{Durability, FsError, Written};
use crate::verify::protocol::Device;

/// The line after which the block begins.
pub const BEGIN: &str = "<!-- macml bench -->";

/// The line before which the block ends.
pub const END: &str = "<!-- /macml bench -->";

/// Why a file's block cannot be replaced. The remedy for what is wrong with markers is to paste [`BEGIN`] and [`END`].
#[derive(Debug, thiserror::Error)]
pub enum ReadmeError {
    /// There is no such file.
    #[error("there is no `{}`", .0.display())]
    Absent(PathBuf),
    /// It is not UTF-8.
    #[error("`{}` is not UTF-8 text (line {line})", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The first line that is not.
        line: usize,
    },
    /// Its markers are not one of each in their order.
    #[error("`{}`{}: {fault}", path.display(), fault.place())]
    Markers {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: MarkerFault,
    },
    /// It could not be read or written.
    #[error(transparent)]
    Disk(#[from] FsError),
}

/// What is wrong with the markers of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MarkerFault {
    /// Neither is there.
    #[error("has no line `{BEGIN}`")]
    Neither,
    /// Only the first is there.
    #[error("`{BEGIN}` has no `{END}` after it")]
    NoEnd {
        /// Where the first is.
        line: usize,
    },
    /// Only the second is there, or it comes before the first.
    #[error("`{END}` has no `{BEGIN}` before it")]
    NoBegin {
        /// Where the second is.
        line: usize,
    },
    /// One is there again.
    #[error("`{marker}` stands there a second time, after line {first}")]
    Twice {
        /// Which.
        marker: &'static str,
        /// Where it is first.
        first: usize,
        /// Where it is again.
        line: usize,
    },
}

impl MarkerFault {
    /// Writes the line it is about, as it stands behind the name of a file.
    fn place(&self) -> String {
        match self {
            Self::Neither => String::new(),
            Self::NoEnd { line } | Self::NoBegin { line } | Self::Twice { line, .. } => format!(":{line}"),
        }
    }
}

/// Replaces the block of a file by one about a run, as one step. A symlink stays, and the file that it leads to is
/// written; a file that has this block already is not touched.
///
/// # Errors
/// When the file is not there, is no text, has not one marker of each, or cannot be written. It is then as it was.
pub fn write(path: &Path, run: &Run) -> Result<Written, ReadmeError> {
    let text = read(path)?;
    let replaced = replace(&text, &block(run));
    let replaced = replaced.map_err(|fault| ReadmeError::Markers { path: path.to_owned(), fault })?;
    Ok(fs::write_atomic(path, replaced.as_bytes(), Durability::Flushed)?)
}

/// Says beforehand whether a file has a block that can be replaced.
///
/// # Errors
/// When [`write()`] would not find one.
pub fn check(path: &Path) -> Result<(), ReadmeError> {
    let fault = |fault| ReadmeError::Markers { path: path.to_owned(), fault };
    markers(&read(path)?).map(drop).map_err(fault)
}

fn read(path: &Path) -> Result<String, ReadmeError> {
    let bytes = fs::read_bytes(path)?.ok_or_else(|| ReadmeError::Absent(path.to_owned()))?;
    String::from_utf8(bytes).map_err(|error| {
        let right = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = right.iter().filter(|byte| **byte == b'\n').count() + 1;
        ReadmeError::NotText { path: path.to_owned(), line }
    })
}

/// Replaces what stands between the markers of a text by other lines, with the line ends that the first marker has.
///
/// # Errors
/// When there is not one marker of each, in their order.
pub fn replace(text: &str, block: &str) -> Result<String, MarkerFault> {
    let (begin, end) = markers(text)?;
    let line_end = if text[..begin].ends_with("\r\n") { "\r\n" } else { "\n" };
    let lines = block.lines().map(|line| format!("{line}{line_end}")).collect::<String>();
    Ok(format!("{}{lines}{}", &text[..begin], &text[end..]))
}

/// Finds where the line after the first marker begins, and where that of the second.
fn markers(text: &str) -> Result<(usize, usize), MarkerFault> {
    // Where each is: its line, where that begins and where it ends.
    let mut found: [Option<(usize, usize, usize)>; 2] = [None, None];
    let mut fence: Option<&str> = None;
    let mut start = 0;
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let content = if at == 0 { line.trim_start_matches('\u{feff}') } else { line };
        let content = content.trim_end();
        // Four spaces make it code.
        let bare = content.trim_start_matches(' ');
        let bare = if content.len() - bare.len() > 3 { "" } else { bare };
        let ticks = ["`", "~"].map(|sign| &bare[..bare.len() - bare.trim_start_matches(sign).len()]);
        // What follows three backticks and has another one is no fence but code in a line.
        let fences = |run: &&str| run.len() >= 3 && !(run.starts_with('`') && bare[run.len()..].contains('`'));
        let run = ticks.into_iter().find(fences);
        match (fence, run) {
            (None, Some(run)) => fence = Some(run),
            (Some(open), Some(run)) if run.starts_with(open) && bare == run => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                let which = [BEGIN, END].iter().position(|marker| *marker == bare);
                if let Some(which) = which {
                    if let Some((first, ..)) = found[which] {
                        return Err(MarkerFault::Twice { marker: [BEGIN, END][which], first, line: at + 1 });
                    }
                    found[which] = Some((at + 1, start, start + line.len()));
                }
            }
        }
        start += line.len();
    }
    match found {
        [None, None] => Err(MarkerFault::Neither),
        [Some((line, ..)), None] => Err(MarkerFault::NoEnd { line }),
        [None, Some((line, ..))] => Err(MarkerFault::NoBegin { line }),
        [Some((begin, ..)), Some((end, ..))] if end < begin => Err(MarkerFault::NoBegin { line: end }),
        [Some((_, _, begin)), Some((_, end, _))] => Ok((begin, end)),
    }
}

/// Writes the lines between the markers: where and with what it was measured, and the medians as a table.
pub fn block(run: &Run) -> String {
    let mut lines = vec![String::new(), escaped(&about(run)), String::new()];
    let mut rows = rows(run);
    if rows.is_empty() {
        lines.push("No times were measured.".to_owned());
    } else {
        lines.push("| Work | Type | CPU | GPU | GPU against CPU |".to_owned());
        lines.push("| --- | --- | ---: | ---: | ---: |".to_owned());
        lines.append(&mut rows);
    }
    lines.push(String::new());
    lines.join("\n") + "\n"
}

/// Says where, with what and when.
fn about(run: &Run) -> String {
    let devices = run.measurements.iter().filter_map(|one| one.device_name.as_deref());
    let mut machine: Vec<&str> = Vec::new();
    for name in run.processor().into_iter().chain(devices) {
        if !machine.contains(&name) {
            machine.push(name);
        }
    }
    let memory = run.memory.map(shown::memory);
    let place = machine.into_iter().chain(memory.as_deref()).chain([run.circumstances.system.as_str()]);
    let packages = run.main_packages().into_iter().map(|(name, version)| format!("{name} {version}"));
    let what = packages.chain([format!("measured on {}", shown::day(run.when))]);
    format!("{}; {}", place.collect::<Vec<_>>().join(", "), what.collect::<Vec<_>>().join(", "))
}

/// Writes a row for each work and type, with what it took on either device.
fn rows(run: &Run) -> Vec<String> {
    let key = |one: &Measurement| (one.framework, one.work, one.element);
    let mut keys: Vec<_> = run.measurements.iter().map(key).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.iter().map(|of| row(run.measurements.iter().filter(|one| key(one) == *of).collect(), run)).collect()
}

/// Writes what one work took in one type on all devices, of which the CPU's may be of a smaller size.
fn row(all: Vec<&Measurement>, run: &Run) -> String {
    let size = all.iter().map(|one| one.size).max().unwrap_or_default();
    let cell = |one: Option<&&Measurement>| match one {
        None => "–".to_owned(),
        Some(one) => match one.median() {
            None if one.error.is_some() => "failed".to_owned(),
            None => "left out".to_owned(),
            Some(median) if one.size == size => shown::seconds(median),
            Some(median) => format!("{} (of {})", shown::seconds(median), shown::grouped(one.size)),
        },
    };
    let cpu = all.iter().find(|one| one.device == Device::Cpu);
    let gpu = all.iter().find(|one| one.device != Device::Cpu);
    let speedup = gpu.and_then(|one| run.against_cpu(one)).map_or_else(|| "–".to_owned(), shown::times);
    let (framework, element) = (all[0].framework, all[0].element);
    let grouped = shown::grouped(size);
    let work = match all[0].work {
        Work::Product => format!("product of {grouped} × {grouped} matrices"),
        Work::Convolution => format!("training a small convolutional network, {grouped} samples"),
    };
    format!("| {framework}: {work} | {element} | {} | {} | {speedup} |", cell(cpu), cell(gpu))
}

/// Makes text safe in a line of Markdown.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '#' | '!' | '$' => {
                out.push('\\');
                out.push(character);
            }
            // They turn the direction of writing.
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            control if control.is_control() => out.push(' '),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_outside_stays_byte_for_byte() {
        let check = |before: &str, after: &str| {
            let once = replace(before, "new\n").unwrap();
            assert_eq!(once, after);
            assert_eq!(replace(&once, "new\n").unwrap(), once, "again");
        };
        check(
            "a\n<!-- macml bench -->\nold\nolder\n<!-- /macml bench -->\nb\n",
            "a\n<!-- macml bench -->\nnew\n<!-- /macml bench -->\nb\n",
        );
        // Nothing between them, no line end at the end, marks of a byte order, spaces, other line ends elsewhere.
        check("<!-- macml bench -->\n<!-- /macml bench -->", "<!-- macml bench -->\nnew\n<!-- /macml bench -->");
        check(
            "\u{feff}<!-- macml bench -->\n<!-- /macml bench -->\n",
            "\u{feff}<!-- macml bench -->\nnew\n<!-- /macml bench -->\n",
        );
        check(
            "a\n  <!-- macml bench --> \r\nold\n<!-- /macml bench -->\r\nb\r",
            "a\n  <!-- macml bench --> \r\nnew\r\n<!-- /macml bench -->\r\nb\r",
        );
        // What is shown as code is no marker.
        let told = "```md\n<!-- macml bench -->\n<!-- /macml bench -->\n```\n~~~~\n~~~\n<!-- macml bench -->\n~~~~\n    <!-- macml bench -->\nthe line `<!-- macml bench -->`\n";
        check(
            &format!("{told}<!-- macml bench -->\n<!-- /macml bench -->\n{told}"),
            &format!("{told}<!-- macml bench -->\nnew\n<!-- /macml bench -->\n{told}"),
        );
    }

    #[test]
    fn markers_that_do_not_fit_are_named_by_line() {
        let check = |lines: &[&str], expected: MarkerFault| assert_eq!(replace(&lines.join("\n"), "x"), Err(expected));
        check(&["a", "b"], MarkerFault::Neither);
        check(&[""], MarkerFault::Neither);
        check(&["a", BEGIN], MarkerFault::NoEnd { line: 2 });
        check(&["a", "", END], MarkerFault::NoBegin { line: 3 });
        check(&[END, "a", BEGIN], MarkerFault::NoBegin { line: 1 });
        check(&[BEGIN, END, "", BEGIN, END], MarkerFault::Twice { marker: BEGIN, first: 1, line: 4 });
        check(&[BEGIN, END, END], MarkerFault::Twice { marker: END, first: 2, line: 3 });
        check(&["```", BEGIN, END], MarkerFault::Neither);
    }

    #[test]
    fn a_name_cannot_leave_its_line_or_close_the_block() {
        assert_eq!(escaped("a|b\n<!-- /macml bench -->`x`"), "a\\|b \\<\\!-- /macml bench --\\>\\`x\\`");
    }
}
