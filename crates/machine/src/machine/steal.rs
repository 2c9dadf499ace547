//! The steal time of vCPUs: when it begins and ends, and how the guest is told.

use crate::machine::Machine;
use crate::parts::steal::{StealTime, nanoseconds};
use hypervisor::sbi::{STEAL_AREA_BYTES, SbiError};
use hypervisor::sched::{State, VcpuId};
use types::{Cycles, Gpa};

/// The structure's fields (table "STA Shared Memory Structure"): sequence, flags, steal, preempted and the first of its padding.
const WRITTEN: usize = 24;

/// Where `preempted` is.
const PREEMPTED: u64 = 16;

impl Machine {
    /// The guest wants to be told of the steal time of `index` at `area`, from zero on, or no longer.
    pub(crate) fn set_steal_area(&mut self, index: usize, area: Option<Gpa>) -> Result<u64, SbiError> {
        let guest = self.vcpus[index].guest;
        if let Some(area) = area {
            let zeroes = [0; STEAL_AREA_BYTES as usize];
            self.state.write_guest(guest, area, &zeroes).map_err(|_| SbiError::Failed)?;
        }
        self.vcpus[index].steal = StealTime { area, ..StealTime::default() };
        Ok(0)
    }

    /// `index` has something to do from `now` on; if it has no pCPU then, that is stolen time.
    pub(crate) fn steal_begins(&mut self, index: usize, now: Cycles) {
        let vcpu = &mut self.vcpus[index];
        if vcpu.residence.pcpu.is_none() && self.dispatch.scheduler.state(VcpuId(index)) != State::Waiting {
            vcpu.steal.ready_since.get_or_insert(now);
        }
    }

    /// `index` has lost its pCPU at `now`.
    pub(crate) fn steal_tells_preempted(&mut self, index: usize, now: Cycles) {
        self.steal_begins(index, now);
        let vcpu = &self.vcpus[index];
        if let (Some(area), Some(_)) = (vcpu.steal.area, vcpu.steal.ready_since) {
            self.tell(index, area.wrapping_add(PREEMPTED), &[1]);
        }
    }

    /// `index` has got a pCPU, where it goes on at `from`.
    pub(crate) fn steal_ends(&mut self, index: usize, from: Cycles) {
        let steal = &mut self.vcpus[index].steal;
        let Some(since) = steal.ready_since.take() else { return };
        steal.stolen += Cycles(from.0.saturating_sub(since.0));
        let Some(area) = steal.area else { return };
        steal.sequence = steal.sequence.wrapping_add(2);
        let (sequence, stolen) = (steal.sequence, steal.stolen);
        let mut fields = [0; WRITTEN];
        fields[..4].copy_from_slice(&sequence.to_le_bytes());
        fields[8..16].copy_from_slice(&nanoseconds(stolen, self.clock()).to_le_bytes());
        self.tell(index, area, &fields);
    }

    /// Writes into the guest's structure. Where the host has no memory for it, the record is no longer updated.
    fn tell(&mut self, index: usize, at: Gpa, bytes: &[u8]) {
        let guest = self.vcpus[index].guest;
        if self.state.write_guest(guest, at, bytes).is_err() {
            self.vcpus[index].steal.area = None;
        }
    }
}
