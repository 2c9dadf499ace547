//! Leaf tables of sections in shadow tables: when a guest maps 2M of a section alike, its shadow table is linked to the section's. The rule is in
//! `section/shadow.rs`.

use super::guest_page::{GuestPage, WRITABLE_AND_DIRTY};
use super::reader::{Path, Step};
use super::tables::BARE;
use super::{Exited, Shadow, Tlbs};
use crate::section::Piece;
use crate::table::Leaf;
use crate::vm::VmMemory;
use memory::{Host, HostMemory, OutOfFrames};
use types::{Gpa, Gva, PageSize};

/// Entries of a table.
const ENTRIES: u64 = 512;
/// Bits of an entry that the hardware leaves to the guest.
const SOFTWARE: u64 = 3 << 8;
const ACCESSED: u64 = 1 << 6;

/// What it took to link a table.
#[derive(Clone, Copy, Default)]
pub(super) struct Shared {
    /// Execution steps of making the table, if it is new.
    pub(super) steps: u64,
    /// Entries of the guest's that were read.
    pub(super) references: u64,
}

impl Shadow {
    /// Links the shadow table of the hart that has exited to a section's leaf table for the 2M around `gva`, if that may be; `None` if not.
    pub(super) fn share(
        &mut self,
        exited: &mut Exited<'_, impl Tlbs>,
        gva: Gva,
        page: &GuestPage,
        host_page: &Leaf,
        path: &Path,
    ) -> Result<Option<Shared>, OutOfFrames> {
        let table = self.harts[exited.hart].table;
        let entry = self.compose(page, host_page);
        // A larger page needs no leaf table.
        if table == BARE || self.agile.is_some() || exited.vm.is_ram(page.gpa, 1) || entry.size != PageSize::Size4K {
            return Ok(None);
        }
        let needed = WRITABLE_AND_DIRTY | ACCESSED;
        let Some(first) =
            page.gpa.0.checked_sub(gva.offset(PageSize::Size2M)).map(|gpa| Gpa(gpa).page(PageSize::Size4K))
        else {
            return Ok(None);
        };
        let Exited { vm, host, tlbs, sections, .. } = exited;
        let Some(sections) = sections.as_mut().filter(|_| page.leaf.pte & needed == needed) else { return Ok(None) };
        let Some(piece) = sections.piece(vm.vmid(), first) else { return Ok(None) };
        let references = match page.leaf.size {
            PageSize::Size2M | PageSize::Size1G => 0,
            PageSize::Size4K => match guest_table(path) {
                Some(table) if maps_alike(vm, &host.memory, table, first, &piece, page.leaf.pte) => ENTRIES,
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        // Where frames are short it has tables of its own, for which others make room.
        let Ok(Some(leaves)) = sections.shadow_leaves(host, &piece, entry.bits) else { return Ok(None) };
        let steps = sections.take_work().steps();
        self.make_room(host, *tlbs);
        let shape = &mut self.tables.list[table].shape;
        let linked = shape.link(&host.memory, &mut host.frames, gva, leaves, page.leaf.size)?;
        let Some(displaced) = linked else { return Ok(None) };
        self.settle(host, *tlbs, displaced);
        self.statistics.validations += 1;
        self.statistics.links += 1;
        self.note_piece(host, vm, (table, gva), page, path);
        Ok(Some(Shared { steps, references }))
    }

    /// For a guest that is checked: what every entry below a link was made from.
    fn note_piece(&mut self, host: &Host, vm: &VmMemory, (table, gva): (usize, Gva), page: &GuestPage, path: &Path) {
        let Some(audit) = &mut self.audit else { return };
        for index in 0..ENTRIES {
            let at = gva.page(PageSize::Size2M).wrapping_add(index * PageSize::Size4K.bytes());
            let step = guest_table(path).filter(|_| page.leaf.size == PageSize::Size4K).map(|table| {
                let at = table.wrapping_add(index * 8);
                Step { at, entry: vm.peek(&host.memory, at).unwrap_or(0) }
            });
            audit.record(table, at, &path.ending(step));
        }
    }
}

/// The table that a walk's last entry is in.
fn guest_table(path: &Path) -> Option<Gpa> {
    path.steps().next_back().map(|step| step.at.page(PageSize::Size4K))
}

/// Whether the base pages of the guest's leaf table at `table` map the piece at `first` in order, each as `like` maps one of them, and what is behind the section's
/// end by nothing.
fn maps_alike(vm: &VmMemory, memory: &HostMemory, table: Gpa, first: Gpa, piece: &Piece, like: u64) -> bool {
    const PAGE_NUMBER: u64 = ((1 << 44) - 1) << 10;
    let flags = like & !(PAGE_NUMBER | SOFTWARE);
    // A guest that fills its table in order is found out by the last entry.
    (0..ENTRIES).rev().all(|index| {
        let Some(entry) = vm.peek(memory, table.wrapping_add(index * 8)) else { return false };
        if index >= piece.pages {
            return entry & 1 == 0;
        }
        let page = first.wrapping_add(index * PageSize::Size4K.bytes());
        entry & !SOFTWARE == flags | page.number() << 10
    })
}
