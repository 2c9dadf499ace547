//! Direct segments: references of a walk by closed form, in the three modes and natively, at the boundaries, and where a page escapes.

use crate::common::builder::{A, D, R, Shape, Tree, U, W, X, leaf, map_page, pte};
use crate::common::memory::HostMemory;
use mmu::{
    DirectSegment, Fault, Fence, Mmu, MmuConfig, MmuStatistics, Refill, RefillRoutine, SecondStage, Segment, Segments,
    WalkCaches,
};
use types::{Access, Asid, Gpa, Gva, Hpa, PageSize, PagingMode, Privilege, SecondStageMode, TranslationContext, Vmid};

const FLAGS: u64 = R | W | X | U | A | D;
const GUEST_ROOT: u64 = 0x1000_0000;
const HOST_ROOT: u64 = 0x1_0000_0000;
/// Where tables say that a guest physical address is: elsewhere than the segments do, so that the way shows.
const PAGED: u64 = 0x40_0000_0000;
/// Where the hypervisor's segment says it is.
const DIRECT: u64 = 0x80_0000_0000;
/// Guest virtual addresses of the segment, and where it leads; tables lead to twice that.
const BASE: u64 = 0x20_0000_0000;
const PAGES: u64 = 16;
const TARGET: u64 = 0x5000_0000;

struct Bench {
    memory: HostMemory,
    mmu: Mmu,
    second: SecondStage,
    context: TranslationContext,
    clock: u64,
}

fn guest_segment() -> DirectSegment {
    let segment = Segment::of_guest(Gva(BASE)..Gva(BASE + PAGES * 4096), Gpa(TARGET)).unwrap();
    DirectSegment { segment, ..DirectSegment::default() }
}

/// Of almost all guest physical memory, the guest's tables among it.
fn hypervisor_segment() -> DirectSegment {
    let segment = Segment::of_hypervisor(Gpa(0x1000)..Gpa(0xc000_0000), Hpa(DIRECT + 0x1000)).unwrap();
    DirectSegment { segment, ..DirectSegment::default() }
}

fn modes() -> [(&'static str, Segments); 4] {
    let (guest, hypervisor) = (guest_segment(), hypervisor_segment());
    [
        ("base virtualized", Segments::default()),
        ("vmm direct", Segments { hypervisor: hypervisor.clone(), ..Segments::default() }),
        ("guest direct", Segments { guest: guest.clone(), ..Segments::default() }),
        ("dual direct", Segments { guest, hypervisor }),
    ]
}

impl Bench {
    /// The guest's tables map the segment's pages and one on either side; so do the nested ones with all that is behind them.
    fn new(mode: PagingMode, nested: Option<SecondStageMode>, config: &MmuConfig, segments: &Segments) -> Self {
        let mut memory = HostMemory::new(0..1 << 50);
        let mut mmu = Mmu::new(config).unwrap();
        let privilege = Privilege::User;
        let root = Gpa(GUEST_ROOT);
        let context = TranslationContext { mode, root, asid: Asid(1), privilege, ..TranslationContext::default() };
        mmu.set_context(&context, Vmid(1));
        mmu.set_segments(segments);
        // Table pages are at both places in the host.
        for offset in if nested.is_some() { vec![PAGED, DIRECT] } else { vec![0] } {
            let mut table = GUEST_ROOT;
            for page in 0..PAGES + 2 {
                let (gva, gpa) = (BASE - 4096 + page * 4096, 2 * TARGET - 4096 + page * 4096);
                let shape = Shape { levels: mode.levels(), wide_root: false };
                let tree = Tree { shape, offset, root: GUEST_ROOT };
                map_page(&mut memory, tree, gva, leaf(gpa, PageSize::Size4K, FLAGS), || {
                    table += 0x1000;
                    pte(table, 0)
                });
            }
        }
        let second = match nested {
            None => SecondStage::Constant { ram: Gpa(0)..Gpa(1 << 38), offset: 0 },
            Some(host) => {
                let mut table = HOST_ROOT + 0x4000;
                let tables = (0..16).map(|page| GUEST_ROOT + page * 4096);
                let pages = (0..PAGES + 2).flat_map(|page| [TARGET, 2 * TARGET].map(|it| it - 4096 + page * 4096));
                for gpa in tables.chain(pages) {
                    let shape = Shape { levels: host.levels(), wide_root: true };
                    let leaf = leaf(gpa + PAGED, PageSize::Size4K, FLAGS);
                    let tree = Tree { shape, offset: 0, root: HOST_ROOT };
                    map_page(&mut memory, tree, gpa, leaf, || {
                        table += 0x1000;
                        pte(table, 0)
                    });
                }
                SecondStage::Nested { mode: host, root: Hpa(HOST_ROOT) }
            }
        };
        Self { memory, mmu, second, context, clock: 0 }
    }

    fn access(&mut self, gva: u64, access: Access) -> Result<mmu::Hit, Fault> {
        self.clock += 1;
        self.mmu.access(&mut self.memory, &self.second, Gva(gva), access, self.clock)
    }

    /// Where a load ends up, and what it counts.
    fn load(&mut self, gva: u64) -> (u64, MmuStatistics) {
        let before = *self.mmu.statistics();
        self.mmu.restart_maximum();
        let hit = self.access(gva, Access::Read).unwrap();
        (hit.hpa.0, self.mmu.statistics().since(&before))
    }
}

fn no_caches() -> MmuConfig {
    MmuConfig { walk_caches: WalkCaches::OFF, nested_tlb: None, ..MmuConfig::default() }
}

/// Inside the segment: its first byte and its last word.
const INSIDE: [u64; 2] = [BASE, BASE + PAGES * 4096 - 8];
/// Outside: the word before, and the one at the limit.
const OUTSIDE: [u64; 2] = [BASE - 8, BASE + PAGES * 4096];

#[test]
fn each_mode_takes_the_references_of_its_dimensions() {
    let shapes = [
        (PagingMode::Sv39, SecondStageMode::Sv39x4),
        (PagingMode::Sv48, SecondStageMode::Sv48x4),
        (PagingMode::Sv57, SecondStageMode::Sv57x4),
    ];
    for (guest, host) in shapes {
        let (g, h) = (u64::from(guest.levels()), u64::from(host.levels()));
        for (name, segments) in modes() {
            let has_guest = segments.guest != DirectSegment::default();
            let has_hypervisor = segments.hypervisor != DirectSegment::default();
            for (gva, inside) in INSIDE.map(|gva| (gva, true)).into_iter().chain(OUTSIDE.map(|gva| (gva, false))) {
                let mut bench = Bench::new(guest, Some(host), &no_caches(), &segments);
                let (hpa, counts) = bench.load(gva);
                let by_segment = inside && has_guest;
                let guest_refs = if by_segment { 0 } else { g };
                let host_refs = if has_hypervisor { 0 } else { (guest_refs + 1) * h };
                let label = format!("{name}, {guest:?}, {gva:#x}");
                assert_eq!((counts.guest_refs, counts.host_refs), (guest_refs, host_refs), "{label}");
                assert_eq!(counts.max_refs, guest_refs + host_refs, "{label}");
                let gpa = if by_segment { TARGET } else { 2 * TARGET }.wrapping_add(gva.wrapping_sub(BASE));
                assert_eq!(hpa, gpa + if has_hypervisor { DIRECT } else { PAGED }, "{label}");
                // Both segments: no walk. Otherwise one walk, with what each segment did in it.
                let both = by_segment && has_hypervisor;
                assert_eq!((counts.segment_hits, counts.walks), (u64::from(both), u64::from(!both)), "{label}");
                assert_eq!(counts.guest_segment_hits, u64::from(by_segment && !both), "{label}");
                let steps = if both || !has_hypervisor { 0 } else { guest_refs + 1 };
                assert_eq!(counts.hypervisor_segment_hits, steps, "{label}");
                assert_eq!(counts.escape_hits, 0);
            }
        }
    }
}

/// What the documentation promises for four levels.
#[test]
fn four_levels_take_24_4_4_and_0_references() {
    let worst = modes().map(|(_, segments)| {
        let mut bench = Bench::new(PagingMode::Sv48, Some(SecondStageMode::Sv48x4), &no_caches(), &segments);
        bench.load(BASE).1.max_refs
    });
    assert_eq!(worst, [24, 4, 4, 0]);
}

#[test]
fn a_native_segment_takes_none_and_beside_it_the_walk_is_as_ever() {
    let segments = Segments { guest: guest_segment(), ..Segments::default() };
    for (gva, hpa, refs) in [(BASE + 0x1008, TARGET + 0x1008, 0), (OUTSIDE[1], 2 * TARGET + PAGES * 4096, 4)] {
        let mut bench = Bench::new(PagingMode::Sv48, None, &no_caches(), &segments);
        let (found, counts) = bench.load(gva);
        assert_eq!((found, counts.max_refs), (hpa, refs));
        assert_eq!((counts.segment_hits, counts.walks), (u64::from(refs == 0), u64::from(refs != 0)));
    }
}

#[test]
fn both_segments_fill_the_first_level_only() {
    let (_, dual) = &modes()[3];
    let mut bench = Bench::new(PagingMode::Sv48, Some(SecondStageMode::Sv48x4), &no_caches(), dual);
    for page in 0..PAGES {
        assert_eq!(bench.load(BASE + page * 4096).1.segment_hits, 1);
    }
    let hit = bench.access(BASE, Access::Read).unwrap();
    assert_eq!(hit.page, PageSize::Size4K);
    let counts = *bench.mmu.statistics();
    assert_eq!((counts.l1d_misses, counts.segment_hits), (PAGES, PAGES), "the L1 has them");
    assert_eq!((counts.l2_hits, counts.l2_misses), (0, 0), "the L2 was not asked");
    // Without the segments the L2 would answer if it had been filled.
    bench.mmu.set_segments(&Segments::default());
    bench.mmu.fence(&Fence::Vma { gva: None, asid: None });
    assert_eq!(bench.load(BASE).1.walks, 1);
}

#[test]
fn the_guests_segment_is_a_processes_data() {
    let segments = Segments { guest: guest_segment(), ..Segments::default() };
    let by_segment = |context: &dyn Fn(&mut TranslationContext), access: Access| {
        let mut bench = Bench::new(PagingMode::Sv48, None, &no_caches(), &segments);
        context(&mut bench.context);
        let context = bench.context;
        bench.mmu.set_context(&context, Vmid(1));
        bench.access(BASE, access).map(|hit| hit.hpa.0 == TARGET)
    };
    let supervisor = |sum| {
        move |context: &mut TranslationContext| {
            context.privilege = Privilege::Supervisor;
            context.sum = sum;
        }
    };
    assert_eq!(by_segment(&|_| {}, Access::Read), Ok(true));
    assert_eq!(by_segment(&|_| {}, Access::Write), Ok(true));
    assert_eq!(by_segment(&|_| {}, Access::Execute), Ok(false), "a fetch is paged");
    assert_eq!(by_segment(&supervisor(true), Access::Write), Ok(true));
    assert!(matches!(by_segment(&supervisor(false), Access::Read), Err(Fault::Page(_))), "as the page tables say");
    let bare = |context: &mut TranslationContext| context.mode = PagingMode::Bare;
    assert_eq!(by_segment(&bare, Access::Read), Ok(false), "there is no virtual address");
}

#[test]
fn a_page_that_escapes_is_paged_and_others_are_not() {
    for (name, mut segments) in modes().into_iter().skip(1) {
        if name != "vmm direct" {
            segments.guest.escape.insert(BASE + 0x3000);
        }
        if name != "guest direct" {
            segments.hypervisor.escape.insert(TARGET + 0x5000);
            segments.hypervisor.escape.insert(2 * TARGET + 0x5000);
        }
        let mut bench = Bench::new(PagingMode::Sv48, Some(SecondStageMode::Sv48x4), &no_caches(), &segments);
        for page in 0..PAGES {
            let (hpa, counts) = bench.load(BASE + page * 4096 + 8);
            let paged_guest = name == "vmm direct" || page == 3;
            let paged_hypervisor = name == "guest direct" || page == 5;
            let gpa = if paged_guest { 2 * TARGET } else { TARGET } + page * 4096 + 8;
            assert_eq!(hpa, gpa + if paged_hypervisor { PAGED } else { DIRECT }, "{name}, page {page}");
            let escapes = u64::from(page == 3 && name != "vmm direct") + u64::from(page == 5 && name != "guest direct");
            assert_eq!(counts.escape_hits, escapes, "{name}, page {page}");
        }
    }
}

/// References of a walk by what escapes, caches off, for four levels: the guest's tables are read, directly, if the page is not the guest's
/// segment's; and the nested ones for each guest physical address that is not the hypervisor's.
#[test]
fn what_escapes_costs_the_walk_of_its_dimension() {
    const G: u64 = 4;
    const H: u64 = 4;
    let tables = || (0..16).map(|page| GUEST_ROOT + page * 4096);
    let cases: [(&str, [u64; 3]); 4] = [
        // Of vmm, guest and dual direct.
        ("nothing", [G, H, 0]),
        ("the page, of the hypervisor's", [G + H, H, H]),
        ("the page, of the guest's", [G, (G + 1) * H + G, G]),
        ("the page and the tables, of both", [(G + 1) * H + G, (G + 1) * H + G, (G + 1) * H + G]),
    ];
    for (what, refs) in cases {
        for ((name, mut segments), refs) in modes().into_iter().skip(1).zip(refs) {
            let (guest, hypervisor) = (&mut segments.guest.escape, &mut segments.hypervisor.escape);
            let all = what.ends_with("of both");
            if (what.ends_with("of the guest's") || all) && name != "vmm direct" {
                guest.insert(BASE);
            }
            if (what.ends_with("of the hypervisor's") || all) && name != "guest direct" {
                // With the guest's segment, and without.
                hypervisor.insert(TARGET);
                hypervisor.insert(2 * TARGET);
            }
            if all && name != "guest direct" {
                tables().for_each(|table| hypervisor.insert(table));
            }
            let mut bench = Bench::new(PagingMode::Sv48, Some(SecondStageMode::Sv48x4), &no_caches(), &segments);
            let counts = bench.load(BASE).1;
            assert_eq!(counts.max_refs, refs, "{what} escapes, {name}");
            assert_eq!(counts.segment_hits, u64::from(refs == 0), "{what} escapes, {name}");
        }
    }
}

/// Memory that is added behind the guest's, as for what a balloon took, lies outside of the hypervisor's segment; the guest's leads there.
#[test]
fn memory_that_was_added_costs_the_nested_walk_of_its_page() {
    for ((name, mut segments), refs) in modes().into_iter().zip([24, 4 + 4, 4, 4]) {
        if segments.hypervisor != DirectSegment::default() {
            // The guest's tables are in it.
            segments.hypervisor.segment =
                Segment::of_hypervisor(Gpa(0x1000)..Gpa(TARGET), Hpa(DIRECT + 0x1000)).unwrap();
        }
        for gva in INSIDE {
            let mut bench = Bench::new(PagingMode::Sv48, Some(SecondStageMode::Sv48x4), &no_caches(), &segments);
            let (hpa, counts) = bench.load(gva);
            let by_segment = segments.guest != DirectSegment::default();
            assert_eq!(hpa, PAGED + gva - BASE + if by_segment { TARGET } else { 2 * TARGET }, "{name}");
            assert_eq!((counts.max_refs, counts.walks), (refs, 1), "{name}");
        }
    }
}

/// A process without a segment, at the same addresses: the registers are loaded with those of the process that runs.
#[test]
fn another_process_walks_as_without_the_guests_segment() {
    for ((name, segments), refs) in modes().into_iter().zip([24, 4, 24, 4]) {
        for gva in INSIDE.into_iter().chain(OUTSIDE) {
            let mut bench = Bench::new(PagingMode::Sv48, Some(SecondStageMode::Sv48x4), &no_caches(), &segments);
            bench.load(gva);
            bench.mmu.set_segments(&Segments { hypervisor: segments.hypervisor.clone(), ..Segments::default() });
            bench.context.asid = Asid(2);
            let context = bench.context;
            bench.mmu.set_context(&context, Vmid(1));
            let (hpa, counts) = bench.load(gva);
            let host = if segments.hypervisor == DirectSegment::default() { PAGED } else { DIRECT };
            assert_eq!(hpa, 2 * TARGET + host + gva - BASE, "{name}: paged, {gva:#x}");
            assert_eq!((counts.max_refs, counts.walks, counts.segment_hits), (refs, 1, 0), "{name}, {gva:#x}");
        }
    }
}

#[test]
fn large_pages_are_filled_where_the_hypervisor_segment_holds_them_whole() {
    let page = |escapes: Option<u64>| {
        let range = Gpa(0x4000_0000)..Gpa(0x8000_0000);
        let segment = Segment::of_hypervisor(range, Hpa(DIRECT)).unwrap();
        let mut segments =
            Segments { hypervisor: DirectSegment { segment, ..DirectSegment::default() }, ..Segments::default() };
        if let Some(gpa) = escapes {
            segments.hypervisor.escape.insert(gpa);
        }
        let mut bench = Bench::new(PagingMode::Sv39, Some(SecondStageMode::Sv39x4), &no_caches(), &segments);
        let shape = Shape { levels: 3, wide_root: false };
        let leaf = leaf(0x5020_0000, PageSize::Size2M, FLAGS);
        let tree = Tree { shape, offset: PAGED, root: GUEST_ROOT };
        map_page(&mut bench.memory, tree, 0x20_0000, leaf, || pte(GUEST_ROOT + 0x8000, 0));
        bench.access(0x20_1000, Access::Read).unwrap().page
    };
    assert_eq!(page(None), PageSize::Size2M);
    assert_eq!(page(Some(0x7000_0000)), PageSize::Size2M, "another page escapes");
    assert!(page(Some(0x5023_0000)) < PageSize::Size2M, "a part of it escapes");
}

#[test]
fn registers_change_at_once_and_entries_with_the_next_fence() {
    let (_, dual) = &modes()[3];
    let mut bench = Bench::new(PagingMode::Sv48, Some(SecondStageMode::Sv48x4), &no_caches(), dual);
    let direct = bench.load(BASE).0;
    bench.mmu.set_segments(&Segments::default());
    assert_eq!(bench.load(BASE).0, direct, "the TLB still has it");
    assert_ne!(bench.load(BASE + 4096).0, direct + 4096);
    // Another address space never sees it.
    bench.context.asid = Asid(2);
    let context = bench.context;
    bench.mmu.set_context(&context, Vmid(1));
    assert_ne!(bench.load(BASE).0, direct);
    bench.context.asid = Asid(1);
    let context = bench.context;
    bench.mmu.set_context(&context, Vmid(1));
    bench.mmu.fence(&Fence::Gvma { gpa: None, vmid: Some(Vmid(1)) });
    assert_ne!(bench.load(BASE).0, direct);
}

#[test]
fn a_refill_routine_adds_where_the_hypervisor_segment_translates() {
    let routine = RefillRoutine {
        begin: 1,
        guest_level: 100,
        nested_lookup: 10_000,
        nested_level: 1_000_000,
        flat_lookup: 0,
        reserved_lookup: 10_000_000,
        update: 0,
        fill: 100_000_000,
    };
    let config = MmuConfig { refill: Refill::Software(routine), ..no_caches() };
    let instructions = modes().map(|(_, segments)| {
        let mut bench = Bench::new(PagingMode::Sv48, Some(SecondStageMode::Sv48x4), &config, &segments);
        bench.load(BASE).1.refill_instructions
    });
    let walk = |guest: u64, host: u64| 100_000_001 + guest * 100 + host;
    let nested = |lookups: u64| lookups * (10_000 + 4 * 1_000_000);
    assert_eq!(instructions, [walk(4, nested(5)), walk(4, 5 * 10_000_000), walk(0, nested(1)), 0]);
}
