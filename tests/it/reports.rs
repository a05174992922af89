//! Public bug reports about Macs and their environments, each as the smallest input that shows it: what a lock must say
//! or hold. A test is named by the report's number. Most run the binary against an index on loopback; the scenarios
//! `r??-*` hold further turns of the same reports.

use macml::diag::Code;
use macml::diag::Severity;

use crate::support::project::Project;
use crate::support::project::Run;
use crate::support::published::Published;
use crate::support::published::Rel;
use crate::support::server::Behaviour;
use crate::support::server::FakeIndex;
use crate::support::server::MetadataFiles;
use crate::support::wheel;

/// Makes a release with these wheels.
fn wheels(tags: &[&str]) -> Rel {
    Rel { wheel_tags: tags.iter().map(|tag| (*tag).to_owned()).collect(), ..Rel::default() }
}

impl Rel {
    fn asking(self, requires: &[&str]) -> Self {
        Self { requires: requires.iter().map(|one| (*one).to_owned()).collect(), ..self }
    }

    fn with_source(self) -> Self {
        Self { sdist: true, ..self }
    }
}

fn dependencies(lines: &[&str]) -> String {
    format!("[dependencies]\n{}\n", lines.join("\n"))
}

/// Says that nothing was chosen: the right code, these words, and no lock.
fn refused(project: &Project, parts: &[&str]) -> Run {
    let run = project.run(&["lock"]);
    run.says(1, parts);
    assert_eq!(project.lock(), None, "nothing is written");
    run
}

/// Locks and returns what was printed and written.
fn locked(project: &Project) -> (Run, String) {
    let run = project.run(&["lock"]);
    run.says(0, &["macml.lock written"]);
    (run, project.lock().unwrap())
}

fn assert_has(lock: &str, parts: &[&str], never: &[&str]) {
    for part in parts {
        assert!(lock.contains(part), "`{part}` is not in\n{lock}");
    }
    for part in never {
        assert!(!lock.contains(part), "`{part}` is in\n{lock}");
    }
}

/// Lists what was fetched besides pages and metadata files.
fn downloads(index: &FakeIndex) -> Vec<String> {
    index.asked("/files/").into_iter().filter(|path| !path.ends_with(".metadata")).collect()
}

/// torch came twice under one version; the second build mends the first. The trap is to take `2` for the Python tag.
#[test]
fn r02_the_repaired_build_is_locked() {
    let tags = ["cp313-none-macosx_11_0_arm64", "2-cp313-none-macosx_11_0_arm64"];
    let index = FakeIndex::from_published(&Published::default().with_release("torch", "2.10.0", wheels(&tags)));
    let project = Project::asking(&index, "14.0", "==3.13.*", &dependencies(&["torch = \"==2.10.0\""]));
    let (_, lock) = locked(&project);
    assert_has(&lock, &["torch-2.10.0-2-cp313-none-macosx_11_0_arm64.whl"], &["torch-2.10.0-cp313"]);
    project.run(&["lock", "--check"]).says(0, &["macml.lock unchanged"]);
}

/// mlx has a wheel for each macOS generation. The lock holds all from the floor upward, whatever macOS made the lock.
#[test]
fn r03_every_macos_from_the_floor_has_its_wheel() {
    let metal = ["py3-none-macosx_14_0_arm64", "py3-none-macosx_15_0_arm64", "py3-none-macosx_26_0_arm64"];
    let mlx = ["cp313-cp313-macosx_14_0_arm64", "cp313-cp313-macosx_15_0_arm64", "cp313-cp313-macosx_26_0_arm64"];
    let published = Published::default()
        .with_release("mlx", "0.30.0", wheels(&mlx).asking(&["mlx-metal==0.30.0"]))
        .with_release("mlx-metal", "0.30.0", wheels(&metal));
    let index = FakeIndex::from_published(&published);
    let lock = |macos: &str, rest: &str| {
        let rest = format!("{}{rest}", dependencies(&["mlx = \"==0.30.0\""]));
        locked(&Project::asking(&index, macos, "==3.13.*", &rest)).1
    };
    let of = |macos: &str| {
        [
            format!("mlx-0.30.0-cp313-cp313-macosx_{macos}_0_arm64.whl"),
            format!("mlx_metal-0.30.0-py3-none-macosx_{macos}_0_arm64.whl"),
        ]
    };
    let check = |lock: &str, present: &[&str], absent: &[&str]| {
        for macos in present {
            assert!(of(macos).iter().all(|file| lock.contains(file.as_str())), "{macos}:\n{lock}");
        }
        for macos in absent {
            assert!(of(macos).iter().all(|file| !lock.contains(file.as_str())), "{macos}:\n{lock}");
        }
    };
    check(&lock("14.0", ""), &["14", "15", "26"], &[]);
    check(&lock("15.0", ""), &["15", "26"], &["14"]);
    check(&lock("14.0", "[resolution]\nwheels = \"floor\"\n"), &["14"], &["15", "26"]);
}

/// torch 2.9 to 2.11 install on macOS 13, and their MPS refuses it. The trap is to call the tag a fit.
#[test]
fn r04_a_tag_that_fits_and_a_gpu_that_does_not() {
    let tags = || wheels(&["cp313-none-macosx_11_0_arm64"]);
    let published = ["2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0"]
        .into_iter()
        .fold(Published::default(), |all, version| all.with_release("torch", version, tags()))
        .with_release("torch", "2.12.1", wheels(&["cp313-cp313-macosx_14_0_arm64"]));
    let index = FakeIndex::from_published(&published);
    let asking =
        |torch: &str| Project::asking(&index, "13.7", "==3.13.*", &dependencies(&[&format!("torch = \"{torch}\"")]));
    for pinned in ["==2.10.*", "==2.11.*"] {
        let run = refused(
            &asking(pinned).requiring_the_gpu(),
            &[
                "needs macOS 14 for the GPU; your floor is 13.7 (rule `torch-2.9-mps-needs-macos-14`)",
                "hint: torch = \"==2.8.*\" gives torch 2.8.0",
                "hint: [target] macos = \"14.0\"",
                "hint: [target] gpu = \"optional\"",
            ],
        );
        run.never_says(&["no wheel"]);
    }
    let (run, lock) = locked(&asking("*").requiring_the_gpu());
    assert_has(&lock, &["\"torch 2.8.0\"", "torch-2.9-mps-needs-macos-14"], &[]);
    run.says(0, &["torch 2.12.1 exists; held at 2.8.0: needs macOS 14; your floor is 13.7"]);
    let (run, lock) = locked(&asking("*"));
    assert_has(&lock, &["\"torch 2.11.0\""], &[]);
    run.says(0, &["`torch` 2.11.0 needs macOS >=14.0 for the GPU"]);
}

/// torchvision asks for one exact torch. Both lines are named, what each torchvision demands, and the nearest pair.
#[test]
fn r05_torch_and_torchvision_that_do_not_go_together() {
    let mac = |python: &str| wheels(&[&format!("{python}-none-macosx_11_0_arm64")]);
    let any = || wheels(&["py3-none-macosx_14_0_arm64"]);
    let published = Published::default()
        .with_release("torch", "2.7.0", mac("cp313"))
        .with_release("torch", "2.7.1", mac("cp313"))
        .with_release("torch", "2.8.0", mac("cp313"))
        .with_release("torch", "2.15.0", any())
        .with_release("torchvision", "0.22.0", mac("cp313").asking(&["torch==2.7.0"]))
        .with_release("torchvision", "0.22.1", mac("cp313").asking(&["torch==2.7.1"]))
        .with_release("torchvision", "0.23.0", mac("cp313").asking(&["torch==2.8.0"]))
        .with_release("torchvision", "0.29.2", any().asking(&["torch>=2.14.0"]));
    let index = FakeIndex::from_published(&published);
    let project = |torch: &str, torchvision: &str| {
        let lines = [format!("torch = \"{torch}\""), format!("torchvision = \"{torchvision}\"")];
        Project::asking(&index, "14.0", "==3.13.*", &dependencies(&[&lines[0], &lines[1]]))
    };
    refused(
        &project("==2.8.*", "==0.22.*"),
        &[
            "macml.toml:7: torch ==2.8.*",
            "macml.toml:8: torchvision ==0.22.*",
            "`torchvision` 0.22.0 asks for `torch` ==2.7.0, 0.22.1 for ==2.7.1",
            "hint: torch = \"==2.7.*\" gives torch 2.7.1, torchvision 0.22.1",
            "hint: torchvision = \"==0.23.*\" gives torch 2.8.0, torchvision 0.23.0",
        ],
    );
    // No table that ends some year: what asks for a range gets the newest of it.
    let (_, lock) = locked(&project("*", "==0.29.2"));
    assert_has(&lock, &["\"torch 2.15.0\"", "\"torchvision 0.29.2\""], &[]);
}

/// tensorflow-metal declares no TensorFlow. A pair that breaks the import is refused and the pairs that load are named; on
/// a Python without a plugin the newest that has one is; and whoever insists switches the rule off.
#[test]
fn r06_the_plugin_that_breaks_the_import() {
    let mac = |pythons: &[u8]| {
        let tags: Vec<String> =
            pythons.iter().map(|minor| format!("cp3{minor}-cp3{minor}-macosx_12_0_arm64")).collect();
        wheels(&tags.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let published = Published::default()
        .with_release("tensorflow", "2.17.1", mac(&[11, 12]))
        .with_release("tensorflow", "2.18.1", mac(&[11, 12]))
        .with_release("tensorflow", "2.21.0", mac(&[11, 12, 13]))
        .with_release("tensorflow-macos", "2.15.0", mac(&[11]))
        .with_release("tensorflow-metal", "1.1.0", mac(&[11]))
        .with_release("tensorflow-metal", "1.2.0", mac(&[11, 12]));
    let index = FakeIndex::from_published(&published);
    let project = |python: &str, tensorflow: &str, metal: &str, rest: &str| {
        let lines = [format!("tensorflow = \"{tensorflow}\""), format!("tensorflow-metal = \"{metal}\"")];
        let rest = format!("{}{rest}", dependencies(&[&lines[0], &lines[1]]));
        Project::asking(&index, "14.0", python, &rest)
    };
    let pair = |rest: &str| project("==3.11.*", "==2.18.*", "==1.1.0", rest);
    refused(
        &pair(""),
        &[
            "macml.toml:7: tensorflow ==2.18.*",
            "macml.toml:8: tensorflow-metal ==1.1.0",
            "`tensorflow-metal` 1.1.0 needs `tensorflow` >=2.13, <2.18",
            "a symbol that it needs has left TensorFlow with 2.18",
            "hint: tensorflow = \"==2.17.*\" gives tensorflow 2.17.1, tensorflow-metal 1.1.0",
            "hint: tensorflow-metal = \"==1.2.0\" gives tensorflow 2.18.1, tensorflow-metal 1.2.0",
        ],
    );
    let (run, lock) = locked(&pair("[resolution]\nignore-rules = [\"metal-1.1.0-tf\"]\n"));
    run.says(0, &["note[rule-ignored]: rule `metal-1.1.0-tf` is switched off"]);
    assert_has(&lock, &["\"tensorflow-metal 1.1.0\"", "ignore-rules = [\"metal-1.1.0-tf\"]"], &[]);
    refused(
        &project("==3.13.*", "*", "*", ""),
        &[
            "`tensorflow-metal` 1.2.0: no wheel for Python 3.13; newest is 3.12",
            "hint: [target] python = \">=3.12,<3.14\" gives tensorflow 2.18.1, tensorflow-metal 1.2.0 on Python 3.12",
        ],
    );
    let (_, lock) = locked(&project(">=3.11,<3.14", "*", "*", "").requiring_the_gpu());
    assert_has(&lock, &["python = \"3.12\"", "\"tensorflow 2.18.1\"", "\"tensorflow-metal 1.2.0\""], &[]);
}

/// Up to 0.26.3 mlx holds libmlx itself, from 0.26.5 mlx-metal does. A lock has the one or the other, never both.
#[test]
fn r07_the_library_has_one_owner() {
    let published = Published::default()
        .with_release("mlx", "0.26.3", wheels(&["cp312-cp312-macosx_14_0_arm64"]))
        .with_release("mlx", "0.26.5", wheels(&["cp312-cp312-macosx_14_0_arm64"]).asking(&["mlx-metal==0.26.5"]))
        .with_release("mlx-metal", "0.26.5", wheels(&["py3-none-macosx_14_0_arm64"]));
    let index = FakeIndex::from_published(&published);
    let project = |lines: &[&str]| Project::asking(&index, "14.0", "==3.12.*", &dependencies(lines));
    let upgraded = project(&["mlx = \"==0.26.3\""]);
    assert_has(&locked(&upgraded).1, &["\"mlx 0.26.3\""], &["mlx-metal"]);
    let manifest = std::fs::read_to_string(upgraded.path().join("macml.toml")).unwrap();
    upgraded.write("macml.toml", &manifest.replace("0.26.3", "0.26.5"));
    assert_has(&locked(&upgraded).1, &["\"mlx 0.26.5\"", "\"mlx-metal 0.26.5\""], &["0.26.3"]);
    refused(
        &project(&["mlx = \"==0.26.3\"", "mlx-metal = \"*\""]),
        &["`mlx` <0.26.5 cannot be beside `mlx-metal`", "hint: mlx = \"==0.26.*\" gives mlx 0.26.5, mlx-metal 0.26.5"],
    );
}

/// Nightly builds come out of separate pipelines, and the highest version may be months old.
#[test]
fn r08_nightly_builds_are_of_one_night() {
    let mac = || wheels(&["cp313-cp313-macosx_11_0_arm64"]);
    let reported = Published::default()
        .with_release("torch", "2.7.0.dev20260105", mac())
        .with_release("torchvision", "0.22.0.dev20260105", mac())
        .with_release("torchaudio", "2.8.0.dev20251103", mac());
    let common = ["20260103", "20260104"].into_iter().fold(reported.clone(), |all, night| {
        all.with_release("torch", &format!("2.7.0.dev{night}"), mac())
            .with_release("torchvision", &format!("0.22.0.dev{night}"), mac())
            .with_release("torchaudio", &format!("2.7.0.dev{night}"), mac())
    });
    let lines = dependencies(&["torch = \"*\"", "torchvision = \"*\"", "torchaudio = \"*\""]);
    let rest = format!("{lines}[resolution]\nprereleases = [\"torch\", \"torchvision\", \"torchaudio\"]\n");
    let index = FakeIndex::from_published(&reported);
    refused(
        &Project::asking(&index, "14.0", "==3.13.*", &rest),
        &["must be of one night", "torch-nightlies-of-one-night"],
    );
    let index = FakeIndex::from_published(&common);
    let (run, lock) = locked(&Project::asking(&index, "14.0", "==3.13.*", &rest));
    run.says(0, &["[nightly-builds]", "2026-01-04", "delete"]);
    let chosen = ["torch-2.7.0", "torchvision-0.22.0", "torchaudio-2.7.0"];
    let files = chosen.map(|stem| format!("{stem}.dev20260104-cp313-cp313-macosx_11_0_arm64.whl\", size = "));
    assert_has(&lock, &files.each_ref().map(String::as_str), &["20260105", "20251103"]);
    assert_eq!(lock.matches("sha256 = ").count(), 3, "{lock}");
}

/// Wheels of coremltools end at Python 3.13, and its source archive has no native half.
#[test]
fn r09_no_wheel_for_this_python_and_no_way_around() {
    let native = wheels(&["cp312-none-macosx_11_0_arm64", "cp313-none-macosx_11_0_arm64"]).with_source();
    let published = Published::default()
        .with_release("coremltools", "4.0b3", wheels(&["py3-none-any"]))
        .with_release("coremltools", "9.0", native)
        .with_release("coremltools", "9.1.dev1", wheels(&["cp314-none-macosx_11_0_arm64"]));
    let index = FakeIndex::from_published(&published);
    let project = |python: &str| Project::asking(&index, "14.0", python, &dependencies(&["coremltools = \"*\""]));
    let pinned = Project::asking(&index, "14.0", "==3.14.*", &dependencies(&["coremltools = \"==9.0\""]));
    refused(&pinned, &["`coremltools` 9.0: no wheel for Python 3.14; newest is 3.13", "are no way out"]);
    let run = refused(
        &project("==3.14.*"),
        &[
            "`coremltools` 9.0: no wheel for Python 3.14; newest is 3.13",
            "the source archives of `coremltools` are no way out",
            "python = \">=3.13,<3.15\" gives coremltools 9.0 on Python 3.13",
        ],
    );
    run.never_says(&["9.1.dev1", "4.0b3"]);
    assert_eq!(downloads(&index), [""; 0]);
    let (_, lock) = locked(&project(">=3.12"));
    assert_has(&lock, &["python = \"3.13\"", "\"coremltools 9.0\""], &[".tar.gz"]);
}

/// A mirror promises metadata files and lacks them: wheels are read instead, the fault is told once, the lock is the
/// same. A metadata file that is not the promised one is the mirror's fault, by name.
#[test]
fn r10_a_mirror_without_the_metadata_files_it_promises() {
    let published = (0..5).fold(Published::default().with("app", "1.0", &["lib0", "lib1", "lib2", "lib3", "lib4"]), {
        |all, at| all.with(&format!("lib{at}"), "1.0", &[])
    });
    let index = FakeIndex::from_published(&published);
    let manifest = dependencies(&["app = \"*\""]);
    let direct = Project::asking(&index, "14.0", ">=3.11,<3.14", &manifest);
    let (_, wanted) = locked(&direct);

    let behaving =
        |metadata_files| FakeIndex::behaving(&published, Behaviour { metadata_files, ..Behaviour::default() });
    let asking = |mirror: &FakeIndex| Project::asking(mirror, "14.0", ">=3.11,<3.14", &manifest);
    let (run, lock) = locked(&asking(&behaving(MetadataFiles::Missing)));
    assert_eq!(run.stderr.matches("announces metadata files and lacks them").count(), 1, "{}", run.stderr);
    assert_eq!(lock, wanted);

    let lying = behaving(MetadataFiles::Wrong);
    let project = asking(&lying);
    let address = lying.url();
    let said = ["its metadata file has another sha256 than the page says", address.as_str().trim_end_matches('/')];
    project.run(&["lock"]).says(2, &said);
    assert_eq!(project.lock(), None);
    // Where another may be asked, it is. People read of the fault once, programs by its code.
    let project = asking(&index).through(&lying);
    let report = project.run(&["lock", "--output-format", "json"]).json();
    assert_eq!(report["findings"][0]["code"], "mirror-fault", "{report:#}");
    assert_eq!(project.lock().as_ref(), Some(&wanted));
    let (run, lock) = locked(&asking(&index).through(&lying));
    assert_eq!(run.stderr.matches("another sha256 than the page says").count(), 1, "{}", run.stderr);
    assert_eq!(lock, wanted);
}

/// A pin to a withdrawn release is honoured with its reason; a lock of another Python fails in CI and stays as it is; an
/// index that pip was told of on this machine reaches no lock.
#[test]
fn r11_a_withdrawn_pin_and_a_lock_that_nobody_used() {
    let yanked = Rel { yanked: Some("Error in the setup".to_owned()), ..Rel::default() };
    let published =
        Published::default().with_release("transformers", "4.57.0", yanked).with("transformers", "4.56.2", &[]);
    let index = FakeIndex::from_published(&published);
    let project = |python: &str, versions: &str| {
        Project::asking(&index, "14.0", python, &dependencies(&[&format!("transformers = \"{versions}\"")]))
    };
    let pinned = project("==3.11.*", "==4.57.0");
    let corp = [("PIP_INDEX_URL", "https://someone:secret@pypi.corp.example/simple")];
    let run = pinned.run_with(&corp, &["lock"]);
    run.says(0, &["warning[yanked-release]", "Error in the setup", "note[foreign-index-setting]", "PIP_INDEX_URL"]);
    run.never_says(&["secret"]);
    let lock = pinned.lock().unwrap();
    assert_has(&lock, &["\"transformers 4.57.0\"", "index = \"pypi\""], &["corp", "secret", "127.0.0.1"]);
    assert_has(&locked(&project("==3.11.*", "*")).1, &["\"transformers 4.56.2\""], &[]);

    let manifest = std::fs::read_to_string(pinned.path().join("macml.toml")).unwrap();
    pinned.write("macml.toml", &manifest.replace("==3.11.*", "==3.12.*"));
    for words in [&["lock", "--check"][..], &["lock", "--check", "--offline"]] {
        pinned.run(words).says(1, &["error: `macml.lock` does not answer `macml.toml`"]);
    }
    assert_eq!(pinned.lock(), Some(lock));
}

/// `2.4.1+cpu` sorts above `2.4.1` and exists for Linux only. A lock never names a version without a file.
#[test]
fn r12_a_local_version_without_a_mac_wheel() {
    let linux = || wheels(&["cp311-cp311-linux_x86_64"]);
    let only = Published::default().with_release("torch", "2.4.1+cpu", linux());
    let both = only.clone().with_release("torch", "2.4.1", wheels(&["cp311-none-macosx_11_0_arm64"]));
    let index = FakeIndex::from_published(&both);
    let lines = dependencies(&["torch = \">=2.4,<2.5\""]);
    let (_, lock) = locked(&Project::asking(&index, "14.0", "==3.11.*", &lines));
    assert_has(&lock, &["\"torch 2.4.1\"", "torch-2.4.1-cp311-none-macosx_11_0_arm64.whl"], &["cpu"]);
    let index = FakeIndex::from_published(&only);
    refused(&Project::asking(&index, "14.0", "==3.11.*", &lines), &["torch", "2.4.1+cpu", "no wheel for arm64 Macs"]);
    let bad = include_str!("../locks/v1/bad/no-wheels.lock");
    assert!(macml::lock::parse::parse(bad).is_err(), "a lock that names no file of a package is no lock");
}

/// A stable release asks for exactly a candidate: it is taken, told with the chain, and opens nothing else.
#[test]
fn r13_a_stable_release_that_wants_a_candidate() {
    let published = Published::default()
        .with("mlx-lm", "0.29.1", &["transformers>=4.39.3", "numpy"])
        .with("mlx-lm", "0.30.0", &["transformers==5.0.0rc1", "numpy"])
        .with("transformers", "4.57.6", &[])
        .with("transformers", "5.0.0rc1", &[])
        .with("numpy", "2.3", &[])
        .with("numpy", "2.4rc1", &[]);
    let index = FakeIndex::from_published(&published);
    let project = |lines: &[&str]| Project::asking(&index, "14.0", ">=3.11,<3.14", &dependencies(lines));
    let (run, lock) = locked(&project(&["mlx-lm = \"==0.30.0\""]));
    run.says(0, &["warning[prerelease-chosen]", "`transformers` 5.0.0rc1", "mlx-lm 0.30.0 -> transformers"]);
    assert_has(&lock, &["\"transformers 5.0.0rc1\"", "\"numpy 2.3\""], &["2.4rc1"]);
    // Of a range, the release that is content with final ones.
    assert_has(&locked(&project(&["mlx-lm = \">=0.29,<0.31\""])).1, &["\"mlx-lm "], &["2.4rc1"]);
    let run = refused(
        &project(&["mlx-lm = \"==0.30.0\"", "transformers = \"<5\""]),
        &["mlx-lm ==0.30.0", "transformers <5", "`mlx-lm` 0.30.0 asks for `transformers` ==5.0.0rc1"],
    );
    run.never_says(&["there is no `transformers`", "does not exist"]);
}

/// Apple Silicon is `arm64`, never `aarch64`; and no floor is assumed but the declared one.
#[test]
fn r15_arm64_is_not_aarch64() {
    let published = Published::default()
        .with_release("mlx", "0.31.1", wheels(&["cp313-cp313-macosx_14_0_arm64", "cp313-cp313-macosx_26_0_arm64"]))
        .with("bitsandbytes", "0.49", &[])
        .with("faiss-cpu", "1.12", &[]);
    let index = FakeIndex::from_published(&published);
    let lines = dependencies(&[
        "mlx = { version = \"*\", marker = \"platform_machine == 'arm64' and sys_platform == 'darwin'\" }",
        "bitsandbytes = { version = \"*\", marker = \"'arm' not in platform_machine\" }",
        "faiss-cpu = { version = \"*\", marker = \"platform_machine == 'aarch64'\" }",
    ]);
    let (run, lock) = locked(&Project::asking(&index, "14.0", "==3.13.*", &lines));
    assert_has(&lock, &["\"mlx 0.31.1\""], &["bitsandbytes", "faiss"]);
    run.says(0, &["warning[marker-never-matches]: `faiss-cpu` is never installed", "macml.toml:9:1"]);
    assert_has(&locked(&Project::asking(&index, "26.0", "==3.13.*", &lines)).1, &["\"mlx 0.31.1\""], &[]);
    refused(
        &Project::asking(&index, "13.0", "==3.13.*", &lines),
        &["`mlx` 0.31.1: needs macOS 14; your floor is 13.0", "macos = \"14.0\" gives mlx 0.31.1"],
    );
}

/// The page has hashes for the others and none for the one wheel that is needed: it is computed from the file.
#[test]
fn r16_the_needed_wheel_has_no_hash() {
    let tags = ["cp313-cp313-macosx_11_0_arm64", "cp313-cp313-macosx_11_0_x86_64", "cp313-cp313-manylinux_2_28_x86_64"];
    let published = Published::default().with_release("pkg", "1.0", wheels(&tags));
    let whole = FakeIndex::from_published(&published);
    let lines = dependencies(&["pkg = \"*\""]);
    let (_, wanted) = locked(&Project::asking(&whole, "14.0", "==3.13.*", &lines));
    let partly = FakeIndex::from_published(&published);
    partly.behave(|how| how.unhashed_files = ["pkg-1.0-cp313-cp313-macosx_11_0_arm64.whl".to_owned()].into());
    let (_, lock) = locked(&Project::asking(&partly, "14.0", "==3.13.*", &lines));
    assert_eq!(lock, wanted);
    assert_has(&lock, &["pkg-1.0-cp313-cp313-macosx_11_0_arm64.whl\", size = "], &["x86_64"]);
    // A file that is listed and not there leaves no lock behind, and is named.
    partly.behave(|how| how.absent_files = ["pkg-1.0-cp313-cp313-macosx_11_0_arm64.whl".to_owned()].into());
    let project = Project::asking(&partly, "14.0", "==3.13.*", &lines);
    refused(&project, &["pkg-1.0-cp313-cp313-macosx_11_0_arm64.whl", "answers 404 for it"]);
}

/// A wheel of the maintainer's own, outside the project, is in nobody else's reach. Git is refused in one sentence.
#[test]
fn r17_a_wheel_outside_the_project() {
    let read = |line: &str| {
        let text =
            format!("[target]\nchip = \"m1\"\nmacos = \"26.0\"\npython = \"==3.13.*\"\n[dependencies]\n{line}\n");
        let context = macml::manifest::Context { folder: "project", version: &semver::Version::new(0, 1, 0) };
        macml::manifest::parse(&text, context).map(|(_, findings)| findings)
    };
    let own = "torch-2.12.0rc3+m5max-cp313-cp313-macosx_26_0_arm64.whl";
    for path in [format!("/somewhere/ai/{own}"), format!("../../ai/{own}")] {
        let findings = read(&format!("torch = {{ path = \"{path}\" }}")).unwrap();
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!((finding.code, finding.severity), (Code::PathOutsideProject, Severity::Warning));
        assert!(finding.message.contains(&path), "{}", finding.message);
    }
    assert!(read(&format!("torch = {{ path = \"vendor/{own}\" }}")).unwrap().is_empty());
    // It is locked by its path from the project, never by where this machine keeps it.
    let project = Project::new(
        "[target]\nchip = \"m1\"\nmacos = \"26.0\"\ngpu = \"optional\"\npython = \"==3.13.*\"\n\
         [dependencies]\ntorch = { path = \"../torch-2.12.0rc3+m5max-cp313-cp313-macosx_26_0_arm64.whl\" }\n",
    );
    let inner = project.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    std::fs::rename(project.path().join("macml.toml"), inner.join("macml.toml")).unwrap();
    let built = wheel::build("torch", "2.12.0rc3+m5max", &wheels(&["cp313-cp313-macosx_26_0_arm64"])).remove(0);
    std::fs::write(project.path().join(&built.filename), &built.bytes).unwrap();
    project.run(&["lock", "--offline", "-C", "inner"]).says(0, &["warning[path-outside-project]", own]);
    let lock = std::fs::read_to_string(inner.join("macml.lock")).unwrap();
    assert_has(&lock, &[own], &[project.path().to_str().unwrap()]);

    let mistakes = read("pkg = { git = \"https://example.test/x.git\" }").unwrap_err();
    assert_eq!(mistakes.iter().map(|one| one.code).collect::<Vec<_>>(), [Code::Unsupported]);
}

/// Packages that exist as source archives only are all named at once, before anything is downloaded.
#[test]
fn r20_what_would_have_to_be_compiled_is_listed() {
    let source = || Rel { wheel_tags: Vec::new(), sdist: true, ..Rel::default() };
    let published = Published::default()
        .with_release("pkg", "1.0", source())
        .with_release("other", "2.0", source())
        .with("pure", "1.0", &[]);
    let index = FakeIndex::from_published(&published);
    let lines = dependencies(&["other = \"*\"", "pkg = \"*\"", "pure = \"*\""]);
    refused(
        &Project::asking(&index, "14.0", ">=3.11,<3.14", &lines),
        &["`pkg` 1.0: only a source archive", "`other` 2.0: only a source archive"],
    )
    .never_says(&["`pure`"]);
    assert_eq!(downloads(&index), [""; 0], "nothing is downloaded");
}

/// A proxy re-signs with a company root: host, issuer and store are named, and never a way around the check.
#[test]
fn r24_an_unknown_issuer_is_named() {
    let (index, certificate) = FakeIndex::inspected(&Published::default().with("alpha", "1.0", &[]));
    let project = Project::asking(&index, "14.0", ">=3.11,<3.14", &dependencies(&["alpha = \"*\""]));
    let run = project.run(&["lock"]);
    run.says(2, &["localhost", "Corp Inspection CA", "the system's certificate store", "SSL_CERT_FILE"]);
    run.never_says(&["trusted-host", "trusted host", "insecure", "does not exist"]);
    assert_eq!(project.lock(), None);
    project.write("corp.pem", &certificate.pem());
    let file = project.path().join("corp.pem");
    project.run_with(&[("SSL_CERT_FILE", file.to_str().unwrap())], &["lock"]).says(0, &["macml.lock written"]);
}
