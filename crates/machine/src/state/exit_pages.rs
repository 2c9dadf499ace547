//! The pages whose accesses have led to exits lately, by reason, so that a walk to each can be recorded.

use crate::profile::Space;
use hypervisor::ExitReason;
use std::collections::BTreeMap;
use types::Gva;

/// The most latest accesses of a guest. All are forgotten where one more comes: most are of processes that have ended.
const MOST: usize = 1 << 12;

/// The latest access of an address space that has exited for a reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ExitPage {
    pub(crate) gva: Gva,
    /// How many accesses of the address space have exited for the reason.
    pub(crate) exits: u64,
}

/// The latest accesses that have exited, of each guest.
#[derive(Debug)]
pub(crate) struct ExitPages {
    guests: Vec<BTreeMap<(Space, ExitReason), ExitPage>>,
    /// The address space of the hart on each pCPU.
    spaces: Vec<Space>,
    /// The access that is made.
    access: Option<Gva>,
}

impl ExitPages {
    pub(crate) fn new(guests: usize, pcpus: usize) -> Self {
        Self { guests: vec![BTreeMap::new(); guests], spaces: vec![Space::default(); pcpus], access: None }
    }

    /// The hart on a pCPU is in an address space from now on.
    pub(crate) fn enter(&mut self, pcpu: usize, space: Space) {
        self.spaces[pcpu] = space;
    }

    /// What exits from now on does so for the access to `gva`, or for none.
    pub(crate) fn access(&mut self, gva: Option<Gva>) {
        self.access = gva;
    }

    /// A guest has exited on a pCPU.
    pub(crate) fn exited(&mut self, pcpu: usize, guest: usize, reason: ExitReason) {
        let Some(gva) = self.access else { return };
        let (key, pages) = ((self.spaces[pcpu], reason), &mut self.guests[guest]);
        let exits = pages.get(&key).map_or(0, |page| page.exits) + 1;
        if pages.len() >= MOST {
            pages.clear();
        }
        pages.insert(key, ExitPage { gva, exits });
    }

    /// The region of interest of a guest begins: what was before does not count.
    pub(crate) fn begin(&mut self, guest: usize) {
        self.guests[guest].clear();
    }

    /// The latest accesses of a guest in the address space of the hart on a pCPU, by reason.
    pub(crate) fn latest(&self, pcpu: usize, guest: usize) -> impl Iterator<Item = (ExitReason, ExitPage)> {
        let current = self.spaces[pcpu];
        let pages = self.guests[guest].iter().filter(move |((space, _), _)| *space == current);
        pages.map(|(&(_, reason), &page)| (reason, page))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Asid;

    #[test]
    fn the_latest_access_of_each_reason_and_space_is_kept_and_exits_without_an_access_are_not() {
        let mut pages = ExitPages::new(2, 1);
        let of = |pages: &ExitPages, guest| {
            pages.latest(0, guest).map(|(reason, page)| (reason, page.gva.0, page.exits)).collect::<Vec<_>>()
        };
        pages.exited(0, 0, ExitReason::Wfi);
        for gva in [0x1000, 0x2000] {
            pages.access(Some(Gva(gva)));
            pages.exited(0, 0, ExitReason::NestedFault);
        }
        pages.exited(0, 1, ExitReason::Mmio);
        pages.enter(0, Space { asid: Asid(7), ..Space::default() });
        assert_eq!(of(&pages, 0), []);
        pages.exited(0, 0, ExitReason::ShadowFault);
        assert_eq!(of(&pages, 0), [(ExitReason::ShadowFault, 0x2000, 1)]);
        pages.enter(0, Space::default());
        assert_eq!(of(&pages, 0), [(ExitReason::NestedFault, 0x2000, 2)]);
        pages.begin(0);
        assert_eq!((of(&pages, 0), of(&pages, 1)), (vec![], vec![(ExitReason::Mmio, 0x2000, 1)]));
    }

    #[test]
    fn a_guest_with_many_address_spaces_keeps_limited_memory() {
        let mut pages = ExitPages::new(1, 1);
        pages.access(Some(Gva(0x1000)));
        for root in 0..MOST as u64 + 10 {
            pages.enter(0, Space { root: types::Gpa(root << 12), ..Space::default() });
            pages.exited(0, 0, ExitReason::NestedFault);
        }
        assert!(pages.guests[0].len() <= MOST);
    }
}
