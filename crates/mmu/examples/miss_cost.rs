//! What an access costs, in nanoseconds, by what answers it: `cargo run --release -p pagewalk-mmu --example miss_cost`,
//! with a word of a row's name to measure those rows alone, and the number of runs after it (200).
//!
//! Each figure is the least of several runs over pages in a fixed random order, all in the host's caches as far as they
//! fit.

use mmu::{HostPage, L1Entry, Mmu, MmuConfig, Refill, RefillRoutine, SecondStage, TableMemory, WalkCaches};
use std::hint::black_box;
use std::time::Instant;
use types::{
    Access, Asid, Gpa, Gva, Hpa, PageSize, PagingMode, Privilege, SecondStageMode, TranslationContext, Vmid, Width,
};

const RAM: u64 = 256 << 20;
const FLAGS: u64 = 0xdf;
const ROUTINE: RefillRoutine = RefillRoutine {
    begin: 7,
    guest_level: 12,
    nested_lookup: 4,
    nested_level: 12,
    flat_lookup: 12,
    reserved_lookup: 3,
    update: 5,
    fill: 14,
};

/// Of which the best counts.
fn runs() -> usize {
    std::env::args().nth(2).map_or(200, |runs| runs.parse().expect("a number of runs"))
}

/// The host's memory from hPA 0.
struct Ram(Vec<u64>);

impl TableMemory for Ram {
    const TRACELESS: bool = true;

    #[inline(always)]
    fn read(&mut self, at: Hpa) -> Option<u64> {
        self.0.get(at.0 as usize / 8).copied()
    }

    fn compare_exchange(&mut self, at: Hpa, old: u64, new: u64) -> Option<u64> {
        let word = self.0.get_mut(at.0 as usize / 8)?;
        let found = *word;
        if found == old {
            *word = new;
        }
        Some(found)
    }

    #[inline(always)]
    fn host_page(&self, page: Hpa, size: PageSize) -> HostPage {
        if page.0 + size.bytes() <= RAM {
            HostPage::Ram(self.0.as_ptr().cast_mut().cast::<u8>().wrapping_add(page.0 as usize))
        } else {
            HostPage::Mixed
        }
    }
}

impl Ram {
    /// Maps `pages` 4K pages from address 0 to `target`, with tables from `tables` on: the root first (16 KiB of it),
    /// then the other levels'.
    fn map(&mut self, levels: u32, tables: u64, target: u64, pages: u64) {
        let pte = |address: u64, flags: u64| address >> 12 << 10 | flags;
        let mut next = tables + 0x4000;
        for page in 0..pages {
            let mut table = tables;
            for level in (1..levels).rev() {
                let at = (table + (page >> (9 * level)) % 512 * 8) as usize / 8;
                if self.0[at] == 0 {
                    self.0[at] = pte(next, 1);
                    next += 0x1000;
                }
                table = self.0[at] >> 10 << 12;
            }
            self.0[(table + page % 512 * 8) as usize / 8] = pte(target + page * 4096, FLAGS);
        }
    }
}

/// The second stage that is measured.
#[derive(Clone, Copy)]
enum Stage {
    Native,
    Nested,
    Flat,
    Reserved,
}

struct Bench {
    mmu: Mmu,
    ram: Ram,
    second: SecondStage,
    order: Vec<Gva>,
    clock: u64,
}

impl Bench {
    /// Accesses of `pages` pages, over and over, in random order.
    fn new(config: &MmuConfig, stage: Stage, pages: u64) -> Self {
        let mut ram = Ram(vec![0; RAM as usize / 8]);
        let mapped = 16 << 10;
        let (guest, host, data) = (64 << 20, 96 << 20, 0);
        ram.map(3, guest, data, mapped);
        ram.map(3, host, 0, RAM >> 12);
        let ram_range = Gpa(0)..Gpa(RAM);
        let second = match stage {
            Stage::Native => SecondStage::Constant { ram: ram_range, offset: 0 },
            Stage::Nested => SecondStage::Nested { mode: SecondStageMode::Sv39x4, root: Hpa(host) },
            Stage::Flat => {
                let table = 112 << 20;
                for page in 0..RAM >> 12 {
                    ram.0[(table + page * 8) as usize / 8] = page << 10 | FLAGS;
                }
                SecondStage::Flat { table: Hpa(table), first: Gpa(0), entries: RAM >> 12 }
            }
            Stage::Reserved => SecondStage::Reserved { ram: ram_range, offset: 0 },
        };
        let mut mmu = Mmu::new(config).expect("the configuration is good");
        let context = TranslationContext {
            mode: PagingMode::Sv39,
            root: Gpa(guest),
            privilege: Privilege::User,
            ..TranslationContext::default()
        };
        mmu.set_context(&context, Vmid(1));
        let mut seed = 1u64;
        let mut order: Vec<_> = (0..pages).map(|page| Gva(page * 4096)).collect();
        for index in (1..order.len()).rev() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            order.swap(index, (seed >> 33) as usize % (index + 1));
        }
        Self { mmu, ram, second, order, clock: 0 }
    }

    /// Nanoseconds of an access.
    fn miss(mut self) -> (f64, mmu::MmuStatistics) {
        let rounds = (64_000 / self.order.len()).max(1);
        let mut best = f64::MAX;
        for _ in 0..runs() {
            self.mmu.reset_statistics();
            let start = Instant::now();
            for _ in 0..rounds {
                for &gva in &self.order {
                    self.clock += 1;
                    let hit = self.mmu.access(&mut self.ram, &self.second, gva, Access::Read, self.clock);
                    black_box(hit.expect("the page is mapped"));
                }
            }
            let each = start.elapsed().as_nanos() as f64 / (rounds * self.order.len()) as f64;
            best = best.min(each);
        }
        (best, *self.mmu.statistics())
    }

    /// Nanoseconds of an access that hits the entry it predicts.
    fn predicted(mut self) -> f64 {
        let mut slots = Vec::new();
        for &gva in &self.order {
            self.clock += 1;
            let hit = self.mmu.access(&mut self.ram, &self.second, gva, Access::Read, self.clock);
            slots.push((gva, hit.expect("the page is mapped").slot));
        }
        let rounds = 400_000 / slots.len();
        let view = self.mmu.data_view();
        let mut best = f64::MAX;
        for _ in 0..runs() {
            let start = Instant::now();
            for _ in 0..rounds {
                for &(gva, slot) in &slots {
                    self.clock += 1;
                    // SAFETY: the view and the slots are this MMU's, which has no other user meanwhile.
                    let pointer = unsafe { L1Entry::read_hit(view, slot, gva, Width::Double, self.clock) };
                    assert!(black_box(pointer).is_some());
                }
            }
            best = best.min(start.elapsed().as_nanos() as f64 / (rounds * slots.len()) as f64);
        }
        best
    }
}

/// Nanoseconds of a change between two contexts.
fn context_change(change: impl Fn(&mut TranslationContext)) -> f64 {
    let bench = Bench::new(&MmuConfig::default(), Stage::Native, 32);
    let mut mmu = bench.mmu;
    let one = TranslationContext { mode: PagingMode::Sv39, ..TranslationContext::default() };
    let mut two = one;
    change(&mut two);
    let mut best = f64::MAX;
    for _ in 0..runs() {
        let start = Instant::now();
        for _ in 0..1000 {
            mmu.set_context(black_box(&two), Vmid(1));
            mmu.set_context(black_box(&one), Vmid(1));
        }
        best = best.min(start.elapsed().as_nanos() as f64 / 2000.0);
    }
    best
}

fn main() {
    let usual = MmuConfig::default();
    let off = MmuConfig { walk_caches: WalkCaches::OFF, nested_tlb: None, ..MmuConfig::default() };
    println!("{:<44}{:>8}{:>12}{:>12}", "answered by", "ns", "L2 misses", "references");
    let target = std::env::args().nth(1).unwrap_or_default();
    if "L1, predicted".contains(&target) {
        println!("{:<44}{:>8.2}", "L1, predicted", Bench::new(&usual, Stage::Native, 32).predicted());
    }
    let software = MmuConfig { refill: Refill::Software(ROUTINE), ..off.clone() };
    for (name, config, stage, pages) in [
        ("L1, not predicted", &usual, Stage::Native, 32),
        ("L2", &usual, Stage::Native, 1024),
        ("walk, native Sv39", &usual, Stage::Native, 16 << 10),
        ("walk, native Sv39, no walk caches", &off, Stage::Native, 16 << 10),
        ("walk, nested Sv39 on Sv39x4", &usual, Stage::Nested, 16 << 10),
        ("walk, nested Sv39 on Sv39x4, no walk caches", &off, Stage::Nested, 16 << 10),
        ("walk, flat Sv39", &usual, Stage::Flat, 16 << 10),
        ("walk, flat Sv39, by software", &software, Stage::Flat, 16 << 10),
        ("walk, reserved Sv39", &usual, Stage::Reserved, 16 << 10),
    ] {
        if !name.contains(&target) {
            continue;
        }
        let (each, counts) = Bench::new(config, stage, pages).miss();
        let accesses = (counts.l1d_misses.max(1)) as f64;
        let misses = counts.l2_misses as f64 / accesses;
        let refs = counts.refs() as f64 / counts.walks.max(1) as f64;
        println!("{name:<44}{each:>8.2}{misses:>12.2}{refs:>12.2}");
    }
    let row = |name: &str, change: fn(&mut TranslationContext)| {
        if name.contains(&target) {
            println!("{name:<44}{:>8.2}", context_change(change));
        }
    };
    row("change of SUM", |context| context.sum = true);
    row("change of ASID", |context| context.asid = Asid(7));
}
