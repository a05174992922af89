//! Every stable code, with its title and its page in each language.

use super::named::named;

named! {
    /// A stable kebab-case name of a kind of finding.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum Code {
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
        PrereleaseChosen "prerelease-chosen" "a pre-release is in the answer because something admits it";
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
        EnvironmentStale "environment-stale" "an environment that is not what the lock says";
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
        RosettaPython "rosetta-python" "a Python for Intel on an Apple Silicon Mac";
        IntelMac "intel-mac" "a Mac with an Intel processor";
        TranslatedTerminal "translated-terminal" "a terminal, or macml itself, that runs under Rosetta";
        IntelHomebrew "intel-homebrew" "a Homebrew for Intel on an Apple Silicon Mac";
        IntelEnvironment "intel-environment" "an environment for Intel on an Apple Silicon Mac";
        MacosChanged "macos-changed" "another macOS than the one that was verified or measured";
        ApplePython "apple-python" "the Python of the system in use";
        CondaBase "conda-base" "conda's base environment in use";
        PythonPipApart "python-pip-apart" "a `python` and a `pip` of different homes";
        TwoEnvironments "two-environments" "conda and a virtual environment active at once";
        PythonLacks "python-lacks" "a Python without a module of its standard library";
        PythonKilled "python-killed" "a Python that the system kills for its signature";
        InterpreterGone "interpreter-gone" "an environment whose Python is gone";
        NoCompiler "no-compiler" "no compiler on this Mac";
        UnfinishedInstall "unfinished-install" "an install that was stopped half-way";
        MetalPluginMissing "metal-plugin-missing" "TensorFlow without its plugin for the GPU";
        NoGpu "no-gpu" "no GPU for this process";
        MpsNeedsMacos "mps-needs-macos" "a torch whose GPU support needs a later macOS";
        MemoryBelow "memory-below" "less memory than the project asks for";
        MemoryShort "memory-short" "memory that is nearly used up";
        FallbackSet "fallback-set" "operators that may run on the CPU unnoticed";
        MemoryRatio "memory-ratio" "a share of memory that torch refuses";
        CommandMissing "command-missing" "a program that is in no folder of PATH";
        MemoryUnlimited "memory-unlimited" "a limit of memory for the GPU that is lifted";
        OpenmpSilenced "openmp-silenced" "the warning of several OpenMP runtimes switched off";
        SyncedFolder "synced-folder" "an environment in a folder that is synchronized";
        VolumeUnfit "volume-unfit" "a volume that cannot carry an environment well";
        HiddenFiles "hidden-files" "files that Python skips because they are hidden";
        DiskFull "disk-full" "a volume without room";
        TemporaryFolder "temporary-folder" "a folder for temporary files that cannot be used";
        NoCertificates "no-certificates" "a Python that finds no certificates to trust";
        ProxySet "proxy-set" "a proxy or certificates that some tools do not see";
        LaterMacosWheel "later-macos-wheel" "an installed wheel for a later macOS than this one";
        WheelTag "wheel-tag" "a wheel with a malformed tag";
        NativePartsMissing "native-parts-missing" "a package that was installed without its libraries";
        ShebangBroken "shebang-broken" "a command whose first line leads nowhere";
        LibraryShadowed "library-shadowed" "a library that is found before the environment's own";
        PythonVariables "python-variables" "variables that change what Python imports";
        WrongNumbers "wrong-numbers" "a GPU that computed wrong numbers";
        NoDistribution "no-distribution" "no matching distribution found";
        MpsNotBuilt "mps-not-built" "a torch without support for the GPU of a Mac";
        ExtensionMismatch "extension-mismatch" "an extension of torch for another torch";
        OperatorMissing "operator-missing" "an operator without a kernel for the GPU";
        DevicesMixed "devices-mixed" "tensors on different devices";
        TypesMixed "types-mixed" "input and weights of different types";
        PlaceholderStorage "placeholder-storage" "a tensor that is not on the GPU";
        Float64OnMps "float64-on-mps" "double precision, which the GPU does not have";
        TypeOnMps "type-on-mps" "a type that the GPU does not have";
        HalfOnCpu "half-on-cpu" "half precision on the CPU";
        OutOfMemory "out-of-memory" "the GPU has no memory left";
        NanLoss "nan-loss" "a loss that became NaN";
        Killed "killed" "a process that the system ended at once";
        CertificateRefused "certificate-refused" "a certificate that is not trusted";
        ExternallyManaged "externally-managed" "a Python that pip may not install into";
        SpawnWithoutGuard "spawn-without-guard" "workers that start the program anew";
        MetalToolchain "metal-toolchain" "the compiler of Metal is not installed";
        CudaOnMac "cuda-on-mac" "a program that asks for CUDA";
        ModuleMissing "module-missing" "a module that this Python does not have";
        GitLfsMissing "git-lfs-missing" "a clone that needs git-lfs";
        HashMismatch "hash-mismatch" "a file with other bytes than expected";
        WeightsOnly "weights-only" "a checkpoint with more than weights";
        KerasVersion "keras-version" "Keras 3 where Keras 2 is expected";
        TooManyFiles "too-many-files" "too many open files";
        GpuTimeout "gpu-timeout" "work on the GPU that the system ended";
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
