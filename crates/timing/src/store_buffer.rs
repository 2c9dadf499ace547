//! The store buffer.

use crate::ticks::Ticks;
use keys::{key, model};
use serde::{Deserialize, Serialize};

model! {
    /// The store buffer of a core.
    #[derive(Copy)]
    pub struct StoreModel {
        pub entries: u32 => key("stores that have been dispatched and are not in the L1D yet").number(1, 1024).unit("stores"),
        pub drain: Drain => key("the order in which stores leave the store buffer: `in-order`, or `out-of-order`"),
    }
}

/// The order in which stores leave the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Drain {
    /// That of the program, as total store order has it.
    InOrder,
    /// Any.
    OutOfOrder,
}

/// A number of entries. A store has one from its dispatch until its line is in the L1D and it has retired.
#[derive(Debug)]
pub(crate) struct StoreBuffer {
    drain: Drain,
    /// When each entry is free. In order, that is a ring.
    free_from: Vec<Ticks>,
    /// The entry that the next store gets, as far as known.
    next: usize,
    empty_from: Ticks,
}

impl StoreBuffer {
    pub(crate) fn new(model: &StoreModel) -> Self {
        let free_from = vec![Ticks(0); model.entries as usize];
        Self { drain: model.drain, free_from, next: 0, empty_from: Ticks(0) }
    }

    /// When the entry for the next store is free.
    #[inline]
    pub(crate) fn free_from(&mut self) -> Ticks {
        match self.drain {
            Drain::InOrder => {}
            Drain::OutOfOrder => {
                let entries = self.free_from.iter().enumerate();
                self.next = entries.min_by_key(|&(_, free)| free).map_or(0, |(number, _)| number);
            }
        }
        self.free_from[self.next]
    }

    /// The store that the entry was asked for may leave it at a time.
    #[inline]
    pub(crate) fn fill(&mut self, leaves: Ticks) {
        let leaves = match self.drain {
            Drain::InOrder => leaves.max(self.empty_from),
            Drain::OutOfOrder => leaves,
        };
        self.free_from[self.next] = leaves;
        self.empty_from = self.empty_from.max(leaves);
        self.next += 1;
        if self.next == self.free_from.len() {
            self.next = 0;
        }
    }

    /// Becomes a copy of another buffer with as many entries.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        let Self { drain, free_from, next, empty_from } = other;
        (self.drain, self.next, self.empty_from) = (*drain, *next, *empty_from);
        self.free_from.copy_from_slice(free_from);
    }

    /// When all stores so far have left.
    pub(crate) fn empty_from(&self) -> Ticks {
        self.empty_from
    }
}
