//! What the code of every operation is built from: ways out of a unit, calls, registers and constants.

use super::{super::Call, Emitter, FRAME_ENVIRONMENT, FRAME_HART, PLAIN};
use crate::{
    Bus,
    hart::{Hart, SINK},
};
use cranelift_codegen::ir::{Block as Label, InstBuilder, Type, Value, condcodes::IntCC, types::I64};
use std::mem::offset_of;

impl<B: Bus> Emitter<'_, '_, B> {
    /// Leaves the unit, for the micro-op at `slot`.
    pub(in crate::engine::compiled) fn exit_at(&mut self, slot: usize) {
        let next = self.constant(self.code.address(slot) as i64);
        self.exit(next);
    }

    /// Leaves the unit, for the micro-op at the address given.
    pub(in crate::engine::compiled) fn exit(&mut self, next: Value) {
        self.f.ins().jump(self.exit, &[next.into()]);
    }

    /// Where `condition` holds, which is rare, does what `rare` says, which does not come back.
    pub(in crate::engine::compiled) fn when(&mut self, condition: Value, rare: impl FnOnce(&mut Self)) {
        let [cold, usual] = [(); 2].map(|()| self.f.create_block());
        self.f.set_cold_block(cold);
        self.f.ins().brif(condition, cold, &[], usual, &[]);
        self.begin(cold);
        rare(self);
        self.begin(usual);
    }

    /// Goes on in a label to which there is no further way than those that were built.
    pub(in crate::engine::compiled) fn begin(&mut self, label: Label) {
        self.f.switch_to_block(label);
        self.f.seal_block(label);
    }

    /// Where `condition` does not hold, which is rare, does what `rare` says, which does not come back.
    pub(in crate::engine::compiled) fn unless(&mut self, condition: Value, rare: impl FnOnce(&mut Self)) {
        let not = self.f.ins().icmp_imm_s(IntCC::Equal, condition, 0);
        self.when(not, rare);
    }

    /// Goes to `otherwise` where `condition` does not hold.
    pub(in crate::engine::compiled) fn go_on_if(&mut self, condition: Value, otherwise: Label) {
        let on = self.f.create_block();
        self.f.ins().brif(condition, on, &[], otherwise, &[]);
        self.begin(on);
    }

    /// Calls a function for the micro-op at `slot`.
    pub(in crate::engine::compiled) fn call(&mut self, function: Call, slot: usize, address: Value) {
        let acc = self.f.use_var(self.acc);
        self.call_with(function, slot, acc, address);
    }

    /// The same, with an accumulator of its own.
    pub(in crate::engine::compiled) fn call_with(&mut self, function: Call, slot: usize, acc: Value, address: Value) {
        let function = self.constant(function as usize as i64);
        let op = self.constant(self.code.address(slot) as i64);
        let trampoline = self.constant(self.trampoline as i64);
        let (hart, environment) = (self.hart(), self.environment());
        let arguments = [function, hart, op, acc, environment, address];
        self.f.ins().call_indirect(self.trampoline_signature, trampoline, &arguments);
    }

    pub(in crate::engine::compiled) fn constant(&mut self, value: i64) -> Value {
        self.f.ins().iconst(I64, value)
    }

    /// The guest's address of a byte of the page, or behind it.
    pub(in crate::engine::compiled) fn in_page(&mut self, offset: i64) -> Value {
        let page = self.load_hart(I64, offset_of!(Hart, page));
        self.f.ins().iadd_imm_s(page, offset)
    }

    /// Integer register `number`.
    pub(in crate::engine::compiled) fn x(&mut self, number: u8) -> Value {
        match number {
            0 => self.constant(0),
            _ => self.f.use_var(self.x[usize::from(number)]),
        }
    }

    /// Sets integer register `number`, or nothing if it is the sink.
    pub(in crate::engine::compiled) fn set_x(&mut self, number: u8, value: Value) {
        if number < SINK {
            self.f.def_var(self.x[usize::from(number)], value);
        }
    }

    /// Floating-point register `number`.
    pub(in crate::engine::compiled) fn fs(&mut self, number: u8) -> Value {
        self.f.use_var(self.fs[usize::from(number)])
    }

    /// Sets floating-point register `number`.
    pub(in crate::engine::compiled) fn set_fs(&mut self, number: u8, value: Value) {
        self.f.def_var(self.fs[usize::from(number)], value);
    }

    pub(in crate::engine::compiled) fn load_hart(&mut self, of: Type, offset: usize) -> Value {
        let hart = self.hart();
        self.f.ins().load(of, PLAIN, hart, offset as i32)
    }

    pub(in crate::engine::compiled) fn store_hart(&mut self, value: Value, offset: usize) {
        let hart = self.hart();
        self.f.ins().store(PLAIN, value, hart, offset as i32);
    }

    pub(in crate::engine::compiled) fn hart(&mut self) -> Value {
        self.f.ins().stack_load(I64, I64, self.frame, FRAME_HART)
    }

    pub(in crate::engine::compiled) fn environment(&mut self) -> Value {
        self.f.ins().stack_load(I64, I64, self.frame, FRAME_ENVIRONMENT)
    }
}
