//! What the machine that a snapshot was taken on had translated: the address spaces that its guest used, and the pages that its TLBs held.
//! These are facts about the guest, whatever scheme it ran under: guest virtual pages in the order of their use.

use crate::parts::address_spaces::AddressSpace;
use mmu::{ResidentPage, ResidentSpace};
use serde::{Deserialize, Serialize};
use types::{Access, Asid, Gva, Privilege};

/// The most pages of one hart's TLBs. No modelled TLB holds as many; a file may say anything.
const MOST_PAGES: usize = 1 << 18;

/// The translations that a snapshot records.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Translations {
    /// Values of `satp`: the address spaces that are alive, from the least to the most recently used one.
    spaces: Vec<u64>,
    /// By hart: the pages in its TLBs, from the least to the most recently used one of each level.
    tlbs: Vec<Vec<TlbPage>>,
}

/// Address of a page, and how it is accessed: bit 0, by a fetch; bit 1, from user mode; bits 2 and 3, the address space (0: that of the ASID in
/// bits 16 to 31; 1: every one; 2: no translation).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct TlbPage(u64, u32);

const FETCHED: u32 = 1;
const USER: u32 = 1 << 1;
const GLOBAL: u32 = 1 << 2;
const BARE: u32 = 2 << 2;
const ASID_SHIFT: u32 = 16;

impl From<&ResidentPage> for TlbPage {
    fn from(page: &ResidentPage) -> Self {
        let ResidentPage { gva, space, access, privilege } = *page;
        let access = match access {
            Access::Execute => FETCHED,
            Access::Read | Access::Write => 0,
        };
        let privilege = match privilege {
            Privilege::User => USER,
            Privilege::Supervisor => 0,
        };
        let space = match space {
            ResidentSpace::Asid(asid) => u32::from(asid.0) << ASID_SHIFT,
            ResidentSpace::Global => GLOBAL,
            ResidentSpace::Bare => BARE,
        };
        Self(gva.0, access | privilege | space)
    }
}

impl From<TlbPage> for ResidentPage {
    fn from(TlbPage(gva, bits): TlbPage) -> Self {
        let space = match bits & (GLOBAL | BARE) {
            0 => ResidentSpace::Asid(Asid((bits >> ASID_SHIFT) as u16)),
            GLOBAL => ResidentSpace::Global,
            _ => ResidentSpace::Bare,
        };
        Self {
            gva: Gva(gva),
            space,
            access: if bits & FETCHED != 0 { Access::Execute } else { Access::Read },
            privilege: if bits & USER != 0 { Privilege::User } else { Privilege::Supervisor },
        }
    }
}

impl Translations {
    /// These address spaces, and by hart these pages.
    pub(super) fn new(spaces: &[AddressSpace], tlbs: &[Vec<ResidentPage>]) -> Self {
        let pages = |pages: &Vec<ResidentPage>| pages.iter().map(TlbPage::from).collect();
        Self { spaces: spaces.iter().map(AddressSpace::satp).collect(), tlbs: tlbs.iter().map(pages).collect() }
    }

    /// The address spaces, from the least to the most recently used one.
    pub(crate) fn spaces(&self) -> Vec<AddressSpace> {
        self.spaces.iter().filter_map(|&satp| AddressSpace::of_satp(satp)).collect()
    }

    /// The pages in the TLBs of a hart.
    pub(crate) fn pages(&self, hart: usize) -> impl Iterator<Item = ResidentPage> {
        self.tlbs.get(hart).into_iter().flatten().take(MOST_PAGES).map(|&page| page.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_comes_back_as_it_was() {
        for space in [ResidentSpace::Asid(Asid(0xabcd)), ResidentSpace::Global, ResidentSpace::Bare] {
            for access in [Access::Read, Access::Execute] {
                for privilege in [Privilege::User, Privilege::Supervisor] {
                    let page = ResidentPage { gva: Gva(0xffff_ffc0_0000_1000), space, access, privilege };
                    let kept = Translations::new(&[], &[Vec::new(), vec![page]]);
                    assert_eq!(kept.pages(1).collect::<Vec<_>>(), [page]);
                    assert_eq!((kept.pages(0).count(), kept.pages(2).count()), (0, 0));
                }
            }
        }
    }
}
