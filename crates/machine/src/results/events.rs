//! What happened when: the events of a run that is traced.

use hypervisor::sched::spin::SpinReason;
use hypervisor::shadow::{Activity, Way};
use hypervisor::{ExitReason, PagingCounts};
use types::Cycles;

/// Something that happened to a vCPU, or on its pCPU, while it was traced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// When it began, by the clock of the pCPU.
    pub at: Cycles,
    /// How long it took; zero of what has no duration.
    pub took: Cycles,
    /// Where.
    pub place: EventPlace,
    /// What it was.
    pub what: EventKind,
    /// Whether it is part of the run's measured statistics.
    pub measured: bool,
}

/// Where something happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EventPlace {
    /// The pCPU; `None` where the vCPU had none.
    pub pcpu: Option<u32>,
    /// The guest.
    pub guest: u32,
    /// The vCPU's number in the guest.
    pub hart: u32,
}

/// What happened. The durations of all but waits are what [`Time::hypervisor`](crate::Time) counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// An exit to the hypervisor, its work, and the entry after it.
    Exit(ExitReason),
    /// The same on a native machine, which has no exits: work of the firmware.
    Firmware(ExitReason),
    /// Work on shadow tables, after an exit or without one.
    Shadow(ShadowEvent),
    /// Pages of the guest were taken away, brought back or given up.
    Paging(PagingCounts),
    /// The hypervisor decided which vCPU runs.
    Scheduling,
    /// Work on sections.
    Sections,
    /// Work on the registers of a direct segment.
    Segments,
    /// The vCPU waited for an interrupt, and its pCPU with it.
    Idle,
    /// An interrupt became pending.
    Interrupt(EventInterrupt),
    /// The guest spun, as it reported by a call, or as the hypervisor detected.
    Spin(SpinReason),
}

/// Work on shadow tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShadowEvent {
    /// Why control came to the hypervisor.
    pub reason: ExitReason,
    /// How it came there.
    pub way: ShadowWay,
    /// What the work was.
    pub activity: ShadowActivity,
}

/// How control came to the code that works on shadow tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShadowWay {
    /// By an exit.
    Exit,
    /// An assist did the work, without an exit.
    Assist,
    /// It was in the hypervisor already.
    Within,
}

/// What work on shadow tables was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShadowActivity {
    /// Entries are made.
    Fill,
    /// Pages are invalidated by address.
    InvalidatePages,
    /// Another address space is entered.
    Switch,
    /// Tables are invalidated.
    InvalidateTables,
    /// Faults that are the guest's own, and the like.
    Other,
}

/// An interrupt of a hart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventInterrupt {
    /// Of its timer.
    Timer,
    /// From another hart.
    Software,
    /// From a device.
    External,
}

impl ShadowEvent {
    pub(crate) const fn new(reason: ExitReason, way: Way, activity: Activity) -> Self {
        let way = match way {
            Way::Exit => ShadowWay::Exit,
            Way::Assist => ShadowWay::Assist,
            Way::Within => ShadowWay::Within,
        };
        let activity = match activity {
            Activity::Validation => ShadowActivity::Fill,
            Activity::Pptlb => ShadowActivity::InvalidatePages,
            Activity::LoadControl => ShadowActivity::Switch,
            Activity::PurgeTlb => ShadowActivity::InvalidateTables,
            Activity::Other => ShadowActivity::Other,
        };
        Self { reason, way, activity }
    }
}

impl ShadowActivity {
    /// The name in a trace.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fill => "shadow fill",
            Self::InvalidatePages => "shadow invalidation of pages",
            Self::Switch => "shadow switch",
            Self::InvalidateTables => "shadow invalidation of tables",
            Self::Other => "shadow work",
        }
    }
}

impl EventInterrupt {
    /// The name in a trace.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Timer => "timer interrupt",
            Self::Software => "software interrupt",
            Self::External => "external interrupt",
        }
    }
}

/// A guest's region of interest, from its beginning to its end, where it is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeasuredRegion {
    /// When it began.
    pub from: Cycles,
    /// When it ended.
    pub to: Cycles,
}

/// The events of one guest, and its measured regions.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// In the order in which they were recorded: that of the turns of the pCPUs.
    pub events: Vec<Event>,
    /// The measured regions that have ended.
    pub regions: Vec<MeasuredRegion>,
    /// Events for which there was no room.
    pub lost: u64,
}
