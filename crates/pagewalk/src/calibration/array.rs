//! Sets and ways that a host model can have, for a capacity that was measured within bounds.

use calibrate::Finding;
use calibrate::staircase::Capacity;
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// An array of sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    pub(super) sets: u64,
    pub(super) ways: u64,
}

/// Ways within the bounds that were measured: a power of two if there is one, as most arrays have, and else the least. `otherwise` where none were measured.
pub(super) fn ways(measured: &Finding<Capacity>, otherwise: u64) -> u64 {
    match measured {
        Ok(bounds) => {
            let power = bounds.least.next_power_of_two();
            if bounds.may_be(power) { power } else { bounds.least }
        }
        Err(_) => otherwise,
    }
}

/// A power of two of sets such that the array is nearest to what was measured.
pub(super) fn powers(entries: Capacity, ways: u64) -> Shape {
    let sets = (entries.middle() / ways as f64).log2().round().max(0.0).exp2();
    Shape { sets: sets as u64, ways }
}

/// The same where ways were not measured: with the number of ways from `ways` / √2 to `ways` · √2 that brings the array nearest to its capacity. In
/// this range every capacity has a power of two of sets.
pub(super) fn powers_of_any(entries: Capacity, ways: u64) -> Shape {
    let range = (ways as f64 * FRAC_1_SQRT_2).ceil() as u64..=(ways as f64 * SQRT_2).floor() as u64;
    let difference = |shape: &Shape| ((shape.sets * shape.ways) as f64 - entries.middle()).abs();
    let shapes = range.map(|ways| powers(entries, ways));
    shapes.min_by(|a, b| difference(a).total_cmp(&difference(b))).expect("`ways` is in the range")
}

/// As many sets as come nearest to what was measured, of which there need not be a power of two.
pub(super) fn any(entries: f64, ways: u64) -> Shape {
    Shape { sets: ((entries / ways as f64).round() as u64).max(1), ways }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_those_that_processors_have() {
        let between = |least, below| Capacity { least, below };
        assert_eq!(ways(&Ok(between(13, 18)), 12), 16);
        assert_eq!(ways(&Ok(between(6, 8)), 4), 6);
        assert_eq!(ways(&Ok(between(12, 13)), 8), 12);
        assert_eq!(ways(&Err(String::new()), 8), 8);
        assert_eq!(powers(between(91, 108), 6), Shape { sets: 16, ways: 6 });
        assert_eq!(powers(between(1494, 2233), 16), Shape { sets: 128, ways: 16 });
        assert_eq!(powers(between(16, 17), 32), Shape { sets: 1, ways: 32 });
        assert_eq!(powers(between(2233, 2434), 12), Shape { sets: 256, ways: 12 });
        assert_eq!(powers_of_any(between(2233, 2434), 12), Shape { sets: 256, ways: 9 });
        assert_eq!(powers_of_any(between(64, 65), 4), Shape { sets: 16, ways: 4 });
        assert_eq!(powers_of_any(between(7, 8), 1), Shape { sets: 8, ways: 1 });
        assert_eq!(any(294_912.0, 20), Shape { sets: 14746, ways: 20 });
    }
}
