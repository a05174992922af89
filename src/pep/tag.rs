//! Python, ABI and platform tags (PEP 425, 600, 703), and their order for one interpreter.

use std::collections::HashMap;

use super::wheel_name::WheelName;

/// The tags that one CPython minor accepts on one kind of machine, best first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tags {
    ranks: HashMap<String, u32>,
}

/// Which part of a wheel's tags keeps it from fitting.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Misfit {
    /// Made for another Python: its python tags (with ABI), for example `cp313`.
    Python(String),
    /// Right Python, wrong platform: its platform tags.
    Platform(String),
}

impl Tags {
    /// Lists the tags of CPython `minor` for `platforms` (best first; `any` is added), as `packaging` orders them.
    pub fn cpython(minor: (u64, u64), platforms: &[String]) -> Self {
        let _ = (minor, platforms);
        unimplemented!("pep helper")
    }

    /// Returns the rank of the wheel's best tag, 0 the best, or `None` when none fits.
    pub fn rank(&self, wheel: &WheelName) -> Option<u32> {
        let _ = (wheel, &self.ranks);
        unimplemented!("pep helper")
    }

    /// Says which part of the wheel's tags does not fit; only for wheels without a rank.
    pub fn misfit(&self, wheel: &WheelName) -> Misfit {
        let _ = wheel;
        unimplemented!("pep helper")
    }
}

/// Lists platform tags of an arm64 Mac on `macos` (major, minor), as `packaging`'s `mac_platforms` does.
pub fn mac_platforms(macos: (u64, u64)) -> Vec<String> {
    let _ = macos;
    unimplemented!("pep helper")
}

/// Lists platform tags of a glibc Linux (`glibc` is major, minor; `arch` is `x86_64` or `aarch64`), as `packaging` does.
pub fn linux_platforms(glibc: (u64, u64), arch: &str) -> Vec<String> {
    let _ = (glibc, arch);
    unimplemented!("pep helper")
}
