//! Memory of base pages or of huge pages, checked to be what was asked for.

use crate::raw::{Advice, Mapping, PAGE};
use rustix::thread::transparent_huge_pages_are_disabled;
use std::fs;
use std::ops::Range;

/// Bytes of a base page.
pub(crate) const BASE: usize = PAGE;

/// Bytes of a huge page.
pub(crate) const HUGE: usize = 2 << 20;

/// Sizes of pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pages {
    /// 4K.
    Base,
    /// 2M.
    Huge,
}

impl Pages {
    /// Bytes of one.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::Base => BASE,
            Self::Huge => HUGE,
        }
    }

    const fn advice(self) -> Advice {
        match self {
            Self::Base => Advice::BasePages,
            Self::Huge => Advice::HugePages,
        }
    }
}

/// Memory whose pages are all there, of this size.
///
/// # Errors
/// Why there is none, in words.
pub(crate) fn memory(bytes: usize, pages: Pages) -> Result<Mapping, String> {
    let bytes = bytes.next_multiple_of(pages.bytes());
    let mut mapping = address_space(bytes, pages)?;
    for word in mapping.words().iter_mut().step_by(BASE / size_of::<u64>()) {
        *word = 1;
    }
    let huge = huge_bytes(&fs::read_to_string("/proc/self/smaps").unwrap_or_default(), &mapping.addresses());
    match pages {
        Pages::Huge if huge < bytes => Err(match refusal() {
            Some(reason) => reason,
            None => format!("the kernel gave {} MiB of {} MiB in huge pages", huge >> 20, bytes >> 20),
        }),
        Pages::Base if huge > 0 => Err("the kernel gave huge pages where base pages were asked for".to_owned()),
        Pages::Base | Pages::Huge => Ok(mapping),
    }
}

/// Addresses for pages of this size, none of which is there before its first use.
///
/// # Errors
/// Why there are none, in words.
pub(crate) fn address_space(bytes: usize, pages: Pages) -> Result<Mapping, String> {
    Mapping::new(bytes, pages.advice()).map_err(|error| match (pages, refusal()) {
        (Pages::Huge, Some(reason)) => reason,
        (Pages::Huge | Pages::Base, _) => format!("{} MiB of address space: {error}", bytes >> 20),
    })
}

/// Why this process has no huge pages, if the system says.
fn refusal() -> Option<String> {
    const ENABLED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
    if transparent_huge_pages_are_disabled().unwrap_or(false) {
        return Some("transparent huge pages are off for this process (PR_SET_THP_DISABLE)".to_owned());
    }
    match fs::read_to_string(ENABLED) {
        Ok(text) if text.contains("[never]") => Some(format!("transparent huge pages are off (never in {ENABLED})")),
        Ok(_) => None,
        Err(_) => Some("the kernel has no transparent huge pages".to_owned()),
    }
}

/// Bytes in huge pages of the areas of `smaps` that have some of these addresses (proc_pid_smaps(5)).
fn huge_bytes(smaps: &str, addresses: &Range<usize>) -> usize {
    let (mut within, mut bytes) = (false, 0);
    for line in smaps.lines() {
        if let Some(area) = area(line) {
            within = area.start < addresses.end && addresses.start < area.end;
        } else if let Some(kibibytes) = line.strip_prefix("AnonHugePages:").filter(|_| within) {
            bytes += kibibytes.trim().trim_end_matches(" kB").parse::<usize>().unwrap_or(0) << 10;
        }
    }
    bytes
}

/// The addresses at the head of an area's lines.
fn area(line: &str) -> Option<Range<usize>> {
    let (first, end) = line.split_whitespace().next()?.split_once('-')?;
    let address = |text: &str| usize::from_str_radix(text, 16).ok();
    Some(address(first)?..address(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "7f0000000000-7f0000400000 rw-p 00000000 00:00 0\nSize: 4096 kB\nAnonHugePages:    2048 kB\n\
                         7f0000400000-7f0000600000 rw-p 00000000 00:00 0 [stack-like]\nAnonHugePages:    1024 kB\n";

    #[test]
    fn huge_pages_are_counted_where_the_memory_is() {
        assert_eq!(huge_bytes(SMAPS, &(0x7f00_0000_0000..0x7f00_0040_0000)), 2 << 20);
        assert_eq!(huge_bytes(SMAPS, &(0x7f00_003f_f000..0x7f00_0040_1000)), 3 << 20);
        assert_eq!(huge_bytes(SMAPS, &(0..0x7f00_0000_0000)), 0);
    }

    #[test]
    fn base_pages_are_base_pages() {
        let mut memory = memory(3 * HUGE, Pages::Base).unwrap();
        assert!(memory.words().iter().step_by(512).all(|&word| word == 1));
    }

    /// The flag is the process's, and threads of other tests have the same process.
    #[test]
    fn who_has_huge_pages_off_is_told_so() {
        match memory(HUGE, Pages::Huge) {
            Ok(_) => assert!(!transparent_huge_pages_are_disabled().unwrap()),
            Err(reason) => assert!(reason.contains("huge pages"), "{reason}"),
        }
    }
}
