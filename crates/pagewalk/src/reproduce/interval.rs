//! Numbers with error bars: the mean of repeats, and the interval that holds the mean of all of them with 95 % confidence.

use serde_json::{Value, json};

/// The two-sided 95 % quantile of Student's t, by degrees of freedom from 1 on. Source: NIST/SEMATECH e-Handbook of Statistical Methods,
/// section 1.3.6.7.2, column 0.975.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// A number that was measured once or several times.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Estimate {
    /// Of each repeat, in their order. There is at least one.
    values: Vec<f64>,
}

impl Estimate {
    /// What `values` say. `None` if there are none, or one of them is not finite.
    pub(crate) fn of(values: Vec<f64>) -> Option<Self> {
        (!values.is_empty() && values.iter().all(|value| value.is_finite())).then_some(Self { values })
    }

    /// Of each repeat.
    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    /// Their mean.
    pub(crate) fn mean(&self) -> f64 {
        let first = self.values[0];
        // A sum of equal numbers need not be a multiple of one.
        first + self.values.iter().map(|value| value - first).sum::<f64>() / self.values.len() as f64
    }

    /// Half of the 95 % interval, by Student's t; `None` of a single repeat, of which nothing is known.
    pub(crate) fn margin(&self) -> Option<f64> {
        let freedom = self.values.len() - 1;
        // Beyond the table the last of it is a little too wide, and never too narrow.
        let t = STUDENT.get(freedom.checked_sub(1)?.min(STUDENT.len() - 1))?;
        let mean = self.mean();
        let variance = self.values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / freedom as f64;
        Some(t * (variance / self.values.len() as f64).sqrt())
    }

    /// The ends of the interval; those of a single repeat are the number itself.
    pub(crate) fn interval(&self) -> [f64; 2] {
        let (mean, margin) = (self.mean(), self.margin().unwrap_or(0.0));
        [mean - margin, mean + margin]
    }

    /// As reports have it.
    pub(crate) fn json(&self) -> Value {
        json!({
            "mean": self.mean(),
            "interval": self.margin().map(|_| self.interval()),
            "n": self.values.len(),
            "values": self.values,
        })
    }

    /// `1.25 (1.20 to 1.30, n = 5)`, with so many digits.
    pub(crate) fn text(&self, digits: usize) -> String {
        let (mean, [low, high]) = (self.mean(), self.interval());
        let number = |number: f64| text(number, digits);
        match self.values.len() {
            1 => format!("{} (n = 1)", number(mean)),
            n => format!("{} ({} to {}, n = {n})", number(mean), number(low), number(high)),
        }
    }
}

/// A number with so many digits; there is no such number as -0.0.
pub(crate) fn text(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$}");
    if text.trim_start_matches(['-', '0', '.']).is_empty() { text.trim_start_matches('-').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(values: &[f64]) -> Estimate {
        Estimate::of(values.to_vec()).unwrap()
    }

    #[test]
    fn the_interval_is_students() {
        // Mean 3, standard deviation 1.5811, t for 4 degrees 2.776: 2.776 * 1.5811 / sqrt(5) = 1.963.
        let five = estimate(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let [low, high] = five.interval();
        assert!((low - 1.037).abs() < 0.001 && (high - 4.963).abs() < 0.001, "{low} {high}");
        assert_eq!(five.text(1), "3.0 (1.0 to 5.0, n = 5)");
    }

    #[test]
    fn equal_repeats_have_an_interval_without_width_and_one_repeat_has_none() {
        assert_eq!(estimate(&[0.1; 7]).interval(), [0.1, 0.1]);
        assert_eq!(estimate(&[0.1]).margin(), None);
        assert_eq!(estimate(&[-0.001]).text(1), "0.0 (n = 1)");
        assert!(estimate(&[1.0]).json()["interval"].is_null());
    }

    #[test]
    fn more_repeats_than_the_table_has_use_its_last_line() {
        let many: Vec<f64> = (0..100).map(f64::from).collect();
        assert!(estimate(&many).margin().unwrap() > 0.0);
    }

    #[test]
    fn what_is_no_number_is_no_estimate() {
        assert_eq!(Estimate::of(vec![]), None);
        assert_eq!(Estimate::of(vec![1.0, f64::NAN]), None);
    }
}
