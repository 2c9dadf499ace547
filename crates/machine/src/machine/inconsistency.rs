//! What becomes of guests when the hypervisor's accounts of tables and frames turn out to be wrong ([`memory::Inconsistency`]).

use crate::machine::Machine;
use crate::results::outcome::Outcome;

impl Machine {
    /// What is wrong with the tables that the hypervisor keeps: one line each. Empty unless a guest has shadow tables that are checked.
    #[must_use]
    pub fn check(&self) -> Vec<String> {
        let vms = self.state.vms.iter();
        vms.flat_map(|vm| vm.check_shadow(&self.state.host.memory)).map(|wrong| wrong.to_string()).collect()
    }

    /// Ends the guest in whose turn something was found.
    pub(crate) fn end_if_inconsistent(&mut self, guest: usize) {
        if let Some(inconsistency) = self.state.host.take_inconsistency() {
            self.end(guest, Outcome::Inconsistent(inconsistency));
        }
    }

    /// Something was found when no guest ran: no guest's successful end can be trusted.
    pub(crate) fn fail_if_inconsistent(&mut self) {
        let Some(inconsistency) = self.state.host.take_inconsistency() else { return };
        let ends = self.records.iter_mut().filter_map(|record| record.outcome.as_mut());
        for outcome in ends.filter(|outcome| outcome.status() == 0) {
            *outcome = Outcome::Inconsistent(inconsistency);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Console, Image, LEAST_MEMORY};
    use config::ConfigBuilder;
    use memory::{Cause, FrameError};
    use types::PageSize;

    struct NoConsole;

    impl Console for NoConsole {
        fn output(&mut self, _: usize, _: &[u8]) {}
        fn input(&mut self) -> std::io::Result<Vec<u8>> {
            Ok(Vec::new())
        }
    }

    fn machine() -> Machine {
        let image = Image {
            kernel: include_bytes!("../../../../guests/vos/vos.elf").as_slice().into(),
            kernel_name: "vos".to_owned(),
            load_address: None,
            initrd: None,
            command_line: "workload=hello".to_owned(),
            least_memory: LEAST_MEMORY,
            devices: Vec::new(),
        };
        let config = ConfigBuilder::default().set("scheme", "nested").unwrap().set("memory", "64M").unwrap();
        Machine::assemble_all(&config.build().unwrap(), &[image.clone(), image]).unwrap()
    }

    #[test]
    fn a_frame_that_is_freed_twice_ends_the_guest_in_whose_turn_it_is_with_the_reason() {
        let mut machine = machine();
        let host = &mut machine.state.host;
        let frame = host.frames.allocate(&host.memory, PageSize::Size4K).unwrap();
        host.frames.give_back(frame, "a page of the guest");
        host.frames.give_back(frame, "a page of the guest");
        let outcomes = machine.run_all(&mut NoConsole);
        let Outcome::Inconsistent(found) = &outcomes[0] else { panic!("{outcomes:?}") };
        assert_eq!(found.cause, Cause::Frames(FrameError::Free(frame)));
        assert_eq!(outcomes[0].status(), 1);
        let said =
            format!("the records of host memory are inconsistent: a page of the guest: frames {frame} are not owned");
        assert_eq!(outcomes[0].to_string(), said);
        assert_eq!(outcomes[1], Outcome::Finished(0), "the other guest goes on");
    }

    #[test]
    fn what_is_found_after_the_last_turn_fails_the_run() {
        let mut machine = machine();
        assert_eq!(machine.run_all(&mut NoConsole), [Outcome::Finished(0), Outcome::Finished(0)]);
        let host = &mut machine.state.host;
        let frame = host.frames.allocate(&host.memory, PageSize::Size4K).unwrap();
        host.frames.give_back(frame, "a table");
        host.frames.give_back(frame, "a table");
        machine.fail_if_inconsistent();
        assert!(machine.records.iter().all(|record| matches!(record.outcome, Some(Outcome::Inconsistent(_)))));
    }
}
