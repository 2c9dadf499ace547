//! The MMU of one hart: the miss path from L1 to the tables, context changes and fences.

pub(crate) mod fast;
mod fences;
mod general;
pub(crate) mod hints;
pub(crate) mod host_pages;
mod observed;
mod outer;
pub(crate) mod record;
pub(crate) mod resident;

use crate::config::{AdPolicy, ConfigError, MmuConfig};
use crate::context::{Context, View};
use crate::events::{NoObserver, Observer};
use crate::fault::Fault;
use crate::memory::TableMemory;
use crate::outer::OuterTlb;
use crate::raw::L1Entry;
use crate::segment::Segments;
use crate::stage::{FormatHardware, SecondStage, TableFormat};
use crate::statistics::MmuStatistics;
use crate::tlb::tag_array::Miss;
use crate::tlb::{L1, L2, Translation};
use crate::walk::apart;
use crate::walkers::Walkers;
use types::{Access, Gpa, Gva, Hpa, PageSize, TranslationContext, Vmid};

/// What answers an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hit {
    /// Index of the L1 entry in the view of loads and stores, or of fetches.
    pub slot: u16,
    /// Host physical address of the byte.
    pub hpa: Hpa,
    /// Guest physical address of the byte.
    pub gpa: Gpa,
    /// The byte in this process; `None` where it is not memory but a device.
    pub host: Option<*mut u8>,
    /// Size of the page that the L1 entry holds.
    pub page: PageSize,
}

/// The MMU of one hart, whose observer receives misses, fills, evictions and walks.
#[derive(Debug)]
pub struct Mmu<O = NoObserver> {
    config: MmuConfig,
    context: Context,
    l1i: L1,
    l1d: L1,
    l2: L2,
    walkers: Walkers,
    /// Levels between the L2 and the walkers.
    outer: Vec<Box<dyn OuterTlb>>,
    /// Segments whose hits are counted and not made.
    classifier: Option<Box<Segments>>,
    observer: O,
    /// Whether there are neither segments nor outer levels, and no observer: what the fast path is for.
    plain: bool,
    /// Time of fetches, for the L1I's replacement.
    fetches: u64,
    statistics: MmuStatistics,
}

/// How the TLB levels have missed.
#[derive(Clone, Copy)]
struct Missed {
    l1: Miss,
    l2: Miss,
}

impl<O: Observer> Mmu<O> {
    /// As [`Mmu::new`], with an observer.
    ///
    /// # Errors
    /// [`ConfigError`] if the configuration is invalid.
    pub fn observed(config: &MmuConfig, observer: O) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config: config.clone(),
            context: Context::new(&TranslationContext::default(), Vmid(0)),
            l1i: L1::new(&config.l1i, View::OF_FETCHES),
            l1d: L1::new(&config.l1d, View::OF_DATA),
            l2: L2::new(&config.l2),
            walkers: Walkers::new(config),
            outer: Vec::new(),
            classifier: None,
            observer,
            plain: !O::OBSERVES,
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
    /// again in theirs. The caller must get the fast copies again.
    pub fn set_context(&mut self, context: &TranslationContext, vmid: Vmid) {
        let context = Context::new(context, vmid);
        if !self.context.shares_views(&context) {
            self.l1d.invalidate_views();
            self.l1i.invalidate_views();
        }
        self.context = context;
    }

    /// Changes who sets A and D bits of the guest's tables, as `ADUE` of `menvcfg` and `henvcfg` do. Entries stay: what they allow was allowed by
    /// the bits as they were (Svadu: software fences after a change).
    pub fn set_first_stage_ad(&mut self, policy: AdPolicy) {
        self.walkers.first_stage_ad = policy;
    }

    /// The fast copies of L1D entries for the current context. The pointer stays good until `set_context`, whatever
    /// misses and fences come between, and even then is only out of date: the entries do not move while the MMU lives.
    pub fn data_view(&mut self) -> *mut L1Entry {
        self.l1d.view(self.context.query(Access::Read).view)
    }

    /// The fast copies of L1I entries for the current context; as [`Self::data_view`].
    pub fn fetch_view(&mut self) -> *mut L1Entry {
        self.l1i.view(self.context.query(Access::Execute).view)
    }

    /// Number of slots of the L1D: one more than the largest [`Hit::slot`] of a load or store.
    #[must_use]
    pub fn data_slots(&self) -> usize {
        self.l1d.slots()
    }

    /// Number of slots of the L1I.
    #[must_use]
    pub fn fetch_slots(&self) -> usize {
        self.l1i.slots()
    }

    /// What the entry at a slot that [`Self::fast_access`] has found says of `gva`. (A load's entries are a store's.)
    #[inline(always)]
    #[must_use]
    pub fn hit(&self, slot: usize, gva: Gva, access: Access) -> Hit {
        let l1 = if access == Access::Execute { &self.l1i } else { &self.l1d };
        hit(slot, gva, l1.entry(slot))
    }

    /// The host's byte that a fetch at `gva`, a multiple of 2, reads, if the L1I entry at `slot` answers; it is timed
    /// like the fetches of [`Self::access`]. A slot may be any number: this is the checked form of
    /// [`L1Entry::execute_hit`].
    #[inline(always)]
    pub fn fetch_hit(&mut self, slot: u16, gva: Gva) -> Option<*mut u8> {
        let stamp = self.fetch_stamp();
        self.l1i.execute_hit(self.context.query(Access::Execute).view, slot, gva, stamp)
    }

    /// The next time of the L1I, for [`L1Entry::execute_hit`]. Loads and stores are timed by the hart, which counts
    /// them anyway.
    #[inline(always)]
    pub fn fetch_stamp(&mut self) -> u64 {
        self.fetches += 1;
        self.fetches
    }

    /// Stores to the host's page of 4 KiB at `host` are no longer plain, until [`L1Entry::allow_plain_stores`] makes them so.
    pub fn forbid_plain_stores(&mut self, host: *const u8) {
        self.l1d.forbid_plain_stores(host);
    }

    /// Where the latest time of the L1I is, for callers that make the comparison of [`L1Entry::execute_hit`] themselves: they add one, and stamp the entry with
    /// that.
    pub fn fetch_clock(&mut self) -> *mut u64 {
        &raw mut self.fetches
    }

    /// Renumbers the times of the L1D's entries from 1 on, without changing their order, and returns the greatest: for callers whose
    /// counter is narrower than a stamp and would wrap.
    pub fn renumber_stamps(&mut self) -> u64 {
        self.l1d.renumber()
    }

    /// Translates an access that missed in its view: L1, L2, walk, fill. The access lies within one 4K page.
    ///
    /// An entry answers only an access that it permits. Where there is none that does, the tables are walked again, and
    /// either the fresh translation takes the entry's place or the tables, as they are now, raise the fault. A store
    /// through an entry whose page is not dirty is such a case. Where several entries answer (stale ones, or pieces of
    /// different sizes), the one that the hart predicts comes first, then the order of arrays, sizes and ways.
    ///
    /// `stamp` is the time of a load or store: at least 1, below 2^63 and larger than any before. Fetches are timed by
    /// the MMU. `second` is the second stage of the current VMID.
    ///
    /// # Errors
    /// The guest's page or access fault, or a refusal of the second stage. A fault fills no TLB; the walk caches keep
    /// the non-leaf PTEs that were read, and the nested TLB the tables' pages, which are as good as those of any other
    /// walk.
    #[inline]
    pub fn access<M: TableMemory>(
        &mut self,
        memory: &mut M,
        second: &SecondStage,
        gva: Gva,
        access: Access,
        stamp: u64,
    ) -> Result<Hit, Fault> {
        self.access_by(memory, || second.clone(), gva, access, stamp)
    }

    /// As [`Self::access`], for a second stage that is made only where it is needed.
    ///
    /// # Errors
    /// The [`Fault`] that [`Self::access`] would return.
    #[inline(always)]
    pub fn access_by<M: TableMemory>(
        &mut self,
        memory: &mut M,
        second: impl Fn() -> SecondStage,
        gva: Gva,
        access: Access,
        stamp: u64,
    ) -> Result<Hit, Fault> {
        // In two steps, as a slot borrows nothing.
        let unfinished = match self.fast_access(memory, &second, gva, access, stamp) {
            Ok(slot) => Err(slot),
            Err(unfinished) => Ok(apart(unfinished.finish(memory, second))),
        };
        unfinished.unwrap_or_else(|slot| Ok(self.hit(slot, gva, access)))
    }

    /// Gives the walker the format of a scheme's own tables, which [`SecondStage::Other`] is walked by.
    pub fn set_table_format(&mut self, format: Box<dyn TableFormat>) {
        self.walkers.format = Some(FormatHardware::new(format, self.config.walk_caches.host));
    }

    /// Loads the segment registers, those of the guest and those of the hypervisor. No TLB entry is removed: see [`Segments`].
    pub fn set_segments(&mut self, segments: &Segments) {
        self.walkers.segments.clone_from(segments);
        self.update_plain();
    }

    /// From now on misses are counted by what these segments would answer, whatever the registers hold. `None` ends that.
    pub fn classify_by(&mut self, segments: Option<&Segments>) {
        self.classifier = segments.map(|segments| Box::new(segments.clone()));
        self.update_plain();
    }

    fn update_plain(&mut self) {
        let told = O::OBSERVES || self.classifier.is_some();
        self.plain = self.walkers.segments.are_off() && self.outer.is_empty() && !told;
    }

    /// The context in which addresses are translated.
    pub(crate) const fn context(&self) -> &Context {
        &self.context
    }

    /// What walks.
    pub(crate) const fn walkers(&self) -> &Walkers {
        &self.walkers
    }

    /// The L1 of loads and stores.
    pub(crate) const fn l1d(&self) -> &L1 {
        &self.l1d
    }

    /// The L1 of fetches.
    pub(crate) const fn l1i(&self) -> &L1 {
        &self.l1i
    }

    /// The second level.
    pub(crate) const fn l2(&self) -> &L2 {
        &self.l2
    }

    /// What was counted.
    #[must_use]
    pub const fn statistics(&self) -> &MmuStatistics {
        &self.statistics
    }

    /// Begins the maxima among the statistics again, for a caller that takes the difference of the others.
    pub fn restart_maximum(&mut self) {
        (self.statistics.max_refs, self.statistics.max_steps) = (0, 0);
    }

    /// Begins counting again.
    pub fn reset_statistics(&mut self) {
        self.statistics = MmuStatistics::default();
    }
}

/// What an L1 entry says of one byte of its page.
#[inline(always)]
fn hit(slot: usize, gva: Gva, entry: &Translation) -> Hit {
    let offset = gva.offset(entry.size());
    Hit {
        slot: slot as u16,
        hpa: Hpa(entry.hpa.0 | offset),
        gpa: Gpa(entry.gpa.0 | offset),
        host: (entry.host != 0).then(|| core::ptr::with_exposed_provenance_mut(entry.host + offset as usize)),
        page: entry.size(),
    }
}
