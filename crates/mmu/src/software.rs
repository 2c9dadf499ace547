//! The walk of a guest's tables as a monitor makes it: the same walker, with no cache, over whatever reads the tables for it.

use crate::config::{AdPolicy, Groups};
use crate::context::Context;
use crate::fault::{AccessCause, Cause, Fault};
use crate::pte::Pte;
use crate::space::Spaces;
use crate::walk::{Failure, Geometry, PteReader, Tree};
use crate::walk_cache::WalkCache;
use types::{Access, Gpa, Gva, PageSize, TranslationContext, Vmid};

/// A guest's tables, as software reads and updates them.
pub trait SoftwareTables {
    /// The entry at `at`, a multiple of 8; `None` outside memory.
    fn read(&mut self, at: Gpa) -> Option<u64>;

    /// Stores `new` at `at`, the address read last, if `old` is there. Returns what was there, or `None` outside memory.
    fn compare_exchange(&mut self, at: Gpa, old: u64, new: u64) -> Option<u64>;
}

/// What a guest's tables are walked by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SoftwareRules {
    /// Who sets A and D bits.
    pub ad: AdPolicy,
    /// Whether there are 64K pages.
    pub svnapot: bool,
}

/// The leaf that a walk ended at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SoftwareLeaf {
    /// The page that it maps.
    pub page: Gpa,
    /// The page's size.
    pub size: PageSize,
    /// The entry, as the walk left it: A is set, and D if the access was a store.
    pub pte: u64,
    /// Whether it, or an entry above it, had G set.
    pub global: bool,
}

/// Walks to the leaf of `gva` in the tables of `context`, which translates, and sets A and D as the rules say.
///
/// # Errors
/// [`Fault::Page`] as the tables refuse, [`Fault::Access`] where a table is not in memory.
pub fn software_walk(
    tables: &mut impl SoftwareTables,
    rules: SoftwareRules,
    context: &TranslationContext,
    gva: Gva,
    access: Access,
) -> Result<SoftwareLeaf, Fault> {
    let prepared = Context::new(context, Vmid(0));
    if !prepared.is_canonical(gva) {
        return Err(Fault::Page(Cause::NotCanonical));
    }
    let Some(geometry) = Geometry::of_first_stage(context.mode) else {
        return Err(Fault::Access(AccessCause::FirstStageTable));
    };
    let tree = Tree {
        geometry,
        root: context.root.0 & ((1 << 56) - (1 << 12)),
        spaces: Spaces::of_guest(context.mode, Vmid(0), context.asid),
        ad: rules.ad,
        groups: Groups::of_svnapot(rules.svnapot),
    };
    let mut nothing = WalkCache::OFF;
    let walked = tree.walk(&mut Reader(tables), &mut nothing, gva.0, prepared.query(access).of_leaf, None);
    let leaf = walked.map_err(|failure| match failure {
        Failure::Refused(cause) => Fault::Page(cause),
        Failure::Reader(cause) => Fault::Access(cause),
    })?;
    Ok(SoftwareLeaf { page: Gpa(leaf.page()), size: leaf.size, pte: leaf.pte.0, global: leaf.global })
}

struct Reader<'t, T>(&'t mut T);

impl<T: SoftwareTables> PteReader for Reader<'_, T> {
    type Address = Gpa;
    type Fault = AccessCause;

    fn skipped(&mut self, _: u32) {}

    #[inline(always)]
    fn read(&mut self, at: Gpa) -> Result<Pte, AccessCause> {
        self.0.read(at).map(Pte).ok_or(AccessCause::FirstStageTable)
    }

    fn exchange(&mut self, at: Gpa, old: Pte, new: Pte) -> Result<bool, AccessCause> {
        let found = self.0.compare_exchange(at, old.0, new.0).ok_or(AccessCause::FirstStageTable)?;
        Ok(found == old.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use types::{Asid, PagingMode, Privilege};

    /// Words that exist; everything below 2^20 is memory.
    #[derive(Default)]
    struct Words(BTreeMap<u64, u64>);

    impl SoftwareTables for Words {
        fn read(&mut self, at: Gpa) -> Option<u64> {
            (at.0 < 1 << 20).then(|| self.0.get(&at.0).copied().unwrap_or(0))
        }
        fn compare_exchange(&mut self, at: Gpa, old: u64, new: u64) -> Option<u64> {
            let found = self.read(at)?;
            if found == old {
                self.0.insert(at.0, new);
            }
            Some(found)
        }
    }

    fn context() -> TranslationContext {
        let (mode, root) = (PagingMode::Sv39, Gpa(0x1000));
        TranslationContext { mode, root, asid: Asid(1), privilege: Privilege::User, sum: false, mxr: false }
    }

    const fn pte(address: u64, bits: u64) -> u64 {
        (address >> 12) << 10 | bits | 1
    }

    #[test]
    fn the_leaf_is_found_and_touched_as_the_rules_say() {
        let leaf = pte(0x20_0000, 0b1_0110);
        let mut words = Words(BTreeMap::from([(0x1000, pte(0x2000, 0x20)), (0x2008, leaf)]));
        let rules = SoftwareRules { ad: AdPolicy::Fault, svnapot: true };
        let walk = |words: &mut Words, rules, gva, access| software_walk(words, rules, &context(), Gva(gva), access);
        assert_eq!(walk(&mut words, rules, 0x20_1234, Access::Read), Err(Fault::Page(Cause::NotAccessed)));
        let rules = SoftwareRules { ad: AdPolicy::Update, ..rules };
        let found = walk(&mut words, rules, 0x20_1234, Access::Write).unwrap();
        let expected = SoftwareLeaf { page: Gpa(0x20_0000), size: PageSize::Size2M, pte: leaf | 0xc0, global: true };
        assert_eq!((found, words.0[&0x2008]), (expected, leaf | 0xc0));
        assert_eq!(walk(&mut words, rules, 0x40_0000, Access::Read), Err(Fault::Page(Cause::Invalid)));
        assert_eq!(walk(&mut words, rules, 1 << 38, Access::Read), Err(Fault::Page(Cause::NotCanonical)));
    }

    #[test]
    fn tables_outside_memory_and_circular_ones_end_the_walk() {
        let mut words = Words(BTreeMap::from([(0x1000, pte(1 << 30, 0)), (0x1008, pte(0x1000, 0))]));
        let rules = SoftwareRules { ad: AdPolicy::Update, svnapot: true };
        let outside = software_walk(&mut words, rules, &context(), Gva(0), Access::Read);
        assert_eq!(outside, Err(Fault::Access(AccessCause::FirstStageTable)));
        let circle = Gva(1 << 30 | 1 << 21 | 1 << 12);
        let looped = software_walk(&mut words, rules, &context(), circle, Access::Read);
        assert_eq!(looped, Err(Fault::Page(Cause::NoLeaf)));
    }
}
