//! Mapping a section into a VM, and taking it out.

use super::error::{SectionMapError, SectionUnmapError};
use super::manager::{GuestTables, NoRoom, SectionHost, SectionManager, pieces};
use super::request::{MapRequest, SectionAccess};
use super::space::{Window, WindowTables};
use crate::table::{FlushTlbs, Leaf, LeafBits, MapError, SectionTable, TableWork};
use memory::registry::Scope;
use memory::section::{DeleteError, Section, SectionKind};
use memory::{FrameRange, Host};
use mmu::Fence;
use types::{Gpa, PageSize, Vmid};

const PAGE: u64 = PageSize::Size4K.bytes();

impl SectionManager {
    /// Maps a section. Pages that are preallocated are all valid then; others are when they are touched.
    ///
    /// # Errors
    /// [`SectionMapError`].
    pub fn map(
        &mut self,
        on: &mut SectionHost<'_, impl GuestTables, impl FlushTlbs>,
        request: &MapRequest,
    ) -> Result<Window, SectionMapError> {
        self.work.requests += 1;
        let window = self.admit(request)?;
        if on.tables.table(request.vmid).is_none() {
            return Err(SectionMapError::NoVm(request.vmid));
        }
        let mut before;
        loop {
            before = self.work.tables.tables;
            let placed = self.enter(on, request.vmid, &window);
            let Err(frames) = placed else { break };
            self.leave(on, request.vmid, &window, &mut |_, _| {});
            match self.make_room(on) {
                Ok(true) => {}
                Ok(false) => return Err(no_room(request, NoRoom::Frames(frames))),
                Err(error) => return Err(no_room(request, NoRoom::Backing(error))),
            }
        }
        if self.sections.attach(window.section).is_err() {
            self.leave(on, request.vmid, &window, &mut |_, _| {});
            return Err(SectionMapError::NoSuchSection(request.name.clone()));
        }
        if let Some(space) = self.spaces.get_mut(&request.vmid) {
            space.insert(window.clone());
            space.tables += self.work.tables.tables - before;
        }
        Ok(window)
    }

    /// Takes the map that begins at `at` from a VM. With its last map a temporary section goes.
    ///
    /// # Errors
    /// [`SectionUnmapError`].
    pub fn unmap(
        &mut self,
        on: &mut SectionHost<'_, impl GuestTables, impl FlushTlbs>,
        vmid: Vmid,
        at: Gpa,
    ) -> Result<(), SectionUnmapError> {
        self.work.requests += 1;
        let space = self.spaces.get_mut(&vmid).ok_or(SectionUnmapError::NoVm(vmid))?;
        let window = space.remove(at).ok_or(SectionUnmapError::NotMapped(at))?;
        let pageable = self.is_pageable(&window);
        let mut pages = Vec::new();
        self.leave(on, vmid, &window, &mut |gpa, leaf| {
            if pageable && let Some(page) = window.page_at(gpa) {
                pages.push((gpa, page, leaf.bits.contains(LeafBits::DIRTY)));
            }
        });
        for (gpa, page, modified) in pages {
            self.sections.drop_page(window.section, page, modified);
            if let Some(space) = self.spaces.get_mut(&vmid) {
                space.working_set.remove(gpa);
            }
        }
        let vacated = self.sections.detach(&on.host.memory, window.section).map_err(|error| match error {
            DeleteError::InUse { .. } | DeleteError::Absent(_) => {
                debug_assert!(false, "it had a mapper: {error}");
                SectionUnmapError::NotMapped(at)
            }
            write @ DeleteError::Write { .. } => SectionUnmapError::Delete(write),
        })?;
        self.vacate(on, window.section, vacated);
        Ok(())
    }

    /// Whether the map may be made, and where and how.
    fn admit(&self, request: &MapRequest) -> Result<Window, SectionMapError> {
        let name = || request.name.clone();
        let space = self.spaces.get(&request.vmid).ok_or(SectionMapError::NoVm(request.vmid))?;
        if let Scope::Group(group) = request.name.scope()
            && space.profile.group != Some(group)
        {
            return Err(SectionMapError::OtherGroup { name: name(), group: space.profile.group });
        }
        let id = self.sections.find(&request.name).ok_or_else(|| SectionMapError::NoSuchSection(name()))?;
        let Some(section) = self.sections.get(id) else { return Err(SectionMapError::NoSuchSection(name())) };
        let (first, pages) = (request.first, section.pages());
        let end = request.pages.map_or(pages, |count| first.saturating_add(count));
        if first >= end || end > pages {
            return Err(SectionMapError::Pages { name: name(), first, end, pages });
        }
        if request.access == SectionAccess::ReadWrite && section.kind() == (SectionKind::Pageable { writable: false }) {
            return Err(SectionMapError::ReadOnlyFile(name()));
        }
        space.place(request, id, (first, end), self.shared.get(&id))
    }

    /// Puts a window into a VM's table: links, or preallocated pages; the rest comes by faults. On an error some of it is there.
    fn enter(
        &mut self,
        on: &mut SectionHost<'_, impl GuestTables, impl FlushTlbs>,
        vmid: Vmid,
        window: &Window,
    ) -> Result<(), memory::OutOfFrames> {
        let Some(table) = on.tables.table(vmid) else { return Ok(()) };
        match window.tables {
            WindowTables::Shared { level } => self.link(on.host, table, window, level),
            WindowTables::Private => match self.sections.get(window.section).map(Section::kind) {
                Some(SectionKind::Alloc(frames)) => self.map_all(on.host, table, window, frames),
                Some(SectionKind::Fluid | SectionKind::Pageable { .. }) | None => Ok(()),
            },
        }
    }

    fn link(
        &mut self,
        host: &mut Host,
        table: &mut dyn SectionTable,
        window: &Window,
        level: u32,
    ) -> Result<(), memory::OutOfFrames> {
        let Some(shared) = self.shared.get(&window.section) else { return Ok(()) };
        let (start, span) = (window.first * PAGE, PageSize::of_level(level + 1).bytes());
        for offset in (0..window.pages * PAGE).step_by(span as usize) {
            let Some(linked) = shared.table(level, start + offset) else {
                debug_assert!(false, "a linkable level has a table for every piece");
                continue;
            };
            let at = window.region.start.wrapping_add(offset);
            self.work.tables += out_of_frames(table.link(&host.memory, &mut host.frames, at, level, linked))?;
        }
        Ok(())
    }

    /// Maps preallocated pages in a VM's own tables.
    fn map_all(
        &mut self,
        host: &mut Host,
        table: &mut dyn SectionTable,
        window: &Window,
        frames: FrameRange,
    ) -> Result<(), memory::OutOfFrames> {
        let (at, start) = (window.region.start, window.first * PAGE);
        // A page size is of use where gPA and hPA are equally far behind its boundaries.
        let skew = at.0;
        let hpa = frames.start().wrapping_add(start);
        let sizes: Vec<PageSize> = self
            .sizes_for(frames)
            .into_iter()
            .filter(|&size| at.offset(size) == hpa.offset(size) && table.maps(size))
            .collect();
        for (offset, size) in pieces(window.pages * PAGE, &sizes, skew) {
            let leaf = Leaf { page: hpa.wrapping_add(offset), size, bits: resident_bits(window.access) };
            let gpa = at.wrapping_add(offset);
            self.work.tables +=
                out_of_frames(table.map_at(&host.memory, &mut host.frames, self.sizes.level(size), gpa, leaf))?;
        }
        Ok(())
    }

    /// Takes a window out of a VM's table and every processor's TLBs. `leaves` sees each page that the VM's own tables had.
    fn leave(
        &mut self,
        on: &mut SectionHost<'_, impl GuestTables, impl FlushTlbs>,
        vmid: Vmid,
        window: &Window,
        leaves: &mut dyn FnMut(Gpa, Leaf),
    ) {
        on.tables.forget_window(&on.host.memory, vmid, window);
        let Some(table) = on.tables.table(vmid) else { return };
        let cleared = table.clear(&on.host.memory, &window.region, leaves);
        self.work.tables += cleared.work;
        on.processors.fence(&Fence::Gvma { gpa: None, vmid: Some(vmid) });
        // Walk caches may lead to leaf tables of the section that shadow tables were linked to.
        on.processors.fence(&Fence::Vvma { vmid, gva: None, asid: None });
        self.work.flushes += 1;
        for range in cleared.tables {
            on.host.frames.give_back(range, "a table of a VM that led to a section");
        }
    }

    /// Whether the window's pages are in working sets.
    pub(super) fn is_pageable(&self, window: &Window) -> bool {
        let kind = self.sections.get(window.section).map(Section::kind);
        matches!(kind, Some(SectionKind::Pageable { .. }))
    }
}

/// The entry of a memory-resident page: its status is never read.
pub(super) const fn resident_bits(access: SectionAccess) -> LeafBits {
    match access {
        SectionAccess::ReadWrite => LeafBits::FULL,
        SectionAccess::ReadOnly => LeafBits::READ.with(LeafBits::EXECUTE).with(LeafBits::ACCESSED),
    }
}

/// What can go wrong where a window was admitted.
pub(super) fn out_of_frames(outcome: Result<TableWork, MapError>) -> Result<TableWork, memory::OutOfFrames> {
    match outcome {
        Ok(work) => Ok(work),
        Err(MapError::OutOfFrames(frames)) => Err(frames),
        Err(error) => unreachable!("the region is the window's, and aligned: {error}"),
    }
}

fn no_room(request: &MapRequest, why: NoRoom) -> SectionMapError {
    match why {
        NoRoom::Frames(frames) => SectionMapError::Tables { name: request.name.clone(), frames },
        NoRoom::Backing(error) => SectionMapError::Backing(error),
    }
}
