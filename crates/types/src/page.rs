//! Page sizes of the RISC-V paging modes.

use core::{fmt, str::FromStr};

/// The size of a page. 64K is Svnapot's contiguous range of sixteen base pages; 32K and 256K are groups of 8 and 64, as the Alpha's granularity hints make
/// them; the others are leaves of a table level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum PageSize {
    /// 4 KiB, the base page.
    #[default]
    Size4K,
    /// 32 KiB (a granularity hint).
    Size32K,
    /// 64 KiB (Svnapot).
    Size64K,
    /// 256 KiB (a granularity hint).
    Size256K,
    /// 2 MiB, a leaf one level up.
    Size2M,
    /// 1 GiB, a leaf two levels up.
    Size1G,
    /// 512 GiB (Sv48 and larger).
    Size512G,
    /// 256 TiB (Sv57).
    Size256T,
}

impl PageSize {
    /// The size of that place in [`Self::ALL`], of which only the lowest three bits count.
    #[must_use]
    #[inline(always)]
    pub const fn of_index(index: u8) -> Self {
        match index % 8 {
            0 => Self::Size4K,
            1 => Self::Size32K,
            2 => Self::Size64K,
            3 => Self::Size256K,
            4 => Self::Size2M,
            5 => Self::Size1G,
            6 => Self::Size512G,
            _ => Self::Size256T,
        }
    }

    /// All sizes, ascending.
    pub const ALL: [Self; 8] = [
        Self::Size4K,
        Self::Size32K,
        Self::Size64K,
        Self::Size256K,
        Self::Size2M,
        Self::Size1G,
        Self::Size512G,
        Self::Size256T,
    ];

    /// log2 of the size in bytes.
    #[inline]
    #[must_use]
    pub const fn shift(self) -> u32 {
        match self {
            Self::Size4K => 12,
            Self::Size32K => 15,
            Self::Size64K => 16,
            Self::Size256K => 18,
            Self::Size2M => 21,
            Self::Size1G => 30,
            Self::Size512G => 39,
            Self::Size256T => 48,
        }
    }

    /// The size in bytes.
    #[inline]
    #[must_use]
    pub const fn bytes(self) -> u64 {
        1 << self.shift()
    }

    /// The next smaller size, or `None` below the base page.
    #[inline]
    #[must_use]
    pub const fn smaller(self) -> Option<Self> {
        match self {
            Self::Size4K => None,
            Self::Size32K => Some(Self::Size4K),
            Self::Size64K => Some(Self::Size32K),
            Self::Size256K => Some(Self::Size64K),
            Self::Size2M => Some(Self::Size256K),
            Self::Size1G => Some(Self::Size2M),
            Self::Size512G => Some(Self::Size1G),
            Self::Size256T => Some(Self::Size512G),
        }
    }

    /// The size that a leaf at `level` maps; level 0 is the last table of a walk.
    ///
    /// # Panics
    /// If `level` is above 4, which no RISC-V mode has.
    #[inline]
    #[must_use]
    pub const fn of_level(level: u32) -> Self {
        match level {
            0 => Self::Size4K,
            1 => Self::Size2M,
            2 => Self::Size1G,
            3 => Self::Size512G,
            4 => Self::Size256T,
            _ => panic!("no paging mode has that level"),
        }
    }
}

impl fmt::Display for PageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Size4K => "4K",
            Self::Size32K => "32K",
            Self::Size64K => "64K",
            Self::Size256K => "256K",
            Self::Size2M => "2M",
            Self::Size1G => "1G",
            Self::Size512G => "512G",
            Self::Size256T => "256T",
        })
    }
}

/// A text that names no page size.
#[derive(Debug, PartialEq, Eq)]
pub struct UnknownPageSize(pub String);

impl fmt::Display for UnknownPageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown page size `{}` (4K, 32K, 64K, 256K, 2M, 1G, 512G, 256T)", self.0)
    }
}

impl core::error::Error for UnknownPageSize {}

impl FromStr for PageSize {
    type Err = UnknownPageSize;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|size| size.to_string().eq_ignore_ascii_case(text))
            .ok_or_else(|| UnknownPageSize(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_found_by_their_place() {
        for (index, size) in (0..).zip(PageSize::ALL) {
            assert_eq!((size as u8, PageSize::of_index(index), PageSize::of_index(index + 8)), (index, size, size));
        }
    }

    #[test]
    fn names_read_back() {
        for size in PageSize::ALL {
            assert_eq!(size.to_string().parse(), Ok(size));
        }
        assert!("3K".parse::<PageSize>().is_err());
    }
}
