//! Templates of loads and stores: the hit path of [`memory`](crate::ops::memory), for a bus that says how
//! ([`EntryLayout`]).

use super::guest::Needed;
use super::host::{
    A, ACC, B, C, Code, Condition, ENTRY, ENVIRONMENT, HART, Host, OP, Register, VIEW, add, at, at_sum, field, jump,
};
use super::scope::has_template;
use super::templates::{Access, Rare, Templates};
use crate::{
    EntryLayout,
    hart::{Hart, SINK},
    microop::{MicroOp, accumulator},
    ops::{Class, Opcode},
};
use cranelift_assembler_x64::{Amode, inst};
use std::mem::offset_of;

impl Templates<'_> {
    /// A load or store that hits; one that does not is executed by its handler.
    pub(super) fn access(&mut self, opcode: Opcode, op: &MicroOp, slot: usize) {
        let stores = matches!(opcode.class(), Class::store | Class::float_store);
        let base = self.read(op.rs1);
        let value = (opcode.class() == Class::store).then(|| self.read(op.rd));
        inst::leaq_rm::<Host>::new(A, at(base, op.imm)).encode(&mut self.output.code);
        let follows = match &mut self.block.latest {
            Some(latest) if latest.what.base == op.rs1 => {
                latest.read(self.block.places);
                true
            }
            _ => {
                self.find_entry(slot);
                let latest = Needed::new(Access { slot, base: op.rs1 }, self.block.places);
                self.block.accesses.extend(self.block.latest.replace(latest));
                false
            }
        };
        let layout = self.bus.entry;
        let tag = if stores { layout.write_tag } else { layout.read_tag };
        let code = &mut self.output.code;
        compare_tag(code, layout, tag, opcode);
        let from = jump(code, Condition::NotEqual);
        // A store to another page mostly misses, and an access that follows another is rarely in another page: their handlers search.
        let misses = if stores || follows {
            Rare::HandOver { from, slot }
        } else {
            Rare::OtherPage { from, slot, back: code.len() }
        };
        self.block.rare.push(misses);
        inst::addq_rm::<Host>::new(A, field(ENTRY, layout.addend)).encode(code);
        if stores {
            // A store to translated code is its handler's.
            inst::movq_rm::<Host>::new(B, A).encode(code);
            inst::shrq_mi::<Host>::new(B, 12).encode(code);
            inst::movq_rm::<Host>::new(C, field(ENVIRONMENT, self.bus.code_map)).encode(code);
            inst::cmpb_mi::<Host>::new(at_sum(C, B), 0).encode(code);
            let is_code = jump(code, Condition::NotEqual);
            self.block.rare.push(Rare::HandOver { from: is_code, slot });
        }
        // The time of the access has 32 bits, and the upper half of the field is 0.
        inst::movl_mr::<Host>::new(field(ENTRY, layout.stamp), ACC).encode(code);
        match value {
            Some(value) => self.store(opcode, value),
            None => self.move_value(opcode, op),
        }
        add(&mut self.output.code, ACC, accumulator::ACCESS as i32);
        if has_template(self.translations.slot(slot + 1).0, self.bus) {
            self.block.rare.push(Rare::Resume { slot: slot + 1, to: self.output.code.len(), place: self.block.places });
            self.block.places += 1;
        }
    }

    /// [`ENTRY`] is the entry that the micro-op in `slot` hit last.
    pub(super) fn find_entry(&mut self, slot: usize) {
        let predicted = at(OP, self.distance(slot) + offset_of!(MicroOp, rs2) as i32);
        let code = &mut self.output.code;
        inst::movzwl_rm::<Host>::new(ENTRY, predicted).encode(code);
        inst::shlq_mi::<Host>::new(ENTRY, self.bus.entry.shift).encode(code);
        inst::addq_rm::<Host>::new(ENTRY, VIEW).encode(code);
    }

    /// Stores a value at [`A`].
    fn store(&mut self, opcode: Opcode, value: Register) {
        let code = &mut self.output.code;
        match opcode {
            Opcode::Sb => inst::movb_mr::<Host>::new(at(A, 0), value).encode(code),
            Opcode::Sh => inst::movw_mr::<Host>::new(at(A, 0), value).encode(code),
            Opcode::Sw => inst::movl_mr::<Host>::new(at(A, 0), value).encode(code),
            _ => inst::movq_mr::<Host>::new(at(A, 0), value).encode(code),
        }
    }

    /// Loads from [`A`], or stores a floating-point register there.
    fn move_value(&mut self, opcode: Opcode, op: &MicroOp) {
        use Opcode as O;
        let here = at(A, 0);
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
}

/// Appends the comparison of the address in [`A`] with a tag of the entry: they are equal where the access hits.
pub(super) fn compare_tag(code: &mut Code, layout: EntryLayout, tag: usize, opcode: Opcode) {
    inst::movq_rm::<Host>::new(C, field(ENTRY, layout.mask)).encode(code);
    let low = width_in_bytes(opcode) - 1;
    if low != 0 {
        inst::orq_mi_sxb::<Host>::new(C, low).encode(code);
    }
    inst::andq_rm::<Host>::new(C, A).encode(code);
    inst::cmpq_rm::<Host>::new(C, field(ENTRY, tag)).encode(code);
}

/// Where the hart has a floating-point register.
fn of_float(number: u8) -> Amode<Register> {
    field(HART, offset_of!(Hart, f) + usize::from(number) * 8)
}

fn width_in_bytes(opcode: Opcode) -> i8 {
    use Opcode as O;
    match opcode {
        O::Lb | O::Lbu | O::Sb => 1,
        O::Lh | O::Lhu | O::Sh => 2,
        O::Lw | O::Lwu | O::Sw | O::Flw | O::Fsw => 4,
        _ => 8,
    }
}
