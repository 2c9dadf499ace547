//! The operations that never round: compares, minimum and maximum, sign injection and classification.

use super::{Flags, Format};

/// `feq`: whether `a` equals `b`. Quiet: only a signalling NaN raises NV.
#[inline(always)]
pub fn eq<F: Format>(a: F::Bits, b: F::Bits, flags: &mut Flags) -> bool {
    flags.raise_if(F::is_signaling(a) || F::is_signaling(b), Flags::INVALID);
    F::from_bits(a) == F::from_bits(b)
}

/// `flt`: whether `a` is less than `b`. Signalling: any NaN raises NV.
#[inline(always)]
pub fn lt<F: Format>(a: F::Bits, b: F::Bits, flags: &mut Flags) -> bool {
    flags.raise_if(F::is_nan(a) || F::is_nan(b), Flags::INVALID);
    F::from_bits(a) < F::from_bits(b)
}

/// `fle`: whether `a` is at most `b`. Signalling: any NaN raises NV.
#[inline(always)]
pub fn le<F: Format>(a: F::Bits, b: F::Bits, flags: &mut Flags) -> bool {
    flags.raise_if(F::is_nan(a) || F::is_nan(b), Flags::INVALID);
    F::from_bits(a) <= F::from_bits(b)
}

/// `fmin`: IEEE 754-2019 minimumNumber. A number wins over a NaN, and -0 is less than +0.
#[inline(always)]
pub fn min<F: Format>(a: F::Bits, b: F::Bits, flags: &mut Flags) -> F::Bits {
    select::<F>(a, b, flags, |x, y| x < y || x == y && F::is_negative(a))
}

/// `fmax`: IEEE 754-2019 maximumNumber. A number wins over a NaN, and +0 is greater than -0.
#[inline(always)]
pub fn max<F: Format>(a: F::Bits, b: F::Bits, flags: &mut Flags) -> F::Bits {
    select::<F>(a, b, flags, |x, y| x > y || x == y && F::is_negative(b))
}

/// Of two numbers, `a` if it is preferred, else `b`; of a number and a NaN the number; of two NaNs the canonical one.
#[inline(always)]
fn select<F: Format>(a: F::Bits, b: F::Bits, flags: &mut Flags, prefers_first: impl FnOnce(F, F) -> bool) -> F::Bits {
    flags.raise_if(F::is_signaling(a) || F::is_signaling(b), Flags::INVALID);
    match (F::is_nan(a), F::is_nan(b)) {
        (false, false) if prefers_first(F::from_bits(a), F::from_bits(b)) => a,
        (true, true) => F::CANONICAL_NAN,
        (false, true) => a,
        (_, false) => b,
    }
}

/// `fsgnj`: the magnitude of `a` with the sign of `b`. Sign injection never touches a NaN's payload.
#[inline(always)]
pub fn sign_copy<F: Format>(a: F::Bits, b: F::Bits) -> F::Bits {
    F::with_sign(a, F::is_negative(b))
}

/// `fsgnjn`: the magnitude of `a` with the opposite of the sign of `b`.
#[inline(always)]
pub fn sign_negate<F: Format>(a: F::Bits, b: F::Bits) -> F::Bits {
    F::with_sign(a, !F::is_negative(b))
}

/// `fsgnjx`: `a` with its sign turned if `b` is negative.
#[inline(always)]
pub fn sign_xor<F: Format>(a: F::Bits, b: F::Bits) -> F::Bits {
    F::with_sign(a, F::is_negative(a) ^ F::is_negative(b))
}

/// `fclass`: one bit of ten, by the table of 21.9: -∞, -normal, -subnormal, -0, +0, +subnormal, +normal, +∞, signalling NaN, quiet NaN.
#[inline]
pub fn classify<F: Format>(a: F::Bits) -> u64 {
    let negative = F::is_negative(a);
    let positive_class = match F::exponent(a) {
        0 if F::is_fraction_zero(a) => 4,
        0 => 5,
        exponent if exponent < F::MAX_EXPONENT => 6,
        _ if F::is_fraction_zero(a) => 7,
        _ if F::is_signaling(a) => return 1 << 8,
        _ => return 1 << 9,
    };
    // The classes of negative numbers mirror those of positive ones: 3 - 0, 2 - 1, ...
    1 << if negative { 7 - positive_class } else { positive_class }
}
