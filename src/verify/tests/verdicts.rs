//! From answers to words.

use super::*;
use crate::verify::protocol::{At, CannotLoad, Fallback, Skipped, Surrounding, Why};
use crate::verify::{Class, Verdict, Word, judge, out_of_memory};

/// Judges, and checks the word, the exit code and the sentence that comes first.
#[track_caller]
fn told(transcript: &Transcript, word: Word, code: u8, sentence: &str) -> Verdict {
    let verdict = judge(transcript);
    let first = verdict.problems.first().map_or("", |problem| &problem.sentence);
    assert_eq!((verdict.word, first, verdict.word.class().code()), (word, sentence, code), "{:#?}", verdict.problems);
    // What a report says can be read back.
    let text = serde_json::to_string(&verdict).unwrap();
    assert_eq!(serde_json::from_str::<Verdict>(&text).unwrap(), verdict);
    let text = serde_json::to_string(transcript).unwrap();
    assert_eq!(serde_json::from_str::<Transcript>(&text).unwrap(), *transcript);
    verdict
}

/// Judges what a good Mac says with some events changed.
#[track_caller]
fn but(change: impl FnOnce(&mut Vec<Event>), word: Word, code: u8, sentence: &str) -> Verdict {
    let mut events = good();
    change(&mut events);
    told(&heard(&events, "", Ended::Code(0)), word, code, sentence)
}

/// Changes the check at one place of [`good`].
fn checked(at: usize, change: impl FnOnce(&mut Check)) -> impl FnOnce(&mut Vec<Event>) {
    move |events| {
        let Event::Check(check) = &mut events[at] else { panic!("{at}") };
        change(check);
    }
}

fn trained(change: impl FnOnce(&mut Training)) -> impl FnOnce(&mut Vec<Event>) {
    move |events| {
        let Event::Training(training) = &mut events[3] else { panic!() };
        change(training);
    }
}

/// What a Mac says that has no device to use.
#[track_caller]
fn absent(change: impl FnOnce(&mut DeviceSeen), word: Word, code: u8, sentence: &str) {
    let mut device = DeviceSeen { built: Some(true), ..DeviceSeen::default() };
    change(&mut device);
    let events = [hello("2.13.0"), Event::Device(device), Event::Done(Done { seconds: 1.0, device_bytes: None })];
    let verdict = told(&heard(&events, "", Ended::Code(0)), word, code, sentence);
    assert_eq!(word.is_absence(), verdict.word != Word::NotBuilt);
}

#[test]
fn all_right() {
    let verdict = but(|_| {}, Word::Ok, 0, "");
    assert_eq!(verdict.subject(), "torch 2.13.0 on mps (Apple M1), darwin 26.4 arm64");
    assert_eq!(verdict.compared, 3);
    let float32 = &verdict.largest[&ElementType::Float32];
    assert_eq!((float32.error, float32.id.as_str()), (6e-7, "product"));
    assert_eq!(verdict.seconds, Some(12.5));
}

/// Bug report R27, its table, https://github.com/pytorch/pytorch/issues/188438: a thin linear layer with bias is off by 2.3e-01 and one without by
/// 9e-08, on an M1 with macOS 26.4 and torch 2.13.0.
#[test]
fn a_thin_layer_that_loses_its_bias() {
    let verdict = but(
        |events| {
            let mut wrong = check("linear-thin-bias", ElementType::Float32, 2.3e-1);
            (wrong.beyond, wrong.shapes) = (15_000, vec![vec![80, 1, 2], vec![192, 2], vec![192]]);
            events.insert(4, Event::Check(wrong));
        },
        Word::WrongNumbers,
        3,
        "`linear-thin-bias` (thin linear layer (80, 1, 2) to 192 with bias) in float32: off by 2.3e-1 of its scale in \
         15000 of 15360 elements, most at [0, 0, 7]; 1.0e-4 is allowed, operands [80, 1, 2] [192, 2] [192]",
    );
    assert_eq!(verdict.problems.len(), 1);
    assert_eq!(verdict.problems[0].id.as_deref(), Some("linear-thin-bias"));
}

/// Bug report R27, its second record, https://github.com/pytorch/pytorch/issues/193487: 2.8e-05 when fresh, which is right,
/// 1.86 after a pattern of allocations.
#[test]
fn a_product_that_is_wrong_only_after_other_work() {
    let fresh = || {
        let mut fresh = check("matmul-long-transposed", ElementType::Float32, 2.8e-5);
        (fresh.elements, fresh.worst) = (625, vec![3, 4]);
        fresh.shapes = vec![vec![50_000, 25], vec![50_000, 25]];
        fresh
    };
    but(|events| events.insert(6, Event::Check(fresh())), Word::Ok, 0, "");
    let verdict = but(
        |events| {
            let mut again = fresh();
            (again.round, again.max_rel, again.beyond) = (1, Some(1.86), 600);
            events.splice(6..6, [Event::Check(fresh()), Event::Check(again)]);
        },
        Word::WrongNumbers,
        3,
        "`matmul-long-transposed` (matrix product of a transposed view (long, 25) @ (long, 25)) in float32 after other work: off by 1.9e0 of \
         its scale in 600 of 625 elements, most at [3, 4]; 1.0e-4 is allowed, operands [50000, 25] [50000, 25]",
    );
    // Chip, macOS and torch stand beside it.
    assert_eq!(
        (verdict.problems.len(), verdict.subject().as_str()),
        (1, "torch 2.13.0 on mps (Apple M1), darwin 26.4 arm64")
    );
}

#[test]
fn one_part_in_a_thousand_is_wrong_in_float32_and_as_good_as_float16_can() {
    but(checked(5, |check| check.max_rel = Some(1e-3)), Word::Ok, 0, "");
    let wrong = checked(4, |check| {
        (check.max_rel, check.shapes) = (Some(1e-3), Vec::new());
    });
    let sentence = "`linear-thin` (thin linear layer (80, 1, 2) to 192 without bias) in float32: off by 1.0e-3 of its \
                    scale, most at [0, 0, 7]; 1.0e-4 is allowed";
    but(wrong, Word::WrongNumbers, 3, sentence);
    but(checked(5, |check| check.max_rel = Some(1.1e-2)), Word::WrongNumbers, 3, &{
        let text = sentence.replace("float32", "float16").replace("1.0e-3", "1.1e-2").replace("1.0e-4", "1.0e-2");
        text + ", operands [80, 1, 2] [192, 2]"
    });
}

#[test]
fn nan_and_infinities_are_wrong_however_small_the_rest_is() {
    let named = "`linear-thin` (thin linear layer (80, 1, 2) to 192 without bias) in float32";
    but(checked(4, |check| check.nan = 1), Word::Nan, 3, &format!("{named}: 1 of 15360 elements are NaN"));
    but(checked(4, |check| check.inf = 2), Word::Nan, 3, &format!("{named}: 2 of 15360 elements are infinite"));
    but(checked(4, |check| check.max_rel = None), Word::Nan, 3, &format!("{named}: the error is not finite"));
    but(
        trained(|training| training.device.not_finite = 1),
        Word::Nan,
        3,
        "`training-dense`: the loss is NaN or infinite at 1 of 40 steps",
    );
}

/// https://github.com/pytorch/pytorch/issues/118115: Adam leaves weights as they are.
#[test]
fn a_training_that_teaches_nothing() {
    but(
        trained(|training| (training.device, training.apart) = (curve(1.4, 1.39), Some(0.9))),
        Word::WrongNumbers,
        3,
        "`training-dense`: the losses on the device and on the CPU are apart by 9.0e-1 of the first; 2.0e-2 is allowed",
    );
    but(
        trained(|training| training.device = curve(1.4, 1.39)),
        Word::DidNotLearn,
        3,
        "`training-dense`: the loss went from 1.4000 to 1.3900 in 40 steps on the device, and from 1.4000 to 0.1300 in \
         40 steps on the CPU",
    );
    but(
        trained(|training| training.moved = Some(false)),
        Word::DidNotLearn,
        3,
        "`training-dense`: some weights are as they were before",
    );
    // Where the CPU learns nothing either, it is not the device that is wrong.
    but(
        trained(|training| (training.device, training.cpu) = (curve(1.4, 1.39), curve(1.4, 1.39))),
        Word::Failed,
        1,
        "`training-dense`: the loss went from 1.4000 to 1.3900 in 40 steps on the device, and no better on the CPU",
    );
    but(
        trained(|training| {
            training.state_on_device = Some(false);
            training.state.insert("exp_avg".into(), "cpu".into());
        }),
        Word::OptimizerElsewhere,
        1,
        "`training-dense`: the optimizer keeps `exp_avg` on cpu",
    );
    but(
        trained(|training| training.error = Some("RuntimeError: no".into())),
        Word::Failed,
        1,
        "`training-dense`: RuntimeError: no",
    );
}

#[test]
fn no_device_is_told_apart_by_why() {
    let needs =
        "RuntimeError: The MPS backend is supported on MacOS 13.0+.Current OS version can be queried using `sw_vers`";
    let unbuilt = "this torch is built without mps";
    absent(|device| device.built = Some(false), Word::NotBuilt, 1, unbuilt);
    absent(|device| (device.built, device.listed) = (Some(false), Some(1)), Word::NotBuilt, 1, unbuilt);
    absent(
        |device| (device.built, device.listed) = (Some(false), Some(0)),
        Word::NotVisible,
        2,
        &format!("this process sees no GPU: the system lists none for it, as in a sandbox, and {unbuilt}"),
    );
    absent(
        |device| (device.error, device.listed) = (Some(needs.into()), Some(1)),
        Word::NoDevice,
        2,
        &format!("torch finds no mps device that it can use, though the system lists one: {needs}"),
    );
    absent(|_| {}, Word::NoDevice, 2, "torch finds no mps device that it can use");
    absent(
        |device| (device.surroundings, device.listed) = (vec![Surrounding::Rosetta], Some(1)),
        Word::NoDevice,
        2,
        "torch runs translated by Rosetta, where it has no mps",
    );
    let unseen = |why: &str| format!("this process sees no GPU: {why}");
    // https://github.com/openai/codex/issues/10199
    absent(
        |device| device.listed = Some(0),
        Word::NotVisible,
        2,
        &unseen("the system lists none for it, as in a sandbox"),
    );
    for (surrounding, why) in [
        (Surrounding::Sandbox, "it runs in a sandbox"),
        (Surrounding::VirtualMachine, "it runs in a virtual machine"),
        (Surrounding::Ssh, "it was started by ssh"),
    ] {
        let is = |device: &mut DeviceSeen| (device.surroundings, device.listed) = (vec![surrounding], Some(0));
        absent(is, Word::NotVisible, 2, &unseen(why));
    }
    // Over ssh, with a GPU that the system lists: it is not the session that keeps torch from it.
    absent(
        |device| (device.surroundings, device.listed) = (vec![Surrounding::Ssh], Some(1)),
        Word::NoDevice,
        2,
        "torch finds no mps device that it can use, though the system lists one",
    );
}

/// A build for a device that the system does not have would not help.
#[test]
fn a_system_without_such_a_device_is_no_fault_of_the_build() {
    let mut on_linux = hello("2.13.0");
    if let Event::Hello(hello) = &mut on_linux {
        hello.system = "linux 6.18 x86_64".into();
    }
    let judged = |device: Device, listed: Option<u32>, surroundings: &[Surrounding], word, code, sentence: &str| {
        let seen = DeviceSeen {
            built: Some(false),
            listed,
            name: Some("Intel Xeon".into()),
            surroundings: surroundings.to_vec(),
            ..DeviceSeen::default()
        };
        let mut transcript = heard(&[on_linux.clone(), Event::Device(seen)], "", Ended::Code(0));
        transcript.request.device = device;
        let verdict = told(&transcript, word, code, sentence);
        // The processor is not that device.
        assert_eq!(verdict.device_name, None);
    };
    let mps = "mps is there on Macs only, this system is linux 6.18 x86_64, and this torch is built without mps";
    judged(Device::Mps, None, &[Surrounding::Ssh], Word::NoDevice, 2, mps);
    let cuda = "torch finds no cuda device that it can use, and this torch is built without cuda";
    judged(Device::Cuda, Some(0), &[Surrounding::Ssh], Word::NoDevice, 2, cuda);
    for listed in [None, Some(1)] {
        judged(Device::Cuda, listed, &[], Word::NotBuilt, 1, "this torch is built without cuda");
    }
}

#[test]
fn fallbacks_are_named_and_no_success() {
    let operator = "aten::linalg_cholesky_ex.L";
    let fallback = |during: &str| Fallback { operator: operator.into(), during: during.into(), message: String::new() };
    but(
        |events| events.insert(3, Event::Fallback(fallback("conv2d"))),
        Word::Fallback,
        1,
        &format!("`{operator}` was computed on the CPU instead of the device, in `conv2d`"),
    );
    // Printed by a thread that is not Python's.
    let line = format!(
        "Warning: The operator '{operator}' is not currently supported on the MPS backend and will fall back to run on the CPU."
    );
    let transcript = heard(&good(), &line, Ended::Code(0));
    told(&transcript, Word::Fallback, 1, &format!("`{operator}` was computed on the CPU instead of the device"));
    let elsewhere = |check: &mut Check| check.elsewhere = Some("/device:CPU:0".into());
    let verdict = but(
        checked(2, elsewhere),
        Word::Fallback,
        1,
        "`product` (square matrix product) in float32: its result lies on /device:CPU:0",
    );
    assert_eq!(verdict.problems.len(), 1);
}

#[test]
fn an_error_instead_of_a_result() {
    but(
        checked(4, |check| check.error = Some("RuntimeError: Mismatched\n  Tensor types".into())),
        Word::Failed,
        1,
        "`linear-thin` (thin linear layer (80, 1, 2) to 192 without bias) in float32: RuntimeError: Mismatched Tensor \
         types",
    );
    let named = "`product` (square matrix product) in float32";
    let nothing = checked(2, |check| check.elements = 0);
    but(nothing, Word::Garbage, 1, &format!("{named}: there is no result, and no error either"));
}

/// Bug report R25: no fault of what is installed, and nothing is known of its numbers.
#[test]
fn r25_memory_that_is_over_is_told_apart() {
    let over = "RuntimeError: MPS backend out of memory (MPS allocated: 5.38 GB, other allocations: 1.26 GB, max allowed: \
                6.77 GB). Tried to allocate 640.00 MB on private pool.";
    let sentence = out_of_memory(over, 8 << 30).unwrap();
    assert!(sentence.contains("85 % of this machine's 8 GB"), "{sentence}");
    let named = "`linear-thin` (thin linear layer (80, 1, 2) to 192 without bias) in float32";
    let check = checked(4, |check| check.error = Some(over.into()));
    but(check, Word::OutOfMemory, 2, &format!("{named}: {sentence}"));
    // Metal ends the process with it.
    let broken = heard(&good()[..4], &format!("loading\n{over}\nTraceback\n"), Ended::Code(1));
    told(&broken, Word::OutOfMemory, 2, &sentence);
}

#[test]
fn words_together_are_the_worst_of_them() {
    let check = |words: &[Word], expected: Word| {
        assert_eq!(Word::of_all(words.iter().copied()), expected, "{words:?}");
        assert_eq!(Class::of_all(words.iter().copied()), expected.class(), "{words:?}");
    };
    check(&[], Word::NotRun);
    check(&[Word::Ok, Word::Ok], Word::Ok);
    check(&[Word::Ok, Word::NoDevice], Word::NoDevice);
    check(&[Word::NotRun, Word::Failed, Word::Ok], Word::Failed);
    check(&[Word::NotBuilt, Word::Fallback, Word::WrongNumbers], Word::WrongNumbers);
    check(&[Word::WrongNumbers, Word::Nan], Word::Nan);
}

#[test]
fn what_was_not_asked_is_a_note_unless_nobody_can_do_without() {
    let skipped = |id: &str, why| {
        let element = Some(ElementType::Bfloat16);
        Event::Skipped(Skipped { id: id.into(), element, why, error: None })
    };
    let verdict = but(|events| events.insert(5, skipped("conv2d", Why::NoType)), Word::Ok, 0, "");
    assert_eq!(verdict.notes, ["`conv2d` in bfloat16 was not asked: the device does not have the type"]);
    but(
        |events| events.extend([skipped("conv2d", Why::Time), skipped("bmm", Why::Time)]),
        Word::Incomplete,
        1,
        "2 computations were not begun, because 240 s were over",
    );
    let one = "1 computation was not begun, because 240 s were over";
    but(|events| events.push(skipped("bmm", Why::Time)), Word::Incomplete, 1, one);
    but(|events| drop(events.remove(2)), Word::Incomplete, 1, "no product in float32 was computed");
    but(|events| drop(events.remove(3)), Word::Incomplete, 1, "nothing was trained");
}

#[test]
fn another_release_than_the_locked_one() {
    but(
        |events| events[0] = hello("2.15.0"),
        Word::WrongRelease,
        1,
        "torch 2.15.0 was loaded, and 2.13.0 was to be asked",
    );
    // Builds of one release differ in their local part.
    but(|events| events[0] = hello("2.13.0+cu130"), Word::Ok, 0, "");
}

/// https://github.com/pytorch/pytorch/issues/197796: the process aborts, and what was found before still counts.
#[test]
fn a_probe_that_breaks_in_the_middle() {
    let at = Event::At(At { id: "linear-transposed-weight".into(), element: Some(ElementType::Bfloat16), round: 0 });
    let mut events = good();
    events.truncate(5);
    events.push(at);
    let stderr = "starting\n/x/MPSNDArrayMatrixMultiplication.mm:4140: failed assertion `bad'\n";
    let said = "in the middle of `linear-transposed-weight` in bfloat16: \
                /x/MPSNDArrayMatrixMultiplication.mm:4140: failed assertion `bad'";
    let abort = format!("the probe was ended by signal 6 (abort) {said}");
    told(&heard(&events, stderr, Ended::Signal(6)), Word::Crashed, 1, &abort);
    told(&heard(&events, stderr, Ended::Code(3)), Word::Crashed, 1, &format!("the probe ended with code 3 {said}"));
    let hung = "the probe was stopped after 300 s in the middle of `linear-transposed-weight` in bfloat16";
    told(&heard(&events, stderr, Ended::OutOfTime(300)), Word::Hung, 2, hung);
    let Event::Check(check) = &mut events[2] else { panic!() };
    check.nan = 9;
    let named = "`product` (square matrix product) in float32: 9 of 15360 elements are NaN";
    let verdict = told(&heard(&events, stderr, Ended::Signal(6)), Word::Nan, 3, named);
    assert_eq!(verdict.problems[1].word, Word::Crashed);
}

#[test]
fn an_end_after_all_was_said_is_a_note() {
    let verdict = told(&heard(&good(), "", Ended::Signal(11)), Word::Ok, 0, "");
    assert_eq!(verdict.notes, ["when all was said, the probe was ended by signal 11 (segmentation fault)"]);
}

#[test]
fn a_probe_that_never_says_hello() {
    let missing = "dyld[512]: Library not loaded: @rpath/libc10.dylib";
    let refusal = format!("torch cannot be loaded: {missing}");
    told(&heard(&[], &format!("{missing}\n  Referenced from: x\n"), Ended::Signal(6)), Word::CannotLoad, 1, &refusal);
    let missing = "macml-probe: error while loading shared libraries: libc10.so: cannot open shared object file";
    told(&heard(&[], missing, Ended::Code(127)), Word::CannotLoad, 1, &format!("torch cannot be loaded: {missing}"));
    let told_by_probe = Event::CannotLoad(CannotLoad { error: "ImportError: no\n  torch".into() });
    let done = Event::Done(Done { seconds: 0.1, device_bytes: None });
    let both = [told_by_probe, done];
    told(&heard(&both, "", Ended::Code(0)), Word::CannotLoad, 1, "torch cannot be loaded: ImportError: no torch");
    let crash = "the probe was ended by signal 11 (segmentation fault) while loading torch: bye";
    told(&heard(&[], "bye", Ended::Signal(11)), Word::Crashed, 1, crash);
    told(&heard(&[], "", Ended::OutOfTime(9)), Word::Hung, 2, "the probe was stopped after 9 s while loading torch");
    let garbage = "the probe said nothing that can be read, and ended with code 0: bye";
    told(&heard(&[], "bye", Ended::Code(0)), Word::Garbage, 1, garbage);
    let absent = "the probe of torch could not be started: not found";
    told(&heard(&[], "", Ended::NotStarted("not found".into())), Word::NotRun, 2, absent);
}

#[test]
fn an_answer_that_is_not_whole() {
    let mut events = good();
    events.pop();
    let through = "the probe ended without having said that it is through";
    told(&heard(&events, "", Ended::Code(0)), Word::Garbage, 1, through);
    told(&heard(&events[..1], "", Ended::Code(0)), Word::Garbage, 1, through);
    let mut transcript = heard(&good(), "", Ended::Code(0));
    transcript.unreadable = Some("{\"event\":".into());
    told(&transcript, Word::Garbage, 1, "the probe said something that is no answer: {\"event\":");
    but(
        |events| {
            let Event::Hello(hello) = &mut events[0] else { panic!() };
            hello.protocol = 2;
        },
        Word::Garbage,
        1,
        "the probe speaks protocol 2 for torch, and was asked in 1 about torch",
    );
}

#[test]
fn several_answers_have_the_class_that_matters_most() {
    let of = |words: &[Word]| Class::of_all(words.iter().copied()).code();
    assert_eq!(of(&[]), 2);
    assert_eq!(of(&[Word::Ok, Word::Ok]), 0);
    assert_eq!(of(&[Word::Ok, Word::NoDevice]), 2);
    assert_eq!(of(&[Word::Hung, Word::CannotLoad, Word::Ok]), 1);
    assert_eq!(of(&[Word::CannotLoad, Word::Nan, Word::Hung]), 3);
}

#[test]
fn every_word_is_written_as_it_is_said() {
    for (at, word) in Word::ALL.into_iter().enumerate() {
        assert_eq!(serde_json::to_value(word).unwrap(), word.as_str());
        assert!(at == 0 || Word::ALL[at - 1] < word);
    }
    assert_eq!(Word::ALL.last(), Some(&Word::Ok));
}
