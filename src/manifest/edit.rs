//! Edits of macml.toml: one requirement in, changed or out, every other byte as it was.
//!
//! The text is cut at the places that the parser reports, so comments, order, quotes and line ends of all that is not
//! touched stay. What comes out is parsed and compared: an edit that did anything else than it should is an error, never a
//! file.

use super::keys::FRAMEWORKS;
use super::model::RootTable;
use super::raw;
use super::raw::Entry;
use super::raw::Raw;
use super::raw::Value;
use crate::diag::Span;
use crate::pep::PackageName;

/// A requirement as it is to stand in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The package.
    pub name: PackageName,
    /// Version specifiers; `None` leaves those that stand there, and is `*` where none do.
    pub versions: Option<String>,
    /// Extras, beside those that stand there.
    pub extras: Vec<String>,
    /// A marker, in the place of the one that stands there.
    pub marker: Option<String>,
    /// The index that alone serves it, in the place of the one that stands there.
    pub index: Option<String>,
    /// One wheel instead of versions.
    pub file: Option<WheelFile>,
}

/// A wheel that is named instead of versions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WheelFile {
    /// By path, relative to the project.
    Path(String),
    /// By address, with its digest.
    Url {
        /// The address.
        url: String,
        /// 64 digits.
        sha256: String,
    },
}

/// Why the file is not edited.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EditError {
    /// No such environment.
    #[error("macml.toml has no environment `{0}`")]
    NoEnv(String),
    /// Nothing of that name is asked for there.
    #[error("`{name}` is in none of {place} of macml.toml")]
    Absent {
        /// What was to go.
        name: PackageName,
        /// Where it was looked for.
        place: String,
    },
    /// It stands there in a form that has several answers.
    #[error("`{0}` stands there for several platforms or markers, which only a person can edit")]
    Several(PackageName),
    /// The file is written in a way that macml does not edit.
    #[error("macml.toml is written in a way that macml cannot edit by itself")]
    Unclear,
}

impl Line {
    /// Makes a line of a name alone.
    pub fn of(name: PackageName) -> Self {
        Self { name, versions: None, extras: Vec::new(), marker: None, index: None, file: None }
    }

    /// Returns the table that it belongs into where it stands in none.
    fn table(&self) -> RootTable {
        table_of(&self.name)
    }

    /// Writes it for people who have to edit by hand: `torch = ">=2.13"`.
    pub fn written(&self) -> String {
        format!("{} = {}", key(self.name.as_str()), self.value())
    }

    /// Writes the alternatives of one package, each with a marker of its own: `numba = [ { … }, { … } ]`.
    pub fn written_with(&self, others: &[&Self]) -> String {
        let all = std::iter::once(self).chain(others.iter().copied());
        let all: String = all.map(|line| format!("    {},\n", line.table_value())).collect();
        format!("{} = [\n{all}]", key(self.name.as_str()))
    }

    /// Writes its value.
    fn value(&self) -> String {
        match self.is_plain() {
            true => quoted(self.versions.as_deref().unwrap_or("*")),
            false => self.table_value(),
        }
    }

    /// Writes its value as a table, whatever it says.
    fn table_value(&self) -> String {
        let versions = self.versions.as_deref().unwrap_or("*");
        let mut parts = match &self.file {
            Some(WheelFile::Path(path)) => vec![format!("path = {}", quoted(path))],
            Some(WheelFile::Url { url, sha256 }) => {
                vec![format!("url = {}", quoted(url)), format!("sha256 = {}", quoted(sha256))]
            }
            None => vec![format!("version = {}", quoted(versions))],
        };
        if !self.extras.is_empty() {
            parts.push(format!("extras = {}", listed(&self.extras)));
        }
        parts.extend(self.marker.as_ref().map(|marker| format!("marker = {}", quoted(marker))));
        parts.extend(self.index.as_ref().map(|index| format!("index = {}", quoted(index))));
        format!("{{ {} }}", parts.join(", "))
    }

    /// Whether it says nothing but versions.
    fn is_plain(&self) -> bool {
        self.extras.is_empty() && self.marker.is_none() && self.index.is_none() && self.file.is_none()
    }
}

/// Returns the table that a package belongs into.
pub fn table_of(name: &PackageName) -> RootTable {
    match FRAMEWORKS.contains(&name.as_str()) {
        true => RootTable::Frameworks,
        false => RootTable::Dependencies,
    }
}

/// Puts a requirement in for an environment, or changes the one that is there.
///
/// # Errors
/// When there is no such environment, or the file is written so that a person has to do it.
pub fn add(text: &str, env: &str, line: &Line) -> Result<String, EditError> {
    let file = read(text)?;
    let home = home(&file, env)?;
    let tables = [RootTable::Frameworks, RootTable::Dependencies];
    let standing = tables.into_iter().find_map(|table| entry(home.table(table)?, &line.name));
    let edited = match standing {
        Some(entry) => changed(text, entry, line)?,
        None => match home.table(line.table()) {
            Some(table) => inserted(text, table, &home.title(line.table()), line)?,
            None => with_table(text, &file, &home, line),
        },
    };
    same_but(text, &edited, env, &line.name, true)
}

/// Takes a requirement out of an environment, from whichever table it stands in.
///
/// # Errors
/// When it is not there, or the file is written so that a person has to do it.
pub fn remove(text: &str, env: &str, name: &PackageName) -> Result<String, EditError> {
    let file = read(text)?;
    let home = home(&file, env)?;
    let tables = [RootTable::Frameworks, RootTable::Dependencies];
    let standing = tables.into_iter().find_map(|table| Some((home.table(table)?, entry(home.table(table)?, name)?)));
    let Some((table, entry)) = standing else {
        let place = match env {
            "default" => "`[frameworks]` and `[dependencies]`".to_owned(),
            env => format!("`[env.{env}]`"),
        };
        return Err(EditError::Absent { name: name.clone(), place });
    };
    let edited = match is_inline(text, table.span) {
        true => without_item(text, table, entry)?,
        false => without_line(text, entry)?,
    };
    same_but(text, &edited, env, name, false)
}

fn read(text: &str) -> Result<Raw, EditError> {
    raw::parse(text, &mut Vec::new()).ok_or(EditError::Unclear)
}

/// Where the tables of an environment stand.
struct Home<'r> {
    /// The file, or `[env.NAME]`.
    raw: &'r Raw,
    /// `env.NAME.`, or nothing.
    prefix: String,
}

fn home<'r>(file: &'r Raw, env: &str) -> Result<Home<'r>, EditError> {
    if env == "default" {
        return Ok(Home { raw: file, prefix: String::new() });
    }
    let own = file.table("env").and_then(|envs| envs.entries.iter().find(|entry| entry.key == env));
    match own.map(|entry| &entry.value) {
        Some(Value::Table(raw)) => Ok(Home { raw, prefix: format!("env.{}.", key(env)) }),
        _ => Err(EditError::NoEnv(env.to_owned())),
    }
}

impl Home<'_> {
    fn table(&self, table: RootTable) -> Option<&Raw> {
        self.raw.table(name_of(table))
    }

    fn title(&self, table: RootTable) -> String {
        format!("{}{}", self.prefix, name_of(table))
    }
}

fn name_of(table: RootTable) -> &'static str {
    match table {
        RootTable::Frameworks => "frameworks",
        RootTable::Dependencies => "dependencies",
    }
}

fn entry<'r>(table: &'r Raw, name: &PackageName) -> Option<&'r Entry> {
    table.entries.iter().find(|entry| entry.key.parse::<PackageName>().is_ok_and(|own| own == *name))
}

/// Changes a requirement where it stands.
fn changed(text: &str, entry: &Entry, line: &Line) -> Result<String, EditError> {
    match &entry.value {
        Value::Text(_) if line.is_plain() => match &line.versions {
            Some(versions) => Ok(replaced(text, entry.span, &quoted_like(text, entry.span, versions))),
            None => Ok(text.to_owned()),
        },
        _ if line.file.is_some() && is_line(text, entry) => Ok(replaced(text, entry.span, &line.value())),
        Value::Text(standing) => {
            let versions = line.versions.clone().or_else(|| Some(standing.clone()));
            Ok(replaced(text, entry.span, &Line { versions, ..line.clone() }.value()))
        }
        Value::Table(raw) if is_inline(text, raw.span) => {
            if line.versions.is_some() && raw.get("version").is_none() {
                return Ok(replaced(text, entry.span, &line.value()));
            }
            let mut wanted: Vec<(&str, String)> = Vec::new();
            wanted.extend(line.versions.as_ref().map(|versions| ("version", quoted(versions))));
            let mut extras: Vec<String> = raw.texts("extras").iter().map(|item| item.text.clone()).collect();
            let new: Vec<String> = line.extras.iter().filter(|extra| !extras.contains(extra)).cloned().collect();
            if !new.is_empty() {
                extras.extend(new);
                wanted.push(("extras", listed(&extras)));
            }
            wanted.extend(line.marker.as_ref().map(|marker| ("marker", quoted(marker))));
            wanted.extend(line.index.as_ref().map(|index| ("index", quoted(index))));
            let mut edits: Vec<(Span, String)> = Vec::new();
            let mut missing: Vec<String> = Vec::new();
            for (name, value) in wanted {
                match raw.get(name) {
                    Some(standing) => edits.push((standing.span, value)),
                    None => missing.push(format!("{name} = {value}")),
                }
            }
            if !missing.is_empty() {
                let last = raw.entries.iter().map(|one| one.span.end).max().ok_or(EditError::Unclear)?;
                edits.push((Span { start: last, end: last }, format!(", {}", missing.join(", "))));
            }
            edits.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
            Ok(edits.into_iter().fold(text.to_owned(), |text, (span, value)| replaced(&text, span, &value)))
        }
        Value::Tables(_) => Err(EditError::Several(line.name.clone())),
        _ => Err(EditError::Unclear),
    }
}

/// Puts a line into a table that is there.
fn inserted(text: &str, table: &Raw, title: &str, line: &Line) -> Result<String, EditError> {
    if is_inline(text, table.span) {
        let last = table.entries.iter().map(|one| one.span.end).max();
        let (at, separator) = match last {
            Some(last) => (last, ", "),
            None => (table.span.start + 1, " "),
        };
        let end = if last.is_none() { " " } else { "" };
        return Ok(replaced(text, Span { start: at, end: at }, &format!("{separator}{}{end}", line.written())));
    }
    // Requirements that are tables of their own stand behind the lines.
    let lines: Vec<&Entry> = table.entries.iter().filter(|entry| is_line(text, entry)).collect();
    let names: Vec<String> = lines.iter().map(|entry| normal(&entry.key)).collect();
    let before = match names.is_sorted() {
        true => names.iter().rposition(|name| name.as_str() < line.name.as_str()),
        false => names.len().checked_sub(1),
    };
    let written = |prefix: &str| format!("{prefix}{}{}", line.written(), line_end(text));
    match before.map(|at| lines[at]) {
        Some(entry) => {
            let start = text[..entry.key_span.start].rfind('\n').map_or(0, |at| at + 1);
            let prefix = &text[start..entry.key_span.start];
            Ok(after_line(text, entry.span.end, &written(prefix)))
        }
        None if table.span.start < table.span.end => Ok(after_line(text, table.span.end, &written(""))),
        // Its header was never written: `frameworks.torch = "*"`, or tables below it alone.
        None => match lines.first() {
            Some(first) => {
                let start = text[..first.key_span.start].rfind('\n').map_or(0, |at| at + 1);
                let prefix = &text[start..first.key_span.start];
                Ok(replaced(text, Span { start, end: start }, &written(prefix)))
            }
            None => Ok(appended(text, title, line)),
        },
    }
}

/// Makes the table and puts the line into it: behind the other table of the environment, else behind its own keys.
fn with_table(text: &str, file: &Raw, home: &Home<'_>, line: &Line) -> String {
    let title = home.title(line.table());
    let others = [RootTable::Frameworks, RootTable::Dependencies].map(|table| home.table(table));
    let target = if home.prefix.is_empty() { file.table("target") } else { Some(home.raw) };
    let behind = others.into_iter().flatten().chain(target).find(|raw| !is_inline(text, raw.span));
    let Some(behind) = behind.filter(|raw| raw.span.start < raw.span.end) else { return appended(text, &title, line) };
    let own = behind.entries.iter().filter(|entry| is_line(text, entry)).map(|entry| entry.span.end);
    let end = own.chain([behind.span.end]).max().unwrap_or(text.len());
    let newline = line_end(text);
    let block = format!("{newline}[{title}]{newline}{}{newline}", line.written());
    after_line(text, end, &block)
}

fn appended(text: &str, title: &str, line: &Line) -> String {
    let newline = line_end(text);
    let gap = if text.is_empty() { "" } else { newline };
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
    format!("{text}{end}{gap}[{title}]{newline}{}{newline}", line.written())
}

/// Takes out the line of an entry; comments above it stay, as they may be about more than that line.
fn without_line(text: &str, entry: &Entry) -> Result<String, EditError> {
    let table = match &entry.value {
        Value::Table(raw) if !is_inline(text, raw.span) => Some(raw),
        Value::Tables(raws) if raws.iter().any(|raw| !is_inline(text, raw.span)) => return Err(EditError::Unclear),
        _ => None,
    };
    let (start, end) = match table {
        Some(raw) if raw.span.start == raw.span.end => return Err(EditError::Unclear),
        Some(raw) => (raw.span.start, raw.entries.iter().map(|one| one.span.end).max().unwrap_or(raw.span.end)),
        None => (entry.key_span.start, entry.span.end),
    };
    let start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[end..].find('\n').map_or(text.len(), |at| end + at + 1);
    Ok(replaced(text, Span { start, end }, ""))
}

/// Takes an entry out of a table on one line, with the comma that belongs to it.
fn without_item(text: &str, table: &Raw, entry: &Entry) -> Result<String, EditError> {
    let at = table.entries.iter().position(|one| one.key_span == entry.key_span).ok_or(EditError::Unclear)?;
    let span = match (at.checked_sub(1).map(|before| &table.entries[before]), table.entries.get(at + 1)) {
        (Some(before), _) => Span { start: before.span.end, end: entry.span.end },
        (None, Some(next)) => Span { start: entry.key_span.start, end: next.key_span.start },
        (None, None) => Span { start: entry.key_span.start, end: entry.span.end },
    };
    Ok(replaced(text, span, ""))
}

/// Holds an edit to what it was to do: of the environment, that name is there or gone, and all else is what it was.
fn same_but(before: &str, after: &str, env: &str, name: &PackageName, there: bool) -> Result<String, EditError> {
    type Names = Vec<(String, RootTable, PackageName)>;
    let names = |text: &str| -> Option<Names> {
        let file = raw::parse(text, &mut Vec::new())?;
        let envs = file.table("env").map_or(&[][..], |envs| envs.entries.as_slice());
        let named = envs.iter().filter_map(|entry| match &entry.value {
            Value::Table(raw) => Some((entry.key.clone(), raw)),
            _ => None,
        });
        let mut all = Names::new();
        for (env, raw) in std::iter::once(("default".to_owned(), &file)).chain(named) {
            for table in [RootTable::Frameworks, RootTable::Dependencies] {
                let entries = raw.table(name_of(table)).map_or(&[][..], |table| table.entries.as_slice());
                all.extend(entries.iter().filter_map(|one| Some((env.clone(), table, one.key.parse().ok()?))));
            }
        }
        all.sort();
        Some(all)
    };
    let (old, new) = (names(before).ok_or(EditError::Unclear)?, names(after).ok_or(EditError::Unclear)?);
    let is_it = |one: &(String, RootTable, PackageName)| one.0 == env && one.2 == *name;
    let rest = |all: &Names| all.iter().filter(|one| !is_it(one)).cloned().collect::<Names>();
    let is_so = rest(&old) == rest(&new) && new.iter().filter(|one| is_it(one)).count() == usize::from(there);
    if is_so { Ok(after.to_owned()) } else { Err(EditError::Unclear) }
}

/// Whether an entry is a line of its table, rather than a table below it.
fn is_line(text: &str, entry: &Entry) -> bool {
    let header = |raw: &Raw| !is_inline(text, raw.span);
    match &entry.value {
        Value::Table(raw) => !header(raw),
        Value::Tables(raws) => !raws.iter().any(header),
        _ => true,
    }
}

fn is_inline(text: &str, span: Span) -> bool {
    text[span.start..span.end].starts_with('{')
}

fn normal(key: &str) -> String {
    key.parse::<PackageName>().map_or_else(|_| key.to_lowercase(), |name| name.to_string())
}

fn replaced(text: &str, span: Span, with: &str) -> String {
    format!("{}{with}{}", &text[..span.start], &text[span.end..])
}

/// Puts whole lines behind the line that something ends in.
fn after_line(text: &str, end: usize, lines: &str) -> String {
    match text[end..].find('\n') {
        Some(at) => replaced(text, Span { start: end + at + 1, end: end + at + 1 }, lines),
        None => format!("{text}{}{}", line_end(text), lines),
    }
}

/// Returns how the file ends its lines.
fn line_end(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Writes a key; only what TOML takes bare is.
pub fn key(name: &str) -> String {
    let bare = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

/// Writes a list of texts.
pub fn listed(items: &[String]) -> String {
    format!("[{}]", items.iter().map(|item| quoted(item)).collect::<Vec<_>>().join(", "))
}

/// Writes a text: in double quotes, in single ones where it has double ones itself.
pub fn quoted(text: &str) -> String {
    let plain = |char: char| !char.is_control() && char != '\\';
    if text.chars().all(|char| plain(char) && char != '"') {
        format!("\"{text}\"")
    } else if text.chars().all(|char| !char.is_control() && char != '\'') {
        format!("'{text}'")
    } else {
        toml::Value::String(text.to_owned()).to_string()
    }
}

/// Writes a text in the quotes that stand there.
fn quoted_like(text: &str, span: Span, new: &str) -> String {
    match text[span.start..span.end].starts_with('\'') && !new.contains('\'') {
        true => format!("'{new}'"),
        false => quoted(new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# What we train.
[project]
name = \"x\"

[target] # the lowest Mac
chip = \"m1\"
macos = \"14.0\"
python = \">=3.11\"

[frameworks]
torch = \">=2.13\"   # the heart

# --- data ---
[dependencies]
# keep below 5
datasets = { version = \">=3,<5\", extras = [\"vision\"] } # large
numba = [
    { version = \">=0.60\", platform = \"macos-arm64\" },
]
pandas = '>=2'
";

    fn line(text: &str) -> Line {
        let (name, versions) = text.split_once(' ').map_or((text, None), |(name, rest)| (name, Some(rest.to_owned())));
        Line { versions, ..Line::of(name.parse().unwrap()) }
    }

    #[track_caller]
    fn adds(text: &str, line: &Line, from: &str, to: &str) {
        assert!(text.contains(from), "{from}");
        assert_eq!(add(text, "default", line).unwrap(), text.replacen(from, to, 1));
    }

    #[test]
    fn a_line_comes_in_where_its_name_belongs_and_nothing_else_moves() {
        adds(FILE, &line("torchvision"), "# the heart\n", "# the heart\ntorchvision = \"*\"\n");
        adds(FILE, &line("keras >=3"), "[frameworks]\n", "[frameworks]\nkeras = \">=3\"\n");
        adds(FILE, &line("einops ==0.8.*"), "# large\n", "# large\neinops = \"==0.8.*\"\n");
        adds(FILE, &line("aiohttp"), "[dependencies]\n", "[dependencies]\naiohttp = \"*\"\n");
        adds(FILE, &line("zarr"), "pandas = '>=2'\n", "pandas = '>=2'\nzarr = \"*\"\n");
        adds(FILE, &line("ruamel.yaml"), "pandas = '>=2'\n", "pandas = '>=2'\nruamel-yaml = \"*\"\n");
        // What is in no order gets it at the end.
        let mixed = FILE.replace("pandas", "aaa");
        adds(&mixed, &line("einops"), "aaa = '>=2'\n", "aaa = '>=2'\neinops = \"*\"\n");
    }

    #[test]
    fn what_is_there_changes_where_it_stands() {
        adds(FILE, &line("torch ==2.13.*"), "\">=2.13\"", "\"==2.13.*\"");
        adds(FILE, &line("Pandas >=3"), "'>=2'", "'>=3'");
        adds(FILE, &line("torch"), "torch", "torch");
        adds(FILE, &line("datasets >=4"), "\">=3,<5\"", "\">=4\"");
        let extra = Line { extras: vec!["audio".into(), "vision".into()], ..line("datasets") };
        adds(FILE, &extra, "[\"vision\"]", "[\"vision\", \"audio\"]");
        let marked = Line { marker: Some("sys_platform == 'darwin'".into()), ..line("datasets") };
        adds(FILE, &marked, "[\"vision\"] }", "[\"vision\"], marker = \"sys_platform == 'darwin'\" }");
        let indexed = Line { index: Some("corp".into()), ..line("pandas") };
        adds(FILE, &indexed, "'>=2'", "{ version = \">=2\", index = \"corp\" }");
        assert_eq!(add(FILE, "default", &line("numba")), Err(EditError::Several("numba".parse().unwrap())));
    }

    #[test]
    fn tables_that_are_not_there_are_made_behind_those_that_are() {
        let bare = "[target]\nchip = \"m1\" # x\n\n[run.env]\nA = \"1\"\n";
        let with = add(bare, "default", &line("torch")).unwrap();
        assert_eq!(with, "[target]\nchip = \"m1\" # x\n\n[frameworks]\ntorch = \"*\"\n\n[run.env]\nA = \"1\"\n");
        let both = add(&with, "default", &line("numpy <3")).unwrap();
        assert!(both.contains("torch = \"*\"\n\n[dependencies]\nnumpy = \"<3\"\n\n[run.env]"), "{both}");
        assert_eq!(add("", "default", &line("numpy")).unwrap(), "[dependencies]\nnumpy = \"*\"\n");
        let inline = "frameworks = { torch = \"*\" }";
        assert_eq!(add(inline, "default", &line("mlx")).unwrap(), "frameworks = { torch = \"*\", mlx = \"*\" }");
        let dotted = "[env.tf]\nframeworks.keras = \"*\"\n";
        let edited = add(dotted, "tf", &line("tensorflow")).unwrap();
        assert_eq!(edited, "[env.tf]\nframeworks.keras = \"*\"\nframeworks.tensorflow = \"*\"\n");
        assert_eq!(add(dotted, "gpu", &line("tensorflow")), Err(EditError::NoEnv("gpu".into())));
        let own = add("[env.tf]\npython = \">=3.10\"\n", "tf", &line("keras")).unwrap();
        assert_eq!(own, "[env.tf]\npython = \">=3.10\"\n\n[env.tf.frameworks]\nkeras = \"*\"\n");
    }

    #[test]
    fn line_ends_of_windows_and_a_missing_last_one_stay() {
        let windows = FILE.replace('\n', "\r\n");
        let edited = add(&windows, "default", &line("einops")).unwrap();
        assert_eq!(edited, add(FILE, "default", &line("einops")).unwrap().replace('\n', "\r\n"));
        let open = "[dependencies]\na = \"*\"";
        assert_eq!(add(open, "default", &line("b")).unwrap(), "[dependencies]\na = \"*\"\nb = \"*\"\n");
        assert_eq!(remove(open, "default", &"a".parse().unwrap()).unwrap(), "[dependencies]\n");
    }

    #[test]
    fn a_line_goes_and_every_comment_but_its_own_stays() {
        let gone = |text: &str, name: &str| remove(text, "default", &name.parse().unwrap());
        assert_eq!(gone(FILE, "torch").unwrap(), FILE.replace("torch = \">=2.13\"   # the heart\n", ""));
        let datasets = "datasets = { version = \">=3,<5\", extras = [\"vision\"] } # large\n";
        assert_eq!(gone(FILE, "datasets").unwrap(), FILE.replace(datasets, ""));
        let numba = "numba = [\n    { version = \">=0.60\", platform = \"macos-arm64\" },\n]\n";
        assert_eq!(gone(FILE, "numba").unwrap(), FILE.replace(numba, ""));
        assert!(matches!(gone(FILE, "scipy"), Err(EditError::Absent { .. })));
        let inline = "dependencies = { a = \"*\", b = \"*\", c = \"*\" }\n";
        assert_eq!(gone(inline, "a").unwrap(), "dependencies = { b = \"*\", c = \"*\" }\n");
        assert_eq!(gone(inline, "c").unwrap(), "dependencies = { a = \"*\", b = \"*\" }\n");
        let table = "[dependencies.a]\nversion = \"*\"\n\n[dependencies.b]\nversion = \"*\"\n";
        assert_eq!(gone(table, "a").unwrap(), "\n[dependencies.b]\nversion = \"*\"\n");
        assert_eq!(gone(table, "b").unwrap(), "[dependencies.a]\nversion = \"*\"\n\n");
    }

    #[test]
    fn values_are_quoted_so_that_they_come_back() {
        let check = |text: &str, expected: &str| assert_eq!(quoted(text), expected);
        check(">=2", "\">=2\"");
        check("os_name == \"nt\"", "'os_name == \"nt\"'");
        let odd = "a\"b'c\\d\n";
        let back: toml::Table = format!("x = {}", quoted(odd)).parse().unwrap();
        assert_eq!(back["x"].as_str(), Some(odd));
    }
}
