use super::*;
use crate::timing::sizes;
use testing::Random;

/// A staircase: what it holds and its value, level by level, the last one without end.
struct Made {
    levels: &'static [(f64, f64)],
    last: f64,
    /// Standard deviation of a repeat, as a share.
    noise: f64,
}

const CACHES: Made = Made { levels: &[(48e3, 1.5), (2e6, 4.5), (30e6, 25.0)], last: 100.0, noise: 0.0 };

/// What happens behind a level's capacity.
#[derive(Clone, Copy)]
enum Policy {
    /// Nothing hits.
    Lru,
    /// As much hits as fits.
    Keeps,
}

impl Made {
    fn points(&self, policy: Policy, seed: u64) -> Vec<Point> {
        let mut random = Random::new(seed);
        // The sum of twelve uniform numbers, less its mean, is nearly normal.
        let mut normal = || (0..12).map(|_| random.below(1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0;
        let mut point = |size: u64| {
            let exact = self.value(size as f64, policy);
            Point { size, value: Spread::of((0..9).map(|_| exact * (1.0 + self.noise * normal())).collect()) }
        };
        sizes(4096, 1 << 30, 4).into_iter().map(&mut point).collect()
    }

    fn value(&self, size: f64, policy: Policy) -> f64 {
        let next = |index: usize| self.levels.get(index + 1).map_or(self.last, |level| level.1);
        match (policy, self.levels.iter().position(|level| size <= level.0)) {
            (Policy::Lru, Some(level)) => self.levels[level].1,
            (Policy::Lru, None) => self.last,
            // The share of each level that the memory does not fit into misses there.
            (Policy::Keeps, _) => {
                let misses = |(index, &(holds, value)): (usize, &(f64, f64))| {
                    (1.0 - holds / size).max(0.0) * (next(index) - value)
                };
                self.levels[0].1 + self.levels.iter().enumerate().map(misses).sum::<f64>()
            }
        }
    }
}

#[track_caller]
fn found(made: &Made, policy: Policy, seed: u64) -> Vec<Level> {
    let found = levels(&made.points(policy, seed), Steps::Ratio(0.25)).unwrap();
    assert_eq!(found.len(), made.levels.len() + 1, "seed {seed}: {found:#?}");
    found
}

#[test]
fn a_staircase_without_noise_is_exact() {
    let found = found(&CACHES, Policy::Lru, 0);
    for (level, &(holds, value)) in found.iter().zip(CACHES.levels) {
        assert_eq!(level.value, Spread::exact(value));
        assert!(level.holds.unwrap().may_be(holds as u64), "{level:?}");
    }
    assert_eq!((found[3].value.median, found[3].holds), (100.0, None));
}

#[test]
fn levels_are_found_through_noise() {
    let seed = testing::seed("PAGEWALK_FUZZ_SEED");
    for index in 0..40 {
        let made = Made { noise: 0.02 + 0.001 * index as f64, ..CACHES };
        let found = found(&made, Policy::Lru, seed ^ index);
        for (level, &(holds, value)) in found.iter().zip(made.levels) {
            assert!((level.value.median / value - 1.0).abs() < 0.05, "seed {seed} {index}: {level:?}");
            // No more than a size of the sequence away.
            let middle = level.holds.unwrap().middle() / holds;
            assert!((0.7..1.4).contains(&middle), "seed {seed} {index}: {level:?}");
        }
    }
}

/// Not as LRU does: the slope behind a level says what it holds.
#[test]
fn a_level_that_keeps_a_part_is_found_by_its_slope() {
    let made = Made { levels: &[(1e6, 4.0)], last: 40.0, noise: 0.01 };
    let found = levels(&made.points(Policy::Keeps, 3), Steps::Ratio(0.25)).unwrap();
    let holds = found[0].holds.unwrap();
    assert!((0.8e6..1.1e6).contains(&(holds.least as f64)) && holds.below as f64 > 0.95e6, "{found:#?}");
}

#[test]
fn one_level_has_no_step() {
    let seed = testing::seed("PAGEWALK_FUZZ_SEED");
    for index in 0..40 {
        let flat = Made { levels: &[], last: 10.0, noise: 0.005 * index as f64 };
        match levels(&flat.points(Policy::Lru, seed ^ index), Steps::Ratio(0.25)) {
            Ok(found) => assert!(found.len() == 1 && found[0].holds.is_none(), "seed {seed} {index}: {found:?}"),
            Err(reason) => assert!(flat.noise > 0.1, "seed {seed} {index}: {reason}"),
        }
    }
}

#[test]
fn noise_as_high_as_a_step_is_no_staircase() {
    for seed in 0..40 {
        let made = Made { noise: 0.4, ..CACHES };
        let refused = levels(&made.points(Policy::Lru, seed), Steps::Ratio(0.25)).unwrap_err();
        assert!(matches!(refused, NoLevels::TooNoisy(noise) if noise > 0.2), "{refused:?}");
        assert!(refused.to_string().contains("too noisy: repeats differ by 0."));
    }
}

/// A background job took one size's repeats, all of them.
#[test]
fn an_outlier_is_no_level() {
    let mut points = CACHES.points(Policy::Lru, 0);
    for (index, factor) in [(3, 5.0), (20, 3.0), (21, 3.0), (45, 0.5)] {
        points[index].value = points[index].value.scaled(factor);
    }
    let found = levels(&points, Steps::Ratio(0.25)).unwrap();
    let values: Vec<f64> = found.iter().map(|level| level.value.median).collect();
    assert_eq!(values, [1.5, 4.5, 25.0, 100.0]);
}

/// What walks add to an access has no level behind the reach of the TLBs.
#[test]
fn the_level_before_a_slope_ends() {
    let value = |pages: u64| match pages {
        0..=64 => 0.0,
        65..=1536 => 2.5,
        _ => 8.0 + 6.0 * (pages as f64 / 1536.0).log2(),
    };
    let points: Vec<Point> = sizes(8, 16384, 8)
        .into_iter()
        .map(|size| {
            let value = value(size);
            Point { size, value: Spread { median: value, low: value - 0.05, high: value + 0.05 } }
        })
        .collect();
    let found = levels(&points, Steps::Difference(1.0)).unwrap();
    assert!(found[0].holds.unwrap().may_be(64) && found[1].holds.unwrap().may_be(1536), "{found:#?}");
}

/// Sixteen sets of six: three pages more than fit make three sets miss.
#[test]
fn a_few_misses_are_behind_the_capacity() {
    let value = |pages: u64| match pages {
        0..=96 => 0.0,
        97..=112 => 2.4 * 7.0 * (pages - 96) as f64 / pages as f64,
        _ => 2.4,
    };
    let point = |size: u64| Point { size, value: Spread::exact(value(size).min(2.4)) };
    let points: Vec<Point> = sizes(8, 1500, 8).into_iter().map(point).collect();
    let found = levels(&points, Steps::Difference(1.5)).unwrap();
    assert!(found[0].last == 99 && found[0].holds.unwrap().may_be(96), "{found:#?}");
}

#[test]
fn too_few_sizes_say_so() {
    assert_eq!(levels(&CACHES.points(Policy::Lru, 0)[..5], Steps::Ratio(0.25)), Err(NoLevels::TooFew));
    // Each twice the one before it.
    let slope: Vec<Point> = (0..20).map(|n| Point { size: 1 << n, value: Spread::exact(f64::from(1 << n)) }).collect();
    assert_eq!(levels(&slope, Steps::Ratio(0.25)), Err(NoLevels::NoLevel));
}
