//! The record of a program in memory: its state before the run, overwritten with that after it.

use crate::program::{SCRATCH, State};

/// Where `fcsr` is; in the place of `x0`.
pub(crate) const FCSR_AT: usize = 0;
/// Where `x0` would be.
pub(crate) const X_AT: usize = 0;
/// Where `f0` is.
pub(crate) const F_AT: usize = 256;
/// Where the scratch memory is.
pub(crate) const SCRATCH_AT: usize = 512;
/// Bytes of a record.
pub(crate) const SIZE: usize = SCRATCH_AT + SCRATCH;

/// The record of `state`.
pub(crate) fn to_bytes(state: &State) -> Vec<u8> {
    let words = std::iter::once(state.fcsr).chain(state.x[1..].iter().copied()).chain(state.f).chain(state.scratch);
    words.flat_map(u64::to_le_bytes).collect()
}

/// The state in a record.
///
/// # Panics
/// If `bytes` is not of a record's size.
pub(crate) fn from_bytes(bytes: &[u8]) -> State {
    assert_eq!(bytes.len(), SIZE);
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
    State {
        fcsr: word(FCSR_AT),
        x: std::array::from_fn(|number| if number == 0 { 0 } else { word(X_AT + 8 * number) }),
        f: std::array::from_fn(|number| word(F_AT + 8 * number)),
        scratch: std::array::from_fn(|index| word(SCRATCH_AT + 8 * index)),
    }
}
