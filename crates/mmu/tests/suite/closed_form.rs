//! References of a walk with every cache off, in every combination of modes and page sizes, against the closed form.
//!
//! A guest walk of g references takes, on a second stage whose walks take h, g × (h + 1) + h: each of its tables is
//! translated and read, and then the page itself is translated. So 2g + 1 with a flat table, where h is 1, and g with reserved memory, where
//! it is 0. A refill routine makes the same references, and its instructions follow from them.

use crate::common::builder::{A, D, R, Shape, Tree, U, W, X, flat, leaf, map_page, pte};
use crate::common::memory::HostMemory;
use mmu::{Cause, Fault, Hit, Memo, Mmu, MmuConfig, MmuStatistics, Refill, RefillRoutine, SecondStage, WalkCaches};
use std::collections::BTreeMap;
use types::{Access, Gpa, Gva, Hpa, PageSize, PagingMode, Privilege, SecondStageMode, TranslationContext, Vmid};

const GUEST_MODES: [PagingMode; 4] = [PagingMode::Bare, PagingMode::Sv39, PagingMode::Sv48, PagingMode::Sv57];
const HOST_MODES: [SecondStageMode; 3] = [SecondStageMode::Sv39x4, SecondStageMode::Sv48x4, SecondStageMode::Sv57x4];

/// Memory enough for a page of any size to be whole.
const MEMORY: u64 = 1 << 52;
/// Whatever the second stage, hPA = gPA + this; aligned to every size.
const OFFSET: u64 = 3 << 48;
const GUEST_ROOT: u64 = 1 << 36;
const HOST_ROOT: u64 = 1 << 20;
const FLAGS: u64 = R | W | X | U | A | D;

/// References of a walk over `levels` to a leaf of that size, or `None` where the mode has no such leaf.
fn refs(levels: u32, size: PageSize) -> Option<u64> {
    let saved = match size {
        PageSize::Size4K | PageSize::Size64K => 0,
        // Granularity hints, which these processors do not take.
        PageSize::Size32K | PageSize::Size256K => return None,
        PageSize::Size2M => 1,
        PageSize::Size1G => 2,
        PageSize::Size512G => 3,
        PageSize::Size256T => 4,
    };
    levels.checked_sub(saved).filter(|&refs| refs > 0).map(u64::from)
}

/// A gPA for a page of that size, as high as the second stage's width allows.
fn gpa_for(size: PageSize, bits: u32) -> u64 {
    let fits = |gpa: &u64| gpa.is_multiple_of(size.bytes()) && *gpa < 1 << bits;
    [1 << 48, 1 << 39, 0].into_iter().find(fits).unwrap()
}

/// No two steps, nor small multiples of them, add up to another.
pub(crate) const ROUTINE: RefillRoutine = RefillRoutine {
    begin: 1,
    guest_level: 100,
    nested_lookup: 10_000,
    nested_level: 1_000_000,
    flat_lookup: 10_000_000,
    reserved_lookup: 20_000_000,
    update: 30_000_000,
    fill: 100_000_000,
};

/// All walks are counted as a routine's: that changes nothing else.
fn mmu(mode: PagingMode) -> Mmu {
    let refill = Refill::Software(ROUTINE);
    let off = MmuConfig { walk_caches: WalkCaches::OFF, nested_tlb: None, refill, ..MmuConfig::default() };
    let mut mmu = Mmu::new(&off).unwrap();
    let privilege = Privilege::User;
    let context = TranslationContext { mode, root: Gpa(GUEST_ROOT), privilege, ..TranslationContext::default() };
    mmu.set_context(&context, Vmid(1));
    mmu
}

/// The walk that has just been made, recorded: as many references, to the same page, and nothing has changed.
fn recorded(mmu: &Mmu, memory: &HostMemory, second: &SecondStage, gva: u64, hit: &Hit) {
    let (mut memory, before) = (memory.clone(), *mmu.statistics());
    let updates = memory.updates.len();
    for memo in [Memo::Empty, Memo::AsItIs] {
        let record = mmu.record_walk(&mut memory, second, Gva(gva), memo).unwrap();
        assert_eq!((record.gpa, record.hpa, record.page), (hit.gpa, hit.hpa, hit.page));
        assert_eq!(record.references() as u64, before.guest_refs + before.host_refs, "{record:x?}");
        // Each step but the last leads to an entry, and that to the next step; levels descend by one.
        let (page, tables) = record.steps.split_last().unwrap();
        assert_eq!((page.gpa, page.hpa, page.entry), (hit.gpa, hit.hpa, None));
        let levels: Vec<u32> = tables.iter().map(|step| step.entry.unwrap().level).collect();
        assert!(levels.iter().zip((0..record.guest_levels).rev()).all(|(&level, expected)| level == expected));
        for step in &record.steps {
            let levels = step.references.iter().map(|reference| reference.level);
            assert!(levels.zip((0..record.host_levels).rev()).all(|(level, expected)| level == expected), "{step:x?}");
            assert!(step.entry.is_none_or(|entry| entry.at == step.hpa));
            for reference in step.references.iter().chain(&step.entry) {
                assert_eq!(reference.entry, memory.peek(reference.at.0));
            }
        }
    }
    assert_eq!((*mmu.statistics(), memory.updates.len()), (before, updates));
}

/// Tables of the guest that map gVA 0 to `gpa`.
fn guest_tables(memory: &mut HostMemory, mode: PagingMode, size: PageSize, gpa: u64) {
    let mut table = GUEST_ROOT;
    let shape = Shape { levels: mode.levels(), wide_root: false };
    let tree = Tree { shape, offset: OFFSET, root: GUEST_ROOT };
    map_page(memory, tree, 0, leaf(gpa, size, FLAGS), || {
        table += 0x1000;
        pte(table, 0)
    });
}

/// One access through those tables; what it counted.
fn native(mode: PagingMode, size: PageSize) -> MmuStatistics {
    let mut memory = HostMemory::new(0..MEMORY);
    let gpa = if mode == PagingMode::Bare { 0 } else { 1 << 48 };
    if mode != PagingMode::Bare {
        guest_tables(&mut memory, mode, size, gpa);
    }
    let second = SecondStage::Constant { ram: Gpa(0)..Gpa(1 << 51), offset: OFFSET };
    let mut mmu = mmu(mode);
    let hit = mmu.access(&mut memory, &second, Gva(0), Access::Write, 1).unwrap();
    assert_eq!((hit.gpa, hit.hpa), (Gpa(gpa), Hpa(gpa + OFFSET)), "{mode:?} {size}");
    recorded(&mmu, &memory, &second, 0, &hit);
    *mmu.statistics()
}

/// Statistics of a first access through a second stage of pages of `host_size`.
fn nested(guest: PagingMode, host: SecondStageMode, guest_size: PageSize, host_size: PageSize) -> MmuStatistics {
    let mut memory = HostMemory::new(0..MEMORY);
    let gpa = gpa_for(guest_size, host.address_bits());
    if guest != PagingMode::Bare {
        guest_tables(&mut memory, guest, guest_size, gpa);
    }
    let mut table = HOST_ROOT + 0x4000;
    let shape = Shape { levels: host.levels(), wide_root: true };
    // The page itself, and room for the guest's tables.
    for gpa in [gpa, GUEST_ROOT, GUEST_ROOT + 0x1000, GUEST_ROOT + 0x2000, GUEST_ROOT + 0x3000, GUEST_ROOT + 0x4000] {
        let page = Gpa(gpa).page(host_size).0;
        let tree = Tree { shape, offset: 0, root: HOST_ROOT };
        map_page(&mut memory, tree, page, leaf(page + OFFSET, host_size, FLAGS), || {
            table += 0x1000;
            pte(table, 0)
        });
    }
    let second = SecondStage::Nested { mode: host, root: Hpa(HOST_ROOT) };
    let gva = if guest == PagingMode::Bare { gpa } else { 0 };
    let mut mmu = mmu(guest);
    let hit = mmu
        .access(&mut memory, &second, Gva(gva), Access::Write, 1)
        .unwrap_or_else(|fault| panic!("{guest:?} {guest_size} on {host:?} {host_size}: {fault:?}"));
    assert_eq!((hit.gpa, hit.hpa), (Gpa(gpa), Hpa(gpa + OFFSET)));
    // What is cached is no larger than either page.
    assert_eq!(hit.page, if guest == PagingMode::Bare { host_size } else { guest_size.min(host_size) });
    recorded(&mmu, &memory, &second, gva, &hit);
    *mmu.statistics()
}

/// Statistics of a first access through a flat table with entries of `host_size`, or, without one, in reserved memory.
fn without_tree(guest: PagingMode, guest_size: PageSize, host_size: Option<PageSize>) -> MmuStatistics {
    let mut memory = HostMemory::new(0..MEMORY);
    // Beside the guest's tables, where it is aligned to every size that the guest has.
    let gpa = if guest == PagingMode::Bare { 0x8000_0000 } else { 1 << 48 };
    if guest != PagingMode::Bare {
        guest_tables(&mut memory, guest, guest_size, gpa);
    }
    let second = match host_size {
        None => SecondStage::Reserved { ram: Gpa(0)..Gpa(1 << 51), offset: OFFSET },
        Some(size) => {
            let entries = (1 << 51) / 4096;
            for table in (0..5).map(|table| GUEST_ROOT + table * 0x1000).chain([gpa]) {
                let page = Gpa(table).page(size).0;
                for (at, pte) in flat(HOST_ROOT, 0, entries, page, leaf(page + OFFSET, size, FLAGS)) {
                    memory.write(at, pte);
                }
            }
            SecondStage::Flat { table: Hpa(HOST_ROOT), first: Gpa(0), entries }
        }
    };
    let gva = if guest == PagingMode::Bare { gpa } else { 0 };
    let mut mmu = mmu(guest);
    let hit = mmu.access(&mut memory, &second, Gva(gva), Access::Write, 1).unwrap();
    assert_eq!((hit.gpa, hit.hpa), (Gpa(gpa), Hpa(gpa + OFFSET)), "{guest:?} {guest_size} {host_size:?}");
    if let Some(host_size) = host_size {
        assert_eq!(hit.page, if guest == PagingMode::Bare { host_size } else { guest_size.min(host_size) });
    }
    recorded(&mmu, &memory, &second, gva, &hit);
    *mmu.statistics()
}

/// Every guest mode with every page size that it has, and the references of its walk.
fn guests() -> impl Iterator<Item = (PagingMode, PageSize, u64)> {
    let sizes = |mode: PagingMode| {
        PageSize::ALL.into_iter().filter_map(move |size| match mode {
            PagingMode::Bare => (size == PageSize::Size4K).then_some((mode, size, 0)),
            mode => refs(mode.levels(), size).map(|refs| (mode, size, refs)),
        })
    };
    GUEST_MODES.into_iter().flat_map(sizes)
}

#[test]
fn flat_walks_take_one_reference_for_each_address() {
    let mut worst = BTreeMap::new();
    for (mode, size, g) in guests() {
        for host_size in [PageSize::Size4K, PageSize::Size2M] {
            let seen = without_tree(mode, size, Some(host_size));
            assert_eq!((seen.guest_refs, seen.host_refs), (g, g + 1), "{mode:?} {size} {host_size}");
            assert_eq!((seen.max_refs, seen.walks), (2 * g + 1, 1));
            let most = worst.entry(mode).or_insert(0);
            *most = seen.max_refs.max(*most);
        }
    }
    // What the documentation promises.
    assert_eq!(worst[&PagingMode::Sv39], 7);
    assert_eq!(worst[&PagingMode::Sv48], 9);
    assert_eq!(worst[&PagingMode::Sv57], 11);
    assert_eq!(worst[&PagingMode::Bare], 1);
}

#[test]
fn reserved_memory_takes_no_reference_of_its_own() {
    for (mode, size, g) in guests() {
        let seen = without_tree(mode, size, None);
        assert_eq!((seen.guest_refs, seen.host_refs, seen.max_refs), (g, 0, g), "{mode:?} {size}");
    }
    assert_eq!(without_tree(PagingMode::Sv48, PageSize::Size4K, None).max_refs, 4);
}

#[test]
fn a_refill_routines_instructions_are_those_of_its_steps() {
    let of = |step: u32| u64::from(step);
    let RefillRoutine { begin, guest_level, nested_lookup, nested_level, flat_lookup, reserved_lookup, fill, .. } =
        ROUTINE;
    for (mode, size, g) in guests() {
        let own = of(begin) + g * of(guest_level) + of(fill);
        let flat = without_tree(mode, size, Some(PageSize::Size4K));
        assert_eq!((flat.refills, flat.refill_instructions), (1, own + (g + 1) * of(flat_lookup)), "{mode:?} {size}");
        let reserved = without_tree(mode, size, None);
        assert_eq!(reserved.refill_instructions, own + (g + 1) * of(reserved_lookup), "{mode:?} {size}");
        if mode != PagingMode::Bare {
            assert_eq!(native(mode, size).refill_instructions, own, "{mode:?} {size}");
        }
        for host in HOST_MODES {
            let h = refs(host.levels(), PageSize::Size4K).unwrap();
            let nested = nested(mode, host, size, PageSize::Size4K);
            let expected = own + (g + 1) * (of(nested_lookup) + h * of(nested_level));
            assert_eq!(nested.refill_instructions, expected, "{mode:?} {size} on {host:?}");
        }
    }
}

#[test]
fn a_refill_that_ends_in_a_fault_has_taken_the_steps_up_to_there() {
    let RefillRoutine { begin, guest_level, flat_lookup, .. } = ROUTINE;
    let mut memory = HostMemory::new(0..MEMORY);
    let table = SecondStage::Flat { table: Hpa(HOST_ROOT), first: Gpa(GUEST_ROOT), entries: 8 };
    let map = |memory: &mut HostMemory, gpa: u64| {
        for (at, pte) in flat(HOST_ROOT, GUEST_ROOT, 8, gpa, leaf(gpa + OFFSET, PageSize::Size4K, FLAGS)) {
            memory.write(at, pte);
        }
    };
    let mut mmu = mmu(PagingMode::Sv39);
    let mut instructions = |memory: &mut HostMemory| {
        let before = mmu.statistics().refill_instructions;
        let fault = mmu.access(memory, &table, Gva(0), Access::Read, 1).unwrap_err();
        (fault, mmu.statistics().refill_instructions - before)
    };
    // The root's own address is refused.
    let (fault, took) = instructions(&mut memory);
    assert!(matches!(fault, Fault::Nested(fault) if fault.gpa == Gpa(GUEST_ROOT) && fault.cause == Cause::Invalid));
    assert_eq!(took, u64::from(begin + flat_lookup));
    // The guest's root is empty.
    map(&mut memory, GUEST_ROOT);
    let (fault, took) = instructions(&mut memory);
    assert_eq!(fault, Fault::Page(Cause::Invalid));
    assert_eq!(took, u64::from(begin + flat_lookup + guest_level));
    // It leads beyond the table.
    memory.write(GUEST_ROOT + OFFSET, pte(GUEST_ROOT + 0x8000, 0));
    let (fault, took) = instructions(&mut memory);
    assert!(matches!(fault, Fault::Nested(fault) if fault.cause == Cause::OutOfBounds));
    assert_eq!(took, u64::from(begin + 2 * flat_lookup + guest_level));
}

#[test]
fn native_walks_take_one_reference_per_level() {
    let mut combinations = 0;
    for mode in [PagingMode::Sv39, PagingMode::Sv48, PagingMode::Sv57] {
        for size in PageSize::ALL {
            let Some(expected) = refs(mode.levels(), size) else { continue };
            let seen = native(mode, size);
            assert_eq!((seen.guest_refs, seen.host_refs), (expected, 0), "{mode:?} {size}");
            assert_eq!((seen.max_refs, seen.walks), (expected, 1), "{mode:?} {size}");
            combinations += 1;
        }
    }
    assert_eq!(combinations, 4 + 5 + 6);
    // What the documentation promises.
    assert_eq!(native(PagingMode::Sv48, PageSize::Size4K).max_refs, 4);
    assert_eq!(native(PagingMode::Sv39, PageSize::Size4K).max_refs, 3);
    assert_eq!(native(PagingMode::Bare, PageSize::Size4K).max_refs, 0);
}

#[test]
fn nested_walks_take_the_closed_form() {
    let mut combinations = 0;
    let mut worst = BTreeMap::new();
    for host in HOST_MODES {
        for host_size in PageSize::ALL {
            let Some(h) = refs(host.levels(), host_size) else { continue };
            for guest in GUEST_MODES {
                for guest_size in PageSize::ALL {
                    let g = match guest {
                        // Without tables there is no size: once is enough.
                        PagingMode::Bare => (guest_size == PageSize::Size4K).then_some(0),
                        mode => refs(mode.levels(), guest_size),
                    };
                    let Some(g) = g else { continue };
                    let seen = nested(guest, host, guest_size, host_size);
                    let expected = g * (h + 1) + h;
                    let name = format!("{guest:?} {guest_size} on {host:?} {host_size}");
                    assert_eq!((seen.guest_refs, seen.host_refs), (g, (g + 1) * h), "{name}");
                    assert_eq!((seen.max_refs, seen.walks), (expected, 1), "{name}");
                    assert_eq!(
                        (seen.steps(), seen.max_steps),
                        (expected, expected),
                        "one reference in each step: {name}"
                    );
                    let most = worst.entry((guest, host)).or_insert(0);
                    *most = expected.max(*most);
                    combinations += 1;
                }
            }
        }
    }
    assert_eq!(combinations, (1 + 4 + 5 + 6) * (4 + 5 + 6));
    // What the documentation promises.
    assert_eq!(worst[&(PagingMode::Sv48, SecondStageMode::Sv48x4)], 24);
    assert_eq!(worst[&(PagingMode::Sv39, SecondStageMode::Sv39x4)], 15);
    assert_eq!(worst[&(PagingMode::Sv57, SecondStageMode::Sv57x4)], 35);
    assert_eq!(worst[&(PagingMode::Bare, SecondStageMode::Sv48x4)], 4);
}
