//! Finding out that a guest spins by its `pause` instructions, as pause-loop exiting does (Intel SDM volume 3, section 26.1.3; the window and
//! the gap are KVM's `ple_window` and `ple_gap`).

use types::Cycles;

/// What counts as a spin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PauseLoopLimits {
    /// The most cycles between two `pause` of one loop.
    pub gap: Cycles,
    /// The most cycles that a loop may take before it counts as a spin.
    pub window: Cycles,
}

impl Default for PauseLoopLimits {
    /// KVM's: `KVM_DEFAULT_PLE_GAP` and `KVM_VMX_DEFAULT_PLE_WINDOW` (Linux 6.1, `arch/x86/kvm/x86.h`).
    fn default() -> Self {
        Self { gap: Cycles(128), window: Cycles(4096) }
    }
}

/// The loop that a vCPU may be in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PauseLoop {
    /// When its first `pause` was, and when the latest.
    seen: Option<(Cycles, Cycles)>,
}

impl PauseLoop {
    /// A `pause` at `now`; whether that makes it a spin. If so, the next loop starts again.
    pub fn pause(&mut self, now: Cycles, limits: &PauseLoopLimits) -> bool {
        let first = match self.seen {
            Some((first, latest)) if now.0.saturating_sub(latest.0) <= limits.gap.0 => first,
            _ => now,
        };
        let spins = now.0 - first.0 > limits.window.0;
        self.seen = (!spins).then_some((first, now));
        spins
    }

    /// The vCPU has left its pCPU: what follows is another loop.
    pub fn end(&mut self) {
        self.seen = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: PauseLoopLimits = PauseLoopLimits { gap: Cycles(10), window: Cycles(100) };

    #[test]
    fn a_loop_is_a_spin_once_it_outlasts_the_window() {
        let mut pauses = PauseLoop::default();
        let spins: Vec<u64> = (0..40).map(|n| n * 10).filter(|&now| pauses.pause(Cycles(now), &LIMITS)).collect();
        assert_eq!(spins, [110, 230, 350]);
    }

    #[test]
    fn pauses_far_apart_are_none() {
        let mut pauses = PauseLoop::default();
        assert!((0..100).all(|n| !pauses.pause(Cycles(n * 11), &LIMITS)));
    }

    #[test]
    fn a_loop_ends_with_the_stay_on_a_processor() {
        let mut pauses = PauseLoop::default();
        assert!(!pauses.pause(Cycles(0), &PauseLoopLimits { gap: Cycles(1000), window: Cycles(100) }));
        pauses.end();
        assert!(!pauses.pause(Cycles(500), &PauseLoopLimits { gap: Cycles(1000), window: Cycles(100) }));
    }
}
