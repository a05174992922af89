//! Archives byte by byte, so that they can lie; and wheels made of them that are right but for what a test changes.

use std::io::Write as _;
use std::str::FromStr as _;

use macml::lock::model::LockedWheel;
use macml::pep::{Sha256, WheelName};

use super::wheel::base64_url;

/// An entry of an archive.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) path: Vec<u8>,
    pub(crate) content: Vec<u8>,
    /// Type and permissions, as a Unix keeps them.
    pub(crate) mode: u32,
    pub(crate) method: u16,
    pub(crate) flags: u16,
    /// Sizes behind the content, and none before it.
    pub(crate) described: bool,
    /// Sizes in 64 bits.
    pub(crate) wide: bool,
    /// What is said instead of the content's true size and checksum.
    pub(crate) size: Option<u64>,
    pub(crate) crc: Option<u32>,
    /// Bytes that replace others in the header before the content, and in the directory.
    pub(crate) header: Vec<(usize, Vec<u8>)>,
    pub(crate) listed: Vec<(usize, Vec<u8>)>,
    /// More extra fields in the directory.
    pub(crate) extra: Vec<u8>,
    /// Bytes before the entry.
    pub(crate) before: Vec<u8>,
    /// Whether the directory names it.
    pub(crate) hidden: bool,
}

impl Item {
    pub(crate) fn new(path: &str, content: &[u8]) -> Self {
        Self {
            path: path.as_bytes().to_vec(),
            content: content.to_vec(),
            mode: 0o100_644,
            method: 8,
            flags: 0,
            described: false,
            wide: false,
            size: None,
            crc: None,
            header: Vec::new(),
            listed: Vec::new(),
            extra: Vec::new(),
            before: Vec::new(),
            hidden: false,
        }
    }

    fn packed(&self) -> Vec<u8> {
        if self.method != 8 {
            return self.content.clone();
        }
        let mut packer = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&self.content).unwrap();
        packer.finish().unwrap()
    }
}

/// An archive of entries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Zip {
    pub(crate) items: Vec<Item>,
    /// A 64-bit end beside the old one.
    pub(crate) wide: bool,
    pub(crate) comment: Vec<u8>,
}

fn patch(bytes: &mut [u8], patches: &[(usize, Vec<u8>)]) {
    for (at, new) in patches {
        bytes[*at..at + new.len()].copy_from_slice(new);
    }
}

impl Zip {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let (mut all, mut directory, mut count) = (Vec::new(), Vec::new(), 0_u16);
        for item in &self.items {
            all.extend(&item.before);
            let at = all.len() as u32;
            let packed = item.packed();
            let crc = item.crc.unwrap_or_else(|| {
                let mut crc = flate2::Crc::new();
                crc.update(&item.content);
                crc.sum()
            });
            let size = item.size.unwrap_or(item.content.len() as u64);
            let flags =
                item.flags | if item.described { 8 } else { 0 } | if item.path.is_ascii() { 0 } else { 1 << 11 };
            let narrow = |value: u64| if item.wide { u32::MAX } else { value as u32 };
            let both = [size.to_le_bytes(), (packed.len() as u64).to_le_bytes()].concat();
            let extra = if item.wide { [&[1, 0, 16, 0][..], &both].concat() } else { Vec::new() };
            let numbers = |described: bool| {
                let [crc, packed, size] =
                    if described { [0; 3] } else { [crc, narrow(packed.len() as u64), narrow(size)] };
                [crc.to_le_bytes(), packed.to_le_bytes(), size.to_le_bytes()].concat()
            };
            let own_extra: &[u8] = if item.described { &[] } else { &extra };
            let mut header = b"PK\x03\x04\x14\0".to_vec();
            header.extend(flags.to_le_bytes());
            header.extend(item.method.to_le_bytes());
            header.extend([0; 4]);
            header.extend(numbers(item.described));
            header.extend((item.path.len() as u16).to_le_bytes());
            header.extend((own_extra.len() as u16).to_le_bytes());
            header.extend(&item.path);
            header.extend(own_extra);
            patch(&mut header, &item.header);
            all.extend(header);
            all.extend(&packed);
            if item.described {
                all.extend(b"PK\x07\x08");
                all.extend(crc.to_le_bytes());
                if item.wide {
                    all.extend((packed.len() as u64).to_le_bytes());
                    all.extend(size.to_le_bytes());
                } else {
                    all.extend((packed.len() as u32).to_le_bytes());
                    all.extend((size as u32).to_le_bytes());
                }
            }
            if item.hidden {
                continue;
            }
            let mut listed = b"PK\x01\x02\x14\x03\x14\0".to_vec();
            listed.extend(flags.to_le_bytes());
            listed.extend(item.method.to_le_bytes());
            listed.extend([0; 4]);
            listed.extend(numbers(false));
            listed.extend((item.path.len() as u16).to_le_bytes());
            listed.extend(((extra.len() + item.extra.len()) as u16).to_le_bytes());
            listed.extend([0; 6]);
            listed.extend((item.mode << 16).to_le_bytes());
            listed.extend(at.to_le_bytes());
            listed.extend(&item.path);
            listed.extend(&extra);
            listed.extend(&item.extra);
            patch(&mut listed, &item.listed);
            directory.extend(listed);
            count += 1;
        }
        let start = all.len() as u64;
        all.extend(&directory);
        let size = directory.len() as u64;
        if self.wide {
            let at = all.len() as u64;
            all.extend(b"PK\x06\x06");
            all.extend(44_u64.to_le_bytes());
            all.extend([45, 3, 45, 0]);
            all.extend([0; 8]);
            for value in [count.into(), count.into(), size, start] {
                all.extend(value.to_le_bytes());
            }
            all.extend(b"PK\x06\x07\0\0\0\0");
            all.extend(at.to_le_bytes());
            all.extend(1_u32.to_le_bytes());
        }
        all.extend(b"PK\x05\x06\0\0\0\0");
        let old = |value: u64| if self.wide { u32::MAX } else { value as u32 };
        let count = if self.wide { u16::MAX } else { count };
        all.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
        all.extend([old(size).to_le_bytes(), old(start).to_le_bytes()].concat());
        all.extend((self.comment.len() as u16).to_le_bytes());
        all.extend(&self.comment);
        all
    }
}

/// A wheel `pkg-1.0-py3-none-any.whl`, right but for what a test changes.
#[derive(Clone, Debug)]
pub(crate) struct Crafted {
    pub(crate) file: String,
    pub(crate) zip: Zip,
    /// What stands in RECORD instead of the true lines, or beside them.
    pub(crate) record: Option<String>,
    pub(crate) more_record: String,
    /// Whether there is a RECORD.
    pub(crate) recorded: bool,
}

impl Crafted {
    /// Makes one of these files, with METADATA and WHEEL.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self::named("pkg", files)
    }

    /// As [`Crafted::new`], of another package.
    pub(crate) fn named(name: &str, files: &[(&str, &str)]) -> Self {
        let info = format!("{name}-1.0.dist-info");
        let metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n");
        let wheel = "Wheel-Version: 1.0\nGenerator: fake\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
        let mut items: Vec<Item> = files.iter().map(|(path, content)| Item::new(path, content.as_bytes())).collect();
        items.push(Item::new(&format!("{info}/METADATA"), metadata.as_bytes()));
        items.push(Item::new(&format!("{info}/WHEEL"), wheel.as_bytes()));
        Self {
            file: format!("{name}-1.0-py3-none-any.whl"),
            zip: Zip { items, ..Zip::default() },
            record: None,
            more_record: String::new(),
            recorded: true,
        }
    }

    /// Adds an entry.
    pub(crate) fn with(mut self, item: Item) -> Self {
        self.zip.items.insert(0, item);
        self
    }

    /// Changes the entry of a path.
    pub(crate) fn change(mut self, path: &str, change: impl FnOnce(&mut Item)) -> Self {
        change(self.zip.items.iter_mut().find(|item| item.path == path.as_bytes()).unwrap());
        self
    }

    /// Writes the true RECORD.
    pub(crate) fn true_record(&self) -> String {
        let files = self.zip.items.iter().filter(|item| !item.path.ends_with(b"/") && !item.hidden);
        let lines = files.map(|item| {
            let hash = base64_url(Sha256::of(&item.content).as_bytes());
            format!("\"{}\",sha256={hash},{}\n", String::from_utf8_lossy(&item.path), item.content.len())
        });
        lines.collect()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut zip = self.zip.clone();
        let metadata = |item: &Item| String::from_utf8(item.path.clone()).is_ok_and(|path| path.ends_with("/METADATA"));
        let info = zip.items.iter().rfind(|item| metadata(item));
        let info = info.map_or("pkg-1.0.dist-info".to_owned(), |item| {
            String::from_utf8_lossy(&item.path).trim_end_matches("/METADATA").to_owned()
        });
        let lines = self.record.clone().unwrap_or_else(|| self.true_record());
        let record = format!("{lines}{}{info}/RECORD,,\n", self.more_record);
        if self.recorded {
            zip.items.push(Item::new(&format!("{info}/RECORD"), record.as_bytes()));
        }
        zip.bytes()
    }

    /// As the lock has it.
    pub(crate) fn locked(&self) -> LockedWheel {
        let bytes = self.bytes();
        LockedWheel {
            file: WheelName::from_str(&self.file).unwrap(),
            size: bytes.len() as u64,
            sha256: Sha256::of(&bytes),
        }
    }
}
