//! What events are charged to: an instruction in an address space, and the page that it used.

use types::{Access, Asid, Gpa, Gva, PagingMode, Privilege, TranslationContext};

/// An address space of a guest: what `satp` says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Space {
    /// Its paging mode.
    pub mode: PagingMode,
    /// Its root table.
    pub root: Gpa,
    /// Its identifier.
    pub asid: Asid,
}

impl Space {
    pub(crate) const fn of(context: &TranslationContext) -> Self {
        Self { mode: context.mode, root: context.root, asid: context.asid }
    }
}

/// The number of an address space in the profile of its guest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct SpaceId(pub(crate) u32);

/// The number of a chain of callers in the profile of its guest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) struct ChainId(u32);

impl ChainId {
    /// No callers are known.
    pub(crate) const NONE: Self = Self(0);

    /// The chain whose innermost caller is at `index` in the list of a profile's callers.
    pub(crate) const fn at(index: usize) -> Self {
        Self(index as u32 + 1)
    }

    /// Where its innermost caller is in the list; `None` of [`Self::NONE`].
    pub(crate) fn index(self) -> Option<usize> {
        (self.0 as usize).checked_sub(1)
    }
}

/// Where a hart was.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Place {
    pub(crate) space: SpaceId,
    pub(crate) privilege: Mode,
    pub(crate) pc: u64,
    /// Who called what it executed, if that is kept.
    pub(crate) callers: ChainId,
}

/// A privilege, as a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(crate) enum Mode {
    User,
    #[default]
    Supervisor,
}

impl From<Privilege> for Mode {
    fn from(privilege: Privilege) -> Self {
        match privilege {
            Privilege::User => Self::User,
            Privilege::Supervisor => Self::Supervisor,
        }
    }
}

impl From<Mode> for Privilege {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::User => Self::User,
            Mode::Supervisor => Self::Supervisor,
        }
    }
}

/// A page and what was done there, in one word: the low bits of the page's address say what.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Page(u64);

impl Page {
    /// No page: what the event is of is no access.
    pub(crate) const NONE: Self = Self(3);
    /// Pages that there was no room for.
    pub(crate) const OTHER: Self = Self(4);

    /// The page of a byte.
    pub(crate) const fn of(at: Gva, access: Access) -> Self {
        let kind = match access {
            Access::Read => 0,
            Access::Write => 1,
            Access::Execute => 2,
        };
        Self(at.0 & !0xfff | kind)
    }

    pub(crate) const fn word(self) -> u64 {
        self.0
    }

    pub(crate) const fn from_word(word: u64) -> Self {
        Self(word)
    }

    pub(crate) const fn touched(self) -> Touched {
        let page = Gva(self.0 & !0xfff);
        match self {
            Self::NONE => Touched::Nothing,
            Self::OTHER => Touched::Others,
            _ => match self.0 & 3 {
                0 => Touched::Page(page, Access::Read),
                1 => Touched::Page(page, Access::Write),
                _ => Touched::Page(page, Access::Execute),
            },
        }
    }
}

/// What the event of a row was about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Touched {
    /// An access to this page of 4 KiB.
    Page(Gva, Access),
    /// No access: an SBI call, an interrupt, a fence.
    Nothing,
    /// Pages that the profile had no room to keep apart.
    Others,
}

/// An instruction, or all of an address space that there was no room to keep apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site {
    /// The address space; `None` for those that there was no room to keep apart.
    pub space: Option<Space>,
    /// In which privilege the hart was.
    pub privilege: Privilege,
    /// The address of the instruction; `None` for those that there was no room to keep apart.
    pub pc: Option<Gva>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_what_was_done_there() {
        let of = |at, access| Page::of(Gva(at), access).touched();
        for access in [Access::Read, Access::Write, Access::Execute] {
            assert_eq!(of(0x1234, access), Touched::Page(Gva(0x1000), access));
            assert_eq!(of(0, access), Touched::Page(Gva(0), access));
        }
        assert_eq!(Page::NONE.touched(), Touched::Nothing);
        assert_eq!(Page::OTHER.touched(), Touched::Others);
    }
}
