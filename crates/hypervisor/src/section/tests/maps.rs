//! Where sections go, which tables map them, and what that takes.

use super::fixture::*;
use crate::section::{MapRequest, SectionAccess, SectionMapError, SectionUnmapError, WindowTables};
use memory::registry::{Granularities, Scope, SectionName, table_pages};
use memory::section::{DeleteError, Lifetime, SectionKind};
use types::{Access, Gpa, SecondStageMode, Vmid};

const SV39: SecondStageMode = SecondStageMode::Sv39x4;
const TEMPORARY: Lifetime = Lifetime::Temporary;

fn fixture(reserved: &[Reserved<'_>]) -> Fixture {
    let mut fixture = Fixture::new(64 * MIB, reserved);
    for vm in [1, 2, 3, 100] {
        fixture.add_vm(vm, SV39, 100);
    }
    fixture
}

#[test]
fn one_writes_and_the_other_reads() {
    for (text, bytes) in [("fluid", 3 * MIB), ("cache", 8 * MIB), ("private", 4 * MIB)] {
        let mut fixture = fixture(&[("cache", 8 * MIB, true, true), ("private", 4 * MIB, true, false)]);
        fixture.create(text, bytes, TEMPORARY);
        for (vm, at) in [(1, GIB * 4), (2, GIB * 5 + 2 * MIB)] {
            fixture.map(&whole(vm, text, at)).unwrap();
        }
        for offset in [0, 8, MIB, bytes - 8] {
            assert_eq!(fixture.read(2, 5 * GIB + 2 * MIB + offset), Some(0), "zeroes at first");
            assert!(fixture.write(1, 4 * GIB + offset, offset + 1));
            assert_eq!(fixture.read(2, 5 * GIB + 2 * MIB + offset), Some(offset + 1));
        }
        assert_eq!(fixture.read(3, 4 * GIB), None);
    }
}

/// The paper: 8 GB for 100 processes are 800 MB of private tables, 8 MB of shared ones (of pages half as long, twice as much).
#[test]
fn shared_tables_are_there_once_and_private_ones_in_every_vm() {
    let bytes = 16 * MIB;
    let leaf_tables = 8 * PAGE;
    let tables_of = |text: &str, vms: u16| {
        let sizes = Granularities::RISCV.at_most(types::PageSize::Size4K);
        let reserved = [("shared", bytes, true, true), ("private", bytes, true, false)];
        let mut fixture = Fixture::with_sizes(80 * MIB, &reserved, sizes);
        fixture.create(text, bytes, TEMPORARY);
        (1..=vms).for_each(|vm| fixture.add_vm(vm, SV39, 1));
        let before = fixture.owned();
        for vm in 1..=vms {
            fixture.map(&whole(vm, text, 4 * GIB)).unwrap();
        }
        fixture.owned() - before
    };
    for vms in [1, 7, 20] {
        assert_eq!(tables_of("private", vms), u64::from(vms) * (leaf_tables + PAGE), "leaf tables, and one above");
        assert_eq!(tables_of("shared", vms), u64::from(vms) * PAGE, "the one above, that leads to the section's");
    }
}

#[test]
fn a_gigabyte_table_is_shared_as_well_where_the_section_fills_one() {
    let bytes = GIB + 6 * MIB;
    for mode in [SV39, SecondStageMode::Sv48x4, SecondStageMode::Sv57x4] {
        let mut fixture = Fixture::new(16 * MIB + bytes + 2 * GIB, &[]);
        fixture.add_vm(1, mode, 1);
        fixture.create("large", bytes, TEMPORARY);
        let before = fixture.owned();
        let window = fixture.map(&whole(1, "large", 8 * GIB)).unwrap();
        assert_eq!(window.tables, WindowTables::Shared { level: 1 });
        assert_eq!(window.region, Gpa(8 * GIB)..Gpa(10 * GIB), "what is left of the second gigabyte is not mapped");
        assert_eq!(fixture.owned(), before, "the table that leads to them leads to RAM as well");
        assert!(fixture.write(1, 8 * GIB + bytes - 8, 5));
        assert_eq!(fixture.read(1, 8 * GIB + bytes), None);
        // Aligned to a leaf table only.
        fixture.add_vm(2, mode, 1);
        let window = fixture.map(&whole(2, "large", 8 * GIB + 2 * MIB)).unwrap();
        assert_eq!(window.tables, WindowTables::Shared { level: 0 });
        assert_eq!(fixture.read(2, 8 * GIB + 2 * MIB + bytes - 8), Some(5));
    }
}

#[test]
fn the_map_and_the_registry_decide_which_tables() {
    let mut fixture = fixture(&[("alone", 4 * MIB, false, false)]);
    fixture.create("alone", 4 * MIB, TEMPORARY);
    fixture.create("cache", 4 * MIB + 3 * PAGE, TEMPORARY);
    let mut tables = |request: &MapRequest| {
        let window = fixture.map(request).unwrap();
        fixture.unmap(request.vmid.0, request.at.0).ok();
        fixture.create_again(request);
        window.tables
    };
    let at = 4 * GIB;
    let shared = WindowTables::Shared { level: 0 };
    assert_eq!(tables(&whole(1, "cache", at)), shared);
    assert_eq!(tables(&whole(1, "alone", at)), WindowTables::Private, "the registry says so");
    assert_eq!(tables(&whole(1, "cache", at).read_only()), WindowTables::Private, "rights are in the entries");
    assert_eq!(tables(&whole(1, "cache", at + PAGE)), WindowTables::Private, "not aligned");
    let part = |first, pages| MapRequest { first, pages, ..whole(1, "cache", at) };
    assert_eq!(tables(&part(512, Some(512))), shared);
    assert_eq!(tables(&part(512, None)), shared, "up to the end");
    assert_eq!(tables(&part(511, Some(512))), WindowTables::Private);
    assert_eq!(tables(&part(0, Some(513))), WindowTables::Private, "the rest of the table was not asked for");
}

impl Fixture {
    /// A temporary section that went with its last map is there again.
    fn create_again(&mut self, request: &MapRequest) {
        if self.manager.sections().find(&request.name).is_none() {
            let bytes = if request.name.text() == "alone" { 4 * MIB } else { 4 * MIB + 3 * PAGE };
            self.create(request.name.text(), bytes, TEMPORARY);
        }
    }
}

#[test]
fn regions_keep_off_each_other_ram_and_devices() {
    let mut fixture = fixture(&[]);
    fixture.create("a", 2 * MIB + PAGE, Lifetime::Permanent);
    fixture.create("b", PAGE, Lifetime::Permanent);
    fixture.map(&whole(1, "a", 4 * GIB)).unwrap();
    let mut refused = |text, at, read_only: bool| {
        let request = whole(1, text, at);
        let request = if read_only { request.read_only() } else { request };
        match fixture.map(&request).unwrap_err() {
            SectionMapError::Overlaps { with, .. } => with.start.0,
            other => panic!("{other}"),
        }
    };
    // The second leaf table is used in part, and reserved in whole: for maps with private tables as well.
    for at in [4 * GIB, 4 * GIB + 2 * MIB, 4 * GIB + 2 * MIB + PAGE, 4 * GIB + 4 * MIB - PAGE] {
        assert_eq!((refused("b", at, false), refused("b", at, true)), (4 * GIB, 4 * GIB));
    }
    assert_eq!(refused("b", RAM.0 + PAGE, false), 0);
    assert_eq!(refused("b", 0x1000_0000, false), 0, "devices");
    assert_eq!(refused("a", RAM.0 + RAM_BYTES - PAGE, false), 0);
    fixture.map(&whole(1, "b", 4 * GIB + 4 * MIB)).unwrap();
    fixture.map(&whole(1, "b", 4 * GIB - PAGE)).unwrap();
    // Shared tables would take what private ones do not: the region of `a` would reach into that of `b`.
    let window = fixture.map(&whole(1, "b", RAM.0 + RAM_BYTES)).unwrap();
    assert_eq!(window.tables, WindowTables::Private);
    fixture.map(&whole(2, "b", 4 * GIB + 2 * MIB + PAGE)).unwrap();
    let window = fixture.map(&whole(2, "a", 4 * GIB)).unwrap();
    assert_eq!((window.tables, window.region.end), (WindowTables::Private, Gpa(4 * GIB + 2 * MIB + PAGE)));
}

#[test]
fn what_cannot_be_mapped_is_named_and_changes_nothing() {
    let mut fixture = fixture(&[]);
    fixture.create("a", 4 * MIB, Lifetime::Permanent);
    let group = SectionName::new("a", Scope::Group(7)).unwrap();
    let (manager, mut on) = fixture.parts();
    manager.create_resident(&mut on, &group, PAGE, Lifetime::Permanent).unwrap();
    let before = fixture.owned();
    let mut error = |request: &MapRequest| fixture.map(request).unwrap_err();
    let good = whole(1, "a", 4 * GIB);
    assert!(matches!(error(&whole(1, "b", 4 * GIB)), SectionMapError::NoSuchSection(_)));
    assert!(matches!(error(&whole(9, "a", 4 * GIB)), SectionMapError::NoVm(Vmid(9))));
    assert!(matches!(error(&whole(1, "a", 4 * GIB + 1)), SectionMapError::Misaligned { .. }));
    for (first, pages) in [(0, Some(0)), (0, Some(1025)), (1024, None), (5, Some(u64::MAX)), (u64::MAX, Some(1))] {
        let refused = error(&MapRequest { first, pages, ..good.clone() });
        assert!(matches!(refused, SectionMapError::Pages { .. }), "{refused}");
    }
    for at in [(1 << 41) - PAGE, 1 << 41, u64::MAX - PAGE + 1] {
        assert!(matches!(error(&whole(1, "a", at)), SectionMapError::Beyond { limit: Gpa(0x200_0000_0000), .. }));
    }
    let other = error(&MapRequest { name: group.clone(), ..good.clone() });
    assert!(matches!(other, SectionMapError::OtherGroup { group: None, .. }));
    assert!(other.to_string().contains("a of group 7") && other.to_string().contains("no group"), "{other}");
    fixture.map(&MapRequest { name: group, vmid: Vmid(100), ..good }).unwrap();
    fixture.unmap(100, 4 * GIB).unwrap();
    assert_eq!(fixture.owned(), before);
    assert!(matches!(fixture.unmap(1, 4 * GIB), Err(SectionUnmapError::NotMapped(_))));
    assert!(matches!(fixture.unmap(9, 4 * GIB), Err(SectionUnmapError::NoVm(_))));
}

#[test]
fn a_section_in_use_is_not_deleted() {
    let mut fixture = fixture(&[]);
    let before = (fixture.owned(), fixture.manager.sections().reserved().fluid());
    fixture.create("a", 4 * MIB, Lifetime::Permanent);
    fixture.map(&whole(1, "a", 4 * GIB)).unwrap();
    fixture.map(&whole(2, "a", 4 * GIB).read_only()).unwrap();
    assert!(fixture.write(1, 4 * GIB, 1));
    for vm in [1, 2] {
        let (manager, mut on) = fixture.parts();
        let refused = manager.delete(&mut on, &name("a")).unwrap_err();
        assert!(matches!(refused, DeleteError::InUse { .. }) && refused.to_string().contains("section a"));
        fixture.unmap(vm, 4 * GIB).unwrap();
    }
    let (manager, mut on) = fixture.parts();
    manager.delete(&mut on, &name("a")).unwrap();
    assert!(matches!(manager.delete(&mut on, &name("a")), Err(DeleteError::Absent(_))));
    assert_eq!((fixture.owned(), fixture.manager.sections().reserved().fluid()), before, "pages, tables and promises");
}

#[test]
fn the_last_unmap_gives_everything_back() {
    for (text, bytes, read_only) in [("fluid", 5 * MIB, false), ("cache", 8 * MIB, false), ("cache", 8 * MIB, true)] {
        let mut fixture = fixture(&[("cache", 8 * MIB, true, true)]);
        let before = (fixture.owned(), fixture.manager.sections().reserved().fluid());
        fixture.create(text, bytes, TEMPORARY);
        for vm in [1, 2, 3] {
            let request = whole(vm, text, 4 * GIB + u64::from(vm) * 16 * MIB);
            fixture.map(&if read_only { request.read_only() } else { request }).unwrap();
            fixture.read(vm, 4 * GIB + u64::from(vm) * 16 * MIB + 12345 * 8);
        }
        for vm in [1, 2, 3] {
            assert!(fixture.manager.sections().find(&name(text)).is_some());
            fixture.unmap(vm, 4 * GIB + u64::from(vm) * 16 * MIB).unwrap();
            assert_eq!(fixture.manager.windows(Vmid(vm)).count(), 0);
        }
        assert!(fixture.manager.sections().find(&name(text)).is_none());
        assert_eq!((fixture.owned(), fixture.manager.sections().reserved().fluid()), before, "{text} {read_only}");
    }
}

/// A reservation is freed while a section has a part of it: the section loses nothing, and the host gets that part when no table and no TLB
/// leads there any more.
#[test]
fn the_part_of_a_freed_reservation_that_a_section_has_is_the_hosts_after_the_last_unmap() {
    let mut fixture = fixture(&[("cache", 8 * MIB, true, true)]);
    let before = fixture.host.frames.free_bytes();
    fixture.create("cache", 3 * MIB, TEMPORARY);
    fixture.map(&whole(1, "cache", 4 * GIB)).unwrap();
    let mapped = fixture.host.frames.free_bytes();
    let (manager, on) = fixture.parts();
    let freed = manager.reserved_mut().free(on.host, &name("cache")).unwrap();
    assert_eq!((freed.returned_pages, freed.kept_pages), (5 * MIB / PAGE + 2, 3 * MIB / PAGE + 3));
    assert_eq!(fixture.host.frames.free_bytes(), mapped + 5 * MIB + 2 * PAGE);
    for offset in [0, 3 * MIB - 8] {
        assert!(fixture.write(1, 4 * GIB + offset, 7 + offset));
        assert_eq!(fixture.read(1, 4 * GIB + offset), Some(7 + offset));
    }
    fixture.processors.forgotten.clear();
    fixture.unmap(1, 4 * GIB).unwrap();
    assert_eq!(fixture.host.frames.free_bytes(), before + 8 * MIB + 5 * PAGE);
    assert_eq!(fixture.manager.sections().reserved().fluid().count(), freed.fluid_pages + freed.kept_pages);
    let forgotten: u64 = fixture.processors.forgotten.iter().map(|range| range.bytes()).sum();
    assert_eq!(forgotten, 3 * MIB + 3 * PAGE, "each page once");
    let again = fixture.create("cache", 3 * MIB, TEMPORARY);
    assert_eq!(fixture.manager.sections().get(again).unwrap().kind(), SectionKind::Fluid);
    fixture.map(&whole(1, "cache", 4 * GIB)).unwrap();
    assert_eq!(fixture.read(1, 4 * GIB), Some(0), "what was written before is not seen");
}

#[test]
fn tables_for_which_there_are_no_frames_are_refused_whole() {
    let reserved = [("private", 4 * MIB, true, false)];
    let mut fixture = Fixture::with_sizes(6 * MIB, &reserved, Granularities::RISCV.at_most(types::PageSize::Size4K));
    fixture.add_vm(1, SV39, 1);
    fixture.create("private", 4 * MIB, Lifetime::Permanent);
    // Two tables of three.
    let mut taken = Vec::new();
    while fixture.host.frames.free_bytes() > 2 * PAGE {
        taken.push(fixture.host.frames.allocate(&fixture.host.memory, types::PageSize::Size4K).unwrap());
    }
    let error = fixture.map(&whole(1, "private", 4 * GIB)).unwrap_err();
    assert!(matches!(error, SectionMapError::Tables { .. }) && error.to_string().contains("private"), "{error}");
    assert_eq!(fixture.host.frames.free_bytes(), 2 * PAGE);
    assert_eq!(fixture.read(1, 4 * GIB), None);
    assert_eq!(
        fixture.manager.sections().get(fixture.manager.sections().find(&name("private")).unwrap()).unwrap().mappers(),
        0
    );
    fixture.host.frames.free(taken.pop().unwrap()).unwrap();
    fixture.map(&whole(1, "private", 4 * GIB)).unwrap();
    assert_eq!(fixture.read(1, 8 * GIB - 8), None);
    assert_eq!(fixture.read(1, 4 * GIB + 4 * MIB - 8), Some(0));
}

#[test]
fn a_section_whose_tables_do_not_fit_is_not_created() {
    let mut fixture = Fixture::new(2 * MIB, &[]);
    let mut taken = Vec::new();
    while fixture.host.frames.free_bytes() > 0 {
        taken.push(fixture.host.frames.allocate(&fixture.host.memory, types::PageSize::Size4K).unwrap());
    }
    let fluid = fixture.manager.sections().reserved().fluid();
    let (manager, mut on) = fixture.parts();
    let error = manager.create_resident(&mut on, &name("a"), MIB, TEMPORARY).unwrap_err();
    assert!(error.to_string().contains("section a"), "{error}");
    assert!(manager.sections().find(&name("a")).is_none());
    assert_eq!(fixture.manager.sections().reserved().fluid(), fluid);
}

#[test]
fn preallocated_pages_never_fault_and_the_registry_has_their_tables() {
    let mut fixture = fixture(&[("cache", 8 * MIB, true, true)]);
    let before = fixture.owned();
    let id = fixture.create("cache", 8 * MIB, TEMPORARY);
    assert!(matches!(fixture.manager.sections().get(id).unwrap().kind(), SectionKind::Alloc(_)));
    assert_eq!(fixture.owned(), before, "pages and tables were set aside for it");
    assert!(fixture.manager.shared_tables(id).unwrap().count() <= table_pages(8 * MIB));
    for (vm, at) in [(1, 4 * GIB), (2, 4 * GIB + PAGE)] {
        fixture.map(&whole(vm, "cache", at)).unwrap();
        for offset in (0..8 * MIB).step_by(65536 + 4096) {
            let (hpa, faults) = fixture.access(vm, at + offset, Access::Write);
            assert!(hpa.is_some() && faults == 0);
        }
    }
    fixture.map(&MapRequest { access: SectionAccess::ReadOnly, ..whole(3, "cache", 4 * GIB) }).unwrap();
    assert_eq!(fixture.access(3, 4 * GIB, Access::Write), (None, 0));
    assert!(fixture.access(3, 4 * GIB, Access::Execute).0.is_some());
}
