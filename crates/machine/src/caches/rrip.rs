//! Re-reference interval prediction (Jaleel, Theobald, Steely and Emer, "High Performance Cache Replacement Using Re-Reference Interval Prediction (RRIP)",
//! ISCA 2010): lines that have hit stay, and lines of a scan leave before them.
//!
//! Each line has a prediction of 2 bits. A hit predicts a near use (hit priority, section 4.2). A line that is new gets a long or a distant prediction. A distant
//! line makes room; where there is none, all predictions of the set grow until there is.

/// What a line that is new is predicted.
#[derive(Debug)]
pub(super) enum Insertion {
    /// A long interval (SRRIP).
    Static,
    /// What costs fewer misses: a long interval, or mostly a distant one (DRRIP).
    Dynamic(Duel),
}

/// The predictions of a cache's lines, by slot.
#[derive(Debug)]
pub(super) struct Predictions {
    values: Vec<u8>,
    insertion: Insertion,
}

/// The next use is predicted to be soon.
const NEAR: u8 = 0;
/// Of a line that is new.
const LONG: u8 = 2;
/// The greatest value of 2 bits: the line may leave.
const DISTANT: u8 = 3;

impl Predictions {
    pub(super) fn new(slots: usize, insertion: Insertion) -> Self {
        Self { values: vec![DISTANT; slots], insertion }
    }

    /// The line in a slot has hit.
    #[inline]
    pub(super) fn hit(&mut self, slot: usize) {
        self.values[slot] = NEAR;
    }

    /// The way of the set that makes room: the first that is distant. `slots` are those of the set.
    #[inline]
    pub(super) fn victim(&mut self, slots: std::ops::Range<usize>) -> usize {
        let values = &mut self.values[slots];
        let greatest = values.iter().fold(NEAR, |greatest, &value| greatest.max(value));
        values.iter_mut().for_each(|value| *value += DISTANT - greatest);
        values.iter().position(|&value| value == DISTANT).expect("one is the greatest")
    }

    /// A line has come into a slot of the set.
    #[inline]
    pub(super) fn insert(&mut self, set: u32, slot: usize) {
        self.values[slot] = match &mut self.insertion {
            Insertion::Static => LONG,
            Insertion::Dynamic(duel) => duel.insert(set),
        };
    }
}

/// Set dueling (section 5): some sets insert always one way, some the other. All others do as those do that miss less.
#[derive(Debug)]
pub(super) struct Duel {
    /// Sets for each pair of leaders.
    apart: u32,
    /// 10 bits: misses of the leaders that insert with a long interval, less those of the others.
    selector: u16,
    /// Chooses which few insertions are with a long interval. A count of them would always choose those at the same places of a loop.
    chance: u64,
}

/// Pairs of leaders, where the cache has as many sets.
const LEADERS: u32 = 32;
/// The greatest value of the selector, and the least one with which others insert distant lines.
const MOST: u16 = (1 << 10) - 1;
const HALF: u16 = 1 << 9;
/// One of so many insertions is with a long interval.
const BIMODAL: u64 = 32;

impl Duel {
    pub(super) fn new(sets: u32) -> Self {
        Self { apart: (sets / LEADERS).max(2), selector: HALF, chance: 1 }
    }

    /// A set has missed: what its new line is predicted.
    fn insert(&mut self, set: u32) -> u8 {
        let bimodal = match set % self.apart {
            0 => {
                self.selector = (self.selector + 1).min(MOST);
                false
            }
            1 => {
                self.selector = self.selector.saturating_sub(1);
                true
            }
            _ => self.selector >= HALF,
        };
        if !bimodal {
            return LONG;
        }
        // Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (14), 2003.
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        if self.chance.is_multiple_of(BIMODAL) { LONG } else { DISTANT }
    }
}
