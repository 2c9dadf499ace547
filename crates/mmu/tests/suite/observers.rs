//! Observers of the miss path: they receive what happens, and an observer changes nothing.

use crate::common::builder::{A, D, R, U, W, X};
use crate::common::fixture::Fixture;
use mmu::{
    DirectSegment, EscapeFilter, EventCounts, Eviction, Fill, Miss, MmuConfig, Observer, ResidentPage, Segment,
    Segments, Source, TlbArray, TlbLevel, Walk,
};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use testing::Random;
use types::PageSize::{self, Size4K};
use types::{Access, Gpa, Gva, Vmid};

const PAGES: u64 = 100;
const FLAGS: u64 = R | W | X | U | A | D;

/// TLBs that a hundred pages do not fit; the policies are LRU, or others.
fn config(policies: [&str; 3]) -> MmuConfig {
    let array =
        |sets, ways, policy: &str| vec![TlbArray::new(&[Size4K], sets, ways).with_replacement(policy.parse().unwrap())];
    let [l1d, l1i, l2] = policies;
    MmuConfig { l1d: array(2, 4, l1d), l1i: array(1, 4, l1i), l2: array(4, 8, l2), ..MmuConfig::default() }
}

fn mapped<O: Observer>(config: &MmuConfig, observer: O) -> Fixture<O> {
    let mut fixture = Fixture::observed(config, observer);
    for page in 0..PAGES {
        fixture.map(page << 12, Size4K, 0xa000_0000 + (page << 12), FLAGS);
    }
    fixture
}

/// What a test watches of the events.
trait Watch {
    fn miss(&mut self, _: &Miss) {}

    fn fill(&mut self, fill: &Fill<'_>);

    fn eviction(&mut self, _: &Eviction) {}

    fn walk(&mut self, _: &Walk) {}
}

/// The observer of all tests that watch: the whole MMU is compiled for each type of observer, which takes ten seconds.
struct Watched(Rc<RefCell<dyn Watch>>);

impl Observer for Watched {
    const OBSERVES: bool = true;

    fn miss(&mut self, miss: &Miss) {
        self.0.borrow_mut().miss(miss);
    }

    fn fill(&mut self, fill: &Fill<'_>) {
        self.0.borrow_mut().fill(fill);
    }

    fn eviction(&mut self, eviction: &Eviction) {
        self.0.borrow_mut().eviction(eviction);
    }

    fn walk(&mut self, walk: &Walk) {
        self.0.borrow_mut().walk(walk);
    }
}

/// A watcher in which nothing has happened, and an observer that it gets its events from.
fn watcher<W: Watch + Default + 'static>() -> (Rc<RefCell<W>>, Watched) {
    let watcher = Rc::new(RefCell::new(W::default()));
    (Rc::clone(&watcher), Watched(watcher))
}

/// Observers that count, two of them.
type Counts = (EventCounts, EventCounts);

/// Loads, stores and fetches, some of pages that are not mapped.
fn accesses() -> impl Iterator<Item = (u64, Access)> {
    let mut rng = Random::new(17);
    (0..5000).map(move |_| {
        let page = if rng.one_in(3) { rng.below(PAGES + 5) } else { rng.below(12) };
        (page << 12 | rng.below(4096) & !7, rng.pick(&[Access::Read, Access::Write, Access::Execute]))
    })
}

/// The pages that each level holds, by its events.
#[derive(Default)]
struct Ledger {
    l1d: BTreeSet<Gva>,
    l1i: BTreeSet<Gva>,
    l2: BTreeSet<Gva>,
}

impl Ledger {
    fn of(&mut self, level: TlbLevel) -> &mut BTreeSet<Gva> {
        match level {
            TlbLevel::L1d => &mut self.l1d,
            TlbLevel::L1i => &mut self.l1i,
            TlbLevel::L2 => &mut self.l2,
        }
    }
}

impl Watch for Ledger {
    fn miss(&mut self, miss: &Miss) {
        assert!(!self.of(miss.level).contains(&miss.gva.page(Size4K)), "{miss:?}");
    }

    fn fill(&mut self, fill: &Fill<'_>) {
        assert_eq!((fill.size, fill.vmid, fill.gpa.0), (Size4K, Vmid(1), 0xa000_0000 + fill.gva.0));
        assert!(self.of(fill.level).insert(fill.gva.page(Size4K)), "{fill:?}");
    }

    fn eviction(&mut self, eviction: &Eviction) {
        assert!(self.of(eviction.level).remove(&eviction.page), "{eviction:?}");
    }

    fn walk(&mut self, walk: &Walk) {
        assert_eq!(walk.fault.is_some(), walk.gva.0 >= PAGES << 12, "{walk:?}");
    }
}

#[test]
fn fills_and_evictions_say_what_the_levels_hold() {
    for policies in [["lru"; 3], ["fifo", "tree-plru", "srrip"], ["random:3", "lru", "random:4"]] {
        let (ledger, observer) = watcher::<Ledger>();
        let mut fixture = mapped(&config(policies), observer);
        for (gva, access) in accesses() {
            assert_eq!(fixture.access(gva, access).is_err(), gva >= PAGES << 12);
        }
        let held: Vec<ResidentPage> = fixture.mmu.resident_pages(Vmid(1));
        let Ledger { l1d, l1i, l2 } = &*ledger.borrow();
        assert_eq!((l1d.len(), l1i.len(), l2.len()), (8, 4, 32), "all are full");
        let (of_l2, of_l1) = held.split_at(32);
        let (of_l1i, of_l1d) = of_l1.split_at(4);
        for (told, held) in [(l2, of_l2), (l1i, of_l1i), (l1d, of_l1d)] {
            assert_eq!(*told, held.iter().map(|page| page.gva).collect(), "{policies:?}");
        }
    }
}

#[test]
fn being_observed_changes_nothing_and_counts_agree() {
    let config = config(["lru"; 3]);
    let mut alone = mapped(&config, mmu::NoObserver);
    let mut observed = mapped(&config, Counts::default());
    for (gva, access) in accesses() {
        assert_eq!(alone.access(gva, access), observed.access(gva, access));
    }
    let counts = *observed.mmu.statistics();
    assert_eq!(counts, *alone.mmu.statistics());
    let (told, other) = *observed.mmu.observer();
    assert_eq!(told, other, "both observers receive the same events");
    assert_eq!((told.l1d.misses, told.l1i.misses), (counts.l1d_misses, counts.l1i_misses));
    assert_eq!((told.l2.misses, told.walks, told.refs), (counts.l2_misses, counts.walks, counts.refs()));
    assert_eq!(told.l2.fills, told.walks - told.faults);
    assert_eq!(told.l1d.fills + told.l1i.fills, counts.l2_hits + told.l2.fills);
    assert_eq!(told.l1d.fills - told.l1d.evictions, 8);
    assert_eq!(told.l1i.fills - told.l1i.evictions, 4);
    assert_eq!(told.l2.fills - told.l2.evictions, 32);
    assert!(told.faults > 0);
}

/// A prefetcher: after a walk for a page it asks for the next one.
#[derive(Default)]
struct NextPage {
    target: Option<Gva>,
    walks: u64,
}

impl Watch for NextPage {
    fn fill(&mut self, fill: &Fill<'_>) {
        if fill.level == TlbLevel::L2 && fill.source == Source::Walk {
            self.target = Some(Gva(fill.gva.0 + Size4K.bytes()));
        }
    }

    fn walk(&mut self, _: &Walk) {
        self.walks += 1;
    }
}

#[test]
fn a_prefetcher_subscribes_from_outside() {
    let (prefetcher, observer) = watcher::<NextPage>();
    let mut fixture = mapped(&config(["lru"; 3]), observer);
    let mut demanded = 0;
    for page in 0..PAGES {
        let before = prefetcher.borrow().walks;
        fixture.access(page << 12, Access::Read).unwrap();
        demanded += prefetcher.borrow().walks - before;
        let next = prefetcher.borrow_mut().target.take();
        if let Some(next) = next.filter(|next| next.0 < PAGES << 12) {
            fixture.access(next.0, Access::Read).unwrap();
            prefetcher.borrow_mut().target = None;
        }
    }
    assert_eq!((demanded, prefetcher.borrow().walks), (PAGES / 2, PAGES));
}

#[test]
fn the_classifier_counts_l1_misses_by_the_segments_that_would_hold_them() {
    let mut fixture = mapped(&config(["lru"; 3]), Counts::default());
    let segment = Segment::of_guest(Gva(0)..Gva((PAGES / 2) << 12), Gpa(0xa000_0000)).unwrap();
    let escape = EscapeFilter::new(64, 1).unwrap();
    let segments = Segments { guest: DirectSegment { segment, escape }, ..Segments::default() };
    fixture.mmu.classify_by(Some(&segments));
    let rounds = |fixture: &mut Fixture<Counts>, pages: u64| {
        for page in (0..pages).chain(0..pages) {
            fixture.access(page << 12, Access::Read).unwrap();
        }
    };
    // Twelve pages fit the L2 and not the L1; all of them thrash both. Neither is 0, and the guest's segment alone 1.
    rounds(&mut fixture, 12);
    rounds(&mut fixture, PAGES);
    let counts = *fixture.mmu.statistics();
    assert!(counts.classified_hits[1] >= 12 && counts.classified_hits[0] == 0, "{counts:?}");
    assert_eq!(counts.classified_hits.iter().sum::<u64>(), counts.l2_hits);
    assert_eq!(counts.classified_misses.iter().sum::<u64>(), counts.walks);
    assert_eq!(counts.classified_misses[0], PAGES, "half of the pages, twice");
    fixture.mmu.classify_by(None);
    rounds(&mut fixture, PAGES);
    assert_eq!(fixture.mmu.statistics().classified_misses, counts.classified_misses);
}

/// Fills of the second level, by size.
#[derive(Default)]
struct Sizes(Vec<PageSize>);

impl Watch for Sizes {
    fn fill(&mut self, fill: &Fill<'_>) {
        if fill.level == TlbLevel::L2 {
            self.0.push(fill.size);
        }
    }
}

/// Regression: a mutant that reported only base pages passed every test, because no test with an observer mapped a large page.
#[test]
fn an_l2_fill_reports_the_page_size_of_its_entry() {
    use PageSize::{Size1G, Size2M};
    for (sizes, kept) in [(&[Size4K, Size2M, Size1G][..], [Size4K, Size2M, Size1G]), (&[Size4K], [Size4K; 3])] {
        let config = MmuConfig { l2: vec![TlbArray::new(sizes, 16, 4)], ..MmuConfig::default() };
        let (filled, observer) = watcher::<Sizes>();
        let mut fixture = Fixture::observed(&config, observer);
        for (number, size) in (1..).zip([Size4K, Size2M, Size1G]) {
            fixture.map(number << 30, size, number << 32, FLAGS);
            fixture.access(number << 30, Access::Read).unwrap();
        }
        assert_eq!(filled.borrow().0, kept);
    }
}
