//! Extension modules that were compiled for another numpy than the one of the set.

use super::case::{Case, Place, counted, slice};
use super::fits;
use super::said::Said;
use crate::check::facts::NumpyAbi;
use crate::diag::{Code, Finding};
use crate::pep::Version;

/// How an extension module does not fit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Misfit {
    /// It is for numpy 1 only.
    OnlyOne,
    /// It needs at least this minor release of numpy 1.
    Later(u16),
}

fn misfit(abi: NumpyAbi, numpy: &Version) -> Option<Misfit> {
    let release = numpy.release();
    let (major, minor) = (release.first().copied().unwrap_or(0), release.get(1).copied().unwrap_or(0));
    match abi {
        NumpyAbi::One if major >= 2 => Some(Misfit::OnlyOne),
        NumpyAbi::Two { oldest: Some(oldest) } if major == 1 && minor < u64::from(oldest) => {
            Some(Misfit::Later(oldest))
        }
        _ => None,
    }
}

pub(super) fn findings(case: &Case<'_>) -> Vec<Said> {
    const CODE: Code = Code::Numpy1Binary;
    let Some(numpy) = case.installed.iter().find(|one| one.name.as_str() == "numpy") else { return Vec::new() };
    let mut findings = Vec::new();
    for one in case.installed.iter().filter(|one| one.name != numpy.name) {
        let misfits = one
            .facts
            .images
            .iter()
            .filter_map(|image| Some((image.path.as_str(), misfit(slice(image)?.markers.numpy?, numpy.version)?)));
        let misfits = case.excuse(
            CODE,
            misfits.collect(),
            |(image, _)| Place { distribution: one.name, image, symbol: None },
            &mut findings,
        );
        let Some((first, misfit)) = misfits.first() else { continue };
        let what = counted(first, misfits.len(), ["image", "images"]);
        let is = if misfits.len() > 1 { "are" } else { "is" };
        let (release, beside) = (case.release(one.name), case.release(numpy.name));
        let (compiled, says, take) = match misfit {
            Misfit::OnlyOne => (
                "numpy 1 only".to_owned(),
                format!(
                    "its import says: A module that was compiled using NumPy 1.x cannot be run in NumPy {}",
                    numpy.version
                ),
                format!("take `numpy<2`, or a release of `{}` that was compiled for numpy 2", one.name),
            ),
            Misfit::Later(minor) => (
                format!("numpy 1.{minor} and later"),
                "its import says: module compiled against ABI version … but this version of numpy is …".to_owned(),
                format!("take `numpy>=1.{minor}`"),
            ),
        };
        let message = format!("{what} of {release} {is} compiled for {compiled}, and beside it is {beside}");
        let hint = fits::fitting(case, one.name, numpy.name).unwrap_or(take);
        findings.push(Said::about(one.name, first, Finding::warning(CODE, message).noting(says).hinting(hint)));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_numpy_fits() {
        let fits = |abi, numpy: &str| misfit(abi, &numpy.parse().unwrap()).is_none();
        let two = |oldest| NumpyAbi::Two { oldest };
        assert!(fits(NumpyAbi::One, "1.26.4") && !fits(NumpyAbi::One, "2.0.0rc1") && !fits(NumpyAbi::One, "2.3.5"));
        assert!(fits(two(Some(19)), "1.19.0") && !fits(two(Some(19)), "1.18.5") && fits(two(Some(19)), "2.0"));
        assert!(fits(two(None), "1.18.5"));
    }
}
