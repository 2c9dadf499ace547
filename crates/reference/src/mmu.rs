//! The whole MMU: what is looked up, in which order, what is counted and what is kept.

use crate::agile::found::Found;
use crate::agile::{self, AgileWalk, Followed};
use crate::config::{Config, Counts, Stage2};
use crate::pte::{Cause, Demand, permit};
use crate::second_stage::{Second, answers};
use crate::segment::{GUEST_LEAF, Segment, Verdict};
use crate::tlb::{Entry, Owner, Position, Tlb};
use crate::walk::{Mapping, Tree, Visit, Walk};
use crate::walk_cache::{Pointer, WalkCache, range_of};
use crate::{Fault, Ground, Memory};
use types::{Access, Asid, Gpa, Gva, Hpa, PageSize, PagingMode, Privilege, SecondStageMode, TranslationContext, Vmid};

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
    /// Of the latest access of a load or store.
    latest_data: u64,
    counts: Counts,
    context: TranslationContext,
    vmid: Vmid,
    guest_segment: Option<Segment>,
    hypervisor_segment: Option<Segment>,
}

fn demand(context: &TranslationContext, access: Access) -> Demand {
    Demand { access, user: context.privilege == Privilege::User, sum: context.sum, mxr: context.mxr }
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
            latest_data: 0,
            counts: Counts::default(),
            context: TranslationContext::default(),
            vmid: Vmid(0),
            guest_segment: None,
            hypervisor_segment: None,
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

    /// Loads the segment registers.
    pub fn set_segments(&mut self, guest: Option<Segment>, hypervisor: Option<Segment>) {
        self.guest_segment = guest;
        self.hypervisor_segment = hypervisor;
    }

    /// Where the guest's segment leads, if it has a part in the access.
    fn ask_guest_segment(&mut self, gva: Gva, access: Access) -> Option<Gpa> {
        let segment = self.guest_segment.as_ref()?;
        let permitted = permit(GUEST_LEAF, demand(&self.context, access)).is_ok();
        if self.context.mode == PagingMode::Bare || !permitted {
            return None;
        }
        match segment.translate(gva.0, PageSize::Size4K) {
            Verdict::Translated(gpa, _) => Some(Gpa(gpa)),
            Verdict::Outside => None,
            Verdict::Escapes => {
                self.counts.escape_hits += 1;
                None
            }
        }
    }

    /// The entry for an access that the guest's segment leads to `gpa`, if no table is needed from there.
    fn without_walk(&self, memory: &impl Memory, stage: &Stage2, gva: Gva, gpa: Gpa) -> Option<Entry> {
        let verdict =
            self.hypervisor_segment.as_ref().map_or(Verdict::Outside, |it| it.translate(gpa.0, PageSize::Size4K));
        let hpa = match (verdict, stage) {
            (Verdict::Translated(hpa, _), _) => hpa,
            (Verdict::Outside, Stage2::Constant { ram, offset }) if ram.contains(&gpa) => gpa.0.wrapping_add(*offset),
            _ => return None,
        };
        let page = Hpa(hpa / 4096 * 4096);
        Some(Entry {
            vmid: self.vmid,
            owner: Owner::Asid(self.context.asid),
            page: gva.0 / 4096 * 4096,
            size: PageSize::Size4K,
            gpa: Gpa(gpa.0 / 4096 * 4096),
            hpa: page,
            memory: memory.ground(page, PageSize::Size4K) == Ground::Memory,
            first: Some(GUEST_LEAF),
            second: None,
        })
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
            Some(entry) if entry.holds(gva.0) && seen(entry.vmid, entry.owner) && answers(&entry, wants) => {
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
        let answer = self.make(memory, stage, gva, access);
        if access != Access::Execute {
            self.latest_data = self.time;
        }
        answer
    }

    fn make(&mut self, memory: &mut impl Memory, stage: &Stage2, gva: Gva, access: Access) -> Result<Answer, Fault> {
        if let Some(fault) = self.refuse_address(gva) {
            return Err(fault);
        }
        if self.context.mode == PagingMode::Bare {
            let nested = |cause| Fault::Nested { gpa: Gpa(gva.0), access, table: false, cause };
            let (bits, fault) = match stage {
                Stage2::Constant { .. } => (56, Fault::PhysicalTooWide),
                Stage2::Nested { mode, .. } | Stage2::Agile { mode, .. } => match mode {
                    SecondStageMode::Sv39x4 => (41, nested(Cause::TooWide)),
                    SecondStageMode::Sv48x4 => (50, nested(Cause::TooWide)),
                    SecondStageMode::Sv57x4 => (59, nested(Cause::TooWide)),
                },
                // Looked up first, like any other.
                Stage2::Flat { .. } | Stage2::Reserved { .. } => (64, nested(Cause::OutOfBounds)),
            };
            if u128::from(gva.0) >= 1 << bits {
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

        let direct = self.ask_guest_segment(gva, access);
        if let Some(entry) = direct.and_then(|gpa| self.without_walk(memory, stage, gva, gpa)) {
            self.counts.segment_hits += 1;
            let time = self.tick();
            let (position, entry) = self.l1(access).fill(gva.0, &entry, time).expect("an L1 takes every page");
            return Ok(answer(position, &entry, gva));
        }
        let entry = if let Some((position, entry)) = self.l2.find(gva.0, wanted) {
            self.l2.use_at(position, time);
            self.counts.l2_hits += 1;
            entry
        } else {
            self.counts.l2_misses += 1;
            let entry = self.walk(memory, stage, (gva, direct), access)?;
            let time = self.tick();
            self.l2.fill(gva.0, &entry, time);
            entry
        };
        let time = self.tick();
        let (position, entry) = self.l1(access).fill(gva.0, &entry, time).expect("an L1 takes every page");
        Ok(answer(position, &entry, gva))
    }

    fn walk(
        &mut self,
        memory: &mut impl Memory,
        stage: &Stage2,
        (gva, direct): (Gva, Option<Gpa>),
        access: Access,
    ) -> Result<Entry, Fault> {
        self.counts.walks += 1;
        let before = self.counts.guest_refs + self.counts.host_refs;
        let steps_before = self.counts.steps;
        let routine = self.config.refill;
        self.counts.refills += u64::from(routine.is_some());
        self.counts.refill_instructions += routine.map_or(0, |routine| routine.begin);
        let result = self.translate(memory, stage, (gva, direct), access);
        if result.is_ok() {
            self.counts.refill_instructions += routine.map_or(0, |routine| routine.fill);
        }
        let refs = self.counts.guest_refs + self.counts.host_refs - before;
        self.counts.max_refs = self.counts.max_refs.max(refs);
        self.counts.max_steps = self.counts.max_steps.max(self.counts.steps - steps_before);
        result
    }

    fn translate(
        &mut self,
        memory: &mut impl Memory,
        stage: &Stage2,
        (gva, direct): (Gva, Option<Gpa>),
        access: Access,
    ) -> Result<Entry, Fault> {
        let (context, vmid, seen) = (self.context, self.vmid, self.seen());
        let mut second = Second {
            memory,
            stage,
            segment: self.hypervisor_segment.as_ref(),
            config: &self.config,
            cache: &mut self.host_cache,
            tlb: &mut self.nested_tlb,
            vmid,
            time: &mut self.time,
            counts: &mut self.counts,
            latest: None,
        };

        // How agile paging found the page.
        let mut page_found = matches!(stage, Stage2::Agile { .. }).then_some(Found::FullyNested);
        // The first stage.
        let (gpa, owner, first, first_size) = if let Some(gpa) = direct {
            second.counts.guest_segment_hits += 1;
            (gpa, Owner::Asid(context.asid), Some(GUEST_LEAF), PageSize::Size4K)
        } else if context.mode == PagingMode::Bare {
            (Gpa(gva.0), Owner::Bare, None, PageSize::Size256T)
        } else {
            let tree = Tree {
                levels: levels(context.mode),
                wide_root: false,
                svadu: self.config.first_stage_svadu,
                groups: if self.config.svnapot { &[16] } else { &[] },
            };
            let time = second.tick();
            let start = self.guest_cache.deepest(tree.levels, gva.0, time, &seen);
            if let Some((level, _)) = start {
                second.counts.guest_cache_hits[level as usize - 1] += 1;
            }
            let agile_root = if let Stage2::Agile { shadow, .. } = stage {
                Some(agile::root(*shadow, context.root.0))
            } else {
                None
            };
            let (root, root_found) = agile_root.map_or((context.root.0, None), |(root, found)| (root, Some(found)));
            let (level, table, above, found) = match start {
                Some((level, Pointer { table, owner, found, .. })) => (level - 1, table, owner == Owner::Global, found),
                None => (tree.levels - 1, root, false, root_found),
            };
            let demand = demand(&context, access);
            let (walked, visits) = if let Some(found) = found {
                let mut walk = AgileWalk { tree, second: &mut second, gva: gva.0, demand, followed: Vec::new() };
                let walked = walk.descend(level, (table, found), above);
                let visit =
                    |of: &Followed| (Visit { level: of.level, table: of.table, global: of.global }, Some(of.found));
                let visits: Vec<_> = walk.followed.iter().map(visit).collect();
                (walked.map(|(mapping, found)| (mapping, Some(found))), visits)
            } else {
                let (address, visits) = (gva.0, Vec::new());
                let mut walk = Walk { tree, tables: &mut second, refuse: &Fault::Page, address, demand, visits };
                let walked = walk.descend(level, table, above).map(|mapping| (mapping, None));
                (walked, walk.visits.into_iter().map(|visit| (visit, None)).collect())
            };
            let owner_of = |global| if global { Owner::Global } else { Owner::Asid(context.asid) };
            for (Visit { level, table, global }, found) in visits {
                let time = second.tick();
                let range = range_of(gva.0, level);
                self.guest_cache.fill(level, Pointer { vmid, owner: owner_of(global), range, table, found }, time);
            }
            let (Mapping { leaf, global, .. }, found) = walked?;
            page_found = found;
            let gpa = Gpa(leaf.page + gva.0 % leaf.size.bytes());
            (gpa, owner_of(global), Some(leaf.pte), leaf.size)
        };

        // The second.
        let by_segment = second.counts.hypervisor_segment_pages;
        let host = if page_found == Some(Found::ByShadow) {
            shadowed(vmid, gpa, first_size)
        } else {
            second.reach(gpa, access, false, first_size)?
        };
        // Where a segment answers, the tables are not asked.
        if let Some(found) = page_found.filter(|_| second.counts.hypervisor_segment_pages == by_segment) {
            second.counts.agile_walks[found.index()] += 1;
        }
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

    /// Whether an L1 entry answers an access. Nothing changes.
    #[must_use]
    pub fn would_hit(&self, gva: Gva, access: Access) -> bool {
        let (seen, wants) = (self.seen(), demand(&self.context, access));
        let l1 = if access == Access::Execute { &self.l1i } else { &self.l1d };
        l1.find(gva.0, |entry| seen(entry.vmid, entry.owner) && answers(entry, wants)).is_some()
    }

    /// The hypervisor uses a page of its own, of 4K: in the L1 of this kind of access, or in the L2. Whether it was there.
    pub fn use_host_page(&mut self, page: Hpa, l1: Option<Access>) -> bool {
        let time = self.tick();
        self.use_host_page_at(page, l1, time)
    }

    /// The same in an L1 when an access is about to miss there. Among loads and stores, the page has the time of the latest of them.
    pub fn use_host_page_before(&mut self, page: Hpa, access: Access) -> bool {
        let time = if access == Access::Execute { self.tick() } else { self.latest_data };
        self.use_host_page_at(page, Some(access), time)
    }

    /// The page is at the same address in the upper half of the address space.
    fn use_host_page_at(&mut self, page: Hpa, l1: Option<Access>, time: u64) -> bool {
        let address = 0xffff_8000_0000_0000 + page.0;
        let entry = Entry {
            vmid: Vmid(0),
            owner: Owner::Global,
            page: address,
            size: PageSize::Size4K,
            gpa: Gpa(0),
            hpa: page,
            memory: false,
            // It permits nothing.
            first: Some(0),
            second: None,
        };
        let tlb = match l1 {
            Some(access) => self.l1(access),
            None => &mut self.l2,
        };
        let found = tlb.find(address, |entry| entry.vmid == Vmid(0) && entry.owner == Owner::Global);
        match found {
            Some((position, _)) => tlb.use_at(position, time),
            None => {
                tlb.fill(address, &entry, time);
            }
        }
        found.is_some()
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
        let holds = move |entry: &Entry| gva.is_none_or(|gva| entry.holds(gva.0));
        for tlb in [&mut self.l1i, &mut self.l1d, &mut self.l2] {
            tlb.remove(|entry| named(entry.vmid, entry.owner) && holds(entry));
        }
        if gva.is_none() {
            self.guest_cache.remove(|pointer| named(pointer.vmid, pointer.owner));
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
            self.host_cache.remove(|pointer| named(pointer.vmid));
        }
    }
}

/// A page at the host physical address that a shadow table gives.
fn shadowed(vmid: Vmid, address: Gpa, size: PageSize) -> Entry {
    let page = address.0 / size.bytes() * size.bytes();
    Entry {
        vmid,
        owner: Owner::Bare,
        page,
        size,
        gpa: Gpa(page),
        hpa: Hpa(page),
        memory: true,
        first: None,
        second: None,
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
