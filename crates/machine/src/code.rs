//! A machine's translated code: for the one or the other way to see the world, as its fidelity has it and a profile needs it.

use crate::{
    bus::{CachedMachine, Overlap, Player, Profiled, Recorded, Stalls},
    state::{MachineState, recording},
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
    /// As `Counts`, and the run is recorded.
    Recorded(CodeCache<Recorded>),
    /// None: a recording is replayed.
    Replayed(Box<Player>),
}

impl Code {
    /// None yet, for harts with `isa` in `state`.
    pub(crate) fn new(isa: Isa, state: &mut MachineState) -> Self {
        let (start, bytes) = state.host.memory.host_range();
        if state.recorder.is_some() {
            return Self::Recorded(CodeCache::new(isa, start, bytes));
        }
        let observed = state.is_observed();
        let Some(caches) = &mut state.caches else {
            return if observed {
                Self::ProfiledCounts(CodeCache::new(isa, start, bytes))
            } else {
                Self::Counts(CodeCache::new(isa, start, bytes))
            };
        };
        let core = state.cores.as_mut().map(|cores| cores.state(0));
        let (line, models) = (caches.fetch_line(), caches.layout(core.as_ref()));
        match (&state.cores, observed) {
            (None, false) => Self::Cycles(CodeCache::new(isa, start, bytes).with_models(line, models)),
            (None, true) => Self::ProfiledCycles(CodeCache::new(isa, start, bytes).with_models(line, models)),
            (Some(_), false) => Self::Core(CodeCache::new(isa, start, bytes).with_models(line, models)),
            (Some(_), true) => Self::ProfiledCore(CodeCache::new(isa, start, bytes).with_models(line, models)),
        }
    }

    /// [`Hart::run`] in `state`, the one that this was made for.
    pub(crate) fn run(&mut self, hart: &mut Hart, state: &mut MachineState, budget: u32, engine: Engine) -> Exit {
        let exit = match self {
            Self::Counts(code) => return hart.run(code, state, budget, engine),
            Self::Cycles(code) => return hart.run(code, CachedMachine::of(state), budget, engine),
            Self::ProfiledCounts(code) => return hart.run(code, Profiled::of(state), budget, engine),
            Self::ProfiledCycles(code) => {
                return hart.run(code, Profiled::of(CachedMachine::of(state)), budget, engine);
            }
            Self::Recorded(code) => {
                recording::begin(state);
                let exit = hart.run(code, Recorded::of(state), budget, engine);
                recording::end(state, hart, exit);
                return exit;
            }
            Self::Replayed(player) => return player.run(hart, state),
            Self::Core(code) => hart.run(code, CachedMachine::of(state), budget, engine),
            Self::ProfiledCore(code) => hart.run(code, Profiled::of(CachedMachine::of(state)), budget, engine),
        };
        Self::settle_core(hart, state, exit);
        exit
    }

    /// [`Hart::resume`] in `state`, where the hart was stopped.
    pub(crate) fn resume(&mut self, hart: &mut Hart, state: &mut MachineState, engine: Engine) -> Exit {
        let exit = match self {
            Self::Counts(code) => return hart.resume(code, state, engine),
            Self::Cycles(code) => return hart.resume(code, CachedMachine::of(state), engine),
            Self::ProfiledCounts(code) => return hart.resume(code, Profiled::of(state), engine),
            Self::ProfiledCycles(code) => return hart.resume(code, Profiled::of(CachedMachine::of(state)), engine),
            Self::Recorded(code) => return hart.resume(code, Recorded::of(state), engine),
            Self::Replayed(player) => return player.run(hart, state),
            Self::Core(code) => hart.resume(code, CachedMachine::of(state), engine),
            Self::ProfiledCore(code) => hart.resume(code, Profiled::of(CachedMachine::of(state)), engine),
        };
        Self::settle_core(hart, state, exit);
        exit
    }

    /// The run of a hart on a modelled core has ended, unless a debugger has stopped it.
    fn settle_core(hart: &Hart, state: &mut MachineState, exit: Exit) {
        match exit {
            Exit::Stopped(_) => {}
            _ => state.settle_core(hart.retired_in_run()),
        }
    }

    /// Forgets translations of the `bytes` bytes from `at` on, which a debugger has changed.
    pub(crate) fn written(&mut self, at: *const u8, bytes: usize) {
        match self {
            Self::Counts(code) => code.written(at, bytes),
            Self::Cycles(code) => code.written(at, bytes),
            Self::Core(code) => code.written(at, bytes),
            Self::ProfiledCounts(code) => code.written(at, bytes),
            Self::ProfiledCycles(code) => code.written(at, bytes),
            Self::ProfiledCore(code) => code.written(at, bytes),
            Self::Recorded(code) => code.written(at, bytes),
            Self::Replayed(_) => {}
        }
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
            Self::Recorded(code) => code.take_failure(),
            Self::Replayed(_) => None,
        }
    }
}
