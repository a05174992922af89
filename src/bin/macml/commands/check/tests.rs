//! Arguments as a job, and made outcomes as people, programs and GitHub read them.
#![expect(clippy::disallowed_methods, reason = "tests may look at the world")]

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Parser as _;
use macml::diag::Finding;
use macml::diag::Source as Text;
use macml::knowledge::Circumstances;
use macml::pipeline::check::Because;
use macml::pipeline::check::Level as Looked;
use macml::pipeline::check::Of;
use macml::pipeline::check::On;
use macml::pipeline::check::Part;
use macml::pipeline::check::Sum;
use macml::pipeline::check::Told;
use macml::pipeline::check::Verdict;
use macml::pipeline::check::Word;
use macml::sys::Env;

use super::*;
use crate::args::GlobalArgs;
use crate::context::Terminal;

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    args: CheckArgs,
}

fn parse(line: &str) -> CheckArgs {
    Line::try_parse_from(["check"].into_iter().chain(line.split_whitespace())).unwrap().args
}

fn context_with(vars: &[(&str, &str)]) -> Context {
    let vars = vars.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Context::new(&GlobalArgs::default(), Env::from_map(vars, "/".into()), Terminal::No).unwrap()
}

fn context() -> Context {
    context_with(&[("HOME", "/home/x")])
}

fn refused(line: &str) -> String {
    let args = parse(line);
    let error = args.subject(&context()).err().or_else(|| args.policy().err()).expect(line);
    anstream::adapter::strip_str(&error.text()).to_string()
}

#[test]
fn arguments_become_a_subject() {
    let subject = |line: &str| parse(line).subject(&context()).unwrap();
    let Subject::Project { start, home, only, target, .. } = subject("--env tf --env default") else { panic!() };
    assert_eq!((start, home), ("/".into(), Some("/home/x".into())));
    assert_eq!((only, target), (vec!["tf".to_owned(), "default".to_owned()], None));
    let Subject::Project { target, .. } = subject("--target mac") else { panic!() };
    assert_eq!(target, Some("/mac".into()));

    let Subject::Lock(lock) = subject("--lock uv.lock") else { panic!() };
    assert_eq!((lock.file, lock.prefix), ("/uv.lock".into(), None));
    assert_eq!(lock.choice, Choice::default());
    assert_eq!(
        (lock.declared.macos, lock.declared.chip.to_string(), lock.declared.gpu),
        (None, "m1".into(), Gpu::Required)
    );
    let Subject::Lock(lock) = subject(
        "--lock uv.lock --prefix env --full --macos 14.0 --chip m3 --gpu optional --python 3.12 --extra a --group b \
         --no-default-groups --package c",
    ) else {
        panic!()
    };
    assert_eq!(lock.prefix, Some("/env".into()));
    assert_eq!(lock.declared.macos.unwrap().to_string(), "14.0");
    assert_eq!((lock.declared.chip.to_string(), lock.declared.gpu), ("m3".to_owned(), Gpu::Optional));
    assert_eq!(lock.declared.python.unwrap().to_string(), "3.12");
    assert_eq!(lock.choice.extras, Chosen::Named(vec!["a".parse().unwrap()]));
    assert_eq!(lock.choice.groups, Chosen::Named(vec!["b".parse().unwrap()]));
    assert_eq!((lock.choice.members, lock.choice.default_groups), (vec!["c".parse().unwrap()], false));
    let Subject::Lock(lock) = subject("--lock uv.lock --all-extras --all-groups") else { panic!() };
    assert_eq!((lock.choice.extras, lock.choice.groups), (Chosen::All, Chosen::All));
    assert!(matches!(subject("--prefix env --full"), Subject::Prefix { root, .. } if root == Path::new("/env")));
}

#[test]
fn what_says_nothing_there_is_refused_with_a_hint() {
    let check = |line: &str, text: &str, hint: &str| {
        let error = refused(line);
        assert!(error.starts_with(&format!("error: {text}")), "{line}: {error}");
        assert!(error.contains(&format!("\nhint: {hint}")), "{line}: {error}");
    };
    check(
        "--lock l --env a",
        "`--env` names environments of macml.toml, and with `--lock` none is read",
        "leave `--env`",
    );
    check("--prefix p --env a", "`--env` names environments of macml.toml, and with `--prefix` none is read", "leave");
    check(
        "--prefix p --target t",
        "`--target` names what `macml sync` staged, and with `--prefix` no",
        "`--prefix DIR` takes",
    );
    for flag in ["--extra x", "--all-extras", "--group x", "--all-groups", "--no-default-groups", "--package x"] {
        let name = flag.split(' ').next().unwrap();
        let text = format!("`{name}` says what of another tool's lock is taken, and there is no `--lock`");
        check(flag, &text, "`--lock FILE` names it");
        check(&format!("--prefix p {flag}"), &text, "`--lock FILE` names it");
    }
    for flag in ["--macos 14.0", "--chip m2", "--gpu optional", "--python 3.13"] {
        let name = flag.split(' ').next().unwrap();
        check(
            flag,
            &format!("`{name}` goes with `--lock FILE` or `--prefix DIR`: in a project macml.toml declares it"),
            "`--on m5,27.0` asks about another Mac",
        );
    }
    check(
        "--lock l --full",
        "`--full` reads the files of an environment, and `--lock` has none",
        "`--prefix DIR` names",
    );
    check("--prefix p --wheels", "`--wheels` is about locked files, and `--prefix` alone has no lock", "`--lock FILE`");
    check("--prefix p --index", "`--index` is about locked files", "`--lock FILE`");
    check("--target t --env a", "what `--target` names says itself of which environment it is", "leave `--env` out");
    check("--deny newly-know", "`--deny`: there is no finding called `newly-know`", "did you mean `newly-known`?");
    check("--allow zzz", "`--allow`: there is no finding called `zzz`", "each finding is printed with its name");
    check("--deny undecided --allow undecided", "`undecided` is both denied and allowed", "leave one of the two out");
}

#[test]
fn the_variable_knows_one_format_more_here() {
    let context = context_with(&[("HOME", "/home/x"), ("MACML_OUTPUT_FORMAT", "github")]);
    assert_eq!(context.format_of::<Format>(None).unwrap(), Some(Format::Github));
    assert_eq!(context.format_of(Some(Format::Text)).unwrap(), Some(Format::Text));
    let error = context.format(None).unwrap_err();
    assert_eq!(error.hints, ["use `text` or `json`"]);
    let context = context_with(&[("HOME", "/home/x"), ("MACML_OUTPUT_FORMAT", "xml")]);
    assert_eq!(context.format_of::<Format>(None).unwrap_err().hints, ["use `text`, `json` or `github`"]);
}

fn of(env: &str, platform: Platform, on: Option<(&str, &str, Because)>) -> Option<Of> {
    let on = on.map(|(chip, macos, because)| On {
        mac: Circumstances { macos: macos.parse().unwrap(), chip: chip.parse().unwrap(), gpu: Gpu::Required },
        because,
    });
    Some(Of { env: env.to_owned(), platform, python: "3.13".parse().unwrap(), on })
}

fn part(level: Looked, of: Option<Of>, word: Word, sum: Sum, told: Vec<Told>) -> Part {
    Part { level, of, word, otherwise: word, sum, told, took: Duration::from_millis(5) }
}

fn libraries(images: usize, wheels: usize) -> Sum {
    Sum::Libraries { images, wheels, fetched: (0, 0), unread: (0, 0), without: 0 }
}

fn done(line: &str, parts: Vec<Part>, findings: Vec<Finding>) -> Done {
    let args = parse(line);
    let policy = args.policy().unwrap();
    let subject = args.subject(&context()).unwrap();
    let (mut parts, mut findings) = (parts, findings);
    policy.apply(&mut parts, &mut findings);
    let here = Some(Platform::LinuxX86_64);
    let verdict = policy.verdict(&parts, &findings, here);
    let lock = match &subject {
        Subject::Project { .. } => Some("/p/macml.lock".into()),
        Subject::Lock(lock) => Some(lock.file.clone()),
        Subject::Prefix { .. } => None,
    };
    Done {
        job: Job {
            subject,
            on: args.on,
            wheels: args.wheels,
            index: args.index,
            level: contents::Level::Times,
            policy,
            host: None,
            here,
            cache: None,
            now: SystemTime::UNIX_EPOCH,
        },
        outcome: Outcome {
            lock,
            parts,
            findings,
            manifest: Some(Text { name: "/p/macml.toml".to_owned(), text: "[target]\nchip = \"m1\"\n".to_owned() }),
            source: None,
            lines: BTreeMap::from([("torch".parse().unwrap(), ("/p/macml.lock".into(), 12))]),
            verdict,
            took: Duration::from_millis(48),
        },
    }
}

/// A context in /p, where the project is; the paths are not there.
fn in_project(vars: &[(&str, &str)]) -> Context {
    let mut context = context_with(&[&[("HOME", "/home/x")], vars].concat());
    context.cwd = "/p".into();
    context
}

fn plain(done: &Done, level: Level) -> String {
    anstream::adapter::strip_str(&text::text(done, &in_project(&[]), level)).to_string()
}

const FLOOR: (&str, &str, Because) = ("m1", "14.0", Because::Floor);
const MAC: Platform = Platform::MacosArm64;

fn whole() -> Part {
    part(Looked::Lock, None, Word::Current, Sum::Releases(58), Vec::new())
}

fn environment(word: Word, told: Vec<Told>) -> Part {
    let sum = Sum::Environment { root: "/p/.venv".into(), files: 16_902, hashed: 0, digest: None };
    part(Looked::Environment, of("default", MAC, None), word, sum, told)
}

fn known(name: &str) -> Told {
    Told {
        finding: Finding::note(Code::KnownLimit, format!("`{name}` is slow")),
        package: Some(name.parse().unwrap()),
        path: None,
    }
}

fn problem(name: &str) -> Told {
    let finding = Finding::warning(Code::KnownProblem, format!("of {name}"));
    Told { finding, package: Some(name.parse().unwrap()), path: None }
}

fn missing(file: usize) -> Told {
    Told {
        finding: Finding::error(Code::LibraryMissing, format!("`torch/lib/{file}.dylib` is not there"))
            .noting("Library not loaded: @rpath/x.dylib")
            .hinting("`macml sync` brings it back"),
        package: Some("torch".parse().unwrap()),
        path: Some(format!("torch/lib/{file}.dylib")),
    }
}

#[test]
fn success_is_short() {
    let parts = vec![
        whole(),
        environment(Word::AsLocked, Vec::new()),
        part(Looked::Libraries, of("default", MAC, Some(FLOOR)), Word::Load, libraries(111, 38), Vec::new()),
        part(
            Looked::Knowledge,
            of("default", MAC, Some(FLOOR)),
            Word::Clean,
            Sum::Releases(58),
            vec![problem("torch"), problem("mlx")],
        ),
        part(Looked::Environment, of("tf", Platform::LinuxX86_64, None), Word::Absent, Sum::Nothing, Vec::new()),
        part(Looked::Environment, of("tf", MAC, None), Word::Absent, Sum::Nothing, Vec::new()),
        part(Looked::Libraries, of("tf", Platform::LinuxX86_64, None), Word::NotForMacs, Sum::Nothing, Vec::new()),
    ];
    let text = plain(&done("", parts, Vec::new()), Level::Normal);
    assert_eq!(
        text,
        "\
macml.lock    current, 2 environments, 58 packages
default on macos-arm64, Python 3.13
  environment   as locked: 16,902 files
  libraries     111 images of 38 packages load together on macOS 14.0 (m1)
  knowledge     2 known problems at the floor
    warning[known-problem]: of torch
    warning[known-problem]: of mlx
tf on linux-x86_64, Python 3.13
  environment   not looked at: there is none; `macml sync --env tf` makes it
  libraries     not looked at: only those of Macs are judged
tf on macos-arm64, Python 3.13
  environment   not looked at: there is none on this machine; `macml sync --env tf --target DIR --platform macos-arm64` \
         stages one, and `--target DIR` looks at it
check passed: 2 warnings, 1 not looked at, 48 ms
"
    );
}

#[test]
fn failure_is_complete_and_grouped() {
    let told: Vec<Told> = (0..17).map(missing).collect();
    let parts = vec![
        whole(),
        part(Looked::Libraries, of("default", MAC, Some(FLOOR)), Word::DoNotLoad, libraries(111, 38), told),
    ];
    let done = done("", parts, vec![Finding::warning(Code::UnknownRule, "no such rule").at((9..13).into(), "here")]);
    let text = plain(&done, Level::Normal);
    assert!(
        text.contains("  libraries     111 images of 38 packages do not load together on macOS 14.0 (m1)\n"),
        "{text}"
    );
    assert_eq!(text.matches("    error[library-missing]: ").count(), 5, "{text}");
    assert!(text.contains("\n    and 12 more of `torch` [library-missing], which `-v` tells\n"), "{text}");
    assert!(text.contains("note: Library not loaded: @rpath/x.dylib"), "{text}");
    assert!(text.contains("warning[unknown-rule]: no such rule\n   --> macml.toml:2:1"), "{text}");
    assert!(text.ends_with("\ncheck failed: 17 errors, 1 warning, 48 ms\n"), "{text}");
    let verbose = plain(&done, Level::Verbose);
    assert_eq!(verbose.matches("    error[library-missing]: ").count(), 17);
    let quiet = anstream::adapter::strip_str(&text::errors(&done, &in_project(&[]))).to_string();
    assert!(quiet.starts_with("error[library-missing]"), "{quiet}");
    assert!(!quiet.contains("warning") && !quiet.contains("check failed"), "{quiet}");
}

#[test]
fn several_macs_stand_apart() {
    let asked = ("m5", "27.0", Because::Asked);
    let parts = vec![
        whole(),
        part(Looked::Libraries, of("default", MAC, Some(FLOOR)), Word::Load, libraries(1, 1), Vec::new()),
        part(Looked::Knowledge, of("default", MAC, Some(FLOOR)), Word::Clean, Sum::Nothing, Vec::new()),
        part(
            Looked::Knowledge,
            of("default", MAC, Some(asked)),
            Word::Condemned,
            Sum::Nothing,
            vec![Finding::error(Code::NewlyKnown, "torch has no GPU there").into(), problem("torch")],
        ),
        environment(Word::AsLocked, Vec::new()),
    ];
    let text = plain(&done("--on m5,27.0", parts, Vec::new()), Level::Normal);
    let expected = "\
default on macos-arm64, Python 3.13
  environment   as locked: 16,902 files
  for m1, macOS 14.0 (the floor)
    libraries     1 image of 1 package loads on macOS 14.0 (m1)
    knowledge     nothing known speaks against it at the floor
  for m5, macOS 27.0 (--on)
    knowledge     condemned there by what is known; 1 known problem there
      error[newly-known]: torch has no GPU there
      warning[known-problem]: of torch
check failed: 1 error, 1 warning, 48 ms
";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn what_was_not_read_says_how() {
    let unread = Sum::Libraries { images: 0, wheels: 28, fetched: (0, 0), unread: (12, 412_000_000), without: 0 };
    let parts =
        || vec![part(Looked::Libraries, of("uv.lock", MAC, Some(FLOOR)), Word::Unread, unread.clone(), Vec::new())];
    let text = plain(&done("--lock uv.lock", parts(), Vec::new()), Level::Normal);
    let line = "  libraries     not looked at: 12 of 40 wheels were never read: `--wheels` fetches them, 412.0 MB\n";
    assert!(text.contains(line), "{text}");
    assert!(text.ends_with("check passed: 1 not looked at, 48 ms\n"), "{text}");
    let strict = plain(&done("--lock uv.lock --strict", parts(), Vec::new()), Level::Normal);
    assert!(strict.ends_with("check failed: 1 not looked at (--strict), 48 ms\n"), "{strict}");
    let asked = plain(&done("--lock uv.lock --wheels", parts(), Vec::new()), Level::Normal);
    assert!(asked.contains("12 of 40 wheels could not be read\n"), "{asked}");
    // What has no wheel is nothing that could be fetched.
    for (unread, without, said) in [
        ((0, 0), 1, "1 of 29 packages has no wheel to read\n"),
        ((1, 0), 2, "1 of 29 wheels was never read: `--wheels` fetches it; 2 of 31 packages have no wheel to read\n"),
    ] {
        let sum = Sum::Libraries { images: 0, wheels: 28, fetched: (0, 0), unread, without };
        let parts = vec![part(Looked::Libraries, of("uv.lock", MAC, Some(FLOOR)), Word::Unread, sum, Vec::new())];
        let text = plain(&done("--lock uv.lock", parts, Vec::new()), Level::Normal);
        assert!(text.contains(&format!("not looked at: {said}")), "{text}");
    }
}

#[test]
fn no_word_promises_that_it_works() {
    for word in Word::ALL {
        for level in [Looked::Lock, Looked::Index, Looked::Environment, Looked::Libraries, Looked::Knowledge] {
            for sum in [Sum::Nothing, Sum::Releases(1), Sum::Files(2), libraries(0, 0), libraries(3, 2)] {
                let parts = vec![part(level, of("default", MAC, Some(FLOOR)), word, sum, Vec::new())];
                let done = done("", parts, Vec::new());
                let text = plain(&done, Level::Verbose);
                assert!(!text.contains(" work"), "{text}");
                let quiet = text::errors(&done, &in_project(&[]));
                assert_eq!(quiet.is_empty(), done.outcome.verdict.code() == 0, "{quiet}");
            }
        }
    }
}

#[test]
fn annotations_point_into_the_repository() {
    let mut other = missing(0);
    other.package = Some("mlx".parse().unwrap());
    let parts = vec![
        whole(),
        part(
            Looked::Libraries,
            of("default", MAC, Some(FLOOR)),
            Word::DoNotLoad,
            libraries(1, 1),
            vec![missing(1), other, known("torch")],
        ),
        part(
            Looked::Libraries,
            of("default", MAC, Some(("m5", "27.0", Because::Asked))),
            Word::DoNotLoad,
            libraries(1, 1),
            vec![missing(1)],
        ),
    ];
    let about = Finding::warning(Code::UnknownRule, "100% wrong,\nhttps://me:pw@h/x").at((9..13).into(), "");
    let done = done("", parts, vec![about]);
    let outside = github::annotations(&done, &in_project(&[("GITHUB_WORKSPACE", "/elsewhere")]), Level::Normal);
    assert!(!outside.contains("file="), "{outside}");
    let text = github::annotations(&done, &in_project(&[("GITHUB_WORKSPACE", "/")]), Level::Normal);
    let expected = "\
::error file=p/macml.lock,line=12,title=library-missing::`torch/lib/1.dylib` is not there%0ALibrary not loaded: \
@rpath/x.dylib%0A`macml sync` brings it back%0A(default on macos-arm64, macOS 14.0 (m1) and 1 more)
::error file=p/macml.lock,title=library-missing::`torch/lib/0.dylib` is not there%0ALibrary not loaded: \
@rpath/x.dylib%0A`macml sync` brings it back%0A(default on macos-arm64, macOS 14.0 (m1))
::warning file=p/macml.toml,line=2,col=1,title=unknown-rule::100%25 wrong,%0Ahttps://*****@h/x
";
    assert_eq!(text, expected);
    let verbose = github::annotations(&done, &in_project(&[]), Level::Verbose);
    assert!(verbose.contains("\n::notice file=macml.lock,line=12,title=known-limit::`torch` is slow"), "{verbose}");
    let quiet = github::annotations(&done, &in_project(&[]), Level::Quiet);
    assert!(quiet.lines().all(|line| line.starts_with("::error ")) && quiet.lines().count() == 2, "{quiet}");
}

#[test]
fn no_more_annotations_than_are_shown() {
    let told: Vec<Told> = (0..40).map(missing).collect();
    let parts = vec![part(Looked::Libraries, of("default", MAC, Some(FLOOR)), Word::DoNotLoad, libraries(1, 1), told)];
    let text = github::annotations(&done("", parts, Vec::new()), &in_project(&[]), Level::Normal);
    assert_eq!(text.lines().count(), 10);
    assert!(
        text.ends_with("\n::error title=macml check::31 more errors: the log of this step has them all\n"),
        "{text}"
    );
}

#[test]
fn a_no_without_findings_is_annotated_too() {
    let stale = part(Looked::Lock, None, Word::Stale, Sum::Releases(58), Vec::new());
    let text = github::annotations(&done("", vec![stale], Vec::new()), &in_project(&[]), Level::Normal);
    assert_eq!(text, "::error file=macml.lock,title=stale::lock: stale, 58 packages\n");
}

#[test]
fn a_failure_is_annotated() {
    let error = CommandError::usage("no `macml.toml`\n::error::forged").hint("go there");
    let text = github::failure(&error, &in_project(&[]));
    assert_eq!(text, "::error title=macml check::no `macml.toml`%0A::error::forged%0Ago there\n");
}

#[test]
fn the_summary_of_the_job_is_appended_to() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("summary.md");
    std::fs::write(&file, "before\n").unwrap();
    let context = in_project(&[("GITHUB_STEP_SUMMARY", file.to_str().unwrap())]);
    let printer = Printer::new(
        crate::printer::Colors { stdout: anstream::ColorChoice::Never, stderr: anstream::ColorChoice::Never },
        Level::Normal,
    );
    let mut evil = missing(1);
    evil.finding.message = "`a|b<img src=x>`\n# [x](https://me:pw@h/)".to_owned();
    let mut parts = vec![whole()];
    parts.extend((0..150).map(|_| {
        let told = vec![evil.clone()];
        part(Looked::Libraries, of("de|fault", MAC, Some(FLOOR)), Word::DoNotLoad, libraries(1, 1), told)
    }));
    github::summarize(&done("", parts, Vec::new()), &context, &printer);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("before\n### macml check failed: 150 errors\n\n| | level |"), "{text}");
    assert!(text.contains("| ✅ | lock |  |  | current, 1 environment, 58 packages |\n"), "{text}");
    assert!(
        text.contains("| ❌ | libraries | de&#124;fault on macos-arm64 | m1, macOS 14&#46;0 | 1 image of"),
        "{text}"
    );
    assert!(text.contains("\nand 51 more\n") && text.len() < 32_000, "{}", text.len());
    assert_eq!(text.matches("- library-missing: ").count(), 1, "{text}");
    assert!(!text.contains("<img") && !text.contains("pw@") && !text.contains("\n# "), "{text}");
}

#[test]
fn the_report_is_as_its_schema_says() {
    let digest = "0".repeat(64).parse().unwrap();
    let sum = Sum::Environment { root: "/p/.venv".into(), files: 2, hashed: 2, digest: Some(digest) };
    let parts = vec![
        whole(),
        part(Looked::Environment, of("default", MAC, None), Word::AsLocked, sum, Vec::new()),
        part(Looked::Libraries, of("default", MAC, Some(FLOOR)), Word::DoNotLoad, libraries(1, 1), vec![missing(1)]),
    ];
    let done = done("", parts, vec![Finding::warning(Code::UnknownRule, "no such rule").at((9..13).into(), "")]);
    let json = serde_json::to_value(Report::new(&done, &in_project(&[]))).unwrap();
    assert_eq!(
        (&json["verdict"], &json["exit-code"], &json["lock"]),
        (&"do-not-load".into(), &1.into(), &"macml.lock".into())
    );
    assert_eq!((&json["counts"]["errors"], &json["counts"]["warnings"]), (&1.into(), &1.into()));
    assert_eq!(json["parts"][1]["digest"], "0".repeat(64));
    let finding = &json["parts"][2]["findings"][0];
    assert_eq!((&finding["file"], &finding["line"]), (&"macml.lock".into(), &12.into()));
    assert_eq!((&finding["package"], &finding["path"]), (&"torch".into(), &"torch/lib/1.dylib".into()));
    assert_eq!(json["parts"][2]["mac"]["because"], "floor");
    assert_eq!(json["findings"][0]["places"][0]["file"], "macml.toml");

    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/check.schema.json");
    let schema: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("check.json", schema).unwrap();
    let mut schemas = boon::Schemas::new();
    let index = compiler.compile("check.json", &mut schemas).unwrap();
    let failed = serde_json::to_value(Report::failed(&CommandError::usage("no"))).unwrap();
    for report in [&json, &failed] {
        schemas.validate(report, index).map_err(|error| format!("{error:#}")).unwrap();
    }
}

#[test]
fn a_denied_finding_about_the_manifest_fails() {
    let about = Finding::warning(Code::UnknownRule, "no such rule");
    let done = done("--deny unknown-rule", vec![whole()], vec![about]);
    assert_eq!((done.outcome.verdict, done.outcome.verdict.code()), (Verdict::Denied, 1));
    assert!(plain(&done, Level::Normal).ends_with("check failed: 1 error, 48 ms\n"));
}

#[test]
fn why_a_step_failed_is_annotated_and_told_in_quiet() {
    let unsure = || {
        let told = vec![Finding::warning(Code::Undecided, "the index did not answer").into(), known("torch")];
        vec![whole(), part(Looked::Index, None, Word::Unsure, Sum::Files(58), told)]
    };
    let of_unsure = done("", unsure(), Vec::new());
    assert_eq!(of_unsure.outcome.verdict.code(), 2);
    let quiet = anstream::adapter::strip_str(&text::errors(&of_unsure, &in_project(&[]))).to_string();
    assert_eq!(quiet, "warning[undecided]: the index did not answer\n");
    let text = plain(&of_unsure, Level::Normal);
    assert!(text.contains("\nindex         unsure: 58 files, 1 note (-v)\n  warning[undecided]: the index"), "{text}");
    assert!(text.ends_with("\ncheck could not tell: 1 warning, 48 ms\n"), "{text}");
    let text = github::annotations(&of_unsure, &in_project(&[]), Level::Normal);
    assert!(text.starts_with("::error file=macml.lock,title=unsure::index: unsure: 58 files"), "{text}");
    assert!(text.contains("\n::warning file=macml.lock,title=undecided::the index did not answer\n"), "{text}");

    let warned = vec![part(
        Looked::Libraries,
        of("default", MAC, Some(FLOOR)),
        Word::Load,
        libraries(2, 1),
        vec![Finding::warning(Code::SeveralOpenmp, "two").into()],
    )];
    let strict = done("--strict", warned, Vec::new());
    let text = github::annotations(&strict, &in_project(&[]), Level::Normal);
    assert!(text.starts_with("::error title=macml check::check failed: 1 warning (--strict)\n::warning "), "{text}");
}
