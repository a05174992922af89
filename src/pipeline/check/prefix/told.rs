//! The words of what is not as it was installed. Pure.

use crate::check::contents::How;
use crate::check::contents::What;
use crate::diag::Code;
use crate::diag::Finding;
use crate::pep::PackageName;
use crate::pipeline::check::environment;
use crate::pipeline::check::part::Told;

/// How many files of a package are named one by one.
const MOST: usize = 5;

/// Of what something is told.
#[derive(Clone, Debug)]
pub(super) struct Whose {
    /// Its release, as it is named: `` `numpy` 2.4.6 ``.
    pub(super) release: String,
    /// Its package.
    pub(super) package: Option<PackageName>,
    /// Who says what should be there: `RECORD`.
    pub(super) by: &'static str,
    /// What puts it right.
    pub(super) hint: String,
}

/// Says what became of the files of one package.
pub(super) fn files(whose: &Whose, differences: &[What]) -> Vec<Told> {
    let told = |path: Option<&str>, message: String| Told {
        finding: Finding::error(Code::NotAsRecorded, message).hinting(whose.hint.clone()),
        package: whose.package.clone(),
        path: path.map(str::to_owned),
    };
    let few = if differences.len() > MOST + 1 { MOST } else { differences.len() };
    let named = differences[..few].iter().filter_map(|what| Some(told(what.path(), sentence(whose, what)?)));
    let mut all: Vec<Told> = named.collect();
    if let Some(first) = differences.get(few) {
        let rest = &differences[few..];
        let gone = rest.iter().filter(|what| matches!(what, What::Missing { .. })).count();
        let (count, release) = (rest.len(), &whose.release);
        let message = match gone {
            0 => format!("{count} more files of {release} are not as {} says", whose.by),
            _ if gone == count => format!("{count} more files of {release} are gone"),
            _ => format!("{count} more files of {release} are not as {} says, {gone} of them gone", whose.by),
        };
        all.push(told(first.path(), message));
    }
    all
}

/// Says what became of one file.
fn sentence(whose: &Whose, what: &What) -> Option<String> {
    let Whose { release, by, .. } = whose;
    Some(match what {
        What::Missing { path } => format!("`{path}` of {release} is gone"),
        What::Changed { path, how } => match how {
            How::Size { expected, found } => {
                format!("`{path}` of {release} has {found} bytes, and {expected} by {by}")
            }
            How::Bytes => format!("`{path}` of {release} has other bytes than {by} says"),
            How::NotAFile { found } => format!("`{path}` of {release} is {found}"),
            How::NotExecutable => format!("`{path}` of {release} can no longer be run"),
            How::Respelled { found } => format!("`{path}` of {release} is called `{found}`"),
        },
        _ => return None,
    })
}

/// Says how the distributions of an environment differ from those of a lock.
pub(super) fn release(package: Option<&PackageName>, what: &What) -> Option<Told> {
    let shown = package.map(|name| format!("`{name}`")).unwrap_or_default();
    let message = environment::release(&shown, what)?;
    let finding =
        Finding::error(Code::NotAsRecorded, message).hinting("install what the lock has with the tool that wrote it");
    Some(Told { finding, package: package.cloned(), path: None })
}

/// Lists the first few of some things.
pub(super) fn some<T: std::fmt::Display>(all: &[T]) -> String {
    let shown: Vec<String> = all.iter().take(MOST).map(ToString::to_string).collect();
    match all.len().checked_sub(MOST) {
        Some(more @ 1..) => format!("{} and {more} more", shown.join(", ")),
        _ => match shown.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, before)) => format!("{} and {last}", before.join(", ")),
            None => String::new(),
        },
    }
}

/// Says how many files that are.
pub(super) fn count(files: usize, what: [&str; 2]) -> String {
    match files {
        1 => format!("1 {}", what[0]),
        files => format!("{files} {}", what[1]),
    }
}
