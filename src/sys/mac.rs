//! What macOS alone can be asked: values of the kernel, other processes, a sandbox, the devices of Metal. Elsewhere there is
//! nothing of that, and each answer says so. Nothing is linked for it: a release is linked where there are no frameworks.

use std::io;

/// A value of the kernel, `sysctl NAME`, as bytes; `None` where the system knows none of that name.
///
/// # Errors
/// When it refuses.
pub fn value(name: &str) -> io::Result<Option<Vec<u8>>> {
    system::value(name)
}

/// Reads a text as C has it.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

/// Reads a number of either of the sizes that the kernel has; `None` for what is none.
pub fn number(bytes: &[u8]) -> Option<u64> {
    let small = || bytes.try_into().ok().map(|bytes| u64::from(u32::from_ne_bytes(bytes)));
    small().or_else(|| bytes.try_into().ok().map(u64::from_ne_bytes))
}

/// What the kernel keeps of a process, a `kinfo_proc`; `None` where there is no such process.
///
/// # Errors
/// When it refuses.
pub fn process(id: u32) -> io::Result<Option<Vec<u8>>> {
    system::process(id)
}

/// Returns how many bytes cannot be moved out of memory; `None` where the system does not say.
pub fn wired() -> Option<u64> {
    system::wired()
}

/// Returns whether a sandbox holds this process; `None` where the system does not say.
pub fn sandboxed() -> Option<bool> {
    system::sandboxed()
}

/// A device of Metal: its name, and its `recommendedMaxWorkingSetSize`.
pub type Device = (String, u64);

/// Asks Metal for its devices. What it does may end this process: only a process of its own asks.
///
/// # Errors
/// With what is missing, where there is no Metal.
pub fn devices() -> Result<Vec<Device>, String> {
    system::devices()
}

#[cfg(not(target_os = "macos"))]
mod system {
    use super::Device;
    use std::io;

    #[expect(clippy::unnecessary_wraps, reason = "a Mac may refuse")]
    pub(super) fn value(_name: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    #[expect(clippy::unnecessary_wraps, reason = "a Mac may refuse")]
    pub(super) fn process(_id: u32) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    pub(super) fn wired() -> Option<u64> {
        None
    }

    pub(super) fn sandboxed() -> Option<bool> {
        None
    }

    pub(super) fn devices() -> Result<Vec<Device>, String> {
        Err("there is no Metal on this system".to_owned())
    }
}

#[cfg(target_os = "macos")]
#[expect(
    unsafe_code,
    reason = "nothing in the standard library asks the kernel of a Mac or a framework, and programs that do are slow to start"
)]
mod system {
    use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
    use std::io;

    use super::Device;

    // SAFETY: these are the declarations of <sys/sysctl.h>, <dlfcn.h>, <mach/mach_host.h> and <mach/vm_page_size.h>.
    unsafe extern "C" {
        fn sysctlbyname(
            name: *const c_char,
            old: *mut c_void,
            old_len: *mut usize,
            new: *const c_void,
            new_len: usize,
        ) -> c_int;
        fn sysctl(
            name: *const c_int,
            name_len: c_uint,
            old: *mut c_void,
            old_len: *mut usize,
            new: *const c_void,
            new_len: usize,
        ) -> c_int;
        fn dlopen(path: *const c_char, mode: c_int) -> *mut c_void;
        fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
        safe fn mach_host_self() -> c_uint;
        fn host_statistics64(host: c_uint, flavor: c_int, into: *mut c_uint, count: *mut c_uint) -> c_int;
        static vm_kernel_page_size: usize;
    }

    pub(super) fn value(name: &str) -> io::Result<Option<Vec<u8>>> {
        let name = CString::new(name)?;
        // Longer than any value that is asked for; of a longer one the system says that it does not fit.
        let mut value = vec![0_u8; 256];
        let mut len = value.len();
        // SAFETY: `name` ends with a zero, `value` has room for `len` bytes, both live until the call is over, and a null
        // `new` changes nothing.
        let outcome =
            unsafe { sysctlbyname(name.as_ptr(), value.as_mut_ptr().cast(), &raw mut len, std::ptr::null(), 0) };
        answer(outcome, value, len)
    }

    pub(super) fn process(id: u32) -> io::Result<Option<Vec<u8>>> {
        // CTL_KERN, KERN_PROC, KERN_PROC_PID of <sys/sysctl.h>.
        let id = c_int::try_from(id).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let name = [1, 14, 1, id];
        let mut value = vec![0_u8; 1024];
        let mut len = value.len();
        // SAFETY: `name` has four numbers, `value` has room for `len` bytes, both live until the call is over, and a null
        // `new` changes nothing.
        let outcome = unsafe { sysctl(name.as_ptr(), 4, value.as_mut_ptr().cast(), &raw mut len, std::ptr::null(), 0) };
        // Of a process that is not there nothing is written.
        answer(outcome, value, len).map(|value| value.filter(|value| !value.is_empty()))
    }

    fn answer(outcome: c_int, mut value: Vec<u8>, len: usize) -> io::Result<Option<Vec<u8>>> {
        if outcome != 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::NotFound { Ok(None) } else { Err(error) };
        }
        value.truncate(len);
        Ok(Some(value))
    }

    pub(super) fn wired() -> Option<u64> {
        // HOST_VM_INFO64 of <mach/host_info.h>; `wire_count` is the fourth number of <mach/vm_statistics.h>.
        const VM_INFO: c_int = 4;
        const WIRED: usize = 3;
        let mut told = [0; 128];
        let mut count = 128;
        // SAFETY: `told` has room for `count` numbers, and both live until the call is over.
        let outcome = unsafe { host_statistics64(mach_host_self(), VM_INFO, told.as_mut_ptr(), &raw mut count) };
        // SAFETY: the system sets it before the program begins, and never changes it.
        let page = unsafe { vm_kernel_page_size };
        (outcome == 0 && count as usize > WIRED).then(|| u64::from(told[WIRED]).saturating_mul(page as u64))
    }

    /// Returns the address of something in a library that is loaded, or can be.
    fn symbol(library: &CStr, name: &CStr) -> Result<*mut c_void, String> {
        const LAZY: c_int = 1;
        // SAFETY: the text ends with a zero, and libraries of the system may be loaded at any time.
        let handle = unsafe { dlopen(library.as_ptr(), LAZY) };
        if handle.is_null() {
            return Err(format!("`{}` cannot be loaded", library.to_string_lossy()));
        }
        // SAFETY: the handle is one, as it is not null, and the text ends with a zero.
        let symbol = unsafe { dlsym(handle, name.as_ptr()) };
        match symbol.is_null() {
            true => Err(format!("`{}` has no `{}`", library.to_string_lossy(), name.to_string_lossy())),
            false => Ok(symbol),
        }
    }

    pub(super) fn sandboxed() -> Option<bool> {
        type Check = unsafe extern "C" fn(c_int, *const c_char, c_int, ...) -> c_int;
        let check = symbol(c"/usr/lib/libSystem.B.dylib", c"sandbox_check").ok()?;
        let own = c_int::try_from(std::process::id()).ok()?;
        // SAFETY: `int sandbox_check(pid_t, const char *operation, enum sandbox_filter_type, ...)`, as WebKit and Chromium
        // declare it; without an operation it tells whether there is a sandbox at all, and takes nothing more.
        let told = unsafe { std::mem::transmute::<*mut c_void, Check>(check)(own, std::ptr::null(), 0) };
        (told >= 0).then_some(told != 0)
    }

    /// What `objc_msgSend` is called as, by what it is asked for.
    type Send<T> = unsafe extern "C" fn(*mut c_void, *mut c_void) -> T;
    type SendAt = unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void;

    pub(super) fn devices() -> Result<Vec<Device>, String> {
        const OBJC: &CStr = c"/usr/lib/libobjc.A.dylib";
        type Copy = unsafe extern "C" fn() -> *mut c_void;
        type Register = unsafe extern "C" fn(*const c_char) -> *mut c_void;
        // Devices are looked for by it: <https://developer.apple.com/documentation/metal/mtlcreatesystemdefaultdevice()>.
        let graphics = c"/System/Library/Frameworks/CoreGraphics.framework/CoreGraphics";
        let _ = symbol(graphics, c"CGMainDisplayID");
        let copy = symbol(c"/System/Library/Frameworks/Metal.framework/Metal", c"MTLCopyAllDevices")?;
        let send = symbol(OBJC, c"objc_msgSend")?;
        let register = symbol(OBJC, c"sel_registerName")?;
        // SAFETY: these are the functions of those names, with the types that Apple's headers give them. `objc_msgSend` is
        // called as the method it ends in: `count`, `objectAtIndex:`, `name`, `recommendedMaxWorkingSetSize` and
        // `UTF8String` are those of NSArray, MTLDevice and NSString. A message to nil is answered with zero. The array is
        // ours and is never released, so that all in it lives as long as this process.
        unsafe {
            let copy = std::mem::transmute::<*mut c_void, Copy>(copy);
            let register = std::mem::transmute::<*mut c_void, Register>(register);
            let object = std::mem::transmute::<*mut c_void, Send<*mut c_void>>(send);
            let at = std::mem::transmute::<*mut c_void, SendAt>(send);
            let number = std::mem::transmute::<*mut c_void, Send<u64>>(send);
            let text = std::mem::transmute::<*mut c_void, Send<*const c_char>>(send);
            let all = copy();
            let count = usize::try_from(number(all, register(c"count".as_ptr()))).unwrap_or_default();
            let mut devices = Vec::new();
            for index in 0..count {
                let device = at(all, register(c"objectAtIndex:".as_ptr()), index);
                let name = text(object(device, register(c"name".as_ptr())), register(c"UTF8String".as_ptr()));
                let name =
                    if name.is_null() { String::new() } else { CStr::from_ptr(name).to_string_lossy().into_owned() };
                devices.push((name, number(device, register(c"recommendedMaxWorkingSetSize".as_ptr()))));
            }
            Ok(devices)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_mac_answers() {
        let mac = cfg!(target_os = "macos");
        assert_eq!(value("hw.model").unwrap().is_some(), mac);
        assert_eq!(value("macml.none").unwrap(), None);
        assert_eq!(process(std::process::id()).unwrap().is_some(), mac);
        assert_eq!(wired().is_some(), mac);
        assert_eq!(sandboxed().is_some(), mac);
    }
}
