//! Sections under shadow tables: what a shadow fault asks of them, and the leaf tables that shadow tables share.
//!
//! A shadow leaf table leads from guest virtual to host physical addresses, and a guest chooses the first. Two of them are alike where both guests map the same
//! 2M of a section to 2M of addresses, page by page in order, all with the same rights. Then they are one: the section has a leaf table for those
//! rights, and each shadow table a link to it. The rule, of which `shadow/share.rs` has the guest's part:
//!
//! 1. The window has the section's tables linked into the hypervisor's own table, so that the VM may write, and what is behind the section's end is not mapped.
//! 2. The guest maps all of the 2M: by one page that is at least as large, or by 512 base pages in order; behind the section's end by nothing.
//! 3. All of it is writable, accessed and dirty: no bit of the guest's has to be set later.
//!
//! A shadow table never changes what is below a link (`table/shadow/links.rs`). Whatever invalidates an address there, a fence or a store to the
//! guest's table, takes the link; and when a window leaves a VM, all its shadow tables are cleared.

use super::manager::SectionManager;
use super::request::SectionAccess;
use super::space::{SectionSpace, Window, WindowTables};
use crate::table::LeafBits;
use memory::section::SectionId;
use memory::{Host, OutOfFrames};
use types::{Access, Gpa, Hpa, PageSize, Vmid};

const PAGE: u64 = PageSize::Size4K.bytes();
const SPAN: u64 = PageSize::Size2M.bytes();

/// What there is of a section at an address of a VM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Presence {
    /// Nothing that answers the access.
    Nothing,
    /// A page, which may have to be made valid; and whether it may leave again while the VM maps it.
    Page { leaves: bool },
}

/// A 2M piece of a section whose leaf tables VMs can share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    section: SectionId,
    offset: u64,
    /// Pages of the section in it: 512, but in the last piece.
    pub(crate) pages: u64,
}

impl SectionManager {
    /// Whether a section answers `access` of a VM to `gpa`.
    pub(crate) fn presence(&self, vmid: Vmid, gpa: Gpa, access: Access) -> Presence {
        let window = self.window(vmid, gpa).filter(|window| window.page_at(gpa).is_some());
        let permitted = |window: &&Window| access != Access::Write || window.access == SectionAccess::ReadWrite;
        window.filter(permitted).map_or(Presence::Nothing, |window| Presence::Page { leaves: self.is_pageable(window) })
    }

    /// The piece of a section that is mapped to the 2M at `gpa` of a VM, if leaf tables for it can be shared.
    pub(crate) fn piece(&self, vmid: Vmid, gpa: Gpa) -> Option<Piece> {
        let window = self.window(vmid, gpa)?;
        let WindowTables::Shared { .. } = window.tables else { return None };
        let within = gpa.0 - window.region.start.0;
        let offset = window.first * PAGE + within;
        let aligned = gpa.is_aligned(SPAN) && offset.is_multiple_of(SPAN);
        let end = window.first + window.pages;
        aligned.then(|| Piece { section: window.section, offset, pages: (end - offset / PAGE).min(SPAN / PAGE) })
    }

    /// The leaf table of `piece` for entries of `bits`.
    pub(crate) fn shadow_leaves(
        &mut self,
        host: &mut Host,
        piece: &Piece,
        bits: LeafBits,
    ) -> Result<Option<Hpa>, OutOfFrames> {
        let Some(tables) = self.shared.get_mut(&piece.section) else { return Ok(None) };
        let (table, work) = tables.shadow_leaves(&host.memory, &mut host.frames, piece.offset, bits)?;
        self.work.tables += work;
        Ok(Some(table))
    }

    fn window(&self, vmid: Vmid, gpa: Gpa) -> Option<&Window> {
        self.spaces.get(&vmid).and_then(|space: &SectionSpace| space.window_at(gpa))
    }
}
