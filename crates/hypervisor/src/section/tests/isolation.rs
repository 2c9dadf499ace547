//! Every way that is known to see through a shared table what is not one's own: none works. From the guest, through an MMU that keeps what it
//! once saw, and through the API.

use super::fixture::*;
use crate::section::{MapRequest, SectionAccess, SectionFault, SectionMapError, WindowTables};
use crate::table::{HostTable, Leaf, LeafBits, MapError};
use memory::section::Lifetime;
use proptest::prelude::*;
use std::collections::BTreeMap;
use types::{Access, Gpa, PageSize, SecondStageMode, Vmid};

const AT: u64 = 4 * GIB;
const SV39: SecondStageMode = SecondStageMode::Sv39x4;

/// Two VMs that write to a section whose last table is used in part.
fn two() -> Fixture {
    let mut fixture = Fixture::new(64 * MIB, &[]);
    fixture.create("data", 2 * MIB + 3 * PAGE, Lifetime::Temporary);
    for vm in [1, 2] {
        fixture.add_vm(vm, SV39, 10);
        let window = fixture.map(&whole(vm, "data", AT)).unwrap();
        assert_eq!(window.tables, WindowTables::Shared { level: 0 });
        assert!(fixture.write(vm, AT + u64::from(vm) * PAGE, u64::from(vm)));
    }
    fixture
}

#[test]
fn the_rest_of_the_last_table_page_takes_nothing_private() {
    let mut fixture = two();
    let rest = AT + 2 * MIB + 3 * PAGE;
    // The hypervisor itself, by mistake, as it would give the VM a page of RAM there.
    let page = fixture.host.frames.allocate(&fixture.host.memory, PageSize::Size4K).unwrap().start();
    fixture.host.memory.write(page, Fixture::private_tag(1, 0)).unwrap();
    let leaf = Leaf { page, size: PageSize::Size4K, bits: LeafBits::FULL };
    let table = fixture.tables.get_mut(&Vmid(1)).unwrap();
    for gpa in [rest, AT + 4 * MIB - PAGE, AT + 5 * PAGE] {
        let planted = table.map(&fixture.host.memory, &mut fixture.host.frames, Gpa(gpa), leaf);
        assert_eq!(planted, Err(MapError::Occupied(gpa)));
    }
    let superpage = Leaf { page: page.page(PageSize::Size2M), size: PageSize::Size2M, ..leaf };
    assert!(table.map(&fixture.host.memory, &mut fixture.host.frames, Gpa(AT + 2 * MIB), superpage).is_err());
    // Another section of the VM's.
    fixture.create("private", PAGE, Lifetime::Permanent);
    for at in [rest, AT + 4 * MIB - PAGE] {
        assert!(matches!(fixture.map(&whole(1, "private", at)), Err(SectionMapError::Overlaps { .. })));
        assert!(matches!(fixture.map(&whole(1, "private", at).read_only()), Err(SectionMapError::Overlaps { .. })));
    }
    // The guests.
    for vm in [1, 2] {
        for gpa in [rest, AT + 4 * MIB - 8] {
            assert!(matches!(fixture.fault(vm, Gpa(gpa), Access::Write).unwrap(), SectionFault::Denied(_)));
            assert_eq!((fixture.read(vm, gpa), fixture.write(vm, gpa, 1)), (None, false));
        }
    }
}

#[test]
fn a_map_that_is_not_aligned_shares_pages_and_no_table() {
    let mut fixture = two();
    fixture.add_vm(3, SV39, 10);
    // One page behind the boundary of a table: private pages of VM 3 could be in the same table.
    let window = fixture.map(&whole(3, "data", AT + PAGE)).unwrap();
    assert_eq!(window.tables, WindowTables::Private);
    fixture.create("private", PAGE, Lifetime::Permanent);
    fixture.map(&whole(3, "private", AT)).unwrap();
    assert!(fixture.write(3, AT, Fixture::private_tag(3, 0)));
    assert!(fixture.write(3, AT + 2 * MIB, 33));
    for vm in [1, 2] {
        assert_eq!((fixture.read(vm, AT), fixture.read(vm, AT + 2 * MIB - PAGE)), (Some(0), Some(33)));
    }
    assert_eq!(fixture.read(3, AT + 2 * PAGE), Some(1));
    assert!(fixture.tables[&Vmid(3)].linked(&fixture.host.memory, Gpa(AT)).is_none());
}

#[test]
fn an_address_that_is_mapped_again_shows_nothing_of_before() {
    let mut fixture = two();
    fixture.unmap(1, AT).unwrap();
    assert_eq!((fixture.read(1, AT + PAGE), fixture.read(2, AT + PAGE)), (None, Some(1)));
    // Something private takes the address, in a table of VM 1's own.
    fixture.create("private", 2 * MIB - PAGE, Lifetime::Permanent);
    fixture.map(&MapRequest { pages: Some(510), ..whole(1, "private", AT) }).unwrap();
    assert!(fixture.write(1, AT + PAGE, Fixture::private_tag(1, 1)));
    assert_eq!(fixture.read(2, AT + PAGE), Some(1), "VM 2 is still on the section's table");
    // And back.
    fixture.unmap(1, AT).unwrap();
    fixture.map(&whole(1, "data", AT)).unwrap();
    assert_eq!(fixture.read(1, AT + PAGE), Some(1));
    // The section goes, and its pages and tables become something else of VM 3.
    fixture.unmap(1, AT).unwrap();
    fixture.unmap(2, AT).unwrap();
    fixture.add_vm(3, SV39, 10);
    fixture.create("other", 4 * MIB, Lifetime::Permanent);
    fixture.map(&whole(3, "other", AT)).unwrap();
    for page in 0..1024 {
        assert!(fixture.write(3, AT + page * PAGE, Fixture::private_tag(3, page)));
    }
    for vm in [1, 2] {
        for page in 0..1024 {
            assert_eq!(fixture.read(vm, AT + page * PAGE), None);
        }
    }
}

#[test]
fn a_reader_beside_a_writer_stays_a_reader() {
    let mut fixture = two();
    fixture.add_vm(3, SV39, 10);
    let window = fixture.map(&whole(3, "data", AT).read_only()).unwrap();
    assert_eq!(window.tables, WindowTables::Private);
    for page in [1, 2, 3] {
        assert!(fixture.read(3, AT + page * PAGE).is_some());
        assert!(!fixture.write(3, AT + page * PAGE, 99), "read before or not");
        assert!(fixture.write(1, AT + page * PAGE, 10 + page));
        assert!(!fixture.write(3, AT + page * PAGE, 99), "written by another or not");
        assert_eq!(
            (fixture.read(3, AT + page * PAGE), fixture.read(2, AT + page * PAGE)),
            (Some(10 + page), Some(10 + page))
        );
    }
    // The same VM maps the section for writing beside it, which gives the first map nothing.
    fixture.map(&whole(3, "data", AT + GIB)).unwrap();
    assert!(fixture.write(3, AT + GIB + PAGE, 55));
    assert_eq!((fixture.read(3, AT + PAGE), fixture.write(3, AT + PAGE, 99)), (Some(55), false));
}

#[test]
fn a_vm_that_dies_takes_nothing_with_it_and_leaves_nothing() {
    let mut fixture = two();
    let before = fixture.owned();
    fixture.add_vm(3, SV39, 10);
    fixture.map(&whole(3, "data", AT)).unwrap();
    fixture.map(&whole(3, "data", AT + 16 * MIB).read_only()).unwrap();
    assert!(fixture.write(3, AT + 7 * PAGE, 7) && fixture.read(3, AT + 16 * MIB) == Some(0));
    // Died with maps in place, and its frames given to the next.
    fixture.remove_vm(3);
    assert_eq!(fixture.owned() - before, 2 * PAGE, "the pages that it touched first are the section's");
    fixture.add_vm(4, SV39, 10);
    fixture.create("other", 4 * MIB, Lifetime::Permanent);
    fixture.map(&whole(4, "other", AT)).unwrap();
    for page in 0..1024 {
        assert!(fixture.write(4, AT + page * PAGE, Fixture::private_tag(4, page)));
    }
    for vm in [1, 2] {
        assert_eq!(fixture.read(vm, AT + 7 * PAGE), Some(7));
        assert_eq!(fixture.read(vm, AT + u64::from(vm) * PAGE), Some(u64::from(vm)));
        assert_eq!(fixture.read(vm, RAM.0 + PAGE), Some(Fixture::private_tag(vm, PAGE)));
    }
    // The last mapper dies: the section with it.
    fixture.remove_vm(1);
    fixture.remove_vm(2);
    assert!(fixture.manager.sections().find(&name("data")).is_none());
}

/// Even a nested table that is freed while sections are linked into it, against the rules, leaves them alone.
#[test]
fn a_table_freed_with_links_in_it_frees_its_own_frames_only() {
    let mut fixture = two();
    let id = fixture.manager.sections().find(&name("data")).unwrap();
    let shared = [0, 2 * MIB].map(|offset| fixture.manager.shared_tables(id).unwrap().table(0, offset).unwrap());
    let table = fixture.tables.remove(&Vmid(1)).unwrap();
    Box::new(table).free(&fixture.host.memory, &mut fixture.host.frames);
    let taken: Vec<_> = core::iter::from_fn(|| {
        let page = fixture.host.frames.allocate(&fixture.host.memory, PageSize::Size4K).ok()?;
        fixture.host.memory.write_slice(page.start(), &[0xff; PAGE as usize]).unwrap();
        Some(page)
    })
    .collect();
    assert!(taken.len() > 1000);
    assert!(taken.iter().all(|page| !shared.contains(&page.start())));
    assert_eq!((fixture.read(2, AT + PAGE), fixture.read(2, AT + 2 * PAGE)), (Some(1), Some(2)));
}

/// Sections of the random test: name, pages.
const SECTIONS: [(&str, u64); 3] = [("shared", 512 + 3), ("private", 300), ("cache", 1024)];

/// Where maps of the random test begin.
const PLACES: [u64; 6] = [AT, AT + 2 * MIB, AT + 4 * MIB, AT + PAGE, AT + GIB, AT + GIB + 2 * MIB + 16 * PAGE];

#[derive(Clone, Debug)]
enum Step {
    Map { vm: usize, section: usize, place: usize, read_only: bool, part: Option<(u64, u64)> },
    Unmap { vm: usize, which: usize },
    Write { vm: usize, place: usize, page: u64 },
    Die { vm: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let part = prop_oneof![2 => Just(None), 1 => (0_u64..600, 1_u64..600).prop_map(Some)];
    let vm = 0_usize..3;
    prop_oneof![
        4 => (vm.clone(), 0..SECTIONS.len(), 0..PLACES.len(), any::<bool>(), part)
            .prop_map(|(vm, section, place, read_only, part)| Step::Map { vm, section, place, read_only, part }),
        2 => (vm.clone(), 0_usize..4).prop_map(|(vm, which)| Step::Unmap { vm, which }),
        6 => (vm.clone(), 0..PLACES.len(), 0_u64..1030).prop_map(|(vm, place, page)| Step::Write { vm, place, page }),
        1 => vm.prop_map(|vm| Step::Die { vm }),
    ]
}

/// A map in the model: section, first page, pages, whether it may be written to.
type Mapped = (usize, u64, u64, bool);

#[derive(Default)]
struct Model {
    /// By VM and address.
    maps: [BTreeMap<u64, Mapped>; 3],
    /// Pages that are not zero, by section.
    contents: [BTreeMap<u64, u64>; 3],
}

impl Model {
    fn at(&self, vm: usize, gpa: u64) -> Option<(usize, u64, bool)> {
        let (&start, &(section, first, pages, writable)) = self.maps[vm].range(..=gpa).next_back()?;
        let page = (gpa - start) / PAGE;
        (page < pages).then_some((section, first + page, writable))
    }

    fn read(&self, vm: usize, gpa: u64) -> Option<u64> {
        let (section, page, _) = self.at(vm, gpa)?;
        Some(self.contents[section].get(&page).copied().unwrap_or(0))
    }

    /// A section without maps is gone, and what it held with it.
    fn forget_unmapped(&mut self) {
        for section in 0..SECTIONS.len() {
            if !self.maps.iter().any(|maps| maps.values().any(|map| map.0 == section)) {
                self.contents[section].clear();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Any maps, unmaps, writes and deaths of three VMs: each sees its own RAM and what it maps, as it was written last, and nothing else.
    /// Every MMU keeps what it has until it is flushed.
    #[test]
    fn every_vm_sees_what_it_maps_and_nothing_else(
        mode in prop::sample::select(&[SV39, SecondStageMode::Sv48x4]),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let mut fixture = Fixture::new(32 * MIB, &[("private", 300 * PAGE, false, false), ("cache", 4 * MIB, true, true)]);
        for vm in 1..=3 {
            fixture.add_vm(vm, mode, 10);
        }
        let mut model = Model::default();
        for (time, step) in (1..).zip(steps) {
            match step {
                Step::Map { vm, section, place, read_only, part } => {
                    let (text, pages) = SECTIONS[section];
                    if fixture.manager.sections().find(&name(text)).is_none() {
                        fixture.create(text, pages * PAGE, Lifetime::Temporary);
                    }
                    let (first, count) = part.unwrap_or((0, pages));
                    let request = MapRequest {
                        first,
                        pages: Some(count),
                        access: if read_only { SectionAccess::ReadOnly } else { SectionAccess::ReadWrite },
                        ..whole(vm as u16 + 1, text, PLACES[place])
                    };
                    if let Ok(window) = fixture.map(&request) {
                        prop_assert!(first + count <= pages);
                        prop_assert!(!read_only || window.tables == WindowTables::Private);
                        model.maps[vm].insert(PLACES[place], (section, first, count, !read_only));
                    }
                }
                Step::Unmap { vm, which } => {
                    if let Some(&at) = model.maps[vm].keys().nth(which) {
                        fixture.unmap(vm as u16 + 1, at).unwrap();
                        model.maps[vm].remove(&at);
                    }
                }
                Step::Write { vm, place, page } => {
                    let gpa = PLACES[place] + page * PAGE;
                    let expected = model.at(vm, gpa).filter(|&(.., writable)| writable);
                    prop_assert_eq!(fixture.write(vm as u16 + 1, gpa, time), expected.is_some());
                    if let Some((section, page, _)) = expected {
                        model.contents[section].insert(page, time);
                    }
                }
                Step::Die { vm } => {
                    fixture.remove_vm(vm as u16 + 1);
                    fixture.add_vm(vm as u16 + 1, mode, 10);
                    model.maps[vm].clear();
                }
            }
            model.forget_unmapped();
            for vm in 0..3 {
                for place in PLACES {
                    for page in [0, 1, 255, 299, 300, 511, 512, 514, 515, 516, 1023, 1024] {
                        let gpa = place + page * PAGE;
                        prop_assert_eq!(fixture.read(vm as u16 + 1, gpa), model.read(vm, gpa), "VM {} at {:#x}", vm + 1, gpa);
                    }
                }
                let number = vm as u16 + 1;
                prop_assert_eq!(fixture.read(number, RAM.0 + RAM_BYTES - PAGE), Some(Fixture::private_tag(number, RAM_BYTES - PAGE)));
                prop_assert_eq!(fixture.read(number, RAM.0 + RAM_BYTES), None);
            }
        }
        // Nothing is lost: when all is unmapped, what was there at the start is free again.
        for vm in 1..=3 {
            fixture.remove_vm(vm);
        }
        for (text, _) in SECTIONS {
            if fixture.manager.sections().find(&name(text)).is_some() {
                let (manager, mut on) = fixture.parts();
                manager.delete(&mut on, &name(text)).unwrap();
            }
        }
        let cache = 4 * MIB + memory::registry::table_pages(4 * MIB) * PAGE;
        prop_assert_eq!(fixture.owned(), cache);
    }
}
