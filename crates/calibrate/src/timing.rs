//! Times work by CLOCK_MONOTONIC_RAW, which is never adjusted.

use crate::host::Host;
use crate::raw::Chain;
use crate::spread::Spread;
use rustix::time::{ClockId, clock_gettime};

/// How much is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// Repeats of each number.
    pub(crate) repeats: usize,
    /// Nanoseconds of a repeat, at the least.
    pub(crate) repeat_ns: u64,
    /// Sizes of memory between one and its double.
    pub(crate) per_doubling: u32,
    /// Bytes of the largest memory, at the most.
    pub(crate) largest: u64,
    /// Huge pages of the largest reach that is looked for.
    pub(crate) most_huge_pages: u64,
}

impl Effort {
    /// Half a minute. Repeats are far shorter than the time that a system gives to one process, so that most of them are measured between two others.
    pub const FULL: Self =
        Self { repeats: 41, repeat_ns: 150_000, per_doubling: 4, largest: 2 << 30, most_huge_pages: 4096 };
    /// Seconds: a machine's large caches and the reach of its huge pages are beyond it.
    pub const QUICK: Self =
        Self { repeats: 11, repeat_ns: 50_000, per_doubling: 2, largest: 64 << 20, most_huge_pages: 64 };
}

impl Effort {
    /// Bytes of memory that go well beyond the largest cache that the system names.
    pub(crate) fn largest(self, host: &Host) -> u64 {
        let caches = host.caches.iter().map(|cache| cache.size).max();
        caches.map_or(1 << 30, |largest| (4 * largest).max(256 << 20)).min(self.largest)
    }
}

/// Now, in nanoseconds of a clock that runs evenly.
pub(crate) fn nanoseconds() -> u64 {
    let now = clock_gettime(ClockId::MonotonicRaw);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Nanoseconds of a step of `work`, which makes as many steps as it is given. The first `warm_up` steps, at the least, are not measured.
pub(crate) fn step(effort: Effort, warm_up: u64, mut work: impl FnMut(u64)) -> Spread {
    let mut timed = |steps: u64| {
        let begin = nanoseconds();
        work(steps);
        (nanoseconds() - begin).max(1) as f64
    };
    // Enough steps for a repeat, found by doubling; they warm up as well.
    let mut steps = warm_up.clamp(64, 1 << 24);
    let mut elapsed = timed(steps);
    while elapsed < effort.repeat_ns as f64 / 4.0 {
        steps *= 2;
        elapsed = timed(steps);
    }
    let steps = ((steps as f64 * effort.repeat_ns as f64 / elapsed) as u64).max(64);
    Spread::of((0..effort.repeats).map(|_| timed(steps) / steps as f64).collect())
}

/// Nanoseconds between two accesses of so many chases at the same time. The first `warm_up` steps of each are not measured.
pub(crate) fn together(effort: Effort, warm_up: u64, chain: &mut Chain<'_>, chases: usize) -> Spread {
    step(effort, warm_up, |steps| chain.follow_together(chases, steps)).scaled(1.0 / chases as f64)
}

/// Numbers from `first` to `last`, `per_doubling` of them between one and its double.
pub(crate) fn sizes(first: u64, last: u64, per_doubling: u32) -> Vec<u64> {
    let size = |step: u32| {
        let exact = first as f64 * (f64::from(step) / f64::from(per_doubling)).exp2();
        exact.round() as u64
    };
    let mut sizes: Vec<u64> = (0..).map(size).take_while(|&size| size <= last).collect();
    sizes.dedup();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_grow_by_a_factor() {
        assert_eq!(sizes(4, 16, 2), [4, 6, 8, 11, 16]);
        assert_eq!(sizes(1, 4, 4), [1, 2, 3, 4], "none comes twice");
        assert_eq!(sizes(8, 4, 1), []);
    }

    #[test]
    fn a_step_takes_its_part_of_the_time() {
        let mut steps_made = 0;
        let effort = Effort { repeats: 3, repeat_ns: 2_000_000, ..Effort::QUICK };
        let spread = step(effort, 0, |steps| {
            steps_made += steps;
            let until = nanoseconds() + 100 * steps;
            while nanoseconds() < until {}
        });
        assert!(spread.low >= 100.0 && steps_made >= 4 * 64, "{spread:?} {steps_made}");
    }
}
