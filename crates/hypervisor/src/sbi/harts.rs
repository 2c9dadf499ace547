//! The hart mask of a call (SBI 3.0, section 3.1).

use super::error::SbiError;

/// Harts of a guest, all of which exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HartSet {
    /// Every hart of the guest: IDs 0 to `harts` − 1.
    All {
        /// How many there are.
        harts: usize,
    },
    /// Hart `base` + n for each bit n of `mask`.
    Window {
        /// The hart of bit 0.
        base: usize,
        /// Which of the 64 harts from there on.
        mask: u64,
    },
}

impl HartSet {
    /// The harts that `hart_mask` and `hart_mask_base` name. A base of −1 is all, whatever the mask.
    ///
    /// # Errors
    /// [`SbiError::InvalidParam`] if one of them is not among the guest's `harts`. A base without any is not looked at (SBI 3.0).
    pub(super) fn from_mask(mask: u64, base: u64, harts: usize) -> Result<Self, SbiError> {
        if base == u64::MAX {
            return Ok(Self::All { harts });
        }
        if mask == 0 {
            return Ok(Self::Window { base: 0, mask });
        }
        let base = usize::try_from(base).ok().filter(|&base| base < harts).ok_or(SbiError::InvalidParam)?;
        let highest = u64::BITS - mask.leading_zeros();
        if highest as usize > harts - base {
            return Err(SbiError::InvalidParam);
        }
        Ok(Self::Window { base, mask })
    }

    /// The harts whose bits are set in `mask`, of the `harts` that exist.
    pub(super) const fn existing(mask: u64, harts: usize) -> Self {
        let exist = if harts < 64 { (1 << harts) - 1 } else { u64::MAX };
        Self::Window { base: 0, mask: mask & exist }
    }

    /// Whether `hart` is among them.
    #[must_use]
    pub const fn contains(&self, hart: usize) -> bool {
        match *self {
            Self::All { harts } => hart < harts,
            Self::Window { base, mask } => hart >= base && hart - base < 64 && mask >> (hart - base) & 1 != 0,
        }
    }

    /// Their IDs, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let range = match self {
            Self::All { harts } => 0..harts,
            Self::Window { base, .. } => base..base + 64,
        };
        range.filter(move |&hart| self.contains(hart))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ids(mask: u64, base: u64, harts: usize) -> Result<Vec<usize>, SbiError> {
        HartSet::from_mask(mask, base, harts).map(|set| set.iter().collect())
    }

    #[test]
    fn masks_name_harts_from_the_base_on() {
        assert_eq!(ids(0b101, 0, 4), Ok(vec![0, 2]));
        assert_eq!(ids(0b11, 2, 4), Ok(vec![2, 3]));
        assert_eq!(ids(0, 3, 4), Ok(vec![]));
        assert_eq!(ids(0, 4, 4), Ok(vec![]), "no hart is named that does not exist");
        assert_eq!(ids(1 << 63, 64, 128), Ok(vec![127]));
    }

    #[test]
    fn base_minus_one_is_everyone() {
        assert_eq!(ids(0, u64::MAX, 3), Ok(vec![0, 1, 2]));
        assert_eq!(ids(u64::MAX, u64::MAX, 100).map(|ids| ids.len()), Ok(100));
    }

    #[test]
    fn harts_that_are_not_there_are_refused() {
        for (mask, base) in [(0b1_0000, 0), (0b100, 2), (1, 4), (1, u64::MAX - 1), (u64::MAX, 0)] {
            assert_eq!(ids(mask, base, 4), Err(SbiError::InvalidParam), "{mask:#x} from {base}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(mask: u64, base in 0_u64..200, harts in 1_usize..200) {
            let named: Vec<u64> = (0..64).filter(|bit| mask >> bit & 1 != 0).map(|bit| base + bit).collect();
            let valid = named.iter().all(|&id| id < harts as u64);
            let expected = if valid { Ok(named.iter().map(|&id| id as usize).collect()) } else { Err(SbiError::InvalidParam) };
            prop_assert_eq!(ids(mask, base, harts), expected);
        }
    }
}
