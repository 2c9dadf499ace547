//! The hypervisor of an agile virtual machine, as far as the harness needs one: roots, and what is done where a shadow table refuses.

use super::builder::{self, Shape};
use super::harness::{GUEST_TABLES, HOST_TABLES, Harness, size_for};
use super::ops::{Place, TABLES};
use mmu::{Groups, SWITCHING, SecondStage, ShadowRoot};
use reference::Stage2;
use testing::Random;
use types::{Access, Gva, Hpa};

impl Harness {
    /// Another address space runs: it has a shadow table, or begins at the guest's root, in either of two ways.
    pub(super) fn set_shadow_root(&mut self) {
        let mut rng = Random::new(self.clock);
        let shadow = match rng.below(8) {
            0 => ShadowRoot::NONE,
            1 => ShadowRoot::guest_table(Hpa(self.context.root.0 + self.vms[self.vm].offset)),
            _ => ShadowRoot::shadow_table(Hpa(self.shadow_root())),
        };
        let vm = &mut self.vms[self.vm];
        if let (SecondStage::Agile { shadow: register, .. }, Stage2::Agile { shadow: model, .. }) =
            (&mut vm.second, &mut vm.stage)
        {
            (*register, *model) = (shadow, shadow.bits());
        }
    }

    /// The shadow table of the current root of the guest.
    fn shadow_root(&self) -> u64 {
        // Behind all other tables.
        let number = (self.context.root.0 - GUEST_TABLES) / 0x1000 % 4;
        HOST_TABLES + self.vms[self.vm].offset + (u64::from(TABLES) + number) * 0x1000
    }

    /// A shadow table refuses: it gets a page, or a switching entry.
    pub(super) fn map_shadow(&mut self, gva: Gva, access: Access, rng: &mut Random) {
        let levels = self.context.mode.levels();
        if levels == 0 {
            return;
        }
        let leaf = if rng.one_in(2) {
            let flags = self.leaf_flags(rng, access);
            let groups = Groups::of_svnapot(self.mmu.config().svnapot);
            let size = size_for(rng, gva.0, levels, groups);
            let target = self.gpa(Place { wild: None, ..Place::random(rng) });
            builder::leaf(self.host_page(target, size).0, size, flags)
        } else {
            let level = 1 + rng.below(u64::from(levels) - 1) as u32;
            (level, builder::pte(self.guest_table(gva, level - 1), SWITCHING))
        };
        let tables = HOST_TABLES + self.vms[self.vm].offset;
        let shape = Shape { levels, wide_root: false };
        self.map(shape, 0, (tables, self.shadow_root()), gva.0, leaf);
    }

    /// Where in the host the guest's table of `level` for an address is, or some other table of the guest.
    fn guest_table(&self, gva: Gva, level: u32) -> u64 {
        let (levels, offset) = (self.context.mode.levels(), self.vms[self.vm].offset);
        let shape = Shape { levels, wide_root: false };
        let root = self.context.root.0 + offset;
        (level + 1..levels).rev().fold(root, |table, level| {
            let pointer = self.memory.peek(builder::slot(shape, table, level, gva.0));
            (((pointer >> 10) % (1 << 44)) << 12).wrapping_add(offset) % (1 << 56)
        })
    }
}
