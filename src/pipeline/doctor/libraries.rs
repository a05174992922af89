//! Libraries of which there must not be two, or must be one: OpenMP runtimes, libmlx and its shaders, plugins of TensorFlow.

use std::path::Path;
use std::path::PathBuf;

use crate::doctor::facts::Library;

use super::Look;
use super::glance::head;
use super::glance::names;
use super::glance::resolved;
use super::glance::shown;
use super::homebrews;
use super::pythons;
use crate::sys::fs::is_file;

/// Says what a library of interest is, by its path.
pub(super) fn kind(path: &str) -> Option<&'static str> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let runtime = name.strip_prefix("libomp").and_then(|rest| rest.strip_suffix(".dylib"));
    // `libomp`, `libomp-f422816d`, `libomp140.x86_64`; not `libompd` and `libomptarget`, which are others.
    let is_runtime = runtime.is_some_and(|rest| !rest.starts_with(|one: char| one.is_ascii_alphabetic()));
    match name {
        "libiomp5.dylib" => Some("openmp"),
        _ if is_runtime => Some("openmp"),
        "libmlx.dylib" => Some("mlx"),
        "mlx.metallib" => Some("metallib"),
        _ if folder.rsplit('/').next() == Some("tensorflow-plugins") && name.ends_with(".dylib") => {
            Some("tensorflow-plugin")
        }
        _ => None,
    }
}

/// Tells of a library; `None` where there is no file.
pub(super) fn library(path: &Path, kind: &str, package: Option<String>) -> Option<Library> {
    let real = resolved(path).filter(|real| is_file(real))?;
    let head = head(&real);
    let formula = homebrews::of_cellar(&real).map(|(_, version)| version);
    let own = head.as_ref().and_then(|head| head.version).filter(|version| version.0 != 0);
    Some(Library {
        path: shown(path),
        kind: kind.to_owned(),
        package,
        version: formula.or_else(|| own.map(|version| version.to_string())),
        archs: head.iter().flat_map(|head| &head.architectures).map(ToString::to_string).collect(),
        install_name: head.and_then(|head| head.install_name),
    })
}

/// Lists those in a folder.
pub(super) fn within(folder: &Path, package: &dyn Fn(&str) -> Option<String>) -> Vec<Library> {
    let found = names(folder).into_iter().filter_map(|name| Some((kind(&name)?, name)));
    found.filter_map(|(kind, name)| library(&folder.join(&name), kind, package(&name))).collect()
}

/// Lists those outside of environments, where dyld looks for them: each file once.
pub(super) fn outside(look: &Look<'_>) -> Vec<Library> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for name in ["DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"] {
        let all = look.env.get(name).unwrap_or_default().split(':').filter(|folder| !folder.is_empty());
        folders.extend(all.map(|folder| look.env.cwd().join(folder)));
    }
    for prefix in pythons::machine(look).homebrews() {
        folders.extend(["lib", "opt/libomp/lib", "opt/mlx/lib"].map(|inner| prefix.join(inner)));
    }
    folders.push(look.root.join("opt/local/lib/libomp"));
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut all = Vec::new();
    for library in folders.iter().flat_map(|folder| within(folder, &|_| None)) {
        if let Some(real) = resolved(Path::new(&library.path))
            && !seen.contains(&real)
        {
            seen.push(real);
            all.push(library);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn libraries_of_interest_by_their_names() {
        let check = |path: &str, expected: Option<&str>| assert_eq!(kind(path), expected, "{path}");
        check("torch/lib/libomp.dylib", Some("openmp"));
        check("a/.dylibs/libomp-f422816d.dylib", Some("openmp"));
        check("libiomp5.dylib", Some("openmp"));
        check("lib/libomptarget.dylib", None);
        check("lib/libompd.dylib", None);
        check("mlx/lib/libmlx.dylib", Some("mlx"));
        check("mlx/lib/mlx.metallib", Some("metallib"));
        check("tensorflow-plugins/libmetal_plugin.dylib", Some("tensorflow-plugin"));
        check("x/libmetal_plugin.dylib", None);
    }
}
