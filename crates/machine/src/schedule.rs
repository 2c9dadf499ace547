//! Which vCPU runs next, and for how long: a discrete-event order over the clocks of the pCPUs.
//!
//! The one whose clock is earliest runs, until its clock is a quantum past the next one's. So no two clocks of running processors are
//! ever further apart than a quantum and a block, and the order depends on simulated time alone. Independent guests
//! (`assembly/independence.rs`) are the exception: only the clocks of one guest are kept together.

use types::Cycles;

/// The turn of one vCPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Turn {
    /// Whose.
    pub(crate) index: usize,
    /// When it begins: the clock, or the time of the event that ends its wait.
    pub(crate) from: Cycles,
    /// The earliest time at which another is ready; `None` if none ever is.
    pub(crate) next: Option<Cycles>,
}

/// When a run is over in any case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeLimit {
    pub(crate) at: Cycles,
    /// The same, as the user gave it.
    pub(crate) seconds: u64,
}

/// The next turn, given when each vCPU is ready; `None` if none ever is. Of several at the same time the first goes.
pub(crate) fn next_turn(ready: impl Iterator<Item = Option<Cycles>>) -> Option<Turn> {
    let mut turn: Option<Turn> = None;
    for (index, from) in ready.enumerate() {
        let Some(from) = from else { continue };
        turn = Some(match turn {
            None => Turn { index, from, next: None },
            Some(first) if from < first.from => Turn { index, from, next: Some(first.from) },
            Some(first) => Turn { next: Some(first.next.map_or(from, |next| next.min(from))), ..first },
        });
    }
    turn
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(ready: &[Option<u64>]) -> Option<(usize, u64, Option<u64>)> {
        next_turn(ready.iter().map(|time| time.map(Cycles)))
            .map(|turn| (turn.index, turn.from.0, turn.next.map(|cycles| cycles.0)))
    }

    #[test]
    fn the_earliest_goes_first_and_knows_the_next() {
        assert_eq!(turn(&[Some(30), None, Some(10), Some(20)]), Some((2, 10, Some(20))));
        assert_eq!(turn(&[Some(10), Some(10)]), Some((0, 10, Some(10))));
        assert_eq!(turn(&[None, Some(7)]), Some((1, 7, None)));
        assert_eq!(turn(&[None, None]), None);
    }
}
