//! The jump cache: where jumps led last time.

use crate::{host_page::HostPage, microop::MicroOp};

/// Entries, a power of two.
const JUMPS: usize = 1 << 14;

/// An entry of the jump cache: where `target` led last time. Checked against the fetch TLB at each use.
/// An entry has a power of two of bytes, so that a shift finds it.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(crate) struct Jump {
    pub(crate) target: u64,
    pub(crate) page: HostPage,
    pub(crate) op: *mut MicroOp,
}

const NO_JUMP: Jump = Jump { target: 1, page: HostPage::of_number(0), op: std::ptr::null_mut() };

/// The cache: one entry for each of the addresses that share it.
pub(crate) struct Jumps(Box<[Jump; JUMPS]>);

impl Jumps {
    pub(super) fn new() -> Self {
        Self(Box::new([NO_JUMP; JUMPS]))
    }

    /// The entry of `target`, which may be another's.
    #[inline(always)]
    pub(crate) fn get(&self, target: u64) -> Jump {
        self.0[Self::index(target)]
    }

    pub(super) fn remember(&mut self, jump: Jump) {
        self.0[Self::index(jump.target)] = jump;
    }

    /// Replaces where entries lead.
    pub(super) fn lead_to(&mut self, other: impl Fn(*mut MicroOp) -> *mut MicroOp) {
        for jump in self.0.iter_mut().filter(|jump| !jump.op.is_null()) {
            jump.op = other(jump.op);
        }
    }

    /// Where the entries lie, for compiled code.
    pub(super) fn address(&self) -> usize {
        self.0.as_ptr() as usize
    }

    pub(super) fn clear(&mut self) {
        self.0.fill(NO_JUMP);
    }

    /// The index of `target`: half of it, with itself shifted by [`FOLD`](Self::FOLD) by exclusive or, and these bits.
    pub(crate) const MASK: u64 = JUMPS as u64 - 1;
    pub(crate) const FOLD: u32 = 13;

    #[inline(always)]
    const fn index(target: u64) -> usize {
        ((target >> 1 ^ target >> Self::FOLD) & Self::MASK) as usize
    }
}
