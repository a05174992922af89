//! `macml verify` in a project: the environment is brought in line first, and what was found is kept where it is what
//! macml.lock says.
//!
//! The framework is a made wheel, loaded by this machine's Python and asked by the real probe: its `torch` answers in the
//! probe's place what a real one answered once.

use std::path::PathBuf;

use macml::verify::protocol::{Device, Event};
use macml::verify::{Record, Standing, Word};

use super::{good, lines, of_release};
use crate::support::published::{Published, Rel};
use crate::support::server::FakeIndex;
use crate::sync::{Here, manifest};

/// A torch of this version that answers so.
fn torch(version: &str, events: &[Event]) -> Rel {
    let events = of_release(events.to_vec(), version);
    let answer = "import __main__, os\n\
                  path = os.path.join(os.path.dirname(__file__), 'answer')\n\
                  with open(path, encoding='utf-8') as file: __main__.SPEAKER.write(file.read())\n\
                  __main__.SPEAKER.flush()\nos._exit(0)\n";
    let files = [("torch/__init__.py", answer.to_owned()), ("torch/answer", lines(&events))];
    Rel { files: files.map(|(path, text)| (path.to_owned(), text)).into(), ..Rel::default() }
}

fn wrong() -> Vec<Event> {
    let mut events = good();
    let check = events.iter_mut().find_map(|event| if let Event::Check(check) = event { Some(check) } else { None });
    check.unwrap().max_rel = Some(1e-2);
    events
}

struct Torch {
    here: Here,
    _index: FakeIndex,
}

impl Torch {
    /// Makes a project that has torch 2.12.0 in [frameworks], where 2.11.0 is as good and 2.10.0 is wrong.
    fn new() -> Self {
        let published = Published::default()
            .with_release("torch", "2.10.0", torch("2.10.0", &wrong()))
            .with_release("torch", "2.11.0", torch("2.11.0", &good()))
            .with_release("torch", "2.12.0", torch("2.12.0", &good()))
            .with("other", "1.0", &[]);
        let index = FakeIndex::from_published(&published);
        let this = Self { here: Here::new(&index, ""), _index: index };
        this.ask_for("2.12.0");
        this
    }

    fn ask_for(&self, version: &str) {
        let text = manifest("").replace("[dependencies]", "[frameworks]");
        self.here.project.write("macml.toml", &format!("{text}torch = \"=={version}\"\n"));
    }

    fn verify(&self, words: &[&str]) -> crate::support::project::Run {
        self.here.run(&[&["verify", "--device", "cpu"], words].concat())
    }

    fn record_path(&self) -> PathBuf {
        self.here.path().join(".macml/verified/default.json")
    }

    fn record(&self) -> Record {
        Record::read(&self.here.path(), "default").unwrap().unwrap()
    }

    fn kept(&self, words: &[&str]) -> Option<bool> {
        let words = [&["--output-format", "json"], words].concat();
        self.verify(&words).json_as("verify.schema.json")["kept"].as_bool()
    }
}

#[test]
fn the_environment_is_built_first_and_what_was_found_is_kept() {
    let torch = Torch::new();
    let run = torch.verify(&[]);
    run.says(0, &["macml.lock written", ".venv ready: 1 package", "ok  torch 2.12.0 through Python on cpu"]);
    assert!(run.stdout.starts_with("ok  torch"), "what was built is no result of this: {}", run.stdout);
    run.says(0, &["native: not run (", ".venv on cpu: ok"]);
    let record = torch.record();
    assert_eq!(record.verified.len(), 1);
    let now = record.circumstances.clone();
    assert!(now.lock.is_some() && now.content.is_some(), "{now:?}");
    assert!(matches!(record.standing(&now, Device::Cpu), Standing::Verified { .. }));
    assert_eq!(record.standing(&now, Device::Cuda), Standing::Never);
    // Git is not shown it.
    assert_eq!(std::fs::read_to_string(torch.here.path().join(".macml/.gitignore")).unwrap(), "*\n");

    // Another lock: nothing of the old one counts, and wrong numbers are kept too.
    torch.ask_for("2.10.0");
    let run = torch.verify(&[]);
    run.says(3, &["wrong-numbers  torch 2.10.0", ".venv on cpu: wrong-numbers"]);
    let other = torch.record();
    assert_ne!(other.circumstances.lock, now.lock);
    assert_eq!(other.standing(&other.circumstances, Device::Cpu), Standing::NotRight(Word::WrongNumbers));
    assert_eq!(other.standing(&now, Device::Cpu), Standing::OtherLock);
}

#[test]
fn nothing_is_kept_of_an_environment_that_is_not_as_locked() {
    let torch = Torch::new();
    assert_eq!(torch.kept(&[]), Some(true));
    std::fs::remove_file(torch.record_path()).unwrap();
    // Taken as it is, and as locked all the same.
    assert_eq!(torch.kept(&["--no-sync"]), Some(true));
    std::fs::remove_file(torch.record_path()).unwrap();
    // The lock has moved on.
    torch.ask_for("2.11.0");
    torch.here.run(&["lock"]).says(0, &[]);
    let run = torch.verify(&["--no-sync"]);
    let note = "note: nothing was kept of this, since `.venv` is not what macml.lock says";
    run.says(0, &["ok  torch 2.12.0", note, ".venv on cpu: ok"]);
    assert_eq!(torch.kept(&["--no-sync"]), Some(false));
    torch.ask_for("2.12.0");
    torch.here.run(&["lock"]).says(0, &[]);
    // Something was put into it by hand.
    std::fs::create_dir(torch.here.site().join("numpy-1.0.dist-info")).unwrap();
    assert_eq!(torch.kept(&["--no-sync"]), Some(false));
    assert!(!torch.record_path().exists());
    // Nothing is of a project that is verified as a prefix.
    let run = torch.here.run(&["verify", "--device", "cpu", "--prefix", ".venv", "--output-format", "json"]);
    assert_eq!(run.json_as("verify.schema.json").get("kept"), None);
    assert!(!torch.record_path().exists());
}

/// That says nothing of the environment.
#[test]
fn a_probe_that_was_not_run_takes_no_verdict_s_place() {
    let torch = Torch::new();
    assert_eq!(torch.kept(&[]), Some(true));
    let before = std::fs::read(torch.record_path()).unwrap();
    let run = torch.verify(&["--native"]);
    run.says(2, &["not-run  torch 2.12.0 natively on cpu", ".venv on cpu: not-run"]);
    assert_eq!(std::fs::read(torch.record_path()).unwrap(), before);
}

#[test]
fn what_macml_toml_names_and_is_not_installed_is_told() {
    let torch = Torch::new();
    torch.verify(&[]).never_says(&["not installed here"]);
    let text = std::fs::read_to_string(torch.here.path().join("macml.toml")).unwrap();
    torch.here.project.write("macml.toml", &format!("{text}mlx = \"*\"\n"));
    let run = torch.verify(&["--no-sync"]);
    run.says(0, &["warning: [frameworks] of macml.toml names `mlx`, which is not installed here"]);
    let json = torch.verify(&["--no-sync", "--output-format", "json"]).json_as("verify.schema.json");
    assert_eq!(json["missing"], serde_json::json!(["mlx"]));
}

#[test]
fn what_stands_in_the_way_of_the_environment_is_an_error() {
    let torch = Torch::new();
    torch.verify(&["--no-sync"]).says(2, &["there is no environment at `.venv`", "`macml sync` makes it"]);
    torch.verify(&["--locked"]).says(1, &["there is no `macml.lock`"]);
    let json = torch.verify(&["--frozen", "--output-format", "json"]).json_as("verify.schema.json");
    assert_eq!(
        (&json["verdict"], &json["exit-code"], &json["error"]["kind"]),
        (&"error".into(), &1.into(), &"stale".into())
    );
    torch.verify(&["--prefix", "x", "--no-sync"]).says(2, &["cannot be used with"]);
    torch.verify(&["--timeout", "0"]).says(2, &["0 is not in 1..=86400"]);
}
