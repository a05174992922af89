//! The memory of a machine that is no Mac; of a Mac `host` tells.

use std::path::Path;

/// Returns how many bytes of memory this process may count on: those of the machine, or fewer where its container has a
/// limit. `None` where the system does not say.
pub fn total() -> Option<u64> {
    total_below(Path::new("/"))
}

/// Returns the same of a machine whose root is this folder.
pub fn total_below(root: &Path) -> Option<u64> {
    let text = |path: &str| std::fs::read_to_string(root.join(path)).ok();
    let machine = of_meminfo(&text("proc/meminfo")?, "MemTotal:")?;
    let limit = text("sys/fs/cgroup/memory.max").and_then(|text| text.trim().parse().ok());
    Some(limit.map_or(machine, |limit: u64| limit.min(machine)))
}

/// Reads a line such as `MemTotal:       16303428 kB` of what `/proc/meminfo` says, in bytes.
pub fn of_meminfo(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    value.trim().strip_suffix("kB")?.trim_end().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_linux_says_is_read() {
        let text = "MemTotal:       16303428 kB\nMemFree:         1234 kB\n";
        let machine = |text: &str| of_meminfo(text, "MemTotal:");
        assert_eq!(machine(text), Some(16_303_428 << 10));
        assert_eq!(machine("MemFree: 1 kB\n"), None);
        assert_eq!(machine("MemTotal: many\n"), None);
        if cfg!(target_os = "linux") {
            assert!(total().unwrap() > 64 << 20);
        }
    }
}
