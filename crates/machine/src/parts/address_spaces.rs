//! Address spaces of a guest, and which of them it has used lately: what a snapshot keeps of them.

use types::{Asid, Gpa, PagingMode, Privilege, TranslationContext};

/// The most address spaces that are remembered.
const MOST: usize = 64;

/// An address space: a table, and the tag of its TLB entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AddressSpace {
    pub(crate) mode: PagingMode,
    pub(crate) root: Gpa,
    pub(crate) asid: Asid,
}

impl AddressSpace {
    /// The one that a hart is in; `None` where it does not translate.
    pub(crate) const fn of(context: &TranslationContext) -> Option<Self> {
        match context.mode {
            PagingMode::Bare => None,
            mode => Some(Self { mode, root: context.root, asid: context.asid }),
        }
    }

    /// As `satp` has it (RISC-V Privileged 1.13, section 12.1.11).
    pub(crate) const fn satp(&self) -> u64 {
        let mode = match self.mode {
            PagingMode::Bare => 0,
            PagingMode::Sv39 => 8,
            PagingMode::Sv48 => 9,
            PagingMode::Sv57 => 10,
        };
        mode << 60 | (self.asid.0 as u64) << 44 | self.root.0 >> 12
    }

    /// The inverse of [`Self::satp`]; `None` of a value that names none.
    pub(crate) const fn of_satp(satp: u64) -> Option<Self> {
        let mode = match satp >> 60 {
            8 => PagingMode::Sv39,
            9 => PagingMode::Sv48,
            10 => PagingMode::Sv57,
            _ => return None,
        };
        Some(Self { mode, root: Gpa((satp & ((1 << 44) - 1)) << 12), asid: Asid((satp >> 44) as u16) })
    }

    /// What a hart of this privilege translates in there.
    pub(crate) const fn context(&self, privilege: Privilege) -> TranslationContext {
        let Self { mode, root, asid } = *self;
        TranslationContext { mode, root, asid, privilege, sum: false, mxr: false }
    }
}

/// The address spaces that a guest's harts were in, from the least to the most recently used one.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentSpaces {
    /// By hart: where it is.
    current: Vec<Option<AddressSpace>>,
    spaces: Vec<AddressSpace>,
}

impl RecentSpaces {
    /// Those of a guest with so many harts that has used `spaces` before.
    pub(crate) fn new(harts: usize, spaces: Vec<AddressSpace>) -> Self {
        Self { current: vec![None; harts], spaces }
    }

    /// Hart `hart` translates in `context` from now on.
    #[inline]
    pub(crate) fn note(&mut self, hart: usize, context: &TranslationContext) {
        let space = AddressSpace::of(context);
        // Every trap comes here, mostly with another privilege in the same space.
        if self.current.get(hart).is_some_and(|current| *current != space) {
            self.change(hart, space);
        }
    }

    #[cold]
    fn change(&mut self, hart: usize, space: Option<AddressSpace>) {
        self.current[hart] = space;
        let Some(space) = space else { return };
        self.spaces.retain(|known| *known != space);
        if self.spaces.len() == MOST {
            self.spaces.remove(0);
        }
        self.spaces.push(space);
    }

    /// Those whose ASID `is_cached` says TLBs to have entries of, and those that harts are in, which come last. Of several with the same ASID
    /// the entries are the latest one's.
    ///
    /// An address space without entries in any TLB may be gone: its tables may be other data by now.
    pub(crate) fn alive(&self, is_cached: impl Fn(Asid) -> bool) -> Vec<AddressSpace> {
        let is_current = |space: &AddressSpace| self.current.contains(&Some(*space));
        let mut alive: Vec<AddressSpace> = Vec::new();
        for space in self.spaces.iter().rev() {
            let known = alive.iter().any(|other| other.asid == space.asid);
            if is_current(space) || (is_cached(space.asid) && !known) {
                alive.push(*space);
            }
        }
        alive.reverse();
        alive.sort_by_key(is_current);
        alive
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(root: u64, asid: u16) -> AddressSpace {
        AddressSpace { mode: PagingMode::Sv39, root: Gpa(root << 12), asid: Asid(asid) }
    }

    #[test]
    fn a_space_is_written_as_satp_has_it() {
        for mode in [PagingMode::Sv39, PagingMode::Sv48, PagingMode::Sv57] {
            let space = AddressSpace { mode, root: Gpa(0x8_1234_5000), asid: Asid(0xffff) };
            assert_eq!(AddressSpace::of_satp(space.satp()), Some(space));
        }
        assert_eq!(space(0x8_0123, 0xabc).satp(), 8 << 60 | 0xabc << 44 | 0x8_0123);
        assert_eq!(AddressSpace::of_satp(0), None);
        assert_eq!(AddressSpace::of_satp(u64::MAX), None);
    }

    #[test]
    fn spaces_are_alive_that_tlbs_have_entries_of_or_harts_are_in() {
        let mut recent = RecentSpaces::new(2, vec![space(9, 9)]);
        let enter = |recent: &mut RecentSpaces, hart, space: AddressSpace| {
            recent.note(hart, &space.context(Privilege::User));
            recent.note(hart, &space.context(Privilege::Supervisor));
        };
        for (hart, root, asid) in [(0, 1, 1), (1, 2, 2), (0, 3, 3), (0, 4, 1), (0, 5, 5), (0, 2, 2)] {
            enter(&mut recent, hart, space(root, asid));
        }
        recent.note(1, &TranslationContext::default());
        assert_eq!(recent.alive(|_| false), [space(2, 2)], "hart 0 is there");
        // ASID 1 is that of root 4 by now.
        assert_eq!(recent.alive(|asid| asid.0 < 4), [space(3, 3), space(4, 1), space(2, 2)]);
        enter(&mut recent, 1, space(3, 3));
        assert_eq!(recent.alive(|asid| asid == Asid(9)), [space(9, 9), space(2, 2), space(3, 3)]);
    }

    #[test]
    fn no_more_than_so_many_are_remembered() {
        let mut recent = RecentSpaces::new(1, Vec::new());
        (0..200).for_each(|root| recent.note(0, &space(root, root as u16).context(Privilege::User)));
        let alive = recent.alive(|_| true);
        assert_eq!((alive.len(), alive.first(), alive.last()), (MOST, Some(&space(136, 136)), Some(&space(199, 199))));
    }
}
