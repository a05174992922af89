//! `macml bench` through the binary, in environments whose Python says what a real probe once said, or breaks.

use macml::bench::History;
use macml::bench::Which;
use macml::verify::protocol::PREFIX;
use serde_json::Value;

use crate::run::made::Made;
use crate::support::program::program;
use crate::support::project::Run;

pub(crate) const CUDA: &str = include_str!("../measured/torch-2.11.0-h200-cuda.txt");
const CPU: &str = include_str!("../measured/torch-2.11.0-h200-cpu.txt");

/// A project whose Python acts as `device.sh` says where it is asked about a GPU, and as `cpu.sh` says about the CPU.
pub(crate) struct Bench(pub(crate) Made);

impl Bench {
    pub(crate) fn new() -> Self {
        let made = Made::new("");
        let python = made.generation(1).join("bin/python");
        // It is a link to the real one.
        std::fs::remove_file(&python).unwrap();
        let script = "#!/bin/sh\nfor request; do :; done\ncase \"$request\" in\n\
                      *'\"device\":\"cpu\"'*) . \"$HOME/cpu.sh\" ;;\n*) . \"$HOME/device.sh\" ;;\nesac\n";
        program(&python, script);
        made.module("torch-2.11.0.dist-info/METADATA", "");
        made.module("numpy-2.5.2.dist-info/METADATA", "");
        let bench = Self(made);
        bench.act("device", CUDA, "");
        bench.act("cpu", CPU, "");
        bench
    }

    /// Makes the Python print something and then do something.
    pub(crate) fn act(&self, on: &str, prints: &str, does: &str) {
        self.0.project.write(&format!("{on}.txt"), prints);
        self.0.project.write(&format!("{on}.sh"), &format!("cat \"$HOME/{on}.txt\"\n{does}\n"));
    }

    pub(crate) fn run(&self, words: &[&str]) -> Run {
        self.0.project.run_with(&[("MACML_NO_SYNC", "1")], &[&["bench"], words].concat())
    }

    pub(crate) fn json(&self, words: &[&str]) -> (i32, Value) {
        let run = self.run(&[words, &["--output-format", "json"]].concat());
        (run.code, run.json_as("bench.schema.json"))
    }

    pub(crate) fn history(&self) -> History {
        History::read(self.0.project.path(), "default").unwrap()
    }
}

/// Changes all that was measured in what a probe printed.
fn changed(printed: &str, change: impl Fn(&mut Value)) -> String {
    let line = |line: &str| {
        let Some(text) = line.strip_prefix(PREFIX) else { return line.to_owned() };
        let mut event: Value = serde_json::from_str(text).unwrap();
        if event["event"] == "measured" {
            change(&mut event);
        }
        format!("{PREFIX}{event}")
    };
    printed.lines().map(|one| line(one) + "\n").collect()
}

/// Makes every time so many times as long.
fn slowed(printed: &str, factor: f64) -> String {
    changed(printed, |event| {
        let seconds = event["seconds"].as_array_mut().unwrap();
        seconds.iter_mut().for_each(|one| *one = (one.as_f64().unwrap() * factor).into());
    })
}

#[test]
fn what_was_measured_is_shown_and_kept() {
    let bench = Bench::new();
    let run = bench.run(&["--device", "cuda"]);
    assert_eq!(run.stderr, "measuring torch 2.11.0 on cuda\nmeasuring torch 2.11.0 on cpu\n");
    run.says(0, &["; kept in .macml/bench/default.jsonl\n"]);
    let table = run.stdout.split("\n\n").next().unwrap();
    insta::assert_snapshot!(table, @r"
    torch 2.11.0 on cuda (NVIDIA H200) and cpu (Intel(R) Xeon(R) Processor)
      work                     type                   cpu          cuda  speedup  transfer  warm-up   memory
      product 5000×5000        float32        145 ms ±30%   5.42 ms ±5%    26.8×   78.5 ms  66.7 ms  480 MiB
      product 5000×5000        float16        259 ms ±29%   365 µs ±24%     710×   39.2 ms  81.2 ms  240 MiB
      convolution 4096 images  float32        295 ms ±20%  43.7 ms ±15%    6.75×   1.71 ms   648 ms  164 MiB
      convolution 4096 images  float16  2.49 s ±2% at 512  43.3 ms ±18%    ~461×    621 µs   138 ms  132 MiB
    ");
    crate::readme::both_show(table);
    let history = bench.history();
    assert_eq!((history.runs.len(), history.runs[0].measurements.len()), (1, 8));
    assert_eq!(history.runs[0].packages["python"], "3.12.3");
    assert_eq!(history.runs[0].circumstances.content.as_deref(), Some("0123456789abcdef".repeat(4).as_str()));
    assert_eq!(std::fs::read_to_string(bench.0.project.path().join(".macml/.gitignore")).unwrap(), "*\n");
    // A product of this size is 250 billion additions and multiplications, of which this GPU does 67 trillion in a second:
    // less time would be a clock that was stopped before the result was there.
    let product = &history.runs[0].measurements[0];
    assert!(product.seconds.iter().all(|one| *one > 250e9 / 67e12), "{product:?}");
}

#[test]
fn the_report_is_as_its_schema_says() {
    let bench = Bench::new();
    let (code, report) = bench.json(&["--device", "cuda", "--no-save"]);
    assert_eq!((code, &report["verdict"], &report["kept"]), (0, &"measured".into(), &Value::Null));
    let first = &report["runs"][0]["measurements"][0];
    assert_eq!((&first["device"], &first["device-name"]), (&"cuda".into(), &"NVIDIA H200".into()));
    let speedup = first["speedup"].as_f64().unwrap();
    assert!((26.0..28.0).contains(&speedup), "{speedup}");
    assert_eq!(bench.history(), History::default());
    let (code, report) = bench.json(&["--list"]);
    assert_eq!((code, &report["verdict"], report["runs"].as_array().unwrap().len()), (0, &"listed".into(), 0));
}

#[test]
fn a_run_is_compared_with_the_last_on_the_same_machine() {
    let bench = Bench::new();
    let device = ["--device", "cuda", "--compare"];
    bench.run(&device).says(0, &["note: no earlier run on this machine and device was kept", "; kept in"]);
    bench.run(&device).says(0, &["unchanged between them", "nothing is slower than before"]);
    // A tenth is noise; and a package is another.
    bench.act("device", &slowed(CUDA, 1.3), "");
    bench.act("cpu", &slowed(CPU, 0.5), "");
    let old = bench.0.generation(1).join(format!("lib/python{}/site-packages", crate::support::python::python().1));
    std::fs::rename(old.join("numpy-2.5.2.dist-info"), old.join("numpy-2.6.0.dist-info")).unwrap();
    let (code, report) = bench.json(&device);
    assert_eq!((code, &report["verdict"]), (1, &"slower".into()));
    let times = report["comparison"]["times"].as_array().unwrap();
    let trends: Vec<String> = times
        .iter()
        .map(|row| ["device", "work", "type", "trend"].map(|key| row[key].as_str().unwrap()).join(" "))
        .collect();
    let expected = [
        "cuda product float32 slower",
        "cuda product float16 slower",
        // Their times lie too far apart for so little.
        "cuda convolution float32 same",
        "cuda convolution float16 same",
        "cpu product float32 faster",
        "cpu product float16 faster",
        "cpu convolution float32 faster",
        "cpu convolution float16 faster",
    ];
    assert_eq!(trends, expected);
    let changes = report["comparison"]["changes"].as_array().unwrap();
    assert_eq!(changes, &[serde_json::json!({ "what": "numpy", "before": "2.5.2", "now": "2.6.0" })]);
    // The one before is as slow; the first is named by its number.
    bench.run(&device).says(0, &["nothing is slower than before"]);
    bench.run(&["--device", "cuda", "--compare", "4"]).says(1, &["2 of 8 slower than before", "numpy 2.5.2 -> 2.6.0"]);
    bench.run(&["--device", "cuda", "--compare", "9"]).says(2, &["error: no such run", "hint: `macml bench --list`"]);
    bench.run(&["--device", "cuda", "--compare", "soon"]).says(2, &["error: `soon` is no run"]);
    let run = bench.run(&["--list"]);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!((run.code, lines.len()), (0, 5));
    assert!(lines[0].starts_with("1  ") && lines[4].starts_with("5  "), "{}", run.stdout);
    assert!(lines[4].ends_with("torch 2.11.0 (5.42 ms cuda, 145 ms cpu)"), "{}", run.stdout);
}

#[test]
fn another_machine_is_no_measure() {
    let bench = Bench::new();
    let device = ["--device", "cuda", "--compare"];
    bench.act("cpu", &CPU.replace("Xeon", "Other"), "");
    bench.run(&["--device", "cuda"]).says(0, &["kept in"]);
    bench.act("cpu", CPU, "");
    bench.act("device", &slowed(CUDA, 3.0), "");
    bench.run(&device).says(0, &["no earlier run on this machine", "measured in"]);
    let named = ["--device", "cuda", "--compare", "2"];
    bench.run(&named).says(0, &["warning: that was another machine", "processor Intel(R) Other(R) Processor ->"]);
}

#[test]
fn what_breaks_is_told_and_the_rest_is_measured() {
    let bench = Bench::new();
    let half: String = CUDA.lines().take(8).map(|line| format!("{line}\n")).collect();
    bench.act("device", &half, "echo 'x.mm:78: failed assertion' >&2\nkill -6 $$");
    let crashed = "error: torch on cuda: the probe was ended by signal 6 (abort) in the middle of `product` in float16: \
                   x.mm:78: failed assertion\n";
    bench.run(&["--device", "cuda"]).says(1, &[crashed, "product 5000×5000", "kept in"]);
    let (code, report) = bench.json(&["--device", "cuda", "--compare"]);
    assert_eq!((code, &report["verdict"]), (1, &"failed".into()));
    assert_eq!(report["runs"][0]["failures"][0]["word"], "crashed");
    // Out of memory is one measurement that failed.
    let full = changed(CUDA, |event| {
        if event["type"] == "float32" && event["work"] == "product" {
            *event = serde_json::json!({ "event": "measured", "work": "product", "size": 5000, "type": "float32",
                "error": "RuntimeError: MPS backend out of memory\n(MPS allocated: 5.38 GB)" });
        }
    });
    bench.act("device", &full, "");
    let error =
        "error: torch on cuda, product in float32: RuntimeError: MPS backend out of memory (MPS allocated: 5.38 GB)\n";
    let run = bench.run(&["--device", "cuda", "--compare", "2"]);
    run.says(1, &[error, "torch product float32 on cuda: not measured this time", "product float32 on cuda: failed"]);
    bench.act("device", "macml-probe: {\"event\":\n", "");
    bench.run(&["--device", "cuda"]).says(1, &["error: torch on cuda: the probe said nothing that can be read"]);
    bench.act("device", &CUDA.replace("\"work\": \"product\"", "\"work\": \"dance\""), "");
    bench.run(&["--device", "cuda"]).says(1, &["error: torch on cuda: the probe said something that is no answer"]);
}

#[test]
fn without_a_gpu_nothing_is_measured() {
    let bench = Bench::new();
    let head: String = CUDA.lines().take(4).map(|line| format!("{line}\n")).collect();
    let absent = format!("{head}{PREFIX}{{\"event\":\"device\",\"built\":true,\"available\":false}}\n");
    let done = format!("{PREFIX}{{\"event\":\"done\",\"seconds\":1.0}}\n");
    bench.act("device", &(absent + &done), "");
    bench.act("cpu", CPU, "echo 'it was asked' >&2; exit 9");
    let run = bench.run(&["--device", "mps"]);
    run.says(2, &["error: torch on mps: torch finds no mps device", "hint: `macml bench --device cpu` measures"]);
    run.says(2, &["nothing was measured, on "]);
    run.never_says(&["on cpu"]);
    assert_eq!(bench.history(), History::default());
    let (code, report) = bench.json(&["--device", "mps"]);
    assert_eq!((code, &report["verdict"]), (2, &"unknown".into()));
    bench.act("cpu", CPU, "");
    bench.run(&["--device", "cpu"]).says(0, &["torch 2.11.0 on cpu (Intel(R) Xeon(R) Processor)", "145 ms ±30%"]);
}

#[test]
fn a_busy_machine_is_told() {
    let bench = Bench::new();
    bench.act("cpu", &format!("{CPU}{PREFIX}{{\"event\":\"load\",\"load\":7.84}}\n"), "");
    let warned =
        "warning: other programs computed when this began (load 7.8 for each processor): times may be too long\n";
    bench.run(&["--device", "cpu"]).says(0, &[warned]);
    assert_eq!(bench.history().runs[0].load, Some(7.84));
    bench.act("cpu", CPU, "");
    let run = bench.run(&["--device", "cpu", "--compare"]);
    run.says(0, &["  warning: other programs computed during that one\n"]);
    run.never_says(&["times may be too long"]);
}

#[test]
fn what_was_left_out_says_why() {
    let bench = Bench::new();
    let left_out = changed(CPU, |event| {
        if event["type"] == "float16" && event["work"] == "convolution" {
            *event = serde_json::json!({ "event": "measured", "work": "convolution", "size": 4096, "type": "float16",
                "left-out": "even a size of 128 would take about 10 s each time" });
        }
    });
    bench.act("cpu", &left_out, "");
    bench.run(&["--device", "cpu"]).says(0, &["convolution float16 on cpu: left out: even a size of 128 would take"]);
}

#[test]
fn lines_that_are_no_runs_are_told() {
    let bench = Bench::new();
    bench.run(&["--device", "cpu"]).says(0, &["kept in"]);
    let path = History::path(bench.0.project.path(), "default");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text}{{\"version\":9}}\n{}", &text[..text.len() / 2])).unwrap();
    let run = bench.run(&["--device", "cpu", "--compare"]);
    run.says(0, &["line 2 of `.macml/bench/default.jsonl` was written by another macml (form 9), and does not count"]);
    run.says(0, &["line 3 of `.macml/bench/default.jsonl` is no whole run, and does not count"]);
    let history = bench.history();
    assert_eq!((history.runs.len(), history.unread.len()), (2, 2));
    assert!(history.find(&Which::Number(2), &history.runs[1]).is_some());
}

#[test]
fn an_environment_of_somebody_else_is_measured_and_not_kept() {
    let bench = Bench::new();
    let prefix = bench.0.generation(1).display().to_string();
    let run = bench.run(&["--device", "cpu", "--prefix", &prefix]);
    run.says(0, &["product 5000×5000", "; not kept"]);
    assert_eq!(bench.history(), History::default());
    bench.run(&["--device", "cpu", "--prefix", "nowhere"]).says(2, &["there is no `nowhere`"]);
    bench.run(&["--prefix", &prefix, "--compare"]).says(2, &["cannot be used with"]);
}

#[test]
fn an_environment_without_frameworks_is_told_so() {
    let bench = Bench::new();
    let site = bench.0.generation(1).join(format!("lib/python{}/site-packages", crate::support::python::python().1));
    std::fs::remove_dir_all(site.join("torch-2.11.0.dist-info")).unwrap();
    let told =
        ["error: nothing in `default` can be measured", "hint: `macml bench` measures torch, tensorflow and mlx"];
    bench.run(&["--device", "cpu"]).says(2, &told);
}

#[test]
fn what_was_measured_is_shown_even_where_it_cannot_be_kept() {
    let bench = Bench::new();
    let project = bench.0.project.path().to_owned();
    std::fs::create_dir_all(project.join(".macml/bench/.lock")).unwrap();
    let words = ["--device", "cpu"];
    bench.run(&words).says(0, &["product 5000×5000", "warning: this run was not kept: could not lock", "; not kept"]);
    let (code, report) = bench.json(&words);
    assert_eq!((code, &report["verdict"], &report["kept"]), (0, &"measured".into(), &Value::Null));
    std::fs::remove_dir(project.join(".macml/bench/.lock")).unwrap();
    // Nor is what a link leads to written over.
    std::fs::write(project.join("precious"), "mine\n").unwrap();
    std::os::unix::fs::symlink("../../precious", project.join(".macml/bench/default.jsonl")).unwrap();
    bench.run(&words).says(0, &["product 5000×5000", "this run was not kept: could not write", "it is a link"]);
    assert_eq!(std::fs::read_to_string(project.join("precious")).unwrap(), "mine\n");
    std::fs::remove_file(project.join(".macml/bench/default.jsonl")).unwrap();
    // A folder comes into its place meanwhile.
    bench.act("cpu", CPU, "mkdir \"$HOME/page.html\"");
    let page = [&words[..], &["--html", "page.html"]].concat();
    bench.run(&page).says(2, &["product 5000×5000", "; kept in", "error: could not write"]);
    std::fs::remove_dir(project.join("page.html")).unwrap();
    let (code, report) = bench.json(&page);
    assert_eq!((code, &report["verdict"], report["runs"].as_array().unwrap().len()), (2, &"error".into(), 1));
}
