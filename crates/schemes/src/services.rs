//! What a hypervisor and a guest can do with memory under a scheme: rows of the tables of Gandhi et al. 2014 (slides 22 and 44), for every scheme.
//! The program goes by them: what a row refuses is refused with that row's reason ([`Services::refusal`]).

/// Whether something can be done with memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Service {
    /// With all memory.
    Yes,
    /// Only with memory that is not fixed, for this reason.
    Limited(&'static str),
    /// No component does it.
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
    /// The hypervisor pages guests out.
    HypervisorSwapping,
}

/// Every service of a scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Services {
    /// Whether pages of several guests can be in one frame.
    pub page_sharing: Service,
    /// Whether the guest can give pages back to the host.
    pub ballooning: Service,
    /// Whether the guest can page its processes out.
    pub guest_swapping: Service,
    /// Whether the hypervisor can page guests out.
    pub hypervisor_swapping: Service,
}

impl Services {
    /// What paging gives: all of them.
    pub const ALL: Self = Self {
        page_sharing: Service::Yes,
        ballooning: Service::Yes,
        guest_swapping: Service::Yes,
        hypervisor_swapping: Service::Yes,
    };

    /// Without a hypervisor.
    pub const NATIVE: Self = {
        let absent = Service::Absent("there is no hypervisor");
        Self { page_sharing: absent, ballooning: absent, guest_swapping: Service::Yes, hypervisor_swapping: absent }
    };

    /// Where the hypervisor cannot take pages away one by one, for this reason.
    #[must_use]
    pub const fn of_fixed_memory(reason: &'static str) -> Self {
        let limited = Service::Limited(reason);
        Self { page_sharing: limited, ballooning: limited, guest_swapping: Service::Yes, hypervisor_swapping: limited }
    }

    /// These services where the guest has a primary region.
    #[must_use]
    pub const fn with_primary_region(self) -> Self {
        Self { guest_swapping: Service::Limited("a primary region is in memory as a whole"), ..self }
    }

    /// One of them.
    #[must_use]
    pub const fn of(&self, service: ServiceName) -> Service {
        match service {
            ServiceName::PageSharing => self.page_sharing,
            ServiceName::Ballooning => self.ballooning,
            ServiceName::GuestSwapping => self.guest_swapping,
            ServiceName::HypervisorSwapping => self.hypervisor_swapping,
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
