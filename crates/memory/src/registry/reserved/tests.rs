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
    assert_eq!(reserved.free(&mut host, &name("cache")), Ok(8 * PAGES + 5));
    assert_eq!((host.frames.owned_bytes(), reserved.fluid().count()), (0, 64 * PAGES));
    assert_eq!(reserved.free(&mut host, &name("cache")), Ok(0), "there is nothing left");
    assert_eq!(reserved.free(&mut host, &name("other")), Err(NotReserved(name("other"))));
    let grant = reserved.acquire(&name("cache"), 8 * PAGES).unwrap();
    assert_eq!((grant.data, grant.source), (DataGrant::Fluid, Source::FluidPages(Fallback::Reserved(0))));
    reserved.release(&host.memory, &grant).unwrap();
    assert_eq!(reserved.fluid().count(), 64 * PAGES);
}

#[test]
fn of_a_reservation_in_use_only_the_rest_is_freed() {
    let (mut host, mut reserved) = host(alloc(true), 0);
    let grant = reserved.acquire(&name("cache"), 3 * PAGES).unwrap();
    assert_eq!(reserved.free(&mut host, &name("cache")), Ok(5 * PAGES + 2));
    assert_eq!(host.frames.owned_bytes(), 3 * MIB + 3 * PAGE);
    let next: Hpa = host.frames.free_runs().next().unwrap().start();
    assert_eq!(next, HOST_BASE.wrapping_add(3 * MIB));
    assert_eq!(reserved.free(&mut host, &name("cache")), Ok(0));
    reserved.release(&host.memory, &grant).unwrap();
    assert_eq!(reserved.acquire(&name("cache"), 3 * PAGES).unwrap().source, Source::Reservation, "the rest is kept");
    assert_eq!(reserved.fluid().count(), 61 * PAGES - 3);
}

#[test]
fn of_a_fallback_in_use_nothing_is_freed() {
    let (mut host, mut reserved) = host(Change { freed: Some(true), ..Change::default() }, 0);
    let _grant = reserved.acquire(&name("cache"), PAGES).unwrap();
    assert_eq!(reserved.free(&mut host, &name("cache")), Ok(0));
    assert_eq!(reserved.fluid().count(), 63 * PAGES - 1);
}

#[test]
fn what_is_refused_is_named_and_falls_back_as_well() {
    let (_, mut reserved) = host(alloc(true), 57 * PAGES);
    assert!(reserved.refused()[0].to_string().contains("cache"));
    assert_eq!(reserved.fluid().count(), 64 * PAGES);
    assert_eq!(reserved.acquire(&name("cache"), PAGES).unwrap().source, Source::FluidPages(Fallback::Reserved(0)));
}
