//! Walks are recorded at the end of a region of interest.

use crate::machine::Machine;
use crate::results::walks::{Choice, ChosenWalk, RecordedWalk, RecordedWalks, choices};
use crate::state::exit_pages::{ExitAccess, ExitPages};
use hypervisor::WalkMemory;
use mmu::{Memo, WalkRecord};
use types::{Gva, PageSize, TranslationContext};

/// Walks to the pages that instructions miss most often.
const MOST_MISSED: usize = 16;

impl Machine {
    /// Records walks of each guest from now on: at the end of its region of interest, or, if it marks none, of its command.
    pub fn record_walks(&mut self) {
        self.records_walks = true;
        self.state.exit_pages = Some(Box::new(ExitPages::new(self.records.len(), self.state.processors.len())));
    }

    /// The walks of a guest that were recorded last; `None` if there are none, or the page was gone.
    #[must_use]
    pub fn recorded_walks(&self, guest: usize) -> Option<&RecordedWalks> {
        self.records[guest].walks.as_ref()
    }

    /// The guest whose turn it is has come to the end of what is of interest.
    pub(crate) fn record_walk(&mut self, guest: usize) {
        if self.records_walks
            && let Some(mut walks) = self.walks_of_current()
        {
            walks.chosen.extend(self.latest_walks_of_misses(guest));
            self.records[guest].walks = Some(walks);
        }
    }

    /// Those of [`Self::walks_of_misses`], or those that were recorded before: they go through all of the profile, and a guest may end as many regions as it
    /// likes. So they are recorded at the first one, and then each time that twice as many have ended.
    fn latest_walks_of_misses(&mut self, guest: usize) -> Vec<ChosenWalk> {
        let record = &mut self.records[guest];
        record.recordings += 1;
        if record.recordings.is_power_of_two() {
            return self.walks_of_misses().collect();
        }
        let before = record.walks.take().into_iter().flat_map(|walks| walks.chosen);
        before.filter(|walk| matches!(walk.choice, Choice::Missed(_))).collect()
    }

    fn walks_of_current(&self) -> Option<RecordedWalks> {
        let pages = self.state.processors[self.state.current.processor].mmu.data_pages();
        let middle = self.walk_of(inside(*pages.get(pages.len() / 2)?), None)?;
        // A page whose tables have changed since has no walk.
        let lengths: Vec<(Gva, usize)> = pages
            .iter()
            .filter_map(|&page| Some((inside(page), self.record_of(inside(page), Memo::AsItIs, None)?.references())))
            .collect();
        let references: Vec<usize> = lengths.iter().map(|&(_, references)| references).collect();
        let chosen = choices(&references).into_iter().filter_map(|(choice, index, pages)| {
            Some(ChosenWalk { choice, pages, walk: self.walk_of(lengths[index].0, None)? })
        });
        let chosen = chosen.chain(self.walks_of_exits()).collect();
        Some(RecordedWalks { middle, pages: references.len(), chosen })
    }

    /// Walks to pages whose accesses have exited lately, one for each reason: the latest that can be walked to now. Those of other address spaces
    /// cannot.
    fn walks_of_exits(&self) -> impl Iterator<Item = ChosenWalk> {
        let current = self.state.current;
        let pages = self.state.exit_pages.iter();
        let latest = pages.flat_map(move |pages| pages.latest(current.processor, current.guest));
        let walk = |access: &ExitAccess| self.walk_of(access.gva, Some(&access.context));
        latest.filter_map(move |(reason, accesses)| {
            let walk = accesses.latest().find_map(walk)?;
            Some(ChosenWalk { choice: Choice::Exit(reason), pages: accesses.exits as usize, walk })
        })
    }

    /// Walks to the pages of the current address space that instructions miss most often, where there is a profile.
    fn walks_of_misses(&self) -> impl Iterator<Item = ChosenWalk> {
        let current = self.state.current;
        let ledger = self.state.profile.iter();
        let pages =
            ledger.flat_map(move |ledger| ledger.frequent_misses(current.processor, current.guest, MOST_MISSED));
        pages.filter_map(|missed| {
            // A kernel that misses in a user's page has allowed itself to use it.
            let context =
                TranslationContext { privilege: missed.privilege, sum: true, ..TranslationContext::default() };
            let walk = self.walk_of(inside((missed.page, PageSize::Size4K)), Some(&context))?;
            Some(ChosenWalk { choice: Choice::Missed(missed.root), pages: missed.misses as usize, walk })
        })
    }

    /// The walk that the vCPU whose turn it is would make: with its privilege, or with that of another context.
    fn record_of(&self, gva: Gva, memo: Memo, privileged_as: Option<&TranslationContext>) -> Option<WalkRecord> {
        let state = &self.state;
        let mmu = &state.processors[state.current.processor].mmu;
        let second = state.vm().second_stage_of(state.current.hart);
        let mut memory = WalkMemory::new(&state.host.memory);
        let recorded = match privileged_as {
            Some(context) => mmu.record_walk_as(&mut memory, &second, (gva, memo), context),
            None => mmu.record_walk(&mut memory, &second, gva, memo),
        };
        recorded.ok()
    }

    /// The same page walked to with empty walk caches and nested TLB, and with what they hold.
    fn walk_of(&self, gva: Gva, privileged_as: Option<&TranslationContext>) -> Option<RecordedWalk> {
        let of = |memo| self.record_of(gva, memo, privileged_as);
        Some(RecordedWalk { whole: of(Memo::Empty)?, cached: of(Memo::AsItIs)? })
    }
}

/// An address within a page that is nothing special.
fn inside((page, size): (Gva, PageSize)) -> Gva {
    page.wrapping_add((size.bytes() / 3) & !7)
}
