//! Jumps to other pages and to registers: what the jump cache and the fetch TLB say of the target, inline.

use super::{super::look_up, Emitter, Label, PLAIN};
use crate::{
    Bus,
    code::jumps::{Jump, Jumps},
    engine::compiled::part::returns,
    engine::environment::Environment,
    hart::Hart,
    microop::{MicroOp, OF_UNIT, accumulator},
    report::Reports,
};
use cranelift_codegen::ir::{
    InstBuilder, Value,
    condcodes::IntCC,
    types::{I8, I32, I64},
};
use cranelift_frontend::Switch;
use std::mem::offset_of;

/// Jumps to where a register says. With too little budget, an interpreter makes the jump, from the beginning.
pub(super) fn jump_to_register<B: Bus>(emitter: &mut Emitter<'_, '_, B>, op: &MicroOp, slot: usize) {
    if B::REPORTS == Reports::Instructions || !B::FETCHES {
        return emitter.exit_at(slot);
    }
    let base = emitter.x(op.rs1);
    let target = emitter.f.ins().iadd_imm_s(base, i64::from(op.imm));
    let target = emitter.f.ins().band_imm_s(target, -2);
    let (acc, cost) = (emitter.f.use_var(emitter.acc), emitter.constant(emitter.code.link(slot).0.cost as i64));
    let acc = emitter.f.ins().iadd(acc, cost);
    // Every loop that goes through here has as much budget as one through a link back.
    let reserve = emitter.constant(accumulator::start(emitter.reserve, 0) as i64);
    let short = emitter.f.ins().icmp(IntCC::SignedLessThan, acc, reserve);
    emitter.when(short, |emitter| emitter.exit_at(slot));
    emitter.f.def_var(emitter.acc, acc);
    let next = emitter.in_page(i64::from(op.rs2));
    emitter.set_x(op.rd, next);
    if returns(op) {
        return_within_page(emitter, target);
    }
    jump_elsewhere(emitter, target);
}

/// Returns to where a block of this page calls from, if the target is one of these places: it is in the page that was fetched from last, so that looking
/// up the fetch TLB again would change nothing. Goes on here otherwise.
fn return_within_page<B: Bus>(emitter: &mut Emitter<'_, '_, B>, target: Value) {
    let (mut switch, page) = (Switch::new(), emitter.page);
    let places = emitter.blocks.iter().filter(|labels| labels.page == page && labels.is_returned_to);
    let places: Vec<_> = places.map(|labels| (labels.offset, labels.start)).collect();
    if places.is_empty() {
        return;
    }
    places.into_iter().for_each(|(offset, start)| switch.set_entry(u128::from(offset), start));
    let start = emitter.load_hart(I64, offset_of!(Hart, page));
    let offset = emitter.f.ins().isub(target, start);
    let other = emitter.f.create_block();
    switch.emit(emitter.f, offset, other);
    emitter.begin(other);
}

/// Jumps to an address of the guest, with budget for each block of the unit.
pub(super) fn jump_elsewhere<B: Bus>(emitter: &mut Emitter<'_, '_, B>, target: Value) {
    let label = match emitter.elsewhere {
        Some(label) => label,
        None => {
            let label = emitter.f.create_block();
            emitter.f.append_block_param(label, I64);
            emitter.elsewhere = Some(label);
            label
        }
    };
    emitter.f.ins().jump(label, &[target.into()]);
}

/// The code behind [`jump_elsewhere`], which does as [`Environment::jump`]: where the jump cache knows the target, and the fetch TLB has its page, it goes
/// on at the block there, in this unit or not.
pub(super) fn go_elsewhere<B: Bus>(emitter: &mut Emitter<'_, '_, B>) {
    let Some(label) = emitter.elsewhere else { return };
    emitter.f.switch_to_block(label);
    let target = emitter.f.block_params(label)[0];
    let lookup = emitter.f.create_block();
    emitter.f.set_cold_block(lookup);

    let jump = jump_of(emitter, target);
    let known = emitter.f.ins().load(I64, PLAIN, jump, offset_of!(Jump, target) as i32);
    let known = emitter.f.ins().icmp(IntCC::Equal, known, target);
    emitter.go_on_if(known, lookup);
    let page = emitter.f.ins().band_imm_s(target, !0xfff);
    let host_page = emitter.f.ins().load(I64, PLAIN, jump, offset_of!(Jump, page) as i32);
    fetch_from(emitter, page, host_page, jump, lookup);
    emitter.store_hart(page, offset_of!(Hart, page));
    emitter.store_hart(host_page, offset_of!(Hart, host_page));
    let op = emitter.f.ins().load(I64, PLAIN, jump, offset_of!(Jump, op) as i32);
    go_to_block(emitter, op);

    emitter.begin(lookup);
    let first = emitter.blocks[0].first;
    emitter.call(look_up::<B>, first, target);
    emitter.f.ins().jump(emitter.exit_as_told, &[]);
}

/// The entry of the jump cache that an address has.
fn jump_of<B: Bus>(emitter: &mut Emitter<'_, '_, B>, target: Value) -> Value {
    let half = emitter.f.ins().ushr_imm_u(target, 1);
    let folded = emitter.f.ins().ushr_imm_u(target, i64::from(Jumps::FOLD));
    let mixed = emitter.f.ins().bxor(half, folded);
    let index = emitter.f.ins().band_imm_u(mixed, Jumps::MASK as i64);
    let offset = emitter.f.ins().imul_imm_s(index, size_of::<Jump>() as i64);
    let jumps = emitter.constant(emitter.code.jumps() as i64);
    emitter.f.ins().iadd(jumps, offset)
}

/// Uses the entry of the fetch TLB that the jump cache predicts, as [`Bus::fetch_hit`] does, if it translates `page` to `host_page`; else goes to `otherwise`.
fn fetch_from<B: Bus>(emitter: &mut Emitter<'_, '_, B>, page: Value, host_page: Value, jump: Value, otherwise: Label) {
    let predicted = emitter.f.ins().uload16(I64, PLAIN, jump, offset_of!(Jump, predicted) as i32);
    let offset = emitter.f.ins().ishl_imm_u(predicted, i64::from(emitter.layout.shift));
    let environment = emitter.environment();
    let view = emitter.f.ins().load(I64, PLAIN, environment, offset_of!(Environment<B>, code_view) as i32);
    let entry = emitter.f.ins().iadd(view, offset);
    let mask = emitter.f.ins().load(I64, PLAIN, entry, emitter.layout.mask as i32);
    // Instructions are halves.
    let mask = emitter.f.ins().bor_imm_u(mask, 1);
    let masked = emitter.f.ins().band(page, mask);
    let tag = emitter.f.ins().load(I64, PLAIN, entry, emitter.layout.read_tag as i32);
    let tagged = emitter.f.ins().icmp(IntCC::Equal, masked, tag);
    emitter.go_on_if(tagged, otherwise);
    let addend = emitter.f.ins().load(I64, PLAIN, entry, emitter.layout.addend as i32);
    let at = emitter.f.ins().iadd(page, addend);
    let there = emitter.f.ins().icmp(IntCC::Equal, at, host_page);
    emitter.go_on_if(there, otherwise);
    let clock = emitter.f.ins().load(I64, PLAIN, environment, offset_of!(Environment<B>, fetch_clock) as i32);
    let time = emitter.f.ins().load(I64, PLAIN, clock, 0);
    let time = emitter.f.ins().iadd_imm_s(time, 1);
    emitter.f.ins().store(PLAIN, time, clock, 0);
    emitter.f.ins().store(PLAIN, time, entry, emitter.layout.stamp as i32);
}

/// Goes on at the block whose first micro-op is at `op`: within the unit, if it is one of its own, or outside.
fn go_to_block<B: Bus>(emitter: &mut Emitter<'_, '_, B>, op: Value) {
    let [own, other] = [(); 2].map(|()| emitter.f.create_block());
    let of_unit = emitter.f.ins().load(I8, PLAIN, op, offset_of!(MicroOp, rs1) as i32);
    let of_unit = emitter.f.ins().icmp_imm_u(IntCC::Equal, of_unit, i64::from(OF_UNIT));
    emitter.go_on_if(of_unit, other);
    let number = emitter.f.ins().load(I32, PLAIN, op, offset_of!(MicroOp, imm) as i32);
    let unit = emitter.f.ins().ushr_imm_u(number, 8);
    let this = emitter.f.ins().icmp_imm_u(IntCC::Equal, unit, i64::from(emitter.unit));
    emitter.f.ins().brif(this, own, &[], other, &[]);

    emitter.begin(own);
    let number = emitter.f.ins().band_imm_u(number, 0xff);
    let mut switch = Switch::new();
    for (number, labels) in emitter.blocks.iter().enumerate() {
        switch.set_entry(number as u128, labels.start);
    }
    switch.emit(emitter.f, number, other);
    emitter.begin(other);
    emitter.exit(op);
}
