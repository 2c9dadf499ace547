//! Data caches: a chase through more and more memory, and chases whose lines share a set.

use crate::findings::{Cache, Caches, Curve, CurveKind, Finding};
use crate::pages::{BASE, HUGE};
use crate::raw::Mapping;
use crate::spread::Spread;
use crate::staircase::{Capacity, Level, Point, Steps, levels};
use crate::timing::{Effort, sizes, step};
use crate::visits::{Lines, Spaced, Window};
use crate::ways::{self, Costs};

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
pub(crate) fn measure(effort: Effort, buffer: &mut Mapping, through: Through, line: usize) -> (Caches, Vec<Curve>) {
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
        Ok(found) => caches(&found, |set| {
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
fn caches(found: &[Level], mut ways: impl FnMut(Set) -> Finding<Capacity>) -> Caches {
    let ending: Vec<(&Level, Capacity)> = found.iter().map_while(|level| Some((level, level.holds?))).collect();
    let mut caches = Vec::new();
    for (number, (level, size)) in (1..).zip(&ending) {
        // The level's number is its place among those found.
        let miss = found.get(number as usize).map(|next| next.value.median);
        let set = Set { level: number, costs: Costs { hit: level.value.median, miss } };
        caches.push(Cache { size: *size, latency: level.value, ways: ways(set) });
    }
    let memory = match found.last() {
        Some(last) if last.holds.is_none() && !caches.is_empty() => Ok(last.value),
        Some(_) | None => Err("latency still rises at the largest memory that was measured".to_owned()),
    };
    Caches { levels: if caches.is_empty() { Err("there is no step".to_owned()) } else { Ok(caches) }, memory }
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

    #[test]
    fn a_last_level_that_goes_on_is_memory() {
        let level = |value: f64, holds| Level { value: Spread::exact(value), first: 1, last: 2, holds };
        let holds = |least| Some(Capacity { least, below: 2 * least });
        let mut asked = Vec::new();
        let found = caches(&[level(1.0, holds(4)), level(4.0, holds(16)), level(50.0, None)], |set| {
            asked.push((set.level, set.costs.hit, set.costs.miss));
            Ok(Capacity { least: 8, below: 9 })
        });
        assert_eq!(asked, [(1, 1.0, Some(4.0)), (2, 4.0, Some(50.0))]);
        assert_eq!(found.memory, Ok(Spread::exact(50.0)));
        assert_eq!(found.levels.unwrap().len(), 2);
        let none = |_: Set| Err(String::new());
        assert!(caches(&[level(1.0, holds(4)), level(4.0, holds(16))], none).memory.unwrap_err().contains("rises"));
        let found = caches(&[level(1.0, None)], none);
        assert!(found.memory.is_err() && found.levels.is_err(), "one level is no cache and no memory");
    }
}
