//! Rounding modes and accrued exception flags: the two fields of `fcsr`.

use std::ops::{BitOr, BitOrAssign};

/// A rounding mode, numbered as in the `rm` field of an instruction and in `frm`.
///
/// 5 and 6 are reserved and 7 (DYN) means "as in `frm`": an instruction whose mode ends up as one of these is illegal, and never
/// comes here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Rounding {
    /// RNE: to nearest, ties to even.
    NearestEven = 0,
    /// RTZ: towards zero.
    TowardZero = 1,
    /// RDN: down, towards minus infinity.
    Down = 2,
    /// RUP: up, towards plus infinity.
    Up = 3,
    /// RMM: to nearest, ties to the larger magnitude.
    NearestMagnitude = 4,
}

impl Rounding {
    /// All modes, in the order of their numbers.
    pub const ALL: [Self; 5] = [Self::NearestEven, Self::TowardZero, Self::Down, Self::Up, Self::NearestMagnitude];

    /// The mode with number `field` (0 to 4), or `None` for a reserved number or DYN.
    #[inline]
    pub const fn from_field(field: u8) -> Option<Self> {
        if field < 5 { Some(Self::ALL[field as usize]) } else { None }
    }
}

/// Accrued exception flags, laid out as in `fflags`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Flags(u8);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// NX: the result is not exact.
    pub const INEXACT: Self = Self(1);
    /// UF: the result is tiny after rounding, and not exact.
    pub const UNDERFLOW: Self = Self(2);
    /// OF: the result is larger than the format can hold.
    pub const OVERFLOW: Self = Self(4);
    /// DZ: a finite number was divided by zero.
    pub const DIVIDE_BY_ZERO: Self = Self(8);
    /// NV: the operation has no meaningful result.
    pub const INVALID: Self = Self(16);

    /// Flags from the low five bits of `fflags`; the others are dropped.
    #[inline]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 0x1f)
    }

    /// The flags as bits of `fflags`, 0 to 0x1f.
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Adds `flags` to those accrued.
    #[inline]
    pub const fn raise(&mut self, flags: Self) {
        self.0 |= flags.0;
    }

    /// Adds `flags` if `condition` holds, without a branch.
    #[inline]
    pub(super) fn raise_if(&mut self, condition: bool, flags: Self) {
        self.0 |= flags.0 * u8::from(condition);
    }

    /// Whether NX is raised.
    #[inline(always)]
    pub(super) const fn inexact(self) -> bool {
        self.0 & Self::INEXACT.0 != 0
    }

    /// Whether the host's own operation gives result and NX without further thought: it rounds to nearest even, and NX is raised already.
    #[inline(always)]
    pub(super) const fn sticky(self, rounding: Rounding) -> bool {
        // RNE is 0, so that both conditions are one test.
        (rounding as u8 | (!self.0 & Self::INEXACT.0)) == 0
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        self.raise(other);
    }
}
