//! A machine's translated code: for the one or the other way to see the world, as its fidelity has it.

use crate::{
    bus::{CachedMachine, Overlap, Stalls},
    state::MachineState,
};
use hart::{CodeCache, CodeMemoryError, Engine, Exit, Hart, Isa};

/// Translated code. Which it is says whether caches are modelled.
pub(crate) enum Code {
    /// They are not.
    Counts(CodeCache<MachineState>),
    /// They are, and each use of a line stalls.
    Cycles(CodeCache<CachedMachine<Stalls>>),
    /// They are, and so are cores.
    Core(CodeCache<CachedMachine<Overlap>>),
}

impl Code {
    /// None yet, for harts with `isa` in `state`.
    pub(crate) fn new(isa: Isa, state: &MachineState) -> Self {
        let (start, bytes) = state.host.memory.host_range();
        match &state.caches {
            None => Self::Counts(CodeCache::new(isa, start, bytes)),
            Some(caches) if state.cores.is_none() => {
                Self::Cycles(CodeCache::new(isa, start, bytes).with_fetch_lines(caches.fetch_line()))
            }
            Some(caches) => Self::Core(CodeCache::new(isa, start, bytes).with_fetch_lines(caches.fetch_line())),
        }
    }

    /// [`Hart::run`] in `state`, the one that this was made for.
    pub(crate) fn run(&mut self, hart: &mut Hart, state: &mut MachineState, budget: u32, engine: Engine) -> Exit {
        match self {
            Self::Counts(code) => hart.run(code, state, budget, engine),
            Self::Cycles(code) => hart.run(code, CachedMachine::of(state), budget, engine),
            Self::Core(code) => {
                let before = hart.counts().instructions;
                let exit = hart.run(code, CachedMachine::of(state), budget, engine);
                state.settle_core(hart.counts().instructions - before);
                exit
            }
        }
    }

    /// See [`CodeCache::take_failure`].
    pub(crate) fn take_failure(&mut self) -> Option<CodeMemoryError> {
        match self {
            Self::Counts(code) => code.take_failure(),
            Self::Cycles(code) => code.take_failure(),
            Self::Core(code) => code.take_failure(),
        }
    }
}
