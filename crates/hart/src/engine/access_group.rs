//! Accesses in a row off the same base register, which are mostly in one page: those of a structure, of a stack frame, and the store that follows the load of
//! what it changes. Code that is made for them compares addresses once for all of them. Where that fails, each of them is compared by itself.
//!
//! What lies between them only computes. So all of them are made or none is: a time and a count for the last of them is one for each.

use super::operands::Operands;
use crate::{
    EntryLayout,
    code::translations::Translations,
    microop::MicroOp,
    ops::{Class, Opcode},
};

/// Bytes that a group spans at most. The chance that a page ends in it is a sixteenth at most.
const SPAN: i64 = 256;

/// A group of accesses. Offsets are from the base register, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::engine) struct AccessGroup {
    /// The base register.
    pub(in crate::engine) base: u8,
    /// The offset that is compared: a multiple of the width away from the widest access, and the first of them or less.
    pub(in crate::engine) first: i32,
    /// The distance from there to the last bytes, a multiple of the width.
    pub(in crate::engine) to_last: i32,
    /// Bytes of the widest access. If the compared offset is aligned to it, all accesses are aligned.
    pub(in crate::engine) width: i8,
    /// How many loads there are, and how many stores.
    pub(in crate::engine) loads: i32,
    pub(in crate::engine) stores: i32,
    /// The slot of the last access.
    pub(in crate::engine) end: usize,
}

impl AccessGroup {
    /// The group that begins with the access in `slot`, if there is another one in it. `computes` says of which micro-ops in between code is made that only
    /// computes: it leaves nowhere.
    pub(in crate::engine) fn at(
        code: &Translations,
        layout: EntryLayout,
        slot: usize,
        computes: impl Fn(Opcode) -> bool,
    ) -> Option<Self> {
        Self::of((slot..).map(|slot| (slot, code.slot(slot))), layout.loads_hit_with_stores, computes)
    }

    /// The same for micro-ops with their slots. `mixes`: whether a group may have loads and stores.
    fn of<'o>(
        micro_ops: impl Iterator<Item = (usize, (Opcode, &'o MicroOp))>,
        mixes: bool,
        computes: impl Fn(Opcode) -> bool,
    ) -> Option<Self> {
        let mut group: Option<Self> = None;
        for (slot, (opcode, op)) in micro_ops {
            if is_access(opcode) {
                let is_other_kind = group.is_some_and(|group| group.stores() != is_store(opcode));
                if is_other_kind && !mixes {
                    break;
                }
                let Some(grown) = Self::with(group, slot, opcode, op) else { break };
                group = Some(grown);
            } else if !computes(opcode) {
                break;
            }
            let base = group?.base;
            if Operands::of(opcode, op).written.integers().any(|register| register == base) {
                break;
            }
        }
        group.filter(|group| group.accesses() > 1)
    }

    /// The group with a further access, if that belongs to it.
    fn with(group: Option<Self>, slot: usize, opcode: Opcode, op: &MicroOp) -> Option<Self> {
        let width = width_in_bytes(opcode);
        let (loads, stores) = if is_store(opcode) { (0, 1) } else { (1, 0) };
        let alone = Self { base: op.rs1, first: op.imm, to_last: 0, width, loads, stores, end: slot };
        let Some(group) = group else { return Some(alone) };
        if op.rs1 != group.base {
            return None;
        }
        let (wide, narrow) = if width > group.width { (alone, group) } else { (group, alone) };
        let unit = i64::from(wide.width);
        let from_wide = i64::from(narrow.first) - i64::from(wide.first);
        if from_wide % i64::from(narrow.width) != 0 {
            return None;
        }
        let begins = from_wide.div_euclid(unit).min(0) * unit;
        let ends = (from_wide + i64::from(narrow.to_last)).div_euclid(unit).max(i64::from(wide.to_last) / unit) * unit;
        let to_last = ends - begins;
        let first = i32::try_from(i64::from(wide.first) + begins).ok()?;
        (to_last + unit <= SPAN).then_some(Self {
            first,
            to_last: to_last as i32,
            width: wide.width,
            loads: group.loads + loads,
            stores: group.stores + stores,
            end: slot,
            ..group
        })
    }

    /// How many accesses there are.
    pub(in crate::engine) fn accesses(&self) -> i32 {
        self.loads + self.stores
    }

    /// Whether there are stores: then all accesses hit where a store hits.
    pub(in crate::engine) fn stores(&self) -> bool {
        self.stores > 0
    }

    /// Bytes from the compared address to that of an access of the group.
    pub(in crate::engine) fn distance(&self, op: &MicroOp) -> i32 {
        op.imm - self.first
    }
}

/// Whether it is a load or store that code is made for.
pub(in crate::engine) fn is_access(opcode: Opcode) -> bool {
    is_store(opcode) || matches!(opcode.class(), Class::load | Class::float_load)
}

/// Whether it is a store.
pub(in crate::engine) fn is_store(opcode: Opcode) -> bool {
    matches!(opcode.class(), Class::store | Class::float_store)
}

/// Bytes that a load or store moves.
pub(in crate::engine) fn width_in_bytes(opcode: Opcode) -> i8 {
    use Opcode as O;
    match opcode {
        O::Lb | O::Lbu | O::Sb => 1,
        O::Lh | O::Lhu | O::Sh => 2,
        O::Lw | O::Lwu | O::Sw | O::Flw | O::Fsw => 4,
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bus::DataView, hart::Hart};

    unsafe extern "C" fn handler(_: *mut Hart, _: *mut MicroOp, _: u64, _: DataView, _: *mut ()) -> u64 {
        unreachable!("no micro-op is executed")
    }

    /// A micro-op whose base register is 2.
    fn op(opcode: Opcode, rd: u8, imm: i32) -> (Opcode, MicroOp) {
        (opcode, MicroOp { handler, imm, rd, rs1: 2, rs2: 0 })
    }

    fn group(micro_ops: &[(Opcode, MicroOp)]) -> Option<AccessGroup> {
        let slots = micro_ops.iter().enumerate().map(|(slot, (opcode, op))| (slot, (*opcode, op)));
        AccessGroup::of(slots, true, |opcode| opcode == Opcode::Addi)
    }

    #[test]
    fn a_group_covers_each_of_its_accesses() {
        let frame = [op(Opcode::Sd, 8, 24), op(Opcode::Addi, 9, 1), op(Opcode::Sd, 9, 8), op(Opcode::Lw, 5, 20)];
        let expected = AccessGroup { base: 2, first: 8, to_last: 16, width: 8, loads: 1, stores: 2, end: 3 };
        assert_eq!(group(&frame), Some(expected));
        // A wider access than those before: the compared offset is a multiple of its width away.
        let widening = [op(Opcode::Lbu, 5, 3), op(Opcode::Lhu, 5, 12), op(Opcode::Ld, 5, 16)];
        let expected = AccessGroup { base: 2, first: 0, to_last: 16, width: 8, loads: 3, stores: 0, end: 2 };
        assert_eq!(group(&widening), Some(expected));
        // A load and a store of the same bytes.
        let update = [op(Opcode::Lw, 5, -4), op(Opcode::Addi, 5, 1), op(Opcode::Sw, 5, -4)];
        let expected = AccessGroup { base: 2, first: -4, to_last: 0, width: 4, loads: 1, stores: 1, end: 2 };
        assert_eq!(group(&update), Some(expected));
    }

    #[test]
    fn a_group_ends_before_what_does_not_belong_to_it() {
        let ends = |second| group(&[op(Opcode::Ld, 5, 0), second]).map(|group| group.end);
        assert_eq!(ends(op(Opcode::Ld, 6, 248)), Some(1));
        assert_eq!(ends(op(Opcode::Ld, 6, 256)), None, "it is too far away");
        assert_eq!(ends(op(Opcode::Lw, 6, 2)), None, "both cannot be aligned");
        let other_base = MicroOp { rs1: 3, ..op(Opcode::Ld, 6, 8).1 };
        assert_eq!(ends((Opcode::Ld, other_base)), None);
        let between = |middle| group(&[op(Opcode::Ld, 5, 0), middle, op(Opcode::Ld, 6, 8)]);
        assert!(between(op(Opcode::Addi, 7, 1)).is_some());
        assert_eq!(between(op(Opcode::Beq, 0, 0)), None, "it may leave the code");
        assert_eq!(between(op(Opcode::Addi, 2, 8)), None, "the base is another");
    }

    #[test]
    fn loads_and_stores_are_apart_where_one_tag_does_not_tell_for_both() {
        let update = [op(Opcode::Lw, 5, 0), op(Opcode::Lw, 6, 4), op(Opcode::Sw, 5, 0), op(Opcode::Sw, 6, 4)];
        let end = |mixes| {
            let slots = update.iter().enumerate().map(|(slot, (opcode, op))| (slot, (*opcode, op)));
            AccessGroup::of(slots, mixes, |_| false).map(|group| group.end)
        };
        assert_eq!((end(true), end(false)), (Some(3), Some(1)));
    }

    #[test]
    fn an_access_that_loads_its_base_is_the_last() {
        let chased = [op(Opcode::Ld, 5, 0), op(Opcode::Ld, 2, 8), op(Opcode::Ld, 6, 16)];
        assert_eq!(group(&chased).map(|group| group.end), Some(1));
        // Floating-point register 2 is another one.
        let floats = [op(Opcode::Fld, 2, 0), op(Opcode::Fld, 2, 8)];
        assert_eq!(group(&floats).map(|group| group.end), Some(1));
    }
}
