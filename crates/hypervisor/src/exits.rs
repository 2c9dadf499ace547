//! Why a guest exits to the hypervisor, and how often.

use core::fmt;

macro_rules! reasons {
    ($($(#[$doc:meta])* $reason:ident = $name:literal,)*) => {
        /// Why control went from a guest to the hypervisor. Ordered: reports list reasons as they stand here.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum ExitReason {
            $($(#[$doc])* $reason,)*
        }

        impl ExitReason {
            /// Every reason, in order.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$reason),*];

            /// The name in reports.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$reason => $name,)*
                }
            }
        }
    };
}

reasons! {
    /// SBI BASE: which extensions are there.
    SbiBase = "sbi_base",
    /// SBI TIME: the guest sets its timer.
    SbiTime = "sbi_time",
    /// SBI sPI: an interrupt to other harts.
    SbiIpi = "sbi_ipi",
    /// SBI RFENCE: a fence on other harts.
    SbiRfence = "sbi_rfence",
    /// SBI HSM: starting, stopping, suspending harts.
    SbiHsm = "sbi_hsm",
    /// SBI SRST: the guest shuts down or resets.
    SbiReset = "sbi_reset",
    /// SBI DBCN: the debug console.
    SbiConsole = "sbi_console",
    /// SBI PMU: performance counters.
    SbiPmu = "sbi_pmu",
    /// SBI SUSP: the whole guest sleeps.
    SbiSuspend = "sbi_suspend",
    /// SBI FWFT: firmware features.
    SbiFeatures = "sbi_features",
    /// SBI STA: steal-time accounting.
    SbiStealTime = "sbi_steal_time",
    /// Our paravirtual extension: PPTLB, handshakes, spin calls.
    SbiParavirtual = "sbi_paravirtual",
    /// An SBI extension that is not there.
    SbiAbsent = "sbi_absent",
    /// A hart waits for an interrupt.
    Wfi = "wfi",
    /// The nested table has no page for an access, or not the right for it.
    NestedFault = "nested_fault",
    /// A shadow table has no entry for an access, or not the right for it.
    ShadowFault = "shadow_fault",
    /// A store to a table of the guest that is write-protected.
    TableWrite = "table_write",
    /// A guest with shadow tables writes `satp`.
    Satp = "satp",
    /// A guest with shadow tables executes `sfence.vma`.
    Fence = "fence",
    /// An access to a device's register.
    Mmio = "mmio",
    /// An interrupt from a device or from another hart, which the hypervisor injects.
    ExternalInterrupt = "external_interrupt",
    /// The timer that the hypervisor keeps for the guest is due.
    Timer = "timer",
    /// The time slice of a vCPU on a shared real one is over.
    SliceEnd = "slice_end",
    /// A guest was found to spin by its `pause` instructions.
    PauseLoop = "pause_loop",
    /// A guest waits for a store to its reservation (`wrs.nto`).
    ReservationWait = "reservation_wait",
}

impl fmt::Display for ExitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Exits by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct ExitCounts([u64; ExitReason::ALL.len()]);

impl ExitCounts {
    /// Counts one exit.
    pub fn count(&mut self, reason: ExitReason) {
        self.0[reason as usize] += 1;
    }

    /// How many there were for `reason`.
    #[must_use]
    pub const fn of(&self, reason: ExitReason) -> u64 {
        self.0[reason as usize]
    }

    /// All of them.
    #[must_use]
    #[inline]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Every reason with its count, zeroes included, in order.
    pub fn iter(&self) -> impl Iterator<Item = (ExitReason, u64)> + '_ {
        ExitReason::ALL.into_iter().zip(self.0)
    }

    /// What was counted since `earlier`, a copy of the same counts.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self(core::array::from_fn(|reason| self.0[reason].saturating_sub(earlier.0[reason])))
    }

    /// Adds the counts of another processor.
    pub fn add(&mut self, other: &Self) {
        for (count, other) in self.0.iter_mut().zip(other.0) {
            *count += other;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_kept_apart_and_in_order() {
        let mut counts = ExitCounts::default();
        counts.count(ExitReason::Wfi);
        let earlier = counts;
        counts.count(ExitReason::Wfi);
        counts.count(ExitReason::Mmio);
        assert_eq!((counts.of(ExitReason::Wfi), counts.total()), (2, 3));
        let since = counts.since(&earlier);
        assert_eq!((since.of(ExitReason::Wfi), since.of(ExitReason::Mmio), since.total()), (1, 1, 2));
        let mut sum = earlier;
        sum.add(&since);
        assert_eq!(sum, counts);
        let listed: Vec<ExitReason> = counts.iter().map(|(reason, _)| reason).collect();
        assert_eq!(listed, ExitReason::ALL);
        assert!(listed.is_sorted());
    }

    #[test]
    fn names_are_distinct() {
        let mut names = ExitReason::ALL.map(ExitReason::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
