//! Several guests on one host.

use super::common::{Transcript, VOS, image};
use config::ConfigBuilder;
use hart::StopPoints;
use hypervisor::ExitReason;
use machine::debug::{DebugEvent, DebugSession};
use machine::{Console, Image, Machine, Outcome};
use std::time::Duration;

fn machine(scheme: &str, workloads: &[&str]) -> Result<Machine, machine::BuildError> {
    let builder = ConfigBuilder::default().set("scheme", scheme).unwrap().set("memory", "64M").unwrap();
    let images: Vec<Image> = workloads.iter().map(|workload| image(VOS, workload)).collect();
    Machine::assemble_all(&builder.set("harts", "2").unwrap().build().unwrap(), &images)
}

#[test]
fn guests_share_a_host_and_nothing_else() {
    let gups = "workload=gups size=1M updates=100000";
    let mut machine = machine("nested:4K+2M", &[gups, "workload=qsort size=256K", "workload=crash", gups]).unwrap();
    let mut transcript = Transcript::default();
    let outcomes = machine.run_all(&mut transcript);
    let expected = [Outcome::Finished(0), Outcome::Finished(0), Outcome::Finished(139), Outcome::Finished(0)];
    assert_eq!(outcomes, expected, "{:?}", transcript.0);
    assert!(transcript.0[0].contains("gups: ok") && transcript.0[1].contains("qsort: ok"), "{:?}", transcript.0);
    // Two guests that do the same count the same: nothing of one reaches the other's TLBs.
    let (first, last) = (machine.measured_of(0), machine.measured_of(3));
    assert_eq!((first.instructions, first.mmu.l1d_misses), (last.instructions, last.mmu.l1d_misses));
    assert!(first.instructions > 0 && first.mmu.l1d_misses > 0);
}

#[test]
fn a_host_is_one_guests_alone_at_the_most() {
    assert!(machine("native", &["workload=hello"]).is_ok());
    let error = machine("native", &["workload=hello", "workload=hello"]).err().expect("the second is refused");
    assert!(error.to_string().contains("cannot have the whole host"), "{error}");
}

#[test]
fn a_guest_computes_the_same_wherever_its_memory_lies() {
    let gups = "workload=gups size=1M updates=100000";
    let run = |scheme: &str, attribute: &str| {
        let builder = ConfigBuilder::default().set("scheme", scheme).unwrap().set("memory", "64M").unwrap();
        let config = builder.set("memory_attribute", attribute).unwrap().build().unwrap();
        let mut machine = Machine::assemble(&config, &image(VOS, gups)).unwrap();
        let mut transcript = Transcript::default();
        assert_eq!(machine.run(&mut transcript), Outcome::Finished(0), "{scheme} {attribute}: {:?}", transcript.0);
        (machine.statistics(), machine.measured())
    };
    for scheme in ["nested:4K+4K", "nested:4K+2M"] {
        let [virtual_, real, resident] = ["V=V", "V=R", "V=Resident"].map(|attribute| run(scheme, attribute));
        assert!(virtual_.0.exits.of(ExitReason::NestedFault) > 0);
        for fixed in [&real, &resident] {
            // Device accesses fault in the second stage too, but are counted as such.
            assert_eq!(fixed.0.exits.of(ExitReason::NestedFault), 0, "all of it is mapped");
            assert_eq!(fixed.1.instructions, virtual_.1.instructions);
        }
    }
}

#[test]
fn at_most_one_guest_of_a_host_is_v_equals_r() {
    let machine = |attribute: &str| {
        let builder = ConfigBuilder::default().set("scheme", "nested").unwrap().set("memory", "64M").unwrap();
        let config = builder.set("memory_attribute", attribute).unwrap().build().unwrap();
        let images = ["workload=hello", "workload=hello"].map(|workload| image(VOS, workload));
        Machine::assemble_all(&config, &images)
    };
    let error = machine("V=R").err().expect("the second is refused");
    assert!(error.is_usage() && error.to_string().contains("V=R is possible for one guest"), "{error}");
    let mut resident = machine("V=Resident").unwrap();
    assert_eq!(resident.run_all(&mut Transcript::default()), [Outcome::Finished(0), Outcome::Finished(0)]);
}

/// A user who could type and does not; how long they were given.
#[derive(Default)]
struct Silent(Vec<Option<Duration>>);

impl Console for Silent {
    fn output(&mut self, _: usize, _: &[u8]) {}
    fn input(&mut self) -> std::io::Result<Vec<u8>> {
        Ok(Vec::new())
    }
    fn listens(&self) -> bool {
        true
    }
    fn idle(&mut self, guest_time: Option<Duration>) -> bool {
        self.0.push(guest_time);
        false
    }
}

#[test]
fn a_guest_that_waits_for_keys_meets_its_time_limit() {
    let builder = ConfigBuilder::default().set("scheme", "nested").unwrap().set("memory", "64M").unwrap();
    let run = |timeout: &str| {
        let config = builder.clone().set("timeout", timeout).unwrap().build().unwrap();
        let mut console = Silent::default();
        let outcome = Machine::assemble(&config, &image(VOS, "misbehave=sleep")).unwrap().run(&mut console);
        (outcome, console.0)
    };
    let (outcome, given) = run("3");
    let Outcome::Timeout { seconds: 3, doing } = outcome else { panic!("{outcome}") };
    assert!(doing.starts_with("hart 0 waits for an interrupt at pc 0x"), "{doing}");
    let last = given.last().copied().flatten().expect("not for ever");
    assert!(last > Duration::from_secs(2) && last <= Duration::from_secs(3), "{last:?}");
    assert_eq!(run("0").0, Outcome::Halted, "without a limit the user is waited for as long as they may type");
}

/// OpenSBI 1.1 may let a hart that is started continue at the image's entry, where vos cleared its memory a second time.
#[test]
fn a_hart_that_is_started_at_the_entry_finds_its_place() {
    const ENTRY: u64 = 0x8020_0000;
    const SYMBOLS: &str = include_str!("../../../../guests/vos/vos.elf.symbols");
    let symbol = SYMBOLS.lines().find(|line| line.ends_with(" boot_secondary")).expect("boot.S has it");
    let linear = u64::from_str_radix(symbol.split(' ').next().unwrap(), 16).unwrap();
    let secondary = StopPoints::new(vec![linear & 0xffff_ffff], Vec::new());

    let mut machine = machine("native", &["workload=kv size=1M iterations=2000 procs=4"]).unwrap();
    let mut transcript = Transcript::default();
    let mut session = DebugSession::begin(&mut machine);
    session.resume(secondary, None);
    let mut stops = 0;
    let outcomes = loop {
        match session.advance(&mut transcript) {
            DebugEvent::Turn => {}
            DebugEvent::Stopped(stop) => {
                stops += 1;
                let mut registers = session.hart(stop.vcpu).registers;
                // The second time it comes from the entry.
                if stops == 1 {
                    registers.pc = ENTRY;
                    session.set_registers(stop.vcpu, &registers);
                }
            }
            DebugEvent::Ended(outcomes) => {
                assert!((0..2).all(|vcpu| session.statistics_of_vcpu(vcpu).instructions > 0));
                break outcomes;
            }
        }
    };
    assert_eq!((stops, outcomes), (2, vec![Outcome::Finished(0)]), "{:?}", transcript.0);
    assert_eq!(transcript.0[0].matches("kv: ok").count(), 4);
}
