//! What the tags of single wheels get wrong: a library built for a later macOS than its file name says, or a tag inside
//! the wheel that contradicts the file name.

use crate::pep::PackageName;
use crate::pep::Specifiers;
use crate::pep::Version;
use crate::pep::WheelName;
use crate::target::MacosVersion;

use super::Knowledge;
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

/// For which macOS the wheel was made that a release was installed from.
#[derive(Clone, PartialEq, Debug)]
pub struct MadeFor<'k> {
    /// The macOS.
    pub macos: MacosVersion,
    /// The tag that says so, `cp313-cp313-macosx_26_0_arm64`, or that is known to say less than is so.
    pub tag: String,
    /// What is known beyond the tag, where that counts.
    pub fact: Option<&'k WheelFact>,
}

impl Knowledge {
    /// Says for which macOS a release is that was installed from a wheel with these tags: the lowest that one of them names.
    /// `None` where they name none, a macOS that never was, or one that is known to be a mistake.
    pub fn made_for(&self, name: &PackageName, version: &Version, tags: &[String]) -> Option<MadeFor<'_>> {
        let of = |tag: &String| {
            let platform = tag.rsplit('-').next()?;
            if self.inner_tags.iter().any(|known| known.explains_installed(name, version, platform)) {
                return None;
            }
            let named = named(platform)?;
            let fact = self.wheels.iter().find(|fact| fact.is_about_tagged(name, version, std::iter::once(platform)));
            let fact = fact.filter(|fact| fact.macos > named);
            Some(MadeFor { macos: fact.map_or(named, |fact| fact.macos), tag: tag.clone(), fact })
        };
        tags.iter().filter_map(of).min_by_key(|made| made.macos)
    }
}

/// Reads the macOS out of a platform tag, 26.0 of `macosx_26_0_arm64`; `None` where there never was such a one.
fn named(platform: &str) -> Option<MacosVersion> {
    let mut parts = platform.strip_prefix("macosx_")?.split('_');
    format!("{}.{}", parts.next()?, parts.next()?).parse().ok()
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

    fn wheels(evidence: &[Evidence]) -> impl Iterator<Item = WheelName> {
        evidence.iter().filter_map(|one| match one {
            Evidence::Wheel(file) => Some(file.parse().unwrap()),
            Evidence::Address(_) | Evidence::Files(_) => None,
        })
    }

    #[test]
    fn what_is_known_speaks_of_the_wheels_that_prove_it() {
        let knowledge = Knowledge::built_in();
        for fact in &knowledge.wheels {
            assert!(fact.macos > named(&fact.tag).unwrap(), "{} {} is what it says", fact.packages[0], fact.tag);
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
    fn what_an_installed_wheel_is_made_for() {
        let knowledge = Knowledge::built_in();
        let check = |name: &str, version: &str, tags: &[&str], expected: Option<&str>| {
            let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
            let made = knowledge.made_for(&name.parse().unwrap(), &version.parse().unwrap(), &tags);
            assert_eq!(made.map(|made| made.macos.to_string()).as_deref(), expected, "{name} {version}");
        };
        check("numpy", "2.3.5", &["cp312-cp312-macosx_14_0_arm64"], Some("14.0"));
        check("numpy", "2.3.5", &["cp312-cp312-macosx_14_0_arm64", "cp312-cp312-macosx_11_0_arm64"], Some("11.0"));
        check("six", "1.17.0", &["py2-none-any", "py3-none-any"], None);
        // The file of torch 2.8.0 is named for macOS 11, which is right; its tag is not.
        check("torch", "2.8.0", &["cp313-cp313-macosx_14_0_arm64"], None);
        check("torch", "2.10.0", &["cp313-cp313-macosx_110_0_arm64"], None);
        check("torch", "2.15.0", &["cp313-cp313-macosx_14_0_arm64"], Some("14.0"));
        // Its tag cannot say 26.2.
        check("mlx", "0.32.4", &["cp313-cp313-macosx_26_0_arm64"], Some("26.2"));
        check("mlx-metal", "0.32.4", &["py3-none-macosx_26_0_arm64"], Some("26.2"));
        check("mlx", "0.30.0", &["cp313-cp313-macosx_26_0_arm64"], Some("26.0"));
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
