//! pCPUs, their clock and run loop, guest loading and snapshots. The crate `config` has what users choose of a machine.

mod assembly;
mod bus;
mod caches;
mod code;
mod console;
mod cores;
pub mod debug;
pub mod file_kind;
pub mod loader;
mod machine;
mod pace;
mod pages;
mod parts;
mod profile;
mod results;
mod schedule;
pub mod sections;
mod set_aside;
pub mod snapshot;
mod state;

pub use assembly::build_error::BuildError;
pub use assembly::card_address;
pub use assembly::host_change::{HostChange, PlannedChange, RefusedChange};
pub use assembly::host_plan::{GuestPlan, HostPlan};
pub use assembly::image::{Image, Share, VirtioKind};
pub use assembly::independence::Dependence;
pub use assembly::memory_needs::{LEAST_LINUX_MEMORY, LEAST_MEMORY, guest_host_bytes};
pub use bus::{ReplayError, Source};
pub use caches::{CacheStatistics, Found};
pub use console::Console;
pub use cores::CoreStatistics;
pub use devices::{BlockConfig, ImageMode, TAG_BYTES};
pub use files::{Access as ShareAccess, Root as ShareRoot};
pub use hart::{CODE_BYTES, CodeMemoryError, DataAccess, DataUse, Retired, reserve_code};
pub use hypervisor::FaultyFrame;
pub use hypervisor::sched;
pub use introspection::{Contents, KernelArea, LINKED_AT, Mapping};
pub use loader::LoadError;
pub use machine::{BalloonError, Controller, Machine, RecordError, Recorded};
pub use memory::registry;
pub use memory::{FrameError, HOST_BASE, Inconsistency};
pub use mmu::{Answer, MissClass, Reference, Segment, WalkRecord, WalkStep};
pub use pace::{Pace, Together};
pub use pages::{DistanceBucket, DistanceHistogram, HartReuse, Heatmap, HeatmapCell, Reuse, SpacePage};
pub use parts::instruction_sink::{GuestPage, GuestTables, InstructionSink};
pub use parts::network::Network;
pub use parts::page_watch::{HeatmapOf, PageRequest};
pub use profile::{
    Caller, Counter, Counters, NamedRange, Profile, ProfileDetail, Rates, Row, Site, Space, SpaceMapping, SpaceProcess,
    Touched,
};
pub use results::events::{
    Event, EventInterrupt, EventKind, EventPlace, MeasuredRegion, ShadowActivity, ShadowEvent, ShadowWay, Trace,
};
pub use results::figures::Figures;
pub use results::footprint::FootprintStatistics;
pub use results::gauge::{Gauge, Phase};
pub use results::intervals::{HartReading, Interval, IntervalLength, Intervals, Reading};
pub use results::outcome::{Outcome, Unmeasured};
pub use results::statistics::{Statistics, Time};
pub use results::trace::Stay;
pub use results::walks::{Choice, ChosenWalk, RecordedWalk, RecordedWalks};
pub use set_aside::FastForward;
