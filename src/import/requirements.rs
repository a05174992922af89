//! Requirements files, with all that they include, taken apart into single requirements and options.

use std::path::{Path, PathBuf};

use crate::pep::requirements_file::{apart, logical_lines, option_and_value, words};

use super::{Error, Read, Verdict};

/// No list includes more files.
const MOST_FILES: usize = 100;

/// Everything that files ask for, before anything is decided.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Asked {
    /// The name of the project.
    pub name: Option<String>,
    /// The Pythons.
    pub python: Option<String>,
    /// What is asked for, and what else stands there.
    pub items: Vec<AskedItem>,
    /// What is worth knowing besides.
    pub notes: Vec<String>,
}

/// One requirement or option with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AskedItem {
    /// The file.
    pub file: PathBuf,
    /// The line.
    pub line: usize,
    /// What stands there.
    pub what: What,
}

/// What stands on a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// Something to be installed: a requirement, an address or a path.
    Requirement {
        /// As it is written.
        text: String,
        /// Whether it only limits what others ask for.
        limits: bool,
        /// Whether it is worked on where it lies.
        editable: bool,
        /// How many hashes stand with it.
        hashes: usize,
    },
    /// An option with its value.
    Option {
        /// Its name: `--extra-index-url`.
        name: String,
        /// Its value.
        value: Option<String>,
    },
    /// Something to be installed, which another tool calls otherwise.
    Translated {
        /// As it is written.
        from: String,
        /// As pip writes it.
        text: String,
        /// Why it is called otherwise.
        why: String,
    },
    /// What is decided by where it stands, such as a package of conda's own.
    Decided {
        /// As it is written.
        text: String,
        /// What it comes to.
        verdict: Verdict,
    },
    /// A file that was read.
    Included {
        /// As it is written.
        text: String,
    },
    /// Several requirements on one line, which is one for each of them; this tells of the line.
    Several {
        /// How many.
        count: usize,
        /// The line.
        text: String,
    },
}

struct Reader<'a, 'r> {
    read: &'a mut (dyn FnMut(&Path) -> Result<String, String> + 'r),
    files: usize,
    asked: Asked,
}

/// Takes a file apart.
///
/// # Errors
/// When a file that it includes cannot be read.
pub fn read(path: &Path, text: String, read: Read<'_>) -> Result<Asked, Error> {
    lines(path, logical_lines(&text), read)
}

/// Takes lines apart, each with its number in a file that may have more in it.
///
/// # Errors
/// When a file that they include cannot be read.
pub(super) fn lines(path: &Path, lines: Vec<(usize, String)>, read: Read<'_>) -> Result<Asked, Error> {
    let mut reader = Reader { read, files: 0, asked: Asked::default() };
    reader.file(path, lines, false, &mut Vec::new())?;
    Ok(reader.asked)
}

impl Reader<'_, '_> {
    fn file(
        &mut self,
        path: &Path,
        lines: Vec<(usize, String)>,
        limits: bool,
        stack: &mut Vec<PathBuf>,
    ) -> Result<(), Error> {
        self.files += 1;
        stack.push(path.to_owned());
        for (line, text) in lines {
            if text.starts_with('-') || text.starts_with("\"-") {
                self.options(path, line, &text, limits, stack)?;
            } else {
                self.requirement(path, line, &text, limits, stack)?;
            }
        }
        stack.pop();
        Ok(())
    }

    fn push(&mut self, path: &Path, line: usize, what: What) {
        self.asked.items.push(AskedItem { file: path.to_owned(), line, what });
    }

    fn options(
        &mut self,
        path: &Path,
        line: usize,
        text: &str,
        limits: bool,
        stack: &mut Vec<PathBuf>,
    ) -> Result<(), Error> {
        let text = text.trim_matches('"');
        let editable = ["--editable=", "--editable ", "-e"].iter().find_map(|option| text.strip_prefix(option));
        if let Some(named) = editable {
            let text = named.trim_start_matches(['=', ' ', '\t']).to_owned();
            self.push(path, line, What::Requirement { text, limits, editable: true, hashes: 0 });
            return Ok(());
        }
        let mut words = words(text).into_iter();
        while let Some(word) = words.next() {
            let (name, value) = option_and_value(&word);
            if !name.starts_with('-') {
                // The value of an option that takes more than one.
                continue;
            }
            let takes = !matches!(name.as_str(), "--pre" | "--no-index" | "--require-hashes" | "--prefer-binary");
            let value = value.or_else(|| if takes { words.next() } else { None });
            match (name.as_str(), value) {
                ("-r" | "--requirement", Some(named)) => self.include(path, line, (text, &named), limits, stack)?,
                ("-c" | "--constraint", Some(named)) => self.include(path, line, (text, &named), true, stack)?,
                (_, value) => self.push(path, line, What::Option { name, value }),
            }
        }
        Ok(())
    }

    fn include(
        &mut self,
        path: &Path,
        line: usize,
        (text, named): (&str, &str),
        limits: bool,
        stack: &mut Vec<PathBuf>,
    ) -> Result<(), Error> {
        if named.contains("://") {
            self.push(path, line, What::Option { name: "-r".to_owned(), value: Some(named.to_owned()) });
            return Ok(());
        }
        let included = tidy(&path.parent().unwrap_or(Path::new("")).join(named));
        if stack.contains(&included) || self.files >= MOST_FILES {
            return Err(Error::Circle { file: path.to_owned(), line });
        }
        let read = (self.read)(&included).map_err(|why| {
            // Who writes such a path often means the project's own folder.
            let beside = included.file_name().map(|name| path.parent().unwrap_or(Path::new("")).join(name));
            let beside = beside.filter(|beside| *beside != included && (self.read)(beside).is_ok());
            Error::Included { file: path.to_owned(), line, included: included.clone(), why, beside }
        })?;
        self.push(path, line, What::Included { text: text.to_owned() });
        self.file(&included, logical_lines(&read), limits, stack)
    }

    fn requirement(
        &mut self,
        path: &Path,
        line: usize,
        text: &str,
        limits: bool,
        stack: &mut Vec<PathBuf>,
    ) -> Result<(), Error> {
        let (text, options) = apart(text);
        let mut hashes = 0;
        let mut others: Vec<String> = Vec::new();
        let mut words_ = words(options).into_iter().peekable();
        while let Some(word) = words_.next() {
            let (name, value) = option_and_value(&word);
            match name.as_str() {
                "--hash" => {
                    hashes += 1;
                    if value.is_none() {
                        words_.next();
                    }
                }
                _ => others.push(word),
            }
        }
        let several: Vec<&str> = several(text);
        match several.as_slice() {
            [] => {
                let text = text.to_owned();
                self.push(path, line, What::Requirement { text, limits, editable: false, hashes });
            }
            all => {
                self.push(path, line, What::Several { count: all.len(), text: text.to_owned() });
                for text in all {
                    let text = (*text).to_owned();
                    self.push(path, line, What::Requirement { text, limits, editable: false, hashes: 0 });
                }
            }
        }
        if others.is_empty() {
            return Ok(());
        }
        self.options(path, line, &others.join(" "), limits, stack)
    }
}

/// Splits a line that names several packages with blanks between, which pip refuses and scripts of projects take.
fn several(text: &str) -> Vec<&str> {
    if text.contains([';', '@']) || text.parse::<crate::pep::Requirement>().is_ok() {
        return Vec::new();
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let each = |word: &&str| word.parse::<crate::pep::Requirement>().is_ok();
    if words.len() > 1 && words.iter().all(each) { words } else { Vec::new() }
}

/// Leaves out what says nothing: `./`, and a folder that is left again.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir if tidy.file_name().is_some() => _ = tidy.pop(),
            part => tidy.push(part),
        }
    }
    tidy
}
