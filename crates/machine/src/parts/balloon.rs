//! The hypervisor's policy for memory balloons: what the guests are asked for, and when. A guest answers in its own time; what it gives up
//! comes to [`MachineState::with_dma`](crate::state::MachineState::with_dma) with the stores of its driver.

use config::BalloonKeys;
use config::clock::Clock;
use types::{Cycles, PageSize};

/// What is asked for, of every guest that has a balloon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Balloon {
    /// Pages of 4 KiB.
    pages: u32,
    at: Cycles,
    until: Option<Cycles>,
    /// Whether it is not asked for before frames have run short.
    pressure: bool,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Nothing was asked for.
    Before,
    /// The pages are asked for.
    Asked,
    /// They no longer are.
    After,
}

impl Balloon {
    /// As the configuration says, if it asks for anything.
    pub(crate) fn new(keys: &BalloonKeys, clock: &Clock) -> Option<Self> {
        let pages = keys.target?.0 / PageSize::Size4K.bytes();
        Some(Self {
            // 16 TiB is more than any guest has.
            pages: u32::try_from(pages).unwrap_or(u32::MAX),
            at: clock.seconds(keys.at),
            until: (keys.until > 0).then(|| clock.seconds(keys.until)),
            pressure: keys.pressure,
            state: State::Before,
        })
    }

    /// When something else is to be asked for, if ever; `short` says whether frames have run short.
    pub(crate) fn due(&self, short: bool) -> Option<Cycles> {
        match self.state {
            State::Before if self.pressure && !short => self.until,
            State::Before => Some(self.at),
            State::Asked => self.until,
            State::After => None,
        }
    }

    /// What is asked for from `now` on.
    pub(crate) fn change(&mut self, now: Cycles) -> u32 {
        let over = self.until.is_some_and(|until| now >= until);
        self.state = if over { State::After } else { State::Asked };
        if over { 0 } else { self.pages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::units::ByteSize;

    fn balloon(at: u64, until: u64, pressure: bool) -> Balloon {
        let clock = Clock { hz: 100, millicycles_per_instruction: 1000 };
        let keys = BalloonKeys { target: Some(ByteSize(8 << 20)), at, until, pressure };
        Balloon::new(&keys, &clock).unwrap()
    }

    #[test]
    fn a_balloon_is_asked_for_and_given_back_in_time() {
        let mut balloon = balloon(2, 5, false);
        assert_eq!(balloon.due(false), Some(Cycles(200)));
        assert_eq!(balloon.change(Cycles(200)), 2048);
        assert_eq!(balloon.due(true), Some(Cycles(500)));
        assert_eq!((balloon.change(Cycles(500)), balloon.due(true)), (0, None));
    }

    #[test]
    fn one_under_pressure_waits_for_it() {
        let mut free = balloon(0, 0, true);
        assert_eq!((free.due(false), free.due(true)), (None, Some(Cycles(0))));
        assert_eq!((free.change(Cycles(0)), free.due(true)), (2048, None));
        let mut late = balloon(0, 3, true);
        assert_eq!((late.due(false), late.change(Cycles(300)), late.due(true)), (Some(Cycles(300)), 0, None));
    }

    #[test]
    fn nothing_is_asked_for_by_default() {
        let clock = Clock { hz: 100, millicycles_per_instruction: 1000 };
        assert_eq!(Balloon::new(&BalloonKeys::default(), &clock), None);
    }
}
