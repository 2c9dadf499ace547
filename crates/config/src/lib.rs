//! What users choose, as data: configuration keys, models of hosts, systems (a scheme with its settings) and sweeps over them. It builds no
//! machine, and runs nothing.
#![forbid(unsafe_code)]

pub mod clock;
mod config;
pub mod host_model;
pub mod refill;
mod sections;
pub mod system;
pub mod toml_problem;
pub mod units;
pub mod warmup;

pub use config::{
    AdName, AttributeName, BalloonKeys, Config, ConfigBuilder, ConfigError, DiskKeys, EngineName, FastForwardName,
    FaultyKeys, FidelityName, FilterBits, FilterKeys, FootprintName, GuestKeys, GuestPaging, GuestTimeName, HostPaging,
    HostSettings, HugePages, IsaKeys, MmuKeys, OpenKeys, PagingKeys, PlicContextsName, PlicKeys, ReplacementKeys,
    SbiKeys, SegmentKeys, SwapKeys, Switch, reference, table,
};
