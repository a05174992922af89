//! The texts in `bin` that a shell reads to be in an environment, for people who do so by hand. Pure.
//!
//! They name the environment by its link, never by the generation that they lie in. They set nothing of `[run.env]`: a
//! generation stays as it is when that changes, and would say what is not true any more. `macml run` and the shell hook
//! set it.

use std::path::Path;

use super::shell::Shell;

/// Writes them for an environment at `link`: their paths in the generation, and their texts. `prompt` is shown in
/// brackets.
///
/// There is none for PowerShell, in which it was not tried.
pub fn activate_scripts(link: &Path, prompt: &str) -> Vec<(&'static str, String)> {
    let root = link.display().to_string();
    let shown = format!("({}) ", shown(prompt));
    let fill = |shell: Shell, template: &str| {
        let mut text = String::with_capacity(template.len() + 2 * root.len());
        let mut rest = template;
        while let Some((before, name, after)) = split(rest) {
            text.push_str(before);
            text.push_str(&match name {
                "ROOT" => shell.quote(&root),
                "PROMPT" => shell.quote(prompt),
                "SHOWN" => shell.quote(&shown),
                _ => ["@", name, "@"].concat(),
            });
            rest = after;
        }
        text + rest
    };
    vec![
        ("bin/activate", fill(Shell::Bash, include_str!("activate.sh"))),
        ("bin/activate.fish", fill(Shell::Fish, include_str!("activate.fish"))),
        ("bin/activate.csh", fill(Shell::Csh, include_str!("activate.csh"))),
    ]
}

/// Splits a template at its first name between `@`.
fn split(template: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = template.split_once('@')?;
    let (name, after) = rest.split_once('@')?;
    name.bytes().all(|byte| byte.is_ascii_uppercase()).then_some((before, name, after))
}

/// Returns what of a prompt can stand in the prompt of a shell, each of which reads signs of its own in it, some of them
/// as commands.
fn shown(prompt: &str) -> String {
    let read = |c: char| c.is_control() || matches!(c, '$' | '`' | '\\' | '%' | '!');
    prompt.chars().map(|c| if read(c) { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_filled_in_and_nothing_is_left() {
        for (path, text) in activate_scripts(Path::new("/p/@ROOT@/it's/.venv"), "a $(b) `c` 実験 é") {
            assert!(!text.contains("@PROMPT@") && !text.contains("@SHOWN@"), "{path}: {text}");
            assert!(text.contains("(a _(b) _c_ 実験 é) "), "{path}: {text}");
            let quoted =
                if path.ends_with(".fish") { r"'/p/@ROOT@/it\'s/.venv'" } else { r"'/p/@ROOT@/it'\''s/.venv'" };
            assert!(text.contains(quoted), "{path}: {text}");
        }
    }
}
