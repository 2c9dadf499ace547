//! The hit path of loads and stores, as [`memory`](crate::ops::memory) has it, for a bus that says how ([`EntryLayout`]): in the code of a block, or as a routine.
//!
//! An access begins with the TLB entry at which its page was found last ([`PageSlots`]), and not with the one that its micro-op hit last, as its handler does. The
//! table of pages is small, and in the host's nearest cache. The micro-ops of a program with little repetition are not.

use super::calls::{Calls, Form, Hit, Misses, Routine};
use super::host::{
    A, ACC, B, C, Code, Condition, ENTRY, ENVIRONMENT, Host, Jump, OP, Register, STACK, VIEW, add, at, at_index,
    at_sum, copy, field, jump,
};
use super::templates::BusLayout;
use crate::{
    EntryLayout,
    bus::Limit,
    code::page_slots::PageSlots,
    engine::access_group::{is_store, width_in_bytes},
    microop::{MicroOp, accumulator},
    ops::Opcode,
};
use cranelift_assembler_x64::{Scale, inst};
use std::mem::offset_of;

/// Code that finds where an access hits.
pub(super) struct HitPath {
    /// Where it does not, [`A`] is the distance from the first address of the entry at [`ENTRY`], and nothing has happened.
    pub(super) misses: Misses,
    /// Where it goes on once the access is known to hit that entry.
    pub(super) on: usize,
}

/// Appends the hit path of an access, whose address is in [`A`], or of a group, of whose first access it is. Where it goes on, [`A`] is where the byte lies. A single access
/// is counted, and [`ENTRY`] is the entry of a group, which is still to get its time. [`B`] and [`C`] are overwritten, here as below.
pub(super) fn append_hit(code: &mut Code, bus: &BusLayout, hit: Hit, form: Form) -> HitPath {
    find_entry(code, bus);
    inst::subq_rm::<Host>::new(A, field(ENTRY, bus.entry.base)).encode(code);
    let limit = bus.entry.first(hit.stores);
    let mut misses = compare_all(code, bus.entry, (hit, limit), form);
    if limit == Limit::Stores {
        misses.extend(compare_code(code, bus, hit, form));
    }
    let on = code.len();
    find_byte(code, bus.entry, form);
    if !hit.is_group {
        // The time of the access has 32 bits, and the upper half of the field is 0.
        inst::movl_mr::<Host>::new(field(ENTRY, bus.entry.stamp), ACC).encode(code);
        // An addition would change the flags.
        inst::leaq_rm::<Host>::new(ACC, at(ACC, accumulator::ACCESS as i32)).encode(code);
    }
    HitPath { misses, on }
}

/// Appends the hit path as a routine.
pub(super) fn append_hit_routine(code: &mut Code, bus: &BusLayout, hit: Hit) {
    let HitPath { mut misses, on } = append_hit(code, bus, hit, Form::Called);
    inst::retq_zo::new().encode(code);
    if bus.entry.first(hit.stores) == Limit::PlainStores {
        let here = code.len();
        misses.into_iter().for_each(|jump| code.lead(jump, here));
        misses = append_watched(code, bus, hit);
        let hits = jump(code, Condition::Always);
        code.lead(hits, on);
    }
    end(code, misses);
}

/// Appends what an access calls that has missed the limit of plain stores: whether it is a store that hits the entry, to a page without translated code.
pub(super) fn append_watched_routine(code: &mut Code, bus: &BusLayout, hit: Hit) {
    let misses = append_watched(code, bus, hit);
    end(code, misses);
}

fn append_watched(code: &mut Code, bus: &BusLayout, hit: Hit) -> Misses {
    let mut misses = compare_all(code, bus.entry, (hit, Limit::Stores), Form::Called);
    misses.extend(compare_code(code, bus, hit, Form::Called));
    misses
}

/// Appends the end of a routine, to which the jumps lead as well.
fn end(code: &mut Code, misses: Misses) {
    let here = code.len();
    misses.into_iter().for_each(|jump| code.lead(jump, here));
    inst::retq_zo::new().encode(code);
}

/// Appends what an access calls that did not hit, with its micro-op in [`B`]: if it hits the entry that the micro-op hit last, the page is found there from now on, and
/// the access is to be tried again. Otherwise its handler executes it, and does not come back.
pub(super) fn append_look(code: &mut Code, calls: &mut Calls, bus: &BusLayout, opcode: Opcode) {
    let latest = field(B, offset_of!(MicroOp, rs2));
    inst::addq_rm::<Host>::new(A, field(ENTRY, bus.entry.base)).encode(code);
    find_place(code, bus.page_slots);
    inst::leaq_rm::<Host>::new(C, at_index(ENTRY, C, Scale::Two)).encode(code);
    inst::movzwl_rm::<Host>::new(ENTRY, latest).encode(code);
    // It was found there, and something else is not as it should be.
    inst::cmpw_mr::<Host>::new(at(C, 0), ENTRY).encode(code);
    let mut misses = vec![jump(code, Condition::Equal)];
    go_to_entry(code, bus.entry);
    inst::subq_rm::<Host>::new(A, field(ENTRY, bus.entry.base)).encode(code);
    let limit = if is_store(opcode) { Limit::Stores } else { Limit::Loads };
    misses.extend(compare(code, bus.entry, limit, width_in_bytes(opcode)));
    inst::movzwl_rm::<Host>::new(B, latest).encode(code);
    inst::movw_mr::<Host>::new(at(C, 0), B).encode(code);
    inst::retq_zo::new().encode(code);
    let here = code.len();
    misses.into_iter().for_each(|jump| code.lead(jump, here));
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

/// Appends the comparison of an access, or of the first and the last one of a group, with a limit of an entry, of whose first address [`A`] is the distance. The jumps are
/// taken where they do not hit. [`B`] stays.
fn compare_all(code: &mut Code, layout: EntryLayout, (hit, limit): (Hit, Limit), form: Form) -> Misses {
    let mut misses = compare(code, layout, limit, hit.width);
    if hit.has_last(form) {
        go_to_last(code, form);
        misses.push(compare_limit(code, layout, (C, limit), hit.width));
    }
    misses
}

/// Appends the comparison of one access. The jumps are taken where it does not hit.
fn compare(code: &mut Code, layout: EntryLayout, limit: Limit, width: i8) -> Misses {
    let mut misses = Misses::new();
    if layout.aligns(limit, width) {
        inst::testl_mi::<Host>::new(A, width as u32 - 1).encode(code);
        misses.push(jump(code, Condition::NotEqual));
    }
    misses.push(compare_limit(code, layout, (A, limit), width));
    misses
}

/// Appends the comparison of a distance from the first address of an entry with a limit. The jump is taken where it is not below that.
pub(super) fn compare_limit(
    code: &mut Code,
    layout: EntryLayout,
    (distance, limit): (Register, Limit),
    width: i8,
) -> Jump {
    inst::cmpq_rm::<Host>::new(distance, field(ENTRY, layout.limit(limit, width))).encode(code);
    jump(code, Condition::NotBelow)
}

/// Appends the comparison of the pages in the host that are stored to with those of translated code. The jumps are taken where one is one of them.
fn compare_code(code: &mut Code, bus: &BusLayout, hit: Hit, form: Form) -> Misses {
    copy(code, C, A);
    let mut misses = vec![compare_page(code, bus)];
    if hit.has_last(form) {
        go_to_last(code, form);
        misses.push(compare_page(code, bus));
    }
    misses
}

/// Appends the comparison of the page in the host that has the byte [`C`] bytes from the entry's first address.
fn compare_page(code: &mut Code, bus: &BusLayout) -> Jump {
    inst::addq_rm::<Host>::new(C, field(ENTRY, bus.entry.host)).encode(code);
    inst::shrq_mi::<Host>::new(C, 12).encode(code);
    inst::addq_rm::<Host>::new(C, field(ENVIRONMENT, bus.code_map)).encode(code);
    // The byte is 0 where there is no code. As for the other comparisons, the carry flag is set then.
    inst::cmpb_mi::<Host>::new(at(C, 0), 1).encode(code);
    jump(code, Condition::NotBelow)
}

/// Appends: [`C`] is the distance of a group's last access.
fn go_to_last(code: &mut Code, form: Form) {
    let last = match form {
        Form::Called => at_sum(A, B),
        Form::Inline { to_last } => at(A, to_last),
    };
    inst::leaq_rm::<Host>::new(C, last).encode(code);
}

/// Appends: [`A`], the distance from the entry's first address, becomes where the byte lies. The flags stay, if they have to.
fn find_byte(code: &mut Code, layout: EntryLayout, form: Form) {
    let host = field(ENTRY, layout.host);
    if form == Form::Called {
        inst::movq_rm::<Host>::new(C, host).encode(code);
        inst::leaq_rm::<Host>::new(A, at_sum(A, C)).encode(code);
    } else {
        inst::addq_rm::<Host>::new(A, host).encode(code);
    }
}
