//! The wrong path: instructions that a core executes between a mispredicted branch and the time at which the branch is resolved.
//!
//! The core flushes them then, but their loads have requested lines. Where the two ways of a branch soon meet, the right path makes the same loads again, and finds
//! their lines in the L1D or on their way. A stream of retired instructions does not have the wrong path. What is modelled is the part of it that the right path
//! repeats, as if the ways met at once: *convergence* (Eyerman, Van den Steen, Heirman and Hur, "Simulating Wrong-Path Instructions in Decoupled
//! Functional-First Simulation", ISPASS 2023).

use crate::ticks::{Index, Ticks};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What a core does until a mispredicted branch is resolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WrongPath {
    /// Nothing.
    #[default]
    Off,
    /// It makes the loads of the instructions behind the branch, as far as the window reaches and their addresses are known by then.
    Converges,
}

/// A branch that was mispredicted.
#[derive(Clone, Copy, Debug)]
struct Branch {
    /// The first instruction that the window cannot hold beside the branch.
    until: Index,
    /// How much later than its index an instruction of the wrong path is dispatched.
    delay: Ticks,
    /// When its condition is known, and the wrong path is flushed.
    resolved: Ticks,
}

impl Branch {
    /// When it dispatches an instruction behind it on the wrong path; `None` where it is resolved by then, or the window is full.
    fn dispatches(&self, index: Index) -> Option<Ticks> {
        let at = index.ticks() + self.delay;
        (index < self.until && at < self.resolved).then_some(at)
    }
}

/// When an instruction is dispatched on a wrong path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Early {
    pub(crate) dispatch: Ticks,
    /// When the wrong path is flushed. What has not begun by then does not begin there.
    pub(crate) flushed: Ticks,
}

/// The mispredicted branches whose wrong paths may still reach an instruction, in the order of the program.
#[derive(Debug)]
pub(crate) struct WrongPaths {
    model: WrongPath,
    branches: VecDeque<Branch>,
}

impl WrongPaths {
    pub(crate) fn new(model: WrongPath) -> Self {
        Self { model, branches: VecDeque::new() }
    }

    /// The branch at `index`, dispatched with this delay, was mispredicted, and is resolved at a time. `until` is the first instruction beyond the window.
    pub(crate) fn begin(&mut self, index: Index, until: Index, delay: Ticks, resolved: Ticks) {
        let branch = Branch { until, delay, resolved };
        match self.model {
            WrongPath::Off => {}
            WrongPath::Converges => {
                self.drop_past(index);
                if branch.dispatches(index.plus(1)).is_some() {
                    self.branches.push_back(branch);
                }
            }
        }
    }

    /// Nothing behind the instruction at hand has been executed.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.branches.clear();
    }

    /// From here on the window delays instructions by this much, on the wrong paths as well.
    #[inline]
    pub(crate) fn delay(&mut self, delay: Ticks) {
        if self.branches.is_empty() {
            return;
        }
        self.branches.iter_mut().for_each(|branch| branch.delay = branch.delay.max(delay));
    }

    /// When an instruction was dispatched on the wrong path of the oldest branch that reaches it. Indices do not fall from call to call.
    #[inline]
    pub(crate) fn early(&mut self, index: Index) -> Option<Early> {
        if self.branches.is_empty() {
            return None;
        }
        self.drop_past(index);
        self.first(index)
    }

    /// The same, where indices may fall.
    #[inline]
    pub(crate) fn first(&self, index: Index) -> Option<Early> {
        if self.branches.is_empty() {
            return None;
        }
        let mut reach = self.branches.iter().map(|branch| (branch.dispatches(index), branch.resolved));
        reach.find_map(|(dispatch, flushed)| Some(Early { dispatch: dispatch?, flushed }))
    }

    /// Drops the branches whose wrong paths reach neither the instruction at `index` nor one behind it.
    fn drop_past(&mut self, index: Index) {
        while self.branches.front().is_some_and(|branch| branch.dispatches(index).is_none()) {
            self.branches.pop_front();
        }
    }

    /// Becomes a copy of others of the same model, without an allocation where there is room.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        let Self { model, branches } = other;
        self.model = *model;
        self.branches.clone_from(branches);
    }
}
