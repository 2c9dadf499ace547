//! The whole MMU: what is looked up, in which order, what is counted and what is kept.

use crate::cache::Set;
use crate::pte::{self, Cause, Demand};
use crate::tlb::{Array, Entry, Owner, Position, Tlb};
use crate::walk::{Mapping, Tables, Tree, Visit, Walk};
use crate::{Fault, Ground, Memory};
use core::ops::Range;
use types::{Access, Asid, Gpa, Gva, Hpa, PageSize, PagingMode, Privilege, SecondStageMode, TranslationContext, Vmid};

/// What is modelled.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the shipped configuration")]
pub struct Config {
    pub l1i: Vec<Array>,
    pub l1d: Vec<Array>,
    pub l2: Vec<Array>,
    pub guest_cache: [u32; 4],
    pub host_cache: [u32; 4],
    pub nested_tlb: Option<Array>,
    pub first_stage_svadu: bool,
    pub second_stage_svadu: bool,
    pub svnapot: bool,
}

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(missing_docs, reason = "the names are those of the shipped counts")]
pub struct Counts {
    pub l1d_misses: u64,
    pub l1i_misses: u64,
    pub l2_hits: u64,
    pub l2_misses: u64,
    pub walks: u64,
    pub guest_refs: u64,
    pub host_refs: u64,
    pub max_refs: u64,
    pub guest_cache_hits: [u64; 4],
    pub host_cache_hits: [u64; 4],
    pub nested_tlb_hits: u64,
    pub nested_tlb_misses: u64,
    pub guest_updates: u64,
    pub host_updates: u64,
}

/// A second stage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stage2 {
    /// gPA + offset inside `ram`, devices outside.
    Constant {
        /// The memory.
        ram: Range<Gpa>,
        /// What is added.
        offset: u64,
    },
    /// Tables.
    Nested {
        /// Their shape.
        mode: SecondStageMode,
        /// The root.
        root: Hpa,
    },
}

/// What answers an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The L1 entry.
    pub position: Position,
    /// Guest physical address of the byte.
    pub gpa: Gpa,
    /// Host physical address of the byte.
    pub hpa: Hpa,
    /// Whether it is memory.
    pub memory: bool,
    /// Size of the L1 entry's page.
    pub page: PageSize,
}

/// What the entry that a hart predicts would do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Prediction {
    /// It answers.
    Right(Answer),
    /// It does not.
    Wrong,
}

/// A page-walk cache: per level a list of pointers by the address range they are for.
#[derive(Clone, Debug)]
struct WalkCache(Vec<Set<Pointer>>);

#[derive(Clone, Copy, Debug)]
struct Pointer {
    vmid: Vmid,
    owner: Owner,
    /// Which of the ranges that one entry of this level spans.
    range: u64,
    table: u64,
}

fn range_of(address: u64, level: u32) -> u64 {
    address / 4096 / 512u64.pow(level)
}

impl WalkCache {
    fn new(entries: [u32; 4]) -> Self {
        Self(entries.map(|entries| Set::new(entries as usize)).to_vec())
    }

    fn deepest(
        &mut self,
        levels: u32,
        address: u64,
        time: u64,
        seen: &dyn Fn(Vmid, Owner) -> bool,
    ) -> Option<(u32, u64, Owner)> {
        for level in 1..levels {
            let set = &mut self.0[level as usize - 1];
            let wanted = |it: &Pointer| it.range == range_of(address, level) && seen(it.vmid, it.owner);
            if let Some(way) = set.find(wanted) {
                set.use_way(way, time);
                let pointer = set.get(way)?;
                return Some((level, pointer.table, pointer.owner));
            }
        }
        None
    }

    fn fill(&mut self, level: u32, pointer: Pointer, time: u64) {
        let set = &mut self.0[level as usize - 1];
        if set.is_empty() {
            return;
        }
        let same = |it: &Pointer| (it.vmid, it.owner, it.range) == (pointer.vmid, pointer.owner, pointer.range);
        set.fill(pointer, time, same);
    }
}

/// The model.
#[derive(Clone, Debug)]
pub struct Mmu {
    config: Config,
    l1i: Tlb,
    l1d: Tlb,
    l2: Tlb,
    guest_cache: WalkCache,
    host_cache: WalkCache,
    nested_tlb: Option<Tlb>,
    time: u64,
    counts: Counts,
    context: TranslationContext,
    vmid: Vmid,
}

fn demand(context: &TranslationContext, access: Access) -> Demand {
    Demand { access, user: context.privilege == Privilege::User, sum: context.sum, mxr: context.mxr }
}

/// The second stage takes every access for one of U.
fn second_demand(access: Access) -> Demand {
    Demand { access, user: true, sum: false, mxr: false }
}

/// Whether a cached translation permits an access without another look at the tables.
fn answers(entry: &Entry, first: Demand) -> bool {
    let settled =
        |pte: u64, demand: Demand| pte::permit(pte, demand).is_ok() && pte::missing(pte, demand.access).is_none();
    let first_permits = entry.first.is_none_or(|pte| settled(pte, first));
    let second_permits = entry.second.is_none_or(|pte| settled(pte, second_demand(first.access)));
    first_permits && second_permits
}

/// The second stage during a walk.
struct Second<'a, M> {
    memory: &'a mut M,
    stage: &'a Stage2,
    config: &'a Config,
    cache: &'a mut WalkCache,
    tlb: &'a mut Option<Tlb>,
    vmid: Vmid,
    time: &'a mut u64,
    counts: &'a mut Counts,
    /// The table page translated last: its entry, and the leaf with its place if it was walked to.
    latest: Option<(Entry, Option<Mapping>)>,
}

/// The second stage's tables.
struct HostTables<'a, M> {
    memory: &'a mut M,
    counts: &'a mut Counts,
}

impl<M: Memory> Tables for HostTables<'_, M> {
    fn read(&mut self, at: u64) -> Result<u64, Fault> {
        let pte = self.memory.read(Hpa(at)).ok_or(Fault::SecondStageTable)?;
        self.counts.host_refs += 1;
        Ok(pte)
    }

    fn update(&mut self, at: u64, old: u64, new: u64) -> Result<bool, Fault> {
        let found = self.memory.compare_exchange(Hpa(at), old, new).ok_or(Fault::SecondStageTable)?;
        if found == old {
            self.counts.host_updates += 1;
        }
        Ok(found == old)
    }
}

impl<M: Memory> Second<'_, M> {
    fn tick(&mut self) -> u64 {
        *self.time += 1;
        *self.time
    }

    fn tree(&self, mode: SecondStageMode) -> Tree {
        let levels = match mode {
            SecondStageMode::Sv39x4 => 3,
            SecondStageMode::Sv48x4 => 4,
            SecondStageMode::Sv57x4 => 5,
        };
        Tree { levels, wide_root: true, svadu: self.config.second_stage_svadu, svnapot: self.config.svnapot }
    }

    /// An entry for the gPA's page: `page` and `gpa` are both guest physical.
    fn translate(&mut self, gpa: Gpa, access: Access, table: bool) -> Result<Entry, Fault> {
        match self.stage.clone() {
            Stage2::Constant { ram, offset } => Ok(self.add(gpa, &ram, offset)),
            Stage2::Nested { mode, root } => self.translate_nested(mode, root, gpa, access, table),
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

    fn translate_nested(
        &mut self,
        mode: SecondStageMode,
        root: Hpa,
        gpa: Gpa,
        access: Access,
        table: bool,
    ) -> Result<Entry, Fault> {
        let tree = self.tree(mode);
        let refuse = move |cause| Fault::Nested { gpa, access, table, cause };
        let bits = 2 + 9 * tree.levels + 12;
        if gpa.0 >= 1 << bits {
            return Err(refuse(Cause::TooWide));
        }
        let vmid = self.vmid;
        let time = self.tick();
        if let Some(tlb) = self.tlb {
            let permits = |entry: &Entry| entry.vmid == vmid && answers(entry, second_demand(access));
            if let Some((position, entry)) = tlb.find(gpa.0, permits) {
                tlb.use_at(position, time);
                self.counts.nested_tlb_hits += 1;
                self.latest = Some((entry, None));
                return Ok(entry);
            }
            self.counts.nested_tlb_misses += 1;
        }

        let start = self.cache.deepest(tree.levels, gpa.0, time, &|of, _| of == vmid);
        if let Some((level, _, _)) = start {
            self.counts.host_cache_hits[level as usize - 1] += 1;
        }
        let (level, from) = start.map_or((tree.levels - 1, root.0), |(level, from, _)| (level - 1, from));
        let mut tables = HostTables { memory: self.memory, counts: self.counts };
        let demand = second_demand(access);
        let mut walk = Walk { tree, tables: &mut tables, refuse: &refuse, address: gpa.0, demand, visits: Vec::new() };
        let found = walk.descend(level, from, false);
        for Visit { level, table, .. } in walk.visits {
            let time = self.tick();
            let range = range_of(gpa.0, level);
            self.cache.fill(level, Pointer { vmid, owner: Owner::Bare, range, table }, time);
        }
        Ok(self.keep(gpa, found?))
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
        if let (Stage2::Nested { mode, .. }, Some((entry, walked))) = (self.stage, self.latest.take()) {
            let write = second_demand(Access::Write);
            if answers(&entry, write) {
                return Ok(entry);
            }
            if let Some(Mapping { leaf, at, global }) = walked {
                let refuse = move |cause| Fault::Nested { gpa, access: Access::Write, table: true, cause };
                let tree = self.tree(*mode);
                let mut tables = HostTables { memory: self.memory, counts: self.counts };
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
        let entry = self.translate(Gpa(at), Access::Read, true)?;
        let hpa = Self::host_address(&entry, Gpa(at))?;
        let pte = self.memory.read(hpa).ok_or(Fault::FirstStageTable)?;
        self.counts.guest_refs += 1;
        Ok(pte)
    }

    fn update(&mut self, at: u64, old: u64, new: u64) -> Result<bool, Fault> {
        let entry = self.allow_update(Gpa(at))?;
        let hpa = Self::host_address(&entry, Gpa(at))?;
        let found = self.memory.compare_exchange(hpa, old, new).ok_or(Fault::FirstStageTable)?;
        if found == old {
            self.counts.guest_updates += 1;
        }
        Ok(found == old)
    }
}

fn levels(mode: PagingMode) -> u32 {
    match mode {
        PagingMode::Bare => 0,
        PagingMode::Sv39 => 3,
        PagingMode::Sv48 => 4,
        PagingMode::Sv57 => 5,
    }
}

impl Mmu {
    /// Everything empty.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            l1i: Tlb::new(&config.l1i),
            l1d: Tlb::new(&config.l1d),
            l2: Tlb::new(&config.l2),
            guest_cache: WalkCache::new(config.guest_cache),
            host_cache: WalkCache::new(config.host_cache),
            nested_tlb: config.nested_tlb.as_ref().map(|array| Tlb::new(core::slice::from_ref(array))),
            time: 0,
            counts: Counts::default(),
            context: TranslationContext::default(),
            vmid: Vmid(0),
        }
    }

    /// What was counted.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Translates in another context from now on.
    pub fn set_context(&mut self, context: &TranslationContext, vmid: Vmid) {
        self.context = *context;
        self.vmid = vmid;
    }

    fn tick(&mut self) -> u64 {
        self.time += 1;
        self.time
    }

    /// Whether an entry belongs to the current context.
    fn seen(&self) -> impl Fn(Vmid, Owner) -> bool + use<> {
        let (context, current) = (self.context, self.vmid);
        move |vmid, owner| {
            let owned = match (context.mode, owner) {
                (PagingMode::Bare, owner) => owner == Owner::Bare,
                (_, Owner::Global) => true,
                (_, owner) => owner == Owner::Asid(context.asid),
            };
            vmid == current && owned
        }
    }

    fn l1(&mut self, access: Access) -> &mut Tlb {
        if access == Access::Execute { &mut self.l1i } else { &mut self.l1d }
    }

    /// An access that is looked up at one position alone, as a hart does that predicts the entry: whether that entry
    /// is for the page and permits the access. The use is recorded if it does.
    pub fn predict(&mut self, gva: Gva, access: Access, position: Position) -> Prediction {
        let time = self.tick();
        let (seen, wants) = (self.seen(), demand(&self.context, access));
        if self.refuse_address(gva).is_some() {
            return Prediction::Wrong;
        }
        let l1 = self.l1(access);
        match l1.get(position) {
            Some(entry)
                if entry.holds(gva.0)
                    && seen(entry.vmid, entry.owner)
                    && answers(&entry, wants) =>
            {
                l1.use_at(position, time);
                Prediction::Right(answer(position, &entry, gva))
            }
            _ => Prediction::Wrong,
        }
    }

    /// A first-stage fault that no table is read for.
    fn refuse_address(&self, gva: Gva) -> Option<Fault> {
        let bits = match self.context.mode {
            PagingMode::Bare => return None,
            mode => 12 + 9 * levels(mode),
        };
        let high = gva.0 >> (bits - 1);
        let all_ones = (1 << (64 - bits + 1)) - 1;
        (high != 0 && high != all_ones).then_some(Fault::Page(Cause::NotCanonical))
    }

    /// An access.
    ///
    /// # Errors
    /// Why it fails.
    pub fn access(
        &mut self,
        memory: &mut impl Memory,
        stage: &Stage2,
        gva: Gva,
        access: Access,
    ) -> Result<Answer, Fault> {
        if let Some(fault) = self.refuse_address(gva) {
            return Err(fault);
        }
        if self.context.mode == PagingMode::Bare {
            let nested = |cause| Fault::Nested { gpa: Gpa(gva.0), access, table: false, cause };
            let (bits, fault) = match stage {
                Stage2::Constant { .. } => (56, Fault::PhysicalTooWide),
                Stage2::Nested { mode: SecondStageMode::Sv39x4, .. } => (41, nested(Cause::TooWide)),
                Stage2::Nested { mode: SecondStageMode::Sv48x4, .. } => (50, nested(Cause::TooWide)),
                Stage2::Nested { mode: SecondStageMode::Sv57x4, .. } => (59, nested(Cause::TooWide)),
            };
            if gva.0 >= 1 << bits {
                return Err(fault);
            }
        }

        let time = self.tick();
        let (seen, wants) = (self.seen(), demand(&self.context, access));
        let wanted = |entry: &Entry| seen(entry.vmid, entry.owner) && answers(entry, wants);
        if let Some((position, entry)) = self.l1(access).find(gva.0, wanted) {
            self.l1(access).use_at(position, time);
            return Ok(answer(position, &entry, gva));
        }
        if access == Access::Execute {
            self.counts.l1i_misses += 1;
        } else {
            self.counts.l1d_misses += 1;
        }

        let entry = if let Some((position, entry)) = self.l2.find(gva.0, wanted) {
            self.l2.use_at(position, time);
            self.counts.l2_hits += 1;
            entry
        } else {
            self.counts.l2_misses += 1;
            let entry = self.walk(memory, stage, gva, access)?;
            let time = self.tick();
            self.l2.fill(gva.0, &entry, time);
            entry
        };
        let time = self.tick();
        let (position, entry) = self.l1(access).fill(gva.0, &entry, time).expect("an L1 takes every page");
        Ok(answer(position, &entry, gva))
    }

    fn walk(&mut self, memory: &mut impl Memory, stage: &Stage2, gva: Gva, access: Access) -> Result<Entry, Fault> {
        self.counts.walks += 1;
        let before = self.counts.guest_refs + self.counts.host_refs;
        let result = self.translate(memory, stage, gva, access);
        let refs = self.counts.guest_refs + self.counts.host_refs - before;
        self.counts.max_refs = self.counts.max_refs.max(refs);
        result
    }

    fn translate(
        &mut self,
        memory: &mut impl Memory,
        stage: &Stage2,
        gva: Gva,
        access: Access,
    ) -> Result<Entry, Fault> {
        let (context, vmid, seen) = (self.context, self.vmid, self.seen());
        let mut second = Second {
            memory,
            stage,
            config: &self.config,
            cache: &mut self.host_cache,
            tlb: &mut self.nested_tlb,
            vmid,
            time: &mut self.time,
            counts: &mut self.counts,
            latest: None,
        };

        // The first stage.
        let (gpa, owner, first, first_size) = if context.mode == PagingMode::Bare {
            (Gpa(gva.0), Owner::Bare, None, PageSize::Size256T)
        } else {
            let tree = Tree {
                levels: levels(context.mode),
                wide_root: false,
                svadu: self.config.first_stage_svadu,
                svnapot: self.config.svnapot,
            };
            let time = second.tick();
            let start = self.guest_cache.deepest(tree.levels, gva.0, time, &seen);
            if let Some((level, _, _)) = start {
                second.counts.guest_cache_hits[level as usize - 1] += 1;
            }
            let (level, table, above) = match start {
                Some((level, table, owner)) => (level - 1, table, owner == Owner::Global),
                None => (tree.levels - 1, context.root.0, false),
            };
            let mut walk = Walk {
                tree,
                tables: &mut second,
                refuse: &Fault::Page,
                address: gva.0,
                demand: demand(&context, access),
                visits: Vec::new(),
            };
            let found = walk.descend(level, table, above);
            let visits = walk.visits;
            let owner_of = |global| if global { Owner::Global } else { Owner::Asid(context.asid) };
            for Visit { level, table, global } in visits {
                let time = second.tick();
                let range = range_of(gva.0, level);
                self.guest_cache.fill(level, Pointer { vmid, owner: owner_of(global), range, table }, time);
            }
            let Mapping { leaf, global, .. } = found?;
            let gpa = Gpa(leaf.page + gva.0 % leaf.size.bytes());
            (gpa, owner_of(global), Some(leaf.pte), leaf.size)
        };

        // The second.
        let host = second.translate(gpa, access, false)?;
        let hpa = host.hpa.0 + (gpa.0 - host.gpa.0);

        // Both: no larger than either, and all of one kind.
        let mut size = first_size.min(host.size);
        let mut is_memory = false;
        if host.memory {
            let memory = &*second.memory;
            let ground = |size: PageSize| memory.ground(Hpa(hpa / size.bytes() * size.bytes()), size);
            while ground(size) == Ground::Mixed {
                size = *PageSize::ALL.iter().rev().find(|&&smaller| smaller < size).expect("a 4K page is not mixed");
            }
            is_memory = ground(size) == Ground::Memory;
        }
        let down = |address: u64| address / size.bytes() * size.bytes();
        Ok(Entry {
            vmid,
            owner,
            page: down(gva.0),
            size,
            gpa: Gpa(down(gpa.0)),
            hpa: Hpa(down(hpa)),
            memory: is_memory,
            first,
            second: host.second,
        })
    }

    /// `sfence.vma` or `hfence.vvma`.
    pub fn fence_first(&mut self, vmid: Vmid, gva: Option<Gva>, asid: Option<Asid>) {
        let named = move |of: Vmid, owner: Owner| {
            of == vmid
                && match (owner, asid) {
                    (Owner::Bare, _) => false,
                    (Owner::Global, Some(_)) => false,
                    (Owner::Global | Owner::Asid(_), None) => true,
                    (Owner::Asid(of), Some(asid)) => of == asid,
                }
        };
        let holds =
            move |entry: &Entry| gva.is_none_or(|gva| entry.holds(gva.0));
        for tlb in [&mut self.l1i, &mut self.l1d, &mut self.l2] {
            tlb.remove(|entry| named(entry.vmid, entry.owner) && holds(entry));
        }
        if gva.is_none() {
            for set in &mut self.guest_cache.0 {
                set.remove(|pointer| named(pointer.vmid, pointer.owner));
            }
        }
    }

    /// `hfence.gvma`.
    pub fn fence_second(&mut self, gpa: Option<Gpa>, vmid: Option<Vmid>) {
        let named = move |of: Vmid| vmid.is_none_or(|vmid| vmid == of);
        for tlb in [&mut self.l1i, &mut self.l1d, &mut self.l2] {
            tlb.remove(|entry| named(entry.vmid));
        }
        if let Some(tlb) = &mut self.nested_tlb {
            tlb.remove(|entry| {
                let holds = gpa.is_none_or(|gpa| entry.holds(gpa.0));
                named(entry.vmid) && holds
            });
        }
        if gpa.is_none() {
            for set in &mut self.host_cache.0 {
                set.remove(|pointer| named(pointer.vmid));
            }
        }
    }
}

fn answer(position: Position, entry: &Entry, gva: Gva) -> Answer {
    let offset = gva.0 - entry.page;
    Answer {
        position,
        gpa: Gpa(entry.gpa.0 + offset),
        hpa: Hpa(entry.hpa.0 + offset),
        memory: entry.memory,
        page: entry.size,
    }
}
