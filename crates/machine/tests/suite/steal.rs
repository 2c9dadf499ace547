//! Steal time of a vCPU whose pCPU others use as well.

use super::common::{Transcript, VOS, image};
use config::units::ByteSize;
use config::{AttributeName, ConfigBuilder};
use machine::sched::{Allocation, spin::SpinMethod};
use machine::sections::GuestSections;
use machine::{GuestPlan, HostPlan, Machine, Outcome};
use types::Cycles;

/// Checks the SBI, and that the reported steal time is positive and no more than the time that has passed.
const SBI_TEST: &[u8] = include_bytes!("../../../../guests/sbi/sbi-test.elf");

fn guest(kernel: &[u8], command_line: &str, background: bool) -> GuestPlan {
    GuestPlan {
        image: image(kernel, command_line),
        harts: 1,
        memory: ByteSize(64 << 20),
        memory_attribute: AttributeName::default(),
        weight: 1,
        allocation: Allocation::Shared,
        spin: SpinMethod::None,
        background,
        sections: GuestSections::default(),
    }
}

/// What the checks print beside `others` guests that spin on the one pCPU.
fn checked_beside(others: usize) -> String {
    let config = ConfigBuilder::default().set("scheme", "nested").unwrap().set("timeout", "60").unwrap();
    let mut guests = vec![guest(SBI_TEST, "", false)];
    guests.extend((0..others).map(|_| guest(VOS, "misbehave=spin", true)));
    // A millisecond of the default host.
    let plan = HostPlan { pcpus: 1, slice: Cycles(2_400_000), guests, ..HostPlan::default() };
    let mut machine = Machine::assemble_host(&config.build().unwrap(), &plan).expect("a host that can be");
    let mut transcript = Transcript::default();
    let outcomes = machine.run_all(&mut transcript);
    let printed = transcript.0.swap_remove(0);
    assert_eq!(outcomes[0], Outcome::Finished(0), "{printed}");
    printed
}

#[test]
fn the_record_of_a_vcpu_that_shares_its_pcpu_has_its_steal_time() {
    let printed = checked_beside(2);
    assert!(printed.contains("PASS: sta: the record is updated with the steal time"), "{printed}");
    assert!(printed.contains("PASS: sta: steal time is at most the time that has passed"), "{printed}");
}

#[test]
fn a_vcpu_that_is_alone_has_no_steal_time() {
    let printed = checked_beside(0);
    assert!(printed.contains("SKIP: sta: no other vCPU runs"), "{printed}");
}
