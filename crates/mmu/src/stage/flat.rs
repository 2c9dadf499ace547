//! The flat nested table: one entry for each 4K page of the guest, one after the other (Ahn et al., ISCA 2012; Sha et al. 2022,
//! section 3.2). A lookup is one reference, whatever the address.
//!
//! An entry is a RISC-V PTE that is a leaf. A superpage of 2M is 512 equal entries with N set and `1_0000_0000` in the low nine bits
//! of the page number: Svnapot's encoding of 64K pages (RISC-V Privileged 1.13, section 12.5), nine bits wide. So whichever entry a
//! lookup reads, it knows the superpage and can fill the TLB with it.

use super::tabled::Format;
use crate::config::{AdPolicy, Groups};
use crate::fault::Cause;
use crate::pte::Pte;
use crate::walk::{Address, Form, Journal, Leaf, Policy, Tables, Target};
use crate::walk_cache::WalkCache;
use types::{Gpa, Hpa, PageSize};

/// The table of `SecondStage::Flat` during one walk.
pub(crate) struct FlatTable {
    /// Where entry 0 is.
    pub(crate) table: Hpa,
    /// The page that entry 0 maps.
    pub(crate) first: Gpa,
    /// How many entries there are.
    pub(crate) entries: u64,
    pub(crate) ad: AdPolicy,
}

impl FlatTable {
    /// Where the entry of an address is: base and offset, within the table.
    #[inline(always)]
    pub(crate) fn slot(&self, gpa: Gpa) -> Result<Hpa, Cause> {
        let index = gpa.0.wrapping_sub(self.first.0) >> PageSize::Size4K.shift();
        if gpa < self.first || index >= self.entries {
            return Err(Cause::OutOfBounds);
        }
        Ok(self.table.wrapping_add(index * 8))
    }
}

/// The size of the page that an entry maps, or what is wrong with it.
#[inline(always)]
fn decode(pte: Pte) -> Result<PageSize, Cause> {
    const MARK: u64 = 0x100 << 12;
    let within = Hpa(pte.address()).offset(PageSize::Size2M);
    Pte(pte.0 & !Pte::N).decode(0, Groups::None)?;
    match (pte.0 & Pte::N != 0, within) {
        (false, _) => Ok(PageSize::Size4K),
        (true, MARK) => Ok(PageSize::Size2M),
        (true, _) => Err(Cause::Reserved),
    }
}

impl Format for FlatTable {
    #[inline(always)]
    fn ad(&self) -> AdPolicy {
        self.ad
    }

    #[inline(always)]
    fn check(&self, address: u64) -> Result<(), Cause> {
        self.slot(Gpa(address)).map(|_| ())
    }

    #[inline(always)]
    fn find<P: Policy, T: Tables>(
        &mut self,
        tables: &mut T,
        _: &mut WalkCache,
        journal: &mut P::Journal,
        target: Target<'_>,
    ) -> Result<Leaf<T::Address>, P::Stop> {
        let Target { address, required } = target;
        let at = self.slot(Gpa(address)).map_err(|cause| tables.refused(cause))?;
        let at = T::Address::of(at.0);
        loop {
            let (pte, form) = tables.read::<P, _>(at, |pte| Form::see::<P>(pte, 0, required))?;
            journal.reference(tables);
            if form == Form::Plain {
                return Ok(Leaf { at, pte, size: PageSize::Size4K, global: false });
            }
            let size = decode(pte).map_err(|cause| tables.refused(cause))?;
            let leaf = Leaf { at, pte, size, global: false };
            if let Some(leaf) = self.ad.settle(tables, leaf, required)? {
                return Ok(leaf);
            }
            // Another processor changed the entry.
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAF: u64 = Pte::V | Pte::R | Pte::A;

    #[test]
    fn an_address_has_a_slot_only_where_the_table_has_an_entry() {
        let flat = FlatTable { table: Hpa(0x9000_0000), first: Gpa(0x8000_0000), entries: 3, ad: AdPolicy::Update };
        assert_eq!(flat.slot(Gpa(0x8000_0000)), Ok(Hpa(0x9000_0000)));
        assert_eq!(flat.slot(Gpa(0x8000_2fff)), Ok(Hpa(0x9000_0010)));
        for beyond in [0, 0x7fff_ffff, 0x8000_3000, 1 << 56, u64::MAX] {
            assert_eq!(flat.slot(Gpa(beyond)), Err(Cause::OutOfBounds), "{beyond:#x}");
        }
        let none = FlatTable { entries: 0, ..flat };
        assert_eq!(none.slot(Gpa(0x8000_0000)), Err(Cause::OutOfBounds));
    }

    #[test]
    fn a_superpage_is_marked_by_nine_bits() {
        for low in 0..512 {
            let pte = Pte(LEAF | Pte::N | low << 10);
            let expected = if low == 0x100 { Ok(PageSize::Size2M) } else { Err(Cause::Reserved) };
            assert_eq!(decode(pte), expected, "{low:#x}");
            assert_eq!(decode(Pte(pte.0 & !Pte::N)), Ok(PageSize::Size4K));
        }
        assert_eq!(decode(Pte(0)), Err(Cause::Invalid));
        assert_eq!(decode(Pte(Pte::V)), Err(Cause::NoLeaf));
        assert_eq!(decode(Pte(LEAF | 1 << 60)), Err(Cause::Reserved));
    }
}
