//! Which way of a full set gives way, by policy.

/// A replacement policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// The way used least recently.
    Lru,
    /// Halves: the one not used last, until one way is left. Of an odd number the first half has one more.
    TreePlru,
    /// The way filled first.
    Fifo,
    /// Any, by a SplitMix64 generator with this seed.
    Random(u64),
    /// Static re-reference interval prediction, hit priority, 2 bits.
    Srrip,
    /// The same. In sets of leaders, what is new has a long interval, or a distant one with a chance of 31 in 32. Others do what misses less.
    Drrip,
}

/// What is noted of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notes {
    /// When it came.
    came: u64,
    /// When it was used last.
    used: u64,
    /// SRRIP's prediction: 0 of a use soon, 3 of a distant one.
    prediction: u8,
}

impl Notes {
    /// Of a page that is new.
    pub(crate) fn new(time: u64, prediction: u8) -> Self {
        Self { came: time, used: time, prediction }
    }

    /// It is used.
    pub(crate) fn use_now(&mut self, time: u64) {
        self.used = time;
        self.prediction = 0;
    }
}

/// The policy of some sets, and how many victims it has chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chooser {
    policy: Policy,
    sets: u64,
    chosen: u64,
    /// Misses of leaders with a long interval less those of leaders with a distant one, from 512 on, within 0 and 1023.
    duel: i32,
    /// Numbers drawn for insertions.
    drawn: u64,
}

impl Chooser {
    pub(crate) fn new(policy: Policy, sets: u64) -> Self {
        Self { policy, sets, chosen: 0, duel: 512, drawn: 0 }
    }

    /// What a page that comes into a set is predicted: 2 for a long interval, 3 for a distant one.
    pub(crate) fn prediction_of_new(&mut self, set: u64) -> u8 {
        if self.policy != Policy::Drrip {
            return 2;
        }
        // Groups of this many sets have a leader of each kind: counted from the group's first set on, and from its last set back.
        let group = (self.sets / 32).max(2);
        let number = (set / group) % group;
        let (from_first, from_last) = (set % group, group - 1 - set % group);
        let mostly_distant = if from_first == number {
            self.duel = (self.duel + 1).clamp(0, 1023);
            false
        } else if from_last == number {
            self.duel = (self.duel - 1).clamp(0, 1023);
            true
        } else {
            self.duel >= 512
        };
        if !mostly_distant {
            return 2;
        }
        self.drawn += 1;
        if splitmix64(0, self.drawn).is_multiple_of(32) { 2 } else { 3 }
    }

    /// The way that gives way in a full set.
    pub(crate) fn choose(&mut self, mut ways: Vec<&mut Notes>) -> usize {
        self.chosen += 1;
        match self.policy {
            Policy::Lru => first_least(&ways, |way| way.used),
            Policy::Fifo => first_least(&ways, |way| way.came),
            Policy::TreePlru => {
                let uses: Vec<u64> = ways.iter().map(|way| way.used).collect();
                not_used_last(&uses)
            }
            Policy::Random(seed) => {
                let number = u128::from(splitmix64(seed, self.chosen) / (1 << 32));
                (number * ways.len() as u128 / (1 << 32)) as usize
            }
            Policy::Srrip | Policy::Drrip => loop {
                if let Some(way) = ways.iter().position(|way| way.prediction == 3) {
                    return way;
                }
                for way in &mut ways {
                    way.prediction += 1;
                }
            },
        }
    }
}

fn first_least(ways: &[&mut Notes], of: impl Fn(&Notes) -> u64) -> usize {
    let mut least = 0;
    for way in 1..ways.len() {
        if of(ways[way]) < of(ways[least]) {
            least = way;
        }
    }
    least
}

/// The way in the half that was not used last, and so on.
fn not_used_last(uses: &[u64]) -> usize {
    if uses.len() == 1 {
        return 0;
    }
    let (first, second) = uses.split_at(uses.len() - uses.len() / 2);
    if first.iter().max() < second.iter().max() { not_used_last(first) } else { first.len() + not_used_last(second) }
}

/// The number that the generator gives after `count` − 1 others.
fn splitmix64(seed: u64, count: u64) -> u64 {
    let mut z = seed.wrapping_add(count.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of the reference implementation in C, by Vigna, from the seed 1234567.
    #[test]
    fn the_generator_is_splitmix64() {
        let numbers = [1, 2, 3, 4, 5].map(|count| splitmix64(1_234_567, count));
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(numbers, published);
    }
}
