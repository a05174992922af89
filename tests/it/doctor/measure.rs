//! `--network`: indexes and mirrors on loopback, measured by the library with a short time for each, and by the verb.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use macml::doctor::Facts;
use macml::doctor::facts::Measured;
use macml::index::{Config, Mirror};
use macml::pipeline::doctor::measure;
use macml::sys::Env;

use crate::support::project::Project;
use crate::support::published::Published;
use crate::support::server::{Action, FakeIndex};

/// Makes an index with the package that is asked for.
fn index() -> FakeIndex {
    FakeIndex::from_published(&Published::default().with("sympy", "1.14.0", &[]))
}

/// Measures mirrors, and nothing that is built in.
fn measured(mirrors: &[String], limit: Duration) -> Vec<Measured> {
    let env = Env::from_map(BTreeMap::new(), "/".into());
    let mirrors = mirrors.iter().map(|url| Mirror::parse(url).unwrap()).collect();
    let config = Config { mirrors, mirror_only: true, ..Config::new(env) };
    let mut facts = Facts::default();
    measure(&mut facts, &config, limit);
    facts.network.measured
}

#[test]
fn each_is_told_with_what_is_wrong_with_it_and_none_keeps_the_others() {
    let [fine, slow, dead, absent, login, broken, hanging] = std::array::from_fn(|_| index());
    slow.behave(|how| how.delay = Duration::from_millis(250));
    absent.rule("/simple/sympy", usize::MAX, Action::Status(404));
    login.rule("/simple/sympy", usize::MAX, Action::Body("text/html".to_owned(), b"<title>Sign in</title>".to_vec()));
    broken.rule("/files/", usize::MAX, Action::Status(403));
    hanging.rule("/simple/sympy", usize::MAX, Action::Stall(0, Duration::from_secs(3)));
    let gone = dead.url().to_string();
    drop(dead);
    let urls = [&fine, &slow, &absent, &login, &broken, &hanging].map(|index| index.url().to_string());
    let began = Instant::now();
    let all = measured(&[&urls[..], &[gone]].concat(), Duration::from_millis(1600));
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    let [fine, slow, absent, login, broken, hanging, gone] = &all[..] else { panic!("{all:?}") };
    assert!(fine.name.starts_with("http://127.0.0.1:") && fine.error.is_none(), "{fine:?}");
    assert!(fine.bytes_per_second > slow.bytes_per_second && slow.bytes_per_second.is_some(), "{fine:?} {slow:?}");
    assert!(slow.page_ms.unwrap() >= 250 && slow.page_ms > fine.page_ms, "{slow:?}");
    assert!(absent.page_ms.is_some() && absent.bytes_per_second.is_none() && absent.error.is_none(), "{absent:?}");
    let says = |one: &Measured, part: &str| assert!(one.error.as_deref().unwrap_or_default().contains(part), "{one:?}");
    says(login, "no page of an index: it is HTML without links to packages, titled `Sign in`");
    says(broken, "its file was answered with status 403");
    assert!(broken.page_ms.is_some());
    says(hanging, "no answer in 1.6 s");
    assert!(gone.error.is_some() && gone.page_ms.is_none(), "{gone:?}");
}

#[test]
fn a_secret_in_an_address_is_sent_and_never_told() {
    let index = index();
    index.behave(|how| how.auth = Some(("me".to_owned(), "s3cret".to_owned())));
    let with = |user: &str| {
        let mut url = index.url();
        url.set_username("me").unwrap();
        url.set_password(Some(user)).unwrap();
        url.to_string()
    };
    let all = measured(&[with("s3cret")], Duration::from_secs(2));
    assert!(all[0].bytes_per_second.is_some(), "{all:?}");
    let refused = measured(&[with("s3cret?")], Duration::from_secs(2));
    assert_eq!(refused[0].error.as_deref(), Some("it answered with status 401"));
    assert!(!format!("{all:?}{refused:?}").contains("s3cret"));
}

#[test]
fn the_verb_names_the_fastest_and_the_line_that_adopts_it() {
    let [slow, fast] = std::array::from_fn(|_| index());
    slow.behave(|how| how.delay = Duration::from_millis(300));
    let project = Project::empty();
    let mirrors = format!("{} {}", slow.url(), fast.url());
    let vars = [("MACML_MIRROR", mirrors.as_str()), ("MACML_MIRROR_ONLY", "1")];
    let run = project.run_with(&vars, &["doctor", "--network"]);
    let line = format!("mirrors = [\"{}\"]", fast.url());
    for part in ["Speed of indexes and mirrors", "is the fastest, ", &line, "~/.config/macml/config.toml"] {
        assert!(run.stdout.contains(part), "{part}\n{}", run.stdout);
    }
    let json =
        project.run_with(&vars, &["doctor", "--network", "--output-format", "json"]).json_as("doctor.schema.json");
    assert_eq!(json["fastest"]["line"], line.as_str());
    assert_eq!(json["measured"].as_array().unwrap().len(), 2);
    // The facts have it too, and so has who reads them elsewhere.
    let facts = project.run_with(&vars, &["doctor", "--network", "--facts"]).stdout;
    project.write("facts.json", &facts);
    let asked = fast.requests().len();
    let again = project.run(&["doctor", "--host", "facts.json"]);
    assert!(again.stdout.contains("is the fastest, "), "{}", again.stdout);
    assert_eq!(fast.requests().len(), asked);
    let offline = project.run_with(&vars, &["doctor", "--network", "--offline", "--output-format", "json"]);
    assert_eq!(offline.json_as("doctor.schema.json")["measured"], serde_json::json!([]));
    assert_eq!(fast.requests().len(), asked);
}
