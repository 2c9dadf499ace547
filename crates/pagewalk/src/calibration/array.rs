//! Sets and ways that a host model can have, for a capacity that was measured within bounds.

use calibrate::Finding;
use calibrate::staircase::Capacity;

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
        assert_eq!(any(294_912.0, 20), Shape { sets: 14746, ways: 20 });
    }
}
