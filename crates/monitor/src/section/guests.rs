//! Machines with guests: the tables that sections go into are the VMs' own.

use super::manager::GuestTables;
use crate::table::NestedTable;
use crate::vm::Vm;
use types::Vmid;

impl GuestTables for Vec<Vm> {
    fn table(&mut self, vmid: Vmid) -> Option<&mut NestedTable> {
        self.iter_mut().find(|vm| vm.vmid() == vmid)?.nested_table()
    }
}
