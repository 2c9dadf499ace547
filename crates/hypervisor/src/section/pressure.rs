//! Frames run short, or a working set is full: pages of pageable sections leave.

use super::manager::{GuestTables, SectionHost, SectionManager, free};
use crate::table::{FlushTlbs, LeafBits};
use memory::section::BackingError;
use mmu::Fence;
use types::Vmid;

impl SectionManager {
    /// Frees a frame that a pageable section has: of a page that no VM maps, or if there is none, of the one that has been longest in any working set. Whether there
    /// was any.
    ///
    /// # Errors
    /// [`BackingError`]: the page is modified and cannot be written. It stays.
    pub fn make_room(
        &mut self,
        on: &mut SectionHost<'_, impl GuestTables, impl FlushTlbs>,
    ) -> Result<bool, BackingError> {
        loop {
            if let Some(vacated) = self.sections.reclaim(&on.host.memory)? {
                free(on.host, on.processors, vacated);
                return Ok(true);
            }
            let oldest = self.spaces.iter().filter_map(|(&vmid, space)| Some((space.working_set.oldest()?.0, vmid)));
            let Some((_, vmid)) = oldest.min() else { return Ok(false) };
            // The page may have other mappers, and is then only nearer to leaving.
            self.trim(on, vmid);
        }
    }

    /// Takes the oldest page out of a VM's working set: out of its tables, then out of the TLBs.
    pub(super) fn trim(&mut self, on: &mut SectionHost<'_, impl GuestTables, impl FlushTlbs>, vmid: Vmid) {
        let Some(space) = self.spaces.get_mut(&vmid) else { return };
        let Some((_, gpa)) = space.working_set.oldest() else { return };
        space.working_set.remove(gpa);
        let Some(window) = space.window_at(gpa) else { return };
        let (section, page) = (window.section, window.page_at(gpa));
        let leaf = on.tables.table(vmid).and_then(|table| table.take(&on.host.memory, gpa));
        if let Some(leaf) = &leaf {
            on.tables.forget_page(&on.host.memory, vmid, gpa, leaf);
        }
        on.processors.fence(&Fence::Gvma { gpa: Some(gpa), vmid: Some(vmid) });
        self.work.flushes += 1;
        self.work.tables.entries += 1;
        debug_assert!(leaf.is_some() && page.is_some(), "a page of a working set is mapped");
        if let Some((leaf, page)) = leaf.zip(page) {
            self.sections.drop_page(section, page, leaf.bits.contains(LeafBits::DIRTY));
        }
    }
}
