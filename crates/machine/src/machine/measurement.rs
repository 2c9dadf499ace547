//! What is measured of a guest: its regions of interest, which it marks, or all of its run.

use super::profile::{A0, A1};
use super::recording::{self, RecordError, Recorded};
use super::{instructions, intervals, pages, profile, trace};
use crate::bus::{ReplayError, Source};
use crate::code::Code;
use crate::machine::Machine;
use crate::pages::{Heatmap, Reuse};
use crate::parts::instruction_sink::InstructionSink;
use crate::parts::intervals::RegionChange;
use crate::parts::page_watch::PageRequest;
use crate::profile::{Profile, ProfileDetail};
use crate::results::events::{EventInterrupt, Trace};
use crate::results::figures::Figures;
use crate::results::intervals::{IntervalLength, Intervals};
use crate::results::outcome::Outcome;
use crate::results::statistics::Statistics;
use crate::state::{Waits, fast_forward};
use ::recording::{Reader, Writer};
use hart::Exit;
use hypervisor::sched::VmId;
use mmu::MmuStatistics;
use std::io::Write;
use std::time::Duration;
use types::Cycles;

impl Machine {
    /// The guest has executed a marker; how it ends, if that was its last.
    pub(crate) fn marker(&mut self, guest: usize, number: u16) -> Option<Outcome> {
        match number {
            1 => {
                self.begin_or_warm(guest);
                return self.capture_at_region();
            }
            2 => {
                profile::end_region(self, guest);
                let now = self.statistics_of(guest);
                self.records[guest].region.end(&now);
                self.region_changes(guest, RegionChange::Ends);
                self.set_models_aside();
                self.record_walk(guest);
            }
            3 => self.dispatch.scheduler.statistics_mut(VmId(guest)).ends += 1,
            4 => profile::name_range(self, self.harts_of(guest).start + self.state.current.hart),
            0x100..=0x1ff => {
                if self.records[guest].walks.is_none() {
                    self.record_walk(guest);
                }
                return Some(Outcome::Finished((number & 0xff) as u8));
            }
            5 => return self.capture_if_ready(),
            6 => self.take_figure(guest),
            // Any other HINT is one: it does nothing.
            _ => {}
        }
        None
    }

    /// The guest reports `a1` as the figure with the name at `a0`. One whose name cannot be read is dropped.
    fn take_figure(&mut self, guest: usize) {
        let index = self.harts_of(guest).start + self.state.current.hart;
        let hart = &self.vcpus[index].hart;
        let value = hart.register(A1);
        let name = profile::name_at(self, index, hart.register(A0));
        if !name.is_empty() {
            self.records[guest].figures.set(name, value);
        }
    }

    /// A guest is in a region of interest from here on.
    pub(crate) fn begin_or_warm(&mut self, guest: usize) {
        self.use_models();
        if self.pace.warmup == 0 {
            self.begin_region(guest);
        } else {
            let until = self.retired_of(guest).saturating_add(self.pace.warmup);
            self.records[guest].region.warm(until);
            self.region_changes(guest, RegionChange::Warms);
        }
    }

    /// From here on, what a guest does is measured.
    pub(crate) fn begin_region(&mut self, guest: usize) {
        // A maximum has no difference: it starts again.
        for pcpu in self.harts_of(guest).filter_map(|index| self.vcpus[index].residence.pcpu).collect::<Vec<_>>() {
            self.state.processors[pcpu].mmu.restart_maximum();
        }
        profile::begin_region(self, guest);
        if let Some(pages) = &mut self.state.exit_pages {
            pages.begin(guest);
        }
        let now = self.statistics_of(guest);
        self.records[guest].region.begin(now);
        self.region_changes(guest, RegionChange::Begins);
    }

    /// A guest is in a region, or in the warmup of one: all models are in use.
    fn use_models(&mut self) {
        if fast_forward::take_back(&mut self.state) {
            self.code = Code::new(self.isa, &mut self.state);
        }
    }

    /// A guest is in no region any more. A machine that fast-forwards uses some models only while another guest is.
    fn set_models_aside(&mut self) {
        let runs_in_one = |guest: usize| !self.has_ended(guest) && self.records[guest].is_in_region();
        if let Some(models) = self.pace.fast_forward
            && !(0..self.records.len()).any(runs_in_one)
            && fast_forward::set_aside(&mut self.state, models)
        {
            self.code = Code::new(self.isa, &mut self.state);
        }
    }

    /// The region of interest of a guest has changed: what is recorded over time knows of it.
    fn region_changes(&mut self, guest: usize, change: RegionChange) {
        intervals::cut(self, guest, change);
        trace::region(self, guest, change);
        pages::region(self, guest, change);
    }

    /// How many instructions are left until a guest's region is measured; `None` if none is about to be.
    pub(crate) fn warms_for(&self, guest: usize) -> Option<u64> {
        let until = self.records[guest].region.warms_until()?;
        Some(until.saturating_sub(self.retired_of(guest)))
    }

    /// Instructions that a guest's harts have retired together.
    pub(crate) fn retired_of(&self, guest: usize) -> u64 {
        self.harts_of(guest).map(|index| self.vcpus[index].hart.counts().instructions).sum()
    }

    /// What the first guest's processors have counted together, from the beginning.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.statistics_of(0)
    }

    /// What a guest's processors have counted together, from the beginning.
    #[must_use]
    pub fn statistics_of(&self, guest: usize) -> Statistics {
        let mut sum = Statistics::default();
        for index in self.harts_of(guest) {
            sum.add(&self.statistics_of_vcpu(index));
        }
        sum.transactions = self.dispatch.scheduler.statistics(VmId(guest)).ends;
        sum.shadow = self.state.vms[guest].shadow_statistics().copied();
        sum
    }

    /// What was counted in the first guest's region of interest, or from the beginning if it marked none.
    #[must_use]
    pub fn measured(&self) -> Statistics {
        self.measured_of(0)
    }

    /// What was counted in a guest's region of interest, or from the beginning if it marked none.
    #[must_use]
    pub fn measured_of(&self, guest: usize) -> Statistics {
        self.records[guest].region.measured().cloned().unwrap_or_else(|| self.statistics_of(guest))
    }

    /// What a guest has reported of itself.
    #[must_use]
    pub fn figures_of(&self, guest: usize) -> &Figures {
        &self.records[guest].figures
    }

    /// What an MMU that has counted this would have cost, where neither caches nor a core are modelled.
    #[must_use]
    pub fn translation_time(&self, statistics: &MmuStatistics) -> Cycles {
        self.state.translation(statistics, &Waits::Unmodelled)
    }

    /// Keeps a profile from now on. To be called before the machine runs: its code is translated again.
    pub fn record_profile(&mut self, detail: ProfileDetail) {
        profile::open(self, detail);
    }

    /// The profile of what [`Self::measured_of`] counts of a guest; `None` where none is kept.
    #[must_use]
    pub fn profile_of(&self, guest: usize) -> Option<Profile> {
        profile::of(self, guest)
    }

    /// Records the run from now on. To be called before the machine runs: its code is translated again.
    ///
    /// # Errors
    /// [`RecordError::Machine`].
    pub fn record(&mut self, writer: Writer<Box<dyn Write + Send>>) -> Result<(), RecordError> {
        recording::record(self, writer)
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// [`RecordError`].
    ///
    /// # Panics
    /// If the run is not recorded.
    pub fn finish_recording(&mut self) -> Result<Recorded, RecordError> {
        recording::finish(self)
    }

    /// Does what a recording says, in the place of the guest. To be called before the machine runs. It is assembled of what the recorded machine
    /// was assembled of, but for what only translation depends on.
    pub fn replay(&mut self, recording: Reader<Box<dyn Source>>) {
        recording::replay(self, recording);
    }

    /// How often the replay has filled an L1 with a second entry for an address. Which of them a hart uses is the one that it predicts, and a
    /// recording does not have that. If this is not 0, counts may differ from those of a run.
    #[must_use]
    pub fn replay_rivals(&self) -> u64 {
        recording::rivals(self)
    }

    /// Why the replay has ended early, if it has.
    pub fn take_replay_failure(&mut self) -> Option<ReplayError> {
        recording::take_failure(self)
    }

    /// Keeps what is counted over time, from now on, by intervals of this length. To be called before the machine runs.
    pub fn record_intervals(&mut self, length: IntervalLength) {
        intervals::open(self, length);
    }

    /// The intervals of a guest's run so far; `None` where none are kept.
    #[must_use]
    pub fn intervals_of(&self, guest: usize) -> Option<Intervals> {
        intervals::of(self, guest)
    }

    /// Keeps what happens when, from now on, and the stays of vCPUs. To be called before the machine runs: its code is translated again.
    pub fn record_trace(&mut self) {
        trace::open(self);
    }

    /// What happened to a guest; `None` where that is not kept.
    #[must_use]
    pub fn trace_of(&self, guest: usize) -> Option<Trace> {
        trace::of(self, guest)
    }

    /// Watches which pages are used, from now on. To be called before the machine runs: its code is translated again.
    pub fn record_pages(&mut self, request: PageRequest) {
        pages::open(self, request);
    }

    /// The reuse distances of a guest's pages; `None` where they are not kept.
    #[must_use]
    pub fn reuse_of(&self, guest: usize) -> Option<Reuse> {
        pages::reuse(self, guest)
    }

    /// The heatmap of a guest; `None` where none is kept.
    #[must_use]
    pub fn heatmap_of(&self, guest: usize) -> Option<Heatmap> {
        pages::heatmap(self, guest)
    }

    /// Gives `sink` the instructions of the guest, from now on. To be called before the machine runs. Every engine interprets then.
    pub fn trace_instructions(&mut self, sink: Box<dyn InstructionSink>) {
        instructions::open(self, sink);
    }

    /// vCPU `index` begins a turn on a pCPU.
    pub(crate) fn begin_profiled_turn(&mut self, index: usize, pcpu: usize) {
        profile::begin_turn(self, index, pcpu);
        pages::begin_turn(self, index);
        instructions::begin_turn(self, index);
    }

    /// The hart of vCPU `index`, whose turn has begun at `from`, has left.
    pub(crate) fn leave_profiled(&mut self, index: usize, exit: Exit, from: Cycles) {
        profile::leave(self, index, exit);
        trace::stands(self, index);
        pages::end_turn(self, index, from);
        instructions::end_turn(self, index);
    }

    /// The turn of a pCPU has ended.
    pub(crate) fn end_profiled_turn(&mut self, pcpu: usize) {
        profile::end_turn(self, pcpu);
    }

    /// vCPU `index`, whose turn begins, has waited on its pCPU from `from` on.
    pub(crate) fn note_wait(&mut self, index: usize, from: Cycles, waited: Cycles) {
        trace::waited(self, index, from, waited);
        trace::stands(self, index);
    }

    /// An interrupt of vCPU `index` has become pending at `now`.
    pub(crate) fn note_interrupt(&mut self, index: usize, now: Cycles, which: EventInterrupt) {
        trace::interrupt(self, index, now, which);
    }

    /// Nothing happens before `next`: intervals that are over by then end.
    pub(crate) fn end_intervals(&mut self, next: Option<Cycles>) {
        intervals::end_due(self, next);
    }

    /// A guest ends now.
    pub(crate) fn note_end(&mut self, guest: usize) {
        intervals::end(self, guest);
        self.set_models_aside();
    }

    /// How a guest ended; `None` of one that runs.
    #[must_use]
    pub fn outcome_of(&self, guest: usize) -> Option<&Outcome> {
        self.records[guest].outcome.as_ref()
    }

    /// How long the host took for the first guest's region of interest; zero if it marked none.
    #[must_use]
    pub fn region_host_time(&self) -> Duration {
        self.records[0].region.host_time()
    }
}
