//! Configurations, and how each is said to the model.

use mmu::{
    AdPolicy, Groups, MmuConfig, POLICIES, Refill, RefillRoutine, ReplacementPolicy, TlbArray, WalkCacheSizes,
    WalkCaches,
};
use reference::Policy;
use testing::Random;
use types::PageSize::{self, *};

fn array(array: &TlbArray) -> reference::Array {
    let policy = match array.replacement.facts().name {
        "lru" => Policy::Lru,
        "tree-plru" => Policy::TreePlru,
        "fifo" => Policy::Fifo,
        "random" => Policy::Random(array.replacement.seed()),
        "srrip" => Policy::Srrip,
        "drrip" => Policy::Drrip,
        other => panic!("the model has no policy `{other}`"),
    };
    reference::Array { sizes: array.sizes.clone(), sets: u64::from(array.sets), ways: array.ways as usize, policy }
}

/// A policy for each array of a level, of those that it takes.
fn policies(rng: &mut Random, arrays: &mut [TlbArray], is_l1: bool) {
    // LRU alone has the fast path.
    if rng.one_in(2) {
        return;
    }
    let any: Vec<_> = POLICIES.into_iter().filter(|facts| !is_l1 || facts.refused_at_l1.is_none()).collect();
    for array in arrays {
        let facts = rng.pick(&any);
        array.replacement = ReplacementPolicy::of(facts, if facts.seeded { rng.bits() } else { 0 });
    }
}

pub fn model(config: &MmuConfig) -> reference::Config {
    let level = |arrays: &[TlbArray]| arrays.iter().map(array).collect();
    reference::Config {
        l1i: level(&config.l1i),
        l1d: level(&config.l1d),
        l2: level(&config.l2),
        guest_cache: config.walk_caches.guest.0,
        host_cache: config.walk_caches.host.0,
        nested_tlb: config.nested_tlb.as_ref().map(array),
        refill: match config.refill {
            Refill::Hardware => None,
            Refill::Software(routine) => Some(reference::Routine {
                begin: routine.begin.into(),
                guest_level: routine.guest_level.into(),
                nested_lookup: routine.nested_lookup.into(),
                nested_level: routine.nested_level.into(),
                flat_lookup: routine.flat_lookup.into(),
                reserved_lookup: routine.reserved_lookup.into(),
                update: routine.update.into(),
                fill: routine.fill.into(),
            }),
        },
        first_stage_svadu: config.first_stage_ad == AdPolicy::Update,
        second_stage_svadu: config.second_stage_ad == AdPolicy::Update,
        svnapot: config.svnapot,
        second_stage_groups: match config.second_stage_groups {
            Groups::None => &[],
            Groups::Svnapot => &[16],
            Groups::GranularityHints => &[8, 64, 512],
        },
    }
}

/// Splits the sizes into arrays of random geometry.
fn level(rng: &mut Random, takes_4k: bool, largest: u64) -> Vec<TlbArray> {
    let mut arrays: Vec<TlbArray> = Vec::new();
    for size in PageSize::ALL {
        let needed = takes_4k && size == Size4K;
        match rng.below(4) {
            // Not taken: pages of that size are fractured.
            0 if !needed => {}
            1 if !arrays.is_empty() => {
                let index = rng.below(arrays.len() as u64) as usize;
                arrays[index].sizes.push(size);
            }
            _ => {
                let sets = 1 << rng.below(4);
                let ways = 1 + rng.below(largest);
                arrays.push(TlbArray::new(&[size], sets, ways as u32));
            }
        }
    }
    // The order of arrays is the order of lookup, and that of sizes in an array does not matter.
    for index in 1..arrays.len() {
        let other = rng.below(index as u64 + 1) as usize;
        arrays.swap(index, other);
    }
    arrays
}

fn walk_cache(rng: &mut Random) -> WalkCacheSizes {
    match rng.below(3) {
        0 => WalkCacheSizes::OFF,
        1 => WalkCacheSizes::ON,
        _ => WalkCacheSizes([0; 4].map(|_| if rng.one_in(4) { 20 + rng.below(60) } else { rng.below(6) } as u32)),
    }
}

fn refill(rng: &mut Random) -> Refill {
    if rng.one_in(2) {
        return Refill::Hardware;
    }
    let mut step = || rng.below(100) as u32;
    Refill::Software(RefillRoutine {
        begin: step(),
        guest_level: step(),
        nested_lookup: step(),
        nested_level: step(),
        flat_lookup: step(),
        reserved_lookup: step(),
        update: step(),
        fill: step(),
    })
}

fn policy(rng: &mut Random) -> AdPolicy {
    rng.pick(&[AdPolicy::Update, AdPolicy::Update, AdPolicy::Fault])
}

/// Small structures, so that replacement happens, with any policies.
pub fn random(rng: &mut Random) -> MmuConfig {
    let mut config = structures(rng);
    policies(rng, &mut config.l1i, true);
    policies(rng, &mut config.l1d, true);
    policies(rng, &mut config.l2, false);
    policies(rng, config.nested_tlb.as_mut_slice(), false);
    config
}

/// The configuration of episode `number` of a run. Chance gives a nested TLB to a third of them and a policy other than
/// LRU to half of those, so that some runs of a hundred episodes would never meet one of the policies there. Every
/// fourth episode therefore has a nested TLB, with each policy in turn.
pub fn nth(number: u64, rng: &mut Random) -> MmuConfig {
    let mut config = random(rng);
    if number.is_multiple_of(4) {
        let facts = POLICIES[(number / 4) as usize % POLICIES.len()];
        // Only hardware looks in a nested TLB.
        config.refill = Refill::Hardware;
        let array = config.nested_tlb.get_or_insert_with(|| TlbArray::new(&[Size4K], 1, 5));
        array.replacement = ReplacementPolicy::of(facts, if facts.seeded { rng.bits() } else { 0 });
    }
    config
}

fn structures(rng: &mut Random) -> MmuConfig {
    if rng.one_in(8) {
        return MmuConfig::default();
    }
    let unified = |rng: &mut Random| vec![TlbArray::new(&PageSize::ALL, 1 << rng.below(3), 1 + rng.below(9) as u32)];
    let refill = refill(rng);
    MmuConfig {
        l1i: if rng.one_in(4) { unified(rng) } else { level(rng, true, 3) },
        l1d: if rng.one_in(4) { unified(rng) } else { level(rng, true, 5) },
        l2: match rng.below(8) {
            0 => Vec::new(),
            // More groups of ways than are searched at once.
            2 | 3 => vec![TlbArray::new(&PageSize::ALL, 1, 65 + rng.below(80) as u32)],
            1 => unified(rng),
            _ => level(rng, false, 13),
        },
        walk_caches: WalkCaches { guest: walk_cache(rng), host: walk_cache(rng) },
        nested_tlb: match rng.below(4) {
            _ if refill != Refill::Hardware => None,
            0 => None,
            1 => Some(TlbArray::new(&[Size4K, Size2M], 2, 3)),
            2 => Some(TlbArray::new(&[Size4K], 1, 5)),
            _ => Some(TlbArray::new(&PageSize::ALL, 1 << rng.below(3), 1 + rng.below(8) as u32)),
        },
        refill,
        first_stage_ad: policy(rng),
        second_stage_ad: policy(rng),
        svnapot: !rng.one_in(4),
        second_stage_groups: rng.pick(&[Groups::None, Groups::Svnapot, Groups::Svnapot, Groups::GranularityHints]),
    }
}
