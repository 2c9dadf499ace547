//! A branch predictor: one by address, one by history, and one that says which to believe. Each is a map from what it is asked by to a number from
//! 0 to 3, which is 1 at first.

use std::collections::BTreeMap;

/// The size of a predictor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Predicts {
    /// Bits of an address.
    pub address_bits: u32,
    /// Branches of the history.
    pub history_bits: u32,
}

/// A predictor.
pub(crate) struct Predictor {
    size: Predicts,
    by_address: BTreeMap<u64, u32>,
    by_history: BTreeMap<u64, u32>,
    believes_history: BTreeMap<u64, u32>,
    /// The latest first.
    history: Vec<bool>,
}

fn says(map: &BTreeMap<u64, u32>, key: u64) -> bool {
    map.get(&key).copied().unwrap_or(1) > 1
}

fn learn(map: &mut BTreeMap<u64, u32>, key: u64, yes: bool) {
    let number = map.entry(key).or_insert(1);
    *number = if yes { (*number + 1).min(3) } else { number.saturating_sub(1) };
}

impl Predictor {
    pub(crate) fn new(size: Predicts) -> Self {
        let (by_address, by_history, believes_history) = <_>::default();
        Self { size, by_address, by_history, believes_history, history: Vec::new() }
    }

    /// Whether it is right about a branch, which it learns.
    pub(crate) fn is_right(&mut self, pc: u64, taken: bool) -> bool {
        let local = (pc / 2) % (1 << self.size.address_bits);
        let bits = self.history.iter().take(self.size.history_bits as usize).enumerate();
        let history: u64 = bits.map(|(place, &taken)| u64::from(taken) << place).sum();
        let global = ((pc / 2) % (1 << self.size.history_bits)) ^ history;
        let (one, other) = (says(&self.by_address, local), says(&self.by_history, global));
        let predicted = if says(&self.believes_history, local) { other } else { one };
        if one != other {
            learn(&mut self.believes_history, local, other == taken);
        }
        learn(&mut self.by_address, local, taken);
        learn(&mut self.by_history, global, taken);
        self.history.insert(0, taken);
        self.history.truncate(64);
        predicted == taken
    }
}
