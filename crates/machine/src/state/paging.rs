//! Paging, executed: which processors a flush reaches, what it ends, and who pays.

use crate::results::events::EventKind;
use crate::sections::serve;
use crate::state::primary_region;
use crate::state::shadow;
use crate::state::{Guest, MachineState, Processor};
use hypervisor::{
    Dma, DmaOutcome, FlushTlbs, FrameReclaim, NestedFaultOutcome, PageUnavailable, PagingCounts, ReclaimRequest,
};
use memory::{FrameRange, Host, HostMemory};
use mmu::{Fence, NestedFault};
use types::Gpa;

/// Every pCPU, and the code translated for all of them.
pub(crate) struct Shootdown<'w> {
    processors: &'w mut [Processor],
    memory: &'w HostMemory,
    foreign_writes: &'w mut Vec<(usize, usize)>,
    leave: &'w mut bool,
}

impl FlushTlbs for Shootdown<'_> {
    fn fence(&mut self, fence: &Fence) {
        for processor in &mut *self.processors {
            processor.mmu.fence(fence);
        }
        // The hart that runs holds more than its TLBs do; see `hypervisor::paging`.
        *self.leave = true;
    }

    fn forget_code(&mut self, frames: FrameRange) {
        if let Some(start) = self.memory.pointer(frames.start()) {
            self.foreign_writes.push((start.as_ptr() as usize, frames.bytes() as usize));
        }
    }
}

impl MachineState {
    /// The guests' devices, and frames for the guests, borrowed apart.
    pub(crate) fn apart(&mut self) -> (&mut [Guest], FrameReclaim<'_, Shootdown<'_>>) {
        let Host { memory, frames } = &mut self.host;
        let memory = &*memory;
        let processors = Shootdown {
            processors: &mut self.processors,
            memory,
            foreign_writes: &mut self.foreign_writes,
            leave: &mut self.leave,
        };
        let supply = FrameReclaim { memory, frames, vms: &mut self.vms, pager: self.pager.as_mut(), processors };
        (&mut self.guests, supply)
    }

    /// Lets a guest's devices at its memory, and settles what came of it.
    pub(crate) fn with_dma<T>(
        &mut self,
        guest: usize,
        act: impl FnOnce(&mut Guest, &Dma<'_, Shootdown<'_>>) -> T,
    ) -> T {
        let (guests, supply) = self.apart();
        let dma = Dma::new(supply, guest);
        let result = act(&mut guests[guest], &dma);
        let DmaOutcome { written, unavailable } = dma.finish();
        self.foreign_writes.extend(written);
        if let Some(unavailable) = unavailable {
            self.give_up(guest, unavailable);
        }
        let given_up = self.guests[guest].platform.take_given_up();
        if !given_up.is_empty() {
            self.discard(guest, given_up);
        }
        self.settle_paging();
        shadow::fence_if_due(self, guest);
        result
    }

    /// Handles a nested fault of the current guest: the hypervisor maps the page, or finds a device. `None`: the guest cannot go on.
    pub(crate) fn fill(&mut self, fault: &NestedFault) -> Option<NestedFaultOutcome> {
        let guest = self.current.guest;
        let outcome = match serve::fault(self, fault.gpa, fault.access) {
            Some(outcome) => outcome,
            None => self.apart().1.nested_fault(guest, fault.gpa, fault.access),
        };
        self.settle_paging();
        outcome.map_err(|unavailable| self.give_up(guest, unavailable)).ok()
    }

    /// Provides what the hypervisor's work on the current guest wants; false if the guest cannot go on.
    pub(crate) fn provide(&mut self, wanted: ReclaimRequest) -> bool {
        let guest = self.current.guest;
        let provided = match wanted {
            ReclaimRequest::Section { gpa, access } => match serve::fault(self, gpa, access) {
                Some(Ok(outcome)) => {
                    debug_assert_eq!(outcome, NestedFaultOutcome::Mapped, "whether there is a page was asked before");
                    Ok(())
                }
                Some(Err(unavailable)) => Err(unavailable),
                None => Ok(()),
            },
            ReclaimRequest::Page { .. } | ReclaimRequest::Frames(_) => self.apart().1.provide(guest, wanted),
        };
        self.settle_paging();
        provided.map_err(|unavailable| self.give_up(guest, unavailable)).is_ok()
    }

    /// Takes pages away if frames run short, before the hypervisor takes some for tables.
    pub(crate) fn keep_reserve(&mut self) {
        if self.pager.is_some() {
            self.apart().1.keep_reserve();
            self.settle_paging();
        }
    }

    /// Frames of a guest that has ended are for the others.
    pub(crate) fn release(&mut self, guest: usize) {
        self.apart().1.release(guest);
        self.settle_paging();
    }

    /// Whether the hart that runs has to leave; if so, it does.
    pub(crate) fn take_leave(&mut self) -> bool {
        std::mem::take(&mut self.leave)
    }

    /// A guest's balloon gave pages up. Fixed memory stays the guest's all the same.
    fn discard(&mut self, guest: usize, pages: Vec<Gpa>) {
        primary_region::hot_add(self, guest, &pages);
        let ballooned = self.apart().1.discard(guest, pages);
        self.charge_paging(&PagingCounts { ballooned, ..PagingCounts::default() });
    }

    fn give_up(&mut self, guest: usize, unavailable: PageUnavailable) {
        self.exhausted.get_or_insert((guest, unavailable));
        self.leave = true;
    }

    /// Charges the current processor for what the pager did.
    fn settle_paging(&mut self) {
        let Some(pager) = &mut self.pager else { return };
        let counts = pager.take_counts();
        if counts == PagingCounts::default() {
            return;
        }
        // A page that came in took long: the hart's turn is over, as others may be earlier now.
        self.leave |= counts.in_ > 0;
        self.ran_short |= counts.taken() > 0;
        self.charge_paging(&counts);
    }

    fn charge_paging(&mut self, counts: &PagingCounts) {
        let cycles = self.costs.paging(counts);
        self.note_spending(self.current.processor, cycles, EventKind::Paging(*counts));
        let processor = self.processor();
        processor.paging.add(counts);
        processor.hypervisor += cycles;
    }
}
