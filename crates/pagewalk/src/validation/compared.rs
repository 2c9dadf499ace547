//! Measured against predicted.

use super::native::Measured;
use super::programs::Point;
use calibrate::Spread;

/// Nanoseconds of an operation in Pagewalk, over the placements of its pages.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Predicted {
    pub(crate) base: Spread,
    pub(crate) huge: Spread,
    pub(crate) split: Spread,
}

/// A point: measured, predicted, and how far they lie apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compared {
    pub(crate) point: Point,
    pub(crate) measured: Measured,
    pub(crate) predicted: Predicted,
}

impl Compared {
    /// How much longer an operation takes with 4K pages than with 2M pages, measured. The ranges of both are in its own.
    pub(crate) fn measured_ratio(&self) -> Spread {
        ratio(&self.measured.base, &self.measured.huge)
    }

    /// The same where both have the frames of huge pages, measured.
    pub(crate) fn split_ratio(&self) -> Spread {
        ratio(&self.measured.split, &self.measured.huge)
    }

    /// The ratio, predicted.
    pub(crate) fn predicted_ratio(&self) -> Spread {
        ratio(&self.predicted.base, &self.predicted.huge)
    }

    /// The ratio with the same frames, predicted.
    pub(crate) fn predicted_split_ratio(&self) -> Spread {
        ratio(&self.predicted.split, &self.predicted.huge)
    }

    /// What is predicted too much of the ratio, as a share of what was measured.
    pub(crate) fn ratio_error(&self) -> f64 {
        self.predicted_ratio().median / self.measured_ratio().median - 1.0
    }

    /// The same of the ratio with the same frames.
    pub(crate) fn split_error(&self) -> f64 {
        self.predicted_split_ratio().median / self.split_ratio().median - 1.0
    }

    /// Predicted time of an operation with 4K pages in units of the measured one.
    pub(crate) fn time_factor(&self) -> f64 {
        self.predicted.base.median / self.measured.base.median
    }
}

/// A ratio of two numbers whose ranges are independent.
fn ratio(above: &Spread, below: &Spread) -> Spread {
    let median = above.median / below.median;
    let half = median * above.relative().hypot(below.relative()) / 2.0;
    Spread { median, low: median - half, high: median + half }
}

/// All points, those with the greatest error of the ratio first.
pub(crate) fn compared(points: &[Point], measured: &[Measured], predicted: &[Predicted]) -> Vec<Compared> {
    let each = points.iter().zip(measured).zip(predicted);
    let mut all: Vec<Compared> =
        each.map(|((&point, &measured), &predicted)| Compared { point, measured, predicted }).collect();
    all.sort_by(|a, b| b.ratio_error().abs().total_cmp(&a.ratio_error().abs()));
    all
}

/// What all points say together.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Summary {
    /// Median and greatest error of the ratio, without signs.
    pub(crate) median_error: f64,
    pub(crate) worst_error: f64,
    /// The same of the ratio with the same frames.
    pub(crate) median_split_error: f64,
    pub(crate) worst_split_error: f64,
    /// Median factor between predicted and measured times, of which the greater is divided by the less.
    pub(crate) median_factor: f64,
}

impl Summary {
    /// Of points, of which there is at least one.
    pub(crate) fn of(compared: &[Compared]) -> Option<Self> {
        let errors: Vec<f64> = compared.iter().map(|one| one.ratio_error().abs()).collect();
        let split_errors: Vec<f64> = compared.iter().map(|one| one.split_error().abs()).collect();
        let factors: Vec<f64> = compared.iter().map(|one| one.time_factor().max(1.0 / one.time_factor())).collect();
        Some(Self {
            median_error: Spread::of_repeats(&errors)?.median,
            worst_error: errors.into_iter().fold(0.0, f64::max),
            median_split_error: Spread::of_repeats(&split_errors)?.median,
            worst_split_error: split_errors.into_iter().fold(0.0, f64::max),
            median_factor: Spread::of_repeats(&factors)?.median,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::{PROGRAMS, points};

    #[test]
    fn the_worst_comes_first() {
        let points = points(&[&PROGRAMS[0]], 3);
        let spread = |median: f64| Spread { median, low: median, high: median };
        let measured =
            [Measured { base: spread(20.0), huge: spread(10.0), split: spread(16.0), last_level: None, times: 1 }; 3];
        let predicted = [(22.0, 10.0, 22.0), (10.0, 10.0, 16.0), (40.0, 20.0, 40.0)]
            .map(|(base, huge, split)| Predicted { base: spread(base), huge: spread(huge), split: spread(split) });
        let all = compared(&points, &measured, &predicted);
        let sizes: Vec<&str> = all.iter().map(|one| one.point.size).collect();
        assert_eq!(sizes, ["64M", "16M", "256M"]);
        assert!((all[0].ratio_error() + 0.5).abs() < 1e-12 && (all[1].ratio_error() - 0.1).abs() < 1e-12);
        let summary = Summary::of(&all).unwrap();
        assert!((summary.median_error - 0.1).abs() < 1e-12 && (summary.worst_error - 0.5).abs() < 1e-12);
        assert!((summary.median_factor - 2.0).abs() < 1e-12, "22/20, 20/10 and 40/20: {summary:?}");
        // 2.2, 1.6 and 2 in place of 1.6.
        assert!((summary.median_split_error - 0.25).abs() < 1e-12 && (summary.worst_split_error - 0.375).abs() < 1e-12);
        assert_eq!(Summary::of(&[]), None);
    }

    #[test]
    fn a_ratio_spreads_as_its_parts_do() {
        let spread = |median: f64, half: f64| Spread { median, low: median - half, high: median + half };
        let one = Compared {
            point: points(&[&PROGRAMS[0]], 1)[0],
            measured: Measured {
                base: spread(20.0, 0.3),
                huge: spread(10.0, 0.2),
                split: spread(15.0, 0.3),
                last_level: None,
                times: 1,
            },
            predicted: Predicted { base: Spread::exact(1.0), huge: Spread::exact(1.0), split: Spread::exact(1.0) },
        };
        let ratio = one.measured_ratio();
        assert!((ratio.median - 2.0).abs() < 1e-12 && (ratio.range() - 0.1).abs() < 1e-12, "{ratio:?}");
        assert!((one.split_ratio().median - 1.5).abs() < 1e-12, "{:?}", one.split_ratio());
    }
}
