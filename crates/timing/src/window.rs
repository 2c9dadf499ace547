//! The window: when each instruction is dispatched, and when the earlier ones have retired.
//!
//! An instruction is dispatched one tick behind the one before it, if nothing delays it. So the time of dispatch is the instruction's index
//! plus a *delay*, which never falls, and instructions that nothing delays take no work at all. An instruction also waits for the retirement
//! of the one a window's length before it. Retirement is in order and as fast as completion allows, so that the wait is for the latest completion
//! up to there. Each completion later than the window can hide is noted as a *bound*: from a certain instruction on, the delay is at least so much.
//! Bounds are applied when the next event looks, however many instructions later, which gives the same as to look at each instruction.

use crate::{
    ticks::{Index, Ticks},
    wrong_path::{Early, WrongPath, WrongPaths},
};
use std::collections::VecDeque;

/// From an instruction on, the delay is at least so much.
#[derive(Clone, Copy, Debug)]
struct Bound {
    from: Index,
    delay: Ticks,
}

/// The window, and the clock of dispatch.
#[derive(Debug)]
pub(crate) struct Window {
    length: u64,
    delay: Ticks,
    /// Bounds to come: both the instructions and the delays rise.
    bounds: VecDeque<Bound>,
    /// The latest completion of any instruction so far: then all of them have retired.
    retired: Ticks,
    /// The part of the delay that is for completions.
    waited: Ticks,
    wrong_paths: WrongPaths,
}

impl Window {
    pub(crate) fn new(length: u64, wrong_path: WrongPath) -> Self {
        Self {
            length,
            delay: Ticks(0),
            bounds: VecDeque::new(),
            retired: Ticks(0),
            waited: Ticks(0),
            wrong_paths: WrongPaths::new(wrong_path),
        }
    }

    /// When an instruction is dispatched, by what is known of earlier ones. Indices do not fall from call to call.
    #[inline]
    pub(crate) fn dispatch(&mut self, index: Index) -> Ticks {
        while let Some(&bound) = self.bounds.front()
            && bound.from <= index
        {
            self.bounds.pop_front();
            let stall = bound.delay.since(self.delay);
            self.waited += stall;
            self.delay += stall;
            self.wrong_paths.delay(bound.delay);
        }
        index.ticks() + self.delay
    }

    /// When the instruction at `index`, which has been dispatched, was dispatched on a wrong path.
    #[inline]
    pub(crate) fn early(&mut self, index: Index) -> Option<Early> {
        self.wrong_paths.early(index)
    }

    /// The earliest time that the instruction at `index`, or one behind it, can ask for, by what is known of earlier ones.
    #[inline]
    pub(crate) fn earliest(&self, index: Index) -> Ticks {
        self.wrong_paths.first(index).map_or(self.undelayed(index), |early| early.dispatch)
    }

    /// The branch at `index`, which has been dispatched, was mispredicted and is resolved at `resolved`. No instruction behind it is dispatched before `until`. Returns by how
    /// many ticks this delays them.
    pub(crate) fn redirect(&mut self, index: Index, resolved: Ticks, until: Ticks) -> Ticks {
        self.wrong_paths.begin(index, index.plus(self.length), self.delay, resolved);
        self.hold(index.plus(1), until)
    }

    /// What comes behind the instruction at hand waits for more than the window: no wrong path has reached it.
    #[inline]
    pub(crate) fn end_wrong_paths(&mut self) {
        self.wrong_paths.end();
    }

    /// The instruction at `index`, which has been dispatched, completes at a time.
    pub(crate) fn complete(&mut self, index: Index, at: Ticks) {
        self.retired = self.retired.max(at);
        let from = index.plus(self.length);
        let delay = at.since(from.ticks());
        let last = self.bounds.back_mut();
        if delay <= last.as_ref().map_or(self.delay, |last| last.delay.max(self.delay)) {
            return;
        }
        let bound = Bound { from, delay };
        match last {
            Some(last) if last.from == from => *last = bound,
            Some(_) | None => self.bounds.push_back(bound),
        }
    }

    /// When the instruction at `index` is dispatched if it waits for no retirement: bounds that begin with it are not applied yet.
    pub(crate) fn undelayed(&self, index: Index) -> Ticks {
        index.ticks() + self.delay
    }

    /// When all instructions before the next one have retired.
    pub(crate) fn retired(&self) -> Ticks {
        self.retired
    }

    /// The instruction at `index`, and all after it, are not dispatched before a time. Returns by how much this delays them.
    pub(crate) fn hold(&mut self, index: Index, until: Ticks) -> Ticks {
        let stall = until.since(index.ticks() + self.delay);
        self.delay += stall;
        stall
    }

    /// How much later than its index the latest instruction was dispatched.
    pub(crate) fn delay(&self) -> Ticks {
        self.delay
    }

    /// The part of the delay that was not the result of [`Self::hold`].
    pub(crate) fn waited(&self) -> Ticks {
        self.waited
    }

    /// Becomes a copy of another window, without an allocation where there is room.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        let Self { length, delay, bounds, retired, waited, wrong_paths } = other;
        (self.length, self.delay, self.retired, self.waited) = (*length, *delay, *retired, *waited);
        self.bounds.clone_from(bounds);
        self.wrong_paths.copy_from(wrong_paths);
    }
}
