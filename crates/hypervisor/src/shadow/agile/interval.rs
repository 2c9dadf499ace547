//! The end of an interval: which nested pages are shadowed from now on.

use super::config::Back;
use super::root_cache::Root;
use crate::exits::ExitReason;
use crate::shadow::guest_tables::Derived;
use crate::shadow::statistics::{Activity, Way, Work};
use crate::shadow::steps::{self, Entered};
use crate::shadow::tables::TableSet;
use crate::shadow::{Event, Shadow, Tlbs};
use crate::vm::{Vm, VmMemory};
use memory::{Host, HostMemory};
use mmu::Fence;
use types::{Gpa, Hpa};

impl Vm {
    /// An interval ends, after which the hypervisor looks again at which tables it shadows; what that took, if anything. Nothing for a guest
    /// without intervals.
    pub fn end_shadow_interval(&mut self, host: &mut Host, tlbs: &mut impl Tlbs) -> Option<Event> {
        self.with_shadow(|shadow, vm| shadow.end_interval(vm, host, tlbs))?
    }
}

/// Where the entry, or the root, at a place leads hardware to a table of the guest.
fn leads_to(tables: &TableSet, roots: &[Root], memory: &HostMemory, place: &Derived) -> Option<Hpa> {
    let Derived { table, base, level } = *place;
    let shape = &tables.list[table].shape;
    if level + 1 < shape.mode().levels() {
        return shape.switch_at(memory, base).filter(|to| to.level == level).map(|to| to.table);
    }
    match roots.get(table)? {
        Root::Switched(table) => Some(*table),
        Root::Nested { .. } | Root::Shadow => None,
    }
}

impl Shadow {
    fn end_interval(&mut self, vm: &mut VmMemory, host: &mut Host, tlbs: &mut impl Tlbs) -> Option<Event> {
        let agile = self.agile.as_mut()?;
        let (back, began) = (agile.config.back, agile.interval);
        agile.interval += 1;
        self.guest_tables.begin_interval();
        let spaces = self.give_shadow_tables(began);
        let (pages, returned) = self.look_at_nested(vm, host, tlbs);
        if pages == 0 && spaces == 0 {
            return None;
        }
        if spaces > 0 || returned > 0 {
            // Walk caches lead to tables in modes that they no longer have.
            tlbs.fence_everywhere(&self.everything());
        }
        if back == Back::Dirty && returned < pages {
            // TLBs may permit stores by the dirty bits as they were.
            tlbs.fence_everywhere(&Fence::Gvma { gpa: None, vmid: Some(self.vmid) });
        }
        self.settle_modes(vm, &host.memory);
        self.statistics.agile.intervals += 1;
        let references = pages * (1 + u64::from(vm.host_levels())) + returned;
        let steps = steps::exit(Entered::Fault) + steps::fault(references + spaces);
        Some(self.event(ExitReason::Timer, Work::new(Activity::PurgeTlb, Way::Exit, steps, references)))
    }

    /// Address spaces that have begun nested before the interval get shadow tables; how many.
    fn give_shadow_tables(&mut self, began: u64) -> u64 {
        let Some(agile) = &mut self.agile else { return 0 };
        let mut spaces = 0;
        for root in &mut agile.roots {
            if matches!(root, Root::Nested { since } if *since < began) {
                *root = Root::Shadow;
                spaces += 1;
            }
        }
        self.statistics.agile.spaces_to_shadow += spaces;
        self.show_roots();
        spaces
    }

    /// How many pages are nested, and how many of them have become shadowed.
    fn look_at_nested(&mut self, vm: &mut VmMemory, host: &mut Host, tlbs: &mut impl Tlbs) -> (u64, u64) {
        let Some(agile) = &mut self.agile else { return (0, 0) };
        let back = agile.config.back;
        let (mut avoided, mut dirty, mut quiet) = (0, Vec::new(), Vec::new());
        for (&number, page) in &mut agile.nested {
            let changes = page.changes(vm, &host.memory, number);
            // A page that nothing leads to may be a table no more.
            let at = vm.mapped(&host.memory, Gpa(number << 12)).map(|leaf| leaf.page);
            let tables = &self.tables;
            let led_to = page.places.iter().any(|place| at == leads_to(tables, &agile.roots, &host.memory, place));
            avoided += if led_to { changes } else { 0 };
            let stays = match back {
                Back::Never => true,
                Back::Reset => false,
                Back::Dirty => vm.take_dirty(&host.memory, Gpa(number << 12)),
            };
            if stays { &mut dirty } else { &mut quiet }.push(number);
        }
        let returned: Vec<_> = quiet.iter().filter_map(|&number| agile.make_shadowed(number)).collect();
        self.statistics.agile.avoided += avoided;
        self.statistics.agile.to_shadow += returned.len() as u64;
        if back == Back::Dirty {
            self.statistics.agile.dirty += dirty.len() as u64;
            for &number in &dirty {
                // The next store through a shadow entry is to be seen.
                self.protect(vm, &host.memory, tlbs, Gpa(number << 12));
            }
        }
        for place in returned.iter().flat_map(|page| &page.places) {
            self.remove_switch(&host.memory, *place);
        }
        (dirty.len() as u64 + returned.len() as u64, returned.len() as u64)
    }
}
