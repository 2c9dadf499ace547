//! Scales: where a value is between two ends, and which values get ticks.

/// A scale on which equal differences are equally long.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Linear {
    pub(super) from: f64,
    pub(super) to: f64,
}

/// Ticks, and how far they are from one to the next.
pub(super) struct Ticks {
    pub(super) at: Vec<f64>,
    pub(super) step: f64,
}

impl Linear {
    /// A scale over these values, which need not be in order. If all are equal, it is one long.
    pub(super) fn over(one: f64, other: f64) -> Self {
        let (from, to) = (one.min(other), one.max(other));
        if from < to { Self { from, to } } else { Self { from, to: from + 1.0 } }
    }

    /// A scale over these values, with a part of it free at both ends.
    pub(super) fn padded(first: f64, last: f64) -> Self {
        const PADDING: f64 = 0.03;
        let padding = if first < last { PADDING * (last - first) } else { 1.0 };
        Self { from: first - padding, to: last + padding }
    }

    /// Longer, so that both ends are ticks.
    pub(super) fn nice(self, count: usize) -> Self {
        let step = self.step(count);
        Self { from: (self.from / step + 1e-9).floor() * step, to: (self.to / step - 1e-9).ceil() * step }
    }

    /// Where the value is: 0 at one end, 1 at the other, and no value is beyond them.
    pub(super) fn at(self, value: f64) -> f64 {
        let fraction = (value - self.from) / (self.to - self.from);
        if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// About so many ticks at round numbers.
    pub(super) fn ticks(self, count: usize) -> Ticks {
        let step = self.step(count);
        let (first, last) = ((self.from / step - 1e-9).ceil(), (self.to / step + 1e-9).floor());
        let number = if (last - first).is_finite() { (last - first).clamp(0.0, 100.0) as usize } else { 0 };
        Ticks { at: (0..=number).map(|index| (first + index as f64) * step).collect(), step }
    }

    /// 1, 2 or 5 times a power of ten.
    fn step(self, count: usize) -> f64 {
        let rough = (self.to - self.from) / count.max(1) as f64;
        let power = 10_f64.powf(rough.log10().floor());
        let times = [1.0, 2.0, 5.0].into_iter().find(|times| rough <= times * power * (1.0 + 1e-9)).unwrap_or(10.0);
        times * power
    }
}

/// Powers of two from one value to another, both of which are above zero: every one, or every so many, so that they are not more than `most`.
pub(super) fn doublings(from: f64, to: f64, most: usize) -> Vec<f64> {
    let (first, last) = ((from.log2() - 1e-9).ceil() as i32, (to.log2() + 1e-9).floor() as i32);
    let number = usize::try_from(last - first + 1).unwrap_or(0);
    let every = number.div_ceil(most.max(1)).max(1);
    (first..=last).step_by(every).map(|power| 2_f64.powi(power)).collect()
}

/// Where bars end that would make all others too small to distinguish: at the greatest value, unless a few are more than three times as long
/// as the next one; those are cut, and say so.
pub(crate) fn cut(values: impl Iterator<Item = f64>) -> f64 {
    const MUCH: f64 = 3.0;
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(|a, b| b.total_cmp(a));
    let few = values.len() / 8;
    let longer = (0..few).rev().find(|&index| values[index] > MUCH * values[index + 1] && values[index + 1] > 0.0);
    values.get(longer.map_or(0, |index| index + 1)).copied().unwrap_or(0.0).max(1e-9)
}

/// The end of a scale that panels share, given the greatest value of each. `None` if on such a scale the marks of a panel would be too small
/// to see: then each panel has its own.
pub(crate) fn shared(greatest: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    const TOO_SMALL: f64 = 8.0;
    let most = greatest.clone().fold(0.0, f64::max);
    let least = greatest.filter(|&value| value > 0.0).fold(f64::INFINITY, f64::min);
    (most > 0.0 && most <= TOO_SMALL * least).then_some(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_few_bars_that_are_far_longer_are_cut() {
        let cut = |values: &[f64]| cut(values.iter().copied());
        assert_eq!(cut(&[17.0, 2.7, 1.2, 1.2, 1.0, 0.2, 0.1, 0.0]), 2.7);
        assert_eq!(cut(&[7.0, 2.7, 1.2, 1.2, 1.0, 0.2, 0.1, 0.0]), 7.0, "not three times as long");
        assert_eq!(cut(&[17.0, 2.7]), 17.0, "one of two is not a few");
        assert_eq!(cut(&[]), 1e-9);
    }

    #[test]
    fn panels_share_a_scale_unless_it_hides_one_of_them() {
        assert_eq!(shared([3.0, 10.0, 0.0].into_iter()), Some(10.0));
        assert_eq!(shared([1.0, 10.0].into_iter()), None);
        assert_eq!(shared(std::iter::empty()), None);
    }

    #[test]
    fn ticks_are_at_round_numbers_inside_the_scale() {
        let scale = Linear { from: 0.0, to: 1.7e6 };
        let Ticks { at, step } = scale.ticks(4);
        assert_eq!((at, step), (vec![0.0, 5e5, 1e6, 1.5e6], 5e5));
        assert_eq!(scale.nice(4), Linear { from: 0.0, to: 2e6 });
        assert_eq!(Linear { from: 0.0, to: 2e6 }.nice(4), Linear { from: 0.0, to: 2e6 }, "what is nice stays");
        assert_eq!(Linear { from: -3.0, to: 7.0 }.ticks(5).at, [-2.0, 0.0, 2.0, 4.0, 6.0]);
        assert!(Linear::over(5.0, 5.0).ticks(4).at.len() > 1);
    }

    #[test]
    fn doublings_are_powers_of_two() {
        assert_eq!(doublings(4.0, 64.0, 8), [4.0, 8.0, 16.0, 32.0, 64.0]);
        assert_eq!(doublings(5.0, 70.0, 2), [8.0, 32.0]);
    }
}
