//! `macml explain`: from a code or a topic to its page, from an error text to its cause.

mod page;
mod text;

use std::path::Path;
use std::process::ExitCode;

use std::io::IsTerminal as _;

use macml::diag::Language;
use macml::diag::Page;
use macml::diag::Topic;
use macml::doctor::Facts;
use macml::explain;
use macml::explain::Explanation;
use macml::knowledge::Knowledge;
use macml::sys::fs;
use macml::sys::terminal;

use crate::args::FormatArg;
use crate::args::OutputArgs;
use crate::args::ReplayArgs;
use crate::characters;
use crate::commands::doctor;
use crate::context::Context;
use crate::error;
use crate::error::CommandError;
use crate::error::nearest;
use crate::printer::Printer;
use crate::report;
use crate::report::explain::Report;
use crate::tail::Tail;

pub(crate) use text::explanation;

/// How much is looked at to see whether it is a text.
const SNIFFED: usize = 4096;

/// How much of a text is looked at: its end.
const MOST: usize = 4 << 20;

/// Say what is behind an error text, or what a code or a topic is about
#[derive(clap::Args, Debug)]
#[command(after_help = "\
NAME is a code, such as no-gpu, as findings have it in their brackets, or a topic, such as slow; --list names them all. Its \
page says cause, how it shows on a Mac, and remedy. In a pipe it is Markdown.\n\n\
Otherwise the text of an error is explained: of a FILE, or of standard input, which `-` names too:\n\n\
    python train.py 2>&1 | macml explain\n\n\
The cause nearest the end is taken, with the line that says so; of a long text the last four to eight megabytes are looked at. What is \
known of this machine and of the project in reach counts too: the same text has another cause on another macOS. What is not \
known is called unknown. `macml run --explain COMMAND` does all that when a command fails.\n\n\
Exit code: 0 explained; 1 unknown; 2 there is no such name or text, or it cannot be read.")]
pub(crate) struct ExplainArgs {
    /// A code, a topic, or a file with the text of an error; `-` is standard input
    #[arg(value_name = "NAME|FILE|-")]
    what: Option<String>,

    /// The language of pages; what is said of the text of an error is in English [env: MACML_LANG] [default: that of the locale]
    #[arg(long, value_name = "LANGUAGE", value_enum)]
    lang: Option<LanguageArg>,

    /// List the codes and topics
    #[arg(long, conflicts_with = "what")]
    list: bool,

    /// Look at the text alone, not at this machine and the project
    #[arg(long, conflicts_with = "host")]
    no_project: bool,

    #[command(flatten)]
    replay: ReplayArgs,

    #[command(flatten)]
    output: OutputArgs,
}

/// `--lang`.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum LanguageArg {
    /// English.
    En,
    /// Chinese, in simplified characters.
    Zh,
}

/// What was asked for.
pub(crate) enum Answer {
    /// The names that there are.
    List,
    /// A page.
    Page(Page, Language),
    /// What is behind a text.
    Cause(Box<Explanation>),
    /// Nothing is known of a text of so many lines.
    Unknown(usize),
}

impl Answer {
    /// Returns the exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::List | Self::Page(..) | Self::Cause(_) => 0,
            Self::Unknown(_) => 1,
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: &ExplainArgs, context: &Context, printer: &Printer) -> ExitCode {
    let format = match context.format(args.output.format) {
        Ok(format) => format,
        Err(error) => return error.show(printer),
    };
    match (format, answer(args, context)) {
        (FormatArg::Text, Ok(answer)) => {
            let shown = match &answer {
                Answer::List => text::list(),
                Answer::Page(page, language) if std::io::stdout().is_terminal() => {
                    page::rendered(page.text(*language), printer.is_colored(), terminal::columns())
                }
                Answer::Page(page, language) => page.text(*language).to_owned(),
                Answer::Cause(found) => text::explanation(found, args.language(context)),
                Answer::Unknown(lines) => text::unknown(*lines),
            };
            error::finish(printer.result(&shown), answer.code(), printer)
        }
        (FormatArg::Json, Ok(answer)) => {
            error::finish(printer.data(&report::text(&Report::new(&answer))), answer.code(), printer)
        }
        (FormatArg::Text, Err(error)) => error.show(printer),
        (FormatArg::Json, Err(error)) => {
            error.show(printer);
            error::finish(printer.data(&report::text(&Report::failed(&error))), error.kind.code(), printer)
        }
    }
}

fn answer(args: &ExplainArgs, context: &Context) -> Result<Answer, CommandError> {
    if args.list {
        return Ok(Answer::List);
    }
    let recorded = context.recorded_facts()?;
    let text = match args.what.as_deref() {
        Some("-") => from_stdin()?,
        None if std::io::stdin().is_terminal() => {
            let error =
                CommandError::usage("there is nothing to explain: no name, no file, and no text on standard input");
            return Err(error
                .hint(
                    "`COMMAND 2>&1 | macml explain` explains what a command prints, `macml run --explain COMMAND` too",
                )
                .hint("`macml explain CODE` has a page on a code, `macml explain --list` the names of all"));
        }
        None => from_stdin()?,
        Some("") => return Err(CommandError::usage("there is nothing to explain: the name is empty")),
        Some(what) => match named(what) {
            Some(page) => return Ok(Answer::Page(page, args.language(context))),
            None => from_file(what, context)?,
        },
    };
    if text.bytes().iter().all(u8::is_ascii_whitespace) {
        let error = CommandError::usage("there is nothing to explain: the text is empty");
        return Err(error.hint("errors are printed to standard error: `COMMAND 2>&1 | macml explain`"));
    }
    if text.bytes().iter().take(SNIFFED).any(|byte| *byte == 0)
        && !text.bytes().starts_with(b"\xff\xfe")
        && !text.bytes().starts_with(b"\xfe\xff")
    {
        return Err(CommandError::usage("there is nothing to explain: that is no text")
            .hint("name the file that a program's messages went to"));
    }
    if text.bytes().starts_with(b"{") && text.bytes().windows(9).take(SNIFFED).any(|part| part == b"\"machine\"") {
        let error = CommandError::usage("that is a machine, not the text of an error");
        return Err(error.hint("`macml doctor --host FILE` says what is wrong with it"));
    }
    let facts = recorded.or_else(|| (!args.no_project).then(|| facts(context)));
    Ok(match cause(&text, facts.as_ref()) {
        Some(found) => Answer::Cause(Box::new(found)),
        None => Answer::Unknown(text.lines()),
    })
}

/// Finds the cause behind the end of a text; its lines are counted from the beginning.
pub(crate) fn cause(text: &Tail, facts: Option<&Facts>) -> Option<Explanation> {
    let mut found = explain::explain(text.bytes(), facts, &Knowledge::built_in())?;
    let before = text.lines_before();
    found.matched.line += before;
    found.others.iter_mut().for_each(|(_, matched)| matched.line += before);
    Some(found)
}

/// Looks at this machine and the project in reach.
pub(crate) fn facts(context: &Context) -> Facts {
    // Settings that cannot be read have nothing to do with the text.
    let config = context.config(false, &[]).ok();
    doctor::look(context, config.as_ref(), None, false)
}

impl ExplainArgs {
    fn language(&self, context: &Context) -> Language {
        match self.lang {
            Some(LanguageArg::En) => Language::English,
            Some(LanguageArg::Zh) => Language::Chinese,
            None => characters::language(&context.env),
        }
    }
}

/// Finds the page of a name, as it is typed or copied: `no-gpu`, `[no-gpu]`, `error[no-gpu]`.
fn named(what: &str) -> Option<Page> {
    let copied = ["error[", "warning[", "note[", "["].iter().find_map(|start| what.strip_prefix(start));
    let name = copied.map(|rest| rest.trim_end_matches([':', ']'])).unwrap_or(what);
    Page::named(name).or_else(|| Page::named(&name.to_ascii_lowercase()))
}

fn from_stdin() -> Result<Tail, CommandError> {
    let mut text = Tail::new(MOST);
    let read = fs::pieces(&mut std::io::stdin().lock(), u64::MAX, &mut |bytes| {
        text.take(bytes);
        Ok(())
    });
    read.map_err(|cause| unread("standard input", cause))?;
    Ok(text)
}

fn from_file(what: &str, context: &Context) -> Result<Tail, CommandError> {
    let path = context.cwd.join(what);
    match fs::kind(&path).map_err(CommandError::from_disk)? {
        Some(fs::Kind::Folder) => {
            let error = CommandError::usage(format!("`{what}` is a folder"));
            return Err(error.hint("name a file in it that has the text of an error"));
        }
        Some(_) => {}
        None => return Err(unknown_name(what)),
    }
    let file = fs::open(&path).map_err(CommandError::from_disk)?;
    let mut file = file.ok_or_else(|| unknown_name(what))?;
    let mut text = Tail::new(MOST);
    let read = fs::pieces(&mut file, u64::MAX, &mut |bytes| {
        text.take(bytes);
        Ok(())
    });
    read.map_err(|cause| unread(&format!("`{what}`"), cause))?;
    Ok(text)
}

/// A text that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("could not read {what}")]
struct Unread {
    what: String,
    #[source]
    cause: std::io::Error,
}

fn unread(what: &str, cause: std::io::Error) -> CommandError {
    CommandError::new(error::Kind::Disk, Unread { what: what.to_owned(), cause })
}

/// Makes the error for what is neither a name nor a file.
fn unknown_name(what: &str) -> CommandError {
    let is_path = what.contains('/') || Path::new(what).extension().is_some();
    if is_path {
        return CommandError::usage(format!("there is no file `{what}`"));
    }
    let known: Vec<String> = Page::all().map(|page| page.as_str().to_owned()).collect();
    let like = |name: &&String| {
        let typed = what.to_ascii_lowercase();
        name.split('-').any(|word| typed.split(['-', '_', ' ']).any(|typed| typed == word && word.len() > 2))
    };
    let mut near: Vec<String> = nearest(&what.to_ascii_lowercase(), &known).into_iter().cloned().collect();
    near.extend(known.iter().filter(like).filter(|name| !near.contains(name)).cloned().collect::<Vec<_>>());
    near.truncate(5);
    let error = CommandError::usage(format!("there is no code, topic or file `{what}`"));
    // Somebody may have typed the error itself.
    if what.contains(' ') {
        return error.hint("a text is read from a file or a pipe: `COMMAND 2>&1 | macml explain`");
    }
    match near.split_last() {
        Some((last, rest)) if !rest.is_empty() => {
            let rest: Vec<String> = rest.iter().map(|name| format!("`{name}`")).collect();
            error.hint(format!("did you mean {} or `{last}`?", rest.join(", ")))
        }
        Some((only, _)) => error.hint(format!("did you mean `{only}`?")),
        None => error.hint("`macml explain --list` names them all"),
    }
}

/// Lists the topics as words.
fn topics() -> String {
    Topic::ALL.iter().map(|topic| topic.as_str()).collect::<Vec<_>>().join(", ")
}
