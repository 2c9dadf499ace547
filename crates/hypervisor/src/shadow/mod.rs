//! Shadow tables, one or many, and the Multi-Shadow Assist (Umeno et al. 1985).
//!
//! The guest's own table is walked by no hardware: the processor walks a shadow table, which the hypervisor composes from it and from the
//! host's mapping, one entry for each `fault`. TLB entries have the guest's ASIDs, so that TLBs behave as they do natively.
//!
//! | file | mechanism |
//! |---|---|
//! | `config`, `guest` | what is chosen; what the machine calls |
//! | `fill` | a fault becomes an entry, or the guest's own fault |
//! | `derive` | the entries of an address space, all at once: a guest that goes on with a snapshot |
//! | `switch`, `tables` | a write to `satp` selects the table of another address space; one may have to be stolen |
//! | `invalidate` | fences, where tables are kept coherent by them |
//! | `write_protect` | stores to guest tables, where tables are kept coherent by those |
//! | `pptlb` | the paper's PPTLB, with and without its handshake |
//! | `reverse` | which entries map a page of the guest |
//! | `share` | leaf tables of sections, linked |
//! | `steps`, `routines.S` | what maintenance takes, by the instructions of its routines |
//! | `statistics` | what is counted |
//! | `agile` | agile paging: a part of the guest's table is walked nested |
//! | `check` | whether every entry is allowed |
//!
//! # TLBs and tables
//! Frames of tables are free only when the TLBs, with their walk caches, have been fenced. With [`Coherence::WriteProtect`] a translation
//! that permits stores is in a TLB only while it is in a table: then write-protecting what the tables map protects the page.

mod agile;
mod audit;
mod check;
mod config;
mod derive;
mod fill;
mod guest;
mod guest_page;
mod guest_tables;
mod invalidate;
mod pptlb;
mod reader;
mod reverse;
mod share;
mod statistics;
mod steps;
mod switch;
mod tables;
mod write_protect;

pub use agile::{AgileConfig, AgileStatistics, Back, Start, StatusUpdates};
pub use audit::{Problem, Violation};
pub use config::{Assist, Clear, Coherence, Invalidation, ShadowConfig, Tables};
pub use fill::{ShadowFault, ShadowFaultOutcome};
pub use invalidate::GuestFence;
pub use statistics::{Activity, ShadowStatistics, ShadowTime, ShadowWork, Way, Work, WorkDone};

use crate::exits::ExitReason;
use crate::section::SectionManager;
use crate::table::ShadowFormat;
use crate::vm::VmMemory;
use agile::Agile;
use audit::Audit;
use guest_tables::GuestTables;
use memory::{FrameRange, Host, OutOfFrames};
use mmu::{Fence, SecondStage};
use reverse::ReverseMap;
use tables::{BARE, TableSet};
use types::{Asid, Gpa, Privilege, TranslationContext, Vmid};

/// The TLBs of the VM's processors, walk caches among them.
pub trait Tlbs {
    /// Does `fence` on the processor where the guest exited.
    fn fence_here(&mut self, fence: &Fence);

    /// Does `fence` on every processor where the guest runs.
    fn fence_everywhere(&mut self, fence: &Fence);
}

/// A vCPU that has left the guest, and what its exit is handled with.
struct Exited<'x, T> {
    vm: &'x mut VmMemory,
    host: &'x mut Host,
    tlbs: &'x mut T,
    hart: usize,
    /// What there is of sections, on a host that has any.
    sections: Option<&'x mut SectionManager>,
}

/// Work on shadow tables that came from an exit or an assist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The exit's reason, if it was one.
    pub reason: ExitReason,
    /// What was done.
    pub work: Work,
}

/// A vCPU, as far as tables are concerned.
#[derive(Clone, Debug)]
struct Vcpu {
    /// What its guest translates in.
    context: TranslationContext,
    /// The table that the hardware walks for it.
    table: usize,
    /// The second stage that goes with it.
    second: SecondStage,
}

/// The shadow tables of one VM.
#[derive(Debug)]
pub struct Shadow {
    config: ShadowConfig,
    vmid: Vmid,
    tables: TableSet,
    harts: Vec<Vcpu>,
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
    /// Of a guest under agile paging.
    agile: Option<Box<Agile>>,
}

impl Shadow {
    /// Tables that map nothing, for a guest whose harts do not translate yet.
    pub(crate) fn new(
        host: &mut Host,
        vm: &VmMemory,
        config: ShadowConfig,
        format: &'static dyn ShadowFormat,
    ) -> Result<Self, OutOfFrames> {
        let tables = TableSet::new(host, vm.ram().end.max(config.sections_end), config.tables, config.harts, format)?;
        let second = tables.list[BARE].shape.second_stage();
        let hart = Vcpu { context: TranslationContext::default(), table: BARE, second };
        let agile = config.agile.and_then(|agile| Agile::new(agile, vm, config.harts));
        let mut shadow = Self {
            config,
            vmid: vm.vmid(),
            tables,
            harts: vec![hart; config.harts],
            reverse: ReverseMap::new(vm.ram()),
            guest_tables: GuestTables::new(config.agile.as_ref()),
            statistics: ShadowStatistics::default(),
            audit: config.check.then(Box::default),
            budget: config.budget(vm.ram().end.0 - vm.ram().start.0 + config.section_bytes),
            cleared: 0,
            agile: agile.map(Box::new),
        };
        shadow.show_roots();
        Ok(shadow)
    }

    /// The second stage of a hart's translations.
    #[inline(never)]
    pub(crate) fn second_stage(&self, hart: usize) -> SecondStage {
        self.harts[hart].second.clone()
    }

    /// What the hardware is to translate in for hart `hart`: the shadow table under the guest's ASID. A guest that does not translate runs as
    /// a supervisor on the table of guest physical addresses.
    fn hardware_context(&self, hart: usize) -> TranslationContext {
        let Vcpu { context, table, .. } = &self.harts[hart];
        if self.agile.is_some() {
            // Hardware knows the guest's root as well as the shadow table's.
            return *context;
        }
        let shape = &self.tables.list[*table].shape;
        if *table == BARE {
            let (mode, root, privilege) = (shape.mode(), Gpa(0), Privilege::Supervisor);
            return shape.context(&TranslationContext { mode, root, asid: Asid(0), privilege, sum: false, mxr: false });
        }
        shape.context(context)
    }

    /// Everything that TLBs have of the VM: its addresses are never bare for the hardware.
    const fn everything(&self) -> Fence {
        Fence::Vvma { vmid: self.vmid, gva: None, asid: None }
    }

    fn event(&mut self, reason: ExitReason, work: Work) -> Event {
        self.statistics.steps += work.steps;
        self.statistics.work.add_event(work.activity, work.steps);
        Event { reason, work }
    }
}

/// Gives frames of tables back, which no TLB or walk cache leads to any more.
fn free(host: &mut Host, frames: &[FrameRange]) {
    for &range in frames {
        host.frames.give_back(range, "a shadow table");
    }
}

#[cfg(test)]
mod tests;
