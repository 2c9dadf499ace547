//! Numbers whose repeats lie so far apart that they say nothing.

use crate::findings::{Caches, Finding, Findings, Overlap, Pipeline, Tlb, Walks};
use crate::spread::Spread;

/// The most that the quartiles of a number may lie apart, as a share of it.
const MOST: f64 = 0.5;

impl Findings {
    /// The same, with a reason in place of each number that is too noisy. What a cache keeps beside a scan is a lower bound however noisy it is.
    pub(crate) fn without_noise(self) -> Self {
        let Self {
            pipeline,
            caches,
            base_tlb,
            huge_tlb,
            walks,
            huge_walks,
            overlap,
            last_level,
            prefetch,
            next_line,
            streams,
            branches,
            ..
        } = self;
        let Pipeline { clock_hz, timestamp_hz, width } = pipeline;
        let caches = Caches {
            levels: caches
                .levels
                .and_then(|levels| levels.into_iter().map(|cache| steady(cache.latency).map(|_| cache)).collect()),
            memory: caches.memory.and_then(steady),
        };
        let tlb = |tlb: Tlb| Tlb { second_hit: tlb.second_hit.and_then(steady), ..tlb };
        let walks_of = |walks: Finding<Walks>| {
            let Walks { dependent, independent } = walks?;
            Ok(Walks { dependent: steady(dependent)?, independent: steady(independent)? })
        };
        Self {
            pipeline: Pipeline {
                clock_hz: clock_hz.and_then(steady),
                timestamp_hz: timestamp_hz.and_then(steady),
                width: width.and_then(steady),
            },
            caches,
            base_tlb: tlb(base_tlb),
            huge_tlb: tlb(huge_tlb),
            walks: walks_of(walks),
            huge_walks: walks_of(huge_walks),
            overlap: Overlap {
                memory: overlap.memory.and_then(steady),
                last_level: overlap.last_level.and_then(steady),
            },
            last_level: last_level.and_then(|last_level| {
                steady(last_level.holds)?;
                Ok(last_level)
            }),
            prefetch: prefetch.and_then(|prefetch| {
                steady(prefetch.ascending)?;
                steady(prefetch.random)?;
                Ok(prefetch)
            }),
            next_line: next_line.and_then(|next_line| {
                steady(next_line.apart)?;
                Ok(next_line)
            }),
            streams: streams.and_then(|streams| {
                steady(streams.ascending)?;
                steady(streams.random)?;
                Ok(streams)
            }),
            branches: branches.and_then(|branches| {
                steady(branches.random)?;
                Ok(branches)
            }),
            ..self
        }
    }
}

fn steady(number: Spread) -> Finding<Spread> {
    if number.relative() <= MOST {
        return Ok(number);
    }
    let share = 100.0 * number.relative();
    Err(format!("too noisy: the quartiles of its repeats lie {share:.0} % apart"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_noisy_is_no_number() {
        let number = |low: f64| Spread { median: 2.0, low, high: 2.0 };
        assert_eq!(steady(number(1.1)), Ok(number(1.1)));
        assert!(steady(number(0.5)).unwrap_err().contains("75 % apart"));
    }
}
