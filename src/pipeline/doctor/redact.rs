//! Takes out of [`Facts`] what is nobody's business: they are meant to be sent to others.
//!
//! Home becomes `~`; the names of the user and of the machine, secrets in addresses and in variables vanish. Each text is
//! changed by itself and the same way wherever it stands, so that two paths that were one stay one. Where a name cannot be
//! told from a word, as of a user called `lib`, it goes only where it can be nothing else: below the folder of all homes, and
//! before an `@`.

use std::borrow::Cow;

use serde_json::Value;
use url::Url;

use crate::doctor::Facts;
use crate::index;
use crate::install;
use crate::sys;
use crate::sys::Env;

use super::Look;
use super::machine;

/// What stands for a secret.
pub(super) const SET: &str = "(set)";

/// What stands for the user's name, for another user's, for the machine's.
const USER: &str = "(user)";
const OTHER: &str = "(other)";
const HOST: &str = "(host)";

/// Words in the name of a variable or of a part of a query that say that its value is a secret.
const SECRET: [&str; 19] = [
    "TOKEN",
    "TOKENS",
    "KEY",
    "KEYS",
    "APIKEY",
    "PASSWORD",
    "PASS",
    "PASSWD",
    "PWD",
    "SECRET",
    "SECRETS",
    "AUTH",
    "NETRC",
    "CREDENTIAL",
    "CREDENTIALS",
    "USERNAME",
    "COOKIE",
    "SIGNATURE",
    "SIG",
];

/// How such words end where they are written as one with others.
const SECRET_ENDS: [&str; 5] = ["TOKEN", "PASSWORD", "SECRET", "APIKEY", "ACCESSKEY"];

/// How secrets begin that say themselves whose they are: of Hugging Face, GitHub, GitLab, PyPI, Slack, AWS.
const TOKENS: [&str; 12] =
    ["hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "pypi-AgE", "xoxb-", "xoxp-", "AKIA"];

/// Folders of homes, at the root of a system.
const HOMES: [&str; 2] = ["Users", "home"];

/// What lies there and is nobody's.
const NOBODY: [&str; 5] = ["Shared", "Guest", "linuxbrew", ".localized", "."];

/// Names of users and machines that are words of paths, systems and packages: a path would be destroyed without them.
const WORDS: &[&str] = &[
    "aarch64",
    "admin",
    "anaconda",
    "anaconda3",
    "apple",
    "applications",
    "arm64",
    "bin",
    "brew",
    "build",
    "cache",
    "cellar",
    "code",
    "conda",
    "contents",
    "current",
    "data",
    "default",
    "desktop",
    "dev",
    "developer",
    "documents",
    "dropbox",
    "downloads",
    "env",
    "envs",
    "etc",
    "fish",
    "frameworks",
    "home",
    "homebrew",
    "include",
    "info",
    "jax",
    "keras",
    "lib",
    "lib64",
    "library",
    "libexec",
    "linux",
    "linuxbrew",
    "local",
    "localhost",
    "mac",
    "macbook",
    "macml",
    "macos",
    "mamba",
    "metal",
    "micromamba",
    "miniconda",
    "miniconda3",
    "miniforge3",
    "mlx",
    "mnt",
    "ml",
    "numpy",
    "onedrive",
    "opt",
    "pip",
    "pkg",
    "pkgs",
    "private",
    "proc",
    "project",
    "projects",
    "proxy",
    "purelib",
    "pyenv",
    "python",
    "python3",
    "resources",
    "root",
    "run",
    "sbin",
    "scipy",
    "sdk",
    "share",
    "simple",
    "site-packages",
    "src",
    "sys",
    "system",
    "tensorflow",
    "temp",
    "test",
    "tests",
    "tf",
    "tmp",
    "tools",
    "torch",
    "torchvision",
    "user",
    "users",
    "usr",
    "uv",
    "var",
    "venv",
    "versions",
    "volumes",
    "work",
    "x86_64",
    "xcode",
    "zsh",
];

/// Returns whether the name of a variable hints at a secret.
pub(super) fn hints_at_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let parts = || name.split(|c: char| !c.is_ascii_alphanumeric());
    parts().any(|part| SECRET.contains(&part) || SECRET_ENDS.iter().any(|end| part.ends_with(end)))
}

/// The names that vanish.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The ways in which home is written, each as the parts of its path; long ones first.
    homes: Vec<Vec<String>>,
    /// The ways in which the user's name is written.
    users: Vec<Name>,
    /// The machine's.
    hosts: Vec<Name>,
}

/// A name, and how surely a text that is equal to it is that name.
#[derive(Debug)]
struct Name {
    text: String,
    strength: Strength,
}

/// How surely a text is a name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Strength {
    /// It is a word of paths too.
    Word,
    /// It is short: as a whole part of a path only.
    Whole,
    /// It is sure inside of a part too.
    Within,
}

impl Name {
    fn new(text: String) -> Self {
        let folded = install::folded(&text);
        let letters = text.chars().filter(|c| c.is_alphabetic()).count();
        let strength = match letters {
            _ if WORDS.contains(&folded.as_str()) || folded.starts_with("python") => Strength::Word,
            5.. => Strength::Within,
            2.. if !text.is_ascii() => Strength::Within,
            _ => Strength::Whole,
        };
        Self { text, strength }
    }
}

impl Names {
    /// Collects them.
    pub(super) fn of(look: &Look<'_>) -> Self {
        Self::from(look.env, machine::host_name(look))
    }

    fn from(env: &Env, host: Option<String>) -> Self {
        let mut names = Self::default();
        let given = env.home().map(|home| home.to_string_lossy().into_owned());
        let resolved = env.home().and_then(|home| sys::resolve(home).ok().flatten());
        let resolved = resolved.map(|home| home.to_string_lossy().into_owned());
        for home in given.into_iter().chain(resolved) {
            names.home(&home);
        }
        for user in ["USER", "LOGNAME", "SUDO_USER"].iter().filter_map(|name| env.get(name)) {
            names.user(user);
        }
        for host in host.into_iter().chain(env.get("HOSTNAME").map(str::to_owned)) {
            names.host(&host);
        }
        names.homes.sort_by_key(|parts| std::cmp::Reverse(parts.len()));
        names
    }

    fn home(&mut self, home: &str) {
        if !home.starts_with('/') {
            return;
        }
        let parts: Vec<String> = home.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let Some(last) = parts.last() else { return };
        self.user(&last.clone());
        // As an address has it, and as a shell that is to be typed into.
        let address = Url::from_file_path(home).map(|url| url.path().trim_end_matches('/').to_owned());
        let address = address.map(|path| path.split('/').skip(1).map(str::to_owned).collect());
        let typed = parts.iter().map(|part| part.replace(' ', "\\ ")).collect();
        // What macOS joins to one tree with `/` is found below this too.
        let volume = ["System", "Volumes", "Data"].map(str::to_owned).into_iter().chain(parts.clone()).collect();
        for way in [Ok(parts), address, Ok(typed), Ok(volume)].into_iter().flatten() {
            if !self.homes.contains(&way) {
                self.homes.push(way);
            }
        }
    }

    fn user(&mut self, name: &str) {
        let address = Url::from_file_path(format!("/{name}")).map(|url| url.path()[1..].to_owned());
        for way in [Ok(name.to_owned()), address, Ok(name.replace(' ', "\\ "))].into_iter().flatten() {
            if !way.is_empty() && !way.contains('/') && !self.users.iter().any(|known| known.text == way) {
                self.users.push(Name::new(way));
            }
        }
    }

    fn host(&mut self, name: &str) {
        let short = name.split('.').next().unwrap_or_default();
        for way in [name, short] {
            // An address of this machine is that of every machine.
            let common = way.is_empty() || way.starts_with("127.") || way.parse::<std::net::IpAddr>().is_ok();
            if !common && !way.eq_ignore_ascii_case("localhost") && !self.hosts.iter().any(|known| known.text == way) {
                self.hosts.push(Name::new(way.to_owned()));
            }
        }
    }

    /// Takes them, and secrets, out of facts.
    pub(super) fn redact(&self, facts: Facts) -> Facts {
        let mut value = serde_json::to_value(&facts).expect("facts are texts, numbers and lists");
        self.value(&mut value);
        serde_json::from_value(value).expect("only texts were changed, and none that is one of a few words")
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.value(value)),
            Value::Object(entries) => {
                let secret = entries.get("name").and_then(Value::as_str).is_some_and(hints_at_secret);
                if let Some(Value::String(value)) = entries.get_mut("value")
                    && secret
                    && !value.is_empty()
                {
                    SET.clone_into(value);
                }
                entries.values_mut().for_each(|value| self.value(value));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Takes them out of a text.
    fn text(&self, text: &str) -> String {
        let text = addresses(text);
        let text = tokens(&text);
        let text = self.accounts(&text);
        let text = self.paths(&text);
        self.machines(&text)
    }

    /// Takes out who stands before an `@`: `user@host`, `name@example.org`, and the machine behind it.
    fn accounts(&self, text: &str) -> String {
        let mut done = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('@') {
            let start = before
                .rfind(|c: char| !(c.is_alphanumeric() || "._%+~".contains(c)))
                .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
            let name = &before[start..];
            let end = after.find(|c: char| !(c.is_alphanumeric() || ".-_".contains(c))).unwrap_or(after.len());
            let place = &after[..end];
            let named = self.hosts.iter().any(|host| same(&host.text, place));
            // A name and where it is, with a dot and no number: no version, as in `python@3.13`.
            let domain = place.split_once('.').is_some_and(|(first, _)| first.starts_with(|c: char| c.is_alphabetic()));
            let end_of_domain = place.rsplit('.').next().is_some_and(|last| last.chars().all(char::is_alphabetic));
            let account = named || (domain && end_of_domain) || self.users.iter().any(|user| same(&user.text, name));
            if account && !name.is_empty() && !place.is_empty() {
                done.push_str(&before[..start]);
                done.push_str(USER);
            } else {
                done.push_str(before);
            }
            done.push('@');
            rest = after;
            if named {
                done.push_str(HOST);
                rest = &after[end..];
            }
        }
        done + rest
    }

    /// Takes home and names out of paths.
    fn paths(&self, text: &str) -> String {
        let pieces: Vec<&str> = text.split('/').collect();
        let mut done = vec![pieces[0].to_owned()];
        if pieces.len() > 1
            && self.users.iter().any(|user| user.strength > Strength::Word && same(&user.text, pieces[0]))
        {
            USER.clone_into(&mut done[0]);
        }
        let mut at = 1;
        while at < pieces.len() {
            // A path from the root begins here.
            let begins = at == 1 && pieces[0].is_empty()
                || ends(pieces[at - 1]) && !pieces[at - 1].is_empty()
                || at >= 3 && matches!(&pieces[at - 3..at], [scheme, "", ""] if scheme.ends_with(':'));
            if begins && let Some((parts, rest)) = self.home_at(&pieces[at..]) {
                let last = done.last_mut().expect("it began with one");
                last.push('~');
                last.push_str(rest);
                at += parts;
                continue;
            }
            let above = pieces[at - 1];
            let top = HOMES.contains(&above) && at >= 2 && (ends(pieces[at - 2]) || is_data(&pieces[..at - 1]));
            done.push(self.part(pieces[at], above, top));
            at += 1;
        }
        done.join("/")
    }

    /// Finds home at the beginning of a path; returns how many parts it has, and what follows it in the last.
    fn home_at<'a>(&self, pieces: &[&'a str]) -> Option<(usize, &'a str)> {
        self.homes.iter().find_map(|home| {
            let (last, above) = home.split_last()?;
            let inner = pieces.get(..above.len())?;
            let piece: &'a str = pieces.get(above.len())?;
            if !above.iter().zip(inner).all(|(one, other)| same(one, other)) {
                return None;
            }
            // Behind a blank another word follows, or the rest of a name that is longer.
            let rest = after_name(piece, last).filter(|rest| !rest.starts_with(' '))?;
            Some((home.len(), rest))
        })
    }

    /// Takes names out of one part of a path; `top` where it is the name of a home.
    fn part(&self, piece: &str, above: &str, top: bool) -> String {
        let mut piece = Cow::Borrowed(piece);
        for Name { text: user, strength } in &self.users {
            if (*strength > Strength::Word || HOMES.contains(&above))
                && let Some(rest) = after_name(&piece, user)
            {
                return format!("{USER}{rest}");
            }
            // A short name too, where nothing that belongs to a word stands beside it.
            if *strength == Strength::Within || (*strength > Strength::Word && user.len() >= 3) {
                piece = Cow::Owned(within(&piece, user, USER));
            }
        }
        for host in self.hosts.iter().filter(|host| host.strength > Strength::Word) {
            if let Some(rest) = after_name(&piece, &host.text) {
                return format!("{HOST}{rest}");
            }
        }
        let other = piece.find(|c: char| is_end(c)).map_or(&*piece, |end| &piece[..end]);
        if top && !other.is_empty() && !NOBODY.contains(&other) && !other.starts_with('(') {
            return format!("{OTHER}{}", &piece[other.len()..]);
        }
        piece.into_owned()
    }

    /// Takes the machine's name out where it can be nothing else.
    fn machines(&self, text: &str) -> String {
        let telling = |host: &&Name| {
            let other_than_letters = host.text.contains(|c: char| !c.is_alphabetic());
            host.text.len() >= 6 && host.strength > Strength::Word && other_than_letters
        };
        let telling = self.hosts.iter().filter(telling);
        telling.fold(text.to_owned(), |text, host| within(&text, &host.text, HOST))
    }
}

/// Whether two names are one to a Mac.
fn same(one: &str, other: &str) -> bool {
    match one.is_ascii() && other.is_ascii() {
        true => one.eq_ignore_ascii_case(other),
        false => install::folded(one) == install::folded(other),
    }
}

/// Returns what follows a name that a text begins with, where the name ends there.
fn after_name<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let ends = text.char_indices().filter(|(_, c)| is_end(*c)).map(|(at, _)| at).chain([text.len()]);
    ends.filter(|end| *end > 0).find(|end| same(&text[..*end], name)).map(|end| &text[end..])
}

/// Replaces a name where neither a letter nor a digit stands beside it.
fn within(text: &str, name: &str, by: &str) -> String {
    let (folded_text, folded_name) = (text.to_ascii_lowercase(), name.to_ascii_lowercase());
    let mut done = String::new();
    let mut from = 0;
    for (at, _) in folded_text.match_indices(&folded_name) {
        let end = at + name.len();
        let beside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        if at >= from && !beside(text[..at].chars().next_back()) && !beside(text[end..].chars().next()) {
            done.push_str(&text[from..at]);
            done.push_str(by);
            from = end;
        }
    }
    done + &text[from..]
}

/// Whether a character cannot belong to a name in a path, in what people write.
fn is_end(c: char) -> bool {
    c.is_whitespace() || ":;,'\"`()[]{}<>|&=!?*\\#“”‘’。，：；、".contains(c)
}

/// Whether a text ends so that a path may begin.
fn ends(text: &str) -> bool {
    text.chars().next_back().is_none_or(is_end)
}

fn is_data(pieces: &[&str]) -> bool {
    matches!(pieces, [.., "System", "Volumes", "Data"])
}

/// Takes secrets out of addresses: what stands before `@`, parts of queries, and parts of paths that look like nothing else.
fn addresses(text: &str) -> String {
    let mut done = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        done.push_str(before);
        let end = after.find(|c: char| c.is_whitespace() || "'\"`<>|".contains(c)).unwrap_or(after.len());
        let local = before.ends_with("file://");
        done.push_str(&if local { after[..end].to_owned() } else { address(&after[..end]) });
        rest = &after[end..];
    }
    done.push_str(rest);
    bare_credentials(&done)
}

/// Takes secrets out of what follows `://`.
fn address(text: &str) -> String {
    let authority_end = text.find(['/', '?', '#']).unwrap_or(text.len());
    let authority = &text[..authority_end];
    // A password may hold what ends the authority, where nobody encoded it.
    let port = |text: &str| text.split_once(':').is_none_or(|(_, port)| port.chars().all(|c| c.is_ascii_digit()));
    let text = match authority.rfind('@') {
        // Behind a later `@` a path goes on, unless a port says that a host stands there.
        Some(at) => {
            match text.rsplit_once('@').filter(|(_, last)| last.contains(':') && port(last.trim_end_matches('/'))) {
                Some((_, last)) => last,
                None => &text[at + 1..],
            }
        }
        None if !port(authority) => text.rfind('@').map_or(text, |at| &text[at + 1..]),
        None => text,
    };
    let (rest, fragment) = text.split_once('#').map_or((text, ""), |(rest, fragment)| (rest, fragment));
    let (path, query) = rest.split_once('?').map_or((rest, ""), |(path, query)| (path, query));
    let mut done = path.split('/').map(segment).collect::<Vec<_>>().join("/");
    for (sign, part) in [('?', query), ('#', fragment)] {
        if !part.is_empty() {
            done.push(sign);
            done.push_str(&part.split('&').map(parameter).collect::<Vec<_>>().join("&"));
        }
    }
    done
}

/// Takes a secret out of a part of an address's path, with its parameters behind `;`. No index has a digest there, so that
/// what looks like one is a token.
fn segment(text: &str) -> String {
    let hexadecimal = |text: &str| text.len() >= 20 && text.chars().all(|char| char.is_ascii_hexdigit());
    let base64 = |text: &str| {
        text.len() >= 14 && changes(text) >= 6 && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-+=".contains(c))
    };
    let mut parts = text.split(';');
    let first = parts.next().unwrap_or_default();
    let random = is_random(first) || hexadecimal(first) || base64(first);
    let first = if random { SET.to_owned() } else { first.to_owned() };
    std::iter::once(first).chain(parts.map(parameter)).collect::<Vec<_>>().join(";")
}

/// Takes secrets out of a text that is not of a machine's facts: an address, an error.
pub(super) fn secrets(text: &str) -> String {
    tokens(&addresses(text))
}

/// Takes the value out of a part of a query that may be a secret.
fn parameter(text: &str) -> String {
    match text.split_once('=') {
        Some((name, value)) if hints_at_secret(&index::percent_decoded(name)) || is_random(value) => {
            format!("{name}={SET}")
        }
        None if is_random(text) => SET.to_owned(),
        _ => text.to_owned(),
    }
}

/// Whether a text is long and made of letters and digits so that it is no word, and no digest or commit either.
fn is_random(text: &str) -> bool {
    let digest = text.len() >= 40 && text.chars().all(|c| c.is_ascii_hexdigit() && !c.is_ascii_uppercase());
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    let digits = text.chars().filter(char::is_ascii_digit).count();
    // Names of files and versions have their digits together and a dot.
    text.len() >= 16 && plain && !digest && digits >= 2 && digits < text.len() && changes(text) >= 5
}

/// Counts how often a text goes from letters to digits or back, or from small letters to capital ones.
fn changes(text: &str) -> usize {
    let kind = |byte: u8| match byte {
        b'0'..=b'9' => 0,
        b'A'..=b'Z' => 1,
        _ => 2,
    };
    text.as_bytes().windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count()
}

/// Takes out `user:password@`, where no scheme stands before it.
fn bare_credentials(text: &str) -> String {
    let takes_out = |word: &str| {
        let (before, after) = word.rsplit_once('@')?;
        let (user, password) = before.split_once(':')?;
        let plain = !user.is_empty() && !password.is_empty() && !user.contains('/') && !password.starts_with('/');
        (plain && !after.is_empty()).then(|| after.to_owned())
    };
    let words = text.split_inclusive(|c: char| c.is_whitespace() || ",;'\"`".contains(c));
    words.map(|word| takes_out(word).unwrap_or_else(|| word.to_owned())).collect()
}

/// Takes out secrets that say themselves whose they are.
fn tokens(text: &str) -> String {
    if !TOKENS.iter().any(|begin| text.contains(begin)) {
        return text.to_owned();
    }
    let belongs = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let mut done = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(belongs) {
        let length = rest[start..].find(|c: char| !belongs(c)).unwrap_or(rest.len() - start);
        let word = &rest[start..start + length];
        let secret = TOKENS.iter().any(|begin| word.strip_prefix(begin).is_some_and(|tail| tail.len() >= 12));
        done.push_str(&rest[..start]);
        done.push_str(if secret { SET } else { word });
        rest = &rest[start + length..];
    }
    done + rest
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::doctor::facts::{Environment, Folder, Shell, Variable};

    fn names(home: &str, user: &str, host: &str) -> Names {
        let vars = [("HOME", home), ("USER", user)].map(|(name, value)| (name.to_owned(), value.to_owned()));
        Names::from(&Env::from_map(BTreeMap::from(vars), "/".into()), Some(host.to_owned()))
    }

    #[track_caller]
    fn check(names: &Names, text: &str, expected: &str) {
        assert_eq!(names.text(text), expected, "{text}");
        // What was taken out is not taken for something else.
        assert_eq!(names.text(expected), expected, "again");
    }

    #[test]
    fn a_home_becomes_a_tilde_and_what_only_begins_like_it_does_not() {
        let names = names("/Users/zhangwei", "zhangwei", "Zhangs-MacBook-Pro.local");
        let check = |text, expected| check(&names, text, expected);
        check("/Users/zhangwei", "~");
        check("/Users/zhangwei/p/.venv/lib/python3.12", "~/p/.venv/lib/python3.12");
        check("/Users/zhangwei/a:/usr/bin:/Users/zhangwei/b", "~/a:/usr/bin:~/b");
        check("#!/Users/zhangwei/.venv/bin/python", "#!~/.venv/bin/python");
        check("could not read `/Users/zhangwei/x`", "could not read `~/x`");
        check("file:///Users/zhangwei/ai/torch.whl", "file://~/ai/torch.whl");
        check("torch @ file:///Users/zhangwei/t.whl", "torch @ file://~/t.whl");
        check("/System/Volumes/Data/Users/zhangwei/x", "~/x");
        check("/users/ZhangWei/x", "~/x");
        check("/Users/zhangwei2/x", "/Users/(other)/x");
        check("/Users/zhangwei-old/x", "/Users/(user)-old/x");
        check("/Users/zhangwei.bak", "/Users/(user).bak");
        check("/Users/zhangwei backup/x", "/Users/(user) backup/x");
        check("/Users/alice/miniconda3/bin", "/Users/(other)/miniconda3/bin");
        check("/Users/Shared/x:/home/linuxbrew/.linuxbrew", "/Users/Shared/x:/home/linuxbrew/.linuxbrew");
        check("/Volumes/Backup/Users/zhangwei/x", "/Volumes/Backup/Users/(user)/x");
        check("/Volumes/zhangwei/x", "/Volumes/(user)/x");
        check("/tmp/pytest-of-zhangwei/x", "/tmp/pytest-of-(user)/x");
        check("-I/Users/zhangwei/include", "-I/Users/(user)/include");
        check("zhangwei@Zhangs-MacBook-Pro ~ %", "(user)@(host) ~ %");
        check("on Zhangs-MacBook-Pro.local", "on (host)");
        check("/net/zhangs-macbook-pro/x", "/net/(host)/x");
        for same in ["/opt/homebrew/opt/python@3.13/bin", "zhangweis", "~/p", "Apple M3 Max", "macosx_11_0_arm64", "/"]
        {
            check(same, same);
        }
    }

    #[test]
    fn names_that_are_words_go_only_where_they_are_names() {
        let lib = names("/Users/lib", "lib", "python");
        check(&lib, "/Users/lib/.venv/lib/python3.12/site-packages", "~/.venv/lib/python3.12/site-packages");
        check(&lib, "/usr/lib/python3", "/usr/lib/python3");
        check(&lib, "/Volumes/x/Users/lib/lib", "/Volumes/x/Users/(user)/lib");
        check(&lib, "lib@python", "(user)@(host)");
        let dev = names("/Users/dev", "dev", "m1");
        check(&dev, "/dev/null /Users/dev/dev/x /Users/dev2", "/dev/null ~/dev/x /Users/(other)");
        check(&dev, "/Users/developer", "/Users/(other)");
        check(&dev, "torch-2.13.0.dev20260101 dev", "torch-2.13.0.dev20260101 dev");
        let a = names("/home/a", "a", "b");
        check(
            &a,
            "/home/a/a /opt/a/ab/libomp.a a b a@b x@b",
            "~/(user) /opt/(user)/ab/libomp.a a b (user)@(host) (user)@(host)",
        );
        let root = names("/", "root", "localhost");
        check(&root, "/usr/bin:/x /opt//root", "/usr/bin:/x /opt//root");
        check(&root, "http://localhost:3128", "http://localhost:3128");
        let root = names("/var/root", "root", "");
        check(&root, "/var/root:/var/rootless", "~:/var/rootless");
        let none = names("", "", "");
        check(&none, "/usr/bin @ x@ @y //", "/usr/bin @ x@ @y //");
        let relative = names("home", "me", "10.0.0.7");
        check(&relative, "home/x http://10.0.0.7:80", "home/x http://10.0.0.7:80");
    }

    #[test]
    fn a_home_with_a_space_and_chinese() {
        let names = names("/Users/张 伟é", "zw", "x");
        check(&names, "/Users/张 伟é/项目", "~/项目");
        // As a file system that decomposes has it, as an address does, as a shell does.
        check(&names, "/Users/张 伟e\u{301}/p", "~/p");
        check(&names, "file:///Users/%E5%BC%A0%20%E4%BC%9F%C3%A9/p", "file://~/p");
        check(&names, "cd /Users/张\\ 伟é/p", "cd ~/p");
        check(&names, "找不到：/Users/张 伟é/p。", "找不到：~/p。");
        check(&names, "/Users/张 伟éx/p", "/Users/(other) 伟éx/p");
        check(&names, "/Volumes/张 伟é/p", "/Volumes/(user)/p");
    }

    #[test]
    fn secrets_of_addresses_vanish() {
        let names = Names::default();
        let check = |text, expected| check(&names, text, expected);
        check("https://me:s3cret@corp.example/simple", "https://corp.example/simple");
        check("http://me:p@ss/w@rd@proxy:3128", "http://proxy:3128");
        check("http://me:pa/ss@proxy:3128/", "http://proxy:3128/");
        check("me:s3cret@proxy:3128", "proxy:3128");
        check("https://a.example:8080/x@y", "https://a.example:8080/x@y");
        check("git+https://token@github.com/a/b@main", "git+https://github.com/a/b@main");
        check("git@github.com:a/b", "(user)@github.com:a/b");
        check("GoogleDrive-name@example.org", "GoogleDrive-(user)@example.org");
        check("https://a.example/s?token=abc&x=1#sha256=00", "https://a.example/s?token=(set)&x=1#sha256=00");
        check("https://a.example/s?X-Amz-Signature=1&v=2 b", "https://a.example/s?X-Amz-Signature=(set)&v=2 b");
        check("https://dl.a.example/aB3xY9kQ2mN7pR4t/simple/", "https://dl.a.example/(set)/simple/");
        // What looks like a digest is a token where an index is named.
        check("https://a.example/0123456789abcdef0123456789abcdef01234567/simple", "https://a.example/(set)/simple");
        check("https://a.example/api/pypi/cmVmdGtuOjAxOjE3/simple", "https://a.example/api/pypi/(set)/simple");
        check("https://a.example/simple;sig=AbCdEf123456", "https://a.example/simple;sig=(set)");
        let file = "https://a.example/x/torch-2.13.0-cp313-cp313-macosx_14_0_arm64.whl";
        check(file, file);
        check("a hf_abcdefghijklmnopq b", "a (set) b");
        check("https://hf_abcdefghijklmnopq@b.example, x:y@z.example", "https://b.example, z.example");
        check("corp=https://u:p@a.example/x https://u@b.example", "corp=https://a.example/x https://b.example");
        check("libomp@rpath", "libomp@rpath");
        let path = "bin:/opt/homebrew/opt/python@3.13/bin:/usr/bin";
        check(path, path);
        check("@rpath/libomp.dylib", "@rpath/libomp.dylib");
    }

    #[test]
    fn hints_at_secrets() {
        for name in [
            "HF_TOKEN",
            "UV_INDEX_CORP_PASSWORD",
            "PIP_CLIENT_KEY",
            "NETRC",
            "X_AUTH",
            "myApiKey",
            "UV_INDEX_A_USERNAME",
        ] {
            assert!(hints_at_secret(name), "{name}");
        }
        for name in
            ["PYTHONPATH", "TOKENIZERS_PARALLELISM", "PYTHONUSERBASE", "UV_INDEX_URL", "PIP_KEYRING", "TF_AUTHORITY"]
        {
            assert!(!hints_at_secret(name), "{name}");
        }
    }

    #[test]
    fn whole_facts_are_redacted_wherever_a_text_stands() {
        let names = names("/Users/zhangwei", "zhangwei", "Zhangs-MacBook-Pro.local");
        let variable = |name: &str, value: &str| Variable { name: name.to_owned(), value: value.to_owned() };
        let variables = vec![
            variable("VIRTUAL_ENV", "/Users/zhangwei/p/.venv"),
            variable("CORP_TOKEN", "abc"),
            variable("EMPTY_TOKEN", ""),
            variable("PIP_INDEX_URL", "https://zhangwei:abc@a.example/"),
        ];
        let folder = |path: &str| Folder { folder: path.to_owned(), free: Some(7), ..Folder::default() };
        let facts = Facts {
            shell: Shell { variables, ..Shell::default() },
            environments: vec![Environment { home: Some("/Users/zhangwei/x".to_owned()), ..Environment::default() }],
            folders: vec![folder("/Users/zhangwei/p")],
            ..Facts::default()
        };
        let told = names.redact(facts);
        let values: Vec<_> = told.shell.variables.iter().map(|one| one.value.as_str()).collect();
        assert_eq!(values, ["~/p/.venv", "(set)", "", "https://a.example/"]);
        assert_eq!((told.environments[0].home.as_deref(), &told.folders[0]), (Some("~/x"), &folder("~/p")));
    }

    /// An environment of hundreds of packages has some ten thousand texts.
    #[test]
    fn many_texts_take_no_time() {
        let names = names("/Users/zhangwei", "zhangwei", "Zhangs-MacBook-Pro.local");
        let texts = [
            "/Users/zhangwei/p/.venv/lib/python3.12/site-packages/torch/lib/libtorch_cpu.dylib",
            "sympy>=1.13.3",
            "cp312-cp312-macosx_14_0_arm64",
        ];
        let begun = std::time::Instant::now();
        let length: usize = (0..30_000).map(|at| names.text(texts[at % 3]).len()).sum();
        assert!(length > 0 && begun.elapsed() < std::time::Duration::from_secs(3));
    }

    proptest! {
        /// Whatever stands around it, a name that is sure does not stay, and home is never left as it was.
        #[test]
        fn a_name_vanishes(before in "[a-z/ :'\"=-]{0,12}", after in "[a-z/ :'\"=.-]{0,12}", user in "[a-z]{3}[0-9]zq[a-z]{2}") {
            let names = names(&format!("/Users/{user}"), &user, "h");
            for text in [format!("{before}/Users/{user}/{after}"), format!("/Users/{user}:{after}"), format!("{before}/{user}/{after}")] {
                let told = names.text(&text);
                prop_assert!(!told.contains(&user), "{} -> {}", text, told);
                prop_assert_eq!(names.text(&told), told);
            }
        }

        /// Any text at all, and any name, are taken without a panic, and facts are read again.
        #[test]
        fn nothing_ends_it(text in "\\PC{0,40}", home in "/?\\PC{0,12}", user in "\\PC{0,6}", host in "\\PC{0,6}") {
            let names = names(&home, &user, &host);
            let _ = names.text(&text);
            let _ = names.text(&format!("{home}/{text}@{host}://{user}:{text}@{text}?{text}"));
            let facts = Facts { source: text.clone(), shell: Shell { login: Some(home), ..Shell::default() }, ..Facts::default() };
            let _ = names.redact(facts);
        }

        /// What has neither a path nor an `@` nor an address in it stays as it is.
        #[test]
        fn plain_words_stay(text in "[a-zA-Z0-9 ._-]{0,30}") {
            let names = names("/Users/dev", "dev", "mac");
            prop_assert_eq!(names.text(&text), text);
        }
    }
}
