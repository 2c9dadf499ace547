//! Jumps to registers, within a unit: returns from functions that it calls, and tables of a `switch`.

use super::Emitter;
use crate::{
    Bus,
    hart::Hart,
    microop::{MicroOp, accumulator},
    report::Reports,
};
use cranelift_codegen::ir::{InstBuilder, condcodes::IntCC, types::I64};
use cranelift_frontend::Switch;
use std::mem::offset_of;

impl<B: Bus> Emitter<'_, '_, B> {
    /// Jumps to the block that the register names, if it is one of the unit's: it is in the page that was fetched from last, so that looking up the fetch
    /// TLB again changes nothing. Elsewhere an interpreter makes the jump, from the beginning.
    pub(super) fn jump_to_register(&mut self, op: &MicroOp, slot: usize) {
        if B::REPORTS == Reports::Instructions {
            return self.exit_at(slot);
        }
        let base = self.x(op.rs1);
        let target = self.f.ins().iadd_imm_s(base, i64::from(op.imm));
        let target = self.f.ins().band_imm_s(target, -2);
        let page = self.load_hart(I64, offset_of!(Hart, page));
        let offset = self.f.ins().isub(target, page);
        let (acc, cost) = (self.f.use_var(self.acc), self.constant(self.code.link(slot).0.cost as i64));
        let acc = self.f.ins().iadd(acc, cost);
        // Every loop that goes through here has as much budget as one through a link back.
        let reserve = self.constant(accumulator::start(self.reserve, 0) as i64);
        let short = self.f.ins().icmp(IntCC::SignedLessThan, acc, reserve);
        self.when(short, |emitter| emitter.exit_at(slot));

        let (mut switch, blocks) = (Switch::new(), self.blocks.clone());
        let landings = blocks.iter().map(|labels| {
            let landing = self.f.create_block();
            switch.set_entry(u128::from(labels.offset), landing);
            (landing, labels.start)
        });
        let landings: Vec<_> = landings.collect();
        let outside = self.f.create_block();
        self.f.set_cold_block(outside);
        switch.emit(self.f, offset, outside);
        for (landing, start) in landings {
            self.begin(landing);
            self.f.def_var(self.acc, acc);
            let next = self.in_page(i64::from(op.rs2));
            self.set_x(op.rd, next);
            self.f.ins().jump(start, &[]);
        }
        self.begin(outside);
        self.exit_at(slot);
    }
}
