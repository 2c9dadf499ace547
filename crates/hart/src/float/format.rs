//! What the operations need to know of a floating-point format.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

use softfloat_wrapper::{F32, F64, Float};

/// A binary floating-point format, named by the host's type for it: `f32` (S) or `f64` (D).
///
/// Operands and results are bit patterns, because a host number does not keep the payload of a NaN. The host's arithmetic is the
/// supertraits' and rounds to nearest even, as Rust never changes the host's rounding mode.
pub trait Format:
    Copy
    + PartialOrd
    + Into<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Sized
{
    /// A bit pattern of this format.
    type Bits: Copy + Eq + Debug;
    /// SoftFloat's type for this format.
    #[doc(hidden)]
    type Soft: Float<Payload = Self::Bits>;

    /// Bits of precision, the hidden one included: 24 or 53.
    const PRECISION: u32;
    /// The biased exponent of infinities and NaNs.
    const MAX_EXPONENT: u32;
    /// The one NaN that operations return: positive, quiet, no payload.
    const CANONICAL_NAN: Self::Bits;
    /// Zero, for comparing residues.
    const ZERO: Self;

    /// The number with this bit pattern.
    fn from_bits(bits: Self::Bits) -> Self;
    /// The bit pattern of this number.
    fn to_bits(self) -> Self::Bits;
    /// The biased exponent field.
    fn exponent(bits: Self::Bits) -> u32;
    /// The sign bit.
    fn is_negative(bits: Self::Bits) -> bool;
    /// Whether the fraction field is zero.
    fn is_fraction_zero(bits: Self::Bits) -> bool;
    /// Whether `bits` is a NaN.
    fn is_nan(bits: Self::Bits) -> bool;
    /// Whether `bits` is a signalling NaN.
    fn is_signaling(bits: Self::Bits) -> bool;
    /// The magnitude of `bits` with the sign `negative`.
    fn with_sign(bits: Self::Bits, negative: bool) -> Self::Bits;
    /// The host's fused multiply-add.
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    /// The host's square root.
    fn sqrt(self) -> Self;
    /// The number nearest to `value`, ties to even.
    fn from_signed(value: i64) -> Self;
    /// The number nearest to `value`, ties to even.
    fn from_unsigned(value: u64) -> Self;
}

macro_rules! format {
    ($host:ident, $bits:ident, $soft:ident, $fraction:literal, $max_exponent:literal, $canonical:literal) => {
        impl Format for $host {
            type Bits = $bits;
            type Soft = $soft;

            const PRECISION: u32 = $fraction + 1;
            const MAX_EXPONENT: u32 = $max_exponent;
            const CANONICAL_NAN: $bits = $canonical;
            const ZERO: Self = 0.0;

            #[inline(always)]
            fn from_bits(bits: $bits) -> Self {
                Self::from_bits(bits)
            }
            #[inline(always)]
            fn to_bits(self) -> $bits {
                self.to_bits()
            }
            #[inline(always)]
            fn exponent(bits: $bits) -> u32 {
                (bits >> $fraction) as u32 & $max_exponent
            }
            #[inline(always)]
            fn is_negative(bits: $bits) -> bool {
                bits >> ($bits::BITS - 1) != 0
            }
            #[inline(always)]
            fn is_fraction_zero(bits: $bits) -> bool {
                bits & ((1 << $fraction) - 1) == 0
            }
            #[inline(always)]
            fn is_nan(bits: $bits) -> bool {
                Self::from_bits(bits).is_nan()
            }
            #[inline(always)]
            fn is_signaling(bits: $bits) -> bool {
                <Self as Format>::is_nan(bits) && bits & (1 << ($fraction - 1)) == 0
            }
            #[inline(always)]
            fn with_sign(bits: $bits, negative: bool) -> $bits {
                bits & ($bits::MAX >> 1) | $bits::from(negative) << ($bits::BITS - 1)
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                self.mul_add(factor, addend)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn from_signed(value: i64) -> Self {
                value as Self
            }
            #[inline(always)]
            fn from_unsigned(value: u64) -> Self {
                value as Self
            }
        }
    };
}

format!(f32, u32, F32, 23, 0xff, 0x7fc0_0000);
format!(f64, u64, F64, 52, 0x7ff, 0x7ff8_0000_0000_0000);
