//! Guest tables where they are write-protected: the hypervisor sees every store to them, and drops what it derived from the bytes before they
//! change. A guest's fences then need no work on shadow tables.
//!
//! A *guest table page* is a page of guest memory that the walk for an entry read. From then on it is mapped without W in every shadow
//! table, whatever maps it, until nothing is derived from it any more, or until stores to it come one after the other and no walk reads it:
//! then it is being filled, or freed and used for something else.

use super::guest_tables::Derived;
use super::reader::Path;
use super::{Coherence, Exited, Shadow, Tlbs};
use crate::table::{LeafBits, Removed};
use crate::vm::VmMemory;
use memory::{Host, HostMemory, OutOfFrames};
use mmu::Fence;
use types::{Gpa, Gva, Hpa, PageSize};

impl Shadow {
    /// Whether `gpa` lies in a guest table page.
    pub(super) fn is_guest_table(&self, gpa: Gpa) -> bool {
        self.guest_tables.contains(gpa)
    }

    /// Whether a guest table page lies in the page of `size` around `gpa`.
    pub(super) fn holds_guest_table(&self, gpa: Gpa, size: PageSize) -> bool {
        let first = gpa.page(size).number();
        self.guest_tables.pages.range(first..first + (size.bytes() >> 12)).next().is_some()
    }

    /// Nothing in `table` is derived from guest tables any more.
    pub(super) fn forget_guest_tables(&mut self, table: usize) {
        if self.config.coherence == Coherence::WriteProtect {
            let _ = self.guest_tables.forget_below(table, 0, u64::MAX, u32::MAX);
        }
    }

    /// Write-protects the pages that a walk for `gva` read, the root's first.
    pub(super) fn protect_path(
        &mut self,
        exited: &mut Exited<'_, impl Tlbs>,
        gva: Gva,
        path: &Path,
    ) -> Result<(), OutOfFrames> {
        let Exited { vm, host, tlbs, hart, .. } = exited;
        let table = self.harts[*hart].table;
        let levels = self.tables.list[table].shape.mode().levels();
        for (level, step) in (0..levels).rev().zip(path.steps()) {
            let base = if level + 1 == levels { Gva(0) } else { gva.page(PageSize::of_level(level + 1)) };
            if !self.is_guest_table(step.at) {
                self.protect_in_host(vm, &host.memory, &mut host.frames, *tlbs, step.at)?;
            }
            if self.guest_tables.add(step.at, Derived { table, base, level }) {
                self.protect(vm, &host.memory, *tlbs, step.at);
            }
        }
        Ok(())
    }

    /// Takes W from whatever maps the page at `gpa`.
    pub(super) fn protect(&mut self, vm: &VmMemory, memory: &HostMemory, tlbs: &mut impl Tlbs, gpa: Gpa) {
        let Some(page) = vm.mapped(memory, gpa) else { return };
        let hpa = Hpa(page.page.0 | gpa.page(PageSize::Size4K).offset(page.size));
        for place in self.reverse.of(gpa) {
            let Some(leaf) = self.tables.mapping(memory, place.table, place.gva, hpa) else { continue };
            if !leaf.bits.contains(LeafBits::WRITE) {
                continue;
            }
            let shape = &mut self.tables.list[place.table as usize].shape;
            if leaf.size == PageSize::Size4K {
                shape.set_bits(memory, place.gva, leaf.bits.without(LeafBits::WRITE));
                tlbs.fence_everywhere(&Fence::Vvma { vmid: self.vmid, gva: Some(place.gva), asid: None });
            } else {
                // It comes back in smaller pages, but for this one writable.
                let _ = shape.invalidate(memory, place.gva, &|_| true);
                tlbs.fence_everywhere(&self.everything());
            }
        }
    }

    /// The guest is about to store to the guest table page at `gpa`: what is derived from the bytes there goes first. Returns how many entries
    /// were looked at.
    pub(super) fn store_to_table(&mut self, host: &Host, tlbs: &mut impl Tlbs, gpa: Gpa) -> u64 {
        self.statistics.table_writes += 1;
        let number = gpa.number();
        match self.guest_tables.count_store(number) {
            None => return 0,
            Some(true) => return self.nest_table(host, tlbs, number),
            Some(false) => {}
        }
        let places = self.guest_tables.pages.get(&number).map(|page| page.derived.clone()).unwrap_or_default();
        // A store that is not aligned may reach into the entry behind.
        let index = gpa.offset(PageSize::Size4K) / 8;
        let last = if gpa.is_aligned(8) { index } else { (index + 1).min(511) };
        let (mut all, mut gva) = (Removed::default(), None);
        for place in places {
            for index in index..=last {
                let (removed, from) = self.drop_entry(&host.memory, place, index);
                // One page can be fenced by its address; more are all fenced.
                let several = removed.cleared > 0 && all.cleared > 0 && gva != Some(from);
                all.add(removed);
                all.pieces |= several;
                if removed.cleared > 0 {
                    gva = Some(from);
                }
            }
        }
        self.fence_dropped(tlbs, all, gva);
        all.touched
    }

    /// Page `number` is no guest table page any more: under agile paging it is nested. Returns how many entries were looked at.
    pub(super) fn nest_table(&mut self, host: &Host, tlbs: &mut impl Tlbs, number: u64) -> u64 {
        let removed = self.drop_page(&host.memory, number);
        self.fence_dropped(tlbs, removed, None);
        if let Some(agile) = &mut self.agile {
            agile.make_nested(number);
        }
        removed.touched
    }

    /// Something other than a hart stores to the page at `gpa`: a device, or the hypervisor for the guest. If it is a guest table page, it is none any more.
    pub(super) fn store_by_others(&mut self, memory: &HostMemory, gpa: Gpa) {
        if self.is_guest_table(gpa) {
            let removed = self.drop_page(memory, gpa.number());
            self.guest_tables.dropped |= removed.cleared > 0;
        }
    }

    /// Drops what is derived from entry `index` of a guest table page at `place`.
    fn drop_entry(&mut self, memory: &HostMemory, place: Derived, index: u64) -> (Removed, Gva) {
        let Derived { table, base, level } = place;
        let size = PageSize::of_level(level);
        let shape = &mut self.tables.list[table].shape;
        let gva = shape.canonical(Gva(base.0 | index << size.shift()));
        let removed = shape.invalidate_span(memory, gva, level);
        if level > 0 {
            self.statistics.unprotects +=
                self.guest_tables.forget_below(table, gva.0, gva.0 | (size.bytes() - 1), level);
        }
        (removed, gva)
    }

    /// Drops everything that is derived from page `number`, which is a guest table page no more.
    pub(super) fn drop_page(&mut self, memory: &HostMemory, number: u64) -> Removed {
        let mut removed = Removed::default();
        let places = self.guest_tables.pages.get(&number).map(|page| page.derived.clone()).unwrap_or_default();
        for place in places {
            let Derived { table, base, level } = place;
            let shape = &mut self.tables.list[table].shape;
            let (last, dropped) = if level + 1 >= shape.mode().levels() {
                (u64::MAX, shape.clear(memory))
            } else {
                let size = PageSize::of_level(level + 1);
                (base.0 | (size.bytes() - 1), shape.invalidate_span(memory, base, level + 1))
            };
            removed.add(dropped);
            removed.pieces = true;
            self.statistics.unprotects += self.guest_tables.forget_below(table, base.0, last, level + 1);
        }
        removed
    }

    /// Fences what was dropped: the page of `gva` alone, or everything.
    fn fence_dropped(&self, tlbs: &mut impl Tlbs, removed: Removed, gva: Option<Gva>) {
        if removed.cleared == 0 {
            return;
        }
        let gva = gva.filter(|_| !removed.pieces);
        tlbs.fence_everywhere(&Fence::Vvma { vmid: self.vmid, gva, asid: None });
    }
}
