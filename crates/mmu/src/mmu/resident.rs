//! What the TLBs hold, in the order of its last use, as facts about the guest alone: a recorder can let another MMU, with other
//! TLBs and another second stage, translate the same pages in the same order.

use crate::events::Observer;
use crate::mmu::Mmu;
use crate::rights::Rights;
use crate::space::Space;
use crate::tlb::Translation;
use types::{Access, Asid, Gpa, Gva, Hpa, PageSize, Privilege, Vmid};

/// The address spaces in which a TLB entry answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResidentSpace {
    /// Contexts without translation.
    Bare,
    /// Every address space (the G bit).
    Global,
    /// The address space with this identifier.
    Asid(Asid),
}

/// A page that a TLB holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResidentPage {
    /// Its first byte.
    pub gva: Gva,
    /// Where the entry answers.
    pub space: ResidentSpace,
    /// An access that the entry answers: [`Access::Execute`] for an entry of the L1I, and for one of the L2 alone whose page is executable;
    /// else [`Access::Read`].
    pub access: Access,
    /// The privilege of accesses that the entry answers.
    pub privilege: Privilege,
}

impl ResidentPage {
    /// `None` of an entry of another VM, and of one that permits nothing that a load or a fetch could ask for.
    fn of(gva: Gva, entry: &Translation, vmid: Vmid, fetched: Option<Access>) -> Option<Self> {
        let (space, rights) = (entry.space(), entry.rights());
        let permits = |right: Rights| rights.bits() & right.bits() != 0;
        let access = fetched.or_else(|| match (permits(Rights::EXECUTE), permits(Rights::READ)) {
            (true, _) => Some(Access::Execute),
            (false, true) => Some(Access::Read),
            (false, false) => None,
        })?;
        let space = match space.asid() {
            _ if space.vmid() != vmid => return None,
            Some(asid) => ResidentSpace::Asid(asid),
            None if space.is_bare() => ResidentSpace::Bare,
            None => ResidentSpace::Global,
        };
        // Without translation an entry permits both.
        let user = permits(Rights::USER) && !permits(Rights::SUPERVISOR);
        let privilege = if user { Privilege::User } else { Privilege::Supervisor };
        Some(Self { gva, space, access, privilege })
    }
}

/// An entry of a TLB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TlbEntry {
    /// First byte of the page.
    pub gva: Gva,
    /// Where that is in guest physical memory.
    pub gpa: Gpa,
    /// Where that is in host physical memory.
    pub hpa: Hpa,
    /// The page's size.
    pub size: PageSize,
    /// Where the entry answers.
    pub space: ResidentSpace,
    /// What it permits, without walking again.
    pub permits: Permits,
}

/// What a TLB entry permits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Permits {
    /// Loads.
    pub read: bool,
    /// Stores.
    pub write: bool,
    /// Fetches.
    pub execute: bool,
    /// Accesses from U-mode.
    pub user: bool,
    /// Accesses from S-mode without SUM.
    pub supervisor: bool,
}

/// What the TLBs of a processor hold for a VM, each level from the most to the least recently used entry.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TlbContents {
    /// First level, of loads and stores.
    pub l1d: Vec<TlbEntry>,
    /// First level, of fetches.
    pub l1i: Vec<TlbEntry>,
    /// Second level.
    pub l2: Vec<TlbEntry>,
}

/// Whether there is an address space in which entries of both answer.
fn spaces_meet(one: Space, other: Space) -> bool {
    let everywhere = |space: Space| space.asid().is_none() && !space.is_bare();
    let alike = one.is_bare() == other.is_bare();
    one.vmid() == other.vmid() && (one == other || alike && (everywhere(one) || everywhere(other)))
}

impl TlbEntry {
    fn of(gva: Gva, entry: &Translation) -> Self {
        let (space, rights) = (entry.space(), entry.rights());
        let permits = |right: Rights| rights.bits() & right.bits() != 0;
        let space = match space.asid() {
            Some(asid) => ResidentSpace::Asid(asid),
            None if space.is_bare() => ResidentSpace::Bare,
            None => ResidentSpace::Global,
        };
        let permits = Permits {
            read: permits(Rights::READ),
            write: permits(Rights::WRITE),
            execute: permits(Rights::EXECUTE),
            user: permits(Rights::USER),
            supervisor: permits(Rights::SUPERVISOR),
        };
        Self { gva, gpa: entry.gpa, hpa: entry.hpa, size: entry.size(), space, permits }
    }
}

impl<O: Observer> Mmu<O> {
    /// Whether the L1 of this kind of access has another entry for an address of the page that the entry at `slot` holds, in an address space in
    /// which both answer. Pages of 4K of a larger page, from an L2 that does not hold that size, are such entries beside the page itself. Which
    /// entry an access there uses is the one that the hart predicts.
    #[must_use]
    pub fn has_rival(&self, slot: usize, gva: Gva, access: Access) -> bool {
        let l1 = if access == Access::Execute { self.l1i() } else { self.l1d() };
        let entry = l1.entry(slot);
        let (size, space) = (entry.size(), entry.space());
        let first = gva.page(size).0;
        let rivals = l1.pages().filter(|(page, other)| {
            let (own, others) = (size.bytes(), other.size().bytes());
            let meet = page.0.wrapping_sub(first) < own || first.wrapping_sub(page.0) < others;
            meet && spaces_meet(space, other.space())
        });
        rivals.count() > 1
    }

    /// The entries of `vmid` in the TLBs. Nothing changes.
    #[must_use]
    pub fn tlb_contents(&self, vmid: Vmid) -> TlbContents {
        let of_vm =
            |(gva, entry): &(Gva, Translation)| (entry.space().vmid() == vmid).then(|| TlbEntry::of(*gva, entry));
        let level = |pages: &[(Gva, Translation)]| pages.iter().rev().filter_map(of_vm).collect();
        let l2: Vec<_> = self.l2().pages_by_age().into_iter().map(|(gva, entry)| (Gva(gva), entry)).collect();
        TlbContents { l1d: level(&self.l1d().pages_by_age()), l1i: level(&self.l1i().pages_by_age()), l2: level(&l2) }
    }

    /// The pages of `vmid` in the TLBs: those of the L2, of the L1I and of the L1D, each from the least to the most recently used. A page that
    /// several levels hold is there as often. The order within each set of the L2 is exact; sets are merged way by way.
    #[must_use]
    pub fn resident_pages(&self, vmid: Vmid) -> Vec<ResidentPage> {
        let (l2, l1i, l1d) = (self.l2().pages_by_age(), self.l1i().pages_by_age(), self.l1d().pages_by_age());
        let l2 = l2.iter().filter_map(|(page, entry)| ResidentPage::of(Gva(*page), entry, vmid, None));
        let l1i = l1i.iter().filter_map(|(page, entry)| ResidentPage::of(*page, entry, vmid, Some(Access::Execute)));
        let l1d = l1d.iter().filter_map(|(page, entry)| ResidentPage::of(*page, entry, vmid, Some(Access::Read)));
        l2.chain(l1i).chain(l1d).collect()
    }
}

impl Space {
    /// The ASID of an address space's own mappings; `None` of global ones, and without translation.
    const fn asid(self) -> Option<Asid> {
        const GLOBAL_OR_BARE: u32 = 3 << 16;
        if self.bits() & GLOBAL_OR_BARE == 0 { Some(Asid(self.bits() as u16)) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{HostPage, TableMemory};
    use crate::stage::SecondStage;
    use crate::{MmuConfig, TlbArray};
    use types::{PagingMode, TranslationContext};

    /// A tree whose only leaf table maps page n to itself for a user, every third page executable.
    struct Tables;

    impl TableMemory for Tables {
        fn read(&mut self, at: Hpa) -> Option<u64> {
            let pointer = |table: u64| Some(table >> 2 | 1);
            match at.0 {
                0x1000 => pointer(0x2000),
                0x2000 => pointer(0x3000),
                0x3000..0x4000 => {
                    let page = (at.0 - 0x3000) / 8;
                    Some(page << 10 | if page.is_multiple_of(3) { 0xdb } else { 0xd7 })
                }
                _ => None,
            }
        }

        fn compare_exchange(&mut self, _: Hpa, old: u64, _: u64) -> Option<u64> {
            Some(old)
        }

        fn host_page(&self, _: Hpa, _: PageSize) -> HostPage {
            HostPage::Device
        }
    }

    #[test]
    fn pages_come_from_the_least_to_the_most_recently_used() {
        for ways in [4, 40] {
            let config = MmuConfig {
                l1d: vec![TlbArray::new(&[PageSize::Size4K], 1, 2)],
                l1i: vec![TlbArray::new(&[PageSize::Size4K], 1, 1)],
                l2: vec![TlbArray::new(&[PageSize::Size4K], 1, ways)],
                ..MmuConfig::default()
            };
            let mut mmu = Mmu::new(&config).unwrap();
            let vmid = Vmid(3);
            let (mode, root, asid) = (PagingMode::Sv39, Gpa(0x1000), Asid(7));
            let user = Privilege::User;
            let context = TranslationContext { mode, root, asid, privilege: user, sum: false, mxr: false };
            mmu.set_context(&context, vmid);
            let second = SecondStage::Constant { ram: Gpa(0)..Gpa(1 << 40), offset: 0 };
            let accesses = [(1, Access::Read), (2, Access::Read), (3, Access::Execute), (4, Access::Read)];
            for (stamp, (page, access)) in (1..).zip(accesses.into_iter().chain([(1, Access::Read)])) {
                mmu.access(&mut Tables, &second, Gva(page << 12), access, stamp).unwrap();
            }
            let space = ResidentSpace::Asid(asid);
            let page =
                |(page, access): (u64, Access)| ResidentPage { gva: Gva(page << 12), space, access, privilege: user };
            let read = |page| (page, Access::Read);
            // Page 1 was looked up in the L2 again: it had left the L1D.
            let l2 = [read(2), (3, Access::Execute), read(4), read(1)];
            let all: Vec<_> = l2.into_iter().chain([(3, Access::Execute), read(4), read(1)]).map(page).collect();
            assert_eq!(mmu.resident_pages(vmid), all, "{ways} ways");
            assert_eq!(mmu.resident_pages(Vmid(4)), []);
        }
    }
}
