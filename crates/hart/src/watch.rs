//! Where a debugger wants a hart to stop, and whether it is there.
//!
//! A hart that has a [`Watch`] is executed by the matching engine, which looks at the watch before each instruction. Without one nothing looks.
//! A stop is in the middle of a run: [`Hart::resume`](crate::Hart::resume) goes on at the same micro-op with what is left of the budget, so that
//! the run ends where it would have ended without the stop.

use std::sync::Arc;

/// Why a hart stopped for a debugger. The instruction at `pc` has not been executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopCause {
    /// It has executed an instruction, or taken a trap, since it was set going.
    Step,
    /// A breakpoint is at `pc`.
    Breakpoint,
    /// It has retired as many instructions as it was allowed to.
    Instructions,
    /// The instruction accesses watched data.
    Data {
        /// The first watched address of the access.
        address: u64,
        /// What the watch was set for.
        kind: DataKind,
    },
}

/// The accesses that a watch of data is set for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataKind {
    /// Loads, and what an atomic operation reads.
    Read,
    /// Stores and atomic operations.
    Write,
    /// Both.
    Any,
}

/// Data that is watched, by guest virtual address in whatever address space the hart is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataWatch {
    first: u64,
    last: u64,
    kind: DataKind,
}

impl DataWatch {
    /// Watches `bytes` bytes from `first` on; none, or more than the address space has, are as many as there are.
    #[must_use]
    pub const fn new(first: u64, bytes: u64, kind: DataKind) -> Self {
        let last = first.saturating_add(if bytes == 0 { 0 } else { bytes - 1 });
        Self { first, last, kind }
    }

    /// The first watched address of an access to `bytes` bytes at `address`.
    fn overlap(&self, touched: &Touched) -> Option<u64> {
        let wanted = match self.kind {
            DataKind::Read => touched.reads,
            DataKind::Write => touched.writes,
            DataKind::Any => true,
        };
        // An access may wrap around the end of the address space.
        let offset = self.first.wrapping_sub(touched.address);
        match wanted {
            true if (self.first..=self.last).contains(&touched.address) => Some(touched.address),
            true if offset < touched.bytes => Some(self.first),
            true | false => None,
        }
    }
}

/// Where harts stop.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StopPoints {
    /// In order.
    breakpoints: Vec<u64>,
    /// For each breakpoint the bit that [`Self::bit`] gives its address.
    filter: u64,
    data: Vec<DataWatch>,
}

impl StopPoints {
    /// These breakpoints, as guest virtual addresses, and this data.
    #[must_use]
    pub fn new(mut breakpoints: Vec<u64>, data: Vec<DataWatch>) -> Self {
        breakpoints.sort_unstable();
        let filter = breakpoints.iter().fold(0, |filter, &address| filter | Self::bit(address));
        Self { breakpoints, filter, data }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.breakpoints.is_empty() && self.data.is_empty()
    }

    const fn bit(address: u64) -> u64 {
        1 << (address >> 1 & 63)
    }

    fn breaks_at(&self, pc: u64) -> bool {
        self.filter & Self::bit(pc) != 0 && self.breakpoints.binary_search(&pc).is_ok()
    }
}

/// An instruction that a hart is about to execute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Its address.
    pub pc: u64,
    /// Instructions that the hart has retired before it.
    pub retired: u64,
}

/// What a hart looks at before each instruction.
#[derive(Clone, Debug)]
pub struct Watch {
    points: Arc<StopPoints>,
    /// Whether the hart stops at every place but `from`.
    steps: bool,
    /// Where it has stopped already, and for what.
    from: Option<(Place, StopCause)>,
    /// How many instructions it has retired when it stops in any case.
    last: Option<u64>,
}

impl Watch {
    /// Stops at `points`.
    #[must_use]
    pub fn new(points: Arc<StopPoints>) -> Self {
        Self { points, steps: false, from: None, last: None }
    }

    /// Stops at the next instruction in any case.
    #[must_use]
    pub fn stepping(self) -> Self {
        Self { steps: true, ..self }
    }

    /// The hart has stopped at `place` for `cause`: it does not stop there for that again, and if it accesses data there is no other stop.
    #[must_use]
    pub fn after(self, place: Place, cause: StopCause) -> Self {
        Self { from: Some((place, cause)), ..self }
    }

    /// Stops once the hart has retired `retired` instructions since it was made.
    #[must_use]
    pub fn until(self, retired: u64) -> Self {
        Self { last: Some(retired), ..self }
    }

    /// Why the hart stops before the instruction at `place`, which accesses what `touched` says.
    pub(crate) fn cause(&self, place: Place, touched: impl FnOnce() -> Option<Touched>) -> Option<StopCause> {
        if self.last.is_some_and(|last| place.retired >= last) {
            return Some(StopCause::Instructions);
        }
        let before = self.from.filter(|(from, _)| *from == place).map(|(_, cause)| cause);
        match before {
            None if self.steps => return Some(StopCause::Step),
            None | Some(StopCause::Instructions) if self.points.breaks_at(place.pc) => {
                return Some(StopCause::Breakpoint);
            }
            Some(StopCause::Data { .. }) => return None,
            None | Some(StopCause::Step | StopCause::Breakpoint | StopCause::Instructions) => {}
        }
        if self.points.data.is_empty() {
            return None;
        }
        let touched = touched()?;
        self.points
            .data
            .iter()
            .find_map(|watch| watch.overlap(&touched).map(|address| StopCause::Data { address, kind: watch.kind }))
    }
}

/// What an instruction accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Touched {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place { pc: 0x1000, retired: 7 };

    fn store(address: u64, bytes: u64) -> Touched {
        Touched { address, bytes, reads: false, writes: true }
    }

    #[test]
    fn a_breakpoint_stops_once_at_a_place_and_again_when_the_hart_returns() {
        let watch = Watch::new(Arc::new(StopPoints::new(vec![0x2000, 0x1000], Vec::new())));
        assert_eq!(watch.cause(PLACE, || None), Some(StopCause::Breakpoint));
        let watch = watch.after(PLACE, StopCause::Breakpoint);
        assert_eq!(watch.cause(PLACE, || None), None);
        assert_eq!(watch.cause(Place { retired: 8, ..PLACE }, || None), Some(StopCause::Breakpoint));
        assert_eq!(watch.cause(Place { pc: 0x1080, retired: 8 }, || None), None, "the same bit of the filter");
    }

    #[test]
    fn a_step_ends_at_any_other_place() {
        let watch = Watch::new(Arc::default()).stepping().after(PLACE, StopCause::Step);
        assert_eq!(watch.cause(PLACE, || None), None);
        // A trap retires nothing, and a branch to itself does not move.
        assert_eq!(watch.cause(Place { pc: 0x2000, ..PLACE }, || None), Some(StopCause::Step));
        assert_eq!(watch.cause(Place { retired: 8, ..PLACE }, || None), Some(StopCause::Step));
    }

    #[test]
    fn a_limit_of_instructions_stops_before_everything_else_and_hides_no_breakpoint() {
        let watch = Watch::new(Arc::new(StopPoints::new(vec![0x1000], Vec::new()))).until(7);
        assert_eq!(watch.cause(Place { pc: 0x2000, retired: 6 }, || None), None);
        assert_eq!(watch.cause(PLACE, || None), Some(StopCause::Instructions));
        let watch = watch.after(PLACE, StopCause::Instructions).until(8);
        assert_eq!(watch.cause(PLACE, || None), Some(StopCause::Breakpoint));
        let watch = watch.after(PLACE, StopCause::Breakpoint);
        assert_eq!(watch.cause(PLACE, || None), None);
        assert_eq!(watch.cause(Place { pc: 0x2000, retired: 8 }, || None), Some(StopCause::Instructions));
    }

    #[test]
    fn data_stops_where_it_is_accessed_as_watched() {
        let at = |kind| DataWatch::new(0x1004, 4, kind);
        assert_eq!(at(DataKind::Write).overlap(&store(0x1000, 8)), Some(0x1004));
        assert_eq!(at(DataKind::Write).overlap(&store(0x1006, 1)), Some(0x1006));
        assert_eq!(at(DataKind::Any).overlap(&store(0x1008, 1)), None);
        assert_eq!(at(DataKind::Any).overlap(&store(0x1000, 4)), None);
        assert_eq!(at(DataKind::Read).overlap(&store(0x1004, 4)), None);
        assert_eq!(DataWatch::new(2, 1, DataKind::Any).overlap(&store(u64::MAX, 8)), Some(2), "around the end");
        assert_eq!(DataWatch::new(u64::MAX, 8, DataKind::Any).overlap(&store(u64::MAX - 3, 4)), Some(u64::MAX));
    }

    #[test]
    fn data_is_looked_at_behind_a_breakpoint_and_not_twice() {
        let points = StopPoints::new(vec![0x1000], vec![DataWatch::new(0x80, 8, DataKind::Write)]);
        let watch = Watch::new(Arc::new(points));
        let touched = || Some(store(0x80, 8));
        let data = StopCause::Data { address: 0x80, kind: DataKind::Write };
        assert_eq!(watch.clone().after(PLACE, StopCause::Breakpoint).cause(PLACE, touched), Some(data));
        assert_eq!(watch.after(PLACE, data).cause(PLACE, touched), None);
    }
}
