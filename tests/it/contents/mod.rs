//! Trees held against their lock: what is told of each edit, and the one digest of an environment.

mod made;
mod synced;

use macml::check::contents::Contents;
use macml::check::contents::How;
use macml::check::contents::Unsure;
use macml::check::contents::What;

/// Says what was found, a line for each.
fn told(contents: &Contents) -> Vec<String> {
    let one = |(package, what): (String, &What)| match what {
        What::NotInstalled { locked } => format!("{package}: not installed, locked {locked}"),
        What::NotLocked { found } => format!("{package}: not locked, found {found}"),
        What::OtherVersion { found, locked } => format!("{package}: found {found}, locked {locked}"),
        What::Missing { path } => format!("{package}: missing {path}"),
        What::Extra { path, files } => format!("{package}: extra {path} {files}"),
        What::Changed { path, how } => {
            let how = match how {
                How::Size { expected, found } => format!("size {expected} -> {found}"),
                How::Bytes => "bytes".to_owned(),
                How::NotAFile { found } => (*found).to_owned(),
                How::NotExecutable => "not executable".to_owned(),
                How::Respelled { found } => format!("is {found}"),
            };
            format!("{package}: changed {path}: {how}")
        }
    };
    let package =
        |package: &Option<macml::pep::PackageName>| package.as_ref().map_or("-".to_owned(), ToString::to_string);
    contents.differences.iter().map(|difference| one((package(&difference.package), &difference.what))).collect()
}

/// Says what was not sure.
fn unsure(contents: &Contents) -> Vec<String> {
    let one = |unsure: &Unsure| match unsure {
        Unsure::Record { package } => format!("{package}: record"),
        Unsure::NoRecord { package } => format!("{package}: no record"),
        Unsure::NoDigest { package, path } => format!("{package}: no digest {path}"),
        Unsure::Outside { package, path } => format!("{package}: outside {path}"),
        Unsure::Unreadable { path, .. } => format!("unreadable {path}"),
    };
    contents.unsure.iter().map(one).collect()
}
