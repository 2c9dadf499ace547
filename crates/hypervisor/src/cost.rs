//! What events cost in cycles of a pCPU.

use crate::exits::{ExitCounts, ExitReason};
use crate::paging::PagingCounts;
use crate::section::SectionWork;
use crate::shadow::{Way, Work};
use keys::{KeyFacts, key, model};
use memory::section::FileCounts;
use types::Cycles;

/// A number of cycles.
const fn cycles(about: &'static str) -> KeyFacts {
    key(about).unit("cycles")
}

/// The cost of a nested trap in a model that was written before the key existed.
const fn default_nested_trap() -> Cycles {
    Cycles(100)
}

model! {
    /// `[prices]` of a host model: what events cost, in cycles. The model says where each comes from.
    #[derive(Copy, Eq, Default)]
    pub struct Prices {
        pub l2_tlb_hit: Cycles => cycles("an L1 TLB miss that the L2 TLB answers"),
        pub table_reference: Cycles => cycles("a table entry read in a walk"),
        pub refill_entry: Cycles => cycles(
            "from the guest to the refill routine, where software refills the TLBs: the entry of the firmware mode"
        ),
        pub refill_exit: Cycles => cycles("from the refill routine to the guest"),
        pub exit: Cycles => cycles("from guest to hypervisor").virtual_only(),
        pub entry: Cycles => cycles("from hypervisor to guest").virtual_only(),
        pub nested_fault: Cycles => cycles("the hypervisor's work, beside exit and entry, to map a page on demand"),
        pub mmio: Cycles => cycles("the hypervisor's work, beside exit and entry, to emulate an access to a device's register").virtual_only(),
        pub sbi_call: Cycles => cycles("the hypervisor's work, beside exit and entry, to answer an SBI call").virtual_only(),
        pub wfi: Cycles => cycles("the hypervisor's work, beside exit and entry, to put a waiting processor to sleep").virtual_only(),
        pub external_interrupt: Cycles => cycles("the hypervisor's work, beside exit and entry, to inject an interrupt").virtual_only(),
        pub firmware_call: Cycles => cycles("an SBI call of a guest without a hypervisor, answered by firmware"),
        // A trap that takes no time would stop the clock of a guest that does nothing but trap.
        #[serde(default = "default_nested_trap")]
        pub nested_trap: Cycles => cycles(
            "a trap within the guest that follows another without a handler's instructions between them"
        ).number(1, 1_000_000),
        pub page_out: Cycles => cycles(
            "the hypervisor's work to take a base page away for want of frames; the device's writing goes on beside it"
        ),
        pub page_in: Cycles => cycles("the hypervisor's work to bring a page back, and the wait for the device to read it"),
        pub monitor_step: Cycles => cycles("a step of the hypervisor's maintenance of shadow tables, or of sections"),
        pub assist_entry: Cycles => cycles("from guest to the host's firmware mode, for an assist").virtual_only(),
        pub assist_exit: Cycles => cycles("from the firmware mode back to the guest, after an assist").virtual_only(),
        pub assist_step: Cycles => cycles("a step of an assist").virtual_only(),
    }
}

/// What each event of a guest costs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CostTable {
    /// An L1 TLB miss that the L2 TLB answers.
    pub l2_tlb_hit: Cycles,
    /// A table entry read in a walk.
    pub table_reference: Cycles,
    page_out: Cycles,
    page_in: Cycles,
    /// The hypervisor's work to take a page that a balloon gave up.
    discard: Cycles,
    /// Entry and exit of the hardware mode for one refill by software.
    pub refill: Cycles,
    /// A trap within the guest that follows another without a handler's instructions between them; no exit.
    pub nested_trap: Cycles,
    /// What the work on shadow tables costs.
    shadow: ShadowPrices,
    by_reason: [Cycles; ExitReason::ALL.len()],
}

impl CostTable {
    /// For guests in a virtual machine: an event is an exit, the hypervisor's work for it, and an entry.
    #[must_use]
    pub fn virtualized(prices: &Prices) -> Self {
        Self::new(prices, |reason| {
            let work = match Event::of(reason) {
                Event::SbiCall => prices.sbi_call,
                Event::Wait => prices.wfi,
                Event::NestedFault => prices.nested_fault,
                Event::Device => prices.mmio,
                Event::Interrupt => prices.external_interrupt,
                // Charged as work, by what there is to do.
                Event::Shadow => return Cycles(0),
            };
            prices.exit + work + prices.entry
        })
    }

    /// For a guest that has the host to itself: firmware answers its SBI calls, and nothing else leaves it.
    #[must_use]
    pub fn native(prices: &Prices) -> Self {
        Self::new(prices, |reason| match Event::of(reason) {
            Event::SbiCall => prices.firmware_call,
            Event::Wait | Event::NestedFault | Event::Device | Event::Interrupt | Event::Shadow => Cycles(0),
        })
    }

    fn new(prices: &Prices, of: impl Fn(ExitReason) -> Cycles) -> Self {
        Self {
            l2_tlb_hit: prices.l2_tlb_hit,
            table_reference: prices.table_reference,
            page_out: prices.page_out,
            page_in: prices.page_in,
            // An edit of the table, as it takes to map one: assumed.
            discard: prices.nested_fault,
            refill: prices.refill_entry + prices.refill_exit,
            nested_trap: prices.nested_trap,
            shadow: ShadowPrices {
                exit: prices.exit + prices.entry,
                fill: prices.nested_fault,
                monitor_step: prices.monitor_step,
                assist: prices.assist_entry + prices.assist_exit,
                assist_step: prices.assist_step,
            },
            by_reason: ExitReason::ALL.map(of),
        }
    }

    /// The cost of one event.
    #[must_use]
    pub const fn of(&self, reason: ExitReason) -> Cycles {
        self.by_reason[reason as usize]
    }

    /// The cost of taking pages away and bringing them back, beside that of the faults which asked for it.
    #[must_use]
    pub fn paging(&self, counts: &PagingCounts) -> Cycles {
        self.page_out * counts.taken() + self.page_in * counts.in_ + self.discard * counts.ballooned
    }

    /// The cost of work on shadow tables, with that of the exit and the entry if it took one.
    #[must_use]
    pub fn of_shadow(&self, work: &Work) -> Cycles {
        let prices = &self.shadow;
        let switch = match work.way {
            Way::Assist => prices.assist + prices.assist_step * work.steps,
            Way::Exit => prices.exit + prices.monitor_step * work.steps,
            Way::Within => prices.monitor_step * work.steps,
        };
        switch + self.table_reference * work.references + prices.fill * work.filled
    }

    /// The cost of a request concerning sections.
    #[must_use]
    pub fn of_section(&self, work: &SectionWork) -> Cycles {
        self.shadow.monitor_step * work.steps()
    }

    /// The cost of moving pages between memory and the files of sections, beside that of the faults which asked for it.
    #[must_use]
    pub fn pages_of_files(&self, files: FileCounts) -> Cycles {
        self.page_in * files.reads + self.page_out * files.writes
    }

    /// The cost of all events counted, without what shadow tables took: the time in the hypervisor, or in firmware.
    #[must_use]
    pub fn hypervisor_time(&self, counts: &ExitCounts) -> Cycles {
        counts.iter().map(|(reason, count)| self.of(reason) * count).sum()
    }
}

/// What the work on shadow tables costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ShadowPrices {
    /// Exit and entry.
    exit: Cycles,
    /// To fill a page of the host on the way.
    fill: Cycles,
    monitor_step: Cycles,
    /// To and from the hardware mode.
    assist: Cycles,
    assist_step: Cycles,
}

/// What reasons have in common as to their cost.
enum Event {
    SbiCall,
    Wait,
    NestedFault,
    Device,
    Interrupt,
    Shadow,
}

impl Event {
    const fn of(reason: ExitReason) -> Self {
        match reason {
            ExitReason::SbiBase
            | ExitReason::SbiTime
            | ExitReason::SbiIpi
            | ExitReason::SbiRfence
            | ExitReason::SbiHsm
            | ExitReason::SbiReset
            | ExitReason::SbiConsole
            | ExitReason::SbiPmu
            | ExitReason::SbiSuspend
            | ExitReason::SbiFeatures
            | ExitReason::SbiStealTime
            | ExitReason::SbiParavirtual
            | ExitReason::SbiAbsent => Self::SbiCall,
            ExitReason::Wfi | ExitReason::PauseLoop | ExitReason::ReservationWait => Self::Wait,
            ExitReason::NestedFault => Self::NestedFault,
            ExitReason::ShadowFault | ExitReason::TableWrite | ExitReason::Satp | ExitReason::Fence => Self::Shadow,
            ExitReason::Mmio => Self::Device,
            ExitReason::ExternalInterrupt | ExitReason::Timer | ExitReason::SliceEnd => Self::Interrupt,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICES: Prices = Prices {
        l2_tlb_hit: Cycles(7),
        table_reference: Cycles(20),
        refill_entry: Cycles(30),
        refill_exit: Cycles(9),
        exit: Cycles(100),
        entry: Cycles(200),
        nested_fault: Cycles(1),
        mmio: Cycles(2),
        sbi_call: Cycles(3),
        wfi: Cycles(4),
        external_interrupt: Cycles(5),
        firmware_call: Cycles(6),
        nested_trap: Cycles(8),
        page_out: Cycles(1000),
        page_in: Cycles(100_000),
        monitor_step: Cycles(1),
        assist_entry: Cycles(10),
        assist_exit: Cycles(11),
        assist_step: Cycles(2),
    };

    #[test]
    fn a_virtual_machine_pays_for_exit_work_and_entry() {
        let costs = CostTable::virtualized(&PRICES);
        let of = |reason| costs.of(reason).0;
        assert_eq!([of(ExitReason::NestedFault), of(ExitReason::Mmio), of(ExitReason::SbiTime)], [301, 302, 303]);
        assert_eq!(costs.refill, Cycles(39));
        assert_eq!([of(ExitReason::Wfi), of(ExitReason::ExternalInterrupt), of(ExitReason::Timer)], [304, 305, 305]);
        let mut counts = ExitCounts::default();
        counts.count(ExitReason::Wfi);
        counts.count(ExitReason::Wfi);
        counts.count(ExitReason::Mmio);
        assert_eq!(costs.hypervisor_time(&counts), Cycles(2 * 304 + 302));
    }

    #[test]
    fn each_page_taken_or_brought_back_has_its_price() {
        let counts = PagingCounts { out: 1, clean: 2, zero: 3, in_: 4, ballooned: 5 };
        assert_eq!(CostTable::virtualized(&PRICES).paging(&counts), Cycles(6 * 1000 + 4 * 100_000 + 5));
    }

    #[test]
    fn a_native_guest_pays_for_firmware_only() {
        let costs = CostTable::native(&PRICES);
        let priced: Vec<_> = ExitReason::ALL.into_iter().filter(|&reason| costs.of(reason) != Cycles(0)).collect();
        assert!(priced.iter().all(|&reason| costs.of(reason) == Cycles(6) && reason.name().starts_with("sbi")));
        assert_eq!(priced.len(), 13);
    }
}
