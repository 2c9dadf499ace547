//! Random updates inside a section: what granularity does for the TLB (the paper, "Alpha Granularity Hint Regions").

use super::VlmError;
use super::mappers::{AT, Mappers, Sharing};
use hypervisor::WalkMemory;
use memory::registry::Granularities;
use mmu::{Mmu, MmuConfig, MmuStatistics, SecondStage};
use types::{Access, Cycles, Gva, TranslationContext, Vmid};

/// What one run met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GupsMisses {
    /// Updates made.
    pub updates: u64,
    /// What was counted.
    pub statistics: MmuStatistics,
}

/// Makes `updates` updates at random places of a section of `bytes` bytes that is mapped by pages of `sizes`, by a guest that translates nothing itself. Every place is as likely; the sequence is the
/// same each time.
///
/// # Errors
/// [`VlmError`].
pub fn gups(bytes: u64, updates: u64, sizes: Granularities, processor: &MmuConfig) -> Result<GupsMisses, VlmError> {
    let mut mappers = Mappers::new(bytes, Sharing::Shared, sizes, 1, Cycles(0))?;
    mappers.start()?;
    let Some(table) = mappers.first() else { return Err(VlmError::Section(bytes)) };
    let second = SecondStage::Nested { mode: table.mode(), root: table.root() };
    let mut mmu = Mmu::new(processor)?;
    mmu.set_context(&TranslationContext::default(), Vmid(1));
    let mut memory = WalkMemory::new(&mappers.host().memory);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for stamp in 1..=updates {
        // Marsaglia's xorshift, 13, 7, 17.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let gva = Gva(AT.0 + random % (bytes / 8) * 8);
        // All of a preallocated section is valid.
        mmu.access(&mut memory, &second, gva, Access::Write, stamp).map_err(|_fault| VlmError::Section(bytes))?;
    }
    Ok(GupsMisses { updates, statistics: *mmu.statistics() })
}
