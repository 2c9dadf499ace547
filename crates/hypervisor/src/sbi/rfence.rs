//! RFENCE, EID 0x52464E43 (SBI 3.0, chapter 8). The functions 3 to 6, of a hypervisor in the guest, are absent with the H extension.

use super::call::{Limits, SbiCall};
use super::error::SbiError;
use super::harts::HartSet;
use types::{Asid, Gva, PageSize};

const PAGE: u64 = PageSize::Size4K.bytes();

/// A range of more pages than this is fenced as a whole, which the architecture allows (a fence may remove more than it
/// must). Linux changes over at the same number by itself; the limit keeps a hostile range from costing 2^52 fences.
pub const FULL_FENCE_PAGES: u64 = 64;

/// A fence for other harts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RemoteFence {
    /// `fence.i`.
    Instruction,
    /// `sfence.vma` of each page of a range, or of everything, in one address space or in all.
    Address {
        /// Which pages.
        range: FenceRange,
        /// Which address space; `None` for all.
        asid: Option<Asid>,
    },
}

/// The pages that a fence is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FenceRange {
    /// All.
    All,
    /// Some, at most [`FULL_FENCE_PAGES`].
    Pages {
        /// Start of the first.
        first: Gva,
        /// How many 4 KiB pages.
        count: u64,
    },
}

impl FenceRange {
    /// The pages of `size` bytes at `start`. Both zero, or a size of −1, are everything.
    pub(super) fn new(start: u64, size: u64) -> Result<Self, SbiError> {
        if (start == 0 && size == 0) || size == u64::MAX {
            return Ok(Self::All);
        }
        let first = Gva(start).page(PageSize::Size4K);
        let Some(beyond_first) = size.checked_sub(1) else {
            return Ok(Self::Pages { first, count: 0 });
        };
        // The range may end with the last byte of the space, whose successor is no number.
        let last = start.checked_add(beyond_first).ok_or(SbiError::InvalidAddress)?;
        let count = last / PAGE - first.number() + 1;
        Ok(if count > FULL_FENCE_PAGES { Self::All } else { Self::Pages { first, count } })
    }

    /// The operand of each `sfence.vma`: `None` alone for everything.
    pub fn operands(self) -> impl Iterator<Item = Option<Gva>> {
        let (first, count) = match self {
            Self::All => (None, 1),
            Self::Pages { first, count } => (Some(first), count),
        };
        (0..count).map(move |page| first.map(|first| first.wrapping_add(page * PAGE)))
    }
}

pub(super) fn decode(call: &SbiCall, limits: &Limits) -> Result<(HartSet, RemoteFence), SbiError> {
    let [mask, base, start, size, asid, _] = call.args;
    let fence = match call.fid {
        0 => RemoteFence::Instruction,
        1 => RemoteFence::Address { range: FenceRange::new(start, size)?, asid: None },
        2 => {
            let asid = u16::try_from(asid).map_err(|_| SbiError::InvalidParam)?;
            RemoteFence::Address { range: FenceRange::new(start, size)?, asid: Some(Asid(asid)) }
        }
        _ => return Err(SbiError::NotSupported),
    };
    Ok((HartSet::from_mask(mask, base, limits.harts)?, fence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pages(start: u64, size: u64) -> Result<Vec<u64>, SbiError> {
        FenceRange::new(start, size)
            .map(|range| range.operands().map(|gva| gva.map_or(u64::MAX, |gva| gva.0)).collect())
    }

    #[test]
    fn ranges_cover_every_page_they_touch() {
        assert_eq!(pages(0x1000, 0x1000), Ok(vec![0x1000]));
        assert_eq!(pages(0x1fff, 2), Ok(vec![0x1000, 0x2000]));
        assert_eq!(pages(0x1000, 0), Ok(vec![]));
        assert_eq!(pages(0x1000, 64 << 12).map(|pages| pages.len()), Ok(64));
    }

    #[test]
    fn everything_has_three_spellings() {
        let all = Ok(FenceRange::All);
        assert_eq!(FenceRange::new(0, 0), all);
        assert_eq!(FenceRange::new(0x1234, u64::MAX), all);
        assert_eq!(FenceRange::new(0x1000, (64 << 12) + 1), all);
        assert_eq!(pages(0, 0), Ok(vec![u64::MAX]));
    }

    #[test]
    fn a_range_that_leaves_the_space_is_refused() {
        assert_eq!(FenceRange::new(u64::MAX - 4, 8), Err(SbiError::InvalidAddress));
        assert_eq!(pages(!0xfff, 0x1000), Ok(vec![!0xfff]));
    }

    proptest! {
        #[test]
        fn the_pages_hold_every_byte_and_are_few(start: u64, size in 0_u64..600_000) {
            if let Ok(FenceRange::Pages { first, count }) = FenceRange::new(start, size) {
                prop_assert!(count <= FULL_FENCE_PAGES);
                if size > 0 {
                    prop_assert_eq!(first.number(), start >> 12);
                    prop_assert_eq!(first.number() + count - 1, (start + (size - 1)) >> 12);
                }
            }
        }
    }
}
