//! What the hypervisor touches when it works: lines of instructions and data, and pages, which displace those of guests (docs/footprint.md).
//!
//! A host model says how many lines and pages each [`FootprintEvent`] touches. A [`FootprintPlan`] gives them addresses: the hypervisor has a range
//! of host physical memory behind that of guests, with its instructions, then the data of each pCPU, then the data of each VM. An event touches
//! the same lines each time, so that they are warm if it comes again soon.

use crate::exits::ExitReason;
use crate::shadow::{Activity, Way, Work};
use keys::{key, model};
use std::iter;
use types::{Access, Hpa, PageSize};

model! {
    /// `[footprint]` of a host model.
    #[derive(Copy, Eq, Default)]
    pub struct FootprintModel {
        /// Each exit and its entry.
        pub exit: TouchModel,
        /// An SBI call, beside the exit.
        pub call: TouchModel,
        /// A vCPU waits, beside the exit.
        pub wait: TouchModel,
        /// A page is mapped on demand, beside the exit.
        pub nested_fault: TouchModel,
        /// A device's register is emulated, beside the exit.
        pub device: TouchModel,
        /// An interrupt is injected, beside the exit.
        pub interrupt: TouchModel,
        /// An entry of a shadow table is made, beside the exit.
        pub shadow_fill: TouchModel,
        /// Entries of shadow tables are removed, beside the exit.
        pub shadow_invalidation: TouchModel,
        /// Another shadow table is selected, beside the exit.
        pub shadow_switch: TouchModel,
        /// Another vCPU on a pCPU.
        pub dispatch: TouchModel,
    }
}

model! {
    /// What one event touches.
    #[derive(Copy, Eq, Default)]
    pub struct TouchModel {
        /// Instructions.
        pub code: ExtentModel,
        /// Data of the pCPU.
        pub pcpu: ExtentModel,
        /// Data of the VM.
        pub vm: ExtentModel,
    }
}

model! {
    /// Lines, and the pages that they lie in.
    #[derive(Copy, Eq, Default)]
    pub struct ExtentModel {
        pub lines: u32 => key(
            "lines of the L1 that the hypervisor touches in an event: of its instructions, of the data of the pCPU, of the data of the VM"
        ).number(0, 4096).unit("lines").virtual_only(),
        pub pages: u32 => key("pages of 4K that these lines lie in").number(0, 256).unit("pages").virtual_only(),
    }
}

impl FootprintModel {
    const fn of(&self, event: FootprintEvent) -> &TouchModel {
        match event {
            FootprintEvent::Exit => &self.exit,
            FootprintEvent::Call => &self.call,
            FootprintEvent::Wait => &self.wait,
            FootprintEvent::NestedFault => &self.nested_fault,
            FootprintEvent::Device => &self.device,
            FootprintEvent::Interrupt => &self.interrupt,
            FootprintEvent::ShadowFill => &self.shadow_fill,
            FootprintEvent::ShadowInvalidation => &self.shadow_invalidation,
            FootprintEvent::ShadowSwitch => &self.shadow_switch,
            FootprintEvent::Dispatch => &self.dispatch,
        }
    }

    /// What is wrong with it, where lines have at most so many bytes; `None` if it can be built.
    #[must_use]
    pub fn problem(&self, line: u32) -> Option<String> {
        let lines_of_page = BASE_PAGE / u64::from(line);
        let room = |extent: ExtentModel| u64::from(extent.pages) * lines_of_page;
        let full = FootprintEvent::ALL.into_iter().find_map(|event| {
            let touched = self.of(event);
            let areas = [("code", touched.code), ("pcpu", touched.pcpu), ("vm", touched.vm)];
            let full = areas.into_iter().find(|&(_, extent)| u64::from(extent.lines) > room(extent));
            full.map(|(area, extent)| (event.name(), area, extent))
        });
        full.map(|(event, area, ExtentModel { lines, pages })| {
            format!("footprint.{event}.{area}.lines: {lines} lines of {line} bytes do not fit in {pages} pages of 4K")
        })
    }
}

const BASE_PAGE: u64 = PageSize::Size4K.bytes();

macro_rules! events {
    ($($(#[$about:meta])* $event:ident = $name:literal,)*) => {
        /// An event in which the hypervisor touches memory.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum FootprintEvent {
            $($(#[$about])* $event,)*
        }

        impl FootprintEvent {
            /// All of them.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$event),*];

            /// As the host model names it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$event => $name,)*
                }
            }
        }
    };
}

events! {
    /// An exit and its entry.
    Exit = "exit",
    /// An SBI call.
    Call = "call",
    /// A vCPU waits.
    Wait = "wait",
    /// A page is mapped on demand.
    NestedFault = "nested_fault",
    /// A device's register is emulated.
    Device = "device",
    /// An interrupt is injected.
    Interrupt = "interrupt",
    /// An entry of a shadow table is made.
    ShadowFill = "shadow_fill",
    /// Entries of shadow tables are removed.
    ShadowInvalidation = "shadow_invalidation",
    /// Another shadow table is selected.
    ShadowSwitch = "shadow_switch",
    /// Another vCPU on a pCPU.
    Dispatch = "dispatch",
}

impl FootprintEvent {
    /// What an exit is for, where work on shadow tables is not told apart.
    #[must_use]
    pub const fn of_exit(reason: ExitReason) -> Self {
        match reason {
            ExitReason::SbiBase
            | ExitReason::SbiTime
            | ExitReason::SbiIpi
            | ExitReason::SbiRfence
            | ExitReason::SbiHsm
            | ExitReason::SbiReset
            | ExitReason::SbiConsole
            | ExitReason::SbiPmu
            | ExitReason::SbiSuspend
            | ExitReason::SbiFeatures
            | ExitReason::SbiStealTime
            | ExitReason::SbiParavirtual
            | ExitReason::SbiAbsent => Self::Call,
            ExitReason::Wfi | ExitReason::PauseLoop | ExitReason::ReservationWait => Self::Wait,
            ExitReason::NestedFault => Self::NestedFault,
            ExitReason::ShadowFault | ExitReason::TableWrite => Self::ShadowFill,
            ExitReason::Satp => Self::ShadowSwitch,
            ExitReason::Fence => Self::ShadowInvalidation,
            ExitReason::Mmio => Self::Device,
            ExitReason::ExternalInterrupt | ExitReason::Timer | ExitReason::SliceEnd => Self::Interrupt,
        }
    }

    /// The events of work on shadow tables. The microcode of an assist has no lines in caches.
    pub fn of_shadow(work: &Work) -> impl Iterator<Item = Self> + use<> {
        let exit = (work.way == Way::Exit).then_some(Self::Exit);
        let own = match (work.way, work.activity) {
            (Way::Assist, _) | (_, Activity::Other) => None,
            (_, Activity::Validation) => Some(Self::ShadowFill),
            (_, Activity::LoadControl) => Some(Self::ShadowSwitch),
            (_, Activity::Pptlb | Activity::PurgeTlb) => Some(Self::ShadowInvalidation),
        };
        let filled = iter::repeat_n(Self::NestedFault, work.filled as usize);
        exit.into_iter().chain(own).chain(filled)
    }
}

/// Where an event happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FootprintPlace {
    /// The pCPU.
    pub pcpu: usize,
    /// The VM.
    pub vm: usize,
}

/// Memory that an event touches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touched {
    /// How: [`Access::Execute`] for instructions, [`Access::Read`] for data.
    pub access: Access,
    first: Hpa,
    extent: ExtentModel,
    /// The lines before it in the same area.
    before: u64,
}

impl Touched {
    /// The first bytes of its pages.
    pub fn pages(&self) -> impl Iterator<Item = Hpa> + use<> {
        let first = self.first;
        (0..u64::from(self.extent.pages)).map(move |page| first.wrapping_add(page * BASE_PAGE))
    }

    /// The first bytes of its lines of `line` bytes.
    ///
    /// The lines are divided among the pages in order. Their places within pages follow each other, and those of the area's other events, so
    /// that they spread evenly over the sets of a cache.
    pub fn lines(&self, line: u32) -> impl Iterator<Item = Hpa> + use<> {
        let Self { first, extent: ExtentModel { lines, pages }, before, .. } = *self;
        let (lines, pages, line) = (u64::from(lines), u64::from(pages), u64::from(line));
        (0..lines).map(move |number| {
            let page = number * pages / lines;
            let place = (before + number) % (BASE_PAGE / line);
            first.wrapping_add(page * BASE_PAGE + place * line)
        })
    }
}

/// An area: the extents of all events, one behind the other.
#[derive(Clone, Debug)]
struct Area {
    /// By event: pages and lines before its own.
    before: [(u64, u64); FootprintEvent::ALL.len()],
    pages: u64,
}

impl Area {
    fn new(extent: impl Fn(FootprintEvent) -> ExtentModel) -> Self {
        let (mut pages, mut lines) = (0, 0);
        let before = FootprintEvent::ALL.map(|event| {
            let before = (pages, lines);
            pages += u64::from(extent(event).pages);
            lines += u64::from(extent(event).lines);
            before
        });
        Self { before, pages }
    }

    fn bytes(&self) -> u64 {
        self.pages * BASE_PAGE
    }
}

/// Where all that the hypervisor touches lies.
#[derive(Clone, Debug)]
pub struct FootprintPlan {
    model: FootprintModel,
    first: Hpa,
    pcpus: u64,
    code: Area,
    pcpu: Area,
    vm: Area,
}

impl FootprintPlan {
    /// Of a host with so many pCPUs, whose memory of guests ends at `end`: the hypervisor's begins at the next boundary of 2 MiB.
    #[must_use]
    pub fn new(model: &FootprintModel, end: Hpa, pcpus: usize) -> Self {
        let area = |of: fn(&TouchModel) -> ExtentModel| Area::new(|event| of(model.of(event)));
        Self {
            model: *model,
            first: Hpa(end.0.next_multiple_of(PageSize::Size2M.bytes())),
            pcpus: pcpus as u64,
            code: area(|touched| touched.code),
            pcpu: area(|touched| touched.pcpu),
            vm: area(|touched| touched.vm),
        }
    }

    /// Behind the data of so many VMs.
    #[must_use]
    pub fn end(&self, vms: usize) -> Hpa {
        self.data_of_vm(vms)
    }

    fn data_of_pcpu(&self, pcpu: u64) -> Hpa {
        self.first.wrapping_add(self.code.bytes() + pcpu * self.pcpu.bytes())
    }

    fn data_of_vm(&self, vm: usize) -> Hpa {
        self.data_of_pcpu(self.pcpus).wrapping_add(vm as u64 * self.vm.bytes())
    }

    /// What an event touches, in order: instructions, data of the pCPU, data of the VM.
    #[must_use]
    pub fn touched(&self, event: FootprintEvent, at: FootprintPlace) -> [Touched; 3] {
        let TouchModel { code, pcpu, vm } = *self.model.of(event);
        let touched = |access, base: Hpa, area: &Area, extent| {
            let (pages, before) = area.before[event as usize];
            Touched { access, first: base.wrapping_add(pages * BASE_PAGE), extent, before }
        };
        [
            touched(Access::Execute, self.first, &self.code, code),
            touched(Access::Read, self.data_of_pcpu(at.pcpu as u64), &self.pcpu, pcpu),
            touched(Access::Read, self.data_of_vm(at.vm), &self.vm, vm),
        ]
    }
}

#[cfg(test)]
mod tests;
