//! What dyld would say of each image, as data and in its own words, so that people find them.

use std::fmt;

use crate::check::facts::{Architecture, Image, Platform};
use crate::pep::PackageName;

/// What dyld would say of a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer<'a> {
    /// Each image once, sorted by path.
    pub images: Vec<Judged<'a>>,
    /// How many names were looked for and held against the images and lists.
    pub decided: usize,
    /// How many names were bound to libraries of the system, which are taken to have them.
    pub assumed: usize,
}

impl<'a> Answer<'a> {
    /// Returns everything that is wrong, in the order of the images.
    pub fn troubles(&self) -> impl Iterator<Item = (&Judged<'a>, &Trouble<'a>)> {
        self.images.iter().flat_map(|image| image.troubles.iter().map(move |trouble| (image, trouble)))
    }
}

/// What dyld would say of an image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judged<'a> {
    /// The image.
    pub image: &'a Image,
    /// The distribution that brings it.
    pub distribution: &'a PackageName,
    /// The image that pulled it in first; `None` for one that is opened itself.
    pub pulled_by: Option<&'a str>,
    /// What answered each of the libraries that it names, in order. Empty where it cannot be loaded itself.
    pub libraries: Vec<Library<'a>>,
    /// What is wrong with it.
    pub troubles: Vec<Trouble<'a>>,
}

/// What answered a library's path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Library<'a> {
    /// An image of the tree.
    Image(&'a str),
    /// The system.
    System,
    /// Nothing, and it may be missing.
    Absent,
    /// Nothing.
    Missing,
}

/// How much something that is wrong weighs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Grade {
    /// dyld refuses it.
    Error,
    /// dyld may refuse it, by what is not in the tree.
    Warning,
    /// Worth knowing.
    Note,
    /// Nothing that is known decides it.
    Unverifiable,
}

/// Something that is wrong with an image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trouble<'a> {
    /// The path of the image that it is wrong with: the one that needs what is missing.
    pub image: &'a str,
    /// What is wrong.
    pub what: What<'a>,
    /// How much it weighs.
    pub grade: Grade,
    /// Which images of the tree bring what is missing, and would if they were where it is looked for.
    pub brought_by: Vec<Brought<'a>>,
}

/// An image that brings something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Brought<'a> {
    /// Its path.
    pub image: &'a str,
    /// The distribution that brings it.
    pub distribution: &'a PackageName,
}

/// What can be wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What<'a> {
    /// It is no image that a process on Apple Silicon loads.
    Refused(Refusal<'a>),
    /// Its code is signed, but not so that it may run; or not at all.
    Signature(&'a crate::check::facts::Signature),
    /// A library that it names is not found.
    LibraryMissing {
        /// Its path, as the image names it.
        library: &'a str,
        /// Where it was looked for.
        tried: Vec<Tried<'a>>,
        /// What the way to it says, where no image of the tree has its name.
        outside: Option<Outside>,
    },
    /// A library that it names is found only because another image with that very install name was loaded before.
    LoadsAfter {
        /// The library's path, as the image names it.
        library: &'a str,
    },
    /// A name that it imports is not found.
    SymbolMissing {
        /// The name.
        symbol: &'a str,
        /// Where it is looked for.
        expected: Expected<'a>,
        /// Whether it would be bound at its first call only, if whoever opens the image did not ask for all at once.
        lazy: bool,
    },
    /// A library that it names answers with another image in another process.
    Differs {
        /// The library's path, as the image names it.
        library: &'a str,
        /// What answered first, and what answered then.
        answers: [Library<'a>; 2],
    },
}

/// What the way to a library that no image of the tree has says of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outside {
    /// No image on the way says where to look: it is expected from outside, and the image is often optional.
    Expected,
    /// It is looked for in folders, among them those of the machine that built the image.
    BuildMachine,
    /// It is looked for beside the image or in the environment only.
    Beside,
}

/// A place where a library was looked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tried<'a> {
    /// The path, from `site-packages` or from the root of the disk.
    pub path: String,
    /// What is wrong with what is there; `None` where nothing is.
    pub refused: Option<Refusal<'a>>,
}

/// Why a file is not loaded as a library.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal<'a> {
    /// It is for other processors.
    Architecture(&'a [Architecture]),
    /// It is for another system.
    Platform(Platform),
    /// Its bytes make no sense: why.
    Malformed(&'a str),
    /// It can only be opened.
    Bundle,
    /// It is a program.
    Executable,
    /// It is nothing that dyld loads: its `filetype`.
    Kind(u32),
}

/// Where a name is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected<'a> {
    /// In an image of the tree.
    Image(&'a str),
    /// In the image itself.
    This,
    /// In a library that is not there, and may be missing.
    AbsentLibrary(&'a str),
    /// In the interpreter.
    Interpreter,
    /// In all that is loaded.
    Anywhere,
    /// In all that is loaded, as a weak definition.
    AnywhereWeak,
    /// In a library that the image does not name, by its number.
    NoLibrary(i64),
}

fn platform(platform: Platform) -> String {
    let name = match platform {
        Platform::MacOs => "macOS",
        Platform::Other(2) => "iOS",
        Platform::Other(3) => "tvOS",
        Platform::Other(4) => "watchOS",
        Platform::Other(6) => "macCatalyst",
        Platform::Other(7) => "iOS-simulator",
        Platform::Other(number) => return format!("platform {number}"),
    };
    name.to_owned()
}

impl Refusal<'_> {
    /// Returns dyld's words for a file.
    fn words(&self, path: &str) -> String {
        match self {
            Self::Architecture(have) => {
                let what = if let [_] = have { "mach-o file, but is an in" } else { "fat file, but missing " };
                let have: Vec<String> = have.iter().map(ToString::to_string).collect();
                format!("{what}compatible architecture (have '{}', need 'arm64e' or 'arm64')", have.join(","))
            }
            Self::Platform(have) => {
                format!("mach-o file ({path}), but incompatible platform (have '{}', need 'macOS')", platform(*have))
            }
            Self::Malformed(reason) => format!("not a valid mach-o file: {reason}"),
            Self::Bundle => format!("cannot link against bundle '{path}'"),
            Self::Executable => format!("cannot link against a main executable '{path}'"),
            Self::Kind(kind) => format!("unloadable mach-o file type {kind} '{path}'"),
        }
    }
}

impl fmt::Display for Tried<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.refused {
            None => write!(out, "'{}' (no such file)", self.path),
            Some(refused) => write!(out, "'{}' ({})", self.path, refused.words(&self.path)),
        }
    }
}

impl Trouble<'_> {
    /// Returns what dyld says of it, with paths from `site-packages` and without identifiers of images. What dyld has no
    /// words for is said in ours.
    pub fn sentence(&self) -> String {
        use crate::check::facts::Signature;
        let image = self.image;
        match &self.what {
            What::Refused(refusal) => format!("tried: '{image}' ({})", refusal.words(image)),
            // The page is looked at when it is first touched, and the process ends.
            What::Signature(Signature::Broken(_)) => {
                format!("'{image}': Termination Reason: Namespace CODESIGNING, Code 2, Invalid Page")
            }
            What::Signature(_) => format!("code signature in '{image}' not valid for use in process"),
            What::LibraryMissing { library, tried, .. } => {
                let tried: Vec<String> = tried.iter().map(ToString::to_string).collect();
                let reason = if tried.is_empty() {
                    "no LC_RPATH's found".to_owned()
                } else {
                    format!("tried: {}", tried.join(", "))
                };
                format!("Library not loaded: {library}\n  Referenced from: {image}\n  Reason: {reason}")
            }
            What::LoadsAfter { library } => {
                let first = self.brought_by.first().map_or("", |first| first.image);
                format!("`{library}` is found for `{image}` only after `{first}` was loaded")
            }
            What::SymbolMissing { symbol, expected, .. } => match expected {
                Expected::Anywhere => format!("symbol not found in flat namespace '{symbol}'"),
                Expected::AnywhereWeak => format!(
                    "Symbol not found: {symbol}\n  Referenced from: {image}\n  \
                     Expected as weak-def export from some loaded dylib"
                ),
                Expected::NoLibrary(number) => {
                    format!("unknown library ordinal {number} in {image} when binding '{symbol}'")
                }
                expected => {
                    let place = match expected {
                        Expected::Image(place) | Expected::AbsentLibrary(place) => place,
                        Expected::This => image,
                        _ => "unknown",
                    };
                    format!("Symbol not found: {symbol}\n  Referenced from: {image}\n  Expected in:     {place}")
                }
            },
            What::Differs { library, .. } => {
                format!("`{library}` is not the same image for `{image}` in every process")
            }
        }
    }
}
