//! The keys of `[target]`, which `[env.NAME]` may override: platforms, floors, GPU and Python.

use super::keys::PLATFORMS;
use super::model::Gpu;
use super::model::MacFloor;
use super::raw::Entry;
use super::raw::Item;
use super::raw::Raw;
use super::raw::Value;
use super::raw::both;
use super::raw::either;
use super::raw::nearest;
use super::specifier;
use crate::diag::Code;
use crate::diag::Finding;
use crate::diag::Span;
use crate::host::Chip;
use crate::pep::Specifiers;
use crate::pep::Version;
use crate::target::MacosError;
use crate::target::MacosVersion;
use crate::target::Platform;
use crate::target::PythonMinor;

/// The glibc of manylinux_2_28, which today's wheels are built for.
const DEFAULT_GLIBC: (u16, u16) = (2, 28);

/// Patch releases beyond the newest known one that a range may ask for.
const LATER_PATCHES: u16 = 20;

/// A key that was written, with its value unless that was refused.
#[derive(Clone)]
pub(super) struct Written<T> {
    key_span: Span,
    span: Span,
    value: Option<T>,
}

/// The keys as one table has them; `None` where it does not.
pub(super) struct Keys {
    platforms: Option<Written<Vec<Platform>>>,
    chip: Option<Written<Chip>>,
    macos: Option<Written<MacosVersion>>,
    gpu: Option<Written<Gpu>>,
    python: Option<Written<Specifiers>>,
    memory: Option<Written<u64>>,
    glibc: Option<Written<(u16, u16)>>,
}

/// What the keys of an environment and of `[target]` come to.
pub(super) struct Floors {
    pub(super) platforms: Vec<Platform>,
    pub(super) mac: Option<MacFloor>,
    pub(super) glibc: (u16, u16),
    pub(super) gpu: Gpu,
    pub(super) python: Specifiers,
    pub(super) python_span: Span,
    pub(super) memory: Option<u64>,
}

impl Keys {
    /// Reads the keys of a table.
    pub(super) fn read(raw: &Raw, findings: &mut Vec<Finding>) -> Self {
        let mut reader = Reader { raw, findings };
        Self {
            platforms: reader.platforms(),
            chip: reader.text("chip", chip),
            macos: reader.text("macos", macos),
            gpu: reader.text("gpu", gpu),
            python: reader.text("python", python),
            memory: reader.text("memory", memory),
            glibc: reader.text("glibc", glibc),
        }
    }

    /// Returns the platforms that hold, unless they could not be read.
    pub(super) fn platforms(&self, base: Option<&Self>) -> Option<Vec<Platform>> {
        match over(base, self, |keys| &keys.platforms) {
            Some(written) => written.value.clone(),
            None => Some(vec![Platform::MacosArm64]),
        }
    }

    /// Lays these keys over those of `[target]` and checks that they go together.
    ///
    /// `title` and `header` name the table for messages.
    pub(super) fn floors(
        &self,
        base: Option<&Self>,
        (title, header): (&str, Span),
        findings: &mut Vec<Finding>,
    ) -> Option<Floors> {
        let platforms = self.platforms(base);
        if let Some(platforms) = &platforms {
            self.refuse_strangers(platforms, base, findings);
        }
        let chip = over(base, self, |keys| &keys.chip);
        let macos = over(base, self, |keys| &keys.macos);
        let python = over(base, self, |keys| &keys.python);
        let needs_mac = platforms.as_ref().is_some_and(|platforms| platforms.contains(&Platform::MacosArm64));
        let missing = [
            (needs_mac && chip.is_none()).then_some(("chip", "chip = \"m1\"")),
            (needs_mac && macos.is_none()).then_some(("macos", "macos = \"14.0\"")),
            python.is_none().then_some(("python", "python = \">=3.11,<3.14\"")),
        ];
        let missing: Vec<_> = missing.into_iter().flatten().collect();
        if !missing.is_empty() {
            let names: Vec<_> = missing.iter().map(|(name, _)| *name).collect();
            let examples: Vec<_> = missing.iter().map(|(_, example)| *example).collect();
            let finding = Finding::error(Code::MissingKey, format!("`{title}` needs {}", both(&names)));
            findings.push(finding.at(header, "").hinting(format!("add for example {}", both(&examples))));
        }
        let mac = match (needs_mac, macos, chip) {
            (true, Some(macos), Some(chip)) => {
                Some(MacFloor { macos: macos.value?, macos_span: macos.span, chip: chip.value.clone()? })
            }
            _ => None,
        };
        let python = python?;
        Some(Floors {
            platforms: platforms?,
            mac,
            glibc: over(base, self, |keys| &keys.glibc).map_or(Some(DEFAULT_GLIBC), |written| written.value)?,
            gpu: over(base, self, |keys| &keys.gpu).map_or(Some(Gpu::Required), |written| written.value)?,
            python: python.value.clone()?,
            python_span: python.span,
            memory: match over(base, self, |keys| &keys.memory) {
                Some(written) => Some(written.value?),
                None => None,
            },
        })
    }

    /// Reports keys of platforms that the environment does not have.
    fn refuse_strangers(&self, platforms: &[Platform], base: Option<&Self>, findings: &mut Vec<Finding>) {
        let listed = over(base, self, |keys| &keys.platforms).map(|written| written.span);
        let mut refuse = |name: &str, key: Span, what: &str, hint: String| {
            let message = format!("`{name}` is only for {what}, which `platforms` does not have");
            let finding = Finding::error(Code::ConflictingKeys, message).at(key, "");
            let finding = listed.into_iter().fold(finding, |finding, span| finding.at(span, "the platforms"));
            findings.push(finding.hinting(hint));
        };
        if !platforms.contains(&Platform::MacosArm64) {
            let keys = [
                ("chip", self.chip.as_ref().map(|written| written.key_span)),
                ("macos", self.macos.as_ref().map(|written| written.key_span)),
            ];
            for (name, key) in keys {
                let hint = || format!("remove `{name}`, or add `macos-arm64` to `platforms`");
                key.into_iter().for_each(|key| refuse(name, key, "Macs", hint()));
            }
        }
        if platforms.iter().all(|platform| platform.is_mac())
            && let Some(glibc) = &self.glibc
        {
            refuse("glibc", glibc.key_span, "Linux", "remove `glibc`, or add a Linux platform to `platforms`".into());
        }
    }
}

/// Returns the key of `top` if it is written there, else of `base`.
fn over<'a, T>(
    base: Option<&'a Keys>,
    top: &'a Keys,
    get: impl Fn(&'a Keys) -> &'a Option<Written<T>>,
) -> Option<&'a Written<T>> {
    get(top).as_ref().or_else(|| get(base?).as_ref())
}

struct Reader<'a> {
    raw: &'a Raw,
    findings: &'a mut Vec<Finding>,
}

/// The value of a key, with what else is to be said of it.
type Read<T> = Result<(T, Option<Finding>), Finding>;

impl Reader<'_> {
    fn text<T>(&mut self, name: &str, read: impl Fn(&Item) -> Read<T>) -> Option<Written<T>> {
        let Entry { key_span, span, .. } = self.raw.get(name)?;
        let value = self.raw.text(name).and_then(|item| match read(&item) {
            Ok((value, remark)) => {
                self.findings.extend(remark);
                Some(value)
            }
            Err(finding) => {
                self.findings.push(finding);
                None
            }
        });
        Some(Written { key_span: *key_span, span: *span, value })
    }

    fn platforms(&mut self) -> Option<Written<Vec<Platform>>> {
        let Entry { key_span, span, value, .. } = self.raw.get("platforms")?;
        let Value::Texts(items) = value else {
            return Some(Written { key_span: *key_span, span: *span, value: None });
        };
        let mut found: Vec<(Platform, Span)> = Vec::new();
        let mut good = !items.is_empty();
        if items.is_empty() {
            let finding = Finding::error(Code::InvalidValue, "`platforms` is empty").at(*span, "");
            self.findings.push(finding.hinting(format!("name at least one of {}", either(PLATFORMS))));
        }
        for item in items {
            match platform(item) {
                Ok(one) => match found.iter().find(|(other, _)| *other == one) {
                    Some((_, first)) => {
                        good = false;
                        let finding = Finding::error(Code::InvalidValue, format!("`{one}` is listed twice"));
                        self.findings.push(finding.at(item.span, "again here").at(*first, "first listed here"));
                    }
                    None => found.push((one, item.span)),
                },
                Err(finding) => {
                    good = false;
                    self.findings.push(finding);
                }
            }
        }
        let in_order = Platform::ALL.into_iter().filter(|one| found.iter().any(|(other, _)| other == one)).collect();
        Some(Written { key_span: *key_span, span: *span, value: good.then_some(in_order) })
    }
}

/// Reads the name of a platform.
pub(super) fn platform(written: &Item) -> Result<Platform, Finding> {
    written.text.parse().map_err(|error| {
        let finding = Finding::error(Code::InvalidValue, format!("{error}")).at(written.span, "");
        let text = written.text.to_lowercase().replace('_', "-");
        let (mac, intel) = (["mac", "osx", "darwin", "apple"], ["x86", "intel", "-64", "amd64"]);
        if mac.iter().any(|part| text.contains(part)) {
            if intel.iter().any(|part| text.contains(part)) && !text.contains("arm64") {
                return finding.noting("macml is for Apple Silicon: Intel Macs are not supported");
            }
            return finding.hinting("write `macos-arm64`");
        }
        if text.contains("linux") {
            let arm = text.contains("arm") || text.contains("aarch");
            return finding.hinting(format!("write `{}`", if arm { "linux-aarch64" } else { "linux-x86_64" }));
        }
        match nearest(&text, PLATFORMS.iter().copied()) {
            Some(near) => finding.hinting(format!("write `{near}`")),
            None => finding,
        }
    })
}

fn chip(written: &Item) -> Read<Chip> {
    let chip: Chip = written.text.parse().map_err(|error| {
        let finding = Finding::error(Code::InvalidValue, format!("{error}")).at(written.span, "");
        let lower = written.text.trim().to_lowercase();
        let plain = lower.strip_prefix("apple").unwrap_or(&lower).replace([' ', '_', '-'], "");
        let cut = ["pro", "max", "ultra"].iter().find_map(|size| plain.find(size)).unwrap_or(plain.len());
        let (family, size) = plain.split_at(cut);
        let better = if size.is_empty() { family.to_owned() } else { format!("{family}-{size}") };
        match better.parse::<Chip>() {
            Ok(chip) => finding.hinting(format!("write `{chip}`")),
            Err(_) => finding,
        }
    })?;
    let remark = (chip.generation() > Chip::NEWEST_GENERATION).then(|| {
        let message =
            format!("chip `{chip}` is newer than macml knows; it is treated like `m{}`", Chip::NEWEST_GENERATION);
        Finding::note(Code::NewerThanKnown, message).at(written.span, "")
    });
    Ok((chip, remark))
}

fn macos(written: &Item) -> Read<MacosVersion> {
    let version: MacosVersion = written.text.parse().map_err(|error| {
        let finding = Finding::error(Code::InvalidValue, format!("{error}")).at(written.span, "");
        match error {
            MacosError::NeverExisted(_) => finding.hinting("write `15.0` or `26.0`"),
            MacosError::TooOld(_) => finding.hinting("write `11.0` or later"),
            MacosError::Form(_) => match macos_meant(&written.text) {
                Some(version) => finding.hinting(format!("write `{version}`")),
                None => finding,
            },
        }
    })?;
    let remark = (version.major() > MacosVersion::NEWEST_MAJOR).then(|| {
        let known = MacosVersion::NEWEST_MAJOR;
        let message = format!("macOS {version} is newer than macml knows; it is treated like {known}");
        Finding::note(Code::NewerThanKnown, message).at(written.span, "")
    });
    Ok((version, remark))
}

/// Guesses the version meant by a name, a prefix or a third number.
fn macos_meant(text: &str) -> Option<MacosVersion> {
    const NAMES: [(&str, u16); 6] =
        [("big sur", 11), ("monterey", 12), ("ventura", 13), ("sonoma", 14), ("sequoia", 15), ("tahoe", 26)];
    let text = text.to_lowercase();
    if let Some((_, major)) = NAMES.into_iter().find(|(name, _)| text.contains(name)) {
        return Some(MacosVersion::new(major, 0));
    }
    let digits = text.trim_start_matches(|char: char| !char.is_ascii_digit()).trim_end_matches('+').trim();
    digits.split('.').take(2).collect::<Vec<_>>().join(".").parse().ok()
}

fn gpu(written: &Item) -> Read<Gpu> {
    let gpu = match written.text.as_str() {
        "required" => Gpu::Required,
        "optional" => Gpu::Optional,
        _ => return Err(not_a_word("gpu", written, &["required", "optional"])),
    };
    Ok((gpu, None))
}

/// Reports a word that is none of those admitted.
pub(super) fn not_a_word(key: &str, written: &Item, words: &[&str]) -> Finding {
    let message = format!("`{key}` is {}, not `{}`", either(words), written.text.escape_debug());
    let finding = Finding::error(Code::InvalidValue, message).at(written.span, "");
    match nearest(&written.text, words.iter().copied()) {
        Some(near) => finding.hinting(format!("write `{near}`")),
        None => finding,
    }
}

fn python(written: &Item) -> Read<Specifiers> {
    let python = specifier::parse("python", written)?;
    let released = |(minor, newest): &(PythonMinor, u16)| {
        (0..=newest + LATER_PATCHES)
            .any(|patch| python.contains(&Version::new([minor.major, minor.minor, patch].map(u64::from))))
    };
    if !PythonMinor::RELEASED.iter().any(released) {
        let message = format!("no released Python is in `{}`", written.text);
        let [(oldest, _), .., (newest, _)] = PythonMinor::RELEASED;
        let finding = Finding::error(Code::InvalidValue, message).at(written.span, "");
        return Err(finding.noting(format!("macml resolves for Python {oldest} to {newest}")));
    }
    let remark = narrower_than_it_seems(&written.text).map(|(piece, only, better)| {
        let message = format!("`{piece}` admits Python {only} but no later patch of it");
        let finding = Finding::warning(Code::NarrowRange, message).at(written.span, "");
        finding.hinting(format!("write `{better}` to admit all of {}", only.trim_end_matches(".0")))
    });
    Ok((python, remark))
}

/// Finds `==3.12` and `<=3.13`, which end at the first patch of a minor: the part, that patch, and what was meant.
fn narrower_than_it_seems(text: &str) -> Option<(&str, String, String)> {
    text.split(',').map(str::trim).find_map(|piece| {
        let version = piece.strip_prefix("==").or_else(|| piece.strip_prefix("<="))?.trim();
        let minor: PythonMinor = version.parse().ok()?;
        let better = match piece.starts_with("==") {
            true => format!("=={minor}.*"),
            false => format!("<{}.{}", minor.major, minor.minor + 1),
        };
        Some((piece, format!("{minor}.0"), better))
    })
}

fn memory(written: &Item) -> Read<u64> {
    const UNITS: [(&str, u32); 2] = [("GB", 30), ("TB", 40)];
    let parse = |text: &str| {
        let (digits, shift) = UNITS.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)))?;
        let plain = !digits.is_empty() && !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number: u64 = if plain { digits.parse().ok()? } else { return None };
        number.checked_mul(1 << shift)
    };
    if let Some(bytes) = parse(&written.text) {
        return Ok((bytes, None));
    }
    let message = format!("`{}` is not an amount of memory such as `16GB`", written.text.escape_debug());
    let finding = Finding::error(Code::InvalidValue, message).at(written.span, "");
    let better = written.text.to_uppercase().replace([' ', '_'], "").replace("IB", "B");
    let better = if better.ends_with(['G', 'T']) { better + "B" } else { better };
    let better = if better.bytes().all(|byte| byte.is_ascii_digit()) { better + "GB" } else { better };
    Err(if parse(&better).is_some() { finding.hinting(format!("write `{better}`")) } else { finding })
}

fn glibc(written: &Item) -> Read<(u16, u16)> {
    let error = |message: String| Finding::error(Code::InvalidValue, message).at(written.span, "");
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = written.text.split('.').collect();
    match parts.as_slice() {
        ["2", minor] if digits(minor) && minor.len() <= 3 => {
            let minor = minor.parse().map_err(|_| error(format!("`{}` is not a glibc version", written.text)))?;
            Ok(((2, minor), None))
        }
        _ => Err(error(format!("`{}` is not a glibc version such as `2.28`", written.text.escape_debug()))),
    }
}
