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
#[repr(transparent)]
struct Counter(u8);

impl Counter {
    const WEAK_NO: Self = Self(1);

    const fn yes(self) -> bool {
        self.0 >= 2
    }

    const fn counted(self, yes: bool) -> Self {
        match (yes, self.0) {
            (true, 3) | (false, 0) => self,
            (true, counter) => Self(counter + 1),
            (false, counter) => Self(counter - 1),
        }
    }
}

/// The three counters of a branch.
#[derive(Clone, Copy, Debug)]
struct Counters {
    by_address: Counter,
    by_history: Counter,
    /// Whether the one by history is the better one.
    chooser: Counter,
}

impl Counters {
    /// Counts a branch; whether it goes as predicted.
    const fn step(self, taken: bool) -> (Self, Outcome) {
        let Self { by_address, by_history, chooser } = self;
        let (address_right, history_right) = (by_address.yes() == taken, by_history.yes() == taken);
        let right = if chooser.yes() { history_right } else { address_right };
        let chooser = if address_right == history_right { chooser } else { chooser.counted(history_right) };
        let counted = Self { by_address: by_address.counted(taken), by_history: by_history.counted(taken), chooser };
        (counted, if right { Outcome::Predicted } else { Outcome::Mispredicted })
    }
}

/// Every step of the counters of a branch: of one that is not taken, then of one that is.
///
/// The index has the counter by address in bits 0 and 1, that by history in bits 2 and 3, the chooser in bits 4 and 5, and the way in bit 6 (1 if taken). The
/// step has the new counters in the same bits, and in bit 6 whether the branch was mispredicted.
static STEPS: [u8; 128] = steps();

const fn steps() -> [u8; 128] {
    let mut steps = [0; 128];
    let mut index = 0;
    while index < 128 {
        let before = Counters {
            by_address: Counter(index as u8 & 3),
            by_history: Counter((index >> 2) as u8 & 3),
            chooser: Counter((index >> 4) as u8 & 3),
        };
        let (Counters { by_address, by_history, chooser }, outcome) = before.step(index >= 64);
        let mispredicted = matches!(outcome, Outcome::Mispredicted) as u8;
        steps[index] = by_address.0 | by_history.0 << 2 | chooser.0 << 4 | mispredicted << 6;
        index += 1;
    }
    steps
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
    history: u64,
}

/// Where the state of a predictor lies, for a caller that does with it what [`Core::predict`](crate::Core::predict) does.
///
/// A branch reads its three counters. With its way, they are the index of a step, which has their new values and whether the branch was mispredicted
/// ([`Self::steps`]). Then the history is shifted left by one, has the way in bit 0 (1 if taken), and keeps the bits of `history_mask`.
#[derive(Clone, Copy, Debug)]
pub struct PredictorState {
    /// Counters, one byte each, by half the branch's address and `address_mask`.
    pub by_address: *mut u8,
    /// Counters, one byte each, by half the branch's address with the history by exclusive or, and `history_mask`.
    pub by_history: *mut u8,
    /// Choosers, one byte each, by half the branch's address and `address_mask`.
    pub choosers: *mut u8,
    /// The ways of the latest branches.
    pub history: *mut u64,
    /// The number of counters by address, less one.
    pub address_mask: u64,
    /// The number of counters by history, less one.
    pub history_mask: u64,
    /// The steps. The index has the counter by address in bits 0 and 1, that by history in bits 2 and 3, the chooser in bits 4 and 5, and the way in bit 6
    /// (1 if taken). A step has the new counters in the same bits, and in bit 6 whether the branch was mispredicted.
    pub steps: &'static [u8; 128],
}

impl Predictor {
    pub(crate) fn new(model: &PredictorModel) -> Self {
        let table = |bits: u32| vec![Counter::WEAK_NO; 1 << bits].into_boxed_slice();
        let (address, history) = (model.address_bits, model.history_bits);
        Self { bimodal: table(address), global: table(history), chooser: table(address), history: 0 }
    }

    pub(crate) fn state(&mut self) -> PredictorState {
        let Self { bimodal, global, chooser, history } = self;
        PredictorState {
            address_mask: bimodal.len() as u64 - 1,
            history_mask: global.len() as u64 - 1,
            by_address: bimodal.as_mut_ptr().cast(),
            by_history: global.as_mut_ptr().cast(),
            choosers: chooser.as_mut_ptr().cast(),
            history,
            steps: &STEPS,
        }
    }

    /// Predicts a branch, and learns which way it went. Instructions are aligned to two bytes: bit 0 of an address says nothing.
    #[inline]
    pub(crate) fn resolve(&mut self, pc: u64, way: Way) -> Outcome {
        let taken = way == Way::Taken;
        let address = pc >> 1;
        let local = address as usize & (self.bimodal.len() - 1);
        let mask = self.global.len() as u64 - 1;
        let (by_address, chooser) = (&mut self.bimodal[local], &mut self.chooser[local]);
        let by_history = &mut self.global[((address ^ self.history) & mask) as usize];
        let index = by_address.0 | by_history.0 << 2 | chooser.0 << 4 | u8::from(taken) << 6;
        let step = STEPS[usize::from(index & 127)];
        (by_address.0, by_history.0, chooser.0) = (step & 3, step >> 2 & 3, step >> 4 & 3);
        self.history = (self.history << 1 | u64::from(taken)) & mask;
        if step >> 6 == 0 { Outcome::Predicted } else { Outcome::Mispredicted }
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
