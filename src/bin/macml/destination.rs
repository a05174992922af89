//! Files that an option names to be written: whether they can be, before anything is computed for them.

use std::path::Path;

use macml::page;
use macml::sys::fs;

use crate::context::Context;
use crate::error::CommandError;

/// Refuses a file whose folder is not there, and one that is a folder itself.
pub(crate) fn in_folder(typed: &Path, context: &Context) -> Result<(), CommandError> {
    let folder = typed.parent().unwrap_or(typed);
    match kind(folder, context)? {
        Some(fs::Kind::Folder) => {}
        Some(_) => {
            let text = format!("could not write `{}`: `{}` is no folder", typed.display(), folder.display());
            return Err(CommandError::usage(text).hint("name a file in a folder that exists"));
        }
        None => {
            let text = format!("could not write `{}`: there is no folder `{}`", typed.display(), folder.display());
            let hint = format!("`mkdir -p {}` makes it; or name a file in a folder that exists", folder.display());
            return Err(CommandError::usage(text).hint(hint));
        }
    }
    not_a_folder(typed, context)
}

/// Refuses to put a page in the place of a file that macml did not make: a slip of the hand would lose it.
pub(crate) fn for_page(typed: &Path, context: &Context) -> Result<(), CommandError> {
    not_a_folder(typed, context)?;
    if kind(typed, context)? != Some(fs::Kind::File) {
        return Ok(());
    }
    let start = fs::read_start(&context.cwd.join(typed), page::START).map_err(CommandError::from_disk)?;
    match start {
        Some(start) if !start.is_empty() && !page::is_page(&start) => {
            let text = format!("`{}` is there, and is no page of macml", typed.display());
            Err(CommandError::usage(text).hint("name another file, or delete this one first"))
        }
        _ => Ok(()),
    }
}

fn not_a_folder(typed: &Path, context: &Context) -> Result<(), CommandError> {
    if kind(typed, context)? != Some(fs::Kind::Folder) {
        return Ok(());
    }
    let text = format!("could not write `{}`: it is a folder", typed.display());
    Err(CommandError::usage(text).hint("name a file in it"))
}

fn kind(typed: &Path, context: &Context) -> Result<Option<fs::Kind>, CommandError> {
    fs::kind(&context.cwd.join(typed)).map_err(CommandError::from_disk)
}
