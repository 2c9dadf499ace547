//! The window: when each instruction is dispatched, and when the earlier ones have retired.
//!
//! An instruction is dispatched one tick behind the one before it, if nothing delays it. So the time of dispatch is the instruction's index
//! plus a *delay*, which never falls, and instructions that nothing delays take no work at all. An instruction also waits for the retirement
//! of the one a window's length before it. Retirement is in order and as fast as completion allows, so that the wait is for the latest completion
//! up to there. Each completion later than the window can hide is noted as a *bound*: from a certain instruction on, the delay is at least so much.
//! Bounds are applied when the next event looks, however many instructions later, which gives the same as to look at each instruction.

use crate::{
    ticks::{Index, Ticks},
    time::Time,
};
use std::collections::VecDeque;

/// When a result is there, and how much of the wait for it is for translation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Completion {
    pub(crate) at: Ticks,
    /// Of the time before `at`, as much as would not have been needed if translation took none.
    pub(crate) translation: Ticks,
}

impl Completion {
    /// At a time, without a wait.
    pub(crate) const fn at(at: Ticks) -> Self {
        Self { at, translation: Ticks(0) }
    }

    /// The same, so much later.
    pub(crate) fn later(self, by: Ticks) -> Self {
        Self { at: self.at + by, ..self }
    }

    /// The later of two; of equals, this one.
    pub(crate) fn or_later(self, other: Self) -> Self {
        if other.at > self.at { other } else { self }
    }
}

/// From an instruction on, the delay is at least so much.
#[derive(Clone, Copy, Debug)]
struct Bound {
    from: Index,
    delay: Ticks,
    translation: Ticks,
}

/// The window, and the clock of dispatch.
#[derive(Debug)]
pub(crate) struct Window {
    length: u64,
    delay: Ticks,
    /// Bounds to come: both the instructions and the delays rise.
    bounds: VecDeque<Bound>,
    /// The latest completion of any instruction so far: then all of them have retired.
    retired: Completion,
    time: Time,
}

impl Window {
    pub(crate) fn new(length: u64) -> Self {
        Self { length, delay: Ticks(0), bounds: VecDeque::new(), retired: Completion::default(), time: Time::default() }
    }

    /// When an instruction is dispatched, by what is known of earlier ones. Indices do not fall from call to call.
    #[inline]
    pub(crate) fn dispatch(&mut self, index: Index) -> Ticks {
        while let Some(&bound) = self.bounds.front()
            && bound.from <= index
        {
            self.bounds.pop_front();
            let stall = bound.delay.since(self.delay);
            self.time.wait(stall, bound.translation);
            self.delay += stall;
        }
        index.ticks() + self.delay
    }

    /// The instruction at `index`, which has been dispatched, completes at a time.
    pub(crate) fn complete(&mut self, index: Index, completion: Completion) {
        self.retired = self.retired.or_later(completion);
        let from = index.plus(self.length);
        let delay = completion.at.since(from.ticks());
        let last = self.bounds.back_mut();
        if delay <= last.as_ref().map_or(self.delay, |last| last.delay.max(self.delay)) {
            return;
        }
        let bound = Bound { from, delay, translation: completion.translation };
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
    pub(crate) fn retired(&self) -> Completion {
        self.retired
    }

    /// The instruction at `index`, and all behind it, are not dispatched before a time. Returns by how much this delays them.
    pub(crate) fn hold(&mut self, index: Index, until: Ticks) -> Ticks {
        let stall = until.since(index.ticks() + self.delay);
        self.delay += stall;
        stall
    }

    /// Where the time went.
    pub(crate) fn time(&mut self) -> &mut Time {
        &mut self.time
    }

    /// The same, to read.
    pub(crate) fn time_so_far(&self) -> Time {
        self.time
    }
}
