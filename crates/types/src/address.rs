//! The three kinds of address. Each is 64 bits wide and cannot be mistaken for another.

use crate::PageSize;
use core::fmt;

macro_rules! address {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The address rounded down to the start of its page of `size`.
            #[inline]
            #[must_use]
            pub const fn page(self, size: PageSize) -> Self {
                Self(self.0 & !(size.bytes() - 1))
            }

            /// Bytes from the start of the page of `size` to the address.
            #[inline]
            #[must_use]
            pub const fn offset(self, size: PageSize) -> u64 {
                self.0 & (size.bytes() - 1)
            }

            /// Number of the 4 KiB page that holds the address.
            #[inline]
            #[must_use]
            pub const fn number(self) -> u64 {
                self.0 >> 12
            }

            /// Whether the address is a multiple of `bytes`, a power of two.
            #[inline]
            #[must_use]
            pub const fn is_aligned(self, bytes: u64) -> bool {
                self.0 & (bytes - 1) == 0
            }

            /// The sum, or `None` where it leaves the 64-bit space.
            #[inline]
            #[must_use]
            pub const fn checked_add(self, bytes: u64) -> Option<Self> {
                match self.0.checked_add(bytes) {
                    Some(sum) => Some(Self(sum)),
                    None => None,
                }
            }

            /// The sum modulo 2^64, as the hart's own address arithmetic.
            #[inline]
            #[must_use]
            pub const fn wrapping_add(self, bytes: u64) -> Self {
                Self(self.0.wrapping_add(bytes))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:#x})"), self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:#x}", self.0)
            }
        }
    };
}

address! {
    /// A guest virtual address (the 1985 paper's level-2 address).
    Gva
}
address! {
    /// A guest physical address (level 1).
    Gpa
}
address! {
    /// A host physical address (level 0).
    Hpa
}
