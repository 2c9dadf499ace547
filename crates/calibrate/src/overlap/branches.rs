//! Misses at the same time beyond branches that wait for them.
//!
//! Where branches are predicted, the misses behind them overlap. Half of the branches by random bits are mispredicted. A processor that made no load behind
//! such a branch before it is resolved would take a latency for each of them. One that goes on behind it makes the next loads on the wrong path, where these branches lead
//! to the same loads.

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

    /// When loads behind a mispredicted branch begin, by the nanoseconds of one load.
    ///
    /// # Errors
    /// Why the two times do not say.
    pub fn behind_a_misprediction(&self, latency: f64) -> Result<Begins, String> {
        let most = Self::BEGIN * latency;
        if self.predicted.median > most {
            return Err("loads with predicted branches overlap less than four times".to_owned());
        }
        if !self.shows_mispredictions() {
            return Err("branches by random bits take no more time than predicted ones".to_owned());
        }
        Ok(if self.random.median <= most { Begins::OnTheWrongPath } else { Begins::OnceResolved })
    }

    /// Whether branches by random bits take more time than predicted ones.
    fn shows_mispredictions(&self) -> bool {
        self.random.low > self.predicted.high
    }
}

/// When a load behind a mispredicted branch begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begins {
    /// Before the branch is resolved, on the wrong path, which meets the right one.
    OnTheWrongPath,
    /// Once the branch is resolved.
    OnceResolved,
}

/// How often both are measured, at the most.
const ATTEMPTS: usize = 3;

/// Measures both: again where no misprediction is seen, because others who use this machine can hide them.
pub(crate) fn measure(effort: Effort, buffer: &mut Mapping, lines: Lines) -> Result<BehindBranches, String> {
    let mut found = once(effort, buffer, lines)?;
    for _ in 1..ATTEMPTS {
        if found.shows_mispredictions() {
            break;
        }
        found = once(effort, buffer, lines)?;
    }
    Ok(found)
}

fn once(effort: Effort, buffer: &mut Mapping, lines: Lines) -> Result<BehindBranches, String> {
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
        let of = |predicted, random| {
            let found = BehindBranches { predicted: Spread::exact(predicted), random: Spread::exact(random) };
            found.behind_a_misprediction(100.0)
        };
        assert_eq!([of(10.0, 12.0), of(10.0, 50.0)], [Ok(Begins::OnTheWrongPath), Ok(Begins::OnceResolved)]);
        assert!(of(30.0, 60.0).unwrap_err().contains("overlap less than four times"));
        assert!(of(10.0, 10.0).unwrap_err().contains("take no more time"), "nothing shows a misprediction");
    }

    #[test]
    fn branches_are_measured() {
        let mut buffer = memory(1 << 20, Pages::Base).unwrap();
        let found = measure(Effort::QUICK, &mut buffer, Lines { size: 1 << 20, line: 64 }).unwrap();
        assert!(found.predicted.median > 0.0 && found.random.median > 0.0, "{found:?}");
    }
}
