//! Ways of a set: how many lines, or pages, of one set are there at once.

use crate::findings::Finding;
use crate::spread::Spread;
use crate::staircase::{Capacity, Point};

/// Lines or pages of one set, at the most: nothing with more ways is known.
pub(crate) const MOST: u64 = 40;

/// What accesses take.
#[derive(Clone, Copy)]
pub(crate) struct Costs {
    /// That hit.
    pub(crate) hit: f64,
    /// That miss; `None` where that is what the largest numbers of lines take.
    pub(crate) miss: Option<f64>,
}

/// The ways of a set of which `points` use more and more lines. With one line too many, LRU misses always and other policies now and then. So all
/// ways are there before the first misses, and fewer than the lines of which a half misses.
pub(crate) fn ways(points: &[Point], costs: Costs) -> Finding<Capacity> {
    /// Noise, and what a curve's own level is above that of its hits.
    const TOLERANCE: f64 = 1.12;
    let Costs { hit, miss } = costs;
    let largest = &points[points.len() * 4 / 5..];
    let miss = miss.unwrap_or_else(|| Spread::of(largest.iter().map(|point| point.value.median).collect()).median);
    if miss < hit * TOLERANCE {
        return Err(format!("no set is full with {}", points[points.len() - 1].size));
    }
    // A single slow point is noise: a set that is full stays full.
    let from = |limit: f64| points.windows(2).position(|pair| pair.iter().all(|point| point.value.median > limit));
    match (from(hit * TOLERANCE), from(f64::midpoint(hit, miss))) {
        (Some(0), _) | (_, Some(0)) => Err("too noisy: one line alone takes longer than a hit".to_owned()),
        (Some(full), Some(half)) => {
            let least = points[full - 1].size;
            Ok(Capacity { least, below: points[half].size.max(least + 1) })
        }
        (_, _) => Err(format!("no set is full with {}", points[points.len() - 1].size)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(values: &[f64]) -> Vec<Point> {
        (1..).zip(values).map(|(size, &value)| Point { size, value: Spread::exact(value) }).collect()
    }

    #[test]
    fn a_set_is_full_where_two_points_say_so() {
        let lru = curve(&[5.0, 5.1, 9.0, 5.0, 16.0, 16.0, 16.0]);
        assert_eq!(ways(&lru, Costs { hit: 5.0, miss: Some(16.0) }), Ok(Capacity { least: 4, below: 5 }));
        let other = curve(&[5.0, 5.0, 6.0, 8.0, 13.0, 16.0, 16.0]);
        assert_eq!(ways(&other, Costs { hit: 5.0, miss: None }), Ok(Capacity { least: 2, below: 5 }));
    }

    #[test]
    fn noise_and_curves_without_a_step_have_no_ways() {
        let noisy = ways(&curve(&[9.0, 9.0, 9.0]), Costs { hit: 5.0, miss: None });
        assert!(noisy.unwrap_err().contains("noisy"));
        let flat = ways(&curve(&[5.0, 5.0, 5.1]), Costs { hit: 5.0, miss: None });
        assert!(flat.unwrap_err().contains("no set is full with 3"));
    }
}
