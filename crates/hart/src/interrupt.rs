//! The three supervisor interrupts.

/// An interrupt of S-mode; the discriminant is its bit in `sip` and `sie` and its code in `scause`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Interrupt {
    /// From another hart, through the hypervisor, or from the guest's own write to `sip`.
    Software = 1,
    /// `stimecmp`, or the SBI timer.
    Timer = 5,
    /// From the PLIC.
    External = 9,
}

impl Interrupt {
    /// The order in which pending interrupts are taken (Privileged 1.13, section 12.1.3).
    pub(crate) const PRIORITY: [Self; 3] = [Self::External, Self::Software, Self::Timer];

    /// The interrupt's bit in `sip` and `sie`.
    #[inline]
    #[must_use]
    pub const fn bit(self) -> u64 {
        1 << self as u8
    }

    /// The bits of all three.
    pub(crate) const ALL: u64 = Self::Software.bit() | Self::Timer.bit() | Self::External.bit();
}
