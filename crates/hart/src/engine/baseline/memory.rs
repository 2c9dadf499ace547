//! Templates of loads and stores. Their [hit path](super::accesses) finds the byte.

use super::accesses::{HitPath, append_hit};
use super::calls::{Form, Hit, Routine};
use super::host::{A, ACC, B, C, Condition, ENTRY, HART, Host, OP, Register, add, at, call, copy, field, jump};
use super::scope::has_template;
use super::templates::{Missed, Output, Rare, Templates, Watched};
use crate::{
    bus::Limit,
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
        self.find(Hit { stores: is_store(opcode), width: width_in_bytes(opcode), is_group: false }, slot, 0);
        self.move_value((opcode, op), value, at(A, 0));
        self.resume_behind(slot);
    }

    /// Finds where a group of accesses hits, of which that in `slot` is the first, and counts them. From here to its last access, [`ENTRY`] is where the compared
    /// byte lies.
    pub(super) fn begin_group(&mut self, group: &AccessGroup, slot: usize) {
        let base = self.read(group.base);
        inst::leaq_rm::<Host>::new(A, at(base, group.first)).encode(&mut self.output.code);
        self.find(Hit { stores: group.stores(), width: group.width, is_group: true }, slot, group.to_last);
        let code = &mut self.output.code;
        add(code, ACC, group.accesses() - 1);
        inst::movl_mr::<Host>::new(field(ENTRY, self.bus.entry.stamp), ACC).encode(code);
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

    /// Finds where the access in `slot` hits, with its address in [`A`], or a group of them up to so many bytes behind. After a look it is tried again.
    fn find(&mut self, hit: Hit, slot: usize, to_last: i32) {
        let again = self.output.code.len();
        let Output { code, calls, is_compact, .. } = &mut *self.output;
        let missed = if *is_compact {
            if hit.is_group {
                inst::movl_oi::<Host>::new(B, to_last as u32).encode(code);
            }
            calls.push((Routine::Hit(hit), call(code)));
            Missed { from: vec![jump(code, Condition::NotBelow)], slot, again, watched: None }
        } else {
            let HitPath { misses, on } = append_hit(code, self.bus, hit, Form::Inline { to_last });
            let is_plain = self.bus.entry.first(hit.stores) == Limit::PlainStores;
            Missed { from: misses, slot, again, watched: is_plain.then_some(Watched { hit, to_last, on }) }
        };
        self.block.rare.push(Rare::Missed(missed));
    }

    /// What is rare of an access. A store that is not plain may hit all the same. Else it takes a look, which comes back if it is to be tried again.
    pub(super) fn missed(&mut self, missed: Missed) {
        let distance = self.distance(missed.slot);
        let Output { code, calls, .. } = &mut *self.output;
        let here = code.len();
        missed.from.into_iter().for_each(|from| code.lead(from, here));
        if let Some(Watched { hit, to_last, on }) = missed.watched {
            if hit.is_group {
                inst::movl_oi::<Host>::new(B, to_last as u32).encode(code);
            }
            calls.push((Routine::Watched(hit), call(code)));
            let hits = jump(code, Condition::Below);
            code.lead(hits, on);
        }
        inst::leaq_rm::<Host>::new(B, at(OP, distance)).encode(code);
        calls.push((Routine::Look(self.translations.slot(missed.slot).0), call(code)));
        let back = jump(code, Condition::Always);
        code.lead(back, missed.again);
    }

    /// The host register with what an integer store stores.
    fn value_of_store(&mut self, opcode: Opcode, op: &MicroOp) -> Option<Register> {
        (opcode.class() == Class::store).then(|| self.read(op.rd))
    }

    /// Handlers come back behind the micro-op.
    fn resume_behind(&mut self, slot: usize) {
        if has_template(self.translations.slot(slot + 1).0, self.bus) {
            self.block.rare.push(Rare::Resume { slot: slot + 1, to: self.output.code.len(), place: self.block.places });
            self.block.places += 1;
        }
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

/// Where the hart has a floating-point register.
fn of_float(number: u8) -> Amode<Register> {
    field(HART, offset_of!(Hart, f) + usize::from(number) * 8)
}
