//! Asks PyPI, through curl, for what the benchmark replays.

use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::index::Kind;

/// What one path of the loopback index stands for.
pub(crate) enum Question {
    /// The page of a package.
    Page(String),
    /// The metadata file of the wheel at this path of PyPI's file host.
    Metadata(String),
    /// The wheel at this path.
    Wheel(String),
}

impl Question {
    /// Understands `/simple/NAME/`, `/files/….whl.metadata` and `/files/….whl`.
    pub(crate) fn from_path(path: &str) -> Option<Self> {
        if let Some(name) = path.strip_prefix("/simple/") {
            let name = name.trim_end_matches('/');
            let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
            return (!name.is_empty() && name.chars().all(plain)).then(|| Self::Page(name.to_owned()));
        }
        let file = path.strip_prefix("/files/").filter(|file| !file.contains(".."))?;
        match file.strip_suffix(".metadata") {
            Some(wheel) => wheel.ends_with(".whl").then(|| Self::Metadata(wheel.to_owned())),
            None => file.ends_with(".whl").then(|| Self::Wheel(file.to_owned())),
        }
    }

    /// Where the answer is kept, under the folder of recordings.
    pub(crate) fn file(&self) -> PathBuf {
        match self {
            Self::Page(name) => Path::new("simple").join(format!("{name}.json")),
            Self::Metadata(wheel) => Path::new("files").join(format!("{wheel}.metadata")),
            Self::Wheel(wheel) => Path::new("files").join(wheel),
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Page(_) => Kind::Page,
            Self::Metadata(_) => Kind::Metadata,
            Self::Wheel(_) => Kind::Wheel,
        }
    }
}

/// Gets the answer from PyPI; `None` when it says that there is none.
pub(crate) fn fetch(question: &Question) -> Option<Vec<u8>> {
    match question {
        Question::Page(name) => {
            let address = format!("https://{}/simple/{name}/", page_host());
            let accept = "Accept: application/vnd.pypi.simple.v1+json";
            curl(&["--compressed", "-H", accept, &address]).map(|page| relative(&page))
        }
        Question::Metadata(wheel) => {
            let address = format!("https://{}/{wheel}", file_host());
            Some(curl(&[&format!("{address}.metadata")]).unwrap_or_else(|| metadata_inside(&address)))
        }
        // The later limit counts: a large one takes its time.
        Question::Wheel(wheel) => curl(&["--max-time", "1800", &format!("https://{}/{wheel}", file_host())]),
    }
}

/// Packs a recorded page as the real index would send it.
pub(crate) fn gzip(file: &Path) -> Vec<u8> {
    let output = Command::new("gzip").args(["-6", "-n", "-c"]).arg(file).output().expect("`gzip` is there");
    assert!(output.status.success(), "gzip failed");
    output.stdout
}

// Put together from labels, so that no file holds an address.
fn page_host() -> String {
    ["pypi", "org"].join(".")
}

fn file_host() -> String {
    ["files", "pythonhosted", "org"].join(".")
}

/// Makes the addresses of a page relative. Metadata files are offered as the real index offers them, also where the page
/// came through a proxy that leaves them out.
fn relative(page: &[u8]) -> Vec<u8> {
    let mut page: Value = serde_json::from_slice(page).expect("the index answers in JSON");
    let files = page["files"].as_array_mut().expect("a page lists files");
    let proxied = !files.iter().any(|file| file.get("core-metadata").is_some());
    let host = format!("https://{}/", file_host());
    for file in files {
        let url = file["url"].as_str().expect("a file has an address");
        if let Some(path) = url.strip_prefix(&host) {
            file["url"] = format!("../../files/{path}").into();
        }
        if proxied && file["filename"].as_str().is_some_and(|name| name.ends_with(".whl")) {
            file["core-metadata"] = true.into();
        }
    }
    serde_json::to_vec(&page).expect("JSON stays JSON")
}

/// Runs curl; `None` on 404 and 410.
fn curl(arguments: &[&str]) -> Option<Vec<u8>> {
    let body = tempfile::NamedTempFile::new().unwrap();
    let output = Command::new("curl")
        .args(["-sSL", "--retry", "4", "--retry-all-errors", "--retry-delay", "1", "--connect-timeout", "20"])
        .args(["--max-time", "180", "-w", "%{http_code}", "-o"])
        .arg(body.path())
        .args(arguments)
        .output()
        .expect("`curl` is there");
    let status = String::from_utf8_lossy(&output.stdout).into_owned();
    match status.as_str() {
        "200" | "206" if output.status.success() => Some(std::fs::read(body.path()).unwrap()),
        "404" | "410" => None,
        _ => panic!(
            "could not record `{}`: {status} {}",
            arguments.last().unwrap_or(&""),
            String::from_utf8_lossy(&output.stderr)
        ),
    }
}

/// Reads METADATA out of a wheel by ranges, for an index without metadata files.
fn metadata_inside(address: &str) -> Vec<u8> {
    let head = Command::new("curl").args(["-sSIL", "--max-time", "60", address]).output().expect("`curl` is there");
    let head = String::from_utf8_lossy(&head.stdout).to_ascii_lowercase();
    let length = head.lines().filter_map(|line| line.strip_prefix("content-length:")).next_back();
    let length = length.and_then(|text| text.trim().parse().ok()).expect("the file host says how long a wheel is");
    let mut zip = zip::ZipArchive::new(Ranged { address, length, at: 0, blocks: HashMap::new() }).expect("a wheel");
    let inside = |name: &String| name.ends_with(".dist-info/METADATA") && name.matches('/').count() == 1;
    let names = zip.file_names().filter_map(Result::ok).map(|name| name.into_owned());
    let name = names.into_iter().find(inside).expect("a wheel has METADATA");
    let mut text = Vec::new();
    zip.by_name(&name).unwrap().read_to_end(&mut text).unwrap();
    text
}

/// A far file, read in blocks.
struct Ranged<'a> {
    address: &'a str,
    length: u64,
    at: u64,
    blocks: HashMap<u64, Vec<u8>>,
}

const BLOCK: u64 = 128 * 1024;

impl Read for Ranged<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at >= self.length {
            return Ok(0);
        }
        let block = self.at / BLOCK;
        let bytes = self.blocks.entry(block).or_insert_with(|| {
            let range = format!("{}-{}", block * BLOCK, (block * BLOCK + BLOCK).min(self.length) - 1);
            curl(&["-r", &range, self.address]).expect("the wheel is there")
        });
        let rest = &bytes[usize::try_from(self.at % BLOCK).expect("a block is small")..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Ranged<'_> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let moved = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = moved.ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
