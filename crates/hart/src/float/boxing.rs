//! NaN boxing: how a 32-bit number lives in a 64-bit register (22.2).

use super::Format;

/// The register that holds `value`: all upper bits one.
#[inline(always)]
pub const fn nan_box(value: u32) -> u64 {
    0xffff_ffff_0000_0000 | value as u64
}

/// The 32-bit number in `register`; the canonical NaN if it is not properly boxed.
///
/// For arithmetic, compares, conversions and sign injection. `fsw`, `fmv.x.w` and the like take the low half as it is.
#[inline(always)]
pub const fn nan_unbox(register: u64) -> u32 {
    if register >> 32 == 0xffff_ffff { register as u32 } else { <f32 as Format>::CANONICAL_NAN }
}
