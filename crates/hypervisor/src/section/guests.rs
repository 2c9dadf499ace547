//! Machines with guests: the tables that sections go into are the VMs' own.

use super::manager::GuestTables;
use super::space::Window;
use crate::table::{Leaf, SectionTable};
use crate::vm::Vm;
use memory::HostMemory;
use types::{Gpa, Vmid};

impl GuestTables for Vec<Vm> {
    fn table(&mut self, vmid: Vmid) -> Option<&mut dyn SectionTable> {
        find(self, vmid)?.section_table()
    }

    fn forget_page(&mut self, memory: &HostMemory, vmid: Vmid, gpa: Gpa, leaf: &Leaf) {
        if let Some(vm) = find(self, vmid) {
            vm.drop_shadow_entries(memory, gpa, leaf);
        }
    }

    fn forget_window(&mut self, memory: &HostMemory, vmid: Vmid, _: &Window) {
        if let Some(vm) = find(self, vmid) {
            vm.clear_shadow(memory);
        }
    }
}

fn find(vms: &mut [Vm], vmid: Vmid) -> Option<&mut Vm> {
    vms.iter_mut().find(|vm| vm.vmid() == vmid)
}
