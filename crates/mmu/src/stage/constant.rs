//! No second stage: guest physical address plus a constant.

use crate::fault::Fault;
use crate::memory::TableMemory;
use crate::rights::Rights;
use crate::walk::{Backing, General, Map, Mapping, Policy, Ports, Request};
use core::ops::Range;
use types::{Gpa, Hpa, PageSize};

/// `SecondStage::Constant` during one walk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ConstantStage {
    pub(crate) ram: Range<Gpa>,
    pub(crate) offset: u64,
}

/// How a page lies to the memory's range.
enum Position {
    Within,
    Outside,
    Across,
}

impl ConstantStage {
    #[inline(always)]
    fn position(&self, page: Gpa, size: PageSize) -> Position {
        // The last byte, because the end of the topmost page is not an address.
        let last = Gpa(page.0 | (size.bytes() - 1));
        let Range { start, end } = self.ram;
        if start <= page && last < end {
            Position::Within
        } else if last < start || end <= page || start >= end {
            Position::Outside
        } else {
            Position::Across
        }
    }

    /// The page of `size` around `gpa`, unless it is not all of one kind, or would not be aligned in the host.
    fn mapping(&self, gpa: Gpa, size: PageSize) -> Option<Mapping<Hpa>> {
        let page = gpa.page(size);
        let (page, backing) = match self.position(page, size) {
            Position::Within if self.offset & (size.bytes() - 1) == 0 => {
                (Hpa(page.0.wrapping_add(self.offset)), Backing::Host)
            }
            Position::Outside => (Hpa(page.0), Backing::Device),
            Position::Within | Position::Across => return None,
        };
        Some(Mapping::new(page, size, Rights::ALL, backing))
    }

    /// All of the page that a request is for, where it is memory and aligned in the host: mostly it is.
    #[inline(always)]
    pub(super) fn whole(&self, request: &Request<Gpa>) -> Option<Mapping<Hpa>> {
        let Request { address: gpa, limit: size, .. } = *request;
        let (first, last) = (gpa.page(size), Gpa(gpa.0 | (size.bytes() - 1)));
        let whole = (self.ram.start <= first) & (last < self.ram.end) & (self.offset & (size.bytes() - 1) == 0);
        let page = Hpa(first.0.wrapping_add(self.offset));
        whole.then(|| Mapping::new(page, size, Rights::ALL, Backing::Host))
    }

    /// The largest page around `gpa`, of at most `size`, that is all of one kind.
    #[cold]
    #[inline(never)]
    pub(super) fn largest(&self, gpa: Gpa, mut size: PageSize) -> Mapping<Hpa> {
        loop {
            if let Some(mapping) = self.mapping(gpa, size) {
                return mapping;
            }
            // Memory and offset come in whole 4K pages; otherwise the page would belong to a device.
            let device = Mapping::new(Hpa(gpa.page(size).0), size, Rights::ALL, Backing::Device);
            size = match size.smaller() {
                Some(smaller) => smaller,
                None => return device,
            };
        }
    }
}

impl Map for ConstantStage {
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
        let mapping = match self.whole(&request) {
            Some(mapping) => mapping,
            None => P::uncommon(|| Ok(self.largest(request.address, request.limit)))?,
        };
        then(ports, &mapping)
    }

    #[inline]
    fn reach_update<M: TableMemory>(&mut self, ports: &mut Ports<'_, M>, at: Gpa) -> Result<Mapping<Hpa>, Fault> {
        self.reach::<General, M, _>(ports, Request::of_update(at), |_, mapping| Ok(*mapping))
    }
}
