//! Scheduling of vCPUs on pCPUs, and spin control: Umeno, Amano and Saijo, "Development of Methods for Reducing the Spins
//! of Guest Multiprocessors" (1995). Sections are that paper's.
//!
//! A function of its inputs, without a clock: the caller says what time it is, and how much each vCPU has consumed.
//!
//! * [`Scheduler`]: VMs, their vCPUs, the pCPUs and who has which. After each call no pCPU is idle
//!   that a ready vCPU could use.
//! * [`ready_queue`]: the queue with its three subqueues. [`service`]: the service ratios.
//! * [`spin`]: the answers to a spin call, one file each. [`PauseLoop`]: spins without a call of the guest.
//! * [`Handshake`]: how a guest learns how its processors are allocated.
//! * [`VmStatistics`], [`Merit`]: what the paper measures.

mod account;
mod allocation;
mod blocks;
mod gathering;
mod handshake;
mod pause_loop;
pub mod ready_queue;
mod scheduler;
pub mod service;
mod set;
pub mod spin;
mod statistics;

pub use allocation::AllocationError;
pub use blocks::{Allocation, Change, Parameters, State, VmParameters, Why, Work};
pub use handshake::{AllocationForm, Handshake, Notice};
pub use pause_loop::{PauseLoop, PauseLoopLimits};
pub use scheduler::Scheduler;
pub use set::{MOST_VCPUS, VcpuSet};
pub use statistics::{Histogram, Merit, VmStatistics};

/// A vCPU: its number among those of all VMs, in order of VMs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VcpuId(pub usize);

/// A pCPU, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PcpuId(pub usize);

/// A VM, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VmId(pub usize);

#[cfg(test)]
mod tests;
