//! The walk of a radix tree of tables (RISC-V Privileged 1.13, section 12.3.2): one for every geometry, either dimension, and any way of
//! reading an entry.

use super::journal::{Journal, Key};
use super::map::Address;
use super::policy::Policy;
use super::tables::Tables;
use crate::config::{AdPolicy, Groups};
use crate::geometry::Geometry;
use crate::pte::{Kind, Pte};
use crate::rights::Required;
use crate::space::Spaces;
use crate::walk_cache::{Start, WalkCache};
use types::PageSize;

/// One tree of tables and the rules it is walked by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tree {
    pub(crate) geometry: Geometry,
    /// Address of the root table.
    pub(crate) root: u64,
    /// Tags of its walk-cache entries.
    pub(crate) spaces: Spaces,
    pub(crate) ad: AdPolicy,
    /// Groups that its leaves may be of.
    pub(crate) groups: Groups,
}

/// The end of a walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf<A> {
    /// Where the entry is.
    pub(crate) at: A,
    /// The entry as the walk left it.
    pub(crate) pte: Pte,
    /// The page's size.
    pub(crate) size: PageSize,
    /// Whether it, or an entry above it, had G set.
    pub(crate) global: bool,
}

impl<A: Address> Leaf<A> {
    /// Start of the page that it maps, in the space that the tree translates to.
    #[inline(always)]
    pub(crate) fn page(&self) -> u64 {
        self.at.behind(self.pte) & !(self.size.bytes() - 1)
    }
}

/// What a walk looks for.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    /// The address, which has no bits but those that the tree translates (a canonical one may repeat the topmost).
    pub(crate) address: u64,
    /// What the leaf has to allow.
    pub(crate) required: &'a Required,
}

/// Where a walk has stopped, before an entry that it has not used.
pub(crate) struct Halted<S> {
    pub(crate) stop: S,
    pub(crate) at: Start,
}

/// What can be seen of an entry at once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A pointer above the last level, or in it a leaf of a base page that allows the access and has its bits set.
    Plain,
    /// Anything.
    Other,
}

impl Tree {
    /// Where a walk begins: at the root, or as many levels below as the walk cache saves (step 1).
    #[inline(always)]
    pub(crate) fn begin<P: Policy, J: Journal, T: Tables>(
        &self,
        tables: &mut T,
        cache: &mut WalkCache,
        journal: &mut J,
        address: u64,
    ) -> Result<Start, P::Stop> {
        let root = Start { level: self.geometry.root_level.into(), table: self.root, global: false };
        let key = Key { spaces: self.spaces, address };
        match cache.probe(self.spaces, address) {
            Some(low) if low.level() != 0 => {
                journal.begin(tables, cache, key, low);
                Ok(low.start(self.spaces))
            }
            // There is no higher level to look at.
            Some(low) if root.level <= J::DEPTH => {
                journal.begin(tables, cache, key, low);
                Ok(root)
            }
            _ => P::uncommon(|| Ok(cache.begin(self.spaces, address, || root, |level| tables.count_skip(level)))),
        }
    }

    /// Walks from there to the leaf of the address, sets A and D as the tree's policy says, and has the journal keep each non-leaf entry that
    /// it passes.
    #[inline(always)]
    pub(crate) fn descend<P: Policy, J: Journal, T: Tables>(
        &self,
        tables: &mut T,
        cache: &mut WalkCache,
        journal: &mut J,
        target: Target<'_>,
        from: Start,
    ) -> Result<Leaf<T::Address>, Halted<P::Stop>> {
        let key = Key { spaces: self.spaces, address: target.address };
        let mut next = from;
        loop {
            // The last level is a separate step, as it needs fewer checks.
            let stepped = match next.level {
                0 => self.step::<P, J, T>(tables, journal, target, Start { level: 0, ..next }),
                _ => self.step::<P, J, T>(tables, journal, target, next),
            };
            match stepped.map_err(|stop| Halted { stop, at: next })? {
                Step::Down(start) => {
                    journal.pointer(cache, key, next.level, &start);
                    next = start;
                }
                Step::Arrived(leaf) => return Ok(leaf),
                // Another processor changed the entry: "return to step 2".
                Step::Again => {}
            }
        }
    }

    /// One level: the entry of the address in a table.
    #[inline(always)]
    fn step<P: Policy, J: Journal, T: Tables>(
        &self,
        tables: &mut T,
        journal: &mut J,
        target: Target<'_>,
        from: Start,
    ) -> Result<Step<T::Address>, P::Stop> {
        let Target { address, required } = target;
        let Start { level, table, global } = from;
        // Step 2.
        let slot = match level {
            0 => Geometry::last_slot(address),
            _ => self.geometry.slot(address, level as u32),
        };
        let at = T::Address::of(table + slot);
        let (pte, form) = tables.read::<P, _>(at, |pte| Form::see::<P>(pte, level, required))?;
        journal.reference(tables);
        let global = global | pte.is_global();
        // Steps 3 to 5.
        let kind = match form {
            Form::Plain if level == 0 => {
                return Ok(Step::Arrived(Leaf { at, pte, size: PageSize::Size4K, global }));
            }
            Form::Plain => Kind::Pointer,
            Form::Other => pte.decode(level as u32, self.groups).map_err(|cause| tables.refused_at(at, cause))?,
        };
        match kind {
            Kind::Pointer => Ok(Step::Down(Start { level: level - 1, table: at.behind(pte), global })),
            Kind::Leaf(size) => {
                let settled = self.ad.settle(tables, Leaf { at, pte, size, global }, required)?;
                Ok(settled.map_or(Step::Again, Step::Arrived))
            }
        }
    }
}

/// What one level has led to.
enum Step<A> {
    /// A further table.
    Down(Start),
    /// The page.
    Arrived(Leaf<A>),
    /// An entry that has changed since it was read.
    Again,
}

impl Form {
    /// Looks at an entry of `level` before anything is recorded of the step that read it.
    #[inline(always)]
    pub(crate) fn see<P: Policy>(pte: Pte, level: u64, required: &Required) -> Result<(Pte, Self), P::Stop> {
        let plain = if level == 0 { pte.is_plain_leaf_for(required) } else { pte.is_plain_pointer() };
        if plain { Ok((pte, Self::Plain)) } else { P::uncommon(|| Ok((pte, Self::Other))) }
    }
}
