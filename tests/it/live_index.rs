//! Pages and METADATA of the real index. Runs when `MACML_LIVE` is set.

use std::sync::Arc;

use macml::index::source::{Answer, Ask, File, MetadataAnswer, Page, PageAnswer, Source as _};
use macml::index::{Config, OnlineSource};
use macml::pep::Metadata;
use macml::progress::Silent;
use macml::sys::Env;

/// Returns whether the real index may be asked, and says so when not.
pub(crate) fn live() -> bool {
    let live = matches!(std::env::var("MACML_LIVE").as_deref(), Ok("1" | "full"));
    if !live {
        eprintln!("skipped: needs the real index, set MACML_LIVE=1");
    }
    live
}

/// Opens the real index, with a cache in a folder.
pub(crate) fn source(cache: &std::path::Path) -> OnlineSource {
    let config = Config { cache_dir: Some(cache.to_owned()), ..Config::new(Env::capture().unwrap()) };
    OnlineSource::new(&config, Arc::new(Silent)).unwrap()
}

fn page(source: &mut OnlineSource, name: &str) -> Arc<Page> {
    source.ask(Ask::Page { index: "pypi".into(), name: name.parse().unwrap() });
    match source.wait(None).unwrap().1.unwrap() {
        Answer::Page(PageAnswer::Found(page)) => page,
        other => panic!("{other:?}"),
    }
}

fn newest(page: &Page, ending: &str) -> Arc<File> {
    let wheels =
        page.versions().filter(|version| !version.any_prerelease()).flat_map(|one| &page.release(one).unwrap().wheels);
    wheels.into_iter().find(|file| file.filename.ends_with(ending)).unwrap().clone()
}

fn metadata(source: &mut OnlineSource, file: Arc<File>) -> Arc<Metadata> {
    source.ask(Ask::Metadata { index: "pypi".into(), file });
    match source.wait(None).unwrap().1.unwrap() {
        Answer::Metadata(MetadataAnswer::Found(metadata)) => metadata,
        other => panic!("{other:?}"),
    }
}

#[test]
fn pages_and_metadata_of_frameworks() {
    if !live() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let mut source_ = source(cache.path());
    let torch = page(&mut source_, "torch");
    assert!(torch.versions().count() > 40);
    let file = newest(&torch, "arm64.whl");
    assert!(file.sha256.is_some() && file.size.is_some_and(|size| size > 10 << 20) && file.upload_day.is_some());
    let said = metadata(&mut source_, file.clone());
    assert_eq!((said.name.as_str(), &said.version), ("torch", &file.wheel.version));
    assert!(said.requires_dist.iter().any(|one| one.name.as_str() == "sympy"));
    let mlx = page(&mut source_, "mlx");
    let wheel = newest(&mlx, "arm64.whl");
    assert_eq!(metadata(&mut source_, wheel).name.as_str(), "mlx");
    drop(source_);

    // A second run needs no network.
    let config =
        Config { cache_dir: Some(cache.path().to_owned()), offline: true, ..Config::new(Env::capture().unwrap()) };
    let mut offline = OnlineSource::new(&config, Arc::new(Silent)).unwrap();
    assert_eq!(page(&mut offline, "torch"), torch);
    assert_eq!(metadata(&mut offline, file), said);
}
