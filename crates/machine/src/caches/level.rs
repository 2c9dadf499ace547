//! One cache: sets of lines in the order of their use.

use config::host_model::caches::CacheModel;

/// No line. Lines are numbered from the start of memory, and memory has fewer.
const NONE: u32 = u32::MAX;

/// A set-associative cache with exact LRU replacement. An address is an offset in memory, so that what a set holds does not depend on where
/// memory lies in the process.
///
/// A set is a row of line numbers, from the line used last to the one whose use is longest ago. Rows are not padded: those of a last level are
/// too many for the caches of the machine that this runs on, and that is what a miss waits for.
#[derive(Debug)]
pub(super) struct Level {
    lines: Vec<u32>,
    sets: u32,
    ways: usize,
    /// log2 of the bytes of a line.
    line_shift: u32,
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
        Self {
            lines: vec![NONE; model.sets() as usize * model.ways as usize],
            sets: model.sets(),
            ways: model.ways as usize,
            line_shift: model.line.trailing_zeros(),
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
    fn row(&mut self, line: u32) -> &mut [u32] {
        let set = if self.sets.is_power_of_two() { line & (self.sets - 1) } else { line % self.sets };
        let first = set as usize * self.ways;
        &mut self.lines[first..first + self.ways]
    }

    /// Uses the line at an offset: it is the one used last from now on.
    #[inline]
    pub(super) fn use_line(&mut self, offset: u64) -> Used {
        let line = self.line(offset);
        let shift = self.line_shift;
        // Each line moves down one place, until the place is reached where this one was, or the end.
        let mut moved = line;
        for place in self.row(line) {
            let there = std::mem::replace(place, moved);
            if there == line {
                return Used::Hit;
            }
            moved = there;
        }
        Used::Filled((moved != NONE).then(|| u64::from(moved) << shift))
    }

    /// Uses the line at an offset if it is there; whether it is.
    pub(super) fn use_if_held(&mut self, offset: u64) -> bool {
        let line = self.line(offset);
        let row = self.row(line);
        let Some(place) = row.iter().position(|&there| there == line) else { return false };
        row[..=place].rotate_right(1);
        true
    }

    /// Gives up whatever it holds of `bytes` bytes at an offset.
    pub(super) fn remove(&mut self, offset: u64, bytes: u32) {
        let last = self.line(offset + u64::from(bytes) - 1);
        for line in self.line(offset)..=last {
            let row = self.row(line);
            if let Some(place) = row.iter().position(|&there| there == line) {
                row[place..].rotate_left(1);
                row[row.len() - 1] = NONE;
            }
        }
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
