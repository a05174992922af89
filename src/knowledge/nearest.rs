//! What was probably meant by the name of a rule or package that the knowledge does not have.

use std::collections::BTreeSet;

use crate::pep::PackageName;

use super::Knowledge;

/// From this likeness on, of 1, a name is taken for what was meant.
const LIKE_ENOUGH: f64 = 0.6;

impl Knowledge {
    /// Returns whether `ignore-rules` may take a name.
    pub fn has(&self, id: &str) -> bool {
        self.ids().any(|known| known == id)
    }

    /// Lists the packages that the knowledge speaks of, by name.
    pub fn packages(&self) -> BTreeSet<&PackageName> {
        let by_rules = self.by_package.keys().chain(self.by_other.keys());
        let by_wheels = self.wheels.iter().flat_map(|fact| &fact.packages);
        let by_tags = self.inner_tags.iter().flat_map(|tag| &tag.packages);
        let by_nights = self.one_night.iter().flat_map(|night| &night.packages);
        by_rules.chain(by_wheels).chain(by_tags).chain(by_nights).collect()
    }

    /// Returns the name for `ignore-rules` that is most like a misspelt one, if one is like it.
    pub fn nearest_id(&self, written: &str) -> Option<&str> {
        nearest(written, self.ids())
    }

    /// Returns the package that the knowledge speaks of whose name is most like another, if one is like it.
    pub fn nearest_package(&self, written: &str) -> Option<&str> {
        nearest(written, self.packages().into_iter().map(PackageName::as_str))
    }
}

fn nearest<'a>(written: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let written = written.to_lowercase().replace(['_', ' '], "-");
    let mut best: Option<(f64, &str)> = None;
    for candidate in candidates {
        let likeness = likeness(&written, candidate);
        // Of equals the first, so that the answer depends on nothing else.
        if likeness >= LIKE_ENOUGH && best.is_none_or(|(before, _)| likeness > before) {
            best = Some((likeness, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Measures how like two names are, by letters or by words, from 0 to 1: a rule whose name was remembered without one of
/// its numbers is far away by letters.
fn likeness(written: &str, candidate: &str) -> f64 {
    let words = |text: &'_ str| text.split('-').map(str::to_owned).collect::<BTreeSet<_>>();
    let (ours, theirs) = (words(written), words(candidate));
    let shared = ours.intersection(&theirs).count() as f64;
    let by_words = 2.0 * shared / (ours.len() + theirs.len()) as f64;
    by_words.max(strsim::normalized_damerau_levenshtein(written, candidate))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_one_that_is_near() {
        let ids = ["torch-2.15-mps-needs-macos-15", "torch-2.3-mps-needs-macos-13", "tensorflow-needs-metal"];
        let check = |written: &str, expected: Option<&str>| {
            assert_eq!(nearest(written, ids.into_iter()), expected, "{written}");
        };
        check("torch-2.15-mps-need-macos-15", Some(ids[0]));
        check("Torch_2.15_MPS_needs_macOS_15", Some(ids[0]));
        check("torch-mps-needs-macos-13", Some(ids[1]));
        check("tensorflow-metal", Some(ids[2]));
        check("some-rule-id", None);
        check("", None);
        check("torch", None);
    }

    #[test]
    fn packages_are_found_on_either_side_of_a_rule() {
        let text = "[[rule]]\nid = \"a\"\npackage = \"numba\"\nversions = \"*\"\nkind = \"requires\"\n\
                    other = [\"llvmlite\"]\nreason = \"It does.\"\nevidence = [\"files of numba\"]\nconfidence = \"measured\"\n";
        let knowledge = super::super::read::rules(text).unwrap();
        assert_eq!(knowledge.nearest_package("llvmlight"), Some("llvmlite"));
        assert_eq!(knowledge.nearest_package("torchvison"), Some("torchvision"), "of a group of one night");
        assert_eq!(knowledge.nearest_package("pandas"), None);
        assert!(knowledge.has("a") && knowledge.has("torch-nightlies-of-one-night") && !knowledge.has("b"));
    }
}
