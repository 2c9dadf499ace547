//! What the engines report to a bus that wants it. For other buses all of it is nothing.

use super::{environment::Environment, operands::Set};
use crate::{
    Bus,
    hart::Hart,
    microop::MicroOp,
    ops::Class,
    report::{BranchWay, DataKind, DataPlace, DataReport, Outstanding, Report, Reports, Serialize},
};

impl<B: Bus> Environment<'_, B> {
    /// Whether every access is reported.
    #[inline(always)]
    pub(crate) fn watches(&self) -> bool {
        B::REPORTS == Reports::Instructions && !self.outstanding.is_nothing()
    }

    /// The access that was translated just now is reported, whatever it finds.
    #[inline(always)]
    pub(crate) fn watch(&mut self) {
        if B::REPORTS == Reports::Instructions {
            self.outstanding = Outstanding::ANYTHING;
        }
    }

    /// The micro-op at `op`, which computes, is about to be executed.
    ///
    /// # Safety
    /// It is one of a live block.
    #[inline(always)]
    pub(crate) unsafe fn operation(&mut self, hart: &Hart, op: *const MicroOp, acc: u64) {
        if B::REPORTS == Reports::Instructions && self.outstanding.concerns(self.side(op).names) {
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
            self.report_serialize(hart, op, acc, serialize);
        }
    }

    /// Not inlined: a handler that passes the address of a report on could not end in a jump.
    #[inline(never)]
    fn report_serialize(&mut self, hart: &Hart, op: *const MicroOp, acc: u64, serialize: Serialize) {
        self.report_at(hart, op, acc, Report::Serialize(serialize));
    }

    /// The micro-ops in so many adjacent slots from `op` on compute, and are about to be executed. The accumulator is that of the first one's instruction, as
    /// [`Self::report`] has it.
    ///
    /// # Safety
    /// They are micro-ops of a live block.
    pub(crate) unsafe fn report_operations(&mut self, hart: &Hart, op: *const MicroOp, acc: u64, number: usize) {
        let first = hart.retired_before_block(acc);
        for place in 0..number {
            // SAFETY: by the contract.
            let side = self.side(unsafe { op.add(place) });
            if self.outstanding.concerns(side.names) {
                let [reads, writes] = side.written.split(side.names);
                self.outstanding = self.bus().report(first + place as u64, Report::Operation { reads, writes });
            }
        }
    }

    /// # Safety
    /// As for [`Self::operation`].
    #[inline(never)]
    unsafe fn report_operation(&mut self, hart: &Hart, op: *const MicroOp, acc: u64) {
        let side = self.side(op);
        let [reads, writes] = side.written.split(side.names);
        self.report_at(hart, op, acc, Report::Operation { reads, writes });
    }

    /// An access of the micro-op at `op` to an address, and where it has found its data.
    ///
    /// # Safety
    /// As for [`Self::operation`]; it is a memory micro-op.
    #[inline(never)]
    pub(crate) unsafe fn report_data(
        &mut self,
        hart: &Hart,
        op: *const MicroOp,
        acc: u64,
        address: u64,
        place: DataPlace,
    ) {
        let opcode = self.opcode(op);
        // SAFETY: by the contract.
        let &MicroOp { imm, rd, rs1, .. } = unsafe { &*op };
        let nothing = Set::default();
        let (kind, writes, stores) = match opcode.class() {
            Class::load | Class::load_reserved => (DataKind::Load, Set::x(rd), nothing),
            Class::float_load => (DataKind::Load, Set::f(rd), nothing),
            Class::store => (DataKind::Store, nothing, Set::x(rd)),
            Class::float_store => (DataKind::Store, nothing, Set::f(rd)),
            Class::store_conditional | Class::atomic => (DataKind::Atomic, Set::x(rd), Set::x(imm as u8)),
            Class::immediate | Class::register | Class::branch | Class::float | Class::single => return,
        };
        let report = Report::Data(DataReport {
            kind,
            writes: writes.registers(),
            address_of: Set::x(rs1).registers(),
            stores: stores.registers(),
            address,
            place,
        });
        self.report_at(hart, op, acc, report);
    }

    /// The bus has done the access of the micro-op at `op` to an address itself.
    ///
    /// # Safety
    /// As for [`Self::report_data`].
    #[inline(always)]
    pub(crate) unsafe fn completed(&mut self, hart: &Hart, op: *const MicroOp, acc: u64, address: u64) {
        if B::REPORTS == Reports::Instructions {
            // SAFETY: by the contract.
            unsafe { self.report_data(hart, op, acc, address, DataPlace::Completed) };
        }
    }

    /// Reports something of an instruction, with an accumulator that has the instructions of its block before it in the budget.
    #[inline(always)]
    pub(crate) fn report(&mut self, hart: &Hart, acc: u64, report: Report) {
        self.outstanding = self.bus().report(hart.retired_before_block(acc), report);
    }

    /// Reports something of the instruction at `op`.
    #[inline(always)]
    pub(crate) fn report_at(&mut self, hart: &Hart, op: *const MicroOp, acc: u64, report: Report) {
        let retired = hart.retired_before_block(acc) + u64::from(self.side(op).instructions);
        self.outstanding = self.bus().report(retired, report);
    }
}
