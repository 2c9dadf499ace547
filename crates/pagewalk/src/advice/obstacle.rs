//! Obstacles: why a system cannot be used, or not yet.

use schemes::{PagedScheme, Service, ServiceName};
use std::fmt;
use types::PageSize;

/// Something that has to be, or to be given up, for a system.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Obstacle {
    /// The hypervisor needs more than nested tables.
    HypervisorChanges(&'static str),
    /// The hypervisor's pages are large.
    HostFragmentation(PageSize),
    /// The guest's pages are large.
    GuestFragmentation(PageSize),
    /// The guest's kernel or programs have to change.
    GuestChanges(&'static str),
    /// The hypervisor cannot take memory back.
    Overcommit(Vec<&'static str>),
    /// The guest cannot page it out.
    GuestSwapping,
}

impl Obstacle {
    /// All obstacles to `scheme`.
    pub(crate) fn of(scheme: &PagedScheme) -> Vec<Self> {
        let facts = scheme.facts();
        let mut obstacles = Vec::new();
        if let Some(changes) = facts.hypervisor_changes.strip_prefix("required: ") {
            obstacles.push(Self::HypervisorChanges(changes));
        }
        if let Some(page) = scheme.host_page().filter(|&page| page != PageSize::Size4K) {
            obstacles.push(Self::HostFragmentation(page));
        }
        if scheme.guest_page() != PageSize::Size4K {
            obstacles.push(Self::GuestFragmentation(scheme.guest_page()));
        }
        if let Some(changes) = facts.guest_changes.strip_prefix("required: ") {
            obstacles.push(Self::GuestChanges(changes));
        }
        let limited = [
            (ServiceName::PageSharing, "page sharing"),
            (ServiceName::Ballooning, "ballooning"),
            (ServiceName::HypervisorSwapping, "swapping by the hypervisor"),
        ];
        let limited =
            limited.into_iter().filter(|(service, _)| matches!(facts.services.of(*service), Service::Limited(_)));
        let lost: Vec<&str> = limited.map(|(_, name)| name).collect();
        if !lost.is_empty() {
            obstacles.push(Self::Overcommit(lost));
        }
        if matches!(facts.services.of(ServiceName::GuestSwapping), Service::Limited(_)) {
            obstacles.push(Self::GuestSwapping);
        }
        obstacles
    }

    /// Whether it is the guest's to deal with.
    pub(crate) const fn is_guests(&self) -> bool {
        matches!(self, Self::GuestChanges(_) | Self::GuestFragmentation(_))
    }

    /// Whether it keeps the hypervisor from taking memory back.
    pub(crate) const fn is_overcommit(&self) -> bool {
        matches!(self, Self::Overcommit(_))
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HypervisorChanges(changes) => write!(f, "the hypervisor needs {changes}"),
            Self::HostFragmentation(page) => {
                write!(f, "the host needs free memory in pieces of {page}, and gives and takes it in such pieces")
            }
            Self::GuestFragmentation(page) => write!(f, "the guest needs free memory in pieces of {page}"),
            Self::GuestChanges(changes) => write!(f, "the guest needs {changes}"),
            Self::Overcommit(lost) => write!(f, "no overcommitment: {} end at the segment", lost.join(", ")),
            Self::GuestSwapping => f.write_str("the guest cannot page its primary region out"),
        }
    }
}
