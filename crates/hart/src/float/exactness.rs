//! Is a host result exact? Error-free transformations answer on the host's FPU, to nearest even.
//!
//! Where a function compares a residue with zero, its caller vouches for the range named: a residue is a multiple of the product of two
//! units in the last place, and must not be rounded away itself.

use super::Format;

/// Whether `sum`, a finite `a + b`, is exact.
///
/// If it is, both differences are. Otherwise the difference from the larger operand is exact (Dekker's fast two-sum), and not the
/// smaller operand.
#[inline(always)]
pub(super) fn is_sum<F: Format>(a: F, b: F, sum: F) -> bool {
    sum - a == b && sum - b == a
}

/// Whether `product`, in [`Range::Residue`](super::range::Range::Residue), is exactly `a * b`.
#[inline(always)]
pub(super) fn is_product<F: Format>(a: F, b: F, product: F) -> bool {
    a.mul_add(b, -product) == F::ZERO
}

/// Whether `quotient`, a normal number, is exactly `a / b`, with `a` in [`Range::Residue`](super::range::Range::Residue).
#[inline(always)]
pub(super) fn is_quotient<F: Format>(a: F, b: F, quotient: F) -> bool {
    (-quotient).mul_add(b, a) == F::ZERO
}

/// Whether `root` is exactly the square root of `a`, in [`Range::Residue`](super::range::Range::Residue).
#[inline(always)]
pub(super) fn is_root<F: Format>(a: F, root: F) -> bool {
    (-root).mul_add(root, a) == F::ZERO
}
