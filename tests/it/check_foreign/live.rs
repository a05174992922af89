//! Locks completed by indexes over the network: one on loopback; and, where `MACML_LIVE` is set, a lock that uv makes of real
//! packages: every wheel that a Mac takes is on its index, with its sha256 and size. Only pages are downloaded.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use macml::index::Config;
use macml::index::IndexAddress;
use macml::index::OnlineSource;
use macml::index::download::Place;
use macml::index::source::Answer;
use macml::index::source::Ask;
use macml::index::source::PageAnswer;
use macml::index::source::Source as _;
use macml::lock::foreign::Choice;
use macml::manifest::model::IndexSpec;
use macml::pep::Sha256;
use macml::pipeline::check::Declared;
use macml::pipeline::check::Word;
use macml::pipeline::check::foreign;
use macml::pipeline::check::foreign::Foreign;
use macml::pipeline::check::foreign::Lacks;
use macml::progress::Silent;
use macml::sys::Env;
use macml::target::Gpu;

use super::made::{Project, shown, told};
use crate::support::published::{Published, Rel};
use crate::support::server::FakeIndex;
use crate::support::wheel;
use crate::uv_agreement::install_uv;

/// Indexes of loopback under made-up names, wheels by path and by address: found once, and then without a network.
#[test]
fn an_index_of_the_lock_is_reached_under_its_made_name() {
    let index = FakeIndex::from_published(&Published::default().with("alpha", "1.0", &[]).with("beta", "2.0", &[]));
    let wheel = |name: &str, version: &str| wheel::build(name, version, &Rel::default()).remove(0).bytes;
    let (alpha, beta) = (wheel("alpha", "1.0"), wheel("beta", "2.0"));
    let beta_file = "beta-2.0-py3-none-any.whl";
    let list = format!(
        "--index-url {}\nalpha==1.0 --hash=sha256:{}\n./wheels/own-1.0-py3-none-any.whl --hash=sha256:{}\n\
         beta @ {} --hash=sha256:{}\n",
        index.url(),
        Sha256::of(&alpha),
        Sha256::of(b"own"),
        index.root().join(&format!("files/{beta_file}")).unwrap(),
        Sha256::of(&beta),
    );
    let files = [("requirements.txt", list.as_str()), ("wheels/own-1.0-py3-none-any.whl", "own")];
    let (project, cache) = (Project::new(&files), tempfile::tempdir().unwrap());
    let complete = |offline: bool| {
        let mut foreign = project.read("requirements.txt");
        let mut indexes = source(&foreign, cache.path(), offline);
        foreign::complete(&mut foreign, &mut indexes);
        (shown(&foreign.sets[0]), told(&foreign))
    };
    let (port, name) = (index.url().port().unwrap(), "which file of `alpha` 1.0 is installed is not known");
    let (found, said) = complete(true);
    assert_eq!(found[0], "alpha 1.0: no file");
    assert!(said.len() == 2 && said[0].contains(name) && said[0].contains("the network is switched off"), "{said:?}");
    let whole = [
        format!("alpha 1.0: alpha-1.0-py3-none-any.whl {} index 127-0-0-1-{port}", alpha.len()),
        format!("beta 2.0: {beta_file} {} {}files/{beta_file}", beta.len(), index.root()),
        "own 1.0: own-1.0-py3-none-any.whl 3 path wheels/own-1.0-py3-none-any.whl".to_owned(),
    ];
    for offline in [false, true] {
        let (found, said) = complete(offline);
        assert_eq!(found, whole, "{said:?}");
        // The option that names the index is told.
        assert_eq!(said.len(), 1, "{said:?}");
    }
    assert_eq!(index.asked("/simple/").len(), 1);
}

const PYPROJECT: &str = r#"
[project]
name = "demo"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = ["torch", "torchvision", "mlx; sys_platform == 'darwin'", "requests"]
"#;

#[test]
fn what_a_mac_takes_of_a_real_lock_is_on_its_index() {
    if !matches!(std::env::var("MACML_LIVE").as_deref(), Ok("1" | "full")) {
        eprintln!("skipped: needs the real index, set MACML_LIVE=1");
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("check-foreign");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("pyproject.toml"), PYPROJECT).unwrap();
    let uv = install_uv();
    run(&uv, &folder, &["lock", "--quiet"]);
    let requirements = ["export", "--quiet", "--frozen", "--format", "requirements.txt", "-o", "requirements.txt"];
    run(&uv, &folder, &requirements);
    run(&uv, &folder, &["export", "--quiet", "--frozen", "--format", "pylock.toml", "-o", "pylock.toml"]);

    let lock = read(&folder.join("uv.lock"));
    let names: Vec<&str> = lock.sets[0].releases.iter().map(|release| release.name.as_str()).collect();
    for name in ["mlx", "mlx-metal", "torch", "torchvision", "requests"] {
        assert!(names.contains(&name), "{names:?}");
    }
    are_listed(&lock);
    // What uv wrote of the same lock for others comes to the same files.
    for other in ["pylock.toml", "requirements.txt"] {
        let other = read(&folder.join(other));
        let files = |foreign: &Foreign| -> Vec<_> {
            let files = foreign.sets[0].releases.iter().map(|one| one.file.as_ref().unwrap());
            files.map(|file| (file.wheel.to_string().to_ascii_lowercase(), file.sha256, file.size)).collect()
        };
        assert_eq!(files(&other), files(&lock), "{}", other.source.name);
    }
}

/// Reads a lock for an M1 on macOS 14 and Python 3.12, and completes it.
fn read(path: &Path) -> Foreign {
    let declared = Declared {
        macos: Some("14.0".parse().unwrap()),
        chip: "m1".parse().unwrap(),
        gpu: Gpu::Required,
        python: Some("3.12".parse().unwrap()),
    };
    let mut foreign = foreign::read(path, &declared, &Choice::default(), &["m5,26.0".parse().unwrap()], None).unwrap();
    assert_eq!((foreign.part.word, foreign.sets.len()), (Word::Readable, 2), "{:?}", foreign.part.told);
    let before = foreign.lacks();
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("check-foreign-cache");
    let mut indexes = source(&foreign, &cache, false);
    foreign::complete(&mut foreign, &mut indexes);
    assert_eq!(foreign.lacks(), Lacks::Nothing, "{:?}", foreign.part.told);
    eprintln!("{}: {} releases, lacked {before:?}", path.display(), foreign.sets[0].releases.len());
    foreign
}

/// Makes what reaches the indexes of a lock.
fn source(foreign: &Foreign, cache: &Path, offline: bool) -> OnlineSource {
    let address = |index: &IndexSpec| IndexAddress { name: index.name.clone(), url: index.url.clone() };
    let config = Config {
        indexes: foreign.indexes.iter().map(address).collect(),
        cache_dir: Some(cache.to_owned()),
        offline,
        ..Config::new(Env::capture().unwrap())
    };
    OnlineSource::new(&config, Arc::new(Silent)).unwrap()
}

/// Every file is on the page of its package, and what the page says of it is what the lock says.
fn are_listed(foreign: &Foreign) {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("check-foreign-cache");
    let mut source = source(foreign, &cache, false);
    for release in foreign.sets.iter().flat_map(|set| &set.releases) {
        let file = release.file.as_ref().unwrap_or_else(|| panic!("{} has no file", release.name));
        let Place::Index(index) = &file.place else { panic!("{}: {:?}", release.name, file.place) };
        source.ask(Ask::Page { index: index.clone(), name: release.name.clone() });
        let Some((_, Ok(Answer::Page(PageAnswer::Found(page))))) = source.wait(None) else {
            panic!("{}", release.name)
        };
        let listed = &page.release(&release.version).unwrap_or_else(|| panic!("{}", release.name)).wheels;
        let listed = listed.iter().find(|one| one.sha256 == Some(file.sha256));
        let listed = listed.unwrap_or_else(|| panic!("`{}` is not on index `{index}`", file.wheel));
        assert!(listed.filename.eq_ignore_ascii_case(&file.wheel.to_string()), "{}", listed.filename);
        assert!(file.size.is_some(), "{}", file.wheel);
        assert!(listed.size.is_none_or(|size| Some(size) == file.size), "{}", file.wheel);
    }
}

fn run(uv: &Path, folder: &Path, args: &[&str]) {
    let mut command = Command::new(uv);
    command.args(args).env("UV_PYTHON_DOWNLOADS", "never").current_dir(folder);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
