//! What is resolved for: a platform, its floor and a Python. Never the machine that macml runs on.

use std::fmt;
use std::str::FromStr;

use crate::host::Chip;
use crate::pep::MarkerEnv;
use crate::pep::Tags;
use crate::pep::Version;
use crate::pep::tag;
use crate::python::Arch;
use crate::python::Machine;
use crate::python::System;

/// A platform that environments are locked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Platform {
    /// Apple Silicon Macs.
    MacosArm64,
    /// glibc Linux on x86-64.
    LinuxX86_64,
    /// glibc Linux on 64-bit Arm.
    LinuxAarch64,
}

/// A macOS version, major and minor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MacosVersion {
    major: u16,
    minor: u16,
}

/// A Python feature release such as 3.13.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PythonMinor {
    /// Always 3 so far.
    pub major: u16,
    /// 13 of 3.13.
    pub minor: u16,
}

/// The lowest machine that must work.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Floor {
    /// A Mac with at least this macOS and chip.
    Mac {
        /// Lowest macOS.
        macos: MacosVersion,
        /// Lowest chip.
        chip: Chip,
    },
    /// A Linux with at least this glibc (major, minor).
    Glibc(u16, u16),
}

/// Whether the GPU must be usable: `[target] gpu`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gpu {
    /// The set must compute on the GPU.
    Required,
    /// The GPU is welcome.
    Optional,
}

/// A platform with its floor and one Python minor.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// The platform.
    pub platform: Platform,
    /// The lowest machine of it.
    pub floor: Floor,
    /// The Python.
    pub python: PythonMinor,
}

/// Why a text is no macOS version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MacosError {
    /// Not two numbers.
    #[error("`{0}` is not a macOS version such as `14.0`")]
    Form(String),
    /// A number that Apple skipped: 15 was followed by 26.
    #[error("macOS {0} never existed: 15 was followed by 26")]
    NeverExisted(String),
    /// Before Apple Silicon.
    #[error("macOS {0} does not run on Apple Silicon: the first is 11.0")]
    TooOld(String),
}

/// Why a text is no platform.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a platform: `macos-arm64`, `linux-x86_64` or `linux-aarch64`")]
pub struct PlatformError(String);

/// Why a text is no Python minor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a Python such as `3.13`")]
pub struct PythonMinorError(String);

impl Platform {
    /// Every platform, in the order of the lockfile.
    pub const ALL: [Self; 3] = [Self::MacosArm64, Self::LinuxX86_64, Self::LinuxAarch64];

    /// Returns whether it is a Mac.
    pub fn is_mac(self) -> bool {
        self == Self::MacosArm64
    }

    /// Returns the system and the architecture of its interpreters.
    pub fn interpreters(self) -> (System, Arch) {
        match self {
            Self::MacosArm64 => (System::Mac, Arch::Arm64),
            Self::LinuxX86_64 => (System::Linux, Arch::X86_64),
            Self::LinuxAarch64 => (System::Linux, Arch::Arm64),
        }
    }

    /// Returns the platform of a machine with these interpreters.
    pub fn of(machine: &Machine) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.interpreters() == (machine.system, machine.arch))
    }

    /// Returns the machine as `uname -m` says it.
    pub fn machine(self) -> &'static str {
        match self {
            Self::MacosArm64 => "arm64",
            Self::LinuxX86_64 => "x86_64",
            Self::LinuxAarch64 => "aarch64",
        }
    }
}

impl FromStr for Platform {
    type Err = PlatformError;

    fn from_str(text: &str) -> Result<Self, PlatformError> {
        Self::ALL.into_iter().find(|one| one.to_string() == text).ok_or_else(|| PlatformError(text.to_owned()))
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MacosArm64 => "macos-arm64",
            Self::LinuxX86_64 => "linux-x86_64",
            Self::LinuxAarch64 => "linux-aarch64",
        })
    }
}

impl MacosVersion {
    /// The newest major release known here.
    pub const NEWEST_MAJOR: u16 = 27;

    /// Wraps numbers that are known to be a macOS version.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }

    /// Reads the version of a product, such as `15.6.1`, of which the first two numbers count.
    pub fn told_by(product: &str) -> Option<Self> {
        let mut parts = product.splitn(3, '.');
        let (major, minor) = (parts.next()?, parts.next().unwrap_or("0"));
        format!("{major}.{minor}").parse().ok()
    }

    /// Returns the major number.
    pub fn major(self) -> u16 {
        self.major
    }

    /// Returns the minor number.
    pub fn minor(self) -> u16 {
        self.minor
    }

    /// Returns it as a version to compare with specifiers.
    pub fn version(self) -> Version {
        Version::new([u64::from(self.major), u64::from(self.minor)])
    }

    /// Returns the lowest release of Darwin, the kernel, that this macOS has.
    ///
    /// 11 has Darwin 20 and each year added one to both, until macOS went from 15 to 26 and Darwin only to 25. From 27 on
    /// both have one number (<https://github.com/sindresorhus/macos-release/pull/21>). The second number of Darwin is that
    /// of macOS or one more.
    pub fn darwin(self) -> Version {
        let major = match self.major {
            27.. => self.major,
            26 => 25,
            before => before + 9,
        };
        Version::new([u64::from(major), u64::from(self.minor), 0])
    }

    /// Lists the versions from this one up that there may be: majors with their minors, up to the newest major known.
    pub fn upward(self) -> impl Iterator<Item = Self> {
        const MOST_MINORS: u16 = 9;
        let majors = (self.major..=Self::NEWEST_MAJOR.max(self.major)).filter(|major| !(16..=25).contains(major));
        let all = majors.flat_map(|major| (0..=MOST_MINORS).map(move |minor| Self::new(major, minor)));
        all.filter(move |one| *one >= self)
    }

    /// Returns the generations from this floor up: itself, then each later major's `.0` up to the newest known.
    pub fn generations(self) -> Vec<Self> {
        let later = (self.major + 1..=Self::NEWEST_MAJOR).filter(|major| !(16..=25).contains(major));
        std::iter::once(self).chain(later.map(|major| Self::new(major, 0))).collect()
    }
}

impl FromStr for MacosVersion {
    type Err = MacosError;

    fn from_str(text: &str) -> Result<Self, MacosError> {
        let form = || MacosError::Form(text.to_owned());
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
        if !digits(major) || !digits(minor) {
            return Err(form());
        }
        let major: u16 = major.parse().map_err(|_| form())?;
        let minor: u16 = minor.parse().map_err(|_| form())?;
        match major {
            0..=10 => Err(MacosError::TooOld(text.to_owned())),
            16..=25 => Err(MacosError::NeverExisted(text.to_owned())),
            _ => Ok(Self { major, minor }),
        }
    }
}

impl fmt::Display for MacosVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for PythonMinor {
    type Err = PythonMinorError;

    fn from_str(text: &str) -> Result<Self, PythonMinorError> {
        let number = |text: &str| {
            let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
            text.parse().ok().filter(|_| plain)
        };
        let parts = text.split_once('.').and_then(|(major, minor)| Some((number(major)?, number(minor)?)));
        let (major, minor) = parts.ok_or_else(|| PythonMinorError(text.to_owned()))?;
        Ok(Self { major, minor })
    }
}

impl fmt::Display for PythonMinor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl PythonMinor {
    /// Lists every released minor that macml resolves for, oldest first, with its newest known patch.
    ///
    /// Source: the release pages of CPython, read 2026-11-30. A later patch than the newest known counts too.
    pub const RELEASED: [(Self, u16); 8] = [
        (Self { major: 3, minor: 8 }, 20),
        (Self { major: 3, minor: 9 }, 25),
        (Self { major: 3, minor: 10 }, 20),
        (Self { major: 3, minor: 11 }, 15),
        (Self { major: 3, minor: 12 }, 13),
        (Self { major: 3, minor: 13 }, 14),
        (Self { major: 3, minor: 14 }, 6),
        (Self { major: 3, minor: 15 }, 0),
    ];

    /// Reads the minor of a release: 3.12 of `3.12.7`.
    pub fn of_release(release: &str) -> Option<Self> {
        let mut parts = release.split('.');
        format!("{}.{}", parts.next()?, parts.next()?).parse().ok()
    }

    /// Returns its first release as a version to compare with specifiers.
    pub fn version(self) -> Version {
        Version::new([self.major, self.minor, 0].map(u64::from))
    }

    /// Lists the patch releases known of this minor, oldest first; none for a minor that is unknown.
    pub fn known_patches(self) -> Vec<Version> {
        let newest = Self::RELEASED.iter().find(|(minor, _)| *minor == self).map(|(_, newest)| *newest);
        let patch = |patch: u16| Version::new([self.major, self.minor, patch].map(u64::from));
        newest.map_or_else(Vec::new, |newest| (0..=newest).map(patch).collect())
    }
}

impl From<PythonMinor> for (u64, u64) {
    fn from(python: PythonMinor) -> Self {
        (python.major.into(), python.minor.into())
    }
}

impl Target {
    /// Lists the tags that fit the floor, best first.
    pub fn tags(&self) -> Tags {
        match self.floor {
            Floor::Mac { macos, .. } => self.tags_on(macos),
            Floor::Glibc(major, minor) => {
                let platforms = tag::linux_platforms((major.into(), minor.into()), self.platform.machine());
                Tags::cpython(self.python.into(), &platforms)
            }
        }
    }

    /// Lists the tags that fit a Mac on `macos` (which may be above the floor), best first.
    pub fn tags_on(&self, macos: MacosVersion) -> Tags {
        let platforms = tag::mac_platforms((macos.major.into(), macos.minor.into()));
        Tags::cpython(self.python.into(), &platforms)
    }

    /// Returns what marker variables are on every machine from the floor up.
    pub fn marker_env(&self) -> MarkerEnv {
        let (sys_platform, platform_system) =
            if self.platform.is_mac() { ("darwin", "Darwin") } else { ("linux", "Linux") };
        let platform_release_floor = match self.floor {
            Floor::Mac { macos, .. } => Some(macos.darwin()),
            Floor::Glibc(..) => None,
        };
        MarkerEnv {
            os_name: "posix".to_owned(),
            sys_platform: sys_platform.to_owned(),
            platform_machine: self.platform.machine().to_owned(),
            platform_system: platform_system.to_owned(),
            platform_release_floor,
            python_version: self.python.into(),
            python_full_version: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pep::Marker;
    use crate::pep::Truth;
    use crate::pep::WheelName;

    fn target(platform: &str, floor: &str, python: &str) -> Target {
        let platform: Platform = platform.parse().unwrap();
        let python: PythonMinor = python.parse().unwrap();
        let floor = if platform.is_mac() {
            Floor::Mac { macos: floor.parse().unwrap(), chip: "m1".parse().unwrap() }
        } else {
            let (major, minor) = floor.split_once('.').unwrap();
            Floor::Glibc(major.parse().unwrap(), minor.parse().unwrap())
        };
        Target { platform, floor, python }
    }

    fn check_darwin(macos: &str, expected: &str) {
        assert_eq!(macos.parse::<MacosVersion>().unwrap().darwin().to_string(), expected, "{macos}");
    }

    #[test]
    fn darwin_of_macos() {
        check_darwin("11.0", "20.0.0");
        check_darwin("12.3", "21.3.0");
        check_darwin("13.0", "22.0.0");
        check_darwin("14.5", "23.5.0");
        check_darwin("15", "24.0.0");
        check_darwin("26.1", "25.1.0");
        check_darwin("27.0", "27.0.0");
        check_darwin("28.0", "28.0.0");
    }

    #[test]
    fn macos_versions() {
        let error = |text: &str| text.parse::<MacosVersion>().unwrap_err().to_string();
        assert_eq!(error("16.0"), "macOS 16.0 never existed: 15 was followed by 26");
        assert_eq!(error("25"), "macOS 25 never existed: 15 was followed by 26");
        assert_eq!(error("10.15"), "macOS 10.15 does not run on Apple Silicon: the first is 11.0");
        for text in ["", "14.", ".1", "14.1.2", "+14", "a", "70000", "14.x", "14 "] {
            assert_eq!(error(text), format!("`{text}` is not a macOS version such as `14.0`"));
        }
        let generations = |text: &str| -> Vec<String> {
            let floor: MacosVersion = text.parse().unwrap();
            floor.generations().iter().map(ToString::to_string).collect()
        };
        assert_eq!(generations("14.5"), ["14.5", "15.0", "26.0", "27.0"]);
        assert_eq!(generations("30.1"), ["30.1"]);
        assert!("15.9".parse::<MacosVersion>().unwrap() < "26".parse().unwrap());
    }

    #[test]
    fn names_round_trip() {
        for platform in Platform::ALL {
            assert_eq!(platform.to_string().parse::<Platform>().unwrap(), platform);
        }
        assert!("macos".parse::<Platform>().is_err());
        assert_eq!("3.13".parse::<PythonMinor>().unwrap().to_string(), "3.13");
        for text in ["3", "3.13.1", "3.x", "", "+3.13", "3.+13", "03.13", "3.013"] {
            assert!(text.parse::<PythonMinor>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_oldest_python_that_is_locked_for_is_the_oldest_that_is_taken() {
        let (oldest, _) = PythonMinor::RELEASED[0];
        assert_eq!(<(u64, u64)>::from(oldest), crate::python::OLDEST);
        for platform in Platform::ALL {
            let (system, arch) = platform.interpreters();
            let env = crate::sys::Env::from_map(std::collections::BTreeMap::new(), "/".into());
            let machine = Machine::of(&env, system, arch, std::path::Path::new("/"));
            assert_eq!(Platform::of(&machine), Some(platform));
            assert_eq!(arch.on(system), platform.machine());
        }
    }

    #[test]
    fn patches() {
        let patches = |text: &str| text.parse::<PythonMinor>().unwrap().known_patches();
        assert_eq!(patches("3.15"), [Version::new([3, 15, 0])]);
        assert_eq!(patches("3.14").last(), Some(&Version::new([3, 14, 6])));
        assert!(patches("3.99").is_empty());
        assert!(PythonMinor::RELEASED.is_sorted());
    }

    #[test]
    fn tags_follow_floor_and_platform() {
        let check = |target: &Target, tags: &str, fits: bool| {
            let wheel: WheelName = format!("x-1-{tags}.whl").parse().unwrap();
            assert_eq!(target.tags().rank(&wheel).is_some(), fits, "{tags}");
        };
        let mac = target("macos-arm64", "13.3", "3.13");
        check(&mac, "cp313-cp313-macosx_13_0_arm64", true);
        check(&mac, "cp313-cp313-macosx_14_0_arm64", false);
        check(&mac, "cp313-cp313-macosx_13_0_x86_64", false);
        check(&mac, "py3-none-any", true);
        let wheel: WheelName = "x-1-cp313-cp313-macosx_14_0_arm64.whl".parse().unwrap();
        assert_eq!(mac.tags_on(MacosVersion::new(14, 0)).rank(&wheel), Some(0));
        let linux = target("linux-aarch64", "2.28", "3.12");
        check(&linux, "cp312-cp312-manylinux_2_28_aarch64", true);
        check(&linux, "cp312-cp312-manylinux_2_31_aarch64", false);
        check(&linux, "cp312-cp312-manylinux_2_17_x86_64", false);
        check(&linux, "cp312-cp312-musllinux_1_2_aarch64", false);
    }

    #[test]
    fn markers_on_all_machines_of_a_target() {
        let check = |target: &Target, marker: &str, expected: Truth| {
            let marker: Marker = marker.parse().unwrap();
            assert_eq!(marker.evaluate(&target.marker_env(), &[]), expected, "{marker}");
        };
        let mac = target("macos-arm64", "14.0", "3.13");
        check(
            &mac,
            "platform_machine == 'arm64' and sys_platform == 'darwin' and python_version == '3.13'",
            Truth::Always,
        );
        check(&mac, "platform_release >= '23' and platform_system == 'Darwin'", Truth::Always);
        check(&mac, "platform_release < '9.0' and platform_machine == 'arm64'", Truth::Never);
        check(&mac, "platform_release >= '24'", Truth::Unknown);
        let linux = target("linux-x86_64", "2.28", "3.9");
        check(
            &linux,
            "platform_machine == 'x86_64' and platform_system == 'Linux' and os_name == 'posix'",
            Truth::Always,
        );
        check(&linux, "platform_release >= '5'", Truth::Unknown);
    }
}
