//! Agile paging: references of a walk that begins in a shadow table, against the closed form s + (n − s)(m + 1), and what walk caches keep of its
//! mode.

use crate::common::builder::{A, D, R, Shape, Tree, U, V, W, X, leaf, map_page, pte, slot};
use crate::common::memory::HostMemory;
use mmu::{
    AdPolicy, Cause, Fault, Fence, Hit, Memo, Mmu, MmuConfig, Purpose, SWITCHING, SecondStage, ShadowRoot,
    WalkCacheSizes, WalkCaches,
};
use types::{Access, Asid, Gpa, Gva, Hpa, PageSize, PagingMode, Privilege, SecondStageMode, TranslationContext, Vmid};

const MODES: [(PagingMode, SecondStageMode); 3] = [
    (PagingMode::Sv39, SecondStageMode::Sv39x4),
    (PagingMode::Sv48, SecondStageMode::Sv48x4),
    (PagingMode::Sv57, SecondStageMode::Sv57x4),
];
const GVA: u64 = 0x12_3456_7000;
const PAGE: u64 = 0x1_5000_0000;
const GPTR: u64 = 0x1_0000_0000;
const SPTR: u64 = 0x4_0000_0000;
const HPTR: u64 = 0x3_0000_0000;
/// hPA − gPA of the guest's pages and tables.
const OFFSET: u64 = 0x100_0000_0000;
const FLAGS: u64 = R | W | X | U | A | D;
const VMID: Vmid = Vmid(1);

/// A guest of `n` levels on `m`, that maps one page.
struct Guest {
    memory: HostMemory,
    mmu: Mmu,
    mode: PagingMode,
    host_mode: SecondStageMode,
    /// The guest's tables, the root first.
    tables: Vec<u64>,
    /// Tables of the second stage below its root.
    host_tables: u64,
    clock: u64,
}

/// References, of the first stage and of the second.
type References = (u64, u64);

impl Guest {
    fn new((mode, host_mode): (PagingMode, SecondStageMode), config: &MmuConfig, flags: u64) -> Self {
        let mut memory = HostMemory::new(0..1 << 56);
        let mut tables = vec![GPTR];
        let shape = Shape { levels: mode.levels(), wide_root: false };
        map_page(
            &mut memory,
            Tree { shape, offset: OFFSET, root: GPTR },
            GVA,
            leaf(PAGE, PageSize::Size4K, flags),
            || {
                tables.push(GPTR + 0x10_0000 + tables.len() as u64 * 0x1000);
                pte(tables[tables.len() - 1], 0)
            },
        );
        let mut guest =
            Self { memory, mmu: Mmu::new(config).unwrap(), mode, host_mode, tables, host_tables: 0, clock: 0 };
        for gpa in [guest.tables.clone(), vec![PAGE]].concat() {
            guest.map_host(gpa, FLAGS);
        }
        let context = TranslationContext {
            mode,
            root: Gpa(GPTR),
            asid: Asid(1),
            privilege: Privilege::User,
            ..TranslationContext::default()
        };
        guest.mmu.set_context(&context, VMID);
        guest
    }

    fn map_host(&mut self, gpa: u64, flags: u64) {
        let shape = Shape { levels: self.host_mode.levels(), wide_root: true };
        map_page(
            &mut self.memory,
            Tree { shape, offset: 0, root: HPTR },
            gpa,
            leaf(gpa + OFFSET, PageSize::Size4K, flags),
            || {
                self.host_tables += 1;
                pte(HPTR + 0x10_0000 + self.host_tables * 0x1000, 0)
            },
        );
    }

    /// A shadow table whose first `shadow` levels are read; the root register for it. With 0 it switches at the root.
    fn shadow(&mut self, shadow: u32) -> ShadowRoot {
        let levels = self.mode.levels();
        let Some(last) = shadow.checked_sub(1) else { return ShadowRoot::guest_table(Hpa(GPTR + OFFSET)) };
        let entry = match self.tables.get(shadow as usize) {
            Some(table) => (levels - 1 - last, pte(table + OFFSET, SWITCHING)),
            None => leaf(PAGE + OFFSET, PageSize::Size4K, FLAGS),
        };
        let mut table = SPTR;
        let shape = Shape { levels, wide_root: false };
        map_page(&mut self.memory, Tree { shape, offset: 0, root: SPTR }, GVA, entry, || {
            table += 0x1000;
            pte(table, 0)
        });
        ShadowRoot::shadow_table(Hpa(SPTR))
    }

    fn second(&self, shadow: ShadowRoot) -> SecondStage {
        SecondStage::Agile { mode: self.host_mode, root: Hpa(HPTR), shadow }
    }

    /// An access, and the references that it made.
    fn access(&mut self, shadow: ShadowRoot, access: Access) -> (Result<Hit, Fault>, References) {
        self.clock += 1;
        let (second, before) = (self.second(shadow), *self.mmu.statistics());
        let hit = self.mmu.access(&mut self.memory, &second, Gva(GVA | 0x128), access, self.clock);
        let counted = self.mmu.statistics().since(&before);
        (hit, (counted.guest_refs, counted.host_refs))
    }

    fn fence(&mut self) {
        self.mmu.fence(&Fence::Vvma { vmid: VMID, gva: None, asid: None });
        self.mmu.fence(&Fence::Gvma { gpa: None, vmid: Some(VMID) });
    }

    /// Where in the host the guest's entry of a level is.
    fn entry(&self, level: u32) -> u64 {
        let levels = self.mode.levels();
        let table = self.tables[(levels - 1 - level) as usize] + OFFSET;
        slot(Shape { levels, wide_root: false }, table, level, GVA)
    }
}

fn without_caches() -> MmuConfig {
    MmuConfig { walk_caches: WalkCaches::OFF, nested_tlb: None, ..MmuConfig::default() }
}

/// References of a walk whose first `shadow` levels are the shadow table's; of one that is fully nested with `None`.
fn references(n: usize, m: usize, shadow: Option<u32>) -> u64 {
    let mut guest = Guest::new((MODES[n].0, MODES[m].1), &without_caches(), FLAGS);
    let root = shadow.map_or(ShadowRoot::NONE, |shadow| guest.shadow(shadow));
    let (hit, (first, second)) = guest.access(root, Access::Write);
    let hit = hit.unwrap();
    let levels = guest.mode.levels();
    // A shadow table leads past the guest physical address.
    let gpa = if shadow == Some(levels) { PAGE + OFFSET } else { PAGE };
    assert_eq!((hit.hpa, hit.gpa), (Hpa(PAGE + OFFSET + 0x128), Gpa(gpa + 0x128)), "{n} {m} {shadow:?}");
    assert_eq!(first, u64::from(levels), "each level is read once");
    let counted = *guest.mmu.statistics();
    let index = shadow.map_or(6, |shadow| levels - shadow);
    let expected: [u64; 7] = core::array::from_fn(|of| u64::from(of == index as usize));
    assert_eq!(counted.agile_walks, expected);
    assert_eq!((counted.max_refs, counted.max_steps), (first + second, first + second));
    let record = guest.mmu.record_walk(&mut guest.memory.clone(), &guest.second(root), Gva(GVA), Memo::Empty).unwrap();
    assert_eq!(record.references() as u64, first + second, "{record:x?}");
    first + second
}

#[test]
fn a_walk_that_switches_takes_the_closed_form() {
    for (n, m) in (0..9).map(|index| (index / 3, index % 3)) {
        let (levels, nested) = (MODES[n].0.levels(), u64::from(MODES[m].1.levels()));
        for shadow in 0..=levels {
            let expected = u64::from(shadow) + u64::from(levels - shadow) * (nested + 1);
            assert_eq!(references(n, m, Some(shadow)), expected, "{shadow} of {levels} levels");
        }
        assert_eq!(references(n, m, None), (u64::from(levels) + 1) * (nested + 1) - 1);
    }
    // Gandhi, Hill, Swift, ISCA 2016, with four levels; and with the three of Sv39.
    let of_four = [Some(4), Some(3), Some(2), Some(1), Some(0), None].map(|shadow| references(1, 1, shadow));
    assert_eq!(of_four, [4, 8, 12, 16, 20, 24]);
    let of_three = [Some(3), Some(2), Some(1), Some(0), None].map(|shadow| references(0, 0, shadow));
    assert_eq!(of_three, [3, 6, 9, 12, 15]);
}

#[test]
fn a_fault_says_whose_table_refuses() {
    for shadow in 0..=3 {
        let mut guest = Guest::new(MODES[0], &without_caches(), FLAGS);
        let root = guest.shadow(shadow);
        if let Some(level) = 2_u32.checked_sub(shadow) {
            // A table of the guest below the switching entry: the guest's own fault.
            let at = guest.entry(level);
            let entry = guest.memory.peek(at);
            guest.memory.write(at, entry & !V);
            assert_eq!(guest.access(root, Access::Read).0, Err(Fault::Page(Cause::Invalid)));
            guest.memory.write(at, entry);
            // Its page is not mapped by the hypervisor, or not for stores.
            guest.map_host(PAGE, R | U | A);
            let (fault, _) = guest.access(root, Access::Write);
            let Err(Fault::Nested(fault)) = fault else { panic!("{fault:?}") };
            assert_eq!((fault.gpa, fault.purpose, fault.cause), (Gpa(PAGE | 0x128), Purpose::Data, Cause::NotWritable));
        }
        let at = slot(Shape { levels: 3, wide_root: false }, SPTR, 2, GVA);
        if shadow > 0 {
            guest.memory.write(at, 0);
            guest.fence();
            assert_eq!(guest.access(root, Access::Read).0, Err(Fault::Shadow(Cause::Invalid)), "the hypervisor's");
        }
    }
}

#[test]
fn walk_caches_keep_the_mode_of_what_they_hold() {
    let caches = WalkCaches { guest: WalkCacheSizes([4, 4, 4, 4]), host: WalkCacheSizes::OFF };
    let config = MmuConfig { l2: Vec::new(), walk_caches: caches, nested_tlb: None, ..MmuConfig::default() };
    for shadow in 0..=4 {
        let mut guest = Guest::new(MODES[1], &config, FLAGS);
        let root = guest.shadow(shadow);
        guest.access(root, Access::Read).0.unwrap();
        // A fence for the address leaves the walk caches as they are: the walk begins at the last level.
        guest.mmu.fence(&Fence::Vvma { vmid: VMID, gva: Some(Gva(GVA)), asid: None });
        let (hit, references) = guest.access(root, Access::Read);
        assert_eq!(hit.unwrap().hpa, Hpa(PAGE + OFFSET + 0x128));
        // The last table is read at a host physical address only where it is the shadow table's, or the first one of the guest.
        let expected = match shadow {
            4 => (1, 0),
            3 => (1, 4),
            _ => (1, 8),
        };
        assert_eq!(references, expected, "{shadow} levels of the shadow table");
        let index = 4 - shadow as usize;
        assert_eq!(guest.mmu.statistics().agile_walks[index], 2);
    }
}

#[test]
fn hardware_sets_a_and_d_in_the_guests_table_behind_a_switch() {
    for shadow in 0..3 {
        for policy in [AdPolicy::Update, AdPolicy::Fault] {
            let config = MmuConfig { first_stage_ad: policy, ..without_caches() };
            let mut guest = Guest::new(MODES[0], &config, FLAGS & !(A | D));
            let root = guest.shadow(shadow);
            let (hit, _) = guest.access(root, Access::Write);
            let set = guest.memory.peek(guest.entry(0)) & (A | D);
            match policy {
                AdPolicy::Update => assert_eq!((hit.is_ok(), set), (true, A | D)),
                AdPolicy::Fault => assert_eq!((hit, set), (Err(Fault::Page(Cause::NotAccessed)), 0)),
            }
        }
    }
}
