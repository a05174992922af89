//! Downloads of locked wheels: a real client against servers on loopback that cut, stall, ignore ranges, change files
//! and lie about sizes and hashes. What must hold when processes are killed, or the disk is full, is in `processes`.

mod processes;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use macml::index::download::{DownloadError, Downloads, Place, Ready, Wanted};
use macml::index::{Config, IndexAddress, Mirror};
use macml::pep::Sha256;
use macml::progress::{Downloaded, Progress};
use macml::sys::Env;
use url::Url;

use crate::support::published::{Published, Rel};
use crate::support::server::{Action, Behaviour, FakeIndex, Ranges};

/// A wheel large enough to be cut.
const BIG: &str = "big-1.0-py3-none-any.whl";
const SMALL: &str = "small-1.0-py3-none-any.whl";

/// A place in the middle of [`BIG`], and not at the end of a piece.
const CUT: usize = 100_001;

fn published() -> Published {
    let filled = |filling| Rel { filling, ..Rel::default() };
    Published::default().with_release("big", "1.0", filled(300 << 10)).with_release("small", "1.0", filled(10))
}

type Hook = Box<dyn Fn(u64) + Send + Sync>;

/// Counts what it is told, as the binary does.
#[derive(Default)]
struct Told {
    counts: Mutex<Counts>,
    /// Called when bytes arrive.
    hook: Mutex<Option<Hook>>,
}

#[derive(Clone, Default)]
struct Counts {
    begun: Vec<(usize, u64, u64)>,
    there: u64,
    arrived: u64,
    done: Vec<(String, u64, u64)>,
    notes: Vec<String>,
}

impl Told {
    fn change(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.counts.lock().unwrap());
    }
}

impl Progress for Told {
    fn downloading(&self, files: usize, bytes: u64, present: u64) {
        self.change(|counts| {
            counts.begun.push((files, bytes, present));
            counts.there = present;
        });
    }

    fn arrived(&self, bytes: u64) {
        self.change(|counts| {
            counts.there += bytes;
            counts.arrived += bytes;
        });
        if let Some(hook) = &*self.hook.lock().unwrap() {
            hook(bytes);
        }
    }

    fn found(&self, bytes: u64) {
        self.change(|counts| counts.there += bytes);
    }

    fn lost(&self, bytes: u64) {
        self.change(|counts| counts.there = counts.there.checked_sub(bytes).expect("only what was there is lost"));
    }

    fn downloaded(&self, file: &Downloaded<'_>) {
        self.change(|counts| counts.done.push((file.file.to_owned(), file.size, file.arrived)));
    }

    fn note(&self, text: &str) {
        self.change(|counts| counts.notes.push(text.to_owned()));
    }
}

/// A run with a cache of its own, unless it is given another's.
struct Run {
    config: Config,
    cache: Arc<tempfile::TempDir>,
    told: Arc<Told>,
}

impl Run {
    fn at(index: &FakeIndex) -> Self {
        let cache = Arc::new(tempfile::tempdir().unwrap());
        Self { config: config(&index.url(), cache.path()), cache, told: Arc::default() }
    }

    /// The next run of the same user.
    fn again(&self) -> Self {
        Self { config: self.config.clone(), cache: self.cache.clone(), told: Arc::default() }
    }

    fn mirror(mut self, label: &str, mirror: &FakeIndex) -> Self {
        self.config.mirrors.push(Mirror { index: "pypi".to_owned(), label: label.to_owned(), url: mirror.url() });
        self
    }

    fn offline(mut self) -> Self {
        self.config.offline = true;
        self
    }

    fn hook(self, hook: impl Fn(u64) + Send + Sync + 'static) -> Self {
        *self.told.hook.lock().unwrap() = Some(Box::new(hook));
        self
    }

    fn begin(&self, wanted: &[Wanted]) -> Result<Downloads, DownloadError> {
        Downloads::begin(&self.config, wanted, self.told.clone())
    }

    fn try_get(&self, wanted: &[Wanted]) -> Result<Vec<Ready>, DownloadError> {
        let got = self.begin(wanted).and_then(Iterator::collect);
        self.check_names();
        got
    }

    /// Gets everything, and checks it.
    #[track_caller]
    fn get(&self, wanted: &[Wanted]) -> Vec<Ready> {
        let ready = self.try_get(wanted).unwrap_or_else(|error| panic!("{error}"));
        let got: BTreeSet<Sha256> = ready.iter().map(|one| one.sha256).collect();
        assert_eq!(got, wanted.iter().map(|one| one.sha256).collect());
        assert_eq!(ready.len(), got.len());
        if let Some((_, bytes, _)) = self.counts().begun.first() {
            assert_eq!(self.counts().there, *bytes, "in the end all of it counts as there");
        }
        ready
    }

    /// Returns why it cannot be had.
    #[track_caller]
    fn error(&self, wanted: &[Wanted]) -> String {
        self.try_get(wanted).expect_err("it cannot be had").to_string()
    }

    /// Whatever happened: what has a final name is what its name says.
    #[track_caller]
    fn check_names(&self) {
        check_names(self.cache.path());
    }

    fn counts(&self) -> Counts {
        self.told.counts.lock().unwrap().clone()
    }

    fn place(&self, wanted: &Wanted, ending: &str) -> PathBuf {
        place(self.cache.path(), wanted, ending)
    }

    /// Puts something there before the run.
    fn put(&self, wanted: &Wanted, ending: &str, bytes: &[u8]) {
        let place = self.place(wanted, ending);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(place, bytes).unwrap();
    }
}

fn config(index: &Url, cache: &Path) -> Config {
    let mut config = Config::new(Env::from_map(BTreeMap::new(), "/".into()));
    config.indexes = vec![IndexAddress { name: "pypi".to_owned(), url: index.clone() }];
    config.stall = Some(Duration::from_secs(5));
    config.cache_dir = Some(cache.to_owned());
    config
}

fn place(cache: &Path, wanted: &Wanted, ending: &str) -> PathBuf {
    let digest = wanted.sha256.to_string();
    cache.join("downloads-v1").join(&digest[..2]).join(format!("{digest}.{ending}"))
}

#[track_caller]
fn check_names(cache: &Path) {
    for file in macml::sys::fs::walk(&cache.join("downloads-v1")).unwrap() {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        if let Some(digest) = name.strip_suffix(".whl") {
            assert_eq!(Sha256::of(&std::fs::read(&file).unwrap()).to_string(), digest);
        }
    }
}

/// Wants a file as the index should have it.
fn wanted(index: &FakeIndex, name: &str) -> Wanted {
    let bytes = index.bytes(name);
    let place = Place::Index("pypi".into());
    Wanted { place, wheel: name.parse().unwrap(), size: bytes.len() as u64, sha256: Sha256::of(&bytes) }
}

fn just(name: &str) -> BTreeSet<String> {
    BTreeSet::from([name.to_owned()])
}

fn size(index: &FakeIndex) -> usize {
    index.bytes(BIG).len()
}

/// Returns the `Range` headers of the requests for files.
fn ranges(index: &FakeIndex) -> Vec<Option<String>> {
    index.files().iter().map(|one| one.headers.get("range").cloned()).collect()
}

fn from(byte: usize) -> Option<String> {
    Some(format!("bytes={byte}-"))
}

#[test]
fn fifty_wheels_in_parallel_biggest_first() {
    let filled = |at: usize| Rel { filling: at * 1000, ..Rel::default() };
    let published = (1..=50).fold(Published::default(), |all, at| all.with_release(&format!("p{at}"), "1", filled(at)));
    let name = |at: usize| format!("p{at}-1-py3-none-any.whl");
    let delay = Duration::from_millis(150);
    let index = FakeIndex::behaving(&published, Behaviour { delay, ..Behaviour::default() });
    let mut all: Vec<Wanted> = (1..=50).map(|at| wanted(&index, &name(at))).collect();
    all.extend_from_within(..3);
    let run = Run::at(&index);
    let ready = run.get(&all);
    assert!(ready.iter().all(|one| one.path.starts_with(run.cache.path())));

    let (files, most) = (index.files(), index.most_at_once());
    assert_eq!((files.len(), index.asked("/simple/").len()), (50, 50));
    assert!((20..=32).contains(&most), "{most} at once");
    let place = |at: usize| files.iter().position(|one| one.path == format!("/files/{}", name(at))).unwrap();
    assert!((41..=50).all(|at| place(at) < 32), "the biggest are among the first");
    assert!((1..=10).all(|at| place(at) >= 32), "the smallest are not");
    let total: u64 = all[..50].iter().map(|one| one.size).sum();
    let counts = run.counts();
    assert_eq!((counts.begun, counts.arrived, counts.done.len()), (vec![(50, total, 0)], total, 50));
    assert_eq!(index.sent() as u64, total);
    assert_eq!(macml::sys::fs::walk(&run.cache.path().join("downloads-v1")).unwrap().len(), 50, "and nothing else");

    // All is there: nobody is asked and nothing is told.
    let again = run.again();
    let asked = index.requests().len();
    assert_eq!(again.get(&all).len(), 50);
    assert_eq!((index.requests().len(), again.counts().begun.len()), (asked, 0));
}

#[test]
fn a_wheel_that_was_unpacked_goes_and_its_page_is_still_known() {
    let index = FakeIndex::behaving(
        &published(),
        Behaviour { cache_control: Some("max-age=0".to_owned()), ..Behaviour::default() },
    );
    let run = Run::at(&index);
    let wanted = [wanted(&index, BIG)];
    for _ in 0..2 {
        let ready = run.get(&wanted).remove(0);
        ready.clone().discard().unwrap();
        ready.discard().unwrap();
    }
    assert_eq!((index.asked("/simple/").len(), index.files().len()), (1, 2));
}

#[test]
fn a_page_whose_addresses_are_out_of_date_is_asked_for_again() {
    for status in [404, 403] {
        let old = FakeIndex::from_published(&published());
        let index = FakeIndex::behaving(
            &published(),
            Behaviour {
                cache_control: Some("max-age=0".to_owned()),
                file_root: Some(old.root().to_string()),
                ..Behaviour::default()
            },
        );
        let run = Run::at(&index);
        run.get(&[wanted(&index, SMALL)]).remove(0).discard().unwrap();
        old.rule("/files/", 9, Action::Status(status));
        index.behave(|behaviour| behaviour.file_root = None);
        run.again().get(&[wanted(&index, SMALL)]);
        assert_eq!((old.files().len(), index.files().len(), index.asked("/simple/").len()), (2, 1, 2));
    }
}

#[test]
fn a_cut_transfer_goes_on_where_it_stopped() {
    let index = FakeIndex::from_published(&published());
    index.rule(BIG, 1, Action::Truncate(CUT));
    index.rule(BIG, 1, Action::Reset);
    index.rule(BIG, 1, Action::Truncate(CUT));
    let run = Run::at(&index);
    run.get(&[wanted(&index, BIG)]);
    assert_eq!(ranges(&index), [None, from(CUT), from(CUT), from(2 * CUT)]);
    let wasted = size(&index) - CUT;
    assert_eq!(index.sent(), size(&index) + wasted, "the answer that was reset counts whole, and nothing came twice");
    assert_eq!(run.counts().arrived, size(&index) as u64);
}

#[test]
fn a_stalled_transfer_goes_on_where_it_stopped() {
    let index = FakeIndex::from_published(&published());
    index.rule(BIG, 1, Action::Stall(CUT, Duration::from_secs(5)));
    let mut run = Run::at(&index);
    run.config.stall = Some(Duration::from_secs(1));
    run.get(&[wanted(&index, BIG)]);
    assert_eq!(ranges(&index), [None, from(CUT)]);
    assert_eq!(index.sent(), size(&index));
}

/// Leaves a beginning of [`BIG`] as a run does that gives up.
fn cut_off(index: &FakeIndex) -> Run {
    index.rule(BIG, 1, Action::Truncate(CUT));
    index.rule(BIG, 3, Action::Reset);
    let run = Run::at(index);
    let error = run.error(&[wanted(index, BIG)]);
    assert!(error.starts_with(&format!("`{BIG}` could not be had: index `pypi` gave no answer: ")), "{error}");
    assert_eq!(std::fs::metadata(run.place(&wanted(index, BIG), "part")).unwrap().len(), CUT as u64);
    run
}

#[test]
fn the_next_run_goes_on_where_this_one_stopped() {
    let index = FakeIndex::from_published(&published());
    let run = cut_off(&index).again();
    let before = index.files().len();
    run.get(&[wanted(&index, BIG)]);
    assert_eq!(ranges(&index)[before..], [from(CUT)]);
    assert_eq!(index.files()[before].sent, size(&index) - CUT);
    let (all, begun, rest) = (size(&index) as u64, CUT as u64, (size(&index) - CUT) as u64);
    assert_eq!((run.counts().begun, run.counts().arrived), (vec![(1, all, begun)], rest));
    assert_eq!(run.counts().done, [(BIG.to_owned(), all, rest)]);
}

#[test]
fn another_mirror_goes_on_where_one_stopped() {
    let (first, second) = (FakeIndex::from_published(&published()), FakeIndex::from_published(&published()));
    let index = FakeIndex::from_published(&published());
    first.rule(BIG, 1, Action::Truncate(CUT));
    first.rule(BIG, 9, Action::Reset);
    second.rule(BIG, 1, Action::Truncate(CUT));
    second.rule(BIG, 9, Action::Status(404));
    let run = Run::at(&index).mirror("one", &first).mirror("two", &second);
    let mut downloads = run.begin(&[wanted(&index, BIG)]).unwrap();
    downloads.next().unwrap().unwrap();
    assert!(downloads.next().is_none());
    assert_eq!(ranges(&second), [from(CUT), from(2 * CUT)]);
    assert!(!second.files()[0].headers.contains_key("if-range"), "it cannot know the other one's ETag");
    assert_eq!(ranges(&index), [from(2 * CUT)]);
    assert_eq!(index.sent(), size(&index) - 2 * CUT);
    let findings: Vec<String> = downloads.findings().into_iter().map(|finding| finding.message).collect();
    assert_eq!(findings.len(), 2, "{findings:?}");
    assert!(findings[0].starts_with("mirror `one` of index `pypi` passed over for `big"), "{findings:?}");
    assert!(findings[1].contains("mirror `two` of index `pypi` answers 404 for `http://127.0.0.1"), "{findings:?}");
    assert_eq!(run.counts().notes, findings);
}

#[test]
fn servers_without_usable_ranges_start_again() {
    let check = |ranges: Ranges, sent: usize| {
        let index = FakeIndex::behaving(&published(), Behaviour { ranges, ..Behaviour::default() });
        let run = Run::at(&index);
        let wanted = [wanted(&index, BIG)];
        run.put(&wanted[0], "part", &index.bytes(BIG)[..CUT]);
        run.get(&wanted);
        let all = index.files().iter().fold(0, |sum, one| sum + one.sent);
        assert_eq!(all, sent, "{ranges:?}");
    };
    let index = FakeIndex::from_published(&published());
    let (size, rest) = (size(&index), size(&index) - CUT);
    check(Ranges::Served, rest);
    // A wrong total beside right bytes harms nobody.
    check(Ranges::WrongTotal, rest);
    check(Ranges::Ignored, size);
    for ranges in [Ranges::Shifted, Ranges::Endless] {
        let index = FakeIndex::behaving(&published(), Behaviour { ranges, ..Behaviour::default() });
        let run = Run::at(&index);
        run.put(&wanted(&index, BIG), "part", &index.bytes(BIG)[..CUT]);
        run.get(&[wanted(&index, BIG)]);
        assert_eq!(self::ranges(&index), [from(CUT), None], "{ranges:?}");
    }
}

#[test]
fn a_file_that_changes_while_it_is_sent_starts_again() {
    let index = Arc::new(FakeIndex::from_published(&published()));
    index.behave(|behaviour| behaviour.altered_files = just(BIG));
    index.rule(BIG, 1, Action::Truncate(CUT));
    let server = index.clone();
    let run = Run::at(&index).hook(move |_| server.behave(|behaviour| behaviour.altered_files.clear()));
    run.get(&[wanted(&index, BIG)]);
    let files = index.files();
    assert_eq!(ranges(&index), [None, from(CUT)]);
    assert_eq!((files[1].status, files[1].headers.contains_key("if-range")), (200, true));
    assert_eq!(run.counts().arrived, (CUT + size(&index)) as u64);
}

#[test]
fn what_an_earlier_run_left_is_never_trusted() {
    let check = |left: &dyn Fn(&mut Vec<u8>), asked: &[Option<String>]| {
        let index = FakeIndex::from_published(&published());
        let run = Run::at(&index);
        let wanted = [wanted(&index, BIG)];
        let mut bytes = index.bytes(BIG);
        left(&mut bytes);
        run.put(&wanted[0], "part", &bytes);
        run.get(&wanted);
        assert_eq!(ranges(&index), asked);
        assert!(!run.place(&wanted[0], "part").exists());
    };
    let damage = |bytes: &mut Vec<u8>| bytes[7] ^= 1;
    check(&|bytes| bytes.truncate(CUT), &[from(CUT)]);
    check(&|_| (), &[]);
    check(&|bytes| bytes.clear(), &[None]);
    check(&|bytes| bytes.push(0), &[None]);
    check(&|bytes| damage(bytes), &[None]);
    check(
        &|bytes| {
            bytes.truncate(CUT);
            damage(bytes);
        },
        &[from(CUT), None],
    );
}

#[test]
fn a_whole_file_is_read_again_and_replaced_where_it_is_not_right() {
    let damages: [fn(&mut Vec<u8>); 3] = [|bytes| bytes[7] ^= 1, |bytes| bytes.clear(), |bytes| bytes.push(0)];
    for damage in damages {
        let index = FakeIndex::from_published(&published());
        let run = Run::at(&index);
        let wanted = [wanted(&index, SMALL)];
        let path = run.get(&wanted).remove(0).path;
        let mut bytes = std::fs::read(&path).unwrap();
        damage(&mut bytes);
        std::fs::write(&path, bytes).unwrap();
        run.again().get(&wanted);
        assert_eq!(index.files().len(), 2);
    }
}

#[test]
fn mirrors_that_send_something_else_are_passed_over() {
    let check = |spoil: fn(&mut Behaviour), told: &str| {
        let (mirror, index) = (FakeIndex::from_published(&published()), FakeIndex::from_published(&published()));
        mirror.behave(spoil);
        let run = Run::at(&index).mirror("m", &mirror);
        run.get(&[wanted(&index, BIG)]);
        let notes = run.counts().notes;
        assert!(notes.len() == 1 && notes[0].contains(told), "{told}: {notes:?}");
        assert_eq!(ranges(&index), [None], "{told}");
    };
    check(|mirror| mirror.wrong_files = just(BIG), " bytes from `http://127.0.0.1");
    check(|mirror| mirror.altered_files = just(BIG), ", though its page lists the locked one");
    check(|mirror| *mirror = Behaviour { altered_files: just(BIG), ..Behaviour::bare() }, ", and its page lists none");
    check(|mirror| mirror.absent_files = just(BIG), "answers 404 for");
    let rule = |mirror: &mut Behaviour, action| {
        mirror.rules.push(crate::support::server::Rule { path: "/simple/".to_owned(), times: 9, action });
    };
    let mirror = FakeIndex::from_published(&published());
    let index = FakeIndex::from_published(&published());
    mirror.behave(|behaviour| rule(behaviour, Action::Status(404)));
    let run = Run::at(&index).mirror("m", &mirror);
    run.get(&[wanted(&index, BIG)]);
    assert!(run.counts().notes[0].contains("does not know `big`"), "{:?}", run.counts().notes);
}

#[test]
fn a_mirror_that_is_down_is_asked_once_and_bare_pages_do() {
    let down = FakeIndex::from_published(&published());
    let bare = FakeIndex::behaving(&published(), Behaviour::bare());
    let index = FakeIndex::from_published(&published());
    let mut run = Run::at(&index).mirror("down", &down).mirror("bare", &bare);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    run.config.mirrors[0].url = format!("http://{closed}/simple/").parse().unwrap();
    run.get(&[wanted(&index, BIG), wanted(&index, SMALL)]);
    assert_eq!((bare.files().len(), index.requests().len()), (2, 0));
}

#[test]
fn one_error_names_file_expected_and_got() {
    let other = Published::default().with_release("big", "1.0", Rel { filling: 9, ..Rel::default() });
    let check = |published: &Published, spoil: fn(&mut Behaviour), told: &[&str]| {
        let right = FakeIndex::from_published(&self::published());
        let index = FakeIndex::from_published(published);
        index.behave(spoil);
        let run = Run::at(&index);
        let one = wanted(&right, BIG);
        let error = run.error(from_ref(&one));
        assert!(error.starts_with(&format!("`{BIG}` could not be had")), "{error}");
        for part in told {
            assert!(error.contains(part), "`{part}` is missing in: {error}");
        }
        let locked = format!("as locked, with {} bytes and sha256 {}: ", one.size, one.sha256);
        assert_eq!(error.contains(&locked), told[0].starts_with(' '), "{error}");
        assert!(!run.place(&one, "whl").exists() && !run.place(&one, "part").exists());
    };
    let right = FakeIndex::from_published(&published());
    let (more, mut altered) = (size(&right) + 1, right.bytes(BIG));
    altered[0] ^= 1;
    check(
        &published(),
        |index| index.wrong_files = just(BIG),
        &[" as locked", &format!("index `pypi` sent {more} bytes from `http://127.0.0.1"), &format!("/files/{BIG}`")],
    );
    check(
        &published(),
        |index| index.altered_files = just(BIG),
        &[" as locked", &format!("index `pypi` sent sha256 {} from `", Sha256::of(&altered)), "lists the locked one"],
    );
    // Replaced since, or another index: nothing is downloaded only to find that out.
    let replaced = FakeIndex::from_published(&other).bytes(BIG);
    let digest = format!("lists another file of that name, with sha256 {}, at `http://", Sha256::of(&replaced));
    check(&other, |_| (), &[" as locked", &digest, "it was replaced, or the lock was made from another index"]);
    check(
        &other,
        |index| index.hashes = false,
        &[" as locked", &format!("index `pypi` sent {} bytes from `", replaced.len())],
    );
    check(&published(), |index| index.absent_files = just(BIG), &["index `pypi` answers 404 for `http"]);
    check(&Published::default().with("big", "2.0", &[]), |_| (), &["index `pypi` does not list it"]);
    check(&Published::default(), |_| (), &["index `pypi` does not know `big`"]);
    check(&published(), |index| index.auth = Some(("me".into(), "s3cret".into())), &["wants a user and a password"]);
}

#[test]
fn every_one_that_was_asked_is_named() {
    let (mirror, index) = (FakeIndex::from_published(&published()), FakeIndex::from_published(&published()));
    mirror.behave(|behaviour| behaviour.wrong_files = just(BIG));
    index.behave(|behaviour| behaviour.altered_files = just(BIG));
    let mut run = Run::at(&index).mirror("m", &mirror);
    let error = run.error(&[wanted(&index, BIG)]);
    let both = ["mirror `m` of index `pypi` sent ", "; index `pypi` sent sha256 "];
    assert!(both.iter().all(|part| error.contains(part)), "{error}");
    run.config.mirror_only = true;
    let error = run.error(&[wanted(&index, BIG)]);
    assert!(!error.contains("; index `pypi`"), "{error}");
}

#[test]
fn one_wheel_that_cannot_be_had_stops_the_others_where_they_are() {
    let index = FakeIndex::behaving(
        &published(),
        Behaviour { pace: Some((10_000, Duration::from_millis(100))), ..Behaviour::default() },
    );
    index.rule(SMALL, 9, Action::Status(404));
    let run = Run::at(&index);
    let error = run.error(&[wanted(&index, BIG), wanted(&index, SMALL)]);
    assert!(error.contains(SMALL), "{error}");
    assert!(!run.place(&wanted(&index, BIG), "whl").exists());
}

#[test]
fn bodies_without_a_length_are_measured() {
    let index = FakeIndex::from_published(&published());
    index.rule(BIG, 1, Action::Unsized(CUT));
    let run = Run::at(&index);
    run.get(&[wanted(&index, BIG)]);
    assert_eq!(ranges(&index), [None, from(CUT)]);

    index.rule(SMALL, 9, Action::Endless);
    let error = run.error(&[wanted(&index, SMALL)]);
    assert!(error.contains("index `pypi` sent more bytes from `"), "{error}");
}

#[test]
fn offline_what_is_there_counts_and_what_is_missing_is_told_at_once() {
    let many = (0..6).fold(published(), |all, at| all.with(&format!("p{at}"), "1", &[]));
    let index = FakeIndex::from_published(&many);
    let run = Run::at(&index);
    let there = [wanted(&index, BIG), wanted(&index, SMALL)];
    run.get(&there);
    let asked = index.requests().len();
    let offline = run.again().offline();
    offline.get(&there);
    let mut all = there.to_vec();
    all.extend((0..5).map(|at| wanted(&index, &format!("p{at}-1-py3-none-any.whl"))));
    // A beginning is not the file.
    run.put(&all[2], "part", b"PK");
    let error = offline.error(&all);
    assert_eq!(
        error,
        "5 wheels are not (`p0-1-py3-none-any.whl`, `p1-1-py3-none-any.whl`, `p2-1-py3-none-any.whl` and 2 more) in \
         the cache, and the network is switched off"
    );
    assert_eq!(index.requests().len(), asked);
}

#[test]
fn wheels_by_path_are_copied_and_checked() {
    let index = FakeIndex::from_published(&published());
    let run = Run::at(&index).offline();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(BIG);
    let one = Wanted { place: Place::Path(path.clone()), ..wanted(&index, BIG) };
    assert_eq!(run.error(from_ref(&one)), format!("there is no wheel `{}`", path.display()));
    let mut bytes = index.bytes(BIG);
    bytes[0] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let error = run.error(from_ref(&one));
    let told = format!("`{}` has {} bytes and sha256 {}", path.display(), bytes.len(), Sha256::of(&bytes));
    assert!(error.ends_with(&told) && error.contains(&one.sha256.to_string()), "{error}");
    bytes.push(0);
    std::fs::write(&path, &bytes).unwrap();
    let error = run.error(from_ref(&one));
    assert!(error.ends_with(&format!("`{}` has {} bytes", path.display(), bytes.len())), "{error}");
    std::fs::write(&path, index.bytes(BIG)).unwrap();
    let ready = run.get(&[one]).remove(0);
    ready.discard().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), index.bytes(BIG), "the user's own file stays");
    assert!(index.requests().is_empty());
}

#[test]
fn wheels_by_address_are_got_from_there() {
    let index = FakeIndex::from_published(&published());
    let address = index.root().join(&format!("files/{BIG}")).unwrap();
    let one = Wanted { place: Place::Address(address.clone()), ..wanted(&index, BIG) };
    index.rule(BIG, 1, Action::Truncate(CUT));
    Run::at(&index).get(from_ref(&one));
    assert_eq!((ranges(&index), index.asked("/simple/").len()), (vec![None, from(CUT)], 0));
    index.behave(|behaviour| behaviour.altered_files = just(BIG));
    let error = Run::at(&index).error(from_ref(&one));
    assert!(
        error.contains("the wheel's server sent sha256 ") && error.ends_with(&format!("from `{address}`")),
        "{error}"
    );
    index.behave(|behaviour| behaviour.absent_files = just(BIG));
    let error = Run::at(&index).error(&[one]);
    assert_eq!(error, format!("`{BIG}` could not be had: the wheel's server answers 404 for `{address}`"));
}

#[test]
fn secrets_go_to_their_index_and_stand_in_no_error() {
    let index = FakeIndex::from_published(&published());
    index.behave(|behaviour| behaviour.auth = Some(("me".to_owned(), "s3cret".to_owned())));
    let mut run = Run::at(&index);
    let url = &mut run.config.indexes[0].url;
    url.set_username("me").unwrap();
    url.set_password(Some("s3cret")).unwrap();
    run.get(&[wanted(&index, BIG)]);
    index.behave(|behaviour| behaviour.wrong_files = just(SMALL));
    let error = run.error(&[wanted(&index, SMALL)]);
    assert!(!error.contains("s3cret") && !error.contains("me@"), "{error}");
}

#[test]
fn without_room_nothing_is_asked_for() {
    let index = FakeIndex::from_published(&published());
    let run = Run::at(&index);
    let huge = Wanted { size: 1 << 60, ..wanted(&index, BIG) };
    let more = Wanted { size: u64::MAX, ..wanted(&index, SMALL) };
    let error = run.error(from_ref(&huge));
    assert!(error.starts_with("no space for downloads: 1152921504.6 GB needed, "), "{error}");
    assert!(error.contains(" free on the volume `/") && error.ends_with(" GB too few"), "{error}");
    assert!(matches!(run.try_get(&[huge, more]), Err(DownloadError::NoSpace { needed: u64::MAX, .. })));
    assert!(index.requests().is_empty());
}

#[test]
fn a_cache_that_cannot_be_is_named() {
    let index = FakeIndex::from_published(&published());
    let mut run = Run::at(&index);
    let wanted = [wanted(&index, BIG)];
    std::fs::create_dir_all(run.place(&wanted[0], "part")).unwrap();
    assert!(run.error(&wanted).contains(".part`"));
    let file = run.cache.path().join("file");
    std::fs::write(&file, "").unwrap();
    run.config.cache_dir = Some(file);
    assert!(run.error(&wanted).contains("downloads-v1"));
    run.config.cache_dir = None;
    assert!(run.error(&wanted).contains("MACML_CACHE_DIR"));
}

#[test]
fn an_index_that_nobody_named_is_an_error() {
    let index = FakeIndex::from_published(&published());
    let one = Wanted { place: Place::Index("corp".into()), ..wanted(&index, BIG) };
    assert_eq!(Run::at(&index).error(&[one]), "there is no index named `corp`");
}
