//! Whether indexes still offer what is locked: each file by name and digest, not withdrawn, and not about to go.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::time::Instant;

use crate::diag::Code;
use crate::diag::Finding;
use crate::diag::Severity;
use crate::diag::few;
use crate::index::download::Place;
use crate::index::source::Page;
use crate::index::source::PageAnswer;
use crate::index::source::Source;
use crate::index::source::pages;
use crate::knowledge;
use crate::pep::PackageName;
use crate::pep::Version;

use super::part::Level;
use super::part::Part;
use super::part::Sum;
use super::part::Told;
use super::part::Word;
use super::set::File;
use super::set::Set;

/// The age in days at which a nightly build is warned of. PyTorch's index deletes them after about two months
/// (<https://github.com/replicate/monobase/pull/17>, <https://github.com/replicate/monobase/pull/13>); what is left of that
/// is two weeks to act in.
const OLD_NIGHT: i64 = 45;

/// Asks the indexes for the page of each locked file, and judges what they say. `today` is counted in days since the
/// beginning of 1970, in UTC.
///
/// An index or mirror whose pages leave out digests or withdrawals is believed in that: nobody else is asked.
pub fn offered(sets: &[Set], source: &mut dyn Source, today: u64) -> Part {
    let begun = Instant::now();
    let mut files: BTreeMap<(&str, &PackageName, String), (&Version, &File)> = BTreeMap::new();
    let mut elsewhere = BTreeSet::new();
    for release in sets.iter().flat_map(|set| &set.releases) {
        let Some(file) = &release.file else { continue };
        match &file.place {
            Place::Index(index) => {
                let key = (&**index, &release.name, format!("{} {}", file.wheel, file.sha256));
                files.insert(key, (&release.version, file));
            }
            Place::Path(_) | Place::Address(_) => drop(elsewhere.insert(file.wheel.to_string())),
        }
    }

    let asked: BTreeSet<(&str, &PackageName)> = files.keys().map(|(index, name, _)| (*index, *name)).collect();
    let pages = pages(&asked.iter().map(|(index, name)| ((*index).into(), (*name).clone())).collect(), source);
    let mut told = Vec::new();
    let mut silent: BTreeMap<(&str, &str), Vec<&PackageName>> = BTreeMap::new();
    for (index, name) in asked {
        let of_package = files.iter().filter(|((at, package, _), _)| (*at, *package) == (index, name));
        match &pages[&(index.into(), name.clone())] {
            Ok(PageAnswer::Found(page)) => {
                for (_, (version, file)) in of_package {
                    told.extend(judge(index, name, version, file, page).map(|finding| of(name, finding)));
                    told.extend(night(name, version, today).map(|finding| of(name, finding)));
                }
            }
            Ok(PageAnswer::Absent) => {
                let message = format!("index `{index}` has no `{name}` any more");
                let files = of_package.map(|(_, (_, file))| format!("`{}` is locked", file.wheel));
                let finding = files.fold(Finding::error(Code::FileGone, message), Finding::noting);
                told.push(of(name, finding.hinting(another(name))));
            }
            Ok(PageAnswer::Offline) => {
                let why = "it is not in the cache, and the network is switched off";
                silent.entry((index, why)).or_default().push(name);
            }
            Err(reason) => {
                silent.entry((index, reason)).or_default().push(name);
            }
        }
    }
    told.extend(silent.iter().map(|((index, reason), names)| unknown(index, names, reason)));
    if !elsewhere.is_empty() {
        let message = match elsewhere.len() {
            1 => "1 wheel by path or address was not asked for".to_owned(),
            count => format!("{count} wheels by path or address were not asked for"),
        };
        let names: Vec<String> = elsewhere.iter().map(|name| format!("`{name}`")).collect();
        told.push(Finding::note(Code::NotOnAnIndex, message).noting(names.join(", ")).into());
    }
    told.sort_by_key(|told| told.finding.severity);
    let otherwise = if silent.is_empty() { Word::Offered } else { Word::Unsure };
    let word = match told.first() {
        Some(Told { finding: Finding { severity: Severity::Error, .. }, .. }) => Word::NotOffered,
        _ => otherwise,
    };
    let sum = Sum::Files(files.len());
    Part { level: Level::Index, of: None, word, otherwise, sum, told, took: begun.elapsed() }
}

fn of(package: &PackageName, finding: Finding) -> Told {
    Told { package: Some(package.clone()), ..finding.into() }
}

/// Says what is wrong with what a page has of a file.
fn judge(index: &str, name: &PackageName, version: &Version, file: &File, page: &Page) -> Option<Finding> {
    let wheel = file.wheel.to_string();
    let listed = page.release(version).and_then(|release| release.wheels.iter().find(|one| *one.filename == *wheel));
    let Some(listed) = listed else {
        let message = format!("index `{index}` does not offer `{wheel}` any more");
        return Some(Finding::error(Code::FileGone, message).hinting(another(name)));
    };
    if let Some(sha256) = listed.sha256.filter(|sha256| *sha256 != file.sha256) {
        let message = format!("index `{index}` offers another file as `{wheel}`: somebody replaced it");
        let finding = Finding::error(Code::FileReplaced, message)
            .noting(format!("its sha256 is {sha256}, and {} is locked", file.sha256))
            .hinting("find out who replaced it and why before you lock it anew; nothing installs it as it is locked");
        return Some(finding);
    }
    let reason = listed.yanked.as_ref()?;
    let message = format!("`{name}` {version} was withdrawn from index `{index}`");
    let finding = match reason.trim() {
        "" => Finding::error(Code::FileYanked, message),
        reason => Finding::error(Code::FileYanked, format!("{message}: {reason}")),
    };
    Some(finding.hinting(format!("{}, or pass `--allow {}` if it is meant", another(name), Code::FileYanked)))
}

/// Warns of a nightly build that its index will delete soon.
fn night(name: &PackageName, version: &Version, today: u64) -> Option<Finding> {
    let night = knowledge::night(version)?;
    let (year, month, day) = (night / 10_000, night / 100 % 100, night % 100);
    let age = i64::try_from(today).ok()? - days(i64::try_from(night).ok()?);
    (age >= OLD_NIGHT).then(|| {
        let message = format!("`{name}` {version} is a nightly build of {year}-{month:02}-{day:02}, {age} days old");
        Finding::warning(Code::NightlyBuilds, message)
            .noting("indexes delete nightly builds after about two months, and this lock cannot be installed then")
            .hinting("lock a newer night, or keep the wheels: `macml bundle` puts them into a folder")
    })
}

/// Counts the days from the beginning of 1970 to a date such as 20261130, by the Gregorian calendar.
fn days(date: i64) -> i64 {
    let (year, month, day) = (date / 10_000, date / 100 % 100, date % 100);
    // From a 1 March on, so that the leap day is the last of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468
}

fn another(name: &PackageName) -> String {
    format!("lock another release of `{name}`")
}

/// Says of packages that an index could not be asked for one reason.
fn unknown(index: &str, names: &[&PackageName], reason: &str) -> Told {
    const NAMED: usize = 5;
    let said = |what: &str| {
        let message = format!("whether index `{index}` still offers {what} could not be told: {reason}");
        Finding::warning(Code::IndexUnreached, message)
    };
    if let [name] = names {
        return of(name, said(&format!("`{name}`")));
    }
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    said(&format!("{} packages", names.len())).noting(few(&quoted, NAMED)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_of_dates() {
        assert_eq!(days(19700101), 0);
        assert_eq!(days(19700301), 59);
        assert_eq!(days(20000229), 11_016);
        assert_eq!(days(20261201), 20_788);
    }
}
