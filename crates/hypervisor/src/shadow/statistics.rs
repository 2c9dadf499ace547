//! What is counted of shadow tables: the paper's hypervisors (Umeno et al. 1985, section 5.2) and what RISC-V adds.

use super::agile::AgileStatistics;
use types::Cycles;

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts of one VM.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
        pub struct ShadowStatistics {
            $($(#[$doc])* pub $name: u64,)*
            /// What agile paging does besides.
            #[serde(default)]
            pub agile: AgileStatistics,
            /// Events and steps by activity.
            #[serde(default)]
            pub work: ShadowWork,
            /// Where the time of maintenance went.
            pub time: ShadowTime,
        }

        impl ShadowStatistics {
            /// What was counted since `earlier`, a copy of the same VM's.
            #[must_use]
            pub fn since(&self, earlier: &Self) -> Self {
                Self { $($name: self.$name - earlier.$name,)* agile: self.agile.since(&earlier.agile), work: self.work.since(&earlier.work), time: self.time.since(&earlier.time) }
            }

            /// Adds what was counted at another time.
            pub fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
                self.agile.add(&other.agile);
                self.work.add(&other.work);
                self.time.add(&other.time);
            }
        }
    };
}

counts! {
    /// Switches that found their table.
    switches_found,
    /// Switches for which a table was made, or a single one cleared.
    switches_created,
    /// Switches that took a table from another address space.
    switches_stolen,
    /// Invalidations by address: one for each fence or call, whatever its pages.
    selective,
    /// Tables invalidated in full: for a fence or call, at a switch of a single table, or to be stolen.
    full,
    /// Those among `full` that had not been selected since the invalidation before: nothing can have been valid in them.
    double,
    /// Entries made.
    validations,
    /// Leaf tables of sections linked, among `validations`.
    links,
    /// Those made in hardware mode, by VM-Assist.
    assisted_validations,
    /// Switches in hardware mode, by Load-Control-Assist.
    assisted_switches,
    /// Invalidations in hardware mode, by PPTLB-Assist.
    assisted_invalidations,
    /// Entries made writable for the first store through them.
    promotions,
    /// Faults that were the guest's own.
    reflected,
    /// Leaf entries that invalidations looked at.
    entries_touched,
    /// Steps, of the hypervisor and of assists.
    steps,
    /// Stores to guest tables that were write-protected.
    table_writes,
    /// Guest tables that turned out to be none any more.
    unprotects,
}

/// Why the hypervisor, or an assist, works on shadow tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    /// Making entries, and dropping what a store to a guest's table outdates.
    Validation,
    /// Invalidating pages by address.
    Pptlb,
    /// Switching.
    LoadControl,
    /// Invalidating tables.
    PurgeTlb,
    /// Faults that are the guest's own, and accesses to devices.
    Other,
}

/// Events of one activity, and the steps of all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct WorkDone {
    /// Events: exits, or assists, or requests within an exit.
    pub events: u64,
    /// Their steps.
    pub steps: u64,
}

/// Work by activity.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct ShadowWork {
    /// [`Activity::Validation`].
    pub validation: WorkDone,
    /// [`Activity::Pptlb`].
    pub pptlb: WorkDone,
    /// [`Activity::LoadControl`].
    pub load_control: WorkDone,
    /// [`Activity::PurgeTlb`].
    pub purge_tlb: WorkDone,
}

impl ShadowWork {
    /// Adds an event. Those of [`Activity::Other`] are counted in no activity.
    pub(super) fn add_event(&mut self, activity: Activity, steps: u64) {
        let done = match activity {
            Activity::Validation => &mut self.validation,
            Activity::Pptlb => &mut self.pptlb,
            Activity::LoadControl => &mut self.load_control,
            Activity::PurgeTlb => &mut self.purge_tlb,
            Activity::Other => return,
        };
        done.events += 1;
        done.steps += steps;
    }

    fn each(&mut self, other: &Self, of: impl Fn(u64, u64) -> u64) {
        for (done, by) in [
            (&mut self.validation, other.validation),
            (&mut self.pptlb, other.pptlb),
            (&mut self.load_control, other.load_control),
            (&mut self.purge_tlb, other.purge_tlb),
        ] {
            *done = WorkDone { events: of(done.events, by.events), steps: of(done.steps, by.steps) };
        }
    }

    fn since(&self, earlier: &Self) -> Self {
        let mut since = *self;
        since.each(earlier, |now, before| now - before);
        since
    }

    fn add(&mut self, other: &Self) {
        self.each(other, |one, more| one + more);
    }
}

/// Cycles by activity, exits and entries included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct ShadowTime {
    /// [`Activity::Validation`].
    pub validation: Cycles,
    /// [`Activity::Pptlb`].
    pub pptlb: Cycles,
    /// [`Activity::LoadControl`].
    pub load_control: Cycles,
    /// [`Activity::PurgeTlb`].
    pub purge_tlb: Cycles,
}

impl ShadowTime {
    /// Adds to an activity. [`Activity::Other`] is part of the hypervisor's rest.
    pub fn spend(&mut self, activity: Activity, cycles: Cycles) {
        match activity {
            Activity::Validation => self.validation += cycles,
            Activity::Pptlb => self.pptlb += cycles,
            Activity::LoadControl => self.load_control += cycles,
            Activity::PurgeTlb => self.purge_tlb += cycles,
            Activity::Other => {}
        }
    }

    /// All of it: the maintenance of tables.
    #[must_use]
    pub fn total(&self) -> Cycles {
        self.validation + self.pptlb + self.load_control + self.purge_tlb
    }

    fn since(&self, earlier: &Self) -> Self {
        Self {
            validation: self.validation - earlier.validation,
            pptlb: self.pptlb - earlier.pptlb,
            load_control: self.load_control - earlier.load_control,
            purge_tlb: self.purge_tlb - earlier.purge_tlb,
        }
    }

    fn add(&mut self, other: &Self) {
        self.validation += other.validation;
        self.pptlb += other.pptlb;
        self.load_control += other.load_control;
        self.purge_tlb += other.purge_tlb;
    }
}

/// How control came to the code that works on shadow tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// An exit to the hypervisor, and the entry after it.
    Exit,
    /// An assist, in the host's hardware mode.
    Assist,
    /// It was in the hypervisor already.
    Within,
}

/// A piece of work, to be charged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Work {
    /// Why.
    pub activity: Activity,
    /// How it was come by.
    pub way: Way,
    /// Steps.
    pub steps: u64,
    /// Table entries read or written, of any table.
    pub references: u64,
    /// Pages of the host filled on the way.
    pub filled: u64,
}

impl Work {
    pub(super) const fn new(activity: Activity, way: Way, steps: u64, references: u64) -> Self {
        Self { activity, way, steps, references, filled: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events and time of every activity, `by` times as much.
    fn spent(by: u64) -> ShadowStatistics {
        let mut statistics = ShadowStatistics { validations: 3 * by, ..ShadowStatistics::default() };
        statistics.agile.switches = 5 * by;
        let activities =
            [Activity::Validation, Activity::Pptlb, Activity::LoadControl, Activity::PurgeTlb, Activity::Other];
        for (number, activity) in (1..).zip(activities) {
            for _ in 0..by {
                statistics.work.add_event(activity, 10 * number);
                statistics.time.spend(activity, Cycles(1 << number));
            }
        }
        statistics
    }

    #[test]
    fn work_and_time_add_up_and_what_was_earlier_is_taken_off() {
        let (earlier, mut later) = (spent(2), spent(2));
        later.add(&spent(3));
        assert_eq!(later, spent(5));
        assert_eq!(later.since(&earlier), spent(3));
    }

    #[test]
    fn each_activity_has_its_own_work_and_time_and_the_rest_is_no_maintenance() {
        let ShadowStatistics { work, time, .. } = spent(1);
        let steps = [work.validation, work.pptlb, work.load_control, work.purge_tlb].map(|done| done.steps);
        assert_eq!(steps, [10, 20, 30, 40]);
        let cycles = [time.validation, time.pptlb, time.load_control, time.purge_tlb];
        assert_eq!(cycles, [2, 4, 8, 16].map(Cycles));
        assert_eq!(time.total(), Cycles(2 + 4 + 8 + 16), "what is the guest's own is left out");
    }
}
