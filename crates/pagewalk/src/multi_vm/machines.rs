//! The machines that run the guests of a host: one for all of them, or several side by side where guests are independent.

use machine::Machine;
use std::ops::Range;
use types::Cycles;

/// Machines to a thread, so that a thread whose guests have ended early finds more.
const MACHINES_PER_THREAD: usize = 4;

/// A machine that has run, and which guests of the host were in it.
pub(crate) struct Part {
    /// With these guests, counted from 0.
    pub(crate) machine: Machine,
    /// The same guests, by their numbers in the host.
    pub(crate) guests: Range<usize>,
}

/// All machines of a host, in the order of its guests.
pub(crate) struct Machines(Vec<Part>);

impl Machines {
    /// Of these, of which there is at least one.
    pub(crate) fn new(parts: Vec<Part>) -> Self {
        debug_assert!(!parts.is_empty(), "a host has a guest");
        Self(parts)
    }

    /// The machine in which a guest was, and its number there.
    pub(crate) fn of(&self, guest: usize) -> (&Machine, usize) {
        let part = self.0.iter().find(|part| part.guests.contains(&guest)).expect("each guest is in a machine");
        (&part.machine, guest - part.guests.start)
    }

    /// A machine with all that guests share. There is only one where they share anything.
    pub(crate) fn shared(&self) -> &Machine {
        &self.0[0].machine
    }

    /// The same.
    pub(crate) fn shared_mut(&mut self) -> &mut Machine {
        &mut self.0[0].machine
    }

    /// Simulated time until the pCPU that is furthest stopped.
    pub(crate) fn elapsed(&self) -> Cycles {
        self.0.iter().map(|part| part.machine.elapsed()).max().unwrap_or_default()
    }

    /// Time that all pCPUs have spent on scheduling.
    pub(crate) fn scheduling_time(&self) -> Cycles {
        self.0.iter().map(|part| part.machine.scheduling_time()).sum()
    }
}

/// The guests of each machine, where `threads` threads of the host run so many independent ones.
pub(crate) fn parts(guests: usize, threads: usize) -> Vec<Range<usize>> {
    let machines = guests.min(threads.saturating_mul(MACHINES_PER_THREAD)).max(1);
    (0..machines).map(|machine| machine * guests / machines..(machine + 1) * guests / machines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_guest_is_in_one_machine() {
        for guests in 1..20 {
            for threads in 1..6 {
                let parts = parts(guests, threads);
                assert!(parts.iter().cloned().flatten().eq(0..guests), "{guests} guests, {threads} threads");
                assert!(parts.len() <= 4 * threads && parts.iter().all(|part| !part.is_empty()));
            }
        }
    }
}
