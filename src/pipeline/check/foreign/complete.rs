//! What a lock of another tool leaves open and the pages of indexes know: which file has a digest, and how large it is.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use url::Url;

use crate::diag::Code;
use crate::diag::Finding;
use crate::index::download::Place;
use crate::index::source;
use crate::index::source::Answer;
use crate::index::source::Ask;
use crate::index::source::IndexName;
use crate::index::source::PageAnswer;
use crate::index::source::Source;
use crate::index::source::SourceError;
use crate::manifest::model::Wheels;
use crate::pep::PackageName;
use crate::pep::Sha256;
use crate::pep::Version;
use crate::pep::WheelName;
use crate::pipeline::check::part::Because;
use crate::pipeline::check::part::Of;
use crate::pipeline::check::set::File;
use crate::pipeline::check::set::Mac;
use crate::resolve::candidate::Selector;
use crate::resolve::candidate::Unfit;
use crate::resolve::candidate::Yanked;
use crate::target::Floor;
use crate::target::Target;

use super::Find;
use super::Foreign;
use super::Open;
use super::told;
use super::told::Whom;

type Key = (IndexName, PackageName);
type Pages = BTreeMap<Key, Result<PageAnswer, SourceError>>;

/// A file that was found: whom to ask more of it, and where it is.
type Found = (IndexName, Place, Arc<source::File>);

/// Finds what the lock left open; asks for the pages of those packages only. What cannot be found is told.
///
/// It may be called again with another source: what was found stays.
pub fn complete(foreign: &mut Foreign, source: &mut dyn Source) {
    foreign.part.told.retain(|one| one.finding.code != Code::FileUnknown);
    foreign.sets.iter_mut().for_each(|set| set.unknown.clear());
    let mut pages = Pages::new();
    let keys = keys(foreign);
    for (index, name) in &keys {
        source.ask(Ask::Page { index: index.clone(), name: name.clone() });
    }
    for _ in &keys {
        let Some((Ask::Page { index, name }, answer)) = source.wait(None) else { continue };
        let page = answer.map(|answer| match answer {
            Answer::Page(page) => page,
            _ => PageAnswer::Absent,
        });
        pages.insert((index, name), page);
    }
    let mut wanted: Vec<(usize, Open, Found)> = Vec::new();
    for at in 0..foreign.sets.len() {
        let whom = asked(&foreign.sets[at].of);
        let whom = whom.as_ref().map_or(Whom::Floor, Whom::Asked);
        for open in std::mem::take(&mut foreign.beside[at].open) {
            let release = &foreign.sets[at].releases[open.at];
            let (name, version) = (release.name.clone(), release.version.clone());
            match look(&open, &name, &version, &pages, foreign.sets[at].of.target().as_ref()) {
                Look::Found(found) => wanted.push((at, open, found)),
                Look::Built(unfit) => tell(foreign, whom.built(&name, Some(&version), &unfit), &name),
                Look::Nothing(unfit) => tell(foreign, whom.nothing(&name, Some(&version), &unfit), &name),
                // Its tool holds what it gets against the digests, and refuses it.
                Look::Elsewhere(why) if foreign.sets[at].releases[open.at].file.is_none() => {
                    let message = format!("{} cannot be installed: {why}", told::named(&name, Some(&version)));
                    let finding = Finding::error(Code::FileGone, message);
                    tell(foreign, finding.hinting("write the lock anew with its own tool"), &name);
                    foreign.beside[at].open.push(open);
                }
                Look::Unknown(why) | Look::Elsewhere(why) => {
                    if foreign.sets[at].releases[open.at].file.is_none() {
                        tell(foreign, unknown(&name, &version, &why), &name);
                        foreign.sets[at].unknown.insert(name);
                    }
                    foreign.beside[at].open.push(open);
                }
            }
        }
    }
    let learned = learn(&wanted, source);
    for (at, open, (index, place, file)) in wanted {
        let whole = learned.get(&(index, file.url.clone())).cloned().unwrap_or(Ok(file));
        fill(foreign, at, open, place, whole);
    }
    foreign.part.settle();
}

/// Returns the pages that are to be asked for.
fn keys(foreign: &Foreign) -> BTreeSet<Key> {
    let mut keys = BTreeSet::new();
    for (set, beside) in foreign.sets.iter().zip(&foreign.beside) {
        for open in &beside.open {
            let name = &set.releases[open.at].name;
            keys.extend(open.find.indexes().iter().map(|index| (index.clone(), name.clone())));
        }
    }
    keys
}

/// What looking on pages comes to.
enum Look {
    Found(Found),
    Built(Unfit),
    Nothing(Unfit),
    Unknown(String),
    /// The index has the release, and none of the files that are locked: in a sentence.
    Elsewhere(String),
}

fn look(open: &Open, name: &PackageName, version: &Version, pages: &Pages, target: Option<&Target>) -> Look {
    if let Find::Direct(place, wheel, sha256) = &open.find {
        return match address(place) {
            Some(url) => Look::Found((source::DIRECT.into(), place.clone(), Arc::new(file_at(wheel, *sha256, &url)))),
            None => Look::Unknown("its path is not absolute".to_owned()),
        };
    }
    let mut silent = None;
    let mut last = None;
    let mut has_others = false;
    for index in open.find.indexes() {
        let page = match pages.get(&(index.clone(), name.clone())) {
            Some(Ok(PageAnswer::Found(page))) => page,
            Some(Ok(PageAnswer::Offline)) => {
                let why = format!("the page of index `{index}` is not in the cache, and the network is switched off");
                silent.get_or_insert(why);
                continue;
            }
            Some(Err(error)) => {
                silent.get_or_insert(error.to_string());
                continue;
            }
            Some(Ok(PageAnswer::Absent)) | None => continue,
        };
        let Some(release) = page.release(version) else { continue };
        let found = match &open.find {
            Find::Listed(_, wheel, sha256) => listed(release, wheel, *sha256).map(Ok),
            Find::OneOf(_, hashes) => target.and_then(|target| best(release, hashes, target)),
            Find::Direct(..) => None,
        };
        match found {
            Some(Ok(file)) => return Look::Found((index.clone(), Place::Index(index.clone()), file)),
            Some(Err(look)) => last = last.or(Some(look)),
            None => has_others = true,
        }
    }
    // An index that did not answer may have what the others lack.
    match (silent, last) {
        (None, Some(last)) => last,
        (Some(why), _) => Look::Unknown(why),
        (None, None) => {
            let names: Vec<String> = open.find.indexes().iter().map(|index| format!("`{index}`")).collect();
            let why = format!("no file of it that is locked is on index {}", names.join(" or "));
            if has_others { Look::Elsewhere(why) } else { Look::Unknown(why) }
        }
    }
}

impl Find {
    /// Returns the indexes that are asked; none for what is on none.
    fn indexes(&self) -> &[IndexName] {
        match self {
            Self::Listed(indexes, ..) | Self::OneOf(indexes, _) => indexes,
            Self::Direct(..) => &[],
        }
    }
}

/// Returns where a file is that no index lists.
fn address(place: &Place) -> Option<Url> {
    match place {
        Place::Index(_) => None,
        Place::Address(url) => Some(url.clone()),
        Place::Path(path) => Url::from_file_path(path).ok(),
    }
}

fn file_at(wheel: &WheelName, sha256: Option<Sha256>, url: &Url) -> source::File {
    source::File { sha256, ..source::File::at(wheel.clone(), url.as_str()) }
}

/// Finds a wheel by its digest, else by its name.
fn listed(release: &source::Release, wheel: &WheelName, sha256: Option<Sha256>) -> Option<Arc<source::File>> {
    let same = |file: &&Arc<source::File>| sha256.is_some() && file.sha256 == sha256;
    let called = |file: &&Arc<source::File>| file.wheel == *wheel && (sha256.is_none() || file.sha256.is_none());
    let file = release.wheels.iter().find(same).or_else(|| release.wheels.iter().find(called))?;
    Some(Arc::new(source::File { sha256: file.sha256.or(sha256), ..source::File::clone(file) }))
}

/// Picks among the files of a release that may be installed, or says why none fits; `None` where the page has none of them.
fn best(release: &source::Release, hashes: &[Sha256], target: &Target) -> Option<Result<Arc<source::File>, Look>> {
    let may =
        |file: &&Arc<source::File>| hashes.is_empty() || file.sha256.is_some_and(|sha256| hashes.contains(&sha256));
    let wheels: Vec<Arc<source::File>> = release.wheels.iter().filter(may).cloned().collect();
    let is_of_a_wheel = |sha256: &Sha256| release.wheels.iter().any(|file| file.sha256 == Some(*sha256));
    // A digest that no wheel has may be that of the archive. Releases have one, old ones two: more of them are digests of
    // nothing that the index offers.
    const ARCHIVES: usize = 2;
    let others = hashes.len() - hashes.iter().filter(|sha256| is_of_a_wheel(sha256)).count();
    let is_archive = others > 0 && (!wheels.is_empty() || others <= ARCHIVES);
    let source_archive = release.source_archive && (hashes.is_empty() || is_archive);
    if wheels.is_empty() && !source_archive {
        return None;
    }
    let release = source::Release { wheels, source_archive };
    Some(match Selector::new(target, Wheels::Floor).fit(&release, Yanked::Admitted) {
        Ok(fit) => Ok(fit.floor),
        Err(unfit) if source_archive => Err(Look::Built(unfit)),
        Err(unfit) => Err(Look::Nothing(unfit)),
    })
}

/// Asks for sizes and digests that the pages do not say.
fn learn(
    wanted: &[(usize, Open, Found)],
    source: &mut dyn Source,
) -> BTreeMap<(IndexName, Arc<str>), Result<Arc<source::File>, SourceError>> {
    let files = wanted.iter().map(|(_, _, (index, _, file))| (index, file));
    let lacking: BTreeMap<(IndexName, Arc<str>), Arc<source::File>> = files
        .filter(|(_, file)| file.size.is_none() || file.sha256.is_none())
        .map(|(index, file)| ((index.clone(), file.url.clone()), file.clone()))
        .collect();
    for ((index, _), file) in &lacking {
        source.ask(Ask::Complete { index: index.clone(), file: file.clone() });
    }
    let mut learned = BTreeMap::new();
    for _ in &lacking {
        let Some((Ask::Complete { index, file }, answer)) = source.wait(None) else { continue };
        let whole = answer.map(|answer| match answer {
            Answer::Complete(whole) => whole,
            _ => file.clone(),
        });
        learned.insert((index, file.url.clone()), whole);
    }
    learned
}

/// Writes what was found into its set.
fn fill(foreign: &mut Foreign, at: usize, open: Open, place: Place, file: Result<Arc<source::File>, SourceError>) {
    let release = &mut foreign.sets[at].releases[open.at];
    let why = match file {
        Ok(file) => match (&mut release.file, file.sha256) {
            (Some(known), Some(sha256)) if known.sha256 == sha256 => {
                known.size = known.size.or(file.size);
                return;
            }
            (none @ None, Some(sha256)) => {
                *none = Some(File { wheel: file.wheel.clone(), sha256, size: file.size, place });
                return;
            }
            // Its size stays unknown: what is there is another file.
            (Some(_), _) => String::new(),
            (None, None) => format!("nobody says the sha256 of `{}`", file.filename),
        },
        Err(error) => error.to_string(),
    };
    if release.file.is_none() {
        let (name, version) = (release.name.clone(), release.version.clone());
        tell(foreign, unknown(&name, &version, &why), &name);
        foreign.sets[at].unknown.insert(name);
    }
    foreign.beside[at].open.push(open);
}

fn unknown(name: &PackageName, version: &Version, why: &str) -> Finding {
    let message = format!("which file of {} is installed is not known", told::named(name, Some(version)));
    Finding::warning(Code::FileUnknown, message).noting(why)
}

/// Tells something of a package, at its line.
fn tell(foreign: &mut Foreign, finding: Finding, name: &PackageName) {
    let finding = match foreign.lines.get(name) {
        Some((file, line)) => told::placed(finding, &foreign.source, &foreign.lock, (file, *line)),
        None => finding,
    };
    foreign.part.tell(finding, Some(name));
}

/// Returns the Mac that a set is for, unless that is the floor.
fn asked(of: &Of) -> Option<Mac> {
    let on = of.on.as_ref().filter(|on| on.because == Because::Asked)?;
    Some(Mac { chip: on.mac.chip.clone(), macos: on.mac.macos })
}

impl Of {
    fn target(&self) -> Option<Target> {
        let mac = &self.on.as_ref()?.mac;
        let floor = Floor::Mac { macos: mac.macos, chip: mac.chip.clone() };
        Some(Target { platform: self.platform, floor, python: self.python })
    }
}
