//! The walker: one for every geometry, either stage, and any way of reading a PTE.
//!
//! The steps are those of RISC-V Privileged 1.13, section 12.3.2. A nested walk is this walker over a reader that
//! itself translates each table's address through stage 2, which is this walker again over the host's memory.

use crate::config::{AdPolicy, Groups};
use crate::fault::Cause;
use crate::pte::{Kind, Pte};
use crate::rights::Demand;
use crate::space::Spaces;
use crate::walk_cache::{Start, WalkCache};
use types::{Gpa, Hpa, PageSize, PagingMode, SecondStageMode};

/// Shape of a tree of tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Geometry {
    /// Level of the root table; the last level is 0.
    pub(crate) root_level: u32,
    /// Bits of address that the tree translates; the root's index is what the other levels leave of them.
    pub(crate) address_bits: u32,
    /// The root's indices.
    root_mask: u64,
}

impl Geometry {
    /// Of a first stage with tables; `None` for bare.
    pub(crate) const fn of_first_stage(mode: PagingMode) -> Option<Self> {
        match mode.levels() {
            0 => None,
            levels => Some(Self::new(levels - 1, mode.address_bits())),
        }
    }

    /// Of a second stage. The root has four times the entries.
    pub(crate) const fn of_second_stage(mode: SecondStageMode) -> Self {
        Self::new(mode.levels() - 1, mode.address_bits())
    }

    const fn new(root_level: u32, address_bits: u32) -> Self {
        Self { root_level, address_bits, root_mask: (1 << (address_bits - 12 - 9 * root_level)) - 1 }
    }

    /// Byte offset of the PTE of `address` in a table of `level`.
    #[inline(always)]
    pub(crate) const fn slot(self, address: u64, level: u32) -> u64 {
        let mask = if level == self.root_level { self.root_mask } else { 0x1ff };
        ((address >> (12 + 9 * level)) & mask) * 8
    }

    /// The same in a table that is no tree's root, all of which have one size.
    #[inline(always)]
    pub(crate) const fn slot_below_root(address: u64, level: u32) -> u64 {
        ((address >> (12 + 9 * level)) & 0x1ff) * 8
    }
}

/// The kind of address at which a tree's tables lie.
pub(crate) trait TableAddress: Copy {
    /// The address of that many bytes.
    fn of(bytes: u64) -> Self;
}

impl TableAddress for Gpa {
    fn of(bytes: u64) -> Self {
        Self(bytes)
    }
}

impl TableAddress for Hpa {
    fn of(bytes: u64) -> Self {
        Self(bytes)
    }
}

/// How a walker gets at the PTEs of its tables.
pub(crate) trait PteReader {
    /// Where the tables lie.
    type Address: TableAddress;
    /// Why a PTE cannot be read or written.
    type Fault;

    /// Counts a walk that begins below the root, with the non-leaf PTE of `level` from the walk cache.
    fn skipped(&mut self, level: u32);

    /// Reads a PTE and counts the reference.
    fn read(&mut self, at: Self::Address) -> Result<Pte, Self::Fault>;

    /// Stores `new` at `at`, the address read last, if `old` is still there; whether it was.
    fn exchange(&mut self, at: Self::Address, old: Pte, new: Pte) -> Result<bool, Self::Fault>;
}

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
    /// Where the PTE is.
    pub(crate) at: A,
    /// The PTE as the walk left it.
    pub(crate) pte: Pte,
    /// The page's size.
    pub(crate) size: PageSize,
    /// Whether it, or a PTE above it, had G set.
    pub(crate) global: bool,
}

impl<A> Leaf<A> {
    /// Start of the page that it maps, in the space that the tree translates to.
    pub(crate) const fn page(&self) -> u64 {
        self.pte.address() & !(self.size.bytes() - 1)
    }
}

/// Why a walk ends without a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Failure<F> {
    /// The tables refuse.
    Refused(Cause),
    /// A PTE cannot be read or written.
    Reader(F),
}

impl Tree {
    /// Walks to the leaf of `address`, which has no bits but those the geometry translates (a canonical one may repeat
    /// the topmost), sets A and D as the policy says, and keeps each non-leaf PTE that it passed in `cache`. With `from`, a walk goes on there
    /// that has begun before.
    #[inline(always)]
    pub(crate) fn walk<R: PteReader>(
        &self,
        reader: &mut R,
        cache: &mut WalkCache,
        address: u64,
        demand: Demand,
        from: Option<Start>,
    ) -> Result<Leaf<R::Address>, Failure<R::Fault>> {
        // Step 1, or as many steps as the cache saves.
        let Start { level, mut table, mut global } = from.unwrap_or_else(|| {
            let root = || Start { level: self.geometry.root_level.into(), table: self.root, global: false };
            cache.begin(self.spaces, address, root, |level| reader.skipped(level))
        });
        let mut level = level as u32;
        loop {
            // Step 2.
            let at = R::Address::of(table + self.geometry.slot(address, level));
            let pte = reader.read(at).map_err(Failure::Reader)?;
            // Steps 3 to 5.
            match pte.decode(level, self.groups).map_err(Failure::Refused)? {
                Kind::Pointer => {
                    table = pte.address();
                    global |= pte.is_global();
                    cache.fill(self.spaces, address, level, table, global);
                    level -= 1;
                }
                Kind::Leaf(size) => {
                    let leaf = Leaf { at, pte, size, global: global | pte.is_global() };
                    if let Some(leaf) = self.finish(reader, leaf, demand)? {
                        return Ok(leaf);
                    }
                    // Somebody else changed the PTE: "return to step 2".
                }
            }
        }
    }

    /// Steps 6 to 9: whether the leaf allows the access, and its A and D bits. `None` where the PTE has changed since
    /// it was read.
    #[inline(always)]
    pub(crate) fn finish<R: PteReader>(
        &self,
        reader: &mut R,
        leaf: Leaf<R::Address>,
        demand: Demand,
    ) -> Result<Option<Leaf<R::Address>>, Failure<R::Fault>> {
        self.ad.finish(reader, leaf, demand)
    }
}

/// The result of a function that is rarely called, so that where it is not called the result stays in registers.
#[inline(always)]
#[allow(clippy::needless_question_mark, reason = "taken to pieces and put together again")]
pub(crate) fn apart<T, E>(result: Result<T, E>) -> Result<T, E> {
    Ok(result?)
}

impl AdPolicy {
    /// As [`Tree::finish`]: a leaf is checked in the same way wherever it was found.
    #[inline(always)]
    pub(crate) fn finish<R: PteReader>(
        self,
        reader: &mut R,
        leaf: Leaf<R::Address>,
        demand: Demand,
    ) -> Result<Option<Leaf<R::Address>>, Failure<R::Fault>> {
        if demand.is_settled(leaf.pte) {
            return Ok(Some(leaf));
        }
        let Leaf { at, pte, size, global } = leaf;
        apart(self.finish_unsettled(reader, at, pte, size, global, demand))
    }

    /// The same where a bit is to be set, or the access refused.
    #[cold]
    #[inline(never)]
    fn finish_unsettled<R: PteReader>(
        self,
        reader: &mut R,
        at: R::Address,
        pte: Pte,
        size: PageSize,
        global: bool,
        demand: Demand,
    ) -> Result<Option<Leaf<R::Address>>, Failure<R::Fault>> {
        let leaf = Leaf { at, pte, size, global };
        leaf.pte.allow(demand).map_err(Failure::Refused)?;
        let touched = leaf.pte.touched(demand.access);
        if touched == leaf.pte {
            return Ok(Some(leaf));
        }
        match self {
            Self::Fault => Err(Failure::Refused(leaf.pte.untouched())),
            Self::Update => {
                let exchanged = reader.exchange(leaf.at, leaf.pte, touched).map_err(Failure::Reader)?;
                Ok(exchanged.then_some(Leaf { pte: touched, ..leaf }))
            }
        }
    }
}
