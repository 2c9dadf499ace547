//! What the maintenance of shadow tables takes: execution steps, each an instruction of the hypervisor, or of the microcode where an assist does
//! the work.
//!
//! Steps follow from work that was done: each constant is the number of instructions of a block of `routines.S`, and how often a block runs is
//! counted over the real tables: entries that walks read, tables on the list, entries looked at and removed. The ratios in tables 2 and 3 of
//! Umeno et al. (1985) are no input; `pagewalk reproduce umeno1985` compares them with what comes out.

use super::config::Clear;

/// From an exit to the routine of its cause, and back.
const DISPATCH: u64 = 15;
const DECODE: u64 = 15;
const CALL: u64 = 15;
const FAULT: u64 = 8;
const LOCK: u64 = 4;
const LEVEL: u64 = 12;
const TAKE: u64 = 6;
const TABLE: u64 = 6;
const MATCH: u64 = 3;
const REMOVE: u64 = 3;
const LEAVES: u64 = 5;
const CLEAR: u64 = 10;
const BLOCK: u64 = 3;
const FLUSH: u64 = 2;
const COMPOSE: u64 = 18;
const SEARCH: u64 = 4;
const SELECT: u64 = 10;

/// Entries of a last-level table.
const ENTRIES: u64 = 512;

/// Entries that one turn of the loop clears.
const TURN: u64 = 8;

/// Why the guest is in the hypervisor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entered {
    /// By an instruction that exits, which has to be decoded.
    Instruction,
    /// By a call.
    Call,
    /// By a refused access.
    Fault,
}

/// Of an exit, until the work itself begins, and from its end on. An assist needs neither: hardware has decoded.
pub(super) const fn exit(entered: Entered) -> u64 {
    DISPATCH
        + match entered {
            Entered::Instruction => DECODE,
            Entered::Call => CALL,
            Entered::Fault => FAULT,
        }
}

/// An invalidation by address, counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Selective {
    /// Shadow tables on the list.
    pub(super) tables: u64,
    /// Entries that walks in software read, of any table.
    pub(super) references: u64,
    /// Last entries looked at.
    pub(super) touched: u64,
    /// Entries removed.
    pub(super) cleared: u64,
}

impl Selective {
    /// Its steps.
    pub(super) const fn steps(&self) -> u64 {
        LOCK + self.tables * TABLE + self.references * LEVEL + self.touched * MATCH + self.cleared * REMOVE
    }

    /// Its steps as PPTLB, which takes the guest's own entry away first.
    pub(super) const fn partial_purge(&self) -> u64 {
        TAKE + self.steps()
    }
}

/// Of a full invalidation of so many tables on the list that clears `entries`.
pub(super) const fn full(tables: u64, entries: u64, by: Clear) -> u64 {
    let turn = match by {
        Clear::Stores => CLEAR,
        Clear::Blocks => BLOCK,
    };
    LOCK + tables * TABLE + entries.div_ceil(ENTRIES) * LEAVES + entries.div_ceil(TURN) * turn + FLUSH
}

/// Of a refused access for which walks in software read so many entries.
pub(super) const fn fault(references: u64) -> u64 {
    LOCK + references * LEVEL
}

/// Of one that ends with an entry.
pub(super) const fn validation(references: u64) -> u64 {
    fault(references) + COMPOSE
}

/// Of a switch that looks among so many tables.
pub(super) const fn switch(tables: u64) -> u64 {
    LOCK + tables * SEARCH + SELECT
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Instructions of each block of the listing.
    fn listing() -> BTreeMap<&'static str, u64> {
        let mut blocks = BTreeMap::new();
        let mut block = "";
        for line in include_str!("routines.S").lines() {
            let code = line.split('#').next().unwrap_or_default();
            let is_label = !code.starts_with(' ') && code.trim_end().ends_with(':');
            if is_label {
                block = code.trim_end().trim_end_matches(':');
            } else if !code.trim().is_empty() {
                *blocks.entry(block).or_insert(0) += 1;
            }
        }
        blocks
    }

    #[test]
    fn steps_are_the_instructions_of_the_listing() {
        let counted = BTreeMap::from([
            ("dispatch", DISPATCH),
            ("decode", DECODE),
            ("call", CALL),
            ("fault", FAULT),
            ("lock", LOCK),
            ("level", LEVEL),
            ("take", TAKE),
            ("table", TABLE),
            ("match", MATCH),
            ("remove", REMOVE),
            ("leaves", LEAVES),
            ("clear", CLEAR),
            ("block", BLOCK),
            ("flush", FLUSH),
            ("compose", COMPOSE),
            ("search", SEARCH),
            ("select", SELECT),
        ]);
        assert_eq!(listing(), counted);
    }

    #[test]
    fn a_full_invalidation_grows_with_the_entries_that_it_clears() {
        let one = full(1, 4096, Clear::Stores);
        assert_eq!(full(2, 8192, Clear::Stores) - one, one - LOCK - FLUSH);
        assert!(full(1, 4096, Clear::Blocks) * 3 < one);
        assert_eq!(full(0, 0, Clear::Stores), LOCK + FLUSH);
    }

    /// By hand, from the blocks of the listing.
    #[test]
    fn each_routine_takes_its_blocks_as_often_as_it_runs_them() {
        assert_eq!([Entered::Instruction, Entered::Call, Entered::Fault].map(exit), [30, 30, 23]);
        let done = Selective { tables: 2, references: 3, touched: 5, cleared: 7 };
        assert_eq!(done.steps(), 4 + 2 * 6 + 3 * 12 + 5 * 3 + 7 * 3);
        assert_eq!(done.partial_purge(), 6 + done.steps());
        assert_eq!(full(2, 513, Clear::Stores), 4 + 2 * 6 + 2 * 5 + 65 * 10 + 2);
        assert_eq!(full(2, 513, Clear::Blocks), 4 + 2 * 6 + 2 * 5 + 65 * 3 + 2);
        assert_eq!((fault(3), validation(3), switch(3)), (4 + 3 * 12, 4 + 3 * 12 + 18, 4 + 3 * 4 + 10));
    }
}
