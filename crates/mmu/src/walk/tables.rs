//! How a walker gets at the entries of its tables, and whose tables they are.

use super::journal::Counts;
use super::map::{Address, Backing, Map, Ports, Request};
use super::policy::Policy;
use crate::fault::{AccessCause, Cause, Fault, NestedFault};
use crate::memory::TableMemory;
use crate::pte::Pte;
use crate::statistics::MmuStatistics;
use core::marker::PhantomData;
use types::{Gpa, Gva, Hpa};

/// The tables of one walk.
pub(crate) trait Tables: Counts {
    /// Where they lie.
    type Address: Address;

    /// Reads an entry and lets `see` look at it. It is not counted: see [`Journal`](super::Journal).
    fn read<P: Policy, R>(
        &mut self,
        at: Self::Address,
        see: impl FnOnce(Pte) -> Result<R, P::Stop>,
    ) -> Result<R, P::Stop>;

    /// Reads several entries at once: one step of a walk. They are not counted.
    fn read_together<P: Policy>(&mut self, at: &[Self::Address]) -> Result<Vec<Pte>, P::Stop>;

    /// Stores `new` at `at` if `old` is still there; whether it was.
    fn exchange(&mut self, at: Self::Address, old: Pte, new: Pte) -> Result<bool, Fault>;

    /// The fault of the address that is walked for, where the tables refuse it.
    fn refused(&self, cause: Cause) -> Fault;

    /// The fault of the address that is walked for, where the entry at `at` refuses it.
    #[inline(always)]
    fn refused_at(&self, at: Self::Address, cause: Cause) -> Fault {
        at.refusal(self.refused(cause))
    }
}

/// Whose tables are walked: what they translate, how they refuse, and where their references are counted.
pub(crate) trait Dimension {
    /// What the tables translate.
    type In: Address;

    /// Why an entry cannot be read that lies outside memory.
    const OUTSIDE: AccessCause;

    /// The fault of a request that the tables refuse.
    fn refused(request: &Request<Self::In>, cause: Cause) -> Fault;

    /// Where references are counted.
    fn references(statistics: &mut MmuStatistics) -> &mut u64;

    /// Where entries are counted whose A or D bit was set.
    fn updates(statistics: &mut MmuStatistics) -> &mut u64;

    /// Where walks are counted that begin below the root, by level.
    fn cache_hits(statistics: &mut MmuStatistics) -> &mut [u64; 4];
}

/// The guest's own tables: the first dimension.
pub(crate) enum GuestDimension {}

impl Dimension for GuestDimension {
    type In = Gva;

    const OUTSIDE: AccessCause = AccessCause::FirstStageTable;

    #[inline(always)]
    fn refused(_: &Request<Gva>, cause: Cause) -> Fault {
        Fault::Page(cause)
    }

    #[inline(always)]
    fn references(statistics: &mut MmuStatistics) -> &mut u64 {
        &mut statistics.guest_refs
    }

    #[inline(always)]
    fn updates(statistics: &mut MmuStatistics) -> &mut u64 {
        &mut statistics.guest_updates
    }

    #[inline(always)]
    fn cache_hits(statistics: &mut MmuStatistics) -> &mut [u64; 4] {
        &mut statistics.guest_cache_hits
    }
}

/// The hypervisor's tables: the second dimension.
pub(crate) enum HostDimension {}

impl Dimension for HostDimension {
    type In = Gpa;

    const OUTSIDE: AccessCause = AccessCause::SecondStageTable;

    #[inline(always)]
    fn refused(request: &Request<Gpa>, cause: Cause) -> Fault {
        let Request { address: gpa, access, purpose, .. } = *request;
        Fault::Nested(NestedFault { gpa, access, purpose, cause })
    }

    #[inline(always)]
    fn references(statistics: &mut MmuStatistics) -> &mut u64 {
        &mut statistics.host_refs
    }

    #[inline(always)]
    fn updates(statistics: &mut MmuStatistics) -> &mut u64 {
        &mut statistics.host_updates
    }

    #[inline(always)]
    fn cache_hits(statistics: &mut MmuStatistics) -> &mut [u64; 4] {
        &mut statistics.host_cache_hits
    }
}

/// Tables of a dimension that are read through the stage below, which makes a walk two-dimensional.
pub(crate) struct Through<'p, 'm, M, L, D: Dimension> {
    ports: &'p mut Ports<'m, M>,
    lower: &'p mut L,
    request: Request<D::In>,
    dimension: PhantomData<D>,
}

impl<'p, 'm, M, L, D: Dimension> Through<'p, 'm, M, L, D> {
    /// The tables that are walked for a request.
    #[inline(always)]
    pub(crate) const fn new(ports: &'p mut Ports<'m, M>, lower: &'p mut L, request: Request<D::In>) -> Self {
        Self { ports, lower, request, dimension: PhantomData }
    }
}

impl<M: TableMemory, L: Map<Out = Hpa>, D: Dimension> Tables for Through<'_, '_, M, L, D> {
    type Address = L::In;

    #[inline(always)]
    fn read<P: Policy, R>(&mut self, at: L::In, see: impl FnOnce(Pte) -> Result<R, P::Stop>) -> Result<R, P::Stop> {
        self.lower.reach::<P, M, R>(self.ports, Request::of_table(at), |ports, mapping| {
            let entry = match mapping.backing() {
                Backing::Host => ports.memory.read(mapping.target(at)),
                // A device has no entries.
                Backing::Device => None,
            };
            see(Pte(entry.ok_or(Fault::Access(D::OUTSIDE))?))
        })
    }

    /// Their addresses are translated before the first is read.
    fn read_together<P: Policy>(&mut self, at: &[L::In]) -> Result<Vec<Pte>, P::Stop> {
        let mut targets = Vec::with_capacity(at.len());
        for &at in at {
            let mapping = self.lower.reach::<P, M, _>(self.ports, Request::of_table(at), |_, mapping| Ok(*mapping))?;
            match mapping.backing() {
                Backing::Host => targets.push(mapping.target(at)),
                Backing::Device => return Err(Fault::Access(D::OUTSIDE).into()),
            }
        }
        let mut entries = vec![None; targets.len()];
        self.ports.memory.read_together(&targets, &mut entries);
        let read: Option<Vec<Pte>> = entries.into_iter().map(|entry| entry.map(Pte)).collect();
        Ok(read.ok_or(Fault::Access(D::OUTSIDE))?)
    }

    fn exchange(&mut self, at: L::In, old: Pte, new: Pte) -> Result<bool, Fault> {
        let mapping = self.lower.reach_update(self.ports, at)?;
        let found = match mapping.backing() {
            Backing::Host => self.ports.memory.compare_exchange(mapping.target(at), old.0, new.0),
            Backing::Device => None,
        };
        let exchanged = found.ok_or(Fault::Access(D::OUTSIDE))? == old.0;
        *D::updates(self.ports.statistics) += u64::from(exchanged);
        Ok(exchanged)
    }

    #[inline(always)]
    fn refused(&self, cause: Cause) -> Fault {
        D::refused(&self.request, cause)
    }
}

impl<M, L, D: Dimension> Counts for Through<'_, '_, M, L, D> {
    #[inline(always)]
    fn count_skip(&mut self, level: u32) {
        D::cache_hits(self.ports.statistics)[level as usize - 1] += 1;
    }

    #[inline(always)]
    fn count_references(&mut self, references: u64) {
        *D::references(self.ports.statistics) += references;
    }

    #[inline(always)]
    fn count_joint(&mut self, references: u64) {
        self.ports.statistics.joint_refs += references;
    }
}
