//! The MMU of one hart: the miss path from L1 to the tables, context changes and fences.

use crate::config::{ConfigError, MmuConfig};
use crate::context::{Context, View};
use crate::fault::{AccessCause, Cause, Fault, NestedFault, Purpose};
use crate::fence::Fence;
use crate::guest_tables::GuestTables;
use crate::memory::{HostPage, TableMemory};
use crate::rights::Rights;
use crate::space::{Space, Spaces};
use crate::stage::{Backing, ConstantStage, HostMapping, HostTables, NestedStage, NestedTlb, SecondStage, Stage};
use crate::statistics::MmuStatistics;
use crate::tlb::{L1, L1Entry, L2, Translation};
use crate::walk::{Failure, Geometry, Tree};
use crate::walk_cache::WalkCache;
use types::{Access, Asid, Gpa, Gva, Hpa, PageSize, TranslationContext, Vmid};

/// What answers an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hit {
    /// Index of the L1 entry in the window of loads and stores, or of fetches.
    pub site: u16,
    /// Host physical address of the byte.
    pub hpa: Hpa,
    /// Guest physical address of the byte.
    pub gpa: Gpa,
    /// The byte in this process; `None` where it is not memory but a device.
    pub host: Option<*mut u8>,
    /// Size of the page that the L1 entry holds.
    pub page: PageSize,
}

/// The MMU of one hart.
#[derive(Debug)]
pub struct Mmu {
    config: MmuConfig,
    context: Context,
    l1i: L1,
    l1d: L1,
    l2: L2,
    guest_cache: WalkCache,
    host_cache: WalkCache,
    nested_tlb: Option<NestedTlb>,
    /// Time of fetches, for the L1I's replacement.
    fetches: u64,
    statistics: MmuStatistics,
}

impl Mmu {
    /// Empty TLBs and caches, in the default context (no translation) with VMID 0.
    ///
    /// # Errors
    /// The first thing in the configuration that cannot be built.
    pub fn new(config: &MmuConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            context: Context::new(&TranslationContext::default(), Vmid(0)),
            l1i: L1::new(&config.l1i, View::OF_FETCHES),
            l1d: L1::new(&config.l1d, View::OF_DATA),
            l2: L2::new(&config.l2),
            guest_cache: WalkCache::new(config.walk_caches.guest),
            host_cache: WalkCache::new(config.walk_caches.host),
            nested_tlb: config.nested_tlb.as_ref().map(|array| NestedTlb::new(core::slice::from_ref(array))),
            fetches: 0,
            statistics: MmuStatistics::default(),
        })
    }

    /// What it was built from.
    #[must_use]
    pub const fn config(&self) -> &MmuConfig {
        &self.config
    }

    /// Changes the context in which addresses are translated. No entry is removed; what other contexts left is seen
    /// again in theirs. The windows must be asked for again.
    pub fn set_context(&mut self, context: &TranslationContext, vmid: Vmid) {
        let context = Context::new(context, vmid);
        if !self.context.shares_views(&context) {
            self.l1d.disarm_all();
            self.l1i.disarm_all();
        }
        self.context = context;
    }

    /// The fast copies of L1D entries for the current context. The pointer stays good until `set_context`, whatever
    /// misses and fences come between, and even then is only out of date: the entries do not move while the MMU lives.
    pub fn data_window(&mut self) -> *mut L1Entry {
        self.l1d.window(self.context.query(Access::Read).view)
    }

    /// The fast copies of L1I entries for the current context; as [`Self::data_window`].
    pub fn fetch_window(&mut self) -> *mut L1Entry {
        self.l1i.window(self.context.query(Access::Execute).view)
    }

    /// Number of sites of the L1D: one more than the largest [`Hit::site`] of a load or store.
    #[must_use]
    pub fn data_sites(&self) -> usize {
        self.l1d.slots()
    }

    /// Number of sites of the L1I.
    #[must_use]
    pub fn fetch_sites(&self) -> usize {
        self.l1i.slots()
    }

    /// The next time of the L1I, for [`L1Entry::execute_hit`]. Loads and stores are timed by the hart, which counts
    /// them anyway.
    #[inline(always)]
    pub fn fetch_stamp(&mut self) -> u64 {
        self.fetches += 1;
        self.fetches
    }

    /// Renumbers the times of the L1D's entries from 1 on, without changing their order, and returns the greatest: for callers whose
    /// counter is narrower than a stamp and would wrap.
    pub fn renumber_stamps(&mut self) -> u64 {
        self.l1d.renumber()
    }

    /// Translates an access that missed in its window: L1, L2, walk, fill. The access lies within one 4K page.
    ///
    /// An entry answers only an access that it permits. Where there is none that does, the tables are walked again, and
    /// either the fresh translation takes the entry's place or the tables, as they are now, raise the fault. A store through an entry
    /// whose page is not dirty is such a case.
    ///
    /// `stamp` is the time of a load or store: at least 1 and larger than any before. Fetches are timed by the MMU.
    /// `second` is the second stage of the current VMID.
    ///
    /// # Errors
    /// The guest's page or access fault, or a refusal of the second stage. A fault fills no TLB; the walk caches keep the
    /// non-leaf PTEs that were read, and the nested TLB the tables' pages, which are as good as those of any other walk.
    #[inline]
    pub fn access<M: TableMemory>(
        &mut self,
        memory: &mut M,
        second: &SecondStage,
        gva: Gva,
        access: Access,
        stamp: u64,
    ) -> Result<Hit, Fault> {
        self.check_address(second, gva, access)?;
        let stamp = if access == Access::Execute { self.fetch_stamp() } else { stamp };
        let query = self.context.query(access);
        let l1 = if access == Access::Execute { &self.l1i } else { &self.l1d };
        let found = l1.find(gva, &query);
        let slot = match found {
            Some(slot) => slot,
            None => {
                let misses = if access == Access::Execute {
                    &mut self.statistics.l1i_misses
                } else {
                    &mut self.statistics.l1d_misses
                };
                *misses += 1;
                let translation = match self.l2.touch(gva.0, |entry| entry.answers(&query)) {
                    Some(translation) => {
                        self.statistics.l2_hits += 1;
                        translation
                    }
                    None => {
                        self.statistics.l2_misses += 1;
                        let translation = self.walk(memory, second, gva, access)?;
                        self.l2.keep(gva, &translation);
                        translation
                    }
                };
                let l1 = if access == Access::Execute { &mut self.l1i } else { &mut self.l1d };
                l1.fill(gva, &translation)
            }
        };
        let l1 = if access == Access::Execute { &mut self.l1i } else { &mut self.l1d };
        l1.arm(slot, gva, access, &query, memory, stamp);
        Ok(hit(slot, gva, l1.translation(slot)))
    }

    /// Faults that need no lookup: addresses that no table translates.
    #[inline(always)]
    fn check_address(&self, second: &SecondStage, gva: Gva, access: Access) -> Result<(), Fault> {
        if !self.context.is_canonical(gva) {
            return Err(Fault::Page(Cause::NotCanonical));
        }
        if self.context.spaces.local.is_bare() {
            check_bare(second, Gpa(gva.0), access)?;
        }
        Ok(())
    }

    /// Walks the guest's tables through the second stage, and translates the page that they map.
    #[inline(never)]
    fn walk<M: TableMemory>(
        &mut self,
        memory: &mut M,
        second: &SecondStage,
        gva: Gva,
        access: Access,
    ) -> Result<Translation, Fault> {
        self.statistics.walks += 1;
        let before = self.statistics.refs();
        let vmid = self.context.vmid;
        let result = match second {
            SecondStage::Constant { ram, offset } => {
                let mut stage = ConstantStage { memory, statistics: &mut self.statistics, ram, offset: *offset };
                translate(&self.config, &self.context, &mut self.guest_cache, &mut stage, gva, access)
            }
            SecondStage::Nested { mode, root } => {
                let mut stage = NestedStage {
                    tables: HostTables { memory, statistics: &mut self.statistics },
                    tree: Tree {
                        geometry: Geometry::of_second_stage(*mode),
                        root: root.0 & ((1 << 56) - (1 << 14)),
                        spaces: Spaces::of_guest_physical(vmid),
                        ad: self.config.second_stage_ad,
                        svnapot: self.config.svnapot,
                    },
                    vmid,
                    cache: &mut self.host_cache,
                    tlb: self.nested_tlb.as_mut(),
                    latest: None,
                };
                translate(&self.config, &self.context, &mut self.guest_cache, &mut stage, gva, access)
            }
        };
        let refs = self.statistics.refs() - before;
        self.statistics.max_refs = self.statistics.max_refs.max(refs);
        result
    }

    /// From now on, stores to the 4K page at `page` are no hits: [`TableMemory::is_watched`] has begun to say so.
    pub fn watch_writes(&mut self, page: Hpa) {
        self.l1d.disarm_writes(page);
    }

    /// Removes what the fence names.
    pub fn fence(&mut self, fence: &Fence) {
        match *fence {
            Fence::Vma { gva, asid } => {
                self.statistics.vma_fences += 1;
                self.fence_first_stage(self.context.vmid, gva, asid);
            }
            Fence::Vvma { vmid, gva, asid } => {
                self.statistics.vvma_fences += 1;
                self.fence_first_stage(vmid, gva, asid);
            }
            Fence::Gvma { gpa, vmid } => {
                self.statistics.gvma_fences += 1;
                self.fence_second_stage(gpa, vmid);
            }
        }
    }

    fn fence_first_stage(&mut self, vmid: Vmid, gva: Option<Gva>, asid: Option<Asid>) {
        let named = |space: Space| match asid {
            Some(asid) => space == Space::of_asid(vmid, asid),
            None => space.vmid() == vmid && !space.is_bare(),
        };
        match gva {
            Some(gva) => {
                self.l1i.remove_page(gva, |entry| named(entry.space));
                self.l1d.remove_page(gva, |entry| named(entry.space));
                self.l2.remove_page(gva.0, |entry| named(entry.space));
            }
            None => {
                self.l1i.remove(|entry| named(entry.space));
                self.l1d.remove(|entry| named(entry.space));
                self.l2.remove(|entry| named(entry.space));
                self.guest_cache.remove(named);
            }
        }
    }

    fn fence_second_stage(&mut self, gpa: Option<Gpa>, vmid: Option<Vmid>) {
        let named = |space: Space| vmid.is_none_or(|vmid| space.vmid() == vmid);
        self.l1i.remove(|entry| named(entry.space));
        self.l1d.remove(|entry| named(entry.space));
        self.l2.remove(|entry| named(entry.space));
        if gpa.is_none() {
            self.host_cache.remove(named);
        }
        if let Some(tlb) = &mut self.nested_tlb {
            match gpa {
                Some(gpa) => tlb.remove_page(gpa.0, |entry| named(entry.space)),
                None => tlb.remove(|entry| named(entry.space)),
            }
        }
    }

    /// What was counted.
    #[must_use]
    pub const fn statistics(&self) -> &MmuStatistics {
        &self.statistics
    }

    /// Begins counting anew.
    pub fn reset_statistics(&mut self) {
        self.statistics = MmuStatistics::default();
    }
}

/// Whether the second stage takes an address that no first stage bounds.
fn check_bare(second: &SecondStage, gpa: Gpa, access: Access) -> Result<(), Fault> {
    match second {
        // Physical addresses have 56 bits.
        SecondStage::Constant { .. } if gpa.0 >> 56 != 0 => Err(Fault::Access(AccessCause::TooWide)),
        SecondStage::Nested { mode, .. } if gpa.0 >> mode.address_bits() != 0 => {
            Err(Fault::Nested(NestedFault { gpa, access, purpose: Purpose::Data, cause: Cause::TooWide }))
        }
        SecondStage::Constant { .. } | SecondStage::Nested { .. } => Ok(()),
    }
}

/// What an L1 entry says of one byte of its page.
#[inline(always)]
fn hit(slot: usize, gva: Gva, entry: &Translation) -> Hit {
    let offset = gva.offset(entry.size);
    Hit {
        site: slot as u16,
        hpa: Hpa(entry.hpa.0 | offset),
        gpa: Gpa(entry.gpa.0 | offset),
        host: (entry.host != 0).then(|| core::ptr::with_exposed_provenance_mut(entry.host + offset as usize)),
        page: entry.size,
    }
}

/// A page of the first stage.
struct GuestMapping {
    page: Gpa,
    size: PageSize,
    rights: Rights,
    space: Space,
}

/// Both stages for one access, on any second stage.
#[inline]
fn translate<S: Stage>(
    config: &MmuConfig,
    context: &Context,
    cache: &mut WalkCache,
    stage: &mut S,
    gva: Gva,
    access: Access,
) -> Result<Translation, Fault> {
    let guest = first_stage(config, context, cache, stage, gva, access)?;
    let gpa = Gpa(guest.page.0 | gva.offset(guest.size));
    let host = stage.translate(gpa, access, Purpose::Data, guest.size)?;
    let size = guest.size.min(host.size);
    let (size, pointer) = homogeneous(stage.memory(), &host, gpa, size);
    Ok(Translation {
        hpa: host.hpa(gpa).page(size),
        gpa: gpa.page(size),
        host: pointer.map_or(0, <*mut u8>::expose_provenance),
        space: guest.space,
        rights: guest.rights.and(host.rights),
        size,
    })
}

/// The first stage: the walk of the guest's tables, or the identity.
#[inline(always)]
fn first_stage<S: Stage>(
    config: &MmuConfig,
    context: &Context,
    cache: &mut WalkCache,
    stage: &mut S,
    gva: Gva,
    access: Access,
) -> Result<GuestMapping, Fault> {
    let Some(geometry) = Geometry::of_first_stage(context.translation.mode) else {
        let size = PageSize::Size256T;
        return Ok(GuestMapping {
            page: Gpa(gva.page(size).0),
            size,
            rights: Rights::ALL,
            space: context.spaces.local,
        });
    };
    let tree = Tree {
        geometry,
        // `satp.PPN` has 44 bits.
        root: context.translation.root.0 & ((1 << 56) - (1 << 12)),
        spaces: context.spaces,
        ad: config.first_stage_ad,
        svnapot: config.svnapot,
    };
    let leaf =
        tree.walk(&mut GuestTables(stage), cache, gva.0, context.demand(access)).map_err(|failure| match failure {
            Failure::Refused(cause) => Fault::Page(cause),
            Failure::Reader(fault) => fault,
        })?;
    Ok(GuestMapping {
        page: Gpa(leaf.page()),
        size: leaf.size,
        rights: leaf.pte.rights(),
        space: context.spaces.of(leaf.global),
    })
}

/// The largest page around `gpa`, of at most `size`, that is memory or device throughout, with its pointer.
#[inline(always)]
fn homogeneous(
    memory: &impl TableMemory,
    host: &HostMapping,
    gpa: Gpa,
    mut size: PageSize,
) -> (PageSize, Option<*mut u8>) {
    if host.backing == Backing::Device {
        return (size, None);
    }
    loop {
        match (memory.host_page(host.hpa(gpa).page(size), size), size.smaller()) {
            (HostPage::Ram(pointer), _) => return (size, Some(pointer)),
            (HostPage::Device, _) | (HostPage::Mixed, None) => return (size, None),
            (HostPage::Mixed, Some(smaller)) => size = smaller,
        }
    }
}
