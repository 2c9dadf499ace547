//! Direct segments and their escape filters.

use types::PageSize;

/// One segment: `base..limit` leads to itself plus `offset`, but for what the filter holds.
#[derive(Clone, Debug)]
pub struct Segment {
    /// First address.
    pub base: u64,
    /// The one after the last.
    pub limit: u64,
    /// What is added, modulo 2^64.
    pub offset: u64,
    /// Addresses whose 4K pages escape.
    pub escaping: Vec<u64>,
    /// Bits of the filter.
    pub bits: u64,
    /// Its hash functions.
    pub hashes: u64,
}

/// What a segment does with an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Nothing.
    Outside,
    /// It leaves it to paging.
    Escapes,
    /// It translates it, as part of a page of this size.
    Translated(u64, PageSize),
}

/// A random number for each index.
fn random(index: u64) -> u64 {
    let mut state = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for (shift, factor) in [(30, 0xbf58_476d_1ce4_e5b9), (27, 0x94d0_49bb_1331_11eb), (31, 1)] {
        state = (state ^ (state >> shift)).wrapping_mul(factor);
    }
    state
}

/// Hash function number `function` of a page number of 52 bits: H3.
fn hash(function: u64, number: u64) -> u64 {
    let mut sum = 0;
    for bit in 0..52 {
        if (number >> bit) % 2 == 1 {
            sum ^= random(function * 52 + bit);
        }
    }
    sum
}

impl Segment {
    /// Whether the filter says that a page holds something that escapes: for every hash function, some page that was inserted has the same
    /// hash in its part of the filter.
    fn may_escape(&self, address: u64, size: PageSize) -> bool {
        if self.escaping.is_empty() {
            return false;
        }
        if size > PageSize::Size1G {
            return true;
        }
        let part = self.bits / self.hashes;
        let place = |function, address: u64| hash(function, address / size.bytes()) % part;
        (0..self.hashes)
            .all(|function| self.escaping.iter().any(|&other| place(function, other) == place(function, address)))
    }

    /// Translates an address, as part of a page of at most `largest`.
    pub(crate) fn translate(&self, address: u64, largest: PageSize) -> Verdict {
        if address < self.base || address >= self.limit {
            return Verdict::Outside;
        }
        for size in PageSize::ALL.into_iter().rev().filter(|&size| size <= largest) {
            let first = u128::from(address / size.bytes() * size.bytes());
            let end = first + u128::from(size.bytes());
            let whole = first >= u128::from(self.base) && end <= u128::from(self.limit);
            if whole && self.offset.is_multiple_of(size.bytes()) && !self.may_escape(address, size) {
                return Verdict::Translated(address.wrapping_add(self.offset), size);
            }
        }
        Verdict::Escapes
    }
}

/// The leaf that a guest's segment is equivalent to: V, R, W, U, A and D.
pub(crate) const GUEST_LEAF: u64 = 0b1101_0111;
