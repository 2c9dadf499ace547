//! What each policy does by hand, and what all of them keep to.

use super::{POLICIES, PolicyError, Replacement, ReplacementPolicy, Shape};

const FOUR_WAYS: Shape = Shape { sets: 2, ways: 4 };

fn policy(name: &str, shape: Shape) -> Box<dyn Replacement> {
    name.parse::<ReplacementPolicy>().unwrap().build(shape)
}

/// With pages in all ways of set 1, inserted in their order.
fn full(name: &str, shape: Shape) -> Box<dyn Replacement> {
    let mut policy = policy(name, shape);
    (0..shape.ways).for_each(|way| policy.insert(1, way));
    policy
}

/// The next victims of set 1, each of which is replaced.
fn victims(policy: &mut dyn Replacement, count: usize) -> Vec<usize> {
    let replace = |_| {
        let way = policy.victim(1);
        policy.insert(1, way);
        way
    };
    (0..count).map(replace).collect()
}

/// Misses of a set under a sequence of pages, each of which is looked up once.
fn misses(name: &str, ways: usize, pages: impl IntoIterator<Item = u32>) -> usize {
    let mut policy = policy(name, Shape { sets: 1, ways });
    let mut held: Vec<Option<u32>> = vec![None; ways];
    let is_miss = |page: &u32| {
        if let Some(way) = held.iter().position(|held| *held == Some(*page)) {
            policy.touch(0, way);
            return false;
        }
        let way = held.iter().position(Option::is_none).unwrap_or_else(|| policy.victim(0));
        policy.insert(0, way);
        held[way] = Some(*page);
        true
    };
    pages.into_iter().filter(is_miss).count()
}

#[test]
fn lru_evicts_the_least_recently_used() {
    let mut lru = full("lru", FOUR_WAYS);
    lru.touch(1, 0);
    lru.touch(1, 2);
    assert_eq!(victims(&mut *lru, 5), [1, 3, 0, 2, 1]);
}

#[test]
fn fifo_evicts_in_the_order_of_insertion_whatever_hits() {
    let mut fifo = full("fifo", FOUR_WAYS);
    for way in [0, 0, 1, 3, 0] {
        fifo.touch(1, way);
    }
    assert_eq!(victims(&mut *fifo, 6), [0, 1, 2, 3, 0, 1]);
    // A page that comes after a fence is the latest.
    fifo.invalidate(1, 2);
    fifo.insert(1, 2);
    assert_eq!(victims(&mut *fifo, 4), [3, 0, 1, 2]);
}

/// Belady's anomaly: with these pages, four ways miss more often than three under FIFO, and never under LRU.
#[test]
fn fifo_has_beladys_anomaly() {
    let pages = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5];
    assert_eq!((misses("fifo", 3, pages), misses("fifo", 4, pages)), (9, 10));
    assert_eq!((misses("lru", 3, pages), misses("lru", 4, pages)), (10, 8));
}

#[test]
fn tree_plru_of_four_ways_by_hand() {
    // After 0, 1, 2, 3 the root points to the lower half, and both nodes below it to their lower way.
    let mut tree = full("tree-plru", FOUR_WAYS);
    assert_eq!(victims(&mut *tree, 8), [0, 2, 1, 3, 0, 2, 1, 3]);
    // LRU would take way 1. The tree knows that the latest use was in the lower half, and in the upper half that of way 2.
    for way in [1, 3, 2, 0] {
        tree.touch(1, way);
    }
    assert_eq!(tree.victim(1), 3);
    tree.touch(1, 3);
    assert_eq!(tree.victim(1), 1);
}

#[test]
fn tree_plru_takes_any_number_of_ways() {
    for ways in 1..40 {
        let mut tree = full("tree-plru", Shape { sets: 2, ways });
        let mut evicted = victims(&mut *tree, 4 * ways);
        // The way that was used last is never the victim.
        assert!(ways == 1 || evicted.windows(2).all(|pair| pair[0] != pair[1]), "{ways} ways: {evicted:?}");
        evicted.sort_unstable();
        evicted.dedup();
        assert_eq!(evicted.len(), ways, "{ways} ways: each gives way at some time");
    }
}

#[test]
fn random_is_reproducible_by_its_seed() {
    let shape = Shape { sets: 2, ways: 12 };
    let of_seed = |name: &str| victims(&mut *full(name, shape), 600);
    assert_eq!(of_seed("random"), of_seed("random:0"));
    assert_eq!(of_seed("random:7"), of_seed("random:7"));
    assert_ne!(of_seed("random:7"), of_seed("random:8"));
    for way in 0..12 {
        let times = of_seed("random:7").iter().filter(|&&victim| victim == way).count();
        assert!((25..=75).contains(&times), "way {way} was the victim {times} times of 600: 50 are expected");
    }
    let (mut one, mut other) = (full("random:7", shape), full("random:7", shape));
    other.touch(1, 3);
    assert_eq!(victims(&mut *one, 20), victims(&mut *other, 20), "hits change nothing");
    let mut copy = one.clone();
    assert_eq!(victims(&mut *one, 20), victims(&mut *copy, 20));
}

/// Jaleel et al., section 3: pages that are used again survive a scan that is longer than the set has ways.
#[test]
fn srrip_resists_scans_where_lru_does_not() {
    let uses = |repeats: u32| (0..repeats).flat_map(|_| [1, 2, 1, 2]);
    let scan = |first: u32| first..first + 5;
    let pages = || uses(2).chain(scan(10)).chain(uses(1)).chain(scan(20)).chain(uses(1));
    assert_eq!(misses("lru", 4, pages()), 2 + 5 + 2 + 5 + 2);
    assert_eq!(misses("srrip", 4, pages()), 2 + 5 + 5);
}

#[test]
fn srrip_ages_a_set_until_a_prediction_is_distant() {
    // Of pages that never hit, those that were there when the set aged leave before the ones that came since.
    assert_eq!(victims(&mut *full("srrip", FOUR_WAYS), 9), [0, 1, 2, 3, 0, 1, 2, 3, 0]);
    let mut srrip = full("srrip", FOUR_WAYS);
    for way in [0, 1, 3] {
        srrip.touch(1, way);
    }
    // 2 is the only one with a long prediction; all others grow to 1.
    assert_eq!(victims(&mut *srrip, 2), [2, 2]);
    srrip.touch(1, 2);
    // Now 2, 2, 0, 2: the first of the greatest.
    assert_eq!(victims(&mut *srrip, 1), [0]);
}

/// Jaleel et al., section 5: a loop through twice the pages that there is room for. SRRIP misses for ever. Of 64 sets under DRRIP, every other one inserts distant pages.
#[test]
fn drrip_keeps_a_part_of_a_loop_that_is_too_large() {
    let misses = |name: &str| {
        let shape = Shape { sets: 64, ways: 4 };
        let mut policy = policy(name, shape);
        let mut held = vec![[None; 4]; 64];
        let mut misses = 0;
        for round in 0..100 {
            for page in 0..8 {
                for (set, held) in held.iter_mut().enumerate() {
                    match held.iter().position(|&held| held == Some(page)) {
                        Some(way) => policy.touch(set, way),
                        None => {
                            let way = held.iter().position(Option::is_none).unwrap_or_else(|| policy.victim(set));
                            policy.insert(set, way);
                            held[way] = Some(page);
                            misses += usize::from(round == 99);
                        }
                    }
                }
            }
        }
        misses
    };
    assert_eq!([misses("lru"), misses("srrip")], [512; 2]);
    // A set that inserts distant pages keeps three of its eight.
    let dueling = misses("drrip");
    assert!((256 + 32 * 4..256 + 32 * 7).contains(&dueling), "{dueling}");
}

#[test]
fn sets_do_not_know_of_each_other() {
    // Leaders of DRRIP decide for others.
    for facts in POLICIES.into_iter().filter(|facts| !facts.seeded && facts.name != "drrip") {
        let (mut one, mut other) = (full(facts.name, FOUR_WAYS), full(facts.name, FOUR_WAYS));
        for way in [0, 3, 1] {
            other.insert(0, way);
            other.touch(0, way);
            other.invalidate(0, way);
        }
        assert_eq!(victims(&mut *one, 9), victims(&mut *other, 9), "{}", facts.name);
    }
}

#[test]
fn names_and_seeds_are_parsed() {
    for facts in POLICIES {
        let policy: ReplacementPolicy = facts.name.parse().unwrap();
        assert!(core::ptr::eq(policy.facts(), facts), "{}: each name is one policy's", facts.name);
        assert_eq!(policy.to_string(), facts.name);
    }
    let parse = |text: &str| text.parse::<ReplacementPolicy>();
    let random = parse("random:42").unwrap();
    assert_eq!((random.seed(), random.to_string().as_str()), (42, "random:42"));
    assert_ne!(random, parse("random").unwrap());
    assert_eq!(parse("lru").unwrap(), ReplacementPolicy::default());
    assert_eq!(parse("srrip:1"), Err(PolicyError::Unseeded("srrip")));
    assert_eq!(parse("random:x"), Err(PolicyError::Seed("x".to_owned())));
    let unknown = parse("LFU").unwrap_err().to_string();
    assert_eq!(unknown, "`LFU` is not a replacement policy (lru, tree-plru, fifo, random, srrip, drrip)");
}
