//! The reuse distances of a guest's pages.

use super::SpacePage;
use super::histogram::DistanceHistogram;
use super::stack::Stack;

/// The most pages of a hart that are remembered, 8 GiB of them: how many it uses is the guest's choice.
const MOST_PAGES: usize = 1 << 21;

/// The reuse distances of the pages that a guest's loads and stores used in the measured part of its run.
#[derive(Clone, Debug)]
pub struct Reuse {
    /// By hart, as each has TLBs of its own.
    pub harts: Vec<HartReuse>,
}

/// The reuse distances of a hart.
#[derive(Clone, Debug, Default)]
pub struct HartReuse {
    /// How often each distance occurred. A first use is one since the beginning of the run.
    pub distances: DistanceHistogram,
    /// Pages that were forgotten because there were too many: a later use of one counts as the first.
    pub forgotten: u64,
}

/// What is kept of a guest's harts.
#[derive(Debug)]
pub(crate) struct Distances {
    harts: Vec<HartDistances>,
    /// Whether a region is measured now.
    inside: bool,
    /// Whether one has been, to its end.
    measured: bool,
}

#[derive(Debug)]
struct HartDistances {
    stack: Stack<SpacePage>,
    /// Since the latest region of interest began or ended.
    current: DistanceHistogram,
    /// Before it, as long as no region was measured.
    before: DistanceHistogram,
    /// In regions of interest that have ended.
    measured: DistanceHistogram,
}

impl Distances {
    /// Of a guest with so many harts.
    pub(crate) fn new(harts: usize) -> Self {
        let hart = || HartDistances {
            stack: Stack::new(MOST_PAGES),
            current: DistanceHistogram::default(),
            before: DistanceHistogram::default(),
            measured: DistanceHistogram::default(),
        };
        Self { harts: (0..harts).map(|_| hart()).collect(), inside: false, measured: false }
    }

    /// A hart uses a page so many times in a row.
    pub(crate) fn touch(&mut self, hart: usize, page: SpacePage, count: u64) {
        let HartDistances { stack, current, .. } = &mut self.harts[hart];
        current.add(stack.touch(page), 1);
        if count > 1 {
            current.add(Some(0), count - 1);
        }
    }

    /// The guest is measured from here on.
    pub(crate) fn begin_region(&mut self) {
        self.drop_region();
        self.inside = true;
    }

    /// What was used since the latest change is not measured.
    pub(crate) fn drop_region(&mut self) {
        self.inside = false;
        for hart in &mut self.harts {
            let current = std::mem::take(&mut hart.current);
            if !self.measured {
                hart.before.absorb(&current);
            }
        }
    }

    /// What was used since the latest change is measured.
    pub(crate) fn end_region(&mut self) {
        if !self.inside {
            return;
        }
        (self.inside, self.measured) = (false, true);
        for hart in &mut self.harts {
            hart.measured.absorb(&std::mem::take(&mut hart.current));
        }
    }

    /// The distances of what was measured, or of the whole run if nothing was.
    pub(crate) fn reuse(&self) -> Reuse {
        let of = |hart: &HartDistances| {
            let mut distances = hart.measured.clone();
            if !self.measured {
                distances.absorb(&hart.before);
                distances.absorb(&hart.current);
            }
            HartReuse { distances, forgotten: hart.stack.forgotten() }
        };
        Reuse { harts: self.harts.iter().map(of).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Space;
    use types::Gva;

    #[test]
    fn regions_are_measured_with_what_was_used_before() {
        let page = |number: u64| SpacePage::of(Space::default(), Gva(number << 12));
        let mut distances = Distances::new(2);
        distances.touch(0, page(1), 3);
        distances.touch(1, page(1), 1);
        let whole = distances.reuse();
        assert_eq!([0, 1].map(|hart| whole.harts[hart].distances.total()), [3, 1]);
        distances.begin_region();
        distances.touch(0, page(2), 1);
        distances.touch(0, page(1), 1);
        assert_eq!(distances.reuse().harts[0].distances.total(), 5, "no region has ended");
        distances.end_region();
        distances.touch(0, page(3), 7);
        distances.end_region();
        let reuse = distances.reuse();
        let hart = &reuse.harts[0].distances;
        assert_eq!((hart.total(), hart.cold(), hart.lru_misses(1), hart.lru_misses(2)), (2, 1, 2, 1));
        assert_eq!(reuse.harts[1].distances.total(), 0);
    }

    #[test]
    fn the_upper_half_is_of_every_space() {
        let other = Space { asid: types::Asid(7), ..Space::default() };
        let of = |space, at| SpacePage::of(space, Gva(at));
        assert_eq!(of(other, 0xffff_ffc0_0000_1234), of(Space::default(), 0xffff_ffc0_0000_1000));
        assert_ne!(of(other, 0x1000), of(Space::default(), 0x1000));
    }
}
