//! Simulated time.

use core::{fmt, iter::Sum, ops};
use serde::{Deserialize, Serialize};

/// A span, or a point, of a pCPU's time, in cycles of its clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[repr(transparent)]
#[serde(transparent)]
pub struct Cycles(pub u64);

impl ops::Add for Cycles {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl ops::AddAssign for Cycles {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl ops::Sub for Cycles {
    type Output = Self;
    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl ops::Mul<u64> for Cycles {
    type Output = Self;
    #[inline]
    fn mul(self, times: u64) -> Self {
        Self(self.0 * times)
    }
}

impl Sum for Cycles {
    fn sum<I: Iterator<Item = Self>>(cycles: I) -> Self {
        cycles.fold(Self(0), ops::Add::add)
    }
}

impl fmt::Display for Cycles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
