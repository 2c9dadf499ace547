//! The MMU of one hart: the miss path from L1 to the tables, context changes and fences.

mod observed;
mod outer;
mod quick;

use crate::config::{AdPolicy, ConfigError, MmuConfig};
use crate::context::{Context, View};
use crate::directory::{BasePage, Miss, region};
use crate::events::{Nobody, Observer, Source, TlbLevel};
use crate::fault::{AccessCause, Cause, Fault, NestedFault, Purpose};
use crate::fence::Fence;
use crate::memory::TableMemory;
use crate::outer::OuterTlb;
use crate::raw::{L1Entry, prefetch};
use crate::refill::Begun;
use crate::segment::Segments;
use crate::space::Space;
use crate::stage::SecondStage;
use crate::statistics::MmuStatistics;
use crate::tlb::{Filled, L1, L2, Made, Translation};
use crate::translate::{Progress, Unwatched, Walkers, kind};
use crate::walk::apart;
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

/// The MMU of one hart, whose observer is told of misses, fills, evictions and walks.
#[derive(Debug)]
pub struct Mmu<O = Nobody> {
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
    /// Whether there are neither segments nor outer levels, and nobody is told of anything.
    plain: bool,
    /// Time of fetches, for the L1I's replacement.
    fetches: u64,
    /// A walk that [`Self::usual_access`] has begun and left.
    unfinished: Option<Progress>,
    statistics: MmuStatistics,
}

impl<O: Observer> Mmu<O> {
    /// As [`Mmu::new`], with an observer.
    ///
    /// # Errors
    /// As there.
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
            unfinished: None,
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

    /// Changes who sets A and D bits of the guest's tables, as `ADUE` of `menvcfg` and `henvcfg` do. Entries stay: what they allow was allowed by
    /// the bits as they were (Svadu: software fences after a change).
    pub fn set_first_stage_ad(&mut self, policy: AdPolicy) {
        self.walkers.first_stage_ad = policy;
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

    /// What the entry at a site that [`Self::usual_access`] has found says of `gva`. (A load's entries are a store's.)
    #[inline(always)]
    #[must_use]
    pub fn hit(&self, site: usize, gva: Gva, access: Access) -> Hit {
        let l1 = if access == Access::Execute { &self.l1i } else { &self.l1d };
        hit(site, gva, l1.entry(site))
    }

    /// The host's byte that a fetch at `gva`, a multiple of 2, reads, if the L1I entry at `site` answers; it is timed
    /// like the fetches of [`Self::access`]. A site may be any number: this is the checked form of
    /// [`L1Entry::execute_hit`].
    #[inline(always)]
    pub fn fetch_hit(&mut self, site: u16, gva: Gva) -> Option<*mut u8> {
        let stamp = self.fetch_stamp();
        self.l1i.execute_hit(self.context.query(Access::Execute).view, site, gva, stamp)
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

    /// As [`Self::access`], for a second stage that is asked for only where it is needed.
    ///
    /// # Errors
    /// As there.
    #[inline(always)]
    pub fn access_by<M: TableMemory>(
        &mut self,
        memory: &mut M,
        second: impl Fn() -> SecondStage,
        gva: Gva,
        access: Access,
        stamp: u64,
    ) -> Result<Hit, Fault> {
        match self.usual_access(memory, &second, gva, access, stamp) {
            Some(site) => Ok(self.hit(site, gva, access)),
            None => apart(self.unusual_access(memory, second, gva, access, stamp)),
        }
    }

    /// Finishes an access that [`Self::usual_access`] did not.
    ///
    /// # Errors
    /// As [`Self::access`].
    #[inline(never)]
    pub fn unusual_access<M: TableMemory>(
        &mut self,
        memory: &mut M,
        second: impl Fn() -> SecondStage,
        gva: Gva,
        access: Access,
        stamp: u64,
    ) -> Result<Hit, Fault> {
        if let Some(progress) = self.unfinished.take() {
            let stamp = self.timed(access, stamp);
            let nowhere = (Miss::ABSENT, Miss::ABSENT);
            return self.walk::<M, false>(memory, second, (gva, access, stamp), (None, progress), nowhere);
        }
        self.check_address(&second, gva, access)?;
        let stamp = self.timed(access, stamp);
        let (l1, misses) = match access {
            Access::Read | Access::Write => (&mut self.l1d, &mut self.statistics.l1d_misses),
            Access::Execute => (&mut self.l1i, &mut self.statistics.l1i_misses),
        };
        let made = Made { gva, access, query: self.context.query(access), stamp };
        match l1.find(gva, made.query) {
            Ok(slot) => Ok(hit(slot, gva, &l1.touch(slot, made))),
            Err(miss) => {
                *misses += 1;
                self.tell_miss(TlbLevel::first(access), (gva, access));
                if self.walkers.segments.are_off() {
                    self.miss::<M, false>(memory, second, (gva, access, stamp), miss)
                } else {
                    self.miss::<M, true>(memory, second, (gva, access, stamp), miss)
                }
            }
        }
    }

    /// The time of an access: fetches are timed here.
    #[inline(always)]
    fn timed(&mut self, access: Access, stamp: u64) -> u64 {
        if access == Access::Execute { self.fetch_stamp() } else { stamp }
    }

    /// What no L1 entry answers: segments, L2, walk, fill. `miss` is how the L1 missed.
    #[inline(never)]
    fn miss<M: TableMemory, const SEGMENTS: bool>(
        &mut self,
        memory: &mut M,
        second: impl Fn() -> SecondStage,
        (gva, access, stamp): (Gva, Access, u64),
        miss: Miss,
    ) -> Result<Hit, Fault> {
        let Self { context, l2, walkers, statistics, .. } = self;
        let made = (gva, access, stamp);
        let mut direct = None;
        if SEGMENTS {
            direct = walkers.guest_segment(statistics, context, gva, access);
            let both = direct.and_then(|gpa| walkers.both_segments(memory, &second(), context, gpa));
            if let Some(translation) = both {
                statistics.segment_hits += 1;
                let hit = self.fill_l1(made, miss, &translation).hit(gva);
                self.tell_l1_fill((gva, access), &hit, Source::Segments);
                return Ok(hit);
            }
        }
        let query = context.query(access);
        match l2.find(gva.0, |entry| entry.answers(query)) {
            Ok((way, &translation)) => {
                statistics.l2_hits += 1;
                prefetch(translation.host.wrapping_add(gva.offset(translation.size) as usize));
                l2.used(way);
                let hit = self.fill_l1(made, miss, &translation).hit(gva);
                self.tell_l1_fill((gva, access), &hit, Source::L2);
                Ok(hit)
            }
            Err(l2_miss) => {
                self.tell_miss(TlbLevel::L2, (gva, access));
                if !self.outer.is_empty()
                    && let Some(slot) = self.ask_outer(memory, made, (miss, l2_miss))
                {
                    return Ok(self.filled(slot, (gva, access), Source::Outer));
                }
                let from = (direct, Progress::Nowhere);
                self.walk::<M, SEGMENTS>(memory, second, made, from, (miss, l2_miss))
            }
        }
    }

    /// What neither TLB level answers, by how they missed; `from` is where the guest's segment leads, and how far the walk has come.
    #[inline(always)]
    fn walk<M: TableMemory, const SEGMENTS: bool>(
        &mut self,
        memory: &mut M,
        second: impl Fn() -> SecondStage,
        made: (Gva, Access, u64),
        from: (Option<Gpa>, Progress),
        missed: (Miss, Miss),
    ) -> Result<Hit, Fault> {
        let second = second();
        let (gva, access, _) = made;
        // One function for each kind, in which all of a walk is.
        let slot = match second {
            SecondStage::Constant { .. } => {
                self.walk_through::<M, SEGMENTS, { kind::CONSTANT }>(memory, &second, made, from, missed)
            }
            SecondStage::Nested { .. } => {
                self.walk_through::<M, SEGMENTS, { kind::NESTED }>(memory, &second, made, from, missed)
            }
            SecondStage::Flat { .. } => {
                self.walk_through::<M, SEGMENTS, { kind::FLAT }>(memory, &second, made, from, missed)
            }
            SecondStage::Reserved { .. } => {
                self.walk_through::<M, SEGMENTS, { kind::RESERVED }>(memory, &second, made, from, missed)
            }
        }?;
        Ok(self.filled(slot, (gva, access), Source::Walk))
    }

    /// What a slot of the L1 says that was filled.
    #[inline(always)]
    fn filled(&mut self, slot: usize, (gva, access): (Gva, Access), source: Source) -> Hit {
        let l1 = if access == Access::Execute { &self.l1i } else { &self.l1d };
        let hit = hit(slot, gva, l1.entry(slot));
        self.tell_l1_fill((gva, access), &hit, source);
        hit
    }

    /// Returns the slot in which the L1 keeps what the walk has found. (A [`Hit`] would be written in pieces and read as a whole: see
    /// [`Translation::words`].)
    #[inline(never)]
    fn walk_through<M: TableMemory, const SEGMENTS: bool, const KIND: u8>(
        &mut self,
        memory: &mut M,
        second: &SecondStage,
        (gva, access, stamp): (Gva, Access, u64),
        (direct, progress): (Option<Gpa>, Progress),
        (miss, l2_miss): (Miss, Miss),
    ) -> Result<usize, Fault> {
        let Self { context, walkers, statistics, .. } = self;
        statistics.l2_misses += u64::from(matches!(progress, Progress::Nowhere));
        let begun = O::OBSERVES.then(|| Begun::of(statistics));
        let walked = walkers.walk::<M, _, SEGMENTS, KIND>(
            memory,
            statistics,
            second,
            context,
            (gva, direct, progress),
            access,
            &Unwatched,
        );
        if let Some(begun) = begun {
            self.tell_walk(&begun, (gva, access), walked.as_ref().err().copied());
        }
        let walked = walked?;
        if O::OBSERVES {
            return Ok(self.fill_levels((gva, access, stamp), (miss, l2_miss), &walked, Source::Walk));
        }
        let Self { context, l1i, l1d, l2, outer, .. } = self;
        let l1 = if access == Access::Execute { l1i } else { l1d };
        let made = Made { gva, access, query: context.query(access), stamp };
        let region = region(gva.0);
        let absent = (miss == Miss::ABSENT) & (l2_miss == Miss::ABSENT);
        let base = (walked.size == PageSize::Size4K) & (walked.host != 0);
        if absent & base & l1.has_base_alone(region) & l2.has_base_alone(region) & outer.is_empty() {
            let page = BasePage::new(gva.0);
            l2.fill_base(page, &walked);
            return Ok(match access {
                Access::Execute => l1.fill_base::<true>(page, made, &walked),
                Access::Read | Access::Write => l1.fill_base::<false>(page, made, &walked),
            });
        }
        let [hpa, gpa, host, kind] = walked.words();
        Ok(self.fill_both((gva, access, stamp), (miss, l2_miss), hpa, gpa, host, kind))
    }

    #[inline(never)]
    fn fill_both(
        &mut self,
        (gva, access, stamp): (Gva, Access, u64),
        (miss, l2_miss): (Miss, Miss),
        hpa: u64,
        gpa: u64,
        host: u64,
        kind: u64,
    ) -> usize {
        let walked = Translation::of_words([hpa, gpa, host, kind]);
        self.fill_levels((gva, access, stamp), (miss, l2_miss), &walked, Source::Walk)
    }

    /// Faults that need no lookup: addresses that no table translates.
    #[inline(always)]
    fn check_address(&self, second: &impl Fn() -> SecondStage, gva: Gva, access: Access) -> Result<(), Fault> {
        if !self.context.is_canonical(gva) {
            return Err(Fault::Page(Cause::NotCanonical));
        }
        if self.context.spaces.local.is_bare() {
            check_bare(&second(), Gpa(gva.0), access)?;
        }
        Ok(())
    }

    /// Loads the segment registers, those of the guest and those of the monitor. No TLB entry is removed: see [`Segments`].
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
        self.remove_outer(gva, named);
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
                self.walkers.guest_cache.remove(named);
            }
        }
    }

    fn fence_second_stage(&mut self, gpa: Option<Gpa>, vmid: Option<Vmid>) {
        let named = |space: Space| vmid.is_none_or(|vmid| space.vmid() == vmid);
        self.remove_outer(None, named);
        self.l1i.remove(|entry| named(entry.space));
        self.l1d.remove(|entry| named(entry.space));
        self.l2.remove(|entry| named(entry.space));
        if gpa.is_none() {
            self.walkers.host_cache.remove(named);
        }
        if let Some(tlb) = &mut self.walkers.nested_tlb {
            match gpa {
                Some(gpa) => tlb.remove_page(gpa, named),
                None => tlb.remove(named),
            }
        }
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

    /// Begins the maximum among the statistics anew, for whoever takes the difference of the others.
    pub fn restart_maximum(&mut self) {
        self.statistics.max_refs = 0;
    }

    /// Begins counting anew.
    pub fn reset_statistics(&mut self) {
        self.statistics = MmuStatistics::default();
    }
}

impl Filled {
    /// What the L1 says of a byte of the page that it keeps now.
    #[inline(always)]
    fn hit(&self, gva: Gva) -> Hit {
        hit(self.slot, gva, &self.kept)
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
        // Each lookup compares bounds that no TLB entry exceeds.
        SecondStage::Flat { .. } | SecondStage::Reserved { .. } => Ok(()),
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
