//! What the system says of its machine: who is below it, and what it was told of its caches.

mod tlbs;

use crate::pages::Pages;
use std::fs;
use std::path::Path;
pub use tlbs::SystemTlb;

/// Where control groups are.
const GROUPS: &str = "/sys/fs/cgroup";

/// The machine, as the system describes it. Nothing here is measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Host {
    /// The processor's name.
    pub processor: String,
    /// What runs below the system; `None` of a machine of its own. Its table walks are then nested.
    pub hypervisor: Option<String>,
    /// Data and unified caches, the nearest first.
    pub caches: Vec<SystemCache>,
    /// Data TLBs, by the processor's word.
    pub tlbs: Vec<SystemTlb>,
    /// Bytes of memory that programs can have.
    pub available: u64,
}

/// A cache, as the system describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SystemCache {
    /// Its level, from 1 on.
    pub level: u32,
    /// Bytes.
    pub size: u64,
    /// Ways; 0 if the system does not say.
    pub ways: u32,
    /// Bytes of a line.
    pub line: u32,
}

impl Host {
    /// This machine.
    #[must_use]
    pub fn find() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let cpuinfo = read("/proc/cpuinfo");
        Self {
            processor: field(&cpuinfo, &["model name", "uarch", "Processor"]).unwrap_or("unknown processor").to_owned(),
            hypervisor: hypervisor(&cpuinfo),
            caches: caches(),
            tlbs: tlbs::find(),
            available: available(&read("/proc/meminfo")).unwrap_or(1 << 30).min(allowed(&read("/proc/self/cgroup"))),
        }
    }

    /// The cache of a level.
    #[must_use]
    pub fn cache(&self, level: u32) -> Option<SystemCache> {
        self.caches.iter().copied().find(|cache| cache.level == level)
    }

    /// Entries of a level of the data TLB for pages of one size.
    #[must_use]
    pub fn tlb_entries(&self, level: u32, pages: Pages) -> Option<u64> {
        self.tlbs.iter().find(|tlb| (tlb.level, tlb.pages) == (level, pages)).map(|tlb| tlb.entries)
    }

    /// Bytes of the caches from the first level on, as far as the system names each level.
    #[must_use]
    pub fn sizes(&self) -> Vec<u64> {
        (1..).map_while(|level| Some(self.cache(level)?.size)).collect()
    }

    /// Bytes of a line of the first level; 64 where the system does not say.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.cache(1).map(|cache| cache.line).filter(|line| line.is_power_of_two() && *line >= 8).unwrap_or(64)
    }
}

/// The value of the first line that begins with one of `names`.
fn field<'t>(text: &'t str, names: &[&str]) -> Option<&'t str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| names.contains(&name.trim()))
        .map(|(_, value)| value.trim())
}

/// Bytes that /proc/meminfo calls available.
fn available(meminfo: &str) -> Option<u64> {
    let kibibytes = field(meminfo, &["MemAvailable"])?.split_whitespace().next()?;
    kibibytes.parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

/// Bytes that the process's control group and those above it still allow (Linux, Documentation/admin-guide/cgroup-v2.rst, "Memory Interface Files").
fn allowed(own_groups: &str) -> u64 {
    let Some(own) = own_groups.lines().find_map(|line| line.strip_prefix("0::/")) else { return u64::MAX };
    let number = |group: &Path, name: &str| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
    let left = Path::new(GROUPS).join(own);
    let groups = left.ancestors().take_while(|group| group.starts_with(GROUPS));
    // Without a limit, `memory.max` has no number.
    let left = groups.filter_map(|group| {
        let limit = number(group, "memory.max")?;
        Some(limit.saturating_sub(number(group, "memory.current").unwrap_or(0)))
    });
    left.min().unwrap_or(u64::MAX)
}

/// The hypervisor by the processor's own word (Intel SDM volume 2A and AMD APM volume 3, CPUID: function 1, ECX bit 31; its name in
/// function 0x4000_0000), or else by that of the system.
#[cfg(target_arch = "x86_64")]
fn hypervisor(cpuinfo: &str) -> Option<String> {
    use std::arch::x86_64::__cpuid;
    if __cpuid(1).ecx >> 31 & 1 == 0 {
        return flagged(cpuinfo);
    }
    let leaf = __cpuid(0x4000_0000);
    let bytes = [leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes).concat();
    let name: String = bytes.into_iter().map(char::from).filter(char::is_ascii_graphic).collect();
    Some(if name.is_empty() { "a hypervisor without a name".to_owned() } else { name })
}

/// The hypervisor by the system's word.
#[cfg(not(target_arch = "x86_64"))]
fn hypervisor(cpuinfo: &str) -> Option<String> {
    let read = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim_matches(['\0', '\n', ' ']).to_owned());
    flagged(cpuinfo)
        .or_else(|| read("/sys/hypervisor/type"))
        .or_else(|| read("/proc/device-tree/hypervisor/compatible"))
}

/// Whether /proc/cpuinfo has the flag `hypervisor`.
fn flagged(cpuinfo: &str) -> Option<String> {
    let flags = field(cpuinfo, &["flags"])?;
    flags.split_whitespace().any(|flag| flag == "hypervisor").then(|| "a hypervisor".to_owned())
}

/// Those of the first processor in /sys.
fn caches() -> Vec<SystemCache> {
    let index = |index: u32| {
        let read = |name: &str| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
            fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
        };
        let number = |name: &str| read(name)?.parse::<u32>().ok();
        if read("type")? == "Instruction" {
            return None;
        }
        let size = read("size")?.strip_suffix('K')?.parse::<u64>().ok()? << 10;
        let line = number("coherency_line_size").unwrap_or(64);
        Some(SystemCache { level: number("level")?, size, ways: number("ways_of_associativity").unwrap_or(0), line })
    };
    let mut caches: Vec<SystemCache> = (0..8).filter_map(index).collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_read() {
        let cpuinfo = "processor\t: 0\nmodel name\t: A Processor\nflags\t\t: fpu hypervisor lahf_lm\n";
        assert_eq!(field(cpuinfo, &["uarch", "model name"]), Some("A Processor"));
        assert_eq!(flagged(cpuinfo).as_deref(), Some("a hypervisor"));
        assert_eq!(flagged("flags : fpu hypervisors\n"), None);
        assert_eq!(available("MemTotal: 9 kB\nMemAvailable:   24 kB\n"), Some(24 << 10));
    }
}
