//! A recording in the place of a hart: its events are done to the machine, as the hart's run would do them (docs/record.md).
//!
//! Nothing is executed, and of the guest's memory only its tables have their content. An event that ends in another way than it did where it was
//! recorded ends the replay: the guest would not do under this configuration what it did there.

use super::bytes::{read_bytes, write_bytes};
use super::reached::Reached;
use crate::parts::recorder::SLOTS;
use crate::state::MachineState;
use crate::state::recording::{counts_of, page_at};
use hart::{Bus, Counts, DataView, Exit, Fence, Hart, Loaded, Stop, Stored};
use hypervisor::ExitReason;
use recording::{Content, Decoder, Ends, Event, Leaves, Position, ReadError, Reader};
use std::io::{Read, Seek};
use types::{Access, Gva, TranslationContext, Width};

/// How often an access is made again for which the hart would have left.
const MOST_LEAVES: u32 = 64;

/// More instructions than a turn has.
const MOST_IN_TURN: u64 = 1 << 17;

/// What a marker ends a replay with that has failed. What the guest itself ended with is not looked at then.
const FAILED: u16 = 0x1ff;

const A0: u8 = 10;

/// A file that a recording is read from.
pub trait Source: Read + Seek + Send {}

impl<T: Read + Seek + Send> Source for T {}

/// Why a replay has ended before the recording.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The recording cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It ends before the guest does.
    #[error("the recording ends before its guest")]
    Ends,
    /// Its events do not fit together.
    #[error("event {event}: {problem}")]
    Nonsense {
        /// Number of the event, from 0 on.
        event: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The guest would go on in another way.
    #[error("the guest would not run as recorded: event {event}: {difference}; compare runs it")]
    Diverged {
        /// Number of the event, from 0 on.
        event: u64,
        /// What is different.
        difference: String,
    },
}

/// Why an event could not be done: what is different.
type Difference = String;

/// A recording that is replayed.
pub(crate) struct Player {
    reader: Reader<Box<dyn Source>>,
    /// Number of the frame that is read next.
    next_frame: usize,
    frame: Content,
    at: Position,
    /// Events that were done.
    events: u64,
    /// Predicted slots of data entries, by the low bits of a page's number.
    slots: Box<[u16; SLOTS]>,
    context: Option<TranslationContext>,
    failed: Option<ReplayError>,
    rivals: u64,
}

impl Player {
    /// Begins at the beginning of the recording.
    pub(crate) fn new(reader: Reader<Box<dyn Source>>) -> Self {
        Self {
            reader,
            next_frame: 0,
            frame: Content::default(),
            at: Position::default(),
            events: 0,
            slots: Box::new([0; SLOTS]),
            context: None,
            failed: None,
            rivals: 0,
        }
    }

    /// Why the replay has ended early, if it has.
    pub(crate) fn take_failure(&mut self) -> Option<ReplayError> {
        self.failed.take()
    }

    /// How often an L1 was filled with a second entry for an address. A hart's predicted slots say which of them is used, and the recording does
    /// not have them: if this is not 0, counts may differ from those of a run.
    pub(crate) const fn rivals(&self) -> u64 {
        self.rivals
    }

    /// Does what the current hart did in its next turn; returns why it left.
    pub(crate) fn run(&mut self, hart: &mut Hart, state: &mut MachineState) -> Exit {
        // A failure is told once, and the guest has ended by then.
        self.turn(hart, state).unwrap_or_else(|error| {
            self.failed.get_or_insert(error);
            Exit::Marker(FAILED)
        })
    }

    fn turn(&mut self, hart: &mut Hart, state: &mut MachineState) -> Result<Exit, ReplayError> {
        match self.next(state)? {
            Event::Begin { hart } if usize::from(hart) == state.current.hart => {}
            Event::Begin { .. } => return Err(self.diverged("another hart has the turn")),
            _ => return Err(self.nonsense("it is in no turn")),
        }
        self.enter(state);
        loop {
            match self.next(state)? {
                Event::End { leaves, counts } => {
                    self.interrupts(state)?;
                    let before = counts_of(hart);
                    let rises =
                        |(count, before): (u64, u64)| count.checked_sub(before).is_some_and(|by| by <= MOST_IN_TURN);
                    let recording::Counts { instructions, loads, stores, page_faults, page_fault_instructions } =
                        counts;
                    // The instructions of a page fault count at its end, and it may take many turns.
                    let in_turn =
                        recording::Counts { page_fault_instructions: before.page_fault_instructions, ..counts };
                    if !in_turn.all().into_iter().zip(before.all()).all(rises)
                        || page_fault_instructions < before.page_fault_instructions
                        || page_fault_instructions > instructions
                    {
                        return Err(self.nonsense("no turn has so many instructions"));
                    }
                    hart.set_counts(Counts { instructions, loads, stores, page_faults, page_fault_instructions });
                    return Ok(self.leave(leaves, hart, state));
                }
                Event::Begin { .. } => return Err(self.nonsense("a turn begins in another")),
                event => self.act(&event, state)?,
            }
        }
    }

    /// The next event that is no access, once the accesses before it are made.
    fn next(&mut self, state: &mut MachineState) -> Result<Event, ReplayError> {
        loop {
            let mut decoder = Decoder::resume(&self.frame, self.at);
            let Made { events, rivals, different } = accesses(state, &mut decoder, &mut self.slots);
            self.events += events;
            self.rivals += rivals;
            if let Some(difference) = different {
                return Err(self.diverged(difference));
            }
            let next = decoder.next_event()?;
            self.at = decoder.position();
            match next {
                Some(event) => {
                    self.events += 1;
                    return Ok(event);
                }
                None => {
                    self.frame = self.reader.frame(self.next_frame)?.ok_or(ReplayError::Ends)?;
                    self.next_frame += 1;
                    self.at = Position::default();
                }
            }
        }
    }

    /// The hart translates in its context. It says so often, and each time a scheme may follow with its tables.
    fn enter(&self, state: &mut MachineState) {
        if let Some(context) = &self.context {
            state.set_context(context);
        }
    }

    /// Interrupts that came at the end of the turn.
    fn interrupts(&mut self, state: &mut MachineState) -> Result<(), ReplayError> {
        loop {
            let mut decoder = Decoder::resume(&self.frame, self.at);
            match decoder.next_event()? {
                Some(Event::Interrupt { pcpu }) if usize::from(pcpu) < state.processors.len() => {
                    self.at = decoder.position();
                    self.events += 1;
                    state.charge(usize::from(pcpu), state.current.guest, ExitReason::ExternalInterrupt);
                }
                Some(Event::Interrupt { .. }) => return Err(self.nonsense("there is no such processor")),
                Some(_) => return Ok(()),
                None => match self.reader.frame(self.next_frame)? {
                    Some(frame) => {
                        self.frame = frame;
                        self.next_frame += 1;
                        self.at = Position::default();
                    }
                    None => return Ok(()),
                },
            }
        }
    }

    fn leave(&self, leaves: Leaves, hart: &mut Hart, state: &mut MachineState) -> Exit {
        match leaves {
            Leaves::Budget => Exit::Budget,
            Leaves::Call(registers) => {
                for (number, register) in registers.into_iter().enumerate() {
                    hart.set_register(A0 + number as u8, register);
                }
                Exit::SupervisorCall
            }
            // The hart has waited, and does so no more in its next turn.
            Leaves::Wait => {
                state.charge_exit(ExitReason::Wfi);
                Exit::Budget
            }
            Leaves::Marker(number) => Exit::Marker(number),
            Leaves::TimerSet => Exit::TimerSet,
        }
    }

    fn act(&mut self, event: &Event, state: &mut MachineState) -> Result<(), ReplayError> {
        let misses = state.processor().mmu.statistics().l1d_misses;
        let mut filled = |state: &mut MachineState, gva: Gva, slot: u16| {
            self.rivals += u64::from(has_rival(state, misses, slot, gva));
        };
        let result = match event {
            Event::Access { access, page, ends: Ends::Fault } => {
                let result = fault(state, *access, *page);
                self.enter(state);
                result
            }
            Event::TableLoad { gva, width, value } => {
                load(state, (*gva, *width), *value).map(|slot| filled(state, *gva, slot))
            }
            Event::TableStore { gva, width, value } => {
                store(state, (*gva, *width), *value).map(|slot| filled(state, *gva, slot))
            }
            Event::TableAtomic { gva, width, access, before, after } => {
                atomic(state, (*gva, *width), *access, (*before, *after)).map(|slot| filled(state, *gva, slot))
            }
            Event::TablePage { page, words } => state
                .vm()
                .put_page(&state.host.memory, page_at(*page), words)
                .map_err(|error| format!("a table is at {:#x}, where {error}", page_at(*page).0)),
            Event::Context(context) => {
                self.context = Some(*context);
                self.enter(state);
                Ok(())
            }
            Event::Fence { gva, asid } => {
                state.fence(Fence { gva: *gva, asid: *asid });
                self.enter(state);
                Ok(())
            }
            Event::NestedTrap => {
                state.nested_trap();
                Ok(())
            }
            Event::Interrupt { .. } => return Err(self.nonsense("an interrupt is in a turn")),
            Event::Access { ends: Ends::Done, .. } | Event::Begin { .. } | Event::End { .. } => {
                return Err(self.nonsense("it is out of place"));
            }
        };
        result.map_err(|difference| self.diverged(difference))
    }

    fn diverged(&self, difference: impl Into<String>) -> ReplayError {
        ReplayError::Diverged { event: self.events.saturating_sub(1), difference: difference.into() }
    }

    fn nonsense(&self, problem: &'static str) -> ReplayError {
        ReplayError::Nonsense { event: self.events.saturating_sub(1), problem }
    }
}

/// What came of accesses.
struct Made {
    /// How many there were.
    events: u64,
    /// How many filled an L1 with a second entry for an address.
    rivals: u64,
    /// What was different.
    different: Option<Difference>,
}

/// Makes the accesses that come next.
fn accesses(state: &mut MachineState, decoder: &mut Decoder<'_>, slots: &mut [u16; SLOTS]) -> Made {
    let mut stamp = state.stamp();
    let view = state.data_view();
    let (mut made, mut rivals) = (0, 0);
    let mut different = None;
    while let Some((access, page)) = decoder.next_access() {
        made += 1;
        let address = page << 12;
        if access == Access::Execute {
            let misses = state.processor().mmu.statistics().l1i_misses;
            if let Err(difference) = fetch(state, address) {
                different = Some(difference);
                break;
            }
            let (slot, mmu) = (state.processor().fetch_slot, &state.processor().mmu);
            let filled = mmu.statistics().l1i_misses != misses;
            rivals += u64::from(filled && mmu.has_rival(usize::from(slot), Gva(address), Access::Execute));
            continue;
        }
        let slot = &mut slots[page as usize % SLOTS];
        stamp += 1;
        if hits(view, *slot, access, address, Width::Byte, stamp).is_some() {
            continue;
        }
        let misses = state.processor().mmu.statistics().l1d_misses;
        match reach(state, address, access, stamp) {
            Ok(Reached::Ram(found, _)) => {
                *slot = found;
                rivals += u64::from(has_rival(state, misses, found, Gva(address)));
            }
            Ok(Reached::Once(_)) => {}
            Ok(Reached::Device(_)) => state.charge_exit(ExitReason::Mmio),
            Err(()) => {
                different = Some(format!("{access:?} at {address:#x} faults"));
                break;
            }
        }
    }
    state.set_stamp(stamp);
    Made { events: made, rivals, different }
}

/// The host's byte of an access that the entry at `slot` answers.
#[inline(always)]
fn hits(view: DataView, slot: u16, access: Access, address: u64, width: Width, stamp: u32) -> Option<*mut u8> {
    // SAFETY: the view is of the current context, and the slot is 0 or was handed out by this machine.
    unsafe {
        match access {
            Access::Read => MachineState::read_hit(view, slot, address, width, stamp).map(<*const u8>::cast_mut),
            Access::Write | Access::Execute => MachineState::write_hit(view, slot, address, width, stamp),
        }
    }
}

/// Translates an access; an error is an exception of the guest. Where the hart would leave, it comes back.
fn reach(state: &mut MachineState, address: u64, access: Access, stamp: u32) -> Result<Reached, ()> {
    for _ in 0..MOST_LEAVES {
        match state.reach(address, access, stamp) {
            Ok(reached) => return Ok(reached),
            Err(Stop::Trap(_)) => return Err(()),
            Err(Stop::Leave) => {}
        }
    }
    Err(())
}

fn fetch(state: &mut MachineState, address: u64) -> Result<(), Difference> {
    for _ in 0..MOST_LEAVES {
        match state.fetch(address) {
            Ok(_) => return Ok(()),
            Err(Stop::Trap(_)) => break,
            Err(Stop::Leave) => {}
        }
    }
    Err(format!("a fetch at {address:#x} faults"))
}

/// An access that raised an exception where it was recorded.
fn fault(state: &mut MachineState, access: Access, page: u64) -> Result<(), Difference> {
    let address = page << 12;
    let made = match access {
        Access::Execute => fetch(state, address).is_ok(),
        Access::Read | Access::Write => {
            let stamp = next_stamp(state);
            match reach(state, address, access, stamp) {
                // The device refused.
                Ok(Reached::Device(_)) => {
                    state.charge_exit(ExitReason::Mmio);
                    false
                }
                Ok(Reached::Ram(..) | Reached::Once(_)) => true,
                Err(()) => false,
            }
        }
    };
    if made { Err(format!("{access:?} at {address:#x} does not fault")) } else { Ok(()) }
}

/// The time of the next access.
fn next_stamp(state: &mut MachineState) -> u32 {
    let stamp = state.stamp() + 1;
    state.set_stamp(stamp);
    stamp
}

/// Whether an access has filled an entry of the L1D, which had missed so often before it, beside another one for an address of its page.
fn has_rival(state: &mut MachineState, misses: u64, slot: u16, gva: Gva) -> bool {
    let mmu = &state.processor().mmu;
    mmu.statistics().l1d_misses != misses && mmu.has_rival(usize::from(slot), gva, Access::Read)
}

/// A load from a table: what it finds may depend on A and D bits, which schemes set at different times.
fn load(state: &mut MachineState, (gva, width): (Gva, Width), value: u64) -> Result<u16, Difference> {
    let stamp = next_stamp(state);
    let mut slot = 0;
    for _ in 0..MOST_LEAVES {
        let view = state.data_view();
        let found = match hits(view, slot, Access::Read, gva.0, width, stamp) {
            // SAFETY: aligned, in memory.
            Some(at) => unsafe { read_bytes(at, width.bytes()) },
            None => match state.load_miss(gva.0, width, &mut slot, stamp) {
                Ok(Loaded::Value(found)) => found,
                Ok(Loaded::Retry) | Err(Stop::Leave) => continue,
                Err(Stop::Trap(_)) => break,
            },
        };
        return same(gva, found, value).map(|()| slot);
    }
    Err(format!("a load from a table at {:#x} faults", gva.0))
}

fn same(gva: Gva, found: u64, recorded: u64) -> Result<(), Difference> {
    if found == recorded {
        return Ok(());
    }
    Err(format!("the table entry at {:#x} reads {found:#x}, and {recorded:#x} was recorded", gva.0))
}

fn store(state: &mut MachineState, (gva, width): (Gva, Width), value: u64) -> Result<u16, Difference> {
    let stamp = next_stamp(state);
    let mut slot = 0;
    for _ in 0..MOST_LEAVES {
        let view = state.data_view();
        if let Some(at) = hits(view, slot, Access::Write, gva.0, width, stamp) {
            // SAFETY: aligned, in memory.
            unsafe { write_bytes(at, width.bytes(), value) };
            return Ok(slot);
        }
        match state.store_miss(gva.0, width, value, &mut slot, stamp) {
            Ok(Stored::Done(_) | Stored::DoneAndLeave) => return Ok(slot),
            Ok(Stored::Retry) | Err(Stop::Leave) => {}
            Err(Stop::Trap(_)) => break,
        }
    }
    Err(format!("a store to a table at {:#x} faults", gva.0))
}

fn atomic(
    state: &mut MachineState,
    (gva, width): (Gva, Width),
    access: Access,
    (before, after): (u64, u64),
) -> Result<u16, Difference> {
    let stamp = next_stamp(state);
    let mut slot = 0;
    for _ in 0..MOST_LEAVES {
        let view = state.data_view();
        let at = match hits(view, slot, access, gva.0, width, stamp) {
            Some(at) => at,
            None => match state.atomic_miss(gva.0, width, access, &mut slot, stamp) {
                Ok(hart::Reached::Once(at)) => at,
                Ok(hart::Reached::Retry) | Err(Stop::Leave) => continue,
                Err(Stop::Trap(_)) => break,
            },
        };
        // SAFETY: aligned, in memory, and of this width.
        let found = unsafe { read_bytes(at, width.bytes()) };
        same(gva, found, before)?;
        if access == Access::Write {
            // SAFETY: as above.
            unsafe { write_bytes(at, width.bytes(), after) };
        }
        return Ok(slot);
    }
    Err(format!("an atomic operation on a table at {:#x} faults", gva.0))
}
