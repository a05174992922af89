//! Real frameworks through the verb, on this machine's processor (when `MACML_LIVE` is set); torch too where it is
//! downloaded anyway. Natively torch is asked in `live_native`, TensorFlow and MLX as a project has them in `sync`.

use std::collections::BTreeSet;

use super::verified;
use crate::real_answers::live;
use crate::support::real::{environment, folder, full, torch};

#[test]
fn coremltools_converts_through_the_verb() {
    if live() {
        environment("coremltools", &["coremltools"]);
        let verdicts = verified(&folder().join("coremltools"), &[]);
        assert_eq!((verdicts.len(), &verdicts[0]["framework"]), (1, &"coremltools".into()));
    }
}

#[test]
fn torch_computes_through_the_verb() {
    if full() {
        torch();
        let verdicts = verified(&folder().join("torch"), &["--python"]);
        assert_eq!((verdicts.len(), &verdicts[0]["framework"]), (1, &"torch".into()));
        assert!(verdicts[0]["compared"].as_u64().unwrap() > 100, "{verdicts:#?}");
    }
}

/// All that macml knows how to try is supported by a processor; and names from a file, of each kind one.
#[test]
fn torch_tries_its_operators_through_the_verb() {
    if !full() {
        return;
    }
    torch();
    let prefix = folder().join("torch");
    let counted = |words: &[&str]| {
        let verdicts = verified(&prefix, words);
        let operators = verdicts[0]["operators"].as_array().unwrap().clone();
        assert!(operators.iter().all(|one| one["outcome"] == "supported"), "{operators:#?}");
        let names: BTreeSet<String> = operators.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect();
        eprintln!("{} passes of {} operators", operators.len(), names.len());
        names
    };
    let all = counted(&["--ops"]);
    assert!(all.len() > 400, "{}", all.len());
    let file = folder().join("operators.txt");
    std::fs::write(&file, "# of each kind\nLSTM, grid_sample[2d,bilinear,zeros]\n'aten::addmm' is slow\n").unwrap();
    let some = counted(&["--ops", file.to_str().unwrap(), "torch.linalg.inv,autograd_function"]);
    let named = ["torch.nn.LSTM", "grid_sample[2d,bilinear,zeros]", "aten::addmm", "linalg_inv", "autograd_function"];
    let there = |name: &&str| some.contains(*name) || some.contains(name.trim_start_matches("aten::"));
    assert!(named.iter().all(there), "{some:?}");
    // By its whole name a case is that one alone, else those that have all its words.
    assert_eq!(counted(&["--ops", "interpolate[bilinear]"]).len(), 1);
    assert!(counted(&["--ops", "interpolate"]).len() > 10);
}
