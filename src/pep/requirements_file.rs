//! The grammar of requirements files beyond a requirement: lines that go on, comments, options, addresses and paths.
//! <https://pip.pypa.io/en/stable/reference/requirements-file-format/>

/// How a requirement names what it wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Named<'a> {
    /// As the standard says.
    Requirement,
    /// By an address or path alone.
    File {
        /// The address or path, with its fragment.
        file: &'a str,
        /// What stands behind ` ;`.
        marker: Option<&'a str>,
    },
}

/// Archives that may stand in place of a name.
pub const ARCHIVES: [&str; 7] = [".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar"];

/// Says how a requirement names what it wants; what is editable is a file unless it says otherwise.
pub fn named(text: &str, editable: bool) -> Named<'_> {
    let (file, marker) = file_and_marker(text);
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let address = file.split_once(':').is_some_and(|(scheme, rest)| {
        scheme.len() > 1 && scheme.chars().all(letters) && (rest.starts_with("//") || scheme == "file")
    });
    let said = file.find(['@', '[', '=', '<', '>', '~', '!', ';', ' ']).unwrap_or(file.len());
    let path = file.starts_with(['.', '/', '~', '\\']) || file[..said].contains(['/', '\\']);
    let archive = ARCHIVES.iter().any(|ending| file.ends_with(ending)) && !file.contains('@');
    if address || path || archive || (editable && !file.contains(" @ ")) {
        Named::File { file, marker }
    } else {
        Named::Requirement
    }
}

/// Splits an address or path from its marker, which stands behind ` ;`, or behind `;` right after the ending of an archive.
pub fn file_and_marker(text: &str) -> (&str, Option<&str>) {
    let behind = |at: &usize| {
        let before = &text[..*at];
        before.ends_with([' ', '\t']) || ARCHIVES.iter().any(|ending| before.ends_with(ending))
    };
    match text.match_indices(';').map(|(at, _)| at).find(behind) {
        Some(at) => (text[..at].trim(), Some(&text[at + 1..])),
        None => (text.trim(), None),
    }
}

/// Splits a requirement from its options.
pub fn apart(text: &str) -> (&str, &str) {
    let starts = |at: &usize| text[..*at].ends_with([' ', '\t']);
    match text.match_indices('-').map(|(at, _)| at).find(starts) {
        Some(at) => (text[..at].trim(), &text[at..]),
        None => (text.trim(), ""),
    }
}

/// Splits `--option=value` and `-ofile`.
pub fn option_and_value(word: &str) -> (String, Option<String>) {
    match (word.split_once('='), word.char_indices().nth(2)) {
        (Some((option, value)), _) if option.starts_with('-') => (option.to_owned(), Some(value.to_owned())),
        (_, Some((at, _))) if word.starts_with('-') && !word.starts_with("--") => {
            (word[..at].to_owned(), Some(word[at..].to_owned()))
        }
        _ => (word.to_owned(), None),
    }
}

/// Splits at blanks outside of quotes, which are taken away.
pub fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote): (Vec<String>, Option<String>, Option<char>) = (Vec::new(), None, None);
    for c in text.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Joins lines that end in `\`, and drops comments and what is then empty; each with the number of its first line.
pub fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut joined: Vec<(usize, String)> = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let comment = line.trim_start().starts_with('#');
        let goes_on = line.ends_with('\\') && !comment;
        let (first, mut whole) = open.take().unwrap_or((number, String::new()));
        if comment {
            // So that it stays one behind what came before.
            whole.push(' ');
        }
        whole.push_str(if goes_on { line.trim_end_matches('\\') } else { line });
        if goes_on {
            open = Some((first, whole));
        } else {
            joined.push((first, whole));
        }
    }
    joined.extend(open);
    joined
        .into_iter()
        .map(|(number, line)| (number, without_comment(&line).trim().to_owned()))
        .filter(|(_, line)| !line.is_empty())
        .collect()
}

/// Cuts `# …` off, which begins a line or follows a blank.
fn without_comment(line: &str) -> &str {
    let begins = |at: &usize| *at == 0 || line[..*at].ends_with(char::is_whitespace);
    match line.match_indices('#').map(|(at, _)| at).find(begins) {
        Some(at) => &line[..at],
        None => line,
    }
}
