//! What a guest was doing when its run ended: a line for people who have to find out why it did not end by itself.

use crate::machine::Machine;
use crate::parts::vcpu::{Activity, Vcpu};
use types::Privilege;

/// The most harts that are described one by one.
const MOST_HARTS: usize = 4;

impl Machine {
    /// What the harts of a guest are doing, in words.
    pub(crate) fn doing(&self, guest: usize) -> String {
        let started: Vec<String> = self.harts_of(guest).filter_map(|index| doing(&self.vcpus[index])).collect();
        let mut told: Vec<String> = started.iter().take(MOST_HARTS).cloned().collect();
        if started.len() > MOST_HARTS {
            told.push(format!("and {} more", started.len() - MOST_HARTS));
        }
        told.join("; ")
    }
}

/// What a hart is doing; `None` if it does not run.
fn doing(vcpu: &Vcpu) -> Option<String> {
    let Vcpu { hart, hart_id, .. } = vcpu;
    let pc = hart.pc();
    let said = match vcpu.activity() {
        Activity::Stopped => return None,
        Activity::Waiting => format!("waits for an interrupt at pc {pc:#x}"),
        Activity::Running => match hart.trap_loop() {
            Some(trap_loop) => trap_loop.to_string(),
            None => {
                let mode = match hart.privilege() {
                    Privilege::User => "U-mode",
                    Privilege::Supervisor => "S-mode",
                };
                format!("executes in {mode} at pc {pc:#x}")
            }
        },
    };
    Some(format!("hart {hart_id} {said}"))
}
