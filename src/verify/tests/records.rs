//! What is kept of verdicts, and when it counts.

use super::*;
use crate::lock::model::Lockfile;
use crate::lock::parse::parse;
use crate::pep::Sha256;
use crate::sys::fs;
use crate::verify::{Circumstances, Record, Standing, Verified, Word, judge, lock_digest};

fn here() -> Circumstances {
    Circumstances {
        lock: Some(Sha256::of(b"lock")),
        content: Some("c0ffee".into()),
        system: "macOS 15.6.1".into(),
        chip: "Apple M3 Max".into(),
    }
}

fn verified(framework: Framework, device: Device, word: Word, when: u64) -> Verified {
    let mut verdict = judge(&heard(&good(), "", Ended::Code(0)));
    (verdict.framework, verdict.device, verdict.word) = (framework, device, word);
    Verified { when, verdict }
}

#[test]
fn a_record_is_read_back_and_replaced() {
    let project = tempfile::tempdir().unwrap();
    assert_eq!(Record::read(project.path(), "default").unwrap(), None);
    let first = Record::add(None, "default", here(), vec![verified(Framework::Torch, Device::Mps, Word::Nan, 10)]);
    first.write(project.path()).unwrap();
    assert_eq!(Record::read(project.path(), "default").unwrap(), Some(first.clone()));
    assert_eq!(Record::read(project.path(), "tf").unwrap(), None);
    assert_eq!(fs::read_text(&project.path().join(".macml/.gitignore")).unwrap().as_deref(), Some("*\n"));
    let again = vec![
        verified(Framework::Torch, Device::Mps, Word::Ok, 20),
        verified(Framework::Mlx, Device::Mps, Word::Ok, 30),
        verified(Framework::Torch, Device::Cpu, Word::Ok, 5),
    ];
    let second = Record::add(Some(first), "default", here(), again);
    second.write(project.path()).unwrap();
    let read = Record::read(project.path(), "default").unwrap().unwrap();
    assert_eq!(read, second);
    assert_eq!(read.verified.len(), 3);
    assert_eq!(read.standing(&here(), Device::Mps), Standing::Verified { since: 20 });
    assert_eq!(
        read.verdicts(Device::Mps).map(|verdict| verdict.framework).collect::<Vec<_>>(),
        [Framework::Torch, Framework::Mlx]
    );
}

#[test]
fn a_record_of_something_else_is_none() {
    let project = tempfile::tempdir().unwrap();
    let record = Record::add(None, "default", here(), Vec::new());
    record.write(project.path()).unwrap();
    let path = Record::path(project.path(), "default");
    let text = fs::read_text(&path).unwrap().unwrap();
    for other in [
        text.replace("\"version\": 1", "\"version\": 2"),
        text.replace("\"env\": \"default\"", "\"env\": \"tf\""),
        text[..text.len() / 2].to_owned(),
        "null".to_owned(),
    ] {
        assert_ne!(other, text);
        fs::write_atomic(&path, other.as_bytes(), fs::Durability::Cached).unwrap();
        assert_eq!(Record::read(project.path(), "default").unwrap(), None);
    }
}

#[test]
fn it_counts_for_this_lock_on_this_system_and_chip_alone() {
    let found = vec![verified(Framework::Torch, Device::Mps, Word::Ok, 10)];
    let record = Record::add(None, "default", here(), found);
    let standing = |change: &dyn Fn(&mut Circumstances)| {
        let mut now = here();
        change(&mut now);
        record.standing(&now, Device::Mps)
    };
    assert_eq!(standing(&|_| {}), Standing::Verified { since: 10 });
    assert_eq!(standing(&|now| now.lock = Some(Sha256::of(b"other"))), Standing::OtherLock);
    assert_eq!(standing(&|now| now.lock = None), Standing::OtherLock);
    assert_eq!(standing(&|now| now.content = Some("other".into())), Standing::OtherContent);
    assert_eq!(standing(&|now| now.system = "macOS 26.0".into()), Standing::OtherSystem("macOS 15.6.1".into()));
    assert_eq!(standing(&|now| now.chip = "Apple M1".into()), Standing::OtherChip("Apple M3 Max".into()));
    assert_eq!(record.standing(&here(), Device::Cpu), Standing::Never);
    // And what is found elsewhere leaves nothing of what was found here.
    let mut there = here();
    there.system = "macOS 26.0".into();
    let found = vec![verified(Framework::Mlx, Device::Mps, Word::Ok, 20)];
    let next = Record::add(Some(record), "default", there.clone(), found);
    assert_eq!(next.verified.len(), 1);
    assert_eq!(next.standing(&there, Device::Mps), Standing::Verified { since: 20 });
}

#[test]
fn what_is_not_right_is_not_verified() {
    let found = vec![
        verified(Framework::Torch, Device::Mps, Word::WrongNumbers, 10),
        verified(Framework::Mlx, Device::Mps, Word::Hung, 10),
        verified(Framework::Tensorflow, Device::Mps, Word::Ok, 10),
    ];
    let record = Record::add(None, "default", here(), found);
    assert_eq!(record.standing(&here(), Device::Mps), Standing::NotRight(Word::WrongNumbers));
}

fn lock() -> Lockfile {
    let env = |name: &str, package: &str| {
        format!(
            "[[env]]\nname = \"{name}\"\nplatform = \"macos-arm64\"\nmacos = \"14.0\"\nchip = \"m1\"\n\
             gpu = \"required\"\npython = \"3.13\"\ninputs = \"sha256:{}\"\npackages = [\n  \"{package}\",\n]\n",
            Sha256::of(b"inputs")
        )
    };
    let package = |name: &str, version: &str| {
        format!(
            "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nindex = \"pypi\"\nwheels = [\n  {{ file = \
             \"{name}-{version}-py3-none-any.whl\", size = 3, sha256 = \"{}\" }},\n]\n",
            Sha256::of(name.as_bytes())
        )
    };
    let text = [
        "version = 1\nrevision = 0\nknowledge = \"2026.11.30\"\n".to_owned(),
        env("default", "torch 2.13.0"),
        env("tf", "tensorflow 2.19.1"),
        package("tensorflow", "2.19.1"),
        package("torch", "2.13.0"),
    ];
    parse(&text.join("\n")).unwrap()
}

#[test]
fn a_lock_is_the_same_when_it_installs_the_same() {
    let lock = lock();
    let digest = |lock: &Lockfile| lock_digest(lock, &lock.envs[0]);
    let first = digest(&lock);
    let mut other = lock.clone();
    other.envs[0].inputs = Sha256::of(b"others");
    other.envs[0].rules.push("torch-2.15-mps-needs-macos-15".into());
    other.packages[0].wheels[0].sha256 = Sha256::of(b"another file of another environment");
    assert_eq!(digest(&other), first);
    let mut other = lock.clone();
    other.packages[1].wheels[0].sha256 = Sha256::of(b"another file");
    assert_ne!(digest(&other), first);
    assert_ne!(lock_digest(&lock, &lock.envs[1]), first);
}
