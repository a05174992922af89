//! `Said`: what torch says of an operator that has no kernel for the GPU, read from its words. The one place that knows
//! them, from torch 1.12 to 2.15.

/// What became of an operator without a kernel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Became {
    /// The CPU computed it.
    FellBack,
    /// The program got an error.
    Failed,
}

/// What torch says of one operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Said {
    /// What became of it.
    pub became: Became,
    /// The operator, as `aten::linalg_svd.U`; `nonzero` and such where torch names it so.
    pub operator: String,
    /// What stands in the way other than that there is no kernel: the macOS.
    pub because: Option<String>,
}

/// How long the name of an operator may be.
const LONGEST_NAME: usize = 120;

impl Said {
    /// Reads a warning or the message of an error, as it is or in a line that was printed.
    pub fn of(line: &str) -> Option<Self> {
        let said = |became, operator: &str| {
            // `'aten::%s'` stands in a line of code that a traceback shows.
            let sign = |c: char| c.is_ascii_alphanumeric() || "_.:".contains(c);
            let named = !operator.is_empty() && operator.len() <= LONGEST_NAME && operator.chars().all(sign);
            named.then(|| Self { became, operator: operator.to_owned(), because: None })
        };
        let quoted = |before: &str, after: &str| {
            let (_, rest) = line.split_once(before)?;
            let (operator, rest) = rest.split_once('\'')?;
            rest.starts_with(after).then_some(operator)
        };
        if line.contains("fall back to run on the CPU") {
            return said(Became::FellBack, quoted("operator '", "")?);
        }
        if let Some(operator) = quoted("operator '", " is not currently implemented for the MPS device") {
            return said(Became::Failed, operator);
        }
        // The dispatcher's own words, where nothing stands in for a kernel: sparse tensors.
        let backend =
            |backend: &str| quoted("Could not run '", &format!(" with arguments from the '{backend}' backend"));
        if let Some(operator) = ["MPS", "SparseMPS", "SparseCsrMPS"].iter().find_map(|name| backend(name)) {
            return said(Became::Failed, operator);
        }
        Self::of_macos(line)
    }

    /// Reads the warning of an operator whose kernel needs a later macOS, or other arguments.
    fn of_macos(line: &str) -> Option<Self> {
        let (before, _) =
            line.split_once(". Falling back on CPU").or_else(|| line.split_once(" Falling back on CPU"))?;
        let (_, sentence) = before.split_once("MPS: ")?;
        let operator = sentence.split_once(" op is supported").map(|(operator, _)| operator);
        let operator = operator.filter(|name| !name.is_empty() && !name.contains(char::is_whitespace));
        let macos = sentence.split_once("starting from macOS ").map(|(_, macos)| format!("needs macOS {macos}"));
        Some(Self {
            became: Became::FellBack,
            operator: operator.unwrap_or(sentence).chars().take(LONGEST_NAME).collect(),
            because: operator.and(macos),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, became: Became, operator: &str, because: Option<&str>) {
        let expected = Said { became, operator: operator.into(), because: because.map(str::to_owned) };
        assert_eq!(Said::of(line), Some(expected), "{line}");
    }

    #[test]
    fn the_words_of_every_release_are_read() {
        use Became::{Failed, FellBack};
        // 1.12, and R26.
        check(
            "The operator 'aten::linalg_cholesky_ex.L' is not currently supported on the MPS backend and will fall back \
             to run on the CPU",
            FellBack,
            "aten::linalg_cholesky_ex.L",
            None,
        );
        // As C++ prints it, and as Python does.
        check(
            "[W1130 21:00:00.123456789 MPSFallback.mm:17] Warning: The operator 'aten::col2im' is not currently supported \
             on the MPS backend and will fall back to run on the CPU. This may have performance implications. (function \
             mps_fallback)",
            FellBack,
            "aten::col2im",
            None,
        );
        check(
            "/p/train.py:3: UserWarning: The operator 'aten::linalg_svd.U' is not currently supported on the MPS backend \
             and will fall back to run on the CPU. This may have performance implications. (Triggered internally at \
             /p/aten/src/ATen/mps/MPSFallback.mm:14.)",
            FellBack,
            "aten::linalg_svd.U",
            None,
        );
        // 1.13 and 2.0, and from 2.6 on.
        check(
            "NotImplementedError: The operator 'aten::upsample_bicubic2d.out' is not currently implemented for the MPS \
             device. If you want this op to be added in priority during the prototype phase of this feature, please \
             comment on https://github.com/pytorch/pytorch/issues/77764. As a temporary fix, you can set the environment \
             variable `PYTORCH_ENABLE_MPS_FALLBACK=1` to use the CPU as a fallback for this op.",
            Failed,
            "aten::upsample_bicubic2d.out",
            None,
        );
        check(
            "NotImplementedError: The distributed operator 'c10d::send' is not currently implemented for the MPS device.",
            Failed,
            "c10d::send",
            None,
        );
        check(
            "NotImplementedError: Could not run 'aten::_coalesce' with arguments from the 'SparseMPS' backend. This could",
            Failed,
            "aten::_coalesce",
            None,
        );
        let words = "Falling back on CPU. This may have performance implications.";
        check(
            &format!("x.py:1: UserWarning: MPS: nonzero op is supported natively starting from macOS 14.0. {words}"),
            FellBack,
            "nonzero",
            Some("needs macOS 14.0"),
        );
        check(
            &format!("MPS: pixel_shuffle op is supported starting from macOS 13.0. {words}"),
            FellBack,
            "pixel_shuffle",
            Some("needs macOS 13.0"),
        );
        let divisor = "passing divisor to Average Pooling op with int64 input is not supported on MPS backend";
        check(&format!("MPS: {divisor}. {words}"), FellBack, divisor, None);
    }

    #[test]
    fn other_words_say_nothing_of_an_operator() {
        for line in [
            "",
            "all will fall back to run on the CPU",
            "the operator ' is not, and will fall back to run on the CPU",
            "Aten Op fallback from XPU to CPU happends.",
            "The operator 'aten::a b' is not currently implemented for the MPS device",
            "raise NotImplementedError(\"The operator 'aten::%s' is not currently implemented for the MPS device\")",
            "The operator 'aten::x' is not currently implemented for the XPU device",
            "Could not run 'aten::x' with arguments from the 'CUDA' backend",
            "Falling back on CPU",
            "MPS: no support for int64 min/max ops, casting it to int32",
        ] {
            assert_eq!(Said::of(line), None, "{line}");
        }
    }
}
