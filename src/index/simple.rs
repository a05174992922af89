//! An index page as text to a list of files: JSON ([PEP 691]) or HTML ([PEP 503]). Knows nothing of where it came from.
//!
//! A page that is no index page is refused here: a login form or an error page with status 200 must never read as
//! "this package has no versions".
//!
//! [PEP 503]: https://peps.python.org/pep-0503/
//! [PEP 691]: https://peps.python.org/pep-0691/

use std::borrow::Cow;
use std::fmt;

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{Token, Tokenizer};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use url::Url;

use crate::pep::Sha256;

/// `Accept` of page requests: JSON first.
pub(super) const ACCEPT: &str =
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01";

/// One file as a page lists it.
#[derive(Debug)]
pub(super) struct Listed<'a> {
    pub(super) filename: Cow<'a, str>,
    /// Absolute, without fragment.
    pub(super) url: Cow<'a, str>,
    pub(super) sha256: Option<Sha256>,
    pub(super) size: Option<u64>,
    pub(super) requires_python: Option<Cow<'a, str>>,
    /// RFC 3339, as served.
    pub(super) upload_time: Option<Cow<'a, str>>,
    pub(super) yanked: Option<Cow<'a, str>>,
    pub(super) metadata_file: Option<Option<Sha256>>,
}

/// Why a body is not a page of an index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotAPage {
    #[error("it is JSON, but not of a package index: {0}")]
    Json(String),
    #[error("it is HTML without links to packages{}", .0.as_ref().map(|title| format!(", titled `{title}`")).unwrap_or_default())]
    Html(Option<String>),
    #[error("its content type is `{0}`")]
    ContentType(String),
    #[error("it speaks version {0} of the simple API, and macml knows version 1")]
    ApiVersion(String),
}

/// Reads a page served from `base`.
pub(super) fn parse<'a>(body: &'a [u8], content_type: Option<&str>, base: &Url) -> Result<Vec<Listed<'a>>, NotAPage> {
    let kind = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace() && !matches!(byte, 0xef | 0xbb | 0xbf));
    match (kind.as_str(), first) {
        ("application/vnd.pypi.simple.v1+json", _) | ("application/json", _) => json(body, base),
        ("application/vnd.pypi.simple.v1+html" | "text/html" | "application/xhtml+xml", _) => html(body, base),
        (other, _) if other.starts_with("application/vnd.pypi.simple.") => {
            Err(NotAPage::ApiVersion(other["application/vnd.pypi.simple.".len()..].to_owned()))
        }
        ("" | "text/plain" | "application/octet-stream" | "binary/octet-stream", Some(b'{')) => json(body, base),
        ("" | "text/plain" | "application/octet-stream" | "binary/octet-stream", Some(b'<')) => html(body, base),
        (other, _) => Err(NotAPage::ContentType(other.to_owned())),
    }
}

#[derive(serde::Deserialize)]
struct JsonPage<'a> {
    #[serde(borrow)]
    files: Vec<JsonFile<'a>>,
    meta: Option<JsonMeta>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
struct JsonMeta {
    api_version: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
struct JsonFile<'a> {
    #[serde(borrow)]
    filename: Text<'a>,
    #[serde(borrow)]
    url: Text<'a>,
    #[serde(borrow, default)]
    hashes: Hashes<'a>,
    #[serde(borrow, default)]
    requires_python: Option<Text<'a>>,
    #[serde(default)]
    size: Option<u64>,
    #[serde(borrow, default)]
    upload_time: Option<Text<'a>>,
    #[serde(borrow, default)]
    yanked: Yanked<'a>,
    #[serde(default)]
    core_metadata: CoreMetadata,
    #[serde(default)]
    dist_info_metadata: CoreMetadata,
    #[serde(default, rename = "data-dist-info-metadata")]
    data_dist_info_metadata: CoreMetadata,
}

fn json<'a>(body: &'a [u8], base: &Url) -> Result<Vec<Listed<'a>>, NotAPage> {
    let page: JsonPage<'a> = serde_json::from_slice(body).map_err(|cause| NotAPage::Json(cause.to_string()))?;
    if let Some(version) = page.meta.and_then(|meta| meta.api_version) {
        known_api(&version)?;
    }
    let listed = page.files.into_iter().filter_map(|file| {
        let metadata = [file.core_metadata, file.dist_info_metadata, file.data_dist_info_metadata];
        Some(Listed {
            filename: file.filename.0,
            url: absolute(file.url.0, base)?,
            sha256: file.hashes.0.and_then(|text| text.0.parse().ok()),
            size: file.size,
            requires_python: file.requires_python.map(|text| text.0).filter(|text| !text.is_empty()),
            upload_time: file.upload_time.map(|text| text.0),
            yanked: file.yanked.0.map(|text| text.0),
            metadata_file: metadata.into_iter().find_map(|one| one.0),
        })
    });
    Ok(listed.collect())
}

fn known_api(version: &str) -> Result<(), NotAPage> {
    match version.split('.').next() {
        Some("1") => Ok(()),
        _ => Err(NotAPage::ApiVersion(version.to_owned())),
    }
}

/// Resolves an address of a page; `None` when it cannot be one. What is plainly absolute is not parsed.
fn absolute<'a>(address: Cow<'a, str>, base: &Url) -> Option<Cow<'a, str>> {
    let plain = address.starts_with("https://") || address.starts_with("http://");
    if plain && !address.contains(['#', ' ']) {
        return Some(address);
    }
    let mut url = base.join(address.trim()).ok()?;
    url.set_fragment(None);
    matches!(url.scheme(), "http" | "https").then(|| Cow::Owned(url.into()))
}

/// JSON text that borrows from the page unless it holds escapes.
#[derive(Debug, Default)]
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Visit)
    }
}

/// The sha256 among a file's hashes.
#[derive(Default)]
struct Hashes<'a>(Option<Text<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Hashes<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Hashes<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("hashes by algorithm")
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Hashes(None))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut found = None;
                while let Some((algorithm, digest)) = map.next_entry::<Text<'de>, Text<'de>>()? {
                    if algorithm.0 == "sha256" {
                        found = Some(digest);
                    }
                }
                Ok(Hashes(found))
            }
        }
        deserializer.deserialize_any(Visit)
    }
}

/// `yanked`: false, true or a reason.
#[derive(Default)]
struct Yanked<'a>(Option<Text<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Yanked<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = Yanked<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or a reason")
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Yanked(None))
            }
            fn visit_bool<E>(self, yanked: bool) -> Result<Self::Value, E> {
                Ok(Yanked(yanked.then(Text::default)))
            }
            fn visit_borrowed_str<E>(self, reason: &'de str) -> Result<Self::Value, E> {
                Ok(Yanked(Some(Text(Cow::Borrowed(reason)))))
            }
            fn visit_str<E>(self, reason: &str) -> Result<Self::Value, E> {
                Ok(Yanked(Some(Text(Cow::Owned(reason.to_owned())))))
            }
        }
        deserializer.deserialize_any(Visit)
    }
}

/// `core-metadata`: false, true or hashes.
#[derive(Default, Clone, Copy)]
struct CoreMetadata(Option<Option<Sha256>>);

impl<'de> Deserialize<'de> for CoreMetadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = CoreMetadata;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or hashes")
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(CoreMetadata(None))
            }
            fn visit_bool<E>(self, offered: bool) -> Result<Self::Value, E> {
                Ok(CoreMetadata(offered.then_some(None)))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let hashes = Hashes::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                Ok(CoreMetadata(Some(hashes.0.and_then(|text| text.0.parse().ok()))))
            }
        }
        deserializer.deserialize_any(Visit)
    }
}

fn html<'a>(body: &[u8], base: &Url) -> Result<Vec<Listed<'a>>, NotAPage> {
    let mut emitter = DefaultEmitter::<()>::default();
    // Text of titles and scripts is no markup.
    emitter.naively_switch_states(true);
    let mut base = base.clone();
    let mut files = Vec::new();
    let mut declared = false;
    let mut heading = None;
    let mut in_heading = false;
    for token in Tokenizer::new_with_emitter(body, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => {
                let attribute = |name: &str| {
                    tag.attributes.get(name.as_bytes()).map(|value| String::from_utf8_lossy(&value.value).into_owned())
                };
                match &**tag.name {
                    b"base" => {
                        if let Some(url) = attribute("href").and_then(|href| base.join(&href).ok()) {
                            base = url;
                        }
                    }
                    b"meta" if attribute("name").as_deref() == Some("pypi:repository-version") => {
                        known_api(&attribute("content").unwrap_or_default())?;
                        declared = true;
                    }
                    b"title" | b"h1" => in_heading = heading.is_none(),
                    b"a" => files.extend(attribute("href").and_then(|href| anchor(&href, &attribute, &base))),
                    _ => {}
                }
            }
            Token::EndTag(tag) if matches!(&**tag.name, b"title" | b"h1") => in_heading = false,
            Token::String(text) if in_heading => {
                let text = String::from_utf8_lossy(&text.value).split_whitespace().collect::<Vec<_>>().join(" ");
                heading = Some(text.chars().take(80).collect::<String>()).filter(|text| !text.is_empty());
            }
            _ => {}
        }
    }
    let titled = heading.as_ref().is_some_and(|text| text.to_ascii_lowercase().starts_with("links for"));
    if files.is_empty() && !declared && !titled {
        return Err(NotAPage::Html(heading));
    }
    Ok(files)
}

fn anchor<'a>(href: &str, attribute: &dyn Fn(&str) -> Option<String>, base: &Url) -> Option<Listed<'a>> {
    let mut url = base.join(href.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let fragment = url.fragment().unwrap_or_default().to_owned();
    url.set_fragment(None);
    let filename = percent_decoded(url.path_segments()?.next_back()?);
    if !is_distribution(&filename) {
        return None;
    }
    let sha256 = fragment.split('&').find_map(|part| part.strip_prefix("sha256="));
    let metadata = attribute("data-core-metadata").or_else(|| attribute("data-dist-info-metadata"));
    let metadata_file = metadata.filter(|text| text != "false").map(|text| {
        let digest = text.strip_prefix("sha256=")?;
        digest.parse().ok()
    });
    Some(Listed {
        filename: filename.into(),
        url: String::from(url).into(),
        sha256: sha256.and_then(|text| text.parse().ok()),
        size: None,
        requires_python: attribute("data-requires-python").filter(|text| !text.is_empty()).map(Cow::Owned),
        upload_time: attribute("data-upload-time").map(Cow::Owned),
        yanked: attribute("data-yanked").map(Cow::Owned),
        metadata_file,
    })
}

/// The endings of files that an index serves, source archives last.
pub(super) const SOURCE_ENDINGS: [&str; 6] = [".tar.gz", ".zip", ".tar.bz2", ".tgz", ".tar.xz", ".tar.Z"];

fn is_distribution(filename: &str) -> bool {
    let ends = |ending: &&str| filename.ends_with(*ending);
    [".whl", ".egg", ".exe"].iter().any(ends) || SOURCE_ENDINGS.iter().any(ends)
}

/// Resolves `%2B` and its like.
pub fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digit = |offset: usize| bytes.get(at + offset).and_then(|byte| (*byte as char).to_digit(16));
        match (bytes[at], digit(1), digit(2)) {
            (b'%', Some(high), Some(low)) => {
                plain.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                plain.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}
