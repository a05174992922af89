//! `Word`: what names operators on a command line, by itself or as a file.

use macml::sys::fs;

use crate::context::Context;
use crate::error::CommandError;

/// A word of the command line.
pub(crate) enum Word {
    /// A name.
    Name(String),
    /// A file, as people know it, and what is in it.
    File { shown: String, text: String },
}

impl Word {
    /// Reads one that is a file, or else has to be a name.
    pub(crate) fn read(word: &str, is_name: &dyn Fn(&str) -> bool, context: &Context) -> Result<Self, CommandError> {
        let path = context.cwd.join(word);
        if matches!(fs::kind(&path), Ok(Some(fs::Kind::File))) {
            let bytes = fs::read_bytes(&path).map_err(CommandError::from_disk)?.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            return Ok(Self::File { shown: context.shown(&path), text });
        }
        if !is_name(word) {
            let error = CommandError::usage(format!("`{word}` is neither a file nor a name of an operator"));
            return Err(error.hint("name one as `aten::linalg_qr` or `torch.linalg.qr`, or a file that mentions some"));
        }
        Ok(Self::Name(word.to_owned()))
    }
}
