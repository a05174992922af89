//! The marker of an unpacked wheel: what the wheel says of itself, and each file with size and digest. It is written last;
//! an entry of the cache without a whole one does not exist.
//!
//! Lines of text, of which the last is the digest of those above, so that a part of a marker is none. Paths hold no line
//! breaks: the wheel was judged before.

use std::fmt::Write as _;
use std::sync::Arc;

use super::scripts::{EntryPoint, Kind};
use super::wheel::About;
use crate::pep::{Sha256, WheelName};

/// The first line. Another form needs another number, and a wheel is unpacked again then.
const HEAD: &str = "macml wheel 1";

/// A file of an unpacked wheel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CachedFile {
    /// Its path in the wheel.
    pub path: String,
    /// Its size.
    pub size: u64,
    /// Its digest.
    pub sha256: Sha256,
    /// Whether it may be run.
    pub executable: bool,
    /// Whether it is a Mach-O image, which is kept read-only.
    pub native: bool,
    /// Whether its first line is to name the environment's interpreter.
    pub python_script: bool,
}

/// All that a marker says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Marker {
    pub(super) name: WheelName,
    pub(super) about: About,
    /// Sorted by path.
    pub(super) files: Vec<Arc<CachedFile>>,
}

/// Writes a marker.
pub(super) fn text(marker: &Marker) -> String {
    let about = &marker.about;
    let mut text = format!("{HEAD}\nname {}\ninfo {}\n", marker.name, about.dist_info);
    let line = |text: std::fmt::Arguments<'_>, into: &mut String| {
        writeln!(into, "{text}").expect("writing to a text does not fail");
    };
    if let Some(data) = &about.data {
        line(format_args!("data {data}"), &mut text);
    }
    if about.purelib {
        line(format_args!("pure"), &mut text);
    }
    for tag in &about.strange_tags {
        line(format_args!("tag {tag}"), &mut text);
    }
    for entry in &about.entry_points {
        let word = match entry.kind {
            Kind::Console => "console",
            Kind::Gui => "gui",
        };
        line(format_args!("{word} {} {} {}", entry.module, entry.object, entry.name), &mut text);
    }
    for file in &marker.files {
        let flag = |on: bool, flag: char| if on { flag } else { '-' };
        let flags = [flag(file.executable, 'x'), flag(file.native, 'n'), flag(file.python_script, 'p')];
        let [executable, native, script] = flags;
        line(format_args!("file {executable}{native}{script} {} {} {}", file.size, file.sha256, file.path), &mut text);
    }
    let digest = Sha256::of(text.as_bytes());
    line(format_args!("end {digest}"), &mut text);
    text
}

/// Reads a marker; `None` when it is not whole or not of this form.
pub(super) fn parse(text: &str) -> Option<Marker> {
    let body = text.strip_suffix('\n')?;
    let (body, last) = body.split_at(body.rfind('\n')? + 1);
    if last.strip_prefix("end ")?.parse::<Sha256>().ok()? != Sha256::of(body.as_bytes()) {
        return None;
    }
    let mut lines = body.lines();
    if lines.next()? != HEAD {
        return None;
    }
    let name = lines.next()?.strip_prefix("name ")?.parse().ok()?;
    let dist_info = lines.next()?.strip_prefix("info ")?.to_owned();
    let mut about = About { dist_info, data: None, purelib: false, entry_points: Vec::new(), strange_tags: Vec::new() };
    let mut files = Vec::new();
    for line in lines {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "file" => files.push(Arc::new(file(rest)?)),
            "data" => about.data = Some(rest.to_owned()),
            "pure" => about.purelib = true,
            "tag" => about.strange_tags.push(rest.to_owned()),
            "console" | "gui" => {
                let mut parts = rest.splitn(3, ' ').map(str::to_owned);
                let kind = if word == "gui" { Kind::Gui } else { Kind::Console };
                let (module, object, name) = (parts.next()?, parts.next()?, parts.next()?);
                about.entry_points.push(EntryPoint { kind, name, module, object });
            }
            _ => return None,
        }
    }
    // As many as there are, and no more: an environment has tens of thousands.
    files.shrink_to_fit();
    Some(Marker { name, about, files })
}

fn file(line: &str) -> Option<CachedFile> {
    let mut parts = line.splitn(4, ' ');
    let (flags, size, sha256, path) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    Some(CachedFile {
        path: path.to_owned(),
        size: size.parse().ok()?,
        sha256: sha256.parse().ok()?,
        executable: flags.contains('x'),
        native: flags.contains('n'),
        python_script: flags.contains('p'),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marker() -> Marker {
        let file = |path: &str, flags: [bool; 3]| CachedFile {
            path: path.to_owned(),
            size: 7,
            sha256: Sha256::of(path.as_bytes()),
            executable: flags[0],
            native: flags[1],
            python_script: flags[2],
        };
        let entry = |kind, name: &str| EntryPoint {
            kind,
            name: name.to_owned(),
            module: "a.b".to_owned(),
            object: "C.d".to_owned(),
        };
        Marker {
            name: "a-1.0-py3-none-any.whl".parse().unwrap(),
            about: About {
                dist_info: "a-1.0.dist-info".to_owned(),
                data: Some("a-1.0.data".to_owned()),
                purelib: true,
                entry_points: vec![entry(Kind::Console, "x"), entry(Kind::Gui, "a b")],
                strange_tags: vec!["py2-none-any".to_owned()],
            },
            files: vec![
                file("a b/c  d", [false; 3]).into(),
                file("a.dylib", [true, true, false]).into(),
                file("a-1.0.data/scripts/x", [true, false, true]).into(),
            ],
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        assert_eq!(parse(&text(&marker())), Some(marker()));
        let mut plain = marker();
        plain.about = About { data: None, purelib: false, entry_points: vec![], strange_tags: vec![], ..plain.about };
        plain.files.clear();
        assert_eq!(parse(&text(&plain)), Some(plain));
    }

    #[test]
    fn a_part_of_a_marker_is_none() {
        let whole = text(&marker());
        for length in 0..whole.len() {
            assert_eq!(parse(&whole[..length]), None, "{length}");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone().into_bytes();
            bytes[at] ^= 1;
            assert_eq!(String::from_utf8(bytes).ok().and_then(|text| parse(&text)), None, "{at}");
        }
        assert_eq!(parse(&format!("{whole}more\n")), None);
    }
}
