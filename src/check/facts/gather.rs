//! From the files of a wheel, or of what one distribution put into a tree, to its facts: each is looked at by its content,
//! whatever its name.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::io::{Read, Seek, SeekFrom};
use std::ops::RangeInclusive;
use std::path::Path;

use super::image::{Foreign, ForeignFormat, Hook, MetalLibrary, Package, WheelFacts};
use super::macho::Pages;
use super::{macho, metal, python};
use crate::install::{Fault, Unpacked, Wheel, WheelError};
use crate::pep::{Marker, MarkerEnv, Metadata, RequirementSource, Truth};
use crate::sys::fs;
use crate::sys::fs::FsError;

/// The largest METADATA or module whose text is read.
const LARGEST_TEXT: u64 = 16 << 20;

/// From `site-packages` to the root of an environment.
const TO_ROOT: &str = "../../..";

/// Facts as they come together.
struct Gathering {
    facts: WheelFacts,
    packages: BTreeMap<String, BTreeSet<String>>,
    pages: Pages,
}

/// Reads the facts of a wheel while it is inflated, without writing a file. The caller knows that its bytes are the locked
/// ones.
///
/// # Errors
/// When its bytes cannot be read or inflated.
pub fn read_wheel<R: Read + Seek>(wheel: &mut Wheel<R>) -> Result<WheelFacts, WheelError> {
    let mut gathering = Gathering::new(Pages::Hashed);
    for at in 0..wheel.files.len() {
        let file = wheel.files[at].clone();
        let site = site_path(&file.path, wheel.about.data.as_deref());
        if let Err(cause) = gathering.add(&site, file.size, &mut wheel.content(&file)) {
            let fault = Fault::Damaged { entry: file.path, reason: cause.to_string() };
            return Err(WheelError { wheel: Box::new(wheel.name.clone()), fault });
        }
    }
    Ok(gathering.finish())
}

/// Reads the facts of a wheel that is unpacked in the cache.
///
/// # Errors
/// When a file cannot be read.
pub fn read_unpacked(wheel: &Unpacked) -> Result<WheelFacts, FsError> {
    let mut gathering = Gathering::new(Pages::Hashed);
    for file in &wheel.files {
        let site = site_path(&file.path, wheel.about.data.as_deref());
        gathering.add_file(&site, &wheel.folder.join(&file.path))?;
    }
    Ok(gathering.finish())
}

/// Reads the facts of files in a tree, given from `site-packages` as RECORD gives them. Those that are not there are left
/// out.
///
/// # Errors
/// When a file cannot be read.
pub fn read_tree<'a>(
    site_packages: &Path,
    files: impl IntoIterator<Item = &'a str>,
    pages: Pages,
) -> Result<WheelFacts, FsError> {
    let mut gathering = Gathering::new(pages);
    for file in files {
        gathering.add_file(file, &site_packages.join(file))?;
    }
    Ok(gathering.finish())
}

/// Reads the facts of files in a tree as [`read_tree`] does, but goes on where one cannot be read: those are returned too,
/// with what the system said.
pub fn read_tree_as_far<'a>(
    site_packages: &Path,
    files: impl IntoIterator<Item = &'a str>,
    pages: Pages,
) -> (WheelFacts, Vec<(String, FsError)>) {
    let mut gathering = Gathering::new(pages);
    let mut failed = Vec::new();
    for file in files {
        let path = site_packages.join(file);
        // A pipe would be waited for.
        let added = fs::kind(&path).and_then(|kind| match kind {
            Some(fs::Kind::File) => gathering.add_file(file, &path),
            _ => Ok(()),
        });
        failed.extend(added.err().map(|error| (file.to_owned(), error)));
    }
    (gathering.finish(), failed)
}

impl WheelFacts {
    /// Takes the facts of more files of the same distribution.
    pub fn join(&mut self, more: Self) {
        let mut packages: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for package in std::mem::take(&mut self.packages).into_iter().chain(more.packages) {
            packages.entry(package.name).or_default().extend(package.imports);
        }
        self.packages = packages.into_iter().map(|(name, imports)| Package { name, imports }).collect();
        self.requires.extend(more.requires);
        self.hooks.extend(more.hooks);
        self.images.extend(more.images);
        self.metal.extend(more.metal);
        self.foreign.extend(more.foreign);
        self.links.extend(more.links);
        self.images.sort_by(|a, b| a.path.cmp(&b.path));
        self.metal.sort_by(|a, b| a.path.cmp(&b.path));
        self.foreign.sort_by(|a, b| a.path.cmp(&b.path));
    }
}

/// Returns where a file of a wheel goes, from `site-packages`.
fn site_path(path: &str, data: Option<&str>) -> String {
    let inside = data.and_then(|data| path.strip_prefix(data)?.strip_prefix('/')?.split_once('/'));
    match inside {
        None => path.to_owned(),
        Some(("purelib" | "platlib", rest)) => rest.to_owned(),
        Some(("data", rest)) => format!("{TO_ROOT}/{rest}"),
        Some(("scripts", rest)) => format!("{TO_ROOT}/bin/{rest}"),
        Some((key, rest)) => format!("{TO_ROOT}/{key}/{rest}"),
    }
}

impl Gathering {
    fn new(pages: Pages) -> Self {
        Self { facts: WheelFacts::default(), packages: BTreeMap::new(), pages }
    }

    fn add_file(&mut self, site: &str, path: &Path) -> Result<(), FsError> {
        let Some(mut file) = fs::open(path)? else { return Ok(()) };
        let failed = |cause| FsError { doing: "read", path: path.to_owned(), cause };
        let facts = file.metadata().map_err(failed)?;
        if !facts.is_file() {
            return Ok(());
        }
        self.add(site, facts.len(), &mut file).map_err(failed)
    }

    /// Looks at a file of `size` bytes.
    fn add<R: Read + Seek>(&mut self, site: &str, size: u64, content: &mut R) -> io::Result<()> {
        self.add_place(site);
        if is_metadata(site) {
            let text = read_text(size, content)?;
            if let Ok(metadata) = Metadata::parse(&text) {
                let always = metadata.requires_dist.into_iter().filter(|requirement| {
                    let marker = requirement.marker.as_ref();
                    marker.is_none_or(|marker| marker.mentions_extra().is_empty() && may_hold_on_macs(marker))
                });
                let mut asked = BTreeSet::new();
                for requirement in always {
                    let name = requirement.name;
                    match requirement.source {
                        RequirementSource::Versions(versions)
                            if requirement.marker.is_none() && !versions.is_any() && !asked.contains(&name) =>
                        {
                            self.facts.versions.insert(name.clone(), versions.to_string());
                        }
                        _ => {
                            self.facts.versions.remove(&name);
                        }
                    }
                    asked.insert(name.clone());
                    self.facts.requires.insert(name);
                }
            }
            return Ok(());
        }
        if let Some(name) = module_text(site) {
            let text = read_text(size, content)?;
            let mut imports = python::imports(&String::from_utf8_lossy(&text));
            imports.remove(name);
            self.packages.entry(name.to_owned()).or_default().extend(imports);
            return Ok(());
        }
        let mut magic = [0; 4];
        if size < magic.len() as u64 {
            return Ok(());
        }
        content.read_exact(&mut magic)?;
        let path = || site.to_owned();
        match &magic {
            b"\x7fELF" => self.facts.foreign.push(Foreign { path: path(), format: ForeignFormat::Elf }),
            [b'M', b'Z', ..] if is_pe(size, content)? => {
                self.facts.foreign.push(Foreign { path: path(), format: ForeignFormat::Pe });
            }
            magic if magic[..] == *metal::MAGIC => {
                let mut header = vec![0; size.min(metal::HEADER as u64) as usize];
                content.seek(SeekFrom::Start(0))?;
                content.read_exact(&mut header)?;
                self.facts.metal.push(MetalLibrary { path: path(), target: metal::target(&header, size) });
            }
            magic if macho::may_be(*magic) => self.facts.images.extend(macho::read(site, size, content, self.pages)?),
            _ => {}
        }
        Ok(())
    }

    /// Notes what a path itself tells.
    fn add_place(&mut self, site: &str) {
        let Some((top, _)) = site.split_once('/') else {
            // A module that is one file, native ones with their tag: `_x.cpython-313-darwin.so`.
            if [".py", ".so"].iter().any(|end| site.ends_with(end))
                && let Some(name) = site.split('.').next().filter(|name| python::is_name(name))
            {
                self.packages.entry(name.to_owned()).or_default();
            }
            return;
        };
        match top {
            "tensorflow-plugins" => {
                self.facts.hooks.insert(Hook::TensorFlow);
            }
            "jax_plugins" => {
                self.facts.hooks.insert(Hook::Jax);
            }
            _ => {}
        }
        if python::is_name(top)
            && [".py", ".so"].iter().any(|end| site.ends_with(end))
            && !self.packages.contains_key(top)
        {
            self.packages.insert(top.to_owned(), BTreeSet::new());
        }
    }

    fn finish(self) -> WheelFacts {
        let mut facts = self.facts;
        facts.packages = self.packages.into_iter().map(|(name, imports)| Package { name, imports }).collect();
        facts.images.sort_by(|a, b| a.path.cmp(&b.path));
        facts.metal.sort_by(|a, b| a.path.cmp(&b.path));
        facts.foreign.sort_by(|a, b| a.path.cmp(&b.path));
        facts
    }
}

/// Whether a file is the METADATA of the distribution itself.
fn is_metadata(site: &str) -> bool {
    let folder = site.strip_suffix("/METADATA");
    folder.is_some_and(|folder| folder.ends_with(".dist-info") && !folder.contains('/'))
}

/// Whether a marker holds on some Mac with some Python. Facts are those of a wheel, whatever takes it.
fn may_hold_on_macs(marker: &Marker) -> bool {
    const MINORS: RangeInclusive<u64> = 6..=24;
    let mac = |minor| MarkerEnv {
        os_name: "posix".to_owned(),
        sys_platform: "darwin".to_owned(),
        platform_machine: "arm64".to_owned(),
        platform_system: "Darwin".to_owned(),
        platform_release_floor: None,
        python_version: (3, minor),
        python_full_version: None,
    };
    MINORS.into_iter().any(|minor| marker.evaluate(&mac(minor), &[]) != Truth::Never)
}

/// Returns the module at the top that a file is the text of: `x/__init__.py` and `x.py` are that of `x`.
fn module_text(site: &str) -> Option<&str> {
    let name = site.strip_suffix("/__init__.py").or_else(|| site.strip_suffix(".py"))?;
    python::is_name(name).then_some(name)
}

fn read_text<R: Read>(size: u64, content: &mut R) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    content.take(size.min(LARGEST_TEXT)).read_to_end(&mut text)?;
    Ok(text)
}

/// Whether a file that begins with `MZ` is one of Windows: it tells where its second header is.
fn is_pe<R: Read + Seek>(size: u64, content: &mut R) -> io::Result<bool> {
    const PLACE: u64 = 0x3c;
    const MAGIC: &[u8] = b"PE\0\0";
    let mut bytes = [0; 4];
    if size < PLACE + 4 {
        return Ok(false);
    }
    content.seek(SeekFrom::Start(PLACE))?;
    content.read_exact(&mut bytes)?;
    let place = u64::from(u32::from_le_bytes(bytes));
    if place + 4 > size {
        return Ok(false);
    }
    content.seek(SeekFrom::Start(place))?;
    content.read_exact(&mut bytes)?;
    Ok(bytes == MAGIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_files_of_a_wheel_go() {
        let check = |path: &str, expected: &str| assert_eq!(site_path(path, Some("a-1.data")), expected);
        check("a/x.so", "a/x.so");
        check("a-1.data/platlib/a/x.so", "a/x.so");
        check("a-1.data/purelib/x.py", "x.py");
        check("a-1.data/scripts/protoc", "../../../bin/protoc");
        check("a-1.data/data/lib/x.dylib", "../../../lib/x.dylib");
        check("a-1.data/headers/x.h", "../../../headers/x.h");
        check("a-1.data2/x", "a-1.data2/x");
        assert_eq!(site_path("a-1.data/platlib/x", None), "a-1.data/platlib/x");
    }

    fn gathered(files: &[(&str, &[u8])]) -> WheelFacts {
        let mut gathering = Gathering::new(Pages::Hashed);
        for (path, bytes) in files {
            gathering.add(path, bytes.len() as u64, &mut io::Cursor::new(bytes)).unwrap();
        }
        gathering.finish()
    }

    #[test]
    fn what_the_host_context_needs() {
        let metadata =
            b"Metadata-Version: 2.1\nName: a\nVersion: 1\nRequires-Dist: Torch>=2\nRequires-Dist: b; extra == 'x'\n\
            Requires-Dist: c>=1; sys_platform == 'darwin'\nRequires-Dist: pywinpty; os_name == 'nt'\n\
            Requires-Dist: d; python_version == '3.9' and platform_system != 'Linux'\n\
            Requires-Dist: cuda; platform_system == 'Linux' and python_version > '3'\n\ntext";
        let facts = gathered(&[
            ("a-1.dist-info/METADATA", metadata),
            ("a/__init__.py", b"import torch\nimport a.b\nfrom . import c\n"),
            ("a/b/__init__.py", b"import tensorflow\n"),
            ("tensorflow-plugins/libx.dylib", b"x"),
            ("jax_plugins/x/__init__.py", b"import jax"),
            ("one.py", b"import numpy"),
            ("_native.cpython-313-darwin.so", b"no"),
            ("share/doc/x.txt", b""),
            ("b/x/METADATA", metadata),
        ]);
        let requires: Vec<String> = facts.requires.iter().map(ToString::to_string).collect();
        assert_eq!(requires, ["c", "d", "torch"]);
        let versions: Vec<String> = facts.versions.iter().map(|(name, versions)| format!("{name}{versions}")).collect();
        assert_eq!(versions, ["torch>=2"]);
        assert_eq!(facts.hooks, BTreeSet::from([Hook::TensorFlow, Hook::Jax]));
        let packages: Vec<(&str, Vec<&str>)> = facts
            .packages
            .iter()
            .map(|package| (package.name.as_str(), package.imports.iter().map(String::as_str).collect()))
            .collect();
        let expected: [(&str, Vec<&str>); 4] =
            [("_native", vec![]), ("a", vec!["torch"]), ("jax_plugins", vec![]), ("one", vec!["numpy"])];
        assert_eq!(packages, expected);
    }

    #[test]
    fn other_systems_are_known_by_content() {
        let mut pe = vec![0; 0x80];
        pe[..2].copy_from_slice(b"MZ");
        pe[0x3c] = 0x40;
        pe[0x40..0x44].copy_from_slice(b"PE\0\0");
        let mut dos = pe.clone();
        dos[0x40] = b'N';
        let mut far = pe.clone();
        far[0x3f] = 0xff;
        let facts = gathered(&[
            ("a/x.so", b"\x7fELF\x02\x01"),
            ("a/x.dll", &pe),
            ("a/dos.exe", &dos),
            ("a/far.exe", &far),
            ("a/short.exe", b"MZ"),
            ("a/x.class", b"\xca\xfe\xba\xbe\0\0\0\x34 and so on"),
            ("a/x.metallib", b"MTLB short"),
            ("a/empty", b""),
        ]);
        let foreign: Vec<(&str, ForeignFormat)> =
            facts.foreign.iter().map(|one| (one.path.as_str(), one.format)).collect();
        assert_eq!(foreign, [("a/x.dll", ForeignFormat::Pe), ("a/x.so", ForeignFormat::Elf)]);
        assert_eq!(facts.metal, [MetalLibrary { path: "a/x.metallib".to_owned(), target: None }]);
        assert!(facts.images.is_empty());
    }
}
