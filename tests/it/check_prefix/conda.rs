//! A prefix as conda leaves it: its own notes, libraries in `lib`, links between them, and its Python's rpath.

use std::fs;

use macml::check::contents::Level;
use macml::pep::Sha256;
use macml::pipeline::check::Word;

use super::ARM64;
use super::Made;
use super::SITE;
use super::dylib;
use super::errors;
use super::lines;
use super::module;
use super::one;
use crate::support::macho;

/// What a package brings: path and bytes; `None` for a link to what follows.
type File<'a> = (&'a str, &'a [u8]);

impl Made {
    fn conda(&self, name: &str, version: &str, depends: &[&str], files: &[File<'_>], more: &[serde_json::Value]) {
        let mut paths = Vec::new();
        for (path, bytes) in files {
            super::write_old(&self.root().join(path), bytes);
            let digest = Sha256::of(bytes).to_string();
            paths.push(serde_json::json!({
                "_path": path, "path_type": "hardlink", "sha256": digest, "sha256_in_prefix": digest,
                "size_in_bytes": bytes.len(),
            }));
        }
        paths.extend_from_slice(more);
        let note = serde_json::json!({
            "name": name, "version": version, "depends": depends, "build": "0",
            "files": paths.iter().map(|path| path["_path"].clone()).collect::<Vec<_>>(),
            "paths_data": { "paths_version": 1, "paths": paths },
        });
        let folder = self.root().join("conda-meta");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{name}-{version}-0.json")), note.to_string()).unwrap();
        fs::write(folder.join("history"), "").unwrap();
    }
}

fn python() -> Vec<u8> {
    dylib(|made| {
        made.kind = macho::EXECUTABLE;
        made.install_name = None;
        made.rpaths = vec!["@loader_path/../lib/"];
    })
}

/// A package of conda's with a module that finds OpenBLAS in `lib` by a link, and libomp along with it; one of pip's that
/// has no way to libpng but the interpreter's.
fn made() -> Made {
    let made = Made::new();
    let blas = dylib(|made| {
        made.install_name = Some("@rpath/libopenblas.0.dylib");
        made.dependencies.push((macho::LOAD, "@rpath/libomp.dylib"));
        made.rpaths = vec!["@loader_path"];
    });
    let omp = dylib(|made| made.install_name = Some("@rpath/libomp.dylib"));
    let native = module(&["@rpath/libcblas.3.dylib"], &["@loader_path/../../../"]);
    let link = |path: &str| serde_json::json!({ "_path": path, "path_type": "softlink", "sha256": "0".repeat(64) });
    made.conda(
        "libopenblas",
        "0.3.28",
        &["llvm-openmp >=18"],
        &[("lib/libopenblasp-r0.3.28.dylib", &blas)],
        &[link("lib/libcblas.3.dylib")],
    );
    made.link("lib/libcblas.3.dylib", "libopenblasp-r0.3.28.dylib");
    // Under its install name it would be found wherever somebody loaded it before.
    let png = dylib(|made| made.install_name = Some("@rpath/libpng.dylib"));
    made.conda("libpng", "1.6.44", &[], &[("lib/libpng16.16.dylib", &png)], &[]);
    made.conda("llvm-openmp", "18.1.8", &[], &[("lib/libomp.dylib", &omp)], &[]);
    // The RECORD in conda's package is of before conda wrote the prefix into the file.
    made.install("numpy", "2.1.0", ARM64, &[("numpy/config.py", b"before"), ("numpy/_core.so", &native)]);
    let site = |path: &str| format!("{SITE}/{path}");
    let info = |file: &str| fs::read(made.site("numpy-2.1.0.dist-info").join(file)).unwrap();
    let (metadata, record, wheel) = (info("METADATA"), info("RECORD"), info("WHEEL"));
    let paths = [
        "numpy/_core.so",
        "numpy-2.1.0.dist-info/METADATA",
        "numpy-2.1.0.dist-info/RECORD",
        "numpy-2.1.0.dist-info/WHEEL",
    ];
    let bytes: [&[u8]; 4] = [&native, &metadata, &record, &wheel];
    let files: Vec<(String, &[u8])> = paths.iter().zip(bytes).map(|(path, bytes)| (site(path), bytes)).collect();
    let files: Vec<File<'_>> = files.iter().map(|(path, bytes)| (path.as_str(), *bytes)).collect();
    super::write_old(&made.site("numpy/config.py"), b"after: /here");
    let after = Sha256::of(b"after: /here").to_string();
    let rewritten = serde_json::json!({
        "_path": site("numpy/config.py"), "path_type": "hardlink", "sha256": Sha256::of(b"before").to_string(),
        "sha256_in_prefix": after, "size_in_bytes": 6, "prefix_placeholder": "/placehold", "file_mode": "text",
    });
    made.conda(
        "numpy",
        "2.1.0",
        &["libcblas >=3.9", "libopenblas", "_x"],
        &files,
        &[
            rewritten,
            serde_json::json!({ "_path": site("numpy/__pycache__/config.cpython-312.pyc"), "path_type": "pyc_file" }),
        ],
    );
    made.conda("python", "3.12.5", &[], &[("bin/python3.12", &python())], &[]);
    made.link("bin/python", "python3.12");
    made.install("other", "1.0", ARM64, &[("other/_o.so", &module(&["@rpath/libpng16.16.dylib"], &[]))]);
    made
}

#[test]
fn a_whole_prefix_passes() {
    let made = made();
    for level in [Level::Times, Level::Full] {
        let found = one(made.root(), level);
        assert_eq!((lines(&found.parts[0]), found.parts[0].word), (vec![], Word::AsRecorded), "{level:?}");
        let said = super::libraries(&found);
        assert_eq!(said.iter().map(super::line).collect::<Vec<_>>(), [""; 0]);
        let names: Vec<&str> = found.distributions.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["libopenblas", "libpng", "llvm-openmp", "numpy", "other", "python"]);
        // Of what conda calls so nothing is known by what PyPI calls so.
        let releases: Vec<&str> = found.sets[0].releases.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(releases, ["numpy", "other"]);
    }
}

#[test]
fn a_python_without_the_rpath_is_no_way() {
    let made = made();
    let plain = dylib(|made| {
        made.kind = macho::EXECUTABLE;
        made.install_name = None;
    });
    super::write_old(&made.root().join("bin/python3.12"), &plain);
    let found = one(made.root(), Level::Times);
    let said: Vec<String> = super::libraries(&found).iter().map(super::line).collect();
    assert!(said.iter().any(|one| one.contains("`other/_o.so`")), "{said:?}");
    assert!(said.iter().all(|one| !one.contains("numpy")), "{said:?}");
}

#[test]
fn what_became_of_it() {
    let made = made();
    fs::remove_file(made.root().join("lib/libomp.dylib")).unwrap();
    fs::write(made.site("numpy/config.py"), "other").unwrap();
    let found = one(made.root(), Level::Times);
    let said = lines(&found.parts[0]);
    let expected = [
        "error[not-as-recorded]: `lib/libomp.dylib` of conda's `llvm-openmp` 18.1.8 is gone",
        "error[not-as-recorded]: `lib/python3.12/site-packages/numpy/config.py` of conda's `numpy` 2.1.0 has other bytes than conda-meta says",
    ];
    assert_eq!(said, expected);
    assert_eq!(
        found.parts[0].told[0].finding.hint.as_deref(),
        Some("`conda install --force-reinstall llvm-openmp` puts it back")
    );

    let made = self::made();
    let intel = dylib(|made| {
        made.cpu = macho::X86_64;
        made.install_name = Some("@rpath/libomp.dylib");
    });
    super::write_old(&made.root().join("lib/libomp.dylib"), &intel);
    let said = errors(&one(made.root(), Level::Names));
    let expected = "error[wrong-architecture]: `../../../lib/libomp.dylib` of `llvm-openmp` 18.1.8 is for x86_64 and not for arm64";
    assert!(said.contains(&expected.to_owned()), "{said:?}");
    assert!(said.iter().any(|one| one.contains("library-missing") && one.contains("libopenblasp")), "{said:?}");
}

#[test]
fn what_pip_put_over_it() {
    let made = made();
    fs::remove_dir_all(made.site("numpy-2.1.0.dist-info")).unwrap();
    fs::remove_dir_all(made.site("numpy")).unwrap();
    made.install("numpy", "2.2.0", ARM64, &[("numpy/config.py", b"pip")]);
    let found = one(made.root(), Level::Full);
    let said = "note[unrecorded]: conda's `numpy` 2.1.0 was replaced by `numpy` 2.2.0 of another installer";
    assert_eq!((lines(&found.parts[0]), found.parts[0].word), (vec![said.to_owned()], Word::AsRecorded));
}

#[test]
fn notes_that_make_no_sense() {
    let made = made();
    let folder = made.root().join("conda-meta");
    fs::write(folder.join("broken-1-0.json"), "{").unwrap();
    let away = serde_json::json!({
        "name": "away", "version": "1",
        "paths_data": { "paths": [{ "_path": "../../etc/passwd" }, { "_path": "/etc/passwd" }] },
    });
    fs::write(folder.join("away-1-0.json"), away.to_string()).unwrap();
    let found = one(made.root(), Level::Full);
    assert_eq!(found.parts[0].word, Word::Unsure);
    let said = lines(&found.parts[0]);
    assert!(said.len() == 1 && said[0].contains("`conda-meta/broken-1-0.json` cannot be read"), "{said:?}");
}
