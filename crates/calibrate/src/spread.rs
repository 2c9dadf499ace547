//! A number measured several times: its median, and how far its repeats lie apart.

/// Median and quartiles of repeats.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The first quartile.
    pub low: f64,
    /// The third quartile.
    pub high: f64,
}

impl Spread {
    /// Of repeats, of which there is at least one.
    pub(crate) fn of(mut repeats: Vec<f64>) -> Self {
        repeats.sort_by(f64::total_cmp);
        // Between the two repeats that are nearest, by its distance from them.
        let quantile = |share: f64| {
            let place = share * (repeats.len() - 1) as f64;
            let (below, above) = (repeats[place.floor() as usize], repeats[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        Self { median: quantile(0.5), low: quantile(0.25), high: quantile(0.75) }
    }

    /// Of repeats; `None` if there are none.
    #[must_use]
    pub fn of_repeats(repeats: &[f64]) -> Option<Self> {
        (!repeats.is_empty()).then(|| Self::of(repeats.to_vec()))
    }

    /// A number without repeats.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self { median: value, low: value, high: value }
    }

    /// The interquartile range.
    #[must_use]
    pub const fn range(&self) -> f64 {
        self.high - self.low
    }

    /// The interquartile range as a share of the median; infinite for a median of 0 that is not exact.
    #[must_use]
    pub fn relative(&self) -> f64 {
        if self.range() == 0.0 { 0.0 } else { self.range() / self.median.abs() }
    }

    /// The same number in another unit, or per something else.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let [low, high] = if factor < 0.0 { [self.high, self.low] } else { [self.low, self.high] };
        Self { median: self.median * factor, low: low * factor, high: high * factor }
    }

    /// The inverse, of a positive number.
    #[must_use]
    pub fn inverted(&self) -> Self {
        Self { median: 1.0 / self.median, low: 1.0 / self.high, high: 1.0 / self.low }
    }

    /// How many times another positive number it is: between the quotients of their quartiles.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        Self { median: self.median / other.median, low: self.low / other.high, high: self.high / other.low }
    }

    /// The difference from a number that was measured independently: their ranges add up as those of independent errors do.
    #[must_use]
    pub fn less(&self, other: &Self) -> Self {
        let median = self.median - other.median;
        let half = self.range().hypot(other.range()) / 2.0;
        Self { median, low: median - half, high: median + half }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_lie_between_repeats() {
        let spread = Spread::of(vec![4.0, 1.0, 3.0, 2.0]);
        assert_eq!(spread, Spread { median: 2.5, low: 1.75, high: 3.25 });
        assert_eq!((spread.range(), spread.relative()), (1.5, 0.6));
        assert_eq!(Spread::of(vec![7.0]), Spread::exact(7.0));
        assert_eq!(spread.scaled(-2.0), Spread { median: -5.0, low: -6.5, high: -3.5 });
        assert_eq!(Spread::exact(4.0).inverted(), Spread::exact(0.25));
        assert_eq!(
            spread.over(&Spread { median: 2.0, low: 1.0, high: 2.5 }),
            Spread { median: 1.25, low: 0.7, high: 3.25 }
        );
    }

    #[test]
    fn errors_of_a_difference_add_up() {
        let three = Spread { median: 10.0, low: 8.5, high: 11.5 };
        let four = Spread { median: 4.0, low: 2.0, high: 6.0 };
        assert_eq!(three.less(&four), Spread { median: 6.0, low: 3.5, high: 8.5 });
    }
}
