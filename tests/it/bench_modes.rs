//! `macml bench --html`, `--readme`, `--batch-sizes` and `--workers` through the binary, where Python says what real probes
//! said, or what they might.

use crate::bench::{Bench, CUDA};
use crate::support::page::well_formed;

/// What a probe says before it measures.
fn beginning() -> String {
    let wanted = |line: &&str| line.contains("\"event\": \"hello\"") || line.contains("\"event\": \"device\"");
    CUDA.lines().filter(wanted).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_page_that_cannot_be_written_is_refused_before_measuring() {
    let bench = Bench::new();
    let project = &bench.0.project;
    project.write("README.md", "# mine\n");
    project.write("empty.html", "");
    bench.act("cpu", "", "touch \"$HOME/begun\"; exit 3");
    let refused = |file: &str, parts: &[&str]| {
        for words in [&["--device", "cpu", "--html", file][..], &["--list", "--html", file]] {
            bench.run(words).says(2, parts);
        }
    };
    refused("README.md", &["`README.md` is there, and is no page of macml", "hint: name another file"]);
    refused("nope/x.html", &["could not write `nope/x.html`: there is no folder `nope`", "hint: `mkdir -p nope`"]);
    refused("README.md/x.html", &["`README.md` is no folder"]);
    refused(".macml", &["could not write `.macml`: it is a folder"]);
    assert_eq!(std::fs::read_to_string(project.path().join("README.md")).unwrap(), "# mine\n");
    assert!(!project.path().join("begun").exists() && !project.path().join("nope").exists());
    bench.run(&["--list", "--html", "empty.html"]).says(0, &["no run was kept yet"]);
}

#[test]
fn where_nothing_was_measured_nothing_is_compared_or_drawn() {
    let bench = Bench::new();
    bench.run(&["--device", "cuda"]).says(0, &["; kept in"]);
    bench.act("device", "", "exit 3");
    bench.act("cpu", "", "exit 3");
    let words = ["--device", "cuda", "--compare", "1", "--html", "page.html"];
    let run = bench.run(&words);
    let told = format!("{}{}", run.stdout, run.stderr);
    assert!(told.contains("nothing was measured, on ") && told.contains("`page.html` was not written"), "{told}");
    assert!(!told.contains("another machine") && !told.contains("compared with"), "{told}");
    assert!(!bench.0.project.path().join("page.html").exists());
    let (code, report) = bench.json(&words);
    assert_eq!((code, report.get("comparison")), (run.code, None));
    let (_, listed) = bench.json(&["--list"]);
    assert_eq!(listed["runs"][0]["number"], 1);
}

#[test]
fn a_page_and_a_readme_are_written() {
    let bench = Bench::new();
    let project = &bench.0.project;
    project.write("README.md", "# x\n\n<!-- macml bench -->\nold\n<!-- /macml bench -->\nend");
    let words = ["--device", "cuda", "--html", "out/page.html", "--readme", "README.md"];
    std::fs::create_dir(bench.0.project.path().join("out")).unwrap();
    let run = bench.run(&words);
    run.says(0, &["; kept in .macml/bench/default.jsonl\n"]);
    assert!(run.stderr.ends_with("out/page.html written\nREADME.md written\n"), "{}", run.stderr);
    let read = |name: &str| std::fs::read_to_string(project.path().join(name)).unwrap();
    let page = read("out/page.html");
    let text = well_formed(&page);
    for part in ["NVIDIA H200", "torch 2.11.0", "GPU (CUDA) float32", "26.8×", "CPU float16 (512)", "5.42 ms"] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    let readme = read("README.md");
    assert!(readme.starts_with("# x\n\n<!-- macml bench -->\n\n") && readme.ends_with("\n<!-- /macml bench -->\nend"));
    assert!(
        readme.contains("| torch: product of 5,000 × 5,000 matrices | float32 | 145 ms | 5.42 ms | 26.8× |"),
        "{readme}"
    );
    // What was kept is drawn again without measuring, with the same bytes.
    bench.act("device", "", "exit 3");
    project.write("README.md", "<!-- macml bench -->\n<!-- /macml bench -->\n");
    bench.run(&["--list", "--html", "again.html", "--readme", "README.md"]).says(0, &["torch 2.11.0 (5.42 ms cuda"]);
    assert_eq!(read("again.html"), page);
    assert!(read("README.md").contains("26.8×"));
}

#[test]
fn a_readme_without_markers_is_told_before_anything_is_measured() {
    let bench = Bench::new();
    bench.act("device", "", "exit 3");
    let refused = |text: Option<&str>, expected: &[&str]| {
        match text {
            Some(text) => bench.0.project.write("README.md", text),
            None => std::fs::remove_file(bench.0.project.path().join("README.md")).unwrap(),
        }
        let run = bench.run(&["--device", "cuda", "--readme", "README.md"]);
        assert_eq!(run.code, 2, "{}", run.stderr);
        expected.iter().for_each(|part| assert!(run.stderr.contains(part), "`{part}` is not in\n{}", run.stderr));
        assert!(!run.stderr.contains("measuring"), "{}", run.stderr);
        assert_eq!(std::fs::read_to_string(bench.0.project.path().join("README.md")).ok().as_deref(), text);
    };
    let lines = "leave these two lines in `README.md`, each once, where the table belongs: `<!-- macml bench -->` and below \
                 it `<!-- /macml bench -->`";
    refused(Some("# x\n"), &["README.md`: has no line `<!-- macml bench -->`", lines]);
    refused(Some("# x\n<!-- /macml bench -->\n<!-- macml bench -->\n"), &["README.md`:2: ", lines]);
    refused(None, &["there is no `", "make it, with the two lines"]);
    // There is nothing to write about either.
    bench.0.project.write("README.md", "<!-- macml bench -->\n<!-- /macml bench -->\n");
    bench.run(&["--list", "--readme", "README.md"]).says(2, &["there are no times for `README.md`"]);
}

#[test]
fn batches_are_tried_until_memory_would_be_scarce() {
    let bench = Bench::new();
    // A GPU with 8 GiB, of which 5 are free; a sample takes 10 MiB, and a hundredth of a millisecond.
    let says = "batch=${request##*'\"batch\":'}; batch=${batch%%,*}; bytes=$((batch * 10485760))\n\
        echo 'macml-probe: {\"event\":\"at\",\"id\":\"batch\"}'\n\
        free='\"device-free\":5368709120,\"device-total\":8589934592'\n\
        printf 'macml-probe: {\"event\":\"batch\",\"samples\":%d,\"seconds\":[0.%05d,0.%05d],\"device-bytes\":%d,\
        \"before\":{%s},\"during\":[{%s}]}\\n' $batch $batch $batch $bytes \"$free\" \"$free\"\n\
        echo 'macml-probe: {\"event\":\"done\",\"seconds\":1.0}'";
    bench.act("device", &beginning(), says);
    let run = bench.run(&["--device", "cuda", "--batch-sizes", "--html", "page.html"]);
    run.says(0, &["; kept in .macml/bench/default.jsonl\n"]);
    insta::assert_snapshot!(run.stdout.split("\n\n").next().unwrap(), @r"
    torch 2.11.0 on cuda: batches of a small convolutional network
      batch               rate  device memory  pressure
         16  100,000 samples/s        160 MiB       38%
         32  100,000 samples/s        320 MiB       38%
         64  100,000 samples/s        640 MiB       38%
        128  100,000 samples/s       1.25 GiB       38%
        256  100,000 samples/s       2.50 GiB       38%
      no larger one: the next would take about 5 GiB, and 1 GiB of 5 GiB must stay free
      largest that went well: 256; 16 is as fast
    ");
    assert!(run.stderr.contains("torch 2.11.0 on cuda: 16 at once, 100,000 samples/s\n"), "{}", run.stderr);
    let text = well_formed(&std::fs::read_to_string(bench.0.project.path().join("page.html")).unwrap());
    assert!(text.contains("the next would take about 5 GiB"), "{text}");
    let (code, report) = bench.json(&["--device", "cuda", "--batch-sizes", "--no-save"]);
    let sizes = report["runs"][0]["batch-sizes"].as_array().unwrap();
    assert_eq!((code, sizes.len(), &sizes[4]["samples"]), (0, 5, &256.into()));
    assert!(sizes[4]["stopped"].as_str().unwrap().contains("must stay free"));
    // No run with times was kept, and none is drawn or compared with.
    bench.run(&["--list"]).says(0, &["batch sizes\n"]);
    bench.act("device", CUDA, "");
    bench.run(&["--device", "cuda", "--compare"]).says(0, &["note: no earlier run on this machine and device"]);
    // No GPU, and a probe that answers something else than it was asked.
    bench.act("device", &beginning().replace("\"available\": true", "\"available\": false"), "");
    assert_eq!(bench.run(&["--device", "cuda", "--batch-sizes"]).code, 2);
    bench.act("device", &beginning(), &says.replace("batch=${batch%%,*}", "batch=7"));
    assert_eq!(bench.run(&["--device", "cuda", "--batch-sizes"]).code, 1);
}

#[test]
fn workers_are_told_with_the_fastest() {
    let bench = Bench::new();
    let way = |count: u32, persistent: bool, first: f64, later: f64| {
        let seconds = if persistent || count == 0 { vec![later; 3] } else { vec![later] };
        format!(
            "macml-probe: {{\"event\":\"workers\",\"workers\":{count},\"persistent\":{persistent},\"first\":{first},\
             \"seconds\":{seconds:?}}}\n"
        )
    };
    // As two processors measured it.
    let ways =
        [way(0, false, 0.583, 0.589), way(2, true, 2.61, 0.385), way(2, false, 2.6, 3.16), way(4, true, 4.39, 0.341)];
    let skipped = "macml-probe: {\"event\":\"skipped\",\"id\":\"workers-8-persistent\",\"why\":\"time\"}\n";
    let done = "macml-probe: {\"event\":\"done\",\"seconds\":44.0}\n";
    bench.act("cpu", &(beginning() + &ways.concat() + skipped + done), "");
    let run = bench.run(&["--workers"]);
    run.says(0, &["; kept in"]);
    insta::assert_snapshot!(run.stdout.split("\n\n").next().unwrap(), @r"
    torch 2.11.0: loading data, each worker a new process
      workers                 first epoch  later epochs
      no workers                   583 ms        589 ms
      2 workers                    2.60 s        3.16 s
      2 persistent workers         2.61 s        385 ms
      4 persistent workers         4.39 s        341 ms
      fastest: 4 persistent workers, 341 ms an epoch after 589 ms without workers
      starting 2 workers costs 2.78 s in each epoch unless `persistent_workers=True`
    ");
    assert!(run.stderr.contains("note: 8 persistent workers: not begun, because 40 s were over"), "{}", run.stderr);
    let (code, report) = bench.json(&["--workers", "--no-save"]);
    assert_eq!((code, report["runs"][0]["workers"].as_array().unwrap().len()), (0, 4));
    assert_eq!(report["runs"][0]["workers"][1]["median"], 3.16);
    bench.run(&["--workers", "--compare"]).says(2, &["cannot be used with"]);
}
