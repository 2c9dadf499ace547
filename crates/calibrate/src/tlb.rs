//! Data TLBs: what a chase over pages takes more than one through as many lines of few pages.

use crate::caches::ways::{self, Costs};
use crate::findings::{Curve, CurveKind, Finding, HugeEntries, TOGETHER, Tlb, TlbLevel, Translated, Walks};
use crate::pages::{BASE, HUGE, Pages, address_space, memory};
use crate::raw::{Chain, Mapping};
use crate::spread::Spread;
use crate::staircase::{Capacity, Level, Point, Steps, levels};
use crate::timing::{Effort, sizes, step, together};
use crate::visits::{Lines, Spaced, Window};

/// A step of translation, in cycles: a hit of a second level takes seven or more.
const STEP_CYCLES: f64 = 3.0;

/// Lines, at the most: pages of several times the reach of any second level, and few enough that their lines fit into a second-level cache.
const MOST: u64 = 16 << 10;

/// Distance, in pages, of pages that share a set: more bits than sets are chosen by, and than a second half of bits that some processors add to them
/// (Gras et al., "Translation Leak-aside Buffer", USENIX Security 2018, section 5).
const SAME_SET: usize = 1 << 16;

/// How TLBs are measured.
pub(crate) struct Bench {
    effort: Effort,
    line: usize,
    /// Nanoseconds of a cycle.
    cycle: f64,
    /// As many lines, of few pages.
    dense: Mapping,
}

/// What is measured of the TLB for pages of one size.
pub(crate) struct Measured {
    pub(crate) tlb: Tlb,
    pub(crate) walks: Finding<Walks>,
    pub(crate) curves: Vec<Curve>,
}

impl Measured {
    /// Nothing, for this reason.
    pub(crate) fn nothing(reason: &str) -> Self {
        let not = || reason.to_owned();
        let tlb = Tlb { first: Err(not()), second: Err(not()), second_hit: Err(not()) };
        Self { tlb, walks: Err(not()), curves: Vec::new() }
    }
}

impl Bench {
    /// With dense memory of huge pages, or of base pages where there are no others.
    pub(crate) fn new(effort: Effort, line: usize, cycle: f64) -> Result<Self, String> {
        let bytes = MOST as usize * line;
        let dense = memory(bytes, Pages::Huge).or_else(|_| memory(bytes, Pages::Base))?;
        Ok(Self { effort, line, cycle, dense })
    }

    /// The TLB for base pages.
    pub(crate) fn base(&mut self) -> Measured {
        match memory(MOST as usize * BASE, Pages::Base) {
            Ok(mut pages) => self.measure(&mut pages, Translated::Base, MOST),
            Err(reason) => Measured::nothing(&reason),
        }
    }

    /// How a TLB holds huge pages whose every base page is used. If it holds only parts of them, they are like base pages, and their walks are measured here.
    pub(crate) fn parts_of_huge(&mut self, base: &Tlb) -> Finding<(HugeEntries, Measured)> {
        let (first, second) = (base.first.clone()?.entries, base.second.clone()?.entries);
        let step = base.second_hit.clone()?.median;
        let mut pages = memory(MOST as usize * BASE, Pages::Huge)?;
        // Base pages of a number that needs the second level, and huge pages of one that does not.
        let count = (first.below + second.least) / 2;
        let added = self.added(&mut pages, Translated::BaseOfHuge, Chase { lines: count, together: 1 });
        if added.median < step / 2.0 {
            return Ok((HugeEntries::Whole, Measured::nothing("a TLB's entry holds a huge page")));
        }
        let measured = self.measure(&mut pages, Translated::BaseOfHuge, MOST);
        Ok((HugeEntries::Splintered, measured))
    }

    /// The TLB for huge pages, of which there are as many as `most`.
    pub(crate) fn huge(&mut self, most: u64) -> Measured {
        match memory(most as usize * HUGE, Pages::Huge) {
            Ok(mut pages) => self.measure(&mut pages, Translated::Huge, most),
            Err(reason) => Measured::nothing(&reason),
        }
    }

    /// What translation adds to an access.
    fn added(&mut self, pages: &mut Mapping, translated: Translated, chase: Chase) -> Spread {
        let apart = match translated {
            Translated::Base | Translated::BaseOfHuge => BASE,
            Translated::Huge => HUGE,
        };
        let lines = Spaced { count: chase.lines, apart, line: self.line };
        let dense = Lines { size: chase.lines * self.line as u64, line: self.line };
        let dense = time(self.effort, dense.by_window(&mut self.dense, Window::DENSE), chase);
        time(self.effort, lines.chain(pages), chase).less(&dense)
    }

    fn measure(&mut self, pages: &mut Mapping, translated: Translated, most: u64) -> Measured {
        let counts = sizes(8, most, 2 * self.effort.per_doubling);
        let points = counts.into_iter().map(|size| {
            let chase = Chase { lines: size, together: 1 };
            Point { size, value: self.added(pages, translated, chase) }
        });
        let points: Vec<Point> = points.collect();
        let found = levels(&points, Steps::Difference(STEP_CYCLES * self.cycle)).map_err(|error| error.to_string());
        let drawn = found.clone().unwrap_or_default();
        let mut curves = vec![Curve { kind: CurveKind::Reach(translated), points, levels: drawn }];
        let (tlb, reach) = match found {
            Ok(found) => {
                let ways = match translated {
                    Translated::Base => self.ways(Pages::Base, &found, &mut curves),
                    Translated::Huge => self.ways(Pages::Huge, &found, &mut curves),
                    Translated::BaseOfHuge => {
                        let not = "these are the entries of 4K pages".to_owned();
                        [Err(not.clone()), Err(not)]
                    }
                };
                tlb(&found, ways)
            }
            Err(reason) => (Measured::nothing(&reason).tlb, Err(reason)),
        };
        let walks = reach.and_then(|reach| {
            let lines = 2 * reach;
            if lines > most {
                return Err(format!("twice the reach of the TLBs is beyond the {most} pages that were measured"));
            }
            let mut at = |together| self.added(pages, translated, Chase { lines, together });
            Ok(Walks { dependent: at(1), independent: at(TOGETHER) })
        });
        Measured { tlb, walks, curves }
    }

    /// Ways of the two levels, by accesses to more and more pages that share a set in each.
    fn ways(&self, pages: Pages, found: &[Level], curves: &mut Vec<Curve>) -> [Finding<Capacity>; 2] {
        let apart = SAME_SET * pages.bytes();
        let mut memory = match address_space(ways::MOST as usize * apart, pages) {
            Ok(memory) => memory,
            Err(reason) => return [Err(reason.clone()), Err(reason)],
        };
        let point = |count: u64| {
            let mut chain = Spaced { count, apart, line: self.line }.in_tlb_set(&mut memory);
            Point { size: count, value: step(self.effort, count, |steps| chain.follow(steps)) }
        };
        let points: Vec<Point> = (1..=ways::MOST).map(point).collect();
        let ways = of_levels(&points, found);
        curves.push(Curve { kind: CurveKind::TlbWays(pages), points, levels: Vec::new() });
        ways
    }
}

/// Chases through lines.
#[derive(Clone, Copy)]
struct Chase {
    lines: u64,
    /// Chases that do not wait for each other.
    together: usize,
}

/// Nanoseconds of an access.
fn time(effort: Effort, mut chain: Chain<'_>, chase: Chase) -> Spread {
    match chase.together {
        1 => step(effort, 2 * chase.lines, |steps| chain.follow(steps)),
        chases => together(effort, chase.lines, &mut chain, chases),
    }
}

/// The levels of the TLB, and how many pages its second level reaches.
fn tlb(found: &[Level], [of_first, of_second]: [Finding<Capacity>; 2]) -> (Tlb, Finding<u64>) {
    let level = |index: usize, ways| -> Finding<TlbLevel> {
        let level: &Level = found.get(index).ok_or("there is no such step")?;
        let entries =
            level.holds.ok_or_else(|| format!("it reaches beyond the {} pages that were measured", level.last))?;
        Ok(TlbLevel { entries, ways })
    };
    let first = level(0, of_first);
    // Where the first level's end is not seen, there is nothing to tell of a second.
    let second = first.clone().and_then(|_| level(1, of_second));
    let second_hit = match (found.first(), found.get(1)) {
        (Some(first), Some(second)) => Ok(second.value.less(&first.value)),
        (_, _) => Err("there is no step".to_owned()),
    };
    let reach = second.as_ref().map(|level| level.entries.below).map_err(Clone::clone);
    (Tlb { first, second, second_hit }, reach)
}

/// Ways of the two levels: this many pages of one set hit in the first, and in the second.
fn of_levels(points: &[Point], found: &[Level]) -> [Finding<Capacity>; 2] {
    let hit = points[0].value.median;
    let (Some(first), Some(second)) = (found.first(), found.get(1)) else {
        let not = || Err("what a hit of the second level takes is not known".to_owned());
        return [not(), not()];
    };
    let of_second = hit + (second.value.median - first.value.median).max(0.0);
    [ways::ways(points, Costs { hit, miss: Some(of_second) }), ways::ways(points, Costs { hit: of_second, miss: None })]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_told_by_their_steps() {
        let level = |value: f64, least| Level {
            value: Spread::exact(value),
            first: 1,
            last: least,
            holds: Some(Capacity { least, below: least + 8 }),
        };
        let ways = || [4, 12].map(|ways| Ok(Capacity { least: ways, below: ways + 1 }));
        let last = Level { holds: None, ..level(9.0, 16384) };
        let (found, reach) = tlb(&[level(0.0, 64), level(2.5, 1536), last], ways());
        assert_eq!(found.first.unwrap().entries.least, 64);
        assert_eq!(found.second_hit.unwrap().median, 2.5);
        assert_eq!(found.second.unwrap().ways.unwrap().least, 12);
        assert_eq!(reach, Ok(1544));
        let (found, reach) = tlb(&[level(0.0, 32), Level { holds: None, ..level(2.5, 64) }], ways());
        assert!(found.second.unwrap_err().contains("beyond the 64 pages") && reach.is_err());
        let (found, _) = tlb(&[Level { holds: None, ..level(0.0, 64) }], ways());
        assert!(found.first.is_err() && found.second.is_err() && found.second_hit.is_err());
    }

    #[test]
    fn ways_of_both_levels_are_in_one_curve() {
        let value = |pages: u64| match pages {
            0..=4 => 1.5,
            5..=12 => 4.0,
            _ => 30.0,
        };
        let points: Vec<Point> = (1..=20).map(|size| Point { size, value: Spread::exact(value(size)) }).collect();
        let level = |value: f64| Level { value: Spread::exact(value), first: 1, last: 2, holds: None };
        let exactly = |ways| Ok(Capacity { least: ways, below: ways + 1 });
        assert_eq!(of_levels(&points, &[level(0.1), level(2.6)]), [exactly(4), exactly(12)]);
        assert!(of_levels(&points, &[level(0.1)])[0].is_err());
    }
}
