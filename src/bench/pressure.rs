//! What a system says of its memory, read from its own words: how hard up it is, whether that has turned, how much is left.
//! Pure: a probe brings the words, from whatever system it ran on.
//!
//! * macOS: `kern.memorystatus_vm_pressure_level` is 1, 2 or 4 (normal, warning, critical), the levels that programs are
//!   told of; `kern.memorystatus_level` is the percentage that `memory_pressure` calls free. Both are in xnu's
//!   <https://github.com/apple-oss-distributions/xnu/blob/main/bsd/kern/kern_memorystatus.c>.
//! * Linux: `some avg10` of `/proc/pressure/memory`, the part of ten seconds for which something waited for memory;
//!   `MemAvailable` of `/proc/meminfo`; and the limit of a control group, of either version.
//! * CUDA: what the driver calls free, which is another memory than the machine's.

use serde::Deserialize;

use crate::sys::memory;

/// What a system said of its memory at one moment, each where it says that.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct Reading {
    /// `kern.memorystatus_vm_pressure_level`.
    pub(crate) pressure_level: Option<u64>,
    /// `kern.memorystatus_level`.
    pub(crate) free_percent: Option<u64>,
    /// The text of `/proc/pressure/memory`.
    pub(crate) stall: Option<String>,
    /// Lines of `/proc/meminfo`.
    pub(crate) meminfo: Option<String>,
    /// The control group.
    pub(crate) group: Option<Group>,
    /// How many bytes of a device's own memory are free.
    pub(crate) device_free: Option<u64>,
    /// How many it has.
    pub(crate) device_total: Option<u64>,
}

/// What a control group says of its memory.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(crate) struct Group {
    /// The text of `memory.max`, or of `memory.limit_in_bytes`.
    pub(crate) limit: Option<String>,
    /// The text of `memory.current`, or of `memory.usage_in_bytes`.
    pub(crate) usage: Option<String>,
    /// Lines of `memory.stat`.
    pub(crate) stat: Option<String>,
}

/// Of ten seconds, the part for which something waited for memory that counts as pressure.
const STALLED: f64 = 0.1;

impl Reading {
    /// Returns how hard up the system is: on a Mac the part of its memory that is not free, on a device with a memory of its
    /// own likewise, elsewhere the part of ten seconds for which something waited for memory.
    pub(crate) fn pressure(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a part is told in percent")]
        let device = || Some(1.0 - self.device_free? as f64 / self.device_total.filter(|total| *total > 0)? as f64);
        #[expect(clippy::cast_precision_loss, reason = "it is no more than a hundred")]
        let mac = || self.free_percent.map(|free| 1.0 - free.min(100) as f64 / 100.0);
        device().or_else(mac).or_else(|| self.stalled())
    }

    /// Says that the system is hard up, in its own terms; none where it is not, or does not say.
    pub(crate) fn turned(&self) -> Option<String> {
        match self.pressure_level {
            Some(level @ 2..=3) => return Some(format!("macOS warns of memory pressure (level {level})")),
            Some(level @ 4..) => return Some(format!("macOS calls its memory pressure critical (level {level})")),
            _ => {}
        }
        let stalled = self.stalled().filter(|part| *part >= STALLED)?;
        Some(format!("programs waited for memory for {:.0} % of ten seconds", stalled * 100.0))
    }

    /// Returns how many bytes are left to programs of a machine that has `total` of them; none where nothing says so.
    pub(crate) fn available(&self, total: u64) -> Option<u64> {
        if self.device_free.is_some() {
            return self.device_free;
        }
        let mac = self.free_percent.map(|free| total / 100 * free.min(100));
        let linux = self.meminfo.as_deref().and_then(|text| memory::of_meminfo(text, "MemAvailable:"));
        let group = self.group.as_ref().and_then(Group::available);
        [mac, linux, group].into_iter().flatten().min()
    }

    /// Reads `some avg10=1.25 avg60=… total=…`, as a part.
    fn stalled(&self) -> Option<f64> {
        let some = self.stall.as_deref()?.lines().find_map(|line| line.strip_prefix("some "))?;
        let percent: f64 = some.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?.parse().ok()?;
        Some((percent / 100.0).clamp(0.0, 1.0))
    }
}

impl Group {
    /// Returns how many bytes its limit leaves; none without a limit.
    fn available(&self) -> Option<u64> {
        // `max` in version 2, and in version 1 a number that no machine has.
        let limit: u64 = self.limit.as_deref()?.trim().parse().ok()?;
        if limit >= 1 << 60 {
            return None;
        }
        let usage: u64 = self.usage.as_deref()?.trim().parse().ok()?;
        // Files that were read count as used, and those that nobody looked at again go first.
        let stat = self.stat.as_deref().unwrap_or_default();
        let value = |name: &str| stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        let files = value("total_inactive_file ").or_else(|| value("inactive_file ")).unwrap_or_default();
        Some(limit.saturating_sub(usage.saturating_sub(files)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mac(level: u64, free: u64) -> Reading {
        Reading { pressure_level: Some(level), free_percent: Some(free), ..Reading::default() }
    }

    fn linux(stall: &str, meminfo: &str) -> Reading {
        Reading { stall: Some(stall.to_owned()), meminfo: Some(meminfo.to_owned()), ..Reading::default() }
    }

    #[test]
    fn a_mac_is_read_by_its_two_numbers() {
        let calm = mac(1, 63);
        assert_eq!((calm.turned(), calm.available(8 << 30)), (None, Some((8 << 30) / 100 * 63)));
        assert!((calm.pressure().unwrap() - 0.37).abs() < 1e-9);
        assert_eq!(mac(2, 28).turned().unwrap(), "macOS warns of memory pressure (level 2)");
        assert_eq!(mac(4, 6).turned().unwrap(), "macOS calls its memory pressure critical (level 4)");
        // A number that no version is known to say.
        assert_eq!(mac(0, 400).available(100), Some(100));
    }

    #[test]
    fn linux_is_read_by_its_texts() {
        let text =
            "some avg10=0.00 avg60=0.10 avg300=0.32 total=82968017\nfull avg10=99.00 avg60=0.00 avg300=0.01 total=3\n";
        let calm = linux(text, "MemTotal:       24684084 kB\nMemFree:  7 kB\nMemAvailable:   22267316 kB\n");
        assert_eq!((calm.turned(), calm.pressure()), (None, Some(0.0)));
        assert_eq!(calm.available(1), Some(22_267_316 * 1024));
        let hard = linux("some avg10=12.50 avg60=3.00 avg300=0.32 total=1\n", "");
        assert_eq!(hard.turned().unwrap(), "programs waited for memory for 12 % of ten seconds");
        assert_eq!((hard.pressure(), hard.available(1)), (Some(0.125), None));
        // A kernel without these, or with something else in their place.
        assert_eq!(Reading::default().pressure(), None);
        assert_eq!(linux("some", "MemAvailable: many kB").available(1), None);
        assert_eq!(linux("some avg10=lots", "").pressure(), None);
    }

    #[test]
    fn a_group_may_leave_less_than_the_machine() {
        let group = |limit: &str, usage: &str, stat: &str| {
            let text = |text: &str| Some(text.to_owned());
            let group = Group { limit: text(limit), usage: text(usage), stat: text(stat) };
            let meminfo = text("MemAvailable: 4096 kB");
            Reading { group: Some(group), meminfo, ..Reading::default() }.available(1)
        };
        assert_eq!(group("3000000\n", "1000000\n", "inactive_file 500000\n"), Some(2_500_000));
        assert_eq!(group("3000000\n", "1000000\n", "inactive_file 1\ntotal_inactive_file 500000\n"), Some(2_500_000));
        assert_eq!(group("3000000\n", "4000000\n", ""), Some(0));
        assert_eq!(group("max\n", "1000000\n", ""), Some(4096 * 1024));
        assert_eq!(group("9223372036854771712\n", "1000000\n", ""), Some(4096 * 1024));
    }

    #[test]
    fn a_device_with_its_own_memory_counts_by_that() {
        let device = Reading { device_free: Some(30), device_total: Some(120), ..mac(1, 90) };
        assert_eq!((device.pressure(), device.available(999)), (Some(0.75), Some(30)));
    }
}
