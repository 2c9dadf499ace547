//! A VM touched a section where its tables have no page.

use super::error::SectionFaultError;
use super::manager::{GuestTables, SectionHost, SectionManager};
use super::map::{out_of_frames, resident_bits};
use super::request::SectionAccess;
use super::space::{Window, WindowTables};
use crate::table::{FlushTlbs, Leaf, LeafBits};
use memory::section::{FaultKind, PageError, SectionId};
use types::{Access, Gpa, PageSize, Vmid};

/// What became of a fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SectionFault {
    /// No section is at the address.
    Elsewhere,
    /// An access fault of the guest.
    Denied(Denial),
    /// The access is to be made again.
    Resolved(Resolution),
}

/// Why a section does not answer an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Denial {
    /// The address is in the window's region, but beyond its last page.
    Beyond,
    /// The window is read-only.
    ReadOnly,
}

/// What made a page accessible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resolution {
    /// A page was made valid.
    Valid(FaultKind),
    /// It was: at most its A or D bit was to be set.
    Present,
}

/// A page that a VM touched.
#[derive(Clone, Copy)]
struct Touch {
    vmid: Vmid,
    /// Its first byte.
    gpa: Gpa,
    access: Access,
    section: SectionId,
    page: u64,
}

impl SectionManager {
    /// The second stage of `vmid` refused an access to `gpa`.
    ///
    /// # Errors
    /// [`SectionFaultError`]: the guest cannot go on.
    pub fn fault(
        &mut self,
        on: &mut SectionHost<'_, impl GuestTables, impl FlushTlbs>,
        vmid: Vmid,
        gpa: Gpa,
        access: Access,
    ) -> Result<SectionFault, SectionFaultError> {
        let space = self.spaces.get(&vmid).ok_or(SectionFaultError::NoVm(vmid))?;
        let Some(window) = space.window_at(gpa).cloned() else { return Ok(SectionFault::Elsewhere) };
        let Some(page) = window.page_at(gpa) else { return Ok(SectionFault::Denied(Denial::Beyond)) };
        if access == Access::Write && window.access == SectionAccess::ReadOnly {
            return Ok(SectionFault::Denied(Denial::ReadOnly));
        }
        let table = on.tables.table(vmid).ok_or(SectionFaultError::NoVm(vmid))?;
        if table.lookup(&on.host.memory, gpa).is_some() {
            table.grant(&on.host.memory, gpa, LeafBits::of_access(access));
            return Ok(SectionFault::Resolved(Resolution::Present));
        }
        let gpa = gpa.page(PageSize::Size4K);
        let touch = Touch { vmid, gpa, access, section: window.section, page };
        let before = self.work.tables.tables;
        loop {
            match self.validate(on, &window, touch) {
                Ok(kind) => {
                    if let Some(space) = self.spaces.get_mut(&vmid) {
                        space.tables += self.work.tables.tables - before;
                        space.faults.count(kind);
                    }
                    self.work.cleared += u64::from(kind == FaultKind::DemandZero);
                    return Ok(SectionFault::Resolved(Resolution::Valid(kind)));
                }
                Err(PageError::OutOfFrames(frames)) => {
                    if !self.make_room(on)? {
                        return Err(self.page_error(touch, PageError::OutOfFrames(frames)));
                    }
                }
                Err(error) => return Err(self.page_error(touch, error)),
            }
        }
    }

    /// Makes one page valid, in the section's tables or in the VM's own.
    fn validate(
        &mut self,
        on: &mut SectionHost<'_, impl GuestTables, impl FlushTlbs>,
        window: &Window,
        touch: Touch,
    ) -> Result<FaultKind, PageError> {
        let Touch { vmid, gpa, section, page, .. } = touch;
        let size = PageSize::Size4K;
        if let WindowTables::Shared { .. } = window.tables {
            let (frame, kind) = self.sections.page(on.host, section, page)?;
            if let Some(shared) = self.shared.get_mut(&section) {
                let leaf = Leaf { page: frame, size, bits: LeafBits::FULL };
                self.work.tables += shared.map(&on.host.memory, 0, page * size.bytes(), leaf);
            }
            return Ok(kind);
        }
        let pageable = self.is_pageable(window);
        if pageable && self.spaces.get(&vmid).is_some_and(|space| space.working_set.is_full()) {
            self.trim(on, vmid);
        }
        let Some(table) = on.tables.table(vmid) else { return Err(PageError::NoSuchPage(page)) };
        // The tables first: were there no frame for one after the page had got its own, the page might have to leave for it again.
        self.work.tables += out_of_frames(table.add_leaf_table(&on.host.memory, &mut on.host.frames, gpa))?;
        let (frame, kind) = self.sections.page(on.host, section, page)?;
        let bits = if pageable { pageable_bits(window.access, touch.access) } else { resident_bits(window.access) };
        let leaf = Leaf { page: frame, size, bits };
        self.work.tables += out_of_frames(table.map_at(&on.host.memory, &mut on.host.frames, 0, gpa, leaf))?;
        if pageable && let Some(space) = self.spaces.get_mut(&vmid) {
            space.working_set.insert(gpa, self.age);
            self.age += 1;
        }
        Ok(kind)
    }

    fn page_error(&self, touch: Touch, error: PageError) -> SectionFaultError {
        match self.sections.get(touch.section) {
            Some(section) => SectionFaultError::Page { name: section.name().clone(), page: touch.page, error },
            None => SectionFaultError::NoVm(touch.vmid),
        }
    }
}

/// The entry of a pageable page: the hardware says when it is used and modified, and the access that faulted finds its bits.
const fn pageable_bits(window: SectionAccess, access: Access) -> LeafBits {
    let rights = match window {
        SectionAccess::ReadWrite => LeafBits::RWX,
        SectionAccess::ReadOnly => LeafBits::READ.with(LeafBits::EXECUTE),
    };
    rights.with(LeafBits::of_access(access))
}
