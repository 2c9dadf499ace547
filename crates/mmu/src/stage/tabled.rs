//! A stage with tables, of any format, that are read through the stage below: with a nested TLB in front, and a page-walk cache of its own.
//!
//! Over [`Host`](super::host::Host) it is the second stage of the hypervisor extension (RISC-V Privileged 1.13, section 19.5). Over another stage it
//! is the second stage of a guest hypervisor, whose tables and pages lie at addresses that the stage below translates.

use super::nested_tlb::{Lookup, NestedTlb};
use crate::config::AdPolicy;
use crate::fault::{Cause, Fault, Purpose};
use crate::memory::TableMemory;
use crate::rights::{Masks, Required};
use crate::space::Space;
use crate::tlb::tag_array::Miss;
use crate::tlb::way::Way;
use crate::walk::{
    Address, Dimension, General, Journal, Leaf, Map, Mapping, Policy, Ports, Recording, Request, Tables, Target,
    Through,
};
use crate::walk_cache::WalkCache;
use core::marker::PhantomData;
use types::{Access, Hpa, PageSize};

/// How the tables of a stage are arranged.
pub(crate) trait Format {
    /// Who sets A and D bits of their leaves.
    fn ad(&self) -> AdPolicy;

    /// Whether the tables can have an entry for the address.
    fn check(&self, address: u64) -> Result<(), Cause>;

    /// Finds the leaf of an address that passed the check, with A and D as the policy says.
    fn find<P: Policy, T: Tables>(
        &mut self,
        tables: &mut T,
        cache: &mut WalkCache,
        journal: &mut P::Journal,
        target: Target<'_>,
    ) -> Result<Leaf<T::Address>, P::Stop>;
}

/// What a stage with tables remembers between walks.
pub(crate) struct Memory<'a> {
    /// Whose entries they are.
    pub(crate) space: Space,
    pub(crate) cache: &'a mut WalkCache,
    pub(crate) tlb: Option<&'a mut NestedTlb>,
}

/// A stage with tables during one walk.
pub(crate) struct TabledStage<'a, D: Dimension, F, L: Map> {
    format: F,
    lower: L,
    memory: Memory<'a>,
    latest: Option<Latest<D::In, L::In>>,
    dimension: PhantomData<D>,
}

/// The latest translation of a table's address, and where it comes from.
struct Latest<A, B> {
    address: A,
    mapping: Mapping<Hpa>,
    /// Of a walk; the nested TLB does not keep it.
    leaf: Option<Leaf<B>>,
}

/// Where a translation comes from.
enum Origin<J, B> {
    /// The nested TLB.
    Tlb(Way),
    /// The tables, with what the walk has used, and the leaf that it ended at.
    Walk(J, Option<Leaf<B>>),
}

/// A translation, or why there is none, and where it comes from.
struct Reached<P: Policy, B> {
    mapping: Result<Mapping<Hpa>, P::Stop>,
    origin: Origin<P::Journal, B>,
}

impl<'a, D: Dimension, F: Format, L: Map<Out = Hpa>> TabledStage<'a, D, F, L> {
    /// Tables of a format, through the stage below.
    #[inline(always)]
    pub(crate) const fn new(format: F, lower: L, memory: Memory<'a>) -> Self {
        Self { format, lower, memory, latest: None, dimension: PhantomData }
    }

    /// What the leaf of an address and the stage below map together.
    #[inline(always)]
    fn compose(leaf: &Leaf<L::In>, lower: &Mapping<Hpa>, address: u64) -> Mapping<Hpa> {
        let size = leaf.size.min(lower.size());
        let target = lower.target(Self::target(leaf, address));
        let rights = leaf.pte.second_stage_rights().and(lower.rights());
        Mapping::new(target.page(size), size, rights, lower.backing())
    }

    /// Where a leaf leads an address.
    #[inline(always)]
    fn target(leaf: &Leaf<L::In>, address: u64) -> L::In {
        L::In::of(leaf.page() | address & (leaf.size.bytes() - 1))
    }

    /// The translation alone. The general path records it whatever comes after, so that all steps share one function.
    #[inline(always)]
    fn translate<M: TableMemory>(
        &mut self,
        ports: &mut Ports<'_, M>,
        request: Request<D::In>,
    ) -> Result<Mapping<Hpa>, Fault> {
        let Request { address, access, purpose, limit } = request;
        self.translate_parts(ports, address, (access, purpose), limit)
    }

    /// The request comes in parts, which are in registers.
    #[inline(never)]
    fn translate_parts<M: TableMemory>(
        &mut self,
        ports: &mut Ports<'_, M>,
        address: D::In,
        (access, purpose): (Access, Purpose),
        limit: PageSize,
    ) -> Result<Mapping<Hpa>, Fault> {
        let request = Request { address, access, purpose, limit };
        self.reach_in_line::<General, M, _>(ports, request, |_, mapping| Ok(*mapping))
    }

    /// [`Map::reach`], all of which becomes part of the caller.
    #[inline(always)]
    fn reach_in_line<P: Policy, M: TableMemory, R>(
        &mut self,
        ports: &mut Ports<'_, M>,
        request: Request<D::In>,
        then: impl FnOnce(&mut Ports<'_, M>, &Mapping<Hpa>) -> Result<R, P::Stop>,
    ) -> Result<R, P::Stop> {
        let Request { address, access, .. } = request;
        self.format.check(address.bits()).map_err(|cause| D::refused(&request, cause))?;
        let Memory { space, tlb, .. } = &mut self.memory;
        let lookup = match tlb {
            Some(tlb) => tlb.look_up::<P>(address.bits(), *space, Masks::of_second_stage(access))?,
            None => Lookup::Absent(Miss::ABSENT),
        };
        let Reached { mapping, origin } = match &lookup {
            Lookup::Hit(way, mapping) => Reached { mapping: Ok(*mapping), origin: Origin::Tlb(*way) },
            Lookup::AbsentBase | Lookup::Absent(_) if L::TRACELESS => self.walk::<P, M>(ports, request),
            // What the stage below has recorded of one step would stay where another one of the same walk turns out to be uncommon.
            Lookup::AbsentBase | Lookup::Absent(_) => P::uncommon(|| Ok(self.walk::<P, M>(ports, request)))?,
        };
        // One call, which becomes a part of this function: what it returns is large.
        let found = match &mapping {
            Ok(mapping) => then(ports, mapping),
            Err(stop) => Err(*stop),
        };
        if P::records(&found) {
            self.record::<P, M>(ports, request, &lookup, origin, mapping.ok());
        }
        found
    }

    /// Walks the tables, and translates the page's address in the stage below. Nothing is recorded yet.
    #[inline(always)]
    fn walk<P: Policy, M: TableMemory>(
        &mut self,
        ports: &mut Ports<'_, M>,
        request: Request<D::In>,
    ) -> Reached<P, L::In> {
        let Self { format, lower, memory, .. } = self;
        let Request { address, access, purpose, .. } = request;
        let bits = address.bits();
        let required = Required::of_second_stage(access);
        let target = Target { address: bits, required: &required };
        let mut journal = P::Journal::EMPTY;
        let mut tables = Through::<M, L, D>::new(ports, lower, request);
        let walked = format.find::<P, _>(&mut tables, memory.cache, &mut journal, target);
        let reached = walked.and_then(|leaf| {
            let below = Request { address: Self::target(&leaf, bits), access, purpose, limit: leaf.size };
            let lower = lower.reach::<P, M, _>(ports, below, |_, mapping| Ok(*mapping))?;
            Ok((leaf, Self::compose(&leaf, &lower, bits)))
        });
        match reached {
            Ok((leaf, mapping)) => Reached { mapping: Ok(mapping), origin: Origin::Walk(journal, Some(leaf)) },
            Err(stop) => Reached { mapping: Err(stop), origin: Origin::Walk(journal, None) },
        }
    }

    /// Records a translation, if there is one, and what has led to it.
    #[inline(always)]
    fn record<P: Policy, M: TableMemory>(
        &mut self,
        ports: &mut Ports<'_, M>,
        request: Request<D::In>,
        lookup: &Lookup,
        origin: Origin<P::Journal, L::In>,
        mapping: Option<Mapping<Hpa>>,
    ) {
        let Self { lower, memory, .. } = self;
        let leaf = match origin {
            Origin::Tlb(way) => {
                ports.statistics.nested_tlb_hits += 1;
                if let Some(tlb) = &mut memory.tlb {
                    tlb.used(way);
                }
                None
            }
            Origin::Walk(journal, leaf) => {
                ports.statistics.nested_tlb_misses += u64::from(memory.tlb.is_some());
                journal.commit(&mut Through::<M, L, D>::new(ports, lower, request), memory.cache);
                if let Some(mapping) = &mapping {
                    self.keep(request.address.bits(), lookup, mapping);
                }
                leaf
            }
        };
        if let Some(mapping) = mapping {
            self.remember::<P>(&request, mapping, leaf);
        }
    }

    /// Keeps what a walk has found, where a lookup had found nothing just before.
    #[inline(always)]
    fn keep(&mut self, address: u64, lookup: &Lookup, mapping: &Mapping<Hpa>) {
        let Memory { space, tlb, .. } = &mut self.memory;
        let Some(tlb) = tlb else { return };
        match lookup {
            Lookup::AbsentBase if mapping.size() == PageSize::Size4K => tlb.fill_base(address, *space, mapping),
            Lookup::AbsentBase => tlb.fill(address, Miss::ABSENT, *space, mapping),
            Lookup::Absent(miss) => tlb.fill(address, *miss, *space, mapping),
            Lookup::Hit(..) => tlb.fill(address, Miss::REFUSED, *space, mapping),
        }
    }

    /// The translation of a table's address may be asked for again, to write there. The fast path writes nothing.
    #[inline(always)]
    fn remember<P: Policy>(&mut self, request: &Request<D::In>, mapping: Mapping<Hpa>, leaf: Option<Leaf<L::In>>) {
        if P::RECORDING == Recording::InAnyCase && request.purpose == Purpose::Table {
            self.latest = Some(Latest { address: request.address, mapping, leaf });
        }
    }

    /// The leaf of the latest translation, with its D bit set; `None` where there is none, or its entry has changed since.
    fn update_latest<M: TableMemory>(
        &mut self,
        ports: &mut Ports<'_, M>,
        request: Request<D::In>,
        leaf: Option<Leaf<L::In>>,
    ) -> Result<Option<Mapping<Hpa>>, Fault> {
        let Some(leaf) = leaf else { return Ok(None) };
        let required = Required::of_second_stage(request.access);
        let mut tables = Through::<M, L, D>::new(ports, &mut self.lower, request);
        let Some(leaf) = self.format.ad().settle(&mut tables, leaf, &required)? else { return Ok(None) };
        let bits = request.address.bits();
        let Request { access, purpose, .. } = request;
        let below = Request { address: Self::target(&leaf, bits), access, purpose, limit: leaf.size };
        let lower = self.lower.reach::<General, M, _>(ports, below, |_, mapping| Ok(*mapping))?;
        let mapping = Self::compose(&leaf, &lower, bits);
        // The read has put the page there.
        if let Some(tlb) = &mut self.memory.tlb {
            tlb.fill(bits, Miss::REFUSED, self.memory.space, &mapping);
        }
        self.remember::<General>(&request, mapping, Some(leaf));
        Ok(Some(mapping))
    }
}

impl<D: Dimension, F: Format, L: Map<Out = Hpa>> Map for TabledStage<'_, D, F, L> {
    type In = D::In;
    type Out = Hpa;

    const TRACELESS: bool = false;

    #[inline(always)]
    fn reach<P: Policy, M: TableMemory, R>(
        &mut self,
        ports: &mut Ports<'_, M>,
        request: Request<D::In>,
        then: impl FnOnce(&mut Ports<'_, M>, &Mapping<Hpa>) -> Result<R, P::Stop>,
    ) -> Result<R, P::Stop> {
        match P::RECORDING {
            Recording::OnSuccess => self.reach_in_line::<P, M, R>(ports, request, then),
            Recording::InAnyCase => {
                let mapping = self.translate(ports, request)?;
                then(ports, &mapping)
            }
        }
    }

    /// The hardware still has the leaf that it walked to for the read: setting that leaf's D takes no second walk. Only
    /// where the nested TLB answered is there no leaf at hand: its entries for the page are dropped, and the page is
    /// translated again. (Were a stale one kept, the PTE could be read through it and written elsewhere, for ever.)
    fn reach_update<M: TableMemory>(&mut self, ports: &mut Ports<'_, M>, at: D::In) -> Result<Mapping<Hpa>, Fault> {
        let request = Request::of_update(at);
        if let Some(Latest { mapping, leaf, .. }) = self.latest.take().filter(|latest| latest.address == at) {
            if mapping.rights().meet(Masks::of_second_stage(Access::Write)) {
                return Ok(mapping);
            }
            if let Some(mapping) = self.update_latest(ports, request, leaf)? {
                return Ok(mapping);
            }
        }
        let Memory { space, tlb, .. } = &mut self.memory;
        if let Some(tlb) = tlb {
            tlb.remove_page(at.bits(), |other| other == *space);
        }
        self.translate(ports, request)
    }
}
