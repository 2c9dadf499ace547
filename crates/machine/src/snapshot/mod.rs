//! Snapshots: a guest at one instant, in a file, from which it goes on under any scheme.
//!
//! What is kept is what the guest's programs could tell: its physical memory, the registers of its harts and devices, what it has agreed with the
//! firmware, and its time. Nothing of TLBs, of the hypervisor's tables or of translated code is kept: those are another machine's, and start cold. That is why
//! the scheme may be another one. See docs/snapshots.md.
//!
//! * [`state`]: the values; [`shape`]: what a machine has to be like to take them;
//! * [`translations`]: what the TLBs held; [`warm`]: how a machine of any scheme gets as warm as that;
//! * [`request`]: when it is taken; [`capture`]: from a machine; [`restore`]: into one;
//! * [`file`](mod@file): how they are written, read and checked.

mod capture;
mod file;
pub(crate) mod request;
mod restore;
mod shape;
pub(crate) mod state;
mod translations;
mod warm;

pub use file::{Snapshot, SnapshotError, SnapshotProblem};
pub use request::{CaptureError, DiskContents, SnapshotAt};
pub use shape::{About, Shape};
pub(crate) use state::State;
