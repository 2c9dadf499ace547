//! Real processors, their clock and run loop, configuration and guest loading.

mod assembly;
mod bus;
pub mod clock;
pub mod config;
mod dispatch;
mod firmware;
pub mod host_model;
mod host_plan;
pub mod loader;
mod machine;
mod outcome;
mod paging;
mod paravirtual;
pub mod refill;
mod region;
mod schedule;
pub mod scheme;
mod shadow;
mod statistics;
pub mod suggestion;
pub mod system;
mod trace;
pub mod units;
pub mod vlm;
pub mod warmup;
mod world;

pub use assembly::{BuildError, Image, LEAST_LINUX_MEMORY, LEAST_MEMORY, VirtioKind, guest_host_bytes};
pub use devices::{BlockConfig, ImageMode};
pub use host_plan::{AllocationChange, GuestPlan, HostPlan};
pub use loader::LoadError;
pub use machine::{Console, Machine, Pace};
pub use memory::registry;
pub use monitor::sched;
pub use outcome::Outcome;
pub use statistics::{Statistics, Time};
pub use trace::Stay;
