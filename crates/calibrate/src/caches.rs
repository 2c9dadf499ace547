//! Data caches: a chase through more and more memory, and chases whose lines share a set.

pub(crate) mod last_level;
pub(crate) mod reuse;
pub(crate) mod ways;

use crate::findings::{Cache, Caches, Curve, CurveKind, Finding};
use crate::pages::{BASE, HUGE};
use crate::raw::Mapping;
use crate::spread::Spread;
use crate::staircase::{Capacity, Level, Point, Steps, levels};
use crate::timing::{Effort, sizes, step};
use crate::visits::{Lines, Spaced, Window};
use ways::Costs;

/// A level is slower than the one above it by a quarter, at the least.
const STEP: Steps = Steps::Ratio(0.25);

/// The smallest memory: no first-level cache is smaller.
const SMALLEST: u64 = 4 << 10;

/// A lap through no more than this is made in full before anything is measured. Behind it, the order in which the chain was written stands for it.
const WARM: u64 = 512 << 20;

/// What of a physical address a virtual one tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Contiguity {
    /// The offset in a base page.
    BasePage,
    /// The offset in a huge page.
    HugePage,
}

/// What the translation of base pages adds to accesses, as far as it is known.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Translation {
    /// Pages that the first level of the TLB reaches.
    pub(crate) first: f64,
    /// Nanoseconds of a hit of its second level.
    pub(crate) second_hit: f64,
    /// Pages that the second level reaches.
    pub(crate) second: f64,
    /// Nanoseconds of a walk.
    pub(crate) walk: f64,
}

impl Translation {
    /// Its part of an access to memory of this size, visited window by window: a random page of the window is in the first level as often as there are
    /// entries for it, and each page comes as often as it has lines.
    fn of_access(&self, size: u64, line: usize) -> f64 {
        let pages = size as f64 / BASE as f64;
        let window = pages.min(Window::UNFORESEEN.pages as f64);
        let second = (1.0 - self.first / window).max(0.0) * self.second_hit;
        let lines = (BASE / (Window::UNFORESEEN.every * line)) as f64;
        let walks = if pages > self.second { self.walk / lines } else { 0.0 };
        second + walks
    }
}

/// How memory is seen through the TLBs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Through {
    pub(crate) contiguity: Contiguity,
    /// Taken off what is measured.
    pub(crate) translation: Translation,
}

/// The caches, and the curves that they were found in.
///
/// `named` are the sizes of the caches that the system names, from the first level on.
pub(crate) fn measure(
    effort: Effort,
    buffer: &mut Mapping,
    through: Through,
    line: usize,
    named: &[u64],
) -> (Caches, Vec<Curve>) {
    let points = sizes(SMALLEST, buffer.bytes() as u64, effort.per_doubling).into_iter().map(|size| {
        let mut chain = Lines { size, line }.by_window(buffer, Window::UNFORESEEN);
        let lap = if size <= WARM { size / (Window::UNFORESEEN.every * line) as u64 } else { 0 };
        let value = step(effort, lap, |steps| chain.follow(steps));
        Point { size, value: value.less(&Spread::exact(through.translation.of_access(size, line))) }
    });
    let points: Vec<Point> = points.collect();
    let found = levels(&points, STEP).map_err(|error| error.to_string());
    let mut curves = vec![Curve { kind: CurveKind::Caches, points, levels: found.clone().unwrap_or_default() }];
    let caches = match found {
        Ok(found) => caches(&found, named, |set| {
            let distance = set.distance(through.contiguity)?;
            let points = conflicts(effort, buffer, Spaced { count: ways::MOST, apart: distance, line });
            let ways = ways::ways(&points, set.costs);
            curves.push(Curve { kind: CurveKind::Ways { level: set.level }, points, levels: Vec::new() });
            ways
        }),
        Err(reason) => Caches { levels: Err(reason.clone()), memory: Err(reason) },
    };
    (caches, curves)
}

/// The caches of the levels that were found, the last of which is memory if it goes on to the end.
fn caches(found: &[Level], named: &[u64], mut ways: impl FnMut(Set) -> Finding<Capacity>) -> Caches {
    let mut ending: Ending<'_> = found.iter().map_while(|level| Some((level, level.holds?))).collect();
    let behind = found.get(ending.len()).map(|memory| memory.value.median);
    let (slopes, slower) = beside_last(&mut ending, named);
    let mut caches = Vec::new();
    for (number, (level, size)) in (1..).zip(&ending) {
        // The level's number is its place among those that are caches.
        let miss = ending.get(number as usize).map(|(next, _)| next.value.median).or(behind);
        let set = Set { level: number, costs: Costs { hit: level.value.median, miss } };
        caches.push(Cache {
            size: *size,
            latency: level.value,
            ways: ways(set),
            slopes_above: Vec::new(),
            slower_parts: Vec::new(),
        });
    }
    if let Some(last) = caches.last_mut() {
        for (level, holds) in &slower {
            last.size = with_slower(last, (level.value.median, *holds), behind);
        }
        last.slopes_above = slopes.iter().map(|(level, _)| level.value).collect();
        last.slower_parts = slower.iter().map(|(level, _)| level.value).collect();
    }
    let memory = match found.last() {
        Some(last) if last.holds.is_none() && !caches.is_empty() => Ok(last.value),
        Some(_) | None => Err("latency still rises at the largest memory that was measured".to_owned()),
    };
    Caches { levels: if caches.is_empty() { Err("there is no step".to_owned()) } else { Ok(caches) }, memory }
}

/// Levels that end, with what each holds.
type Ending<'l> = Vec<(&'l Level, Capacity)>;

/// Takes out levels that are no caches: those between the last two caches that the system names, and those that lie within the last one. Of what is there
/// from the last cache on, the widest level is that cache, over which memory grew most. Returned are slopes of the cache above, and slower parts of the last
/// cache. `named` are the sizes of the caches that the system names.
fn beside_last<'l>(levels: &mut Ending<'l>, named: &[u64]) -> (Ending<'l>, Ending<'l>) {
    let [.., above, size] = named else { return (Vec::new(), Vec::new()) };
    let last = named.len() - 1;
    // No cache holds more than it has: behind that there is another one, which the system does not name.
    let within = levels.iter().skip(last).take_while(|(_, holds)| holds.least <= *size).count();
    if within < 2 {
        return (Vec::new(), Vec::new());
    }
    let width = |place: usize| levels[place].0.last as f64 / levels[place].0.first as f64;
    // Of equal ones the first. The cache above may be measured as smaller than it is, and never as larger.
    let slope = |place: usize| levels[place].0.last >= *above;
    let candidates = (last..last + within).rev().filter(|&place| slope(place));
    let Some(widest) = candidates.max_by(|&one, &other| width(one).total_cmp(&width(other))) else {
        return (Vec::new(), Vec::new());
    };
    let slower = levels.drain(widest + 1..last + within).collect();
    (levels.drain(last..widest).collect(), slower)
}

/// What a cache holds that has a slower part, which ends where the part does.
///
/// The system names no further cache, so a step behind its last one is the same cache, of which a share hits: its lines are others' now and then, or fall
/// into sets that are full. Of memory of size s of which a share h hits, h × s is in the cache.
fn with_slower(cache: &Cache, (value, holds): (f64, Capacity), memory: Option<f64>) -> Capacity {
    let latency = cache.latency.median;
    let share = memory.map_or(0.0, |memory| (memory - value) / (memory - latency)).clamp(0.0, 1.0);
    let [least, below] = [holds.least, holds.below].map(|bytes| (bytes as f64 * share) as u64);
    Capacity { least: least.max(cache.size.least), below: below.max(cache.size.below) }
}

/// A cache whose ways are sought.
struct Set {
    /// From 1 on.
    level: u32,
    costs: Costs,
}

impl Set {
    /// Bytes between lines that share their set: a way's size, or a multiple of it.
    fn distance(&self, contiguity: Contiguity) -> Finding<usize> {
        // A first level is indexed within a base page, so that it need not wait for the translation. A second level is by more bits, all of which
        // are in a huge page's offset. Last levels choose their part by a hash of the address.
        match (self.level, contiguity) {
            (1, _) => Ok(BASE),
            (2, Contiguity::HugePage) => Ok(HUGE / 2),
            (2, Contiguity::BasePage) => Err("without huge pages, sets of physical addresses are not known".to_owned()),
            (_, _) => Err("sets of a last level are hashed".to_owned()),
        }
    }
}

/// Accesses to more and more lines that share their set.
fn conflicts(effort: Effort, buffer: &mut Mapping, most: Spaced) -> Vec<Point> {
    let most = Spaced { count: most.count.min((buffer.bytes() / most.apart) as u64), ..most };
    let point = |count: u64| {
        let mut chain = Spaced { count, ..most }.in_cache_set(buffer);
        Point { size: count, value: step(effort, count, |steps| chain.follow(steps)) }
    };
    (1..=most.count).map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translation_has_a_part_where_windows_are_larger_than_the_tlb() {
        let translation = Translation { first: 64.0, second_hit: 2.0, second: 1536.0, walk: 32.0 };
        let of = |pages: u64| translation.of_access(pages << 12, 64);
        assert_eq!((of(64), of(128), of(256), of(1024)), (0.0, 1.0, 1.5, 1.5));
        assert_eq!(of(2048), 2.5, "a page's 32 lines share its walk");
        assert_eq!(Translation::default().of_access(1 << 30, 64), 0.0);
    }

    /// A level of sizes from the first one to the last.
    fn level(value: f64, (first, last): (u64, u64), holds: Option<Capacity>) -> Level {
        Level { value: Spread::exact(value), first, last, holds }
    }

    fn holds(least: u64, below: u64) -> Option<Capacity> {
        Some(Capacity { least, below })
    }

    #[test]
    fn a_last_level_that_goes_on_is_memory() {
        let level = |value: f64, holds| Level { value: Spread::exact(value), first: 1, last: 2, holds };
        let holds = |least| Some(Capacity { least, below: 2 * least });
        let mut asked = Vec::new();
        let found = caches(&[level(1.0, holds(4)), level(4.0, holds(16)), level(50.0, None)], &[], |set| {
            asked.push((set.level, set.costs.hit, set.costs.miss));
            Ok(Capacity { least: 8, below: 9 })
        });
        assert_eq!(asked, [(1, 1.0, Some(4.0)), (2, 4.0, Some(50.0))]);
        assert_eq!(found.memory, Ok(Spread::exact(50.0)));
        assert_eq!(found.levels.unwrap().len(), 2);
        let none = |_: Set| Err(String::new());
        assert!(
            caches(&[level(1.0, holds(4)), level(4.0, holds(16))], &[], none).memory.unwrap_err().contains("rises")
        );
        let found = caches(&[level(1.0, None)], &[], none);
        assert!(found.memory.is_err() && found.levels.is_err(), "one level is no cache and no memory");
    }

    /// Two steps of a last level, as they were measured: 3.7 MiB of 49 cycles, 7.4 MiB of 93, and memory of 518.
    #[test]
    fn steps_behind_the_last_cache_that_is_named_are_of_that_cache() {
        let steps = [
            level(4.0, (4, 32), holds(32, 33)),
            level(49.0, (1000, 3400), holds(3400, 4000)),
            level(93.0, (4000, 5700), holds(5700, 9500)),
            level(518.0, (20_000, 100_000), None),
        ];
        let none = |_: Set| Err(String::new());
        let found = caches(&steps, &[32, 32 << 10], none);
        assert_eq!(found.memory, Ok(Spread::exact(518.0)));
        let [_, last] = &found.levels.unwrap()[..] else { panic!("two are named") };
        assert_eq!((last.latency.median, &last.slower_parts[..]), (49.0, &[Spread::exact(93.0)][..]));
        // 425 of 469 cycles are saved: a share of 0.906 hits.
        assert_eq!(last.size, Capacity { least: 5165, below: 8608 });
        // With as many names as steps or more, with one or none, and where the last name is of a cache that is full before the next step: an L3 without
        // a name.
        for named in [&[][..], &[32], &[32, 3500, 9000], &[32, 3500, 9000, 90_000], &[32, 4000]] {
            let levels = caches(&steps, named, none).levels.unwrap();
            assert_eq!(levels.len(), 3, "{named:?}");
            let plain = |cache: &Cache| cache.slopes_above.is_empty() && cache.slower_parts.is_empty();
            assert!(levels.iter().all(plain), "{named:?}");
        }
    }

    /// A narrow step between the L2 and the L3, as it was measured: 14 cycles, 23 of a narrow step, and 51.
    #[test]
    fn a_narrow_step_before_the_last_cache_is_none() {
        let steps = [
            level(14.0, (40, 1000), holds(1000, 1100)),
            level(23.0, (1200, 1500), holds(1500, 1700)),
            level(51.0, (1900, 6000), holds(6000, 9000)),
            level(518.0, (20_000, 100_000), None),
        ];
        let mut costs = Vec::new();
        let found = caches(&steps, &[1024, 32 << 10], |set| {
            costs.push((set.costs.hit, set.costs.miss));
            Err(String::new())
        });
        let [_, last] = &found.levels.unwrap()[..] else { panic!("two are named") };
        assert_eq!((last.latency.median, last.size), (51.0, Capacity { least: 6000, below: 9000 }));
        assert_eq!((&last.slopes_above[..], &last.slower_parts[..]), (&[Spread::exact(23.0)][..], &[][..]));
        assert_eq!(costs, [(14.0, Some(51.0)), (51.0, Some(518.0))]);
    }

    /// A step of which less hits than the first part holds changes no size.
    #[test]
    fn a_cache_with_a_slower_part_is_no_smaller() {
        let cache = Cache {
            size: Capacity { least: 100, below: 120 },
            latency: Spread::exact(10.0),
            ways: Err(String::new()),
            slopes_above: Vec::new(),
            slower_parts: Vec::new(),
        };
        let slower = (100.0, Capacity { least: 200, below: 300 });
        assert_eq!(with_slower(&cache, slower, Some(110.0)), cache.size);
        assert_eq!(with_slower(&cache, slower, None), cache.size, "what memory takes is not known");
    }
}
