//! What the locale says: which language people read, and whether their terminal has more than ASCII.

use macml::diag::Language;
use macml::sys::Env;

/// Returns the first of some variables that is set.
fn first<'a>(env: &'a Env, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| env.get(name))
}

/// Returns the language that the locale asks for.
pub(crate) fn language(env: &Env) -> Language {
    let locale = first(env, &["MACML_LANG", "LC_ALL", "LC_MESSAGES", "LANG"]).unwrap_or_default();
    match locale.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("zh")) {
        true => Language::Chinese,
        false => Language::English,
    }
}

/// Returns whether the locale has UTF-8; without one it is plain ASCII.
pub(crate) fn is_utf8(env: &Env) -> bool {
    let locale = first(env, &["LC_ALL", "LC_CTYPE", "LANG"]).unwrap_or_default().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(vars: &[(&str, &str)]) -> Env {
        let vars = vars.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Env::from_map(vars, "/".into())
    }

    #[test]
    fn the_first_variable_that_is_set_decides_on_the_language() {
        let check = |vars: &[(&str, &str)], expected| assert_eq!(language(&env(vars)), expected, "{vars:?}");
        check(&[], Language::English);
        check(&[("LANG", "zh_CN.UTF-8")], Language::Chinese);
        check(&[("LANG", "zh_CN.UTF-8"), ("LC_ALL", "C")], Language::English);
        check(&[("LANG", "en_US.UTF-8"), ("LC_MESSAGES", "zh_TW.UTF-8")], Language::Chinese);
        check(&[("LC_ALL", "C"), ("MACML_LANG", "zh")], Language::Chinese);
        check(&[("LANG", "zh_CN.UTF-8"), ("LC_ALL", "")], Language::Chinese);
        check(&[("LANG", "é")], Language::English);
    }

    #[test]
    fn a_locale_without_utf_8_gets_ascii() {
        let check = |vars: &[(&str, &str)], expected| assert_eq!(is_utf8(&env(vars)), expected, "{vars:?}");
        check(&[], false);
        check(&[("LANG", "C")], false);
        check(&[("LANG", "zh_CN.UTF-8")], true);
        check(&[("LANG", "en_US.utf8")], true);
        check(&[("LANG", "en_US.UTF-8"), ("LC_ALL", "C")], false);
        check(&[("LC_CTYPE", "UTF-8")], true);
        check(&[("LANG", "zh_CN.GB18030")], false);
    }
}
