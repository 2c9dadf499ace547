//! One cache: sets of lines, in the order of their use or with a replacement policy of [`mmu`].

use super::row::{Place, holds, use_in};
use config::host_model::caches::CacheModel;
use mmu::{Replacement, Shape};

/// No line. Lines are numbered from the start of memory, and memory has fewer.
const NONE: u32 = u32::MAX;

/// A set-associative cache, with exact LRU replacement or with another [policy](Replacement). An address is an offset in memory, so that what a set holds does not depend on where
/// memory lies in the process.
///
/// With LRU, a set is a row of line numbers, from the line used last to the one whose use is longest ago; with another policy, lines keep their places. Rows are not padded: those of a last level are
/// too many for the caches of the machine that this runs on, and that is what a miss waits for.
#[derive(Debug)]
pub(super) struct Level {
    lines: Vec<u32>,
    sets: u32,
    ways: usize,
    /// log2 of the bytes of a line.
    line_shift: u32,
    /// `None` with LRU.
    policy: Option<Box<dyn Replacement>>,
}

/// What the use of a line did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Used {
    /// The line was there.
    Hit,
    /// It is now, in the place of another: the offset of that one's first byte.
    Filled(Option<u64>),
}

impl Level {
    /// An empty cache. The model was checked before.
    pub(super) fn new(model: &CacheModel) -> Self {
        let (sets, ways, replacement) = (model.sets(), model.ways as usize, model.replacement.0);
        let shape = Shape { sets: sets as usize, ways };
        Self {
            lines: vec![NONE; shape.sets * ways],
            sets,
            ways,
            line_shift: model.line.trailing_zeros(),
            policy: (!replacement.is_lru()).then(|| replacement.build(shape)),
        }
    }

    /// Bytes of a line.
    pub(super) fn line_bytes(&self) -> u32 {
        1 << self.line_shift
    }

    /// The number of the line at an offset.
    fn line(&self, offset: u64) -> u32 {
        (offset >> self.line_shift) as u32
    }

    /// The set that a line belongs to.
    #[inline(always)]
    fn set(&self, line: u32) -> u32 {
        if self.sets.is_power_of_two() { line & (self.sets - 1) } else { line % self.sets }
    }

    /// The lines of that set.
    #[inline(always)]
    fn row(&mut self, line: u32) -> &mut [u32] {
        let first = self.set(line) as usize * self.ways;
        &mut self.lines[first..first + self.ways]
    }

    /// Uses the line at an offset: it is the one used last from now on.
    #[inline]
    pub(super) fn use_line(&mut self, offset: u64) -> Used {
        let line = self.line(offset);
        if self.policy.is_some() {
            return self.use_by_policy(line);
        }
        let shift = self.line_shift;
        let row = self.row(line);
        let last = match use_in(row, line) {
            Place::Held => return Used::Hit,
            Place::Taken(last) => last,
        };
        Used::Filled((last != NONE).then(|| u64::from(last) << shift))
    }

    /// The same with another policy than LRU.
    fn use_by_policy(&mut self, line: u32) -> Used {
        let set = self.set(line) as usize;
        let row = &mut self.lines[set * self.ways..][..self.ways];
        let Some(policy) = &mut self.policy else { unreachable!("the caller has looked") };
        if let Some(way) = row.iter().position(|&there| there == line) {
            policy.touch(set, way);
            return Used::Hit;
        }
        let way = row.iter().position(|&there| there == NONE).unwrap_or_else(|| policy.victim(set));
        let last = std::mem::replace(&mut row[way], line);
        policy.insert(set, way);
        Used::Filled((last != NONE).then(|| u64::from(last) << self.line_shift))
    }

    /// Uses the line at an offset if it is there; whether it is.
    pub(super) fn use_if_held(&mut self, offset: u64) -> bool {
        let line = self.line(offset);
        let set = self.set(line) as usize;
        let row = &mut self.lines[set * self.ways..][..self.ways];
        let Some(policy) = &mut self.policy else {
            let held = holds(row, line);
            if held {
                use_in(row, line);
            }
            return held;
        };
        let way = row.iter().position(|&there| there == line);
        if let Some(way) = way {
            policy.touch(set, way);
        }
        way.is_some()
    }

    /// Gives up whatever it holds of `bytes` bytes at an offset.
    pub(super) fn remove(&mut self, offset: u64, bytes: u32) {
        let last = self.line(offset + u64::from(bytes) - 1);
        for line in self.line(offset)..=last {
            self.give_up_line(line);
        }
    }

    /// Gives up the line at an offset if it is there; whether it was.
    pub(super) fn give_up(&mut self, offset: u64) -> bool {
        self.give_up_line(self.line(offset))
    }

    fn give_up_line(&mut self, line: u32) -> bool {
        let set = self.set(line) as usize;
        let row = &mut self.lines[set * self.ways..][..self.ways];
        // Most lines are not here: those of a level below are gone, those of memory have not come.
        if !holds(row, line) {
            return false;
        }
        let Some(way) = row.iter().position(|&there| there == line) else { return false };
        match &mut self.policy {
            Some(policy) => {
                row[way] = NONE;
                policy.invalidate(set, way);
            }
            None => {
                row[way..].rotate_left(1);
                row[row.len() - 1] = NONE;
            }
        }
        true
    }

    /// For [`super::lines`]: the rows, the mask of a set's number, the places of a row, and log2 of the bytes of a line.
    ///
    /// # Panics
    /// If the number of sets is no power of two.
    pub(super) fn rows(&mut self) -> (*const u32, u32, usize, u32) {
        assert!(self.sets.is_power_of_two(), "the model of an L1 was checked");
        (self.lines.as_ptr(), self.sets - 1, self.ways, self.line_shift)
    }
}
