//! Whether the last level keeps lines that are used again while others, as many as it holds, are used once.
//!
//! With LRU, none of them stays: each is used longest ago before its turn comes. A replacement that predicts reuse keeps them, and what is used once
//! leaves first.

use crate::pages::{Pages, memory};
use crate::random::Random;
use crate::raw::Mapping;
use crate::spread::Spread;
use crate::timing::nanoseconds;
use crate::visits::{Lines, Window};

/// How often the lines are used behind a scan.
const ROUNDS: usize = 41;

/// Nanoseconds of a load of a line that is used again.
#[derive(Clone, PartialEq, Debug)]
pub struct Reuse {
    /// At once, by the next turn: the last level has it.
    pub alone: Spread,
    /// Behind as many bytes of lines that are used once as the last level has.
    pub behind_scan: Spread,
}

impl Reuse {
    /// The share of the lines that is still in the last level behind the scan, if a load takes so many nanoseconds from there, and from memory. Others may take lines
    /// away even between two turns, so that the quickest quarter of those tells what a turn takes whose lines are all there.
    #[must_use]
    pub fn share_kept(&self, last_level: &Spread, memory: &Spread) -> Spread {
        let miss = memory.median - last_level.median;
        let lost = self.behind_scan.less(&Spread::exact(self.alone.low)).scaled(1.0 / miss);
        Spread { median: 1.0 - lost.median, low: 1.0 - lost.high, high: 1.0 - lost.low }
    }
}

/// Measures it for a cache of `last` bytes behind one of `above` bytes, with scans through a buffer that is larger than both.
pub(crate) fn measure(buffer: &mut Mapping, above: u64, last: u64, line: usize) -> Result<Reuse, String> {
    if buffer.bytes() as u64 <= 2 * last {
        return Err("there is too little memory to scan".to_owned());
    }
    // Twice the level above, so that it is the last one that has them.
    let bytes = 2 * above;
    let mut kept = memory(bytes as usize, Pages::Huge).or_else(|_| memory(bytes as usize, Pages::Base))?;
    let lines = Lines { size: bytes, line };
    let mut chain = lines.by_window(&mut kept, Window::UNFORESEEN);
    let turn = bytes / (Window::UNFORESEEN.every * line) as u64;
    let mut timed = || {
        let begin = nanoseconds();
        chain.follow(turn);
        (nanoseconds() - begin) as f64 / turn as f64
    };
    let mut scan = Scan::new(buffer, line);
    let (mut alone, mut behind_scan) = (Vec::new(), Vec::new());
    timed();
    for _ in 0..=ROUNDS {
        alone.push(timed());
        scan.read(last as usize / line);
        behind_scan.push(timed());
    }
    // Before the first scan, no line has been used again behind one.
    behind_scan.remove(0);
    Ok(Reuse { alone: Spread::of(alone), behind_scan: Spread::of(behind_scan) })
}

/// Loads of lines in random order that do not wait for each other, each line once before any comes again.
struct Scan<'m> {
    words: &'m [u64],
    /// Words of a line.
    apart: usize,
    order: Vec<u32>,
    next: usize,
}

impl<'m> Scan<'m> {
    fn new(buffer: &'m mut Mapping, line: usize) -> Self {
        let order = Random::new(line as u64).order(buffer.bytes() / line);
        Self { words: buffer.words(), apart: line / size_of::<u64>(), order, next: 0 }
    }

    fn read(&mut self, lines: usize) {
        let mut sum = 0;
        for _ in 0..lines {
            sum ^= self.words[self.order[self.next] as usize * self.apart];
            self.next = (self.next + 1) % self.order.len();
        }
        std::hint::black_box(sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_as_long_as_memory_is_not_kept() {
        let [last_level, memory] = [10.0, 110.0].map(Spread::exact);
        let share = |behind| {
            let reuse = Reuse { alone: Spread::exact(14.0), behind_scan: Spread::exact(behind) };
            reuse.share_kept(&last_level, &memory).median
        };
        assert_eq!([14.0, 39.0, 114.0].map(share), [1.0, 0.75, 0.0]);
    }

    #[test]
    fn a_scan_comes_to_each_line_before_it_begins_again() {
        let mut buffer = memory(1 << 20, Pages::Base).unwrap();
        let lines = (1 << 20) / 64;
        let mut scan = Scan::new(&mut buffer, 64);
        scan.read(lines + 3);
        assert_eq!(scan.next, 3);
        let mut order = scan.order.clone();
        order.sort_unstable();
        assert!(order.into_iter().eq(0..lines as u32));
    }

    #[test]
    fn it_is_measured_with_more_memory_than_the_cache() {
        let mut buffer = memory(4 << 20, Pages::Base).unwrap();
        assert!(measure(&mut buffer, 64 << 10, 2 << 20, 64).is_err());
        let reuse = measure(&mut buffer, 64 << 10, 1 << 20, 64).unwrap();
        assert!(reuse.alone.low > 0.0 && reuse.behind_scan.low > 0.0, "{reuse:?}");
    }
}
