//! What happens in a run that translation depends on.

use types::{Access, Asid, Gva, TranslationContext, Width};

/// Words of 8 bytes in a page of a table.
pub const TABLE_WORDS: usize = 512;

/// How an access ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ends {
    /// It is made.
    Done,
    /// The guest takes an exception.
    Fault,
}

/// Why a hart leaves at the end of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaves {
    /// Its budget of instructions is used up.
    Budget,
    /// An SBI call, with `a0` to `a7`.
    Call([u64; 8]),
    /// `wfi`.
    Wait,
    /// A marker.
    Marker(u16),
    /// The time of the next timer interrupt has changed.
    TimerSet,
}

/// What a hart has done since the recording began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Instructions retired.
    pub instructions: u64,
    /// Loads.
    pub loads: u64,
    /// Stores, atomic operations among them.
    pub stores: u64,
    /// Page faults that user mode took.
    pub page_faults: u64,
    /// Instructions from such a fault to the return from it.
    pub page_fault_instructions: u64,
}

impl Counts {
    /// All of them, in the order of the file.
    #[must_use]
    pub const fn all(&self) -> [u64; 5] {
        [self.instructions, self.loads, self.stores, self.page_faults, self.page_fault_instructions]
    }
}

/// One event. Pages are of 4 KiB, and named by number: an address divided by 4096.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// Accesses of one kind to one page, which no access of the same side (data, or instructions) to another page interrupts.
    Access {
        /// Their kind.
        access: Access,
        /// The page's number in guest virtual memory.
        page: u64,
        /// How they end. One that faults is alone.
        ends: Ends,
    },
    /// A load from a page of the guest's tables.
    TableLoad {
        /// Its address.
        gva: Gva,
        /// Its width.
        width: Width,
        /// What it found.
        value: u64,
    },
    /// A store to a page of the guest's tables.
    TableStore {
        /// Its address.
        gva: Gva,
        /// Its width.
        width: Width,
        /// What it wrote.
        value: u64,
    },
    /// A load-reserved, store-conditional or atomic operation on a page of the guest's tables.
    TableAtomic {
        /// Its address, a multiple of its width.
        gva: Gva,
        /// Its width: four or eight bytes.
        width: Width,
        /// What translation takes it for.
        access: Access,
        /// What was there before.
        before: u64,
        /// What was there behind it.
        after: u64,
    },
    /// A page of guest physical memory has become one of the guest's tables, with this content.
    TablePage {
        /// The page's number in guest physical memory.
        page: u64,
        /// Its content.
        words: Box<[u64; TABLE_WORDS]>,
    },
    /// The hart translates in another context.
    Context(TranslationContext),
    /// `sfence.vma`.
    Fence {
        /// Only translations of this address.
        gva: Option<Gva>,
        /// Only translations of this address space.
        asid: Option<Asid>,
    },
    /// A trap taken just behind another one.
    NestedTrap,
    /// A device has interrupted a hart: the hypervisor exits for it. It comes behind the end of a turn.
    Interrupt {
        /// Number of the pCPU that the hart is on.
        pcpu: u8,
    },
    /// A hart begins a turn.
    Begin {
        /// Its number.
        hart: u8,
    },
    /// The hart ends its turn.
    End {
        /// Why.
        leaves: Leaves,
        /// What it has done since the recording began.
        counts: Counts,
    },
}

/// What a recording says of itself at its end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Events in all frames.
    pub events: u64,
    /// Instructions of all harts.
    pub instructions: u64,
    /// Whether the guest has read the time, or has had a timer.
    pub used_time: bool,
}
