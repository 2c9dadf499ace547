//! Why a run has ended.

use pagewalk::interactive;
use pyo3::prelude::*;

/// Why `Machine.run` has returned.
///
/// `reason` is "instructions", "breakpoint", "data", "step", "idle" (the guest waits for input) or "ended".
#[pyclass(frozen, eq, get_all, module = "pagewalk")]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Stop {
    /// Why, in one word.
    reason: &'static str,
    /// The hart that has stopped; None where none has.
    hart: Option<usize>,
    /// The first watched address that the next instruction accesses; None of another reason than "data".
    address: Option<u64>,
    /// How the guest has ended, in words; None of another reason than "ended".
    outcome: Option<String>,
    /// The status with which its work has ended; None of another reason than "ended".
    status: Option<u8>,
}

impl Stop {
    /// The stop of a run. Where a caller's signal has ended the run, an exception takes its place.
    pub(crate) fn new(stop: &interactive::Stop) -> Self {
        let of = |reason| Self { reason, hart: None, address: None, outcome: None, status: None };
        match stop {
            interactive::Stop::Hart { hart, cause } => {
                let (reason, address) = match *cause {
                    interactive::StopCause::Step => ("step", None),
                    interactive::StopCause::Breakpoint => ("breakpoint", None),
                    interactive::StopCause::Instructions => ("instructions", None),
                    interactive::StopCause::Data { address, .. } => ("data", Some(address)),
                };
                Self { hart: Some(*hart), address, ..of(reason) }
            }
            interactive::Stop::Idle => of("idle"),
            interactive::Stop::Requested => of("instructions"),
            interactive::Stop::Ended(outcome) => {
                Self { outcome: Some(outcome.to_string()), status: Some(outcome.status()), ..of("ended") }
            }
        }
    }
}

#[pymethods]
impl Stop {
    fn __repr__(&self) -> String {
        let mut text = format!("Stop({:?}", self.reason);
        if let Some(hart) = self.hart {
            text += &format!(", hart={hart}");
        }
        if let Some(address) = self.address {
            text += &format!(", address={address:#x}");
        }
        if let Some(outcome) = &self.outcome {
            text += &format!(", outcome={outcome:?}");
        }
        text + ")"
    }
}
