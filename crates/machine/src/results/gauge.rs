//! How far a run is, for another thread of the host.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Turns between two readings: a reading adds up all harts, a turn is as short as a few hundred instructions.
const TURNS: u32 = 64;

/// Where a guest is, as its markers of the region of interest say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Phase {
    /// It has not begun a region of interest.
    #[default]
    Boot,
    /// It is in one that is not measured yet.
    WarmUp,
    /// It is in one that is measured.
    Measure,
    /// It has ended one, and is in none.
    After,
}

impl Phase {
    /// Its name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Boot => "boot",
            Self::WarmUp => "warm-up",
            Self::Measure => "measure",
            Self::After => "end",
        }
    }
}

/// Shows how far a machine is, or several together. It lags behind by some turns.
#[derive(Debug, Default)]
pub struct Gauge {
    instructions: AtomicU64,
    phase: AtomicU8,
}

impl Gauge {
    /// Instructions that all harts have retired together.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.instructions.load(Ordering::Relaxed)
    }

    /// Harts have retired so many more; the first guest of their machine is in this phase.
    fn advance(&self, instructions: u64, phase: Phase) {
        self.instructions.fetch_add(instructions, Ordering::Relaxed);
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    /// Where the first guest is of the machine that was read last.
    #[must_use]
    pub fn phase(&self) -> Phase {
        let phase = self.phase.load(Ordering::Relaxed);
        let all = [Phase::Boot, Phase::WarmUp, Phase::Measure, Phase::After];
        all.into_iter().find(|&one| one as u8 == phase).unwrap_or_default()
    }
}

/// A machine's side of a gauge.
#[derive(Default)]
pub(crate) struct Watched {
    gauge: Option<Arc<Gauge>>,
    /// Turns until the next reading.
    left: u32,
    /// Instructions of the machine that the gauge shows.
    shown: u64,
}

impl Watched {
    /// By the reader of `gauge`.
    pub(crate) const fn by(gauge: Arc<Gauge>) -> Self {
        Self { gauge: Some(gauge), left: 0, shown: 0 }
    }

    /// A turn is over: whether a reading is due.
    pub(crate) const fn turn_is_over(&mut self) -> bool {
        if self.gauge.is_none() {
            return false;
        }
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                false
            }
            None => true,
        }
    }

    /// Whether there is a gauge.
    pub(crate) const fn is_watched(&self) -> bool {
        self.gauge.is_some()
    }

    /// Shows a reading: all harts have retired so many instructions. The next is due in some turns.
    pub(crate) fn show(&mut self, instructions: u64, phase: Phase) {
        self.left = TURNS;
        if let Some(gauge) = &self.gauge {
            gauge.advance(instructions.saturating_sub(self.shown), phase);
            self.shown = instructions;
        }
    }
}
