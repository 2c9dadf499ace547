//! Reserved memory: a base, a limit and a constant (Sha et al. 2022, section 1: what Sunway had before). A translation adds, after it
//! has compared; there is no table to read.

use super::{ConstantStage, HostMapping, Stage};
use crate::fault::{Cause, Fault, NestedFault, Purpose};
use crate::memory::TableMemory;
use crate::statistics::MmuStatistics;
use types::{Access, Gpa, PageSize};

/// `SecondStage::Reserved` during one walk: a constant stage that refuses what is not the guest's memory.
pub(crate) struct ReservedStage<'a, M>(pub(crate) ConstantStage<'a, M>);

impl<M: TableMemory> Stage for ReservedStage<'_, M> {
    type Memory = M;

    fn memory(&mut self) -> &mut M {
        self.0.memory
    }

    fn statistics(&mut self) -> &mut MmuStatistics {
        self.0.statistics
    }

    #[inline]
    fn translate(&mut self, gpa: Gpa, access: Access, purpose: Purpose, limit: PageSize) -> Result<HostMapping, Fault> {
        if !self.0.ram.contains(&gpa) {
            return Err(Fault::Nested(NestedFault { gpa, access, purpose, cause: Cause::OutOfBounds }));
        }
        self.0.translate(gpa, access, purpose, limit)
    }

    #[inline]
    fn translate_update(&mut self, gpa: Gpa) -> Result<HostMapping, Fault> {
        self.translate(gpa, Access::Write, Purpose::Table, PageSize::Size4K)
    }
}
