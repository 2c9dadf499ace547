//! One page-table entry, bit by bit (RISC-V Privileged 1.13, sections 12.3.2, 12.4.1 and 12.5).

use types::{Access, PageSize};

/// Why tables refuse an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are those of the conditions below")]
pub enum Cause {
    NotCanonical,
    TooWide,
    OutOfBounds,
    Invalid,
    WriteWithoutRead,
    Reserved,
    NoLeaf,
    Misaligned,
    UserPage,
    SupervisorPage,
    NotReadable,
    NotWritable,
    NotExecutable,
    NotAccessed,
    NotDirty,
}

/// What an entry makes the walk do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Read the table at this address.
    Descend(u64),
    /// Stop at this page.
    Stop(Leaf),
}

/// A leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Leaf {
    /// Where its page starts.
    pub(crate) page: u64,
    /// The page's size.
    pub(crate) size: PageSize,
    /// The entry itself.
    pub(crate) pte: u64,
}

/// What an access asks of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Demand {
    /// The access.
    pub(crate) access: Access,
    /// Made from U.
    pub(crate) user: bool,
    /// SUM.
    pub(crate) sum: bool,
    /// MXR.
    pub(crate) mxr: bool,
}

fn bit(pte: u64, number: u32) -> bool {
    (pte >> number) & 1 == 1
}

fn field(pte: u64, high: u32, low: u32) -> u64 {
    (pte >> low) % (1 << (high - low + 1))
}

/// V, R, W, X, U, G, A, D are bits 0 to 7.
pub(crate) fn global(pte: u64) -> bool {
    bit(pte, 5)
}

/// Steps 3, 4 and 5.
pub(crate) fn interpret(pte: u64, level: u32, groups: &[u64]) -> Result<Step, Cause> {
    let (v, r, w, x) = (bit(pte, 0), bit(pte, 1), bit(pte, 2), bit(pte, 3));
    let (u, a, d) = (bit(pte, 4), bit(pte, 6), bit(pte, 7));
    let n = bit(pte, 63);
    let ppn = field(pte, 53, 10);

    if !v {
        return Err(Cause::Invalid);
    }
    if w && !r {
        return Err(Cause::WriteWithoutRead);
    }
    let pbmt = field(pte, 62, 61);
    let reserved = field(pte, 60, 54);
    if pbmt != 0 || reserved != 0 {
        return Err(Cause::Reserved);
    }
    if n && groups.is_empty() {
        return Err(Cause::Reserved);
    }

    let pointer = !r && !x;
    if pointer {
        if n || u || a || d {
            return Err(Cause::Reserved);
        }
        if level == 0 {
            return Err(Cause::NoLeaf);
        }
        return Ok(Step::Descend(ppn * 4096));
    }

    if n {
        let group = groups.iter().find(|&&pages| level == 0 && ppn % pages == pages / 2);
        let Some(&pages) = group else { return Err(Cause::Reserved) };
        let size = PageSize::ALL.into_iter().find(|size| size.bytes() == pages * 4096).expect("a size with a name");
        return Ok(Step::Stop(Leaf { page: (ppn - pages / 2) * 4096, size, pte }));
    }
    let pages = 512u64.pow(level);
    if !ppn.is_multiple_of(pages) {
        return Err(Cause::Misaligned);
    }
    let size = [PageSize::Size4K, PageSize::Size2M, PageSize::Size1G, PageSize::Size512G, PageSize::Size256T];
    Ok(Step::Stop(Leaf { page: ppn * 4096, size: size[level as usize], pte }))
}

/// Steps 6 and 8.
pub(crate) fn permit(pte: u64, demand: Demand) -> Result<(), Cause> {
    let (r, w, x, u) = (bit(pte, 1), bit(pte, 2), bit(pte, 3), bit(pte, 4));
    if demand.user && !u {
        return Err(Cause::SupervisorPage);
    }
    if !demand.user && u {
        let sum_helps = demand.sum && demand.access != Access::Execute;
        if !sum_helps {
            return Err(Cause::UserPage);
        }
    }
    match demand.access {
        Access::Read => {
            if r || (demand.mxr && x) {
                Ok(())
            } else {
                Err(Cause::NotReadable)
            }
        }
        Access::Write => {
            if w {
                Ok(())
            } else {
                Err(Cause::NotWritable)
            }
        }
        Access::Execute => {
            if x {
                Ok(())
            } else {
                Err(Cause::NotExecutable)
            }
        }
    }
}

/// What step 9 finds missing.
pub(crate) fn missing(pte: u64, access: Access) -> Option<Cause> {
    if !bit(pte, 6) {
        Some(Cause::NotAccessed)
    } else if access == Access::Write && !bit(pte, 7) {
        Some(Cause::NotDirty)
    } else {
        None
    }
}

/// The leaf after step 9.
pub(crate) fn marked(pte: u64, access: Access) -> u64 {
    let accessed = pte | 1 << 6;
    if access == Access::Write { accessed | 1 << 7 } else { accessed }
}
