//! What must come out of the real index for frameworks people ask for (when `MACML_LIVE` is set), and that the same bytes
//! come out of the binary whichever mirror serves them and in whatever order it answers.

use std::path::Path;

use crate::support::project::Project;
use crate::support::project::Run;
use crate::support::published::Published;
use crate::support::published::Rel;
use crate::support::server::Behaviour;
use crate::support::server::FakeIndex;

pub(crate) fn live() -> bool {
    let live = matches!(std::env::var("MACML_LIVE").as_deref(), Ok("1" | "full"));
    if !live {
        eprintln!("skipped: needs the real index, set MACML_LIVE=1");
    }
    live
}

/// Locks against the real index; runs of one test share pages.
fn lock(macos: &str, python: &str, rest: &str) -> (Run, Option<String>) {
    let head = format!("[target]\nchip = \"m1\"\nmacos = \"{macos}\"\ngpu = \"optional\"\npython = \"{python}\"\n");
    let project = Project::new(&format!("{head}{rest}\n"));
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("real-answers");
    let proxies = std::env::vars().filter(|(name, _)| name.to_ascii_lowercase().ends_with("_proxy"));
    let mut vars: Vec<(String, String)> = proxies.collect();
    vars.push(("MACML_CACHE_DIR".to_owned(), cache.display().to_string()));
    let vars: Vec<(&str, &str)> = vars.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let run = project.run_with(&vars, &["lock"]);
    (run, project.lock())
}

fn version(lock: &str, name: &str) -> semver::Version {
    let rest = lock.split_once(&format!("\"{name} ")).unwrap_or_else(|| panic!("no `{name}` in\n{lock}")).1;
    rest.split(['"', ' ']).next().unwrap().parse().unwrap()
}

/// A lower floor costs releases of all three, that fit each other; the output says so.
#[test]
fn the_floor_decides_over_torch_and_its_companions() {
    if !live() {
        return;
    }
    let trio = "[frameworks]\ntorch = \"*\"\ntorchvision = \"*\"\ntorchaudio = \"*\"";
    let (run, low) = lock("13.0", ">=3.11,<3.14", trio);
    run.says(0, &["torch 2.11.0", "exists; held at 2.11.0: needs macOS 14; your floor is 13.0"]);
    let (run, high) = lock("14.0", ">=3.11,<3.14", trio);
    run.says(0, &["macml.lock written"]);
    run.never_says(&["your floor is"]);
    let (low, high) = (low.unwrap(), high.unwrap());
    let versions = |lock: &str| ["torch", "torchvision", "torchaudio"].map(|name| version(lock, name));
    let [torch, torchvision, torchaudio] = versions(&low);
    assert_eq!((torch.minor, torchvision.minor, torchaudio.minor), (11, 26, 11), "the set of torch 2.11");
    for (low, high) in versions(&low).into_iter().zip(versions(&high)) {
        assert!(low < high, "{low} and {high}");
    }
}

/// Wheels of coremltools end at 3.13: said where they are out of range, found where they are in it.
#[test]
fn coremltools_and_the_pythons_it_has_wheels_for() {
    if !live() {
        return;
    }
    let line = "[frameworks]\ncoremltools = \"*\"";
    let (run, written) = lock("14.0", ">=3.14", line);
    run.says(
        1,
        &["`coremltools` 9.0: no wheel for Python 3.14", "newest is 3.13", "gives coremltools 9.0 on Python 3.13"],
    );
    run.never_says(&["9.1.dev1", "4.0b3"]);
    assert_eq!(written, None);
    let (run, written) = lock("14.0", ">=3.12", line);
    run.says(0, &["Python 3.13", "coremltools 9.0"]);
    assert!(written.unwrap().contains("\"coremltools 9.0\""));
}

/// The newest gensim has no wheel for the newest Python; an older Python is better than a gensim of ten years ago.
#[test]
fn gensim_does_not_slide_back() {
    if !live() {
        return;
    }
    let (run, written) = lock("14.0", ">=3.11", "[dependencies]\ngensim = \"*\"");
    run.says(0, &["macml.lock written"]);
    assert!(version(&written.unwrap(), "gensim") >= semver::Version::new(4, 4, 0));
    let (run, written) = lock("14.0", ">=3.14", "[dependencies]\ngensim = \"*\"");
    run.says(1, &["`gensim` 4.4.0: no wheel for Python 3.14", "gives gensim 4.4.0 on Python 3.13"]);
    assert_eq!(written, None);
}

/// Some thirty packages, with wheels by Python and by macOS, and what asks for what.
fn published() -> Published {
    let mut published = Published::default();
    for at in 0..30 {
        for minor in 0..3 {
            let below = (at + 1 + minor..30).step_by(5).take(2).map(|other| format!("p{other}>={}.0", minor.min(1)));
            let wheel_tags = match (at + minor) % 4 {
                0 => vec!["cp313-cp313-macosx_11_0_arm64", "cp312-cp312-macosx_11_0_arm64"],
                1 => vec!["py3-none-macosx_14_0_arm64", "py3-none-macosx_26_0_arm64"],
                _ => vec!["py3-none-any"],
            };
            let release = Rel {
                requires: below.collect(),
                wheel_tags: wheel_tags.into_iter().map(str::to_owned).collect(),
                upload_time: format!("2024-03-{:02}T12:00:00.000000Z", 1 + at % 15 + minor * 2),
                ..Rel::default()
            };
            published = published.with_release(&format!("p{at}"), &format!("{minor}.0"), release);
        }
    }
    published
}

const ROOTS: &str = "[dependencies]\np0 = \"*\"\np1 = \"*\"\np2 = \"<2\"\np3 = \"*\"\n\
                     [resolution]\nexclude-newer = \"2024-03-18\"\n";

#[test]
fn delays_and_orders_of_answers_leave_the_same_bytes() {
    let index = FakeIndex::from_published(&published());
    let lock = || {
        let project = Project::asking(&index, "14.0", ">=3.11,<3.14", ROOTS);
        project.run(&["lock"]).says(0, &["macml.lock written"]);
        project.lock().unwrap()
    };
    let wanted = lock();
    assert!(wanted.matches("[[package]]").count() > 10, "{wanted}");
    for seed in 1..=4 {
        index.behave(|how| how.uneven = Some(seed));
        assert_eq!(lock(), wanted, "seed {seed}");
    }
}

/// One mirror is as good as the index; the other has pages in HTML with links and nothing else, and lacks some files.
#[test]
fn two_mirrors_leave_the_same_bytes() {
    let published = published();
    let index = FakeIndex::from_published(&published);
    let full = FakeIndex::from_published(&published);
    let poor = FakeIndex::behaving(&published, Behaviour::bare());
    poor.behave(|how| {
        let lacked = ["p0-2.0", "p3-1.0", "p7-2.0"].into_iter().flat_map(|stem| {
            ["py3-none-any", "cp313-cp313-macosx_11_0_arm64", "py3-none-macosx_14_0_arm64"]
                .map(|tag| format!("{stem}-{tag}.whl"))
        });
        how.absent_files = lacked.collect();
    });
    let asking = |index: &FakeIndex| Project::asking(index, "14.0", ">=3.11,<3.14", ROOTS);
    let lock = |project: Project| {
        project.run(&["lock"]).says(0, &["macml.lock written"]);
        project.lock().unwrap()
    };
    let wanted = lock(asking(&index));
    let asked = index.requests().len();
    assert_eq!(lock(asking(&index).through(&full)), wanted);
    assert_eq!(index.requests().len(), asked, "the good mirror is enough");
    assert_eq!(lock(asking(&index).through(&poor)), wanted);
    assert_eq!(lock(asking(&full).through(&poor)), wanted);
    assert!(!poor.asked("/simple/").is_empty());
}
