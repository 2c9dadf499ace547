//! The page walkers, which work beside the core.

use crate::{
    arrivals::Arrivals,
    event::{Translation, Walk},
    misses::{Misses, Use, User},
    slots::Slots,
    ticks::Ticks,
};
use types::{Gva, PageGroups};

/// A page that a walk looks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Page {
    number: u64,
    shift: u8,
}

impl Page {
    const fn of(address: Gva, shift: u8) -> Self {
        Self { number: address.0 >> shift, shift }
    }

    /// Its base pages.
    const fn groups(self) -> PageGroups {
        PageGroups::of_page(Gva(self.number << self.shift), self.shift)
    }
}

/// An address to translate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lookup<'w> {
    pub(crate) address: Gva,
    pub(crate) translation: Translation<'w>,
    /// When the address is known.
    pub(crate) time: Ticks,
    /// When the instruction was dispatched, which is no later.
    pub(crate) dispatch: Ticks,
}

/// The page walkers of a core.
#[derive(Debug)]
pub(crate) struct Walkers {
    walkers: Slots,
    pages: Arrivals<Page>,
    /// The pages of the list.
    groups: PageGroups,
    l2_tlb: Ticks,
    /// Time from the start of each walk to its end, summed.
    walking: Ticks,
}

impl Walkers {
    pub(crate) fn new(walkers: u32, l2_tlb: Ticks) -> Self {
        Self {
            walkers: Slots::new(walkers),
            pages: Arrivals::new(),
            groups: PageGroups::NONE,
            l2_tlb,
            walking: Ticks(0),
        }
    }

    /// When the translation of an address is there. A page that a walk is under way for is in the TLBs when that ends.
    #[inline(always)]
    pub(crate) fn translate(&mut self, lookup: Lookup<'_>, misses: &mut Misses) -> Ticks {
        let Lookup { address, translation, time, dispatch } = lookup;
        let arrives = self.pages.find(dispatch, |page| page == Page::of(address, page.shift)).unwrap_or(Ticks(0));
        let done = match translation {
            Translation::FirstLevel => time,
            Translation::SecondLevel => time + self.l2_tlb,
            Translation::Walk(walk) => {
                let done = self.walk(walk, time, dispatch, misses).max(arrives);
                self.pages.expect(Page::of(address, walk.page_shift), done, dispatch);
                self.groups = self.pages.keys().fold(PageGroups::NONE, |groups, page| groups.and(page.groups()));
                done
            }
        };
        done.max(arrives)
    }

    /// When a walk ends that is asked for at a time: it begins when a walker is free, and behind the lookup in the second level of TLBs.
    fn walk(&mut self, walk: Walk<'_>, time: Ticks, dispatch: Ticks, misses: &mut Misses) -> Ticks {
        let walker = self.walkers.choose(time + self.l2_tlb);
        let mut begin = walker.begin;
        for step in walk.references.chunk_by(|one, other| one.step == other.step) {
            let uses = step.iter().map(|entry| Use { line: entry.line, found: entry.found, time: begin, dispatch });
            begin = uses.map(|used| misses.use_line(used, User::Walker)).max().unwrap_or(begin);
        }
        self.walkers.occupy(walker, begin);
        self.walking += begin.since(walker.begin);
        begin
    }

    /// Becomes a copy of other walkers, of which there are as many.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        let Self { walkers, pages, groups, l2_tlb, walking } = other;
        self.walkers.copy_from(walkers);
        self.pages.copy_from(pages);
        (self.groups, self.l2_tlb, self.walking) = (*groups, *l2_tlb, *walking);
    }

    /// Time from the start of each walk to its end, summed over all walks.
    pub(crate) fn walking(&self) -> Ticks {
        self.walking
    }

    /// Pages that walks are under way for at a time: what is of none of them waits for no walk.
    #[inline]
    pub(crate) fn under_way(&self, now: Ticks) -> PageGroups {
        if self.latest() > now { self.groups } else { PageGroups::NONE }
    }

    /// When all walks under way have ended.
    pub(crate) fn latest(&self) -> Ticks {
        self.pages.latest()
    }
}
