//! What the cache keeps of whom, and for whom it counts.

use macml::index::source::PageAnswer;

use crate::index::{Run, files};
use crate::support::published::Published;
use crate::support::server::{Action, Behaviour, FakeIndex, MetadataFiles, Ranges};

fn small() -> Published {
    Published::default().with("alpha", "1.0", &["beta"]).with("beta", "2.0", &[])
}

/// Ranges of a wheel cannot be checked against its sha256: what a mirror told by them must not outlive the mirror.
#[test]
fn a_mirror_cannot_plant_metadata_for_the_index_itself() {
    let cache = tempfile::tempdir().unwrap();
    let index = FakeIndex::from_published(&Published::default().with("alpha", "1.0", &["beta"]));
    let liar = FakeIndex::behaving(
        &Published::default().with("alpha", "1.0", &["evil"]),
        Behaviour { metadata_files: MetadataFiles::None, ..Behaviour::default() },
    );
    let name = "alpha-1.0-py3-none-any.whl";
    let honest = files(&Run::at(&index.url()).page("alpha"))[0].sha256.unwrap();
    let file = serde_json::json!({
        "filename": name, "url": format!("../../files/{name}"), "hashes": { "sha256": honest.to_string() },
    });
    let page = serde_json::json!({ "meta": { "api-version": "1.0" }, "files": [file] }).to_string();
    liar.rule("/simple/", 99, Action::Body("application/json".to_owned(), page.into_bytes()));

    let asked = |run: Run| run.cache(cache.path()).metadata("alpha").requires_dist[0].name.to_string();
    assert_eq!(asked(Run::at(&index.url()).mirror("liar", &liar.url())), "evil");
    assert_eq!(asked(Run::at(&index.url())), "beta");
    // From now on the index's own word is known, and goes before the mirror's.
    assert_eq!(asked(Run::at(&index.url()).mirror("liar", &liar.url())), "beta");
}

#[test]
fn metadata_of_a_wheel_that_came_whole_counts_whoever_sent_it() {
    let cache = tempfile::tempdir().unwrap();
    let index =
        FakeIndex::behaving(&small(), Behaviour { metadata_files: MetadataFiles::None, ..Behaviour::default() });
    let whole = Behaviour { metadata_files: MetadataFiles::None, ranges: Ranges::Ignored, ..Behaviour::default() };
    let mirror = FakeIndex::behaving(&small(), whole);
    let metadata = Run::at(&index.url()).mirror("whole", &mirror.url()).cache(cache.path()).metadata("beta");
    assert_eq!(Run::at(&index.url()).cache(cache.path()).metadata("beta"), metadata);
    assert_eq!((mirror.asked("/files/").len(), index.asked("/files/").len()), (1, 0));
}

#[test]
fn a_name_too_long_for_a_file_is_cached_like_any_other() {
    let cache = tempfile::tempdir().unwrap();
    let name = "a".repeat(300);
    let index = FakeIndex::from_published(&small());
    let run = Run::at(&index.url()).cache(cache.path());
    for _ in 0..2 {
        assert!(matches!(run.try_page(&name), Ok(PageAnswer::Absent)));
        run.page("alpha");
    }
    assert_eq!((index.requests().len(), run.notes()), (2, Vec::new()));
}
