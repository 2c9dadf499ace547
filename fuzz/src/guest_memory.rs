//! RAM of a guest for devices: each page gets its frame when it is first touched, and no two pages are neighbours in the host.

use devices::map::RAM_BASE;
use devices::{DmaAccess, DmaError, DmaMemory, VolatileSlice};
use std::cell::RefCell;
use std::collections::BTreeMap;
use types::{Gpa, PageSize};

/// Bytes of RAM.
pub(crate) const RAM: u64 = 0x20_0000;
const PAGE: u64 = PageSize::Size4K.bytes();
/// Pages of RAM, and frames of the host.
pub(crate) const PAGES: u64 = RAM / PAGE;

thread_local! {
    /// The host's frames. They outlive every guest of the thread, as volatile memory has to; a page is cleared when it gets one.
    static FRAMES: VolatileSlice<'static> = VolatileSlice::from(Box::leak(vec![0; RAM as usize].into_boxed_slice()));
}

/// RAM of the only guest of its thread.
pub(crate) struct GuestMemory {
    /// How many frames the host has.
    limit: u64,
    /// Frames by page number.
    table: RefCell<BTreeMap<u64, u64>>,
}

impl GuestMemory {
    /// RAM that has not been touched, on a host that has `limit` frames for it.
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit: limit.min(PAGES), table: RefCell::default() }
    }

    /// The guest's own store of `bytes`. What has no frame is lost.
    pub(crate) fn store(&self, gpa: Gpa, bytes: &[u8]) {
        let (mut gpa, mut bytes) = (gpa, bytes);
        while !bytes.is_empty() {
            let Ok(slice) = self.slice(gpa, bytes.len(), DmaAccess::Write) else { return };
            let (now, later) = bytes.split_at(slice.len());
            slice.copy_from(now);
            (gpa, bytes) = (gpa.wrapping_add(now.len() as u64), later);
        }
    }

    /// The frame of a page of RAM, if there is one for it.
    fn frame(&self, page: u64) -> Option<u64> {
        let mut table = self.table.borrow_mut();
        let used = table.len() as u64;
        if let Some(&frame) = table.get(&page) {
            return Some(frame);
        }
        if used == self.limit {
            return None;
        }
        let frame = RAM - (used + 1) * PAGE;
        table.insert(page, frame);
        FRAMES
            .with(|frames| frames.subslice(frame as usize, PAGE as usize).map(|slice| slice.copy_from(&[0_u8; 4096])))
            .ok()?;
        Some(frame)
    }
}

impl DmaMemory for GuestMemory {
    fn contains(&self, gpa: Gpa, bytes: u64) -> bool {
        match gpa.0.checked_sub(RAM_BASE.0).and_then(|offset| offset.checked_add(bytes)) {
            Some(end) => end <= RAM,
            None => bytes == 0,
        }
    }

    fn slice(&self, gpa: Gpa, bytes: usize, _: DmaAccess) -> Result<VolatileSlice<'_>, DmaError> {
        if !self.contains(gpa, 1) {
            return Err(DmaError::NotRam(gpa));
        }
        let frame = self.frame(gpa.number()).ok_or(DmaError::NoFrame(gpa))?;
        let offset = gpa.offset(PageSize::Size4K);
        let length = bytes.min((PAGE - offset) as usize);
        FRAMES.with(|frames| frames.subslice((frame + offset) as usize, length)).map_err(|_| DmaError::NotRam(gpa))
    }

    fn release(&self) {}
}
