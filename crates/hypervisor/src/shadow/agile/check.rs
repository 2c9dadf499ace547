//! Whether every switching entry leads where the guest's tables do, and every shadowed table is protected from stores.

use crate::guest_view::Peek;
use crate::shadow::audit::{Problem, Violation};
use crate::shadow::{Shadow, Tables};
use crate::table::{GuestTable, LeafBits};
use crate::vm::VmMemory;
use memory::HostMemory;
use mmu::SoftwareTables;
use types::{Gpa, Gva, Hpa, PageSize};

/// V, R, W and X.
const KIND: u64 = 0b1111;

impl Shadow {
    /// What is wrong with that.
    pub(in crate::shadow) fn check_modes(&self, vm: &VmMemory, memory: &HostMemory) -> Vec<Violation> {
        if self.agile.is_none() {
            return Vec::new();
        }
        debug_assert!(matches!(self.config.tables, Tables::Multiple(_)));
        let wrong = |table, gva, problem| Violation { table, gva, problem, fenced: false };
        let mut violations = Vec::new();
        for (number, table) in self.tables.list.iter().enumerate() {
            for (gva, to) in table.shape.switches(memory) {
                let right = self.guest_table_of(vm, memory, number, gva, to.level);
                if right.is_some_and(|right| right != to) {
                    let right = right.map(|right| right.table);
                    violations.push(wrong(number, gva, Problem::Elsewhere { entry: to.table, right }));
                }
            }
        }
        for gpa in self.guest_tables.gpas() {
            if vm.mapped(memory, gpa).is_some_and(|leaf| leaf.bits.contains(LeafBits::WRITE)) {
                violations.push(wrong(0, Gva(gpa.0), Problem::Unprotected));
            }
        }
        violations
    }

    /// The guest's table of `level` on the way to an address of a shadow table's space. `None` where that cannot be read now. Where the guest's tables lead to
    /// none, it is nowhere.
    fn guest_table_of(
        &self,
        vm: &VmMemory,
        memory: &HostMemory,
        table: usize,
        gva: Gva,
        level: u32,
    ) -> Option<GuestTable> {
        let key = self.tables.list[table].key?;
        let mut tables = Peek::new(vm, memory);
        let mut at = key.root;
        for above in (level + 1..key.mode.levels()).rev() {
            let index = gva.0 >> PageSize::of_level(above).shift() & 511;
            let entry = tables.read(at.wrapping_add(index * 8))?;
            if entry & KIND != 1 {
                return Some(GuestTable { table: Hpa(0), level });
            }
            at = Gpa((entry >> 10 & ((1 << 44) - 1)) << 12);
        }
        let leaf = vm.mapped(memory, at)?;
        Some(GuestTable { table: Hpa(leaf.page.0 | at.offset(leaf.size)), level })
    }
}
