//! A machine's translated code: for the one or the other way to see the world, as its fidelity has it and a profile needs it.

use crate::{
    bus::{CachedMachine, Overlap, Profiled, Stalls},
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
    /// As `Counts`, and a profile is kept.
    ProfiledCounts(CodeCache<Profiled<MachineState>>),
    /// As `Cycles`, and a profile is kept.
    ProfiledCycles(CodeCache<Profiled<CachedMachine<Stalls>>>),
    /// As `Core`, and a profile is kept.
    ProfiledCore(CodeCache<Profiled<CachedMachine<Overlap>>>),
}

impl Code {
    /// None yet, for harts with `isa` in `state`.
    pub(crate) fn new(isa: Isa, state: &MachineState) -> Self {
        let (start, bytes) = state.host.memory.host_range();
        let line = state.caches.as_ref().map(|caches| (caches.fetch_line(), state.cores.is_some()));
        match (line, state.profile.is_some()) {
            (None, false) => Self::Counts(CodeCache::new(isa, start, bytes)),
            (None, true) => Self::ProfiledCounts(CodeCache::new(isa, start, bytes)),
            (Some((line, false)), false) => Self::Cycles(CodeCache::new(isa, start, bytes).with_fetch_lines(line)),
            (Some((line, false)), true) => {
                Self::ProfiledCycles(CodeCache::new(isa, start, bytes).with_fetch_lines(line))
            }
            (Some((line, true)), false) => Self::Core(CodeCache::new(isa, start, bytes).with_fetch_lines(line)),
            (Some((line, true)), true) => Self::ProfiledCore(CodeCache::new(isa, start, bytes).with_fetch_lines(line)),
        }
    }

    /// [`Hart::run`] in `state`, the one that this was made for.
    pub(crate) fn run(&mut self, hart: &mut Hart, state: &mut MachineState, budget: u32, engine: Engine) -> Exit {
        let before = hart.counts().instructions;
        let exit = match self {
            Self::Counts(code) => hart.run(code, state, budget, engine),
            Self::Cycles(code) => hart.run(code, CachedMachine::of(state), budget, engine),
            Self::Core(code) => hart.run(code, CachedMachine::of(state), budget, engine),
            Self::ProfiledCounts(code) => hart.run(code, Profiled::of(state), budget, engine),
            Self::ProfiledCycles(code) => hart.run(code, Profiled::of(CachedMachine::of(state)), budget, engine),
            Self::ProfiledCore(code) => hart.run(code, Profiled::of(CachedMachine::of(state)), budget, engine),
        };
        // Nothing without cores.
        state.settle_core(hart.counts().instructions - before);
        exit
    }

    /// See [`CodeCache::take_failure`].
    pub(crate) fn take_failure(&mut self) -> Option<CodeMemoryError> {
        match self {
            Self::Counts(code) => code.take_failure(),
            Self::Cycles(code) => code.take_failure(),
            Self::Core(code) => code.take_failure(),
            Self::ProfiledCounts(code) => code.take_failure(),
            Self::ProfiledCycles(code) => code.take_failure(),
            Self::ProfiledCore(code) => code.take_failure(),
        }
    }
}
