//! Pages of the hypervisor's own in the TLBs. They take the places of guests' entries, and answer no guest.
//!
//! The hypervisor translates by its own tables, under VMID 0, which is no guest's. How it finds its pages is not modelled: no walk is made, walk
//! caches and nested TLB stay as they are, and nothing is counted here.

use super::Mmu;
use super::observed::eviction;
use crate::events::{Observer, TlbLevel};
use crate::rights::Rights;
use crate::space::Space;
use crate::tlb::{Request, Translation};
use types::{Access, Gpa, Gva, Hpa, PageSize, Vmid};

/// The space of the hypervisor's pages.
const SPACE: Space = Space::global(Vmid(0));

/// Where the hypervisor sees host physical address 0. Sets follow from the low bits, which are those of the host physical address.
const DIRECT_MAP: u64 = 0xffff_8000_0000_0000;

/// The TLBs of an MMU, as the hypervisor uses them for its own pages of 4K.
#[derive(Debug)]
pub struct HostPages<'m, O>(&'m mut Mmu<O>);

impl<'m, O: Observer> HostPages<'m, O> {
    /// Those of `mmu`.
    pub const fn of(mmu: &'m mut Mmu<O>) -> Self {
        Self(mmu)
    }

    /// Whether an L1 entry answers an access in the current context. Its use is not recorded.
    #[must_use]
    pub fn guest_hits(&self, gva: Gva, access: Access) -> bool {
        let l1 = if access == Access::Execute { &self.0.l1i } else { &self.0.l1d };
        l1.find(gva, self.0.context.query(access)).is_ok()
    }

    /// Uses the page at `page` in the L2, which keeps it from now on; whether it was there.
    pub fn use_in_l2(&mut self, page: Hpa) -> bool {
        let gva = address(page);
        let Mmu { l2, observer, .. } = &mut *self.0;
        let found = l2.find(gva.0, |entry| entry.space() == SPACE).map(|(way, _)| way);
        match found {
            Ok(way) => l2.used(way),
            Err(miss) => {
                if let Some(evicted) = l2.keep(gva, miss, &translation(page))
                    && O::OBSERVES
                {
                    observer.eviction(&eviction(TlbLevel::L2, &evicted));
                }
            }
        }
        found.is_ok()
    }

    /// The same in the L1 of this kind of access. `stamp` is the time of the guest's latest load or store; fetches have their own time.
    pub fn use_in_l1(&mut self, page: Hpa, access: Access, stamp: u64) -> bool {
        let gva = address(page);
        let stamp = if access == Access::Execute { self.0.fetch_stamp() } else { stamp };
        let Mmu { context, l1i, l1d, .. } = &mut *self.0;
        let l1 = if access == Access::Execute { l1i } else { l1d };
        match l1.find_in_space(gva, SPACE) {
            Ok(slot) => {
                l1.touch(slot, Request { gva, access, query: context.query(access), stamp });
                true
            }
            Err(miss) => {
                self.0.fill_l1((gva, access, stamp), miss, &translation(page));
                false
            }
        }
    }
}

const fn address(page: Hpa) -> Gva {
    Gva(DIRECT_MAP + page.0)
}

/// What the TLBs keep of a page. It has no byte in this process, so that no fast copy of it is ever valid, and it permits nothing.
fn translation(page: Hpa) -> Translation {
    Translation::new((Gpa(0), page, 0), SPACE, Rights::NONE, PageSize::Size4K)
}

#[cfg(test)]
mod tests;
