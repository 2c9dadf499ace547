//! The region of interest, as a machine measures it: which counts are measured.

use crate::counts::Counts;

/// Where the guest is.
#[derive(Clone, Debug)]
enum State {
    Outside,
    /// It is measured once so many instructions have retired.
    Warming(u64),
    /// What was counted when it began.
    Measured(Vec<Counts>),
}

/// Regions that a guest marks, added up.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    warmup: u64,
    state: State,
    measured: Option<Vec<Counts>>,
}

impl Region {
    /// Regions that are measured after so many instructions.
    pub(crate) const fn new(warmup: u64) -> Self {
        Self { warmup, state: State::Outside, measured: None }
    }

    /// Whether what is counted now is measured.
    pub(crate) const fn is_measured(&self) -> bool {
        matches!(self.state, State::Measured(_))
    }

    /// Whether measurement begins once `instructions` have retired.
    pub(crate) const fn is_due(&self, instructions: u64) -> bool {
        matches!(self.state, State::Warming(until) if until <= instructions)
    }

    /// The guest marks the beginning; whether it is measured at once.
    pub(crate) fn mark(&mut self, instructions: u64) -> bool {
        if self.warmup > 0 {
            self.state = State::Warming(instructions.saturating_add(self.warmup));
        }
        self.warmup == 0
    }

    /// Measurement begins.
    pub(crate) fn begin(&mut self, now: Vec<Counts>) {
        self.state = State::Measured(now);
    }

    /// The guest marks the end.
    pub(crate) fn end(&mut self, now: &[Counts]) {
        let State::Measured(begun) = core::mem::replace(&mut self.state, State::Outside) else { return };
        let measured = now.iter().zip(&begun).map(|(now, begun)| now.since(begun));
        match &mut self.measured {
            Some(sums) => sums.iter_mut().zip(measured).for_each(|(sum, counts)| sum.add(&counts)),
            none => *none = Some(measured.collect()),
        }
    }

    /// What was measured; `None` if no region ended.
    pub(crate) fn measured(self) -> Option<Vec<Counts>> {
        self.measured
    }
}
