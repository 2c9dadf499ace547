//! Misses at the same time: chases that do not wait for each other, more and more of them.

pub(crate) mod branches;

use crate::findings::{Curve, CurveKind, Prefetch};
use crate::raw::{HEADS, Mapping};
use crate::spread::Spread;
use crate::staircase::Point;
use crate::timing::{Effort, step, together};
use crate::visits::{Lines, Order, Window};

/// Numbers of chases from which on nothing becomes faster.
const SATURATED: u64 = 24;

/// Misses whose overlap is measured.
#[derive(Clone, Copy)]
pub(crate) struct Misses {
    /// Lines that miss.
    pub(crate) lines: Lines,
    /// Nanoseconds of one alone.
    pub(crate) latency: Spread,
    pub(crate) kind: CurveKind,
}

/// How many misses are outstanding, by Little's law: the latency of one in units of the time between the ends of two.
pub(crate) fn outstanding(effort: Effort, buffer: &mut Mapping, misses: Misses) -> (Spread, Curve) {
    let mut chain = misses.lines.by_window(buffer, Window::OF_MANY);
    let point = |chases: u64| Point { size: chases, value: together(effort, 0, &mut chain, chases as usize) };
    let points: Vec<Point> = (1..=HEADS as u64).map(point).collect();
    (saturation(&points, misses.latency), Curve { kind: misses.kind, points, levels: Vec::new() })
}

fn saturation(points: &[Point], alone: Spread) -> Spread {
    let together = points.iter().filter(|point| point.size >= SATURATED).map(|point| point.value.median);
    alone.over(&Spread::of(together.collect()))
}

/// What prefetchers do for lines of a page that come in order.
pub(crate) fn prefetch(effort: Effort, buffer: &mut Mapping, lines: Lines) -> Prefetch {
    let mut time = |within| {
        let mut chain = lines.by_page(buffer, within);
        step(effort, 0, |steps| chain.follow(steps))
    };
    Prefetch { ascending: time(Order::Ascending), random: time(Order::Random) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_of_ten_buffers_has_ten() {
        let points: Vec<Point> =
            (1..=HEADS as u64).map(|size| Point { size, value: Spread::exact(100.0 / size.min(10) as f64) }).collect();
        assert_eq!(saturation(&points, Spread::exact(100.0)), Spread::exact(10.0));
    }
}
