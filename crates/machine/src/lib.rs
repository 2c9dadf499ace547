//! Real processors, their clock and run loop, configuration and guest loading.

mod bus;
pub mod clock;
pub mod config;
mod firmware;
pub mod host_model;
mod machine;
mod outcome;
mod schedule;
pub mod scheme;
mod statistics;
mod tables;
pub mod units;
mod world;
pub mod trial;

pub use machine::{Console, Machine, Pace};
pub use outcome::Outcome;
pub use statistics::{Statistics, Time};
