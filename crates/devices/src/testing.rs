//! For tests: guest memory in two layouts, and a driver that does by MMIO what Linux does.

pub(crate) mod driver;

use crate::dma::{DmaAccess, DmaError, DmaMemory, Ram};
use crate::map::RAM_BASE;
use std::cell::RefCell;
use std::collections::BTreeMap;
use types::{Gpa, PageSize};
use vm_memory::{Bytes, GuestAddress, GuestMemoryBackend, GuestMemoryMmap, VolatileSlice};

const PAGE: u64 = PageSize::Size4K.bytes();

/// RAM whose pages are one after the other in host memory: the simplest [`DmaMemory`].
pub(crate) struct ContiguousRam {
    memory: GuestMemoryMmap,
    bytes: u64,
}

impl ContiguousRam {
    pub(crate) fn new(bytes: u64) -> Self {
        let memory = GuestMemoryMmap::from_ranges(&[(GuestAddress(RAM_BASE.0), bytes as usize)]).unwrap();
        Self { memory, bytes }
    }
}

impl DmaMemory for ContiguousRam {
    fn contains(&self, gpa: Gpa, bytes: u64) -> bool {
        within(self.bytes, gpa, bytes)
    }

    fn slice(&self, gpa: Gpa, bytes: usize, _access: DmaAccess) -> Result<VolatileSlice<'_>, DmaError> {
        self.memory.get_slice(GuestAddress(gpa.0), bytes).map_err(|_| DmaError::NotRam(gpa))
    }

    fn release(&self) {}
}

/// RAM as under nested paging: a page gets its frame when it is first touched, and frames are handed out from the top down, so that
/// no two pages are neighbours as they are in the guest.
pub(crate) struct ScatteredRam {
    frames: GuestMemoryMmap,
    bytes: u64,
    table: RefCell<BTreeMap<u64, u64>>,
    frame_limit: usize,
}

impl ScatteredRam {
    pub(crate) fn new(bytes: u64) -> Self {
        Self::with_frames(bytes, (bytes / PAGE) as usize)
    }

    /// RAM of `bytes` bytes for which the host has `frame_limit` frames only.
    pub(crate) fn with_frames(bytes: u64, frame_limit: usize) -> Self {
        let frames = GuestMemoryMmap::from_ranges(&[(GuestAddress(0), bytes as usize)]).unwrap();
        Self { frames, bytes, table: RefCell::new(BTreeMap::new()), frame_limit }
    }

    /// Pages that have a frame.
    pub(crate) fn filled(&self) -> usize {
        self.table.borrow().len()
    }
}

impl DmaMemory for ScatteredRam {
    fn contains(&self, gpa: Gpa, bytes: u64) -> bool {
        within(self.bytes, gpa, bytes)
    }

    fn slice(&self, gpa: Gpa, bytes: usize, _access: DmaAccess) -> Result<VolatileSlice<'_>, DmaError> {
        if !self.contains(gpa, 1) {
            return Err(DmaError::NotRam(gpa));
        }
        let mut table = self.table.borrow_mut();
        let used = table.len();
        let frame = match table.get(&gpa.number()) {
            Some(&frame) => frame,
            None if used < self.frame_limit => {
                let frame = self.bytes - (used as u64 + 1) * PAGE;
                table.insert(gpa.number(), frame);
                frame
            }
            None => return Err(DmaError::NoFrame(gpa)),
        };
        let offset = gpa.offset(PageSize::Size4K);
        let length = bytes.min((PAGE - offset) as usize);
        self.frames.get_slice(GuestAddress(frame + offset), length).map_err(|_| DmaError::NotRam(gpa))
    }

    fn release(&self) {}
}

fn within(ram_bytes: u64, gpa: Gpa, bytes: u64) -> bool {
    match gpa.0.checked_sub(RAM_BASE.0).and_then(|offset| offset.checked_add(bytes)) {
        Some(end) => end <= ram_bytes,
        None => bytes == 0,
    }
}

/// The guest's own loads and stores.
pub(crate) fn store(memory: &dyn DmaMemory, gpa: Gpa, bytes: &[u8]) {
    Ram(memory).write_slice(bytes, GuestAddress(gpa.0)).unwrap();
}

pub(crate) fn load(memory: &dyn DmaMemory, gpa: Gpa, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    Ram(memory).read_slice(&mut bytes, GuestAddress(gpa.0)).unwrap();
    bytes
}
