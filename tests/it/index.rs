//! Asking indexes: a real client against a real server on loopback that misbehaves in every way we know.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use macml::index::source::{Answer, Ask, File, MetadataAnswer, Page, PageAnswer, Source as _};
use macml::index::{Config, IndexAddress, Mirror, OnlineSource};
use macml::pep::{Metadata, Sha256};
use macml::progress::Progress;
use macml::sys::Env;
use url::Url;

use crate::support::published::{Published, Rel};
use crate::support::server::{Action, Behaviour, FakeIndex, Format, MetadataFiles, Ranges};
use crate::support::socks::Socks;
use crate::support::wheel;

/// What a run of macml knows, before it asks.
pub(crate) struct Run {
    config: Config,
    notes: Arc<Notes>,
}

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Progress for Notes {
    fn note(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

impl Run {
    /// Asks `index` where PyPI would be asked.
    pub(crate) fn at(index: &Url) -> Self {
        let vars: BTreeMap<String, String> = BTreeMap::new();
        let mut config = Config::new(Env::from_map(vars, "/".into()));
        config.indexes = vec![IndexAddress { name: "pypi".to_owned(), url: index.clone() }];
        config.stall = Some(Duration::from_secs(5));
        Self { config, notes: Arc::default() }
    }

    fn var(mut self, name: &str, value: &str) -> Self {
        self.config.env = Env::from_map(BTreeMap::from([(name.to_owned(), value.to_owned())]), "/".into());
        self
    }

    fn vars(mut self, vars: &[(&str, &str)]) -> Self {
        let vars = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        self.config.env = Env::from_map(vars.collect(), "/".into());
        self
    }

    pub(crate) fn mirror(mut self, label: &str, url: &Url) -> Self {
        self.config.mirrors.push(Mirror { index: "pypi".to_owned(), label: label.to_owned(), url: url.clone() });
        self
    }

    pub(crate) fn cache(mut self, folder: &Path) -> Self {
        self.config.cache_dir = Some(folder.to_owned());
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }

    fn source(&self) -> OnlineSource {
        OnlineSource::new(&self.config, self.notes.clone()).unwrap()
    }

    pub(crate) fn try_page(&self, name: &str) -> Result<PageAnswer, String> {
        try_page(&mut self.source(), name)
    }

    pub(crate) fn page(&self, name: &str) -> Arc<Page> {
        found(self.try_page(name))
    }

    /// Returns the newest wheel of a package and a source that knows where it came from.
    fn newest(&self, name: &str) -> (OnlineSource, Arc<File>) {
        let mut source = self.source();
        let page = found(try_page(&mut source, name));
        let version = page.versions().next().unwrap().clone();
        (source, page.release(&version).unwrap().wheels[0].clone())
    }

    fn try_metadata(&self, name: &str) -> Result<MetadataAnswer, String> {
        let (mut source, file) = self.newest(name);
        source.ask(Ask::Metadata { index: "pypi".into(), file });
        match source.wait(None).expect("no deadline").1.map_err(|error| error.to_string())? {
            Answer::Metadata(answer) => Ok(answer),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn metadata(&self, name: &str) -> Arc<Metadata> {
        match self.try_metadata(name) {
            Ok(MetadataAnswer::Found(metadata)) => metadata,
            other => panic!("{other:?}"),
        }
    }

    fn try_complete(&self, name: &str) -> Result<Arc<File>, String> {
        let (mut source, file) = self.newest(name);
        source.ask(Ask::Complete { index: "pypi".into(), file });
        match source.wait(None).expect("no deadline").1.map_err(|error| error.to_string())? {
            Answer::Complete(file) => Ok(file),
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.0.lock().unwrap().clone()
    }
}

fn try_page(source: &mut OnlineSource, name: &str) -> Result<PageAnswer, String> {
    source.ask(Ask::Page { index: "pypi".into(), name: name.parse().unwrap() });
    match source.wait(None).expect("no deadline").1.map_err(|error| error.to_string())? {
        Answer::Page(answer) => Ok(answer),
        other => panic!("{other:?}"),
    }
}

fn found(answer: Result<PageAnswer, String>) -> Arc<Page> {
    match answer {
        Ok(PageAnswer::Found(page)) => page,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn files(page: &Page) -> Vec<Arc<File>> {
    page.versions().flat_map(|version| page.release(version).unwrap().wheels.clone()).collect()
}

fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
}

fn closed_port() -> Url {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/simple/", listener.local_addr().unwrap()).parse().unwrap()
}

fn small() -> Published {
    Published::default()
        .with("alpha", "1.0", &["beta>=2"])
        .with_release(
            "alpha",
            "1.1",
            Rel {
                requires: vec!["beta>=2; python_version < '3.13'".to_owned()],
                requires_python: Some(">=3.9, <4".to_owned()),
                wheel_tags: vec!["cp312-cp312-macosx_11_0_arm64".to_owned(), "2-py3-none-any".to_owned()],
                sdist: true,
                yanked: Some("broken & \"bad\"".to_owned()),
                ..Rel::default()
            },
        )
        .with("alpha", "1.2+cpu", &[])
        .with_release("alpha", "0.9", Rel { wheel_tags: Vec::new(), sdist: true, ..Rel::default() })
        .with("beta", "2.0", &[])
}

/// A wheel larger than the first ranged read.
fn large() -> Published {
    let release = Rel { filling: 3 << 20, requires: vec!["alpha".to_owned()], ..Rel::default() };
    Published::default().with_release("big", "1.0", release)
}

#[test]
fn json_and_html_pages_say_the_same() {
    let json = FakeIndex::from_published(&small());
    let html = FakeIndex::behaving(&small(), Behaviour { format: Format::Html, gzip: true, ..Behaviour::default() });
    let (json, html) = (Run::at(&json.url()).page("alpha"), Run::at(&html.url()).page("alpha"));
    let versions: Vec<String> = json.versions().map(ToString::to_string).collect();
    assert_eq!(versions, ["1.2+cpu", "1.1", "1.0", "0.9"]);
    let facts = |file: &Arc<File>| {
        (file.wheel.clone(), file.sha256, file.requires_python.clone(), file.yanked.clone(), file.metadata_file)
    };
    let both = [&json, &html].map(|page| files(page).iter().map(facts).collect::<Vec<_>>());
    assert_eq!(both[0], both[1]);
    assert_eq!(both[0].len(), 4);
    assert_eq!(both[0][1].3.as_deref(), Some("broken & \"bad\""));
    for page in [json, html] {
        let sources: Vec<bool> = page.versions().map(|version| page.release(version).unwrap().source_archive).collect();
        assert_eq!(sources, [false, true, false, true]);
    }
}

#[test]
fn a_metadata_file_spares_the_wheel() {
    for format in [Format::Json, Format::Html] {
        for metadata_files in [MetadataFiles::Hashed, MetadataFiles::Unhashed] {
            let index = FakeIndex::behaving(&large(), Behaviour { format, metadata_files, ..Behaviour::default() });
            assert_eq!(Run::at(&index.url()).metadata("big").requires_dist.len(), 1);
            assert_eq!(index.asked("/files/"), ["/files/big-1.0-py3-none-any.whl.metadata"]);
        }
    }
}

#[test]
fn metadata_is_read_out_of_wheels_in_every_way_servers_allow() {
    let check = |ranges: Ranges, sizes: bool, most_bytes: usize| {
        let index = FakeIndex::behaving(
            &large(),
            Behaviour { metadata_files: MetadataFiles::None, ranges, sizes, ..Behaviour::default() },
        );
        let metadata = Run::at(&index.url()).metadata("big");
        assert_eq!(metadata.requires_dist[0].name.as_str(), "alpha");
        let requests = index.requests();
        let sent: usize =
            requests.iter().filter(|one| one.path.contains("/files/") && one.status < 300).map(|one| one.sent).sum();
        assert!(sent <= most_bytes, "{ranges:?}: {sent} bytes");
    };
    check(Ranges::Served, true, 200 << 10);
    check(Ranges::Served, false, 200 << 10);
    check(Ranges::NoSuffix, true, 200 << 10);
    check(Ranges::NoSuffix, false, 4 << 20);
    check(Ranges::Ignored, true, 4 << 20);
    check(Ranges::Ignored, false, 4 << 20);
}

#[test]
fn one_ranged_read_is_enough_for_an_ordinary_wheel() {
    let index =
        FakeIndex::behaving(&large(), Behaviour { metadata_files: MetadataFiles::None, ..Behaviour::default() });
    Run::at(&index.url()).metadata("big");
    assert_eq!(index.asked("/files/").len(), 1);
}

#[test]
fn lying_ranges_are_told_not_believed() {
    for ranges in [Ranges::Shifted, Ranges::WrongTotal, Ranges::Endless] {
        for sizes in [true, false] {
            let index = FakeIndex::behaving(
                &large(),
                Behaviour { metadata_files: MetadataFiles::None, ranges, sizes, ..Behaviour::default() },
            );
            let error = Run::at(&index.url()).try_metadata("big").unwrap_err();
            assert_has(&error, &["index `pypi`", "big-1.0-py3-none-any.whl", "other bytes than asked for"]);
        }
    }
}

#[test]
fn announced_and_missing_metadata_files_are_noted_once() {
    let published = small().with("gamma", "1.0", &[]);
    let index =
        FakeIndex::behaving(&published, Behaviour { metadata_files: MetadataFiles::Missing, ..Behaviour::default() });
    let run = Run::at(&index.url());
    let mut source = run.source();
    for name in ["beta", "gamma"] {
        let page = found(try_page(&mut source, name));
        source.ask(Ask::Metadata { index: "pypi".into(), file: files(&page)[0].clone() });
        assert!(matches!(source.wait(None).unwrap().1.unwrap(), Answer::Metadata(MetadataAnswer::Found(_))));
    }
    assert_eq!(run.notes().len(), 1, "{:?}", run.notes());
    assert_eq!(index.asked(".metadata").len(), 1);
}

#[test]
fn a_metadata_file_with_another_hash_is_refused() {
    let index =
        FakeIndex::behaving(&small(), Behaviour { metadata_files: MetadataFiles::Wrong, ..Behaviour::default() });
    let error = Run::at(&index.url()).try_metadata("beta").unwrap_err();
    assert_has(&error, &["index `pypi`", "beta-2.0-py3-none-any.whl", "another sha256"]);
}

#[test]
fn unusable_wheels_are_told_apart_from_a_broken_network() {
    let check = |bytes: Vec<u8>, parts: &[&str]| {
        let behaviour =
            Behaviour { metadata_files: MetadataFiles::None, hashes: false, sizes: false, ..Behaviour::default() };
        let index = FakeIndex::behaving(&small(), behaviour);
        index.rule("/files/beta", 9, Action::Body("application/zip".to_owned(), bytes));
        match Run::at(&index.url()).try_metadata("beta") {
            Ok(MetadataAnswer::Unusable(reason)) => assert_has(&reason, parts),
            other => panic!("{other:?}"),
        }
    };
    let archive = |path: &str, text: &str| wheel::archive(&[(path.to_owned(), text.as_bytes().to_vec())]);
    check(b"not a zip".to_vec(), &["no readable zip archive"]);
    check(archive("beta/__init__.py", ""), &["holds no `.dist-info/METADATA`"]);
    check(
        archive("gamma-2.0.dist-info/METADATA", "Name: gamma\nVersion: 2.0\n"),
        &["gamma-2.0.dist-info", "another package"],
    );
    check(
        archive("beta-2.1.dist-info/METADATA", "Name: beta\nVersion: 2.1\n"),
        &["beta-2.1.dist-info", "another package"],
    );
    check(
        archive("beta-2.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: gamma\nVersion: 2.0\n"),
        &["its METADATA is of `gamma 2.0`"],
    );
    check(archive("beta-2.0.dist-info/METADATA", "Name: beta\n"), &["its METADATA cannot be used"]);
}

#[test]
fn pages_that_are_no_index_are_one_clear_error() {
    let check = |kind: &str, body: &str, parts: &[&str]| {
        let index = FakeIndex::from_published(&small());
        index.rule("/simple/", 9, Action::Body(kind.to_owned(), body.as_bytes().to_vec()));
        let error = Run::at(&index.url()).try_page("alpha").unwrap_err();
        assert_has(&error, &["index `pypi`", "no package index", index.url().join("alpha/").unwrap().as_str()]);
        assert_has(&error, parts);
    };
    check("text/html", "<html><title>Log in</title><a href='/help'>help</a></html>", &["titled `Log in`"]);
    check("text/html", "", &["HTML without links"]);
    check("application/json", "{\"message\": \"quota\"}", &["JSON", "files"]);
    check("application/vnd.pypi.simple.v1+json", "{\"files\": [", &["JSON"]);
    check(
        "application/vnd.pypi.simple.v1+json",
        "{\"meta\": {\"api-version\": \"2.0\"}, \"files\": []}",
        &["version 2.0"],
    );
    check("image/png", "PNG", &["image/png"]);
}

#[test]
fn an_index_page_without_files_is_a_page() {
    let check = |kind: &str, body: &str| {
        let index = FakeIndex::from_published(&small());
        index.rule("/simple/", 9, Action::Body(kind.to_owned(), body.as_bytes().to_vec()));
        assert_eq!(Run::at(&index.url()).page("alpha").versions().count(), 0);
    };
    check("text/html", "<!DOCTYPE html><html><body><h1>Links for alpha</h1></body></html>");
    check("text/html", "<meta name='pypi:repository-version' content='1.0'>");
    check(
        "application/vnd.pypi.simple.v1+json",
        "{\"meta\": {\"api-version\": \"1.0\"}, \"name\": \"alpha\", \"files\": []}",
    );
}

#[test]
fn html_oddities() {
    let index = FakeIndex::from_published(&small());
    let body = "<html><head><base href='/elsewhere/'></head><BODY>
        <a href='alpha-1.0-py3-none-any.whl#sha256=ABC' data-requires-python='&gt;=3.9'>x</a>
        <a href='//files.example/alpha-1.1%2Bcpu-py3-none-any.whl?token=a&amp;b' data-dist-info-metadata='true'>x</a>
        <a href='other-1.0-py3-none-any.whl'>another package</a> <a href='alpha-1.0.exe'>x</a> <a>nothing</a>
        <a href='alpha-not-a-wheel.whl'>x</a> <a href='javascript:void(0)'>x</a></BODY>";
    index.rule("/simple/", 9, Action::Body("text/html; charset=UTF-8".to_owned(), body.into()));
    let page = Run::at(&index.url()).page("alpha");
    let files = files(&page);
    assert_eq!(files.len(), 2);
    assert_eq!(&*files[0].url, "http://files.example/alpha-1.1%2Bcpu-py3-none-any.whl?token=a&b");
    assert_eq!((&*files[0].filename, files[0].metadata_file), ("alpha-1.1+cpu-py3-none-any.whl", Some(None)));
    assert_eq!(*files[1].url, *index.root().join("elsewhere/alpha-1.0-py3-none-any.whl").unwrap().as_str());
    assert_eq!((files[1].sha256, files[1].requires_python.as_ref().unwrap().to_string()), (None, ">=3.9".to_owned()));
}

#[test]
fn absent_is_absent_and_refused_is_refused() {
    let index = FakeIndex::from_published(&small());
    assert!(matches!(Run::at(&index.url()).try_page("nothing"), Ok(PageAnswer::Absent)));
    index.rule("/simple/alpha", 9, Action::Status(403));
    let error = Run::at(&index.url()).try_page("alpha").unwrap_err();
    assert_has(&error, &["index `pypi` refused us", "403", "/simple/alpha/"]);
}

#[test]
fn passing_failures_pass() {
    let check = |action: Action| {
        let index =
            FakeIndex::behaving(&small(), Behaviour { metadata_files: MetadataFiles::None, ..Behaviour::default() });
        index.rule("/simple/alpha", 2, action.clone());
        index.rule("/files/", 1, action);
        let run = Run::at(&index.url());
        assert_eq!(run.metadata("alpha").name.as_str(), "alpha");
        assert_eq!(index.asked("/simple/alpha").len(), 3);
    };
    std::thread::scope(|scope| {
        for action in [
            Action::Status(500),
            Action::Status(503),
            Action::StatusWith(429, "Retry-After: 0".to_owned()),
            Action::Truncate(30),
            Action::Reset,
        ] {
            scope.spawn(|| check(action));
        }
    });
}

#[test]
fn lasting_failures_end_soon_and_name_the_address() {
    let check = |action: Action, parts: &[&str]| {
        let index = FakeIndex::from_published(&small());
        index.rule("/simple/alpha", 99, action);
        let run = Run::at(&index.url()).with(|config| config.stall = Some(Duration::from_millis(300)));
        let error = run.try_page("alpha").unwrap_err();
        assert_has(&error, &["index `pypi`", "/simple/alpha/"]);
        assert_has(&error, parts);
        assert_eq!(index.asked("/simple/alpha").len(), 4);
    };
    std::thread::scope(|scope| {
        scope.spawn(|| check(Action::Status(500), &["status 500"]));
        scope.spawn(|| check(Action::Truncate(30), &["broke off after 30 bytes"]));
        scope.spawn(|| check(Action::Stall(30, Duration::from_secs(1)), &["sent nothing for 0.3 seconds"]));
    });
}

#[test]
fn a_slow_server_asks_for_time_and_gets_it() {
    let index = FakeIndex::from_published(&small());
    index.rule("/simple/alpha", 1, Action::StatusWith(503, "Retry-After: 1".to_owned()));
    let start = std::time::Instant::now();
    Run::at(&index.url()).page("alpha");
    assert!(start.elapsed() >= Duration::from_secs(1));
}

#[test]
fn a_broken_download_goes_on_where_it_stopped() {
    let index = FakeIndex::behaving(&large(), Behaviour { hashes: false, sizes: false, ..Behaviour::default() });
    index.rule("/files/", 1, Action::Truncate(2 << 20));
    let file = Run::at(&index.url()).try_complete("big").unwrap();
    let whole = &wheel::build("big", "1.0", &large().packages["big"]["1.0"])[0];
    assert_eq!((file.size, file.sha256), (Some(whole.bytes.len() as u64), Some(Sha256::of(&whole.bytes))));
    let requests: Vec<_> = index.requests().into_iter().filter(|one| one.path.contains("/files/")).collect();
    assert_eq!(requests[1].headers["range"], format!("bytes={}-", 2 << 20));
    assert_eq!(requests[1].sent, whole.bytes.len() - (2 << 20));
}

#[test]
fn a_broken_download_without_ranges_starts_again() {
    let whole = &wheel::build("big", "1.0", &large().packages["big"]["1.0"])[0];
    for ranges in [Ranges::Ignored, Ranges::Shifted, Ranges::Endless] {
        let behaviour = Behaviour { hashes: false, sizes: false, ranges, ..Behaviour::default() };
        let index = FakeIndex::behaving(&large(), behaviour);
        index.rule("/files/", 1, Action::Truncate(2 << 20));
        let file = Run::at(&index.url()).try_complete("big").unwrap();
        assert_eq!(file.sha256, Some(Sha256::of(&whole.bytes)), "{ranges:?}");
    }
}

#[test]
fn a_file_is_digested_once_while_it_stays_the_same() {
    let index = FakeIndex::behaving(&large(), Behaviour { hashes: false, sizes: false, ..Behaviour::default() });
    let cache = tempfile::tempdir().unwrap();
    let run = Run::at(&index.url()).cache(cache.path());
    let first = run.try_complete("big").unwrap();
    assert_eq!(run.try_complete("big").unwrap(), first);
    let ranges = |index: &FakeIndex| {
        let files = index.requests().into_iter().filter(|one| one.path.contains("/files/"));
        files.map(|one| one.headers.get("range").cloned()).collect::<Vec<_>>()
    };
    assert_eq!(ranges(&index), [None, Some("bytes=0-0".to_owned())]);
    // Another file under the same address has another ETag.
    index.behave(|behaviour| behaviour.wrong_files = ["big-1.0-py3-none-any.whl".to_owned()].into());
    assert_ne!(run.try_complete("big").unwrap(), first);
    let offline = run.with(|config| config.offline = true);
    assert!(offline.try_complete("big").is_ok());
    let nothing = offline.with(|config| config.cache_dir = None);
    assert!(matches!(nothing.try_page("big"), Ok(PageAnswer::Offline)));
}

#[test]
fn a_missing_size_costs_one_byte() {
    for ranges in [Ranges::Served, Ranges::Ignored] {
        let index = FakeIndex::behaving(&large(), Behaviour { sizes: false, ranges, ..Behaviour::default() });
        let file = Run::at(&index.url()).try_complete("big").unwrap();
        let whole = &wheel::build("big", "1.0", &large().packages["big"]["1.0"])[0];
        assert_eq!(file.size, Some(whole.bytes.len() as u64));
        assert_eq!(index.asked("/files/").len(), 1);
    }
}

/// Name, size, sha256, day and METADATA of a wheel.
type Lockable = (String, Option<u64>, Option<Sha256>, Option<String>, Metadata);

/// What ends up in a lock of everything in `published`.
fn lockable(run: &Run, published: &Published) -> Vec<Lockable> {
    let mut source = run.source();
    let mut facts = Vec::new();
    for name in published.packages.keys() {
        for file in files(&found(try_page(&mut source, name))) {
            source.ask(Ask::Metadata { index: "pypi".into(), file: file.clone() });
            let Answer::Metadata(MetadataAnswer::Found(metadata)) = source.wait(None).unwrap().1.unwrap() else {
                panic!("{file:?}")
            };
            source.ask(Ask::Complete { index: "pypi".into(), file });
            let Answer::Complete(file) = source.wait(None).unwrap().1.unwrap() else { panic!() };
            let day = file.upload_day.as_ref().map(ToString::to_string);
            facts.push((file.filename.to_string(), file.size, file.sha256, day, Metadata::clone(&metadata)));
        }
    }
    facts
}

#[test]
fn two_mirrors_and_the_index_give_the_same() {
    let published = small().with_release("big", "1.0", large().packages["big"]["1.0"].clone());
    let index = FakeIndex::from_published(&published);
    let full = FakeIndex::from_published(&published);
    let bare = FakeIndex::behaving(&published, Behaviour::bare());
    bare.behave(|bare| {
        bare.absent_files = ["beta-2.0-py3-none-any.whl".to_owned(), "big-1.0-py3-none-any.whl".to_owned()].into();
    });
    let plain = |run: Run| run.with(|config| config.need_upload_times = true);
    let wanted = lockable(&plain(Run::at(&index.url())), &published);
    assert!(wanted.iter().all(|(_, size, sha256, day, _)| size.is_some() && sha256.is_some() && day.is_some()));
    assert_eq!(lockable(&plain(Run::at(&index.url()).mirror("full", &full.url())), &published), wanted);
    assert_eq!(lockable(&plain(Run::at(&index.url()).mirror("bare", &bare.url())), &published), wanted);
    let both = Run::at(&closed_port()).mirror("bare", &bare.url()).mirror("full", &full.url());
    let timeless: Vec<_> =
        wanted.into_iter().map(|(name, size, sha256, _, metadata)| (name, size, sha256, metadata)).collect();
    let got =
        lockable(&both, &published).into_iter().map(|(name, size, sha256, _, metadata)| (name, size, sha256, metadata));
    assert_eq!(got.collect::<Vec<_>>(), timeless);
}

#[test]
fn a_mirror_that_fails_is_passed_over_and_named() {
    let index = FakeIndex::from_published(&small());
    let check = |mirror: &Url, part: &str| {
        let run = Run::at(&index.url()).mirror("nearby", mirror);
        let mut source = run.source();
        assert_eq!(found(try_page(&mut source, "alpha")).versions().count(), 4);
        assert_has(&run.notes().join("\n"), &["mirror `nearby`", part]);
        assert_eq!(source.findings().len(), 1);
        let strict = Run::at(&index.url()).mirror("nearby", mirror).with(|config| config.mirror_only = true);
        assert_has(&strict.try_page("alpha").unwrap_err(), &["mirror `nearby`", part]);
    };
    check(&closed_port(), "no connection");
    let mirror = FakeIndex::from_published(&small());
    mirror.rule("/simple/", 2, Action::Status(403));
    check(&mirror.url(), "refused us");
    mirror.rule("/simple/", 2, Action::Body("text/html".to_owned(), b"<title>Moved</title>".to_vec()));
    check(&mirror.url(), "no package index");
}

#[test]
fn a_mirror_that_is_down_is_not_waited_for_twice() {
    let published = (0..60).fold(Published::default(), |all, at| all.with(&format!("p{at}"), "1.0", &[]));
    let index = FakeIndex::from_published(&published);
    let run = Run::at(&index.url()).mirror("nearby", &closed_port());
    let mut source = run.source();
    let start = std::time::Instant::now();
    for name in published.packages.keys() {
        source.ask(Ask::Page { index: "pypi".into(), name: name.parse().unwrap() });
    }
    for _ in 0..60 {
        assert!(matches!(source.wait(None).unwrap().1.unwrap(), Answer::Page(PageAnswer::Found(_))));
    }
    assert_eq!(run.notes().len(), 1);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn questions_run_side_by_side() {
    let published = (0..100).fold(Published::default(), |all, at| all.with(&format!("p{at}"), "1.0", &[]));
    let behaviour = Behaviour { delay: Duration::from_millis(100), ..Behaviour::default() };
    let index = FakeIndex::behaving(&published, behaviour);
    let mut source = Run::at(&index.url()).source();
    let start = std::time::Instant::now();
    for name in published.packages.keys() {
        source.ask(Ask::Page { index: "pypi".into(), name: name.parse().unwrap() });
    }
    for _ in 0..100 {
        source.wait(None).unwrap().1.unwrap();
    }
    // One after the other they would take ten seconds.
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn a_redirect_never_gives_up_encryption_or_goes_on_for_ever() {
    let index = FakeIndex::from_published(&small());
    index.rule("/simple/alpha", 99, Action::Redirect("/simple/alpha/".to_owned()));
    assert_has(&Run::at(&index.url()).try_page("alpha").unwrap_err(), &["/simple/alpha/", "does not follow"]);
    index.rule("/simple/beta", 1, Action::Redirect("/simple/gamma/".to_owned()));
    assert!(matches!(Run::at(&index.url()).try_page("beta"), Ok(PageAnswer::Absent)));
}

#[test]
fn a_package_that_a_mirror_lacks_comes_from_the_index() {
    let index = FakeIndex::from_published(&small());
    let mirror = FakeIndex::from_published(&Published::default());
    let run = Run::at(&index.url()).mirror("nearby", &mirror.url());
    assert_eq!(run.page("alpha").versions().count(), 4);
    let strict = run.with(|config| config.mirror_only = true);
    assert!(matches!(strict.try_page("alpha"), Ok(PageAnswer::Absent)));
}

#[test]
fn what_a_mirror_falsifies_comes_from_elsewhere() {
    let index = FakeIndex::from_published(&small());
    let liar =
        FakeIndex::behaving(&small(), Behaviour { metadata_files: MetadataFiles::Wrong, ..Behaviour::default() });
    let run = Run::at(&index.url()).mirror("liar", &liar.url());
    assert_eq!(run.metadata("beta").name.as_str(), "beta");
    assert_has(&run.notes().join("\n"), &["mirror `liar`", "another sha256"]);
}

#[test]
fn missing_upload_times_are_an_error_that_names_exclude_newer() {
    let index = FakeIndex::behaving(&small(), Behaviour { times: false, ..Behaviour::default() });
    let run = Run::at(&index.url()).with(|config| config.need_upload_times = true);
    assert_has(&run.try_page("alpha").unwrap_err(), &["`exclude-newer`", "index `pypi`", "alpha"]);
    let strict = Run::at(&closed_port()).mirror("bare", &index.url()).with(|config| config.need_upload_times = true);
    assert_has(&strict.try_page("alpha").unwrap_err(), &["`exclude-newer`", "no connection"]);
}

#[test]
fn pages_are_asked_again_when_their_time_is_over() {
    let check = |control: Option<&str>, etag: bool, statuses: &[u16]| {
        let behaviour = Behaviour { cache_control: control.map(str::to_owned), etag, ..Behaviour::default() };
        let index = FakeIndex::behaving(&small(), behaviour);
        let cache = tempfile::tempdir().unwrap();
        let pages: Vec<_> = (0..3).map(|_| Run::at(&index.url()).cache(cache.path()).page("alpha")).collect();
        assert!(pages.iter().all(|page| *page == pages[0]));
        assert_eq!(index.requests().iter().map(|one| one.status).collect::<Vec<_>>(), statuses, "{control:?}");
    };
    check(None, false, &[200]);
    check(Some("max-age=600, public"), true, &[200]);
    check(Some("max-age=0"), true, &[200, 304, 304]);
    check(Some("Public, MAX-AGE=0"), false, &[200, 200, 200]);
    check(Some("no-cache"), false, &[200, 200, 200]);
}

#[test]
fn offline_uses_what_is_there() {
    let cache = tempfile::tempdir().unwrap();
    let index = FakeIndex::behaving(
        &small(),
        Behaviour { cache_control: Some("max-age=0".to_owned()), ..Behaviour::default() },
    );
    let run = Run::at(&index.url()).cache(cache.path());
    let metadata = run.metadata("alpha");
    assert!(matches!(run.try_page("nothing"), Ok(PageAnswer::Absent)));
    let asked = index.requests().len();
    let offline = run.with(|config| config.offline = true);
    assert_eq!(offline.metadata("alpha"), metadata);
    assert!(matches!(offline.try_page("nothing"), Ok(PageAnswer::Absent)));
    assert!(matches!(offline.try_page("beta"), Ok(PageAnswer::Offline)));
    assert_eq!(index.requests().len(), asked);
}

#[test]
fn damaged_entries_are_fetched_again() {
    let cache = tempfile::tempdir().unwrap();
    let index = FakeIndex::from_published(&small());
    let run = Run::at(&index.url()).cache(cache.path());
    let metadata = run.metadata("alpha");
    let damages: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| bytes.clear(),
        |bytes| *bytes.last_mut().unwrap() ^= 1,
        |bytes| bytes[20] ^= 0x40,
    ];
    for damage in damages {
        let entries = macml::sys::fs::walk(cache.path()).unwrap();
        assert_eq!(entries.len(), 2);
        for entry in entries {
            let mut bytes = std::fs::read(&entry).unwrap();
            damage(&mut bytes);
            std::fs::write(&entry, bytes).unwrap();
        }
        let before = index.requests().len();
        assert_eq!(run.metadata("alpha"), metadata);
        assert_eq!(index.requests().len(), before + 2);
        assert_eq!(run.metadata("alpha"), metadata);
        assert_eq!(index.requests().len(), before + 2);
    }
}

#[test]
fn a_cache_that_cannot_be_written_is_noted_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("in-the-way");
    std::fs::write(&file, "").unwrap();
    let index = FakeIndex::from_published(&small());
    let run = Run::at(&index.url()).cache(&file);
    run.metadata("alpha");
    assert_eq!(run.notes().len(), 1, "{:?}", run.notes());
    assert_has(&run.notes()[0], &["in-the-way", "cannot be written"]);
}

#[test]
fn many_runs_share_one_cache() {
    let cache = tempfile::tempdir().unwrap();
    let index = FakeIndex::behaving(
        &small(),
        Behaviour { cache_control: Some("max-age=0".to_owned()), ..Behaviour::default() },
    );
    let wanted = Run::at(&index.url()).metadata("alpha");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..5 {
                    assert_eq!(Run::at(&index.url()).cache(cache.path()).metadata("alpha"), wanted);
                }
            });
        }
    });
    assert_eq!(macml::sys::fs::walk(cache.path()).unwrap().len(), 2);
}

#[test]
fn secrets_reach_their_index_and_nobody_else() {
    let stranger = FakeIndex::from_published(&small());
    let index = FakeIndex::behaving(
        &small(),
        Behaviour {
            auth: Some(("me".to_owned(), "s3cret".to_owned())),
            file_root: Some(stranger.root().to_string()),
            ..Behaviour::default()
        },
    );
    let error = Run::at(&index.url()).try_page("alpha").unwrap_err();
    assert_has(&error, &["401", "netrc", "MACML_INDEX_PYPI_USERNAME"]);

    let netrc = tempfile::NamedTempFile::new().unwrap();
    let machine =
        "# comment\nmachine other.example login x password y\nmachine 127.0.0.1\n  login me\n  password s3cret\n";
    std::fs::write(netrc.path(), machine).unwrap();
    let mut inside = index.url();
    inside.set_username("me").unwrap();
    inside.set_password(Some("s3cret")).unwrap();
    let runs = [
        Run::at(&inside),
        Run::at(&index.url()).vars(&[("MACML_INDEX_PYPI_USERNAME", "me"), ("MACML_INDEX_PYPI_PASSWORD", "s3cret")]),
    ];
    for run in runs {
        let page = run.page("alpha");
        assert!(files(&page).iter().all(|file| !file.url.contains("s3cret")));
        run.metadata("alpha");
    }
    assert!(stranger.requests().iter().all(|one| !one.headers.contains_key("authorization")));
    assert!(!stranger.requests().is_empty());
    // Both servers are on this host, and netrc knows no ports.
    Run::at(&index.url()).var("NETRC", netrc.path().to_str().unwrap()).page("alpha");

    // Redirected elsewhere, the secret stays behind.
    let other = FakeIndex::from_published(&small());
    index.rule("/simple/beta", 1, Action::Redirect(other.url().join("beta/").unwrap().to_string()));
    Run::at(&inside).page("beta");
    assert_eq!(other.requests().len(), 1);
    assert!(!other.requests()[0].headers.contains_key("authorization"));

    index.rule("/simple/", 99, Action::Status(403));
    let error = Run::at(&inside).try_page("alpha").unwrap_err();
    assert!(!error.contains("s3cret") && !error.contains("me@"), "{error}");
    let refused = Run::at(&inside).var("MACML_INDEX_PYPI_PASSWORD", "wr0ng");
    index.rule("/simple/", 99, Action::Status(401));
    let error = refused.try_page("gamma").unwrap_err();
    assert!(!error.contains("wr0ng"), "{error}");
}

#[test]
fn large_pages_work_up_to_a_limit() {
    let page = |megabytes: usize| {
        let entry = |number: usize| {
            format!(
                "{{\"filename\": \"alpha-{}.{number}-py3-none-any.whl\", \"url\": \"a/{number}.whl\", \"hashes\": {{}}, \"padding\": \"{}\"}}",
                number % 7,
                "x".repeat(900)
            )
        };
        let entries: Vec<String> = (0..megabytes << 10).map(entry).collect();
        format!("{{\"meta\": {{\"api-version\": \"1.0\"}}, \"files\": [{}]}}", entries.join(",")).into_bytes()
    };
    let index = FakeIndex::from_published(&small());
    let kind = "application/vnd.pypi.simple.v1+json";
    index.rule("/simple/", 1, Action::Body(kind.to_owned(), page(20)));
    assert_eq!(Run::at(&index.url()).page("alpha").versions().count(), 20 << 10);
    index.rule("/simple/", 9, Action::Body(kind.to_owned(), page(66)));
    assert_has(&Run::at(&index.url()).try_page("alpha").unwrap_err(), &["larger than the limit", "67108864"]);
}

#[test]
fn proxies_are_used_as_told() {
    let index = FakeIndex::from_published(&small());
    let nowhere: Url = "http://index.invalid/simple/".parse().unwrap();
    let socks = Socks::to(index.address());
    let run = Run::at(&nowhere).var("ALL_PROXY", &format!("socks5h://{}", socks.address));
    assert_eq!(run.page("alpha").versions().count(), 4);
    assert_eq!(socks.asked(), ["index.invalid"]);
    let run = Run::at(&nowhere).var("http_proxy", index.root().as_str());
    assert_eq!(run.page("alpha").versions().count(), 4);
    assert_eq!(index.requests().last().unwrap().headers["host"], "index.invalid");
    let run = Run::at(&index.url()).vars(&[("HTTP_PROXY", closed_port().as_str()), ("NO_PROXY", "127.0.0.1")]);
    assert_eq!(run.page("alpha").versions().count(), 4);
    let run = Run::at(&index.url()).var("HTTP_PROXY", closed_port().as_str());
    assert_has(&run.try_page("alpha").unwrap_err(), &["no connection"]);
}

#[test]
fn an_unknown_host_is_named() {
    let error = Run::at(&"http://index.invalid/simple/".parse().unwrap()).try_page("alpha").unwrap_err();
    assert_has(&error, &["index `pypi`", "`index.invalid` could not be looked up", "--offline"]);
}

#[test]
fn a_certificate_of_a_stranger_is_explained_and_can_be_trusted() {
    let (index, certificate) = FakeIndex::inspected(&small());
    let error = Run::at(&index.url()).try_page("alpha").unwrap_err();
    assert_has(&error, &["localhost", "Corp Inspection CA", "the system's certificate store", "SSL_CERT_FILE"]);
    assert!(!error.contains("trusted host") && !error.contains("trusted-host"));

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("corp.pem");
    std::fs::write(&file, certificate.pem()).unwrap();
    let trusting = Run::at(&index.url()).var("SSL_CERT_FILE", file.to_str().unwrap());
    assert_eq!(trusting.page("alpha").versions().count(), 4);
    let configured = Run::at(&index.url()).with(|config| config.certificates = vec![file.clone()]);
    assert_eq!(configured.page("alpha").versions().count(), 4);

    let other = rcgen::generate_simple_self_signed(vec!["other".to_owned()]).unwrap();
    std::fs::write(&file, other.cert.pem()).unwrap();
    assert_has(&trusting.try_page("alpha").unwrap_err(), &["corp.pem", "SSL_CERT_FILE"]);
    std::fs::write(&file, "nothing").unwrap();
    let error = OnlineSource::new(&trusting.config, trusting.notes.clone()).err().unwrap().to_string();
    assert_has(&error, &["SSL_CERT_FILE", "corp.pem", "no PEM certificate"]);
}

#[test]
fn plain_http_on_a_tls_port_is_told_apart_from_certificates() {
    let index = FakeIndex::from_published(&small());
    let url: Url = index.url().as_str().replace("http:", "https:").parse().unwrap();
    let error = Run::at(&url).try_page("alpha").unwrap_err();
    assert_has(&error, &["no TLS connection to `127.0.0.1`"]);
}

#[test]
fn a_page_asked_for_twice_is_fetched_once() {
    let index = FakeIndex::from_published(&small());
    let mut source = Run::at(&index.url()).source();
    let ask = |name: &str| Ask::Page { index: "pypi".into(), name: name.parse().unwrap() };
    for name in ["alpha", "alpha", "beta", "Alpha", "nothing"] {
        source.ask(ask(name));
    }
    let mut answered: Vec<String> = (0..5).map(|_| format!("{:?}", source.wait(None).unwrap().0)).collect();
    answered.sort();
    answered.dedup();
    assert_eq!((answered.len(), index.requests().len()), (3, 3));
}

#[test]
fn an_index_that_nobody_named_is_an_error() {
    let index = FakeIndex::from_published(&small());
    let mut source = Run::at(&index.url()).source();
    source.ask(Ask::Page { index: "corp".into(), name: "alpha".parse().unwrap() });
    assert_has(&source.wait(None).unwrap().1.unwrap_err().to_string(), &["no index named `corp`"]);
}
