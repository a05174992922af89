//! Which wheels of a release a target takes, or why none fits.
//!
//! Pure: the answer depends on the release, the target and what is known of wheels alone, never on who asks or in which
//! range. Tags are compared as `packaging` compares them; see
//! <https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/>.
//!
//! A wheel that is known to be for a later macOS than its tag says counts from that macOS on. `ignore-rules` has no say
//! in that: it is what the file is, and no advice.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::index::source::{File, Release};
use crate::knowledge::Knowledge;
use crate::knowledge::wheels::WheelFact;
use crate::manifest::model::Wheels;
use crate::pep::{PackageName, Specifiers, Tags, Version, WheelName};
use crate::target::{Floor, MacosVersion, Platform, PythonMinor, Target};

/// Picks wheels for one target.
#[derive(Debug)]
pub struct Selector {
    target: Target,
    wheels: Wheels,
    exclude_newer: Option<Arc<str>>,
    floor: Tags,
    /// macOS generations above the floor, oldest first; none on Linux.
    later: Vec<MacosVersion>,
    /// The tags of each of `later`, made when first needed.
    later_tags: Vec<OnceLock<Tags>>,
    /// Packages with wheels that are for a later macOS than their tags say, where that matters above the floor.
    corrected: Vec<Corrected>,
}

/// What the tags of one package's wheels get wrong.
#[derive(Debug)]
struct Corrected {
    package: PackageName,
    facts: Vec<WheelFact>,
    /// The generations above the floor, and between them the macOS versions that `facts` name; oldest first.
    later: Vec<MacosVersion>,
}

/// The wheels of a release that a target takes.
#[derive(Clone, PartialEq, Debug)]
pub struct Fit {
    /// The best one for the floor: its metadata stands for the release.
    pub floor: Arc<File>,
    /// Every one that is the best for some machine from the floor up, by file name.
    pub files: Vec<Arc<File>>,
}

/// Whether withdrawn (yanked) files count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Yanked {
    /// They do not.
    Refused,
    /// They do: someone asks for exactly this release.
    Admitted,
}

/// Why no wheel of a release fits a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unfit {
    /// Wheels for the platform, but for other Pythons.
    NoPython {
        /// The Python that was looked for.
        python: PythonMinor,
        /// Those that have one.
        others: BTreeSet<PythonMinor>,
    },
    /// Wheels for the Python, but all free-threaded.
    OnlyFreeThreaded {
        /// The Python.
        python: PythonMinor,
    },
    /// Wheels for the Python, but for later macOS only.
    NeedsMacos {
        /// The earliest macOS that has one.
        needs: MacosVersion,
        /// The earlier macOS that the tag of that wheel names, where the tag is known to be wrong.
        tag: Option<MacosVersion>,
        /// The declared floor.
        floor: MacosVersion,
    },
    /// Wheels for the Python, but for later glibc only.
    NeedsGlibc {
        /// The earliest glibc that has one.
        needs: (u16, u16),
        /// The declared floor.
        floor: (u16, u16),
    },
    /// Mac wheels, but none for Apple Silicon.
    OnlyIntel,
    /// Wheels, but for other platforms.
    OnlyOtherPlatforms {
        /// The platform that was looked for.
        platform: Platform,
    },
    /// No wheel at all, but an archive to build one from.
    OnlySource,
    /// No file that macml could use.
    NoFiles,
    /// Wheels that fit by name, but refuse every patch release of the Python.
    RequiresPython {
        /// The Python that was looked for.
        python: PythonMinor,
        /// What the release asks for.
        requires: Specifiers,
    },
    /// Wheels that fit, but later than `exclude-newer`.
    TooNew {
        /// The earliest day on which one was uploaded; `None` when no day is known.
        day: Option<Arc<str>>,
        /// The last day that counts.
        limit: Arc<str>,
    },
    /// Wheels that fit, but withdrawn.
    Yanked {
        /// What the publisher says; may be empty.
        reason: Arc<str>,
    },
    /// Wheels that fit, but of no macOS generation that the packages that must match have too.
    NoSharedGeneration,
}

impl Selector {
    /// Makes one for `target`.
    pub fn new(target: &Target, wheels: Wheels) -> Self {
        let later = match target.floor {
            Floor::Mac { macos, .. } => macos.generations().split_off(1),
            Floor::Glibc(..) => Vec::new(),
        };
        Self {
            wheels,
            exclude_newer: None,
            floor: target.tags(),
            later_tags: later.iter().map(|_| OnceLock::new()).collect(),
            later,
            corrected: Vec::new(),
            target: target.clone(),
        }
    }

    /// Takes wheels for what they are known to be where their tags say otherwise.
    #[must_use]
    pub fn knowing(mut self, knowledge: &Knowledge) -> Self {
        let Floor::Mac { macos: floor, .. } = self.target.floor else { return self };
        // What is wrong about machines below the floor only is not wrong here.
        let matters = |fact: &&WheelFact| fact.macos > floor;
        let packages = knowledge.wheels.iter().filter(matters).flat_map(|fact| &fact.packages);
        for package in packages.collect::<BTreeSet<_>>() {
            let facts: Vec<WheelFact> = knowledge.wheels_of(package).filter(matters).cloned().collect();
            // A macOS newer than the newest known counts as that one.
            let between = facts.iter().map(|fact| fact.macos).filter(|macos| {
                macos.major() == floor.major() || self.later.iter().any(|later| later.major() == macos.major())
            });
            let later: BTreeSet<MacosVersion> = self.later.iter().copied().chain(between).collect();
            let later = later.into_iter().collect();
            self.corrected.push(Corrected { package: package.clone(), facts, later });
        }
        self
    }

    /// Leaves out files uploaded after `day` (`YYYY-MM-DD`, UTC) or on a day unknown.
    #[must_use]
    pub fn until(mut self, day: Option<&str>) -> Self {
        self.exclude_newer = day.map(Arc::from);
        self
    }

    /// Returns the target.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Picks the wheels of `release`.
    ///
    /// # Errors
    /// When none fits the floor: the reason that helps most.
    pub fn fit(&self, release: &Release, yanked: Yanked) -> Result<Fit, Unfit> {
        let eligible = self.eligible(&release.wheels, yanked);
        self.choose(&eligible).ok_or_else(|| self.unfit(release, yanked))
    }

    /// Picks the wheels of `release` among those of the macOS generations that [`Self::shared_generations`] returned.
    ///
    /// # Errors
    /// When none fits the floor: the reason that helps most.
    pub fn fit_among(&self, release: &Release, yanked: Yanked, shared: &BTreeSet<MacosVersion>) -> Result<Fit, Unfit> {
        let mut eligible = self.eligible(&release.wheels, yanked);
        if self.generations(&eligible).len() > 1 {
            eligible.retain(|file| self.generation(&file.wheel).is_none_or(|own| shared.contains(&own)));
        }
        self.choose(&eligible).ok_or_else(|| match self.fit(release, yanked) {
            Ok(_) => Unfit::NoSharedGeneration,
            Err(unfit) => unfit,
        })
    }

    /// Returns the macOS generations for which every one of some releases has a wheel of its own; `None` when that
    /// leaves out nothing.
    ///
    /// For releases that load each other's libraries, such as mlx and mlx-metal: on macOS 26, `mlx` for 26 beside
    /// `mlx-metal` for 15 would not match. A release whose wheels are all of one generation runs beside any.
    pub fn shared_generations(&self, members: &[&Release]) -> Option<BTreeSet<MacosVersion>> {
        let each = members.iter().map(|release| self.generations(&self.eligible(&release.wheels, Yanked::Admitted)));
        each.filter(|own| own.len() > 1).reduce(|shared, own| shared.intersection(&own).copied().collect())
    }

    /// Returns which of `items`, wheels of one release, the target takes, by file name: the best for each machine from
    /// the floor up, the floor's first; none where none fits the floor.
    pub fn pick<'a, T>(&self, items: &'a [T], name: impl Fn(&T) -> &WheelName) -> Vec<&'a T> {
        let corrected = items.first().and_then(|item| self.corrected(&name(item).name));
        let best = |tags: &Tags, on: Option<MacosVersion>| {
            let ranked = items.iter().filter_map(|item| Some((tags.rank(name(item))?, item)));
            let fitting = ranked.filter(|(_, item)| match (corrected, on) {
                (Some(corrected), Some(on)) => corrected.really(name(item)).is_none_or(|really| really <= on),
                _ => true,
            });
            fitting.min_by(|(rank, item), (other_rank, other)| {
                rank.cmp(other_rank).then_with(|| prefer(name(item), name(other)))
            })
        };
        let Some((_, floor)) = best(&self.floor, self.floor_macos()) else { return Vec::new() };
        let mut picked = vec![floor];
        if self.wheels == Wheels::Host {
            for macos in corrected.map_or(&self.later, |corrected| &corrected.later) {
                let (_, item) =
                    best(self.tags_on(*macos), Some(*macos)).expect("what fits a macOS fits every later one");
                if !picked.iter().any(|one| std::ptr::eq(*one, item)) {
                    picked.push(item);
                }
            }
        }
        picked
    }

    fn choose(&self, eligible: &[&Arc<File>]) -> Option<Fit> {
        let picked = self.pick(eligible, |file| &file.wheel);
        let floor = Arc::clone(picked.first()?);
        let mut files: Vec<_> = picked.into_iter().map(|file| Arc::clone(file)).collect();
        files.sort_by(|a, b| a.filename.cmp(&b.filename));
        Some(Fit { floor, files })
    }

    fn eligible<'a>(&self, wheels: &'a [Arc<File>], yanked: Yanked) -> Vec<&'a Arc<File>> {
        let counts = |file: &&Arc<File>| {
            self.admits_python(file) && self.in_time(file) && (yanked == Yanked::Admitted || file.yanked.is_none())
        };
        wheels.iter().filter(counts).collect()
    }

    fn admits_python(&self, file: &File) -> bool {
        file.requires_python.as_ref().is_none_or(|requires| admits(requires, self.target.python))
    }

    fn in_time(&self, file: &File) -> bool {
        // Days of this form sort as text.
        let early = |limit: &Arc<str>| file.upload_day.as_ref().is_some_and(|day| day <= limit);
        self.exclude_newer.as_ref().is_none_or(early)
    }

    fn floor_macos(&self) -> Option<MacosVersion> {
        match self.target.floor {
            Floor::Mac { macos, .. } => Some(macos),
            Floor::Glibc(..) => None,
        }
    }

    /// Returns the tags of a macOS above the floor; the minors of one major have the same.
    fn tags_on(&self, macos: MacosVersion) -> &Tags {
        match self.later.iter().position(|later| later.major() == macos.major()) {
            Some(at) => self.later_tags[at].get_or_init(|| self.target.tags_on(self.later[at])),
            None => &self.floor,
        }
    }

    /// Returns what the tags of a package get wrong; nearly always nothing.
    fn corrected(&self, package: &PackageName) -> Option<&Corrected> {
        self.corrected.iter().find(|one| one.package == *package)
    }

    /// Returns the lowest macOS that a wheel is for, if that is above the floor and its tags name an earlier one.
    fn really(&self, wheel: &WheelName) -> Option<MacosVersion> {
        self.corrected(&wheel.name)?.really(wheel)
    }

    /// Returns whether a wheel fits the floor by its name and by what is known of it.
    fn fits_floor(&self, wheel: &WheelName) -> bool {
        self.floor.rank(wheel).is_some() && self.really(wheel).is_none()
    }

    /// Returns the generations of those `files` that are for the Python.
    fn generations(&self, files: &[&Arc<File>]) -> BTreeSet<MacosVersion> {
        let newest = self.later.last().map_or(&self.floor, |macos| self.tags_on(*macos));
        let fitting = files.iter().filter(|file| newest.rank(&file.wheel).is_some());
        fitting.filter_map(|file| self.generation(&file.wheel)).collect()
    }

    /// Returns the lowest macOS that a wheel with native Mac code for Apple Silicon is for.
    fn generation(&self, wheel: &WheelName) -> Option<MacosVersion> {
        let tag = tagged(wheel)?;
        Some(self.really(wheel).unwrap_or(tag))
    }

    fn unfit(&self, release: &Release, yanked: Yanked) -> Unfit {
        let fitting: Vec<_> = release.wheels.iter().filter(|file| self.fits_floor(&file.wheel)).collect();
        if fitting.is_empty() {
            return self.misfit(release);
        }
        let python = self.target.python;
        let fitting: Vec<_> = match fitting.iter().filter(|file| self.admits_python(file)).collect::<Vec<_>>() {
            admitted if !admitted.is_empty() => admitted,
            _ => {
                let requires = fitting.iter().find_map(|file| file.requires_python.clone());
                let requires = requires.expect("a file without `requires-python` admits every Python");
                return Unfit::RequiresPython { python, requires };
            }
        };
        let early: Vec<_> = fitting.iter().filter(|file| self.in_time(file)).collect();
        if let (true, Some(limit)) = (early.is_empty(), &self.exclude_newer) {
            let day = fitting.iter().filter_map(|file| file.upload_day.clone()).min();
            return Unfit::TooNew { day, limit: limit.clone() };
        }
        let withdrawn = early.iter().find_map(|file| file.yanked.clone());
        debug_assert!(yanked == Yanked::Refused, "a file that passes every filter fits");
        Unfit::Yanked { reason: withdrawn.unwrap_or_default() }
    }

    /// Says why no wheel of a release fits by its name.
    fn misfit(&self, release: &Release) -> Unfit {
        if release.wheels.is_empty() {
            return if release.source_archive { Unfit::OnlySource } else { Unfit::NoFiles };
        }
        let python = self.target.python;
        let mut needs_macos: Option<(MacosVersion, Option<MacosVersion>)> = None;
        let mut needs_glibc: Option<(u16, u16)> = None;
        let mut others = BTreeSet::new();
        let (mut intel, mut free_threaded, mut here) = (false, false, false);
        for file in &release.wheels {
            let wheel = &file.wheel;
            let right_python = supports(wheel, python);
            match (self.place(wheel), right_python) {
                (Place::Here(Some(Lowest::Macos(needs, tag))), Support::Yes) => {
                    needs_macos = Some(needs_macos.map_or((needs, tag), |other| other.min((needs, tag))));
                }
                (Place::Here(Some(Lowest::Glibc(needs))), Support::Yes) => {
                    needs_glibc = Some(needs_glibc.map_or(needs, |other| other.min(needs)));
                }
                (Place::Here(_), Support::FreeThreaded) => free_threaded = true,
                (Place::Here(_), _) => {
                    here = true;
                    others.extend(pythons(wheel));
                }
                (Place::Intel, _) => intel = true,
                (Place::Elsewhere, _) => {}
            }
        }
        match (&self.target.floor, needs_macos, needs_glibc) {
            (Floor::Mac { macos, .. }, Some((needs, tag)), _) => Unfit::NeedsMacos { needs, tag, floor: *macos },
            (Floor::Glibc(major, minor), _, Some(needs)) => Unfit::NeedsGlibc { needs, floor: (*major, *minor) },
            _ if free_threaded => Unfit::OnlyFreeThreaded { python },
            _ if !others.is_empty() => Unfit::NoPython { python, others },
            _ if intel => Unfit::OnlyIntel,
            _ if here => Unfit::NoPython { python, others },
            _ => Unfit::OnlyOtherPlatforms { platform: self.target.platform },
        }
    }

    /// Says whether a wheel is for machines of the target's kind, and how new they must be if newer than the floor.
    fn place(&self, wheel: &WheelName) -> Place {
        let mut place = Place::Elsewhere;
        for tag in wheel.platform_tags() {
            let found = match self.target.floor {
                _ if tag == "any" => Place::Here(None),
                Floor::Mac { macos, .. } => mac_place(tag, macos),
                Floor::Glibc(major, minor) => linux_place(tag, self.target.platform, (major, minor)),
            };
            place = place.min(found);
        }
        match (place, self.really(wheel)) {
            (Place::Here(_), Some(really)) => Place::Here(Some(Lowest::Macos(really, tagged(wheel)))),
            _ => place,
        }
    }
}

impl Corrected {
    /// Returns the lowest macOS that a wheel is for, if one of the facts speaks of it.
    fn really(&self, wheel: &WheelName) -> Option<MacosVersion> {
        let about = self.facts.iter().filter(|fact| fact.is_about(&wheel.name, &wheel.version, wheel));
        about.map(|fact| fact.macos).max().filter(|really| tagged(wheel).is_none_or(|tag| tag < *really))
    }
}

/// The lowest machine of a kind that a wheel admits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lowest {
    /// A macOS, with what the tag says where the tag is wrong.
    Macos(MacosVersion, Option<MacosVersion>),
    Glibc((u16, u16)),
}

/// Where a wheel or a platform tag lies, seen from a target; the best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// On machines of this kind; with the lowest of them where it is above the floor.
    Here(Option<Lowest>),
    /// On Intel Macs.
    Intel,
    /// On other machines.
    Elsewhere,
}

fn mac_place(tag: &str, floor: MacosVersion) -> Place {
    let Some((macos, arch)) = mac_tag(tag) else { return Place::Elsewhere };
    match (arch, macos.major(), macos.minor()) {
        ("universal2", 10, _) => Place::Here(None),
        // From macOS 11 on, installers list no minor releases: a tag with one fits no machine at all.
        ("arm64" | "universal2", 11.., 0) if macos <= floor => Place::Here(None),
        ("arm64" | "universal2", 11.., 0) => Place::Here(Some(Lowest::Macos(macos, None))),
        ("arm64" | "universal2", ..) => Place::Elsewhere,
        _ => Place::Intel,
    }
}

fn linux_place(tag: &str, platform: Platform, floor: (u16, u16)) -> Place {
    let arch = match platform {
        Platform::LinuxAarch64 => "_aarch64",
        _ => "_x86_64",
    };
    let Some(kind) = tag.strip_suffix(arch) else { return Place::Elsewhere };
    let glibc = match kind {
        "manylinux1" => Some((2, 5)),
        "manylinux2010" => Some((2, 12)),
        "manylinux2014" => Some((2, 17)),
        _ => kind.strip_prefix("manylinux_").and_then(two_numbers),
    };
    match glibc {
        Some(glibc) if glibc <= floor => Place::Here(None),
        Some(glibc) => Place::Here(Some(Lowest::Glibc(glibc))),
        None => Place::Elsewhere,
    }
}

/// Takes `macosx_14_0_arm64` apart.
fn mac_tag(tag: &str) -> Option<(MacosVersion, &str)> {
    let rest = tag.strip_prefix("macosx_")?;
    let mut parts = rest.splitn(3, '_');
    let (major, minor) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some((MacosVersion::new(major, minor), parts.next()?))
}

fn two_numbers(text: &str) -> Option<(u16, u16)> {
    let (major, minor) = text.split_once('_')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Returns the lowest macOS that a wheel with native Mac code for Apple Silicon is tagged for.
fn tagged(wheel: &WheelName) -> Option<MacosVersion> {
    let native = wheel.platform_tags().filter_map(mac_tag).filter(|(_, arch)| matches!(*arch, "arm64" | "universal2"));
    // Before 11 there is no Apple Silicon; such tags of universal wheels speak of Intel Macs.
    native.map(|(macos, _)| macos.max(MacosVersion::new(11, 0))).min()
}

/// Orders wheels of one rank, the better first: the higher build number, then the file name.
fn prefer(a: &WheelName, b: &WheelName) -> Ordering {
    Reverse(&a.build).cmp(&Reverse(&b.build)).then_with(|| a.to_string().cmp(&b.to_string()))
}

/// Whether a wheel is for a Python.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Support {
    Yes,
    FreeThreaded,
    No,
}

fn supports(wheel: &WheelName, python: PythonMinor) -> Support {
    let own = format!("cp{}{}", python.major, python.minor);
    let mut support = Support::No;
    for tag in wheel.python_tags() {
        for abi in wheel.abi_tags() {
            let since = minor_of(tag).is_some_and(|since| since <= python);
            let fits = match tag {
                "py3" => abi == "none",
                _ if tag == own => abi == own || abi == "abi3" || abi == "none",
                _ if tag.starts_with("cp") => abi == "abi3" && since,
                _ if tag.starts_with("py3") => abi == "none" && since,
                _ => false,
            };
            if fits {
                return Support::Yes;
            }
            if tag == own && abi.strip_suffix('t') == Some(&own) {
                support = Support::FreeThreaded;
            }
        }
    }
    support
}

/// Returns the CPython minors that a wheel names, free-threaded ones left out.
fn pythons(wheel: &WheelName) -> impl Iterator<Item = PythonMinor> {
    let usual = wheel.abi_tags().any(|abi| !abi.ends_with('t'));
    wheel.python_tags().filter(move |tag| usual && tag.starts_with("cp3")).filter_map(minor_of)
}

/// Reads `cp313` or `py39`.
fn minor_of(tag: &str) -> Option<PythonMinor> {
    let digits = tag.strip_prefix("cp").or_else(|| tag.strip_prefix("py"))?;
    let minor = digits.strip_prefix('3')?;
    Some(PythonMinor { major: 3, minor: minor.parse().ok()? })
}

/// Returns whether some patch release of `python`, known or later, satisfies `requires`.
pub fn admits(requires: &Specifiers, python: PythonMinor) -> bool {
    let known = PythonMinor::RELEASED.iter().find(|(minor, _)| *minor == python);
    let later = known.map_or(0, |(_, newest)| newest + 1);
    // The newest first: nearly every release admits it.
    (0..=later).rev().any(|patch| {
        let parts = [python.major, python.minor, patch].map(u64::from);
        requires.contains(&Version::new(parts))
    })
}

/// Writes `14` for 14.0 and `13.3` for 13.3.
pub(super) struct Short(pub(super) MacosVersion);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.minor() {
            0 => write!(f, "{}", self.0.major()),
            _ => write!(f, "{}", self.0),
        }
    }
}

fn needs_macos(needs: MacosVersion, tag: Option<MacosVersion>) -> String {
    let needs = Short(needs);
    match tag {
        None => format!("needs macOS {needs}"),
        Some(tag) => format!("needs macOS {needs} although its tag says {tag}"),
    }
}

impl Unfit {
    /// Says it of one Mac that was asked about, which is nobody's floor.
    pub fn of_one_mac(&self) -> String {
        match self {
            Self::NeedsMacos { needs, tag, floor } => format!("{}; it has {floor}", needs_macos(*needs, *tag)),
            other => other.to_string(),
        }
    }
}

/// Writes what an index says in many words, perhaps on many lines, as a part of a sentence.
fn on_one_line(text: &str) -> String {
    const LONGEST: usize = 160;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPython { python, others } => {
                write!(f, "no wheel for Python {python}")?;
                let below = others.iter().rev().find(|other| *other < python);
                let above = others.iter().find(|other| *other > python);
                match (below, above) {
                    (Some(below), Some(above)) => write!(f, "; nearest are {below} and {above}"),
                    (Some(newest), None) => write!(f, "; newest is {newest}"),
                    (None, Some(oldest)) => write!(f, "; oldest is {oldest}"),
                    (None, None) => Ok(()),
                }
            }
            Self::OnlyFreeThreaded { python } => write!(f, "only free-threaded wheels for Python {python}"),
            Self::NeedsMacos { needs, tag, floor } => {
                write!(f, "{}; your floor is {floor}", needs_macos(*needs, *tag))
            }
            Self::NeedsGlibc { needs: (major, minor), floor: (own_major, own_minor) } => {
                write!(f, "needs glibc {major}.{minor}; your floor is {own_major}.{own_minor}")
            }
            Self::OnlyIntel => f.write_str("only Intel wheels"),
            Self::OnlyOtherPlatforms { platform: Platform::MacosArm64 } => f.write_str("no wheel for arm64 Macs"),
            Self::OnlyOtherPlatforms { platform } => write!(f, "no wheel for {platform}"),
            Self::OnlySource => f.write_str("only a source archive"),
            Self::NoFiles => f.write_str("no files"),
            Self::RequiresPython { python, requires } => write!(f, "excludes Python {python}: it requires {requires}"),
            Self::TooNew { day: Some(day), limit } => write!(f, "uploaded {day}, after {limit}"),
            Self::TooNew { day: None, limit } => {
                write!(f, "the index does not say whether it was uploaded by {limit}")
            }
            Self::Yanked { reason } if reason.is_empty() => f.write_str("withdrawn by its publisher"),
            Self::Yanked { reason } => write!(f, "withdrawn by its publisher: {}", on_one_line(reason)),
            Self::NoSharedGeneration => {
                f.write_str("no macOS generation for which all packages that must match have a wheel")
            }
        }
    }
}

#[cfg(test)]
mod tests;
