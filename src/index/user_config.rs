//! config.toml as a person wrote it, with every mistake at its place.
//!
//! ```toml
//! mirrors = ["tuna", "https://packages.example.com/simple", { index = "pytorch", url = "https://…" }]
//! mirror-only = false
//! certificates = ["~/corp.pem"]
//! cache-dir = "/Volumes/Big/macml"
//! cache-size = "20GB"
//! offline = false
//! build-native-probe = true
//! ```

use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::config::Mirror;
use crate::diag::{Code, Finding, Span};
use crate::sys::disk::Bytes;

const KEYS: [&str; 7] =
    ["mirrors", "mirror-only", "certificates", "cache-dir", "cache-size", "offline", "build-native-probe"];

/// What config.toml says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct UserConfig {
    pub(super) mirrors: Vec<Mirror>,
    pub(super) mirror_only: bool,
    pub(super) certificates: Vec<PathBuf>,
    pub(super) cache_dir: Option<PathBuf>,
    pub(super) cache_size: Option<u64>,
    pub(super) offline: bool,
    pub(super) build_native_probe: bool,
}

impl UserConfig {
    /// Reads the file, or tells every mistake.
    pub(super) fn parse(text: &str, home: Option<&Path>) -> Result<Self, Vec<Finding>> {
        let table = DeTable::parse(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            vec![Finding::error(Code::ManifestSyntax, "config.toml is not valid TOML").at(span.into(), error.message())]
        })?;
        let mut reader = Reader { findings: Vec::new(), home };
        let mut config = Self::default();
        for (key, value) in table.get_ref() {
            match &**key.get_ref() {
                "mirrors" => config.mirrors = reader.list(value, Reader::mirror),
                "mirror-only" => config.mirror_only = reader.switch(value),
                "certificates" => config.certificates = reader.list(value, Reader::path),
                "cache-dir" => config.cache_dir = reader.path(value),
                "cache-size" => config.cache_size = reader.bytes(value),
                "offline" => config.offline = reader.switch(value),
                "build-native-probe" => config.build_native_probe = reader.switch(value),
                other => reader.unknown(other, key.span().into(), &KEYS),
            }
        }
        reader.findings.sort_by_key(|finding| finding.labels.first().map(|label| label.span));
        if reader.findings.is_empty() { Ok(config) } else { Err(reader.findings) }
    }
}

struct Reader<'a> {
    findings: Vec<Finding>,
    home: Option<&'a Path>,
}

type Value<'i> = Spanned<DeValue<'i>>;

impl Reader<'_> {
    /// Reads a list, or one value that stands for a list of one.
    fn list<T>(&mut self, value: &Value<'_>, read: fn(&mut Self, &Value<'_>) -> Option<T>) -> Vec<T> {
        match value.get_ref() {
            DeValue::Array(values) => values.iter().filter_map(|value| read(self, value)).collect(),
            _ => read(self, value).into_iter().collect(),
        }
    }

    fn mirror(&mut self, value: &Value<'_>) -> Option<Mirror> {
        let parsed = match value.get_ref() {
            DeValue::String(text) => Mirror::parse(text),
            DeValue::Table(table) => {
                let (mut index, mut url) = (None, None);
                for (key, value) in table {
                    match &**key.get_ref() {
                        "index" => index = Some(self.text(value)?),
                        "url" => url = Some(self.text(value)?),
                        other => self.unknown(other, key.span().into(), &["index", "url"]),
                    }
                }
                let Some(url) = url else {
                    let finding = Finding::error(Code::MissingKey, "a mirror needs `url`");
                    self.findings.push(finding.at(value.span().into(), "no `url` here"));
                    return None;
                };
                Mirror::at(&index.unwrap_or_else(|| super::builtin::DEFAULT.to_owned()), &url)
            }
            _ => return self.wrong_type(value, "the name or address of a mirror"),
        };
        match parsed {
            Ok(mirror) => Some(mirror),
            Err(reason) => {
                let finding = Finding::error(Code::InvalidValue, reason);
                self.findings.push(finding.at(value.span().into(), "not a mirror"));
                None
            }
        }
    }

    fn path(&mut self, value: &Value<'_>) -> Option<PathBuf> {
        let text = self.text(value)?;
        let path = match (text.strip_prefix("~/"), self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(&text),
        };
        if !path.is_absolute() {
            let finding = Finding::error(Code::InvalidValue, format!("`{text}` is not an absolute path"));
            self.findings.push(finding.at(value.span().into(), "begin with `/` or `~/`"));
            return None;
        }
        Some(path)
    }

    fn bytes(&mut self, value: &Value<'_>) -> Option<u64> {
        let text = self.text(value)?;
        match text.parse::<Bytes>() {
            Ok(bytes) => Some(bytes.0),
            Err(error) => {
                let finding = Finding::error(Code::InvalidValue, format!("`{}` {error}", text.escape_debug()));
                self.findings.push(finding.at(value.span().into(), "not a size"));
                None
            }
        }
    }

    fn text(&mut self, value: &Value<'_>) -> Option<String> {
        match value.get_ref() {
            DeValue::String(text) => Some(text.clone().into_owned()),
            _ => self.wrong_type(value, "text"),
        }
    }

    fn switch(&mut self, value: &Value<'_>) -> bool {
        match value.get_ref() {
            DeValue::Boolean(switch) => *switch,
            _ => self.wrong_type(value, "true or false").unwrap_or_default(),
        }
    }

    fn wrong_type<T>(&mut self, value: &Value<'_>, wanted: &str) -> Option<T> {
        let message = format!("expected {wanted}, found {}", value.get_ref().type_str());
        self.findings.push(Finding::error(Code::WrongType, message).at(value.span().into(), format!("not {wanted}")));
        None
    }

    fn unknown(&mut self, key: &str, span: Span, known: &[&str]) {
        let nearest = known
            .iter()
            .max_by(|left, right| strsim::jaro_winkler(key, left).total_cmp(&strsim::jaro_winkler(key, right)));
        let finding = Finding::error(Code::UnknownKey, format!("config.toml has no key `{key}`")).at(span, "unknown");
        self.findings.push(match nearest.filter(|nearest| strsim::jaro_winkler(key, nearest) > 0.75) {
            Some(nearest) => finding.hinting(format!("did you mean `{nearest}`?")),
            None => finding.hinting(format!("the keys are {}", quoted(known))),
        });
    }
}

fn quoted(keys: &[&str]) -> String {
    keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, wanted: &[(Code, &str, &str)]) {
        let home = Path::new("/home/me");
        let findings = UserConfig::parse(text, Some(home)).err().unwrap_or_default();
        assert_eq!(findings.len(), wanted.len(), "{findings:?}");
        for (finding, (code, place, message)) in findings.iter().zip(wanted) {
            let span = finding.labels[0].span;
            assert_eq!((finding.code, &text[span.start..span.end]), (*code, *place));
            let said = format!("{} {}", finding.message, finding.hint.clone().unwrap_or_default());
            assert!(said.contains(message), "{said}");
        }
    }

    #[test]
    fn a_good_file() {
        let text = "mirrors = [\"tuna\", \"https://me:s3cret@a.example/simple\", { index = \"pytorch\", url = \"https://b.example\" }]\n\
                    mirror-only = true\ncertificates = \"~/corp.pem\"\ncache-dir = \"/big\"\ncache-size = \"20GB\"\noffline = true\n\
                    build-native-probe = true\n";
        let config = UserConfig::parse(text, Some(Path::new("/home/me"))).unwrap();
        let labels: Vec<_> = config.mirrors.iter().map(|mirror| (&*mirror.index, &*mirror.label)).collect();
        assert_eq!(labels, [("pypi", "tuna"), ("pypi", "https://a.example/simple"), ("pytorch", "https://b.example/")]);
        assert_eq!(config.certificates, [PathBuf::from("/home/me/corp.pem")]);
        assert!(
            config.build_native_probe
                && config.mirror_only
                && config.offline
                && config.cache_dir == Some("/big".into())
        );
        assert_eq!(config.cache_size, Some(20_000_000_000));
        assert_eq!(UserConfig::parse("", None).unwrap(), UserConfig::default());
        assert_eq!(UserConfig::parse("mirrors = \"ustc\"", None).unwrap().mirrors.len(), 1);
    }

    #[test]
    fn every_mistake_at_its_place() {
        check("mirorrs = []", &[(Code::UnknownKey, "mirorrs", "did you mean `mirrors`?")]);
        check(
            "x = 1\noffline = 2",
            &[(Code::UnknownKey, "x", "the keys are"), (Code::WrongType, "2", "expected true or false")],
        );
        check(
            "mirrors = [\"tuno\", 3]",
            &[(Code::InvalidValue, "\"tuno\"", "`tuna`"), (Code::WrongType, "3", "name or address")],
        );
        check("mirrors = [\"ftp://a.example\"]", &[(Code::InvalidValue, "\"ftp://a.example\"", "`ftp:`")]);
        check("mirrors = [{ index = \"pypi\" }]", &[(Code::MissingKey, "{ index = \"pypi\" }", "`url`")]);
        check("certificates = [\"corp.pem\"]", &[(Code::InvalidValue, "\"corp.pem\"", "not an absolute path")]);
        check("cache-size = \"20 gigs\"", &[(Code::InvalidValue, "\"20 gigs\"", "such as `20GB`")]);
        check("cache-size = 20", &[(Code::WrongType, "20", "expected text")]);
        assert_eq!(UserConfig::parse("mirrors = [", None).unwrap_err()[0].code, Code::ManifestSyntax);
    }
}
