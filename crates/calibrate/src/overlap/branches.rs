//! Misses at the same time beyond branches that wait for them.
//!
//! Where branches are predicted, the misses behind them overlap. Half of the branches by random bits are mispredicted. A processor that made no load behind
//! such a branch before it is resolved would take a latency for each of them. One that goes on behind it makes the next loads on the wrong path, where these branches lead
//! to the same loads.

use crate::findings::Finding;
use crate::random::Random;
use crate::raw::{Branches, Mapping};
use crate::spread::Spread;
use crate::timing::{Effort, step};
use crate::visits::Lines;

/// Nanoseconds of a load from memory that a branch waits for. No load waits for another.
#[derive(Clone, PartialEq, Debug)]
pub struct BehindBranches {
    /// Where all branches go the same way.
    pub predicted: Spread,
    /// Where they go by random bits.
    pub random: Spread,
}

impl BehindBranches {
    /// The most that a load with a random branch may take, as a share of the latency, where loads behind a misprediction begin before the branch is resolved. If they
    /// do not, it is a half at the least, for half of the branches are mispredicted.
    const BEGIN: f64 = 0.25;

    /// Whether loads behind a mispredicted branch begin before it is resolved, by the latency of one load.
    #[must_use]
    pub fn begin_on_the_wrong_path(&self, latency: f64) -> bool {
        self.random.median <= Self::BEGIN * latency
    }
}

/// Measures both.
pub(crate) fn measure(effort: Effort, buffer: &mut Mapping, lines: Lines) -> Finding<BehindBranches> {
    let mut time = |ways: Ways| {
        let mut random = Random::new(lines.size);
        let mut branches = Branches::new(buffer, lines.line, || ways == Ways::Random && random.below(2) == 1);
        branches.visit(1).ok_or("branches of this processor are not known to this program")?;
        Ok::<Spread, String>(step(effort, 0, |loads| {
            let _ = branches.visit(loads);
        }))
    };
    Ok(BehindBranches { predicted: time(Ways::Same)?, random: time(Ways::Random)? })
}

/// The ways of the branches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ways {
    Same,
    Random,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{Pages, memory};

    #[test]
    fn half_a_latency_a_load_is_no_wrong_path() {
        let of = |random| BehindBranches { predicted: Spread::exact(10.0), random: Spread::exact(random) };
        assert!(of(12.0).begin_on_the_wrong_path(100.0) && !of(50.0).begin_on_the_wrong_path(100.0));
    }

    #[test]
    fn branches_are_measured() {
        let mut buffer = memory(1 << 20, Pages::Base).unwrap();
        let found = measure(Effort::QUICK, &mut buffer, Lines { size: 1 << 20, line: 64 }).unwrap();
        assert!(found.predicted.median > 0.0 && found.random.median > 0.0, "{found:?}");
    }
}
