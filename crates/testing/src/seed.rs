//! The seed of a randomised test.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds of a day.
const DAY: u64 = 24 * 60 * 60;

/// The seed of a randomised test: the number in the environment variable `variable`, or else the days since 1970 (UTC).
///
/// The seed changes daily, so that the same tests cover more from day to day, and a run of one day can be repeated on that day without
/// knowing the seed. The line that repeats the run is printed; libtest shows it when the test fails.
///
/// # Panics
/// If the variable is set to what is not a number.
#[must_use]
pub fn seed(variable: &str) -> u64 {
    let seed = number(variable, today());
    println!("{variable}={seed} repeats this run");
    seed
}

/// The number in the environment variable `variable`, or else `otherwise`.
///
/// # Panics
/// If the variable is set to what is not a number.
#[must_use]
pub fn number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable}={text} is not a number")),
        Err(_) => otherwise,
    }
}

fn today() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs() / DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fuzz tests had the seed 1 always, and so made the same steps in every run.
    #[test]
    fn the_seed_is_not_the_same_on_every_day() {
        assert!(today() > 20_000, "{} days since 1970", today());
        assert_eq!(seed("PAGEWALK_A_VARIABLE_THAT_IS_NOT_SET"), today());
    }

    #[test]
    fn a_seed_that_is_given_is_taken() {
        // Cargo sets this one for every test: 0, and not the other number.
        assert_eq!(number("CARGO_PKG_VERSION_MAJOR", 1 << 40), 0);
    }
}
