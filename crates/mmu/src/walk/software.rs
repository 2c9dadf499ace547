//! The walk of a guest's tables as a hypervisor makes it: the same walker, with no cache, over whatever reads the tables for it.

use crate::config::{AdPolicy, Groups};
use crate::context::Context;
use crate::fault::{AccessCause, Cause, Fault};
use crate::pte::Pte;
use crate::walk::{Counts, Direct, General, Halted, Policy, Tables, Target, Tree};
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
    if prepared.spaces.local.is_bare() {
        return Err(Fault::Access(AccessCause::FirstStageTable));
    }
    let tree = Tree {
        geometry: prepared.geometry,
        root: prepared.root(),
        spaces: prepared.spaces,
        ad: rules.ad,
        groups: Groups::of_svnapot(rules.svnapot),
    };
    let mut nothing = WalkCache::OFF;
    let (mut tables, mut journal) = (Reader(tables), Direct);
    let target = Target { address: gva.0, required: &prepared.query(access).of_leaf };
    let from = tree.begin::<General, _, _>(&mut tables, &mut nothing, &mut journal, gva.0)?;
    let walked = tree.descend::<General, _, _>(&mut tables, &mut nothing, &mut journal, target, from);
    let leaf = walked.map_err(|Halted { stop, .. }| stop)?;
    Ok(SoftwareLeaf { page: Gpa(leaf.page()), size: leaf.size, pte: leaf.pte.0, global: leaf.global })
}

struct Reader<'t, T>(&'t mut T);

impl<T: SoftwareTables> Tables for Reader<'_, T> {
    type Address = Gpa;

    #[inline(always)]
    fn read<P: Policy, R>(&mut self, at: Gpa, see: impl FnOnce(Pte) -> Result<R, P::Stop>) -> Result<R, P::Stop> {
        let entry = self.0.read(at).ok_or(Fault::Access(AccessCause::FirstStageTable))?;
        see(Pte(entry))
    }

    fn read_together<P: Policy>(&mut self, at: &[Gpa]) -> Result<Vec<Pte>, P::Stop> {
        at.iter().map(|&at| self.read::<P, _>(at, Ok)).collect()
    }

    fn exchange(&mut self, at: Gpa, old: Pte, new: Pte) -> Result<bool, Fault> {
        let found = self.0.compare_exchange(at, old.0, new.0).ok_or(Fault::Access(AccessCause::FirstStageTable))?;
        Ok(found == old.0)
    }

    fn refused(&self, cause: Cause) -> Fault {
        Fault::Page(cause)
    }
}

/// The hypervisor's own walks are no references of the processor's walker.
impl<T> Counts for Reader<'_, T> {
    fn count_skip(&mut self, _: u32) {}

    #[inline(always)]
    fn count_joint(&mut self, _: u64) {}

    fn count_references(&mut self, _: u64) {}
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

    /// Another hart maps another page between the read of the leaf and the first update of it.
    struct Raced(Words, Option<u64>);

    impl SoftwareTables for Raced {
        fn read(&mut self, at: Gpa) -> Option<u64> {
            self.0.read(at)
        }

        fn compare_exchange(&mut self, at: Gpa, old: u64, new: u64) -> Option<u64> {
            if let Some(other) = self.1.take() {
                self.0.0.insert(at.0, other);
            }
            self.0.compare_exchange(at, old, new)
        }
    }

    #[test]
    fn an_entry_that_has_changed_is_read_again() {
        let (leaf, other) = (pte(0x20_0000, 0b1_0110), pte(0x60_0000, 0b1_0110));
        let words = Words(BTreeMap::from([(0x1000, pte(0x2000, 0)), (0x2008, leaf)]));
        let mut raced = Raced(words, Some(other));
        let rules = SoftwareRules { ad: AdPolicy::Update, svnapot: true };
        let found = software_walk(&mut raced, rules, &context(), Gva(0x20_1234), Access::Write).unwrap();
        assert_eq!((found.page, found.pte, raced.0.0[&0x2008]), (Gpa(0x60_0000), other | 0xc0, other | 0xc0));
    }
}
