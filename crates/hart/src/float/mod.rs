//! F and D arithmetic on bit patterns, exact in value and in flags (RISC-V unprivileged specification 20240411, chapters 21 and 22).
//!
//! Every operation is a pure function of its operands, the rounding mode and the accrued flags, to which it adds. It has up to three
//! ways to its result, each used only where it provably gives the same bits and flags as the next:
//!
//! 1. The *sticky* way, inlined: rounding is to nearest even, which is what the host does, and NX is raised already, so that inexactness
//!    need not be known; the result is finite and clear of the underflow border, so that no other flag is due.
//! 2. The *host* way, out of line: as above, but NX is still clear. Error-free transformations on the host's FPU tell whether the result
//!    is exact ([`exactness`]).
//! 3. The *soft* way: Berkeley SoftFloat in its RISC-V specialisation: canonical NaNs, tininess detected after rounding ([`soft`]).
//!
//! Operations that never round (compares, sign injection, classification, minimum and maximum) and conversions to integers need neither.

mod arithmetic;
mod boxing;
mod compare;
mod convert;
mod exactness;
mod fcsr;
mod format;
mod range;
mod soft;
#[cfg(test)]
mod tests;

pub use arithmetic::{add, div, fmadd, fmsub, fnmadd, fnmsub, mul, sqrt, sub};
pub(crate) use arithmetic::{
    add_quickly, fmadd_quickly, fmsub_quickly, fnmadd_quickly, fnmsub_quickly, mul_quickly, sub_quickly,
};
pub use boxing::{nan_box, nan_unbox};
pub use compare::{classify, eq, le, lt, max, min, sign_copy, sign_negate, sign_xor};
pub use convert::{Integer, from_integer, narrow, to_integer, widen};
pub use fcsr::{Flags, Rounding};
pub use format::Format;
pub(crate) use range::Range;
