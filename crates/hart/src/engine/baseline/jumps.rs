//! Templates of jumps to other pages and to registers: what the jump cache and the fetch TLB say of the target, as
//! [`Environment::jump`](crate::engine::environment::Environment::jump) does it.
//!
//! The search is a [routine](super::routines). Each jump has a host jump of its own, which the host's processor predicts by itself: in the handlers, all
//! returns and calls of a guest leave by one.

use super::accesses::{compare_limit, find_slot};
use super::calls::Routine;
use super::host::{
    A, B, C, Code, Condition, ENTRY, ENVIRONMENT, GUEST, HART, Host, OP, STACK, add, at, call, field, jump,
};
use super::templates::{BusLayout, FetchLayout, Output, Rare, Templates, of_guest};
use crate::{
    bus::Limit,
    code::jumps::{Jump, Jumps},
    hart::{Hart, SINK},
    microop::MicroOp,
};
use cranelift_assembler_x64::inst;
use std::mem::offset_of;

/// Jumps to where a register says. The handler of the micro-op does where the target is not known.
pub(super) fn jump_to_register(templates: &mut Templates, op: &MicroOp, slot: usize) {
    let base = templates.read(op.rs1);
    let code = &mut templates.output.code;
    inst::leaq_rm::<Host>::new(A, at(base, op.imm)).encode(code);
    inst::andq_mi_sxb::<Host>::new(A, -2).encode(code);
    search(templates, slot);
    let code = &mut templates.output.code;
    if op.rd != SINK {
        inst::movq_rm::<Host>::new(ENTRY, field(HART, offset_of!(Hart, page))).encode(code);
        add(code, ENTRY, i32::from(op.rs2));
        inst::movq_mr::<Host>::new(of_guest(op.rd), ENTRY).encode(code);
    }
    go_there(code);
}

/// Takes the link behind the micro-op: to a block of this page, which it knows, or to another page.
pub(super) fn take(templates: &mut Templates, slot: usize) {
    let (_, delta, _) = templates.translations.link(slot);
    if templates.bus.fetches.is_none() || (0..0x1000).contains(&delta) {
        return templates.follow_link(slot);
    }
    let code = &mut templates.output.code;
    inst::movq_rm::<Host>::new(A, field(HART, offset_of!(Hart, page))).encode(code);
    add(code, A, delta);
    search(templates, slot);
    go_there(&mut templates.output.code);
}

/// Pays for the block, and searches for what [`A`] is the address of.
fn search(templates: &mut Templates, slot: usize) {
    let spent = templates.pay(slot);
    let Output { code, calls, .. } = &mut *templates.output;
    calls.push((Routine::Search, call(code)));
    let unknown = jump(code, Condition::NotEqual);
    templates.block.rare.extend([spent, unknown].map(|from| Rare::TakeBack { from, slot }));
}

/// Goes to what a search has found.
fn go_there(code: &mut Code) {
    inst::movq_mr::<Host>::new(field(HART, offset_of!(Hart, page)), A).encode(code);
    inst::movq_mr::<Host>::new(field(HART, offset_of!(Hart, host_page)), C).encode(code);
    inst::movq_rm::<Host>::new(OP, field(B, offset_of!(Jump, op))).encode(code);
    inst::jmpq_m::<Host>::new(field(OP, offset_of!(MicroOp, handler))).encode(code);
}

/// Appends what searches call: whether the jump cache, which lies at `jumps`, knows the address in [`A`], and the fetch TLB has its page. If so, the host's flags
/// say equal, [`A`] is the page, [`B`] the entry of the jump cache and [`C`] the page in the host. The registers of [`GUEST`] are overwritten, as the block has ended.
pub(super) fn append_search(code: &mut Code, bus: &BusLayout, fetches: FetchLayout, jumps: usize) {
    inst::movq_rm::<Host>::new(B, A).encode(code);
    inst::shrq_mi::<Host>::new(B, 1).encode(code);
    inst::movq_rm::<Host>::new(C, A).encode(code);
    inst::shrq_mi::<Host>::new(C, Jumps::FOLD as u8).encode(code);
    inst::xorq_rm::<Host>::new(B, C).encode(code);
    inst::andq_mi_sxl::<Host>::new(B, Jumps::MASK as i32).encode(code);
    inst::shlq_mi::<Host>::new(B, const { size_of::<Jump>().trailing_zeros() as u8 }).encode(code);
    inst::movabsq_oi::<Host>::new(C, jumps as u64).encode(code);
    inst::addq_rm::<Host>::new(B, C).encode(code);
    inst::cmpq_rm::<Host>::new(A, field(B, offset_of!(Jump, target))).encode(code);
    let other = jump(code, Condition::NotEqual);

    find_slot(code, fetches.slots);
    inst::shlq_mi::<Host>::new(ENTRY, bus.entry.shift).encode(code);
    inst::addq_rm::<Host>::new(ENTRY, field(ENVIRONMENT, fetches.view)).encode(code);
    inst::movq_rm::<Host>::new(C, A).encode(code);
    inst::subq_rm::<Host>::new(C, field(ENTRY, bus.entry.base)).encode(code);
    // Instructions are halves.
    let missed = compare_limit(code, bus.entry, (C, Limit::Loads), 2);
    inst::andq_mi_sxl::<Host>::new(A, !0xfff).encode(code);
    inst::andq_mi_sxl::<Host>::new(C, !0xfff).encode(code);
    inst::addq_rm::<Host>::new(C, field(ENTRY, bus.entry.host)).encode(code);
    inst::cmpq_rm::<Host>::new(C, field(B, offset_of!(Jump, page))).encode(code);
    let elsewhere = jump(code, Condition::NotEqual);

    let [clock, time, ..] = GUEST;
    inst::movq_rm::<Host>::new(clock, field(ENVIRONMENT, fetches.clock)).encode(code);
    inst::movq_rm::<Host>::new(time, at(clock, 0)).encode(code);
    add(code, time, 1);
    inst::movq_mr::<Host>::new(at(clock, 0), time).encode(code);
    inst::movq_mr::<Host>::new(field(ENTRY, bus.entry.stamp), time).encode(code);
    inst::cmpq_rm::<Host>::new(A, A).encode(code);
    let here = code.len();
    [other, elsewhere].into_iter().for_each(|jump| code.lead(jump, here));
    inst::retq_zo::new().encode(code);

    // The flags must not say equal here.
    let here = code.len();
    code.lead(missed, here);
    inst::testq_mr::<Host>::new(STACK, STACK).encode(code);
    inst::retq_zo::new().encode(code);
}

const _: () = assert!(size_of::<Jump>().is_power_of_two() && Jumps::MASK < 1 << 31);
