//! Pages of the host's memory.

/// A 4 KiB page of the host's memory, by its address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct HostPage(usize);

impl HostPage {
    /// The page that contains a byte of host memory.
    #[inline]
    #[must_use]
    pub fn containing(at: *const u8) -> Self {
        Self(at as usize & !0xfff)
    }

    /// The page of that number: its address in pages.
    pub(crate) const fn of_number(number: usize) -> Self {
        Self(number << 12)
    }

    /// Its address in pages.
    pub(crate) const fn number(self) -> usize {
        self.0 >> 12
    }

    /// The page's first byte.
    #[inline]
    #[must_use]
    pub fn start(self) -> *const u8 {
        self.0 as *const u8
    }
}
