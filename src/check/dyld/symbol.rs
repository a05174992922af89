//! Finding a name: in the library that the image says, or flat in all that is loaded.

use std::collections::HashSet;

use super::answer::{Expected, Grade};
use super::library::Found;
use super::process::{Bound, Process};
use super::tree::{Id, Tree};
use super::{cpython, system};
use crate::check::facts::{Export, Import, Ordinal, Slice, Table};
use crate::target::PythonMinor;

/// A name that is not where it is looked for.
pub(super) struct Miss<'a> {
    pub(super) symbol: &'a str,
    pub(super) expected: Expected<'a>,
    pub(super) lazy: bool,
    pub(super) grade: Grade,
    /// The images of the tree that export it.
    pub(super) exporters: Vec<Id>,
}

/// What answered the libraries of each image.
pub(super) type BoundOf<'k> = dyn Fn(Id) -> &'k [Bound] + 'k;

/// Looks for names, and counts.
pub(super) struct Symbols<'a, 't> {
    tree: &'t Tree<'a>,
    python: PythonMinor,
    /// Names that were looked for.
    pub(super) decided: usize,
    /// Names that the system is taken to have.
    pub(super) assumed: usize,
}

/// What looking for one name came to.
enum Outcome<'a> {
    Found,
    /// The system is taken to have it.
    Assumed,
    Missing(Expected<'a>, Grade),
}

impl<'a, 't> Symbols<'a, 't> {
    pub(super) fn new(tree: &'t Tree<'a>, python: PythonMinor) -> Self {
        Self { tree, python, decided: 0, assumed: 0 }
    }

    /// Looks for every name that an image imports.
    pub(super) fn missing(&mut self, process: &Process<'a>, image: Id, bound_of: &BoundOf<'_>) -> Vec<Miss<'a>> {
        let tree = self.tree;
        let Some(slice) = tree.slice(image) else { return Vec::new() };
        let mut missing = Vec::new();
        for import in slice.imports.iter().filter(|import| !import.weak) {
            match self.look(process, image, slice, import, bound_of) {
                Outcome::Found => self.decided += 1,
                Outcome::Assumed => self.assumed += 1,
                Outcome::Missing(expected, grade) => {
                    self.decided += 1;
                    let exporters = self.exporters(import.name);
                    let flat = matches!(expected, Expected::Anywhere | Expected::AnywhereWeak);
                    let beside = |other: &Id| tree.owners[*other] == tree.owners[image];
                    // Modules of one distribution find each other's names when they are imported in the right order.
                    let grade = if flat && exporters.iter().any(beside) { Grade::Unverifiable } else { grade };
                    missing.push(Miss { symbol: import.name, expected, lazy: import.lazy, grade, exporters });
                }
            }
        }
        missing
    }

    fn look(
        &self,
        process: &Process<'a>,
        image: Id,
        slice: &'a Slice,
        import: Import<'a>,
        bound_of: &BoundOf<'_>,
    ) -> Outcome<'a> {
        let name = import.name;
        let found = |found: bool, expected: Expected<'a>| {
            if found { Outcome::Found } else { Outcome::Missing(expected, Grade::Error) }
        };
        match import.ordinal {
            Ordinal::This => found(self.exports(image, name, bound_of), Expected::This),
            Ordinal::Dependency(number) => {
                let place = (number as usize).wrapping_sub(1);
                let (Some(bound), Some(dependency)) = (bound_of(image).get(place), slice.dependencies.get(place))
                else {
                    return found(false, Expected::NoLibrary(i64::from(number)));
                };
                match bound {
                    Bound::Found(Found::System) => Outcome::Assumed,
                    Bound::Found(Found::Image(library)) => {
                        found(self.exports(*library, name, bound_of), Expected::Image(self.tree.path(*library)))
                    }
                    Bound::Absent => found(false, Expected::AbsentLibrary(&dependency.path)),
                    // Said already.
                    Bound::Missing => Outcome::Found,
                }
            }
            Ordinal::MainExecutable => match process.program() {
                Some(program) => found(self.exports(program, name, bound_of), Expected::Image(self.tree.path(program))),
                None => match cpython::has(self.python, name) {
                    cpython::Has::Yes => Outcome::Found,
                    cpython::Has::No => Outcome::Missing(Expected::Interpreter, Grade::Error),
                    cpython::Has::Unknown => Outcome::Missing(Expected::Interpreter, Grade::Unverifiable),
                },
            },
            Ordinal::FlatLookup => self.flat(process, image, name, bound_of),
            Ordinal::WeakLookup if slice.imports.table() == Table::Chained => {
                if self.anybody_exports(process, image, name, bound_of) {
                    Outcome::Found
                } else if system::has_symbol(name) || is_of_the_runtime(name) {
                    Outcome::Assumed
                } else {
                    Outcome::Missing(Expected::AnywhereWeak, grade_of_kind(name))
                }
            }
            // With opcodes the plain bind of the same address remains.
            Ordinal::WeakLookup => Outcome::Found,
            Ordinal::Unknown(number) => found(false, Expected::NoLibrary(i64::from(number))),
        }
    }

    /// Looks for a name in all that is loaded. Whatever system framework is loaded may have it too, so that a miss is
    /// weighed by its name.
    fn flat(&self, process: &Process<'a>, image: Id, name: &'a str, bound_of: &BoundOf<'_>) -> Outcome<'a> {
        let has = if process.program().is_some() { cpython::Has::Unknown } else { cpython::has(self.python, name) };
        if has == cpython::Has::Yes || self.anybody_exports(process, image, name, bound_of) {
            return Outcome::Found;
        }
        let objective_c = ["_objc_", "_OBJC_", ".objc_"];
        if objective_c.iter().any(|prefix| name.starts_with(prefix)) || system::has_symbol(name) {
            return Outcome::Assumed;
        }
        if cpython::is_like(name) {
            let grade = match has {
                // A name of another minor: the extension is for that one.
                cpython::Has::No if cpython::is_known(name) => Some(Grade::Error),
                cpython::Has::Unknown => Some(Grade::Unverifiable),
                _ => None,
            };
            if let Some(grade) = grade {
                return Outcome::Missing(Expected::Anywhere, grade);
            }
        }
        let grade = if grade_of_kind(name) == Grade::Error || self.has_relatives(image, name) {
            Grade::Error
        } else {
            Grade::Unverifiable
        };
        Outcome::Missing(Expected::Anywhere, grade)
    }

    /// Whether another image exports C names with the same beginning: `_TF_NewStatus` for `_TF_Other`.
    fn has_relatives(&self, image: Id, name: &str) -> bool {
        let Some(end) = name.get(1..).and_then(|rest| rest.find('_')).filter(|end| *end > 0) else { return false };
        let prefix = &name[..end + 2];
        let others = (0..self.tree.images.len()).filter(|other| *other != image);
        others.filter_map(|other| self.tree.slice(other)).any(|slice| slice.exports.has_prefix(prefix))
    }

    /// Returns the images of the tree that export a name themselves.
    fn exporters(&self, name: &str) -> Vec<Id> {
        let exports = |id: &Id| self.tree.slice(*id).is_some_and(|slice| slice.exports.find(name).is_some());
        (0..self.tree.images.len()).filter(exports).collect()
    }

    /// Whether an image exports a name, itself or from a library that it re-exports.
    fn exports(&self, image: Id, name: &str, bound_of: &BoundOf<'_>) -> bool {
        // Nearly every name is found at once.
        let Some(slice) = self.tree.slice(image) else { return false };
        match slice.exports.find(name) {
            Some(Export::Own) => true,
            None if !slice.dependencies.iter().any(|dependency| dependency.re_export) => false,
            _ => self.exports_by_way(image, name, bound_of),
        }
    }

    /// Whether anything that is loaded exports a name. What each re-exports is loaded too, and asked itself.
    fn anybody_exports(&self, process: &Process<'a>, image: Id, name: &str, bound_of: &BoundOf<'_>) -> bool {
        process.visible(image).any(|other| match self.tree.slice(other).and_then(|slice| slice.exports.find(name)) {
            Some(Export::Own) => true,
            Some(Export::ReExport { .. }) => self.exports_by_way(other, name, bound_of),
            None => false,
        })
    }

    fn exports_by_way(&self, image: Id, name: &str, bound_of: &BoundOf<'_>) -> bool {
        let mut open = vec![(image, name)];
        let mut searched: HashSet<(Id, &str)> = HashSet::new();
        while let Some((image, name)) = open.pop() {
            let Some(slice) = self.tree.slice(image).filter(|_| searched.insert((image, name))) else { continue };
            let bound = bound_of(image);
            match slice.exports.find(name) {
                Some(Export::Own) => return true,
                Some(Export::ReExport { ordinal, name: other }) => {
                    let other = if other.is_empty() { name } else { other };
                    match bound.get((ordinal as usize).wrapping_sub(1)) {
                        Some(Bound::Found(Found::Image(library))) => open.push((*library, other)),
                        Some(Bound::Found(Found::System)) => return true,
                        // dyld asks nobody else then.
                        _ => {}
                    }
                }
                None => {
                    for (dependency, bound) in slice.dependencies.iter().zip(bound) {
                        match bound {
                            Bound::Found(Found::Image(library)) if dependency.re_export => open.push((*library, name)),
                            Bound::Found(Found::System) if dependency.re_export && system::has_symbol(name) => {
                                return true;
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
        false
    }
}

/// Whether a C++ name is of the language's runtime or its standard library.
fn is_of_the_runtime(name: &str) -> bool {
    const KINDS: [&str; 7] = ["__ZN", "__ZNK", "__ZTI", "__ZTS", "__ZTV", "__ZTT", "__ZGVN"];
    // Operators new and delete, and type information of built-in types.
    const PLAIN: [&str; 9] = ["__Znw", "__Zna", "__Zdl", "__Zda", "__ZSt", "__ZTIP", "__ZTSP", "__ZNSt", "__ZNKSt"];
    PLAIN.iter().any(|prefix| name.starts_with(prefix))
        || KINDS.iter().any(|kind| {
            name.strip_prefix(kind).is_some_and(|rest| {
                rest.starts_with("St")
                    || rest.starts_with("NSt")
                    || rest.starts_with("N10__cxxabiv1")
                    || rest.len() == 1
            })
        })
}

/// Weighs the miss of a name by the language that it is from: names of C++ outside the standard library are nobody's but
/// their library's.
fn grade_of_kind(name: &str) -> Grade {
    if name.starts_with("__Z") && !is_of_the_runtime(name) { Grade::Error } else { Grade::Unverifiable }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_runtime() {
        for name in [
            "__ZTISt12length_error",
            "__Znwm",
            "__ZdlPvSt11align_val_t",
            "__ZNSt3__112basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEE6appendEPKcm",
            "__ZNKSt3__16locale9use_facetERNS0_2idE",
            "__ZTVN10__cxxabiv117__class_type_infoE",
            "__ZTINSt3__18ios_baseE",
            "__ZTIi",
            "__ZTIPKc",
            "__ZSt9terminatev",
        ] {
            assert!(is_of_the_runtime(name), "{name}");
            assert_eq!(grade_of_kind(name), Grade::Unverifiable);
        }
        for name in ["__ZN3tsl8internal10LogMessageC1EPKcii", "__ZTIN2at6TensorE", "__ZTVN3c1014StorageImplE"] {
            assert_eq!(grade_of_kind(name), Grade::Error, "{name}");
        }
        for name in ["_malloc", "_TF_NewStatus", "_$sSS"] {
            assert_eq!(grade_of_kind(name), Grade::Unverifiable, "{name}");
        }
    }
}
