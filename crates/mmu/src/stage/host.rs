//! Below the last stage: host physical addresses, which lead where they say.

use crate::fault::Fault;
use crate::memory::TableMemory;
use crate::rights::Rights;
use crate::walk::{Backing, Map, Mapping, Policy, Ports, Request};
use types::{Hpa, PageSize};

/// The identity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host;

impl Host {
    #[inline(always)]
    fn identity(address: Hpa, size: PageSize) -> Mapping<Hpa> {
        Mapping::new(address.page(size), size, Rights::ALL, Backing::Host)
    }
}

impl Map for Host {
    type In = Hpa;
    type Out = Hpa;

    const TRACELESS: bool = true;

    #[inline(always)]
    fn reach<P: Policy, M: TableMemory, R>(
        &mut self,
        ports: &mut Ports<'_, M>,
        request: Request<Hpa>,
        then: impl FnOnce(&mut Ports<'_, M>, &Mapping<Hpa>) -> Result<R, P::Stop>,
    ) -> Result<R, P::Stop> {
        then(ports, &Self::identity(request.address, request.limit))
    }

    #[inline(always)]
    fn reach_update<M: TableMemory>(&mut self, _: &mut Ports<'_, M>, at: Hpa) -> Result<Mapping<Hpa>, Fault> {
        Ok(Self::identity(at, PageSize::Size4K))
    }
}
