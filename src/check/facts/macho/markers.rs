//! Texts in the data of an image that tell what it was built with.

use memchr::memmem;

use super::super::image::{Markers, NumpyAbi};

/// Written into an extension module by numpy's headers: the module that gives it numpy's functions, by the name that
/// numpy 1 has for it and by that of numpy 2; and the sentence about another numpy, which only who calls them has.
const NUMPY_1: &[u8] = b"numpy.core._multiarray_umath";
const NUMPY_2: &[u8] = b"numpy._core._multiarray_umath";
const NUMPY_CALLED: &[u8] = b"module compiled against API version";
/// Before the release that the module asks for at least; numpy 2 only.
const NUMPY_OLDEST: &[u8] = b"NumPy C-API version 0x%x (NumPy 1.";
/// The variable by which OpenMP runtimes find each other in a process.
const OPENMP: &[u8] = b"KMP_REGISTERED_LIB";

/// How much of what went by is kept, so that a text that stands in two blocks is found: the longest, and digits.
const CARRIED: usize = 64;

/// Looks for the texts in bytes that go by.
#[derive(Debug)]
pub(super) struct Scanner {
    finders: [(Text, memmem::Finder<'static>); 5],
    found: [bool; 5],
    oldest: Option<u16>,
    window: Vec<u8>,
    /// Where the window ends in the slice.
    end: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Text {
    Numpy1,
    Numpy2,
    Called,
    Oldest,
    OpenMp,
}

impl Default for Scanner {
    fn default() -> Self {
        let texts = [
            (Text::Numpy1, NUMPY_1),
            (Text::Numpy2, NUMPY_2),
            (Text::Called, NUMPY_CALLED),
            (Text::Oldest, NUMPY_OLDEST),
            (Text::OpenMp, OPENMP),
        ];
        Self {
            finders: texts.map(|(text, bytes)| (text, memmem::Finder::new(bytes))),
            found: [false; 5],
            oldest: None,
            window: Vec::new(),
            end: 0,
        }
    }
}

impl Scanner {
    /// Takes the bytes at a place of the slice, which comes behind all before.
    pub(super) fn pass(&mut self, at: u64, bytes: &[u8]) {
        let kept = if self.end == at { self.window.len().min(CARRIED) } else { 0 };
        self.window.drain(..self.window.len() - kept);
        self.window.extend_from_slice(bytes);
        self.end = at + bytes.len() as u64;
        for (text, finder) in &self.finders {
            if self.found[*text as usize] {
                continue;
            }
            let Some(place) = finder.find(&self.window) else { continue };
            if *text != Text::Oldest {
                self.found[*text as usize] = true;
                continue;
            }
            let behind = &self.window[place + NUMPY_OLDEST.len()..];
            let digits = behind.iter().take_while(|byte| byte.is_ascii_digit()).count();
            // Else the rest stands in the next block.
            if digits < behind.len() {
                self.found[*text as usize] = true;
                self.oldest = std::str::from_utf8(&behind[..digits]).ok().and_then(|digits| digits.parse().ok());
            }
        }
    }

    /// Says what was found.
    pub(super) fn found(&self) -> Markers {
        let has = |text: Text| self.found[text as usize];
        let numpy = if has(Text::Numpy2) {
            Some(NumpyAbi::Two { oldest: self.oldest })
        } else if has(Text::Numpy1) && has(Text::Called) {
            Some(NumpyAbi::One)
        } else {
            None
        };
        Markers { numpy, openmp: has(Text::OpenMp), pjrt: None }
    }
}
