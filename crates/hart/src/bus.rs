//! What a hart needs of the world around it.
//!
//! A load or store first tries the *hit path*: [`Bus::read_hit`] or [`Bus::write_hit`], inlined into the handler of the
//! micro-op, with a *view* that stays in a machine register and a *predicted slot*, the micro-op's memory of where it hit last. Where that
//! fails, the *miss path* does whatever it takes and asks for another try, or completes the access itself.

use crate::{
    Transfer, Trap,
    code::models::StateOffsets,
    host_page::HostPage,
    report::{Outstanding, Report, Reports},
};
use types::{Access, Asid, Gva, TranslationContext, Width};

/// What the hit path of loads and stores keeps in a register; only the bus looks inside.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct DataView(pub *mut u8);

/// What the hit path of fetches keeps in a register; only the bus looks inside.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct CodeView(pub *mut u8);

/// What the hit path keeps of modelled caches: as much as it takes to see that an access changes nothing in them.
pub trait CacheLines: Copy {
    /// Where compiled code finds the state of the models; `None` where nothing is modelled, or where compiled code does not look at it.
    const STATE: Option<StateOffsets>;

    /// Whether the line of the byte at `at`, which a load or store has hit, is the one of its set that was used last: using it again has no
    /// effect and costs nothing. Where nothing is modelled, always.
    ///
    /// # Safety
    /// The lines came from [`Bus::lines`] of a bus that is alive, and `at` lies in its memory.
    unsafe fn data_is_latest(self, at: *const u8) -> bool;

    /// Whether the line of the byte at `at`, which a fetch has hit, is the one of its set that was used last. Where nothing is modelled, always.
    ///
    /// # Safety
    /// As for [`Self::data_is_latest`].
    unsafe fn code_is_latest(self, at: *const u8) -> bool;
}

/// No caches are modelled.
#[derive(Clone, Copy, Debug)]
pub struct NoCaches;

impl CacheLines for NoCaches {
    const STATE: Option<StateOffsets> = None;

    #[inline(always)]
    unsafe fn data_is_latest(self, _: *const u8) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn code_is_latest(self, _: *const u8) -> bool {
        true
    }
}

/// Why the miss path of an access did not end well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// It raises an exception.
    Trap(Trap),
    /// Nothing of it has happened, and the hart leaves [`run`](crate::Hart::run), as on an exit to a hypervisor: pages may have moved, so that
    /// what it holds of them, such as where the page lies that it executes from, is void. The instruction is executed when it runs again.
    Leave,
}

impl From<Trap> for Stop {
    fn from(trap: Trap) -> Self {
        Self::Trap(trap)
    }
}

/// How the miss path of a load ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loaded {
    /// The same access hits now.
    Retry,
    /// The bus did the load itself (a device, or a misaligned access): the value, zero-extended.
    Value(u64),
}

/// How the miss path of a store ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stored {
    /// The same access hits now.
    Retry,
    /// The bus did the store itself. The bytes of the pages given, if any, held code: their translations must go.
    Done([Option<HostPage>; 2]),
    /// The bus did the store itself, to a device, and pages may have moved: the hart leaves as for [`Stop::Leave`], but behind the store.
    DoneAndLeave,
}

/// How the miss path of an atomic operation ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reached {
    /// The same access hits now.
    Retry,
    /// The operation may be done there, this once: nothing was cached. There are as many bytes as it is wide, to read and write.
    Once(*mut u8),
}

/// A page of instructions found for a fetch.
#[derive(Clone, Copy, Debug)]
pub struct Fetched {
    /// Where the 4 KiB page lies in the host's memory.
    pub page: HostPage,
    /// The fetch side's predicted slot.
    pub predicted: u16,
}

/// Whether a bus has to know which instruction its calls are made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sites {
    /// It does not: [`Bus::at`] is never called.
    Unneeded,
    /// It does: [`Bus::at`] comes before each miss of a load, store or atomic operation, and before what else an instruction does to translation.
    Needed,
}

/// `sfence.vma`, with its operands; `None` means `x0`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fence {
    /// Only translations of this address.
    pub gva: Option<Gva>,
    /// Only translations of this address space (and no global ones).
    pub asid: Option<Asid>,
}

/// Where the fields of a view's entries lie, for compiled code, which makes the comparison of the hit path itself.
///
/// An access at `address` hits the entry at `view + (predicted << shift)` if `address - base`, modulo 2^64, is less than the limit of its kind and width, and it is
/// aligned where it has to be. Then the entry's stamp becomes the time of the access, zero-extended (the upper half is always 0), and the byte lies at `host + (address - base)`. Each field has 64
/// bits; offsets are in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryLayout {
    /// Binary logarithm of an entry's size.
    pub shift: u8,
    /// The first address that it translates, with which a page begins.
    pub base: usize,
    /// Where the byte there lies.
    pub host: usize,
    /// The time of the latest hit.
    pub stamp: usize,
    /// The limits of loads, in a row: of 8, 4, 2 and 1 bytes.
    pub loads: usize,
    /// The limits of aligned stores, likewise.
    pub stores: usize,
    /// The limits of stores, aligned or not, that the hart may make without a look at what code it has translated, likewise: those of stores, or all 0
    /// ([`Bus::allow_plain_stores`]). `None`: it looks at each store.
    pub plain_stores: Option<usize>,
    /// Whether loads hit wherever stores hit, so that the limit of stores tells for both.
    pub loads_hit_with_stores: bool,
    /// Whether loads and plain stores have to be aligned as well.
    pub is_aligned: bool,
}

impl EntryLayout {
    /// Where the limit of accesses of so many bytes lies.
    pub(crate) fn limit(&self, limit: Limit, bytes: i8) -> usize {
        let row = match limit {
            Limit::Loads => self.loads,
            Limit::Stores => self.stores,
            Limit::PlainStores => self.plain_stores.unwrap_or(self.stores),
        };
        row + (3 - bytes.trailing_zeros() as usize) * size_of::<u64>()
    }

    /// Whether accesses of so many bytes that are compared with the limit have to be aligned.
    pub(crate) fn aligns(&self, limit: Limit, bytes: i8) -> bool {
        bytes > 1 && (self.is_aligned || limit == Limit::Stores)
    }

    /// What loads are compared with first, or stores.
    pub(crate) const fn first(&self, stores: bool) -> Limit {
        match (stores, self.plain_stores) {
            (false, _) => Limit::Loads,
            (true, None) => Limit::Stores,
            (true, Some(_)) => Limit::PlainStores,
        }
    }
}

/// Which limit of an entry an access is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Limit {
    Loads,
    Stores,
    /// The page holds no translated code.
    PlainStores,
}

/// Memory, devices, translation and time, as a hart sees them.
pub trait Bus {
    /// How compiled code does what [`read_hit`](Self::read_hit) and [`write_hit`](Self::write_hit) do. `None` where it does not, and nothing is
    /// compiled.
    const ENTRY: Option<EntryLayout> = None;

    /// Whether compiled code does what [`fetch_hit`](Self::fetch_hit) does: the entries of a code view are as [`ENTRY`](Self::ENTRY) says, loads being fetches,
    /// and a hit takes its stamp from [`fetch_clock`](Self::fetch_clock). Elsewhere compiled code does not leave its page.
    const FETCHES: bool = false;

    /// Whether the engines [report](crate::report) instructions. Where they do, they call [`report`](Self::report) in the place of
    /// [`use_line`](Self::use_line).
    const REPORTS: Reports = Reports::None;

    /// Whether the hart calls [`at`](Self::at). It is a constant, so that a bus without this need has no code for it.
    const SITES: Sites = Sites::Unneeded;

    /// What the hit path keeps of modelled caches; [`NoCaches`] costs it nothing.
    type Lines: CacheLines;

    /// The caches of the pCPU that the hart is on.
    fn lines(&mut self) -> Self::Lines;

    /// A load, store or fetch uses the line of the byte at `at`, and it is not known that this changes nothing. What the bus completes itself,
    /// on the miss path, uses its lines there. Fetches come where [`CodeCache::with_fetch_lines`](crate::CodeCache::with_fetch_lines) asked.
    fn use_line(&mut self, at: *const u8, access: Access);

    /// What follows is of the instruction at `pc`, which follows `retired` others in this [`run`](crate::Hart::run). Called only where
    /// [`SITES`](Self::SITES) asks for it.
    fn at(&mut self, pc: u64, retired: u64);

    /// Something of the instruction that follows `retired` others in this [`run`](crate::Hart::run); what is outstanding then.
    fn report(&mut self, retired: u64, report: Report) -> Outstanding;

    /// The view for loads and stores in the context set last.
    fn data_view(&mut self) -> DataView;

    /// The view for fetches in the context set last.
    fn code_view(&mut self) -> CodeView;

    /// Where the time of the latest fetch that hit is kept: one more is the time of the next. Valid as long as the view; asked only where
    /// [`FETCHES`](Self::FETCHES) says so.
    fn fetch_clock(&mut self) -> *mut u64 {
        std::ptr::null_mut()
    }

    /// The time of the latest access so far, for the accumulator. The bus keeps it below 2^31, so that a run does not wrap it.
    fn stamp(&mut self) -> u32;

    /// The time of the latest access, after a run.
    fn set_stamp(&mut self, stamp: u32);

    /// Where the bytes of a load lie, if the entry at `predicted` translates it. `stamp` is the time of the access.
    ///
    /// # Safety
    /// `view` is of the current context and `predicted` was handed out by this bus (or another of the same configuration).
    unsafe fn read_hit(view: DataView, predicted: u16, address: u64, width: Width, stamp: u32) -> Option<*const u8>;

    /// Where the bytes of a store or atomic operation lie, if the entry at `predicted` translates it.
    ///
    /// # Safety
    /// As for [`Bus::read_hit`].
    unsafe fn write_hit(view: DataView, predicted: u16, address: u64, width: Width, stamp: u32) -> Option<*mut u8>;

    /// Whether the fetch entry at `predicted` translates `address` to `page`.
    ///
    /// # Safety
    /// As for [`Bus::read_hit`], with a code view.
    unsafe fn fetch_hit(&mut self, view: CodeView, predicted: u16, address: u64, page: HostPage) -> bool;

    /// Stores that hit the entry at `predicted` are plain from now on, if it translates one page of 4 KiB, of whose first byte in the host `is_plain` says that
    /// the page holds no translated code. Only where [`ENTRY`](Self::ENTRY) has limits of plain stores.
    ///
    /// # Safety
    /// As for [`Bus::read_hit`].
    unsafe fn allow_plain_stores(_view: DataView, _predicted: u16, _is_plain: impl FnOnce(*const u8) -> bool) {}

    /// The page holds translated code from now on: no store to it is plain. Only where [`ENTRY`](Self::ENTRY) has limits of plain stores.
    fn code_appears(&mut self, _page: HostPage) {}

    /// A load that missed: translates and fills, or loads. Updates `predicted`.
    ///
    /// # Errors
    /// The exception that the load raises, or [`Stop::Leave`].
    fn load_miss(&mut self, address: u64, width: Width, predicted: &mut u16, stamp: u32) -> Result<Loaded, Stop>;

    /// A store that missed: translates and fills, or stores. Updates `predicted`.
    ///
    /// # Errors
    /// The exception that the store raises, or [`Stop::Leave`].
    fn store_miss(
        &mut self,
        address: u64,
        width: Width,
        value: u64,
        predicted: &mut u16,
        stamp: u32,
    ) -> Result<Stored, Stop>;

    /// An aligned LR (`access` is read), SC or AMO (`access` is write) that missed.
    ///
    /// # Errors
    /// The exception that the operation raises; a device is an access fault. Or [`Stop::Leave`].
    fn atomic_miss(
        &mut self,
        address: u64,
        width: Width,
        access: Access,
        predicted: &mut u16,
        stamp: u32,
    ) -> Result<Reached, Stop>;

    /// Translates a fetch.
    ///
    /// # Errors
    /// The exception that the fetch raises, or [`Stop::Leave`].
    fn fetch(&mut self, address: u64) -> Result<Fetched, Stop>;

    /// The hart translates in another context from now on: the hart must get new views.
    fn set_context(&mut self, context: &TranslationContext);

    /// Orders the guest's table writes before later translations.
    fn fence(&mut self, fence: Fence);

    /// Hands over what was written to memory, since the last call, by others than harts (devices): where, and how many bytes.
    fn foreign_writes(&mut self, written: &mut dyn FnMut(*const u8, usize));

    /// `time`, given the instructions that the hart has retired in this [`run`](crate::Hart::run) so far.
    fn time(&mut self, retired: u64) -> u64;

    /// `cycle`, given the same.
    fn cycle(&mut self, retired: u64) -> u64;

    /// The level of the hart's external interrupt. Asked only where the hart has it pending: what has been claimed since is pending no more. One
    /// that is raised reaches the hart by [`Hart::set_pending`](crate::Hart::set_pending), once its caller has charged for it.
    fn external_interrupt(&mut self) -> bool;

    /// The counter whose CSR is this many behind `cycle`, given the same; `None` if there is none. Asked only of a hart with
    /// [`zihpm`](crate::Isa::zihpm).
    fn counter(&mut self, counter: u32, retired: u64) -> Option<u64>;

    /// The hart calls, returns, takes a trap or returns from one. Called only of a hart that [tells](crate::Hart::tell_transfers) it, before
    /// anything else of what follows the transfer.
    fn transfer(&mut self, _: Transfer) {}

    /// A trap was taken fewer than [`NESTED_TRAP_INSTRUCTIONS`](crate::NESTED_TRAP_INSTRUCTIONS) after another: the bus charges the time that
    /// it takes. Returns how many instructions take as long, which the trap uses up of the budget.
    fn nested_trap(&mut self) -> u32;
}
