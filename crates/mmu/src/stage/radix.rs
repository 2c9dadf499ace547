//! Radix tables as the format of a stage.

use super::tabled::Format;
use crate::config::AdPolicy;
use crate::fault::Cause;
use crate::walk::{Leaf, Policy, Tables, Target, Tree};
use crate::walk_cache::WalkCache;

impl Format for Tree {
    #[inline(always)]
    fn ad(&self) -> AdPolicy {
        self.ad
    }

    #[inline(always)]
    fn check(&self, address: u64) -> Result<(), Cause> {
        if address >> self.geometry.address_bits == 0 { Ok(()) } else { Err(Cause::TooWide) }
    }

    #[inline(always)]
    fn find<P: Policy, T: Tables>(
        &mut self,
        tables: &mut T,
        cache: &mut WalkCache,
        journal: &mut P::Journal,
        target: Target<'_>,
    ) -> Result<Leaf<T::Address>, P::Stop> {
        let from = self.begin::<P, P::Journal, T>(tables, cache, journal, target.address)?;
        self.descend::<P, P::Journal, T>(tables, cache, journal, target, from).map_err(|halted| halted.stop)
    }
}
