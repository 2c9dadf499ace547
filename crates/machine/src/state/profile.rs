//! The machine's counters, as a profile reads them.

use super::introspection::{GuestKernel, kernel};
use crate::profile::{Counter, Counters, Ledger, Mark, Page, Rates, Reading, Waiting};
use crate::state::{MachineState, Waits};
use hart::Transfer;
use std::cell::Cell;
use types::{Access, Gva, TranslationContext};

/// What a pCPU has counted.
#[inline]
pub(crate) fn counters(state: &MachineState, pcpu: usize) -> Counters {
    let processor = &state.processors[pcpu];
    let caches = state.cache_statistics(pcpu);
    let core = state.core_statistics(pcpu);
    Counters::of(processor.mmu.statistics(), &processor.exits, processor.hypervisor, caches.as_ref(), core.as_ref())
}

/// The time that counters amount to, in a run that has counted `totals`. It is what [`MachineState::translation`] says.
pub(crate) fn rates(state: &MachineState, totals: &Counters) -> Rates {
    let millicycles = state.clock().millicycles_per_instruction;
    Rates {
        l2_hit: state.costs.l2_tlb_hit,
        reference: state.costs.table_reference,
        refill: state.costs.refill,
        millicycles: (totals.get(Counter::RefillInstructions) > 0).then_some(millicycles),
        waits: match state.waits(0) {
            Waits::Core(core) => Waiting::Core(core.width),
            Waits::Caches(_) => Waiting::Caches,
            Waits::Unmodelled => Waiting::References,
        },
    }
}

/// The books and a reading of a pCPU whose hart is of `guest`; `None` where nothing is profiled.
#[inline]
pub(crate) fn reading(state: &mut MachineState, pcpu: usize, guest: usize) -> Option<(&mut Ledger, Reading)> {
    state.profile.as_ref()?;
    let shadow_fills = state.vms[guest].shadow_statistics().map_or(0, |shadow| shadow.validations as i64);
    let reading = Reading { pcpu, guest, counters: counters(state, pcpu), shadow_fills };
    Some((state.profile.as_mut()?, reading))
}

/// Charges what has changed on a pCPU whose hart is of `guest`, beside its accesses.
pub(crate) fn sweep(state: &mut MachineState, pcpu: usize, guest: usize) {
    if let Some((ledger, reading)) = reading(state, pcpu, guest) {
        ledger.sweep(&reading);
    }
}

/// The current hart is at `pc`.
#[inline]
pub(crate) fn at(state: &mut MachineState, pc: u64) {
    let pcpu = state.current.processor;
    if let Some(ledger) = &mut state.profile {
        ledger.at(pcpu, pc);
    }
}

/// The current hart translates in `context` from now on.
#[inline]
pub(crate) fn enter(state: &mut MachineState, context: &TranslationContext) {
    let (pcpu, guest) = (state.current.processor, state.current.guest);
    if let Some(ledger) = &mut state.profile {
        ledger.enter(pcpu, guest, context);
    }
}

/// The current hart calls, returns or traps.
#[inline]
pub(crate) fn transfer(state: &mut MachineState, transfer: &Transfer) {
    let current = state.current;
    if let Some(ledger) = &mut state.profile {
        ledger.transfer(current.processor, current.guest, transfer);
    }
}

/// The counters that tell whether the call that follows changes any.
#[inline]
pub(crate) fn mark(state: &mut MachineState, access: Access) -> Mark {
    let (pcpu, guest) = (state.current.processor, state.current.guest);
    if let Some(cores) = &state.cores
        && let Some(ledger) = &mut state.profile
    {
        ledger.delay(pcpu, guest, cores.statistics(pcpu).translation);
    }
    unswept_mark(state, access)
}

#[inline]
fn unswept_mark(state: &MachineState, access: Access) -> Mark {
    Mark { misses: misses(state, access), hypervisor: state.processors[state.current.processor].hypervisor }
}

/// L1 misses of the current pCPU, of the side of such an access.
#[inline]
pub(crate) fn misses(state: &MachineState, access: Access) -> u64 {
    let mmu = state.processors[state.current.processor].mmu.statistics();
    match access {
        Access::Read | Access::Write => mmu.l1d_misses,
        Access::Execute => mmu.l1i_misses,
    }
}

/// Charges the access to `address` that has been made since `mark`, if it has changed anything.
#[inline]
pub(crate) fn charge(state: &mut MachineState, mark: Mark, address: u64, access: Access) {
    if unswept_mark(state, access) == mark {
        return;
    }
    let (pcpu, guest) = (state.current.processor, state.current.guest);
    if let Some((ledger, reading)) = reading(state, pcpu, guest)
        && ledger.miss(&reading, Page::of(Gva(address), access))
    {
        learn(state, Gva(address));
    }
}

/// Looks what the current hart's process has mapped at its instruction and at `at`, where that is not known.
#[cold]
fn learn(state: &mut MachineState, at: Gva) {
    let (pcpu, guest) = (state.current.processor, state.current.guest);
    let Some(ledger) = &mut state.profile else { return };
    let (space, unmapped) = ledger.unmapped(pcpu, guest, at);
    let vm = &state.vms[guest];
    let context =
        TranslationContext { mode: space.mode, root: space.root, asid: space.asid, ..TranslationContext::default() };
    let context = context.that_may_load_all();
    let memory = GuestKernel { vm, memory: &state.host.memory, context, words: Cell::new(0) };
    for at in unmapped.into_iter().flatten() {
        ledger.mappings(guest).learn(&memory, || kernel(vm, memory.memory), space, at);
    }
    ledger.mappings(guest).spend(memory.words.get());
}
