use super::*;
use crate::testing::{NoProcessors, supply};
use crate::vm::Vm;
use crate::vm::{Backing, LeafStatus};
use devices::map::RAM_BASE;
use memory::{Host, HostPages};
use types::{SecondStageMode, Vmid};

const RAM: u64 = 8 << 20;
const LEAF: u64 = V | R | A | U;

const fn ram(offset: u64) -> Gpa {
    Gpa(RAM_BASE.0 + offset)
}

const fn pte(page: Gpa, bits: u64) -> u64 {
    page.0 >> 12 << 10 | bits
}

struct Guest {
    host: Host,
    vm: Vm,
}

impl Guest {
    fn new() -> Self {
        let backing = Backing::nested(SecondStageMode::Sv39x4, PageSize::Size4K, LeafStatus::Preset);
        let mut host = Host::new(2 * Vm::host_bytes(RAM, backing), HostPages::Base).unwrap();
        let vm = Vm::new(&mut host, Vmid(1), RAM, backing).unwrap();
        Self { host, vm }
    }

    /// Writes an entry, for which the table's page gets a frame.
    fn write(&mut self, at: Gpa, entry: u64) {
        supply(&mut self.host, &mut self.vm, None, NoProcessors).nested_fault(0, at, Access::Write).unwrap();
        let leaf = self.vm.mapped(&self.host.memory, at).unwrap();
        self.host.memory.write(Hpa(leaf.page.0 | at.offset(leaf.size)), entry).unwrap();
    }

    fn leaves(&self, mode: PagingMode) -> Vec<GuestLeaf> {
        self.vm.guest_leaves(&self.host.memory, mode, ram(0))
    }
}

#[test]
fn every_leaf_is_found_with_the_address_that_it_translates() {
    let mut guest = Guest::new();
    assert_eq!(guest.leaves(PagingMode::Sv39), [], "no table has a frame");
    // The topmost gigabyte, and a table for the second; of its tables the second one lies where nothing has a frame.
    guest.write(ram(511 * 8), pte(ram(0), LEAF & !U));
    guest.write(ram(8), pte(ram(0x1000), V));
    guest.write(ram(0x1000), pte(ram(0x2000), V));
    guest.write(ram(0x1008), pte(ram(0x3000), V));
    guest.write(ram(0x1010), pte(ram(0x20_0000), LEAF & !A));
    guest.write(ram(0x2000 + 3 * 8), pte(ram(0x5000), V | X | A));
    guest.write(ram(0x2000 + 19 * 8), pte(Gpa(RAM_BASE.0 + 0x1_8000), LEAF | N));
    guest.write(ram(0x2000 + 4 * 8), pte(ram(0x6000), LEAF & !V));
    let found: Vec<_> = guest.leaves(PagingMode::Sv39).iter().map(|leaf| (leaf.gva.0, leaf.gpa.0, leaf.size)).collect();
    let second = 1 << 30;
    let expected = [
        (second + 0x3000, ram(0x5000).0, PageSize::Size4K),
        (second + 0x1_3000, ram(0x1_3000).0, PageSize::Size4K),
        (second + 0x40_0000, ram(0x20_0000).0, PageSize::Size2M),
        (0xffff_ffff_c000_0000, ram(0).0, PageSize::Size1G),
    ];
    assert_eq!(found, expected);
    let leaves = guest.leaves(PagingMode::Sv39);
    let accessed: Vec<_> = leaves.iter().map(GuestLeaf::is_accessed).collect();
    assert_eq!(accessed, [true, true, false, true]);
    assert_eq!((leaves[0].access(), leaves[0].is_user()), (Access::Execute, false));
    assert_eq!((leaves[1].access(), leaves[1].is_user()), (Access::Read, true));
    assert_eq!(guest.leaves(PagingMode::Bare), []);
}

/// A table that each of its entries leads to has 512^5 leaves.
#[test]
fn a_circular_table_ends() {
    let mut guest = Guest::new();
    for index in 0..511 {
        guest.write(ram(index * 8), pte(ram(0), V));
    }
    guest.write(ram(511 * 8), pte(ram(0), LEAF));
    let pages = (RAM / 4096) as usize;
    for mode in [PagingMode::Sv39, PagingMode::Sv57] {
        let found = guest.leaves(mode).len();
        assert!((1..=pages * LEAVES_PER_PAGE).contains(&found), "{found}");
    }
}

#[test]
fn a_look_changes_nothing() {
    let mut guest = Guest::new();
    guest.write(ram(0), pte(ram(0x1000), V));
    guest.write(ram(0x1000), pte(ram(0x2000), V));
    guest.write(ram(0x2000), pte(ram(0x5000), LEAF & !A));
    guest.write(ram(0x2008), pte(ram(0x6000), LEAF));
    guest.write(ram(0x1008), pte(ram(0x3000), V));
    let context = TranslationContext {
        mode: PagingMode::Sv39,
        root: ram(0),
        privilege: types::Privilege::User,
        ..TranslationContext::default()
    };
    let look = |gva| guest.vm.peek_guest(&guest.host.memory, &context, Gva(gva), Access::Read);
    assert!(look(0).is_err(), "A is clear");
    assert_eq!(look(0x1000).unwrap().page, ram(0x6000));
    assert!(look(0x20_0000).is_err(), "its table has no frame");
    assert!(
        !guest.vm.has_frame(&guest.host.memory, ram(0x6000)) && !guest.vm.has_frame(&guest.host.memory, ram(0x3000))
    );
}
