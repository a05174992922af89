//! The build tree: what cargo is given, as text. Pure: file names and contents, flags and the digest of it all.

use std::path::{Path, PathBuf};

use super::line::Line;
use crate::environment::Shell;
use crate::pep::Sha256;
use crate::pep::Version;

/// Changes when the way of building changes and no file does.
const FORM: &str = "macml probe 1";

/// The probe's sources, by their path in this repository and in the build tree: one finds the protocol from the other.
const SOURCES: [(&str, &str); 6] = [
    ("src/bin/macml-probe/main.rs", include_str!("../../bin/macml-probe/main.rs")),
    ("src/bin/macml-probe/checks.rs", include_str!("../../bin/macml-probe/checks.rs")),
    ("src/bin/macml-probe/compare.rs", include_str!("../../bin/macml-probe/compare.rs")),
    ("src/bin/macml-probe/device.rs", include_str!("../../bin/macml-probe/device.rs")),
    ("src/bin/macml-probe/training.rs", include_str!("../../bin/macml-probe/training.rs")),
    ("src/verify/protocol.rs", include_str!("../protocol.rs")),
];

/// The header of a line that needs one, and the compiler that includes it.
const HEADER: &str = "mend.h";
const COMPILER: &str = "c++";

/// A file of the build tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Text {
    /// Its path in the tree.
    pub(super) path: &'static str,
    /// What it holds.
    pub(super) text: String,
    /// Whether it is run.
    pub(super) executable: bool,
}

/// Names the probe for a release of torch on this kind of machine, and all that it is made from.
///
/// The patch release counts, since the probe is compiled against its headers. The local version does not: builds for
/// several accelerators have the same headers and the same symbols in the libraries that the probe is linked to.
pub(super) fn digest(line: &Line, torch: &Version) -> Sha256 {
    let release = torch.clone().without_local();
    let mut all = format!("{FORM}\n{release}\n{}\n{}\n", std::env::consts::OS, std::env::consts::ARCH);
    for file in files(line, Path::new(COMPILER), Path::new("")) {
        let digest = Sha256::of(file.text.as_bytes());
        all.extend([file.path, " ", &digest.to_string(), "\n"]);
    }
    Sha256::of(all.as_bytes())
}

/// Lists the files of the tree in `folder` for a line, to be compiled with `compiler`.
pub(super) fn files(line: &Line, compiler: &Path, folder: &Path) -> Vec<Text> {
    let plain = |path, text: &str| Text { path, text: text.to_owned(), executable: false };
    let mut files = vec![plain("Cargo.toml", line.manifest), plain("Cargo.lock", line.lock)];
    files.extend(SOURCES.map(|(path, text)| plain(path, text)));
    if let Some(mend) = &line.mend {
        let flags = mend.flags.join(" ");
        files.push(plain(HEADER, mend.header));
        let text = wrapper(compiler, &flags, &folder.join(HEADER));
        files.push(Text { path: COMPILER, text, executable: true });
    }
    files
}

/// Returns the compiler that cargo is to use for the tree in `folder`.
pub(super) fn compiler(line: &Line, compiler: &Path, folder: &Path) -> PathBuf {
    match line.mend {
        Some(_) => folder.join(COMPILER),
        None => compiler.to_owned(),
    }
}

/// Writes a compiler that adds flags after those of tch's build script, which sets the language's version itself, so that
/// `CXXFLAGS` comes too early. Only for tch's own files: the build script also asks the compiler what it is.
fn wrapper(compiler: &Path, flags: &str, header: &Path) -> String {
    let quoted = |path: &Path| Shell::Bash.quote(&path.to_string_lossy());
    format!(
        "#!/bin/sh\ncase \" $* \" in\n*libtch*) exec {} \"$@\" {flags} -include {} ;;\n*) exec {} \"$@\" ;;\nesac\n",
        quoted(compiler),
        quoted(header),
        quoted(compiler),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::native::line::LINES;

    fn digest_of(torch: &str) -> Sha256 {
        let torch = torch.parse().unwrap();
        digest(Line::of(&torch).unwrap(), &torch)
    }

    #[test]
    fn each_release_of_torch_has_its_own_probe_whatever_its_accelerator() {
        let releases = ["2.9.0", "2.9.1", "2.10.0", "2.11.0", "2.13.0", "2.15.0"];
        let mut digests: Vec<String> = releases.iter().map(|torch| digest_of(torch).to_string()).collect();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), releases.len());
        assert_eq!(digest_of("2.13.0+cu130"), digest_of("2.13.0"));
        assert_eq!(digest_of("2.13.0+cpu"), digest_of("2.13.0"));
    }

    /// A tree without one of its modules would not build on anybody's machine.
    #[test]
    fn every_source_of_the_probe_is_in_the_tree() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin/macml-probe");
        let names = crate::sys::fs::names(&folder).unwrap();
        let carried: Vec<&str> =
            SOURCES.iter().filter_map(|(path, _)| path.strip_prefix("src/bin/macml-probe/")).collect();
        assert_eq!(names.len(), carried.len(), "{names:?}");
        assert!(names.iter().all(|name| carried.contains(&name.as_str())), "{names:?}");
        assert!(SOURCES[0].1.contains("#[path = \"../../verify/protocol.rs\"]"));
    }

    #[test]
    fn only_an_experimental_line_gets_a_compiler_of_its_own() {
        let folder = Path::new("/b/it's");
        for line in &LINES {
            let files = files(line, Path::new("/usr/bin/g++"), folder);
            let wrapper = files.iter().find(|file| file.executable);
            assert_eq!(wrapper.is_some(), line.mend.is_some());
            let used = compiler(line, Path::new("/usr/bin/g++"), folder);
            match wrapper {
                Some(wrapper) => {
                    let call = r#"exec '/usr/bin/g++' "$@" -std=c++20 -include '/b/it'\''s/mend.h' ;;"#;
                    assert!(wrapper.text.contains(call), "{}", wrapper.text);
                    assert_eq!(used, folder.join("c++"));
                }
                None => assert_eq!(used, Path::new("/usr/bin/g++")),
            }
        }
    }
}
