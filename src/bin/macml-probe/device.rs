//! The libtorch at hand and the device: loading what the device needs, whether it is there, and what it is called.

use std::ffi::CStr;
use std::ffi::c_char;
use std::ffi::c_int;
use std::ffi::c_void;

use tch::{Kind, TchError, Tensor};

use crate::device_of;
use crate::protocol::{Device, DeviceSeen, Surrounding};

// SAFETY: the first is libtorch's own, since 2.9, with this signature in its `torch/csrc/inductor/aoti_torch/c/shim.h`; the
// others are POSIX. `dlopen` runs what a library does when it is loaded, as linking to it would.
#[expect(unsafe_code, reason = "tch has no way to ask for libtorch's version and to load its part for CUDA")]
unsafe extern "C" {
    safe fn aoti_torch_abi_version() -> u64;
    fn dlopen(path: *const c_char, mode: c_int) -> *mut c_void;
    safe fn dlerror() -> *const c_char;
}

/// Asks the libtorch that was loaded for its release: what it was built against may be another one.
pub(crate) fn torch_version() -> Option<String> {
    let [major, minor, patch, ..] = aoti_torch_abi_version().to_be_bytes();
    (major != 0).then(|| format!("{major}.{minor}.{patch}"))
}

/// Names the system, its release and the kind of processor: `darwin 15.6.1 arm64`.
pub(crate) fn system() -> String {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let words = if cfg!(target_os = "macos") {
        let release = product_version(&read("/System/Library/CoreServices/SystemVersion.plist"));
        let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { std::env::consts::ARCH };
        ["darwin".to_owned(), release, arch.to_owned()]
    } else {
        let release = read("/proc/sys/kernel/osrelease").trim().to_owned();
        [std::env::consts::OS.to_owned(), release, std::env::consts::ARCH.to_owned()]
    };
    let known: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
    known.join(" ")
}

/// Reads macOS's version, which stands in the line below its key.
fn product_version(plist: &str) -> String {
    let below = plist.lines().skip_while(|line| !line.contains("<key>ProductVersion</key>")).nth(1).unwrap_or_default();
    below.trim().trim_start_matches("<string>").trim_end_matches("</string>").to_owned()
}

/// The part of libtorch for CUDA.
const CUDA: &CStr = c"libtorch_cuda.so";

/// Loads the part of libtorch that a device needs and that the probe is not linked to, so that one probe serves every build
/// of a release. On a Mac all is in one library.
pub(crate) fn load(device: Device) -> Result<(), String> {
    match device {
        Device::Mps | Device::Cpu => Ok(()),
        Device::Cuda => open(CUDA),
    }
}

#[expect(unsafe_code, reason = "tch links to CUDA or does not, for good")]
fn open(library: &CStr) -> Result<(), String> {
    const NOW_AND_FOR_ALL: c_int = 0x102;
    // SAFETY: the text ends with a null byte; see above for the rest.
    let handle = unsafe { dlopen(library.as_ptr(), NOW_AND_FOR_ALL) };
    if !handle.is_null() {
        return Ok(());
    }
    let said = dlerror();
    if said.is_null() {
        return Err("the loader does not say why".to_owned());
    }
    // SAFETY: it is not null, and a text until the next call in this thread.
    Err(unsafe { CStr::from_ptr(said) }.to_string_lossy().into_owned())
}

/// Looks for the device; without one that works there is nothing to ask.
pub(crate) fn look(device: Device, loaded: Result<(), String>) -> (DeviceSeen, Option<tch::Device>) {
    let mut seen = DeviceSeen { surroundings: surroundings(device), ..DeviceSeen::default() };
    match device {
        Device::Cpu => {
            seen.built = Some(true);
            seen.available = true;
            seen.name = processor();
        }
        Device::Mps => seen.available = tch::utils::has_mps(),
        Device::Cuda => {
            // Where something else is missing, that is what the loader names.
            let missing = format!("{}:", CUDA.to_string_lossy());
            seen.built = Some(loaded.as_ref().err().is_none_or(|error| !error.starts_with(&missing)));
            seen.available = loaded.is_ok() && tch::Cuda::is_available();
            seen.listed = loaded.is_ok().then(|| u32::try_from(tch::Cuda::device_count()).unwrap_or_default());
            seen.name = graphics_card();
            seen.error = loaded.err();
        }
    }
    if !seen.available {
        return (seen, None);
    }
    let found = device_of(device);
    seen.id = Some(name(found));
    match first_use(found) {
        Ok(()) => (seen, Some(found)),
        Err(error) => {
            seen.error = Some(crate::short(&error));
            (seen, None)
        }
    }
}

/// Computes something small: a device that says that it is there may still refuse.
fn first_use(device: tch::Device) -> Result<(), TchError> {
    Tensor::f_ones([2, 2], (Kind::Float, device))?.f_sum(Kind::Float)?.f_double_value(&[]).map(drop)
}

/// Tells whether a device has an element type, by making one.
pub(crate) fn has_type(device: tch::Device, kind: Kind) -> Result<(), TchError> {
    Tensor::f_zeros([2], (kind, device)).map(drop)
}

/// Names a device as torch does.
pub(crate) fn name(device: tch::Device) -> String {
    match device {
        tch::Device::Cpu => "cpu".to_owned(),
        tch::Device::Cuda(index) => format!("cuda:{index}"),
        tch::Device::Mps => "mps:0".to_owned(),
        tch::Device::Vulkan => "vulkan:0".to_owned(),
    }
}

/// The processor's name, as Linux tells it.
fn processor() -> Option<String> {
    stated(&std::fs::read_to_string("/proc/cpuinfo").ok()?, "model name")
}

/// The name of the first graphics card, as its driver tells it on Linux.
fn graphics_card() -> Option<String> {
    let folder = std::fs::read_dir("/proc/driver/nvidia/gpus").ok()?;
    let mut cards: Vec<_> = folder.filter_map(|entry| Some(entry.ok()?.path().join("information"))).collect();
    cards.sort();
    stated(&std::fs::read_to_string(cards.first()?).ok()?, "Model")
}

/// Reads `key : value`.
fn stated(text: &str, key: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn surroundings(device: Device) -> Vec<Surrounding> {
    let set = |name: &str| std::env::var(name).ok();
    let hidden = matches!(set("CUDA_VISIBLE_DEVICES").as_deref(), Some("" | "-1")) && device == Device::Cuda;
    let ssh = set("SSH_CONNECTION").is_some();
    [(hidden, Surrounding::Hidden), (ssh, Surrounding::Ssh)]
        .into_iter()
        .filter_map(|(is, what)| is.then_some(what))
        .collect()
}
