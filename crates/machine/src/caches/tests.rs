use super::*;
use config::units::{ByteSize, ReplacementName};
use hart::CacheLines;
use mmu::{POLICIES, ReplacementPolicy};
use proptest::prelude::*;
use reference::{CacheShape, Hierarchy, Holds, Looks, Policy};

/// Where memory lies in the process: nothing is read there.
const BASE: usize = 0x7000_0000_0000;

fn at(offset: u64) -> *const u8 {
    std::ptr::without_provenance(BASE + offset as usize)
}

fn cache(sets: u32, ways: u32, line: u32, latency: u64) -> CacheModel {
    let size = ByteSize(u64::from(sets) * u64::from(ways) * u64::from(line));
    CacheModel { size, ways, line, latency, replacement: ReplacementName::default(), contents: Contents::Any }
}

/// 1 KiB of L1D, 1 KiB of L1I, 4 KiB of L2 and 16 KiB of last level.
fn small() -> CachesModel {
    CachesModel {
        l1d: cache(8, 2, 64, 4),
        l1i: cache(8, 2, 64, 4),
        l2: Some(cache(16, 4, 64, 12)),
        llc: Some(cache(32, 8, 64, 30)),
        memory: 100,
        walker: WalkerName::L1d,
    }
}

fn caches(model: &CachesModel) -> Caches {
    assert_eq!(model.problem(), None);
    Caches::new(model, 1, at(0))
}

/// What loads at `offsets` add to the counts.
fn load(caches: &mut Caches, offsets: impl IntoIterator<Item = u64>) -> CacheStatistics {
    let before = *caches.statistics(0);
    offsets.into_iter().for_each(|offset| caches.use_line(0, at(offset), Access::Read));
    caches.statistics(0).since(&before)
}

#[test]
fn a_sequential_scan_misses_once_for_each_line() {
    let mut caches = caches(&small());
    let counts = load(&mut caches, (0..1 << 20).step_by(8));
    let lines = (1 << 20) / 64;
    assert_eq!([counts.l1d_misses, counts.l2_accesses, counts.l2_misses, counts.llc_misses], [lines; 4]);
    assert_eq!(counts.data_stalls, Cycles((100 - 4) * lines));
    assert_eq!((counts.l1i_misses, counts.fetch_stalls, counts.walk_time), (0, Cycles(0), Cycles(0)));
}

#[test]
fn a_working_set_as_large_as_a_level_stays_there() {
    for (bytes, price) in [(1 << 10, 0), (4 << 10, 12 - 4), (16 << 10, 30 - 4)] {
        let mut caches = caches(&small());
        let scan = || (0..bytes).step_by(64);
        load(&mut caches, scan());
        let counts = load(&mut caches, scan());
        assert_eq!(counts.data_stalls, Cycles(price * bytes / 64), "{bytes}");
        assert_eq!(counts.llc_misses, 0);
    }
}

/// The worst case of LRU: a set with one line more than ways, used in turn.
#[test]
fn one_line_too_many_in_a_set_misses_for_ever() {
    let mut caches = caches(&small());
    // Lines 8 sets apart are of one set of the L1D, which has two ways.
    let cycle = [0, 8 * 64, 16 * 64];
    load(&mut caches, cycle);
    assert_eq!(load(&mut caches, cycle.repeat(10)).l1d_misses, 30);
    assert_eq!(load(&mut caches, [0, 8 * 64].repeat(10)).l1d_misses, 2, "two fit");
}

#[test]
fn the_line_used_longest_ago_gives_way() {
    let mut caches = caches(&small());
    let line = |n: u64| n * 8 * 64;
    load(&mut caches, [line(0), line(1), line(0), line(2)]);
    assert_eq!(load(&mut caches, [line(0), line(2)]).l1d_misses, 0);
    assert_eq!(load(&mut caches, [line(1)]).l1d_misses, 1);
}

fn replacement(policy: &str) -> ReplacementName {
    ReplacementName(policy.parse().unwrap())
}

/// `small`, with a last level of 1024 lines in 256 sets, and this replacement. With dueling, 32 sets are leaders of each kind.
fn with_last_level(policy: &str) -> Caches {
    let llc = CacheModel { replacement: replacement(policy), ..cache(256, 4, 64, 30) };
    caches(&CachesModel { l2: None, llc: Some(llc), ..small() })
}

/// Misses of the last of so many rounds.
fn misses_of_last(rounds: usize, mut round: impl FnMut() -> u64) -> u64 {
    (0..rounds).fold(0, |_, _| round())
}

/// Two lines of each set are used again and again, each between lines that are used once: as many, or seven times as many.
#[test]
fn lines_that_are_used_again_stay_beside_a_scan_where_reuse_is_predicted() {
    let misses = |policy: &str, scanned: u64| {
        let mut caches = with_last_level(policy);
        let mut next = 1 << 20;
        misses_of_last(200, || {
            let mut missed = 0;
            for line in 0..512 {
                missed += load(&mut caches, [line * 64]).llc_misses;
                load(&mut caches, (0..scanned).map(|number| next + number * 64));
                next += scanned * 64;
            }
            missed
        })
    };
    assert_eq!(["lru", "srrip"].map(|policy| misses(policy, 1)), [0; 2], "all of it fits");
    assert_eq!(misses("lru", 7), 512, "with 4096 lines between two uses of one");
    // What leaders lose that insert the other way: both lines of each. In the other sets one of 32 lines that are new is predicted as long, and where several are, a
    // line is lost: less than one of a hundred.
    for scanned in [1, 7] {
        let few = misses("drrip", scanned);
        assert!(few <= 64 + (512 - 64) / 100, "{few} beside {scanned} times as many");
    }
}

/// A loop through twice the cache: LRU misses for ever, and so do long intervals. Mostly distant ones keep a part of it.
#[test]
fn a_loop_that_is_too_large_hits_where_most_new_lines_are_distant() {
    let misses = |policy: &str| {
        let mut caches = with_last_level(policy);
        misses_of_last(400, || load(&mut caches, (0..2048).map(|line| line * 64)).llc_misses)
    };
    assert_eq!(["lru", "srrip"].map(misses), [2048; 2]);
    let dueling = misses("drrip");
    // At best all but one way of each set that is no leader of the first kind holds a line for ever.
    assert!((2048 - 3 * 224..1700).contains(&dueling), "{dueling}");
}

#[test]
fn fetches_and_data_share_what_is_below_the_first_level() {
    let mut caches = caches(&small());
    caches.use_line(0, at(0x40), Access::Execute);
    let counts = *caches.statistics(0);
    assert_eq!((counts.l1i_misses, counts.fetch_stalls, counts.data_stalls), (1, Cycles(96), Cycles(0)));
    assert_eq!(load(&mut caches, [0x40]).data_stalls, Cycles(12 - 4));
}

#[test]
fn a_walk_pays_for_all_of_an_entry_and_is_counted_where_it_found_it() {
    for (walker, again) in [(WalkerName::L1d, 4), (WalkerName::L2, 12)] {
        let mut caches = caches(&CachesModel { walker, ..small() });
        caches.use_table_lines(0, [0x80].into_iter());
        caches.use_table_lines(0, [0x88].into_iter());
        let counts = *caches.statistics(0);
        assert_eq!(counts.walk_time, Cycles(100 + again));
        assert_eq!(counts.walk_found(Found::Memory), 1);
        assert_eq!(counts.walk_found(if walker == WalkerName::L1d { Found::L1 } else { Found::L2 }), 1);
        assert_eq!((counts.l1d_misses, counts.data_stalls), (0, Cycles(0)), "no access of the guest's");
        let after = load(&mut caches, [0x80]);
        assert_eq!(after.l1d_misses, u64::from(walker == WalkerName::L2), "the line is where the walker looked");
    }
}

#[test]
fn an_inclusive_level_takes_back_what_it_gives_up() {
    let mut model = small();
    model.llc = Some(CacheModel { contents: Contents::Inclusive, ..cache(1, 4, 64, 30) });
    model.l2 = None;
    let mut caches = Caches::new(&model, 2, at(0));
    caches.use_line(1, at(0), Access::Read);
    for line in 1..=4 {
        caches.use_line(0, at(line * 64), Access::Read);
    }
    // The other processor has pushed it out of the last level.
    caches.use_line(1, at(0), Access::Read);
    assert_eq!((caches.statistics(1).l1d_misses, caches.statistics(1).llc_misses), (2, 2));
}

#[test]
fn a_level_of_victims_has_only_what_was_given_up_above() {
    let mut model = small();
    model.l2 = Some(cache(1, 2, 64, 12));
    model.llc = Some(CacheModel { contents: Contents::Victims, ..cache(32, 8, 64, 30) });
    model.l1d = cache(1, 1, 64, 4);
    let mut caches = caches(&model);
    let counts = load(&mut caches, [0, 64, 128]);
    assert_eq!((counts.llc_accesses, counts.llc_misses), (3, 3));
    let counts = load(&mut caches, [0]);
    assert_eq!((counts.llc_accesses, counts.llc_misses, counts.data_stalls), (1, 0, Cycles(26)), "given up for 128");
}

#[test]
fn an_exclusive_level_gives_up_what_is_found() {
    let mut model = small();
    model.l2 = Some(cache(1, 1, 64, 12));
    model.l1d = cache(1, 1, 64, 4);
    // A place that is kept for a line that has left is one less for others.
    for (contents, misses) in [(Contents::Exclusive, 0), (Contents::Victims, 1)] {
        model.llc = Some(CacheModel { contents, ..cache(1, 2, 64, 30) });
        let mut caches = caches(&model);
        load(&mut caches, [0, 64, 128]);
        assert_eq!(load(&mut caches, [0, 128, 64, 0]).llc_misses, misses, "{contents:?}");
    }
}

#[test]
fn a_turn_is_as_long_as_the_latest_one_says() {
    let mut caches = caches(&small());
    assert_eq!(caches.instructions_in(0, Cycles(1000)), u64::MAX, "nothing is known yet");
    caches.note_turn(0, 10, Cycles(500));
    assert_eq!(caches.instructions_in(0, Cycles(1000)), 20);
    caches.note_turn(0, 0, Cycles(500));
    assert_eq!(caches.instructions_in(0, Cycles(1000)), 20, "a turn of no instructions says nothing");
    assert_eq!(caches.instructions_in(0, Cycles(u64::MAX)), u64::MAX / 50);
}

#[test]
fn what_cannot_be_built_is_named() {
    let problem = |change: &dyn Fn(&mut CachesModel)| {
        let mut model = small();
        change(&mut model);
        model.problem().unwrap_or_default()
    };
    assert!(problem(&|model| model.l1d.line = 48).contains("caches.l1d.line"));
    assert!(problem(&|model| model.l1i.size = ByteSize(100)).contains("caches.l1i.size"));
    assert!(problem(&|model| model.l1d = cache(3, 2, 64, 1)).contains("caches.l1d"));
    assert!(problem(&|model| model.l1d.ways = 0).contains("caches.l1d.ways"));
    assert!(problem(&|model| model.l2 = Some(cache(16, 4, 32, 1))).contains("shorter"));
    assert!(problem(&|model| model.l1d.contents = Contents::Inclusive).contains("caches.l1d.contents"));
    assert!(problem(&|model| model.l1i.replacement = replacement("srrip")).contains("caches.l1i.replacement: `lru`"));
    assert!(problem(&|model| model.l2.as_mut().unwrap().contents = Contents::Victims).contains("caches.l2.contents"));
    assert!(
        problem(&|model| {
            model.l2 = None;
            model.walker = WalkerName::L2;
        })
        .contains("caches.walker")
    );
    assert_eq!(problem(&|_| {}), "");
}

/// A cache with a few sets, and the same for the reference.
fn shapes(line: u32, sets: impl Strategy<Value = u32>) -> impl Strategy<Value = (CacheModel, CacheShape)> {
    (sets, 1..=5_u32).prop_map(move |(sets, ways)| {
        let shape =
            CacheShape { sets: u64::from(sets), ways: ways as usize, line: u64::from(line), policy: Policy::Lru };
        (cache(sets, ways, line, 0), shape)
    })
}

fn with(contents: Contents, (model, shape): (CacheModel, CacheShape)) -> (CacheModel, (CacheShape, Holds)) {
    let holds = match contents {
        Contents::Any => Holds::Any,
        Contents::Inclusive => Holds::Inclusive,
        Contents::Victims => Holds::Victims,
        Contents::Exclusive => Holds::Exclusive,
    };
    (CacheModel { contents, ..model }, (shape, holds))
}

/// The same cache with any replacement.
fn replacing(
    cache: impl Strategy<Value = (CacheModel, CacheShape)>,
) -> impl Strategy<Value = (CacheModel, CacheShape)> {
    (cache, prop::sample::select(POLICIES.to_vec()), any::<u64>()).prop_map(|((model, shape), facts, seed)| {
        let seed = if facts.seeded { seed } else { 0 };
        let policy = match facts.name {
            "lru" => Policy::Lru,
            "tree-plru" => Policy::TreePlru,
            "fifo" => Policy::Fifo,
            "random" => Policy::Random(seed),
            "srrip" => Policy::Srrip,
            "drrip" => Policy::Drrip,
            other => panic!("the reference has no policy `{other}`"),
        };
        let replacement = ReplacementName(ReplacementPolicy::of(facts, seed));
        (CacheModel { replacement, ..model }, CacheShape { policy, ..shape })
    })
}

/// Hierarchies of any kind, as the machine and as the reference have them.
fn hierarchies() -> impl Strategy<Value = (CachesModel, Hierarchy)> {
    let l1 = || shapes(32, prop::sample::select(vec![1_u32, 2, 4]));
    let any_or_inclusive = || prop::sample::select(vec![Contents::Any, Contents::Inclusive]);
    let l2 = prop::option::of(
        (any_or_inclusive(), replacing(shapes(64, 1..=6_u32))).prop_map(|(contents, cache)| with(contents, cache)),
    );
    let any = prop::sample::select(vec![Contents::Any, Contents::Inclusive, Contents::Victims, Contents::Exclusive]);
    let llc = prop::option::of((any, replacing(shapes(64, 1..=12_u32))));
    let walker = prop::sample::select(vec![WalkerName::L1d, WalkerName::L2]);
    (l1(), l1(), l2, llc, walker).prop_map(|(l1d, l1i, l2, llc, walker)| {
        // Victims are those of an L2, and so is a walker that begins there.
        let llc = llc.map(|(contents, cache)| {
            with(if l2.is_none() && contents.are_given_up_above() { Contents::Any } else { contents }, cache)
        });
        let walker = if l2.is_none() { WalkerName::L1d } else { walker };
        let model =
            CachesModel { l1d: l1d.0, l1i: l1i.0, l2: l2.map(|l2| l2.0), llc: llc.map(|llc| llc.0), memory: 0, walker };
        let shape = Hierarchy { l1d: l1d.1, l1i: l1i.1, l2: l2.map(|l2| l2.1), llc: llc.map(|llc| llc.1) };
        (model, shape)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The same lines are found at the same levels, and the hit path is told the truth.
    #[test]
    fn caches_do_what_the_reference_does(
        (model, shape) in hierarchies(),
        accesses in prop::collection::vec((0..2_usize, 0..5_u8, 0..100_u64, 0..64_u64), 1..400),
    ) {
        prop_assert_eq!(model.problem(), None);
        let mut shipped = Caches::new(&model, 2, at(0));
        let mut reference = reference::Caches::new(shape, 2);
        for (processor, kind, line, byte) in accesses {
            // Half of the lines come far more often than the others.
            let offset = (if line < 50 { line % 12 } else { line }) * 32 + byte;
            let looks = match kind {
                0 | 3 => Looks::Data,
                1 | 4 => Looks::Fetch,
                _ if model.walker == WalkerName::L2 => Looks::AtL2,
                _ => Looks::Data,
            };
            let missed = reference.access(processor, offset, looks);
            let lines = shipped.lines(processor, None);
            // SAFETY: the caches are alive.
            let latest = unsafe {
                match kind {
                    0 => lines.data_is_latest(at(offset)),
                    1 => lines.code_is_latest(at(offset)),
                    _ => false,
                }
            };
            if latest {
                prop_assert_eq!(missed, [false; 3], "the hit path would go on");
                continue;
            }
            let own = [Asks::Hypervisor(Access::Read), Asks::Hypervisor(Access::Execute)];
            let asks = [Asks::Data, Asks::Fetch, Asks::Walker, own[0], own[1]][usize::from(kind)];
            let found = match missed {
                [false, ..] => Found::L1,
                [_, false, _] => Found::L2,
                [.., false] => Found::Llc,
                [true, true, true] => Found::Memory,
            };
            prop_assert_eq!(shipped.find(processor, offset, asks), found);
        }
    }
}

#[test]
fn entries_that_are_read_at_once_take_as_long_as_the_longest() {
    let mut caches = caches(&small());
    caches.use_table_lines(0, [0x80].into_iter());
    let before = *caches.statistics(0);
    // One is in the L1 by now, and two are in memory.
    caches.use_table_lines(0, [0x88, 0x1000, 0x2000].into_iter());
    let counts = caches.statistics(0).since(&before);
    assert_eq!((counts.walk, counts.walk_time), ([1, 0, 0, 2], Cycles(100)));
    caches.use_table_lines(0, std::iter::empty());
    assert_eq!(caches.statistics(0).since(&before).walk_time, Cycles(100));
}

/// The hypervisor's lines are in a level that maps each line to one place: they take out the lines of their sets and no others.
#[test]
fn lines_of_the_hypervisor_evict_those_of_their_sets_in_a_direct_mapped_cache() {
    for touched in 0..=64 {
        let mut model = small();
        model.l1d = cache(64, 1, 64, 4);
        let mut caches = caches(&model);
        let lines = || (0..64).map(|line| line * 64);
        load(&mut caches, lines());
        let before = *caches.statistics(0);
        for line in 0..touched {
            assert_ne!(caches.use_line_of_hypervisor(0, (1 << 20) | (line * 64), Access::Read), Found::L1);
        }
        assert_eq!(*caches.statistics(0), before, "nothing of it is the guest's");
        assert_eq!(load(&mut caches, lines().skip(touched as usize)).l1d_misses, 0);
        assert_eq!(load(&mut caches, lines().take(touched as usize)).l1d_misses, touched);
    }
}

#[test]
fn instructions_of_the_hypervisor_go_through_the_l1i() {
    let mut caches = caches(&small());
    load(&mut caches, [0, 64]);
    for _ in 0..2 {
        (0..32).for_each(|line| {
            caches.use_line_of_hypervisor(0, (1 << 20) | (line * 64), Access::Execute);
        });
    }
    assert_eq!(load(&mut caches, [0, 64]).l1d_misses, 0);
    assert_eq!(caches.use_line_of_hypervisor(0, (1 << 20) | (31 * 64), Access::Execute), Found::L1);
    assert_eq!(caches.use_line_of_hypervisor(0, (1 << 20) | (31 * 64), Access::Read), Found::L2);
}
