//! Measurements of one thing, repeated.

/// Measurements, ascending.
#[derive(Default)]
pub(super) struct Sample(Vec<f64>);

impl Sample {
    /// One more.
    pub(super) fn add(&mut self, measured: f64) {
        let place = self.0.partition_point(|&other| other < measured);
        self.0.insert(place, measured);
    }

    /// All of them.
    pub(super) fn all(&self) -> &[f64] {
        &self.0
    }

    /// The one in the middle, of an even number the greater.
    pub(super) fn median(&self) -> f64 {
        self.0[self.0.len() / 2]
    }

    /// The least one.
    pub(super) fn least(&self) -> f64 {
        self.0[0]
    }

    /// The greatest one.
    pub(super) fn most(&self) -> f64 {
        self.0[self.0.len() - 1]
    }
}
