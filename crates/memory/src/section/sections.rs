//! All sections of a host.

use super::backing::{BackingError, BackingFile};
use super::counts::{FaultCounts, FaultKind, FileCounts};
use super::definition::{Body, Lifetime, Section};
use super::error::{CreateError, DeleteError, NoSuchSection, PageError};
use super::pageable::{Dropped, Pageable};
use super::resident::{Preparation, Resident, merge};
use crate::registry::{ReservedMemory, SectionName};
use crate::{FrameRange, Host, HostMemory};
use std::collections::BTreeMap;
use types::{Hpa, PageSize};

const PAGE: u64 = PageSize::Size4K.bytes();

/// A section of this host, for as long as it lives. Numbers are not used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SectionId(u64);

/// Frames that no section has any more. They are owned still, until the caller frees them.
#[derive(PartialEq, Eq, Debug, Default)]
#[must_use = "frames that are not freed are lost"]
pub struct Vacated {
    /// To be freed.
    pub frames: Vec<FrameRange>,
    /// Back at the registry: not to be freed, but they will hold something else.
    pub reserved: Option<FrameRange>,
}

/// A page of a section.
type PageOf = (SectionId, u64);

/// The sections of a host, and the reserved memory that they live on.
#[derive(Debug)]
pub struct Sections {
    reserved: ReservedMemory,
    sections: BTreeMap<SectionId, Section>,
    next: u64,
    /// Unmodified pages that no VM maps, in the order in which they came to be so.
    free_list: BTreeMap<u64, PageOf>,
    /// Modified ones.
    modified_list: BTreeMap<u64, PageOf>,
    /// The next place in either.
    place: u64,
    /// What sections that are no more have moved from and to their files.
    ended: BTreeMap<SectionId, FileCounts>,
}

impl Sections {
    /// No sections, on a host with this reserved memory.
    #[must_use]
    pub fn new(reserved: ReservedMemory) -> Self {
        Self {
            reserved,
            sections: BTreeMap::new(),
            next: 0,
            free_list: BTreeMap::new(),
            modified_list: BTreeMap::new(),
            place: 0,
            ended: BTreeMap::new(),
        }
    }

    /// The reserved memory.
    #[must_use]
    pub const fn reserved(&self) -> &ReservedMemory {
        &self.reserved
    }

    /// The reserved memory, to free reservations.
    pub const fn reserved_mut(&mut self) -> &mut ReservedMemory {
        &mut self.reserved
    }

    /// The section `id`.
    #[must_use]
    pub fn get(&self, id: SectionId) -> Option<&Section> {
        self.sections.get(&id)
    }

    /// What a section that is no more had moved from and to its file, when its last modified page was written.
    #[must_use]
    pub fn ended(&self, id: SectionId) -> Option<FileCounts> {
        self.ended.get(&id).copied()
    }

    /// All of them, in the order in which they were created.
    pub fn iter(&self) -> impl Iterator<Item = (SectionId, &Section)> {
        self.sections.iter().map(|(&id, section)| (id, section))
    }

    /// The section `name`.
    #[must_use]
    pub fn find(&self, name: &SectionName) -> Option<SectionId> {
        self.sections.iter().find(|(_, section)| section.name == *name).map(|(&id, _)| id)
    }

    /// Creates a memory-resident section of `bytes` bytes of zeroes.
    ///
    /// # Errors
    /// [`CreateError`].
    pub fn create_resident(
        &mut self,
        memory: &HostMemory,
        name: SectionName,
        bytes: u64,
        lifetime: Lifetime,
    ) -> Result<(SectionId, Preparation), CreateError> {
        let pages = self.new_pages(&name, bytes)?;
        let grant = self.reserved.acquire(&name, pages)?;
        let (resident, preparation) = Resident::new(memory, grant, pages);
        Ok((self.insert(name, pages, lifetime, Body::Resident(resident)), preparation))
    }

    /// Creates a pageable section of the first `bytes` bytes of `file`.
    ///
    /// # Errors
    /// [`CreateError`].
    pub fn create_pageable(
        &mut self,
        name: SectionName,
        bytes: u64,
        file: BackingFile,
        lifetime: Lifetime,
    ) -> Result<SectionId, CreateError> {
        let pages = self.new_pages(&name, bytes)?;
        if pages > file.pages() {
            return Err(CreateError::BeyondFile { name, bytes, file: file.pages() * PAGE });
        }
        let other = self.sections.values().find(|section| match &section.body {
            Body::Pageable(other) => other.file.is(&file) && (other.file.is_writable() || file.is_writable()),
            Body::Resident(_) => false,
        });
        if let Some(other) = other {
            return Err(CreateError::FileInUse { name, other: other.name.clone() });
        }
        Ok(self.insert(name, pages, lifetime, Body::Pageable(Pageable::new(file))))
    }

    /// Deletes a section that no VM maps.
    ///
    /// # Errors
    /// [`DeleteError`]: it is still there.
    pub fn delete(&mut self, memory: &HostMemory, id: SectionId) -> Result<Vacated, DeleteError> {
        let section = self.sections.get_mut(&id).ok_or(NoSuchSection)?;
        let name = section.name.clone();
        if section.mappers > 0 {
            return Err(DeleteError::InUse { name, mappers: section.mappers });
        }
        let vacated = match &mut section.body {
            Body::Resident(resident) => {
                let released = self.reserved.release(memory, &resident.grant);
                let mut frames = resident.taken();
                let outcome = released.map(|freed| frames.extend(freed));
                memory.note_failure(outcome, "a section's grant of reserved memory");
                let reserved = resident.contiguous().filter(|contiguous| !frames.contains(contiguous));
                Vacated { frames, reserved }
            }
            Body::Pageable(pageable) => {
                let listed: Vec<_> = pageable.listed().collect();
                for &(page, ..) in &listed {
                    pageable.clean(memory, page).map_err(|error| DeleteError::Write { name: name.clone(), error })?;
                }
                for (_, _, place) in &listed {
                    self.free_list.remove(place);
                    self.modified_list.remove(place);
                }
                Vacated { frames: merge(listed.into_iter().map(|(_, frame, _)| frame)), reserved: None }
            }
        };
        if let Some(section) = self.sections.remove(&id) {
            self.ended.insert(id, section.file_counts());
        }
        Ok(vacated)
    }

    /// One mapper more.
    ///
    /// # Errors
    /// [`NoSuchSection`].
    pub fn attach(&mut self, id: SectionId) -> Result<(), NoSuchSection> {
        self.sections.get_mut(&id).ok_or(NoSuchSection)?.mappers += 1;
        Ok(())
    }

    /// One mapper less: its tables lead to none of the section's pages, no TLB has any, and it has [dropped](Self::drop_page) those of a pageable section. With the last
    /// one a temporary section goes.
    ///
    /// # Errors
    /// [`DeleteError::Write`]: the section has lost its mapper, but is still there, to be deleted again. [`DeleteError::Absent`].
    pub fn detach(&mut self, memory: &HostMemory, id: SectionId) -> Result<Vacated, DeleteError> {
        let section = self.sections.get_mut(&id).ok_or(NoSuchSection)?;
        debug_assert!(section.mappers > 0, "{} is not mapped", section.name);
        section.mappers = section.mappers.saturating_sub(1);
        if section.mappers == 0 && section.lifetime == Lifetime::Temporary {
            self.delete(memory, id)
        } else {
            Ok(Vacated::default())
        }
    }

    /// Makes page number `page` valid for one mapper, and counts the fault. A pageable section's mapper gives it back with
    /// [`drop_page`](Self::drop_page).
    ///
    /// # Errors
    /// [`PageError`]: nothing has changed.
    pub fn page(&mut self, host: &mut Host, id: SectionId, page: u64) -> Result<(Hpa, FaultKind), PageError> {
        let section =
            self.sections.get_mut(&id).filter(|section| page < section.pages).ok_or(PageError::NoSuchPage(page))?;
        let (frame, kind) = match &mut section.body {
            Body::Resident(resident) => resident.page(host, page)?,
            Body::Pageable(pageable) => {
                let (frame, kind, place) = pageable.share(host, page)?;
                if let Some(place) = place {
                    self.free_list.remove(&place);
                    self.modified_list.remove(&place);
                }
                (frame, kind)
            }
        };
        section.faults.count(kind);
        Ok((frame, kind))
    }

    /// A mapper of a pageable section has page number `page` no more: it is in none of its tables and TLBs. It has `modified` it or not.
    pub fn drop_page(&mut self, id: SectionId, page: u64, modified: bool) {
        let Some(Section { body: Body::Pageable(pageable), .. }) = self.sections.get_mut(&id) else { return };
        match pageable.unshare(page, modified, self.place) {
            Dropped::Shared => {}
            Dropped::Unshared { modified } => {
                let list = if modified { &mut self.modified_list } else { &mut self.free_list };
                list.insert(self.place, (id, page));
                self.place += 1;
            }
        }
    }

    /// Takes one page that no VM maps out of memory: the oldest of the free list or else, once it is written, of the modified list. `None`
    /// if there is no such page.
    ///
    /// # Errors
    /// [`BackingError`]: the page cannot be written, and stays.
    pub fn reclaim(&mut self, memory: &HostMemory) -> Result<Option<Vacated>, BackingError> {
        let oldest = self.free_list.first_key_value().or_else(|| self.modified_list.first_key_value());
        let Some((&place, &(id, page))) = oldest else { return Ok(None) };
        let Some(Section { body: Body::Pageable(pageable), .. }) = self.sections.get_mut(&id) else { return Ok(None) };
        let frame = pageable.evict(memory, page)?;
        self.free_list.remove(&place);
        self.modified_list.remove(&place);
        Ok(frame.map(|frame| Vacated { frames: merge(core::iter::once(frame)), reserved: None }))
    }

    fn new_pages(&self, name: &SectionName, bytes: u64) -> Result<u64, CreateError> {
        if bytes == 0 || !bytes.is_multiple_of(PAGE) || bytes >= 1 << 58 {
            return Err(CreateError::Size { name: name.clone(), bytes });
        }
        match self.find(name) {
            Some(_) => Err(CreateError::Exists(name.clone())),
            None => Ok(bytes / PAGE),
        }
    }

    fn insert(&mut self, name: SectionName, pages: u64, lifetime: Lifetime, body: Body) -> SectionId {
        let id = SectionId(self.next);
        self.next += 1;
        let section = Section { name, pages, lifetime, mappers: 0, faults: FaultCounts::default(), body };
        self.sections.insert(id, section);
        id
    }
}

#[cfg(test)]
mod tests;
