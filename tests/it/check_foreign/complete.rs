//! What only an index knows: which file a digest is of, how large a wheel is; and what stays unknown.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use macml::index::source::Answer;
use macml::index::source::Ask;
use macml::index::source::InMemorySource;
use macml::index::source::PageAnswer;
use macml::index::source::Source;
use macml::index::source::SourceError;
use macml::pipeline::check;
use macml::pipeline::check::Word;
use macml::pipeline::check::foreign;
use macml::pipeline::check::foreign::Lacks;

use super::made::{Project, demo, digest, file, index, package_of, shown, told};
use crate::support::universe::Packages;
use crate::support::universe::Rel;
use crate::support::universe::Universe;

const WHEELS: [&str; 4] = [
    "cp312-cp312-macosx_11_0_arm64",
    "cp312-cp312-macosx_14_0_arm64",
    "cp312-cp312-macosx_26_0_arm64",
    "cp312-cp312-manylinux_2_17_x86_64",
];

fn rel(wheels: &[&str]) -> Rel {
    Rel { wheels: wheels.iter().map(|one| (*one).to_owned()).collect(), ..Rel::default() }
}

/// A release by name and version.
type Of<'a> = (&'a str, &'a str, Rel);

fn universe(indexes: &[(&str, &[Of<'_>])]) -> Universe {
    let packages = |releases: &[Of<'_>]| {
        let mut packages = Packages::new();
        for (name, version, rel) in releases {
            packages.entry((*name).to_owned()).or_default().insert((*version).to_owned(), rel.clone());
        }
        packages
    };
    Universe {
        indexes: indexes
            .iter()
            .map(|(name, releases)| ((*name).to_owned(), packages(releases)))
            .collect::<BTreeMap<_, _>>(),
    }
}

/// A line of requirements with the digests of these wheels.
fn line(name: &str, version: &str, wheels: &[&str]) -> String {
    let hashes: String = wheels.iter().map(|tags| format!(" --hash=sha256:{}", digest(name, version, tags))).collect();
    format!("{name}=={version}{hashes}\n")
}

/// Counts the questions, and has no answer to some.
struct Counting {
    inner: InMemorySource,
    asked: Vec<String>,
    /// Names of packages whose pages are not in the cache.
    offline: Vec<&'static str>,
    /// Names of packages that nobody answers for.
    broken: Vec<&'static str>,
}

#[derive(Debug, thiserror::Error)]
#[error("index `pypi` gave no answer: it is gone")]
struct Gone;

impl Counting {
    fn of(universe: &Universe) -> Self {
        Self { inner: universe.source(), asked: Vec::new(), offline: Vec::new(), broken: Vec::new() }
    }
}

impl Source for Counting {
    fn ask(&mut self, ask: Ask) {
        self.asked.push(match &ask {
            Ask::Page { index, name } => format!("page {name} {index}"),
            Ask::Metadata { file, .. } => format!("metadata {}", file.filename),
            Ask::Complete { index, file } => format!("complete {} {index}", file.filename),
        });
        self.inner.ask(ask);
    }

    fn wait(&mut self, until: Option<Instant>) -> Option<(Ask, Result<Answer, SourceError>)> {
        let (ask, answer) = self.inner.wait(until)?;
        Some(match &ask {
            Ask::Page { name, .. } if self.offline.contains(&name.as_str()) => {
                (ask, Ok(Answer::Page(PageAnswer::Offline)))
            }
            Ask::Page { name, .. } if self.broken.contains(&name.as_str()) => (ask, Err(SourceError(Arc::new(Gone)))),
            _ => (ask, answer),
        })
    }
}

#[test]
fn the_best_of_the_listed_digests_is_found_for_each_mac() {
    let list = [line("mlx", "0.30.0", &WHEELS), line("numpy", "2.3.0", &WHEELS[..1])].concat();
    let project = Project::new(&[("requirements.txt", &list)]).asking(&["m5,26.0"]);
    let mut foreign = project.read("requirements.txt");
    assert_eq!(foreign.lacks(), Lacks::Files);
    let universe = universe(&[("pypi", &[("mlx", "0.30.0", rel(&WHEELS)), ("numpy", "2.3.0", rel(&WHEELS))])]);
    let mut source = Counting::of(&universe);
    foreign::complete(&mut foreign, &mut source);
    assert_eq!(source.asked, ["page mlx pypi", "page numpy pypi"]);
    let found = |name: &str, version: &str, tags: &str| {
        let file = file(name, version, tags);
        format!("{name} {version}: {file} {} index pypi", 1000 + file.len())
    };
    // Of numpy only one wheel may be installed, though a better one is there.
    assert_eq!(shown(&foreign.sets[0]), [found("mlx", "0.30.0", WHEELS[1]), found("numpy", "2.3.0", WHEELS[0])]);
    assert_eq!(shown(&foreign.sets[1]), [found("mlx", "0.30.0", WHEELS[2]), found("numpy", "2.3.0", WHEELS[0])]);
    assert_eq!((told(&foreign), foreign.lacks()), (vec![], Lacks::Nothing));
    let file = foreign.sets[0].releases[0].file.as_ref().unwrap();
    assert_eq!(file.sha256.to_string(), digest("mlx", "0.30.0", WHEELS[1]));
    // Nothing is asked twice.
    let mut again = Counting::of(&universe);
    foreign::complete(&mut foreign, &mut again);
    assert_eq!(again.asked, [] as [&str; 0]);
}

#[test]
fn without_hashes_any_file_may_be_meant() {
    let project = Project::new(&[("requirements.txt", "mlx==0.30.0\n")]);
    let mut foreign = project.read("requirements.txt");
    let universe = universe(&[("pypi", &[("mlx", "0.30.0", rel(&WHEELS))])]);
    foreign::complete(&mut foreign, &mut universe.source());
    assert!(shown(&foreign.sets[0])[0].contains(WHEELS[1]), "{:?}", shown(&foreign.sets[0]));
}

#[test]
fn what_fits_no_mac_is_an_error_and_what_can_be_built_a_warning() {
    let source = |wheels: &[&str]| Rel { sdist: true, ..rel(wheels) };
    let archive = " --hash=sha256:1111111111111111111111111111111111111111111111111111111111111111\n";
    let list = [
        line("linux", "1.0", &WHEELS[3..]),
        line("later", "1.0", &WHEELS[2..3]),
        line("built", "1.0", &WHEELS[3..]).trim_end().to_owned() + archive,
        "onlysource==1.0".to_owned() + archive,
        "gone==1.0".to_owned() + archive,
    ];
    let project = Project::new(&[("requirements.txt", &list.concat())]).asking(&["m5,15.0"]);
    let mut foreign = project.read("requirements.txt");
    assert_eq!(foreign.part.word, Word::Readable);
    let releases = [
        ("linux", "1.0", rel(&WHEELS)),
        ("later", "1.0", rel(&WHEELS)),
        ("built", "1.0", source(&WHEELS)),
        ("onlysource", "1.0", source(&[])),
        ("gone", "1.0", rel(&WHEELS)),
    ];
    foreign::complete(&mut foreign, &mut universe(&[("pypi", &releases)]).source());
    let rest = "nothing can be said of the libraries that building makes";
    let said: Vec<String> = told(&foreign).iter().map(|line| line.split(" <- ").next().unwrap().to_owned()).collect();
    assert_eq!(
        said,
        [
            "error[file-gone]: `gone` 1.0 cannot be installed: no file of it that is locked is on index `pypi`",
            "error[lock-unfit]: `later` 1.0: needs macOS 26; your floor is 14.0",
            "error[lock-unfit]: `linux` 1.0: no wheel for arm64 Macs",
            "error[lock-unfit]: on m5,15.0: `later` 1.0: needs macOS 26; it has 15.0",
            &format!(
                "warning[built-from-source]: `built` 1.0 is built on each machine (no wheel for arm64 Macs, and {rest})"
            ),
            &format!(
                "warning[built-from-source]: `onlysource` 1.0 is built on each machine (only a source archive, and {rest})"
            ),
        ]
    );
    assert_eq!(foreign.part.word, Word::Unfit);
}

#[test]
fn what_stays_unknown_is_told_and_may_be_found_later() {
    let list =
        [line("mlx", "0.30.0", &WHEELS), line("numpy", "2.3.0", &WHEELS), line("absent", "1.0", &WHEELS)].concat();
    let mut foreign = Project::new(&[("requirements.txt", &list)]).read("requirements.txt");
    let releases = [("mlx", "0.30.0", rel(&WHEELS)), ("numpy", "2.3.0", rel(&WHEELS))];
    let universe = universe(&[("pypi", &releases)]);
    let mut source = Counting { offline: vec!["mlx"], broken: vec!["numpy"], ..Counting::of(&universe) };
    foreign::complete(&mut foreign, &mut source);
    let of = |name: &str, version: &str, why: &str| {
        let hashes = line(name, version, &WHEELS);
        format!(
            "warning[file-unknown]: which file of `{name}` {version} is installed is not known ({why}) <- {}",
            hashes.trim_end()
        )
    };
    let absent = of("absent", "1.0", "no file of it that is locked is on index `pypi`");
    // That is not the same as to have none.
    let unknown: Vec<&str> = foreign.sets[0].unknown.iter().map(|name| name.as_str()).collect();
    assert_eq!(unknown, ["absent", "mlx", "numpy"]);
    let libraries =
        check::libraries(&foreign.sets[0], &[], &[], &BTreeMap::new(), &macml::knowledge::Knowledge::built_in());
    assert_eq!((libraries.word, libraries.otherwise), (Word::Unsure, Word::Unsure));
    let expected = "`numpy` 2.3.0 was not read: which file of it is installed is not known";
    assert!(libraries.told.iter().any(|one| one.finding.message == expected), "{libraries:?}");
    assert_eq!(
        told(&foreign),
        [
            absent.clone(),
            of("mlx", "0.30.0", "the page of index `pypi` is not in the cache, and the network is switched off"),
            of("numpy", "2.3.0", "index `pypi` gave no answer: it is gone"),
        ]
    );
    assert_eq!((foreign.lacks(), foreign.part.word), (Lacks::Files, Word::Readable));
    foreign::complete(&mut foreign, &mut universe.source());
    assert_eq!(told(&foreign), [absent]);
    assert_eq!(foreign.sets[0].unknown.len(), 1);
    assert_eq!(foreign.sets[0].releases.iter().filter(|release| release.file.is_some()).count(), 2);
}

#[test]
fn further_indexes_of_a_list_are_asked_too() {
    let list = [
        format!(
            "--extra-index-url {}\n--extra-index-url https://me:s3cret@corp.example/simple/\n",
            index("pytorch-cpu")
        ),
        line("torch", "2.8.0", &WHEELS[1..2]),
        line("own", "1.0", &["py3-none-any"]),
    ];
    let mut foreign = Project::new(&[("requirements.txt", &list.concat())]).read("requirements.txt");
    let universe = universe(&[
        // Another build of the same release.
        ("pypi", &[("torch", "2.8.0", rel(&WHEELS[..1]))]),
        ("pytorch-cpu", &[("torch", "2.8.0", rel(&WHEELS[1..2]))]),
        ("corp-example", &[("own", "1.0", rel(&["py3-none-any"]))]),
    ]);
    foreign::complete(&mut foreign, &mut universe.source());
    let places: Vec<String> =
        shown(&foreign.sets[0]).iter().map(|line| line.rsplit(' ').next().unwrap().to_owned()).collect();
    assert_eq!(places, ["corp-example", "pytorch-cpu"]);
    let list = ["--index-url https://corp.example/simple\n".to_owned(), line("own", "1.0", &["py3-none-any"])].concat();
    let mut foreign = Project::new(&[("requirements.txt", &list)]).read("requirements.txt");
    let mut source = Counting::of(&universe);
    foreign::complete(&mut foreign, &mut source);
    assert_eq!(source.asked, ["page own corp-example"]);
    assert!(shown(&foreign.sets[0])[0].ends_with("index corp-example"));
}

#[test]
fn sizes_that_a_lock_does_not_say_are_found() {
    let name = file("mlx", "0.30.0", WHEELS[1]);
    let wheel = |name: &str, tags: &str| {
        let file = file(name, "1.0", tags);
        format!(
            "wheels = [{{ url = \"https://files.example/{file}\", hash = \"sha256:{}\" }}]\n",
            digest(name, "1.0", tags)
        )
    };
    let by_address = format!("{{ url = \"https://files.example/{}\" }}", file("direct", "1.0", "py3-none-any"));
    let registry = "{ registry = \"{INDEX}\" }";
    let packages = [
        demo(&["here", "other", "direct"]),
        package_of(registry, "here", "1.0", &[], &wheel("here", WHEELS[0])),
        package_of(registry, "other", "1.0", &[], &wheel("other", WHEELS[0])),
        package_of(&by_address, "direct", "1.0", &[], &wheel("direct", "py3-none-any")),
    ];
    let mut foreign = Project::uv(&packages).read("uv.lock");
    assert_eq!(foreign.lacks(), Lacks::Sizes);
    let page = [("here", "1.0", rel(&WHEELS)), ("other", "1.0", rel(&WHEELS))];
    let universe = universe(&[("pypi", &page)]);
    let mut source = Counting { broken: vec!["other"], ..Counting::of(&universe) };
    foreign::complete(&mut foreign, &mut source);
    assert_eq!(source.asked.last().unwrap(), "complete direct-1.0-py3-none-any.whl ");
    let sizes: HashMap<String, Option<u64>> = foreign.sets[0]
        .releases
        .iter()
        .map(|release| (release.name.to_string(), release.file.as_ref().unwrap().size))
        .collect();
    assert_eq!(sizes["here"], Some(1000 + file("here", "1.0", WHEELS[0]).len() as u64));
    assert_eq!((sizes["other"], sizes["direct"]), (None, Some(0)));
    // A wheel is judged without its size.
    assert_eq!(told(&foreign), [] as [&str; 0]);
    // Of a page that says neither, the index itself is asked.
    let bare = Rel { bare: true, ..rel(&WHEELS) };
    let bare = super::complete::universe(&[("pypi", &[("mlx", "0.30.0", bare)])]);
    let mut foreign = Project::new(&[("requirements.txt", "mlx==0.30.0\n")]).read("requirements.txt");
    let mut source = Counting::of(&bare);
    foreign::complete(&mut foreign, &mut source);
    assert_eq!(source.asked, ["page mlx pypi".to_owned(), format!("complete {name} pypi")]);
    assert_eq!(shown(&foreign.sets[0]), [format!("mlx 0.30.0: {name} 0 index pypi")]);
}

#[test]
fn a_pylock_without_sizes_is_completed_by_digest() {
    let wheel = |tags: &str, called: &str| {
        let sha256 = digest("mlx", "0.30.0", tags);
        format!("{{ name = \"{called}\", hashes = {{ sha256 = \"{sha256}\" }} }}")
    };
    let own = file("mlx", "0.30.0", WHEELS[1]);
    let text = format!(
        "lock-version = \"1.0\"\nrequires-python = \">=3.12\"\ncreated-by = \"made\"\n\n[[packages]]\nname = \"mlx\"\nversion = \"0.30.0\"\nwheels = [{}]\n\n[[packages]]\nname = \"own\"\nversion = \"1.0\"\nwheels = [{{ path = \"wheels/own-1.0-py3-none-any.whl\", size = 5, hashes = {{ sha256 = \"{}\" }} }}]\n",
        wheel(WHEELS[1], &own),
        digest("own", "1.0", "py3-none-any"),
    );
    let mut foreign = Project::new(&[("pylock.toml", &text)]).python(None).read("pylock.toml");
    assert_eq!(
        shown(&foreign.sets[0]),
        [
            format!("mlx 0.30.0: {own} ? index pypi"),
            "own 1.0: own-1.0-py3-none-any.whl 5 path wheels/own-1.0-py3-none-any.whl".to_owned(),
        ]
    );
    let universe = universe(&[("pypi", &[("mlx", "0.30.0", rel(&WHEELS))])]);
    foreign::complete(&mut foreign, &mut universe.source());
    assert_eq!(shown(&foreign.sets[0])[0], format!("mlx 0.30.0: {own} {} index pypi", 1000 + own.len()));
    assert_eq!(foreign.lacks(), Lacks::Nothing);
}
