//! The tables of operators in torch's real Mac wheels, and the committed answers made from them. Runs when `MACML_LIVE` is
//! set: two releases, and all of them when it is `full`.

use std::sync::Arc;

use macml::index::source::{Page, PageAnswer};
use macml::index::{Config, MemberAnswer, Members};
use macml::operators::kernels::{Kernels, Release, known};
use macml::operators::{Backend, TABLE_PATH, Table};
use macml::pep::{Sha256, Version};
use macml::pipeline::ops::{mac_releases, mac_wheel};
use macml::progress::Silent;
use macml::sys::Env;

use crate::live_index::live;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/operators/kernels.txt");

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

/// The tables of releases, from the real wheels.
struct Wheels {
    members: Members,
    page: Arc<Page>,
}

impl Wheels {
    fn new(cache: &std::path::Path) -> Self {
        let config = Config { cache_dir: Some(cache.to_owned()), ..Config::new(Env::capture().unwrap()) };
        let members = Members::new(&config, Arc::new(Silent)).unwrap();
        let PageAnswer::Found(page) = members.page(&"pypi".into(), &"torch".parse().unwrap()).unwrap() else {
            panic!("the index knows torch");
        };
        Self { members, page }
    }

    /// Returns a release and its table; none where its wheel carries no table.
    fn table(&self, version: &Version) -> Option<(Release, Table)> {
        let file = mac_wheel(&self.page, version).unwrap();
        match self.members.read(&"pypi".into(), &file, TABLE_PATH).unwrap() {
            MemberAnswer::Found(bytes) => {
                let text = String::from_utf8(bytes).unwrap();
                let shown = |line: usize| text.lines().nth(line - 1).unwrap_or_default();
                let table =
                    Table::parse(&text).unwrap_or_else(|error| panic!("{version}: {error}: `{}`", shown(error.line)));
                // The file is read whole: no operator is lost.
                let lines = text.lines().filter(|line| line.starts_with("- func:")).count();
                assert_eq!(table.functions(), lines, "{version}");
                let (functions, sha256) = (table.functions(), Sha256::of(text.as_bytes()));
                Some((Release { version: version.clone(), functions, sha256 }, table))
            }
            MemberAnswer::Missing => None,
            other => panic!("{version}: {other:?}"),
        }
    }
}

#[test]
fn what_is_committed_is_what_the_wheels_say() {
    if !live() {
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let wheels = Wheels::new(cache.path());
    let bless = std::env::var_os("MACML_BLESS").is_some();
    if bless || std::env::var("MACML_LIVE").as_deref() == Ok("full") {
        let newest = known().releases().last().map(|release| release.version.clone());
        let mut all = mac_releases(&wheels.page);
        // A release of tomorrow does not make this fail.
        all.retain(|one| !one.any_prerelease() && (bless || newest.as_ref().is_some_and(|newest| one <= newest)));
        all.reverse();
        let tables: Vec<_> = all.iter().filter_map(|version| wheels.table(version)).collect();
        let made = Kernels::of(&tables);
        if bless {
            std::fs::write(FILE, made.text()).unwrap();
        }
        assert!(std::fs::read_to_string(FILE).unwrap() == made.text(), "{FILE} is stale: run with MACML_BLESS=1");
        return;
    }
    for number in ["2.13.0", "2.15.0"] {
        let version = version(number);
        let (release, table) = wheels.table(&version).unwrap();
        let committed = known().releases().iter().find(|one| one.version == version);
        assert_eq!(committed, Some(&release));
        for (name, _) in table.operators() {
            assert_eq!(known().state(name, &version), Some(table.state(name, Backend::Mps)), "{name} in {number}");
        }
    }
}
