//! What is to be said of a set on exactly one Mac: what is true on later ones only is left out.

use std::collections::BTreeMap;

use crate::host::Host;
use crate::host::Processor;
use crate::pep::PackageName;
use crate::pep::Version;
use crate::target::Gpu;
use crate::target::MacosVersion;
use crate::target::PythonMinor;

use super::Circumstances;
use super::Hit;
use super::Judgement;
use super::Knowledge;
use super::Reach;
use super::Rule;
use super::judge;
use super::rule::Force;

/// Looks at a set of releases as one Mac has it; `None` where its macOS has no version that is known.
pub fn judge_here<'k>(
    knowledge: &'k Knowledge,
    set: &BTreeMap<PackageName, Version>,
    python: PythonMinor,
    (host, gpu): (&Host, Gpu),
    ignored: &[String],
) -> Option<Judgement<'k>> {
    let macos = MacosVersion::told_by(&host.macos)?;
    // What counts on some chips only is not told where the chip has no name.
    let (chip, named) = match host.processor() {
        Processor::Chip(chip) => (chip, true),
        Processor::Unnamed | Processor::Foreign => ("m1".parse().expect("it is the first chip"), false),
    };
    let on = Circumstances { macos, chip, gpu };
    let mut all = judge(knowledge, set, python, &on, ignored);
    let here = |hit: &Hit<'_>| hit.reach == Reach::AtFloor && (named || hit.rule.chips.is_empty());
    for list in [&mut all.condemned, &mut all.lacking, &mut all.problems, &mut all.advice] {
        list.retain(here);
    }
    // What counts on this very chip and not on later ones binds no floor, and this Mac all the same.
    let (forced, lacking) = all.lacking.into_iter().partition(|hit: &Hit<'_>| on.is_forced(hit.rule));
    all.lacking = lacking;
    let forced: Vec<Hit<'_>> = forced;
    all.condemned.extend(forced);
    Some(all)
}

impl Judgement<'_> {
    /// Leaves out what another one of what condemns the set says better.
    pub fn say_once(&mut self) {
        let all = self.condemned.clone();
        self.condemned.retain(|hit| !all.iter().any(|other| hit.rule.is_said_better_by(other.rule)));
    }
}

impl Circumstances {
    /// Whether a rule binds wherever it counts.
    pub fn is_forced(&self, rule: &Rule) -> bool {
        match rule.force() {
            Force::Always => true,
            Force::GpuRequired => self.gpu == Gpu::Required,
            Force::Never => false,
        }
    }
}
