//! What a scheme gives and takes: the tables of Gandhi et al. 2014 (slides 22 and 44), for every mechanism. They are facts that the
//! program goes by: what a service's row says is refused is refused with that row's reason ([`Tradeoffs::refusal`]).

use crate::scheme::Mechanism;

/// Whether something that a monitor or a guest does with memory can be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    /// For all memory.
    Yes,
    /// Only outside of what is fixed, for this reason.
    Limited(&'static str),
    /// There is nobody who would do it.
    Absent(&'static str),
}

/// What can be done with memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServiceName {
    /// Pages of several guests in one frame.
    PageSharing,
    /// The guest gives pages back to the host.
    Ballooning,
    /// The guest pages its processes out.
    GuestSwapping,
    /// The monitor pages guests out.
    MonitorSwapping,
}

/// How many entries of tables a walk reads at most, where the guest's table has g levels and the monitor's h.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum References {
    /// g.
    Guest,
    /// h: the guest's segment has taken the place of its tables.
    Host,
    /// (g + 1) (h + 1) − 1.
    Both,
    /// 2 g + 1.
    Flat,
    /// None: both segments.
    None,
}

impl References {
    /// The number.
    #[must_use]
    pub const fn count(self, guest: u32, host: u32) -> u32 {
        match self {
            Self::Guest => guest,
            Self::Host => host,
            Self::Both => (guest + 1) * (host + 1) - 1,
            Self::Flat => 2 * guest + 1,
            Self::None => 0,
        }
    }
}

/// One mechanism's row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tradeoffs {
    /// Dimensions of a walk.
    pub dimensions: u32,
    /// Entries that the longest walk reads; of those with a guest's segment, inside it.
    pub references: References,
    /// What has to change in the guest's kernel.
    pub guest_changes: &'static str,
    /// What has to change in the monitor.
    pub monitor_changes: &'static str,
    /// What it is for.
    pub applications: &'static str,
    /// See [`ServiceName`].
    pub page_sharing: Service,
    /// See [`ServiceName`].
    pub ballooning: Service,
    /// See [`ServiceName`].
    pub guest_swapping: Service,
    /// See [`ServiceName`].
    pub monitor_swapping: Service,
}

const SEGMENT: &str =
    "memory in the monitor's segment lies where the segment leads, and cannot be taken away page by page";
const REGION: &str = "a primary region is in memory as a whole";
const RESERVED: &str = "reserved memory lies where the constant leads, and cannot be taken away page by page";
const NOBODY: &str = "there is no monitor";

/// What unmodified paging gives.
const PAGED: Tradeoffs = Tradeoffs {
    dimensions: 2,
    references: References::Both,
    guest_changes: "none",
    monitor_changes: "none",
    applications: "any",
    page_sharing: Service::Yes,
    ballooning: Service::Yes,
    guest_swapping: Service::Yes,
    monitor_swapping: Service::Yes,
};

const NATIVE: Tradeoffs = Tradeoffs {
    dimensions: 1,
    references: References::Guest,
    page_sharing: Service::Absent(NOBODY),
    ballooning: Service::Absent(NOBODY),
    monitor_swapping: Service::Absent(NOBODY),
    ..PAGED
};

impl Mechanism {
    /// What it gives and takes.
    #[must_use]
    pub const fn tradeoffs(self) -> Tradeoffs {
        match self {
            Self::Native => NATIVE,
            Self::Nested => PAGED,
            Self::Shadow => Tradeoffs {
                dimensions: 1,
                references: References::Guest,
                monitor_changes: "required: shadow tables",
                ..PAGED
            },
            Self::Agile => Tradeoffs {
                monitor_changes: "required: shadow tables, and a mode for each page of the guest's",
                ..PAGED
            },
            Self::Flat => Tradeoffs {
                references: References::Flat,
                monitor_changes: "required: a flat table in one piece; a refill routine in the hardware mode",
                ..PAGED
            },
            Self::FlatHw => Tradeoffs {
                references: References::Flat,
                monitor_changes: "required: a flat table in one piece",
                ..PAGED
            },
            Self::Reserved => Tradeoffs {
                dimensions: 1,
                references: References::Guest,
                monitor_changes: "required: contiguous memory",
                page_sharing: Service::Limited(RESERVED),
                ballooning: Service::Limited(RESERVED),
                monitor_swapping: Service::Limited(RESERVED),
                ..PAGED
            },
            Self::NativeSegment => Tradeoffs {
                dimensions: 0,
                references: References::None,
                guest_changes: "required: primary regions (a device and a library on Linux)",
                applications: "big-memory",
                guest_swapping: Service::Limited(REGION),
                ..NATIVE
            },
            Self::VmmDirect => Tradeoffs {
                dimensions: 1,
                references: References::Guest,
                monitor_changes: "required: contiguous memory, segment registers",
                page_sharing: Service::Limited(SEGMENT),
                ballooning: Service::Limited(SEGMENT),
                monitor_swapping: Service::Limited(SEGMENT),
                ..PAGED
            },
            Self::GuestDirect => Tradeoffs {
                dimensions: 1,
                references: References::Host,
                guest_changes: "required: primary regions (a device and a library on Linux)",
                monitor_changes: "minimal: the guest's registers are saved and restored",
                applications: "big-memory",
                guest_swapping: Service::Limited(REGION),
                ..PAGED
            },
            Self::DualDirect => Tradeoffs {
                dimensions: 0,
                references: References::None,
                guest_changes: "required: primary regions (a device and a library on Linux)",
                monitor_changes: "required: contiguous memory, segment registers",
                applications: "big-memory",
                page_sharing: Service::Limited(SEGMENT),
                ballooning: Service::Limited(SEGMENT),
                guest_swapping: Service::Limited(REGION),
                monitor_swapping: Service::Limited(SEGMENT),
            },
        }
    }
}

impl Tradeoffs {
    /// A service's cell.
    #[must_use]
    pub const fn of(&self, service: ServiceName) -> Service {
        match service {
            ServiceName::PageSharing => self.page_sharing,
            ServiceName::Ballooning => self.ballooning,
            ServiceName::GuestSwapping => self.guest_swapping,
            ServiceName::MonitorSwapping => self.monitor_swapping,
        }
    }

    /// Why a service is refused for memory that is fixed, if it is.
    #[must_use]
    pub const fn refusal(&self, service: ServiceName) -> Option<&'static str> {
        match self.of(service) {
            Service::Limited(reason) => Some(reason),
            Service::Yes | Service::Absent(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slides 22 and 44, as they are.
    #[test]
    fn the_papers_tables_are_the_programs() {
        let row = |mechanism: Mechanism| {
            let tradeoffs = mechanism.tradeoffs();
            let limited = |service| tradeoffs.refusal(service).is_some();
            use ServiceName::{Ballooning, GuestSwapping, MonitorSwapping, PageSharing};
            let services = [PageSharing, Ballooning, GuestSwapping, MonitorSwapping].map(limited);
            (tradeoffs.dimensions, tradeoffs.references.count(4, 4), services)
        };
        assert_eq!(row(Mechanism::Nested), (2, 24, [false; 4]));
        assert_eq!(row(Mechanism::VmmDirect), (1, 4, [true, true, false, true]));
        assert_eq!(row(Mechanism::DualDirect), (0, 0, [true; 4]));
        assert_eq!(row(Mechanism::GuestDirect), (1, 4, [false, false, true, false]));
        assert_eq!(row(Mechanism::Native).1, 4);
        assert_eq!(row(Mechanism::Flat).1, 9);
    }

    #[test]
    fn what_a_segment_changes_is_where_it_is() {
        for mechanism in Mechanism::ALL {
            let tradeoffs = mechanism.tradeoffs();
            assert_eq!(tradeoffs.refusal(ServiceName::GuestSwapping).is_some(), mechanism.has_guest_segment());
            let fixed = mechanism.has_monitor_segment() || mechanism == Mechanism::Reserved;
            assert_eq!(tradeoffs.refusal(ServiceName::MonitorSwapping).is_some(), fixed, "{mechanism:?}");
        }
    }
}
