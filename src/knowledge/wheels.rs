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
        self.is_about_tagged(name, version, wheel.platform_tags())
    }

    /// Returns whether it speaks of a release that was installed from a wheel with these platform tags.
    pub fn is_about_tagged<'t>(
        &self,
        name: &PackageName,
        version: &Version,
        mut platforms: impl Iterator<Item = &'t str>,
    ) -> bool {
        self.packages.contains(name) && platforms.any(|tag| tag == self.tag) && self.versions.contains(version)
    }
}

impl InnerTag {
    /// Returns whether it explains why the `WHEEL` file of a release's wheel names the platform tag `says`, which its
    /// file name does not.
    pub fn explains(&self, name: &PackageName, version: &Version, wheel: &WheelName, says: &str) -> bool {
        let build = wheel.build.as_ref().map_or(0, |(number, _)| *number);
        self.build == build && self.explains_installed(name, version, says)
    }

    /// Returns whether it explains the platform tag of an installed release, of whose file the name is not known.
    pub fn explains_installed(&self, name: &PackageName, version: &Version, says: &str) -> bool {
        self.packages.contains(name) && self.says == says && self.versions.contains(version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::Knowledge;

    fn wheels(evidence: &[Evidence]) -> impl Iterator<Item = WheelName> {
        evidence.iter().filter_map(|one| match one {
            Evidence::Wheel(file) => Some(file.parse().unwrap()),
            Evidence::Address(_) | Evidence::Files(_) => None,
        })
    }

    /// Reads the lowest macOS out of `macosx_14_0_arm64`.
    fn named(tag: &str) -> MacosVersion {
        let mut parts = tag.strip_prefix("macosx_").unwrap().split('_').map(|part| part.parse().unwrap());
        MacosVersion::new(parts.next().unwrap(), parts.next().unwrap())
    }

    #[test]
    fn what_is_known_speaks_of_the_wheels_that_prove_it() {
        let knowledge = Knowledge::built_in();
        for fact in &knowledge.wheels {
            assert!(fact.macos > named(&fact.tag), "{} {} is what it says", fact.packages[0], fact.tag);
            let about = |wheel: &WheelName| fact.is_about(&wheel.name, &wheel.version, wheel);
            assert_eq!(wheels(&fact.evidence).find(|wheel| !about(wheel)), None, "{}", fact.reason);
            for package in &fact.packages {
                assert!(wheels(&fact.evidence).any(|wheel| wheel.name == *package), "{package}: {}", fact.reason);
            }
        }
        for known in &knowledge.inner_tags {
            let explained = |wheel: &WheelName| known.explains(&wheel.name, &wheel.version, wheel, &known.says);
            assert!(wheels(&known.evidence).any(|wheel| explained(&wheel)), "{}", known.reason);
            let right = |wheel: &WheelName| wheel.platform_tags().any(|tag| tag == known.says);
            assert_eq!(wheels(&known.evidence).find(right), None, "{}", known.reason);
        }
    }

    #[test]
    fn an_inner_tag_explains_the_build_that_it_is_about() {
        let known = InnerTag {
            packages: vec!["torch".parse().unwrap()],
            versions: "==2.10.0".parse().unwrap(),
            build: 0,
            says: "macosx_110_0_arm64".to_owned(),
            reason: "The first build wrote it so.".to_owned(),
            evidence: vec![Evidence::Wheel("torch-2.10.0-cp313-none-macosx_11_0_arm64.whl".to_owned())],
        };
        let check = |file: &str, says: &str, expected: bool| {
            let wheel: WheelName = file.parse().unwrap();
            assert_eq!(known.explains(&wheel.name, &wheel.version, &wheel, says), expected, "{file} {says}");
        };
        check("torch-2.10.0-cp313-none-macosx_11_0_arm64.whl", "macosx_110_0_arm64", true);
        check("torch-2.10.0-cp313-none-macosx_11_0_arm64.whl", "macosx_12_0_arm64", false);
        check("torch-2.10.0-2-cp313-none-macosx_11_0_arm64.whl", "macosx_110_0_arm64", false);
        check("torch-2.9.1-cp313-none-macosx_11_0_arm64.whl", "macosx_110_0_arm64", false);
        check("torchvision-2.10.0-cp313-none-macosx_11_0_arm64.whl", "macosx_110_0_arm64", false);
    }

    #[test]
    fn a_fact_is_about_one_tag_of_some_releases() {
        let fact = WheelFact {
            packages: vec!["mlx".parse().unwrap(), "mlx-metal".parse().unwrap()],
            versions: ">=0.32.0".parse().unwrap(),
            tag: "macosx_26_0_arm64".to_owned(),
            macos: MacosVersion::new(26, 2),
            reason: "Its libraries are built for 26.2.".to_owned(),
            evidence: vec![Evidence::Wheel("mlx-0.32.0-cp313-cp313-macosx_26_0_arm64.whl".to_owned())],
            confidence: Confidence::Measured,
        };
        let check = |file: &str, expected: bool| {
            let wheel: WheelName = file.parse().unwrap();
            assert_eq!(fact.is_about(&wheel.name, &wheel.version, &wheel), expected, "{file}");
        };
        check("mlx-0.32.0-cp313-cp313-macosx_26_0_arm64.whl", true);
        check("mlx_metal-0.32.4-py3-none-macosx_26_0_arm64.whl", true);
        check("mlx-0.32.0-cp313-cp313-macosx_15_0_arm64.whl", false);
        check("mlx-0.31.2-cp313-cp313-macosx_26_0_arm64.whl", false);
        check("mlx_lm-0.32.0-py3-none-macosx_26_0_arm64.whl", false);
    }
}
