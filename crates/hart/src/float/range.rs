//! Where host results can be trusted.

use super::{Format, Rounding};

/// The biased exponents, from the one named upwards, at which a host result may be taken.
///
/// The largest finite binade is left to SoftFloat: residues could overflow there.
#[derive(Clone, Copy)]
pub(crate) enum Range {
    /// Any finite number: a sum that is zero or subnormal is exact, so that it can not underflow.
    Finite,
    /// Clear of the smallest normal number, which a tiny result may be rounded up to.
    Normal,
    /// High enough that the product of two units in the last place is a number as well.
    Residue,
}

impl Range {
    /// The lowest biased exponent of this range, and how far the highest is above it.
    #[inline(always)]
    pub(crate) fn exponents<F: Format>(self) -> (u32, u32) {
        let lowest = match self {
            Self::Finite => 0,
            Self::Normal => 2,
            Self::Residue => 2 * F::PRECISION + 4,
        };
        (lowest, F::MAX_EXPONENT - 2 - lowest)
    }

    /// Whether the exponent of `bits` lies in this range.
    #[inline(always)]
    pub(super) fn contains<F: Format>(self, bits: F::Bits) -> bool {
        let (lowest, span) = self.exponents::<F>();
        F::exponent(bits).wrapping_sub(lowest) <= span
    }
}

/// Whether the host way is open: the host rounds to nearest even only.
pub(super) fn host_rounds(rounding: Rounding) -> bool {
    rounding == Rounding::NearestEven
}
