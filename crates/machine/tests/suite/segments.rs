//! Segments under faulty frames: what a guest computes, and what lies in a frame that must not be accessed.

use super::common::{VOS, image};
use config::{Config, ConfigBuilder};
use machine::{Console, FaultyFrame, HOST_BASE, Machine, Outcome};
use types::{Gpa, Hpa};

const PAGE: u64 = 4096;

struct Quiet(String);

impl Console for Quiet {
    fn output(&mut self, _: usize, bytes: &[u8]) {
        self.0 += &String::from_utf8_lossy(bytes);
    }
    fn input(&mut self) -> std::io::Result<Vec<u8>> {
        Ok(Vec::new())
    }
}

fn config(settings: &[(&str, &str)]) -> Config {
    let builder = ConfigBuilder::default().set("memory", "64M").unwrap();
    settings.iter().fold(builder, |builder, &(key, value)| builder.set(key, value).unwrap()).build().unwrap()
}

fn machine(config: &Config, work: &str) -> Machine {
    Machine::assemble(config, &image(VOS, work)).unwrap()
}

/// The shipped host with a clock of 1 MHz: a second of the guest takes a fraction of one of ours.
fn slow_host() -> tempfile::NamedTempFile {
    let shipped = include_str!("../../../../hosts/sandybridge-2012.toml");
    let slow = shipped.replace("clock_hz = 2_400_000_000", "clock_hz = 1_000_000");
    assert_ne!(slow, shipped);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), slow).unwrap();
    file
}

#[track_caller]
fn succeeds(machine: &mut Machine) {
    let mut console = Quiet(String::new());
    assert_eq!(machine.run(&mut console), Outcome::Finished(0), "{}", console.0);
}

/// What is written to faulty frames, each word its own.
fn poison(at: Hpa) -> u64 {
    at.0 ^ 0xdead_beef_0bad_f00d
}

const GUPS: &str = "workload=gups size=1M updates=50000";

#[test]
fn no_access_reaches_a_frame_that_was_faulty_from_the_start() {
    for (scheme, count) in [("vmm-direct", 1), ("vmm-direct", 16), ("dual-direct", 256), ("nested", 256)] {
        let count = count.to_string();
        let config = config(&[("scheme", scheme), ("faulty.count", &count)]);
        let mut machine = machine(&config, GUPS);
        let faulty: Vec<Hpa> = machine.faulty_frames();
        assert_eq!(faulty.len().to_string(), count);
        let words = || faulty.iter().flat_map(|&frame| (0..PAGE).step_by(8).map(move |at| frame.wrapping_add(at)));
        for at in words() {
            machine.host_memory().write(at, poison(at)).unwrap();
        }
        succeeds(&mut machine);
        for at in words() {
            assert_eq!(machine.host_memory().read(at), Ok(poison(at)), "{scheme}, {at}");
        }
        assert_eq!(machine.replaced_pages() > 0, scheme != "nested", "{scheme}, {count}");
    }
}

#[test]
fn a_page_that_fails_while_the_guest_runs_keeps_its_contents_and_its_frame_rests() {
    for scheme in ["vmm-direct", "dual-direct"] {
        let host = slow_host();
        let config = config(&[("scheme", scheme), ("timeout", "4"), ("host", host.path().to_str().unwrap())]);
        let mut machine = machine(&config, "workload=gups size=1M updates=50000000");
        // Long enough for the table to be there; the run itself would take longer.
        let mut console = Quiet(String::new());
        let outcome = machine.run(&mut console);
        assert!(matches!(outcome, Outcome::Timeout { seconds: 4, .. }), "{outcome}: {}", console.0);
        let region = Gpa(0x8000_0000 + (32 << 20));
        for page in 0..64 {
            let gpa = region.wrapping_add(page * PAGE);
            let (before, from) = (machine.guest_word(gpa), machine.segment_place(gpa).unwrap());
            assert_eq!(machine.mark_faulty(from), Ok(FaultyFrame::Replaced));
            assert_ne!(machine.segment_place(gpa), Some(from));
            assert_eq!(machine.guest_word(gpa), before, "{scheme}: the contents came along");
        }
        assert_eq!(machine.replaced_pages(), 64);
        // A free frame is never allocated from now on.
        let last = HOST_BASE.wrapping_add(machine.host_memory().len() - PAGE);
        assert_eq!(machine.mark_faulty(last), Ok(FaultyFrame::Free));
        assert!(machine.mark_faulty(Hpa(0)).is_err());
    }
}

/// While the guest runs: frames fail at a time of its own, and the program checks every word that it has.
#[test]
fn frames_that_fail_in_the_middle_of_a_run_change_no_result() {
    for scheme in ["vmm-direct", "dual-direct", "guest-direct", "nested", "nested:4K+2M"] {
        let host = slow_host();
        let settings = [
            ("scheme", scheme),
            ("faulty.count", "2000"),
            ("faulty.at", "1"),
            ("segment.filter.bits", "65536"),
            ("host", host.path().to_str().unwrap()),
        ];
        let mut machine = machine(&config(&settings), GUPS);
        assert!(machine.faulty_frames().is_empty());
        succeeds(&mut machine);
        let faulty = machine.faulty_frames();
        assert_eq!(faulty.len(), 2000, "{scheme}");
        let replaced = machine.replaced_pages();
        assert_eq!(replaced > 1000, scheme.starts_with("vmm") || scheme.starts_with("dual"), "{scheme}: {replaced}");
    }
}
