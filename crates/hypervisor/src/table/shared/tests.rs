use super::*;
use crate::table::host::SectionTable;
use crate::table::{HostTable, MapError, NestedTable};
use memory::{Host, HostPages};
use types::{Gpa, SecondStageMode, Vmid};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn host() -> Host {
    Host::new(64 * MIB, HostPages::Base).unwrap()
}

fn shared(host: &mut Host, bytes: u64, largest: PageSize) -> SharedTables {
    SharedTables::new(&host.memory, &mut host.frames, bytes, largest, None).unwrap()
}

fn leaf(page: u64, size: PageSize) -> Leaf {
    Leaf { page: Hpa(page), size, bits: LeafBits::FULL }
}

#[test]
fn there_are_as_many_as_the_registry_allows_for() {
    for bytes in [4096, 2 * MIB, 2 * MIB + 4096, GIB, GIB + 4096, 5 * GIB, 8 * GIB] {
        let mut host = host();
        let tables = shared(&mut host, bytes, PageSize::Size4K);
        assert_eq!(tables.count(), memory::registry::table_pages(bytes), "{bytes:#x}");
        assert_eq!(host.frames.owned_bytes(), tables.count() * 4096);
        let top = (0..=tables.top()).filter(|&level| tables.is_linkable(level)).count() as u32;
        assert_eq!(top, tables.top() + 1, "every level can be linked");
        tables.free(&mut host.frames);
        assert_eq!(host.frames.owned_bytes(), 0);
    }
}

#[test]
fn reserved_frames_are_used_first_and_cleared() {
    let mut host = host();
    let reserved = host.frames.allocate_contiguous(&host.memory, 3 * 4096, PageSize::Size4K).unwrap();
    host.memory.write_slice(reserved.start(), &[0xff; 3 * 4096]).unwrap();
    let owned = host.frames.owned_bytes();
    let make = |host: &mut Host, bytes| {
        SharedTables::new(&host.memory, &mut host.frames, bytes, PageSize::Size4K, Some(reserved)).unwrap()
    };
    let two = make(&mut host, 4 * MIB);
    assert_eq!((two.count(), host.frames.owned_bytes()), (3, owned));
    assert_eq!(host.memory.read::<u64>(two.table(0, 0).unwrap()), Ok(0));
    two.free(&mut host.frames);
    let four = make(&mut host, 8 * MIB);
    assert_eq!((four.count(), host.frames.owned_bytes()), (5, owned + 2 * 4096));
    four.free(&mut host.frames);
    assert_eq!(host.frames.owned_bytes(), owned, "the reserved ones stay");
}

#[test]
fn superpages_have_no_tables_below_them_and_the_tail_has() {
    let mut host = host();
    let bytes = GIB + 4 * MIB + 65536;
    let tables = shared(&mut host, bytes, PageSize::Size2M);
    // A leaf table for the tail, two of level 1, one of level 2.
    assert_eq!(tables.count(), 1 + 2 + 1);
    assert_eq!((0..3).map(|level| tables.is_linkable(level)).collect::<Vec<_>>(), [false, true, true]);
    assert_eq!((tables.table(0, 0), tables.table(0, GIB + 4 * MIB).is_some()), (None, true));
    let tables = shared(&mut host, GIB, PageSize::Size1G);
    assert_eq!((tables.count(), tables.top(), tables.is_linkable(1)), (1, 2, false));
}

#[test]
fn running_out_of_frames_takes_none() {
    let mut host = Host::new(8 * 4096, HostPages::Base).unwrap();
    assert!(SharedTables::new(&host.memory, &mut host.frames, 64 * MIB, PageSize::Size4K, None).is_err());
    assert_eq!(host.frames.owned_bytes(), 0);
}

/// Two VMs, a section of three leaf tables of which the last is used in part, linked at every level that there is.
#[test]
fn what_is_mapped_once_is_seen_by_all_and_nothing_beyond_it() {
    for mode in [SecondStageMode::Sv39x4, SecondStageMode::Sv48x4, SecondStageMode::Sv57x4] {
        for level in 0..mode.levels() - 1 {
            let mut host = host();
            let (memory, frames) = (&host.memory, &mut host.frames);
            let bytes = 4 * MIB + 0x3000;
            let mut tables = SharedTables::new(memory, frames, bytes, PageSize::Size4K, None).unwrap();
            if !tables.is_linkable(level) {
                continue;
            }
            let mut vms = [1, 2].map(|vmid| NestedTable::new(memory, frames, mode, Vmid(vmid)).unwrap());
            let span = PageSize::of_level(level + 1).bytes();
            for (vm, table) in vms.iter_mut().enumerate() {
                let at = (vm as u64 + 1) * 4 * span.max(GIB);
                for offset in (0..bytes).step_by(span as usize) {
                    let linked = tables.table(level, offset).unwrap();
                    table.link(memory, frames, Gpa(at + offset), level, linked).unwrap();
                    assert_eq!(table.linked(memory, Gpa(at + offset + 8)), Some((linked, level)));
                }
            }
            // After they were linked: nothing is to be flushed.
            for offset in [0, 2 * MIB - 4096, 2 * MIB, bytes - 4096] {
                tables.map(memory, 0, offset, leaf(0x1_0000_0000 + offset, PageSize::Size4K));
            }
            for (vm, table) in vms.iter_mut().enumerate() {
                let at = (vm as u64 + 1) * 4 * span.max(GIB);
                let see = |offset: u64| table.lookup(memory, Gpa(at + offset)).map(|leaf| leaf.page.0);
                assert_eq!(see(0x10), Some(0x1_0000_0000));
                assert_eq!(see(2 * MIB + 0x123), Some(0x1_0000_0000 + 2 * MIB));
                assert_eq!(see(bytes - 1), Some(0x1_0000_0000 + bytes - 4096));
                assert_eq!((see(bytes), see(6 * MIB - 1), see(0x1000)), (None, None, None));
                // Nothing private gets in, and nothing of it is changed through one VM.
                let private = leaf(0x9000_0000, PageSize::Size4K);
                for offset in [0x1000, bytes, 6 * MIB - 4096] {
                    let gpa = Gpa(at + offset);
                    assert_eq!(table.map(memory, frames, gpa, private), Err(MapError::Occupied(gpa.0)));
                    assert_eq!(table.map_at(memory, frames, 0, gpa, private), Err(MapError::Occupied(gpa.0)));
                    assert!(table.add_leaf_table(memory, frames, gpa).is_err());
                }
                assert!(table.take(memory, Gpa(at)).is_none());
                table.grant(memory, Gpa(at), LeafBits::GLOBAL);
                assert_eq!(table.lookup(memory, Gpa(at)).unwrap().bits, LeafBits::FULL | LeafBits::USER);
            }
            // A VM that ends leaves the tables alone, and so does one that only unlinks.
            let [first, mut second] = vms;
            let owned = frames.owned_bytes();
            Box::new(first).free(memory, frames);
            assert!(owned > frames.owned_bytes());
            let at = 8 * span.max(GIB);
            let range = Gpa(at)..Gpa(at + bytes.next_multiple_of(span));
            let cleared = second.clear(memory, &range, &mut |gpa, _| panic!("{gpa} is the section's"));
            assert_eq!(cleared.work.links, bytes.div_ceil(span) + cleared.tables.len() as u64);
            assert_eq!(second.lookup(memory, Gpa(at)), None);
            assert_eq!(host.memory.read::<u64>(tables.table(0, 0).unwrap()).unwrap() & 1, 1);
        }
    }
}

#[test]
fn what_cannot_be_linked_is_refused() {
    let mut host = host();
    let (memory, frames) = (&host.memory, &mut host.frames);
    let tables = SharedTables::new(memory, frames, 4 * MIB, PageSize::Size4K, None).unwrap();
    let mut vm = NestedTable::new(memory, frames, SecondStageMode::Sv39x4, Vmid(1)).unwrap();
    let table = tables.table(0, 0).unwrap();
    let mut link = |gpa, level| vm.link(memory, frames, Gpa(gpa), level, table).unwrap_err();
    assert!(matches!(link(MIB, 0), MapError::Misaligned { .. }));
    assert!(matches!(link(2 * MIB, 1), MapError::Misaligned { .. }));
    assert_eq!(link(0, 2), MapError::Size(PageSize::Size512G), "nothing leads to the root");
    assert!(matches!(link(1 << 41, 0), MapError::Beyond { .. }));
    vm.map(memory, frames, Gpa(0x5000), leaf(0x9000_0000, PageSize::Size4K)).unwrap();
    assert_eq!(vm.link(memory, frames, Gpa(0), 0, table), Err(MapError::Occupied(0)), "private pages are there");
    vm.link(memory, frames, Gpa(2 * MIB), 0, table).unwrap();
    assert_eq!(vm.link(memory, frames, Gpa(2 * MIB), 0, table), Err(MapError::Occupied(2 * MIB)));
}
