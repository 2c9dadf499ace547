//! What the paper's section 3.3.2 measures of a VM, and the waits behind it.

use super::spin::SpinReason;
use types::Cycles;

/// Waiting times, by powers of two.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    /// Bucket 0: no cycle; bucket n: 2^(n − 1) cycles or more, and fewer than 2^n.
    buckets: [u64; 65],
    sum: u128,
    longest: Cycles,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: [0; 65], sum: 0, longest: Cycles(0) }
    }
}

impl Histogram {
    /// Counts one wait.
    pub fn count(&mut self, wait: Cycles) {
        self.buckets[(u64::BITS - wait.0.leading_zeros()) as usize] += 1;
        self.sum += u128::from(wait.0);
        self.longest = self.longest.max(wait);
    }

    /// How many.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Their mean, 0 if there was none.
    #[must_use]
    pub fn mean(&self) -> Cycles {
        Cycles((self.sum / u128::from(self.total().max(1))) as u64)
    }

    /// The longest.
    #[must_use]
    pub const fn longest(&self) -> Cycles {
        self.longest
    }

    /// The buckets that are not empty: the cycles that each begins at, and its count.
    pub fn iter(&self) -> impl Iterator<Item = (Cycles, u64)> + '_ {
        let start = |bucket: usize| Cycles(if bucket == 0 { 0 } else { 1 << (bucket - 1) });
        self.buckets.iter().enumerate().filter(|&(_, &count)| count > 0).map(move |(n, &count)| (start(n), count))
    }
}

/// What the scheduler counts of a VM.
#[derive(Clone, Debug, Default)]
pub struct VmStatistics {
    /// Spin calls by reason, in the order of [`SpinReason::ALL`].
    pub spin_calls: [u64; SpinReason::ALL.len()],
    /// Spin calls upon which no action was taken.
    pub continued: u64,
    /// Times that a vCPU was dispatched.
    pub dispatches: u64,
    /// Of these, on another pCPU than before.
    pub migrations: u64,
    /// Time slices consumed in full.
    pub slice_ends: u64,
    /// Times that the service quantity was consumed.
    pub service_ends: u64,
    /// pCPUs taken away in the middle of a slice.
    pub preemptions: u64,
    /// CPU busy time: its vCPUs on pCPUs, the hypervisor's work for them included.
    pub busy: Cycles,
    /// From ready to dispatched.
    pub waits: Histogram,
    /// From a spin call that was acted upon to the next dispatch.
    pub spin_waits: Histogram,
    /// Excessive spins that the guest reported.
    pub excessive_spins: u64,
    /// vCPUs that the guest took off line because of them.
    pub processors_lost: u64,
    /// Transactions ended, as the guest reported.
    pub ends: u64,
}

impl VmStatistics {
    /// All spin calls.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.spin_calls.iter().sum()
    }

    /// The paper's figures of merit, over `elapsed` cycles of simulated time on this many pCPUs of `hz`.
    #[must_use]
    pub fn merit(&self, elapsed: Cycles, hz: u64, pcpus: usize) -> Merit {
        let seconds = |cycles: Cycles| cycles.0 as f64 / hz as f64;
        let per = |count: u64, time: Cycles| if time.0 == 0 { 0.0 } else { count as f64 / seconds(time) };
        Merit {
            calls_per_busy_second: per(self.calls(), self.busy),
            utilisation: if elapsed.0 == 0 { 0.0 } else { self.busy.0 as f64 / (elapsed.0 as f64 * pcpus as f64) },
            etr: per(self.ends, elapsed),
            itr: per(self.ends, self.busy),
        }
    }
}

/// Tables 2 to 4, one VM.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Merit {
    /// Hypervisor calls to suspend a spin, per second of CPU busy time.
    pub calls_per_busy_second: f64,
    /// Guest utilisation ρ: busy time over all the pCPUs' time, 0 to 1.
    pub utilisation: f64,
    /// External throughput ratio: transactions per second of pcpu time.
    pub etr: f64,
    /// Internal throughput ratio: transactions per second of busy time.
    pub itr: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_fall_into_powers_of_two() {
        let mut histogram = Histogram::default();
        [0, 1, 2, 3, 1000].into_iter().for_each(|wait| histogram.count(Cycles(wait)));
        let buckets: Vec<(u64, u64)> = histogram.iter().map(|(from, count)| (from.0, count)).collect();
        assert_eq!(buckets, [(0, 1), (1, 1), (2, 2), (512, 1)]);
        assert_eq!((histogram.total(), histogram.mean(), histogram.longest()), (5, Cycles(201), Cycles(1000)));
        histogram.count(Cycles(u64::MAX));
        assert_eq!(histogram.longest(), Cycles(u64::MAX));
    }

    #[test]
    fn merit_is_the_papers() {
        let statistics =
            VmStatistics { spin_calls: [10, 0, 20, 0, 0], busy: Cycles(500), ends: 4, ..VmStatistics::default() };
        let merit = statistics.merit(Cycles(1000), 1000, 2);
        let expected = Merit { calls_per_busy_second: 60.0, utilisation: 0.25, etr: 4.0, itr: 8.0 };
        assert_eq!(merit, expected);
        assert_eq!(VmStatistics::default().merit(Cycles(0), 1000, 2).etr, 0.0);
    }
}
