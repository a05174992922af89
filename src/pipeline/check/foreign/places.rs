//! Where wheels of a lock of another tool are found: its indexes under names, its files by address or path. Pure.

use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

use url::Url;

use crate::diag::Span;
use crate::index::builtin;
use crate::index::download::Place;
use crate::index::percent_decoded;
use crate::index::source::IndexName;
use crate::lock::foreign;
use crate::lock::foreign::ForeignLock;
use crate::lock::foreign::Origin;
use crate::lock::foreign::Wheel;
use crate::manifest::model::IndexSpec;

/// What places of one lock mean.
pub(super) struct Places {
    /// The folder of the lock.
    folder: PathBuf,
    /// Indexes that macml has no name for, under made ones.
    pub(super) indexes: Vec<IndexSpec>,
    /// Where what names no index is looked for, in this order.
    anywhere: Vec<IndexName>,
}

impl Places {
    pub(super) fn of(lock: &ForeignLock, folder: &Path) -> Self {
        let mut places = Self { folder: folder.to_owned(), indexes: Vec::new(), anywhere: Vec::new() };
        let mut first: IndexName = builtin::DEFAULT.into();
        let mut further = Vec::new();
        for note in &lock.notes {
            let foreign::Told::Index { option, address } = &note.told else { continue };
            let Some(name) = Url::parse(address).ok().and_then(|url| places.name(&url)) else { continue };
            match option.as_str() {
                "-i" | "--index-url" | "--pypi-url" => first = name,
                "--extra-index-url" => further.push(name),
                _ => {}
            }
        }
        places.anywhere.push(first);
        for name in further {
            if !places.anywhere.contains(&name) {
                places.anywhere.push(name);
            }
        }
        for release in &lock.releases {
            let Origin::Index(address) = &release.origin else { continue };
            Url::parse(address.as_str()).ok().and_then(|url| places.name(&url));
        }
        places
    }

    /// Returns the name of an index; makes one up for an address that has none.
    fn name(&mut self, url: &Url) -> Option<IndexName> {
        if let Some(name) = self.named(url) {
            return Some(name);
        }
        let mut url = rooted(url)?;
        // What a lock keeps in an address is dropped where it is read.
        let _ = (url.set_username(""), url.set_password(None));
        let name = self.free_name(&url);
        self.indexes.push(IndexSpec { name: name.clone(), url, explicit: true, span: Span { start: 0, end: 0 } });
        Some(name.into())
    }

    fn named(&self, url: &Url) -> Option<IndexName> {
        if let Some(name) = builtin::name_of(url) {
            return Some(name.into());
        }
        let url = rooted(url)?;
        self.indexes.iter().find(|index| index.url == url).map(|index| index.name.as_str().into())
    }

    /// Makes a name of the host, which stays the same while the host does: users and passwords are found by it.
    fn free_name(&self, url: &Url) -> String {
        let host = url.host_str().unwrap_or_default().to_ascii_lowercase();
        let words = [host, url.port().map(|port| port.to_string()).unwrap_or_default()].join("-");
        let words: Vec<&str> =
            words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let host = if words.is_empty() { "index".to_owned() } else { words.join("-") };
        let taken = |name: &str| builtin::index(name).is_some() || self.indexes.iter().any(|one| one.name == name);
        let numbered = (2_usize..).map(|number| format!("{host}-{number}"));
        let mut names = std::iter::once(host.clone()).chain(numbered);
        names.find(|name| !taken(name)).expect("numbers do not end")
    }

    /// Returns the indexes on which files of a release are looked for; none where it is on none.
    pub(super) fn indexes_of(&self, origin: &Origin) -> Vec<IndexName> {
        match origin {
            Origin::AnyIndex => self.anywhere.clone(),
            Origin::Index(address) => {
                Url::parse(address.as_str()).ok().and_then(|url| self.named(&url)).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns where a wheel is found.
    pub(super) fn of_wheel(&self, origin: &Origin, wheel: &Wheel) -> Option<Place> {
        let path = wheel.path.clone();
        let in_folder = |path: &Path| Place::Path(self.folder.join(path));
        match origin {
            Origin::Index(address) => match local(address.as_str()) {
                Some(root) => {
                    Some(in_folder(&root.join(percent_decoded(&path.unwrap_or_else(|| wheel.file.to_string())))))
                }
                None => self.indexes_of(origin).pop().map(Place::Index),
            },
            // Paths of addresses begin with a slash.
            Origin::AnyIndex => match path.filter(|path| !path.starts_with('/')) {
                Some(path) => Some(in_folder(Path::new(&path))),
                None => self.anywhere.first().cloned().map(Place::Index),
            },
            Origin::LocalIndex(root) => {
                let inside = path.unwrap_or_else(|| wheel.file.to_string());
                Some(in_folder(&Path::new(root).join(inside)))
            }
            Origin::Url(address) => match local(address.as_str()) {
                Some(path) => Some(in_folder(&path)),
                None => Url::parse(address.as_str()).ok().map(Place::Address),
            },
            Origin::Path(path) => Some(in_folder(Path::new(path))),
            Origin::Repository { .. } | Origin::Folder { .. } => None,
        }
    }

    /// Returns whether a path leads out of the folder of the lock, by its words alone.
    pub(super) fn is_outside(&self, path: &Path) -> bool {
        let Ok(rest) = path.strip_prefix(&self.folder) else { return true };
        let mut depth = 0_i32;
        rest.components().any(|part| {
            depth += match part {
                Component::ParentDir => -1,
                Component::Normal(_) => 1,
                _ => 0,
            };
            depth < 0
        })
    }

    /// Returns a path from the folder of the lock, where it begins there.
    pub(super) fn shown<'a>(&self, path: &'a Path) -> std::path::Display<'a> {
        path.strip_prefix(&self.folder).unwrap_or(path).display()
    }
}

/// Returns the address of an index as one that pages are found below; `None` for what is no index on the network.
fn rooted(url: &Url) -> Option<Url> {
    let mut url = url.clone();
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Some(url)
}

/// Returns the path that an address of this disk names.
fn local(address: &str) -> Option<PathBuf> {
    Url::parse(address).ok().filter(|url| url.scheme() == "file")?.to_file_path().ok()
}
