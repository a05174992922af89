//! What the knowledge says of an environment on exactly this Mac before anything is run, and which of what went wrong then
//! it had known. Pure.

use std::collections::BTreeMap;

use crate::host::Host;
use crate::knowledge::Hit;
use crate::knowledge::Knowledge;
use crate::knowledge::Rule;
use crate::knowledge::judge_here;
use crate::knowledge::rule::Says;
use crate::knowledge::rule::Scope;
use crate::pep::PackageName;
use crate::pep::Version;
use crate::pipeline::KnownProblem;
use crate::target::Gpu;
use crate::target::MacosVersion;
use crate::target::PythonMinor;
use crate::verify::Verdict;
use crate::verify::Word;
use crate::verify::framework_of;
use crate::verify::protocol::Device;
use crate::verify::protocol::Framework;

use super::Answer;

/// What is known to go wrong.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Foreseen {
    /// What cannot use the GPU of this Mac at all.
    pub unfit: Vec<Unfit>,
    /// Wrong results, crashes and crawling known of exactly these releases on this macOS and chip, the worst first.
    pub problems: Vec<KnownProblem>,
    /// What is worth knowing beside a framework's verdict.
    remarks: Vec<(Framework, String)>,
}

/// A package that cannot use the GPU of this Mac.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unfit {
    /// The package.
    pub name: PackageName,
    /// Its version.
    pub version: Version,
    /// What it would need: `` `torch` 2.11.0 needs macOS >=14.0 for the GPU ``.
    pub statement: String,
    /// Why, as a sentence.
    pub reason: String,
    /// The newest release that is known to use the GPU of this macOS, where its macOS is what is missing.
    pub last: Option<Version>,
    /// The name of the rule.
    pub rule: String,
}

/// What shows in which checks: names of rules with the checks that a probe fails by them. What is not here is not asked
/// by any check, or not so that it would show.
const SHOWS: &[(&str, &[&str])] = &[
    ("mps-addcmul-noncontiguous", &["in-place-strided", "adam-strided"]),
    ("mps-random-noncontiguous", &["random-strided"]),
    ("mps-linear-on-macos-13.2", &["linear-rows-bias"]),
    ("mps-conv2d-noncontiguous-weight", &["conv2d-sliced-weight"]),
    (
        "mps-2.8-linear-noncontiguous",
        &["linear-transposed-weight", "linear-sliced-weight", "linear-expanded-input", "linear-backward"],
    ),
    ("mps-attention-long-keys", &["attention-long-grouped"]),
    ("mps-causal-attention-sees-ahead", &["attention-causal"]),
    ("mps-m5-half-linear", &["linear-deep", "linear-deep-bias", "linear-thin", "linear-thin-bias"]),
    ("mps-matmul-long-inner", &["matmul-long", "matmul-long-transposed", "bmm-long"]),
    ("mps-bmm-long-inner", &["bmm-long"]),
    ("mps-linear-bias-on-macos-26", &["linear-thin-bias", "linear-vector-bias"]),
    ("mps-linear-bias-large-batch", &["linear-rows-bias"]),
    ("mps-linear-ends-process-on-macos-27", &["linear-transposed-weight", "linear-deep-backward"]),
    ("mps-complex-linear-on-macos-27", &["linear-complex", "linear-deep-backward"]),
];

/// Looks at a set of packages as this Mac has it.
pub(super) fn foresee(
    knowledge: &Knowledge,
    set: &BTreeMap<PackageName, Version>,
    python: PythonMinor,
    host: &Host,
    device: Device,
    ignored: &[String],
) -> Foreseen {
    let of = (host, Gpu::Required);
    let (Some(macos), Some(judgement)) =
        (MacosVersion::told_by(&host.macos), judge_here(knowledge, set, python, of, ignored))
    else {
        return Foreseen::default();
    };
    let gpu = |rule: &Rule| matches!(rule.scope, Scope::Gpu | Scope::GpuBf16);
    let here = |hit: &&Hit<'_>| device == Device::Mps || !gpu(hit.rule);
    let unfit = judgement.condemned.iter().filter(here).filter(|hit| hit.rule.scope == Scope::Gpu);
    let remark = |hit: &Hit<'_>| {
        let text = format!("{} (rule `{}`)", hit.rule.reason.trim_end_matches('.'), hit.rule.id);
        Some((framework_of(&hit.rule.package)?, text))
    };
    // Of half types alone: what else is worth knowing is not about these computations.
    let remarks = judgement.advice.iter().filter(here).filter(|hit| hit.rule.scope == Scope::GpuBf16);
    Foreseen {
        unfit: unfit.map(|hit| Unfit::new(hit, knowledge, macos)).collect(),
        problems: judgement.problems.iter().filter(here).filter_map(KnownProblem::new).collect(),
        remarks: remarks.filter_map(remark).collect(),
    }
}

impl Unfit {
    fn new(hit: &Hit<'_>, knowledge: &Knowledge, macos: MacosVersion) -> Self {
        let rule = hit.rule;
        Self {
            name: rule.package.clone(),
            version: hit.version.clone(),
            statement: rule.statement_of(&hit.version),
            reason: rule.reason.clone(),
            last: matches!(rule.says, Says::NeedsMacos(_)).then(|| knowledge.last(rule, macos)).flatten(),
            rule: rule.id.clone(),
        }
    }
}

impl Foreseen {
    /// Lists what is worth knowing beside the verdict on a framework.
    pub(super) fn remarks(&self, framework: Framework) -> impl Iterator<Item = String> {
        self.remarks.iter().filter(move |(about, _)| *about == framework).map(|(_, text)| text.clone())
    }

    /// Says which of what is wrong was known.
    pub(super) fn explain(&self, verdict: Verdict, installed: Option<Version>) -> Answer {
        let known = verdict.problems.iter().map(|problem| {
            let shown = |rule: &str| {
                let checks = SHOWS.iter().find(|(name, _)| *name == rule).map_or(&[][..], |(_, checks)| checks);
                problem.id.as_deref().is_some_and(|id| checks.contains(&id))
            };
            let about = |package: &PackageName| framework_of(package) == Some(verdict.framework);
            let problems = self.problems.iter().filter(|known| about(&known.name) && shown(&known.rule));
            // What needs another macOS has no GPU, or breaks with the first thing that it is to compute.
            let without = [Word::NoDevice, Word::Failed, Word::Crashed];
            let unfit = self.unfit.iter().filter(|unfit| about(&unfit.name) && without.contains(&problem.word));
            unfit.map(|unfit| unfit.rule.clone()).chain(problems.map(|known| known.rule.clone())).collect()
        });
        Answer { known: known.collect(), installed, verdict, tried: Vec::new(), late: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::Problem;
    use crate::verify::protocol::CHECKS;
    use crate::verify::protocol::ProbeKind;

    fn on(host: &str, device: Device, set: &[(&str, &str)]) -> Foreseen {
        let path = format!("{}/tests/hosts/{host}.json", env!("CARGO_MANIFEST_DIR"));
        let text = crate::sys::fs::read_text(std::path::Path::new(&path)).unwrap().unwrap();
        let host: Host = serde_json::from_str(&text).unwrap();
        let set = set.iter().map(|(name, version)| (name.parse().unwrap(), version.parse().unwrap())).collect();
        foresee(&Knowledge::built_in(), &set, "3.13".parse().unwrap(), &host, device, &[])
    }

    fn rules(foreseen: &Foreseen) -> Vec<&str> {
        let unfit = foreseen.unfit.iter().map(|unfit| unfit.rule.as_str());
        unfit.chain(foreseen.problems.iter().map(|known| known.rule.as_str())).collect()
    }

    /// Bug report R04: the tag fits, and MPS does not.
    #[test]
    fn r04_a_torch_that_needs_a_later_macos_is_told_with_the_last_that_does_not() {
        let foreseen = on("m1-macos13", Device::Mps, &[("torch", "2.11.0")]);
        let [unfit] = &foreseen.unfit[..] else { panic!("{foreseen:?}") };
        assert_eq!(unfit.statement, "`torch` 2.11.0 needs macOS >=14.0 for the GPU");
        assert_eq!(unfit.last, Some("2.8.0".parse().unwrap()));
        // What goes wrong on a GPU that cannot be used is no news.
        assert_eq!(rules(&foreseen), ["torch-2.9-mps-needs-macos-14"]);
        // Of the processor all of that says nothing.
        assert_eq!(on("m1-macos13", Device::Cpu, &[("torch", "2.11.0")]), Foreseen::default());
        assert!(on("m1-macos13", Device::Mps, &[("torch", "2.8.0")]).unfit.is_empty());
    }

    #[test]
    fn what_is_told_is_of_this_macos_and_this_chip() {
        let rules_of = |host, version| {
            let foreseen = on(host, Device::Mps, &[("torch", version)]);
            rules(&foreseen).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        let m5 = rules_of("m5-macos26", "2.12.0");
        assert!(m5.contains(&"mps-m5-half-linear".to_owned()), "{m5:?}");
        assert!(!m5.contains(&"mps-matmul-long-inner".to_owned()), "{m5:?}");
        let m1 = rules_of("vm", "2.12.0");
        assert!(m1.contains(&"mps-matmul-long-inner".to_owned()), "{m1:?}");
        assert!(!m1.contains(&"mps-m5-half-linear".to_owned()), "{m1:?}");
        let emulated = on("vm", Device::Mps, &[("torch", "2.13.0")]);
        let remarks: Vec<String> = emulated.remarks(Framework::Torch).collect();
        assert!(remarks.len() == 1 && remarks[0].contains("emulate"), "{remarks:?}");
        assert_eq!(on("m5-macos26", Device::Mps, &[("torch", "2.13.0")]).remarks(Framework::Torch).count(), 0);
    }

    /// Bug report R27: a thin linear layer whose bias is lost, on an M1 with macOS 26.4.
    #[test]
    fn r27_what_is_wrong_is_told_by_the_rule_that_knew_it() {
        let host = Host {
            source: "made".into(),
            cpu: "Apple M1".into(),
            macos: "26.4".into(),
            process: crate::host::Process::Native,
            memory: 8 << 30,
            arm64: Some(true),
        };
        let set = [("torch".parse().unwrap(), "2.13.0".parse().unwrap())].into();
        let python = "3.13".parse().unwrap();
        let mac = foresee(&Knowledge::built_in(), &set, python, &host, Device::Mps, &[]);
        let problem = |word, id: Option<&str>| Problem { word, id: id.map(str::to_owned), sentence: String::new() };
        let verdict = Verdict {
            problems: vec![
                problem(Word::WrongNumbers, Some("linear-thin-bias")),
                problem(Word::WrongNumbers, Some("softmax")),
                problem(Word::NoDevice, None),
            ],
            ..Verdict::not_run(ProbeKind::Python, Framework::Torch, Device::Mps, String::new())
        };
        let known = mac.explain(verdict, None).known;
        assert_eq!(known, [vec!["mps-linear-bias-on-macos-26".to_owned()], vec![], vec![]]);
    }

    #[test]
    fn what_shows_names_rules_and_checks_that_there_are() {
        let knowledge = Knowledge::built_in();
        for (rule, checks) in SHOWS {
            assert!(knowledge.rule(rule).is_some_and(|rule| rule.problem().is_some()), "{rule}");
            for check in *checks {
                assert!(CHECKS.iter().any(|known| known.id == *check), "{rule}: {check}");
            }
        }
    }
}
