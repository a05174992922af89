//! Python, ABI and platform tags (PEP 425, 600, 703), and their order for one interpreter.
//!
//! The order is that of the `packaging` package. It is stored in two small tables instead of one with a row for each
//! triple: a python tag with an ABI gives the rank of its block, a platform the place inside it.

use std::collections::HashMap;

use super::wheel_name::WheelName;

/// The tags that one CPython minor accepts on one kind of machine, best first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tags {
    /// For each python tag, the ABIs it goes with and the rank of the first platform of each.
    native: HashMap<String, Vec<(String, u32)>>,
    /// The rank of each python tag with ABI `none` and platform `any`.
    pure: HashMap<String, u32>,
    /// The place of each platform.
    platforms: HashMap<String, u32>,
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
        let (major, minor) = minor;
        let width = platforms.len() as u32;
        let mut tags = Self { native: HashMap::new(), pure: HashMap::new(), platforms: HashMap::new() };
        for (place, platform) in (0..).zip(platforms) {
            tags.platforms.entry(platform.clone()).or_insert(place);
        }
        let own = format!("cp{major}{minor}");
        let older_stable = (2..minor).rev().map(|older| (format!("cp{major}{older}"), "abi3"));
        let generic = || {
            let older = (0..minor).rev().map(move |older| format!("py{major}{older}"));
            [format!("py{major}{minor}"), format!("py{major}")].into_iter().chain(older)
        };
        let blocks = [(own.clone(), own.as_str()), (own.clone(), "abi3"), (own.clone(), "none")]
            .into_iter()
            .chain(older_stable)
            .chain(generic().map(|python| (python, "none")));
        let mut rank = 0;
        for (python, abi) in blocks {
            tags.native.entry(python).or_default().push((abi.to_owned(), rank));
            rank += width;
        }
        for python in std::iter::once(own.clone()).chain(generic()) {
            tags.pure.insert(python, rank);
            rank += 1;
        }
        tags
    }

    /// Returns the rank of the wheel's best tag, 0 the best, or `None` when none fits.
    pub fn rank(&self, wheel: &WheelName) -> Option<u32> {
        let mut best: Option<u32> = None;
        let place = wheel.platform_tags().filter_map(|platform| self.platforms.get(platform)).min();
        let any = wheel.platform_tags().any(|platform| platform == "any");
        for python in wheel.python_tags() {
            for abi in wheel.abi_tags() {
                let native = place.and_then(|place| Some(self.block(python, abi)? + place));
                let pure = if any && abi == "none" { self.pure.get(python).copied() } else { None };
                best = [best, native, pure].into_iter().flatten().min();
            }
        }
        best
    }

    /// Says which part of the wheel's tags does not fit; only for wheels without a rank.
    pub fn misfit(&self, wheel: &WheelName) -> Misfit {
        let join = |tags: Vec<&str>| tags.join(".");
        let fits = wheel.python_tags().any(|python| wheel.abi_tags().any(|abi| self.block(python, abi).is_some()));
        if fits {
            return Misfit::Platform(join(wheel.platform_tags().collect()));
        }
        let (python, abi) = (join(wheel.python_tags().collect()), join(wheel.abi_tags().collect()));
        Misfit::Python(if abi == python || abi == "none" { python } else { format!("{python}-{abi}") })
    }

    fn block(&self, python: &str, abi: &str) -> Option<u32> {
        self.native.get(python)?.iter().find(|(one, _)| one == abi).map(|(_, rank)| *rank)
    }
}

/// Lists platform tags of an arm64 Mac on `macos` (major, minor), as `packaging`'s `mac_platforms` does.
///
/// The years that Apple skipped are listed too, and minors above `.0` are not.
pub fn mac_platforms(macos: (u64, u64)) -> Vec<String> {
    let (major, minor) = macos;
    let both = |(major, minor): (u64, u64)| {
        ["arm64", "universal2"].map(|format| format!("macosx_{major}_{minor}_{format}")).into_iter()
    };
    match major {
        0..=9 => Vec::new(),
        10 => (0..=minor).rev().flat_map(|minor| both((10, minor))).collect(),
        _ => {
            // The Intel half of a universal binary may be older than Apple Silicon.
            let universal = (4..=16).rev().map(|minor| format!("macosx_10_{minor}_universal2"));
            (11..=major).rev().flat_map(|major| both((major, 0))).chain(universal).collect()
        }
    }
}

/// Lists platform tags of a glibc Linux (`glibc` is major, minor; `arch` is `x86_64` or `aarch64`), as `packaging` does.
pub fn linux_platforms(glibc: (u64, u64), arch: &str) -> Vec<String> {
    /// `packaging`'s guess at the last minor of a major that has a successor.
    const LAST_MINOR: u64 = 50;
    let oldest = if arch == "x86_64" { 5 } else { 17 };
    let (major, minor) = glibc;
    let mut platforms = vec![format!("linux_{arch}")];
    for current in (2..=major).rev() {
        let newest = if current == major { minor } else { LAST_MINOR };
        let first = if current == 2 { oldest } else { 0 };
        for minor in (first..=newest).rev() {
            platforms.push(format!("manylinux_{current}_{minor}_{arch}"));
            let legacy = match (current, minor) {
                (2, 17) => "manylinux2014",
                (2, 12) => "manylinux2010",
                (2, 5) => "manylinux1",
                _ => continue,
            };
            platforms.push(format!("{legacy}_{arch}"));
        }
    }
    platforms
}
