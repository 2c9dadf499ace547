//! The life of a hart under the Hart State Management extension (SBI 3.0, chapter 9).
//!
//! ```text
//!  Stopped ──start──► StartPending ──enter──► Started ──stop──► Stopped
//!                                               │  ▲
//!                                        suspend│  │wake (retentive)
//!                                               ▼  │
//!                                           Suspended ──wake (not retentive)──► ResumePending ──enter──► Started
//! ```
//! A hart of ours stops and suspends at once, so the states STOP_PENDING and SUSPEND_PENDING are never seen.

use crate::sbi::SbiError;
use types::Gpa;

/// Where a hart begins, in S-mode with translation and interrupts off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// `pc`.
    pub pc: Gpa,
    /// `a1`; `a0` is the hart's ID.
    pub opaque: u64,
}

/// How a hart sleeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Suspend {
    /// It goes on after the call, with all its state.
    Retentive,
    /// It starts again.
    NonRetentive(Entry),
}

/// What a hart is doing, as its guest sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HartState {
    /// Not running.
    Stopped,
    /// Told to start, and not yet running.
    StartPending(Entry),
    /// Running, or waiting in `wfi`.
    Started,
    /// Sleeping until an interrupt is pending.
    Suspended(Suspend),
    /// Woken, and not yet running.
    ResumePending(Entry),
}

impl HartState {
    /// `sbi_hart_start`.
    ///
    /// # Errors
    /// [`SbiError::AlreadyAvailable`] unless stopped; the state is unchanged.
    pub const fn start(&mut self, entry: Entry) -> Result<(), SbiError> {
        match self {
            Self::Stopped => {
                *self = Self::StartPending(entry);
                Ok(())
            }
            Self::StartPending(_) | Self::Started | Self::Suspended(_) | Self::ResumePending(_) => {
                Err(SbiError::AlreadyAvailable)
            }
        }
    }

    /// `sbi_hart_stop`, called by the hart itself.
    ///
    /// # Errors
    /// [`SbiError::Failed`] unless started: a hart that does not run calls nothing.
    pub const fn stop(&mut self) -> Result<(), SbiError> {
        self.leave(Self::Stopped)
    }

    /// `sbi_hart_suspend`, called by the hart itself.
    ///
    /// # Errors
    /// [`SbiError::Failed`] unless started.
    pub const fn suspend(&mut self, how: Suspend) -> Result<(), SbiError> {
        self.leave(Self::Suspended(how))
    }

    const fn leave(&mut self, next: Self) -> Result<(), SbiError> {
        match self {
            Self::Started => {
                *self = next;
                Ok(())
            }
            Self::Stopped | Self::StartPending(_) | Self::Suspended(_) | Self::ResumePending(_) => {
                Err(SbiError::Failed)
            }
        }
    }

    /// An interrupt is pending and enabled at the hart: one that sleeps wakes. Nothing happens to any other.
    pub const fn wake(&mut self) {
        *self = match *self {
            Self::Suspended(Suspend::Retentive) => Self::Started,
            Self::Suspended(Suspend::NonRetentive(entry)) => Self::ResumePending(entry),
            other => other,
        };
    }

    /// A processor is there for the hart: one that is pending is started, and the caller sets it up to begin at the entry.
    pub const fn enter(&mut self) -> Option<Entry> {
        match *self {
            Self::StartPending(entry) | Self::ResumePending(entry) => {
                *self = Self::Started;
                Some(entry)
            }
            Self::Stopped | Self::Started | Self::Suspended(_) => None,
        }
    }

    /// The answer to `sbi_hart_get_status` (table 5).
    #[must_use]
    pub const fn status(&self) -> u64 {
        match self {
            Self::Started => 0,
            Self::Stopped => 1,
            Self::StartPending(_) => 2,
            Self::Suspended(_) => 4,
            Self::ResumePending(_) => 6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: Entry = Entry { pc: Gpa(0x8020_0000), opaque: 7 };
    const ALL: [HartState; 6] = [
        HartState::Stopped,
        HartState::StartPending(ENTRY),
        HartState::Started,
        HartState::Suspended(Suspend::Retentive),
        HartState::Suspended(Suspend::NonRetentive(ENTRY)),
        HartState::ResumePending(ENTRY),
    ];

    /// Applies `step` to every state: the states that it leads to, and where it is refused.
    fn after<T>(step: impl Fn(&mut HartState) -> T) -> [(HartState, T); 6] {
        ALL.map(|mut state| {
            let result = step(&mut state);
            (state, result)
        })
    }

    #[test]
    fn only_a_stopped_hart_starts() {
        let available = Err(SbiError::AlreadyAvailable);
        let expected = [Ok(()), available, available, available, available, available];
        for ((before, (state, result)), expected) in ALL.into_iter().zip(after(|hart| hart.start(ENTRY))).zip(expected)
        {
            assert_eq!(result, expected);
            assert_eq!(state, if result.is_ok() { HartState::StartPending(ENTRY) } else { before });
        }
    }

    #[test]
    fn only_a_started_hart_stops_or_sleeps() {
        let sleep = HartState::Suspended(Suspend::Retentive);
        for ((before, stopped), suspended) in
            ALL.into_iter().zip(after(HartState::stop)).zip(after(|hart| hart.suspend(Suspend::Retentive)))
        {
            if before == HartState::Started {
                assert_eq!((stopped, suspended), ((HartState::Stopped, Ok(())), (sleep, Ok(()))));
            } else {
                let refused = (before, Err(SbiError::Failed));
                assert_eq!((stopped, suspended), (refused, refused));
            }
        }
    }

    #[test]
    fn waking_concerns_sleepers_only() {
        let woken = after(HartState::wake).map(|(state, ())| state);
        assert_eq!(woken[3..], [HartState::Started, HartState::ResumePending(ENTRY), HartState::ResumePending(ENTRY)]);
        assert_eq!(woken[..3], ALL[..3]);
    }

    #[test]
    fn entering_starts_what_is_pending() {
        let entered = after(HartState::enter);
        for index in [1, 5] {
            assert_eq!(entered[index], (HartState::Started, Some(ENTRY)));
        }
        for index in [0, 2, 3, 4] {
            assert_eq!(entered[index], (ALL[index], None));
        }
    }

    #[test]
    fn statuses_are_those_of_the_specification() {
        assert_eq!(ALL.map(|state| state.status()), [1, 2, 0, 4, 4, 6]);
    }
}
