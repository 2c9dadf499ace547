//! A source of choices.

/// A source of choices: a stream that a seed names, the same on every machine, or the bytes of a fuzzer's input.
#[derive(Clone, Debug)]
pub struct Random {
    /// What is left of the input, last byte first. Empty for a stream.
    input: Vec<u8>,
    /// State of the stream, which goes on where an input ends.
    state: u64,
}

impl Random {
    /// The stream of `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { input: Vec::new(), state: seed }
    }

    /// The stream of item `index` of those that `seed` names.
    #[must_use]
    pub fn nth(seed: u64, index: u64) -> Self {
        let mut random = Self::new(seed ^ index.wrapping_mul(0xd134_2543_de82_ef95));
        random.bits();
        random
    }

    /// Choices that the bytes of `input` make, from the first on. A choice takes as few bytes as its range needs, so that a change of one
    /// byte changes one choice. Behind the last byte a fixed stream goes on: a generator that draws until a choice suits it comes to an end.
    #[must_use]
    pub fn of_input(input: &[u8]) -> Self {
        Self { input: input.iter().rev().copied().collect(), state: 0 }
    }

    /// Whether there is input left. A stream has none.
    #[must_use]
    pub fn has_input(&self) -> bool {
        !self.input.is_empty()
    }

    /// The next number of the stream (SplitMix64).
    fn step(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number that up to `bytes` bytes of the input make, little-endian; or the next of the stream.
    fn draw(&mut self, bytes: u32) -> u64 {
        if self.input.is_empty() {
            return self.step();
        }
        (0..bytes).map_while(|byte| Some(u64::from(self.input.pop()?) << (8 * byte))).sum()
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.draw(8)
    }

    /// A number less than `limit`.
    ///
    /// # Panics
    /// If `limit` is zero.
    pub fn below(&mut self, limit: u64) -> u64 {
        let bytes = (u64::BITS - (limit - 1).leading_zeros()).div_ceil(8);
        self.draw(bytes) % limit
    }

    /// An index into what has `length` items.
    ///
    /// # Panics
    /// If `length` is zero.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// A number from `low` to `high`, both included.
    ///
    /// # Panics
    /// If there is none.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        assert!(low <= high, "no number from {low} to {high}");
        low + self.below(high.abs_diff(low) + 1) as i64
    }

    /// True once in `n` times.
    ///
    /// # Panics
    /// If `n` is zero.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of `items`.
    ///
    /// # Panics
    /// If there are none.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.index(items.len())]
    }

    /// Up to `longest` bytes: under a fuzzer, bytes of its input.
    pub fn bytes(&mut self, longest: usize) -> Vec<u8> {
        let length = self.index(longest + 1);
        (0..length).map(|_| self.below(256) as u8).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_names_a_stream() {
        // First outputs for the seed 1234567, as in the reference implementation's own test.
        let mut random = Random::new(1_234_567);
        assert_eq!([random.bits(), random.bits()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn an_input_makes_the_choices_until_it_ends() {
        let mut random = Random::of_input(&[3, 7, 0x34, 0x12, 9]);
        assert!(!random.one_in(4));
        assert_eq!(random.below(256), 7);
        assert_eq!(random.below(65_536), 0x1234);
        assert!(random.has_input());
        assert_eq!(random.bits(), 9, "the last bytes, as many as there are");
        assert!(!random.has_input());
        // A source of zeroes for ever would hang who draws again until a choice suits.
        assert!((0..64).any(|_| random.below(2) == 1));
    }

    #[test]
    fn a_choice_with_one_outcome_takes_no_input() {
        let mut random = Random::of_input(&[1]);
        assert_eq!(random.below(1), 0);
        assert!(random.has_input());
    }

    #[test]
    fn both_ends_of_a_range_are_reached() {
        let mut random = Random::new(1);
        let drawn: std::collections::BTreeSet<_> = (0..200).map(|_| random.between(-3, 3)).collect();
        assert_eq!(drawn, (-3..=3).collect());
    }
}
