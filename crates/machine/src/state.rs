//! Everything of a machine but its harts and its translated code: pCPUs, guests, host memory. It is what a hart sees as its bus.

pub(crate) mod exit_pages;
pub(crate) mod fast_forward;
pub(crate) mod footprint;
mod introspection;
pub(crate) mod pages;
mod paging;
pub(crate) mod pmu;
pub(crate) mod primary_region;
pub(crate) mod profile;
pub(crate) mod recording;
pub(crate) mod shadow;

use crate::caches::{CacheStatistics, Caches};
use crate::cores::{CoreStatistics, Cores, GuestPages, PrefetchPort};
use crate::parts::address_spaces::RecentSpaces;
use crate::parts::footprint::Footprint;
use crate::parts::page_watch::PageWatch;
use crate::parts::primary_region::{GuestRegion, SegmentHardware};
use crate::parts::recorder::Recorder;
use crate::parts::tracer::Tracer;
use crate::profile::Ledger;
use crate::results::events::EventKind;
use crate::sections::host::HostSections;
use crate::set_aside::SetAside;
use config::GuestTimeName;
use config::clock::Clock;
use devices::{BusError, DiskNotification, Platform};
use exit_pages::ExitPages;
use hart::report::{Outstanding, Report};
use hypervisor::footprint::{FootprintEvent, FootprintPlace};
use hypervisor::pmu::Pmu;
use hypervisor::{
    CostTable, ExitCounts, ExitReason, GuestMemoryError, NestedFaultOutcome, PageUnavailable, Pager, PagingCounts, Vm,
    WalkMemory,
};
use memory::{Host, HostMemory};
use mmu::{Hints, Memo, Mmu, MmuStatistics, NestedFault};
use timing::Index;
use types::{Access, Cycles, Gpa, Gva, Width};

/// A pCPU: its MMU, its clock's parts, and what happened on it.
pub(crate) struct Processor {
    pub(crate) mmu: Mmu,
    /// Time of the latest data access, as exact LRU counts it.
    pub(crate) stamp: u32,
    /// Where the latest fetch that missed was found.
    pub(crate) fetch_slot: u16,
    /// Where the host's processor may begin to fetch data.
    pub(crate) hints: Hints,
    /// Spent waiting.
    pub(crate) idle: Cycles,
    /// Spent on nested traps.
    pub(crate) traps: Cycles,
    /// Spent in the hypervisor, exits and entries included.
    pub(crate) hypervisor: Cycles,
    pub(crate) exits: ExitCounts,
    /// Pages moved for what happened here.
    pub(crate) paging: PagingCounts,
    /// Instructions that the vCPU here had retired when it was entered.
    pub(crate) retired: u64,
    /// Instructions retired here in earlier stays (see `dispatch.rs`).
    pub(crate) instructions: u64,
    /// Instructions that the vCPU here had retired when its stay began; 0 while there is none.
    pub(crate) entered: u64,
    /// Instructions that the vCPU here had retired when that was last looked at, where something looks at what harts do.
    pub(crate) stands: u64,
    /// Up to when the vCPU that was here has been charged.
    pub(crate) accounted: Cycles,
    /// Of the time in the hypervisor, that for scheduling.
    pub(crate) scheduling: Cycles,
    /// The guest and hart that its segment registers were loaded for.
    pub(crate) tenant: Option<(usize, usize)>,
    /// By guest: which of its vCPUs ran here last.
    pub(crate) tenants: Vec<Option<usize>>,
}

impl Processor {
    pub(crate) fn new(mmu: Mmu) -> Self {
        Self {
            mmu,
            stamp: 0,
            fetch_slot: 0,
            hints: Hints::default(),
            idle: Cycles(0),
            traps: Cycles(0),
            hypervisor: Cycles(0),
            exits: ExitCounts::default(),
            paging: PagingCounts::default(),
            retired: 0,
            instructions: 0,
            entered: 0,
            stands: 0,
            accounted: Cycles(0),
            scheduling: Cycles(0),
            tenant: None,
            tenants: Vec::new(),
        }
    }

    /// The hypervisor schedules.
    pub(crate) fn spend_on_scheduling(&mut self, cycles: Cycles) {
        self.hypervisor += cycles;
        self.scheduling += cycles;
    }

    /// The stamp, kept below 2^31: a run of a hart adds far less than as much again.
    pub(crate) fn rebased_stamp(&mut self) -> u32 {
        if self.stamp >= 1 << 31 {
            self.stamp = self.mmu.renumber_stamps() as u32;
        }
        self.stamp
    }
}

/// What a virtual machine has beside its memory: its devices.
pub(crate) struct Guest {
    pub(crate) platform: Platform,
    pub(crate) region: Option<GuestRegion>,
    /// Performance counters, by hart; none if the guest does not find the SBI's PMU.
    pub(crate) pmus: Vec<Pmu>,
}

/// The state of a host and its guests, without the harts: memory, processors, tables and devices.
pub(crate) struct MachineState {
    pub(crate) host: Host,
    pub(crate) processors: Vec<Processor>,
    pub(crate) guests: Vec<Guest>,
    /// The guests' memory, in the same order.
    pub(crate) vms: Vec<Vm>,
    /// Memory that guests share, and what is reserved for it.
    pub(crate) sections: Option<HostSections>,
    /// Pages guests out where the host's memory is less than they can need.
    pub(crate) pager: Option<Pager>,
    pub(crate) costs: CostTable,
    /// The processors' caches, if they are modelled.
    pub(crate) caches: Option<Caches>,
    /// The processors' cores, if they are modelled; then caches are too.
    pub(crate) cores: Option<Cores>,
    /// Both, where they are not in use at the moment.
    pub(crate) set_aside: Option<Box<SetAside>>,
    /// What the hypervisor's own work displaces, if that is modelled.
    pub(crate) footprint: Option<Box<Footprint>>,
    /// Whether an access that no view was hit for has more to do than to be translated: caches or footprint are modelled.
    pub(crate) misses_do_more: bool,
    clock: Clock,
    /// What the clocks of pCPUs count.
    pub(crate) time_source: GuestTimeName,
    /// The address spaces that the guest was in, of a machine that a snapshot is taken of.
    pub(crate) spaces: Option<RecentSpaces>,
    /// Which segment registers the processors have.
    pub(crate) segments: SegmentHardware,
    /// Whose turn it is.
    pub(crate) current: Current,
    /// A guest that cannot go on, for want of memory.
    pub(crate) exhausted: Option<(usize, PageUnavailable)>,
    /// Whether frames have run short, ever.
    pub(crate) ran_short: bool,
    /// Whether the hart that runs has to leave: pages have moved.
    pub(crate) leave: bool,
    /// Memory that devices wrote, or that has become another page's, and no hart has been told of yet: host address and bytes.
    pub(crate) foreign_writes: Vec<(usize, usize)>,
    /// What is charged to which instruction, if a profile is kept.
    pub(crate) profile: Option<Box<Ledger>>,
    /// What is kept of the run, if it is recorded.
    pub(crate) recorder: Option<Box<Recorder>>,
    /// What happens when, if that is kept.
    pub(crate) tracer: Option<Box<Tracer>>,
    /// Which pages are used when, if that is kept.
    pub(crate) pages: Option<Box<PageWatch>>,
    /// Which accesses have exited lately, if walks are recorded.
    pub(crate) exit_pages: Option<Box<ExitPages>>,
}

/// What instructions wait for beside translation, by what is modelled.
pub(crate) enum Waits {
    /// Nothing is.
    Unmodelled,
    /// Caches are.
    Caches(CacheStatistics),
    /// A core is.
    Core(CoreStatistics),
}

impl Waits {
    pub(crate) fn of(caches: Option<CacheStatistics>, core: Option<CoreStatistics>) -> Self {
        match (caches, core) {
            (_, Some(core)) => Self::Core(core),
            (Some(caches), None) => Self::Caches(caches),
            (None, None) => Self::Unmodelled,
        }
    }
}

/// Whose turn it is: indices of the pCPU and of the guest, and which of the guest's harts.
#[derive(Clone, Copy, Default)]
pub(crate) struct Current {
    pub(crate) processor: usize,
    pub(crate) guest: usize,
    /// Number of the vCPU in its guest.
    pub(crate) hart: usize,
}

/// The pages of the hart whose turn it is.
struct CurrentPages<'m> {
    processors: &'m [Processor],
    vms: &'m [Vm],
    memory: &'m HostMemory,
    current: &'m Current,
}

impl GuestPages for CurrentPages<'_> {
    /// By the walk that a load would make. It changes no TLB and no walk cache, and a page that the hypervisor has not mapped yet stays so.
    #[cold]
    fn find(&self, page: Gva) -> Option<*const u8> {
        let Current { processor, guest, hart } = *self.current;
        let second = self.vms[guest].second_stage_of(hart);
        let mut memory = WalkMemory::new(self.memory);
        let walk = self.processors[processor].mmu.record_walk(&mut memory, &second, page, Memo::AsItIs).ok()?;
        self.memory.pointer(walk.hpa).map(|at| at.as_ptr().cast_const())
    }
}

impl MachineState {
    pub(crate) fn new(host: Host, pager: Option<Pager>, costs: CostTable, clock: Clock) -> Self {
        Self {
            host,
            processors: Vec::new(),
            guests: Vec::new(),
            vms: Vec::new(),
            sections: None,
            pager,
            costs,
            caches: None,
            cores: None,
            set_aside: None,
            footprint: None,
            misses_do_more: false,
            clock,
            time_source: GuestTimeName::Cycles,
            spaces: None,
            segments: SegmentHardware::default(),
            current: Current::default(),
            exhausted: None,
            ran_short: false,
            leave: false,
            foreign_writes: Vec::new(),
            profile: None,
            recorder: None,
            tracer: None,
            pages: None,
            exit_pages: None,
        }
    }

    #[inline(always)]
    pub(crate) fn processor(&mut self) -> &mut Processor {
        &mut self.processors[self.current.processor]
    }

    pub(crate) fn guest(&mut self) -> &mut Guest {
        &mut self.guests[self.current.guest]
    }

    /// The current guest's memory.
    #[inline]
    pub(crate) fn vm(&self) -> &Vm {
        &self.vms[self.current.guest]
    }

    /// Whether something looks at what harts do beside the statistics.
    pub(crate) fn is_observed(&self) -> bool {
        self.profile.is_some() || self.tracer.is_some() || self.pages.is_some()
    }

    /// The hypervisor, or the firmware, is about to spend `took` on a pCPU.
    #[inline]
    pub(crate) fn note_spending(&mut self, pcpu: usize, took: Cycles, what: EventKind) {
        if self.tracer.is_some() {
            self.record_spending(pcpu, took, what);
        }
    }

    #[cold]
    fn record_spending(&mut self, pcpu: usize, took: Cycles, what: EventKind) {
        let at = self.clock_of(pcpu, self.processors[pcpu].stands);
        if let Some(tracer) = &mut self.tracer {
            tracer.event(tracer.place(pcpu), (at, took), what);
        }
    }

    /// The current hart is about to do something after `retired` other instructions in this run.
    #[inline]
    pub(crate) fn note_place(&mut self, retired: u64) {
        let processor = self.processor();
        processor.stands = processor.retired + retired;
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// What was counted of a processor's caches, if they are modelled.
    pub(crate) fn cache_statistics(&self, processor: usize) -> Option<CacheStatistics> {
        let caches = self.caches.as_ref().or_else(|| self.set_aside.as_ref()?.caches.as_ref());
        caches.map(|caches| *caches.statistics(processor))
    }

    /// The same of its core.
    pub(crate) fn core_statistics(&self, processor: usize) -> Option<CoreStatistics> {
        let cores = self.cores.as_ref().or_else(|| self.set_aside.as_ref()?.cores.as_ref());
        cores.map(|cores| cores.statistics(processor))
    }

    /// A load, store or fetch of the current processor uses the line of the byte at `at`.
    pub(crate) fn use_line(&mut self, at: *const u8, access: Access) {
        let processor = self.current.processor;
        match (&mut self.caches, &mut self.cores) {
            (None, _) => {}
            (Some(caches), None) => caches.use_line(processor, at, access),
            (Some(caches), Some(cores)) => {
                let (line, found) = caches.locate(processor, at, access);
                let pending = cores.pending(processor);
                match access {
                    Access::Read | Access::Write => pending.data(line, found),
                    Access::Execute => pending.fetch(found),
                }
            }
        }
    }

    /// An access of the current processor that no view was hit for uses the lines of `bytes` bytes at `at`.
    pub(crate) fn use_lines(&mut self, at: *const u8, bytes: u64, access: Access) {
        self.use_line(at, access);
        self.use_line(at.wrapping_add(bytes as usize - 1), access);
    }

    /// Cycles of translation that `statistics` stand for: what L1 misses cost, in the time of the second TLB level, of the walker, or of
    /// the refill routine, whose instructions take as long as the guest's. The references of one step of a walk
    /// are made at once, and those of outer TLB levels one after another: a step has the cost of one, or takes as long as the caches say.
    /// A core has its own time of TLBs and walks.
    pub(crate) fn translation(&self, statistics: &MmuStatistics, waits: &Waits) -> Cycles {
        let hits = self.costs.l2_tlb_hit * statistics.l2_hits;
        let hardware = match waits {
            Waits::Unmodelled => hits + self.costs.table_reference * (statistics.steps() + statistics.outer_refs),
            Waits::Caches(caches) => hits + caches.walk_time,
            Waits::Core(core) => core.translation(),
        };
        hardware + self.costs.refill * statistics.refills + self.clock.instructions(statistics.refill_instructions)
    }

    /// What `instructions` take, translation apart.
    pub(crate) fn guest_time(&self, instructions: u64, waits: &Waits) -> Cycles {
        match waits {
            Waits::Unmodelled => self.clock.instructions(instructions),
            Waits::Caches(caches) => self.clock.instructions(instructions) + caches.stalls(),
            Waits::Core(core) => core.guest(instructions),
        }
    }

    /// How many instructions to give the vCPU on `processor` for a turn of `cycles`: as many as fit at the base time, or, where caches are
    /// modelled, at the time that an instruction took in the processor's latest turn.
    pub(crate) fn instructions_in(&self, processor: usize, cycles: Cycles) -> u64 {
        let most = self.clock().instructions_in(cycles);
        self.caches.as_ref().map_or(most, |caches| most.min(caches.instructions_in(processor, cycles)))
    }
    /// How many instructions the current pCPU has executed before the one that follows `retired` others in this run.
    fn index(&self, retired: u64) -> Index {
        let processor = &self.processors[self.current.processor];
        Index(processor.instructions + processor.retired + retired - processor.entered)
    }

    /// See [`hart::Bus::report`].
    #[inline(always)]
    pub(crate) fn report(&mut self, retired: u64, report: Report) -> Outstanding {
        let index = self.index(retired);
        let Self { cores: Some(cores), caches: Some(caches), processors, vms, host, current, .. } = self else {
            return Outstanding::NOTHING;
        };
        let pages = CurrentPages { processors, vms, memory: &host.memory, current };
        let port = PrefetchPort { caches, pcpu: current.processor, pages };
        cores.report(port, index, report)
    }

    /// The time of the current pCPU is needed before the instruction that follows `retired` others in this run.
    pub(crate) fn settle_core(&mut self, retired: u64) {
        let index = self.index(retired);
        if let Some(cores) = &mut self.cores {
            cores.settle(self.current.processor, index);
        }
    }

    /// What the instructions of a processor have waited for.
    fn waits(&self, processor: usize) -> Waits {
        Waits::of(self.cache_statistics(processor), self.core_statistics(processor))
    }

    /// The clock of a processor whose vCPU has retired `instructions`.
    pub(crate) fn clock_of(&self, processor: usize, instructions: u64) -> Cycles {
        let waits = self.waits(processor);
        let processor = &self.processors[processor];
        let instructions = processor.instructions + instructions - processor.entered;
        let own = processor.idle + processor.traps;
        match self.time_source {
            GuestTimeName::Instructions => self.clock.instructions(instructions) + own,
            GuestTimeName::Cycles => {
                self.guest_time(instructions, &waits)
                    + self.translation(processor.mmu.statistics(), &waits)
                    + own
                    + processor.hypervisor
            }
        }
    }

    /// The current processor's clock, `retired` instructions into the run.
    pub(crate) fn now(&self, retired: u64) -> Cycles {
        let current = self.current.processor;
        self.clock_of(current, self.processors[current].retired + retired)
    }

    /// Counts an exit of the current guest and the entry after it, and charges for both.
    pub(crate) fn charge_exit(&mut self, reason: ExitReason) {
        let Current { processor, guest, .. } = self.current;
        self.charge(processor, guest, reason);
    }

    /// Counts an exit of `guest` on `processor`, and charges for it and for the entry after it. A native machine has no exits: the work of its
    /// firmware costs cycles and is not counted as an exit.
    pub(crate) fn charge(&mut self, processor: usize, guest: usize, reason: ExitReason) {
        if reason == ExitReason::ExternalInterrupt
            && let Some(recorder) = &mut self.recorder
        {
            recorder.interrupted(processor);
        }
        let counts = !self.vms[guest].is_native();
        let what = if counts { EventKind::Exit(reason) } else { EventKind::Firmware(reason) };
        self.note_spending(processor, self.costs.of(reason), what);
        if let Some(cores) = &mut self.cores {
            cores.pending(processor).exit();
        }
        let at = FootprintPlace { pcpu: processor, vm: guest };
        if counts {
            self.count_exit(processor, guest, reason);
        }
        let processor = &mut self.processors[processor];
        processor.hypervisor += self.costs.of(reason);
        if counts && let Some(footprint) = &mut self.footprint {
            for event in [FootprintEvent::Exit, FootprintEvent::of_exit(reason)] {
                footprint.touch(at, event, &mut processor.mmu, self.caches.as_mut());
            }
        }
    }

    /// Counts an exit of `guest` on `processor`, and notes its access if walks are recorded.
    pub(crate) fn count_exit(&mut self, processor: usize, guest: usize, reason: ExitReason) {
        self.processors[processor].exits.count(reason);
        if let Some(pages) = &mut self.exit_pages {
            pages.exited(processor, guest, reason);
        }
    }

    /// Handles a nested fault of the current guest: the hypervisor maps the page, or finds a device. `None`: the hart leaves.
    pub(crate) fn nested_fault(&mut self, fault: &NestedFault) -> Option<NestedFaultOutcome> {
        let outcome = self.fill(fault);
        // An access to a device is counted where the device is reached.
        if outcome != Some(NestedFaultOutcome::Device) {
            self.charge_exit(ExitReason::NestedFault);
        }
        let leaves = self.take_leave();
        outcome.filter(|_| !leaves)
    }

    /// A store to a device's register, with what the device does to memory.
    pub(crate) fn write_device(&mut self, gpa: Gpa, width: Width, value: u64) -> Result<(), BusError> {
        let written =
            self.with_dma(self.current.guest, |guest, memory| guest.platform.write(gpa, width, value, memory));
        // What a disk was told is taken note of between turns, and so is what a network card has sent.
        let platform = &self.guest().platform;
        self.leave |= platform.has_disk_notifications() || platform.has_sent_frames();
        written
    }

    /// A disk of a guest serves what it was notified of.
    pub(crate) fn serve_disk(&mut self, guest: usize, notification: DiskNotification) {
        self.with_dma(guest, |guest, memory| guest.platform.serve_disk(notification, memory));
    }

    /// Input for the console of a guest; returns how many bytes were taken.
    pub(crate) fn console_input(&mut self, guest: usize, bytes: &[u8]) -> usize {
        self.with_dma(guest, |guest, memory| guest.platform.console_input(bytes, memory))
    }

    /// A frame for the network card of a guest; whether its driver took it.
    pub(crate) fn receive_frame(&mut self, guest: usize, frame: &[u8]) -> bool {
        self.with_dma(guest, |guest, memory| guest.platform.receive_frame(frame, memory))
    }

    /// The hypervisor reads a guest's memory.
    pub(crate) fn read_guest(&mut self, guest: usize, at: Gpa, bytes: &mut [u8]) -> Result<(), GuestMemoryError> {
        self.with_dma(guest, |_, memory| memory.read(at, bytes))
    }

    /// The hypervisor writes into a guest's memory.
    pub(crate) fn write_guest(&mut self, guest: usize, at: Gpa, bytes: &[u8]) -> Result<(), GuestMemoryError> {
        self.with_dma(guest, |_, memory| memory.write(at, bytes))
    }

    pub(crate) fn take_foreign_writes(&mut self) -> std::vec::Drain<'_, (usize, usize)> {
        self.foreign_writes.drain(..)
    }
}
