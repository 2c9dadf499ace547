//! The operations that round: add, subtract, multiply, divide, square root and the fused family.
//!
//! Each is an inlined sticky way, and a cold function that holds the host way and the soft way. See [`super`] for what these are.

use softfloat_wrapper::Float;

use super::range::{Range, host_rounds};
use super::{Flags, Format, Rounding, exactness, soft};

/// [`add`] to nearest even where that takes no call: NX is raised already, or the sum is exact. `None` elsewhere.
#[inline(always)]
pub(crate) fn add_quickly<F: Format>(a: F::Bits, b: F::Bits, flags: Flags) -> Option<F::Bits> {
    let (x, y) = (F::from_bits(a), F::from_bits(b));
    let sum = x + y;
    let known = Range::Finite.contains::<F>(sum.to_bits()) && (flags.inexact() || exactness::is_sum(x, y, sum));
    known.then(|| sum.to_bits())
}

/// [`sub`], likewise.
#[inline(always)]
pub(crate) fn sub_quickly<F: Format>(a: F::Bits, b: F::Bits, flags: Flags) -> Option<F::Bits> {
    add_quickly::<F>(a, negate::<F>(b), flags)
}

/// [`mul`], likewise.
#[inline(always)]
pub(crate) fn mul_quickly<F: Format>(a: F::Bits, b: F::Bits, flags: Flags) -> Option<F::Bits> {
    let (x, y) = (F::from_bits(a), F::from_bits(b));
    let product = x * y;
    let bits = product.to_bits();
    let known = if flags.inexact() {
        Range::Normal.contains::<F>(bits)
    } else {
        Range::Residue.contains::<F>(bits) && exactness::is_product(x, y, product)
    };
    known.then_some(bits)
}

/// [`fmadd`], likewise.
#[inline(always)]
pub(crate) fn fmadd_quickly<F: Format>(a: F::Bits, b: F::Bits, c: F::Bits, flags: Flags) -> Option<F::Bits> {
    let (x, y, z) = (F::from_bits(a), F::from_bits(b), F::from_bits(c));
    let sum = x.mul_add(y, z);
    let known = Range::Normal.contains::<F>(sum.to_bits()) && (flags.inexact() || is_exactly_fused::<F>(x, y, z, sum));
    known.then(|| sum.to_bits())
}

/// [`fmsub`], likewise.
#[inline(always)]
pub(crate) fn fmsub_quickly<F: Format>(a: F::Bits, b: F::Bits, c: F::Bits, flags: Flags) -> Option<F::Bits> {
    fmadd_quickly::<F>(a, b, negate::<F>(c), flags)
}

/// [`fnmsub`], likewise.
#[inline(always)]
pub(crate) fn fnmsub_quickly<F: Format>(a: F::Bits, b: F::Bits, c: F::Bits, flags: Flags) -> Option<F::Bits> {
    fmadd_quickly::<F>(negate::<F>(a), b, c, flags)
}

/// [`fnmadd`], likewise.
#[inline(always)]
pub(crate) fn fnmadd_quickly<F: Format>(a: F::Bits, b: F::Bits, c: F::Bits, flags: Flags) -> Option<F::Bits> {
    fmadd_quickly::<F>(negate::<F>(a), b, negate::<F>(c), flags)
}

/// Whether `sum`, a normal `x * y + z`, is surely exact: the difference from `z` is what the product must be if it is a number and
/// nothing was rounded.
#[inline(always)]
fn is_exactly_fused<F: Format>(x: F, y: F, z: F, sum: F) -> bool {
    let product = sum - z;
    Range::Residue.contains::<F>(product.to_bits())
        && exactness::is_sum(product, z, sum)
        && exactness::is_product(x, y, product)
}

/// `fadd`: `a + b`.
#[inline(always)]
pub fn add<F: Format>(a: F::Bits, b: F::Bits, rounding: Rounding, flags: &mut Flags) -> F::Bits {
    let sum = (F::from_bits(a) + F::from_bits(b)).to_bits();
    if flags.sticky(rounding) && Range::Finite.contains::<F>(sum) {
        return sum;
    }
    add_slowly::<F>(a, b, rounding, flags)
}

#[cold]
#[inline(never)]
fn add_slowly<F: Format>(a: F::Bits, b: F::Bits, rounding: Rounding, flags: &mut Flags) -> F::Bits {
    let (x, y) = (F::from_bits(a), F::from_bits(b));
    let sum = x + y;
    if host_rounds(rounding) && Range::Finite.contains::<F>(sum.to_bits()) {
        flags.raise_if(!exactness::is_sum(x, y, sum), Flags::INEXACT);
        return sum.to_bits();
    }
    soft::run(rounding, flags, |mode| soft::number::<F>(a).add(soft::number::<F>(b), mode)).to_bits()
}

/// `fsub`: `a - b`.
#[inline(always)]
pub fn sub<F: Format>(a: F::Bits, b: F::Bits, rounding: Rounding, flags: &mut Flags) -> F::Bits {
    // IEEE 754 defines a - b as a + (-b); the sign of a NaN is lost either way.
    add::<F>(a, negate::<F>(b), rounding, flags)
}

/// `fmul`: `a * b`.
#[inline(always)]
pub fn mul<F: Format>(a: F::Bits, b: F::Bits, rounding: Rounding, flags: &mut Flags) -> F::Bits {
    let product = (F::from_bits(a) * F::from_bits(b)).to_bits();
    if flags.sticky(rounding) && Range::Normal.contains::<F>(product) {
        return product;
    }
    mul_slowly::<F>(a, b, rounding, flags)
}

#[cold]
#[inline(never)]
fn mul_slowly<F: Format>(a: F::Bits, b: F::Bits, rounding: Rounding, flags: &mut Flags) -> F::Bits {
    let (x, y) = (F::from_bits(a), F::from_bits(b));
    let product = x * y;
    if host_rounds(rounding) && Range::Residue.contains::<F>(product.to_bits()) {
        flags.raise_if(!exactness::is_product(x, y, product), Flags::INEXACT);
        return product.to_bits();
    }
    if x == F::ZERO && Range::Finite.contains::<F>(b) || y == F::ZERO && Range::Finite.contains::<F>(a) {
        return product.to_bits();
    }
    soft::run(rounding, flags, |mode| soft::number::<F>(a).mul(soft::number::<F>(b), mode)).to_bits()
}

/// `fdiv`: `a / b`.
#[inline(always)]
pub fn div<F: Format>(a: F::Bits, b: F::Bits, rounding: Rounding, flags: &mut Flags) -> F::Bits {
    let quotient = (F::from_bits(a) / F::from_bits(b)).to_bits();
    if flags.sticky(rounding) && Range::Normal.contains::<F>(quotient) {
        return quotient;
    }
    div_slowly::<F>(a, b, rounding, flags)
}

#[cold]
#[inline(never)]
fn div_slowly<F: Format>(a: F::Bits, b: F::Bits, rounding: Rounding, flags: &mut Flags) -> F::Bits {
    let (x, y) = (F::from_bits(a), F::from_bits(b));
    let quotient = x / y;
    if host_rounds(rounding) && Range::Normal.contains::<F>(quotient.to_bits()) && Range::Residue.contains::<F>(a) {
        flags.raise_if(!exactness::is_quotient(x, y, quotient), Flags::INEXACT);
        return quotient.to_bits();
    }
    soft::run(rounding, flags, |mode| soft::number::<F>(a).div(soft::number::<F>(b), mode)).to_bits()
}

/// `fsqrt`: the square root of `a`.
#[inline(always)]
pub fn sqrt<F: Format>(a: F::Bits, rounding: Rounding, flags: &mut Flags) -> F::Bits {
    let root = F::from_bits(a).sqrt().to_bits();
    if flags.sticky(rounding) && Range::Normal.contains::<F>(root) {
        return root;
    }
    sqrt_slowly::<F>(a, rounding, flags)
}

#[cold]
#[inline(never)]
fn sqrt_slowly<F: Format>(a: F::Bits, rounding: Rounding, flags: &mut Flags) -> F::Bits {
    let x = F::from_bits(a);
    let root = x.sqrt();
    if host_rounds(rounding) && x > F::ZERO && Range::Residue.contains::<F>(a) {
        flags.raise_if(!exactness::is_root(x, root), Flags::INEXACT);
        return root.to_bits();
    }
    soft::run(rounding, flags, |mode| soft::number::<F>(a).sqrt(mode)).to_bits()
}

/// `fmadd`: `a * b + c`, rounded once. Infinity times zero raises NV even if `c` is a quiet NaN.
#[inline(always)]
pub fn fmadd<F: Format>(a: F::Bits, b: F::Bits, c: F::Bits, rounding: Rounding, flags: &mut Flags) -> F::Bits {
    let sum = F::from_bits(a).mul_add(F::from_bits(b), F::from_bits(c)).to_bits();
    if flags.sticky(rounding) && Range::Normal.contains::<F>(sum) {
        return sum;
    }
    fmadd_slowly::<F>(a, b, c, rounding, flags)
}

#[cold]
#[inline(never)]
fn fmadd_slowly<F: Format>(a: F::Bits, b: F::Bits, c: F::Bits, rounding: Rounding, flags: &mut Flags) -> F::Bits {
    let (x, y, z) = (F::from_bits(a), F::from_bits(b), F::from_bits(c));
    let sum = x.mul_add(y, z);
    // With a product of zero the sum is `z`, or a zero.
    let adds_zero = (x == F::ZERO || y == F::ZERO) && Range::Finite.contains::<F>(sum.to_bits());
    // Where that is not sure, SoftFloat decides; mostly it raises NX, and the sticky way is open from then on.
    let exact = || Range::Normal.contains::<F>(sum.to_bits()) && is_exactly_fused::<F>(x, y, z, sum);
    if host_rounds(rounding) && (adds_zero || exact()) {
        return sum.to_bits();
    }
    let fused = |mode| soft::number::<F>(a).fused_mul_add(soft::number::<F>(b), soft::number::<F>(c), mode);
    soft::run(rounding, flags, fused).to_bits()
}

/// `fmsub`: `a * b - c`.
#[inline(always)]
pub fn fmsub<F: Format>(a: F::Bits, b: F::Bits, c: F::Bits, rounding: Rounding, flags: &mut Flags) -> F::Bits {
    fmadd::<F>(a, b, negate::<F>(c), rounding, flags)
}

/// `fnmsub`: `-(a * b) + c`.
#[inline(always)]
pub fn fnmsub<F: Format>(a: F::Bits, b: F::Bits, c: F::Bits, rounding: Rounding, flags: &mut Flags) -> F::Bits {
    fmadd::<F>(negate::<F>(a), b, c, rounding, flags)
}

/// `fnmadd`: `-(a * b) - c`.
#[inline(always)]
pub fn fnmadd<F: Format>(a: F::Bits, b: F::Bits, c: F::Bits, rounding: Rounding, flags: &mut Flags) -> F::Bits {
    fmadd::<F>(negate::<F>(a), b, negate::<F>(c), rounding, flags)
}

/// The bits with the other sign, NaNs included.
#[inline(always)]
fn negate<F: Format>(bits: F::Bits) -> F::Bits {
    F::with_sign(bits, !F::is_negative(bits))
}
