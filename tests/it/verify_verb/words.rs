//! Each way in which a probe can end, with its own word and the right exit code, for people and for programs.

use std::os::unix::fs::PermissionsExt as _;

use macml::verify::protocol::{At, Check, Done, ElementType, Event, Fallback, Skipped, Training, Why};

use super::{Prefix, good, host, recorded};

/// Changes the first check in float32 that has a name.
fn checked(id: &str, change: impl Fn(&mut Check)) -> Vec<Event> {
    let mut events = good();
    let check = events.iter_mut().find_map(|event| match event {
        Event::Check(check) if check.id == id && check.element == ElementType::Float32 => Some(check),
        _ => None,
    });
    change(check.unwrap());
    events
}

/// Changes the first training.
fn trained(change: impl Fn(&mut Training)) -> Vec<Event> {
    let mut events = good();
    let training = events.iter_mut().find_map(|event| match event {
        Event::Training(training) => Some(training),
        _ => None,
    });
    change(training.unwrap());
    events
}

/// The answer as far as the check of a name, which begins.
fn until(id: &str) -> Vec<Event> {
    let mut events = good();
    let is_it = |event: &Event| matches!(event, Event::Check(check) if check.id == id);
    events.truncate(events.iter().position(is_it).unwrap());
    events.push(Event::At(At { id: id.to_owned(), element: Some(ElementType::Float32), round: 0 }));
    events
}

fn hello_and_done() -> Vec<Event> {
    let hello = good().into_iter().filter(|event| matches!(event, Event::Hello(_)));
    hello.chain([Event::Done(Done { seconds: 1.0, device_bytes: None })]).collect()
}

/// Verifies for people and for programs.
#[track_caller]
fn check(prefix: &Prefix, words: &[&str], word: &str, code: i32, sentence: &str) {
    let words = [&["--python"], words].concat();
    let json = prefix.json(&words);
    assert_eq!((json["verdict"].as_str(), json["exit-code"].as_i64()), (Some(word), Some(code.into())), "{json:#}");
    let [verdict] = &json["verdicts"].as_array().unwrap()[..] else { panic!("{json:#}") };
    assert_eq!((verdict["word"].as_str(), verdict["framework"].as_str()), (Some(word), Some("torch")));
    let told = verdict["problems"][0]["sentence"].as_str().unwrap_or_default();
    assert!(told.contains(sentence), "{told}\n{sentence}");
    let run = prefix.verify(&words);
    assert_eq!(run.code, code, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.starts_with(&format!("{word}  torch 2.1")), "{}", run.stdout);
    let last = run.stdout.lines().last().unwrap();
    assert!(last.starts_with("env on ") && last.ends_with(&format!(": {word}")), "{last}");
    assert!(run.stdout.contains(told), "{}", run.stdout);
}

#[test]
fn a_good_answer_and_each_sabotage_have_their_word_and_exit_code() {
    let cpu = &["--device", "cpu"][..];
    let answering = |events: &[Event], then: &str| Prefix::answering("2.13.0", events, then);
    check(&answering(&good(), ""), cpu, "ok", 0, "");

    let wrong = checked("product", |check| (check.max_rel, check.beyond) = (Some(1e-3), 7));
    check(&answering(&wrong, ""), cpu, "wrong-numbers", 3, "off by 1.0e-3 of its scale");
    let nan = checked("softmax", |check| (check.max_rel, check.nan) = (None, 4));
    check(&answering(&nan, ""), cpu, "nan", 3, "elements are NaN");
    let idle = trained(|training| training.moved = Some(false));
    check(&answering(&idle, ""), cpu, "did-not-learn", 3, "some weights are as they were before");

    let crash = "echo 'x.mm:78: failed assertion `bad' >&2; kill -ABRT $$";
    let told = "was ended by signal 6 (abort) in the middle of `softmax` in float32: x.mm:78: failed assertion `bad";
    check(&answering(&until("softmax"), crash), cpu, "crashed", 1, told);
    let hang = &["--device", "cpu", "--timeout", "1"][..];
    let told = "the probe was stopped after 1 s in the middle of `softmax` in float32";
    check(&answering(&until("softmax"), "sleep 300"), hang, "hung", 2, told);

    let fallback = |mut events: Vec<Event>| {
        let (operator, during, message) = ("aten::linalg_cholesky_ex.L", "softmax", "will fall back");
        let done = events.len() - 1;
        let (operator, during, message) = (operator.to_owned(), during.to_owned(), message.to_owned());
        events.insert(done, Event::Fallback(Fallback { operator, during, message }));
        events
    };
    let told = "`aten::linalg_cholesky_ex.L` was computed on the CPU instead of the device, in `softmax`";
    check(&answering(&fallback(good()), ""), cpu, "fallback", 1, told);
    let elsewhere = trained(|training| training.state_on_device = Some(false));
    check(&answering(&elsewhere, ""), cpu, "optimizer-elsewhere", 1, "the optimizer keeps");

    let told = "torch 2.13.0+cu130 was loaded, and 2.15.0 was to be asked";
    check(&Prefix::answering("2.15.0", &hello_and_done(), ""), cpu, "wrong-release", 1, told);
    let libc10 = "echo 'ImportError: libc10.so: cannot open shared object file: No such file or directory' >&2; exit 1";
    check(&answering(&[], libc10), cpu, "cannot-load", 1, "torch cannot be loaded: ImportError: libc10.so");
    check(&answering(&[], "echo hello"), cpu, "garbage", 1, "the probe said nothing that can be read");
    let raised = checked("softmax", |check| check.error = Some("RuntimeError: not implemented".into()));
    check(&answering(&raised, ""), cpu, "failed", 1, "RuntimeError: not implemented");
    let over = "RuntimeError: MPS backend out of memory (MPS allocated: 5.38 GB, other allocations: 1.26 GB, max allowed: \
                6.77 GB). Tried to allocate 640.00 MB on private pool.";
    let over = checked("softmax", |check| check.error = Some(over.into()));
    check(&answering(&over, ""), cpu, "out-of-memory", 2, "that is no fault of the install");
    let mut untrained = good();
    untrained.retain(|event| !matches!(event, Event::Training(_)));
    check(&answering(&untrained, ""), cpu, "incomplete", 1, "nothing was trained");

    let mut late = good();
    let skipped = Skipped { id: "softmax".into(), element: None, why: Why::Time, error: None };
    late.insert(late.len() - 1, Event::Skipped(skipped));
    let run = answering(&late, "").verify(&["--python", "--device", "cpu", "--timeout", "100"]);
    run.says(1, &["1 computation was not begun", "hint: `--timeout` gives each process more than these 100 s"]);

    let cuda = &["--device", "cuda"][..];
    let none = recorded("torch-2.13.0-linux-cuda.no-device");
    check(&answering(&none, ""), cuda, "no-device", 2, "torch finds no cuda device that it can use");
    let hidden = Prefix::answering("2.11.0", &recorded("torch-2.11.0-h200-hidden.not-visible"), "");
    check(&hidden, cuda, "not-visible", 2, "`CUDA_VISIBLE_DEVICES` hides every device from it");
    let linux = answering(&recorded("torch-2.13.0-linux-mps.no-device"), "");
    check(&linux, &["--device", "mps"], "no-device", 2, "mps is there on Macs only, this system is linux");
    let built = answering(&unbuilt(), "");
    check(&built, &["--device", "mps"], "not-built", 1, "this torch is built without mps");
    let nobody = answering(&[], "");
    let python = nobody.path().join("env/bin/python");
    std::fs::set_permissions(python, std::fs::Permissions::from_mode(0o644)).unwrap();
    check(&nobody, cpu, "not-run", 2, "could not be started: Permission denied");
}

/// What a torch that is built without Metal says on a Mac.
fn unbuilt() -> Vec<Event> {
    let mut events = recorded("torch-2.13.0-linux-mps.no-device");
    for event in &mut events {
        match event {
            Event::Hello(hello) => hello.system = "darwin 15.6.1 arm64".into(),
            Event::Device(device) => device.listed = Some(1),
            _ => {}
        }
    }
    events
}

/// `--if-possible` forgives that this process has no GPU, and nothing else.
#[test]
fn if_possible_forgives_that_there_is_no_gpu_and_nothing_else() {
    let cuda = &["--python", "--device", "cuda", "--if-possible"][..];
    let forgives = |prefix: &Prefix, word: &str, code: i32| {
        let json = prefix.json(cuda);
        assert_eq!((json["verdict"].as_str(), json["exit-code"].as_i64()), (Some(word), Some(code.into())), "{json:#}");
        assert_eq!(json["notes"].as_array().unwrap().len(), usize::from(code == 0), "{json:#}");
        let run = prefix.verify(cuda);
        assert_eq!((run.code, run.stderr.contains("so nothing was verified")), (code, code == 0), "{}", run.stderr);
    };
    let none = recorded("torch-2.13.0-linux-cuda.no-device");
    forgives(&Prefix::answering("2.13.0", &none, ""), "no-device", 0);
    forgives(&Prefix::answering("2.11.0", &recorded("torch-2.11.0-h200-hidden.not-visible"), ""), "not-visible", 0);
    let mut linux = none.clone();
    for event in &mut linux {
        if let Event::Device(device) = event {
            (device.built, device.listed) = (Some(false), Some(0));
        }
    }
    forgives(&Prefix::answering("2.13.0", &linux, ""), "no-device", 0);
    forgives(&Prefix::answering("2.13.0", &unbuilt(), ""), "not-built", 1);
    forgives(&Prefix::answering("2.13.0", &[], "kill -SEGV $$"), "crashed", 1);
    // The other framework has no GPU, and this one breaks: that is no absence.
    let both = "case \"$*\" in *'\"framework\":\"mlx\"'*) kill -SEGV $$;; esac\ncat \"${0%/*}/answer\"";
    let prefix = Prefix::new(&["torch-2.13.0", "mlx-0.32.4"], both);
    std::fs::write(prefix.path().join("env/bin/answer"), super::lines(&none)).unwrap();
    forgives(&prefix, "crashed", 1);
}

/// Without `--device` it is the GPU, and what asks the processor is named where there is none.
#[test]
fn nobody_is_sent_to_the_processor_silently() {
    let prefix = Prefix::answering("2.13.0", &recorded("torch-2.13.0-linux-cuda.no-device"), "");
    if cfg!(target_os = "linux") {
        let run = prefix.verify(&["--python"]);
        run.says(2, &["env on cuda: no-device", "hint: `--device cpu` asks the processor instead"]);
    }
    let prefix = Prefix::answering("2.13.0", &unbuilt(), "");
    let run = prefix.verify(&["--python", "--host", &host("m3-max-macos15")]);
    run.says(1, &["env on mps, macOS 15.6.1, Apple M3 Max: not-built"]);
    run.never_says(&["--device cpu"]);
}

#[test]
fn an_environment_without_a_framework_and_a_folder_without_an_environment_are_errors() {
    let prefix = Prefix::new(&["numpy-2.4.6"], "exit 1");
    let run = prefix.verify(&[]);
    run.fails(
        2,
        "error: `env` has no framework that could be verified\n\n\
         hint: there are probes for torch, tensorflow, mlx and coremltools",
    );
    let json = prefix.json(&["--python"]);
    assert_eq!((&json["verdict"], &json["exit-code"]), (&"error".into(), &2.into()));
    prefix.project.run(&["verify", "--prefix", "nowhere"]).says(2, &["there is no `nowhere`"]);
    prefix.project.run(&["verify"]).says(2, &["macml.toml", "hint: `--prefix DIR` takes"]);
}

/// What is known of these releases on this Mac is told before, and what it explains then by name.
#[test]
fn what_is_known_is_told_before_and_after() {
    // Bug report R04: the tag fits, the text of torch is stale.
    let mut stale = recorded("torch-2.13.0-linux-mps.no-device");
    for event in &mut stale {
        match event {
            Event::Hello(hello) => {
                hello.versions.insert("torch".into(), "2.11.0".into());
                hello.system = "darwin 13.6.9 arm64".into();
            }
            Event::Device(device) => {
                device.built = Some(true);
                device.error = Some("RuntimeError: The MPS backend is supported on MacOS 13.0+.".into());
            }
            _ => {}
        }
    }
    let prefix = Prefix::answering("2.11.0", &stale, "");
    let mac = host("m1-macos13");
    let words = &["--python", "--host", &mac][..];
    let run = prefix.verify(words);
    let first = "no GPU: `torch` 2.11.0 needs macOS >=14.0 for the GPU, and this Mac has 13.6.9; the last torch known to \
                 do it there is 2.8.0: ";
    assert!(run.stdout.starts_with(first), "{}", run.stdout);
    run.says(2, &["The MPS backend is supported on MacOS 13.0+. (known: `torch-2.9-mps-needs-macos-14`)"]);
    let json = prefix.json(words);
    assert_eq!(json["unfit"][0]["last"], "2.8.0");
    assert_eq!(json["verdicts"][0]["problems"][0]["known"][0], "torch-2.9-mps-needs-macos-14");
    assert_eq!(json["mac"]["macos"], "13.6.9");

    // Bug report R27: a row of a large batch.
    let mut wrong = good();
    let rows = |event: &Event| matches!(event, Event::Check(check) if check.id == "linear-thin-bias");
    let at = wrong.iter().position(rows).unwrap();
    let Event::Check(check) = &mut wrong[at] else { unreachable!() };
    (check.id, check.max_rel, check.beyond) = ("linear-rows-bias".into(), Some(0.23), 9);
    let prefix = Prefix::answering("2.13.0", &wrong, "");
    let mac = host("m5-macos26");
    let words = &["--python", "--host", &mac][..];
    let run = prefix.verify(words);
    assert!(run.stdout.starts_with("known problem of torch 2.13.0, wrong results: "), "{}", run.stdout);
    let parts =
        ["  and 1 more known problem, which `macml rules NAME` tells: `mps-", "(known: `mps-linear-bias-large-batch`)"];
    run.says(3, &parts);
    // Bug report R27, its table: an M1 with macOS 26.4.
    let mut thin = good();
    for event in &mut thin {
        let Event::Check(check) = event else { continue };
        if check.element == ElementType::Float32 && check.round == 0 {
            match check.id.as_str() {
                "linear-thin-bias" => (check.max_rel, check.beyond) = (Some(2.3e-1), 15_000),
                "linear-thin" => check.max_rel = Some(9e-8),
                _ => {}
            }
        }
    }
    let m1 = std::fs::read_to_string(&mac).unwrap();
    let m1 = m1.replace("recorded: ", "made of ").replace("Apple M5", "Apple M1").replace("26.4.1", "26.4");
    let prefix_of_m1 = Prefix::answering("2.13.0", &thin, "");
    prefix_of_m1.project.write("m1.json", &m1);
    let json = prefix_of_m1.json(&["--python", "--host", "m1.json"]);
    let [problem] = &json["verdicts"][0]["problems"].as_array().unwrap()[..] else { panic!("{json:#}") };
    let told =
        "`linear-thin-bias` (thin linear layer (80, 1, 2) to 192 with bias) in float32: off by 2.3e-1 of its scale";
    assert!(problem["sentence"].as_str().unwrap().starts_with(told), "{problem:#}");
    assert_eq!((&json["exit-code"], &problem["known"][0]), (&3.into(), &"mps-linear-bias-on-macos-26".into()));
    assert_eq!((&json["mac"]["chip"], &json["mac"]["macos"]), (&"Apple M1".into(), &"26.4".into()));
    // Of the processor it is no news.
    let run = prefix.verify(&["--python", "--device", "cpu", "--host", &host("m5-macos26")]);
    run.never_says(&["known problem", "(known:"]);
}

/// What a terminal is told fits on it; programs are told all.
#[test]
fn of_many_notes_people_are_told_some() {
    let prefix = Prefix::answering("2.13.0", &good(), "");
    let notes = prefix.json(&["--python", "--device", "cpu"])["verdicts"][0]["notes"].as_array().unwrap().len();
    let shown = |words: &[&str]| {
        let run = prefix.verify(&[&["--python", "--device", "cpu"], words].concat());
        run.stdout.matches("\n  note: ").count()
    };
    assert_eq!((shown(&["-v"]), shown(&[])), (notes, if notes <= 4 { notes } else { 3 }));
}
