use super::super::{Change, Scope};
use super::*;
use crate::{HOST_BASE, HostPages};
use types::Hpa;

const MIB: u64 = 1 << 20;
const PAGES: u64 = MIB / PAGE;

fn name(text: &str) -> SectionName {
    SectionName::new(text, Scope::System).unwrap()
}

/// A host of 64 MiB, and on it a reservation of 8 MiB for `cache`.
fn host(change: Change, minimum_fluid: u64) -> (Host, ReservedMemory) {
    let mut registry = Registry::default();
    registry.add(Reservation::new(name("cache"), 8 * MIB).unwrap()).unwrap();
    registry.modify(&name("cache"), change).unwrap();
    let mut host = Host::new(64 * MIB, HostPages::Base).unwrap();
    let reserved = ReservedMemory::honour(&registry, &mut host, minimum_fluid, Granularities::RISCV).unwrap();
    (host, reserved)
}

fn alloc(zeroed: bool) -> Change {
    Change { alloc: Some(true), zeroed: Some(zeroed), ..Change::default() }
}

fn range(offset: u64, bytes: u64) -> FrameRange {
    FrameRange::new(HOST_BASE.wrapping_add(offset), bytes).unwrap()
}

#[test]
fn preallocated_pages_are_taken_at_the_start_and_given_to_their_name() {
    let (host, mut reserved) = host(alloc(true), 0);
    assert_eq!(host.frames.owned_bytes(), 8 * MIB + 5 * PAGE);
    assert_eq!(reserved.fluid().count(), 56 * PAGES - 5);
    let grant = reserved.acquire(&name("cache"), 8 * PAGES).unwrap();
    assert_eq!(grant.data, DataGrant::Alloc { frames: range(0, 8 * MIB), zeroed: true });
    assert_eq!(grant.tables, TableGrant::Shared { pages: 5, frames: Some(range(8 * MIB, 5 * PAGE)) });
    assert_eq!(grant.source, Source::Reservation);
    assert_eq!(reserved.fluid().count(), 56 * PAGES - 5, "what is reserved is deducted once");
    assert_eq!(reserved.acquire(&name("cache"), 1), Err(AcquireError::InUse(name("cache"))));
    reserved.release(&host.memory, &grant).unwrap();
    assert_eq!(host.frames.owned_bytes(), 8 * MIB + 5 * PAGE, "they stay with their name");
    assert_eq!(reserved.acquire(&name("cache"), 8 * PAGES), Ok(grant));
}

#[test]
fn what_a_section_left_is_cleared_before_the_next_or_said_to_be_there() {
    for zeroed in [true, false] {
        let (host, mut reserved) = host(alloc(zeroed), 0);
        let grant = reserved.acquire(&name("cache"), 8 * PAGES).unwrap();
        host.memory.write(HOST_BASE, 7_u64).unwrap();
        reserved.release(&host.memory, &grant).unwrap();
        let grant = reserved.acquire(&name("cache"), 4).unwrap();
        assert_eq!(grant.data, DataGrant::Alloc { frames: range(0, 4 * PAGE), zeroed });
        assert_eq!(host.memory.read::<u64>(HOST_BASE), Ok(if zeroed { 0 } else { 7 }));
        reserved.release(&host.memory, &grant).unwrap();
    }
}

#[test]
fn a_fluid_reservation_promises_pages_and_takes_none() {
    let (host, mut reserved) = host(Change::default(), 0);
    assert_eq!((host.frames.owned_bytes(), reserved.fluid().count()), (0, 56 * PAGES - 5));
    let grant = reserved.acquire(&name("cache"), 8 * PAGES).unwrap();
    assert_eq!((grant.data, grant.source), (DataGrant::Fluid, Source::Reservation));
    assert_eq!(grant.tables, TableGrant::Shared { pages: 5, frames: None });
    reserved.release(&host.memory, &grant).unwrap();
    assert_eq!(reserved.fluid().count(), 56 * PAGES - 5);
}

#[test]
fn who_has_no_reservation_takes_fluid_pages_down_to_the_minimum() {
    let (host, mut reserved) = host(Change { page_tables: Some(false), ..Change::default() }, 50 * PAGES);
    let grant = reserved.acquire(&name("other"), 5 * PAGES).unwrap();
    assert_eq!(grant.source, Source::FluidPages(Fallback::NotReserved));
    assert_eq!(
        grant.tables,
        TableGrant::Shared { pages: 4, frames: None },
        "shared unless the registry says otherwise"
    );
    let error = reserved.acquire(&name("third"), PAGES).unwrap_err();
    let starved = Starved { wanted: PAGES + 1, count: 51 * PAGES - 4, minimum: 50 * PAGES };
    assert_eq!(error, AcquireError::Starved { name: name("third"), starved });
    reserved.release(&host.memory, &grant).unwrap();
    assert_eq!(reserved.fluid().count(), 56 * PAGES);
}

#[test]
fn a_section_larger_than_its_reservation_takes_fluid_pages() {
    let (_, mut reserved) = host(Change { page_tables: Some(false), ..alloc(true) }, 0);
    let grant = reserved.acquire(&name("cache"), 9 * PAGES).unwrap();
    assert_eq!((grant.data, grant.source), (DataGrant::Fluid, Source::FluidPages(Fallback::Reserved(8 * PAGES))));
    assert_eq!(grant.tables, TableGrant::Private, "the options are the reservation's all the same");
    assert_eq!(reserved.fluid().count(), 47 * PAGES);
}

#[test]
fn a_freed_reservation_is_anybodys_memory() {
    let (mut host, mut reserved) = host(alloc(true), 0);
    let freed =
        Freed { free_list_pages: 8 * PAGES + 5, returned_pages: 8 * PAGES + 5, kept_pages: 0, fluid_pages: 64 * PAGES };
    assert_eq!(reserved.free(&mut host, &name("cache")), Ok(freed));
    assert_eq!((host.frames.owned_bytes(), reserved.fluid().count()), (0, 64 * PAGES));
    let grant = reserved.acquire(&name("cache"), 8 * PAGES).unwrap();
    assert_eq!((grant.data, grant.source), (DataGrant::Fluid, Source::FluidPages(Fallback::Reserved(0))));
    assert_eq!(reserved.release(&host.memory, &grant), Ok(vec![]));
    assert_eq!(reserved.fluid().count(), 64 * PAGES);
}

#[test]
fn of_a_fluid_reservation_the_count_alone_is_returned() {
    let (mut host, mut reserved) = host(Change::default(), 0);
    let grant = reserved.acquire(&name("cache"), 3 * PAGES).unwrap();
    let freed = Freed {
        free_list_pages: 0,
        returned_pages: 5 * PAGES + 2,
        kept_pages: 3 * PAGES + 3,
        fluid_pages: 61 * PAGES - 3,
    };
    assert_eq!(reserved.free(&mut host, &name("cache")), Ok(freed));
    assert_eq!(reserved.release(&host.memory, &grant), Ok(vec![]));
    assert_eq!(reserved.fluid().count(), 64 * PAGES);
}

/// The part that a section has went back to the reservation when the section ended, and was lost to everyone else.
#[test]
fn what_a_section_has_of_a_freed_reservation_goes_the_same_way_when_the_section_ends() {
    let (mut host, mut reserved) = host(alloc(true), 0);
    let grant = reserved.acquire(&name("cache"), 3 * PAGES).unwrap();
    let freed = Freed {
        free_list_pages: 5 * PAGES + 2,
        returned_pages: 5 * PAGES + 2,
        kept_pages: 3 * PAGES + 3,
        fluid_pages: 61 * PAGES - 3,
    };
    assert_eq!(reserved.free(&mut host, &name("cache")), Ok(freed));
    assert_eq!(host.frames.owned_bytes(), 3 * MIB + 3 * PAGE);
    let next: Hpa = host.frames.free_runs().next().unwrap().start();
    assert_eq!(next, HOST_BASE.wrapping_add(3 * MIB));
    assert_eq!(reserved.free(&mut host, &name("cache")), Err(FreeError::AlreadyFreed(name("cache"))));
    let rest = reserved.release(&host.memory, &grant).unwrap();
    assert_eq!(rest, [range(0, 3 * MIB), range(8 * MIB, 3 * PAGE)], "its pages and its tables");
    assert_eq!(reserved.fluid().count(), 64 * PAGES);
    let next = reserved.acquire(&name("cache"), 3 * PAGES).unwrap();
    assert_eq!(next.source, Source::FluidPages(Fallback::Reserved(0)), "nothing is kept for the name");
}

#[test]
fn of_a_reservation_that_is_all_in_use_nothing_is_returned_yet() {
    let (mut host, mut reserved) = host(alloc(false), 0);
    let grant = reserved.acquire(&name("cache"), 8 * PAGES).unwrap();
    let freed = reserved.free(&mut host, &name("cache")).unwrap();
    assert_eq!((freed.free_list_pages, freed.returned_pages, freed.kept_pages), (0, 0, 8 * PAGES + 5));
    assert_eq!(host.frames.owned_bytes(), 8 * MIB + 5 * PAGE);
    let rest = reserved.release(&host.memory, &grant).unwrap();
    assert_eq!(rest, [range(0, 8 * MIB), range(8 * MIB, 5 * PAGE)]);
    assert_eq!(reserved.fluid().count(), 64 * PAGES);
}

/// A section that is larger than its reservation has fluid pages, and none of the reservation's.
#[test]
fn a_section_with_fluid_pages_keeps_none_of_a_freed_reservation() {
    let (mut host, mut reserved) = host(alloc(true), 0);
    let grant = reserved.acquire(&name("cache"), 9 * PAGES).unwrap();
    let freed = reserved.free(&mut host, &name("cache")).unwrap();
    assert_eq!((freed.free_list_pages, freed.kept_pages), (8 * PAGES + 5, 0));
    assert_eq!(reserved.release(&host.memory, &grant), Ok(vec![]));
    assert_eq!((host.frames.owned_bytes(), reserved.fluid().count()), (0, 64 * PAGES));
}

#[test]
fn what_holds_nothing_is_not_freed() {
    let (mut with, mut reserved) = host(alloc(true), 0);
    assert_eq!(reserved.free(&mut with, &name("other")), Err(FreeError::NotReserved(name("other"))));
    let group = SectionName::new("cache", Scope::Group(1)).unwrap();
    assert_eq!(reserved.free(&mut with, &group), Err(FreeError::NotReserved(group)));
    reserved.free(&mut with, &name("cache")).unwrap();
    assert_eq!(reserved.free(&mut with, &name("cache")), Err(FreeError::AlreadyFreed(name("cache"))));
    let (mut before, mut reserved) = host(Change { freed: Some(true), ..Change::default() }, 0);
    let _grant = reserved.acquire(&name("cache"), PAGES).unwrap();
    assert_eq!(reserved.free(&mut before, &name("cache")), Err(FreeError::AlreadyFreed(name("cache"))));
    assert_eq!(reserved.fluid().count(), 63 * PAGES - 1);
    let (mut starved, mut reserved) = host(alloc(true), 57 * PAGES);
    let why = reserved.refused()[0].why;
    let refused = reserved.free(&mut starved, &name("cache")).unwrap_err();
    assert_eq!(refused, FreeError::NotHonoured { name: name("cache"), why });
    assert_eq!((starved.frames.owned_bytes(), reserved.fluid().count()), (0, 64 * PAGES));
}

#[test]
fn what_is_refused_is_named_and_falls_back_as_well() {
    let (_, mut reserved) = host(alloc(true), 57 * PAGES);
    assert!(reserved.refused()[0].to_string().contains("cache"));
    assert_eq!(reserved.fluid().count(), 64 * PAGES);
    assert_eq!(reserved.acquire(&name("cache"), PAGES).unwrap().source, Source::FluidPages(Fallback::Reserved(0)));
}
