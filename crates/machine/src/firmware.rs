//! The supervisor binary interface, as the machine executes it (SBI 2.0).

use crate::{
    machine::{Activity, Machine},
    outcome::Outcome,
};
use hart::Interrupt;
use monitor::ExitReason;
use types::Cycles;

impl Machine {
    pub(crate) fn supervisor_call(&mut self, index: usize, now: Cycles) -> Option<Outcome> {
        self.world.charge_exit(ExitReason::Sbi);
        let hart = &mut self.logicals[index].hart;
        let [a0, a1, a2, a3, a4, _, fid, eid] = [10, 11, 12, 13, 14, 15, 16, 17].map(|n| hart.register(n));
        let _ = (a3, a4);
        let mut outcome = None;
        let result: Result<u64, i64> = match (eid, fid) {
            (0x10, 0) => Ok(2 << 24),
            (0x10, 1) => Ok(0x50),
            (0x10, 2) => Ok(1),
            (0x10, 3) => Ok([0x10, 0x5449_4d45, 0x0073_5049, 0x5246_4e43, 0x0048_534d, 0x5352_5354, 0x4442_434e].contains(&a0) as u64),
            (0x10, 4..=6) => Ok(0),
            (0x5449_4d45, 0) => {
                hart.set_timer(a0);
                Ok(0)
            }
            (0x0073_5049, 0) => {
                for target in self.targets(a0, a1) {
                    self.logicals[target].hart.set_pending(Interrupt::Software, true);
                    self.logicals[target].event = now;
                }
                Ok(0)
            }
            (0x5246_4e43, 0) => Ok(0),
            (0x5246_4e43, 1 | 2) => {
                let asid = (fid == 2).then_some(types::Asid(a4 as u16));
                let pages = if a2 == 0 && a3 == 0 || a3 > 64 << 12 { None } else { Some((a2 & !0xfff, a3)) };
                for target in self.targets(a0, a1) {
                    let mmu = &mut self.world.processors[target].mmu;
                    match pages {
                        None => mmu.fence(&mmu::Fence::Vma { gva: None, asid }),
                        Some((start, size)) => {
                            for page in (start..start.saturating_add(size)).step_by(4096) {
                                mmu.fence(&mmu::Fence::Vma { gva: Some(types::Gva(page)), asid });
                            }
                        }
                    }
                }
                Ok(0)
            }
            (0x0048_534d, 0) => {
                if (a0 as usize) < self.logicals.len() && self.logicals[a0 as usize].activity == Activity::Stopped {
                    self.start(a0 as usize, a1, a2, now);
                    Ok(0)
                } else {
                    Err(-6)
                }
            }
            (0x0048_534d, 1) => {
                self.logicals[index].activity = Activity::Stopped;
                Ok(0)
            }
            (0x0048_534d, 2) => match self.logicals.get(a0 as usize) {
                None => Err(-3),
                Some(l) => Ok(u64::from(l.activity == Activity::Stopped)),
            },
            (0x5352_5354, 0) => {
                outcome = Some(if a1 == 0 { Outcome::Shutdown } else { Outcome::GuestFailure });
                Ok(0)
            }
            (0x4442_434e, 0) => {
                let mut bytes = vec![0; a0 as usize];
                let _ = self.world.host.memory.read_slice(types::Hpa(a1), &mut bytes);
                self.printed.extend(bytes);
                Ok(a0)
            }
            (0x4442_434e, 2) => {
                self.printed.push(a0 as u8);
                Ok(0)
            }
            _ => Err(-2),
        };
        let hart = &mut self.logicals[index].hart;
        let (error, value) = match result {
            Ok(v) => (0, v),
            Err(e) => (e as u64, 0),
        };
        hart.set_register(10, error);
        hart.set_register(11, value);
        outcome
    }

    fn targets(&self, mask: u64, base: u64) -> Vec<usize> {
        (0..self.logicals.len())
            .filter(|&i| base == u64::MAX || (i as u64).checked_sub(base).is_some_and(|b| b < 64 && mask >> b & 1 != 0))
            .collect()
    }
}
