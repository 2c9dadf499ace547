//! Templates of loads and stores: the hit path of [`memory`](crate::ops::memory), for a bus that says how
//! ([`EntryLayout`]).

use super::guest::Needed;
use super::host::{
    A, ACC, B, C, Code, Condition, ENTRY, ENVIRONMENT, HART, Host, OP, Register, VIEW, add, at, at_sum, copy, field,
    jump,
};
use super::other_page::find_slot;
use super::scope::has_template;
use super::templates::{Access, Rare, Templates};
use crate::{
    EntryLayout,
    engine::access_group::{AccessGroup, is_store, width_in_bytes},
    hart::{Hart, SINK},
    microop::{MicroOp, accumulator},
    ops::{Class, Opcode},
};
use cranelift_assembler_x64::{Amode, inst};
use std::mem::offset_of;

impl Templates<'_> {
    /// A load or store that hits; one that does not is executed by its handler.
    pub(super) fn access(&mut self, opcode: Opcode, op: &MicroOp, slot: usize) {
        let base = self.read(op.rs1);
        let value = self.value_of_store(opcode, op);
        inst::leaq_rm::<Host>::new(A, at(base, op.imm)).encode(&mut self.output.code);
        let follows = self.follows(op.rs1);
        if !follows {
            let latest = Needed::new(Access { slot, base: op.rs1 }, self.block.places);
            self.block.accesses.extend(self.block.latest.replace(latest));
        }
        let layout = self.bus.entry;
        let stores = is_store(opcode);
        self.go_on_if_hit(slot, tag(layout, stores), width_in_bytes(opcode));
        inst::addq_rm::<Host>::new(A, field(ENTRY, layout.addend)).encode(&mut self.output.code);
        if stores {
            self.hand_over_if_code(slot);
        }
        // The time of the access has 32 bits, and the upper half of the field is 0.
        inst::movl_mr::<Host>::new(field(ENTRY, layout.stamp), ACC).encode(&mut self.output.code);
        self.move_value((opcode, op), value, at(A, 0));
        add(&mut self.output.code, ACC, accumulator::ACCESS as i32);
        self.resume_behind(slot);
    }

    /// The comparisons of a group of accesses, of which that in `slot` is the first. From here to its last access, [`ENTRY`] is where the compared byte lies.
    pub(super) fn begin_group(&mut self, group: &AccessGroup, slot: usize) {
        let base = self.read(group.base);
        inst::leaq_rm::<Host>::new(A, at(base, group.first)).encode(&mut self.output.code);
        self.follows(group.base);
        self.block.accesses.extend(self.block.latest.take());
        let layout = self.bus.entry;
        let opcode = self.translations.slot(slot).0;
        let (stores, narrow) = (is_store(opcode), width_in_bytes(opcode) < group.width);
        self.go_on_if_hit(slot, tag(layout, stores), group.width);
        // A look has compared only what the first access needs.
        if group.is_mixed() || narrow {
            let other = tag(layout, if group.is_mixed() { !stores } else { stores });
            let code = &mut self.output.code;
            inst::leaq_rm::<Host>::new(B, at(A, group.to_last)).encode(code);
            compare_tag(code, layout, (B, other), group.width);
            self.hand_over_if(Condition::NotEqual, slot);
        } else if group.to_last != 0 {
            let code = &mut self.output.code;
            inst::leaq_rm::<Host>::new(B, at(A, group.to_last)).encode(code);
            inst::xorq_rm::<Host>::new(B, A).encode(code);
            inst::testl_mi::<Host>::new(B, 0xffff_f000_u32).encode(code);
            self.hand_over_if(Condition::NotEqual, slot);
        }
        inst::addq_rm::<Host>::new(A, field(ENTRY, layout.addend)).encode(&mut self.output.code);
        if group.stores > 0 {
            self.hand_over_if_code(slot);
        }
        let code = &mut self.output.code;
        add(code, ACC, group.accesses() - 1);
        inst::movl_mr::<Host>::new(field(ENTRY, layout.stamp), ACC).encode(code);
        add(code, ACC, accumulator::ACCESS as i32);
        copy(code, ENTRY, A);
        self.block.group = Some(*group);
    }

    /// An access of the group that has begun.
    pub(super) fn access_of_group(&mut self, group: &AccessGroup, (opcode, op): (Opcode, &MicroOp), slot: usize) {
        let value = self.value_of_store(opcode, op);
        self.move_value((opcode, op), value, at(ENTRY, group.distance(op)));
        if slot == group.end {
            self.block.group = None;
            self.resume_behind(slot);
        }
    }

    /// The host register with what an integer store stores.
    fn value_of_store(&mut self, opcode: Opcode, op: &MicroOp) -> Option<Register> {
        (opcode.class() == Class::store).then(|| self.read(op.rd))
    }

    /// Finds the entry that an access to the address in [`A`] begins with. Returns whether it is the one that the latest access has hit, off the same base register.
    fn follows(&mut self, base: u8) -> bool {
        let places = self.block.places;
        match &mut self.block.latest {
            Some(latest) if latest.what.base == base => {
                latest.read(places);
                true
            }
            _ => {
                let code = &mut self.output.code;
                find_slot(code, self.bus.page_slots);
                inst::shlq_mi::<Host>::new(ENTRY, self.bus.entry.shift).encode(code);
                inst::addq_rm::<Host>::new(ENTRY, VIEW).encode(code);
                false
            }
        }
    }

    /// Goes on where the address in [`A`] hits the entry.
    fn go_on_if_hit(&mut self, slot: usize, tag: usize, width: i8) {
        let code = &mut self.output.code;
        compare_tag(code, self.bus.entry, (A, tag), width);
        let from = jump(code, Condition::NotEqual);
        self.block.rare.push(Rare::OtherPage { from, slot, back: code.len() });
    }

    /// A store to translated code is its handler's. [`A`] is where the host has the byte.
    fn hand_over_if_code(&mut self, slot: usize) {
        let code = &mut self.output.code;
        inst::movq_rm::<Host>::new(B, A).encode(code);
        inst::shrq_mi::<Host>::new(B, 12).encode(code);
        inst::movq_rm::<Host>::new(C, field(ENVIRONMENT, self.bus.code_map)).encode(code);
        inst::cmpb_mi::<Host>::new(at_sum(C, B), 0).encode(code);
        self.hand_over_if(Condition::NotEqual, slot);
    }

    /// The handler executes the micro-op on this condition.
    fn hand_over_if(&mut self, condition: Condition, slot: usize) {
        let from = jump(&mut self.output.code, condition);
        self.block.rare.push(Rare::HandOver { from, slot });
    }

    /// Handlers come back behind the micro-op.
    fn resume_behind(&mut self, slot: usize) {
        if has_template(self.translations.slot(slot + 1).0, self.bus) {
            self.block.rare.push(Rare::Resume { slot: slot + 1, to: self.output.code.len(), place: self.block.places });
            self.block.places += 1;
        }
    }

    /// [`ENTRY`] is the entry that the micro-op in `slot` hit last, as its handler knows it.
    pub(super) fn find_entry(&mut self, slot: usize) {
        let predicted = at(OP, self.distance(slot) + offset_of!(MicroOp, rs2) as i32);
        let code = &mut self.output.code;
        inst::movzwl_rm::<Host>::new(ENTRY, predicted).encode(code);
        inst::shlq_mi::<Host>::new(ENTRY, self.bus.entry.shift).encode(code);
        inst::addq_rm::<Host>::new(ENTRY, VIEW).encode(code);
    }

    /// Loads from `here`, or stores there: an integer, or a floating-point register.
    fn move_value(&mut self, (opcode, op): (Opcode, &MicroOp), value: Option<Register>, here: Amode<Register>) {
        use Opcode as O;
        if let Some(value) = value {
            return self.store(opcode, value, here);
        }
        match opcode {
            O::Fsd | O::Fsw => {
                let code = &mut self.output.code;
                inst::movq_rm::<Host>::new(C, of_float(op.rd)).encode(code);
                if opcode == O::Fsd {
                    inst::movq_mr::<Host>::new(here, C).encode(code);
                } else {
                    inst::movl_mr::<Host>::new(here, C).encode(code);
                }
            }
            O::Fld | O::Flw => {
                let code = &mut self.output.code;
                if opcode == O::Fld {
                    inst::movq_rm::<Host>::new(C, here).encode(code);
                } else {
                    // The upper half of a boxed single is ones.
                    inst::movq_mi_sxl::<Host>::new(C, -1).encode(code);
                    inst::shlq_mi::<Host>::new(C, 32).encode(code);
                    inst::movl_rm::<Host>::new(B, here).encode(code);
                    inst::orq_rm::<Host>::new(C, B).encode(code);
                }
                inst::movq_mr::<Host>::new(of_float(op.rd), C).encode(code);
            }
            // What the bytes are matters to nothing.
            _ if op.rd == SINK => {}
            _ => {
                let to = self.write(op.rd);
                let code = &mut self.output.code;
                match opcode {
                    O::Lb => inst::movsbq_rm::<Host>::new(to, here).encode(code),
                    O::Lbu => inst::movzbl_rm::<Host>::new(to, here).encode(code),
                    O::Lh => inst::movswq_rm::<Host>::new(to, here).encode(code),
                    O::Lhu => inst::movzwl_rm::<Host>::new(to, here).encode(code),
                    O::Lw => inst::movslq_rm::<Host>::new(to, here).encode(code),
                    O::Lwu => inst::movl_rm::<Host>::new(to, here).encode(code),
                    _ => inst::movq_rm::<Host>::new(to, here).encode(code),
                }
                self.written(op.rd, to);
            }
        }
    }

    fn store(&mut self, opcode: Opcode, value: Register, here: Amode<Register>) {
        let code = &mut self.output.code;
        match opcode {
            Opcode::Sb => inst::movb_mr::<Host>::new(here, value).encode(code),
            Opcode::Sh => inst::movw_mr::<Host>::new(here, value).encode(code),
            Opcode::Sw => inst::movl_mr::<Host>::new(here, value).encode(code),
            _ => inst::movq_mr::<Host>::new(here, value).encode(code),
        }
    }
}

/// Appends the comparison of the address in a register with a tag of the entry: they are equal where an access of so many bytes hits.
pub(super) fn compare_tag(code: &mut Code, layout: EntryLayout, (address, tag): (Register, usize), width: i8) {
    inst::movq_rm::<Host>::new(C, field(ENTRY, layout.mask)).encode(code);
    if width != 1 {
        inst::orq_mi_sxb::<Host>::new(C, width - 1).encode(code);
    }
    inst::andq_rm::<Host>::new(C, address).encode(code);
    inst::cmpq_rm::<Host>::new(C, field(ENTRY, tag)).encode(code);
}

/// Which tag loads or stores compare.
pub(super) fn tag(layout: EntryLayout, stores: bool) -> usize {
    if stores { layout.write_tag } else { layout.read_tag }
}

/// Where the hart has a floating-point register.
fn of_float(number: u8) -> Amode<Register> {
    field(HART, offset_of!(Hart, f) + usize::from(number) * 8)
}
