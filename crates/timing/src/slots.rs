//! Things that one use at a time occupies: miss registers and walkers.

use crate::ticks::Ticks;

/// A number of equal slots, each free from a time on.
///
/// Requests come in the order of the program, which is not that of their times: one that waits for a register begins later than one behind it. So
/// a request takes the slot that became free last among those that are free in time. A chain of dependent misses then has one slot for
/// all of them, and leaves the others to misses that need not wait.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    free_from: Vec<Ticks>,
}

/// A slot, and when the request for it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    number: usize,
    pub(crate) begin: Ticks,
}

/// Before any time.
const NONE: i64 = -1;

impl Slots {
    pub(crate) fn new(slots: u32) -> Self {
        Self { free_from: vec![Ticks(0); slots as usize] }
    }

    /// The slot for a request at `time`: the one free last among those free by then; if there is none, the one that is free first, which the
    /// request waits for. Among equals, the first.
    #[inline]
    pub(crate) fn choose(&self, time: Ticks) -> Slot {
        // Two passes, of which the compiler makes the first one with vectors: a pass that keeps the number as well takes twice as long.
        let (mut fit, mut soonest) = (NONE, i64::MAX);
        for &free in &self.free_from {
            let free = free.0 as i64;
            fit = fit.max(if free <= time.0 as i64 { free } else { NONE });
            soonest = soonest.min(free);
        }
        let (chosen, begin) = if fit == NONE { (soonest, Ticks(soonest as u64)) } else { (fit, time) };
        let number = self.free_from.iter().position(|free| free.0 as i64 == chosen).unwrap_or(0);
        Slot { number, begin }
    }

    /// The slot for a request at `time` that does not wait.
    pub(crate) fn choose_free(&self, time: Ticks) -> Option<Slot> {
        Some(self.choose(time)).filter(|slot| slot.begin == time)
    }

    /// Becomes a copy of other slots, of which there are as many.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.free_from.copy_from_slice(&other.free_from);
    }

    /// The request that `slot` was chosen for keeps it until a time.
    pub(crate) fn occupy(&mut self, slot: Slot, until: Ticks) {
        self.free_from[slot.number] = until;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_keeps_one_slot_and_leaves_the_others() {
        let mut slots = Slots::new(2);
        for link in 0..5 {
            let slot = slots.choose(Ticks(100 * link));
            assert_eq!((slot.number, slot.begin), (0, Ticks(100 * link)));
            slots.occupy(slot, Ticks(100 * link + 100));
        }
        let beside = slots.choose(Ticks(3));
        assert_eq!((beside.number, beside.begin), (1, Ticks(3)));
    }

    #[test]
    fn a_request_waits_for_the_slot_that_is_free_first() {
        let mut slots = Slots::new(2);
        for until in [70, 50] {
            slots.occupy(slots.choose(Ticks(0)), Ticks(until));
        }
        assert_eq!(slots.choose(Ticks(10)).begin, Ticks(50));
        assert!(slots.choose_free(Ticks(49)).is_none());
        assert_eq!(slots.choose_free(Ticks(60)).map(|slot| slot.number), Some(1));
    }
}
