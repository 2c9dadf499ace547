//! The Pareto front: the systems that no other one is better than.

/// What a system costs and what it takes: the less of each, the better.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Place {
    pub(super) bits: u64,
    pub(super) cycles: f64,
}

/// The numbers of the systems on the front, by their bits, and equal ones by their numbers.
///
/// A system is on it if no other one has no more bits and no more cycles, and less of one of them. So systems with the same bits and cycles are on it together, or
/// none of them is.
pub(super) fn front(places: &[Place]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by(|&one, &other| {
        let (left, right) = (places[one], places[other]);
        left.bits.cmp(&right.bits).then(left.cycles.total_cmp(&right.cycles)).then(one.cmp(&other))
    });
    let mut front = Vec::new();
    // The fewest cycles of any system with fewer bits.
    let mut fewest = f64::INFINITY;
    for alike in order.chunk_by(|&one, &other| places[one].bits == places[other].bits) {
        let least = places[alike[0]].cycles;
        if least < fewest {
            front.extend(alike.iter().copied().take_while(|&system| places[system].cycles <= least));
            fewest = least;
        }
    }
    front
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::Random;

    fn of(places: &[(u64, f64)]) -> Vec<usize> {
        front(&places.iter().map(|&(bits, cycles)| Place { bits, cycles }).collect::<Vec<_>>())
    }

    #[test]
    fn what_another_one_is_better_than_is_not_on_the_front() {
        assert_eq!(of(&[(8, 1.0), (4, 2.0), (2, 3.0)]), [2, 1, 0]);
        assert_eq!(of(&[(8, 2.0), (4, 2.0)]), [1], "more bits, and no fewer cycles");
        assert_eq!(of(&[(4, 3.0), (4, 2.0)]), [1], "more cycles, and no fewer bits");
        assert_eq!(of(&[(4, 2.0), (9, 9.0), (4, 2.0)]), [0, 2], "neither of two equal ones is better");
        assert_eq!(of(&[]), [0; 0]);
    }

    /// The definition, word by word.
    #[test]
    fn it_is_what_its_definition_says() {
        let seed = testing::seed("FRONT_SEED");
        let mut random = Random::new(seed);
        for _ in 0..200 {
            let systems = random.below(30);
            let places: Vec<Place> =
                (0..systems).map(|_| Place { bits: random.below(12), cycles: random.below(12) as f64 }).collect();
            let better = |one: &Place, other: &Place| {
                one.bits <= other.bits
                    && one.cycles <= other.cycles
                    && (one.bits < other.bits || one.cycles < other.cycles)
            };
            let is_best = |place: &Place| places.iter().all(|other| !better(other, place));
            let expected: Vec<usize> = (0..places.len()).filter(|&system| is_best(&places[system])).collect();
            let mut found = front(&places);
            assert!(found.windows(2).all(|pair| places[pair[0]].bits <= places[pair[1]].bits), "FRONT_SEED={seed}");
            found.sort_unstable();
            assert_eq!(found, expected, "FRONT_SEED={seed}: {places:?}");
        }
    }
}
