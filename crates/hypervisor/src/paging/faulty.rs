//! A frame of the host that has a hard fault: its owner gets another.

use super::supply::{Batch, FrameReclaim};
use crate::table::FlushTlbs;
use memory::{FrameError, FrameRange};
use types::{Access, Gpa, Hpa, PageSize};

const PAGE: PageSize = PageSize::Size4K;

/// What became of a frame that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FaultyFrame {
    /// It was free, and is never allocated again.
    Free,
    /// A guest's page lay there, and lies elsewhere now, with the same contents.
    Replaced,
    /// It stays in use: a table of the hypervisor's, a page of a guest whose memory is fixed without a segment, or there is no frame to spare.
    Stays,
}

impl<P: FlushTlbs> FrameReclaim<'_, P> {
    /// The frame that holds `hpa` has a hard fault.
    ///
    /// # Errors
    /// [`FrameError::Outside`].
    pub fn mark_faulty(&mut self, hpa: Hpa) -> Result<FaultyFrame, FrameError> {
        let hpa = hpa.page(PAGE);
        if !self.frames.mark_faulty(hpa)? {
            return Ok(FaultyFrame::Free);
        }
        for vm in 0..self.vms.len() {
            if let Some(gpa) = self.vms[vm].segment_page_at(hpa) {
                return Ok(self.replace_in_segment(vm, gpa));
            }
            if let Some(gpa) = self.page_in_frame(vm, hpa) {
                return Ok(self.replace_page(vm, gpa));
            }
        }
        Ok(FaultyFrame::Stays)
    }

    fn replace_in_segment(&mut self, vm: usize, gpa: Gpa) -> FaultyFrame {
        let replaced = self.with_room(|supply| supply.vms[vm].replace_page(supply.memory, supply.frames, gpa));
        let Ok(Some(replaced)) = replaced else { return FaultyFrame::Stays };
        self.processors.fence(&replaced.fence);
        if let Some(frame) = FrameRange::new(replaced.from, PAGE.bytes()) {
            self.processors.forget_code(frame);
        }
        FaultyFrame::Replaced
    }

    /// The page of a pageable VM that lies in a frame. There is no reverse map, as this happens rarely.
    fn page_in_frame(&self, vm: usize, hpa: Hpa) -> Option<Gpa> {
        let vm = &self.vms[vm];
        let ram = vm.ram();
        let mut gpa = ram.start;
        while gpa < ram.end {
            let leaf = vm.page(self.memory, gpa);
            let size = leaf.map_or(PAGE, |leaf| leaf.size);
            if let Some(leaf) = leaf.filter(|leaf| leaf.page == hpa.page(leaf.size)) {
                return Some(gpa.page(leaf.size).wrapping_add(hpa.offset(leaf.size)));
            }
            gpa = gpa.page(size).checked_add(size.bytes())?;
        }
        None
    }

    /// Moves the base page of a pageable VM to another frame.
    fn replace_page(&mut self, vm: usize, gpa: Gpa) -> FaultyFrame {
        while self.vms[vm].page(self.memory, gpa).is_some_and(|leaf| leaf.size > PAGE) {
            if !self.with_room(|supply| supply.split(vm, gpa)).unwrap_or(false) {
                return FaultyFrame::Stays;
            }
        }
        let Ok(frame) = self.with_room(|supply| supply.frames.allocate(supply.memory, PAGE)) else {
            return FaultyFrame::Stays;
        };
        let mut bytes = [0; PAGE.bytes() as usize];
        // To make room may have taken the very page away.
        let Some(leaf) = self.vms[vm].page(self.memory, gpa) else {
            self.frames.give_back(frame, "a frame in the place of a faulty one that came free");
            return FaultyFrame::Free;
        };
        let copied = self.memory.read_slice(leaf.page, &mut bytes);
        let copied = copied.and_then(|()| self.memory.write_slice(frame.start(), &bytes));
        self.memory.note_failure(copied, "a page on a faulty frame");
        let mut batch = Batch::default();
        self.take(vm, gpa, &mut batch);
        self.perform(batch);
        // What was clean is so no more: the swap file need not have it.
        match self.vms[vm].map_page(self.memory, self.frames, gpa, frame, Access::Write) {
            Ok(leaf) => {
                if let Some(pager) = self.pager.as_deref_mut() {
                    pager.settled(vm, gpa, &leaf);
                }
                FaultyFrame::Replaced
            }
            Err(error) => {
                debug_assert!(false, "the tables above the page are there, as it was mapped a moment ago: {error}");
                FaultyFrame::Stays
            }
        }
    }
}
