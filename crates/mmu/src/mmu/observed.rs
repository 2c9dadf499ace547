//! Where the miss path tells its [observer](crate::Observer) what happens. Without one nothing here is called, but for the classifier.

use super::{Hit, Missed, Mmu};
use crate::config::{ConfigError, MmuConfig};
use crate::events::{self, Classifier, Eviction, Fill, NoObserver, Observer, Source, TlbLevel, Walk};
use crate::fault::Fault;
use crate::refill::Begun;
use crate::tlb::tag_array::Miss;
use crate::tlb::{Filled, Page, Request, Translation};
use types::{Access, Gpa, Gva, Hpa};

impl Mmu {
    /// Empty TLBs and caches, in the default context (no translation) with VMID 0.
    ///
    /// # Errors
    /// The first thing in the configuration that cannot be built.
    pub fn new(config: &MmuConfig) -> Result<Self, ConfigError> {
        Self::observed(config, NoObserver)
    }
}

impl<O: Observer> Mmu<O> {
    /// The observer of events.
    pub const fn observer(&self) -> &O {
        &self.observer
    }

    /// The observer of events, mutable.
    pub const fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    /// A level does not answer.
    #[inline(always)]
    pub(super) fn tell_miss(&mut self, level: TlbLevel, (gva, access): (Gva, Access)) {
        if O::OBSERVES {
            self.observer.miss(&events::Miss { level, vmid: self.context.vmid, gva, access });
        }
    }

    /// A walk has ended that began when so much was counted.
    pub(super) fn tell_walk(&mut self, begun: &Begun, (gva, access): (Gva, Access), fault: Option<Fault>) {
        let (guest_refs, host_refs) = begun.refs_since(&self.statistics);
        self.observer.walk(&Walk { vmid: self.context.vmid, gva, access, guest_refs, host_refs, fault });
    }

    /// The L1 keeps what answers an access.
    #[inline(always)]
    pub(super) fn tell_l1_fill(&mut self, request: (Gva, Access), hit: &Hit, source: Source) {
        if O::OBSERVES || self.classifier.is_some() {
            self.notify_observers_of_l1_fill(request, hit, source);
        }
    }

    #[inline(never)]
    fn notify_observers_of_l1_fill(&mut self, (gva, access): (Gva, Access), hit: &Hit, source: Source) {
        let Self { context, classifier, observer, statistics, .. } = self;
        let (vmid, context) = (context.vmid, &context.translation);
        let level = TlbLevel::first(access);
        let fill = Fill { level, source, vmid, context, gva, access, gpa: hit.gpa, hpa: hit.hpa, size: hit.page };
        if let Some(segments) = classifier {
            Classifier { segments, statistics }.fill(&fill);
        }
        if O::OBSERVES {
            observer.fill(&fill);
        }
    }

    /// Fills all levels in front of the source, by how the TLBs missed, and tells of what happens in the L2 and of what leaves the L1. Returns the
    /// slot of the L1.
    #[inline(always)]
    pub(super) fn fill_levels(
        &mut self,
        request: (Gva, Access, u64),
        missed: Missed,
        translation: &Translation,
        source: Source,
    ) -> usize {
        let (gva, access, _) = request;
        if source == Source::Walk && !self.outer.is_empty() {
            self.fill_outer(gva, translation);
        }
        let Self { context, l2, observer, .. } = self;
        let evicted = l2.keep(gva, missed.l2, translation);
        if O::OBSERVES {
            let level = TlbLevel::L2;
            if let Some(page) = evicted {
                observer.eviction(&eviction(level, &page));
            }
            if let Some(size) = l2.kept_size(translation.size()) {
                let kept = translation.piece(gva, size);
                let offset = gva.offset(size);
                let (gpa, hpa) = (Gpa(kept.gpa.0 | offset), Hpa(kept.hpa.0 | offset));
                let (vmid, context) = (context.vmid, &context.translation);
                observer.fill(&Fill { level, source, vmid, context, gva, access, gpa, hpa, size });
            }
        }
        self.fill_l1(request, missed.l1, translation).slot
    }

    /// Fills the L1, and tells of what leaves it.
    #[inline(always)]
    pub(super) fn fill_l1(
        &mut self,
        (gva, access, stamp): (Gva, Access, u64),
        miss: Miss,
        translation: &Translation,
    ) -> Filled {
        let Self { context, l1d, l1i, observer, .. } = self;
        let l1 = if access == Access::Execute { l1i } else { l1d };
        let request = Request { gva, access, query: context.query(access), stamp };
        let filled = l1.fill(request, miss, translation);
        if O::OBSERVES
            && let Some(page) = filled.evicted
        {
            observer.eviction(&eviction(TlbLevel::first(access), &page));
        }
        filled
    }
}

pub(super) fn eviction(level: TlbLevel, page: &Page) -> Eviction {
    let Page { first, translation } = page;
    Eviction { level, vmid: translation.space().vmid(), page: *first, size: translation.size() }
}
