//! How often each distance occurred.

/// Distances below this have a count of their own.
const EXACT: u64 = 1 << 10;
/// Binary logarithm of the buckets in an octave above.
const PARTS: u32 = 3;

/// How often each distance occurred. Distances of up to 1,023 have a count each; above, an octave has eight.
#[derive(Clone, Debug, Default)]
pub struct DistanceHistogram {
    counts: Vec<u64>,
    /// First uses.
    cold: u64,
    total: u64,
}

/// A range of distances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DistanceBucket {
    /// The least of them.
    pub from: u64,
    /// The greatest.
    pub to: u64,
    /// How often they occurred.
    pub count: u64,
}

impl DistanceHistogram {
    /// Uses at a distance; `None` of first uses.
    pub(super) fn add(&mut self, distance: Option<u64>, count: u64) {
        self.total += count;
        match distance {
            None => self.cold += count,
            Some(distance) => {
                let bucket = bucket(distance);
                if self.counts.len() <= bucket {
                    self.counts.resize(bucket + 1, 0);
                }
                self.counts[bucket] += count;
            }
        }
    }

    /// Adds what occurred elsewhere.
    pub fn absorb(&mut self, other: &Self) {
        self.total += other.total;
        self.cold += other.cold;
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        for (count, other) in self.counts.iter_mut().zip(&other.counts) {
            *count += other;
        }
    }

    /// All uses.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// First uses of pages.
    #[must_use]
    pub const fn cold(&self) -> u64 {
        self.cold
    }

    /// The distances that occurred, in order.
    pub fn buckets(&self) -> impl Iterator<Item = DistanceBucket> + '_ {
        let with = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        with.map(|(bucket, &count)| DistanceBucket { from: least(bucket), to: least(bucket + 1) - 1, count })
    }

    /// Misses of a TLB with so many entries, a power of two, that replaces the entry whose use is longest ago: exact.
    #[must_use]
    pub fn lru_misses(&self, entries: u64) -> u64 {
        self.cold + self.buckets().filter(|bucket| bucket.from >= entries).map(|bucket| bucket.count).sum::<u64>()
    }
}

/// The bucket of a distance.
fn bucket(distance: u64) -> usize {
    if distance < EXACT {
        return distance as usize;
    }
    let octave = distance.ilog2();
    let part = distance >> (octave - PARTS) & ((1 << PARTS) - 1);
    (EXACT + u64::from(octave - EXACT.ilog2()) * (1 << PARTS) + part) as usize
}

/// The least distance of a bucket.
fn least(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    let Some(above) = bucket.checked_sub(EXACT) else { return bucket };
    let (octave, part) = (above >> PARTS, above & ((1 << PARTS) - 1));
    (EXACT << octave) + (part << (EXACT.ilog2() + octave as u32 - PARTS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_distance_has_one_bucket_and_each_power_of_two_begins_one() {
        for distance in (0..20_000).chain([1 << 20, (1 << 20) - 1, 12_345_678, 1 << 40]) {
            let bucket = bucket(distance);
            assert!((least(bucket)..least(bucket + 1)).contains(&distance), "{distance}");
        }
        for power in 0..40 {
            assert_eq!(least(bucket(1 << power)), 1 << power);
        }
        assert!(least(bucket(1 << 20) + 1) - (1 << 20) <= 1 << 17, "eight to an octave");
    }

    #[test]
    fn a_tlb_misses_what_is_at_least_as_far_as_it_has_entries() {
        let mut histogram = DistanceHistogram::default();
        for distance in [0, 3, 4, 63, 64, 5000] {
            histogram.add(Some(distance), 10);
        }
        histogram.add(None, 1);
        let misses = [1, 4, 64, 128, 4096, 8192].map(|entries| histogram.lru_misses(entries));
        assert_eq!(misses, [51, 41, 21, 11, 11, 1]);
        assert_eq!((histogram.total(), histogram.cold()), (61, 1));
        let mut both = histogram.clone();
        both.absorb(&histogram);
        assert_eq!((both.total(), both.lru_misses(64)), (122, 42));
    }
}
