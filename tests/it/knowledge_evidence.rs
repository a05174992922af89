//! That the knowledge can be true. Every rule speaks of releases that exist, by the list in `tests/knowledge/releases.toml`;
//! when `MACML_LIVE` is set also by the real index, and then everything that is quoted as evidence must exist there.
//!
//! `MACML_BLESS=1 MACML_LIVE=1 cargo test knowledge_evidence` writes that list anew.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use macml::index::source::{Answer, Ask, Page, PageAnswer, Source as _};
use macml::knowledge::Knowledge;
use macml::knowledge::Rule;
use macml::knowledge::rule::{Evidence, Scope};
use macml::pep::{PackageName, Specifiers, Version, WheelName};

use crate::live_index::live;
use crate::live_index::source;

type Releases = BTreeMap<PackageName, Vec<Version>>;
type Pages = BTreeMap<PackageName, Arc<Page>>;

/// Everything that is quoted: by whom, for which releases, and what.
type Quoted<'k> = Vec<(&'k str, &'k Evidence)>;

fn list() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/knowledge/releases.toml")
}

fn recorded() -> Releases {
    let text = std::fs::read_to_string(list()).unwrap();
    let all: BTreeMap<String, Vec<String>> = toml::from_str(&text).unwrap();
    let versions = |texts: Vec<String>| texts.iter().map(|text| text.parse().unwrap()).collect();
    all.into_iter().map(|(name, texts)| (name.parse().unwrap(), versions(texts))).collect()
}

/// Writes the list as TOML, in lines of bounded length.
fn written(releases: &Releases) -> String {
    let mut text = "# Releases on PyPI of the packages that the knowledge speaks of, oldest first. Written by\n\
                    # `MACML_BLESS=1 MACML_LIVE=1 cargo test knowledge_evidence`.\n"
        .to_owned();
    for (name, versions) in releases {
        let _ = write!(text, "\n{name} = [");
        let mut width = usize::MAX;
        for version in versions {
            let item = format!("\"{version}\",");
            if width.saturating_add(item.len()) > 116 {
                text += "\n   ";
                width = 3;
            }
            let _ = write!(text, " {item}");
            width += item.len() + 1;
        }
        text += "\n]\n";
    }
    text
}

/// Lists what a piece of knowledge says of which releases: its name, the package, and the versions meant.
fn spoken_of(knowledge: &Knowledge) -> Vec<(String, &PackageName, &Specifiers)> {
    let mut all = Vec::new();
    for rule in knowledge.rules() {
        all.push((format!("rule `{}`", rule.id), &rule.package, &rule.versions));
        all.extend(
            rule.others().into_iter().map(|other| (format!("rule `{}`", rule.id), &other.name, &other.versions)),
        );
    }
    for fact in &knowledge.wheels {
        all.extend(fact.packages.iter().map(|name| (format!("wheels `{}`", fact.tag), name, &fact.versions)));
    }
    for tag in &knowledge.inner_tags {
        all.extend(tag.packages.iter().map(|name| (format!("inner tag `{}`", tag.says), name, &tag.versions)));
    }
    for excused in &knowledge.excused {
        all.push((format!("excuse `{}`", excused.image), &excused.package, &excused.versions));
    }
    all
}

/// Tells of each piece of knowledge that no release can ever match.
fn idle(spoken_of: &[(String, &PackageName, &Specifiers)], releases: &Releases) -> Vec<String> {
    let one = |(who, name, versions): &(String, &PackageName, &Specifiers)| match releases.get(*name) {
        None => Some(format!(
            "{who}: releases of `{name}` are not recorded: MACML_BLESS=1 MACML_LIVE=1 cargo test knowledge_evidence"
        )),
        Some(all) if all.iter().any(|version| versions.contains(version)) => None,
        Some(_) => Some(format!("{who}: no release of `{name}` is `{versions}`")),
    };
    spoken_of.iter().filter_map(one).collect()
}

#[track_caller]
fn assert_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn every_rule_can_match_a_release() {
    assert_none(&idle(&spoken_of(&Knowledge::built_in()), &recorded()));
}

#[test]
fn a_rule_that_can_match_nothing_is_named() {
    let releases: Releases = [("a".parse().unwrap(), vec!["1.0".parse().unwrap(), "2.0rc1".parse().unwrap()])].into();
    let check = |name: &str, versions: &str, wanted: &[&str]| {
        let (name, versions) = (name.parse::<PackageName>().unwrap(), versions.parse::<Specifiers>().unwrap());
        let said = idle(&[("rule `r`".to_owned(), &name, &versions)], &releases);
        assert_eq!(said.len(), usize::from(!wanted.is_empty()), "{said:?}");
        wanted.iter().for_each(|part| assert!(said[0].contains(part), "{said:?}"));
    };
    check("a", ">=1", &[]);
    check("a", ">=2.0rc1", &[]);
    check("a", ">=2", &["rule `r`", "no release of `a` is `>=2`"]);
    check("b", ">=1", &["rule `r`", "`b` are not recorded", "MACML_BLESS=1"]);
    let text = written(&releases);
    assert!(text.ends_with("\na = [\n    \"1.0\", \"2.0rc1\",\n]\n"), "{text}");
}

fn quoted(knowledge: &Knowledge) -> Quoted<'_> {
    let rules = knowledge.rules().iter().map(|rule| (rule.id.as_str(), &rule.evidence));
    let wheels = knowledge.wheels.iter().map(|fact| (fact.tag.as_str(), &fact.evidence));
    let tags = knowledge.inner_tags.iter().map(|tag| (tag.says.as_str(), &tag.evidence));
    let nights = knowledge.one_night.iter().map(|night| (night.id.as_str(), &night.evidence));
    let excuses = knowledge.excused.iter().map(|one| (one.image.as_str(), &one.evidence));
    let all = rules.chain(wheels).chain(tags).chain(nights).chain(excuses);
    all.flat_map(|(who, evidence)| evidence.iter().map(move |one| (who, one))).collect()
}

/// Fetches the page of every package that is spoken of or quoted.
fn pages(knowledge: &Knowledge) -> Pages {
    let quoted = quoted(knowledge);
    let of_evidence = quoted.iter().filter_map(|(_, evidence)| match evidence {
        Evidence::Wheel(file) => Some(file.parse::<WheelName>().unwrap().name),
        Evidence::Files(name) => Some(name.clone()),
        Evidence::Address(_) => None,
    });
    let spoken_of = spoken_of(knowledge).into_iter().map(|(_, name, _)| name.clone());
    let names: BTreeSet<PackageName> = of_evidence.chain(spoken_of).collect();
    let mut index = source(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("knowledge-evidence"));
    names.iter().for_each(|name| index.ask(Ask::Page { index: "pypi".into(), name: name.clone() }));
    let answer = |_| match index.wait(None).unwrap() {
        (Ask::Page { name, .. }, Ok(Answer::Page(PageAnswer::Found(page)))) => (name, page),
        (asked, other) => panic!("{asked:?}: {other:?}"),
    };
    names.iter().map(answer).collect()
}

/// Returns whether a rule claims by the list of files that none of its releases has a wheel for Macs.
fn claims_no_mac_wheel(rule: &Rule) -> bool {
    let by_files = rule.evidence.iter().any(|one| matches!(one, Evidence::Files(name) if *name == rule.package));
    by_files && rule.scope == Scope::Install && rule.reason.starts_with("No release ")
}

/// Lists the wheels of final releases under a rule that a Mac with an Apple chip could install.
fn mac_wheels(rule: &Rule, page: &Page) -> Vec<String> {
    let arm64 = |tag: &str| tag.starts_with("macosx_") && (tag.ends_with("_arm64") || tag.ends_with("_universal2"));
    let about = page.versions().filter(|version| rule.is_about(version) && !version.any_prerelease());
    let wheels = about.flat_map(|version| &page.release(version).unwrap().wheels);
    let fits = wheels.filter(|file| file.wheel.platform_tags().any(|tag| tag == "any" || arm64(tag)));
    fits.map(|file| file.filename.to_string()).collect()
}

/// Rules and their evidence against the real index.
#[test]
fn what_is_quoted_exists() {
    if !live() {
        return;
    }
    let knowledge = Knowledge::built_in();
    let pages = pages(&knowledge);
    let known = |page: &Arc<Page>| page.versions().cloned().collect::<Vec<_>>().into_iter().rev().collect();
    let releases: Releases = pages.iter().map(|(name, page)| (name.clone(), known(page))).collect();
    if std::env::var_os("MACML_BLESS").is_some() {
        let spoken_of: BTreeSet<&PackageName> = spoken_of(&knowledge).into_iter().map(|(_, name, _)| name).collect();
        let listed = releases.clone().into_iter().filter(|(name, _)| spoken_of.contains(name)).collect();
        std::fs::write(list(), written(&listed)).unwrap();
    }

    let mut complaints = idle(&spoken_of(&knowledge), &releases);
    for (who, evidence) in quoted(&knowledge) {
        let Evidence::Wheel(file) = evidence else { continue };
        let wheel: WheelName = file.parse().unwrap();
        let release = pages[&wheel.name].release(&wheel.version);
        if !release.is_some_and(|release| release.wheels.iter().any(|one| *one.filename == **file)) {
            complaints.push(format!("`{who}`: there is no `{file}`"));
        }
    }
    let claims = knowledge.rules().iter().filter(|rule| claims_no_mac_wheel(rule)).collect::<Vec<_>>();
    assert!(claims.len() >= 5, "the claims of no wheel at all are looked at");
    for rule in claims {
        let fits = mac_wheels(rule, &pages[&rule.package]);
        if !fits.is_empty() {
            complaints.push(format!("rule `{}`: there are wheels after all: {}", rule.id, fits.join(", ")));
        }
    }
    assert_none(&complaints);
}
