//! Both stages for one access: what a miss in every TLB costs.

use crate::config::{AdPolicy, Groups, MmuConfig};
use crate::context::Context;
use crate::fault::{Fault, Purpose};
use crate::guest_tables::GuestTables;
use crate::memory::{HostPage, TableMemory};
use crate::raw::prefetch;
use crate::refill::{Begun, Refill};
use crate::rights::Rights;
use crate::segment::{DirectSegment, Lookup, Segments};
use crate::space::{Space, Spaces};
use crate::stage::{
    Backing, ConstantStage, FlatTable, HostMapping, HostTables, NestedStage, NestedTlb, ReservedStage, SecondStage,
    SegmentedStage, Stage,
};
use crate::statistics::{Mark, MmuStatistics};
use crate::tlb::Translation;
use crate::walk::{Failure, Geometry, Tree};
use crate::walk_cache::{Start, WalkCache};
use types::{Access, Gpa, Gva, Hpa, PageSize};

/// Kinds of second stage, one for each variant of [`SecondStage`].
pub(crate) mod kind {
    pub(crate) const CONSTANT: u8 = 0;
    pub(crate) const NESTED: u8 = 1;
    pub(crate) const FLAT: u8 = 2;
    pub(crate) const RESERVED: u8 = 3;
}

/// How far a walk has come when the general steps take it over.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Progress {
    /// Nothing is done.
    Nowhere,
    /// What is before the next step is done and counted.
    At {
        /// What was counted when the walk began.
        begun: Mark,
        next: Next,
    },
}

/// The next step of a walk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// To read an entry of that table of the guest.
    Table(Start),
    /// To translate the page that the guest's tables have led to.
    Page(GuestMapping),
}

/// The walkers of both dimensions, with what they remember.
#[derive(Clone, Debug)]
pub(crate) struct Walkers {
    pub(crate) guest_cache: WalkCache,
    pub(crate) host_cache: WalkCache,
    pub(crate) nested_tlb: Option<NestedTlb>,
    pub(crate) first_stage_ad: AdPolicy,
    pub(crate) second_stage_ad: AdPolicy,
    first_stage_groups: Groups,
    second_stage_groups: Groups,
    pub(crate) refill: Refill,
    /// The segment registers, asked before either dimension's tables.
    pub(crate) segments: Segments,
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
        }
    }

    /// Walks from now on without anything remembered.
    pub(crate) fn forget(&mut self) {
        (self.guest_cache, self.host_cache, self.nested_tlb) = (WalkCache::OFF, WalkCache::OFF, None);
    }

    /// As [`Self::walk`], of a second stage of any kind, behind whatever segments there are.
    #[allow(clippy::too_many_arguments, reason = "as there")]
    pub(crate) fn walk_any<M: TableMemory, W: Watcher>(
        &mut self,
        memory: &mut M,
        statistics: &mut MmuStatistics,
        second: &SecondStage,
        context: &Context,
        (gva, direct): (Gva, Option<Gpa>),
        access: Access,
        watcher: &W,
    ) -> Result<Translation, Fault> {
        let of = (memory, statistics);
        let made = (gva, direct, Progress::Nowhere);
        match second {
            SecondStage::Constant { .. } => {
                self.walk::<M, W, true, { kind::CONSTANT }>(of.0, of.1, second, context, made, access, watcher)
            }
            SecondStage::Nested { .. } => {
                self.walk::<M, W, true, { kind::NESTED }>(of.0, of.1, second, context, made, access, watcher)
            }
            SecondStage::Flat { .. } => {
                self.walk::<M, W, true, { kind::FLAT }>(of.0, of.1, second, context, made, access, watcher)
            }
            SecondStage::Reserved { .. } => {
                self.walk::<M, W, true, { kind::RESERVED }>(of.0, of.1, second, context, made, access, watcher)
            }
        }
    }

    /// Walks the guest's tables through the second stage, which is of the [kind] `KIND`, and translates the page that they map. Where
    /// `SEGMENTS`, the registers are asked: `direct` is where the guest's segment leads, which then takes the place of the tables. (Else it
    /// is `None`: schemes without segments do not pay for them.) A walk that has come as far as `progress` says is only finished.
    ///
    /// All of it becomes part of the caller, so that the translation gets from the tables to the TLBs in registers.
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "an access, and what it is made on")]
    pub(crate) fn walk<M: TableMemory, W: Watcher, const SEGMENTS: bool, const KIND: u8>(
        &mut self,
        memory: &mut M,
        statistics: &mut MmuStatistics,
        second: &SecondStage,
        context: &Context,
        (gva, direct, progress): (Gva, Option<Gpa>, Progress),
        access: Access,
        watcher: &W,
    ) -> Result<Translation, Fault> {
        let tree = self.guest_tree(context);
        let Self { guest_cache, host_cache, nested_tlb, refill, segments, .. } = self;
        let request = Request {
            tree: tree.as_ref(),
            monitor: SEGMENTS.then_some(&segments.monitor),
            context,
            gva,
            direct: if SEGMENTS { direct } else { None },
            progress,
            access,
            refill,
            second,
        };
        match second {
            SecondStage::Constant { ram, offset } if KIND == kind::CONSTANT => {
                let stage = ConstantStage { memory, statistics, ram, offset: *offset };
                counted::<_, SEGMENTS>(&request, guest_cache, watcher.over(stage))
            }
            SecondStage::Nested { mode, root } if KIND == kind::NESTED => {
                let tree = Tree {
                    geometry: Geometry::of_second_stage(*mode),
                    root: root.0 & ((1 << 56) - (1 << 14)),
                    spaces: Spaces::of_guest_physical(context.vmid),
                    ad: self.second_stage_ad,
                    groups: self.second_stage_groups,
                };
                let tables = HostTables { memory, statistics };
                let stage = NestedStage::new(tables, tree, context.vmid, host_cache, nested_tlb.as_mut());
                counted::<_, SEGMENTS>(&request, guest_cache, watcher.over(stage))
            }
            SecondStage::Flat { table, first, entries } if KIND == kind::FLAT => {
                let flat = FlatTable { table: *table, first: *first, entries: *entries, ad: self.second_stage_ad };
                let tables = HostTables { memory, statistics };
                let stage = NestedStage::new(tables, flat, context.vmid, host_cache, nested_tlb.as_mut());
                counted::<_, SEGMENTS>(&request, guest_cache, watcher.over(stage))
            }
            SecondStage::Reserved { ram, offset } if KIND == kind::RESERVED => {
                let stage = ReservedStage(ConstantStage { memory, statistics, ram, offset: *offset });
                counted::<_, SEGMENTS>(&request, guest_cache, watcher.over(stage))
            }
            _ => unreachable!("the caller has looked at the kind"),
        }
    }

    /// Where the guest's segment leads: only with translation, and for the accesses that it permits.
    pub(crate) fn guest_segment(
        &self,
        statistics: &mut MmuStatistics,
        context: &Context,
        gva: Gva,
        access: Access,
    ) -> Option<Gpa> {
        let permits = Segments::GUEST_RIGHTS.meet(context.query(access).demand);
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
        let hpa = match (self.segments.monitor.look_up(gpa.0, size), second) {
            (Lookup::Page { page, .. }, _) => Hpa(page),
            (Lookup::Outside, SecondStage::Constant { ram, offset }) if ram.contains(&gpa) => {
                Hpa(gpa.page(size).0.wrapping_add(*offset))
            }
            _ => return None,
        };
        let host = match memory.host_page(hpa, size) {
            HostPage::Ram(pointer) => pointer.expose_provenance(),
            HostPage::Device | HostPage::Mixed => 0,
        };
        let (space, rights) = (context.spaces.local, Segments::GUEST_RIGHTS);
        Some(Translation { hpa, gpa: gpa.page(size), host, space, rights, size })
    }

    /// The guest's tables; `None` without translation.
    #[inline(always)]
    fn guest_tree(&self, context: &Context) -> Option<Tree> {
        let (geometry, root) = context.tables()?;
        Some(Tree { geometry, root, spaces: context.spaces, ad: self.first_stage_ad, groups: self.first_stage_groups })
    }
}

/// A page of the first stage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GuestMapping {
    pub(crate) page: Gpa,
    pub(crate) size: PageSize,
    pub(crate) rights: Rights,
    pub(crate) space: Space,
}

/// Who looks on as a walk is made.
pub(crate) trait Watcher {
    /// The second stage as the walk sees it: as it is, or one that tells what it does.
    type Over<S: Stage>: Stage;

    /// Makes that of the stage.
    fn over<S: Stage>(&self, stage: S) -> Self::Over<S>;
}

/// Nobody.
pub(crate) struct Unwatched;

impl Watcher for Unwatched {
    type Over<S: Stage> = S;

    #[inline(always)]
    fn over<S: Stage>(&self, stage: S) -> S {
        stage
    }
}

/// What a walk is made for.
struct Request<'a> {
    /// The guest's tables; `None` without translation.
    tree: Option<&'a Tree>,
    monitor: Option<&'a DirectSegment>,
    context: &'a Context,
    gva: Gva,
    direct: Option<Gpa>,
    progress: Progress,
    access: Access,
    refill: &'a Refill,
    second: &'a SecondStage,
}

/// A walk with its counts, on any second stage.
#[inline(always)]
fn counted<S: Stage, const SEGMENTS: bool>(
    request: &Request<'_>,
    cache: &mut WalkCache,
    mut stage: S,
) -> Result<Translation, Fault> {
    let statistics = stage.statistics();
    let refill_begun = Begun::of(statistics);
    let begun = match request.progress {
        Progress::Nowhere => {
            statistics.walks += 1;
            statistics.mark()
        }
        Progress::At { begun, .. } => begun,
    };
    let translated = translate::<_, SEGMENTS>(request, cache, &mut stage);
    let statistics = stage.statistics();
    statistics.take_maxima(begun);
    if let Refill::Software(routine) = request.refill {
        routine.count(statistics, &refill_begun, request.second, translated.err());
    }
    translated
}

/// Both stages for one access, behind the monitor's segment if there is one.
#[inline(always)]
fn translate<S: Stage, const SEGMENTS: bool>(
    request: &Request<'_>,
    cache: &mut WalkCache,
    stage: &mut S,
) -> Result<Translation, Fault> {
    let Request { tree, monitor, context, gva, direct, access, .. } = *request;
    if SEGMENTS && let Some(segment) = monitor {
        let mut stage = SegmentedStage { segment, inner: stage };
        let guest = match direct {
            Some(gpa) => by_guest_segment(&mut stage, context, gpa),
            None => first_stage(tree, cache, &mut stage, context, gva, access, None)?,
        };
        return second_stage(&mut stage, &guest, gva, access);
    }
    let from = match request.progress {
        Progress::Nowhere => None,
        Progress::At { next: Next::Table(start), .. } => Some(start),
        Progress::At { next: Next::Page(guest), .. } => return second_stage(stage, &guest, gva, access),
    };
    let guest = first_stage(tree, cache, stage, context, gva, access, from)?;
    second_stage(stage, &guest, gva, access)
}

/// The second stage for the page that the first one found.
#[inline(always)]
fn second_stage<S: Stage>(stage: &mut S, guest: &GuestMapping, gva: Gva, access: Access) -> Result<Translation, Fault> {
    let gpa = Gpa(guest.page.0 | gva.offset(guest.size));
    let host = stage.translate(gpa, access, Purpose::Data, guest.size)?;
    let (size, pointer) = homogeneous(stage.memory(), &host, gpa, guest.size.min(host.size));
    let pointer = pointer.map_or(0, <*mut u8>::expose_provenance);
    prefetch(pointer.wrapping_add(gpa.offset(size) as usize));
    Ok(Translation {
        hpa: host.hpa(gpa).page(size),
        gpa: gpa.page(size),
        host: pointer,
        space: guest.space,
        rights: guest.rights.and(host.rights),
        size,
    })
}

/// The guest's segment in place of the first stage.
fn by_guest_segment<S: Stage>(stage: &mut S, context: &Context, gpa: Gpa) -> GuestMapping {
    stage.statistics().guest_segment_hits += 1;
    let size = PageSize::Size4K;
    GuestMapping { page: gpa.page(size), size, rights: Segments::GUEST_RIGHTS, space: context.spaces.local }
}

/// The first stage: the walk of the guest's tables, which may have come to a table, or the identity.
#[inline(always)]
fn first_stage<S: Stage>(
    tree: Option<&Tree>,
    cache: &mut WalkCache,
    stage: &mut S,
    context: &Context,
    gva: Gva,
    access: Access,
    from: Option<Start>,
) -> Result<GuestMapping, Fault> {
    let Some(tree) = tree else {
        let size = PageSize::Size256T;
        let page = Gpa(gva.page(size).0);
        return Ok(GuestMapping { page, size, rights: Rights::ALL, space: context.spaces.local });
    };
    let leaf =
        tree.walk(&mut GuestTables(stage), cache, gva.0, context.query(access).of_leaf, from).map_err(|failure| {
            match failure {
                Failure::Refused(cause) => Fault::Page(cause),
                Failure::Reader(fault) => fault,
            }
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
fn homogeneous(memory: &impl TableMemory, host: &HostMapping, gpa: Gpa, size: PageSize) -> (PageSize, Option<*mut u8>) {
    if host.backing == Backing::Device {
        return (size, None);
    }
    match memory.host_page(host.hpa(gpa).page(size), size) {
        HostPage::Ram(pointer) => (size, Some(pointer)),
        HostPage::Device | HostPage::Mixed => homogeneous_piece(memory, host.hpa(gpa), size),
    }
}

/// The same where the page is not all memory.
#[cold]
#[inline(never)]
fn homogeneous_piece(memory: &impl TableMemory, hpa: Hpa, mut size: PageSize) -> (PageSize, Option<*mut u8>) {
    loop {
        match (memory.host_page(hpa.page(size), size), size.smaller()) {
            (HostPage::Ram(pointer), _) => return (size, Some(pointer)),
            (HostPage::Device, _) | (HostPage::Mixed, None) => return (size, None),
            (HostPage::Mixed, Some(smaller)) => size = smaller,
        }
    }
}
