//! How far the machine is, shown on a gauge.

use super::Machine;
use crate::results::gauge::{Gauge, Watched};
use std::sync::Arc;

impl Machine {
    /// Shows on `gauge` from now on how far the machine is.
    pub fn show_on(&mut self, gauge: Arc<Gauge>) {
        self.watched = Watched::by(gauge);
    }

    /// A turn is over.
    pub(crate) fn show_turn(&mut self) {
        if self.watched.turn_is_over() {
            self.show();
        }
    }

    /// Brings the gauge up to date.
    pub(crate) fn show(&mut self) {
        if self.watched.is_watched() {
            let retired = self.vcpus.iter().map(|vcpu| vcpu.hart.counts().instructions).sum();
            self.watched.show(retired, self.records[0].region.phase());
        }
    }
}
