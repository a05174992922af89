//! Programs that tests make.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Writes a file that may be run, and the folders to it.
pub(crate) fn program(path: &Path, text: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
