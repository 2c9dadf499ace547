//! How much of the last level of caches many misses at a time find.
//!
//! One chase waits for each of its loads. Where others share the cache, they displace the lines of such a slow chase sooner than those of a program with many
//! misses at a time. So the size is measured once more, by chases that do not wait for each other.

use crate::pages::{Pages, memory};
use crate::raw::Mapping;
use crate::spread::Spread;
use crate::staircase::Point;
use crate::timing::{Effort, sizes, together};
use crate::visits::{Lines, Window};

/// Chases at the same time: as many misses as first levels of caches wait for, or more.
pub(crate) const CHASES: u64 = 16;

/// How often all sizes are measured, in turn.
const LAPS: usize = 5;

/// Memory of so many times the size of the cache does not hit.
const BEYOND: u64 = 4;

/// The most memory of a probe, in bytes.
const MOST: u64 = 1 << 30;

const NO_STEP: &str = "memory takes no longer than the cache";

/// The least share of hits that tells a size. What lies below is within the noise of memory.
const LEAST_SHARE: f64 = 0.25;

/// What was found of the last level.
#[derive(Clone, PartialEq, Debug)]
pub struct LastLevel {
    /// Bytes that it holds.
    pub holds: Spread,
    /// Nanoseconds of an access by bytes of memory, with as many chases: the median of all laps.
    pub points: Vec<Point>,
}

/// The last level, measured again and again beside other work.
#[derive(Debug)]
pub struct LastLevelProbe {
    memory: Mapping,
    above: u64,
    line: usize,
    found: Vec<f64>,
}

impl LastLevelProbe {
    /// For a cache of no more than `last` bytes, behind one of `above` bytes, with lines of `line` bytes.
    ///
    /// # Errors
    /// Why there is no memory for it, or the cache is so large that all of the memory may hit.
    pub fn take(above: u64, last: u64, line: u32) -> Result<Self, String> {
        if last > MOST / 2 {
            return Err(format!("a cache of {} MiB is too large to measure beside programs", last >> 20));
        }
        let bytes = (BEYOND * last).min(MOST);
        let memory = memory(bytes as usize, Pages::Huge).or_else(|_| memory(bytes as usize, Pages::Base))?;
        Ok(Self { memory, above, line: line as usize, found: Vec::new() })
    }

    /// Measures it once. That takes some tenths of a second.
    pub fn measure(&mut self) {
        let sizes = sizes(2 * self.above, self.memory.bytes() as u64, 2);
        self.found.extend(holds(&lap(Effort::QUICK, &mut self.memory, &sizes, self.line)));
    }

    /// Bytes that it held in all measurements since the last call.
    ///
    /// # Errors
    /// Memory has never taken longer than the cache.
    pub fn holds(&mut self) -> Result<Spread, String> {
        Spread::of_repeats(&std::mem::take(&mut self.found)).ok_or_else(|| NO_STEP.to_owned())
    }
}

/// Measures it with memory from twice the size of the level above on, in bytes. `line` is that of the caches.
pub(crate) fn measure(effort: Effort, buffer: &mut Mapping, above: u64, line: usize) -> Result<LastLevel, String> {
    let sizes = sizes(2 * above, buffer.bytes() as u64, 2);
    let mut laps: Vec<Vec<Point>> = Vec::new();
    for _ in 0..LAPS {
        laps.push(lap(effort, buffer, &sizes, line));
    }
    let holds: Vec<f64> = laps.iter().filter_map(|lap| holds(lap)).collect();
    let holds = Spread::of_repeats(&holds).ok_or(NO_STEP)?;
    let point = |(index, &size): (usize, &u64)| {
        let times = laps.iter().map(|lap| lap[index].value.median);
        Point { size, value: Spread::of(times.collect()) }
    };
    Ok(LastLevel { holds, points: sizes.iter().enumerate().map(point).collect() })
}

/// Nanoseconds of an access by bytes of memory.
fn lap(effort: Effort, buffer: &mut Mapping, sizes: &[u64], line: usize) -> Vec<Point> {
    let point = |&size: &u64| {
        let mut chain = Lines { size, line }.by_window(buffer, Window::OF_MANY);
        let once = size / (Window::OF_MANY.every * line) as u64 / CHASES;
        Point { size, value: together(effort, once, &mut chain, CHASES as usize) }
    };
    sizes.iter().map(point).collect()
}

/// Bytes that the cache holds: of memory of size s of which a share h hits, h × s is in the cache. The first size hits, and the last one does not.
fn holds(points: &[Point]) -> Option<f64> {
    let (hit, miss) = (points.first()?.value.median, points.last()?.value.median);
    if miss <= hit {
        return None;
    }
    let share = |point: &Point| ((miss - point.value.median) / (miss - hit)).clamp(0.0, 1.0);
    let held = points.iter().map(|point| (share(point), point.size as f64)).filter(|(share, _)| *share >= LEAST_SHARE);
    held.map(|(share, size)| share * size).max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(times: &[(u64, f64)]) -> Vec<Point> {
        times.iter().map(|&(size, time)| Point { size, value: Spread::exact(time) }).collect()
    }

    #[test]
    fn a_share_of_a_larger_memory_is_what_the_cache_holds() {
        // 8 hits, of 12 a share of 7/8, of 16 the half.
        let some = points(&[(2, 1.0), (8, 1.0), (12, 2.0), (16, 5.0), (64, 9.0)]);
        assert_eq!(holds(&some), Some(10.5));
        let sharp = points(&[(2, 1.0), (8, 1.0), (12, 9.0), (64, 9.0)]);
        assert_eq!(holds(&sharp), Some(8.0));
    }

    #[test]
    fn small_shares_are_noise_of_memory() {
        let noisy = points(&[(2, 1.0), (8, 1.0), (32, 9.0), (64, 8.0), (128, 9.0)]);
        assert_eq!(holds(&noisy), Some(8.0), "not an eighth of 64");
    }

    #[test]
    fn a_probe_has_the_median_of_what_it_finds() {
        let mut probe = LastLevelProbe::take(256 << 10, 1 << 20, 64).unwrap();
        assert!(probe.holds().is_err());
        probe.found = vec![3.0, 1.0, 2.0];
        assert_eq!(probe.holds().unwrap().median, 2.0);
        assert!(probe.holds().is_err(), "each is used once");
        probe.measure();
        let too_large = LastLevelProbe::take(1 << 20, MOST, 64).map(drop);
        assert!(too_large.is_err_and(|problem| problem.contains("1024 MiB is too large")));
        assert!(probe.found.iter().all(|&bytes| bytes <= f64::from(4 << 20)), "{:?}", probe.found);
    }

    #[test]
    fn without_a_step_nothing_is_known() {
        assert_eq!(holds(&points(&[(2, 9.0), (8, 9.0)])), None);
        assert_eq!(holds(&[]), None);
    }
}
