//! A lock that uv makes of real packages: every wheel that a Mac takes is on its index, with its sha256 and size. Runs when
//! `MACML_LIVE` is set; only pages and metadata are downloaded.

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
use macml::pipeline::check::Declared;
use macml::pipeline::check::Word;
use macml::pipeline::check::foreign;
use macml::pipeline::check::foreign::Foreign;
use macml::pipeline::check::foreign::Lacks;
use macml::progress::Silent;
use macml::sys::Env;
use macml::target::Gpu;

use crate::uv_agreement::install_uv;

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
    let mut indexes = source(&foreign);
    foreign::complete(&mut foreign, &mut indexes);
    assert_eq!(foreign.lacks(), Lacks::Nothing, "{:?}", foreign.part.told);
    eprintln!("{}: {} releases, lacked {before:?}", path.display(), foreign.sets[0].releases.len());
    foreign
}

fn source(foreign: &Foreign) -> OnlineSource {
    let address =
        |index: &macml::manifest::model::IndexSpec| IndexAddress { name: index.name.clone(), url: index.url.clone() };
    let config = Config {
        indexes: foreign.indexes.iter().map(address).collect(),
        cache_dir: Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("check-foreign-cache")),
        ..Config::new(Env::capture().unwrap())
    };
    OnlineSource::new(&config, Arc::new(Silent)).unwrap()
}

/// Every file is on the page of its package, and what the page says of it is what the lock says.
fn are_listed(foreign: &Foreign) {
    let mut source = source(foreign);
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
