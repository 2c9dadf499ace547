//! Pages of the guest's tables that are nested: when they become so, and the entries of shadow tables that lead to them.

use super::config::{Back, StatusUpdates};
use super::nested_page::NestedPage;
use super::root_cache::Root;
use super::state::Agile;
use crate::exits::ExitReason;
use crate::shadow::guest_tables::Derived;
use crate::shadow::reader::Path;
use crate::shadow::statistics::{Activity, Way, Work};
use crate::shadow::steps::{self, Entered};
use crate::shadow::{Event, Exited, Shadow, Tlbs};
use crate::table::{Displaced, GuestTable};
use crate::vm::{ReclaimRequest, VmMemory};
use memory::HostMemory;
use types::{Access, Gpa, Gva, Hpa, PageSize};

impl Agile {
    /// Whether the page at `gpa` is nested, and stores to it are looked for.
    pub(in crate::shadow) fn watches(&self, gpa: Gpa) -> bool {
        self.config.back == Back::Dirty && self.nested.contains_key(&gpa.number())
    }

    /// Whether hardware sets A and D in all tables by itself.
    pub(in crate::shadow) fn sets_status(&self) -> bool {
        self.config.status == StatusUpdates::Hardware
    }

    /// The walk has come to a page of the guest's tables: whether hardware goes on nested there.
    fn is_nested(&self, gpa: Gpa) -> bool {
        self.nested.contains_key(&gpa.number())
    }

    /// A page becomes nested. What is derived from it is gone.
    pub(in crate::shadow) fn make_nested(&mut self, number: u64) {
        self.nested.entry(number).or_default();
    }

    /// A page is nested no more.
    pub(super) fn make_shadowed(&mut self, number: u64) -> Option<NestedPage> {
        self.nested.remove(&number)
    }
}

impl Shadow {
    /// If a table on the way to `gva` is nested, lets hardware go on there: an entry, or a root, that switches.
    pub(in crate::shadow) fn switch_walk(
        &mut self,
        exited: &mut Exited<'_, impl Tlbs>,
        gva: Gva,
        path: &Path,
    ) -> Result<Option<Event>, ReclaimRequest> {
        let Some(agile) = &self.agile else { return Ok(None) };
        let Some(depth) = path.steps().position(|step| agile.is_nested(step.at)) else { return Ok(None) };
        let Some(step) = path.steps().nth(depth) else { return Ok(None) };
        let hart = exited.hart;
        let table = self.harts[hart].table;
        let levels = self.tables.list[table].shape.mode().levels();
        let level = levels - 1 - depth as u32;
        let page = step.at.page(PageSize::Size4K);
        let resolved = exited.vm.resolve(&exited.host.memory, &mut exited.host.frames, page, Access::Read)?;
        let Some(resolved) = resolved else { return Ok(None) };
        let at = Hpa(resolved.leaf.page.0 | page.offset(resolved.leaf.size));
        self.protect_path(exited, gva, &path.first(depth))?;
        let base = if depth == 0 { Gva(0) } else { gva.page(PageSize::of_level(level + 1)) };
        if depth == 0 {
            self.set_root(table, Root::Switched(at));
            exited.tlbs.fence_everywhere(&self.everything());
        } else {
            self.make_room(exited.host, exited.tlbs);
            let to = GuestTable { table: at, level };
            let shape = &mut self.tables.list[table].shape;
            let displaced = shape.switch(&exited.host.memory, &mut exited.host.frames, gva, to)?;
            self.settle(exited.host, exited.tlbs, displaced.unwrap_or(Displaced::Nothing));
        }
        self.statistics.agile.switches += 1;
        if let Some(agile) = &mut self.agile {
            agile.note_place(page.number(), Derived { table, base, level });
        }
        let host_levels = u64::from(exited.vm.host_levels());
        let references = (depth as u64 + 1) * (1 + host_levels) + u64::from(levels);
        let steps = steps::exit(Entered::Fault) + steps::validation(references);
        let work = Work::new(Activity::Validation, Way::Exit, steps, references);
        Ok(Some(self.event(ExitReason::ShadowFault, work)))
    }

    /// How many pages are nested.
    #[cfg(test)]
    pub(in crate::shadow) fn nested_pages(&self) -> usize {
        self.agile.as_ref().map_or(0, |agile| agile.nested.len())
    }

    /// Walks of an address space begin there from now on.
    pub(super) fn set_root(&mut self, table: usize, root: Root) {
        if let Some(known) = self.agile.as_mut().and_then(|agile| agile.roots.get_mut(table)) {
            *known = root;
        }
        self.show_roots();
    }

    /// Takes out the entry, or the root, that leads from `place` to a nested page.
    pub(super) fn remove_switch(&mut self, memory: &HostMemory, place: Derived) {
        let Derived { table, base, level } = place;
        let Some(agile) = &self.agile else { return };
        if level + 1 == self.tables.list[table].shape.mode().levels() {
            if matches!(agile.roots.get(table), Some(Root::Switched(_))) {
                self.set_root(table, Root::Shadow);
            }
        } else {
            let _ = self.tables.list[table].shape.invalidate_span(memory, base, level + 1);
            self.statistics.unprotects += self.guest_tables.forget_below(
                table,
                base.0,
                base.0 | (PageSize::of_level(level + 1).bytes() - 1),
                level + 1,
            );
        }
    }

    /// After tables of the guest have become nested, or none: what hardware must know of it.
    pub(in crate::shadow) fn settle_modes(&mut self, vm: &mut VmMemory, memory: &HostMemory) {
        let Some(agile) = &mut self.agile else { return };
        for (&number, page) in agile.nested.iter_mut().filter(|(_, page)| page.before.is_none()) {
            let _ = page.changes(vm, memory, number);
            self.statistics.agile.to_nested += 1;
        }
        for number in self.guest_tables.take_released() {
            vm.permit_stores(memory, Gpa(number << 12));
        }
    }
}
