//! Faults on sections, working sets, and what happens when frames run short.

use super::fixture::*;
use crate::section::{Denial, Resolution, SectionFault, SectionMapError, SectionUnmapError};
use crate::table::HostTable;
use memory::section::{BackingFile, DeleteError, FaultCounts, FaultKind, FileCounts, Lifetime, SectionId};
use std::fs;
use std::path::{Path, PathBuf};
use types::{Access, Gpa, SecondStageMode, Vmid};

const AT: u64 = 4 * GIB;
const SV39: SecondStageMode = SecondStageMode::Sv39x4;

/// A file whose page `n` begins with `n + 1`.
fn file(directory: &tempfile::TempDir, pages: u64) -> PathBuf {
    let path = directory.path().join("data");
    let mut content = vec![0; (pages * PAGE) as usize];
    for page in 0..pages {
        content[(page * PAGE) as usize..][..8].copy_from_slice(&(page + 1).to_le_bytes());
    }
    fs::write(&path, content).unwrap();
    path
}

fn on_disk(path: &Path, page: u64) -> u64 {
    u64::from_le_bytes(fs::read(path).unwrap()[(page * PAGE) as usize..][..8].try_into().unwrap())
}

fn pageable(fixture: &mut Fixture, path: &Path, pages: u64, writable: bool) -> SectionId {
    let file = BackingFile::open(path, writable).unwrap();
    fixture.manager.create_pageable(&name("data"), pages * PAGE, file, Lifetime::Temporary).unwrap()
}

/// Two VMs that map pages of a file, each with a working set of `quota`.
fn two(path: &Path, pages: u64, quota: u64) -> (Fixture, SectionId) {
    let mut fixture = Fixture::new(16 * MIB, &[]);
    let id = pageable(&mut fixture, path, pages, true);
    for vm in [1, 2] {
        fixture.add_vm(vm, SV39, quota);
        fixture.map(&whole(vm, "data", AT)).unwrap();
    }
    (fixture, id)
}

fn resolved(kind: FaultKind) -> SectionFault {
    SectionFault::Resolved(Resolution::Valid(kind))
}

#[test]
fn faults_are_counted_by_what_they_took() {
    let directory = tempfile::tempdir().unwrap();
    let (mut fixture, id) = two(&file(&directory, 8), 8, 8);
    assert_eq!(fixture.fault(1, Gpa(AT), Access::Read).unwrap(), resolved(FaultKind::Disk));
    assert_eq!(fixture.fault(2, Gpa(AT), Access::Read).unwrap(), resolved(FaultKind::GlobalValid));
    assert_eq!(fixture.read(2, AT), Some(1));
    assert_eq!(fixture.read(2, AT + 3 * PAGE), Some(4));
    let disk = FaultCounts { disk: 1, ..FaultCounts::default() };
    assert_eq!(fixture.manager.faults(Vmid(1)), disk);
    assert_eq!(fixture.manager.faults(Vmid(2)), FaultCounts { global_valid: 1, ..disk });
    assert_eq!(fixture.manager.sections().get(id).unwrap().faults, FaultCounts { global_valid: 1, disk: 2, ..disk });
    // A page that is there needs at most its status bits.
    assert_eq!(fixture.fault(2, Gpa(AT + 8), Access::Write).unwrap(), SectionFault::Resolved(Resolution::Present));
    assert_eq!(fixture.fault(1, Gpa(AT + 8 * PAGE), Access::Read).unwrap(), SectionFault::Elsewhere);
    assert_eq!(fixture.fault(1, Gpa(AT - 1), Access::Read).unwrap(), SectionFault::Elsewhere);
}

#[test]
fn a_page_of_shared_tables_is_faulted_once_for_all_and_one_of_private_tables_once_in_each() {
    let mut fixture = Fixture::new(16 * MIB, &[("private", MIB, false, false)]);
    for text in ["shared", "private"] {
        fixture.create(text, MIB, Lifetime::Temporary);
    }
    for vm in 1..=5 {
        fixture.add_vm(vm, SV39, 1);
        fixture.map(&whole(vm, "shared", AT)).unwrap();
        fixture.map(&whole(vm, "private", AT + GIB)).unwrap();
        for page in 0..10 {
            assert_eq!(
                (fixture.read(vm, AT + page * PAGE), fixture.read(vm, AT + GIB + page * PAGE)),
                (Some(0), Some(0))
            );
        }
    }
    let faults =
        |text| fixture.manager.sections().get(fixture.manager.sections().find(&name(text)).unwrap()).unwrap().faults;
    assert_eq!(faults("shared"), FaultCounts { demand_zero: 10, ..FaultCounts::default() });
    assert_eq!(faults("private"), FaultCounts { demand_zero: 10, global_valid: 40, ..FaultCounts::default() });
    assert_eq!(fixture.manager.working_set(Vmid(1)), 0, "memory-resident pages are in no working set, for any quota");
}

#[test]
fn a_full_working_set_gives_its_first_page_up_for_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, 8);
    let (mut fixture, id) = two(&path, 8, 3);
    for page in 0..5 {
        assert!(fixture.write(1, AT + page * PAGE, 100 + page));
    }
    assert_eq!(fixture.manager.working_set(Vmid(1)), 3);
    let counts = |fixture: &Fixture| fixture.manager.sections().get(id).unwrap().file_counts();
    assert_eq!(counts(&fixture), FileCounts { reads: 5, writes: 0 }, "what left is still in memory");
    // VM 2 finds on a list what VM 1 gave up, with what it wrote.
    assert_eq!(fixture.fault(2, Gpa(AT), Access::Read).unwrap(), resolved(FaultKind::Listed));
    assert_eq!(fixture.read(2, AT), Some(100));
    // VM 1 comes back to it: valid for another.
    assert_eq!(fixture.fault(1, Gpa(AT), Access::Read).unwrap(), resolved(FaultKind::GlobalValid));
    assert_eq!(fixture.read(1, AT + 4 * PAGE), Some(104), "the others are still there");
    assert_eq!(fixture.manager.working_set(Vmid(1)), 3);
    for vm in [1, 2] {
        fixture.unmap(vm, AT).unwrap();
    }
    for page in 0..8 {
        assert_eq!(on_disk(&path, page), if page < 5 { 100 + page } else { page + 1 });
    }
}

/// A section of 2000 pages on a host that has room for less than 100.
#[test]
fn pages_come_and_go_where_frames_are_short() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, 2000);
    let mut fixture = Fixture::new(128 * PAGE, &[]);
    fixture.add_vm(1, SV39, u64::MAX);
    fixture.add_vm(2, SV39, u64::MAX);
    let id = pageable(&mut fixture, &path, 2000, true);
    fixture.map(&whole(1, "data", AT)).unwrap();
    fixture.map(&whole(2, "data", AT)).unwrap();
    for page in 0..2000 {
        if page % 3 == 0 {
            assert!(fixture.write(1, AT + page * PAGE, 7000 + page));
        } else {
            assert_eq!(fixture.read(1, AT + page * PAGE), Some(page + 1));
        }
        if page % 7 == 0 {
            assert_eq!(fixture.read(2, AT + page * PAGE), Some(if page % 3 == 0 { 7000 + page } else { page + 1 }));
        }
    }
    for page in 0..2000 {
        assert_eq!(fixture.read(2, AT + page * PAGE), Some(if page % 3 == 0 { 7000 + page } else { page + 1 }));
    }
    let counts = fixture.manager.sections().get(id).unwrap().file_counts();
    assert!(counts.reads >= 3900, "{counts:?}");
    assert!(
        counts.writes >= 660 && counts.writes <= 667 + 20,
        "a page that was not modified again is not written again: {counts:?}"
    );
    assert!(!fixture.processors.forgotten.is_empty(), "frames that change hands hold no code");
    for vm in [1, 2] {
        assert_eq!(fixture.read(vm, RAM.0), Some(Fixture::private_tag(vm, 0)));
        fixture.unmap(vm, AT).unwrap();
    }
    for page in 0..2000 {
        assert_eq!(on_disk(&path, page), if page % 3 == 0 { 7000 + page } else { page + 1 });
    }
}

#[test]
fn resident_pages_take_frames_from_pageable_ones_and_never_the_other_way() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, 300);
    let mut fixture = Fixture::new(256 * PAGE, &[("cache", 100 * PAGE, false, true)]);
    fixture.add_vm(1, SV39, u64::MAX);
    pageable(&mut fixture, &path, 300, true);
    fixture.map(&whole(1, "data", AT)).unwrap();
    for page in 0..300 {
        assert_eq!(fixture.read(1, AT + page * PAGE), Some(page + 1));
    }
    assert_eq!(fixture.host.frames.free_bytes(), 0);
    // The promise was made before; the present owner of the frames gives them back.
    fixture.create("cache", 100 * PAGE, Lifetime::Temporary);
    fixture.map(&whole(1, "cache", AT + GIB)).unwrap();
    for page in 0..100 {
        assert!(fixture.write(1, AT + GIB + page * PAGE, 9000 + page));
    }
    for page in 0..300 {
        assert_eq!(fixture.read(1, AT + page * PAGE), Some(page + 1));
    }
    let faults = fixture.manager.faults(Vmid(1));
    for page in 0..100 {
        assert_eq!(fixture.access(1, AT + GIB + page * PAGE, Access::Read).1, 0, "valid for the life of the section");
    }
    assert_eq!(fixture.manager.faults(Vmid(1)), faults);
}

#[test]
fn what_the_rights_do_not_allow_is_the_guests_fault() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, 4);
    let mut fixture = Fixture::new(16 * MIB, &[]);
    fixture.add_vm(1, SV39, 10);
    pageable(&mut fixture, &path, 4, false);
    assert!(matches!(fixture.map(&whole(1, "data", AT)), Err(SectionMapError::ReadOnlyFile(_))));
    fixture.map(&whole(1, "data", AT).read_only()).unwrap();
    for touched in [false, true] {
        assert_eq!(fixture.fault(1, Gpa(AT), Access::Write).unwrap(), SectionFault::Denied(Denial::ReadOnly));
        assert_eq!(fixture.access(1, AT, Access::Write).0, None);
        assert_eq!(fixture.read(1, AT), Some(1), "{touched}");
    }
    assert_eq!(fs::read(&path).unwrap().len() as u64, 4 * PAGE);
    fixture.create("fluid", 2 * MIB - PAGE, Lifetime::Temporary);
    fixture.map(&whole(1, "fluid", AT + GIB)).unwrap();
    let end = Gpa(AT + GIB + 2 * MIB - PAGE);
    assert_eq!(fixture.fault(1, end, Access::Read).unwrap(), SectionFault::Denied(Denial::Beyond));
}

#[test]
fn a_file_that_fails_ends_the_access_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, 4);
    let mut fixture = Fixture::new(16 * MIB, &[]);
    fixture.add_vm(1, SV39, 10);
    let id = pageable(&mut fixture, &path, 4, true);
    fixture.map(&whole(1, "data", AT)).unwrap();
    assert_eq!(fixture.read(1, AT), Some(1));
    fs::write(&path, [0; 4096]).unwrap();
    let owned = fixture.owned();
    let error = fixture.fault(1, Gpa(AT + 2 * PAGE), Access::Read).unwrap_err().to_string();
    assert!(error.contains("section data, page 2") && error.contains(path.to_str().unwrap()), "{error}");
    assert_eq!((fixture.owned(), fixture.manager.working_set(Vmid(1))), (owned, 1));
    assert_eq!(fixture.read(1, AT), Some(1));
    assert_eq!(fixture.manager.sections().get(id).unwrap().faults.disk, 1);
}

#[test]
fn a_section_whose_file_takes_no_more_stays_to_be_deleted_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, 4);
    let mut fixture = Fixture::new(16 * MIB, &[]);
    fixture.add_vm(1, SV39, 10);
    // Mapped for reading; that a page is modified all the same is made up.
    let id = pageable(&mut fixture, &path, 4, false);
    fixture.map(&whole(1, "data", AT).read_only()).unwrap();
    assert_eq!(fixture.read(1, AT), Some(1));
    let table = fixture.tables.get_mut(&Vmid(1)).unwrap();
    table.grant(&fixture.host.memory, Gpa(AT), crate::table::LeafBits::DIRTY);
    let error = fixture.unmap(1, AT).unwrap_err();
    assert!(matches!(error, SectionUnmapError::Delete(DeleteError::Write { .. })), "{error}");
    assert_eq!(fixture.manager.windows(Vmid(1)).count(), 0);
    assert_eq!(fixture.manager.sections().get(id).unwrap().mappers(), 0);
    assert_eq!(fixture.read(1, AT), None, "it is in no table and no TLB");
}
