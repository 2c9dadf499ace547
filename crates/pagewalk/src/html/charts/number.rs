//! Numbers on axes: with SI suffixes, and as many digits as the distance of ticks requires.

/// What the numbers of an axis are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Numbers {
    Plain,
    /// Ratios, written as percentages.
    Ratios,
}

const PREFIXES: [(f64, &str); 8] =
    [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")];

/// The labels of ticks that are so far from one to the next. All have the same suffix, that of the greatest.
pub(super) fn labels(ticks: &[f64], step: f64, numbers: Numbers) -> Vec<String> {
    let greatest = ticks.iter().fold(0.0, |most: f64, tick| most.max(tick.abs()));
    let (unit, suffix) = match numbers {
        Numbers::Ratios => (0.01, "%"),
        // Fractions that are not tiny read better without a suffix.
        Numbers::Plain if (0.001..1000.0).contains(&greatest) => (1.0, ""),
        Numbers::Plain => prefix(greatest),
    };
    let digits = (-(step / unit).log10() - 1e-9).ceil().clamp(0.0, 9.0) as usize;
    let label = |tick: &f64| {
        if *tick == 0.0 {
            return "0".to_owned();
        }
        let number = format!("{:.digits$}", tick / unit).replace('-', "−");
        if suffix.is_empty() { number } else { format!("{number} {suffix}") }
    };
    ticks.iter().map(label).collect()
}

/// A number with three significant digits and an SI suffix: `1.53 G`.
pub(crate) fn short(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let (unit, suffix) = if (0.01..1000.0).contains(&value.abs()) { (1.0, "") } else { prefix(value.abs()) };
    let scaled = value / unit;
    let digits = (2.0 - scaled.abs().log10().floor()).clamp(0.0, 4.0) as usize;
    let number = format!("{scaled:.digits$}");
    let number = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { &number };
    let number = number.replace('-', "−");
    if suffix.is_empty() { number } else { format!("{number} {suffix}") }
}

/// A whole number with a binary suffix, if it is a multiple of one: `64 Ki`.
pub(super) fn binary(value: f64) -> String {
    const SUFFIXES: [(f64, &str); 4] =
        [((1_u64 << 40) as f64, "Ti"), ((1_u64 << 30) as f64, "Gi"), ((1_u64 << 20) as f64, "Mi"), (1024.0, "Ki")];
    match SUFFIXES.iter().find(|(unit, _)| value >= *unit && value % unit == 0.0) {
        Some((unit, suffix)) => format!("{} {suffix}", value / unit),
        None => value.to_string(),
    }
}

fn prefix(value: f64) -> (f64, &'static str) {
    // Rounding to three digits may reach the next prefix.
    let found = PREFIXES.iter().find(|(unit, _)| value >= 0.9995 * unit);
    *found.unwrap_or(&PREFIXES[PREFIXES.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_have_one_suffix_and_the_digits_that_they_need() {
        let of = |ticks: &[f64], numbers| labels(ticks, ticks[1] - ticks[0], numbers);
        assert_eq!(of(&[0.0, 5e5, 1e6, 1.5e6], Numbers::Plain), ["0", "0.5 M", "1.0 M", "1.5 M"]);
        assert_eq!(of(&[0.0, 200.0, 400.0], Numbers::Plain), ["0", "200", "400"]);
        assert_eq!(of(&[0.0, 0.2, 0.4], Numbers::Plain), ["0", "0.2", "0.4"]);
        assert_eq!(of(&[-0.1, 0.0, 0.1], Numbers::Ratios), ["−10 %", "0", "10 %"]);
        assert_eq!(of(&[0.0, 0.005], Numbers::Ratios), ["0", "0.5 %"]);
        assert_eq!(of(&[0.0, 2e-6, 4e-6], Numbers::Plain), ["0", "2 µ", "4 µ"]);
    }

    #[test]
    fn short_numbers_have_three_digits() {
        let cases = [
            (1.534e9, "1.53 G"),
            (999.6, "1000"),
            (999_600.0, "1 M"),
            (0.25, "0.25"),
            (-12.0, "−12"),
            (0.0, "0"),
            (200.0, "200"),
        ];
        for (value, text) in cases {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn powers_of_two_have_binary_suffixes() {
        assert_eq!(
            [512.0, 1024.0, 65536.0, 1536.0, 33_554_432.0].map(binary),
            ["512", "1 Ki", "64 Ki", "1536", "32 Mi"]
        );
    }
}
