//! `macml bench` with real frameworks on this machine's processor (when `MACML_LIVE` is set): measured twice, the second time
//! with products that were made to take four times as long.

use std::os::unix::fs::symlink;
use std::path::Path;

use crate::real_answers::live;
use crate::run::made::Made;
use crate::support::python::python;
use crate::support::real::{environment, full, torch};

/// Makes a project whose environment has the packages of another one.
fn project(interpreter: &Path) -> Made {
    let made = Made::new("");
    let packages = format!("lib/python{}/site-packages", python().1);
    let own = made.generation(1).join(&packages);
    let theirs = interpreter.ancestors().nth(2).unwrap().join(&packages);
    for entry in std::fs::read_dir(theirs).unwrap() {
        let entry = entry.unwrap();
        symlink(entry.path(), own.join(entry.file_name())).unwrap();
    }
    made
}

/// Measures a framework, and two times more with its product computed four times; `module` is what has the function.
///
/// Where others compute meanwhile, the first run may vary so much that nothing can be said to be slower, and macml rightly
/// does not: then all of it is done again.
fn slower_is_found(framework: &str, interpreter: &Path, module: &str, function: &str) {
    const TRIES: usize = 3;
    let found = (0..TRIES).any(|_| slower_is_found_once(framework, interpreter, module, function));
    assert!(found, "{framework}: four times as long was never told as slower");
}

fn slower_is_found_once(framework: &str, interpreter: &Path, module: &str, function: &str) -> bool {
    let made = project(interpreter);
    let bench = |words: &[&str]| {
        let path = std::env::var("PATH").unwrap();
        let vars = [("MACML_NO_SYNC", "1"), ("PATH", path.as_str())];
        made.project.run_with(&vars, &[&["bench", "--device", "cpu"], words].concat())
    };
    let first = bench(&[]);
    eprintln!("{}{}", first.stderr, first.stdout);
    first.says(0, &["product ", "convolution ", "kept in .macml/bench/default.jsonl"]);
    // All of it is computed by `function`, now four times, as by a release with a worse kernel.
    let slow = format!(
        "import {module} as module\nright = module.{function}\n\
         def slow(*all, **more):\n    for _ in range(3):\n        one = right(*all, **more)\n        {}\n    \
         return right(*all, **more)\n\
         module.{function} = slow\n",
        if framework == "mlx" { "module.eval(one)" } else { "del one" }
    );
    made.module("worse_kernel.py", &slow);
    made.module("worse_kernel.pth", "import worse_kernel\n");
    let second = bench(&["--compare", "--output-format", "json"]);
    let report = second.json_as("bench.schema.json");
    eprintln!("{}{:#}", second.stderr, report["comparison"]);
    if second.code == 0 && report["verdict"] == "measured" {
        return false;
    }
    assert_eq!((second.code, &report["verdict"]), (1, &"slower".into()));
    let times = report["comparison"]["times"].as_array().unwrap();
    let product = |row: &&serde_json::Value| row["work"] == "product" && row["framework"] == framework;
    let products: Vec<_> = times.iter().filter(product).collect();
    assert!(products.iter().any(|row| row["trend"] == "slower"), "{products:#?}");
    // The third is as slow as the second, and shows the text.
    let third = bench(&["--compare", "2"]);
    eprintln!("{}{}", third.stderr, third.stdout);
    third.says(1, &["slower than before", &format!("{framework} product")]);
    true
}

#[test]
fn mlx_with_a_worse_kernel() {
    if live() {
        slower_is_found("mlx", &environment("mlx", &["mlx[cpu]"]), "mlx.core", "matmul");
    }
}

#[test]
fn torch_with_a_worse_kernel() {
    if full() {
        slower_is_found("torch", &torch(), "torch", "matmul");
    }
}

#[test]
fn tensorflow_with_a_worse_kernel() {
    if full() {
        slower_is_found("tensorflow", &environment("tensorflow", &["tensorflow-cpu"]), "tensorflow.linalg", "matmul");
    }
}
