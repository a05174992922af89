//! The Python that an environment leads to, as far as the head of its program tells; and with it, of which system all is.

use std::path::Path;
use std::path::PathBuf;

use crate::check::contents::Tree;
use crate::check::facts::Image;
use crate::check::facts::macho;
use crate::check::facts::macho::Pages;
use crate::sys;
use crate::sys::fs;
use crate::sys::fs::FsError;
use crate::sys::tree;
use crate::target::Platform;

use super::installed::Distribution;
use super::platform_of;

/// What `bin/python` of an environment is.
#[derive(Debug)]
pub(super) enum Interpreter {
    /// A link that leads nowhere on this machine: as it is written.
    Gone(PathBuf),
    /// A program.
    Program(Program),
}

/// A kind of program.
#[derive(Debug)]
pub(super) enum Program {
    /// One of Macs; its path is from `site-packages` where it lies in the environment itself.
    Macho(Box<Image>),
    /// One of Linux, for this platform if it is one of ours.
    Elf(Option<Platform>),
    /// A script, or whatever else.
    Other,
}

impl Interpreter {
    /// Looks for it; `None` where an environment has none, as `pip install --target` leaves them.
    pub(super) fn of(tree: &Tree) -> Result<Option<Self>, FsError> {
        let names = ["python".to_owned(), "python3".to_owned(), format!("python{}", tree.python)];
        let mut gone = None;
        for name in names {
            let path = tree.root.join("bin").join(name);
            if tree::facts(&path)?.is_none() {
                continue;
            }
            // Links that run in a circle lead nowhere either.
            match sys::resolve(&path) {
                Ok(Some(program)) => return Ok(Some(Self::at(tree, program)?)),
                Ok(None) | Err(_) => gone = gone.or(tree::read_link(&path)?),
            }
        }
        Ok(gone.map(Self::Gone))
    }

    fn at(tree: &Tree, path: PathBuf) -> Result<Self, FsError> {
        let root = sys::resolve(&tree.root)?.unwrap_or_else(|| tree.root.clone());
        let inside = path.strip_prefix(&root).ok().and_then(|inside| inside.to_str());
        let inside = inside.map(|inside| format!("../../../{inside}"));
        let head = match fs::kind(&path)? {
            Some(fs::Kind::File) => fs::read_start(&path, 20)?.unwrap_or_default(),
            _ => Vec::new(),
        };
        let program = match &head[..] {
            [0x7f, b'E', b'L', b'F', ..] => Program::Elf(match head.get(18) {
                Some(62) => Some(Platform::LinuxX86_64),
                Some(183) => Some(Platform::LinuxAarch64),
                _ => None,
            }),
            _ => match Self::image(&path, inside.as_deref())? {
                Some(image) => Program::Macho(Box::new(image)),
                None => Program::Other,
            },
        };
        Ok(Self::Program(program))
    }

    fn image(path: &Path, inside: Option<&str>) -> Result<Option<Image>, FsError> {
        let Some(mut file) = fs::open(path)? else { return Ok(None) };
        let failed = |cause| FsError { doing: "read", path: path.to_owned(), cause };
        let size = file.metadata().map_err(failed)?.len();
        if size < 4 {
            return Ok(None);
        }
        let shown = path.display().to_string();
        macho::read(inside.unwrap_or(&shown), size, &mut file, Pages::Skipped).map_err(failed)
    }

    /// Returns its program, where it is one of Macs.
    pub(super) fn image_of_macs(&self) -> Option<&Image> {
        match self {
            Self::Program(Program::Macho(image)) => Some(image),
            _ => None,
        }
    }
}

/// Says of which platform an environment is: as its wheels say, else as its Python is; what says nothing is taken for one
/// of Macs.
pub(super) fn platform(tree: &Tree, installed: &[Distribution], interpreter: Option<&Interpreter>) -> Platform {
    let tagged = |platform| {
        let is = |one: &&Distribution| one.platforms().any(|tag| platform_of(tag) == Some(platform));
        installed.iter().filter(is).count()
    };
    let all = [Platform::MacosArm64, Platform::LinuxX86_64, Platform::LinuxAarch64].map(|one| (tagged(one), one));
    // The first of those that as many wheels are for.
    let most = all.into_iter().rev().max_by_key(|(wheels, _)| *wheels).filter(|(wheels, _)| *wheels > 0);
    if let Some((_, platform)) = most {
        return platform;
    }
    // A link may lead to a Python of this machine, whatever it led to where the environment was made.
    let told = match interpreter {
        Some(Interpreter::Program(Program::Elf(platform))) => *platform,
        Some(Interpreter::Program(Program::Macho(_))) => Some(Platform::MacosArm64),
        _ => None,
    };
    let built = || {
        let folder = tree.root.join(&tree.site);
        let names = folder.parent().and_then(|folder| fs::names(folder).ok()).unwrap_or_default();
        let config = names.iter().find_map(|name| name.strip_prefix("_sysconfigdata_"))?;
        config.contains("linux").then(|| match config.contains("aarch64") {
            true => Platform::LinuxAarch64,
            false => Platform::LinuxX86_64,
        })
    };
    told.or_else(built).unwrap_or(Platform::MacosArm64)
}
