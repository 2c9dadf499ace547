//! Which guest registers the host's registers hold at a point of baseline code.
//!
//! Each write of a guest register also goes to the hart's memory, so that code may be left at any micro-op, and a register that is held may be given up.
//! Where code is entered again in the middle of a block, what is held has to be loaded, as far as it is read later.

use super::host::{GUEST, Register};

/// A guest register in one of [`GUEST`], and at which places code that is entered must have it: from the place `from` on, as long as they come before `to`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Value {
    register: Register,
    guest: u8,
    from: usize,
    to: usize,
}

/// What is held, with the guest register that was used last behind the others.
#[derive(Debug, Default)]
pub(super) struct Held {
    now: Vec<Value>,
    /// What was held before.
    before: Vec<Value>,
}

impl Held {
    /// Where a guest register is held, if it is. It is read there, behind so many places.
    pub(super) fn read(&mut self, guest: u8, places: usize) -> Option<Register> {
        let position = self.now.iter().position(|value| value.guest == guest)?;
        let mut found = self.now.remove(position);
        found.to = places;
        self.now.push(found);
        Some(found.register)
    }

    /// Where another value of a guest register is held from now on. That which was used longest ago gives way.
    pub(super) fn hold(&mut self, guest: u8, places: usize) -> Register {
        let known = self.now.iter().position(|value| value.guest == guest);
        let free = GUEST.into_iter().find(|register| self.now.iter().all(|value| value.register != *register));
        let register = match (known, free) {
            (None, Some(free)) => free,
            _ => {
                let old = self.now.remove(known.unwrap_or(0));
                self.before.push(old);
                old.register
            }
        };
        // It is not read yet.
        self.now.push(Value { register, guest, from: places, to: places });
        register
    }

    /// What code that is entered at a place must have.
    pub(super) fn needed_at(&self, place: usize) -> impl Iterator<Item = (Register, u8)> {
        let values = self.before.iter().chain(&self.now).filter(move |value| (value.from..value.to).contains(&place));
        values.map(|value| (value.register, value.guest))
    }

    /// Nothing is held.
    pub(super) fn clear(&mut self) {
        self.before.append(&mut self.now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_register_used_longest_ago_gives_way() {
        let mut held = Held::default();
        let registers: Vec<Register> = (1..=4).map(|guest| held.hold(guest, 0)).collect();
        assert_eq!(registers, GUEST);
        assert_eq!(held.read(1, 0), Some(GUEST[0]));
        assert_eq!(held.hold(5, 0), GUEST[1], "2 was used longest ago");
        assert_eq!(held.read(2, 0), None);
        assert_eq!(held.hold(5, 0), GUEST[1], "it is held already");
    }

    #[test]
    fn what_is_read_behind_a_place_is_needed_there() {
        let mut held = Held::default();
        held.hold(1, 0);
        held.hold(2, 0);
        // A place 0. Then 1 is read, and 2 gets another value before it is.
        held.read(1, 1);
        held.hold(2, 1);
        held.read(2, 1);
        assert_eq!(held.needed_at(0).collect::<Vec<_>>(), [(GUEST[0], 1)]);
        // A place 1, behind which both are read.
        held.read(1, 2);
        held.read(2, 2);
        held.clear();
        let mut needed: Vec<u8> = held.needed_at(1).map(|(_, guest)| guest).collect();
        needed.sort_unstable();
        assert_eq!(needed, [1, 2]);
        assert_eq!(held.needed_at(2).count(), 0);
    }
}
