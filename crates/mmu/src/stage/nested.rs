//! Nested tables, the two-stage translation of the hypervisor extension (RISC-V Privileged 1.13, section 19.5), with a
//! nested TLB and a page-walk cache of its own.

use super::{Backing, HostMapping, Stage};
use crate::config::TlbArray;
use crate::directory::{BasePage, Miss, region};
use crate::fault::{AccessCause, Cause, Fault, NestedFault, Purpose};
use crate::memory::TableMemory;
use crate::pte::Pte;
use crate::rights::{Demand, Masks, Rights};
use crate::set_associative::SetAssociative;
use crate::space::Space;
use crate::statistics::MmuStatistics;
use crate::walk::{Failure, Leaf, PteReader, Tree};
use crate::walk_cache::WalkCache;
use crate::way::Way;
use types::{Access, Gpa, Hpa, PageSize, Vmid};

/// One entry of the nested TLB.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NestedEntry {
    /// The VMID.
    pub(crate) space: Space,
    pub(crate) page: Hpa,
    size: PageSize,
    pub(crate) rights: Rights,
}

/// The nested TLB: gPA page → hPA page. Every translation by the second stage asks it before walking, those of tables
/// and those of data; an entry answers only what it permits.
#[derive(Clone, Debug)]
pub(crate) struct NestedTlb {
    entries: SetAssociative<NestedEntry>,
}

impl NestedTlb {
    /// An empty one. The configuration was checked before.
    pub(crate) fn new(array: &TlbArray) -> Self {
        Self { entries: SetAssociative::new(core::slice::from_ref(array)) }
    }

    /// The entry of a VMID that answers.
    #[inline(always)]
    fn touch(&mut self, space: Space, gpa: Gpa, masks: Masks) -> Result<NestedEntry, Miss> {
        let answers = |entry: &NestedEntry| (entry.space == space) & entry.rights.meet(masks);
        let (way, &entry) = self.entries.find(gpa.0, answers)?;
        self.entries.used(way);
        Ok(entry)
    }

    /// The entry for a base page that answers, at a [glance](SetAssociative::glance_base), where there are base pages and nothing else; its use is not
    /// recorded yet.
    #[inline(always)]
    pub(crate) fn glance(
        &self,
        page: BasePage,
        gpa: Gpa,
        space: Space,
        masks: Masks,
    ) -> Option<Result<(Way, &NestedEntry), Miss>> {
        let answers = |entry: &NestedEntry| (entry.space == space) & entry.rights.meet(masks);
        self.entries.has_base_alone(region(gpa.0)).then(|| self.entries.glance_base(page, answers))
    }

    /// Records a use of what was found there.
    #[inline(always)]
    pub(crate) fn used(&mut self, way: Way) {
        self.entries.used(way);
    }

    /// Keeps a base page that is absent, where a [glance](Self::glance) has found that.
    #[inline(always)]
    pub(crate) fn fill_base(&mut self, page: BasePage, space: Space, host: Hpa, rights: Rights) {
        self.entries.fill_base(page, &NestedEntry { space, page: host, size: PageSize::Size4K, rights });
    }

    /// Keeps what a walk found. `miss` is how the address was not found just before.
    #[inline(always)]
    fn fill(&mut self, gpa: Gpa, miss: Miss, space: Space, mapping: &HostMapping) {
        let rights = mapping.rights;
        let piece = |size| NestedEntry { space, page: mapping.hpa(gpa).page(size), size, rights };
        let _evicted = self.entries.fill(gpa.0, mapping.size, miss, piece, |other| other.space == space);
    }

    /// Drops the entries of the spaces that `drops` names.
    pub(crate) fn remove(&mut self, drops: impl Fn(Space) -> bool) {
        self.entries.remove(|entry| drops(entry.space));
    }

    /// Drops those for pages of `gpa`.
    pub(crate) fn remove_page(&mut self, gpa: Gpa, drops: impl Fn(Space) -> bool) {
        self.entries.remove_page(gpa.0, |entry| drops(entry.space));
    }
}

/// The tables of a second stage, however they are arranged.
pub(crate) trait HostTree {
    /// Whether the tables can have an entry for the address.
    fn check(&self, gpa: Gpa) -> Result<(), Cause>;

    /// Finds the leaf of an address that passed the check, with A and D as the policy says.
    fn walk<M: TableMemory>(
        &self,
        tables: &mut HostTables<'_, M>,
        cache: &mut WalkCache,
        gpa: Gpa,
        demand: Demand,
    ) -> Result<Leaf<Hpa>, Failure<AccessCause>>;

    /// The end of a walk again, for another demand on the same leaf; `None` where its entry has changed since.
    fn finish<M: TableMemory>(
        &self,
        tables: &mut HostTables<'_, M>,
        leaf: Leaf<Hpa>,
        demand: Demand,
    ) -> Result<Option<Leaf<Hpa>>, Failure<AccessCause>>;
}

impl HostTree for Tree {
    #[inline(always)]
    fn check(&self, gpa: Gpa) -> Result<(), Cause> {
        if gpa.0 >> self.geometry.address_bits == 0 { Ok(()) } else { Err(Cause::TooWide) }
    }

    #[inline(always)]
    fn walk<M: TableMemory>(
        &self,
        tables: &mut HostTables<'_, M>,
        cache: &mut WalkCache,
        gpa: Gpa,
        demand: Demand,
    ) -> Result<Leaf<Hpa>, Failure<AccessCause>> {
        Self::walk(self, tables, cache, gpa.0, demand, None)
    }

    #[inline(always)]
    fn finish<M: TableMemory>(
        &self,
        tables: &mut HostTables<'_, M>,
        leaf: Leaf<Hpa>,
        demand: Demand,
    ) -> Result<Option<Leaf<Hpa>>, Failure<AccessCause>> {
        Self::finish(self, tables, leaf, demand)
    }
}

/// `SecondStage::Nested` and `SecondStage::Flat` during one walk.
pub(crate) struct NestedStage<'a, M, T> {
    tables: HostTables<'a, M>,
    tree: T,
    vmid: Vmid,
    cache: &'a mut WalkCache,
    tlb: Option<&'a mut NestedTlb>,
    latest: Option<Latest>,
}

/// The latest translation of a table's address, and where it comes from.
struct Latest {
    mapping: HostMapping,
    /// Of a walk; the nested TLB does not keep it.
    leaf: Option<Leaf<Hpa>>,
}

/// The second stage's own tables: they are read where they lie.
pub(crate) struct HostTables<'a, M> {
    pub(crate) memory: &'a mut M,
    pub(crate) statistics: &'a mut MmuStatistics,
}

impl<M: TableMemory> PteReader for HostTables<'_, M> {
    type Address = Hpa;
    type Fault = AccessCause;

    #[inline(always)]
    fn skipped(&mut self, level: u32) {
        self.statistics.host_cache_hits[level as usize - 1] += 1;
    }

    #[inline(always)]
    fn read(&mut self, at: Hpa) -> Result<Pte, AccessCause> {
        let pte = self.memory.read(at).ok_or(AccessCause::SecondStageTable)?;
        self.statistics.host_refs += 1;
        Ok(Pte(pte))
    }

    fn exchange(&mut self, at: Hpa, old: Pte, new: Pte) -> Result<bool, AccessCause> {
        let found = self.memory.compare_exchange(at, old.0, new.0).ok_or(AccessCause::SecondStageTable)?;
        self.statistics.host_updates += u64::from(found == old.0);
        Ok(found == old.0)
    }
}

/// The second stage's refusal of one access.
fn refusal(gpa: Gpa, access: Access, purpose: Purpose) -> impl Fn(Failure<AccessCause>) -> Fault {
    move |failure| match failure {
        Failure::Refused(cause) => Fault::Nested(NestedFault { gpa, access, purpose, cause }),
        Failure::Reader(cause) => Fault::Access(cause),
    }
}

impl<'a, M: TableMemory, T: HostTree> NestedStage<'a, M, T> {
    /// The tables of `tree`, with the walk cache and the nested TLB of the processor.
    pub(crate) fn new(
        tables: HostTables<'a, M>,
        tree: T,
        vmid: Vmid,
        cache: &'a mut WalkCache,
        tlb: Option<&'a mut NestedTlb>,
    ) -> Self {
        Self { tables, tree, vmid, cache, tlb, latest: None }
    }

    /// The nested TLB's answer, or how it has none.
    #[inline(always)]
    fn cached(&mut self, gpa: Gpa, access: Access) -> Result<HostMapping, Miss> {
        let tlb = self.tlb.as_deref_mut().ok_or(Miss::ABSENT)?;
        let found = tlb.touch(Space::bare(self.vmid), gpa, Masks::of_second_stage(access));
        let statistics = &mut self.tables.statistics;
        match found {
            Ok(NestedEntry { page, size, rights, .. }) => {
                statistics.nested_tlb_hits += 1;
                Ok(HostMapping { page, size, rights, backing: Backing::Host })
            }
            Err(miss) => {
                statistics.nested_tlb_misses += 1;
                Err(miss)
            }
        }
    }

    /// Keeps a walk's result. `miss` is how the nested TLB did not have it just before.
    #[inline(always)]
    fn keep(&mut self, gpa: Gpa, miss: Miss, leaf: &Leaf<Hpa>) -> HostMapping {
        let rights = leaf.pte.second_stage_rights();
        let mapping = HostMapping { page: Hpa(leaf.page()), size: leaf.size, rights, backing: Backing::Host };
        if let Some(tlb) = self.tlb.as_deref_mut() {
            tlb.fill(gpa, miss, Space::bare(self.vmid), &mapping);
        }
        mapping
    }
}

impl<M: TableMemory, T: HostTree> Stage for NestedStage<'_, M, T> {
    type Memory = M;

    fn memory(&mut self) -> &mut M {
        self.tables.memory
    }

    fn statistics(&mut self) -> &mut MmuStatistics {
        self.tables.statistics
    }

    #[inline]
    fn translate(&mut self, gpa: Gpa, access: Access, purpose: Purpose, _: PageSize) -> Result<HostMapping, Fault> {
        if let Err(cause) = self.tree.check(gpa) {
            return Err(refusal(gpa, access, purpose)(Failure::Refused(cause)));
        }
        let demand = Demand::of_second_stage(access);
        let (mapping, leaf) = match self.cached(gpa, access) {
            Ok(mapping) => (mapping, None),
            Err(miss) => {
                let walked = self.tree.walk(&mut self.tables, self.cache, gpa, demand);
                let leaf = walked.map_err(refusal(gpa, access, purpose))?;
                (self.keep(gpa, miss, &leaf), Some(leaf))
            }
        };
        if purpose == Purpose::Table {
            self.latest = Some(Latest { mapping, leaf });
        }
        Ok(mapping)
    }

    /// The hardware still has the leaf that it walked to for the read: setting that leaf's D takes no second walk. Only
    /// where the nested TLB answered is there no leaf at hand: its entries for the page are dropped, and the page is
    /// translated anew. (Were a stale one kept, the PTE could be read through it and written elsewhere, for ever.)
    fn translate_update(&mut self, gpa: Gpa) -> Result<HostMapping, Fault> {
        let demand = Demand::of_second_stage(Access::Write);
        let (access, purpose) = (Access::Write, Purpose::Table);
        if let Some(Latest { mapping, leaf }) = self.latest.take() {
            if mapping.rights.meet(Masks::of_second_stage(access)) {
                return Ok(mapping);
            }
            if let Some(leaf) = leaf {
                let finished =
                    self.tree.finish(&mut self.tables, leaf, demand).map_err(refusal(gpa, access, purpose))?;
                if let Some(leaf) = finished {
                    // The read has put the page there.
                    let mapping = self.keep(gpa, Miss::REFUSED, &leaf);
                    self.latest = Some(Latest { mapping, leaf: Some(leaf) });
                    return Ok(mapping);
                }
            }
        }
        if let Some(tlb) = self.tlb.as_deref_mut() {
            let space = Space::bare(self.vmid);
            tlb.remove_page(gpa, |other| other == space);
        }
        self.translate(gpa, access, purpose, PageSize::Size4K)
    }
}
