//! What macOS says of the machine, put together: values of the kernel, and one property list.
//!
//! # The version of macOS
//!
//! To a program that was linked against an older SDK, or started with `SYSTEM_VERSION_COMPAT=1`, macOS 11 and later call
//! themselves 10.16, and macOS 26 and later 16: in `SystemVersion.plist`, and in `kern.osproductversion` just so, which
//! answers with `kern.osproductversioncompat` then. Both are in Apple's own test,
//! <https://github.com/apple/darwin-xnu/blob/d4061fb0260b3ed486147341b72468f836ed6c8f/tests/system_version_compat.c>;
//! for macOS 26 see <https://github.com/python/cpython/issues/135675>. A cross-linker writes whatever SDK it likes into
//! a program, so that macml itself may be lied to. Neither number was ever a version of macOS, so a lie is known for one,
//! and the truth is in `.SystemVersionPlatform.plist`, which nobody redirects:
//! <https://github.com/ziglang/zig/pull/7714>.
//!
//! # Rosetta
//!
//! `sysctl.proc_translated` is absent on Intel Macs and before macOS 11, where nothing is translated:
//! <https://developer.apple.com/documentation/apple-silicon/about-the-rosetta-translation-environment>.

use std::io;
use std::path::Path;

use super::{Host, Process};
use crate::sys::fs;
use crate::sys::mac;

/// Where macOS keeps the version that it is.
const TRUE_VERSION: &str = "/System/Library/CoreServices/.SystemVersionPlatform.plist";

/// Why the machine could not be looked at.
#[derive(Debug, thiserror::Error)]
#[error("could not read `{name}` from the system")]
pub struct ProbeError {
    /// The name of the value.
    pub name: &'static str,
    /// What the system said.
    #[source]
    pub cause: io::Error,
}

/// Looks at this machine; `None` where it is no Mac.
///
/// # Errors
/// When macOS does not say what it must know.
pub fn probe() -> Result<Option<Host>, ProbeError> {
    if cfg!(target_os = "macos") { read(&mut |name| mac::value(name), &mut true_version).map(Some) } else { Ok(None) }
}

/// Puts a host together. `value` returns the bytes of a value, `None` where the system knows none of that name.
fn read(
    value: &mut dyn FnMut(&'static str) -> io::Result<Option<Vec<u8>>>,
    true_version: &mut dyn FnMut() -> io::Result<Option<String>>,
) -> Result<Host, ProbeError> {
    let mut optional = |name| value(name).map_err(|cause| ProbeError { name, cause });
    let mut needed = |name| {
        let absent = || ProbeError { name, cause: io::ErrorKind::NotFound.into() };
        optional(name)?.ok_or_else(absent)
    };
    let cpu = mac::text(&needed("machdep.cpu.brand_string")?);
    let mut macos = mac::text(&needed("kern.osproductversion")?);
    let memory = number("hw.memsize", &needed("hw.memsize")?)?;
    let flag = |name, bytes: Option<Vec<u8>>| bytes.map(|bytes| Ok(number(name, &bytes)? != 0)).transpose();
    let translated = flag("sysctl.proc_translated", optional("sysctl.proc_translated")?)?.unwrap_or(false);
    // Absent on Intel.
    let arm64 = flag("hw.optional.arm64", optional("hw.optional.arm64")?)?.unwrap_or(false);
    if is_disguise(&macos) {
        let truth = true_version().map_err(|cause| ProbeError { name: TRUE_VERSION, cause })?;
        macos = truth.unwrap_or(macos);
    }
    let process = if translated { Process::Translated } else { Process::Native };
    Ok(Host { source: "probed".to_owned(), cpu, macos, process, memory, arm64: Some(arm64) })
}

/// Whether a version is one that never was and is told to old programs.
fn is_disguise(version: &str) -> bool {
    let mut parts = version.split('.').map(str::parse::<u16>);
    match (parts.next(), parts.next()) {
        (Some(Ok(10)), Some(Ok(minor))) => minor >= 16,
        (Some(Ok(major)), _) => (16..=25).contains(&major),
        _ => false,
    }
}

/// Finds the value of `ProductVersion` in a property list.
fn product_version(plist: &str) -> Option<String> {
    let (_, rest) = plist.split_once("<key>ProductVersion</key>")?;
    let (version, _) = rest.trim_start().strip_prefix("<string>")?.split_once("</string>")?;
    Some(version.trim().to_owned())
}

fn true_version() -> io::Result<Option<String>> {
    let plist = fs::read_text(Path::new(TRUE_VERSION)).map_err(|error| error.cause)?;
    Ok(plist.as_deref().and_then(product_version))
}

/// Reads a number of either of the sizes that sysctl has.
fn number(name: &'static str, bytes: &[u8]) -> Result<u64, ProbeError> {
    mac::number(bytes).ok_or_else(|| ProbeError { name, cause: io::ErrorKind::InvalidData.into() })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// What a Mac answers; `plist` is the version in the property list.
    struct Mac {
        values: BTreeMap<&'static str, Vec<u8>>,
        plist: Option<&'static str>,
    }

    impl Mac {
        fn m3_max() -> Self {
            let values = [
                ("machdep.cpu.brand_string", b"Apple M3 Max\0".to_vec()),
                ("kern.osproductversion", b"15.6.1\0".to_vec()),
                ("hw.memsize", 38_654_705_664_u64.to_ne_bytes().to_vec()),
                ("sysctl.proc_translated", 0_i32.to_ne_bytes().to_vec()),
                ("hw.optional.arm64", 1_i32.to_ne_bytes().to_vec()),
            ];
            Self { values: values.into(), plist: None }
        }

        fn with(mut self, name: &'static str, value: &[u8]) -> Self {
            self.values.insert(name, value.to_vec());
            self
        }

        fn without(mut self, name: &str) -> Self {
            self.values.remove(name);
            self
        }

        fn read(&self) -> Result<Host, ProbeError> {
            read(&mut |name| Ok(self.values.get(name).cloned()), &mut || Ok(self.plist.map(str::to_owned)))
        }
    }

    #[test]
    fn a_mac_is_read() {
        let host = Mac::m3_max().read().unwrap();
        assert_eq!((host.cpu.as_str(), host.macos.as_str(), host.memory), ("Apple M3 Max", "15.6.1", 36 << 30));
        assert_eq!((host.process, host.arm64), (Process::Native, Some(true)));
        let translated = Mac::m3_max().with("sysctl.proc_translated", &1_i32.to_ne_bytes());
        assert_eq!(translated.read().unwrap().process, Process::Translated);
    }

    #[test]
    fn an_intel_mac_has_neither_rosetta_nor_arm64() {
        let intel = Mac::m3_max().without("sysctl.proc_translated").without("hw.optional.arm64");
        let host =
            intel.with("machdep.cpu.brand_string", b"Intel(R) Core(TM) i7-6700K CPU @ 4.00GHz\0").read().unwrap();
        assert_eq!((host.process, host.arm64), (Process::Native, Some(false)));
    }

    #[test]
    fn what_must_be_there_is_named() {
        for name in ["machdep.cpu.brand_string", "kern.osproductversion", "hw.memsize"] {
            let error = Mac::m3_max().without(name).read().unwrap_err();
            assert_eq!(error.to_string(), format!("could not read `{name}` from the system"));
        }
        let error = Mac::m3_max().with("hw.memsize", b"x").read().unwrap_err();
        assert_eq!((error.name, error.cause.kind()), ("hw.memsize", io::ErrorKind::InvalidData));
        let mut denied = |_| Err(io::ErrorKind::PermissionDenied.into());
        assert_eq!(read(&mut denied, &mut || Ok(None)).unwrap_err().cause.kind(), io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_version_for_old_programs_is_not_believed() {
        let check = |told: &[u8], plist, expected: &str| {
            let mac = Mac { plist, ..Mac::m3_max().with("kern.osproductversion", told) };
            assert_eq!(mac.read().unwrap().macos, expected);
        };
        check(b"16.0\0", Some("26.4.1"), "26.4.1");
        check(b"10.16\0", Some("12.2"), "12.2");
        check(b"16.0\0", None, "16.0");
        check(b"15.6\0", Some("99.0"), "15.6");
        check(b"10.15.7\0", Some("99.0"), "10.15.7");
        check(b"26.0\0", Some("99.0"), "26.0");
    }

    #[test]
    fn the_property_list_is_read() {
        let plist = "<plist version=\"1.0\">\n<dict>\n\t<key>ProductName</key>\n\t<string>macOS</string>\n\
                     \t<key>ProductVersion</key>\n\t<string>26.4.1</string>\n</dict>\n</plist>\n";
        assert_eq!(product_version(plist).as_deref(), Some("26.4.1"));
        assert_eq!(product_version("<key>ProductVersion</key><integer>1</integer>"), None);
        assert_eq!(product_version(""), None);
    }

    #[test]
    fn elsewhere_there_is_no_mac() {
        assert_eq!(probe().unwrap().is_some(), cfg!(target_os = "macos"));
    }
}
