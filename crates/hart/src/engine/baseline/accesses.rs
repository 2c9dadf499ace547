//! The hit path of loads and stores, as [`memory`](crate::ops::memory) has it, for a bus that says how ([`EntryLayout`]): in the code of a block, or as a routine.
//!
//! An access begins with the TLB entry at which its page was found last ([`PageSlots`]), and not with the one that its micro-op hit last, as its handler does. The
//! table of pages is small, and in the host's nearest cache. The micro-ops of a program with little repetition are not.

use super::calls::{Calls, Routine};
use super::host::{
    A, ACC, B, C, Code, Condition, ENTRY, ENVIRONMENT, Host, Jump, OP, Register, STACK, VIEW, add, at, at_index,
    at_sum, copy, field, jump,
};
use super::templates::BusLayout;
use crate::{
    EntryLayout,
    code::page_slots::PageSlots,
    engine::access_group::{is_store, width_in_bytes},
    microop::{MicroOp, accumulator},
    ops::Opcode,
};
use cranelift_assembler_x64::{Scale, inst};
use std::mem::offset_of;

/// Jumps where something does not hit, or is a store to translated code.
pub(super) type Misses = Vec<Jump>;

/// Where a hit path is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// In a routine, which says by the host's flags whether all hit: they stay equal. The distance to a group's last access is in [`B`].
    Called,
    /// In the code of a block, which knows the distance.
    Inline { to_last: i32 },
}

/// Appends the hit path of an access of so many bytes, whose address is in [`A`]. Where it goes on, [`A`] is where the byte lies, and the access is counted. Where
/// the jumps are taken, nothing has happened. [`B`], [`C`] and [`ENTRY`] are overwritten, here as below.
fn append_hit(code: &mut Code, bus: &BusLayout, (stores, width): (bool, i8), form: Form) -> Misses {
    find_entry(code, bus);
    compare_tag(code, bus.entry, (A, bus.entry.tag(stores)), width);
    let mut misses = vec![jump(code, Condition::NotEqual)];
    if stores {
        misses.push(compare_code(code, bus));
    }
    find_byte(code, bus.entry, form);
    // The time of the access has 32 bits, and the upper half of the field is 0.
    inst::movl_mr::<Host>::new(field(ENTRY, bus.entry.stamp), ACC).encode(code);
    // An addition would change the flags.
    inst::leaq_rm::<Host>::new(ACC, at(ACC, accumulator::ACCESS as i32)).encode(code);
    misses
}

/// Appends the hit path of a group of accesses, the widest of so many bytes, with the first address in [`A`]. Where it goes on, [`A`] is where the byte of the first address lies, and [`ENTRY`] the entry, which is still to get its time.
fn append_group(code: &mut Code, bus: &BusLayout, (stores, width): (bool, i8), form: Form) -> Misses {
    find_entry(code, bus);
    compare_tag(code, bus.entry, (A, bus.entry.tag(stores)), width);
    let mut misses = vec![jump(code, Condition::NotEqual)];
    if form != (Form::Inline { to_last: 0 }) {
        match form {
            Form::Called => inst::addq_rm::<Host>::new(B, A).encode(code),
            Form::Inline { to_last } => inst::leaq_rm::<Host>::new(B, at(A, to_last)).encode(code),
        }
        inst::xorq_rm::<Host>::new(B, A).encode(code);
        inst::testl_mi::<Host>::new(B, 0xffff_f000_u32).encode(code);
        misses.push(jump(code, Condition::NotEqual));
    }
    if stores {
        misses.push(compare_code(code, bus));
    }
    find_byte(code, bus.entry, form);
    misses
}

/// Appends the hit path of an access or of a group of them.
pub(super) fn hit_path(routine: Routine, code: &mut Code, bus: &BusLayout, form: Form) -> Misses {
    match routine {
        Routine::Hit { stores, width } => append_hit(code, bus, (stores, width), form),
        Routine::Group { stores, width } => append_group(code, bus, (stores, width), form),
        _ => Misses::new(),
    }
}

/// Appends the end of a routine, to which the jumps lead as well.
pub(super) fn end(code: &mut Code, misses: Misses) {
    let here = code.len();
    misses.into_iter().for_each(|jump| code.lead(jump, here));
    inst::retq_zo::new().encode(code);
}

/// Appends what an access calls that did not hit, with its address in [`A`] and its micro-op in [`B`]: if it hits the entry that the micro-op hit last, the page is
/// found there from now on, and the access is to be tried again. Otherwise its handler executes it, and does not come back.
pub(super) fn append_look(code: &mut Code, calls: &mut Calls, bus: &BusLayout, opcode: Opcode) {
    let latest = field(B, offset_of!(MicroOp, rs2));
    find_place(code, bus.page_slots);
    inst::leaq_rm::<Host>::new(C, at_index(ENTRY, C, Scale::Two)).encode(code);
    inst::movzwl_rm::<Host>::new(ENTRY, latest).encode(code);
    // It was found there, and something else is not as it should be.
    inst::cmpw_mr::<Host>::new(at(C, 0), ENTRY).encode(code);
    let same = jump(code, Condition::Equal);
    inst::pushq_o::<Host>::new(C).encode(code);
    go_to_entry(code, bus.entry);
    compare_tag(code, bus.entry, (A, bus.entry.tag(is_store(opcode))), width_in_bytes(opcode));
    inst::popq_o::<Host>::new(C).encode(code);
    let misses = jump(code, Condition::NotEqual);
    inst::movzwl_rm::<Host>::new(B, latest).encode(code);
    inst::movw_mr::<Host>::new(at(C, 0), B).encode(code);
    inst::retq_zo::new().encode(code);
    let here = code.len();
    [same, misses].into_iter().for_each(|jump| code.lead(jump, here));
    add(code, STACK, size_of::<usize>() as i32);
    copy(code, OP, B);
    calls.push((Routine::Handler(opcode), jump(code, Condition::Always)));
}

/// Appends: [`ENTRY`] is the entry at which the page of the address in [`A`] was found last.
fn find_entry(code: &mut Code, bus: &BusLayout) {
    find_slot(code, bus.page_slots);
    go_to_entry(code, bus.entry);
}

/// Appends: [`ENTRY`], a predicted slot, becomes its entry's address.
fn go_to_entry(code: &mut Code, layout: EntryLayout) {
    inst::shlq_mi::<Host>::new(ENTRY, layout.shift).encode(code);
    inst::addq_rm::<Host>::new(ENTRY, VIEW).encode(code);
}

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

const _: () = assert!(PageSlots::SHIFT == 1 && PageSlots::MASK == 0xff, "the scale, and a byte of the page number");

/// Appends the comparison of the address in a register with a tag of the entry: they are equal where an access of so many bytes hits.
pub(super) fn compare_tag(code: &mut Code, layout: EntryLayout, (address, tag): (Register, usize), width: i8) {
    inst::movq_rm::<Host>::new(C, field(ENTRY, layout.mask)).encode(code);
    if width != 1 {
        inst::orq_mi_sxb::<Host>::new(C, width - 1).encode(code);
    }
    inst::andq_rm::<Host>::new(C, address).encode(code);
    inst::cmpq_rm::<Host>::new(C, field(ENTRY, tag)).encode(code);
}

/// Appends the comparison of the page in the host with those of translated code. The jump is taken where it is one of them.
fn compare_code(code: &mut Code, bus: &BusLayout) -> Jump {
    inst::movq_rm::<Host>::new(B, field(ENTRY, bus.entry.addend)).encode(code);
    inst::addq_rm::<Host>::new(B, A).encode(code);
    inst::shrq_mi::<Host>::new(B, 12).encode(code);
    inst::movq_rm::<Host>::new(C, field(ENVIRONMENT, bus.code_map)).encode(code);
    inst::cmpb_mi::<Host>::new(at_sum(C, B), 0).encode(code);
    jump(code, Condition::NotEqual)
}

/// Appends: [`A`] is where the byte lies. The flags stay, if they have to.
fn find_byte(code: &mut Code, layout: EntryLayout, form: Form) {
    let addend = field(ENTRY, layout.addend);
    if form == Form::Called {
        inst::movq_rm::<Host>::new(C, addend).encode(code);
        inst::leaq_rm::<Host>::new(A, at_sum(A, C)).encode(code);
    } else {
        inst::addq_rm::<Host>::new(A, addend).encode(code);
    }
}
