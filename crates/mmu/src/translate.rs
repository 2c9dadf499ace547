//! Both stages for one access: the walk of the guest's tables through the second stage, and then of the page that they map.

use crate::context::Context;
use crate::fault::{Cause, Fault, NestedFault, Purpose};
use crate::memory::{HostPage, TableMemory};
use crate::raw::prefetch;
use crate::rights::Rights;
use crate::segment::Segments;
use crate::space::Space;
use crate::statistics::Mark;
use crate::tlb::Translation;
use crate::walk::{
    Address, Backing, Direct, GuestAddress, GuestDimension, Halted, Map, Mapping, Policy, Ports, Request, Target,
    Through, Tree,
};
use crate::walk_cache::{Start, WalkCache};
use types::{Access, Gpa, Gva, Hpa, PageSize};

/// How far a walk has come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Progress {
    /// Nothing is done.
    Nowhere,
    /// What is before the next step is done and counted.
    At {
        /// Counts when the walk began.
        begun: Mark,
        next: Next,
    },
}

/// The next step of a walk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// To read an entry of that table of the guest.
    Table(Start),
    /// To translate the page that the first stage has led to.
    Page(GuestMapping),
}

/// A page of the first stage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GuestMapping {
    /// An address of the kind at which the first stage finds its pages.
    page: u64,
    size: PageSize,
    rights: Rights,
    space: Space,
}

/// What the first stage of a walk is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FirstStage {
    /// The guest's tables.
    Tables,
    /// The identity: there is no translation.
    Bare,
    /// The guest's segment, which leads to this address.
    Segment(Gpa),
}

/// A walk for one access.
pub(crate) struct Walk<'a> {
    pub(crate) first: FirstStage,
    /// The guest's tables, where they are the first stage.
    pub(crate) tree: Tree,
    pub(crate) cache: &'a mut WalkCache,
    pub(crate) context: &'a Context,
    pub(crate) gva: Gva,
    pub(crate) access: Access,
}

/// A walk that has stopped.
pub(crate) struct Stopped<S> {
    pub(crate) stop: S,
    pub(crate) progress: Progress,
}

impl Walk<'_> {
    /// Goes on from `progress` to the end of the walk, or as far as the policy goes, through the second stage. All of it becomes part of the
    /// caller, so that the translation gets from the tables to the TLBs in registers.
    #[inline(always)]
    pub(crate) fn advance<P: Policy, M: TableMemory, S: Map<In: GuestAddress, Out = Hpa>>(
        mut self,
        ports: &mut Ports<'_, M>,
        mut stage: S,
        progress: Progress,
    ) -> Result<Translation, Stopped<P::Stop>> {
        let (begun, next) = match progress {
            Progress::At { begun, next } => (begun, next),
            Progress::Nowhere => {
                let begun = self.begin::<P, M, S>(ports, &mut stage);
                begun.map_err(|stop| Stopped { stop, progress: Progress::Nowhere })?
            }
        };
        let stopped = |(stop, next)| Stopped { stop, progress: Progress::At { begun, next } };
        let walked = self.steps::<P, M, S>(ports, &mut stage, next).map_err(stopped);
        if P::records(&walked) {
            ports.statistics.take_maxima(begun);
        }
        let translation = walked?;
        prefetch(translation.host.wrapping_add(self.gva.offset(translation.size()) as usize));
        Ok(translation)
    }

    /// Where the walk begins, once that is known.
    #[inline(always)]
    fn begin<P: Policy, M: TableMemory, S: Map<In: GuestAddress, Out = Hpa>>(
        &mut self,
        ports: &mut Ports<'_, M>,
        stage: &mut S,
    ) -> Result<(Mark, Next), P::Stop> {
        let next = match self.first {
            FirstStage::Tables => {
                let request = self.request();
                let mut tables = Through::<M, S, GuestDimension>::new(ports, stage, request);
                Ok(Next::Table(self.tree.begin::<P, Direct, _>(&mut tables, self.cache, &mut Direct, self.gva.0)?))
            }
            FirstStage::Bare => {
                let size = PageSize::Size256T;
                let page = S::In::of_gpa(Gpa(self.gva.page(size).0)).ok_or(Gpa(self.gva.0));
                let space = self.context.spaces.local;
                page.map(|page| Next::Page(GuestMapping { page: page.bits(), size, rights: Rights::ALL, space }))
            }
            FirstStage::Segment(gpa) => {
                ports.statistics.guest_segment_hits += 1;
                let size = PageSize::Size4K;
                let (rights, space) = (Segments::GUEST_RIGHTS, self.context.spaces.local);
                let page = S::In::of_gpa(gpa.page(size)).ok_or(gpa);
                page.map(|page| Next::Page(GuestMapping { page: page.bits(), size, rights, space }))
            }
        };
        ports.statistics.l2_misses += 1;
        ports.statistics.walks += 1;
        let mark = ports.statistics.mark();
        // No second stage translates an address of which it has no name.
        let too_wide = |gpa| {
            Fault::Nested(NestedFault { gpa, access: self.access, purpose: Purpose::Data, cause: Cause::TooWide })
        };
        Ok((mark, next.map_err(too_wide)?))
    }

    /// The steps from there on. A walk that stops has come as far as the step that comes with the reason.
    #[inline(always)]
    fn steps<P: Policy, M: TableMemory, S: Map<In: GuestAddress, Out = Hpa>>(
        &mut self,
        ports: &mut Ports<'_, M>,
        stage: &mut S,
        next: Next,
    ) -> Result<Translation, (P::Stop, Next)> {
        let page = match next {
            Next::Page(page) => page,
            Next::Table(start) => {
                let walked = self.first_stage::<P, M, S>(ports, stage, start);
                walked.map_err(|Halted { stop, at }| (stop, Next::Table(at)))?
            }
        };
        self.second_stage::<P, M, S>(ports, stage, &page).map_err(|stop| (stop, Next::Page(page)))
    }

    /// What the guest asks of its tables.
    #[inline(always)]
    const fn request(&self) -> Request<Gva> {
        Request { address: self.gva, access: self.access, purpose: Purpose::Data, limit: PageSize::Size256T }
    }

    /// The walk of the guest's tables.
    #[inline(always)]
    fn first_stage<P: Policy, M: TableMemory, S: Map<In: GuestAddress, Out = Hpa>>(
        &mut self,
        ports: &mut Ports<'_, M>,
        stage: &mut S,
        from: Start,
    ) -> Result<GuestMapping, Halted<P::Stop>> {
        let request = self.request();
        let target = Target { address: self.gva.0, required: &self.context.query(self.access).of_leaf };
        let mut tables = Through::<M, S, GuestDimension>::new(ports, stage, request);
        let leaf = self.tree.descend::<P, Direct, _>(&mut tables, self.cache, &mut Direct, target, from)?;
        let (page, space) = (leaf.page(), self.context.spaces.of(leaf.global));
        Ok(GuestMapping { page, size: leaf.size, rights: leaf.pte.rights(), space })
    }

    /// The second stage for the page that the first one found.
    #[inline(always)]
    fn second_stage<P: Policy, M: TableMemory, S: Map<In: GuestAddress, Out = Hpa>>(
        &self,
        ports: &mut Ports<'_, M>,
        stage: &mut S,
        guest: &GuestMapping,
    ) -> Result<Translation, P::Stop> {
        let address = S::In::of(guest.page | self.gva.offset(guest.size));
        let gpa = address.kept();
        let request = Request { address, access: self.access, purpose: Purpose::Data, limit: guest.size };
        stage.reach::<P, M, _>(ports, request, |ports, host| {
            let (size, pointer) =
                homogeneous::<P>(ports.memory, host, host.target(address), guest.size.min(host.size()))?;
            let pointer = pointer.map_or(0, <*mut u8>::expose_provenance);
            let at = (gpa.page(size), host.target(address).page(size), pointer);
            Ok(Translation::new(at, guest.space, guest.rights.and(host.rights()), size))
        })
    }
}

/// The largest page around `hpa`, of at most `size`, that is memory or device throughout, with its pointer.
#[inline(always)]
fn homogeneous<P: Policy>(
    memory: &impl TableMemory,
    host: &Mapping<Hpa>,
    hpa: Hpa,
    size: PageSize,
) -> Result<(PageSize, Option<*mut u8>), P::Stop> {
    if host.backing() == Backing::Host
        && size == PageSize::Size4K
        && let Some(pointer) = memory.base_page(hpa.page(PageSize::Size4K))
    {
        return Ok((PageSize::Size4K, Some(pointer)));
    }
    P::uncommon(|| match host.backing() {
        Backing::Device => Ok((size, None)),
        Backing::Host => match memory.host_page(hpa.page(size), size) {
            HostPage::Ram(pointer) => Ok((size, Some(pointer))),
            HostPage::Device | HostPage::Mixed => Ok(homogeneous_piece(memory, hpa, size)),
        },
    })
}

/// The largest piece of a page that is either all memory or all device, where the whole page is not memory.
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
