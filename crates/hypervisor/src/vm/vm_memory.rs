//! Where the memory of a virtual machine lies, and how it gets its frames. It knows nothing of what is derived from the guest's tables.

use super::attribute::{MemoryAttribute, Store};
use super::beginning::Beginning;
use super::direct::TABLES_BYTES;
use super::error::VmError;
use super::page_sizes::{largest_page, page_sizes};
use super::presentation::{Backing, LeafStatus, Presentation};
use crate::table::{HostTable, Leaf, LeafBits, MapError, SectionTable};
use core::ops::Range;
use devices::map::RAM_BASE;
use memory::{FrameAllocator, FrameRange, Host, HostMemory, OutOfFrames};
use mmu::SecondStage;
use types::{Access, Gpa, Hpa, PageSize, Vmid};

/// The memory of a virtual machine: its identifier and its RAM, from [`RAM_BASE`] on.
#[derive(Debug)]
pub struct VmMemory {
    pub(super) vmid: Vmid,
    pub(super) ram: Range<Gpa>,
    pub(super) store: Store,
    pub(super) second: Presentation,
    /// Whether only a supply gives its pages frames.
    pub(super) supplied: bool,
    /// What pages begin with that have had no frame yet.
    pub(super) beginning: Option<Box<Beginning>>,
}

impl VmMemory {
    /// A VM with `ram_bytes` bytes of RAM that lies in the host's memory as `attribute` says.
    ///
    /// # Errors
    /// [`VmError`]: nothing was taken.
    pub(super) fn new(
        host: &mut Host,
        vmid: Vmid,
        ram_bytes: u64,
        backing: Backing,
        attribute: MemoryAttribute,
    ) -> Result<Self, VmError> {
        let whole_pages = ram_bytes > 0 && ram_bytes.is_multiple_of(PageSize::Size4K.bytes());
        let end = RAM_BASE.checked_add(ram_bytes).filter(|_| whole_pages).ok_or(VmError::RamSize(ram_bytes))?;
        let ram = RAM_BASE..end;
        backing.check(vmid, &ram)?;
        let mut faulty = Vec::new();
        let store = match backing {
            Backing::Native => {
                Store::new(host, &ram, MemoryAttribute::Real, PageSize::Size4K).map_err(|error| match error {
                    VmError::Real(error) => VmError::Native(error),
                    other => other,
                })?
            }
            Backing::Reserved => {
                // The guest's own large pages are to be whole in the host.
                let attribute = if attribute.is_fixed() { attribute } else { MemoryAttribute::Resident };
                Store::new(host, &ram, attribute, PageSize::Size1G).map_err(|error| match error {
                    VmError::NotContiguous(error) => VmError::Reserved(error),
                    other => other,
                })?
            }
            Backing::Table { page, .. } => Store::new(host, &ram, attribute, page)?,
            Backing::Direct { .. } => {
                let (store, frames) = Store::with_faults(host, &ram, attribute)?;
                faulty = frames;
                store
            }
        };
        let second = Presentation::new(host, vmid, &ram, store, backing).inspect_err(|_| {
            if let Some(frames) = store.fixed(&ram) {
                host.frames.give_back(frames, "memory of a VM that cannot be made");
            }
        })?;
        let mut memory = Self { vmid, ram, store, second, supplied: false, beginning: None };
        for frame in faulty {
            memory.replace_at_once(host, frame)?;
        }
        Ok(memory)
    }

    /// Host memory that is enough for such a VM whatever it touches, in bytes: RAM, its tables, and what alignment wastes.
    #[must_use]
    pub fn host_bytes(ram_bytes: u64, backing: Backing) -> u64 {
        match backing {
            Backing::Native => ram_bytes,
            Backing::Table { design, page, .. } => {
                (ram_bytes + design.bytes(ram_bytes)).next_multiple_of(page.bytes()) + page.bytes()
            }
            Backing::Reserved | Backing::Direct { .. } => {
                let tables = if matches!(backing, Backing::Direct { .. }) { TABLES_BYTES } else { 0 };
                let ram_bytes = ram_bytes.saturating_add(tables);
                let page = if ram_bytes < PageSize::Size1G.bytes() { PageSize::Size2M } else { PageSize::Size1G };
                ram_bytes.next_multiple_of(page.bytes()) + page.bytes()
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

    /// Its table from guest physical to host physical addresses, if it has one: what sections are mapped by. The hardware walks it, or, of a guest
    /// with shadow tables, the hypervisor alone.
    pub(crate) fn section_table(&mut self) -> Option<&mut dyn SectionTable> {
        self.table_mut()?.as_section_table()
    }

    pub(super) fn table(&self) -> Option<&dyn HostTable> {
        match &self.second {
            Presentation::Table { table, .. } | Presentation::Direct { table, .. } => Some(&**table),
            Presentation::Native | Presentation::Reserved => None,
        }
    }

    pub(super) fn table_mut(&mut self) -> Option<&mut dyn HostTable> {
        match &mut self.second {
            Presentation::Table { table, .. } | Presentation::Direct { table, .. } => Some(&mut **table),
            Presentation::Native | Presentation::Reserved => None,
        }
    }

    /// Whether that can have tables of sections linked into it.
    #[must_use]
    pub fn links_sections(&self) -> bool {
        self.table().is_some_and(HostTable::links_sections)
    }

    /// Sees to it that sections can be mapped up to `end`: a flat table has entries no further than it must. The guest has not run yet.
    ///
    /// # Errors
    /// [`OutOfFrames`].
    pub fn reach(&mut self, host: &mut Host, end: Gpa) -> Result<(), OutOfFrames> {
        self.table_mut().map_or(Ok(()), |table| table.extend(&host.memory, &mut host.frames, end))
    }

    /// Bytes of the table's entries for what is behind RAM, where it is as long as what it maps.
    #[must_use]
    pub fn table_bytes_behind_ram(&self) -> u64 {
        self.table().map_or(0, |table| table.bytes_behind(&self.ram))
    }

    /// Whether `bytes` bytes at `gpa` are all RAM, filled or not; true of no bytes.
    #[must_use]
    pub fn is_ram(&self, gpa: Gpa, bytes: u64) -> bool {
        bytes == 0 || (gpa >= self.ram.start && gpa.checked_add(bytes).is_some_and(|end| end <= self.ram.end))
    }

    /// Whether its pages have frames only while the hypervisor lets them: V=V.
    #[must_use]
    pub fn is_pageable(&self) -> bool {
        self.store == Store::Paged
    }

    /// From now on only a [`FrameReclaim`](crate::FrameReclaim) gives its pages frames, because it alone knows which have contents elsewhere.
    pub fn page_by_supply(&mut self) {
        self.supplied = true;
    }

    /// Whether pages without a frame may have contents elsewhere.
    pub(crate) const fn is_supplied(&self) -> bool {
        self.supplied
    }

    /// The piece of host memory at `gpa`, from there to the end of its page, if it has a frame, with A and D bits as `access` sets them.
    pub(crate) fn touch(&mut self, memory: &HostMemory, gpa: Gpa, access: Access) -> Option<FramePiece> {
        if let Some(piece) = self.segment_piece(gpa) {
            return Some(piece);
        }
        let is_fixed = self.is_ram(gpa, 1) && !matches!(self.second, Presentation::Direct { .. });
        if let Some(start) = self.store.hpa(gpa).filter(|_| is_fixed) {
            return Some(FramePiece { start, bytes: self.ram.end.0 - gpa.0 });
        }
        self.touch_page(memory, gpa, access).map(|leaf| FramePiece::of(&leaf, gpa))
    }

    /// The page that holds `gpa`, if it is mapped, with A and D bits as `access` sets them.
    fn touch_page(&mut self, memory: &HostMemory, gpa: Gpa, access: Access) -> Option<Leaf> {
        let leaf = self.mapped(memory, gpa)?;
        let touched = LeafBits::of_access(access);
        if !leaf.bits.contains(touched) {
            self.pages().0.grant(memory, gpa, touched);
        }
        Some(leaf)
    }

    /// The host page that holds `gpa`, with A and D bits as `access` sets them. `None` outside RAM.
    ///
    /// # Errors
    /// [`ReclaimRequest`]: what has to be provided first.
    pub(crate) fn resolve(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
        gpa: Gpa,
        access: Access,
    ) -> Result<Option<Resolved>, ReclaimRequest> {
        if !self.is_ram(gpa, 1) {
            return Ok(None);
        }
        if let Some(leaf) = self.touch_page(memory, gpa, access) {
            return Ok(Some(Resolved { leaf, fresh: false }));
        }
        if self.supplied {
            return Err(ReclaimRequest::Page { gpa, access });
        }
        let leaf = self.fill(memory, frames, gpa, access, None)?;
        Ok(Some(Resolved { leaf, fresh: true }))
    }

    /// The page of a section at `gpa`, outside RAM, with A and D bits as `access` sets them; `None` if none is valid there, or the access is not permitted.
    pub(crate) fn resolve_section(&mut self, memory: &HostMemory, gpa: Gpa, access: Access) -> Option<Leaf> {
        let needed = LeafBits::of_access(access);
        let table = self.section_table()?;
        let leaf = table.lookup(memory, gpa)?;
        if access == Access::Write && !leaf.bits.contains(LeafBits::WRITE) {
            return None;
        }
        if !leaf.bits.contains(needed) {
            table.grant(memory, gpa, needed);
        }
        Some(Leaf { bits: leaf.bits | needed, ..leaf })
    }

    /// The host page at `gpa`, if it is there: of RAM, or of a section.
    pub(crate) fn anywhere(&self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf> {
        match &self.second {
            _ if self.is_ram(gpa, 1) => self.mapped(memory, gpa),
            Presentation::Native | Presentation::Reserved => None,
            Presentation::Table { table, .. } | Presentation::Direct { table, .. } => table.lookup(memory, gpa),
        }
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
            match (frames.allocate_placed(memory, size), page_sizes(size).nth(1).filter(|_| spare.is_some())) {
                (Ok(frame), _) => break frame,
                (Err(_), Some(smaller)) => size = smaller,
                (Err(error), None) => return Err(error),
            }
        };
        self.map_page(memory, frames, gpa, frame, access).inspect_err(|_| {
            // Never mapped, so no TLB has it.
            frames.give_back(frame, "a page that was not mapped");
        })
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
        self.mapped(memory, gpa).filter(|_| self.is_pageable())
    }

    /// Whether the page that holds `gpa` was used since this was asked last, as far as the hardware tells, and faults.
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

    /// Adds the tables that all of RAM needs, so that they lie apart from its pages.
    pub(crate) fn prepare_tables(
        &mut self,
        memory: &HostMemory,
        frames: &mut FrameAllocator,
    ) -> Result<(), OutOfFrames> {
        let ram = self.ram.clone();
        let (table, page, _) = self.pages();
        let mut gpa = ram.start;
        while gpa < ram.end {
            let size = largest_page(&ram, gpa, page);
            table.prepare(memory, frames, gpa, size)?;
            // A table of the lowest level maps 2M.
            gpa = gpa.wrapping_add(size.bytes().max(PageSize::Size2M.bytes()));
        }
        Ok(())
    }

    /// The table of a V=V machine, the size of its pages, and their bits.
    pub(super) fn pages(&mut self) -> (&mut dyn HostTable, PageSize, LeafBits) {
        match &mut self.second {
            Presentation::Table { table, page, bits } => (&mut **table, *page, *bits),
            Presentation::Direct { table, .. } => (&mut **table, PageSize::Size4K, LeafStatus::Preset.bits()),
            Presentation::Native | Presentation::Reserved => unreachable!("such a guest's memory is fixed"),
        }
    }

    /// The host page that holds `gpa`, if it is there.
    pub(crate) fn mapped(&self, memory: &HostMemory, gpa: Gpa) -> Option<Leaf> {
        match &self.second {
            _ if !self.is_ram(gpa, 1) => None,
            Presentation::Native | Presentation::Reserved => self.fixed_page(gpa),
            Presentation::Table { table, .. } => table.lookup(memory, gpa),
            Presentation::Direct { table, .. } => self.segment_page(gpa).or_else(|| table.lookup(memory, gpa)),
        }
    }

    /// Entries of the hypervisor's own table that software reads to translate one guest physical address.
    pub(crate) fn host_levels(&self) -> u32 {
        // A constant takes no table, whatever the hardware is shown.
        match (&self.second, self.store) {
            (Presentation::Table { table, .. }, Store::Paged) => table.levels(),
            (Presentation::Table { .. }, Store::Identity | Store::Offset(_))
            | (Presentation::Native | Presentation::Reserved | Presentation::Direct { .. }, _) => 0,
        }
    }

    /// The largest page around `gpa`, which is RAM, where that is fixed.
    fn fixed_page(&self, gpa: Gpa) -> Option<Leaf> {
        let start = self.store.hpa(Gpa(0))?.0;
        let aligned = |size: &PageSize| start & (size.bytes() - 1) == 0;
        let size = page_sizes(largest_page(&self.ram, gpa, PageSize::Size1G)).find(aligned).unwrap_or_default();
        Some(Leaf { page: self.store.hpa(gpa.page(size))?, size, bits: LeafStatus::Preset.bits() })
    }

    /// The second stage of its translations, where hardware walks the guest's tables. (Each miss asks for it.)
    #[must_use]
    #[inline(always)]
    pub(super) fn second_stage(&self) -> SecondStage {
        match &self.second {
            Presentation::Native => SecondStage::Constant { ram: self.ram.clone(), offset: 0 },
            Presentation::Table { table, .. } | Presentation::Direct { table, .. } => table.second_stage(),
            Presentation::Reserved => self.reserved_second_stage(),
        }
    }

    /// The second stage of a guest whose memory is reserved: one offset for all of RAM.
    #[inline(never)]
    fn reserved_second_stage(&self) -> SecondStage {
        let start = self.store.hpa(self.ram.start).unwrap_or(Hpa(self.ram.start.0));
        SecondStage::Reserved { ram: self.ram.clone(), offset: start.0.wrapping_sub(self.ram.start.0) }
    }
}

/// What has to be there before a step of the hypervisor's work on a guest can be done. It is provided, and the step starts again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReclaimRequest {
    /// Frames for a table, or for a page.
    Frames(OutOfFrames),
    /// A page of the guest, in RAM.
    Page {
        /// An address in it.
        gpa: Gpa,
        /// What it is for.
        access: Access,
    },
    /// A section's page, outside RAM.
    Section {
        /// An address in it.
        gpa: Gpa,
        /// What it is for.
        access: Access,
    },
}

impl From<OutOfFrames> for ReclaimRequest {
    fn from(frames: OutOfFrames) -> Self {
        Self::Frames(frames)
    }
}

/// A page of the host under a guest physical address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Resolved {
    pub(crate) leaf: Leaf,
    /// Whether it was filled for this.
    pub(crate) fresh: bool,
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
