//! What would be complained of in the libraries of single wheels, although it does no harm.

use crate::diag::Code;
use crate::pep::PackageName;
use crate::pep::Specifiers;
use crate::pep::Version;

use super::Knowledge;
use super::rule::Evidence;

/// Something wrong with an image of some releases that does no harm.
#[derive(Clone, PartialEq, Debug)]
pub struct Excused {
    /// The package that brings the image.
    pub package: PackageName,
    /// Its releases.
    pub versions: Specifiers,
    /// What is wrong.
    pub code: Code,
    /// The image's path from `site-packages`.
    pub image: String,
    /// The name that is missing, where that is what is wrong; `None` for all.
    pub symbol: Option<String>,
    /// Why it does no harm, as one sentence for people.
    pub reason: String,
    /// Who says so, never empty.
    pub evidence: Vec<Evidence>,
}

impl Knowledge {
    /// Returns what excuses something wrong with an image of a release.
    pub fn excuse(
        &self,
        package: &PackageName,
        version: &Version,
        code: Code,
        image: &str,
        symbol: Option<&str>,
    ) -> Option<&Excused> {
        self.excused.iter().find(|excused| {
            excused.package == *package
                && excused.code == code
                && excused.image == image
                && excused.versions.contains(version)
                && excused.symbol.as_deref().is_none_or(|name| symbol == Some(name))
        })
    }
}
