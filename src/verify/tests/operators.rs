//! From what was measured of operators to an outcome each. What torch says on MPS is taken from
//! https://github.com/pytorch/pytorch/issues/77764 and https://github.com/pytorch/pytorch/issues/141287.

use super::*;
use crate::verify::protocol::{AT, At, Fallback, Operator, Pass, Planned, Skipped, Why};
use crate::verify::{Outcome, Tried, Verdict, Word, judge, remaining, tally, tried};

/// The warning of torch 2.13 for an operator that it computes on the CPU.
fn warning(operator: &str) -> String {
    format!(
        "Warning: The operator '{operator}' is not currently supported on the MPS backend and will fall back to run on \
         the CPU. This may have performance implications. (function operator())"
    )
}

fn operator(name: &str, pass: Pass) -> Operator {
    Operator {
        name: name.into(),
        pass,
        element: Some(ElementType::Float32),
        shapes: vec![vec![2, 3, 7, 6]],
        elements: 378,
        max_abs: Some(2e-7),
        max_rel: Some(1e-7),
        worst: vec![1, 1, 8, 6],
        seconds: 0.001,
        ..Operator::default()
    }
}

fn names(all: &[&str]) -> Vec<String> {
    all.iter().map(|&name| name.to_owned()).collect()
}

fn at(id: &str) -> Event {
    Event::At(At { id: id.into(), element: None, round: 0 })
}

fn done() -> Event {
    Event::Done(Done { seconds: 9.0, device_bytes: None })
}

/// What is heard of a probe that was asked for these operators (none are all), planned these and said the rest.
fn said(asked: &[&str], planned: &[&str], rest: Vec<Event>, stderr: &str, ended: Ended) -> Transcript {
    let mut events = vec![hello("2.13.0"), Event::Device(m1())];
    events.push(Event::Planned(Planned { operators: names(planned) }));
    events.extend(rest);
    let lines: Vec<String> = events.iter().map(Event::to_line).collect();
    let mut request = request();
    (request.questions, request.operators) = (vec![Question::Operators], names(asked));
    let stdout = lines.join("\n");
    let printed = Printed { stdout: stdout.as_bytes(), stderr: stderr.as_bytes() };
    Transcript::read(ProbeKind::Python, request, printed, ended)
}

/// Judges what came of one operator of the default list.
fn one(change: impl FnOnce(&mut Operator)) -> (Tried, Verdict) {
    let mut told = operator("interpolate[bicubic]", Pass::Forward);
    change(&mut told);
    let name = told.name.clone();
    let transcript = said(&[], &[&name], vec![Event::Operator(told), done()], "", Ended::Code(0));
    let text = serde_json::to_string(&transcript).unwrap();
    assert_eq!(serde_json::from_str::<Transcript>(&text).unwrap(), transcript);
    let mut all = tried(&transcript);
    assert_eq!(all.len(), 1);
    (all.remove(0), judge(&transcript))
}

#[track_caller]
fn outcome(change: impl FnOnce(&mut Operator), outcome: Outcome, word: Word, code: u8, sentence: &str) {
    let (tried, verdict) = one(change);
    assert_eq!((tried.outcome, tried.word), (outcome, word), "{tried:?}");
    assert_eq!((verdict.word, verdict.word.class().code()), (word, code));
    let first = verdict.problems.first().map_or("", |problem| &problem.sentence);
    assert_eq!(first, sentence);
    assert_eq!(
        verdict.problems.first().and_then(|one| one.id.as_deref()),
        (word != Word::Ok).then_some(tried.name.as_str())
    );
    assert_eq!(verdict.notes, [format!("operators: 1 {outcome}")]);
}

#[test]
fn one_that_is_supported() {
    outcome(|_| {}, Outcome::Supported, Word::Ok, 0, "");
    let (tried, verdict) = one(|_| {});
    assert_eq!((tried.title(), tried.why, tried.error), ("`interpolate[bicubic]`".into(), None, Some(1e-7)));
    assert_eq!((verdict.compared, verdict.largest[&ElementType::Float32].id.as_str()), (1, "interpolate[bicubic]"));
    // Random numbers are compared with nothing.
    let random = |one: &mut Operator| (one.max_rel, one.not_compared) = (None, Some("random".into()));
    outcome(random, Outcome::Supported, Word::Ok, 0, "");
    assert_eq!(one(random).0.why.as_deref(), Some("not compared: random"));
    // A result may have no elements.
    outcome(|one| (one.elements, one.max_rel) = (0, Some(0.0)), Outcome::Supported, Word::Ok, 0, "");
}

#[test]
fn one_that_is_wrong() {
    let named = "`interpolate[bicubic]` in float32:";
    let off =
        format!("{named} off by 1.0e-3 of its scale, most at [1, 1, 8, 6]; 1.0e-4 is allowed, operands [2, 3, 7, 6]");
    outcome(|one| one.max_rel = Some(1e-3), Outcome::Wrong, Word::WrongNumbers, 3, &off);
    outcome(|one| one.nan = 5, Outcome::Wrong, Word::Nan, 3, &format!("{named} 5 of 378 elements are NaN"));
    // Nothing that random numbers may be either, and a wrong number weighs more than where it was computed.
    let random = |one: &mut Operator| (one.inf, one.max_rel, one.not_compared) = (1, None, Some("random".into()));
    outcome(random, Outcome::Wrong, Word::Nan, 3, &format!("{named} 1 of 378 elements are infinite"));
    let both =
        |one: &mut Operator| (one.max_rel, one.fallbacks) = (Some(1e-3), names(&["aten::upsample_bicubic2d.out"]));
    outcome(both, Outcome::Wrong, Word::WrongNumbers, 3, &off);
}

#[test]
fn one_that_fails() {
    let words = "NotImplementedError: The operator 'aten::max_pool3d_with_indices' is not currently implemented for the \
                 MPS device.\nIf you want this op to be added";
    let sentence = format!("`interpolate[bicubic]` backward in float32: {}", words.replace('\n', " "));
    let fails = |one: &mut Operator| (one.pass, one.error, one.max_rel) = (Pass::Backward, Some(words.into()), None);
    outcome(fails, Outcome::Fails, Word::Failed, 1, &sentence);
}

#[test]
fn one_that_falls_back() {
    let sentence = "`interpolate[bicubic]` in float32: `aten::upsample_bicubic2d.out` computed on the CPU instead of the \
                    device";
    let warned = |one: &mut Operator| one.fallbacks = names(&["aten::upsample_bicubic2d.out"]);
    outcome(warned, Outcome::Fallback, Word::Fallback, 1, sentence);
    let sentence = "`interpolate[bicubic]` in float32: computed on cpu instead of the device";
    outcome(|one| one.elsewhere = Some("cpu".into()), Outcome::Fallback, Word::Fallback, 1, sentence);
    // What TensorFlow has no kernel for.
    let looked_up = |one: &mut Operator| {
        (one.name, one.element, one.max_rel) = ("Svd".into(), None, None);
        (one.elsewhere, one.not_compared) = (Some("the CPU".into()), Some("there is no kernel for GPU".into()));
    };
    let sentence = "`Svd`: computed on the CPU instead of the device: there is no kernel for GPU";
    outcome(looked_up, Outcome::Fallback, Word::Fallback, 1, sentence);
}

/// Warnings of the backward pass reach standard error alone; the lines of [`AT`] there say of which operator they are.
#[test]
fn what_is_only_printed_belongs_to_the_operator_in_which_it_was_printed() {
    let (first, second) = ("linalg_svd", "interpolate[bicubic]");
    let told = Event::Fallback(Fallback {
        operator: "aten::_linalg_svd.U".into(),
        during: first.into(),
        message: warning("aten::_linalg_svd.U"),
    });
    let svd = Operator { fallbacks: names(&["aten::_linalg_svd.U"]), ..operator(first, Pass::Forward) };
    let events = vec![
        at(first),
        told,
        Event::Operator(svd),
        at(second),
        Event::Operator(operator(second, Pass::Forward)),
        at("interpolate[bicubic] backward"),
        Event::Operator(operator(second, Pass::Backward)),
        done(),
    ];
    let backward = "aten::upsample_bicubic2d_backward.grad_input";
    let stderr = [
        format!("{AT}{first}"),
        format!("User{}", warning("aten::_linalg_svd.U")),
        format!("{AT}{second}"),
        format!("{AT}{second} backward"),
        format!("[W1] {}", warning(backward)),
        format!("[W1] {}", warning(backward)),
        "bye".into(),
    ];
    let transcript = said(&[], &[first, second], events, &stderr.join("\n"), Ended::Code(0));
    let outcomes: Vec<Outcome> = tried(&transcript).iter().map(|one| one.outcome).collect();
    assert_eq!(outcomes, [Outcome::Fallback, Outcome::Supported, Outcome::Fallback]);
    let verdict = judge(&transcript);
    let sentences: Vec<&str> = verdict.problems.iter().map(|problem| problem.sentence.as_str()).collect();
    // Each once, though each was told or printed twice.
    assert_eq!(
        sentences,
        [
            "`linalg_svd` in float32: `aten::_linalg_svd.U` computed on the CPU instead of the device",
            &format!("`{second}` backward in float32: `{backward}` computed on the CPU instead of the device"),
        ]
    );
    assert_eq!(verdict.notes, ["operators: 1 supported, 2 fallback"]);
    // The lines that say where it was are for nobody to read.
    assert_eq!(transcript.printed.len(), 4);
}

#[test]
fn a_crash_or_a_hang_names_the_operator_and_what_is_left() {
    let planned = ["linalg_qr[reduced]", "grid_sample[3d,bilinear,zeros]", "ctc_loss[mean]"];
    let events = || {
        vec![
            at(planned[0]),
            Event::Operator(operator(planned[0], Pass::Forward)),
            at(planned[1]),
            Event::Operator(operator(planned[1], Pass::Forward)),
            at("grid_sample[3d,bilinear,zeros] backward"),
        ]
    };
    let stderr = "/x/MPSNDArray.mm:78: failed assertion `bad'";
    let crash = said(&[], &planned, events(), stderr, Ended::Signal(6));
    let verdict = judge(&crash);
    assert_eq!((verdict.word, verdict.problems.len()), (Word::Crashed, 1), "{:#?}", verdict.problems);
    assert_eq!(
        verdict.problems[0].sentence,
        "the probe was ended by signal 6 (abort) in the middle of `grid_sample[3d,bilinear,zeros] backward`: \
         /x/MPSNDArray.mm:78: failed assertion `bad'"
    );
    let hang = said(&[], &planned, events(), "", Ended::OutOfTime(300));
    let verdict = judge(&hang);
    assert_eq!((verdict.word, verdict.word.class().code()), (Word::Hung, 2));
    for (transcript, word) in [(&crash, Word::Crashed), (&hang, Word::Hung)] {
        let all = tried(transcript);
        let said: Vec<_> = all.iter().map(|one| (one.title(), one.outcome)).collect();
        let of = |name: &str, outcome| (format!("`{name}`"), outcome);
        let broken = ("`grid_sample[3d,bilinear,zeros]` backward".to_owned(), Outcome::Fails);
        let supported = Outcome::Supported;
        let left = of(planned[2], Outcome::NotTried);
        assert_eq!(said, [of(planned[0], supported), of(planned[1], supported), broken, left]);
        assert_eq!(all[2].word, word);
        assert_eq!(remaining(transcript), [planned[2]]);
        assert_eq!(tally(&all).as_deref(), Some("2 supported, 1 fails, 1 not-tried"));
    }
    // In the forward pass of one: nothing is left of it.
    let mut early = events();
    early.truncate(3);
    assert_eq!(remaining(&said(&[], &planned, early, "", Ended::Signal(11))), [planned[2]]);
}

#[test]
fn what_was_asked_for_by_name_has_to_be_tried() {
    let untried = |asked: Option<&str>| {
        let why = Some("torch 2.13.0 has no operator of this name".into());
        let one = Operator {
            name: "nonsense".into(),
            asked: asked.map(str::to_owned),
            not_tried: why,
            ..Operator::default()
        };
        vec![Event::Operator(one), done()]
    };
    let verdict = judge(&said(&["nonsense"], &["nonsense"], untried(Some("nonsense")), "", Ended::Code(0)));
    assert_eq!((verdict.word, verdict.word.class().code()), (Word::Incomplete, 1));
    let sentence = "`nonsense` was not tried: torch 2.13.0 has no operator of this name";
    assert_eq!(verdict.problems[0].sentence, sentence);
    let verdict = judge(&said(&[], &["nonsense"], untried(None), "", Ended::Code(0)));
    assert_eq!((verdict.word, verdict.problems.len()), (Word::Ok, 0));
    assert_eq!(verdict.notes, ["operators that were not tried: `nonsense`", "operators: 1 not-tried"]);
}

#[test]
fn what_the_time_did_not_suffice_for() {
    let skipped = Skipped { id: "linalg_qr".into(), element: None, why: Why::Time, error: None };
    let transcript = said(&[], &["linalg_qr"], vec![Event::Skipped(skipped), done()], "", Ended::Code(0));
    let all = tried(&transcript);
    assert_eq!((all[0].outcome, all[0].why.as_deref()), (Outcome::NotTried, Some("the time was over")));
    let verdict = judge(&transcript);
    assert_eq!(verdict.problems[0].sentence, "1 computation was not begun, because 240 s were over");
}

#[test]
fn a_probe_that_tries_no_operators() {
    let mut transcript = said(&["Conv2D"], &[], vec![done()], "", Ended::Code(0));
    (transcript.request.framework, transcript.request.release) = (Framework::Mlx, None);
    let Event::Hello(hello) = &mut transcript.events[0] else { panic!() };
    hello.framework = Framework::Mlx;
    transcript.events.retain(|event| !matches!(event, Event::Planned(_)));
    let verdict = judge(&transcript);
    assert_eq!(verdict.word, Word::Incomplete);
    let sentence = "`Conv2D` was not tried: the Python probe of mlx tries no operators";
    assert_eq!(verdict.problems[0].sentence, sentence);
    // By itself it is no fault of MLX's, and one of torch's.
    transcript.request.operators.clear();
    assert_eq!(judge(&transcript).word, Word::Ok);
    let nothing = said(&[], &[], vec![done()], "", Ended::Code(0));
    assert_eq!(judge(&nothing).problems[0].sentence, "no operator was tried");
}
