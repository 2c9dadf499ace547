use super::super::{FileCounts, SectionKind};
use super::*;
use crate::registry::{Change, Granularities, Registry, Reservation, Scope, Source};
use crate::{HOST_BASE, HostPages};
use std::fs;
use std::path::PathBuf;

const MIB: u64 = 1 << 20;

fn name(text: &str) -> SectionName {
    SectionName::new(text, Scope::System).unwrap()
}

/// A host of 32 MiB with 8 MiB set aside for `cache`, and 2 MiB promised to `fluid`.
fn host(zeroed: bool) -> (Host, Sections) {
    let mut registry = Registry::default();
    for (text, bytes, alloc) in [("cache", 8 * MIB, true), ("fluid", 2 * MIB, false)] {
        registry.add(Reservation::new(name(text), bytes).unwrap()).unwrap();
        let change = Change { alloc: Some(alloc), zeroed: Some(alloc && zeroed), ..Change::default() };
        registry.modify(&name(text), change).unwrap();
    }
    let mut host = Host::new(32 * MIB, HostPages::Base).unwrap();
    let reserved = ReservedMemory::honour(&registry, &mut host, 0, Granularities::RISCV).unwrap();
    assert!(reserved.refused().is_empty());
    (host, Sections::new(reserved))
}

/// A file whose page `n` is full of `n + 1`.
fn file(directory: &tempfile::TempDir, pages: u8) -> PathBuf {
    let path = directory.path().join("data");
    let content: Vec<u8> = (0..pages).flat_map(|page| [page + 1; PAGE as usize]).collect();
    fs::write(&path, content).unwrap();
    path
}

fn free(host: &mut Host, vacated: Vacated) {
    for range in vacated.frames {
        host.frames.free(range).unwrap();
    }
}

#[test]
fn the_registry_decides_between_alloc_and_fluid() {
    let (mut host, mut sections) = host(true);
    let mut create = |text, bytes| {
        let (id, preparation) = sections.create_resident(&host.memory, name(text), bytes, Lifetime::Temporary).unwrap();
        let section = sections.get(id).unwrap();
        (id, preparation, section.kind(), section.grant().unwrap().source)
    };
    let cache = create("cache", 8 * MIB);
    let frames = FrameRange::new(HOST_BASE, 8 * MIB).unwrap();
    assert_eq!((cache.1, cache.2), (Preparation::Alloc { cleared: 0 }, SectionKind::Alloc(frames)));
    let fluid = create("fluid", 2 * MIB);
    assert_eq!((fluid.1, fluid.2, fluid.3), (Preparation::Fluid, SectionKind::Fluid, Source::Reservation));
    let other = create("other", MIB);
    assert!(matches!((other.2, other.3), (SectionKind::Fluid, Source::FluidPages(_))));
    // All pages of ALLOC are valid; one of FLUID is when it is touched.
    let cache = cache.0;
    assert_eq!(sections.page(&mut host, cache, 3).unwrap(), (HOST_BASE.wrapping_add(3 * PAGE), FaultKind::GlobalValid));
    assert_eq!(sections.get(fluid.0).unwrap().valid(5), None);
    let (frame, kind) = sections.page(&mut host, fluid.0, 5).unwrap();
    assert_eq!((kind, sections.get(fluid.0).unwrap().valid(5)), (FaultKind::DemandZero, Some(frame)));
    assert_eq!(sections.page(&mut host, fluid.0, 5).unwrap(), (frame, FaultKind::GlobalValid));
    assert_eq!(
        sections.get(fluid.0).unwrap().faults,
        FaultCounts { global_valid: 1, demand_zero: 1, ..Default::default() }
    );
    assert!(matches!(sections.page(&mut host, fluid.0, 512), Err(PageError::NoSuchPage(512))));
}

#[test]
fn pages_that_were_not_cleared_beforehand_are_when_the_section_is_made() {
    let (host, mut sections) = host(false);
    for _ in 0..2 {
        let (id, preparation) =
            sections.create_resident(&host.memory, name("cache"), 4 * MIB, Lifetime::Temporary).unwrap();
        assert_eq!(preparation, Preparation::Alloc { cleared: 1024 });
        assert_eq!(host.memory.read::<u64>(HOST_BASE.wrapping_add(MIB)), Ok(0));
        host.memory.write(HOST_BASE.wrapping_add(MIB), 77_u64).unwrap();
        let vacated = sections.delete(&host.memory, id).unwrap();
        assert_eq!(vacated, Vacated { frames: vec![], reserved: FrameRange::new(HOST_BASE, 4 * MIB) });
    }
}

#[test]
fn a_section_in_use_is_not_deleted_and_its_last_mapper_gives_its_memory_back() {
    let (mut host, mut sections) = host(true);
    let before = (host.frames.owned_bytes(), sections.reserved().fluid());
    let (id, _) = sections.create_resident(&host.memory, name("other"), MIB, Lifetime::Temporary).unwrap();
    sections.attach(id).unwrap();
    sections.attach(id).unwrap();
    for page in [3, 4, 9] {
        sections.page(&mut host, id, page).unwrap();
    }
    assert!(matches!(sections.delete(&host.memory, id), Err(DeleteError::InUse { mappers: 2, .. })));
    assert_eq!(sections.detach(&host.memory, id).unwrap(), Vacated::default());
    let vacated = sections.detach(&host.memory, id).unwrap();
    assert_eq!(vacated.frames.iter().map(|range| range.bytes()).sum::<u64>(), 3 * PAGE);
    free(&mut host, vacated);
    assert_eq!((host.frames.owned_bytes(), sections.reserved().fluid()), before);
    assert!(sections.get(id).is_none() && sections.find(&name("other")).is_none());
    assert!(matches!(sections.delete(&host.memory, id), Err(DeleteError::Absent(_))));
    assert!(matches!(sections.attach(id), Err(NoSuchSection)));
}

#[test]
fn a_permanent_section_outlives_its_mappers() {
    let (mut host, mut sections) = host(true);
    let (id, _) = sections.create_resident(&host.memory, name("fluid"), MIB, Lifetime::Permanent).unwrap();
    sections.attach(id).unwrap();
    let (frame, _) = sections.page(&mut host, id, 0).unwrap();
    host.memory.write(frame, 5_u64).unwrap();
    assert_eq!(sections.detach(&host.memory, id).unwrap(), Vacated::default());
    sections.attach(id).unwrap();
    let (again, kind) = sections.page(&mut host, id, 0).unwrap();
    assert_eq!((again, kind, host.memory.read::<u64>(again)), (frame, FaultKind::GlobalValid, Ok(5)));
    let _ = sections.detach(&host.memory, id).unwrap();
    let vacated = sections.delete(&host.memory, id).unwrap();
    free(&mut host, vacated);
}

#[test]
fn what_cannot_be_created_is_refused_and_takes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, 3);
    let (host, mut sections) = host(true);
    let before = sections.reserved().fluid();
    let mut resident = |text, bytes| {
        sections.create_resident(&host.memory, name(text), bytes, Lifetime::Temporary).unwrap_err().to_string()
    };
    for bytes in [0, 1, PAGE + 1, u64::MAX, 1 << 60] {
        assert!(resident("other", bytes).contains("other"));
    }
    let starved = resident("other", 64 * MIB);
    assert!(starved.contains("other") && starved.contains("16417"), "{starved}");
    let mut pageable = |text, pages, writable| {
        let file = BackingFile::open(&path, writable).unwrap();
        sections.create_pageable(name(text), pages * PAGE, file, Lifetime::Temporary)
    };
    assert!(matches!(pageable("a", 4, true), Err(CreateError::BeyondFile { file, .. }) if file == 3 * PAGE));
    pageable("a", 3, false).unwrap();
    pageable("b", 2, false).unwrap();
    assert!(matches!(pageable("a", 1, false), Err(CreateError::Exists(_))));
    assert!(matches!(pageable("c", 1, true), Err(CreateError::FileInUse { .. })), "a reader would not see its writes");
    assert_eq!(sections.reserved().fluid(), before);
}

#[test]
fn a_pageable_page_goes_from_disk_to_valid_to_listed_and_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, 4);
    let (mut host, mut sections) = host(true);
    let file = BackingFile::open(&path, true).unwrap();
    let id = sections.create_pageable(name("data"), 4 * PAGE, file, Lifetime::Permanent).unwrap();
    sections.attach(id).unwrap();
    let (frame, kind) = sections.page(&mut host, id, 2).unwrap();
    assert_eq!((kind, host.memory.read::<u8>(frame)), (FaultKind::Disk, Ok(3)));
    assert_eq!(sections.page(&mut host, id, 2).unwrap(), (frame, FaultKind::GlobalValid));
    sections.drop_page(id, 2, false);
    assert!(sections.reclaim(&host.memory).unwrap().is_none(), "one VM still maps it");
    host.memory.write(frame, 99_u8).unwrap();
    sections.drop_page(id, 2, true);
    assert_eq!(sections.page(&mut host, id, 2).unwrap(), (frame, FaultKind::Listed), "it was still in memory");
    sections.drop_page(id, 2, false);
    let vacated = sections.reclaim(&host.memory).unwrap().unwrap();
    assert_eq!(vacated.frames, [FrameRange::new(frame, PAGE).unwrap()]);
    free(&mut host, vacated);
    assert_eq!(fs::read(&path).unwrap()[2 * PAGE as usize], 99, "it was modified once, so it was written");
    let (frame, kind) = sections.page(&mut host, id, 2).unwrap();
    assert_eq!((kind, host.memory.read::<u8>(frame)), (FaultKind::Disk, Ok(99)));
    let section = sections.get(id).unwrap();
    assert_eq!(section.faults, FaultCounts { global_valid: 1, demand_zero: 0, listed: 1, disk: 2 });
    assert_eq!(section.file_counts(), FileCounts { reads: 2, writes: 1 });
}

#[test]
fn unmodified_pages_are_reclaimed_first_and_each_list_by_age() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, 5);
    let (mut host, mut sections) = host(true);
    let file = BackingFile::open(&path, true).unwrap();
    let id = sections.create_pageable(name("data"), 5 * PAGE, file, Lifetime::Permanent).unwrap();
    let frames: Vec<Hpa> = (0..5).map(|page| sections.page(&mut host, id, page).unwrap().0).collect();
    for (page, modified) in [(1, true), (3, false), (0, true), (2, false)] {
        sections.drop_page(id, page, modified);
    }
    let mut order = Vec::new();
    while let Some(vacated) = sections.reclaim(&host.memory).unwrap() {
        order.extend(frames.iter().position(|&frame| frame == vacated.frames[0].start()));
        free(&mut host, vacated);
    }
    assert_eq!(order, [3, 2, 1, 0]);
    assert_eq!(sections.get(id).unwrap().valid(4), Some(frames[4]), "what is mapped stays");
}

#[test]
fn deleting_a_pageable_section_writes_what_is_modified() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, 3);
    let (mut host, mut sections) = host(true);
    let owned = host.frames.owned_bytes();
    let file = BackingFile::open(&path, true).unwrap();
    let id = sections.create_pageable(name("data"), 3 * PAGE, file, Lifetime::Temporary).unwrap();
    sections.attach(id).unwrap();
    for page in 0..3 {
        let (frame, _) = sections.page(&mut host, id, page).unwrap();
        host.memory.write(frame, 0xee_u8).unwrap();
        sections.drop_page(id, page, page == 1);
    }
    let vacated = sections.detach(&host.memory, id).unwrap();
    free(&mut host, vacated);
    assert_eq!(host.frames.owned_bytes(), owned);
    let content = fs::read(&path).unwrap();
    assert_eq!([content[0], content[4096], content[8192]], [1, 0xee, 3], "only what is said to be modified");
    assert!(sections.reclaim(&host.memory).unwrap().is_none(), "nothing of it is on a list");
}

#[test]
fn a_page_that_cannot_be_written_stays_and_can_be_tried_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, 2);
    let (mut host, mut sections) = host(true);
    // Opened for reading: a write fails as on a disk that does.
    let file = BackingFile::open(&path, false).unwrap();
    let id = sections.create_pageable(name("data"), 2 * PAGE, file, Lifetime::Temporary).unwrap();
    sections.attach(id).unwrap();
    let (frame, _) = sections.page(&mut host, id, 0).unwrap();
    sections.drop_page(id, 0, true);
    assert!(sections.reclaim(&host.memory).unwrap_err().to_string().contains("data"));
    assert!(matches!(sections.detach(&host.memory, id), Err(DeleteError::Write { .. })));
    assert_eq!(sections.get(id).unwrap().mappers(), 0);
    assert!(matches!(sections.delete(&host.memory, id), Err(DeleteError::Write { .. })));
    assert_eq!(sections.page(&mut host, id, 0).unwrap(), (frame, FaultKind::Listed));
}
