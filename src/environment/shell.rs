//! Shells: how each quotes a text, and sets and unsets a variable. Pure.

use std::collections::BTreeMap;

use super::activation::Change;

/// A shell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shell {
    /// bash, and what else reads scripts as POSIX has them.
    Bash,
    /// zsh.
    Zsh,
    /// fish.
    Fish,
    /// csh and tcsh.
    Csh,
}

impl Shell {
    /// Quotes a text, so that it is one word and means itself.
    pub fn quote(self, text: &str) -> String {
        let mut quoted = String::with_capacity(text.len() + 2);
        quoted.push('\'');
        for c in text.chars() {
            match (self, c) {
                (Self::Fish, '\'' | '\\') => quoted.extend(['\\', c]),
                (_, '\'') if self != Self::Fish => quoted.push_str("'\\''"),
                // Even between quotes csh takes these for its own.
                (Self::Csh, '!' | '\n') => quoted.extend(['\\', c]),
                _ => quoted.push(c),
            }
        }
        quoted.push('\'');
        quoted
    }

    /// Writes changes of variables as commands, a line each. A name that is none is left out.
    pub fn commands(self, changes: &BTreeMap<String, Change>) -> String {
        let mut text = String::new();
        for (name, change) in changes.iter().filter(|(name, _)| is_name(name)) {
            let line = match (self, change) {
                (Self::Bash | Self::Zsh, Change::Set(value)) => format!("export {name}={}", self.quote(value)),
                (Self::Bash | Self::Zsh, Change::Unset) => format!("unset {name}"),
                (Self::Fish, Change::Set(value)) if name == "PATH" => {
                    let entries = value.split(':').map(|entry| self.quote(entry)).collect::<Vec<_>>();
                    format!("set -gx PATH {}", entries.join(" "))
                }
                (Self::Fish, Change::Set(value)) => format!("set -gx {name} {}", self.quote(value)),
                (Self::Fish, Change::Unset) => format!("set -eg {name}"),
                (Self::Csh, Change::Set(value)) => format!("setenv {name} {}", self.quote(value)),
                (Self::Csh, Change::Unset) => format!("unsetenv {name}"),
            };
            text.push_str(&line);
            text.push('\n');
        }
        text
    }
}

/// Whether a text can name a variable.
fn is_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.bytes().next().is_some_and(|first| !first.is_ascii_digit()) && text.bytes().all(inner)
}

/// Returns whether a shell itself acts on a variable: a value of it can be a program, and it may be nobody's but the
/// user's in the shell that they type in. Programs that `macml run` starts get it all the same.
///
/// zsh has dozens in small letters, `path` among them; of those only the addresses of proxies are let through.
pub(super) fn is_own(name: &str) -> bool {
    const BEGIN: &[&str] =
        &["BASH", "ZSH", "HIST", "PROMPT", "RPROMPT", "MAIL", "MACML_", "_MACML", "VIRTUAL_ENV", "DIRENV"];
    const WHOLE: &[&str] = &[
        "PS0",
        "PS1",
        "PS2",
        "PS3",
        "PS4",
        "RPS1",
        "RPS2",
        "SPROMPT",
        "TIMEFMT",
        "TIMEFORMAT",
        "IFS",
        "CDPATH",
        "FPATH",
        "PATH",
        "PWD",
        "OLDPWD",
        "HOME",
        "SHELL",
        "SHELLOPTS",
        "SHLVL",
        "UID",
        "EUID",
        "GID",
        "EGID",
        "PPID",
        "USERNAME",
        "LOGNAME",
        "USER",
        "STTY",
        "TERM",
        "TMOUT",
        "ENV",
        "ZDOTDIR",
        "NULLCMD",
        "READNULLCMD",
        "POSTEDIT",
        "FIGNORE",
        "GLOBIGNORE",
        "EXECIGNORE",
        "INPUTRC",
        "OPTIND",
        "OPTARG",
        "OPTERR",
        "RANDOM",
        "SECONDS",
        "LINENO",
        "FUNCNAME",
        "FUNCNEST",
        "GROUPS",
        "DIRSTACK",
        "DIRSTACKSIZE",
        "PIPESTATUS",
        "REPLY",
        "KEYTIMEOUT",
        "WORDCHARS",
        "COLUMNS",
        "LINES",
        "MODULE_PATH",
        "MANPATH",
        "WATCH",
        "WATCHFMT",
        "CORRECT_IGNORE",
        "FCEDIT",
        "IGNOREEOF",
        "_",
    ];
    let small = name.bytes().any(|byte| byte.is_ascii_lowercase());
    (small && !name.ends_with("_proxy")) || WHOLE.contains(&name) || BEGIN.iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes() {
        assert_eq!(Shell::Bash.quote("it's $(x) \\ `y`\n!"), "'it'\\''s $(x) \\ `y`\n!'");
        assert_eq!(Shell::Fish.quote("it's $(x) \\"), "'it\\'s $(x) \\\\'");
        assert_eq!(Shell::Csh.quote("a!\n"), "'a\\!\\\n'");
        assert_eq!(Shell::Zsh.quote(""), "''");
    }

    #[test]
    fn commands() {
        let set = |value: &str| Change::Set(value.to_owned());
        let changes = [("A", set("1 2")), ("B", Change::Unset), ("PATH", set("/a b:/c")), ("C;touch x", set("1"))];
        let changes: BTreeMap<String, Change> = changes.into_iter().map(|(name, one)| (name.to_owned(), one)).collect();
        assert_eq!(Shell::Zsh.commands(&changes), "export A='1 2'\nunset B\nexport PATH='/a b:/c'\n");
        assert_eq!(Shell::Fish.commands(&changes), "set -gx A '1 2'\nset -eg B\nset -gx PATH '/a b' '/c'\n");
    }

    #[test]
    fn what_shells_act_on_is_theirs() {
        for name in
            ["PS1", "PROMPT_COMMAND", "path", "BASH_ENV", "fish_greeting", "precmd_functions", "USERNAME", "IFS"]
        {
            assert!(is_own(name), "{name}");
        }
        for name in ["PYTORCH_ENABLE_MPS_FALLBACK", "OMP_NUM_THREADS", "https_proxy", "HF_HOME", "TF_CPP_MIN_LOG_LEVEL"]
        {
            assert!(!is_own(name), "{name}");
        }
    }
}
