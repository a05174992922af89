//! Where this program lies.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::env::Env;
use super::fs::FsError;

/// Returns the path of this program, by which it will be found again: as PATH has it, rather than where links lead, for
/// an update puts another file there. `typed` is how it was called.
///
/// # Errors
/// When the system does not say.
pub fn own_path(typed: &OsStr, env: &Env) -> Result<PathBuf, FsError> {
    let failed = |cause| FsError { doing: "find", path: typed.into(), cause };
    let own = std::env::current_exe().and_then(std::fs::canonicalize).map_err(failed)?;
    let folders = env.get("PATH").unwrap_or_default().split(':').map(Path::new);
    let found = match Path::new(typed).components().count() {
        1 => folders.map(|folder| folder.join(typed)).find(|path| is_it(path, &own)),
        _ => Some(env.cwd().join(typed)).filter(|path| is_it(path, &own)),
    };
    Ok(found.unwrap_or(own))
}

fn is_it(path: &Path, own: &Path) -> bool {
    path.is_absolute() && std::fs::canonicalize(path).is_ok_and(|path| path == own)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_link_on_path_is_preferred_to_where_it_leads() {
        let folder = tempfile::tempdir().unwrap();
        let own = std::env::current_exe().unwrap().canonicalize().unwrap();
        let link = folder.path().join("tool");
        std::os::unix::fs::symlink(&own, &link).unwrap();
        let at = |typed: &str, path: &str| {
            let vars = BTreeMap::from([("PATH".to_owned(), path.to_owned())]);
            own_path(OsStr::new(typed), &Env::from_map(vars, folder.path().to_owned())).unwrap()
        };
        let path = format!("/nowhere:{}", folder.path().display());
        assert_eq!(at("tool", &path), link);
        assert_eq!(at("tool", "/nowhere"), own);
        assert_eq!(at("other", &path), own);
        assert_eq!(at("./tool", ""), folder.path().join("./tool"));
        assert_eq!(at(link.to_str().unwrap(), ""), link);
        // A program of the same name that stands before it is not it.
        assert_eq!(at("ls", "/bin:/usr/bin"), own);
    }
}
