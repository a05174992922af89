//! Pages that explain a code or a topic, in the languages that there are.
//!
//! A page is Markdown, embedded into the program. The page of a code begins with `# code: title` and has three sections:
//! cause, how it shows on a Mac, remedy. The page of a topic begins with `# topic: title` and goes through what to look at, in
//! the order in which to look.

use super::code::Code;
use super::named::named;

/// A language that pages are written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// English.
    English,
    /// Chinese, in simplified characters.
    Chinese,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 2] = [Self::English, Self::Chinese];
}

named! {
    /// Something that people come with before there is an error text.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Topic {
        Slow "slow" "training or inference that is slow";
        Nan "nan" "a loss that becomes NaN";
        Freeze "freeze" "a Mac that freezes, or a program that hangs";
        CpuOnly "cpu-only" "work that runs on the CPU";
        Upgrade "upgrade" "another macOS, torch or Python";
        Memory "memory" "memory, and what to do when it is short";
        DataLoading "data-loading" "data that comes too slowly";
        Nightly "nightly" "nightly builds";
    }
}

/// A page, by what it is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Page {
    /// Of a code.
    Code(Code),
    /// Of a topic.
    Topic(Topic),
}

impl Page {
    /// Lists every page: topics first, then codes.
    pub fn all() -> impl Iterator<Item = Self> {
        let topics = Topic::ALL.iter().copied().map(Self::Topic);
        topics.chain(Code::ALL.iter().copied().map(Self::Code))
    }

    /// Finds the page of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|page| page.as_str() == name)
    }

    /// Returns the name of what it is about.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code(code) => code.as_str(),
            Self::Topic(topic) => topic.as_str(),
        }
    }

    /// Returns one line on what it is about.
    pub fn title(self) -> &'static str {
        match self {
            Self::Code(code) => code.title(),
            Self::Topic(topic) => topic.title(),
        }
    }

    /// Returns its text.
    pub fn text(self, language: Language) -> &'static str {
        match self {
            Self::Code(code) => code.page(language),
            Self::Topic(topic) => topic.page(language),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// How wide a line may be, in columns.
    const WIDEST: usize = 128;

    /// Returns how many columns a terminal needs: two for each Chinese character.
    fn columns(line: &str) -> usize {
        line.chars().map(|char| if char >= '\u{2e80}' { 2 } else { 1 }).sum()
    }

    #[test]
    fn every_code_and_topic_has_a_page_of_one_form_in_each_language() {
        let mut wrong = Vec::new();
        for (page, language) in Page::all().flat_map(|page| Language::ALL.map(|language| (page, language))) {
            let (name, text) = (page.as_str(), page.text(language));
            let first = text.lines().next().unwrap_or_default();
            let titled = match language {
                Language::English => first == format!("# {name}: {}", page.title()),
                Language::Chinese => first.starts_with(&format!("# {name}：")) && !first.is_ascii(),
            };
            let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
            let expected = match language {
                Language::English => ["## Cause", "## On a Mac", "## Remedy"],
                Language::Chinese => ["## 原因", "## 在 Mac 上的表现", "## 解决办法"],
            };
            let formed = match page {
                Page::Code(_) => headings == expected,
                Page::Topic(_) => headings.len() >= 3,
            };
            let narrow = |line: &&str| line.starts_with("    ") || columns(line) <= WIDEST;
            if !titled || !formed || !text.lines().all(|line| narrow(&line)) || !text.ends_with('\n') {
                wrong.push(format!("{name} ({language:?}): title {titled}, headings {formed}"));
            }
        }
        assert!(wrong.is_empty(), "{} pages\n{}", wrong.len(), wrong.join("\n"));
    }

    #[test]
    fn what_can_be_copied_is_in_one_line_and_in_both_languages() {
        let commands = |text: &str| -> Vec<String> {
            let starts =
                ["macml ", "brew ", "export ", "unset ", "codesign ", "xattr ", "ulimit ", "chflags ", "sudo "];
            let lines = text.lines().filter_map(|line| line.strip_prefix("    "));
            let lines = lines.filter(|line| starts.iter().any(|start| line.starts_with(start)));
            // What follows is said to people.
            lines.map(|line| line.split(" # ").next().unwrap_or_default().trim().to_owned()).collect()
        };
        for page in Page::all() {
            let texts = [Language::English, Language::Chinese].map(|language| page.text(language));
            let broken =
                |text: &&str| text.lines().any(|line| !line.starts_with("    ") && line.matches('`').count() % 2 == 1);
            assert!(!texts.iter().any(broken), "{}: a name or command goes over the end of a line", page.as_str());
            assert_eq!(commands(texts[0]), commands(texts[1]), "{}", page.as_str());
        }
    }

    #[test]
    fn codes_and_topics_share_one_set_of_names() {
        let names: BTreeSet<&str> = Page::all().map(Page::as_str).collect();
        assert_eq!(names.len(), Page::all().count());
        assert!(Page::all().all(|page| Page::named(page.as_str()) == Some(page)));
        assert_eq!(Page::named("Slow"), None);
    }
}
