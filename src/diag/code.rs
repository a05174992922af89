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
    PjrtVersion "pjrt-version" "a plugin of jax that speaks another version of its interface";
    RequirementUnmet "requirement-unmet" "a release that another one, by its own metadata, does not go with";
    NoWheel "no-wheel" "a package that has no wheel for this Mac";
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
            Self::KnownConflict => include_str!("pages/known-conflict.md"),
            Self::WheelNeedsMacos => include_str!("pages/wheel-needs-macos.md"),
            Self::RequirementUnmet => include_str!("pages/requirement-unmet.md"),
            Self::WheelUnread => include_str!("pages/wheel-unread.md"),
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
        assert!(pages >= 16);
    }
}
