//! What a processor has for walks: what they remember in both dimensions, the rules, and the segment registers.

use crate::config::{AdPolicy, Groups, MmuConfig};
use crate::context::Context;
use crate::fault::Fault;
use crate::memory::{HostPage, TableMemory};
use crate::refill::{Begun, Refill};
use crate::segment::{DirectSegment, Lookup, Segments};
use crate::stage::{FormatHardware, NestedTlb, SecondStage, SecondStageHardware, SegmentedStage, StageKind};
use crate::statistics::MmuStatistics;
use crate::tlb::Translation;
use crate::translate::{FirstStage, Progress, Walk};
use crate::walk::{General, GuestAddress, Map, Ports, Tree};
use crate::walk_cache::WalkCache;
use types::{Access, Gpa, Gva, Hpa, PageSize};

/// The walkers of both dimensions, with what they remember.
#[derive(Clone, Debug)]
pub(crate) struct Walkers {
    pub(crate) guest_cache: WalkCache,
    pub(crate) host_cache: WalkCache,
    pub(crate) nested_tlb: Option<NestedTlb>,
    pub(crate) first_stage_ad: AdPolicy,
    second_stage_ad: AdPolicy,
    first_stage_groups: Groups,
    second_stage_groups: Groups,
    pub(crate) refill: Refill,
    /// The segment registers, asked before either dimension's tables.
    pub(crate) segments: Segments,
    /// Of a scheme whose tables have a format of its own.
    pub(crate) format: Option<FormatHardware>,
}

/// What a walk is made for.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) context: &'a Context,
    pub(crate) gva: Gva,
    pub(crate) access: Access,
    pub(crate) first: FirstStage,
}

impl<'a> Asked<'a> {
    /// An access that the guest's segment leads to `direct`, if it has a part in it.
    #[inline(always)]
    pub(crate) fn new(context: &'a Context, gva: Gva, access: Access, direct: Option<Gpa>) -> Self {
        let first = match direct {
            Some(gpa) => FirstStage::Segment(gpa),
            None if context.spaces.local.is_bare() => FirstStage::Bare,
            None => FirstStage::Tables,
        };
        Self { context, gva, access, first }
    }
}

/// A walk, and what it goes through.
pub(crate) struct Prepared<'a, S> {
    pub(crate) walk: Walk<'a>,
    pub(crate) stage: S,
    hypervisor: &'a DirectSegment,
}

/// Who looks on as a walk is made.
pub(crate) trait Watcher {
    /// The second stage as the walk sees it: as it is, or one that tells what it does.
    type Over<S: Map<In: GuestAddress, Out = Hpa>>: Map<In = S::In, Out = Hpa>;

    /// Makes that of the stage.
    fn over<S: Map<In: GuestAddress, Out = Hpa>>(&self, stage: S) -> Self::Over<S>;
}

/// No walker.
pub(crate) struct Unwatched;

impl Watcher for Unwatched {
    type Over<S: Map<In: GuestAddress, Out = Hpa>> = S;

    #[inline(always)]
    fn over<S: Map<In: GuestAddress, Out = Hpa>>(&self, stage: S) -> S {
        stage
    }
}

impl Walkers {
    /// Walkers that remember nothing yet. The configuration was checked before.
    pub(crate) fn new(config: &MmuConfig) -> Self {
        Self {
            guest_cache: WalkCache::new(config.walk_caches.guest),
            host_cache: WalkCache::new(config.walk_caches.host),
            nested_tlb: config.nested_tlb.as_ref().map(NestedTlb::new),
            first_stage_ad: config.first_stage_ad,
            second_stage_ad: config.second_stage_ad,
            first_stage_groups: Groups::of_svnapot(config.svnapot),
            second_stage_groups: config.second_stage_groups,
            refill: config.refill,
            segments: Segments::default(),
            format: None,
        }
    }

    /// Walks from now on without anything remembered.
    pub(crate) fn forget(&mut self) {
        (self.guest_cache, self.host_cache, self.nested_tlb) = (WalkCache::OFF, WalkCache::OFF, None);
        if let Some(format) = &mut self.format {
            format.forget();
        }
    }

    /// A walk through a second stage.
    #[inline(always)]
    pub(crate) fn prepare<'a, K: StageKind>(&'a mut self, kind: K, asked: Asked<'a>) -> Prepared<'a, K::Stage<'a>> {
        let Asked { context, gva, access, first } = asked;
        let tree = Tree {
            geometry: context.geometry,
            root: kind.root(context.root()),
            spaces: context.spaces,
            ad: self.first_stage_ad,
            groups: self.first_stage_groups,
        };
        let hardware = SecondStageHardware {
            vmid: context.vmid,
            cache: &mut self.host_cache,
            tlb: self.nested_tlb.as_mut(),
            ad: self.second_stage_ad,
            groups: self.second_stage_groups,
            format: self.format.as_mut(),
        };
        let walk = Walk { first, tree, cache: &mut self.guest_cache, context, gva, access };
        Prepared { walk, stage: kind.stage(hardware), hypervisor: &self.segments.hypervisor }
    }

    /// Walks to the end, behind the hypervisor's segment where `SEGMENTS`. (Schemes without segments do not pay for them.)
    #[inline(always)]
    pub(crate) fn walk<M: TableMemory, K: StageKind, W: Watcher, const SEGMENTS: bool>(
        &mut self,
        ports: &mut Ports<'_, M>,
        kind: K,
        asked: Asked<'_>,
        progress: Progress,
        watcher: &W,
    ) -> Result<Translation, Fault> {
        let refill = self.refill;
        let begun = Begun::of(ports.statistics);
        let Prepared { walk, stage, hypervisor } = self.prepare(kind, asked);
        let stage = watcher.over(stage);
        let walked = if SEGMENTS {
            walk.advance::<General, M, _>(ports, SegmentedStage { segment: hypervisor, inner: stage }, progress)
        } else {
            walk.advance::<General, M, _>(ports, stage, progress)
        };
        let translated = walked.map_err(|stopped| stopped.stop);
        if let Refill::Software(routine) = refill {
            let steps = K::refill_steps(&routine, self.format.as_ref().map(|hardware| &*hardware.format));
            routine.count(ports.statistics, &begun, &steps, translated.err());
        }
        translated
    }

    /// Where the guest's segment leads: only with translation, and for the accesses that it permits.
    pub(crate) fn guest_segment(
        &self,
        statistics: &mut MmuStatistics,
        context: &Context,
        gva: Gva,
        access: Access,
    ) -> Option<Gpa> {
        let permits = Segments::GUEST_RIGHTS.meet(context.query(access).required);
        if context.spaces.local.is_bare() || !permits {
            return None;
        }
        match self.segments.guest.look_up(gva.0, PageSize::Size4K) {
            Lookup::Page { page, .. } => Some(Gpa(page | gva.offset(PageSize::Size4K))),
            Lookup::Escapes => {
                statistics.escape_hits += 1;
                None
            }
            Lookup::Outside => None,
        }
    }

    /// The translation of an access that the guest's segment leads to `gpa`, where no table is needed from there on.
    pub(crate) fn both_segments(
        &self,
        memory: &impl TableMemory,
        second: &SecondStage,
        context: &Context,
        gpa: Gpa,
    ) -> Option<Translation> {
        let size = PageSize::Size4K;
        let hpa = match (self.segments.hypervisor.look_up(gpa.0, size), second) {
            (Lookup::Page { page, .. }, _) => Hpa(page),
            (Lookup::Outside, SecondStage::Constant { ram, offset }) if ram.contains(&gpa) => {
                Hpa(gpa.page(size).0.wrapping_add(*offset))
            }
            (
                Lookup::Outside,
                SecondStage::Constant { .. }
                | SecondStage::Nested { .. }
                | SecondStage::Agile { .. }
                | SecondStage::Flat { .. }
                | SecondStage::Reserved { .. }
                | SecondStage::Other(_),
            )
            | (Lookup::Escapes, _) => return None,
        };
        let host = match memory.host_page(hpa, size) {
            HostPage::Ram(pointer) => pointer.expose_provenance(),
            HostPage::Device | HostPage::Mixed => 0,
        };
        let (space, rights) = (context.spaces.local, Segments::GUEST_RIGHTS);
        Some(Translation::new((gpa.page(size), hpa, host), space, rights, size))
    }
}
