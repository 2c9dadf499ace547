//! Traps that follow each other so closely that no handler can have done anything: what a guest does whose trap vector is wrong.
//!
//! The cycles of ordinary traps are part of the host model's cycles per instruction, an average over whole programs. Traps without
//! instructions between them have none to be part of, so they cost simulated time of their own: else a guest that does nothing but trap
//! would stop its clock, and no time limit would end it.

use crate::trap::cause_name;
use core::fmt;

/// A trap taken after fewer instructions than this since the trap before it is a nested one. A handler that comes back has to save the
/// registers that it uses and restore them, which takes more; the shortest of Linux and of vos take well above 60.
pub const NESTED_TRAP_INSTRUCTIONS: u64 = 32;

/// As many nested traps in a row are a loop.
const LOOP: u64 = 1000;

/// What a hart remembers of its latest traps. It is no architectural state: a snapshot does not hold it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TrapHistory {
    /// Instructions retired when the latest trap was taken; `None` before the first.
    latest: Option<u64>,
    /// Nested traps in a row, up to the latest.
    nested: u64,
    /// Instructions retired when the first of them was taken.
    since: u64,
}

impl TrapHistory {
    /// A trap is taken after `instructions`; whether it is a nested one.
    pub(crate) fn taken(&mut self, instructions: u64) -> bool {
        let before = self.latest.replace(instructions);
        let nested = before.is_some_and(|before| instructions - before < NESTED_TRAP_INSTRUCTIONS);
        if !nested {
            self.nested = 0;
        } else if self.nested == 0 {
            (self.nested, self.since) = (1, instructions);
        } else {
            self.nested += 1;
        }
        nested
    }

    /// The loop that the hart is in after `instructions`, if it is in one; `pc` and `cause` are those of the latest trap.
    pub(crate) fn found(&self, instructions: u64, pc: u64, cause: u64) -> Option<TrapLoop> {
        let still = self.latest.is_some_and(|latest| instructions - latest < NESTED_TRAP_INSTRUCTIONS);
        (still && self.nested >= LOOP).then(|| TrapLoop {
            pc,
            cause,
            traps: self.nested,
            instructions: instructions - self.since,
        })
    }
}

/// A loop of nested traps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrapLoop {
    /// `sepc` of the latest trap.
    pub pc: u64,
    /// Its `scause`.
    pub cause: u64,
    /// How many traps the loop has had.
    pub traps: u64,
    /// Instructions retired since its first trap.
    pub instructions: u64,
}

impl fmt::Display for TrapLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pc, cause, traps, instructions } = *self;
        let cause = cause_name(cause);
        match instructions {
            0 => write!(f, "traps without retiring an instruction at pc {pc:#x} ({cause}, {traps} times)"),
            _ => {
                let every = match instructions.div_ceil(traps) {
                    1 => "instruction".to_owned(),
                    several => format!("{several} instructions"),
                };
                write!(f, "traps after every {every} at pc {pc:#x} ({cause}, {traps} times)")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traps_with_a_handler_between_them_are_not_nested() {
        let mut history = TrapHistory::default();
        assert!(!history.taken(5), "there is no trap before the first");
        assert!(!history.taken(5 + NESTED_TRAP_INSTRUCTIONS));
        assert!(history.taken(5 + 2 * NESTED_TRAP_INSTRUCTIONS - 1));
        assert!(!history.taken(10_000));
        assert_eq!(history.found(10_000, 0, 2), None);
    }

    #[test]
    fn a_loop_is_found_while_it_lasts_and_said_in_words() {
        let mut history = TrapHistory::default();
        (0..=LOOP).for_each(|_| {
            history.taken(7);
        });
        let said = history.found(7, 0x10, 1).unwrap().to_string();
        assert_eq!(said, "traps without retiring an instruction at pc 0x10 (instruction access fault, 1000 times)");
        assert_eq!(history.found(7 + NESTED_TRAP_INSTRUCTIONS, 0x10, 1), None, "it has gone on");
        let mut history = TrapHistory::default();
        (0..=LOOP).for_each(|n| {
            history.taken(2 * n);
        });
        let said = history.found(2 * LOOP, 0x10, 1 << 63 | 5).unwrap().to_string();
        assert!(said.starts_with("traps after every 2 instructions at pc 0x10 (supervisor timer interrupt"), "{said}");
    }
}
