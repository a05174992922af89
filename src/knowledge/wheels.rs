//! What the tags of single wheels get wrong: a library built for a later macOS than its file name says, or a tag inside
//! the wheel that contradicts the file name.

use crate::pep::PackageName;
use crate::pep::Specifiers;
use crate::pep::Version;
use crate::pep::WheelName;
use crate::target::MacosVersion;

use super::rule::Confidence;
use super::rule::Evidence;

/// Wheels of some releases that are for a later macOS than their file name says.
#[derive(Clone, PartialEq, Debug)]
pub struct WheelFact {
    /// The packages; what they have in common is that they load each other's libraries.
    pub packages: Vec<PackageName>,
    /// Their releases.
    pub versions: Specifiers,
    /// The platform tag in the file name: `macosx_26_0_arm64`.
    pub tag: String,
    /// The lowest macOS that the wheel is really for.
    pub macos: MacosVersion,
    /// Why, as one sentence for people.
    pub reason: String,
    /// Who says so, never empty.
    pub evidence: Vec<Evidence>,
    /// How it is known.
    pub confidence: Confidence,
}

/// Wheels whose own `WHEEL` file contradicts their file name; the file name is right.
#[derive(Clone, PartialEq, Debug)]
pub struct InnerTag {
    /// The packages.
    pub packages: Vec<PackageName>,
    /// Their releases.
    pub versions: Specifiers,
    /// The build number in the file name; 0 for none.
    pub build: u64,
    /// The platform tag that `WHEEL` names.
    pub says: String,
    /// Why it is wrong, as one sentence for people.
    pub reason: String,
    /// Who says so, never empty.
    pub evidence: Vec<Evidence>,
}

impl WheelFact {
    /// Returns whether it speaks of this wheel of a release.
    pub fn is_about(&self, name: &PackageName, version: &Version, wheel: &WheelName) -> bool {
        self.packages.contains(name)
            && wheel.platform_tags().any(|tag| tag == self.tag)
            && self.versions.contains(version)
    }
}
