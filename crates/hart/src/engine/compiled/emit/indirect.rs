//! Jumps to other pages and to registers: what the jump cache and the fetch TLB say of the target, inline.

use super::{super::look_up, Emitter, Label, PLAIN};
use crate::{
    Bus,
    bus::Limit,
    code::jumps::{Jump, Jumps},
    engine::compiled::part::returns,
    engine::environment::Environment,
    hart::Hart,
    microop::{MicroOp, OF_UNIT},
    report::Reports,
};
use cranelift_codegen::ir::{
    InstBuilder, Value,
    condcodes::IntCC,
    types::{I8, I16, I32, I64},
};
use cranelift_frontend::Switch;
use std::mem::offset_of;

impl<B: Bus> Emitter<'_, '_, B> {
    /// Jumps to where a register says. With too little budget, an interpreter makes the jump, from the beginning.
    pub(super) fn jump_to_register(&mut self, op: &MicroOp, slot: usize) {
        if B::REPORTS == Reports::Instructions || !B::FETCHES {
            return self.exit_at(slot);
        }
        let base = self.x(op.rs1);
        let target = self.f.ins().iadd_imm_s(base, i64::from(op.imm));
        let target = self.f.ins().band_imm_s(target, -2);
        let (acc, cost) = (self.f.use_var(self.acc), self.constant(self.code.link(slot).0.cost as i64));
        let acc = self.f.ins().iadd(acc, cost);
        // Every loop that goes through here has as much budget as one through a link back.
        self.when_short(acc, |emitter| emitter.exit_at(slot));
        self.f.def_var(self.acc, acc);
        let next = self.in_page(i64::from(op.rs2));
        self.set_x(op.rd, next);
        if returns(op) {
            self.return_within_page(target);
        }
        self.jump_elsewhere(target);
    }

    /// Returns to where a block of this page calls from, if the target is one of these places: it is in the page that was fetched from last, so that looking
    /// up the fetch TLB again would change nothing. Goes on here otherwise.
    fn return_within_page(&mut self, target: Value) {
        let (mut switch, page) = (Switch::new(), self.page);
        let places = self.blocks.iter().filter(|labels| labels.page == page && labels.is_returned_to);
        let places: Vec<_> = places.map(|labels| (labels.offset, labels.start)).collect();
        if places.is_empty() {
            return;
        }
        places.into_iter().for_each(|(offset, start)| switch.set_entry(u128::from(offset), start));
        let start = self.load_hart(I64, offset_of!(Hart, page));
        let offset = self.f.ins().isub(target, start);
        let other = self.f.create_block();
        switch.emit(self.f, offset, other);
        self.begin(other);
    }

    /// Jumps to an address of the guest, with budget for each block of the unit.
    pub(super) fn jump_elsewhere(&mut self, target: Value) {
        let label = match self.elsewhere {
            Some(label) => label,
            None => {
                let label = self.f.create_block();
                self.f.append_block_param(label, I64);
                self.elsewhere = Some(label);
                label
            }
        };
        self.f.ins().jump(label, &[target.into()]);
    }

    /// The code behind [`Self::jump_elsewhere`], which does as [`Environment::jump`]: where the jump cache knows the target, and the fetch TLB has its page, it goes
    /// on at the block there, in this unit or not.
    pub(super) fn go_elsewhere(&mut self) {
        let Some(label) = self.elsewhere else { return };
        self.f.switch_to_block(label);
        let target = self.f.block_params(label)[0];
        let lookup = self.f.create_block();
        self.f.set_cold_block(lookup);

        let jump = self.jump_of(target);
        let known = self.f.ins().load(I64, PLAIN, jump, offset_of!(Jump, target) as i32);
        let known = self.f.ins().icmp(IntCC::Equal, known, target);
        self.go_on_if(known, lookup);
        let page = self.f.ins().band_imm_s(target, !0xfff);
        let host_page = self.f.ins().load(I64, PLAIN, jump, offset_of!(Jump, page) as i32);
        self.fetch_from(page, host_page, lookup);
        self.store_hart(page, offset_of!(Hart, page));
        self.store_hart(host_page, offset_of!(Hart, host_page));
        let op = self.f.ins().load(I64, PLAIN, jump, offset_of!(Jump, op) as i32);
        self.go_to_block(op);

        self.begin(lookup);
        let first = self.blocks[0].first;
        self.call(look_up::<B>, first, target);
        self.f.ins().jump(self.exit_as_told, &[]);
    }

    /// The entry of the jump cache that an address has.
    fn jump_of(&mut self, target: Value) -> Value {
        let half = self.f.ins().ushr_imm_u(target, 1);
        let folded = self.f.ins().ushr_imm_u(target, i64::from(Jumps::FOLD));
        let mixed = self.f.ins().bxor(half, folded);
        let index = self.f.ins().band_imm_u(mixed, Jumps::MASK as i64);
        let offset = self.f.ins().imul_imm_s(index, size_of::<Jump>() as i64);
        let jumps = self.constant(self.code.jumps() as i64);
        self.f.ins().iadd(jumps, offset)
    }

    /// Uses the entry of the fetch TLB where the page was found last, as [`Bus::fetch_hit`] does, if it translates `page` to `host_page`; else goes to `otherwise`.
    fn fetch_from(&mut self, page: Value, host_page: Value, otherwise: Label) {
        let predicted = self.slot_of_page(page, self.code.fetch_slots());
        let offset = self.f.ins().ishl_imm_u(predicted, i64::from(self.layout.shift));
        let environment = self.environment();
        let view = self.f.ins().load(I64, PLAIN, environment, offset_of!(Environment<B>, code_view) as i32);
        let entry = self.f.ins().iadd(view, offset);
        let found = self.f.create_block();
        // Instructions are halves.
        let distance = self.distance(entry, page);
        self.compare(entry, distance, (I16, Limit::Loads), [found, otherwise]);
        self.begin(found);
        let at = self.byte_of(entry, distance);
        let there = self.f.ins().icmp(IntCC::Equal, at, host_page);
        self.go_on_if(there, otherwise);
        let clock = self.f.ins().load(I64, PLAIN, environment, offset_of!(Environment<B>, fetch_clock) as i32);
        let time = self.f.ins().load(I64, PLAIN, clock, 0);
        let time = self.f.ins().iadd_imm_s(time, 1);
        self.f.ins().store(PLAIN, time, clock, 0);
        self.f.ins().store(PLAIN, time, entry, self.layout.stamp as i32);
    }

    /// Goes on at the block whose first micro-op is at `op`: within the unit, if it is one of its own, or outside.
    fn go_to_block(&mut self, op: Value) {
        let [own, other] = [(); 2].map(|()| self.f.create_block());
        let of_unit = self.f.ins().load(I8, PLAIN, op, offset_of!(MicroOp, rs1) as i32);
        let of_unit = self.f.ins().icmp_imm_u(IntCC::Equal, of_unit, i64::from(OF_UNIT));
        self.go_on_if(of_unit, other);
        let number = self.f.ins().load(I32, PLAIN, op, offset_of!(MicroOp, imm) as i32);
        let unit = self.f.ins().ushr_imm_u(number, 8);
        let this = self.f.ins().icmp_imm_u(IntCC::Equal, unit, i64::from(self.unit));
        self.f.ins().brif(this, own, &[], other, &[]);

        self.begin(own);
        let number = self.f.ins().band_imm_u(number, 0xff);
        let mut switch = Switch::new();
        for (number, labels) in self.blocks.iter().enumerate() {
            switch.set_entry(number as u128, labels.start);
        }
        switch.emit(self.f, number, other);
        self.begin(other);
        self.exit(op);
    }
}
