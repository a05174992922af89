//! The table: which tch goes with which torch, and what building it takes. A row is there because it was built and run;
//! what came of it is recorded in `tests/records/native`.

use std::fmt;

use crate::pep::Version;

/// One minor release of torch for which the probe can be built.
#[derive(Debug)]
pub struct Line {
    /// The minor release of torch, such as `2.13`.
    pub torch: Minor,
    /// The minor release of tch, such as `0.26`.
    pub tch: &'static str,
    /// Whether tch was made for this torch.
    pub standing: Standing,
    /// Cargo.toml of the build tree.
    pub(super) manifest: &'static str,
    /// Cargo.lock of the build tree.
    pub(super) lock: &'static str,
    /// What makes tch compile against a torch that it was not made for.
    pub(super) mend: Option<Mend>,
}

/// Whether tch was made for a torch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It was.
    Exact,
    /// It was made for another one, and works with this one all the same after mending: said wherever it is used.
    Experimental,
}

/// What makes tch compile against a torch that it was not made for.
#[derive(Debug)]
pub(super) struct Mend {
    /// Flags that come after those of tch's own build script.
    pub(super) flags: &'static [&'static str],
    /// A header that is included before all others.
    pub(super) header: &'static str,
}

/// A minor release of torch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Minor(pub u64, pub u64);

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// Why no row fits a torch.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoLine {
    /// Its neighbours have one; there never was a tch for it.
    #[error("there is no tch for torch {0}")]
    NoTch(Minor),
    /// Nobody has built the probe for it.
    #[error("torch {0} is untried: the native probe was built for {tried}", tried = tried())]
    Untried(Version),
}

/// The rows, oldest first.
pub static LINES: [Line; 5] = [
    Line {
        torch: Minor(2, 9),
        tch: "0.22",
        standing: Standing::Exact,
        manifest: include_str!("tch-0.22/manifest.toml"),
        lock: include_str!("tch-0.22/manifest.lock"),
        mend: None,
    },
    Line {
        torch: Minor(2, 10),
        tch: "0.23",
        standing: Standing::Exact,
        manifest: include_str!("tch-0.23/manifest.toml"),
        lock: include_str!("tch-0.23/manifest.lock"),
        mend: None,
    },
    Line {
        torch: Minor(2, 11),
        tch: "0.24",
        standing: Standing::Exact,
        manifest: include_str!("tch-0.24/manifest.toml"),
        lock: include_str!("tch-0.24/manifest.lock"),
        mend: None,
    },
    Line {
        torch: Minor(2, 13),
        tch: "0.26",
        standing: Standing::Exact,
        manifest: include_str!("tch-0.26/manifest.toml"),
        lock: include_str!("tch-0.26/manifest.lock"),
        mend: None,
    },
    Line {
        torch: Minor(2, 15),
        tch: "0.26",
        standing: Standing::Experimental,
        manifest: include_str!("tch-0.26/manifest.toml"),
        lock: include_str!("tch-0.26/manifest.lock"),
        mend: Some(Mend { flags: &["-std=c++20"], header: include_str!("torch-2.15.h") }),
    },
];

/// Releases of torch that no tch was made for, and that were not made to work with a neighbour's.
const WITHOUT_TCH: [Minor; 3] = [Minor(2, 12), Minor(2, 14), Minor(2, 16)];

impl Line {
    /// Returns the row for a torch: that of its minor release, whatever its patch release and local version. A
    /// pre-release has none, since its interfaces may still change.
    ///
    /// # Errors
    /// With the reason when there is none.
    pub fn of(torch: &Version) -> Result<&'static Self, NoLine> {
        let untried = || NoLine::Untried(torch.clone());
        let [major, minor, ..] = *torch.release() else { return Err(untried()) };
        let minor = Minor(major, minor);
        if torch.any_prerelease() || torch.epoch() != 0 {
            return Err(untried());
        }
        match LINES.iter().find(|line| line.torch == minor) {
            Some(line) => Ok(line),
            None if WITHOUT_TCH.contains(&minor) => Err(NoLine::NoTch(minor)),
            None => Err(untried()),
        }
    }
}

/// Lists the releases of torch that have a row, for people.
fn tried() -> String {
    let names: Vec<String> = LINES.iter().map(|line| line.torch.to_string()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(torch: &str) -> Result<&'static Line, String> {
        Line::of(&torch.parse().unwrap()).map_err(|reason| reason.to_string())
    }

    #[track_caller]
    fn check(torch: &str, tch: &str, standing: Standing) {
        let line = of(torch).unwrap();
        assert_eq!((line.tch, line.standing), (tch, standing), "torch {torch}");
    }

    #[track_caller]
    fn none(torch: &str, reason: &str) {
        assert_eq!(of(torch).unwrap_err(), reason);
    }

    #[test]
    fn each_torch_has_the_tch_that_was_made_for_it() {
        check("2.9.0", "0.22", Standing::Exact);
        check("2.9.1+cu128", "0.22", Standing::Exact);
        check("2.10.0", "0.23", Standing::Exact);
        check("2.11.0+cpu", "0.24", Standing::Exact);
        check("2.13", "0.26", Standing::Exact);
        check("2.13.7.post1", "0.26", Standing::Exact);
        check("2.15.0", "0.26", Standing::Experimental);
    }

    #[test]
    fn a_torch_without_tch_is_told_from_one_that_nobody_tried() {
        for minor in [12, 14, 16] {
            none(&format!("2.{minor}.1"), &format!("there is no tch for torch 2.{minor}"));
        }
        let tried = "is untried: the native probe was built for 2.9, 2.10, 2.11, 2.13, 2.15";
        for torch in ["2.8.0", "2.17.0", "3.0.0", "1.13.1", "2", "2.13.0rc1", "2.13.0.dev20260401", "1!2.13.0"] {
            none(torch, &format!("torch {torch} {tried}"));
        }
        none("2.1.0", &format!("torch 2.1.0 {tried}"));
    }

    /// The tree of a row must really be that of its tch, and a row that mends must say that it is experimental.
    #[test]
    fn rows_are_what_they_say() {
        for line in &LINES {
            let pin = format!("tch = {{ version = \"={}.0\", default-features = false }}", line.tch);
            assert!(line.manifest.contains(&pin), "torch {}", line.torch);
            for name in ["tch", "torch-sys"] {
                let locked = format!("name = \"{name}\"\nversion = \"{}.0\"\n", line.tch);
                assert!(line.lock.contains(&locked), "torch {}: {name}", line.torch);
            }
            assert_eq!(line.mend.is_some(), line.standing == Standing::Experimental, "torch {}", line.torch);
        }
        assert!(LINES.is_sorted_by_key(|line| line.torch));
        assert!(WITHOUT_TCH.iter().all(|minor| LINES.iter().all(|line| line.torch != *minor)));
    }
}
