//! Tables of a tree that are not its own: those of a section, linked into every tree that maps it (paper 003, "Shared Page Tables").
//!
//! The entry that leads to such a table is marked, in a bit that the hardware leaves to software. A tree never changes what is below a marked
//! entry: [`PageTable::map`] finds the place occupied, [`PageTable::unmap`] and [`PageTable::set_bits`] find nothing, and
//! [`PageTable::free`] passes it by. So nothing private can get into a shared table, for any caller.

use super::{Entry, Found, MapError, PageTable, read, slot, write};
use memory::{FrameAllocator, HostMemory};
use types::{Hpa, PageSize};

impl PageTable {
    /// Lets the whole piece of address space at `address` that a table of `level` maps be mapped by `table`, which stays its owner's. Returns how
    /// many tables of its own it took above it.
    ///
    /// # Errors
    /// [`MapError::Size`]: the root is no higher than `level`, [`MapError::Misaligned`], [`MapError::Occupied`], [`MapError::Beyond`], [`MapError::OutOfFrames`].
    pub(in super::super) fn link(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        address: u64,
        level: u32,
        table: Hpa,
    ) -> Result<u64, MapError> {
        let size = PageSize::of_level(level + 1);
        if level + 1 >= self.shape.levels {
            return Err(MapError::Size(size));
        }
        if address & (size.bytes() - 1) != 0 || !table.is_aligned(PageSize::Size4K.bytes()) {
            return Err(MapError::Misaligned { address, page: table, size });
        }
        let (slot, made) = self.place(memory, frames, address, level + 1)?;
        if read(memory, slot).is_valid() {
            return Err(MapError::Occupied(address));
        }
        write(memory, slot, Entry::link(table));
        Ok(made)
    }

    /// The table that [`link`](Self::link) put at `address`, and its level, if there is one.
    pub(in super::super) fn linked(&self, memory: &HostMemory, address: u64) -> Option<(Hpa, u32)> {
        if address >> self.shape.address_bits() != 0 {
            return None;
        }
        let Found { level, entry, .. } = self.find(memory, address);
        entry.is_link().then(|| (entry.address(), level - 1))
    }

    /// Where the entry of `address` in its table of `level` is, which may hold anything, and how many tables were added on the way; those stay.
    ///
    /// # Errors
    /// [`MapError::Beyond`]; [`MapError::Occupied`] where a page or another's table is on the way; [`MapError::OutOfFrames`].
    pub(super) fn place(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        address: u64,
        level: u32,
    ) -> Result<(Hpa, u64), MapError> {
        let shape = self.shape;
        if address >> shape.address_bits() != 0 {
            return Err(MapError::Beyond { address, bits: shape.address_bits() });
        }
        let (mut table, mut at, mut made) = (self.root(), shape.levels - 1, 0);
        while at > level {
            let entry_at = slot(table, shape, address, at);
            let entry = read(memory, entry_at);
            if entry.is_leaf() || entry.is_link() {
                return Err(MapError::Occupied(address));
            }
            table = if entry.is_valid() {
                entry.address()
            } else {
                let table = frames.allocate(memory, PageSize::Size4K)?.start();
                write(memory, entry_at, Entry::pointer(table));
                made += 1;
                table
            };
            at -= 1;
        }
        Ok((slot(table, shape, address, level), made))
    }
}
