//! Pointer chases: each load's address is the data of the load before it.

use super::mapping::Mapping;
use std::hint::black_box;
use std::marker::PhantomData;

/// Places where independent chases of one chain may begin, at the same distance from each other.
pub(crate) const HEADS: usize = 32;

/// Slots of memory, each of which holds the address of the next one; the last leads to the first.
///
/// Invariant: each head, and the content of each slot that is reached from one, is the address of a word of the borrowed mapping that is a slot.
#[derive(Debug)]
pub(crate) struct Chain<'m> {
    heads: [*const u64; HEADS],
    /// The mapping's first word, and its bytes.
    start: *const u64,
    bytes: usize,
    _memory: PhantomData<&'m mut Mapping>,
}

impl<'m> Chain<'m> {
    /// Links the words at these byte offsets, in their order. They are written in that order as well, so that a cache holds afterwards what a chase that comes
    /// round leaves there.
    ///
    /// # Panics
    /// If there is none, or if one is beyond the memory or no multiple of 8: those who choose offsets are at fault.
    pub(crate) fn link(memory: &'m mut Mapping, offsets: impl ExactSizeIterator<Item = usize>) -> Self {
        Self::with_chases(HEADS, memory, offsets)
    }

    /// The same for this many chases: their places are at the same distance from each other.
    ///
    /// # Panics
    /// As above, or if these are no chases, or more than [`HEADS`].
    pub(crate) fn with_chases(
        chases: usize,
        memory: &'m mut Mapping,
        offsets: impl ExactSizeIterator<Item = usize>,
    ) -> Self {
        assert!((1..=HEADS).contains(&chases));
        let (bytes, start) = (memory.bytes(), memory.start());
        let count = offsets.len();
        let slot = |offset: usize| {
            assert!(offset.is_multiple_of(size_of::<u64>()) && offset < bytes, "{offset} of {bytes}");
            start.wrapping_byte_add(offset)
        };
        let mut heads = [std::ptr::null(); HEADS];
        let (mut first, mut last): (Option<*mut u64>, Option<*mut u64>) = (None, None);
        let mut next_head = 0;
        for (index, offset) in offsets.enumerate() {
            let here = slot(offset);
            // Where there are fewer slots than heads, heads share them.
            while next_head < chases && next_head * count / chases <= index {
                heads[next_head] = here;
                next_head += 1;
            }
            if let Some(before) = last {
                // SAFETY: `slot` has checked that it is an aligned word of the mapping, which is borrowed mutably.
                unsafe { before.write(here.expose_provenance() as u64) };
            }
            first.get_or_insert(here);
            last = Some(here);
        }
        let (first, last) = first.zip(last).expect("a chain has a slot");
        // SAFETY: as above.
        unsafe { last.write(first.expose_provenance() as u64) };
        heads[chases..].fill(first);
        Self { heads, start, bytes, _memory: PhantomData }
    }

    /// Reads a word of each line of the mapping, ascending: caches much smaller than the mapping hold few slots afterwards.
    pub(crate) fn read_mapping(&mut self, line: usize) {
        for offset in (0..self.bytes).step_by(line) {
            // SAFETY: an aligned word of the mapping, which is borrowed mutably: lines are multiples of a word.
            black_box(unsafe { self.start.wrapping_byte_add(offset).read() });
        }
    }

    /// Makes `steps` loads, each of which waits for the one before it.
    pub(crate) fn follow(&mut self, steps: u64) {
        self.follow_one(0, steps);
    }

    /// The same, and the first load waits for a number to be computed: it is part of the load's address, as 0. A processor does not make the loads earlier.
    pub(crate) fn follow_after(&mut self, number: u64, steps: u64) {
        self.heads[0] = self.heads[0].wrapping_byte_add((number & black_box(0)) as usize);
        self.follow(steps);
    }

    /// The same in one of the chases, without a number.
    ///
    /// # Panics
    /// If there are not as many as [`HEADS`].
    pub(crate) fn follow_one(&mut self, chase: usize, steps: u64) {
        let mut at = self.heads[chase];
        for _ in 0..steps {
            // SAFETY: the invariant: `at` is a slot of the borrowed mapping, and so is what it holds.
            at = unsafe { next(at) };
        }
        self.heads[chase] = black_box(at);
    }

    /// Makes `steps` loads in each of `chases` chases, which do not wait for each other.
    ///
    /// # Panics
    /// If that is none, or more than there are [`HEADS`].
    pub(crate) fn follow_together(&mut self, chases: usize, steps: u64) {
        assert!((1..=HEADS).contains(&chases));
        let heads = &mut self.heads[..chases];
        for _ in 0..steps {
            for at in heads.iter_mut() {
                // SAFETY: the invariant: `at` is a slot of the borrowed mapping, and so is what it holds.
                *at = unsafe { next(*at) };
            }
        }
        black_box(heads);
    }
}

/// The slot that a slot leads to.
///
/// # Safety
/// `slot` is a slot of a chain whose mapping is borrowed.
#[inline(always)]
unsafe fn next(slot: *const u64) -> *const u64 {
    // SAFETY: as the caller says; the address was exposed when the chain was linked.
    std::ptr::with_exposed_provenance(unsafe { slot.read() } as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raw::Advice;

    #[test]
    fn a_chase_comes_round_through_every_slot() {
        let mut memory = Mapping::new(4096, Advice::BasePages).unwrap();
        let offsets = [512, 0, 4088, 64];
        let start = memory.addresses().start;
        let mut chain = Chain::link(&mut memory, offsets.into_iter());
        for expected in [0, 4088, 64, 512, 0] {
            chain.follow(1);
            assert_eq!(chain.heads[0].addr() - start, expected);
        }
        chain.follow_together(HEADS, 4);
        assert_eq!(chain.heads[0].addr() - start, 0, "four steps are once round");
        assert_eq!(chain.heads[HEADS - 1].addr() - start, 64);
    }

    #[test]
    #[should_panic(expected = "4096 of 4096")]
    fn a_slot_beyond_the_memory_is_refused() {
        let mut memory = Mapping::new(4096, Advice::BasePages).unwrap();
        let _ = Chain::link(&mut memory, [0, 4096].into_iter());
    }
}
