//! What is chosen of a VM's shadow tables.

use super::agile::AgileConfig;
use mmu::SoftwareRules;
use types::{Gpa, PageSize};

/// How many shadow tables a VM has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tables {
    /// One for each vCPU, invalidated in full at each switch.
    Single,
    /// Up to this many, one for each address space.
    Multiple(usize),
}

/// What keeps shadow tables coherent with the guest's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coherence {
    /// The guest's fences: a shadow table is a TLB in software.
    Fence,
    /// The hypervisor sees every store to a table of the guest.
    WriteProtect,
}

/// How the invalidation of a page, or of an address space, is simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalidation {
    /// By invalidating every table in full.
    Full,
    /// As the paper's conventional system does (section 3.3.1): in full where the instruction names a real page, which PPTLB does, and
    /// otherwise by invalidating what it names.
    Conventional,
    /// By invalidating what the fence names.
    Selective,
}

/// How a full invalidation clears entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clear {
    /// One at a time.
    Stores,
    /// By an instruction that clears a cache block.
    Blocks,
}

/// What the host's hardware mode does without an exit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assist {
    /// Nothing.
    None,
    /// VM-Assist: validations.
    VmAssist,
    /// The Multi-Shadow Assist besides: selective invalidations, and switches to tables that are there.
    MultiShadow,
}

/// Everything that is chosen of a VM's shadow tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShadowConfig {
    /// How many.
    pub tables: Tables,
    /// What keeps them coherent.
    pub coherence: Coherence,
    /// What a fence invalidates.
    pub invalidation: Invalidation,
    /// How a full invalidation clears entries.
    pub clear: Clear,
    /// What takes no exit.
    pub assist: Assist,
    /// Whether a table that was not selected since it was invalidated is spared the next full invalidation.
    pub selection_flag: bool,
    /// vCPUs of the VM. There are at least as many tables as these.
    pub harts: usize,
    /// How the guest's tables are to be read.
    pub rules: SoftwareRules,
    /// Where the last of the VM's sections ends; 0 without any.
    pub sections_end: Gpa,
    /// Bytes of sections that it maps.
    pub section_bytes: u64,
    /// Whether entries are checked after each fence, and can be at any time (`Vm::check_shadow`).
    pub check: bool,
    /// Agile paging: tables of the guest that change often are walked nested. Tables are then kept by write-protection.
    pub agile: Option<AgileConfig>,
}

impl ShadowConfig {
    /// Microseconds of guest time after which [`Vm::end_shadow_interval`](crate::Vm::end_shadow_interval) is due, again and again.
    #[must_use]
    pub fn interval_us(&self) -> Option<u64> {
        self.agile.map(|agile| agile.interval_us).filter(|&interval| interval > 0)
    }

    /// The most frames that tables take, for RAM of this many bytes.
    pub(super) const fn budget(&self, ram_bytes: u64) -> u64 {
        let tables = 1 + match self.tables {
            Tables::Single => self.harts,
            Tables::Multiple(count) => count,
        } as u64;
        // Each table may map all of RAM, up to eight do; and each may have a few tables for what is scattered.
        let full = if tables < 8 { tables } else { 8 };
        ram_bytes.div_ceil(PageSize::Size2M.bytes()) * full + 128 * tables
    }

    /// Host memory for tables, in bytes.
    #[must_use]
    pub const fn host_bytes(&self, ram_bytes: u64) -> u64 {
        self.budget(ram_bytes) * PageSize::Size4K.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shadow::{Back, Start, StatusUpdates};
    use mmu::AdPolicy;

    fn config(tables: Tables, harts: usize) -> ShadowConfig {
        ShadowConfig {
            tables,
            coherence: Coherence::Fence,
            invalidation: Invalidation::Selective,
            clear: Clear::Stores,
            assist: Assist::None,
            selection_flag: true,
            harts,
            rules: SoftwareRules { ad: AdPolicy::Fault, svnapot: true },
            sections_end: Gpa(0),
            section_bytes: 0,
            check: false,
            agile: None,
        }
    }

    #[test]
    fn up_to_eight_tables_have_room_for_all_of_ram_and_each_for_a_few_more() {
        // RAM of 5M takes three last-level tables. The table for a guest that does not translate is one more.
        let frames = |tables, harts| config(tables, harts).budget(5 << 20);
        assert_eq!(frames(Tables::Single, 2), 3 * 3 + 128 * 3);
        assert_eq!(frames(Tables::Multiple(7), 2), 8 * 3 + 128 * 8);
        assert_eq!(frames(Tables::Multiple(20), 2), 8 * 3 + 128 * 21);
        assert_eq!(config(Tables::Single, 2).host_bytes(5 << 20), 4096 * (3 * 3 + 128 * 3));
    }

    #[test]
    fn intervals_are_those_of_agile_paging_and_none_where_they_have_no_length() {
        let every = |interval_us| {
            let (start, back, status) = (Start::Shadow, Back::Reset, StatusUpdates::Exit);
            let agile = AgileConfig { threshold: 2, interval_us, start, back, root_cache: 0, status };
            ShadowConfig { agile: Some(agile), ..config(Tables::Multiple(4), 2) }.interval_us()
        };
        assert_eq!((every(0), every(500)), (None, Some(500)));
        assert_eq!(config(Tables::Multiple(4), 2).interval_us(), None);
    }
}
