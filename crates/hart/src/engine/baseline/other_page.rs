//! Loads that do not hit the entry they hit last: one look at the entry where their page was found last
//! ([`PageSlots`]), as their handlers have it.
//!
//! The code is one for all loads of a kind of a batch. It goes back to the load, or on to its handler.

use super::host::{A, B, C, Code, Condition, ENTRY, Host, OP, STACK, VIEW, add, at, at_index, call, copy, field, jump};
use super::memory::compare_tag;
use super::templates::{BusLayout, Templates, go_to_handler};
use crate::{code::page_slots::PageSlots, engine::access_group::width_in_bytes, microop::MicroOp, ops::Opcode};
use cranelift_assembler_x64::{Scale, inst};
use std::mem::offset_of;

/// Appends the look for the load in a slot, whose address is in [`A`]; it goes on at `back`.
pub(super) fn append_look(templates: &mut Templates, slot: usize, back: usize) {
    let distance = templates.distance(slot);
    let code = &mut templates.output.code;
    inst::leaq_rm::<Host>::new(B, at(OP, distance)).encode(code);
    let look = call(code);
    let again = jump(code, Condition::Always);
    code.lead(again, back);
    templates.output.looks.push((templates.translations.slot(slot).0, look));
}

/// Appends what the looks of an operation call, with its micro-op in [`B`]. The page slots lie at `slots`.
pub(super) fn append_looks(code: &mut Code, bus: &BusLayout, opcode: Opcode, slots: usize) {
    inst::movq_rm::<Host>::new(C, A).encode(code);
    inst::shrq_mi::<Host>::new(C, 12).encode(code);
    inst::andl_mi::<Host>::new(C, PageSlots::MASK as u32).encode(code);
    inst::movabsq_oi::<Host>::new(ENTRY, slots as u64).encode(code);
    inst::movzwl_rm::<Host>::new(ENTRY, at_index(ENTRY, C, Scale::Two)).encode(code);
    inst::movw_mr::<Host>::new(field(B, offset_of!(MicroOp, rs2)), ENTRY).encode(code);
    inst::shlq_mi::<Host>::new(ENTRY, bus.entry.shift).encode(code);
    inst::addq_rm::<Host>::new(ENTRY, VIEW).encode(code);
    compare_tag(code, bus.entry, (A, bus.entry.read_tag), width_in_bytes(opcode));
    let misses = jump(code, Condition::NotEqual);
    inst::retq_zo::new().encode(code);
    let here = code.len();
    code.lead(misses, here);
    // It does not go back.
    add(code, STACK, size_of::<usize>() as i32);
    copy(code, OP, B);
    go_to_handler(code, bus, opcode);
}

const _: () = assert!(PageSlots::SHIFT == 1, "the scale");
