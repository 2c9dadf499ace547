//! Stages compose: three radix stages, and steps of several references, against closed forms. A walk that changes its mode in the middle is in
//! `agile.rs`.

use super::host::Host;
use super::nested_tlb::NestedTlb;
use super::tabled::{Memory, TabledStage};
use crate::config::{AdPolicy, Groups, TlbArray, WalkCacheSizes};
use crate::fault::{AccessCause, Cause, Fault, NestedFault, Purpose};
use crate::geometry::Geometry;
use crate::memory::{HostPage, TableMemory};
use crate::pte::Pte;
use crate::rights::Rights;
use crate::space::Spaces;
use crate::statistics::MmuStatistics;
use crate::walk::{
    Address, Backing, Dimension, General, GuestDimension, HostDimension, Map, Mapping, Policy, Ports, Request, Tree,
};
use crate::walk_cache::WalkCache;
use std::collections::BTreeMap;
use types::{Access, Gpa, Gva, Hpa, PageSize, PagingMode, SecondStageMode, Vmid};

const FLAGS: u64 = Pte::V | Pte::R | Pte::W | Pte::U;
const SETTLED: u64 = FLAGS | Pte::A | Pte::D;
const MODES: [(PagingMode, SecondStageMode); 3] = [
    (PagingMode::Sv39, SecondStageMode::Sv39x4),
    (PagingMode::Sv48, SecondStageMode::Sv48x4),
    (PagingMode::Sv57, SecondStageMode::Sv57x4),
];

/// A physical address of the guest of a guest hypervisor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct InnerGpa(u64);

impl Address for InnerGpa {
    fn of(bits: u64) -> Self {
        Self(bits)
    }

    fn bits(self) -> u64 {
        self.0
    }

    fn behind(self, entry: Pte) -> u64 {
        entry.address()
    }
}

/// The second stage of a guest hypervisor, which for the host is the guest's.
enum InnerDimension {}

impl Dimension for InnerDimension {
    type In = InnerGpa;

    const OUTSIDE: AccessCause = AccessCause::FirstStageTable;

    fn refused(request: &Request<InnerGpa>, cause: Cause) -> Fault {
        let Request { address: InnerGpa(gpa), access, purpose, .. } = *request;
        Fault::Nested(NestedFault { gpa: Gpa(gpa), access, purpose, cause })
    }

    fn references(statistics: &mut MmuStatistics) -> &mut u64 {
        &mut statistics.guest_refs
    }

    fn updates(statistics: &mut MmuStatistics) -> &mut u64 {
        &mut statistics.guest_updates
    }

    fn cache_hits(statistics: &mut MmuStatistics) -> &mut [u64; 4] {
        &mut statistics.guest_cache_hits
    }
}

/// Words that exist; everything below 2^56 is memory.
#[derive(Clone, Default)]
struct Words(BTreeMap<u64, u64>);

impl TableMemory for Words {
    fn read(&mut self, at: Hpa) -> Option<u64> {
        (at.0 < 1 << 56).then(|| self.0.get(&at.0).copied().unwrap_or(0))
    }

    fn compare_exchange(&mut self, at: Hpa, old: u64, new: u64) -> Option<u64> {
        let found = self.read(at)?;
        if found == old {
            self.0.insert(at.0, new);
        }
        Some(found)
    }

    fn host_page(&self, _: Hpa, _: PageSize) -> HostPage {
        HostPage::Device
    }
}

const fn pte(address: u64, flags: u64) -> u64 {
    (address >> 12) << 10 | flags
}

/// The tables of one stage, as who writes them sees them.
struct Written {
    geometry: Geometry,
    root: u64,
    /// What is added to a table's address to get at it in the host's memory.
    to_host: u64,
    /// Tables, by address in their own space.
    tables: Vec<u64>,
}

impl Written {
    fn new(geometry: Geometry, root: u64, to_host: u64) -> Self {
        Self { geometry, root, to_host, tables: vec![root] }
    }

    /// Where the entry of an address is in the host's memory, at each level down to the last; tables are added.
    fn path(&mut self, words: &mut Words, address: u64) -> Vec<u64> {
        let mut path = Vec::new();
        let mut table = self.root;
        for level in (0..=self.geometry.root_level).rev() {
            let at = table + self.geometry.slot(address, level) + self.to_host;
            path.push(at);
            if level != 0 {
                let next = self.root + 0x10_0000 + self.tables.len() as u64 * 0x1000;
                let pointer = *words.0.entry(at).or_insert_with(|| {
                    self.tables.push(next);
                    pte(next, Pte::V)
                });
                table = Pte(pointer).address();
            }
        }
        path
    }

    fn map(&mut self, words: &mut Words, address: u64, target: u64, flags: u64) {
        let at = *self.path(words, address).last().unwrap();
        words.0.insert(at, pte(target, flags));
    }

    fn tree(&self) -> Tree {
        let spaces = Spaces::of_guest_physical(Vmid(1));
        Tree { geometry: self.geometry, root: self.root, spaces, ad: AdPolicy::Update, groups: Groups::Svnapot }
    }
}

/// What one stage remembers.
struct Remembered {
    cache: WalkCache,
    tlb: Option<NestedTlb>,
}

impl Remembered {
    fn nothing() -> Self {
        Self { cache: WalkCache::OFF, tlb: None }
    }

    fn much() -> Self {
        let tlb = TlbArray::new(&PageSize::ALL, 1, 64);
        Self { cache: WalkCache::new(WalkCacheSizes::ON), tlb: Some(NestedTlb::new(&tlb)) }
    }

    fn lend(&mut self) -> Memory<'_> {
        let space = Spaces::of_guest_physical(Vmid(1)).local;
        Memory { space, cache: &mut self.cache, tlb: self.tlb.as_mut() }
    }
}

const GVA: u64 = 0x12_3456_7000;
const INNER_PAGE: u64 = 0x1_5000_0000;
/// Inner gPA to gPA, and gPA to hPA.
const OFFSETS: [u64; 2] = [0x20_0000_0000, 0x100_0000_0000];

/// A process under a guest's kernel under a guest hypervisor.
struct Tower {
    words: Words,
    outer: Written,
    middle: Written,
    inner: Written,
    remembered: [Remembered; 3],
    statistics: MmuStatistics,
}

impl Tower {
    /// Every page that is needed is mapped, by leaves with these flags.
    fn new(modes: [usize; 3], flags: u64, remember: fn() -> Remembered) -> Self {
        let [n, m, k] = modes;
        let [first, second] = OFFSETS;
        let mut words = Words::default();
        let mut outer = Written::new(Geometry::of_first_stage(MODES[n].0), 0x1_0000_0000, first + second);
        let mut middle = Written::new(Geometry::of_second_stage(MODES[m].1), 0x2_0000_0000, second);
        let mut inner = Written::new(Geometry::of_second_stage(MODES[k].1), 0x3_0000_0000, 0);
        outer.map(&mut words, GVA, INNER_PAGE, flags);
        let inner_gpas = [outer.tables.clone(), vec![INNER_PAGE]].concat();
        for gpa in &inner_gpas {
            middle.map(&mut words, *gpa, gpa + first, flags);
        }
        let gpas = inner_gpas.iter().map(|gpa| gpa + first).chain(middle.tables.clone());
        for gpa in gpas.chain((1..4).map(|page| middle.root + page * 0x1000)) {
            inner.map(&mut words, gpa, gpa + second, flags);
        }
        let remembered = [remember(), remember(), remember()];
        Self { words, outer, middle, inner, remembered, statistics: MmuStatistics::default() }
    }

    /// Translates through all three stages.
    fn reach(&mut self, gva: u64, access: Access) -> Result<Mapping<Hpa>, Fault> {
        let Self { words, outer, middle, inner, remembered: [first, second, third], statistics } = self;
        let host = TabledStage::<HostDimension, _, _>::new(inner.tree(), Host, third.lend());
        let guest = TabledStage::<InnerDimension, _, _>::new(middle.tree(), host, second.lend());
        let mut process = TabledStage::<GuestDimension, _, _>::new(outer.tree(), guest, first.lend());
        let limit = PageSize::Size256T;
        let request = Request { address: Gva(gva), access, purpose: Purpose::Data, limit };
        let mut ports = Ports { memory: words, statistics };
        process.reach::<General, _, _>(&mut ports, request, |_, mapping| Ok(*mapping))
    }

    fn expected() -> Hpa {
        Hpa(INNER_PAGE + OFFSETS[0] + OFFSETS[1])
    }
}

fn levels(mode: usize) -> u64 {
    mode as u64 + 3
}

fn every_three() -> impl Iterator<Item = [usize; 3]> {
    (0..27).map(|index| [index / 9, index / 3 % 3, index % 3])
}

#[test]
fn three_radix_stages_take_the_closed_form() {
    for modes in every_three() {
        let [n, m, k] = modes.map(levels);
        let mut tower = Tower::new(modes, SETTLED, Remembered::nothing);
        let mapping = tower.reach(GVA | 0x123, Access::Write).unwrap();
        assert_eq!(
            (mapping.page(), mapping.size(), mapping.backing()),
            (Tower::expected(), PageSize::Size4K, Backing::Host)
        );
        let counted = tower.statistics;
        assert_eq!(counted.refs(), (n + 1) * (m + 1) * (k + 1) - 1, "{n} on {m} on {k}");
        // What the guest wrote, and what the hypervisor did.
        assert_eq!((counted.guest_refs, counted.host_refs), (n + (n + 1) * m, (n + 1) * (m + 1) * k));
        assert_eq!(counted.steps(), counted.refs(), "one reference in each step");
    }
    let refs = |modes| {
        let mut tower = Tower::new(modes, SETTLED, Remembered::nothing);
        tower.reach(GVA, Access::Read).unwrap();
        tower.statistics.refs()
    };
    // What the documentation promises.
    assert_eq!((refs([0, 0, 0]), refs([1, 1, 1])), (63, 124));
}

#[test]
fn what_three_stages_remember_saves_references_and_changes_no_translation() {
    for modes in every_three() {
        let [n, m, k] = modes.map(levels);
        let mut tower = Tower::new(modes, SETTLED, Remembered::much);
        let first = tower.reach(GVA, Access::Read).unwrap();
        let once = tower.statistics.refs();
        assert!(once < (n + 1) * (m + 1) * (k + 1) - 1, "pages of tables are met again: {once}");
        let again = tower.reach(GVA | 0xff8, Access::Read).unwrap();
        assert_eq!((first.page(), again.page()), (Tower::expected(), Tower::expected()));
        assert_eq!(tower.statistics.refs(), once, "the first TLB answers");
    }
}

#[test]
fn a_and_d_are_set_through_the_stages_below() {
    for remember in [Remembered::nothing, Remembered::much] {
        for modes in every_three() {
            let mut tower = Tower::new(modes, FLAGS, remember);
            assert_eq!(tower.reach(GVA, Access::Write).unwrap().page(), Tower::expected());
            let [first, _] = OFFSETS;
            let Tower { words, outer, middle, inner, .. } = &mut tower;
            let mut leaf = |tables: &mut Written, address| {
                let at = *tables.path(words, address).last().unwrap();
                words.0[&at] & (Pte::A | Pte::D)
            };
            let both = Pte::A | Pte::D;
            assert_eq!(leaf(outer, GVA), both);
            assert_eq!(leaf(middle, INNER_PAGE), both);
            assert_eq!(leaf(inner, INNER_PAGE + first), both);
            // The page of the outer leaf's table is written, too; that of its root is only read.
            let last = *outer.tables.last().unwrap();
            assert_eq!((leaf(middle, last), leaf(inner, last + first)), (both, both));
            assert_eq!(leaf(middle, outer.root), Pte::A);
        }
    }
}

#[test]
fn each_stage_refuses_in_its_own_name() {
    let refused = |of: fn(&mut Tower) -> (u64, u64)| {
        let mut tower = Tower::new([0, 1, 0], SETTLED, Remembered::nothing);
        let (at, gpa) = of(&mut tower);
        tower.words.0.insert(at, 0);
        (tower.reach(GVA, Access::Read).unwrap_err(), gpa)
    };
    let (fault, _) = refused(|tower| (*tower.outer.path(&mut tower.words, GVA).last().unwrap(), 0));
    assert_eq!(fault, Fault::Page(Cause::Invalid));
    let nested = |gpa, purpose| {
        let (access, cause) = (Access::Read, Cause::Invalid);
        Fault::Nested(NestedFault { gpa: Gpa(gpa), access, purpose, cause })
    };
    let (fault, gpa) = refused(|tower| (*tower.middle.path(&mut tower.words, INNER_PAGE).last().unwrap(), INNER_PAGE));
    assert_eq!(fault, nested(gpa, Purpose::Data));
    // The innermost stage does not map a table of the middle one.
    let (fault, gpa) = refused(|tower| {
        let root = tower.middle.root;
        let entry = tower.middle.geometry.slot(tower.outer.root, tower.middle.geometry.root_level);
        (*tower.inner.path(&mut tower.words, root + entry).last().unwrap(), root + entry)
    });
    assert_eq!(fault, nested(gpa, Purpose::Table));
}

/// A second stage that reads the same entry of several tables at once, as one with hashed tables does.
struct ReadsAtOnce<const WAYS: usize>;

impl<const WAYS: usize> Map for ReadsAtOnce<WAYS> {
    type In = Gpa;
    type Out = Hpa;

    const TRACELESS: bool = false;

    fn reach<P: Policy, M: TableMemory, R>(
        &mut self,
        ports: &mut Ports<'_, M>,
        request: Request<Gpa>,
        then: impl FnOnce(&mut Ports<'_, M>, &Mapping<Hpa>) -> Result<R, P::Stop>,
    ) -> Result<R, P::Stop> {
        let table = |way: usize| 0x5_0000_0000 + way as u64 * 0x1000;
        let entries: [Hpa; WAYS] = core::array::from_fn(|way| Hpa(table(way)));
        let mut found = [None; WAYS];
        ports.memory.read_together(&entries, &mut found);
        assert!(found.iter().all(Option::is_some));
        ports.statistics.host_refs += WAYS as u64;
        ports.statistics.joint_refs += WAYS as u64 - 1;
        let Request { address, limit: size, .. } = request;
        let page = Hpa(address.0 + OFFSETS[1]).page(size);
        then(ports, &Mapping::new(page, size, Rights::ALL, Backing::Host))
    }

    fn reach_update<M: TableMemory>(&mut self, ports: &mut Ports<'_, M>, at: Gpa) -> Result<Mapping<Hpa>, Fault> {
        self.reach::<General, M, _>(ports, Request::of_update(at), |_, mapping| Ok(*mapping))
    }
}

#[test]
fn references_that_are_made_at_once_are_one_step() {
    for (mode, _) in MODES {
        let mut words = Words::default();
        let mut guest = Written::new(Geometry::of_first_stage(mode), 0x1_0000_0000, OFFSETS[1]);
        guest.map(&mut words, GVA, INNER_PAGE, SETTLED);
        let (mut above, mut statistics) = (Remembered::nothing(), MmuStatistics::default());
        let begun = statistics.mark();
        let mut stage = TabledStage::<GuestDimension, _, _>::new(guest.tree(), ReadsAtOnce::<3>, above.lend());
        let (access, purpose, limit) = (Access::Read, Purpose::Data, PageSize::Size4K);
        let request = Request { address: Gva(GVA), access, purpose, limit };
        let mut ports = Ports { memory: &mut words, statistics: &mut statistics };
        let page = stage.reach::<General, _, _>(&mut ports, request, |_, mapping| Ok(mapping.page())).unwrap();
        assert_eq!(page, Hpa(INNER_PAGE + OFFSETS[1]));
        statistics.take_maxima(begun);
        let n = u64::from(mode.levels());
        assert_eq!((statistics.refs(), statistics.steps()), (n + (n + 1) * 3, n + (n + 1)));
        assert_eq!((statistics.max_refs, statistics.max_steps), (n + (n + 1) * 3, n + (n + 1)));
    }
}
