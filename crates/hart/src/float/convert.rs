//! Conversions between formats and integers.

use std::convert::identity;

use softfloat_wrapper::Float;

use super::range::{Range, host_rounds};
use super::{Flags, Format, Rounding, soft};

/// An integer type of the conversion instructions: `i32` (W), `u32` (WU), `i64` (L) or `u64` (LU).
pub trait Integer: Copy + Eq {
    /// The smallest value, which is what a number below the range converts to. A power of two, or zero.
    const LOWEST: f64;
    /// One more than the largest value: a power of two.
    const LIMIT: f64;

    /// The value as an XLEN register holds it: words, unsigned ones too, are sign-extended (21.7).
    fn to_register(self) -> u64;
    /// The value in a register, its upper half ignored for words.
    fn from_register(register: u64) -> Self;
    /// The nearest value to `number`; 0 for a NaN.
    fn saturating_from(number: f64) -> Self;
    /// The largest value, which NaNs convert to.
    fn largest() -> Self;
    /// The number of bits between the highest and the lowest that the magnitude needs.
    fn significant_bits(self) -> u32;
    /// The nearest number of the format, ties to even.
    fn nearest<F: Format>(self) -> F;
    /// The conversion in SoftFloat.
    #[doc(hidden)]
    fn to_soft<S: Float>(self, mode: softfloat_wrapper::RoundingMode) -> S;
}

macro_rules! integer {
    ($type:ident, $signed:ident, $magnitude:path, $from:ident, $from_wide:ident, $soft:ident) => {
        impl Integer for $type {
            const LOWEST: f64 = Self::MIN as f64;
            const LIMIT: f64 = (Self::MAX / 2 + 1) as f64 * 2.0;

            #[inline(always)]
            fn to_register(self) -> u64 {
                i64::from(self as $signed) as u64
            }
            #[inline(always)]
            fn from_register(register: u64) -> Self {
                register as Self
            }
            #[inline(always)]
            fn saturating_from(number: f64) -> Self {
                number as Self
            }
            #[inline(always)]
            fn largest() -> Self {
                Self::MAX
            }
            #[inline(always)]
            fn significant_bits(self) -> u32 {
                let magnitude = $magnitude(self);
                (Self::BITS - magnitude.leading_zeros()).saturating_sub(magnitude.trailing_zeros())
            }
            #[inline(always)]
            fn nearest<F: Format>(self) -> F {
                F::$from($from_wide::from(self))
            }
            fn to_soft<S: Float>(self, mode: softfloat_wrapper::RoundingMode) -> S {
                S::$soft(self, mode)
            }
        }
    };
}

integer!(i32, i32, i32::unsigned_abs, from_signed, i64, from_i32);
integer!(u32, i32, identity, from_unsigned, u64, from_u32);
integer!(i64, i64, i64::unsigned_abs, from_signed, i64, from_i64);
integer!(u64, i64, identity, from_unsigned, u64, from_u64);

/// `fcvt.{w,wu,l,lu}.{s,d}`: `a` rounded to an integer of type `I`, as it goes into a register.
///
/// Out of range, after rounding, the nearest value of the range, and NV without NX; for a NaN the largest value and NV.
#[inline(always)]
pub fn to_integer<F: Format, I: Integer>(a: F::Bits, rounding: Rounding, flags: &mut Flags) -> u64 {
    // Exact: every single is a double.
    let number: f64 = F::from_bits(a).into();
    let rounded = match rounding {
        Rounding::NearestEven => number.round_ties_even(),
        Rounding::TowardZero => number.trunc(),
        Rounding::Down => number.floor(),
        Rounding::Up => number.ceil(),
        Rounding::NearestMagnitude => number.round(),
    };
    if rounded >= I::LOWEST && rounded < I::LIMIT {
        flags.raise_if(rounded != number, Flags::INEXACT);
        I::saturating_from(rounded).to_register()
    } else {
        flags.raise(Flags::INVALID);
        if number.is_nan() { I::largest() } else { I::saturating_from(rounded) }.to_register()
    }
}

/// `fcvt.{s,d}.{w,wu,l,lu}`: the integer of type `I` in `register` as a number.
#[inline(always)]
pub fn from_integer<F: Format, I: Integer>(register: u64, rounding: Rounding, flags: &mut Flags) -> F::Bits {
    let value = I::from_register(register);
    // No integer underflows or overflows, so that an exact one is the same in every mode.
    if flags.sticky(rounding) || value.significant_bits() <= F::PRECISION {
        return value.nearest::<F>().to_bits();
    }
    from_integer_slowly::<F, I>(value, rounding, flags)
}

#[cold]
#[inline(never)]
fn from_integer_slowly<F: Format, I: Integer>(value: I, rounding: Rounding, flags: &mut Flags) -> F::Bits {
    soft::run(rounding, flags, |mode| value.to_soft::<F::Soft>(mode)).to_bits()
}

/// `fcvt.d.s`: the single `a` as a double. Exact; a signalling NaN raises NV.
#[inline(always)]
pub fn widen(a: u32, flags: &mut Flags) -> u64 {
    flags.raise_if(f32::is_signaling(a), Flags::INVALID);
    let number = f64::from(f32::from_bits(a));
    if number.is_nan() { f64::CANONICAL_NAN } else { number.to_bits() }
}

/// `fcvt.s.d`: the nearest single to the double `a`.
#[inline(always)]
pub fn narrow(a: u64, rounding: Rounding, flags: &mut Flags) -> u32 {
    let single = (f64::from_bits(a) as f32).to_bits();
    if flags.sticky(rounding) && Range::Normal.contains::<f32>(single) {
        return single;
    }
    narrow_slowly(a, rounding, flags)
}

#[cold]
#[inline(never)]
fn narrow_slowly(a: u64, rounding: Rounding, flags: &mut Flags) -> u32 {
    let double = f64::from_bits(a);
    let single = double as f32;
    if host_rounds(rounding) && Range::Normal.contains::<f32>(single.to_bits()) {
        flags.raise_if(f64::from(single) != double, Flags::INEXACT);
        return single.to_bits();
    }
    soft::run(rounding, flags, |mode| soft::number::<f64>(a).to_f32(mode)).to_bits()
}
