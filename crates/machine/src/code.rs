//! A machine's translated code: for the one or the other way to see the world, as its fidelity has it.

use crate::{bus::CachedMachine, state::MachineState};
use hart::{CodeCache, CodeMemoryError, Engine, Exit, Hart, Isa};

/// Translated code. Which it is says whether caches are modelled.
pub(crate) enum Code {
    /// They are not.
    Counts(CodeCache<MachineState>),
    /// They are.
    Cycles(CodeCache<CachedMachine>),
}

impl Code {
    /// None yet, for harts with `isa` in `state`.
    pub(crate) fn new(isa: Isa, state: &MachineState) -> Self {
        let (start, bytes) = state.host.memory.host_range();
        match &state.caches {
            None => Self::Counts(CodeCache::new(isa, start, bytes)),
            Some(caches) => Self::Cycles(CodeCache::new(isa, start, bytes).with_fetch_lines(caches.fetch_line())),
        }
    }

    /// [`Hart::run`] in `state`, the one that this was made for.
    pub(crate) fn run(&mut self, hart: &mut Hart, state: &mut MachineState, budget: u32, engine: Engine) -> Exit {
        match self {
            Self::Counts(code) => hart.run(code, state, budget, engine),
            Self::Cycles(code) => hart.run(code, CachedMachine::of(state), budget, engine),
        }
    }

    /// See [`CodeCache::take_failure`].
    pub(crate) fn take_failure(&mut self) -> Option<CodeMemoryError> {
        match self {
            Self::Counts(code) => code.take_failure(),
            Self::Cycles(code) => code.take_failure(),
        }
    }
}
