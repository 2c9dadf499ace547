//! What the processor says of its data TLBs (CPUID).

use crate::pages::Pages;

/// A level of a data TLB, as the processor describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SystemTlb {
    /// Its level, from 1 on.
    pub level: u32,
    /// The pages that it holds.
    pub pages: Pages,
    /// How many of them.
    pub entries: u64,
}

/// What CPUID returns for a leaf.
#[derive(Clone, Copy, Debug, Default)]
struct Answer {
    eax: u32,
    ebx: u32,
    ecx: u32,
    edx: u32,
}

/// Those of this processor; none where it does not say.
#[cfg(target_arch = "x86_64")]
pub(super) fn find() -> Vec<SystemTlb> {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    described(|leaf, subleaf| {
        // The first leaf of a range has the number of its last one.
        if leaf > __cpuid(leaf & 0x8000_0000).eax {
            return Answer::default();
        }
        let answer = __cpuid_count(leaf, subleaf);
        Answer { eax: answer.eax, ebx: answer.ebx, ecx: answer.ecx, edx: answer.edx }
    })
}

/// Other processors do not have the instruction.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn find() -> Vec<SystemTlb> {
    Vec::new()
}

/// By what CPUID returns for a leaf and a subleaf. AMD's processors describe their TLBs in two extended leaves, Intel's in leaf 0x18; the leaves of the other are zero.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only these processors have the instruction"))]
fn described(cpuid: impl Fn(u32, u32) -> Answer) -> Vec<SystemTlb> {
    // AMD64 Architecture Programmer's Manual volume 3, appendix E.4.4 and E.4.5, leaves 0x8000_0005 and 0x8000_0006: data TLBs for 2M and for 4K pages.
    let level_of_amd = |leaf: u32, level: u32, mask: u32| {
        let Answer { eax, ebx, .. } = cpuid(leaf, 0);
        let of = |register: u32, pages| SystemTlb { level, pages, entries: u64::from(register >> 16 & mask) };
        [of(eax, Pages::Huge), of(ebx, Pages::Base)]
    };
    let amd = level_of_amd(0x8000_0005, 1, 0xff).into_iter().chain(level_of_amd(0x8000_0006, 2, 0xfff));
    // Intel 64 and IA-32 Architectures SDM volume 2A, CPUID, leaf 0x18: deterministic address translation parameters.
    let last = cpuid(0x18, 0).eax;
    let intel = (0..=last.min(64)).flat_map(|subleaf| {
        let Answer { ebx, ecx, edx, .. } = cpuid(0x18, subleaf);
        let (kind, level, ways, sets) = (edx & 31, edx >> 5 & 7, ebx >> 16, ecx);
        // Loads: a data TLB (1), one of loads alone (4), or one for instructions and data (3).
        let holds_loads = matches!(kind, 1 | 3 | 4);
        [(0, Pages::Base), (1, Pages::Huge)].into_iter().filter_map(move |(bit, pages)| {
            let entries = u64::from(ways) * u64::from(sets);
            (holds_loads && ebx >> bit & 1 != 0).then_some(SystemTlb { level, pages, entries })
        })
    });
    amd.chain(intel).filter(|tlb| tlb.entries > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tlb(level: u32, pages: Pages, entries: u64) -> SystemTlb {
        SystemTlb { level, pages, entries }
    }

    /// An EPYC of 2022, as a virtual machine sees it.
    #[test]
    fn an_epyc_describes_both_levels() {
        let answers = |leaf, _| match leaf {
            0x8000_0005 => Answer { eax: 0xff48_ff40, ebx: 0xff48_ff40, ..Answer::default() },
            0x8000_0006 => Answer { eax: 0x5c00_2200, ebx: 0x6c00_4200, ecx: 0x0400_6140, edx: 0x0a00_9140 },
            _ => Answer::default(),
        };
        let both = [(Pages::Huge, 72, 1), (Pages::Base, 72, 1), (Pages::Huge, 3072, 2), (Pages::Base, 3072, 2)];
        assert_eq!(described(answers), both.map(|(pages, entries, level)| tlb(level, pages, entries)));
    }

    /// The form of Intel's answers: a data TLB for 4K pages of 16 sets and 4 ways, one of stores alone, and a second level for both sizes.
    #[test]
    fn deterministic_address_translation_is_read() {
        let answers = |leaf, subleaf| match (leaf, subleaf) {
            (0x18, 0) => Answer { eax: 3, ..Answer::default() },
            (0x18, 1) => Answer { eax: 0, ebx: 4 << 16 | 1, ecx: 16, edx: 1 << 5 | 1 },
            (0x18, 2) => Answer { eax: 0, ebx: 16 << 16 | 15, ecx: 1, edx: 1 << 5 | 5 },
            (0x18, 3) => Answer { eax: 0, ebx: 12 << 16 | 3, ecx: 128, edx: 2 << 5 | 3 },
            _ => Answer::default(),
        };
        let expected = [tlb(1, Pages::Base, 64), tlb(2, Pages::Base, 1536), tlb(2, Pages::Huge, 1536)];
        assert_eq!(described(answers), expected);
    }

    #[test]
    fn this_processor_has_levels_or_says_nothing() {
        assert!(find().iter().all(|tlb| (1..=4).contains(&tlb.level) && tlb.entries < 1 << 20), "{:?}", find());
    }
}
