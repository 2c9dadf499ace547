//! `wapd`: waiting for all partners to be dispatched (section 3.2.2, 3, with the state transitions of figures 13 and 14).
//!
//! ```text
//!                     call, some partner ready: DMASK ≠ 0, ASPW = 1, GSPW + 1  (1, 3)
//!            running ───────────────────────────────────────────────► wait state due to spinning
//!               ▲                                                         │   │ ▲
//!    dispatched │                                                         │   └─┘ a partner is dispatched: its bit of DMASK is cleared (2)
//!             ready ◄─────────────────────────────────────────────────────┘
//!                     the last bit is cleared: ASPW = 0, GSPW − 1  (4)
//! ```
//! The paper says that the dispatcher looks for waiting partners when "GSPW of the VM = 0, that is, at least one vCPU of the
//! VM is in a wait state due to spinning"; the second half shows that "≠ 0" is meant.

use super::control::{Answer, Partners, SpinCall, SpinControl};
use crate::sched::set::VcpuSet;

/// The policy `wapd`. `ASPW` of all LPCBs is a set, and the VMCB's `GSPW` is kept beside it, as the paper has it.
#[derive(Clone, Debug)]
pub struct Wapd {
    /// ASPWi = 1: vCPU i waits for all its partners that are ready to be dispatched.
    aspw: VcpuSet,
    /// DMASKi(j) = 1: i waits for j to be dispatched.
    dmask: Vec<VcpuSet>,
    /// The number of LPCBs whose ASPW = 1.
    gspw: u32,
    examined: u64,
}

impl Wapd {
    /// For a VM with this many vCPUs, none of which waits.
    #[must_use]
    pub fn new(vcpus: usize) -> Self {
        Self { aspw: VcpuSet::EMPTY, dmask: vec![VcpuSet::EMPTY; vcpus], gspw: 0, examined: 0 }
    }

    /// The number of LPCBs whose ASPW = 1.
    #[must_use]
    pub const fn gspw(&self) -> u32 {
        self.gspw
    }

    /// For whose dispatch vCPU `number` waits.
    #[must_use]
    pub fn dmask(&self, number: usize) -> VcpuSet {
        self.dmask[number]
    }
}

impl SpinControl for Wapd {
    fn spin(&mut self, caller: usize, _: SpinCall, partners: &Partners) -> Answer {
        self.examined += self.dmask.len() as u64 - 1;
        let awaited = partners.ready();
        if awaited.is_empty() {
            return Answer::Continue;
        }
        self.dmask[caller] = awaited;
        self.aspw.insert(caller);
        self.gspw += 1;
        Answer::Wait
    }

    fn dispatched(&mut self, number: usize) -> VcpuSet {
        debug_assert!(!self.aspw.contains(number), "who waits is not dispatched");
        let mut released = VcpuSet::EMPTY;
        if self.gspw == 0 {
            return released;
        }
        self.examined += self.dmask.len() as u64 - 1;
        for (waiting, dmask) in self.dmask.iter_mut().enumerate() {
            if dmask.remove(number) && dmask.is_empty() {
                released.insert(waiting);
                self.aspw.remove(waiting);
                self.gspw -= 1;
            }
        }
        released
    }

    fn waiting(&self) -> VcpuSet {
        self.aspw
    }

    fn release_all(&mut self) -> VcpuSet {
        self.dmask.fill(VcpuSet::EMPTY);
        self.gspw = 0;
        core::mem::take(&mut self.aspw)
    }

    fn examined(&self) -> u64 {
        self.examined
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::spin::SpinReason;

    const CALL: SpinCall = SpinCall { reason: SpinReason::Lock, partner: None };

    fn ready(numbers: &[usize]) -> Partners {
        Partners { proper_ready: VcpuSet::of(numbers), ..Partners::default() }
    }

    #[test]
    fn the_state_goes_round_figure_14() {
        let mut wapd = Wapd::new(4);
        // (1, 3) The call: DMASK names who is ready.
        assert_eq!(wapd.spin(0, CALL, &ready(&[1, 2])), Answer::Wait);
        assert_eq!((wapd.gspw(), wapd.dmask(0)), (1, VcpuSet::of(&[1, 2])));
        // A second one that spins waits for any vCPU that is ready and not waiting itself.
        assert_eq!(wapd.spin(3, CALL, &ready(&[1, 2])), Answer::Wait);
        assert_eq!(wapd.gspw(), 2);
        // (2) A dispatch clears a bit of each mask.
        assert_eq!(wapd.dispatched(2), VcpuSet::EMPTY);
        assert_eq!((wapd.dmask(0), wapd.dmask(3)), (VcpuSet::of(&[1]), VcpuSet::of(&[1])));
        // Once dispatched is dispatched.
        assert_eq!(wapd.dispatched(2), VcpuSet::EMPTY);
        // (4) The last bit ends the wait.
        assert_eq!(wapd.dispatched(1), VcpuSet::of(&[0, 3]));
        assert_eq!((wapd.gspw(), wapd.waiting()), (0, VcpuSet::EMPTY));
    }

    #[test]
    fn no_vcpu_waits_where_no_partner_is_ready() {
        let mut wapd = Wapd::new(2);
        let running = Partners { running: VcpuSet::of(&[1]), ..Partners::default() };
        assert_eq!(wapd.spin(0, CALL, &running), Answer::Continue);
        assert_eq!((wapd.gspw(), wapd.waiting()), (0, VcpuSet::EMPTY));
    }
}
