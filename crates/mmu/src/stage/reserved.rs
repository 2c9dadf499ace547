//! Reserved memory: a base, a limit and a constant (Sha et al. 2022, section 1: what Sunway had before). A translation adds, after it
//! has compared; there is no table to read.

use super::constant::ConstantStage;
use crate::fault::{Cause, Fault};
use crate::memory::TableMemory;
use crate::walk::{Dimension, General, HostDimension, Map, Mapping, Policy, Ports, Request};
use types::{Gpa, Hpa};

/// `SecondStage::Reserved` during one walk: a constant stage that refuses what is not the guest's memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ReservedStage(pub(crate) ConstantStage);

impl Map for ReservedStage {
    type In = Gpa;
    type Out = Hpa;

    const TRACELESS: bool = true;

    #[inline(always)]
    fn reach<P: Policy, M: TableMemory, R>(
        &mut self,
        ports: &mut Ports<'_, M>,
        request: Request<Gpa>,
        then: impl FnOnce(&mut Ports<'_, M>, &Mapping<Hpa>) -> Result<R, P::Stop>,
    ) -> Result<R, P::Stop> {
        let mapping = match self.0.whole(&request) {
            Some(mapping) => mapping,
            None if self.0.ram.contains(&request.address) => {
                P::uncommon(|| Ok(self.0.largest(request.address, request.limit)))?
            }
            None => return Err(HostDimension::refused(&request, Cause::OutOfBounds).into()),
        };
        then(ports, &mapping)
    }

    #[inline]
    fn reach_update<M: TableMemory>(&mut self, ports: &mut Ports<'_, M>, at: Gpa) -> Result<Mapping<Hpa>, Fault> {
        self.reach::<General, M, _>(ports, Request::of_update(at), |_, mapping| Ok(*mapping))
    }
}
