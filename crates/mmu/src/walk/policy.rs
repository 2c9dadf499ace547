//! The difference between the fast path and the general one.
//!
//! Both are instances of the same walker. What is common (plain entries of base pages, lookups that the first matching tag decides) is written
//! once. What is not goes through [`Policy::uncommon`]: the general path handles it there, and the fast path stops before it, with the walk as
//! it was before the step. So the fast path decides nothing, and what is simulated does not depend on which of the two made a step.

use super::journal::{Deferred, Direct, Journal};
use crate::fault::Fault;

/// What a walk does in uncommon cases, and when it records what it has used.
pub(crate) trait Policy {
    /// Why a walk stops before its end.
    type Stop: From<Fault> + Copy;

    /// How a stage records what one translation has used.
    type Journal: Journal;

    /// Handles what is not common, or stops.
    fn uncommon<R>(handle: impl FnOnce() -> Result<R, Self::Stop>) -> Result<R, Self::Stop>;

    /// When what a step has used is recorded.
    const RECORDING: Recording;

    /// Whether what led to this outcome is recorded.
    #[inline(always)]
    fn records<R, E>(outcome: &Result<R, E>) -> bool {
        match Self::RECORDING {
            Recording::InAnyCase => true,
            Recording::OnSuccess => outcome.is_ok(),
        }
    }
}

/// When what a step has used is recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Recording {
    /// Where the step ends in a fault, too: walk caches keep the entries that were read before.
    InAnyCase,
    /// When all of the step is known to be common.
    OnSuccess,
}

/// Every walk, to its end or to its fault.
pub(crate) enum General {}

impl Policy for General {
    type Stop = Fault;
    type Journal = Direct;

    const RECORDING: Recording = Recording::InAnyCase;

    #[inline(always)]
    fn uncommon<R>(handle: impl FnOnce() -> Result<R, Fault>) -> Result<R, Fault> {
        handle()
    }
}

/// The common case alone, in one straight line: a step is recorded when all of it is known to be common.
pub(crate) enum FastPath {}

/// The fast path stops: the general path goes on from the same step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uncommon;

impl From<Fault> for Uncommon {
    #[inline(always)]
    fn from(_: Fault) -> Self {
        Self
    }
}

impl Policy for FastPath {
    type Stop = Uncommon;
    type Journal = Deferred;

    const RECORDING: Recording = Recording::OnSuccess;

    #[inline(always)]
    fn uncommon<R>(_: impl FnOnce() -> Result<R, Uncommon>) -> Result<R, Uncommon> {
        Err(Uncommon)
    }
}
