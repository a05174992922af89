//! Every stable code, with its title and long explanation.

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
    KnownLimit "known-limit" "something that this set will not do, or not well";
    RuleIgnored "rule-ignored" "a piece of knowledge that the manifest switches off";
    BetterApart "better-apart" "frameworks that hold each other back in one environment";
    NewerThanKnowledge "newer-than-knowledge" "a framework of which nothing is known yet";
    ForMacsOnly "for-macs-only" "a package for Macs, left out on another platform";
    NightlyBuilds "nightly-builds" "nightly builds, which their index deletes after some weeks";
    ExtraMissing "extra-missing" "an extra that the release does not have";
    UnknownRule "unknown-rule" "a rule to switch off that macml does not have";
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
