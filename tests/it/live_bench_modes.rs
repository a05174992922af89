//! Batch sizes and data-loader workers with real frameworks on this machine's processor (when `MACML_LIVE` is set).

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use macml::bench::batch_sizes;
use macml::bench::workers;
use macml::verify::Subject;
use macml::verify::Word;
use macml::verify::protocol::Device;
use macml::verify::protocol::Framework;
use macml::verify::protocol::Limits;

use crate::real_answers::live;
use crate::support::real::{environment, full, torch};

/// What a machine is told to have: so little that few sizes are tried.
const MEMORY: u64 = 8 << 30;

/// Long enough for two processors that others use too.
const PATIENT: Limits = Limits { begin: 150, end: 500 };

fn subject(interpreter: &Path) -> Subject {
    Subject {
        name: "live".to_owned(),
        interpreter: interpreter.to_owned(),
        site_packages: PathBuf::new(),
        vars: std::env::vars().collect(),
        installed: BTreeMap::new(),
    }
}

/// Tries sizes until this machine's processor takes too long or trains no faster, and holds what was found to sense.
fn sizes(framework: Framework, interpreter: &Path) {
    let probe = batch_sizes::probe(framework, &subject(interpreter)).unwrap();
    let mut told = Vec::new();
    let answer = batch_sizes::measure(&probe, framework, Device::Cpu, MEMORY, &mut |size| {
        eprintln!("{size:?}");
        told.push(size.clone());
    });
    assert_eq!((answer.failure, &answer.sizes), (None, &told));
    let samples: Vec<u64> = told.iter().map(|size| size.samples).collect();
    assert!(samples.len() >= 3 && samples.windows(2).all(|pair| pair[1] == 2 * pair[0]), "{samples:?}");
    assert!(told.iter().rev().skip(1).all(|size| size.stopped.is_none() && size.rate.is_some_and(|rate| rate > 1.0)));
    assert!(told.last().unwrap().stopped.is_some());
    let advice = batch_sizes::advise(&told).unwrap();
    eprintln!("largest {}, enough {}", advice.largest.samples, advice.enough.samples);
    // A device that is not there.
    let device = if cfg!(target_os = "macos") { Device::Cuda } else { Device::Mps };
    let answer = batch_sizes::measure(&probe, framework, device, MEMORY, &mut |_| panic!("none is tried"));
    assert!(answer.failure.is_some_and(|failure| failure.word <= Word::NoDevice), "{:?}", answer.sizes);
}

#[test]
fn batches_of_torch() {
    if full() {
        sizes(Framework::Torch, &torch());
    }
}

#[test]
fn batches_of_mlx() {
    if live() {
        sizes(Framework::Mlx, &environment("mlx", &["mlx[cpu]"]));
    }
}

#[test]
fn batches_of_tensorflow() {
    if full() {
        sizes(Framework::Tensorflow, &environment("tensorflow", &["tensorflow-cpu"]));
    }
}

#[test]
fn workers_of_torch() {
    if !full() {
        return;
    }
    let subject = subject(&torch());
    let answer = workers::measure(&workers::probe(&subject), MEMORY, PATIENT);
    eprintln!("{answer:#?}");
    assert_eq!(answer.failure, None);
    // The data set reached workers that were spawned; with few processors that others use too the last ways may be left out.
    let way =
        |workers, persistent| answer.ways.iter().find(|way| (way.workers, way.persistent) == (workers, persistent));
    let (alone, anew, living) = (way(0, false).unwrap(), way(2, false).unwrap(), way(2, true).unwrap());
    assert_eq!([alone, anew, living].map(|way| way.seconds.len()), [3, 1, 3]);
    // Who starts workers for each epoch waits for that each time.
    assert!(anew.median().unwrap() > 1.5 * living.median().unwrap(), "{anew:?} {living:?}");
    assert!(living.first > 1.5 * living.median().unwrap(), "{living:?}");
    assert!(answer.ways.len() + answer.missing.len() == 7, "{:?}", answer.missing);
    let advice = workers::advise(&answer.ways).unwrap();
    eprintln!("{advice}");
    assert!(advice.starting.is_some_and(|(_, cost)| cost > 0.2));
    // A data set whose samples cannot be made is told in torch's words, and the rest goes on.
    let mut broken = workers::probe(&subject);
    let text = broken.args[3].to_str().unwrap().to_owned();
    let place = "        picture = flat.reshape(3";
    assert!(text.contains(place));
    let text = text.replacen(place, &format!("        raise ValueError('no picture')\n{place}"), 1);
    broken.args[3] = text.into();
    let answer = workers::measure(&broken, MEMORY, PATIENT);
    assert!(answer.ways.is_empty() && answer.missing.len() == 7, "{answer:#?}");
    assert!(answer.missing[0].contains("no picture"), "{:?}", answer.missing);
    assert_eq!(workers::advise(&answer.ways), None);
}
