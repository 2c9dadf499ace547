//! Which TLB entry an access begins with: the one at which its page was found last ([`PageSlots`]). A table of pages is small, and in the host's nearest cache;
//! the micro-ops of a program with little repetition are not. So baseline code does not read its micro-ops.
//!
//! Pages share places of the table. An access that does not hit that entry looks at the one that its micro-op hit last, as its handler would. The code is one for all
//! accesses of a kind of a batch. It goes back to the access, or on to its handler.

use super::host::{
    A, B, C, Code, Condition, ENTRY, ENVIRONMENT, Host, OP, STACK, VIEW, add, at, at_index, call, copy, field, jump,
};
use super::memory::{compare_tag, tag};
use super::templates::{BusLayout, Templates, go_to_handler};
use crate::{
    code::page_slots::PageSlots,
    engine::access_group::{is_store, width_in_bytes},
    microop::MicroOp,
    ops::Opcode,
};
use cranelift_assembler_x64::{Scale, inst};
use std::mem::offset_of;

/// Appends: [`ENTRY`] is the predicted slot of the page of the address in [`A`], by the table whose address the environment has at `slots`.
pub(super) fn find_slot(code: &mut Code, slots: usize) {
    find_place(code, slots);
    inst::movzwl_rm::<Host>::new(ENTRY, at_index(ENTRY, C, Scale::Two)).encode(code);
}

/// Appends: the place in the table is [`ENTRY`] and twice [`C`].
fn find_place(code: &mut Code, slots: usize) {
    inst::movq_rm::<Host>::new(C, A).encode(code);
    inst::shrq_mi::<Host>::new(C, 12).encode(code);
    inst::movzbl_rm::<Host>::new(C, C).encode(code);
    inst::movq_rm::<Host>::new(ENTRY, field(ENVIRONMENT, slots)).encode(code);
}

/// Appends the look for the access in a slot, whose address is in [`A`]; it goes on at `back`.
pub(super) fn append_look(templates: &mut Templates, slot: usize, back: usize) {
    let distance = templates.distance(slot);
    let code = &mut templates.output.code;
    inst::leaq_rm::<Host>::new(B, at(OP, distance)).encode(code);
    let look = call(code);
    let again = jump(code, Condition::Always);
    code.lead(again, back);
    templates.output.looks.push((templates.translations.slot(slot).0, look));
}

/// Appends what the looks of an operation call, with its micro-op in [`B`].
pub(super) fn append_looks(code: &mut Code, bus: &BusLayout, opcode: Opcode) {
    let latest = field(B, offset_of!(MicroOp, rs2));
    inst::movzwl_rm::<Host>::new(ENTRY, latest).encode(code);
    inst::shlq_mi::<Host>::new(ENTRY, bus.entry.shift).encode(code);
    inst::addq_rm::<Host>::new(ENTRY, VIEW).encode(code);
    compare_tag(code, bus.entry, (A, tag(bus.entry, is_store(opcode))), width_in_bytes(opcode));
    let misses = jump(code, Condition::NotEqual);
    // The page is found there from now on.
    inst::pushq_o::<Host>::new(ENTRY).encode(code);
    find_place(code, bus.page_slots);
    inst::movzwl_rm::<Host>::new(B, latest).encode(code);
    inst::movw_mr::<Host>::new(at_index(ENTRY, C, Scale::Two), B).encode(code);
    inst::popq_o::<Host>::new(ENTRY).encode(code);
    inst::retq_zo::new().encode(code);
    let here = code.len();
    code.lead(misses, here);
    // It does not go back.
    add(code, STACK, size_of::<usize>() as i32);
    copy(code, OP, B);
    go_to_handler(code, bus, opcode);
}

const _: () = assert!(PageSlots::SHIFT == 1 && PageSlots::MASK == 0xff, "the scale, and a byte of the page number");
