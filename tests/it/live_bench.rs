//! `macml bench` with real frameworks on this machine's processor (when `MACML_LIVE` is set): measured twice, the second time
//! with products that were made to take twice as long.

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

/// Measures a framework twice, and a third time with its product computed twice; `module` is what has the function.
fn slower_is_found(framework: &str, interpreter: &Path, module: &str, function: &str) {
    let made = project(interpreter);
    let bench = |words: &[&str]| {
        let path = std::env::var("PATH").unwrap();
        let vars = [("MACML_NO_SYNC", "1"), ("PATH", path.as_str())];
        made.project.run_with(&vars, &[&["bench", "--device", "cpu"], words].concat())
    };
    let first = bench(&[]);
    eprintln!("{}{}", first.stderr, first.stdout);
    first.says(0, &["product ", "convolution ", "kept in .macml/bench/default.jsonl"]);
    // All of it is computed by `function`, now twice, as by a release with a worse kernel.
    let slow = format!(
        "import {module} as module\nright = module.{function}\n\
         def twice(*all, **more):\n    first = right(*all, **more)\n    {}\n    return right(*all, **more)\n\
         module.{function} = twice\n",
        if framework == "mlx" { "module.eval(first)" } else { "del first" }
    );
    made.module("worse_kernel.py", &slow);
    made.module("worse_kernel.pth", "import worse_kernel\n");
    let second = bench(&["--compare", "--output-format", "json"]);
    let report = second.json_as("bench.schema.json");
    eprintln!("{}{:#}", second.stderr, report["comparison"]);
    assert_eq!((second.code, &report["verdict"]), (1, &"slower".into()));
    let times = report["comparison"]["times"].as_array().unwrap();
    let product = |row: &&serde_json::Value| row["work"] == "product" && row["framework"] == framework;
    let products: Vec<_> = times.iter().filter(product).collect();
    assert!(!products.is_empty() && products.iter().all(|row| row["trend"] == "slower"), "{products:#?}");
    // The third is as slow as the second, and shows the text.
    let third = bench(&["--compare", "2"]);
    eprintln!("{}{}", third.stderr, third.stdout);
    third.says(1, &["slower than before", &format!("{framework} product")]);
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
