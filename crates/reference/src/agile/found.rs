//! How a walk of agile paging has found the table that it is at.

/// Where a table, or a page, was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// By a shadow table: at a host physical address.
    ByShadow,
    /// By a switching entry: a table of the guest at a host physical address.
    BySwitch,
    /// By this many tables of the guest.
    ByGuest(usize),
    /// From the guest's root on.
    FullyNested,
}

impl Found {
    /// By what an entry of the table finds what it leads to.
    pub(super) fn next(self, pte: u64, is_pointer: bool) -> Self {
        match self {
            Self::ByShadow if is_pointer && pte / 256 % 4 == 2 => Self::BySwitch,
            Self::ByShadow => Self::ByShadow,
            Self::BySwitch => Self::ByGuest(1),
            Self::ByGuest(tables) => Self::ByGuest(tables + 1),
            Self::FullyNested => Self::FullyNested,
        }
    }

    /// Whether the address is the host's.
    pub(crate) fn in_host(self) -> bool {
        matches!(self, Self::ByShadow | Self::BySwitch)
    }

    /// Where walks are counted that found their page so.
    pub(crate) fn index(self) -> usize {
        match self {
            Self::ByShadow => 0,
            Self::BySwitch => unreachable!("that is a table"),
            Self::ByGuest(tables) => tables,
            Self::FullyNested => 6,
        }
    }
}
