//! Guests that mean no good, or do not know what they do.

use super::fixture::{Choice, DATA, End, Fixture, V, pte, ram};
use crate::shadow::{Coherence, Tables};
use types::{Access, Gpa, Gva, PagingMode};

const ROOT: Gpa = ram(1 << 20);

fn choices() -> Vec<Choice> {
    let mut choices = Vec::new();
    for tables in [Tables::Single, Tables::Multiple(2)] {
        for coherence in [Coherence::Fence, Coherence::WriteProtect] {
            choices.push(Choice { tables, coherence, ..Choice::default() });
        }
    }
    choices
}

#[test]
fn a_root_outside_memory_is_an_access_fault() {
    for choice in choices() {
        let mut fixture = Fixture::new(&choice);
        for root in [Gpa(0), Gpa(0x1000_0000), ram(super::fixture::RAM), Gpa((1 << 56) - 4096)] {
            fixture.switch(0, root, 1);
            for access in [Access::Read, Access::Write, Access::Execute] {
                assert_eq!(fixture.access(0, Gva(0x1000), access), End::AccessFault, "{root}");
            }
        }
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

#[test]
fn circular_tables_end_in_a_fault_or_map_themselves() {
    for choice in choices() {
        let mut fixture = Fixture::new(&choice);
        // Every entry of the root leads to the root.
        for index in 0..512 {
            fixture.store(Gpa(ROOT.0 + index * 8), pte(ROOT, V));
        }
        fixture.switch(0, ROOT, 1);
        assert_eq!(fixture.access(0, Gva(0), Access::Read), End::PageFault, "the last level is a pointer");
        // The first entry is a leaf as well: of a superpage that is not aligned, and at the last level of the root itself.
        fixture.store(ROOT, pte(ROOT, DATA));
        fixture.fence(0, None, None);
        assert_eq!(fixture.access(0, Gva(0), Access::Read), End::PageFault);
        let window = Gva(1 << 30 | 1 << 21);
        let root = fixture.hpa(ROOT).unwrap();
        assert_eq!(fixture.access(0, window, Access::Read), End::Memory(root));
        // The guest takes the window away through the window.
        let End::Memory(at) = fixture.access(0, window, Access::Write) else { panic!("it is writable") };
        fixture.host.memory.write(at, 0_u64).unwrap();
        fixture.fence(0, None, None);
        assert_eq!(fixture.access(0, window, Access::Read), End::PageFault);
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

#[test]
fn a_table_page_that_is_freed_and_used_for_something_else_translates_nothing() {
    for choice in choices() {
        let mut fixture = Fixture::new(&choice);
        fixture.space(ROOT);
        let (gva, table) = (Gva(0x3000), Gpa(ROOT.0 + 2 * 4096));
        fixture.map(ROOT, gva, ram(30 << 20), DATA);
        fixture.switch(0, ROOT, 1);
        assert_eq!(fixture.access(0, gva, Access::Write), End::Memory(fixture.hpa(ram(30 << 20)).unwrap()));
        // Unlinked and fenced, it is a page of data: what is stored there maps nothing.
        fixture.store(Gpa(ROOT.0 + 4096), 0);
        fixture.fence(0, None, None);
        for index in 0..512 {
            fixture.store(Gpa(table.0 + index * 8), pte(ram(31 << 20), DATA));
        }
        assert_eq!(fixture.access(0, gva, Access::Read), End::PageFault);
        // Linked elsewhere, it translates there.
        fixture.store(Gpa(ROOT.0 + 4096 + 3 * 8), pte(table, V));
        fixture.fence(0, None, None);
        let there = Gva(3 << 21 | 0x3000);
        assert_eq!(fixture.access(0, there, Access::Read), End::Memory(fixture.hpa(ram(31 << 20)).unwrap()));
        assert_eq!(fixture.access(0, gva, Access::Read), End::PageFault);
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

#[test]
fn addresses_everywhere_do_not_exhaust_the_host() {
    // A table page for each address would be 64 MiB of them.
    for choice in choices() {
        let mut fixture = Fixture::new(&choice);
        let page = ram(0x10_0000 * 4);
        for index in 0..512 {
            fixture.store(Gpa(ROOT.0 + index * 8), pte(Gpa(ROOT.0 + 4096), V));
            fixture.store(Gpa(ROOT.0 + 4096 + index * 8), pte(Gpa(ROOT.0 + 8192), V));
        }
        fixture.store(Gpa(ROOT.0 + 8192), pte(page, DATA));
        fixture.switch(0, ROOT, 1);
        let mut context = fixture.contexts[0];
        context.mode = PagingMode::Sv39;
        fixture.enter(0, context);
        let before = fixture.host.frames.owned_bytes();
        for number in 0..20_000_u64 {
            let address = ((number * 7919) % (1 << 17)) << 21;
            let end = fixture.access(0, Gva(address), Access::Read);
            assert_eq!(end, End::Memory(fixture.hpa(page).unwrap()), "{address:#x}");
        }
        let tables = fixture.host.frames.owned_bytes() - before;
        assert!(tables < 16 << 20, "{tables} bytes of tables");
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

#[test]
fn a_guest_may_use_every_mode_and_every_asid() {
    for choice in choices() {
        let mut fixture = Fixture::new(&choice);
        // A page that is a table of every level: its first entry leads to itself, its second maps a page.
        fixture.store(ROOT, pte(ROOT, V));
        fixture.store(Gpa(ROOT.0 + 8), pte(ram(30 << 20), DATA));
        let page = fixture.access(fixture.bare(), Gva(ram(30 << 20).0), Access::Read);
        for asid in (0..=0xffff).step_by(257) {
            for mode in [PagingMode::Sv39, PagingMode::Sv57, PagingMode::Sv48, PagingMode::Bare] {
                fixture.switch(0, ROOT, asid);
                let context = types::TranslationContext { mode, ..fixture.contexts[0] };
                fixture.enter(0, context);
                let expected = if mode == PagingMode::Bare { End::AccessFault } else { page };
                assert_eq!(fixture.access(0, Gva(0x1000), Access::Read), expected, "{mode:?} {asid}");
            }
        }
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

/// Regression: the walk cache still led to the other space's shadow table, where no entry was ever made, and the fault came for ever.
#[test]
fn two_address_spaces_with_one_asid_do_not_hang_the_hypervisor() {
    for choice in choices() {
        let mut fixture = Fixture::new(&Choice { tables: Tables::Multiple(3), ..choice });
        let other = ram(2 << 20);
        let own = [(ROOT, Gva(0x3000), ram(30 << 20)), (other, Gva(0x4000), ram(31 << 20))];
        for (root, gva, page) in own {
            fixture.space(root);
            fixture.map(root, gva, page, DATA);
        }
        for (root, gva, page) in [own[0], own[1], own[0], own[1]] {
            fixture.switch(0, root, 1);
            assert_eq!(fixture.access(0, gva, Access::Read), End::Memory(fixture.hpa(page).unwrap()));
        }
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

/// Frames of tables that were given back become tables of another space, or pages of the guest, which writes whatever it likes.
#[test]
fn a_freed_table_translates_nothing() {
    for choice in choices() {
        let mut fixture = Fixture::new(&Choice { harts: 2, tables: Tables::Multiple(2), ..choice });
        let roots = [ROOT, ram(2 << 20), ram(3 << 20)];
        for (number, root) in roots.into_iter().enumerate() {
            fixture.space(root);
            fixture.map(root, Gva(0x3000), ram((30 << 20) + number as u64 * 4096), DATA);
        }
        // Every page is there, so that the frames are for tables.
        for page in [30 << 20, (30 << 20) + 4096, (30 << 20) + 8192, 32 << 20] {
            fixture.access(fixture.bare(), Gva(ram(page).0), Access::Write);
        }
        for (number, root) in roots.into_iter().enumerate() {
            fixture.switch(0, root, number as u16 + 1);
            fixture.access(0, Gva(0x3000), Access::Write);
        }
        // The first space's table was stolen, by one that has every page.
        for number in 0..64 {
            fixture.map(roots[2], Gva(number << 12), ram(32 << 20), DATA);
            fixture.access(0, Gva(number << 12), Access::Read);
        }
        // Every page that is filled now is full of entries for the host's first page.
        let forged = pte(Gpa(memory::HOST_BASE.0), DATA | super::fixture::X);
        for number in 0..64_u64 {
            for index in 0..512 {
                fixture.store(ram((40 << 20) + number * 4096 + index * 8), forged);
            }
        }
        fixture.switch(0, ROOT, 1);
        for number in (0..64_u64).filter(|&number| number != 3) {
            assert_eq!(fixture.access(0, Gva(number << 12), Access::Read), End::PageFault, "{choice:?}");
        }
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}

#[test]
fn addresses_with_and_without_translation_are_kept_apart() {
    for choice in choices() {
        let mut fixture = Fixture::new(&choice);
        fixture.space(ROOT);
        let (low, high) = (Gva(0x3000), Gva(ram(30 << 20).0));
        fixture.map(ROOT, low, ram(31 << 20), DATA & !super::fixture::U);
        let translated = types::TranslationContext {
            mode: PagingMode::Sv39,
            root: ROOT,
            privilege: types::Privilege::Supervisor,
            ..types::TranslationContext::default()
        };
        for _ in 0..2 {
            fixture.enter(0, translated);
            assert_eq!(fixture.access(0, low, Access::Read), End::Memory(fixture.hpa(ram(31 << 20)).unwrap()));
            assert_eq!(fixture.access(0, high, Access::Read), End::PageFault);
            fixture.enter(0, types::TranslationContext::default());
            assert_eq!(fixture.access(0, low, Access::Read), End::AccessFault);
            assert_eq!(fixture.access(0, high, Access::Read), End::Memory(fixture.hpa(ram(30 << 20)).unwrap()));
        }
        assert_eq!(fixture.wrong(), [""; 0]);
    }
}
