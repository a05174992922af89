//! What macOS itself has, as far as it was learned: names that wheels bind to libraries of the system. `system.txt` has
//! them, and says where they are from.
//!
//! A name that is not here may be there all the same. What is here was bound by a wheel that people use.

use std::collections::HashSet;
use std::sync::OnceLock;

use super::tree::leaf;

/// Libraries begin with `/`, and the names below one are those bound to it.
const TEXT: &str = include_str!("system.txt");

/// Swift's libraries of the system, of which wheels name few.
const SWIFT: &str = "/usr/lib/swift/libswift";

struct Learned {
    libraries: HashSet<&'static str>,
    symbols: HashSet<&'static str>,
}

fn learned() -> &'static Learned {
    static LEARNED: OnceLock<Learned> = OnceLock::new();
    LEARNED.get_or_init(|| {
        let lines = TEXT.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let (libraries, symbols) = lines.partition(|line| line.starts_with('/'));
        Learned { libraries, symbols }
    })
}

/// Returns whether a library of the system is known to exist. That one is not says little.
pub(super) fn has_library(path: &str) -> bool {
    learned().libraries.contains(path) || (path.starts_with(SWIFT) && leaf(path).ends_with(".dylib"))
}

/// Returns whether a library of the system is known to export a name.
pub(super) fn has_symbol(name: &str) -> bool {
    learned().symbols.contains(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_everybody_binds() {
        for library in ["/usr/lib/libc++.1.dylib", "/usr/lib/libSystem.B.dylib", "/usr/lib/swift/libswiftCore.dylib"] {
            assert!(has_library(library), "{library}");
        }
        assert!(!has_library("/usr/lib/libpng16.16.dylib") && !has_library("/usr/lib/libomp.dylib"));
        for name in ["_malloc", "__Znwm", "_objc_msgSend", "_OBJC_CLASS_$_NSString", "__ZTISt12length_error"] {
            assert!(has_symbol(name), "{name}");
        }
        assert!(!has_symbol("_TF_NewStatus") && !has_symbol("_PyObject_GetAttr"));
    }
}
