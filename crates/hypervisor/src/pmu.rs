//! The performance monitoring unit of a hart, as the SBI's PMU extension shows it (SBI 3.0, chapter 11).
//!
//! | counters | CSR | what they count |
//! |---|---|---|
//! | 0 | `cycle` | cycles |
//! | 2 | `instret` | instructions |
//! | 3 to 10 | `hpmcounter3` to `hpmcounter10` | any hardware event |
//! | 11 to 26 | | any firmware event |
//!
//! Number 1, which would be `time`, is no counter. All are 64 bits wide, count in every privilege mode, and raise no interrupt.
//!
//! A counter that counts is kept as its distance from what the machine has counted of the event ever since, so that counting costs nothing.
//! Where a hart leaves its pCPU, [`Pmu::leave`] turns distances into values, and [`Pmu::enter`] does the opposite on the next one.

mod events;

pub use events::{COUNTERS, FirmwareEvent, HARDWARE_COUNTERS, PmuEvent, exists, is_firmware};

use crate::sbi::{CounterSet, PmuRequest, SbiError};
use serde::{Deserialize, Serialize};

const CYCLE: u32 = 0;
const INSTRET: u32 = 2;
/// The CSR `cycle`; the others follow it.
const FIRST_CSR: u64 = 0xc00;
/// One less than the bits of a counter, in its information.
const WIDTH: u64 = 63 << 12;
/// In a counter's information: it is one of firmware events.
const FIRMWARE: u64 = 1 << 63;

/// A counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct Counter {
    /// What it counts, if it was told.
    event: Option<PmuEvent>,
    started: bool,
    /// Its value; while it counts on a pCPU, less what the machine has counted of the event. Wraps.
    value: u64,
}

/// The counters of a hart.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pmu {
    /// By number.
    counters: [Counter; COUNTERS],
    /// Firmware events, by [`FirmwareEvent::index`].
    firmware: [u64; FirmwareEvent::ALL.len()],
}

impl Default for Pmu {
    /// `cycle` and `instret` count from 0, and no other counter does.
    fn default() -> Self {
        let mut counters = [Counter::default(); COUNTERS];
        for (number, event) in [(CYCLE, PmuEvent::Cycles), (INSTRET, PmuEvent::Instructions)] {
            counters[number as usize] = Counter { event: Some(event), started: true, value: 0 };
        }
        Self { counters, firmware: [0; FirmwareEvent::ALL.len()] }
    }
}

impl Pmu {
    /// Counts a firmware event.
    pub fn count(&mut self, event: FirmwareEvent) {
        self.firmware[event.index()] += 1;
    }

    /// Serves a request of the hart, which has a pCPU; `hardware` says what the machine has counted there of an event that is not firmware's.
    ///
    /// # Errors
    /// Those that the specification lists for the function. Of a set of counters, those that can be started or stopped are.
    pub fn serve(&mut self, request: PmuRequest, hardware: impl Fn(PmuEvent) -> u64) -> Result<u64, SbiError> {
        match request {
            PmuRequest::Count => Ok(COUNTERS as u64),
            PmuRequest::Info { counter } if is_firmware(counter) => Ok(FIRMWARE),
            PmuRequest::Info { counter } => Ok((FIRST_CSR + u64::from(counter)) | WIDTH),
            PmuRequest::Configure { counters, event, skip_match, clear, start } => {
                let number = self.find(counters, event, skip_match)?;
                self.set_event(number, event, clear, &hardware);
                // With the match skipped, the counter may have been started before.
                if start && !self.counters[number as usize].started {
                    self.start(number, None, &hardware)?;
                }
                Ok(u64::from(number))
            }
            PmuRequest::Start { counters, value } => {
                self.each(counters, |pmu, number| pmu.start(number, value, &hardware))
            }
            PmuRequest::Stop { counters, reset } => {
                self.each(counters, |pmu, number| pmu.stop(number, reset, &hardware))
            }
            PmuRequest::ReadFirmware { counter } => Ok(self.value(counter, &hardware)),
            PmuRequest::ReadFirmwareHigh { .. } => Ok(0),
        }
    }

    /// The value of a counter, of a hart that has a pCPU.
    #[must_use]
    pub fn value(&self, number: u32, hardware: impl Fn(PmuEvent) -> u64) -> u64 {
        let counter = self.counters[number as usize];
        counter.value.wrapping_add(if counter.started { self.counted(counter.event, &hardware) } else { 0 })
    }

    /// The hart leaves its pCPU.
    pub fn leave(&mut self, hardware: impl Fn(PmuEvent) -> u64) {
        self.shift(u64::wrapping_add, hardware);
    }

    /// The hart gets a pCPU.
    pub fn enter(&mut self, hardware: impl Fn(PmuEvent) -> u64) {
        self.shift(u64::wrapping_sub, hardware);
    }

    fn shift(&mut self, to: impl Fn(u64, u64) -> u64, hardware: impl Fn(PmuEvent) -> u64) {
        for number in 0..COUNTERS {
            // Firmware events are counted wherever the hart is.
            if let Counter { event: Some(event), started: true, value } = self.counters[number]
                && !matches!(event, PmuEvent::Firmware(_))
            {
                self.counters[number].value = to(value, hardware(event));
            }
        }
    }

    /// What has been counted of an event ever since.
    fn counted(&self, event: Option<PmuEvent>, hardware: impl Fn(PmuEvent) -> u64) -> u64 {
        match event {
            None => 0,
            Some(PmuEvent::Firmware(event)) => self.firmware[event.index()],
            Some(event) => hardware(event),
        }
    }

    /// The first counter of the set that is not started and can count the event.
    fn find(&self, counters: CounterSet, event: PmuEvent, skip_match: bool) -> Result<u32, SbiError> {
        let fits = |&number: &u32| can_count(number, event);
        if skip_match {
            return counters.iter().next().filter(fits).ok_or(SbiError::InvalidParam);
        }
        let stopped = |&number: &u32| !self.counters[number as usize].started;
        counters.iter().filter(stopped).find(fits).ok_or(SbiError::NotSupported)
    }

    fn set_event(&mut self, number: u32, event: PmuEvent, clear: bool, hardware: impl Fn(PmuEvent) -> u64) {
        let value = if clear { 0 } else { self.value(number, &hardware) };
        let started = self.counters[number as usize].started;
        let counted = if started { self.counted(Some(event), &hardware) } else { 0 };
        self.counters[number as usize] = Counter { event: Some(event), started, value: value.wrapping_sub(counted) };
    }

    fn start(&mut self, number: u32, value: Option<u64>, hardware: impl Fn(PmuEvent) -> u64) -> Result<(), SbiError> {
        let counter = self.counters[number as usize];
        if counter.event.is_none() {
            return Err(SbiError::InvalidParam);
        }
        if counter.started {
            return Err(SbiError::AlreadyStarted);
        }
        let counted = self.counted(counter.event, hardware);
        let value = value.unwrap_or(counter.value).wrapping_sub(counted);
        self.counters[number as usize] = Counter { started: true, value, ..counter };
        Ok(())
    }

    fn stop(&mut self, number: u32, reset: bool, hardware: impl Fn(PmuEvent) -> u64) -> Result<(), SbiError> {
        let counter = self.counters[number as usize];
        let value = self.value(number, hardware);
        // What `cycle` and `instret` count is not for the guest to change.
        let event = counter.event.filter(|_| !reset || matches!(number, CYCLE | INSTRET));
        self.counters[number as usize] = Counter { event, started: false, value };
        if counter.started { Ok(()) } else { Err(SbiError::AlreadyStopped) }
    }

    /// Does something to each counter of a set; the first error is the call's.
    fn each(
        &mut self,
        counters: CounterSet,
        mut step: impl FnMut(&mut Self, u32) -> Result<(), SbiError>,
    ) -> Result<u64, SbiError> {
        let mut first = Ok(0);
        for number in counters.iter() {
            first = first.and(step(self, number).map(|()| 0));
        }
        first
    }
}

/// Whether a counter can count an event.
const fn can_count(number: u32, event: PmuEvent) -> bool {
    match number {
        CYCLE => matches!(event, PmuEvent::Cycles),
        INSTRET => matches!(event, PmuEvent::Instructions),
        _ => is_firmware(number) == matches!(event, PmuEvent::Firmware(_)),
    }
}

#[cfg(test)]
mod tests;
