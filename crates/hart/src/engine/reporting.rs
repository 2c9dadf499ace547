//! What the engines report to a bus that wants it. For other buses all of it is nothing.

use super::{
    environment::Environment,
    operands::{Operands, Set},
};
use crate::{
    Bus,
    hart::Hart,
    microop::MicroOp,
    ops::Class,
    report::{BranchWay, DataKind, DataReport, Outstanding, RegisterSet, Report, Reports, Serialize},
};

impl<B: Bus> Environment<'_, B> {
    /// Whether every access is reported.
    #[inline(always)]
    pub(crate) fn watches(&self) -> bool {
        B::REPORTS == Reports::Instructions && self.outstanding != Outstanding::Nothing
    }

    /// The access that was translated just now is reported, whatever it finds.
    #[inline(always)]
    pub(crate) fn watch(&mut self) {
        self.outstanding = Outstanding::Something(RegisterSet::ALL);
    }

    /// The micro-op at `op`, which computes, is about to be executed.
    ///
    /// # Safety
    /// It is one of a live block.
    #[inline(always)]
    pub(crate) unsafe fn operation(&mut self, hart: &Hart, op: *const MicroOp, acc: u64) {
        if B::REPORTS == Reports::Instructions
            && let Outstanding::Something(registers) = self.outstanding
            && self.side(op).names.intersects(registers)
        {
            // SAFETY: by the contract.
            unsafe { self.report_operation(hart, op, acc) };
        }
    }

    /// The branch at `op` goes one way or the other.
    ///
    /// # Safety
    /// As for [`Self::operation`].
    #[inline(always)]
    pub(crate) unsafe fn branch(&mut self, hart: &Hart, op: *const MicroOp, acc: u64, taken: bool) {
        if B::REPORTS == Reports::Instructions {
            // SAFETY: by the contract.
            let (rs1, rs2) = unsafe { ((*op).rs1, (*op).rd) };
            let side = self.side(op);
            let report = Report::Branch {
                pc: hart.page + u64::from(side.offset),
                way: if taken { BranchWay::Taken } else { BranchWay::NotTaken },
                reads: Set::x(rs1).and(Set::x(rs2)).registers(),
            };
            self.report_at(hart, op, acc, report);
        }
    }

    /// Something that serializes comes before, or with, the instruction at `op`.
    #[inline(always)]
    pub(crate) fn serialize(&mut self, hart: &Hart, op: *const MicroOp, acc: u64, serialize: Serialize) {
        if B::REPORTS == Reports::Instructions {
            self.report_at(hart, op, acc, Report::Serialize(serialize));
        }
    }

    /// # Safety
    /// As for [`Self::operation`].
    #[inline(never)]
    unsafe fn report_operation(&mut self, hart: &Hart, op: *const MicroOp, acc: u64) {
        let opcode = self.opcode(op);
        // SAFETY: by the contract.
        let Operands { read, written } = Operands::reported(opcode, unsafe { &*op });
        self.report_at(hart, op, acc, Report::Operation { reads: read.registers(), writes: written.registers() });
    }

    /// An access of the micro-op at `op`: to the byte at `at`, or wherever the bus has done it.
    ///
    /// # Safety
    /// As for [`Self::operation`]; it is a memory micro-op.
    #[inline(never)]
    pub(crate) unsafe fn report_data(&mut self, hart: &Hart, op: *const MicroOp, acc: u64, at: Option<*const u8>) {
        let opcode = self.opcode(op);
        // SAFETY: by the contract.
        let &MicroOp { imm, rd, rs1, .. } = unsafe { &*op };
        let nothing = Set::default();
        let (kind, writes, stores, offset) = match opcode.class() {
            Class::load => (DataKind::Load, Set::x(rd), nothing, imm),
            Class::float_load => (DataKind::Load, Set::f(rd), nothing, imm),
            Class::store => (DataKind::Store, nothing, Set::x(rd), imm),
            Class::float_store => (DataKind::Store, nothing, Set::f(rd), imm),
            Class::load_reserved => (DataKind::Load, Set::x(rd), nothing, 0),
            Class::store_conditional | Class::atomic => (DataKind::Atomic, Set::x(rd), Set::x(imm as u8), 0),
            Class::immediate | Class::register | Class::branch | Class::float | Class::single => return,
        };
        let report = Report::Data(DataReport {
            kind,
            writes: writes.registers(),
            address_of: Set::x(rs1).registers(),
            stores: stores.registers(),
            address: hart.register(rs1).wrapping_add(offset as i64 as u64),
            at,
        });
        self.report_at(hart, op, acc, report);
    }

    /// The bus has done the access of the micro-op at `op` itself.
    ///
    /// # Safety
    /// As for [`Self::report_data`].
    #[inline(always)]
    pub(crate) unsafe fn completed(&mut self, hart: &Hart, op: *const MicroOp, acc: u64) {
        if B::REPORTS == Reports::Instructions {
            // SAFETY: by the contract.
            unsafe { self.report_data(hart, op, acc, None) };
        }
    }

    /// Reports something of the instruction at `op`.
    #[inline(always)]
    pub(crate) fn report_at(&mut self, hart: &Hart, op: *const MicroOp, acc: u64, report: Report) {
        let retired = hart.retired_before_block(acc) + u64::from(self.side(op).instructions);
        self.outstanding = self.bus().report(retired, report);
    }
}
