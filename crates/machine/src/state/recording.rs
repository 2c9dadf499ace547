//! A run that is recorded: the guest's tables are found and their content is kept, and turns are marked.
//!
//! A page is one of the guest's tables from when an entry of another table leads to it, or a hart's root is there, whether or not a walk has read it:
//! a machine with smaller TLBs may walk where the recorded one did not.

use crate::parts::recorder::{Atomic, Recorder};
use crate::state::MachineState;
use devices::map::RAM_BASE;
use hart::{Counts, Exit, Hart, HostPage};
use hypervisor::sbi::Extension;
use recording::{Event, Leaves, TABLE_WORDS};
use types::{Access, Gpa, Gva, PagingMode, TranslationContext, Width};

const PAGE: u64 = 1 << 12;
const VALID: u64 = 1;
/// R, W and X: an entry without them leads to another table.
const LEAF: u64 = 0xe;
/// Bits of a page's number in an entry, and where they begin.
const PAGE_NUMBER: (u64, u32) = ((1 << 44) - 1, 10);

const A0: u8 = 10;

/// The recorder of a machine that has one.
#[inline(always)]
pub(crate) fn recorder(state: &mut MachineState) -> &mut Recorder {
    state.recorder.as_mut().expect("this machine is recorded")
}

/// The run cannot be replayed, if it is recorded.
pub(crate) fn write_note(state: &mut MachineState, why: &'static str) {
    if let Some(recorder) = &mut state.recorder {
        recorder.obstructed(why);
    }
}

/// Where a byte of this process lies in the guest's RAM, which a native machine has at the beginning of its memory.
#[inline]
fn offset(state: &MachineState, at: *const u8) -> u64 {
    (at as usize).wrapping_sub(state.host.memory.host_range().0 as usize) as u64
}

/// Whether a byte of this process lies in a table of the guest.
#[inline]
pub(crate) fn is_table(state: &mut MachineState, at: *const u8) -> bool {
    let offset = offset(state, at);
    recorder(state).tables.contains(offset)
}

/// The bytes of RAM at `offset`.
fn read(state: &MachineState, offset: u64, width: Width) -> u64 {
    let mut bytes = [0; 8];
    let used = &mut bytes[..width.bytes() as usize];
    // What is not in memory is no table.
    let _ = state.host.memory.read_slice(memory::HOST_BASE.wrapping_add(offset), used);
    u64::from_le_bytes(bytes)
}

/// What an access to the table at `at` finds, and where that is in RAM.
pub(crate) fn table_word(state: &MachineState, width: Width, at: *const u8) -> (u64, u64) {
    let offset = offset(state, at);
    (read(state, offset, width), offset)
}

/// An aligned load from a table, which is recorded.
pub(crate) fn load_from_table(state: &mut MachineState, address: u64, width: Width, at: *const u8) -> u64 {
    let (value, _) = table_word(state, width, at);
    let recorder = recorder(state);
    recorder.event(Event::TableLoad { gva: Gva(address), width, value });
    recorder.forget_data();
    value
}

/// A misaligned load has been made. Whether it was from tables alone, and is recorded as such.
pub(crate) fn table_load(state: &mut MachineState, address: u64, width: Width, value: u64) -> bool {
    let context = recorder(state).context.unwrap_or_default();
    let last = address.wrapping_add(width.bytes() - 1);
    let in_table = [address, last].iter().all(|&gva| {
        let guest = state.current.guest;
        let found = state.vms[guest].look_up(&state.host.memory, &context, Gva(gva));
        found.is_ok_and(|leaf| {
            let offset = (leaf.page.0 | Gva(gva).offset(leaf.size)).wrapping_sub(RAM_BASE.0);
            recorder(state).tables.contains(offset)
        })
    });
    if in_table {
        let recorder = recorder(state);
        recorder.event(Event::TableLoad { gva: Gva(address), width, value });
        recorder.forget_data();
    }
    in_table
}

/// A store has been made to `pages`. Whether one of them is a table, and the store is recorded as one to a table.
pub(crate) fn table_stored(
    state: &mut MachineState,
    address: u64,
    width: Width,
    value: u64,
    pages: [Option<HostPage>; 2],
) -> bool {
    let pages = pages.map(|page| page.map(|page| offset(state, page.start())));
    if !pages.iter().flatten().any(|&page| recorder(state).tables.contains(page)) {
        return false;
    }
    let recorder = recorder(state);
    recorder.event(Event::TableStore { gva: Gva(address), width, value });
    recorder.forget_data();
    let first = address % PAGE;
    let last = (first + width.bytes() - 1) % PAGE;
    // Where the store ends in the page that it begins in, that is also the last one.
    let end = pages[1].or(pages[0]);
    for (page, within) in [(pages[0], first), (end, last)] {
        if let Some(page) = page {
            written(state, page + within / 8 * 8);
        }
    }
    true
}

/// The atomic operation on a table that was begun is over.
#[cold]
#[inline(never)]
pub(crate) fn settle_atomic(state: &mut MachineState) {
    let Some(Atomic { gva, width, access, before, offset }) = recorder(state).atomic.take() else { return };
    let after = read(state, offset, width);
    recorder(state).event(Event::TableAtomic { gva, width, access, before, after });
    if access == Access::Write {
        written(state, offset / 8 * 8);
    }
}

/// A hart translates in another context from now on.
pub(crate) fn enter(state: &mut MachineState, context: &TranslationContext) {
    if context.mode != PagingMode::Bare {
        found(state, context.root.0.wrapping_sub(RAM_BASE.0), context.mode.levels() - 1);
    }
    let recorder = recorder(state);
    recorder.event(Event::Context(*context));
    recorder.forget_latest();
    recorder.context = Some(*context);
}

/// The entry of a table at `offset` has been written.
fn written(state: &mut MachineState, offset: u64) {
    let levels = recorder(state).tables.levels(offset);
    let entry = read(state, offset, Width::Double);
    for level in 1..u8::BITS {
        if levels >> level & 1 != 0
            && let Some(table) = next_table(entry)
        {
            found(state, table, level - 1);
        }
    }
}

/// The page of RAM at `offset` is a table of `level`, and those that its entries lead to are tables as well.
fn found(state: &mut MachineState, offset: u64, level: u32) {
    let mut waiting = vec![(offset / PAGE * PAGE, level)];
    while let Some((page, level)) = waiting.pop() {
        let Some(before) = recorder(state).tables.add(page, level) else { continue };
        let words: Box<[u64; TABLE_WORDS]> =
            Box::new(std::array::from_fn(|index| read(state, page + index as u64 * 8, Width::Double)));
        if level > 0 {
            waiting.extend(words.iter().filter_map(|&entry| next_table(entry)).map(|table| (table, level - 1)));
        }
        if before == 0 {
            let number = (RAM_BASE.0 + page) / PAGE;
            recorder(state).event(Event::TablePage { page: number, words });
            // The page may be the one that was accessed last, and is no longer accessed without being looked at.
            recorder(state).forget_data();
        }
    }
}

/// Where in RAM the table lies that an entry leads to, if it leads to one.
fn next_table(entry: u64) -> Option<u64> {
    let (mask, shift) = PAGE_NUMBER;
    let leads = entry & VALID != 0 && entry & LEAF == 0;
    leads.then(|| ((entry >> shift & mask) * PAGE).wrapping_sub(RAM_BASE.0))
}

/// The current hart begins a turn.
pub(crate) fn begin(state: &mut MachineState) {
    let hart = state.current.hart as u8;
    let recorder = recorder(state);
    // The hypervisor may have flushed TLBs since.
    recorder.forget_latest();
    recorder.event(Event::Begin { hart });
}

/// The current hart has ended its turn.
pub(crate) fn end(state: &mut MachineState, hart: &Hart, exit: Exit) {
    if recorder(state).atomic.is_some() {
        settle_atomic(state);
    }
    let leaves = match exit {
        Exit::Budget => Leaves::Budget,
        Exit::SupervisorCall => {
            let registers = std::array::from_fn(|number| hart.register(A0 + number as u8));
            called(recorder(state), &registers);
            Leaves::Call(registers)
        }
        Exit::Wait => Leaves::Wait,
        Exit::Marker(number) => Leaves::Marker(number),
        Exit::TimerSet => {
            recorder(state).used_time = true;
            Leaves::TimerSet
        }
        Exit::Pause | Exit::ReservationWait | Exit::Stopped(_) => {
            recorder(state).obstructed("a hart stops where it spins");
            Leaves::Budget
        }
    };
    recorder(state).event(Event::End { leaves, counts: counts_of(hart) });
}

/// What a hart has done, as a recording has it.
pub(crate) fn counts_of(hart: &Hart) -> recording::Counts {
    let Counts { instructions, loads, stores, page_faults, page_fault_instructions } = hart.counts();
    recording::Counts { instructions, loads, stores, page_faults, page_fault_instructions }
}

/// The guest makes an SBI call: whether what it does depends on more than its registers.
fn called(recorder: &mut Recorder, &[.., fid, eid]: &[u64; 8]) {
    const SET_TIMER: u64 = 0;
    const HART_SUSPEND: u64 = 3;
    let legacy_with_harts = 4..=7;
    match Extension::of(eid) {
        Some(Extension::Legacy) if eid == SET_TIMER => recorder.used_time = true,
        Some(Extension::Legacy) if legacy_with_harts.contains(&eid) => {
            recorder.obstructed("the guest makes legacy calls that read its memory");
        }
        Some(Extension::Time) => recorder.used_time = true,
        Some(Extension::Hsm) if fid == HART_SUSPEND => recorder.obstructed("the guest suspends a hart"),
        Some(Extension::Suspend) => recorder.obstructed("the guest suspends the system"),
        Some(Extension::Pmu) => recorder.obstructed("the guest uses performance counters"),
        Some(Extension::StealTime) => recorder.obstructed("the guest uses its steal time"),
        Some(Extension::Paravirtual) => recorder.obstructed("the guest makes paravirtual calls"),
        Some(
            Extension::Legacy
            | Extension::Base
            | Extension::Ipi
            | Extension::Rfence
            | Extension::Hsm
            | Extension::Reset
            | Extension::Console
            | Extension::Features,
        )
        | None => {}
    }
}

/// The page of guest physical memory of that number.
pub(crate) fn page_at(number: u64) -> Gpa {
    Gpa(number << 12)
}

const _: () = assert!(RAM_BASE.0 == memory::HOST_BASE.0, "a native machine has its RAM where the host's memory begins");
