//! All sections of a host with all VMs that may map them: creation, deletion, and the VMs' coming and going.

use super::error::{SectionCreateError, SectionUnmapError};
use super::request::VmProfile;
use super::space::{SectionSpace, Window};
use super::work::SectionWork;
use crate::table::{FlushTlbs, Leaf, LeafBits, NestedTable, SectionTable, SharedTables};
use memory::registry::{Granularities, ReservedMemory, SectionName, TableGrant};
use memory::section::{
    BackingFile, DeleteError, FaultCounts, Lifetime, NoSuchSection, Preparation, SectionId, SectionKind, Sections,
    Vacated,
};
use memory::{FrameRange, Host, HostMemory, OutOfFrames};
use std::collections::BTreeMap;
use types::{Gpa, PageSize, Vmid};

const PAGE: u64 = PageSize::Size4K.bytes();

/// The tables of the VMs.
pub trait GuestTables {
    /// That from guest physical to host physical addresses of the VM `vmid`, if it has one.
    fn table(&mut self, vmid: Vmid) -> Option<&mut dyn SectionTable>;

    /// The base page at `gpa` is `leaf` no more: what else the hypervisor has derived from that goes. The TLBs are the caller's.
    fn forget_page(&mut self, memory: &HostMemory, vmid: Vmid, gpa: Gpa, leaf: &Leaf);

    /// No base page of `window` is mapped any more: everything else that the hypervisor has derived from them goes. The caller fences the TLBs.
    fn forget_window(&mut self, memory: &HostMemory, vmid: Vmid, window: &Window);
}

/// VMs of tables alone: nothing is derived from those.
impl GuestTables for BTreeMap<Vmid, NestedTable> {
    fn table(&mut self, vmid: Vmid) -> Option<&mut dyn SectionTable> {
        self.get_mut(&vmid).map(|table| table as &mut dyn SectionTable)
    }

    fn forget_page(&mut self, _: &HostMemory, _: Vmid, _: Gpa, _: &Leaf) {}

    fn forget_window(&mut self, _: &HostMemory, _: Vmid, _: &Window) {}
}

/// What sections are on, borrowed for the length of one event.
#[derive(Debug)]
pub struct SectionHost<'h, T, P> {
    /// Memory and frames.
    pub host: &'h mut Host,
    /// Every VM's tables.
    pub tables: &'h mut T,
    /// Every pCPU.
    pub processors: &'h mut P,
}

/// The sections of a host in all its VMs.
#[derive(Debug)]
pub struct SectionManager {
    pub(super) sections: Sections,
    pub(super) spaces: BTreeMap<Vmid, SectionSpace>,
    /// Tables of those sections that have their own.
    pub(super) shared: BTreeMap<SectionId, SharedTables>,
    /// Page sizes that contiguous pages are mapped by.
    pub(super) sizes: Granularities,
    pub(super) work: SectionWork,
    /// When the next page comes into a working set.
    pub(super) age: u64,
}

impl SectionManager {
    /// No sections, on a host with this reserved memory, whose second stage knows pages of `sizes`: its MMU must have the groups among them.
    #[must_use]
    pub fn new(reserved: ReservedMemory, sizes: Granularities) -> Self {
        Self {
            sections: Sections::new(reserved),
            spaces: BTreeMap::new(),
            shared: BTreeMap::new(),
            sizes,
            work: SectionWork::default(),
            age: 0,
        }
    }

    /// The sections.
    #[must_use]
    pub const fn sections(&self) -> &Sections {
        &self.sections
    }

    /// The reserved memory, to free reservations.
    pub const fn reserved_mut(&mut self) -> &mut ReservedMemory {
        self.sections.reserved_mut()
    }

    /// The tables of a section, if it has its own.
    #[must_use]
    pub fn shared_tables(&self, id: SectionId) -> Option<&SharedTables> {
        self.shared.get(&id)
    }

    /// The hypervisor's work since this was asked last.
    pub fn take_work(&mut self) -> SectionWork {
        core::mem::take(&mut self.work)
    }

    /// What a VM maps, by address.
    pub fn windows(&self, vmid: Vmid) -> impl Iterator<Item = &Window> {
        self.spaces.get(&vmid).into_iter().flat_map(SectionSpace::windows)
    }

    /// A VM's faults on sections.
    #[must_use]
    pub fn faults(&self, vmid: Vmid) -> FaultCounts {
        self.spaces.get(&vmid).map_or(FaultCounts::default(), |space| space.faults)
    }

    /// Pages in a VM's working set: those of pageable sections that it maps.
    #[must_use]
    pub fn working_set(&self, vmid: Vmid) -> u64 {
        self.spaces.get(&vmid).map_or(0, |space| space.working_set.len())
    }

    /// Bytes of tables that a VM has for itself because of sections: those that map them, and those that lead to links. Once a window is unmapped beside others, what
    /// there was at the most.
    #[must_use]
    pub fn private_table_bytes(&self, vmid: Vmid) -> u64 {
        self.spaces.get(&vmid).map_or(0, |space| space.tables * PAGE)
    }

    /// A VM may map sections from now on. One of the same identifier must have been [removed](Self::remove_vm).
    pub fn add_vm(&mut self, profile: VmProfile) {
        let before = self.spaces.insert(profile.vmid, SectionSpace::new(profile));
        debug_assert!(before.is_none_or(|space| space.windows().next().is_none()), "its windows are lost");
    }

    /// A VM ends: all its maps go. Its nested table can be freed then.
    ///
    /// # Errors
    /// The first [`SectionUnmapError`]; the maps are all gone nevertheless.
    pub fn remove_vm(
        &mut self,
        on: &mut SectionHost<'_, impl GuestTables, impl FlushTlbs>,
        vmid: Vmid,
    ) -> Result<(), SectionUnmapError> {
        let starts: Vec<_> = self.windows(vmid).map(|window| window.region.start).collect();
        let outcome = starts.into_iter().map(|at| self.unmap(on, vmid, at)).fold(Ok(()), Result::and);
        self.spaces.remove(&vmid).map(|_| outcome).unwrap_or(Err(SectionUnmapError::NoVm(vmid)))
    }

    /// Creates a memory-resident section of `bytes` zeroes. The registry says where they lie, and whether tables are shared.
    ///
    /// # Errors
    /// [`SectionCreateError`].
    pub fn create_resident(
        &mut self,
        on: &mut SectionHost<'_, impl GuestTables, impl FlushTlbs>,
        name: &SectionName,
        bytes: u64,
        lifetime: Lifetime,
    ) -> Result<SectionId, SectionCreateError> {
        self.work.requests += 1;
        let (id, preparation) = self.sections.create_resident(&on.host.memory, name.clone(), bytes, lifetime)?;
        if let Preparation::Alloc { cleared } = preparation {
            self.work.cleared += cleared;
        }
        let made = self.share(on, id, bytes);
        if let Err(error) = made {
            let deleted = self.sections.delete(&on.host.memory, id);
            debug_assert!(matches!(deleted, Ok(Vacated { ref frames, .. }) if frames.is_empty()), "no VM has used it");
            return Err(match error {
                NoRoom::Frames(frames) => SectionCreateError::Tables { name: name.clone(), frames },
                NoRoom::Backing(error) => SectionCreateError::Backing(error),
            });
        }
        Ok(id)
    }

    /// Creates a pageable section of the first `bytes` bytes of a file.
    ///
    /// # Errors
    /// [`SectionCreateError::Section`].
    pub fn create_pageable(
        &mut self,
        name: &SectionName,
        bytes: u64,
        file: BackingFile,
        lifetime: Lifetime,
    ) -> Result<SectionId, SectionCreateError> {
        self.work.requests += 1;
        Ok(self.sections.create_pageable(name.clone(), bytes, file, lifetime)?)
    }

    /// Deletes a section that no VM maps.
    ///
    /// # Errors
    /// [`DeleteError`].
    pub fn delete(
        &mut self,
        on: &mut SectionHost<'_, impl GuestTables, impl FlushTlbs>,
        name: &SectionName,
    ) -> Result<(), DeleteError> {
        self.work.requests += 1;
        let id = self.sections.find(name).ok_or(NoSuchSection)?;
        let vacated = self.sections.delete(&on.host.memory, id)?;
        self.vacate(on, id, vacated);
        Ok(())
    }

    /// What is left of a section after it lost its last mapper, or of a page after it lost its last one: frames to be freed, and of a section that is no more its tables.
    pub(super) fn vacate(
        &mut self,
        on: &mut SectionHost<'_, impl GuestTables, impl FlushTlbs>,
        id: SectionId,
        vacated: Vacated,
    ) {
        free(on.host, on.processors, vacated);
        if self.sections.get(id).is_none()
            && let Some(tables) = self.shared.remove(&id)
        {
            tables.free(&mut on.host.frames);
        }
    }

    /// The page sizes that contiguous `frames` can be mapped by, the largest first.
    pub(super) fn sizes_for(&self, frames: FrameRange) -> Vec<PageSize> {
        self.sizes.within(frames.bytes()).filter(|size| frames.start().is_aligned(size.bytes())).collect()
    }

    /// Makes the tables of a new section, if it is to have its own, and maps what is valid of it.
    fn share(
        &mut self,
        on: &mut SectionHost<'_, impl GuestTables, impl FlushTlbs>,
        id: SectionId,
        bytes: u64,
    ) -> Result<(), NoRoom> {
        let Some(section) = self.sections.get(id) else { return Ok(()) };
        let Some(TableGrant::Shared { frames: reserved, .. }) = section.grant().map(|grant| grant.tables) else {
            return Ok(());
        };
        let contiguous = match section.kind() {
            SectionKind::Alloc(frames) => Some(frames),
            SectionKind::Fluid | SectionKind::Pageable { .. } => None,
        };
        let sizes = contiguous.map_or_else(Vec::new, |frames| self.sizes_for(frames));
        let superpage = |size: &&PageSize| self.sizes.level(**size) > 0;
        let largest = sizes.iter().find(superpage).copied().unwrap_or_default();
        let mut tables = loop {
            match SharedTables::new(&on.host.memory, &mut on.host.frames, bytes, largest, reserved) {
                Ok(tables) => break tables,
                Err(frames) => {
                    if !self.make_room(on).map_err(NoRoom::Backing)? {
                        return Err(NoRoom::Frames(frames));
                    }
                }
            }
        };
        self.work.tables += tables.work();
        if let Some(frames) = contiguous {
            for (offset, size) in pieces(bytes, &sizes, 0) {
                let leaf = Leaf { page: frames.start().wrapping_add(offset), size, bits: LeafBits::FULL };
                self.work.tables += tables.map(&on.host.memory, self.sizes.level(size), offset, leaf);
            }
        }
        self.shared.insert(id, tables);
        Ok(())
    }
}

/// Why there are no frames for tables.
pub(super) enum NoRoom {
    Frames(OutOfFrames),
    Backing(memory::section::BackingError),
}

/// Frees frames that no section has any more, and no table.
pub(super) fn free(host: &mut Host, processors: &mut impl FlushTlbs, vacated: Vacated) {
    for range in vacated.frames {
        processors.forget_code(range);
        host.frames.give_back(range, "frames of a section");
    }
    if let Some(range) = vacated.reserved {
        processors.forget_code(range);
    }
}

/// Cuts `bytes` bytes into pages of `sizes`, the largest first, each on a boundary of its size; the first byte is `skew` bytes behind one of them all. Base pages
/// take what is left.
pub(super) fn pieces(bytes: u64, sizes: &[PageSize], skew: u64) -> impl Iterator<Item = (u64, PageSize)> + '_ {
    let mut offset = 0;
    core::iter::from_fn(move || {
        let rest = bytes - offset;
        let fits = |size: &PageSize| (skew + offset).is_multiple_of(size.bytes()) && size.bytes() <= rest;
        let size = sizes.iter().copied().find(fits).unwrap_or_default();
        let piece = (rest >= PAGE).then_some((offset, size));
        offset += size.bytes().min(rest);
        piece
    })
}
