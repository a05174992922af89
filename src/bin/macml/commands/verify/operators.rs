//! `--ops`: which operators are meant, and what people are told of them.

use std::collections::BTreeSet;

use macml::operators;
use macml::operators::kernels;
use macml::operators::kernels::Later;
use macml::pipeline::verify::Answer;
use macml::pipeline::verify::Names;
use macml::verify::Outcome;
use macml::verify::Problem;
use macml::verify::Subject;
use macml::verify::Tried;
use macml::verify::protocol::Device;
use macml::verify::protocol::ElementType;
use macml::verify::protocol::Framework;

use crate::amount;
use crate::commands::ops::Word;
use crate::context::Context;
use crate::error::CommandError;
use crate::printer::BAD;
use crate::printer::GOOD;
use crate::printer::NAME;
use crate::printer::styled;

/// What is to be tried.
pub(super) struct Wanted {
    /// The operators; none for those that the probes know.
    pub(super) names: Vec<String>,
    /// What is worth knowing of how they were read.
    pub(super) notes: Vec<String>,
}

/// Reads the words behind `--ops`; `shown` is what the environment is called.
pub(super) fn wanted(
    words: &[String],
    subject: &Subject,
    shown: &str,
    context: &Context,
) -> Result<Wanted, CommandError> {
    let known = Names::inside(subject);
    if !known.can_try() {
        let error = CommandError::usage(format!("`{shown}` has neither torch nor TensorFlow"));
        return Err(error.hint("`--ops` tries operators of these two; without it all frameworks are verified"));
    }
    let are_names = |text: &str| {
        let words = operators::split(text);
        !words.is_empty() && words.iter().all(|word| known.is_name(word))
    };
    let mut wanted = Wanted { names: Vec::new(), notes: Vec::new() };
    for word in words {
        let found = match Word::read(word, &are_names, context)? {
            Word::Name(names) => operators::split(&names).into_iter().map(str::to_owned).collect(),
            Word::File { shown, text } => {
                let mentioned = operators::mentioned(&text, &|words| known.are_names(words));
                if mentioned.names.is_empty() {
                    let error = CommandError::usage(format!("`{shown}` names no operator"));
                    return Err(error.hint("write one or more a line, as `linalg_qr` or `torch.nn.LSTM`"));
                }
                if let Some(first) = mentioned.others.first() {
                    let lines = amount::count(mentioned.others.len(), "line");
                    wanted.notes.push(format!("{lines} of `{shown}` counted for nothing, the first: {first}"));
                }
                mentioned.names
            }
        };
        wanted.names.extend(found);
    }
    Ok(wanted)
}

/// Lists the operators of torch that have no kernel for a Mac's GPU in what was tried, with what is known of later ones.
pub(crate) fn without_kernel(answer: &Answer) -> Vec<(String, Later)> {
    // The tables are of that device.
    if answer.verdict.framework != Framework::Torch || answer.verdict.device != Device::Mps {
        return Vec::new();
    }
    let names: BTreeSet<&String> = answer.tried.iter().flat_map(|one| &one.lacking).collect();
    let later = |name: &String| (name.clone(), kernels::later(name, answer.installed.as_ref()));
    names.into_iter().map(later).collect()
}

/// Returns whether the table tells of a problem.
pub(super) fn tells(problem: &Problem, answer: &Answer) -> bool {
    let of = |one: &Tried, id: &str| one.name == id.strip_suffix(" backward").unwrap_or(id);
    let id = problem.id.as_deref();
    id.is_some_and(|id| answer.tried.iter().any(|one| one.outcome != Outcome::Supported && of(one, id)))
}

/// Lays out what is not supported, by outcome and then by reason; all of it where `every` is wanted.
pub(super) fn table(answer: &Answer, every: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for outcome in [Outcome::Wrong, Outcome::Fails, Outcome::Fallback, Outcome::NotTried, Outcome::Supported] {
        // Of the default list a note tells what was not tried.
        let wanted = |one: &&Tried| match one.outcome {
            Outcome::Supported => every,
            Outcome::NotTried => every || one.asked.is_some(),
            Outcome::Wrong | Outcome::Fails | Outcome::Fallback => true,
        };
        let all: Vec<&Tried> = answer.tried.iter().filter(|one| one.outcome == outcome).filter(wanted).collect();
        if all.is_empty() {
            continue;
        }
        let style = if outcome == Outcome::Supported { GOOD } else { BAD };
        lines.push(format!("  {}:", styled(style, outcome)));
        let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
        for one in all {
            let why = why(one);
            let title = title(one);
            match reasons.iter_mut().find(|(reason, _)| *reason == why) {
                Some((_, titles)) if outcome != Outcome::Supported => titles.push(title),
                _ => reasons.push((why, vec![title])),
            }
        }
        lines.extend(reasons.into_iter().map(|(why, titles)| format!("    {}: {why}", titles.join(", "))));
    }
    let without = without_kernel(answer);
    if !without.is_empty() {
        lines.push("  without a kernel for the GPU:".to_owned());
        lines.extend(without.into_iter().map(|(name, later)| match later {
            Later::Unknown => format!("    {}", styled(NAME, name)),
            known => format!("    {}  {known}", styled(NAME, name)),
        }));
    }
    lines
}

fn title(one: &Tried) -> String {
    match one.element {
        None | Some(ElementType::Float32) => one.title(),
        Some(element) => format!("{} in {element}", one.title()),
    }
}

fn why(one: &Tried) -> String {
    let error = one.error.map(|error| format!("error {error:.1e}"));
    one.why.clone().or(error).unwrap_or_else(|| "computed".to_owned())
}
