//! The pages whose accesses have led to exits lately, by reason, so that a walk to each can be recorded.

use crate::profile::Space;
use hypervisor::ExitReason;
use std::collections::{BTreeMap, VecDeque};
use types::{Gva, TranslationContext};

/// The most pairs of an address space and a reason of a guest. All are forgotten where one more comes: most are of processes that have ended.
const MOST: usize = 1 << 12;
/// How many of the latest accesses are kept. The page of the very latest one may be gone from the tables when a walk to it is recorded.
const LATEST: usize = 16;

/// An access that has exited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ExitAccess {
    pub(crate) gva: Gva,
    /// The context that it was made in.
    pub(crate) context: TranslationContext,
}

/// The accesses of an address space that have exited for a reason.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ExitAccesses {
    /// The latest ones, the latest of them last.
    latest: VecDeque<ExitAccess>,
    /// How many there were in all.
    pub(crate) exits: u64,
}

impl ExitAccesses {
    fn add(&mut self, access: ExitAccess) {
        if self.latest.len() >= LATEST {
            self.latest.pop_front();
        }
        self.latest.push_back(access);
        self.exits += 1;
    }

    /// The latest accesses, the very latest one first.
    pub(crate) fn latest(&self) -> impl Iterator<Item = &ExitAccess> {
        self.latest.iter().rev()
    }
}

/// The latest accesses that have exited, of each guest.
#[derive(Debug)]
pub(crate) struct ExitPages {
    guests: Vec<BTreeMap<(Space, ExitReason), ExitAccesses>>,
    /// The context of the hart on each pCPU.
    contexts: Vec<TranslationContext>,
    /// The access that is made.
    access: Option<Gva>,
}

impl ExitPages {
    pub(crate) fn new(guests: usize, pcpus: usize) -> Self {
        Self {
            guests: vec![BTreeMap::new(); guests],
            contexts: vec![TranslationContext::default(); pcpus],
            access: None,
        }
    }

    /// The hart on a pCPU translates in `context` from now on.
    pub(crate) fn enter(&mut self, pcpu: usize, context: &TranslationContext) {
        self.contexts[pcpu] = *context;
    }

    /// What exits from now on does so for the access to `gva`, or for none.
    pub(crate) fn access(&mut self, gva: Option<Gva>) {
        self.access = gva;
    }

    /// A guest has exited on a pCPU.
    pub(crate) fn exited(&mut self, pcpu: usize, guest: usize, reason: ExitReason) {
        let Some(gva) = self.access else { return };
        let context = self.contexts[pcpu];
        let (key, pages) = ((Space::of(&context), reason), &mut self.guests[guest]);
        if pages.len() >= MOST {
            pages.clear();
        }
        pages.entry(key).or_default().add(ExitAccess { gva, context });
    }

    /// The region of interest of a guest begins: what was before does not count.
    pub(crate) fn begin(&mut self, guest: usize) {
        self.guests[guest].clear();
    }

    /// The latest accesses of a guest in the address space of the hart on a pCPU, by reason.
    pub(crate) fn latest(&self, pcpu: usize, guest: usize) -> impl Iterator<Item = (ExitReason, &ExitAccesses)> {
        let current = Space::of(&self.contexts[pcpu]);
        let pages = self.guests[guest].iter().filter(move |((space, _), _)| *space == current);
        pages.map(|(&(_, reason), accesses)| (reason, accesses))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Asid, Gpa};

    #[test]
    fn the_latest_access_of_each_reason_and_space_is_kept_and_exits_without_an_access_are_not() {
        let mut pages = ExitPages::new(2, 1);
        let of = |pages: &ExitPages, guest| {
            let latest = |accesses: &ExitAccesses| accesses.latest().next().expect("one").gva.0;
            let all = pages.latest(0, guest).map(|(reason, of)| (reason, latest(of), of.exits));
            all.collect::<Vec<_>>()
        };
        pages.exited(0, 0, ExitReason::Wfi);
        for gva in [0x1000, 0x2000] {
            pages.access(Some(Gva(gva)));
            pages.exited(0, 0, ExitReason::NestedFault);
        }
        pages.exited(0, 1, ExitReason::Mmio);
        pages.enter(0, &TranslationContext { asid: Asid(7), ..TranslationContext::default() });
        assert_eq!(of(&pages, 0), []);
        pages.exited(0, 0, ExitReason::ShadowFault);
        assert_eq!(of(&pages, 0), [(ExitReason::ShadowFault, 0x2000, 1)]);
        pages.enter(0, &TranslationContext::default());
        assert_eq!(of(&pages, 0), [(ExitReason::NestedFault, 0x2000, 2)]);
        pages.begin(0);
        assert_eq!((of(&pages, 0), of(&pages, 1)), (vec![], vec![(ExitReason::Mmio, 0x2000, 1)]));
    }

    #[test]
    fn a_guest_with_many_address_spaces_keeps_limited_memory() {
        let mut pages = ExitPages::new(1, 1);
        pages.access(Some(Gva(0x1000)));
        for root in 0..MOST as u64 + 10 {
            pages.enter(0, &TranslationContext { root: Gpa(root << 12), ..TranslationContext::default() });
            pages.exited(0, 0, ExitReason::NestedFault);
        }
        assert!(pages.guests[0].len() <= MOST);
    }
}
