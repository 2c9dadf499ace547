//! The jump cache: where jumps led last time.

use crate::{host_page::HostPage, microop::MicroOp};

/// Entries, a power of two.
const JUMPS: usize = 1 << 12;

/// An entry of the jump cache: where `target` led last time. Checked against the fetch TLB at each use.
#[derive(Clone, Copy)]
pub(crate) struct Jump {
    pub(crate) target: u64,
    pub(crate) page: HostPage,
    pub(crate) op: *mut MicroOp,
    pub(crate) predicted: u16,
}

const NO_JUMP: Jump = Jump { target: 1, page: HostPage::of_number(0), op: std::ptr::null_mut(), predicted: 0 };

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

    pub(super) fn clear(&mut self) {
        self.0.fill(NO_JUMP);
    }

    #[inline(always)]
    const fn index(target: u64) -> usize {
        ((target >> 1) ^ (target >> 13)) as usize & (JUMPS - 1)
    }
}
