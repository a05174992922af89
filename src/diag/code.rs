//! Every stable code, with its title, and its page where there is more to say.

macro_rules! codes {
    ($($variant:ident $text:literal $title:literal;)*) => {
        /// A stable kebab-case name of a kind of finding.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Code {
            $(#[doc = $title] $variant,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the name, as printed.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// Returns one line on what it means.
            pub fn title(self) -> &'static str {
                match self {
                    $(Self::$variant => $title,)*
                }
            }
        }
    };
}

codes! {
    ManifestSyntax "manifest-syntax" "macml.toml is not valid TOML";
    UnknownKey "unknown-key" "a key that macml.toml does not have";
    WrongType "wrong-type" "a value of another type than its key takes";
    InvalidValue "invalid-value" "a value of the right type that cannot be meant";
    BareVersion "bare-version" "a version without an operator";
    InvalidSpecifier "invalid-specifier" "not a PEP 440 version specifier";
    DuplicateName "duplicate-name" "one package named twice";
    MissingKey "missing-key" "a key that must be there is not";
    ConflictingKeys "conflicting-keys" "keys that exclude each other";
    NewerThanKnown "newer-than-known" "a chip or macOS later than macml knows";
    NarrowRange "narrow-range" "a Python range that ends at the first patch of a release";
    Unsupported "unsupported" "something that macml does not do yet";
    RequiresMacml "requires-macml" "the project asks for another macml";
    YankedRelease "yanked-release" "a withdrawn release is pinned";
    PrereleaseChosen "prerelease-chosen" "a pre-release is in the answer because something asks for exactly it";
    MarkerNeverMatches "marker-never-matches" "a requirement whose marker holds on no target";
    PathOutsideProject "path-outside-project" "a wheel by path outside the project";
    MirrorFault "mirror-fault" "a mirror lacked or falsified something";
    LocalVersionChosen "local-version-chosen" "a local version is in the answer";
    ForeignIndexSetting "foreign-index-setting" "pip or uv is set to another index than macml";
    NothingToUpgrade "nothing-to-upgrade" "a package to upgrade that no environment has";
    AddedByRule "added-by-rule" "a package that is in by knowledge, not by metadata";
    NewlyKnown "newly-known" "a lock that newer knowledge condemns";
    KnownConflict "known-conflict" "a set that by what is known does not work on this Mac";
    KnownProblem "known-problem" "a release of which something is known to go wrong";
    WheelNeedsMacos "wheel-needs-macos" "a wheel that is for a later macOS than its file name says";
    KnownLimit "known-limit" "something that this set will not do, or not well";
    RuleIgnored "rule-ignored" "a piece of knowledge that the manifest switches off";
    BetterApart "better-apart" "frameworks that hold each other back in one environment";
    NewerThanKnowledge "newer-than-knowledge" "a framework of which nothing is known yet";
    ForMacsOnly "for-macs-only" "a package for Macs, left out on another platform";
    NightlyBuilds "nightly-builds" "nightly builds, which their index deletes after some weeks";
    ExtraMissing "extra-missing" "an extra that the release does not have";
    UnknownRule "unknown-rule" "a rule to switch off that macml does not have";
    WrongArchitecture "wrong-architecture" "a library for another processor or system";
    DamagedImage "damaged-image" "a library whose file makes no sense";
    SignatureBroken "signature-broken" "a library whose signature does not fit its bytes";
    LibraryMissing "library-missing" "a library that is not where another one looks for it";
    LibraryFromOutside "library-from-outside" "a library that is expected from outside the environment";
    SymbolMissing "symbol-missing" "a name that a library needs and none has";
    LoadOrder "load-order" "a library that is found only after another was loaded";
    Undecided "undecided" "something about a library that files do not tell";
    MacosAboveFloor "macos-above-floor" "a library built for a later macOS than the lowest";
    MetalGeneration "metal-generation" "GPU code compiled for a later macOS than the lowest";
    Numpy1Binary "numpy-1-binary" "a library compiled for another numpy";
    SeveralOpenmp "several-openmp" "more than one OpenMP runtime for one process";
    NativeHalfMissing "native-half-missing" "a package without the one that brings its libraries";
    WrongCpython "wrong-cpython" "extension modules for another Python";
    ForeignBinaries "foreign-binaries" "a wheel for all systems with libraries of another one";
    FileGone "file-gone" "a locked file that its index does not offer any more";
    FileReplaced "file-replaced" "a locked file in whose place its index offers another one";
    FileYanked "file-yanked" "a locked file that was withdrawn";
    IndexUnreached "index-unreached" "an index that could not say whether it has what is locked";
    NotOnAnIndex "not-on-an-index" "locked wheels by path or address, which no index is asked for";
    NotAsRecorded "not-as-recorded" "something in an environment that is not as it was installed";
    InstalledTwice "installed-twice" "a package that is installed in two releases at once";
    Unrecorded "unrecorded" "something in an environment of which no installer noted what it should be";
    PjrtVersion "pjrt-version" "a plugin of jax that speaks another version of its interface";
    LockUnfit "lock-unfit" "a lock that has no answer for a Mac";
    BuiltFromSource "built-from-source" "a package that each machine builds for itself";
    NotPinned "not-pinned" "a lock that leaves open which file is installed";
    NewerLock "newer-lock" "a lock in a later revision of its format than macml knows";
    FileUnknown "file-unknown" "a locked release of which it is not known which file is installed";
    LockRead "lock-read" "how a lock of another tool was read";
    LockStale "lock-stale" "a lock that does not answer macml.toml";
    LockMissing "lock-missing" "a project without a lock";
    LockDamaged "lock-damaged" "a lock that is none any more";
    BelowFloor "below-floor" "a Mac below the lowest that a lock was made for";
    NoWheel "no-wheel" "a locked release that has no file for a machine";
    EnvironmentForeign "environment-foreign" "an environment that macml did not make";
    EnvironmentGone "environment-gone" "a link to an environment that is not there";
    EnvironmentMoved "environment-moved" "an environment that was built for another folder";
    EnvironmentPython "environment-python" "an environment with another Python than the locked one";
    PackageNotInstalled "package-not-installed" "a locked package that an environment does not have";
    PackageNotLocked "package-not-locked" "a package in an environment that is not locked";
    PackageOtherVersion "package-other-version" "a package in an environment in another version than the locked one";
    FileChanged "file-changed" "a file in an environment that is not as its wheel has it";
    FileMissing "file-missing" "a file that an environment should have and does not";
    FileExtra "file-extra" "a file in an environment that no locked wheel brought";
    RecordTrusted "record-trusted" "files that were held against RECORD only";
    Unreadable "unreadable" "a file of an environment that cannot be read";
    RequirementUnmet "requirement-unmet" "a release that another one, by its own metadata, does not go with";
    WheelRefused "wheel-refused" "a wheel whose RECORD is wrong, which macml does not install";
    WheelUnread "wheel-unread" "a package whose libraries were not looked at";
}

impl Code {
    /// Returns the page that explains it: cause, how it shows on a Mac, remedy. Codes whose findings say all that there is to
    /// say have none.
    pub fn page(self) -> Option<&'static str> {
        let page = match self {
            Self::WrongArchitecture => include_str!("pages/wrong-architecture.md"),
            Self::DamagedImage => include_str!("pages/damaged-image.md"),
            Self::SignatureBroken => include_str!("pages/signature-broken.md"),
            Self::LibraryMissing => include_str!("pages/library-missing.md"),
            Self::LibraryFromOutside => include_str!("pages/library-from-outside.md"),
            Self::SymbolMissing => include_str!("pages/symbol-missing.md"),
            Self::LoadOrder => include_str!("pages/load-order.md"),
            Self::Undecided => include_str!("pages/undecided.md"),
            Self::MacosAboveFloor => include_str!("pages/macos-above-floor.md"),
            Self::MetalGeneration => include_str!("pages/metal-generation.md"),
            Self::Numpy1Binary => include_str!("pages/numpy-1-binary.md"),
            Self::SeveralOpenmp => include_str!("pages/several-openmp.md"),
            Self::NativeHalfMissing => include_str!("pages/native-half-missing.md"),
            Self::WrongCpython => include_str!("pages/wrong-cpython.md"),
            Self::ForeignBinaries => include_str!("pages/foreign-binaries.md"),
            Self::PjrtVersion => include_str!("pages/pjrt-version.md"),
            Self::LockStale => include_str!("pages/lock-stale.md"),
            Self::BelowFloor => include_str!("pages/below-floor.md"),
            Self::FileChanged => include_str!("pages/file-changed.md"),
            Self::FileExtra => include_str!("pages/file-extra.md"),
            Self::RecordTrusted => include_str!("pages/record-trusted.md"),
            Self::KnownConflict => include_str!("pages/known-conflict.md"),
            Self::WheelNeedsMacos => include_str!("pages/wheel-needs-macos.md"),
            Self::RequirementUnmet => include_str!("pages/requirement-unmet.md"),
            Self::WheelUnread => include_str!("pages/wheel-unread.md"),
            Self::LockUnfit => include_str!("pages/lock-unfit.md"),
            Self::BuiltFromSource => include_str!("pages/built-from-source.md"),
            Self::NoWheel => include_str!("pages/no-wheel.md"),
            Self::EnvironmentMoved => include_str!("pages/environment-moved.md"),
            Self::EnvironmentPython => include_str!("pages/environment-python.md"),
            Self::PackageNotInstalled => include_str!("pages/package-not-installed.md"),
            Self::PackageNotLocked => include_str!("pages/package-not-locked.md"),
            Self::PackageOtherVersion => include_str!("pages/package-other-version.md"),
            Self::FileMissing => include_str!("pages/file-missing.md"),
            Self::NotAsRecorded => include_str!("pages/not-as-recorded.md"),
            Self::InstalledTwice => include_str!("pages/installed-twice.md"),
            Self::FileGone => include_str!("pages/file-gone.md"),
            Self::FileReplaced => include_str!("pages/file-replaced.md"),
            Self::FileYanked => include_str!("pages/file-yanked.md"),
            Self::KnownProblem => include_str!("pages/known-problem.md"),
            _ => return None,
        };
        Some(page)
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_one_form() {
        let mut pages = 0;
        for code in Code::ALL {
            let Some(page) = code.page() else { continue };
            pages += 1;
            let first = format!("# {code}: {}\n", code.title());
            assert!(page.starts_with(&first), "{code}");
            let headings: Vec<&str> = page.lines().filter(|line| line.starts_with("## ")).collect();
            assert_eq!(headings, ["## Cause", "## On a Mac", "## Remedy"], "{code}");
            assert!(page.lines().all(|line| line.chars().count() <= 124), "{code}");
        }
        assert!(pages >= 40);
    }
}
