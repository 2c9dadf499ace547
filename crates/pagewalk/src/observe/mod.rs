//! What is recorded of a run over time (docs/over-time.md).

mod difference;
mod identity;
mod lines;
mod outputs;
mod pages;
mod perfetto;
mod recorded;

pub(crate) use identity::RunIdentity;
pub(crate) use outputs::{Documents, ObserveOutputs, is_perfetto};
pub(crate) use recorded::{Recorded, Recordings};
