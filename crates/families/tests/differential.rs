//! Passes against the MMU that replays have, over random guests and random TLBs: every count is the same, or the pass ends with an obstacle.

use families::{Counts, Obstacle, Pass, takes};
use mmu::{
    Fence, HostPage, Mmu, MmuConfig, MmuStatistics, SecondStage, TableMemory, TlbArray, WalkCacheSizes, WalkCaches,
};
use recording::{Ends, Event, Leaves};
use std::collections::HashMap;
use std::ops::Range;
use testing::{Random, number, seed};
use types::{Access, Asid, Gpa, Gva, Hpa, PageSize, PagingMode, Privilege, TranslationContext, Vmid, Width};

const RAM: Range<u64> = 0x8000_0000..0x8800_0000;
/// Where the kernel has all memory.
const LINEAR: u64 = 0xffff_ffc0_0000_0000;
const VALID: u64 = 1;
const LEAF: u64 = 0xf;
const USER: u64 = 1 << 4;
const GLOBAL: u64 = 1 << 5;
const TOUCHED: u64 = 3 << 6;
const NAPOT: u64 = 1 << 63;
const SPACES: u16 = 3;

#[derive(Clone)]
struct Memory(HashMap<u64, u64>);

impl TableMemory for Memory {
    fn read(&mut self, at: Hpa) -> Option<u64> {
        RAM.contains(&at.0).then(|| self.0.get(&at.0).copied().unwrap_or(0))
    }

    fn compare_exchange(&mut self, at: Hpa, old: u64, new: u64) -> Option<u64> {
        let found = self.read(at)?;
        if found == old {
            self.0.insert(at.0, new);
        }
        Some(found)
    }

    fn host_page(&self, page: Hpa, size: PageSize) -> HostPage {
        let end = page.0 + size.bytes();
        if RAM.start <= page.0 && end <= RAM.end {
            HostPage::Ram(std::ptr::without_provenance_mut(page.0 as usize))
        } else if end <= RAM.start || RAM.end <= page.0 {
            HostPage::Device
        } else {
            HostPage::Mixed
        }
    }
}

/// Machines that a guest runs on side by side, and the events of its recording.
struct Machines {
    mmus: Vec<(Mmu, Memory)>,
    events: Vec<Event>,
    context: TranslationContext,
    time: u64,
    begun: Option<Vec<MmuStatistics>>,
    measured: Option<Vec<MmuStatistics>>,
}

/// A guest with tables: entries of leaves, each with its address, and where they map what.
struct Guest {
    machines: Machines,
    leaves: Vec<(u64, u64, Option<u16>)>,
    pointers: Vec<(u64, u64)>,
    next: u64,
    tables: HashMap<u64, Box<[u64; 512]>>,
}

impl Machines {
    fn enter(&mut self, context: TranslationContext) {
        if context != self.context {
            self.context = context;
            self.events.push(Event::Context(context));
            self.mmus.iter_mut().for_each(|(mmu, _)| mmu.set_context(&context, Vmid(1)));
        }
    }

    /// Whether it is made; `None` if the machines differ.
    fn translate(&mut self, gva: u64, access: Access) -> Option<bool> {
        self.time += 1;
        let second = SecondStage::Constant { ram: Gpa(RAM.start)..Gpa(RAM.end), offset: 0 };
        let time = self.time;
        let mut made =
            self.mmus.iter_mut().map(|(mmu, memory)| mmu.access(memory, &second, Gva(gva), access, time).is_ok());
        let first = made.next().unwrap();
        // All of them are made.
        made.fold(true, |same, other| same & (other == first)).then_some(first)
    }

    fn access(&mut self, gva: u64, access: Access) -> Option<()> {
        let ends = if self.translate(gva, access)? { Ends::Done } else { Ends::Fault };
        self.events.push(Event::Access { access, page: gva >> 12, ends });
        Some(())
    }

    fn fence(&mut self, gva: Option<Gva>, asid: Option<Asid>) {
        self.events.push(Event::Fence { gva, asid });
        self.mmus.iter_mut().for_each(|(mmu, _)| mmu.fence(&Fence::Vma { gva, asid }));
    }

    fn store(&mut self, at: u64, value: u64) -> Option<()> {
        let kernel = TranslationContext { privilege: Privilege::Supervisor, ..self.context };
        let before = self.context;
        self.enter(kernel);
        let gva = LINEAR + (at - RAM.start);
        assert!(self.translate(gva, Access::Write)?, "the kernel's memory is mapped");
        self.events.push(Event::TableStore { gva: Gva(gva), width: Width::Double, value });
        for (_, memory) in &mut self.mmus {
            memory.0.insert(at, value);
        }
        self.enter(before);
        Some(())
    }

    fn mark(&mut self, number: u16) {
        self.events.push(Event::End { leaves: Leaves::Marker(number), counts: recording::Counts::default() });
        if number == 1 {
            self.mmus.iter_mut().for_each(|(mmu, _)| mmu.restart_maximum());
            self.begun = Some(self.mmus.iter().map(|(mmu, _)| *mmu.statistics()).collect());
        } else if let Some(begun) = self.begun.take() {
            let now = self.mmus.iter().zip(begun).map(|((mmu, _), begun)| mmu.statistics().since(&begun));
            match &mut self.measured {
                Some(sums) => sums.iter_mut().zip(now).for_each(|(sum, counts)| sum.add(&counts)),
                none => *none = Some(now.collect()),
            }
        }
    }

    fn statistics(&self) -> Vec<MmuStatistics> {
        self.measured.clone().unwrap_or_else(|| self.mmus.iter().map(|(mmu, _)| *mmu.statistics()).collect())
    }
}

fn arrays(random: &mut Random) -> Vec<TlbArray> {
    use PageSize::{Size1G, Size2M, Size4K, Size64K};
    let array = |random: &mut Random, sizes: &[PageSize]| {
        let most = if random.one_in(3) { 12 } else { 4 };
        TlbArray::new(sizes, 1 << random.below(4), 1 + random.below(most) as u32)
    };
    match random.below(6) {
        0 => vec![array(random, &[Size4K])],
        1 | 2 => vec![array(random, &[Size4K, Size2M])],
        3 => vec![array(random, &[Size4K]), array(random, &[Size2M, Size1G])],
        4 => vec![array(random, &[Size4K, Size64K]), array(random, &[Size2M]), array(random, &[Size1G])],
        _ => vec![array(random, &[Size4K, Size2M, Size1G])],
    }
}

fn config(random: &mut Random, others: &[MmuConfig]) -> MmuConfig {
    let guest = WalkCacheSizes(core::array::from_fn(|_| random.pick(&[0, 1, 2, 4, 16])));
    let walk_caches = WalkCaches { guest, host: WalkCacheSizes::OFF };
    let l2 = if random.one_in(8) { Vec::new() } else { arrays(random) };
    // Some systems share an L1.
    let (l1d, l1i) = match others.last() {
        Some(other) if random.one_in(2) => (other.l1d.clone(), other.l1i.clone()),
        Some(_) | None => (arrays(random), arrays(random)),
    };
    MmuConfig { l1d, l1i, l2, walk_caches, nested_tlb: None, ..MmuConfig::default() }
}

impl Guest {
    fn page(&mut self) -> u64 {
        self.next += 4096;
        self.next - 4096
    }

    fn table(&mut self) -> u64 {
        let page = self.page();
        self.tables.insert(page, Box::new([0; 512]));
        page
    }

    fn set(&mut self, table: u64, index: u64, entry: u64) -> u64 {
        self.tables.get_mut(&table).unwrap()[index as usize] = entry;
        table + index * 8
    }

    /// Tables of a gibibyte, whose pages have those bits.
    fn gibibyte(&mut self, random: &mut Random, gva: u64, (bits, space): (u64, Option<u16>)) -> u64 {
        let middle = self.table();
        for region in 0..3 {
            let gva = gva + (region << 21);
            if random.one_in(4) {
                let frame = RAM.start + (random.below(32) << 21);
                let at = self.set(middle, region, frame >> 2 | LEAF | bits | random.pick(&[0, TOUCHED, TOUCHED]));
                self.leaves.push((at, gva, space));
                continue;
            }
            let last = self.table();
            let at = self.set(middle, region, last >> 2 | VALID);
            self.pointers.push((at, gva));
            for page in 0..random.below(40) {
                let frame = RAM.start + (random.below(1 << 14) << 12);
                let right = random.pick(&[LEAF, LEAF, 0x3, 0xb, 0x9]);
                let at = self.set(last, page, frame >> 2 | right | bits | random.pick(&[0, TOUCHED]));
                self.leaves.push((at, gva + (page << 12), space));
            }
            if random.one_in(2) {
                let frame = (RAM.start + (random.below(1 << 10) << 16)) >> 12 | 8;
                for page in 64..80 {
                    let at = self.set(last, page, NAPOT | frame << 10 | LEAF | bits | TOUCHED);
                    self.leaves.push((at, gva + (page << 12), space));
                }
            }
        }
        middle
    }

    fn new(random: &mut Random, configs: &[MmuConfig]) -> Self {
        let memory = Memory(HashMap::new());
        let mmus = configs.iter().map(|config| (Mmu::new(config).unwrap(), memory.clone())).collect();
        let context = TranslationContext::default();
        let machines = Machines { mmus, events: Vec::new(), context, time: 0, begun: None, measured: None };
        let mut guest =
            Self { machines, leaves: Vec::new(), pointers: Vec::new(), next: RAM.start, tables: HashMap::new() };
        let roots: Vec<u64> = (0..SPACES).map(|_| guest.table()).collect();
        let kernel = 0xffff_ffd0_0000_0000;
        let shared = guest.gibibyte(random, kernel, (GLOBAL, None));
        let pointer = random.pick(&[0, GLOBAL]);
        for (space, &root) in (0..).zip(&roots) {
            let own = guest.gibibyte(random, 0, (USER, Some(space)));
            guest.set(root, 0, own >> 2 | VALID);
            let index = |gva: u64| gva >> 30 & 0x1ff;
            let entry = RAM.start >> 2 | LEAF | GLOBAL | TOUCHED;
            guest.set(root, index(LINEAR), entry);
            guest.set(root, index(kernel), shared >> 2 | VALID | pointer);
        }
        for (page, words) in &guest.tables {
            for (_, memory) in &mut guest.machines.mmus {
                memory.0.extend((*page..).step_by(8).zip(words.iter().copied()));
            }
        }
        let mut pages: Vec<_> = guest.tables.iter().collect();
        pages.sort_by_key(|(page, _)| **page);
        let pages = pages.into_iter().map(|(page, words)| Event::TablePage { page: page >> 12, words: words.clone() });
        guest.machines.events.extend(pages);
        guest
    }

    fn context(&self, random: &mut Random) -> TranslationContext {
        let space = random.below(SPACES.into());
        let privilege = random.pick(&[Privilege::User, Privilege::User, Privilege::Supervisor]);
        let (root, asid) = (Gpa(RAM.start + (space << 12)), Asid(space as u16));
        TranslationContext {
            mode: PagingMode::Sv39,
            root,
            asid,
            privilege,
            sum: random.one_in(2),
            mxr: random.one_in(4),
        }
    }

    /// A step; `None` if the machines are in different states.
    fn step(&mut self, random: &mut Random, careless: bool) -> Option<()> {
        match random.below(400) {
            0..12 => {
                let context = self.context(random);
                self.machines.enter(context);
            }
            12..16 => {
                let (at, gva, space) = self.leaves[random.index(self.leaves.len())];
                let old = self.machines.mmus[0].1.0[&at];
                if old & NAPOT != 0 {
                    return Some(());
                }
                let bit = random.pick(&[VALID, 1 << 2, 1 << 6, 1 << 7, 1 << 20]);
                let bit = if bit == 1 << 20 && old >> 28 & 1 == 0 { 1 << 7 } else { bit };
                self.machines.store(at, old ^ bit)?;
                if careless && random.one_in(4) {
                    return Some(());
                }
                let asid = space.filter(|_| random.one_in(2)).map(Asid);
                self.machines.fence(random.one_in(2).then_some(Gva(gva)).filter(|_| old & LEAF & !1 != 0), asid);
            }
            16 => {
                let (at, gva) = self.pointers[random.index(self.pointers.len())];
                let old = self.machines.mmus[0].1.0[&at];
                self.machines.store(at, old ^ VALID)?;
                if careless && random.one_in(4) {
                    return Some(());
                }
                let by_address = careless && random.one_in(4);
                self.machines.fence(by_address.then_some(Gva(gva)), None);
            }
            17 => self.machines.fence(None, random.one_in(2).then_some(Asid(random.below(3) as u16))),
            18 | 19 => {
                let gva = self.leaves[random.index(self.leaves.len())].1;
                self.machines.fence(Some(Gva(gva)), None);
            }
            20 => self.machines.access(1 << 50, Access::Read)?,
            21 => self.machines.mark(random.pick(&[1, 2])),
            _ => {
                let few = if random.one_in(2) { 12 } else { self.leaves.len() };
                let gva = self.leaves[random.index(few.min(self.leaves.len()))].1 + ((random.below(3) / 2) << 12);
                let access = random.pick(&[Access::Read, Access::Read, Access::Write, Access::Execute]);
                self.machines.access(gva, access)?;
            }
        }
        Some(())
    }
}

fn same(counts: &Counts, statistics: &MmuStatistics) -> bool {
    counts.statistics(statistics) == *statistics
}

/// What came of episodes.
#[derive(Default, Debug)]
struct Coverage {
    compared: u64,
    obstacles: u64,
    conflicts: u64,
}

fn episode(random: &mut Random, careless: bool, coverage: &mut Coverage) -> Result<(), String> {
    let mut configs: Vec<MmuConfig> = Vec::new();
    while configs.len() < 8 {
        let config = config(random, &configs);
        if takes(&config) {
            configs.push(config);
        }
    }
    let mut guest = Guest::new(random, &configs);
    let first = guest.context(random);
    guest.machines.enter(first);
    let mut apart = false;
    for _ in 0..2000 {
        if guest.step(random, careless).is_none() {
            apart = true;
            break;
        }
    }
    let mut pass = Pass::new(&configs, Gpa(RAM.start)..Gpa(RAM.end), 0);
    for (number, event) in guest.machines.events.iter().enumerate() {
        match pass.event(event) {
            Ok(()) => {}
            Err(Obstacle::Unfenced(_) | Obstacle::Pieces(_) | Obstacle::Differs(_) | Obstacle::Unknown(_)) => {
                coverage.obstacles += 1;
                return Ok(());
            }
            Err(other) => return Err(format!("event {number}: {other}")),
        }
    }
    // What the machines did last differs between them, and is no event of a recording.
    if apart {
        return Ok(());
    }
    let Ok(counted) = pass.finish() else {
        coverage.obstacles += 1;
        return Ok(());
    };
    for (number, (counts, statistics)) in counted.iter().zip(guest.machines.statistics()).enumerate() {
        let Some(counts) = counts else {
            coverage.conflicts += 1;
            continue;
        };
        if !same(counts, &statistics) {
            return Err(format!("system {number}: {counts:?}\n{statistics:#?}\n{:#?}", configs[number]));
        }
        coverage.compared += 1;
    }
    Ok(())
}

/// `FAMILIES_EPISODES` makes it longer, and `FAMILIES_SEED` repeats it.
#[test]
fn a_pass_counts_what_each_mmu_counts() {
    let (seed, episodes) = (seed("FAMILIES_SEED"), number("FAMILIES_EPISODES", 400));
    let mut coverage = [Coverage::default(), Coverage::default()];
    for number in 0..episodes {
        let careless = number % 4 == 3;
        let result = episode(&mut Random::nth(seed, number), careless, &mut coverage[usize::from(careless)]);
        assert_eq!(result, Ok(()), "FAMILIES_SEED={seed}: episode {number}");
    }
    println!("{coverage:?}");
    let [careful, careless] = coverage;
    assert!(careful.compared > episodes, "{careful:?}");
    assert!(careless.obstacles > episodes / 16, "{careless:?}");
}
