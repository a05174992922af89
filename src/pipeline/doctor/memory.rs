//! Memory: how much there is, how much of it is left, how hard up the system is, and its swap.

use crate::bench::pressure::Group;
use crate::bench::pressure::Reading;
use crate::doctor::Facts;
use crate::doctor::facts::Memory;
use crate::sys::fs;
use crate::sys::mac;
use crate::sys::memory;

use super::Look;
use super::machine::kernel_number;

/// Looks at memory.
pub(super) fn memory(look: &Look<'_>, facts: &mut Facts) {
    facts.memory = if look.is_mac() { of_mac(look) } else { of_linux(look) };
}

fn of_mac(look: &Look<'_>) -> Memory {
    let swap = mac::value("vm.swapusage").ok().flatten().and_then(|bytes| swap(&bytes));
    Memory {
        total: look.host.map(|host| host.memory),
        free_percent: kernel_number("kern.memorystatus_level").map(|level| level.min(100)),
        pressure_level: kernel_number("kern.memorystatus_vm_pressure_level"),
        wired: mac::wired(),
        swap_used: swap.map(|(used, _)| used),
        swap_total: swap.map(|(_, total)| total),
    }
}

/// Reads an `xsw_usage` of <sys/sysctl.h>: what is used, and all.
fn swap(bytes: &[u8]) -> Option<(u64, u64)> {
    let word = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    Some((word(16)?, word(0)?))
}

fn of_linux(look: &Look<'_>) -> Memory {
    let text = |path: &str| fs::read_text(&look.at(path)).ok().flatten();
    let meminfo = text("/proc/meminfo");
    let line = |name: &str| memory::of_meminfo(meminfo.as_deref()?, name);
    let (swap_total, swap_free) = (line("SwapTotal:"), line("SwapFree:"));
    let total = memory::total_below(look.root);
    let group = Group {
        limit: text("/sys/fs/cgroup/memory.max"),
        usage: text("/sys/fs/cgroup/memory.current"),
        stat: text("/sys/fs/cgroup/memory.stat"),
    };
    let reading = Reading { meminfo: meminfo.clone(), group: Some(group), ..Reading::default() };
    let percent = |total: u64| {
        let percent = u128::from(reading.available(total)?) * 100 / u128::from(total);
        u64::try_from(percent).ok().map(|percent| percent.min(100))
    };
    Memory {
        total,
        free_percent: total.filter(|total| *total > 0).and_then(percent),
        pressure_level: None,
        wired: None,
        swap_used: swap_total.zip(swap_free).map(|(total, free)| total.saturating_sub(free)),
        swap_total,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Laid;
    use super::*;

    #[test]
    fn swap_of_a_mac_is_read() {
        // `xsw_total`, `xsw_avail`, `xsw_used`, `xsw_pagesize`, `xsw_encrypted`.
        let words = [3_u64 << 30, 1 << 30, 2 << 30, 0x1_0000_4000];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        assert_eq!(swap(&bytes), Some((2 << 30, 3 << 30)));
        assert_eq!(swap(&bytes[..20]), None);
    }

    #[test]
    fn what_linux_says_is_read() {
        let meminfo = "MemTotal: 1000 kB\nMemAvailable: 250 kB\nSwapTotal: 100 kB\nSwapFree: 60 kB\n";
        let memory = Laid::new(&[("proc/meminfo", meminfo)]).look(&[], memory).memory;
        assert_eq!((memory.total, memory.free_percent), (Some(1_024_000), Some(25)));
        assert_eq!((memory.swap_used, memory.swap_total), (Some(40 << 10), Some(100 << 10)));
        let group = [
            ("proc/meminfo", meminfo),
            ("sys/fs/cgroup/memory.max", "512000"),
            ("sys/fs/cgroup/memory.current", "460800"),
        ];
        let memory = Laid::new(&group).look(&[], super::memory).memory;
        assert_eq!((memory.total, memory.free_percent), (Some(512_000), Some(10)));
        assert_eq!(Laid::new(&[]).look(&[], super::memory).memory, Memory::default());
    }
}
