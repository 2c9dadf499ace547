//! Orders in which memory is visited.

/// splitmix64 (Steele, Lea and Flood, 2014).
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, by its product with a fraction.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// The numbers below `count` in random order (Fisher and Yates).
    pub(crate) fn order(&mut self, count: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..u32::try_from(count).expect("fewer than 2^32 places")).collect();
        for index in (1..count).rev() {
            order.swap(index, self.below(index + 1));
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_each_number_once() {
        let mut order = Random::new(1).order(1000);
        assert!(order.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count() < 10, "it is not random");
        order.sort_unstable();
        assert!(order.into_iter().eq(0..1000));
    }
}
