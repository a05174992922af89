//! Images that say they are for a later macOS than that of the Mac. dyld does not compare it; what breaks is what they use.

use super::case::{Case, Place, is_above, slice};
use super::said::Said;
use crate::check::facts::{Platform, Version, WheelFacts};
use crate::diag::{Code, Finding};

/// The highest macOS that an image of a wheel asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Minimum<'a> {
    /// That macOS.
    pub macos: Version,
    /// The first image that asks for it.
    pub image: &'a str,
}

/// Returns the highest macOS that an image of a wheel asks for; `None` where none says.
pub fn minimum(facts: &WheelFacts) -> Option<Minimum<'_>> {
    highest(minimums(facts))
}

fn minimums(facts: &WheelFacts) -> impl Iterator<Item = Minimum<'_>> {
    facts.images.iter().filter_map(|image| {
        let build = slice(image)?.build.filter(|build| build.platform == Platform::MacOs)?;
        Some(Minimum { macos: build.minos, image: &image.path })
    })
}

fn highest<'a>(all: impl IntoIterator<Item = Minimum<'a>>) -> Option<Minimum<'a>> {
    all.into_iter().reduce(|best, next| if next.macos > best.macos { next } else { best })
}

pub(super) fn findings(case: &Case<'_>) -> Vec<Said> {
    const CODE: Code = Code::MacosAboveFloor;
    let mut findings = Vec::new();
    for one in case.installed {
        let above = minimums(one.facts).filter(|minimum| is_above(minimum.macos, case.macos)).collect();
        let above = case.excuse(
            CODE,
            above,
            |minimum| Place { distribution: one.name, image: minimum.image, symbol: None },
            &mut findings,
        );
        let count = above.len();
        let Some(Minimum { macos, image }) = highest(above) else { continue };
        let (release, all) = (case.release(one.name), one.facts.images.len());
        let message = format!("`{image}` of {release} is built for macOS {macos}, later than {}", case.macos);
        // What runs on every system runs without this image, which mostly is a tool that is seldom taken up.
        let is_aside = one.wheel.is_some_and(|wheel| wheel.platform_tags().all(|tag| tag == "any"));
        let mut finding = if is_aside { Finding::note(CODE, message) } else { Finding::warning(CODE, message) };
        if all > 1 {
            finding =
                finding.noting(format!("{count} of its {all} images are built for a later macOS than {}", case.macos));
        }
        if let Some(wheel) = one.wheel {
            let tags: Vec<&str> = wheel.platform_tags().collect();
            finding = finding.noting(format!("the wheel is tagged `{}`", tags.join(".")));
        }
        let hint = format!(
            "take an earlier release of `{}`, or only Macs with macOS {}.{} or later",
            one.name,
            macos.major(),
            macos.minor()
        );
        findings.push(Said::about(one.name, image, finding.hinting(hint)));
    }
    findings
}
