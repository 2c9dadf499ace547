//! Entries of a shadow table that lead to tables of the guest, from which hardware goes on nested: agile paging.
//!
//! Such an entry is taken away as a page is, by whatever takes away what is in its span. The table that it leads to is not the tree's.

use super::clear::entries;
use super::cursor::Grown;
use super::tree::{ENTRIES, Position, RadixShadow, SWITCHES};
use crate::table::entry::Entry;
use crate::table::shadow::{Displaced, GuestTable, ShadowShape};
use memory::{FrameAllocator, HostMemory, OutOfFrames};
use types::{Gva, PageSize};

impl RadixShadow {
    /// Implements [`ShadowShape::switch`].
    pub(super) fn switch_to(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gva: Gva,
        to: GuestTable,
    ) -> Result<Displaced, OutOfFrames> {
        let (address, target) = (self.translated(gva), to.level + 1);
        let Grown { position, displaced } = self.grow(memory, frames, address, target, PageSize::Size4K)?;
        let displaced = match position.leaf() {
            Some(_) => Displaced::Larger,
            None if position.is_table() => Displaced::Smaller(self.take_out(memory, &position)),
            None if position.is_switch() => Displaced::Larger,
            None => displaced,
        };
        position.write(memory, Entry::pointer(to.table).with_software(SWITCHES));
        self.remember(memory, position.slot);
        Ok(displaced)
    }

    /// Implements [`ShadowShape::switches`].
    pub(super) fn switching_entries(&self, memory: &HostMemory) -> Vec<(Gva, GuestTable)> {
        let mut switches = Vec::new();
        self.visit(memory, |address, position| {
            switches.extend(position.guest_table().map(|to| (self.canonical(Gva(address)), to)));
        });
        switches
    }

    /// Shows every entry of every table of the tree, with the first address that it translates.
    pub(super) fn visit(&self, memory: &HostMemory, mut see: impl FnMut(u64, &Position)) {
        let mut open = vec![(self.root(), self.shape.levels - 1, 0_u64)];
        while let Some((table, level, base)) = open.pop() {
            for (index, position) in (0_u64..).zip(entries(memory, table, level, ENTRIES)) {
                let address = base | index << PageSize::of_level(level).shift();
                see(address, &position);
                if position.is_table() {
                    open.push((position.entry.address(), level - 1, address));
                }
            }
        }
    }
}
