//! The second stage during a walk.

use crate::config::{Config, Counts, Stage2};
use crate::flat::look_up;
use crate::pte::{self, Cause, Demand};
use crate::segment::{Segment, Verdict};
use crate::tlb::{Entry, Owner, Tlb};
use crate::walk::{Mapping, Tables, Tree, Visit, Walk};
use crate::walk_cache::{Pointer, WalkCache, range_of};
use crate::{Fault, Memory};
use core::ops::Range;
use types::{Access, Gpa, Hpa, PageSize, SecondStageMode, Vmid};

/// The second stage takes every access for one of U.
fn second_demand(access: Access) -> Demand {
    Demand { access, user: true, sum: false, mxr: false }
}

/// Whether a cached translation permits an access without another look at the tables.
pub(crate) fn answers(entry: &Entry, first: Demand) -> bool {
    let settled =
        |pte: u64, demand: Demand| pte::permit(pte, demand).is_ok() && pte::missing(pte, demand.access).is_none();
    let first_permits = entry.first.is_none_or(|pte| settled(pte, first));
    let second_permits = entry.second.is_none_or(|pte| settled(pte, second_demand(first.access)));
    first_permits && second_permits
}

/// The second stage during a walk.
pub(crate) struct Second<'a, M> {
    pub(crate) memory: &'a mut M,
    pub(crate) stage: &'a Stage2,
    /// The hypervisor's segment.
    pub(crate) segment: Option<&'a Segment>,
    pub(crate) config: &'a Config,
    pub(crate) cache: &'a mut WalkCache,
    pub(crate) tlb: &'a mut Option<Tlb>,
    pub(crate) vmid: Vmid,
    pub(crate) time: &'a mut u64,
    pub(crate) counts: &'a mut Counts,
    /// The table page translated last: its entry, and the leaf with its place if it was walked to.
    pub(crate) latest: Option<(Entry, Option<Mapping>)>,
}

/// The second stage's tables.
struct HostTables<'a, M> {
    memory: &'a mut M,
    counts: &'a mut Counts,
    config: &'a Config,
    stage: &'a Stage2,
}

impl<M: Memory> Tables for HostTables<'_, M> {
    fn read(&mut self, at: u64) -> Result<u64, Fault> {
        let pte = self.memory.read(Hpa(at)).ok_or(Fault::SecondStageTable)?;
        self.counts.host_refs += 1;
        self.counts.steps += 1;
        if let (Some(routine), Stage2::Nested { .. } | Stage2::Agile { .. }) = (self.config.refill, self.stage) {
            self.counts.refill_instructions += routine.nested_level;
        }
        Ok(pte)
    }

    fn update(&mut self, at: u64, old: u64, new: u64) -> Result<bool, Fault> {
        let found = self.memory.compare_exchange(Hpa(at), old, new).ok_or(Fault::SecondStageTable)?;
        if found == old {
            self.counts.host_updates += 1;
            self.counts.refill_instructions += self.config.refill.map_or(0, |routine| routine.update);
        }
        Ok(found == old)
    }
}

impl<M: Memory> Second<'_, M> {
    pub(crate) fn tick(&mut self) -> u64 {
        *self.time += 1;
        *self.time
    }

    /// The rules of the stage's tables; a flat table is one level.
    fn tree(&self) -> Tree {
        let levels = match self.stage {
            Stage2::Nested { mode, .. } | Stage2::Agile { mode, .. } => match mode {
                SecondStageMode::Sv39x4 => 3,
                SecondStageMode::Sv48x4 => 4,
                SecondStageMode::Sv57x4 => 5,
            },
            Stage2::Flat { .. } => 1,
            Stage2::Constant { .. } | Stage2::Reserved { .. } => unreachable!("there are no tables"),
        };
        Tree { levels, wide_root: true, svadu: self.config.second_stage_svadu, groups: self.config.second_stage_groups }
    }

    /// The refill routine begins to translate a guest physical address.
    fn note_lookup(&mut self, in_segment: bool) {
        let Some(routine) = self.config.refill else { return };
        self.counts.refill_instructions += match self.stage {
            _ if in_segment => routine.reserved_lookup,
            Stage2::Constant { .. } | Stage2::Agile { .. } => 0,
            Stage2::Nested { .. } => routine.nested_lookup,
            Stage2::Flat { .. } => routine.flat_lookup,
            Stage2::Reserved { .. } => routine.reserved_lookup,
        };
    }

    /// The segment's translation of an address, if it has one.
    fn in_segment(&self, gpa: Gpa, largest: PageSize) -> Option<Entry> {
        let Verdict::Translated(hpa, size) = self.segment?.translate(gpa.0, largest) else { return None };
        let within = gpa.0 % size.bytes();
        Some(Entry {
            vmid: self.vmid,
            owner: Owner::Bare,
            page: gpa.0 - within,
            size,
            gpa: Gpa(gpa.0 - within),
            hpa: Hpa(hpa - within),
            memory: true,
            first: None,
            second: None,
        })
    }

    /// An entry for the page of an address that is reached in a walk; no larger a page than `largest` is of use.
    pub(crate) fn reach(&mut self, gpa: Gpa, access: Access, table: bool, largest: PageSize) -> Result<Entry, Fault> {
        let found = self.in_segment(gpa, largest);
        self.note_lookup(found.is_some());
        if let Some(entry) = found {
            self.counts.hypervisor_segment_hits += 1;
            if !table {
                self.counts.hypervisor_segment_pages += 1;
            }
            return Ok(entry);
        }
        if self.segment.is_some_and(|segment| segment.translate(gpa.0, largest) == Verdict::Escapes) {
            self.counts.escape_hits += 1;
        }
        self.translate(gpa, access, table)
    }

    /// An entry for the gPA's page: `page` and `gpa` are both guest physical.
    fn translate(&mut self, gpa: Gpa, access: Access, table: bool) -> Result<Entry, Fault> {
        match self.stage.clone() {
            Stage2::Constant { ram, offset } => Ok(self.add(gpa, &ram, offset)),
            Stage2::Reserved { ram, offset } => {
                if gpa < ram.start || gpa >= ram.end {
                    return Err(Fault::Nested { gpa, access, table, cause: Cause::OutOfBounds });
                }
                Ok(self.add(gpa, &ram, offset))
            }
            Stage2::Nested { root, .. } | Stage2::Agile { root, .. } => self.translate_nested(root, gpa, access, table),
            Stage2::Flat { table: at, first, entries } => self.translate_flat((at, first, entries), gpa, access, table),
        }
    }

    /// The largest page that is inside memory and aligned in the host, or outside memory.
    fn add(&self, gpa: Gpa, ram: &Range<Gpa>, offset: u64) -> Entry {
        let mut found = None;
        for size in PageSize::ALL {
            let first = u128::from(gpa.0 / size.bytes() * size.bytes());
            let end = first + u128::from(size.bytes());
            let inside = first >= u128::from(ram.start.0) && end <= u128::from(ram.end.0);
            let outside = end <= u128::from(ram.start.0) || first >= u128::from(ram.end.0);
            let add = if inside { offset } else { 0 };
            if (inside && offset.is_multiple_of(size.bytes())) || outside {
                found = Some(Entry {
                    vmid: self.vmid,
                    owner: Owner::Bare,
                    page: first as u64,
                    size,
                    gpa: Gpa(first as u64),
                    hpa: Hpa((first as u64).wrapping_add(add)),
                    memory: inside,
                    first: None,
                    second: None,
                });
            }
        }
        found.expect("memory and offset are multiples of 4K")
    }

    fn translate_nested(&mut self, root: Hpa, gpa: Gpa, access: Access, table: bool) -> Result<Entry, Fault> {
        let tree = self.tree();
        let refuse = move |cause| Fault::Nested { gpa, access, table, cause };
        let bits = 2 + 9 * tree.levels + 12;
        if gpa.0 >= 1 << bits {
            return Err(refuse(Cause::TooWide));
        }
        let vmid = self.vmid;
        let time = self.tick();
        if let Some(entry) = self.ask_nested_tlb(gpa, access, time) {
            return Ok(entry);
        }

        let start = self.cache.deepest(tree.levels, gpa.0, time, &|of, _| of == vmid);
        if let Some((level, _)) = start {
            self.counts.host_cache_hits[level as usize - 1] += 1;
        }
        let (level, from) = start.map_or((tree.levels - 1, root.0), |(level, pointer)| (level - 1, pointer.table));
        let mut tables =
            HostTables { memory: self.memory, counts: self.counts, config: self.config, stage: self.stage };
        let demand = second_demand(access);
        let mut walk = Walk { tree, tables: &mut tables, refuse: &refuse, address: gpa.0, demand, visits: Vec::new() };
        let found = walk.descend(level, from, false);
        for Visit { level, table, .. } in walk.visits {
            let time = self.tick();
            let range = range_of(gpa.0, level);
            self.cache.fill(level, Pointer { vmid, owner: Owner::Bare, range, table, found: None }, time);
        }
        Ok(self.keep(gpa, found?))
    }

    fn ask_nested_tlb(&mut self, gpa: Gpa, access: Access, time: u64) -> Option<Entry> {
        let vmid = self.vmid;
        let tlb = self.tlb.as_mut()?;
        let permits = |entry: &Entry| entry.vmid == vmid && answers(entry, second_demand(access));
        let Some((position, entry)) = tlb.find(gpa.0, permits) else {
            self.counts.nested_tlb_misses += 1;
            return None;
        };
        tlb.use_at(position, time);
        self.counts.nested_tlb_hits += 1;
        self.latest = Some((entry, None));
        Some(entry)
    }

    fn translate_flat(
        &mut self,
        array: (Hpa, Gpa, u64),
        gpa: Gpa,
        access: Access,
        table: bool,
    ) -> Result<Entry, Fault> {
        let refuse = move |cause| Fault::Nested { gpa, access, table, cause };
        let (_, first, entries) = array;
        if u128::from(gpa.0) >= u128::from(first.0) + u128::from(entries) * 4096 || gpa.0 < first.0 {
            return Err(refuse(Cause::OutOfBounds));
        }
        let time = self.tick();
        if let Some(entry) = self.ask_nested_tlb(gpa, access, time) {
            return Ok(entry);
        }
        let demand = second_demand(access);
        loop {
            let mut found = look_up(self.memory, self.counts, array, gpa, &refuse)?;
            let tree = self.tree();
            let mut tables =
                HostTables { memory: self.memory, counts: self.counts, config: self.config, stage: self.stage };
            let mut walk =
                Walk { tree, tables: &mut tables, refuse: &refuse, address: gpa.0, demand, visits: Vec::new() };
            if let Some(leaf) = walk.settle(found.leaf, found.at)? {
                found.leaf = leaf;
                return Ok(self.keep(gpa, found));
            }
        }
    }

    fn keep(&mut self, gpa: Gpa, found: Mapping) -> Entry {
        let time = self.tick();
        let leaf = found.leaf;
        let page = gpa.0 / leaf.size.bytes() * leaf.size.bytes();
        let entry = Entry {
            vmid: self.vmid,
            owner: Owner::Bare,
            page,
            size: leaf.size,
            gpa: Gpa(page),
            hpa: Hpa(leaf.page),
            memory: true,
            first: None,
            second: Some(leaf.pte),
        };
        if let Some(tlb) = self.tlb {
            tlb.fill(gpa.0, &entry, time);
        }
        self.latest = Some((entry, Some(found)));
        entry
    }

    /// Before A or D of the guest's entry at `gpa`, which was just read, is written.
    fn allow_update(&mut self, gpa: Gpa) -> Result<Entry, Fault> {
        if let Some(entry) = self.in_segment(gpa, PageSize::Size4K) {
            return Ok(entry);
        }
        let has_tables = matches!(self.stage, Stage2::Nested { .. } | Stage2::Agile { .. } | Stage2::Flat { .. });
        if let (true, Some((entry, walked))) = (has_tables, self.latest.take()) {
            let write = second_demand(Access::Write);
            if answers(&entry, write) {
                return Ok(entry);
            }
            if let Some(Mapping { leaf, at, global }) = walked {
                let refuse = move |cause| Fault::Nested { gpa, access: Access::Write, table: true, cause };
                let tree = self.tree();
                let mut tables =
                    HostTables { memory: self.memory, counts: self.counts, config: self.config, stage: self.stage };
                let mut walk = Walk {
                    tree,
                    tables: &mut tables,
                    refuse: &refuse,
                    address: gpa.0,
                    demand: write,
                    visits: Vec::new(),
                };
                if let Some(leaf) = walk.settle(leaf, at)? {
                    return Ok(self.keep(gpa, Mapping { leaf, at, global }));
                }
            }
        }
        // The nested TLB's entries do not allow it, and are of no more use.
        let vmid = self.vmid;
        if let Some(tlb) = self.tlb {
            tlb.remove(|entry| entry.vmid == vmid && entry.holds(gpa.0));
        }
        self.translate(gpa, Access::Write, true)
    }

    fn host_address(entry: &Entry, gpa: Gpa) -> Result<Hpa, Fault> {
        if entry.memory { Ok(Hpa(entry.hpa.0 + (gpa.0 - entry.gpa.0))) } else { Err(Fault::FirstStageTable) }
    }
}

/// The guest's tables are reached through the second stage.
impl<M: Memory> Tables for Second<'_, M> {
    fn read(&mut self, at: u64) -> Result<u64, Fault> {
        let entry = self.reach(Gpa(at), Access::Read, true, PageSize::Size4K)?;
        let hpa = Self::host_address(&entry, Gpa(at))?;
        let pte = self.memory.read(hpa).ok_or(Fault::FirstStageTable)?;
        self.counts.guest_refs += 1;
        self.counts.steps += 1;
        self.counts.refill_instructions += self.config.refill.map_or(0, |routine| routine.guest_level);
        Ok(pte)
    }

    fn update(&mut self, at: u64, old: u64, new: u64) -> Result<bool, Fault> {
        let entry = self.allow_update(Gpa(at))?;
        let hpa = Self::host_address(&entry, Gpa(at))?;
        let found = self.memory.compare_exchange(hpa, old, new).ok_or(Fault::FirstStageTable)?;
        if found == old {
            self.counts.guest_updates += 1;
            self.counts.refill_instructions += self.config.refill.map_or(0, |routine| routine.update);
        }
        Ok(found == old)
    }
}
