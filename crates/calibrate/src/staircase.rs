//! Finds the levels of a staircase: what an access takes, by the memory that accesses go over.
//!
//! Sizes grow by a constant factor. The measured values are cut into runs of constant value such that the squared distances from the runs' means, in units of
//! each point's own noise, and a penalty for each run are least together (optimal partitioning: Jackson et al., "An algorithm for optimal partitioning of data on
//! an interval", IEEE Signal Processing Letters 12, 2005). Long runs are levels. Short ones are the slopes between levels, or outliers.
//! Neighbouring levels that differ by less than a step are one. Nothing is found in noise: see [`NoLevels`].

use crate::spread::Spread;
use std::fmt;

/// A measurement at one size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Bytes, pages or lines.
    pub size: u64,
    /// What an access takes.
    pub value: Spread,
}

/// What counts as a step.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Steps {
    /// A rise by this share of the lower level.
    Ratio(f64),
    /// A rise by this much.
    Difference(f64),
}

/// A level of a staircase.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Level {
    /// Its value: median and quartiles of its points' medians, or of their repeats where those lie further apart.
    pub value: Spread,
    /// The least size measured on it.
    pub first: u64,
    /// The greatest size measured on it.
    pub last: u64,
    /// How much it holds; `None` of a level that does not end.
    pub holds: Option<Capacity>,
}

/// How much a level holds: at least, and less than.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// So much does hit.
    pub least: u64,
    /// So much does not all hit.
    pub below: u64,
}

impl Capacity {
    /// This much, and no more.
    #[must_use]
    pub const fn exactly(size: u64) -> Self {
        Self { least: size, below: size + 1 }
    }

    /// The middle, as sizes grow by factors.
    #[must_use]
    pub fn middle(&self) -> f64 {
        (self.least as f64 * self.below as f64).sqrt()
    }

    /// Whether a size may be the capacity.
    #[must_use]
    pub const fn may_be(&self, size: u64) -> bool {
        self.least <= size && size < self.below
    }
}

/// Why no levels are found.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum NoLevels {
    /// Too few sizes.
    TooFew,
    /// The repeats of a typical point lie as far apart as a step is high: their interquartile range, in the same terms as the step.
    TooNoisy(f64),
    /// Values change from size to size, and stay nowhere.
    NoLevel,
}

impl fmt::Display for NoLevels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew => f.write_str("too few sizes were measured"),
            Self::TooNoisy(noise) => {
                write!(f, "too noisy: repeats differ by {noise:.2}, as much as a step would be high")
            }
            Self::NoLevel => f.write_str("values stay constant nowhere"),
        }
    }
}

/// Points of a level, at the least.
const LEAST_POINTS: usize = 3;

/// The noise of a point whose repeats happen to agree, as a share of a step: values differ from size to size by how lines fall into sets.
const LEAST_NOISE: f64 = 0.15;

/// Interquartile range of a normal distribution with a standard deviation of 1.
const NORMAL_RANGE: f64 = 1.349;

impl Steps {
    /// The scale in which levels lie apart by additions.
    fn scaled(self, value: f64) -> f64 {
        match self {
            Self::Ratio(_) => value.max(f64::MIN_POSITIVE).ln(),
            Self::Difference(_) => value,
        }
    }

    /// A step in that scale.
    fn height(self) -> f64 {
        match self {
            Self::Ratio(ratio) => ratio.ln_1p(),
            Self::Difference(difference) => difference,
        }
    }
}

/// The levels of `points`, whose sizes ascend.
///
/// # Errors
/// [`NoLevels`].
pub fn levels(points: &[Point], steps: Steps) -> Result<Vec<Level>, NoLevels> {
    if points.len() < 2 * LEAST_POINTS {
        return Err(NoLevels::TooFew);
    }
    let scaled: Vec<Scaled> = points.iter().map(|point| Scaled::new(point, steps)).collect();
    let mut noise: Vec<f64> = scaled.iter().map(|point| point.noise).collect();
    noise.sort_by(f64::total_cmp);
    let typical = noise[noise.len() / 2] * NORMAL_RANGE;
    if typical >= steps.height() {
        return Err(NoLevels::TooNoisy(typical));
    }
    let runs = partition(&scaled).into_iter().filter_map(|run| level_of(run, &scaled, steps));
    let merged = merge(runs, &scaled, steps);
    if merged.is_empty() {
        return Err(NoLevels::NoLevel);
    }
    let values: Vec<f64> = merged.iter().map(|run| value(&points[run.clone()]).median).collect();
    let level = |(index, run): (usize, &Run)| Level {
        value: value(&points[run.clone()]),
        first: points[run.start].size,
        last: points[run.end - 1].size,
        holds: capacity(points, run, values[index], values.get(index + 1).copied()),
    };
    Ok(merged.iter().enumerate().map(level).collect())
}

type Run = std::ops::Range<usize>;

/// A point in the scale of its steps.
#[derive(Clone, Copy)]
struct Scaled {
    value: f64,
    /// Standard deviation.
    noise: f64,
}

impl Scaled {
    fn new(point: &Point, steps: Steps) -> Self {
        let range = steps.scaled(point.value.high) - steps.scaled(point.value.low);
        let noise = (range / NORMAL_RANGE).max(LEAST_NOISE * steps.height());
        Self { value: steps.scaled(point.value.median), noise }
    }

    fn weight(&self) -> f64 {
        self.noise.powi(-2)
    }
}

/// The cheapest cut into runs of constant value. A run costs as much as three numbers that are fitted (Bayesian information criterion).
fn partition(points: &[Scaled]) -> Vec<Run> {
    let penalty = 3.0 * (points.len() as f64).ln();
    // Least cost of the first points, and where their last run begins.
    let mut best = vec![(0.0, 0)];
    for end in 1..=points.len() {
        let from = |start: usize| (best[start].0 + distance(&points[start..end]) + penalty, start);
        let least = (0..end).map(from).min_by(|a, b| a.0.total_cmp(&b.0));
        best.push(least.expect("a run has a beginning"));
    }
    let mut runs = Vec::new();
    let mut end = points.len();
    while end > 0 {
        let start = best[end].1;
        runs.push(start..end);
        end = start;
    }
    runs.reverse();
    runs
}

fn mean(points: &[Scaled]) -> f64 {
    let weight: f64 = points.iter().map(Scaled::weight).sum();
    points.iter().map(|point| point.weight() * point.value).sum::<f64>() / weight
}

/// Squared distances from the mean, in units of each point's noise.
fn distance(points: &[Scaled]) -> f64 {
    let mean = mean(points);
    points.iter().map(|point| ((point.value - mean) / point.noise).powi(2)).sum()
}

/// How much a straight line through the points rises from the first to the last.
fn rise(points: &[Scaled]) -> f64 {
    let middle = (points.len() - 1) as f64 / 2.0;
    let mean = mean(points);
    let places = || points.iter().enumerate().map(|(place, point)| (place as f64 - middle, point.value - mean));
    let slope: f64 = places().map(|(x, y)| x * y).sum::<f64>() / places().map(|(x, _)| x * x).sum::<f64>();
    slope * (points.len() - 1) as f64
}

/// The part of a run that is a level: without ends that are on the slopes beside it already, however few their misses or hits are. `None` if too little
/// is left, or if it rises by a step.
fn level_of(mut run: Run, points: &[Scaled], steps: Steps) -> Option<Run> {
    /// The part of a step that is no longer the level.
    const SLOPE: f64 = 0.35;
    let median = Spread::of(points[run.clone()].iter().map(|point| point.value).collect()).median;
    let aside = |index: usize| (points[index].value - median).abs() > SLOPE * steps.height();
    while !run.is_empty() && aside(run.end - 1) {
        run.end -= 1;
    }
    while !run.is_empty() && aside(run.start) {
        run.start += 1;
    }
    (run.len() >= LEAST_POINTS && rise(&points[run.clone()]).abs() < steps.height()).then_some(run)
}

/// Joins neighbouring levels that no step separates, with what lies between them. A level below its predecessor joins it as well: more memory is not faster.
fn merge(runs: impl Iterator<Item = Run>, points: &[Scaled], steps: Steps) -> Vec<Run> {
    let mut merged: Vec<Run> = Vec::new();
    for run in runs {
        match merged.last_mut() {
            Some(last) if mean(&points[run.clone()]) - mean(&points[last.clone()]) < steps.height() => {
                last.end = run.end;
            }
            Some(_) | None => merged.push(run),
        }
    }
    merged
}

fn value(points: &[Point]) -> Spread {
    let of_points = Spread::of(points.iter().map(|point| point.value.median).collect());
    let range = Spread::of(points.iter().map(|point| point.value.range()).collect()).median;
    if of_points.range() >= range {
        return of_points;
    }
    Spread { median: of_points.median, low: of_points.median - range / 2.0, high: of_points.median + range / 2.0 }
}

/// What the level of `run` holds. `next` is the value of the next one.
///
/// A chase that comes round visits each line once, so that of memory of size s of which a share h hits, h × s is in the level: it holds no less. With LRU
/// next to nothing hits behind the capacity. Other policies keep a part, and their slopes say how much.
fn capacity(points: &[Point], run: &Run, value: f64, next: Option<f64>) -> Option<Capacity> {
    /// So far behind its level, a slope is of something else.
    const FARTHEST: u64 = 3;
    /// A smaller share of hits is a slope, even where it is too low to be a step.
    const FULL: f64 = 0.9;
    let share = |point: &Point| next.map(|next| (next - point.value.median) / (next - value));
    let all_hit = |point: &&Point| share(point).is_none_or(|share| share >= FULL);
    let last = points[run.clone()].iter().rfind(all_hit).map_or(points[run.start].size, |point| point.size);
    let behind = &points[run.end..];
    // An outlier at the end is no slope.
    if behind.len() < LEAST_POINTS {
        return None;
    }
    let (mut least, mut below) = (last, behind[0].size);
    let behind = behind.iter().take_while(|point| point.size <= FARTHEST * last);
    let shares = behind.filter_map(|point| Some((point.size, share(point)?)));
    for (size, share) in shares {
        below = size;
        // Where a half misses, it is full.
        if share < 0.5 {
            break;
        }
        least = least.max((share.min(1.0) * size as f64) as u64);
    }
    Some(Capacity { least, below: below.max(least + 1) })
}

#[cfg(test)]
mod tests;
