//! Things that one use at a time occupies: miss registers and walkers.

use crate::ticks::Ticks;

/// A number of equal slots, each free from a time on.
///
/// Requests come in the order of the program, which is not that of their times: one that waits for a register begins later than one behind it. So
/// a request takes the slot that became free last among those that are free in time. A chain of dependent misses then has one slot for
/// all of them, and leaves the others to misses that need not wait.
///
/// The times ascend, in a ring. So those that are free in time come first, and halving finds the last of them. A slot that is occupied mostly becomes the last: what has to move is either
/// before it or behind it, whichever is less.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    /// As many places as the next power of two.
    ring: Box<[Ticks]>,
    /// The place of the first slot.
    first: usize,
    number: usize,
}

/// A slot, by its place in the order of times, and when the request for it begins. It is valid until the next slot is occupied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    place: usize,
    pub(crate) begin: Ticks,
}

impl Slots {
    pub(crate) fn new(slots: u32) -> Self {
        let number = slots as usize;
        Self { ring: vec![Ticks(0); number.next_power_of_two()].into_boxed_slice(), first: 0, number }
    }

    /// The time from which the slot in a place is free.
    #[inline(always)]
    fn at(&self, place: usize) -> Ticks {
        self.ring[(self.first + place) & (self.ring.len() - 1)]
    }

    #[inline(always)]
    fn set(&mut self, place: usize, free: Ticks) {
        let mask = self.ring.len() - 1;
        self.ring[(self.first + place) & mask] = free;
    }

    /// The slot for a request at `time`: the one free last among those free by then; if there is none, the one that is free first, which the
    /// request waits for.
    #[inline]
    pub(crate) fn choose(&self, time: Ticks) -> Slot {
        let soonest = self.at(0);
        if soonest > time {
            return Slot { place: 0, begin: soonest };
        }
        // A search by halves, without branches: the first of `left` places is free in time.
        let (mut place, mut left) = (0, self.number);
        while left > 1 {
            let half = left / 2;
            place = if self.at(place + half) <= time { place + half } else { place };
            left -= half;
        }
        Slot { place, begin: time }
    }

    /// The slot for a request at `time` that does not wait.
    #[inline]
    pub(crate) fn choose_free(&self, time: Ticks) -> Option<Slot> {
        Some(self.choose(time)).filter(|slot| slot.begin == time)
    }

    /// Whether at most `most` slots are occupied at `time`: those that are occupied the longest come last.
    #[inline]
    pub(crate) fn at_most(&self, most: u32, time: Ticks) -> bool {
        let free = self.number.saturating_sub(most as usize);
        free == 0 || self.at(free - 1) <= time
    }

    /// Becomes a copy of other slots, of which there are as many.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        let Self { ring, first, number } = other;
        self.ring.copy_from_slice(ring);
        (self.first, self.number) = (*first, *number);
    }

    /// The request that `slot` was chosen for keeps it until a time, which is not before it begins.
    #[inline]
    pub(crate) fn occupy(&mut self, slot: Slot, until: Ticks) {
        let Slot { mut place, .. } = slot;
        let last = self.number - 1;
        if self.at(last) <= until && place < last - place {
            // The slots before it move up by one, and it becomes the last.
            for earlier in (0..place).rev() {
                let free = self.at(earlier);
                self.set(earlier + 1, free);
            }
            self.first = (self.first + 1) & (self.ring.len() - 1);
            return self.set(last, until);
        }
        while place < last && self.at(place + 1) < until {
            let free = self.at(place + 1);
            self.set(place, free);
            place += 1;
        }
        self.set(place, until);
    }

    /// The times, ascending.
    #[cfg(test)]
    fn times(&self) -> Vec<u64> {
        (0..self.number).map(|place| self.at(place).0).collect()
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
            assert_eq!(slot.begin, Ticks(100 * link));
            slots.occupy(slot, Ticks(100 * link + 100));
            assert_eq!(slots.times(), [0, 100 * link + 100]);
        }
        let beside = slots.choose(Ticks(3));
        assert_eq!((beside.place, beside.begin), (0, Ticks(3)));
    }

    #[test]
    fn a_request_waits_for_the_slot_that_is_free_first() {
        let mut slots = Slots::new(2);
        for until in [70, 50] {
            slots.occupy(slots.choose(Ticks(0)), Ticks(until));
        }
        assert_eq!(slots.choose(Ticks(10)).begin, Ticks(50));
        assert!(slots.choose_free(Ticks(49)).is_none());
        assert!(slots.choose_free(Ticks(60)).is_some());
        slots.occupy(slots.choose(Ticks(60)), Ticks(65));
        assert_eq!(slots.times(), [65, 70], "the one free from 50 on");
    }

    #[test]
    fn any_order_of_requests_takes_the_slots_that_a_search_of_all_takes() {
        let mut random = testing::Random::new(7);
        for number in [1, 2, 10, 48] {
            let (mut slots, mut all) = (Slots::new(number), vec![0; number as usize]);
            for now in 0..2000 {
                let time = now * 10 + random.below(300);
                let fit = (0..all.len()).filter(|&slot| all[slot] <= time).max_by_key(|&slot| all[slot]);
                let slot = fit.unwrap_or_else(|| (0..all.len()).min_by_key(|&slot| all[slot]).expect("there is one"));
                let begin = time.max(all[slot]);
                let chosen = slots.choose(Ticks(time));
                assert_eq!(chosen.begin, Ticks(begin));
                let occupied = all.iter().filter(|&&until| until > time).count() as u32;
                let most = random.below(u64::from(number) + 2) as u32;
                assert_eq!(slots.at_most(most, Ticks(time)), occupied <= most, "{occupied} of {number}, {most}");
                let until = begin + random.below(400);
                all[slot] = until;
                slots.occupy(chosen, Ticks(until));
                let mut ascending = all.clone();
                ascending.sort_unstable();
                assert_eq!(slots.times(), ascending);
            }
        }
    }
}
