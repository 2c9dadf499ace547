//! The times of one instruction: when it is dispatched, on the right path and on a wrong one before, and when its value is there.

use crate::{
    ticks::{Index, Ticks},
    wrong_path::Early,
};

/// A memory access after its translation and the request for its line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Issued {
    /// When its address is translated, and the line is requested.
    pub(crate) requested: Ticks,
    /// When its data are there.
    pub(crate) done: Ticks,
    pub(crate) answer: Answer,
}

/// What answers an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// The L1D, in its latency.
    L1d,
    /// Another level, or the L1D once a line that is under way arrives.
    Later,
}

impl Issued {
    /// Whether it takes no longer than an access that the L1D and the first level of TLBs answer at a time.
    pub(crate) fn is_hit_at(&self, time: Ticks) -> bool {
        self.answer == Answer::L1d && self.requested == time
    }
}

/// When an instruction is dispatched. Where it was dispatched on a wrong path before, times of that path go before those of the right one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dispatched {
    pub(crate) index: Index,
    pub(crate) now: Ticks,
    pub(crate) early: Option<Early>,
}

impl Dispatched {
    /// When it is dispatched first: on the wrong path, if it was there.
    #[inline(always)]
    pub(crate) fn earliest(&self) -> Ticks {
        self.early.map_or(self.now, |early| early.dispatch)
    }

    /// When a load begins whose address is known at a time: on the right path, if the wrong one is flushed by then.
    #[inline(always)]
    pub(crate) fn begins(&self, address: Ticks) -> Ticks {
        match self.early {
            Some(early) if address < early.flushed => address,
            Some(_) | None => address.max(self.now),
        }
    }

    /// When the value of a load is there. One that hits takes no time beyond its dispatch, on either path.
    #[inline(always)]
    pub(crate) fn loaded(&self, issued: Issued, l1_latency: Ticks) -> Ticks {
        let Issued { requested, done, .. } = issued;
        if issued.is_hit_at(self.now) || (self.early.is_some() && issued.is_hit_at(self.earliest())) {
            requested
        } else if requested < self.now && done <= self.now + l1_latency {
            done.min(self.now)
        } else {
            done
        }
    }

    /// When a result is there whose last operand is ready at a time.
    #[inline(always)]
    pub(crate) fn computed(&self, ready: Ticks, cycle: Ticks) -> Ticks {
        if ready <= self.earliest() {
            ready
        } else if ready <= self.now {
            (ready + cycle).min(self.now)
        } else {
            ready + cycle
        }
    }
}
