//! Made-up universes: a tree of packages in which every package is needed, to see how cost grows.

use std::collections::HashMap;
use std::sync::Arc;

use macml::pep::Sha256;

use crate::index::{Entry, Index, Kind};

/// How many releases each package has.
pub(crate) const RELEASES: usize = 12;

/// Returns the roots of every universe.
pub(crate) fn roots() -> Vec<String> {
    vec![name(0)]
}

/// Makes `size` packages, each needed by the one halfway before it.
pub(crate) fn universe(size: usize) -> Index {
    let mut entries = HashMap::new();
    for at in 0..size {
        let mut files = Vec::new();
        for release in 1..=RELEASES {
            let file = format!("{}-{release}.0-py3-none-any.whl", name(at).replace('-', "_"));
            let path = format!("/files/made/{file}.metadata");
            let text = metadata(at, release, size);
            files.push(serde_json::json!({
                "filename": file,
                "url": format!("../../files/made/{file}"),
                "hashes": { "sha256": Sha256::of(file.as_bytes()).to_string() },
                "size": 10_000 + release,
                "requires-python": ">=3.9",
                "upload-time": "2026-01-01T00:00:00.000000Z",
                "core-metadata": { "sha256": Sha256::of(text.as_bytes()).to_string() },
                "yanked": false,
            }));
            entries.insert(path, Some(Arc::new(Entry::new(text.into_bytes(), Kind::Metadata))));
        }
        let versions: Vec<String> = (1..=RELEASES).map(|release| format!("{release}.0")).collect();
        let page = serde_json::json!({
            "meta": { "api-version": "1.1" }, "name": name(at), "versions": versions, "files": files,
        });
        let page = serde_json::to_vec(&page).expect("JSON stays JSON");
        entries.insert(format!("/simple/{}/", name(at)), Some(Arc::new(Entry::new(page, Kind::Page))));
    }
    Index::new(entries, None)
}

fn name(at: usize) -> String {
    format!("made-{at:04}")
}

fn metadata(at: usize, release: usize, size: usize) -> String {
    let mut text = format!("Metadata-Version: 2.4\nName: {}\nVersion: {release}.0\nRequires-Python: >=3.9\n", name(at));
    text.extend([2 * at + 1, 2 * at + 2].into_iter().filter(|child| *child < size).map(|child| {
        // Some newest releases are too new for their parent, so that a solver has to look back now and then.
        let upper = if child.is_multiple_of(7) { RELEASES - 1 } else { RELEASES + 1 };
        format!("Requires-Dist: {}>={},<{upper}\n", name(child), release / 2)
    }));
    text + "\nA package that was made up.\n"
}
