//! The fluid page count: pages that may still be promised, because their owners can be made to give them back.

use super::PAGE;

/// Fluid pages, and how few there may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FluidPages {
    count: u64,
    minimum: u64,
}

/// A deduction would leave too few fluid pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{wanted} pages ({} bytes) are wanted, {count} are fluid, of which {minimum} must stay: {} are missing",
    self.wanted.saturating_mul(PAGE),
    self.missing()
)]
pub struct Starved {
    /// Pages wanted.
    pub wanted: u64,
    /// Pages that are fluid.
    pub count: u64,
    /// Pages that must stay so.
    pub minimum: u64,
}

impl Starved {
    /// Pages that the host is short of.
    #[must_use]
    pub const fn missing(&self) -> u64 {
        self.wanted.saturating_add(self.minimum).saturating_sub(self.count)
    }
}

impl FluidPages {
    /// `count` fluid pages, of which `minimum` must stay. A count below the minimum is allowed, and gives nothing away.
    #[must_use]
    pub const fn new(count: u64, minimum: u64) -> Self {
        Self { count, minimum }
    }

    /// Fluid pages.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.count
    }

    /// How few there may be.
    #[must_use]
    pub const fn minimum(self) -> u64 {
        self.minimum
    }

    /// Promises `pages` pages.
    ///
    /// # Errors
    /// [`Starved`]: fewer than the minimum would be left, and nothing was promised.
    pub const fn deduct(&mut self, pages: u64) -> Result<(), Starved> {
        match self.count.checked_sub(pages) {
            Some(left) if left >= self.minimum || pages == 0 => {
                self.count = left;
                Ok(())
            }
            _ => Err(Starved { wanted: pages, count: self.count, minimum: self.minimum }),
        }
    }

    /// Takes a promise of `pages` pages back.
    pub const fn restore(&mut self, pages: u64) {
        self.count += pages;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_is_never_promised() {
        let mut fluid = FluidPages::new(100, 30);
        fluid.deduct(70).unwrap();
        let starved = fluid.deduct(1).unwrap_err();
        assert_eq!((starved, starved.missing()), (Starved { wanted: 1, count: 30, minimum: 30 }, 1));
        fluid.restore(5);
        assert_eq!(fluid.deduct(6).unwrap_err().missing(), 1);
        fluid.deduct(5).unwrap();
        assert_eq!((fluid.count(), fluid.minimum()), (30, 30));
        assert!(fluid.deduct(u64::MAX).is_err());
    }

    #[test]
    fn a_host_that_starves_already_gives_nothing() {
        let mut fluid = FluidPages::new(10, 30);
        assert_eq!(fluid.deduct(1).unwrap_err().missing(), 21);
        assert_eq!(fluid.deduct(0), Ok(()));
    }
}
