//! Shadow tables, one or many, and the Multi-Shadow Assist (Umeno et al. 1985).
//!
//! The guest's own table is walked by no hardware: the processor walks a shadow table, which the monitor composes from it and from the
//! host's mapping, one entry for each [`fault`](fill). TLB entries have the guest's ASIDs, so that TLBs behave as they do natively.
//!
//! | file | mechanism |
//! |---|---|
//! | `fill` | a fault becomes an entry, or the guest's own fault |
//! | `switch`, `tables` | a write to `satp` selects the table of another address space; one may have to be stolen |
//! | `invalidate` | fences, where tables are kept coherent by them |
//! | `write_protect` | stores to guest tables, where tables are kept coherent by those |
//! | `pptlb` | the paper's PPTLB, with and without its handshake |
//! | `reverse` | which entries map a page of the guest |
//! | `steps`, `statistics` | what upkeep takes, and what is counted |
//! | `check` | whether every entry is allowed |
//!
//! # TLBs and tables
//! Frames of tables are free only when the TLBs, with their walk caches, have been fenced. With [`Coherence::WriteProtect`] a translation
//! that permits stores is in a TLB only while it is in a table: then write-protecting what the tables map protects the page.

mod check;
mod fill;
mod invalidate;
mod pptlb;
mod reader;
mod reverse;
mod statistics;
pub mod steps;
mod switch;
mod tables;
mod write_protect;

pub use check::{Problem, Violation};
pub use fill::ShadowFaultOutcome;
pub use invalidate::GuestFence;
pub use statistics::{Activity, ShadowStatistics, ShadowTime, Way, Work};

use crate::exits::ExitReason;
use crate::table::Leaf;
use crate::vm::{Vm, Wanted};
use check::Audit;
use core::ops::Range;
use memory::{FrameRange, Host, HostMemory, OutOfFrames};
use mmu::{Fence, SoftwareRules};
use reverse::ReverseMap;
use tables::{BARE, TableSet};
use types::{Access, Asid, Gpa, Gva, PageSize, Privilege, TranslationContext, Vmid};
use write_protect::GuestTables;

/// How many shadow tables a VM has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tables {
    /// One for each logical processor, invalidated in full at each switch.
    Single,
    /// Up to so many, one for each address space.
    Multiple(usize),
}

/// What keeps shadow tables coherent with the guest's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coherence {
    /// The guest's fences: a shadow table is a TLB in software.
    Fence,
    /// The monitor sees every store to a table of the guest.
    WriteProtect,
}

/// How a fence with an address or an address space is simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalidation {
    /// By invalidating every table in full.
    Full,
    /// By invalidating what the fence names.
    Selective,
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
    /// What takes no exit.
    pub assist: Assist,
    /// Whether a table that was not selected since it was invalidated is spared the next full invalidation.
    pub selection_flag: bool,
    /// Logical processors of the VM. There are at least as many tables as these.
    pub harts: usize,
    /// How the guest's tables are to be read.
    pub rules: SoftwareRules,
    /// Whether entries are checked after each fence, and can be at any time (`Vm::check_shadow`).
    pub check: bool,
}

impl ShadowConfig {
    /// The most frames that tables take, for RAM of so many bytes.
    const fn budget(&self, ram_bytes: u64) -> u64 {
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

/// The TLBs of the VM's processors, walk caches among them.
pub trait Tlbs {
    /// Does `fence` on the processor where the guest exited.
    fn fence_here(&mut self, fence: &Fence);

    /// Does `fence` on every processor where the guest runs.
    fn fence_everywhere(&mut self, fence: &Fence);
}

/// Work on shadow tables that came from an exit or an assist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The exit's reason, if it was one.
    pub reason: ExitReason,
    /// What was done.
    pub work: Work,
}

/// A logical processor, as far as tables are concerned.
#[derive(Clone, Copy, Debug)]
struct Logical {
    /// What its guest translates in.
    context: TranslationContext,
    /// The table that the hardware walks for it.
    table: usize,
}

/// The shadow tables of one VM.
#[derive(Debug)]
pub struct Shadow {
    config: ShadowConfig,
    vmid: Vmid,
    tables: TableSet,
    harts: Vec<Logical>,
    reverse: ReverseMap,
    /// Empty unless they are write-protected.
    guest_tables: GuestTables,
    statistics: ShadowStatistics,
    /// Of a VM that is checked.
    audit: Option<Box<Audit>>,
    /// The most frames of tables.
    budget: u64,
    /// Entries that the switch under way has invalidated.
    cleared: u64,
}

impl Shadow {
    /// Tables that map nothing, for a guest whose harts do not translate yet.
    pub(crate) fn new(
        host: &mut Host,
        vmid: Vmid,
        ram: &Range<Gpa>,
        config: ShadowConfig,
    ) -> Result<Self, OutOfFrames> {
        let hart = Logical { context: TranslationContext::default(), table: BARE };
        Ok(Self {
            config,
            vmid,
            tables: TableSet::new(host, ram, config.tables, config.harts)?,
            harts: vec![hart; config.harts],
            reverse: ReverseMap::new(ram.start),
            guest_tables: GuestTables::default(),
            statistics: ShadowStatistics::default(),
            audit: config.check.then(Box::default),
            budget: config.budget(ram.end.0 - ram.start.0),
            cleared: 0,
        })
    }

    /// What the hardware is to translate in for hart `hart`: the shadow table under the guest's ASID. A guest that does not translate runs as
    /// a supervisor on the table of guest physical addresses.
    fn hardware_context(&self, hart: usize) -> TranslationContext {
        let Logical { context, table } = &self.harts[hart];
        let tree = &self.tables.list[*table].tree;
        let (mode, root) = (tree.mode(), Gpa(tree.root().0));
        if *table == BARE {
            let privilege = Privilege::Supervisor;
            return TranslationContext { mode, root, asid: Asid(0), privilege, sum: false, mxr: false };
        }
        TranslationContext { mode, root, ..*context }
    }

    /// Everything that TLBs have of the VM: its addresses are never bare for the hardware.
    const fn everything(&self) -> Fence {
        Fence::Vvma { vmid: self.vmid, gva: None, asid: None }
    }

    fn event(&mut self, reason: ExitReason, work: Work) -> Event {
        self.statistics.steps += work.steps;
        Event { reason, work }
    }
}

/// Gives frames of tables back, which no TLB or walk cache leads to any more.
fn free(host: &mut Host, frames: &[FrameRange]) {
    for &range in frames {
        let freed = host.frames.free(range);
        debug_assert!(freed.is_ok(), "tables own their frames");
    }
}

/// A guest with shadow tables. Each of these does nothing, or panics in a debug build, for a guest without.
impl Vm {
    /// Gives the guest shadow tables, before it runs.
    ///
    /// # Errors
    /// [`OutOfFrames`]: the host has no room for the roots.
    pub fn shadow_with(&mut self, host: &mut Host, config: ShadowConfig) -> Result<(), OutOfFrames> {
        self.shadow = Some(Box::new(Shadow::new(host, self.vmid(), &self.ram(), config)?));
        Ok(())
    }

    /// Whether the guest has shadow tables.
    #[inline]
    #[must_use]
    pub const fn is_shadowed(&self) -> bool {
        self.shadow.is_some()
    }

    /// What was counted of the guest's shadow tables.
    #[must_use]
    pub fn shadow_statistics(&self) -> Option<&ShadowStatistics> {
        self.shadow.as_ref().map(|shadow| &shadow.statistics)
    }

    /// Adds to the time that the upkeep of shadow tables took.
    pub fn spend_on_shadow(&mut self, activity: Activity, cycles: types::Cycles) {
        if let Some(shadow) = &mut self.shadow {
            shadow.statistics.time.spend(activity, cycles);
        }
    }

    /// Hart `hart` translates in `context` from now on: what the hardware is to translate in, and what that took.
    ///
    /// # Errors
    /// [`OutOfFrames`]: no room for a table.
    pub fn shadow_switch(
        &mut self,
        host: &mut Host,
        tlbs: &mut impl Tlbs,
        hart: usize,
        context: &TranslationContext,
    ) -> Result<Option<Event>, OutOfFrames> {
        self.with_shadow(|shadow, vm| shadow.switch(vm, host, tlbs, hart, context)).unwrap_or(Ok(None))
    }

    /// What the hardware is to translate in for hart `hart`.
    #[must_use]
    pub fn shadow_context(&self, hart: usize) -> Option<TranslationContext> {
        self.shadow.as_ref().map(|shadow| shadow.hardware_context(hart))
    }

    /// The shadow table refuses an access of hart `hart`.
    ///
    /// # Errors
    /// [`Wanted`]: what has to be provided before the fault can be handled.
    pub fn shadow_fault(
        &mut self,
        host: &mut Host,
        tlbs: &mut impl Tlbs,
        hart: usize,
        gva: Gva,
        access: Access,
    ) -> Result<(ShadowFaultOutcome, Option<Event>), Wanted> {
        self.with_shadow(|shadow, vm| shadow.fault(vm, host, tlbs, hart, gva, access))
            .unwrap_or(Ok((ShadowFaultOutcome::PageFault, None)))
    }

    /// The guest fences the address translation of `harts`. The tables do; the TLBs named by the fence are the caller's.
    pub fn shadow_fence(
        &mut self,
        host: &Host,
        tlbs: &mut impl Tlbs,
        harts: impl Fn(usize) -> bool,
        fence: &GuestFence<'_>,
    ) -> Option<Event> {
        self.with_shadow(|shadow, vm| shadow.fence(vm, host, tlbs, harts, fence))?
    }

    /// Takes every shadow entry away that maps part of `page`, the host's page at `gpa`: it is about to be unmapped. The TLBs are fenced with
    /// the [`Invalidation`](crate::Invalidation) of that, which is for everything that they have of the VM.
    pub(crate) fn drop_shadow_entries(&mut self, memory: &HostMemory, gpa: Gpa, page: &Leaf) {
        let Some(shadow) = &mut self.shadow else { return };
        for offset in (0..page.size.bytes()).step_by(PageSize::Size4K.bytes() as usize) {
            let hpa = page.page.wrapping_add(offset);
            for place in shadow.reverse.of(gpa.wrapping_add(offset)) {
                if shadow.tables.mapping(memory, place.table, place.gva, hpa).is_some() {
                    let _ = shadow.tables.list[place.table as usize].tree.invalidate(memory, place.gva, |_| true);
                }
            }
        }
    }

    /// Somebody else than a hart is about to store to `bytes` bytes at `gpa`.
    pub(crate) fn shadow_stored(&mut self, memory: &HostMemory, gpa: Gpa, bytes: u64) {
        if let Some(shadow) = &mut self.shadow {
            let mut page = gpa.page(PageSize::Size4K);
            while page.0 < gpa.0 + bytes {
                shadow.store_by_others(memory, page);
                page = page.wrapping_add(PageSize::Size4K.bytes());
            }
        }
    }

    /// What TLBs are to be fenced for after stores of others than harts, if anything.
    pub fn shadow_fence_due(&mut self) -> Option<Fence> {
        let shadow = self.shadow.as_mut()?;
        core::mem::take(&mut shadow.guest_tables.dropped).then(|| shadow.everything())
    }

    /// Does `work` on the shadow tables, with the rest of the VM at hand.
    fn with_shadow<T>(&mut self, work: impl FnOnce(&mut Shadow, &mut Self) -> T) -> Option<T> {
        let mut shadow = self.shadow.take()?;
        let done = work(&mut shadow, self);
        self.shadow = Some(shadow);
        Some(done)
    }
}

#[cfg(test)]
mod tests;
