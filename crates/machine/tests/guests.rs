//! Several guests on one host.

use machine::config::ConfigBuilder;
use machine::{Console, Image, LEAST_MEMORY, Machine, Outcome};
use std::time::Duration;

const VOS: &[u8] = include_bytes!("../../../guests/vos/vos.elf");

/// Keeps what each guest prints.
#[derive(Default)]
struct Transcript(Vec<String>);

impl Console for Transcript {
    fn output(&mut self, guest: usize, bytes: &[u8]) {
        self.0.resize(self.0.len().max(guest + 1), String::new());
        self.0[guest] += &String::from_utf8_lossy(bytes);
    }
    fn input(&mut self) -> std::io::Result<Vec<u8>> {
        Ok(Vec::new())
    }
    fn idle(&mut self, _: Option<Duration>) -> bool {
        false
    }
}

fn image(workload: &str) -> Image {
    Image {
        kernel: VOS.into(),
        kernel_name: "vos".to_owned(),
        initrd: None,
        command_line: workload.to_owned(),
        least_memory: LEAST_MEMORY,
        devices: Vec::new(),
    }
}

fn machine(scheme: &str, workloads: &[&str]) -> Result<Machine, machine::BuildError> {
    let builder = ConfigBuilder::default().set("scheme", scheme).unwrap().set("memory", "64M").unwrap();
    let images: Vec<Image> = workloads.iter().map(|workload| image(workload)).collect();
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
    assert!(error.to_string().contains("alone"), "{error}");
}
