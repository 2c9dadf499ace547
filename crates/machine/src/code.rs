//! A machine's translated code: for the one or the other way to see the world, as its fidelity has it.

use crate::{bus::CachedWorld, world::World};
use hart::{CodeCache, CodeMemoryError, Engine, Exit, Hart, Isa};

/// Translated code. Which it is says whether caches are modelled.
pub(crate) enum Code {
    /// They are not.
    Counts(CodeCache<World>),
    /// They are.
    Cycles(CodeCache<CachedWorld>),
}

impl Code {
    /// None yet, for harts with `isa` in `world`.
    pub(crate) fn new(isa: Isa, world: &World) -> Self {
        let (start, bytes) = world.host.memory.host_range();
        match &world.caches {
            None => Self::Counts(CodeCache::new(isa, start, bytes)),
            Some(caches) => Self::Cycles(CodeCache::new(isa, start, bytes).with_fetch_lines(caches.fetch_line())),
        }
    }

    /// [`Hart::run`] in `world`, the one that this was made for.
    pub(crate) fn run(&mut self, hart: &mut Hart, world: &mut World, budget: u32, engine: Engine) -> Exit {
        match self {
            Self::Counts(code) => hart.run(code, world, budget, engine),
            Self::Cycles(code) => hart.run(code, CachedWorld::of(world), budget, engine),
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
