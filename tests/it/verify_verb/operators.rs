//! `--ops`: which operators are asked about, what is told of them, and that one which breaks its process hides no other.

use macml::verify::protocol::{At, Done, ElementType, Event, Operator, Planned};

use super::{Prefix, good, host, lines, recorded};

/// The operators that a probe tells of in these tests, with how they are spelled.
const PLANNED: [&str; 4] = ["linalg_qr[reduced]", "pad[reflect,2d]", "ctc_loss[mean]", "relu"];

/// What stands before operators in each answer.
fn begun(planned: &[&str]) -> Vec<Event> {
    let mut events = good();
    events.retain(|event| matches!(event, Event::Hello(_) | Event::Device(_)));
    events.push(Event::Planned(Planned { operators: planned.iter().map(|&name| name.to_owned()).collect() }));
    events
}

/// An operator that was computed, named by this word or by nobody, and changed so.
fn tried(name: &str, asked: Option<&str>, change: impl FnOnce(&mut Operator)) -> [Event; 2] {
    let mut operator = Operator {
        name: name.to_owned(),
        asked: asked.map(str::to_owned),
        element: Some(ElementType::Float32),
        shapes: vec![vec![2, 6, 4]],
        elements: 48,
        max_abs: Some(1e-7),
        max_rel: Some(1e-7),
        ..Operator::default()
    };
    change(&mut operator);
    [at(name), Event::Operator(operator)]
}

fn at(id: &str) -> Event {
    Event::At(At { id: id.to_owned(), element: None, round: 0 })
}

fn done() -> Event {
    Event::Done(Done { seconds: 1.0, device_bytes: None })
}

/// Returns what the last probe was asked.
fn request(prefix: &Prefix) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(prefix.path().join("env/bin/request")).unwrap()).unwrap()
}

/// An environment whose Python answers what is there, and keeps its request.
fn answering(distributions: &[&str], events: &[Event]) -> Prefix {
    let script = "for last; do :; done\nprintf %s \"$last\" > \"${0%/*}/request\"\n/bin/cat \"${0%/*}/answer\"";
    let prefix = Prefix::new(distributions, script);
    std::fs::write(prefix.path().join("env/bin/answer"), lines(events)).unwrap();
    prefix
}

/// Answers of which each is given once, in order, with what is done then.
fn one_after_another(answers: &[(Vec<Event>, &str)]) -> Prefix {
    let script = "cd \"${0%/*}\"\nn=$(cat count 2>/dev/null || echo 0)\necho $((n + 1)) > count\nfor last; do :; done\n\
                  printf %s \"$last\" > request$n\ncat answer$n\n. ./then$n";
    let prefix = Prefix::new(&["torch-2.13.0"], script);
    for (number, (events, then)) in answers.iter().enumerate() {
        std::fs::write(prefix.path().join(format!("env/bin/answer{number}")), lines(events)).unwrap();
        std::fs::write(prefix.path().join(format!("env/bin/then{number}")), format!("{then}\n")).unwrap();
    }
    prefix
}

fn asked_of(prefix: &Prefix, number: usize) -> Vec<String> {
    let text = std::fs::read_to_string(prefix.path().join(format!("env/bin/request{number}"))).unwrap();
    let request: serde_json::Value = serde_json::from_str(&text).unwrap();
    let names = request["operators"].as_array().cloned().unwrap_or_default();
    names.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

#[test]
fn all_or_those_that_are_named_and_nothing_else_is_asked() {
    let mut events = begun(&PLANNED);
    events.extend(PLANNED.iter().flat_map(|name| tried(name, None, |_| {})));
    events.push(done());
    let prefix = answering(&["torch-2.13.0", "mlx-0.32.4"], &events);
    let run = prefix.verify(&["--device", "cpu", "--ops"]);
    run.says(0, &["note: operators: 4 supported", "env on cpu: ok"]);
    run.never_says(&["mlx", "supported:"]);
    prefix
        .verify(&["--device", "cpu", "--ops", "-v"])
        .says(0, &["  supported:\n    `linalg_qr[reduced]`: error 1.0e-7\n"]);
    let asked = request(&prefix);
    assert_eq!(
        (asked["questions"].to_string(), &asked["operators"]),
        ("[\"operators\"]".into(), &serde_json::Value::Null)
    );
    let json = prefix.json(&["--device", "cpu", "--ops"]);
    assert_eq!(json["verdicts"][0]["operators"].as_array().unwrap().len(), 4, "{json:#}");

    let text = "# what my program needs\nlinalg_qr, pad[reflect,2d]  # two\nLSTM\n\
                x.py:1: UserWarning: The operator 'aten::_ctc_loss' is not currently supported\nand so on, and on\n";
    std::fs::write(prefix.path().join("names.txt"), text).unwrap();
    let words = ["--device", "cpu", "--ops", "relu,grid_sample[2d,zeros]", "names.txt", "--ops", "linalg_qr"];
    let run = prefix.verify(&words);
    assert!(
        run.stderr.contains("note: 1 line of `names.txt` counted for nothing, the first: and so on, and on"),
        "{}",
        run.stderr
    );
    let names = ["relu", "grid_sample[2d,zeros]", "linalg_qr", "pad[reflect,2d]", "LSTM", "aten::_ctc_loss"];
    assert_eq!(request(&prefix)["operators"], serde_json::json!(names));
}

#[test]
fn what_cannot_be_asked_is_an_error_or_told() {
    let prefix = answering(&["torch-2.13.0"], &begun(&[]));
    prefix
        .verify(&["--native", "--ops"])
        .says(2, &["`--ops` asks through Python, and `--native` without it", "hint: "]);
    prefix.verify(&["--ops", "a/b"]).says(2, &["`a/b` is neither a file nor a name of an operator"]);
    std::fs::write(prefix.path().join("empty.txt"), "# nothing\nit is all well here\n").unwrap();
    prefix.verify(&["--ops", "empty.txt"]).says(2, &["`empty.txt` names no operator"]);
    let prefix = answering(&["mlx-0.32.4"], &[]);
    prefix.verify(&["--ops"]).says(2, &["`env` has neither torch nor TensorFlow"]);

    // Whose a name is decides who is asked, and TensorFlow is not there.
    let mut events = begun(&["relu"]);
    events.extend(tried("relu", Some("relu"), |_| {}));
    events.push(done());
    let prefix = answering(&["torch-2.13.0"], &events);
    let run = prefix.verify(&["--device", "cpu", "--ops", "relu", "tf.nn.conv2d"]);
    let absent = "incomplete  tensorflow through Python on cpu\n  not-tried:\n    `tf.nn.conv2d`: tensorflow, whose it \
                  would be, is not installed here\n";
    run.says(1, &[absent, "env on cpu: incomplete"]);
    assert_eq!(request(&prefix)["operators"], serde_json::json!(["relu"]));

    // With both there, modules of torch are torch's.
    let prefix = answering(&["torch-2.13.0", "tensorflow-2.21.0"], &events);
    let modules = prefix.site().join("torch/nn/modules");
    std::fs::create_dir_all(&modules).unwrap();
    std::fs::write(modules.join("__init__.py"), "__all__ = [\"LSTM\"]\n").unwrap();
    let of = |name: &str| {
        prefix.verify(&["--device", "cpu", "--ops", name]);
        let asked = request(&prefix);
        (asked["framework"].as_str().unwrap().to_owned(), asked["operators"][0].as_str().unwrap().to_owned())
    };
    assert_eq!(of("LSTM"), ("torch".into(), "LSTM".into()));
    assert_eq!(of("Conv2D"), ("tensorflow".into(), "Conv2D".into()));
}

/// Each outcome has its place, its word and its exit code; what a later torch has is told.
#[test]
fn each_outcome_is_told_with_its_reason_and_its_code() {
    let [qr, pad, ctc, relu] = PLANNED;
    let answer = |wrong: bool| {
        let mut events = begun(&PLANNED);
        let fallback =
            |name: &'static str| tried(qr, Some("linalg_qr"), move |one| one.fallbacks = vec![name.to_owned()]);
        events.extend(fallback("aten::linalg_qr.out"));
        events.extend(tried(pad, Some("pad"), |one| {
            if wrong {
                (one.max_rel, one.beyond) = (Some(0.5), 7)
            }
        }));
        let refused =
            "NotImplementedError: The operator 'aten::_ctc_loss' is not currently implemented for the MPS device.";
        events.extend(tried(ctc, Some("ctc_loss"), |one| one.error = Some(refused.into())));
        events.extend(tried(relu, Some("relu"), |_| {}));
        events.push(done());
        answering(&["torch-2.13.0"], &events)
    };
    let mac = host("m3-max-macos15");
    let words = ["--device", "mps", "--host", &mac, "--ops", "linalg_qr,pad,ctc_loss,relu"];
    let run = answer(true).verify(&words);
    let told = [
        "wrong-numbers  torch 2.13.0+cu130 through Python on mps",
        "  wrong:\n    `pad[reflect,2d]`: off by 5.0e-1 of its scale",
        "  fails:\n    `ctc_loss[mean]`: NotImplementedError: The operator 'aten::_ctc_loss'",
        "  fallback:\n    `linalg_qr[reduced]`: `aten::linalg_qr.out` computed on the CPU instead of the device\n",
        "  without a kernel for the GPU:\n    aten::_ctc_loss  runs on the GPU from torch 2.14.0 on\n",
        "note: operators: 1 supported, 1 fallback, 1 fails, 1 wrong",
    ];
    run.says(3, &told);
    // Each is told once.
    assert_eq!(run.stdout.matches("off by").count(), 1, "{}", run.stdout);
    let prefix = answer(false);
    prefix.verify(&words).says(1, &["failed  torch", "2 supported, 1 fallback, 1 fails"]);
    let json = prefix.json(&words);
    let without = json["verdicts"][0]["without-kernel"].as_array().unwrap();
    assert_eq!((&without[0]["operator"], &without[0]["gpu-from"]), (&"aten::_ctc_loss".into(), &"2.14.0".into()));
    assert_eq!(json["verdicts"][0]["operators"][0]["lacking"][0], "aten::linalg_qr.out");

    let none = answering(&["torch-2.13.0"], &recorded("torch-2.13.0-linux-cuda.no-device"));
    let run = none.verify(&["--device", "cuda", "--ops", "relu"]);
    run.says(2, &["no-device", "    `relu`: there is no cuda to try it on"]);
    none.verify(&["--device", "cuda", "--ops", "relu", "--if-possible"]).says(0, &["no-device"]);
}

/// What was left after a crash or a hang is asked again, in a process of its own, and the crash is told.
#[test]
fn one_that_breaks_its_process_hides_no_other() {
    let [qr, pad, ctc, relu] = PLANNED;
    let until = |planned: &[&str], whole: &[&str], asked: bool, last: Option<&str>| {
        let mut events = begun(planned);
        events.extend(whole.iter().flat_map(|name| tried(name, asked.then_some(*name), |_| {})));
        events.push(last.map_or_else(done, at));
        events
    };
    let crash = "echo 'x.mm:78: failed assertion' >&2; kill -ABRT $$";
    let prefix = one_after_another(&[
        (until(&PLANNED, &[qr], false, Some(pad)), crash),
        (until(&[ctc, relu], &[], true, Some(&format!("{ctc} backward"))), crash),
        (until(&[relu], &[relu], true, None), ""),
    ]);
    let run = prefix.verify(&["--device", "cpu", "--ops"]);
    let broken = "  fails:\n    `pad[reflect,2d]`, `ctc_loss[mean]` backward: the probe was ended by signal 6 (abort) in the \
                  middle of it: x.mm:78: failed assertion\n";
    run.says(1, &["crashed  torch", broken, "note: operators: 2 supported, 2 fails"]);
    run.never_says(&["not-tried"]);
    assert_eq!(asked_of(&prefix, 0), Vec::<String>::new());
    assert_eq!((asked_of(&prefix, 1), asked_of(&prefix, 2)), (vec![ctc.into(), relu.into()], vec![relu.into()]));
    assert!(!prefix.path().join("env/bin/request3").exists());

    // Two that hang are enough.
    let hang = "exec sleep 60";
    let prefix = one_after_another(&[
        (until(&PLANNED, &[qr], false, Some(pad)), hang),
        (until(&[ctc, relu], &[], true, Some(ctc)), hang),
        (until(&[relu], &[relu], true, None), ""),
    ]);
    let run = prefix.verify(&["--device", "cpu", "--timeout", "1", "--ops"]);
    run.says(2, &["hung  torch", "operators: 1 supported, 2 fails, 1 not-tried"]);
    assert!(!prefix.path().join("env/bin/request2").exists());
}
