//! The branch predictor: a combination of a bimodal predictor and gshare, with a chooser (McFarling, "Combining Branch Predictors", DEC WRL
//! Technical Note TN-36, 1993).
//!
//! Three tables of two-bit counters. The bimodal one is indexed by the address of the branch, gshare's by the address with the ways of the latest
//! branches over it by exclusive or, the chooser by the address: it counts which of the two was right where they differ.

use crate::event::Way;
use keys::{key, model};

model! {
    /// The branch predictor of a core: a bimodal predictor and gshare, with a chooser.
    #[derive(Copy)]
    pub struct PredictorModel {
        pub address_bits: u32 => key("bits of a branch's address that index the bimodal predictor and the chooser")
            .number(1, 20).unit("bits"),
        pub history_bits: u32 => key("latest branches whose ways index gshare, and bits of its index").number(1, 20).unit("bits"),
    }
}

/// A two-bit counter: the upper half says yes.
#[derive(Clone, Copy, Debug)]
struct Counter(u8);

impl Counter {
    const WEAK_NO: Self = Self(1);

    #[inline]
    const fn yes(self) -> bool {
        self.0 >= 2
    }

    #[inline]
    fn count(&mut self, yes: bool) {
        self.0 = if yes { (self.0 + 1).min(3) } else { self.0.saturating_sub(1) };
    }
}

/// Whether a branch went as predicted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It did.
    Predicted,
    /// It did not.
    Mispredicted,
}

/// The predictor.
#[derive(Debug)]
pub(crate) struct Predictor {
    bimodal: Box<[Counter]>,
    global: Box<[Counter]>,
    /// Whether gshare is the better one.
    chooser: Box<[Counter]>,
    history: usize,
}

impl Predictor {
    pub(crate) fn new(model: &PredictorModel) -> Self {
        let table = |bits: u32| vec![Counter::WEAK_NO; 1 << bits].into_boxed_slice();
        let (address, history) = (model.address_bits, model.history_bits);
        Self { bimodal: table(address), global: table(history), chooser: table(address), history: 0 }
    }

    /// Predicts a branch, and learns which way it went. Instructions are aligned to two bytes: bit 0 of an address says nothing.
    #[inline]
    pub(crate) fn resolve(&mut self, pc: u64, way: Way) -> Outcome {
        let taken = way == Way::Taken;
        let address = (pc >> 1) as usize;
        let local = address & (self.bimodal.len() - 1);
        let mask = self.global.len() - 1;
        let (bimodal, chooser) = (&mut self.bimodal[local], &mut self.chooser[local]);
        let global = &mut self.global[(address ^ self.history) & mask];
        let (by_address, by_history) = (bimodal.yes() == taken, global.yes() == taken);
        let right = if chooser.yes() { by_history } else { by_address };
        if by_address != by_history {
            chooser.count(by_history);
        }
        bimodal.count(taken);
        global.count(taken);
        self.history = (self.history << 1 | usize::from(taken)) & mask;
        if right { Outcome::Predicted } else { Outcome::Mispredicted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mispredicted(ways: impl IntoIterator<Item = (u64, bool)>) -> usize {
        let mut predictor = Predictor::new(&PredictorModel { address_bits: 10, history_bits: 10 });
        let outcome = |(pc, taken)| {
            let way = if taken { Way::Taken } else { Way::NotTaken };
            predictor.resolve(pc, way)
        };
        ways.into_iter().map(outcome).filter(|&outcome| outcome == Outcome::Mispredicted).count()
    }

    #[test]
    fn a_branch_that_always_goes_one_way_is_learned_at_once() {
        assert_eq!(mispredicted((0..1000).map(|_| (0x100, true))), 1);
        assert_eq!(mispredicted((0..1000).map(|_| (0x100, false))), 0);
    }

    #[test]
    fn the_exit_of_a_short_loop_is_learned_from_history() {
        let long_enough = mispredicted((0..6000).map(|n| (0x100, n % 6 != 5)));
        assert!(long_enough < 40, "{long_enough} of 1000 exits");
    }

    #[test]
    fn what_no_history_tells_is_mispredicted_half_of_the_time() {
        let mut random = testing::Random::new(1);
        let wrong = mispredicted((0..10_000).map(|_| (0x100, random.one_in(2))));
        assert!((4700..5300).contains(&wrong), "{wrong} of 10000");
    }
}
