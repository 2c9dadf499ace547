//! PMU, EID 0x504D55: performance monitoring unit (SBI 3.0, chapter 11). What counters there are, and what they count, is
//! [`crate::pmu`]'s to say.
//!
//! Absent: the optional functions 7 and 8 (snapshots in shared memory, event information).

use super::call::SbiCall;
use super::error::SbiError;
use crate::pmu::{COUNTERS, PmuEvent};

/// Counters, by number: all of them exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CounterSet {
    base: u32,
    mask: u64,
}

impl CounterSet {
    /// The counters `base` + n for each bit n of `mask`.
    ///
    /// # Errors
    /// [`SbiError::InvalidParam`] if one of them does not exist.
    fn new(base: u64, mask: u64) -> Result<Self, SbiError> {
        let base = u32::try_from(base).map_err(|_| SbiError::InvalidParam)?;
        let set = Self { base, mask };
        if base as usize > COUNTERS || !set.iter().all(crate::pmu::exists) {
            return Err(SbiError::InvalidParam);
        }
        Ok(set)
    }

    /// Their numbers, ascending.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        (0..64).filter(move |bit| self.mask >> bit & 1 != 0).map(move |bit| self.base.saturating_add(bit))
    }
}

/// What is to happen to counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PmuRequest {
    /// How many counters there are, gaps in their numbers included.
    Count,
    /// What kind of counter that is.
    Info {
        /// Its number.
        counter: u32,
    },
    /// Have one of the counters count an event; its number comes back.
    Configure {
        /// Which may do it.
        counters: CounterSet,
        /// What it is to count.
        event: PmuEvent,
        /// The first of the set, whether it fits or not.
        skip_match: bool,
        /// It begins at 0.
        clear: bool,
        /// It is started.
        start: bool,
    },
    /// Start counters.
    Start {
        /// Which.
        counters: CounterSet,
        /// What they begin at; where they stand, if nothing is given.
        value: Option<u64>,
    },
    /// Stop counters.
    Stop {
        /// Which.
        counters: CounterSet,
        /// They count no event from then on.
        reset: bool,
    },
    /// The value of a firmware counter.
    ReadFirmware {
        /// Its number.
        counter: u32,
    },
    /// What of that value does not fit into 64 bits, which is nothing.
    ReadFirmwareHigh {
        /// Its number.
        counter: u32,
    },
}

/// Flags of "find and configure a matching counter". Those above ask for modes not to be counted, which an implementation may ignore.
mod configure {
    pub(super) const SKIP_MATCH: u64 = 1;
    pub(super) const CLEAR_VALUE: u64 = 1 << 1;
    pub(super) const AUTO_START: u64 = 1 << 2;
    pub(super) const DEFINED: u64 = 0xff;
}

/// Flags of "start a set of counters".
mod start {
    pub(super) const SET_VALUE: u64 = 1;
    pub(super) const FROM_SNAPSHOT: u64 = 1 << 1;
    pub(super) const DEFINED: u64 = 3;
}

/// Flags of "stop a set of counters".
mod stop {
    pub(super) const RESET: u64 = 1;
    pub(super) const TAKE_SNAPSHOT: u64 = 1 << 1;
    pub(super) const DEFINED: u64 = 3;
}

pub(super) fn decode(call: &SbiCall) -> Result<PmuRequest, SbiError> {
    let [first, second, flags, fourth, data, _] = call.args;
    let counter = || {
        let number = u32::try_from(first).ok().filter(|&number| crate::pmu::exists(number));
        number.ok_or(SbiError::InvalidParam)
    };
    let firmware = || counter().and_then(|n| crate::pmu::is_firmware(n).then_some(n).ok_or(SbiError::InvalidParam));
    let allowed = |defined: u64| if flags & !defined == 0 { Ok(()) } else { Err(SbiError::InvalidParam) };
    match call.fid {
        0 => Ok(PmuRequest::Count),
        1 => Ok(PmuRequest::Info { counter: counter()? }),
        2 => {
            let counters = CounterSet::new(first, second)?;
            allowed(configure::DEFINED)?;
            Ok(PmuRequest::Configure {
                counters,
                event: PmuEvent::of(fourth, data).ok_or(SbiError::NotSupported)?,
                skip_match: flags & configure::SKIP_MATCH != 0,
                clear: flags & configure::CLEAR_VALUE != 0,
                start: flags & configure::AUTO_START != 0,
            })
        }
        3 => {
            let counters = CounterSet::new(first, second)?;
            allowed(start::DEFINED)?;
            // There is no shared memory to begin from, as the function that would set it is absent.
            if flags & start::FROM_SNAPSHOT != 0 {
                return Err(SbiError::NoSharedMemory);
            }
            Ok(PmuRequest::Start { counters, value: (flags & start::SET_VALUE != 0).then_some(fourth) })
        }
        4 => {
            let counters = CounterSet::new(first, second)?;
            allowed(stop::DEFINED)?;
            if flags & stop::TAKE_SNAPSHOT != 0 {
                return Err(SbiError::NoSharedMemory);
            }
            Ok(PmuRequest::Stop { counters, reset: flags & stop::RESET != 0 })
        }
        5 => Ok(PmuRequest::ReadFirmware { counter: firmware()? }),
        6 => Ok(PmuRequest::ReadFirmwareHigh { counter: firmware()? }),
        _ => Err(SbiError::NotSupported),
    }
}
