//! The hypervisor's segment before any other second stage: in each step of a walk, an address that it holds needs no table.

use crate::fault::{Fault, Purpose};
use crate::memory::TableMemory;
use crate::rights::Rights;
use crate::segment::{DirectSegment, Lookup};
use crate::walk::{Backing, GuestAddress, Map, Mapping, Policy, Ports, Request};
use types::{Hpa, PageSize};

/// A second stage behind a segment during one walk.
pub(crate) struct SegmentedStage<'a, S> {
    pub(crate) segment: &'a DirectSegment,
    pub(crate) inner: S,
}

/// What the segment leads to.
fn mapping(page: u64, size: PageSize) -> Mapping<Hpa> {
    Mapping::new(Hpa(page), size, Rights::ALL, Backing::Host)
}

impl<S: Map<In: GuestAddress, Out = Hpa>> SegmentedStage<'_, S> {
    /// What the segment says of an address. It has no host physical ones.
    fn look_up(&self, address: S::In, size: PageSize) -> Lookup {
        address.gpa().map_or(Lookup::Outside, |gpa| self.segment.look_up(gpa.0, size))
    }
}

impl<S: Map<In: GuestAddress, Out = Hpa>> Map for SegmentedStage<'_, S> {
    type In = S::In;
    type Out = Hpa;

    const TRACELESS: bool = false;

    fn reach<P: Policy, M: TableMemory, R>(
        &mut self,
        ports: &mut Ports<'_, M>,
        request: Request<S::In>,
        then: impl FnOnce(&mut Ports<'_, M>, &Mapping<Hpa>) -> Result<R, P::Stop>,
    ) -> Result<R, P::Stop> {
        P::uncommon(|| match self.look_up(request.address, request.limit) {
            Lookup::Page { page, size } => {
                ports.statistics.hypervisor_segment_hits += 1;
                ports.statistics.hypervisor_segment_pages += u64::from(request.purpose == Purpose::Data);
                then(ports, &mapping(page, size))
            }
            Lookup::Escapes => {
                ports.statistics.escape_hits += 1;
                self.inner.reach::<P, M, R>(ports, request, then)
            }
            Lookup::Outside => self.inner.reach::<P, M, R>(ports, request, then),
        })
    }

    fn reach_update<M: TableMemory>(&mut self, ports: &mut Ports<'_, M>, at: S::In) -> Result<Mapping<Hpa>, Fault> {
        // The latest translation was the segment's if this is: it is not counted again.
        match self.look_up(at, PageSize::Size4K) {
            Lookup::Page { page, size } => Ok(mapping(page, size)),
            Lookup::Outside | Lookup::Escapes => self.inner.reach_update(ports, at),
        }
    }
}
