//! Is a host result exact? Error-free transformations answer on the host's FPU, to nearest even.
//!
//! Each function returns the rounding error of `result`, or a value that is zero exactly if that error is zero. The caller vouches that
//! neither the result nor the residue's terms leave the normal range (see [`super::range::Range::Residue`]): a residue is a
//! multiple of the product of two units in the last place, and must not be rounded away itself.

use super::Format;

/// `a + b - sum` (Knuth's two-sum: exact unless it overflows; sums in the subnormal range are exact anyway).
#[inline]
pub(super) fn sum<F: Format>(a: F, b: F, sum: F) -> F {
    let b_part = sum - a;
    let a_part = sum - b_part;
    (b - b_part) + (a - a_part)
}

/// `a * b - product`.
#[inline]
pub(super) fn product<F: Format>(a: F, b: F, product: F) -> F {
    a.mul_add(b, -product)
}

/// `a - b * quotient`: zero exactly if the quotient is exact.
#[inline]
pub(super) fn quotient<F: Format>(a: F, b: F, quotient: F) -> F {
    (-quotient).mul_add(b, a)
}

/// `a - root * root`.
#[inline]
pub(super) fn root<F: Format>(a: F, root: F) -> F {
    (-root).mul_add(root, a)
}

/// A value that is zero exactly if `a * b + c` is a number of the format.
#[inline]
pub(super) fn fused<F: Format>(a: F, b: F, c: F) -> F {
    // a * b + c = (high + low) + c = (upper + lower) + low = upper + (tail + rest), each step exact.
    let high = a * b;
    let low = product(a, b, high);
    let upper = high + c;
    let lower = sum(high, c, upper);
    let tail = lower + low;
    let rest = sum(lower, low, tail);
    if rest == F::ZERO {
        sum(upper, tail, upper + tail)
    } else {
        // `lower` is not zero, so `high` and `c` did not cancel: the true sum has bits on both sides of more than one significand.
        rest
    }
}
