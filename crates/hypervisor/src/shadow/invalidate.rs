//! A guest's fences, where shadow tables are kept coherent by them: what is invalidated in which tables.
//!
//! | fence | `selective`, `conventional` | `full` |
//! |---|---|---|
//! | no operand (Purge TLB) | every table that is selected | the same |
//! | address space | the tables of that ASID | every table that is selected |
//! | address, perhaps with ASID | its entry in every table of that ASID, or in all | every table that is selected |
//!
//! With one table for each vCPU, a fence concerns those of the processors that it is made for. What the guest's fence says is
//! done to the TLBs besides, by the machine; only where tables have pieces of larger pages, or everything goes, more is fenced here.

use super::statistics::{Activity, Way, Work};
use super::steps::{self, Entered, Selective};
use super::tables::BARE;
use super::{Assist, Coherence, Event, Invalidation, Shadow, Tables, Tlbs};
use crate::exits::ExitReason;
use crate::table::Removed;
use crate::vm::VmMemory;
use memory::{Host, HostMemory};
use mmu::Fence;
use types::{Asid, Gva};

/// A fence that a guest made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuestFence<'f> {
    /// The addresses; `None` for all.
    pub pages: Option<&'f [Gva]>,
    /// The address space; `None` for all.
    pub asid: Option<Asid>,
    /// Whether it came as a call, which has exited already.
    pub remote: bool,
}

impl Shadow {
    /// Makes the tables of `harts` do what `fence` says, before TLBs do. `None` if there is nothing to do.
    pub(super) fn fence(
        &mut self,
        vm: &VmMemory,
        host: &Host,
        tlbs: &mut impl Tlbs,
        harts: impl Fn(usize) -> bool,
        fence: &GuestFence<'_>,
    ) -> Option<Event> {
        if self.config.coherence == Coherence::WriteProtect {
            return None;
        }
        let selective = self.config.invalidation != Invalidation::Full;
        let asid = fence.asid.filter(|_| selective);
        let tables: Vec<usize> = (0..self.tables.list.len())
            .filter(|&table| match self.config.tables {
                Tables::Multiple(_) => table != BARE,
                Tables::Single => table != BARE && harts(table - 1),
            })
            .filter(|&table| asid.is_none_or(|asid| self.tables.list[table].key.is_some_and(|key| key.asid == asid)))
            .collect();
        let event = match fence.pages {
            Some(pages) if selective => self.invalidate_pages(&host.memory, tlbs, &tables, pages, fence),
            pages => {
                if !selective {
                    // What is invalidated in full takes the TLB with it (section 3.1).
                    self.flush(tlbs, fence.remote, &self.everything());
                }
                let activity = if pages.is_some() { Activity::Pptlb } else { Activity::PurgeTlb };
                let entered = if fence.remote { None } else { Some(Entered::Instruction) };
                self.purge(&host.memory, &tables, activity, entered)
            }
        };
        let unlinked = self.tables.list.iter_mut().map(|table| table.shape.take_unlinked());
        if unlinked.filter(|&unlinked| unlinked).count() > 0 {
            tlbs.fence_everywhere(&self.everything());
        }
        self.verify(vm, &host.memory, &tables, fence.pages, fence.asid);
        Some(event)
    }

    fn invalidate_pages(
        &mut self,
        memory: &HostMemory,
        tlbs: &mut impl Tlbs,
        tables: &[usize],
        pages: &[Gva],
        fence: &GuestFence<'_>,
    ) -> Event {
        let (mut removed, mut references) = (Removed::default(), 0);
        for &table in tables {
            if !self.may_be_valid(table) {
                continue;
            }
            let shape = &mut self.tables.list[table].shape;
            for &page in pages {
                removed.add(shape.invalidate(memory, page, &|_| true));
                references += u64::from(shape.levels());
            }
        }
        if removed.pieces {
            self.flush(tlbs, fence.remote, &Fence::Vvma { vmid: self.vmid, gva: None, asid: fence.asid });
        }
        self.statistics.selective += 1;
        self.statistics.entries_touched += removed.touched;
        let assisted = self.config.assist == Assist::MultiShadow && !fence.remote;
        self.statistics.assisted_invalidations += u64::from(assisted);
        let (way, exit) = match (assisted, fence.remote) {
            (true, _) => (Way::Assist, 0),
            (false, true) => (Way::Within, 0),
            (false, false) => (Way::Exit, steps::exit(Entered::Instruction)),
        };
        let Removed { touched, cleared, .. } = removed;
        let done = Selective { tables: tables.len() as u64, references, touched, cleared };
        let work = Work::new(Activity::Pptlb, way, exit + done.steps(), references);
        self.event(ExitReason::Fence, work)
    }

    /// Invalidates `tables` in full, or those of them that may hold anything; by an exit, unless control was in the hypervisor already.
    pub(super) fn purge(
        &mut self,
        memory: &HostMemory,
        tables: &[usize],
        activity: Activity,
        entered: impl Into<Option<Entered>>,
    ) -> Event {
        let mut touched = 0;
        for &table in tables {
            if !self.may_be_valid(table) {
                continue;
            }
            self.statistics.double += u64::from(!self.tables.list[table].selected);
            touched += self.clear_entries(memory, table);
        }
        let (way, exit) = entered.into().map_or((Way::Within, 0), |entered| (Way::Exit, steps::exit(entered)));
        let steps = exit + steps::full(tables.len() as u64, touched, self.config.clear);
        self.event(ExitReason::Fence, Work::new(activity, way, steps, 0))
    }

    /// Whether a full invalidation has to look at a table: with the selection flag, only if it was selected since the one before.
    pub(super) fn may_be_valid(&self, table: usize) -> bool {
        self.tables.list[table].selected || !self.config.selection_flag
    }

    /// Invalidates one table in full; returns how many entries were looked at.
    pub(super) fn clear_entries(&mut self, memory: &HostMemory, table: usize) -> u64 {
        let in_use = self.harts.iter().any(|hart| hart.table == table);
        let chosen = &mut self.tables.list[table];
        let removed = chosen.shape.clear(memory);
        // What a hart uses may be valid again at once.
        chosen.selected = in_use;
        self.statistics.full += 1;
        self.statistics.entries_touched += removed.touched;
        self.forget_guest_tables(table);
        removed.touched
    }

    /// Invalidates one table in full because it changes hands; returns how many entries were looked at.
    pub(super) fn clear_table(&mut self, host: &Host, table: usize) -> u64 {
        self.clear_entries(&host.memory, table)
    }

    /// Fences the TLBs that a guest's fence is for: its own, or, if it came as a call, all.
    pub(super) fn flush(&self, tlbs: &mut impl Tlbs, everywhere: bool, fence: &Fence) {
        if everywhere { tlbs.fence_everywhere(fence) } else { tlbs.fence_here(fence) }
    }
}
