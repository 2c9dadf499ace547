//! A guest on machines that differ in their engine alone.

use config::host_model::HostModel;
use config::{Config, ConfigBuilder, ConfigError};
use machine::{Console, Image, LEAST_MEMORY, Machine, VirtioKind};
use schemes::registry;
use std::io::Write;
use std::sync::OnceLock;
use std::time::Duration;
use tempfile::NamedTempFile;
use testing::Random;

/// Settings that a machine has or has not, each with a value that is not the default.
const SETTINGS: [(&str, &str); 13] = [
    ("fidelity", "cycles"),
    ("fidelity", "core"),
    ("memory_attribute", "V=Resident"),
    ("memory_attribute", "V=R"),
    ("mmu.ad", "fault"),
    ("isa.sstc", "false"),
    ("isa.svnapot", "false"),
    ("isa.c", "false"),
    ("shadow.coherence", "write-protect"),
    ("shadow.tables", "single"),
    ("shadow.invalidation", "full"),
    ("shadow.assist", "multi-shadow"),
    ("quantum", "100"),
];

/// A processor with a clock of 50 kHz: a limit of one second of guest time is one of 50 000 instructions.
fn slow_host() -> &'static str {
    static FILE: OnceLock<NamedTempFile> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        let text = HostModel::text("xeon-2017").expect("it is shipped");
        let slow = text.replace("clock_hz = 2_100_000_000", "clock_hz = 50_000");
        assert_ne!(text, slow, "the shipped model has another clock");
        let mut file = NamedTempFile::new().expect("there is room for a small file");
        file.write_all(slow.as_bytes()).expect("there is room for a small file");
        file
    });
    file.path().to_str().expect("temporary files have plain names")
}

/// A machine of up to three harts under any scheme, but for its engine.
pub(crate) fn configuration(random: &mut Random) -> Result<ConfigBuilder, ConfigError> {
    let mut builder = ConfigBuilder::default()
        .set("host", slow_host())?
        .set("memory", "16M")?
        .set("timeout", "1")?
        .set("scheme", random.pick(registry::all()).facts().name)?
        .set("harts", &(1 + random.below(3)).to_string())?;
    for _ in 0..random.below(3) {
        let (key, value) = random.pick(&SETTINGS);
        builder = builder.set(key, value)?;
    }
    Ok(builder)
}

/// What can be observed of a run.
#[derive(PartialEq, Debug)]
struct Run {
    outcome: machine::Outcome,
    printed: Vec<u8>,
    statistics: String,
}

struct Printed(Vec<u8>);

impl Console for Printed {
    fn output(&mut self, _: usize, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    fn input(&mut self) -> std::io::Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn listens(&self) -> bool {
        false
    }

    fn idle(&mut self, _: Option<Duration>) -> bool {
        false
    }
}

/// Runs `kernel` under every engine.
///
/// # Panics
/// If a run differs from that of the `match` engine, or leaves a shadow entry that is not allowed.
pub(crate) fn under_every_engine(builder: &ConfigBuilder, kernel: &[u8]) {
    let run = |engine: &str| {
        let config = builder.clone().set("engine", engine).and_then(ConfigBuilder::build).ok()?;
        run(&config, kernel)
    };
    let expected = run("match");
    for engine in ["threaded", "baseline-all", "compiled-all"] {
        assert_eq!(run(engine), expected, "{engine} differs from match");
    }
}

/// One run; `None` where the configuration contradicts itself.
fn run(config: &Config, kernel: &[u8]) -> Option<Run> {
    let image = Image {
        kernel: kernel.into(),
        kernel_name: "kernel".to_owned(),
        load_address: None,
        initrd: None,
        command_line: String::new(),
        least_memory: LEAST_MEMORY,
        devices: vec![VirtioKind::Console, VirtioKind::Net, VirtioKind::Rng, VirtioKind::Balloon],
    };
    let mut machine = Machine::assemble(config, &image).ok()?;
    let mut printed = Printed(Vec::new());
    let outcome = machine.run(&mut printed);
    assert_eq!(machine.check(), [""; 0], "shadow entries that are not allowed");
    Some(Run { outcome, printed: printed.0, statistics: format!("{:?}", machine.statistics()) })
}
