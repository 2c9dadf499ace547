//! Instructions that are dispatched behind a mispredicted branch before it is resolved.

/// A mispredicted branch.
struct WrongPath {
    /// Its number.
    branch: usize,
    /// When the latest instruction behind it was dispatched on the wrong path.
    latest: u64,
    /// When the branch is resolved.
    resolved: u64,
}

/// The mispredicted branches that may not be resolved, in the order of the program.
#[derive(Default)]
pub(crate) struct WrongPaths(Vec<WrongPath>);

impl WrongPaths {
    /// A branch, by its number, was mispredicted: when it was dispatched, and when it is resolved.
    pub(crate) fn begin(&mut self, branch: usize, dispatch: u64, resolved: u64) {
        self.0.push(WrongPath { branch, latest: dispatch, resolved });
    }

    /// No wrong path goes on.
    pub(crate) fn end(&mut self) {
        self.0.clear();
    }

    /// When the next instruction, by its number, was dispatched on the wrong path of the oldest branch that is not resolved by then, and when that was flushed. The instruction
    /// a window before it retires at `retired`.
    pub(crate) fn early(&mut self, number: usize, window: usize, retired: u64) -> Option<(u64, u64)> {
        for path in &mut self.0 {
            path.latest = (path.latest + 1).max(retired);
        }
        self.0.retain(|path| number < path.branch + window && path.latest < path.resolved);
        self.0.first().map(|path| (path.latest, path.resolved))
    }
}

/// When an instruction is dispatched on the right path; and on a wrong one before, with the time at which that was flushed.
#[derive(Clone, Copy)]
pub(crate) struct Dispatched {
    pub(crate) now: u64,
    pub(crate) early: Option<(u64, u64)>,
}

impl Dispatched {
    /// When it is dispatched first.
    pub(crate) fn earliest(&self) -> u64 {
        self.early.map_or(self.now, |early| early.0)
    }
}
