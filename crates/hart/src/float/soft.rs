//! The slow way: Berkeley SoftFloat, for every rounding mode, NaN and border.
//!
//! The library is built in its `riscv` specialisation. Its mode and its flags are thread-local variables that are set before and read
//! after each operation here, so that machines on several threads share nothing, and nothing is carried from one operation to the next.

use softfloat_wrapper::{ExceptionFlags, Float, RoundingMode};

use super::{Flags, Format, Rounding};

/// Runs `operation` in SoftFloat and raises the flags that it raised.
#[cold]
#[inline(never)]
pub(super) fn run<T>(rounding: Rounding, flags: &mut Flags, operation: impl FnOnce(RoundingMode) -> T) -> T {
    ExceptionFlags::from_bits(0).set();
    let result = operation(match rounding {
        Rounding::NearestEven => RoundingMode::TiesToEven,
        Rounding::TowardZero => RoundingMode::TowardZero,
        Rounding::Down => RoundingMode::TowardNegative,
        Rounding::Up => RoundingMode::TowardPositive,
        Rounding::NearestMagnitude => RoundingMode::TiesToAway,
    });
    let mut raised = ExceptionFlags::default();
    raised.get();
    // SoftFloat's flags are numbered as in `fflags`.
    flags.raise(Flags::from_bits(raised.to_bits()));
    result
}

/// SoftFloat's number with these bits.
pub(super) fn number<F: Format>(bits: F::Bits) -> F::Soft {
    F::Soft::from_bits(bits)
}
