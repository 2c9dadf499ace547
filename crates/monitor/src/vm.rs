//! A virtual machine's memory.

mod attribute;

pub use attribute::MemoryAttribute;

use crate::table::{HostTable, Invalidation, Leaf, LeafBits, MapError, NestedTable};
use attribute::Store;
use core::ops::Range;
use devices::map::RAM_BASE;
use memory::{FrameAllocator, FrameError, FrameRange, Host, HostMemory, OutOfFrames};
use mmu::SecondStage;
use types::{Access, Gpa, Hpa, PageSize, SecondStageMode, Vmid};

/// How a guest's second stage is presented to the hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backing {
    /// The host is the guest's: hPA = gPA. There is no monitor below it.
    Native,
    /// A nested table: what is fixed is mapped from the start, and pages of a V=V machine when they are first touched.
    Nested {
        /// Shape of the table.
        mode: SecondStageMode,
        /// The largest page that is mapped: 4K, 2M or 1G. Where the end of RAM cuts one off, smaller ones take its place.
        page: PageSize,
        /// A and D bits of a page that is mapped.
        status: LeafStatus,
    },
}

/// A and D bits of a second-stage leaf when it is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LeafStatus {
    /// Both set: nobody looks at them, and no walk has to write them.
    #[default]
    Preset,
    /// Both clear: the walker sets them, or faults, and then the monitor does.
    Clear,
}

/// What became of a nested fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NestedFaultOutcome {
    /// The page is there now: the access is to be made again.
    Mapped,
    /// It is an address of the devices.
    Device,
    /// Nothing is at the address: an access fault of the guest.
    Nothing,
}

/// Why a VM cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VmError {
    /// Not a positive multiple of 4 KiB.
    #[error("guest memory of {0} bytes: the size must be a positive multiple of 4096")]
    RamSize(u64),
    /// More than the nested table translates.
    #[error("guest memory of {bytes} bytes ends beyond the {bits} bits of address of the nested table")]
    RamBeyondTable {
        /// Size of RAM.
        bytes: u64,
        /// Bits of guest physical address.
        bits: u32,
    },
    /// Not a size that a nested table maps here.
    #[error("the host cannot map pages of {0} (4K, 2M, 1G)")]
    PageSize(PageSize),
    /// The host has no such memory, or another VM has it.
    #[error("the host cannot be the guest's alone: {0}")]
    Native(FrameError),
    /// The same, for a V=R machine.
    #[error("memory_attribute: V=R is for one guest of a host at the most, with its RAM at the same addresses: {0}")]
    Real(FrameError),
    /// The host has no such piece for a V=Resident machine.
    #[error("memory_attribute: V=Resident needs the guest's RAM in one piece: {0}")]
    NotContiguous(OutOfFrames),
    /// No frame for the nested table.
    #[error(transparent)]
    OutOfFrames(#[from] OutOfFrames),
}

/// A virtual machine: its identifier and its RAM, from [`RAM_BASE`] on.
#[derive(Debug)]
pub struct Vm {
    vmid: Vmid,
    ram: Range<Gpa>,
    store: Store,
    second: Presentation,
}

/// What the hardware sees of where RAM lies.
#[derive(Debug)]
enum Presentation {
    Native,
    Table {
        table: HostTable,
        /// The largest page that is mapped.
        page: PageSize,
        /// Rights and status of a page when it is mapped.
        bits: LeafBits,
    },
}

impl Vm {
    /// A V=V machine with `ram_bytes` bytes of RAM. Its first nested faults fill it. (A native guest is alone on its host.)
    ///
    /// # Errors
    /// [`VmError`].
    pub fn new(host: &mut Host, vmid: Vmid, ram_bytes: u64, backing: Backing) -> Result<Self, VmError> {
        Self::with_attribute(host, vmid, ram_bytes, backing, MemoryAttribute::Virtual)
    }

    /// A VM with `ram_bytes` bytes of RAM that lies in the host's memory as `attribute` says.
    ///
    /// # Errors
    /// [`VmError`]: nothing was taken.
    pub fn with_attribute(
        host: &mut Host,
        vmid: Vmid,
        ram_bytes: u64,
        backing: Backing,
        attribute: MemoryAttribute,
    ) -> Result<Self, VmError> {
        let whole_pages = ram_bytes > 0 && ram_bytes.is_multiple_of(PageSize::Size4K.bytes());
        let end = RAM_BASE.checked_add(ram_bytes).filter(|_| whole_pages).ok_or(VmError::RamSize(ram_bytes))?;
        let ram = RAM_BASE..end;
        let Backing::Nested { mode, page, status } = backing else {
            let store =
                Store::new(host, &ram, MemoryAttribute::Real, PageSize::Size4K).map_err(|error| match error {
                    VmError::Real(error) => VmError::Native(error),
                    other => other,
                })?;
            return Ok(Self { vmid, ram, store, second: Presentation::Native });
        };
        if !page_sizes(page).any(|size| size == page) {
            return Err(VmError::PageSize(page));
        }
        let bits = mode.address_bits();
        if end.0 > 1 << bits {
            return Err(VmError::RamBeyondTable { bytes: ram_bytes, bits });
        }
        let store = Store::new(host, &ram, attribute, page)?;
        let presented = Presentation::nested(host, vmid, &ram, store, (mode, page, status)).inspect_err(|_| {
            if let Some(frames) = store.fixed(&ram) {
                let freed = host.frames.free(frames);
                debug_assert!(freed.is_ok(), "taken above");
            }
        });
        Ok(Self { vmid, ram: ram.clone(), store, second: presented? })
    }

    /// Host memory that is enough for such a VM whatever it touches, in bytes: RAM, its tables, and what alignment wastes.
    #[must_use]
    pub const fn host_bytes(ram_bytes: u64, backing: Backing) -> u64 {
        match backing {
            Backing::Native => ram_bytes,
            Backing::Nested { page, .. } => {
                // An eighth of a table page for each 4K page is 8 bytes in 4096; the levels above and the root are less than 2M more.
                let tables = ram_bytes / 512 + PageSize::Size2M.bytes();
                (ram_bytes + tables).next_multiple_of(page.bytes()) + page.bytes()
            }
        }
    }

    /// The identifier that its TLB entries have.
    #[must_use]
    pub const fn vmid(&self) -> Vmid {
        self.vmid
    }

    /// Whether the guest has the host to itself.
    #[must_use]
    pub const fn is_native(&self) -> bool {
        matches!(self.second, Presentation::Native)
    }

    /// Its RAM.
    #[must_use]
    pub fn ram(&self) -> Range<Gpa> {
        self.ram.clone()
    }

    /// The second stage of its translations.
    #[must_use]
    pub fn second_stage(&self) -> SecondStage {
        match &self.second {
            Presentation::Native => SecondStage::Constant { ram: self.ram.clone(), offset: 0 },
            Presentation::Table { table, .. } => table.second_stage(),
        }
    }

    /// Whether `bytes` bytes at `gpa` are all RAM, filled or not; true of no bytes.
    #[must_use]
    pub fn is_ram(&self, gpa: Gpa, bytes: u64) -> bool {
        bytes == 0 || (gpa >= self.ram.start && gpa.checked_add(bytes).is_some_and(|end| end <= self.ram.end))
    }

    /// Whether its pages have frames only while the monitor lets them: V=V.
    #[must_use]
    pub fn is_pageable(&self) -> bool {
        self.store == Store::Paged
    }

    /// Takes the page that holds `gpa` from the guest: the next access to it is a nested fault. `None` where it has no frame, and of a
    /// guest whose memory is fixed.
    ///
    /// Whatever else leads to the page's frame has to go here, before the flush that the caller then [performs](Invalidation::perform).
    pub(crate) fn unmap_page(&mut self, memory: &HostMemory, gpa: Gpa) -> Option<Invalidation> {
        match (&mut self.second, self.store) {
            (Presentation::Table { table, .. }, Store::Paged) => table.unmap(memory, gpa),
            (Presentation::Native | Presentation::Table { .. }, _) => None,
        }
    }

    /// The piece of host memory at `gpa`, from there to the end of its page, if it has a frame, with A and D bits as `access` sets them.
    pub(crate) fn touch(&mut self, memory: &HostMemory, gpa: Gpa, access: Access) -> Option<FramePiece> {
        if !self.is_ram(gpa, 1) {
            return None;
        }
        if let Some(start) = self.store.hpa(gpa) {
            return Some(FramePiece { start, bytes: self.ram.end.0 - gpa.0 });
        }
        let (table, ..) = self.pages();
        let leaf = table.lookup(memory, gpa)?;
        let touched = LeafBits::of_access(access);
        if !leaf.bits.contains(touched) {
            table.grant(memory, gpa, touched);
        }
        Some(FramePiece::of(&leaf, gpa))
    }

    /// Gives the page of RAM that holds `gpa`, which has no frame, a fresh one: the largest that fits there. Where `spare` says how many
    /// bytes are to be left, a smaller one is as good. Returns the page.
    pub(crate) fn fill(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gpa: Gpa,
        access: Access,
        spare: Option<u64>,
    ) -> Result<Leaf, OutOfFrames> {
        let ram = self.ram.clone();
        let (table, largest, _) = self.pages();
        let vacancy = table.vacancy(memory, gpa).unwrap_or_default();
        let mut size = largest_page(&ram, gpa, largest.min(vacancy));
        if let Some(spare) = spare {
            let affordable = |size: &PageSize| frames.free_bytes() >= size.bytes() + spare;
            size = page_sizes(size).find(affordable).unwrap_or_default();
        }
        let frame = loop {
            match (frames.allocate(memory, size), page_sizes(size).nth(1).filter(|_| spare.is_some())) {
                (Ok(frame), _) => break frame,
                (Err(_), Some(smaller)) => size = smaller,
                (Err(error), None) => return Err(error),
            }
        };
        self.map_page(memory, frames, gpa, frame, access).inspect_err(|_| free_unused(frames, frame))
    }

    /// Maps the page that holds `gpa` and is as long as `frame` there. On an error the frame is still the caller's.
    pub(crate) fn map_page(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gpa: Gpa,
        frame: FrameRange,
        access: Access,
    ) -> Result<Leaf, OutOfFrames> {
        let (table, _, bits) = self.pages();
        let size = page_sizes(PageSize::Size1G).find(|size| size.bytes() == frame.bytes()).unwrap_or_default();
        // The access that faulted is made again, and finds the bits that it needs even where hardware sets none.
        let leaf = Leaf { page: frame.start(), size, bits: bits | LeafBits::of_access(access) };
        match table.map(memory, frames, gpa.page(size), leaf) {
            Ok(()) => Ok(leaf),
            Err(MapError::OutOfFrames(error)) => Err(error),
            Err(error) => unreachable!("a vacant page of RAM, as large as its frame: {error}"),
        }
    }

    /// The page that holds `gpa`, if it has a frame that can be taken away.
    pub(crate) fn page(&self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf> {
        match (&self.second, self.store) {
            (Presentation::Table { table, .. }, Store::Paged) => table.lookup(memory, gpa),
            (Presentation::Native | Presentation::Table { .. }, _) => None,
        }
    }

    /// Whether the page that holds `gpa` was used since this was asked last, as far as the hardware tells.
    pub(crate) fn age_page(&mut self, memory: &HostMemory, gpa: Gpa) -> bool {
        let (table, _, bits) = self.pages();
        // Where A is set from the start it tells nothing.
        !bits.contains(LeafBits::ACCESSED) && table.age(memory, gpa)
    }

    /// Maps the superpage that holds `gpa` in pages of the next smaller size; whether there was one.
    pub(crate) fn split_page(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gpa: Gpa,
    ) -> Result<bool, OutOfFrames> {
        self.pages().0.split(memory, frames, gpa)
    }

    /// The table of a V=V machine, the size of its pages, and their bits.
    fn pages(&mut self) -> (&mut HostTable, PageSize, LeafBits) {
        match &mut self.second {
            Presentation::Table { table, page, bits } => (table, *page, *bits),
            Presentation::Native => unreachable!("a native guest's memory is fixed"),
        }
    }
}

fn free_unused(frames: &mut FrameAllocator, frame: FrameRange) {
    // Never mapped, so no TLB has it.
    let freed = frames.free(frame);
    debug_assert!(freed.is_ok(), "allocated a moment ago");
}

impl Presentation {
    /// A nested table that maps what of `ram` is fixed.
    fn nested(
        host: &mut Host,
        vmid: Vmid,
        ram: &Range<Gpa>,
        store: Store,
        (mode, page, status): (SecondStageMode, PageSize, LeafStatus),
    ) -> Result<Self, VmError> {
        let mut table = HostTable::Nested(NestedTable::new(&host.memory, &mut host.frames, mode, vmid)?);
        let rights = LeafBits::READ | LeafBits::WRITE | LeafBits::EXECUTE;
        let preset = rights | LeafBits::ACCESSED | LeafBits::DIRTY;
        let bits = match status {
            LeafStatus::Preset => preset,
            LeafStatus::Clear => rights,
        };
        let mut gpa = ram.start;
        while gpa < ram.end
            && let Some(start) = store.hpa(gpa)
        {
            let size = largest_page(ram, gpa, page);
            // Nobody looks at status bits of a page that stays.
            match table.map(&host.memory, &mut host.frames, gpa, Leaf { page: start, size, bits: preset }) {
                Ok(()) => gpa = gpa.wrapping_add(size.bytes()),
                Err(MapError::OutOfFrames(error)) => {
                    table.free(&host.memory, &mut host.frames);
                    return Err(error.into());
                }
                Err(error) => unreachable!("RAM is within the table, aligned, and mapped once: {error}"),
            }
        }
        Ok(Self::Table { table, page, bits })
    }
}

/// Host memory in one piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FramePiece {
    pub(crate) start: Hpa,
    pub(crate) bytes: u64,
}

impl FramePiece {
    pub(crate) const fn of(leaf: &Leaf, gpa: Gpa) -> Self {
        let offset = gpa.offset(leaf.size);
        Self { start: leaf.page.wrapping_add(offset), bytes: leaf.size.bytes() - offset }
    }
}

/// The sizes that a page of at most `largest` may have, descending.
fn page_sizes(largest: PageSize) -> impl Iterator<Item = PageSize> {
    [PageSize::Size1G, PageSize::Size2M, PageSize::Size4K].into_iter().filter(move |&size| size <= largest)
}

/// The largest page of at most `largest` around `gpa` that lies wholly in RAM.
fn largest_page(ram: &Range<Gpa>, gpa: Gpa, largest: PageSize) -> PageSize {
    page_sizes(largest)
        .find(|&size| {
            let start = gpa.page(size);
            start >= ram.start && start.checked_add(size.bytes()).is_some_and(|end| end <= ram.end)
        })
        .unwrap_or(PageSize::Size4K)
}

#[cfg(test)]
mod tests;
