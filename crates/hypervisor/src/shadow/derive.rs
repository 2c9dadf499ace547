//! The shadow entries of an address space, derived from the guest's own table at once: for a guest that goes on with a snapshot. Each is
//! made by the fault that would have made it, so it is what a guest that ran here all the time has.
//!
//! An entry is derived for each valid leaf of the guest's table with A set, at the size that the fault gives it, where the page has a frame.
//! It permits stores where D is set, too. A leaf of the guest that is larger than the hypervisor's pages becomes an entry for each of these
//! that has a frame. Nothing gets a frame for it, and no other table is taken away.

use super::tables::BARE;
use super::{Exited, Shadow, ShadowStatistics, Tables, Tlbs};
use crate::guest_view::GuestLeaf;
use crate::vm::Vm;
use memory::Host;
use types::{Access, Gpa, Gva, PageSize, Privilege};

impl Vm {
    /// How many address spaces have a shadow table at the same time, beside those that harts are in; 0 of a guest without shadow tables.
    #[must_use]
    pub fn shadow_spaces(&self) -> usize {
        self.shadow.as_ref().map_or(0, |shadow| match shadow.config.tables {
            Tables::Multiple(count) => count.saturating_sub(shadow.config.harts),
            Tables::Single => 0,
        })
    }

    /// Makes the shadow entries of the address space that hart `hart` is in.
    pub fn derive_shadow(&mut self, host: &mut Host, tlbs: &mut impl Tlbs, hart: usize) {
        self.with_shadow(|shadow, vm| shadow.derive(&mut Exited { vm, host, tlbs, hart, sections: None }));
    }

    /// Forgets what was counted of the guest's shadow tables.
    pub fn forget_shadow_counts(&mut self) {
        if let Some(shadow) = &mut self.shadow {
            shadow.statistics = ShadowStatistics::default();
        }
    }
}

/// Entries that are tried for each page of the guest's RAM, in one address space. The guest's tables may map the same page any number of times.
const TRIES_PER_PAGE: u64 = 4;

/// A piece of an address space that one leaf of the guest's table maps.
struct Piece {
    gva: Gva,
    gpa: Gpa,
    bytes: u64,
    access: Access,
}

impl Shadow {
    fn derive(&mut self, exited: &mut Exited<'_, impl Tlbs>) {
        if self.agile.is_some() {
            // Which tables are nested is not known of a snapshot: address spaces begin as new ones do.
            return;
        }
        let (hart, ram) = (exited.hart, exited.vm.ram());
        let context = self.harts[hart].context;
        let mut tries = (ram.end.0 - ram.start.0) / PageSize::Size4K.bytes() * TRIES_PER_PAGE;
        if self.harts[hart].table == BARE {
            let bytes = ram.end.0 - ram.start.0;
            let all = Piece { gva: Gva(ram.start.0), gpa: ram.start, bytes, access: Access::Read };
            self.derive_piece(exited, &all, &mut tries);
            return;
        }
        let leaves = exited.vm.guest_leaves(&exited.host.memory, context.mode, context.root);
        for leaf in leaves.iter().filter(|leaf| leaf.is_accessed()) {
            // The faulting process may use the page.
            self.harts[hart].context.privilege = if leaf.is_user() { Privilege::User } else { Privilege::Supervisor };
            let GuestLeaf { gva, gpa, size, .. } = *leaf;
            self.derive_piece(exited, &Piece { gva, gpa, bytes: size.bytes(), access: leaf.access() }, &mut tries);
        }
        self.harts[hart].context = context;
    }

    fn derive_piece(&mut self, exited: &mut Exited<'_, impl Tlbs>, piece: &Piece, tries: &mut u64) {
        // A leaf may begin below RAM, where devices are; sections, behind it, are faulted in one by one.
        let ram = exited.vm.ram();
        let mut offset = ram.start.0.saturating_sub(piece.gpa.0);
        while offset < piece.bytes && *tries > 0 && self.has_room() {
            *tries -= 1;
            let gpa = piece.gpa.wrapping_add(offset);
            if gpa >= ram.end {
                return;
            }
            let Some(frame) = exited.vm.mapped(&exited.host.memory, gpa) else {
                offset += PageSize::Size4K.bytes();
                continue;
            };
            // An access that needs more, as a table that has no frame, is left out until the guest comes here.
            let _ = self.fault(exited, piece.gva.wrapping_add(offset), piece.access);
            offset += frame.size.bytes() - gpa.offset(frame.size);
        }
    }
}
