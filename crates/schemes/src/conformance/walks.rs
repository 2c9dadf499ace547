//! Accesses of a guest, in every mode of both dimensions.

use super::fixture::{self, Fixture, RAM};
use crate::facts::Facts;
use crate::scheme::SchemeRef;
use crate::services::{Service, ServiceName};
use crate::worst_case::WorstCase;
use hypervisor::{Leaf, LeafBits};
use types::{Access, Gpa, Gva, Hpa, PageSize, PagingMode, SecondStageMode};

const GUEST_MODES: [PagingMode; 3] = [PagingMode::Sv39, PagingMode::Sv48, PagingMode::Sv57];
const HOST_MODES: [SecondStageMode; 3] = [SecondStageMode::Sv39x4, SecondStageMode::Sv48x4, SecondStageMode::Sv57x4];
const PAGE: u64 = PageSize::Size4K.bytes();
/// The guest's tables, from the root on.
const TABLES: Gpa = RAM;
/// Pages that it uses: each has a table of the last level of its own.
const PAGES: u64 = 64;
/// The first page that its tables map, and what lies between two of them.
const DATA: Gpa = Gpa(RAM.0 + (16 << 20));
const SPREAD: u64 = PageSize::Size2M.bytes() + PAGE;
/// Intervals after which tables that the guest does not store to are shadowed.
const INTERVALS: u32 = 3;
const FIRST: Gva = Gva(0x10_0000_0000);

/// Where the page of a number is, in both spaces.
const fn page(number: u64) -> (Gva, Gpa) {
    (FIRST.wrapping_add(number * SPREAD), DATA.wrapping_add(number * 3 % PAGES * PAGE))
}

/// The word that the guest has put there.
const fn word(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

/// Checks that accesses arrive, and how much the longest walk takes.
///
/// # Panics
/// With what is wrong.
pub fn check(scheme: SchemeRef) {
    let Facts { name, segments, .. } = scheme.facts();
    for guest in GUEST_MODES {
        for host in HOST_MODES {
            let mut fixture = Fixture::new(scheme, host);
            write_tables(&mut fixture, guest);
            (0..PAGES).for_each(|number| fixture.write(page(number).1, word(number)));
            fixture.set_context(guest, TABLES);
            fixture.set_segments(None);
            let longest = longest_walk(&mut fixture);
            let closed = scheme.worst_case(guest.levels(), host.levels());
            let walked = if segments.has_guest() { in_segment(&mut fixture) } else { longest };
            assert_eq!(walked, closed, "{name}: {guest:?} on {host:?}");
            fixture.check_shadow();
            if settles(&mut fixture, scheme) {
                let settled = longest_walk(&mut fixture);
                assert!(settled.references <= closed.references, "{name}: {settled:?} of {guest:?} on {host:?}");
                fixture.check_shadow();
            }
            if scheme.facts().services.of(ServiceName::Ballooning) == Service::Yes {
                balloon(&mut fixture);
            }
        }
    }
}

/// Whether the hypervisor looks at intervals at which tables it shadows: then some pass.
fn settles(fixture: &mut Fixture, scheme: SchemeRef) -> bool {
    let shadow = scheme.shadow(&fixture::memory(SecondStageMode::Sv39x4));
    let has_intervals = shadow.is_some_and(|shadow| shadow.config.interval_us().is_some());
    if has_intervals {
        (0..INTERVALS).for_each(|_| fixture.end_interval());
    }
    has_intervals
}

/// The guest's tables, with a table of the last level for each page.
fn write_tables(fixture: &mut Fixture, mode: PagingMode) {
    let mut free = TABLES.wrapping_add(PAGE);
    let mut tables = std::collections::BTreeMap::new();
    for (gva, gpa) in (0..PAGES).map(page) {
        let mut table = TABLES;
        for level in (1..mode.levels()).rev() {
            let at = table.wrapping_add((gva.0 >> (12 + 9 * level) & 511) * 8);
            table = *tables.entry(at).or_insert_with(|| {
                let below = free;
                free = free.wrapping_add(PAGE);
                fixture.write(at, below.0 >> 2 | 1);
                below
            });
        }
        let leaf =
            Leaf { page: Hpa(gpa.0), size: PageSize::Size4K, bits: LeafBits::RWX | LeafBits::of_access(Access::Write) };
        fixture.write(table.wrapping_add((gva.0 >> 12 & 511) * 8), leaf.entry());
    }
    assert!(free < DATA, "tables and pages lie apart");
}

/// Every page is accessed, on its own bytes; the longest walk.
fn longest_walk(fixture: &mut Fixture) -> WorstCase {
    let mut longest = WorstCase::sequential(0);
    for number in 0..PAGES {
        let (gva, gpa) = page(number);
        for access in [Access::Read, Access::Write, Access::Execute] {
            let (hit, counts) =
                fixture.access(gva, access).unwrap_or_else(|fault| panic!("{access:?} of {gva}: {fault:?}"));
            // A shadow table leads to host physical addresses, and no guest physical one comes up.
            if !fixture.vm.is_shadowed() {
                assert_eq!(hit.gpa, gpa, "{access:?} of {gva}");
            }
            assert_eq!(fixture.host.memory.read(hit.hpa), Ok(word(number)), "{access:?} of {gva}, at {}", hit.hpa);
            longest.references = longest.references.max(counts.refs() as u32);
            longest.steps = longest.steps.max(counts.steps() as u32);
        }
    }
    longest
}

/// The walk of an access inside the guest's segment.
fn in_segment(fixture: &mut Fixture) -> WorstCase {
    let (gva, gpa) = page(0);
    fixture.set_segments(Some((gva..gva.wrapping_add(PAGE), gpa)));
    let (hit, counts) =
        fixture.access(gva, Access::Write).unwrap_or_else(|fault| panic!("inside the segment: {fault:?}"));
    assert_eq!(fixture.host.memory.read(hit.hpa), Ok(word(0)), "inside the segment");
    fixture.set_segments(None);
    WorstCase { references: counts.refs() as u32, steps: counts.steps() as u32 }
}

/// A page that is taken away is not found, and comes back empty.
fn balloon(fixture: &mut Fixture) {
    let (gva, gpa) = page(7);
    assert!(fixture.discard(gpa), "the page at {gpa} has a frame");
    assert!(fixture.try_access(gva, Access::Read).is_err(), "{gva} is found after its page was taken away");
    let (hit, _) =
        fixture.access(gva, Access::Read).unwrap_or_else(|fault| panic!("{gva}, taken away before: {fault:?}"));
    assert_eq!(fixture.host.memory.read(hit.hpa), Ok(0_u64), "a page that comes back is empty");
}
