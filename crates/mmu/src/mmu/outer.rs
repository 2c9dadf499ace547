//! The miss path behind the L2, where there are [outer levels](crate::OuterTlb).

use super::{Missed, Mmu};
use crate::events::{Observer, Source};
use crate::memory::TableMemory;
use crate::outer::{OuterEntry, OuterTlb, References};
use crate::space::Space;
use crate::tlb::Translation;
use types::{Access, Gva};

impl<O: Observer> Mmu<O> {
    /// Puts a level between the last one and the walker. It is empty, or holds what the TLBs might hold.
    pub fn add_outer_level(&mut self, level: Box<dyn OuterTlb>) {
        self.outer.push(level);
        self.update_plain();
    }

    /// The outer levels, from the L2 on.
    #[must_use]
    pub fn outer_levels(&self) -> &[Box<dyn OuterTlb>] {
        &self.outer
    }

    /// Asks the outer levels for what the L2 does not answer. What is found fills the levels in front, and the slot of the L1 is returned.
    #[cold]
    #[inline(never)]
    pub(super) fn ask_outer<M: TableMemory>(
        &mut self,
        memory: &mut M,
        request: (Gva, Access, u64),
        missed: Missed,
    ) -> Option<usize> {
        let (gva, access, _) = request;
        let Self { context, outer, statistics, .. } = self;
        let query = context.query(access);
        let answers = |entry: &OuterEntry| entry.covers(gva) && entry.translation().answers(query);
        let mut read = |at| memory.read(at);
        let mut references = References::new(&mut read);
        let found = outer.iter_mut().enumerate().find_map(|(number, level)| {
            let entry = level.look_up(gva, &answers, &mut references)?;
            // Whatever a level holds, an entry answers only what it permits.
            answers(&entry).then_some((number, entry))
        });
        statistics.outer_refs += references.request();
        let Some((number, entry)) = found else {
            statistics.outer_misses += 1;
            return None;
        };
        statistics.outer_hits += 1;
        statistics.l2_misses += 1;
        outer[..number].iter_mut().for_each(|level| level.fill(gva, &entry));
        Some(self.fill_levels(request, missed, entry.translation(), Source::Outer))
    }

    /// Keeps what a walk has found in the outer levels.
    #[cold]
    #[inline(never)]
    pub(super) fn fill_outer(&mut self, gva: Gva, walked: &Translation) {
        let entry = OuterEntry::new(gva, walked);
        self.outer.iter_mut().for_each(|level| level.fill(gva, &entry));
    }

    /// Drops from the outer levels what a fence names.
    pub(super) fn remove_outer(&mut self, gva: Option<Gva>, named: impl Fn(Space) -> bool) {
        self.outer.iter_mut().for_each(|level| level.remove(gva, &|entry| named(entry.space())));
    }
}
