//! Instructions of known cost: additions that wait for each other, and additions that do not.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
use std::{arch::asm, hint::black_box};

/// Additions in one step of [`additions`].
pub(crate) const ADDITIONS: u64 = 240;

/// How additions hang together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Additions {
    /// Each waits for the one before it: one a cycle, on every processor of the last decades.
    Dependent,
    /// Eight sequences that do not wait for each other.
    Independent,
}

/// Makes `steps` × [`ADDITIONS`] additions of registers. `None`: this program knows no additions of this processor.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
pub(crate) fn additions(kind: Additions, steps: u64) -> Option<()> {
    // Each step goes on with the sums of the one before it: otherwise the processor would do one step beside the other.
    let mut sums = [0; 8];
    for _ in 0..steps {
        match kind {
            Additions::Dependent => sums[0] = dependent(sums[0]),
            Additions::Independent => sums = independent(sums),
        }
    }
    black_box(sums);
    Some(())
}

/// Other processors.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
pub(crate) fn additions(_: Additions, _: u64) -> Option<()> {
    None
}

/// One addition of a register and a constant, as this processor's assembler has it. Some processors do additions of small constants when they rename
/// registers; those of two registers are done by all of them.
#[cfg(target_arch = "x86_64")]
macro_rules! add {
    ($to:literal) => {
        concat!("add {", $to, "}, {step}\n")
    };
}
#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
macro_rules! add {
    ($to:literal) => {
        concat!("add {", $to, "}, {", $to, "}, {step}\n")
    };
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
#[inline(always)]
fn dependent(mut sum: u64) -> u64 {
    // SAFETY: additions of registers that are declared; memory and stack are not touched.
    unsafe {
        asm!(".rept 240", add!("a"), ".endr", a = inout(reg) sum, step = in(reg) 1_u64, options(nomem, nostack));
    }
    sum
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
#[inline(always)]
fn independent([mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h]: [u64; 8]) -> [u64; 8] {
    // SAFETY: additions of registers that are declared; memory and stack are not touched.
    unsafe {
        asm!(
            ".rept 30",
            add!("a"), add!("b"), add!("c"), add!("d"), add!("e"), add!("f"), add!("g"), add!("h"),
            ".endr",
            a = inout(reg) a, b = inout(reg) b, c = inout(reg) c, d = inout(reg) d,
            e = inout(reg) e, f = inout(reg) f, g = inout(reg) g, h = inout(reg) h,
            step = in(reg) 1_u64,
            options(nomem, nostack),
        );
    }
    [a, b, c, d, e, f, g, h]
}

/// The processor's time-stamp counter; `None` where it has none.
#[cfg(target_arch = "x86_64")]
pub(crate) fn timestamp() -> Option<u64> {
    // SAFETY: every x86-64 processor has the instruction, and Linux lets programs use it.
    Some(unsafe { core::arch::x86_64::_rdtsc() })
}

/// The processor's time-stamp counter; `None` where it has none.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn timestamp() -> Option<u64> {
    None
}
