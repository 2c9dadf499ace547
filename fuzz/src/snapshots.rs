//! The file of a snapshot. Its checksums are made to be right most of the time, or nothing behind the checks would be reached.

use crate::snapshot_file::{with_description, with_memory};
use config::{Config, ConfigBuilder};
use machine::snapshot::Snapshot;
use machine::{Console, Machine};
use std::io::Write;
use std::time::Duration;
use tempfile::NamedTempFile;

/// The most memory of a machine that a snapshot asks for.
const MOST_MEMORY: u64 = 64 << 20;

/// Those that a guest goes on under.
const SCHEMES: [&str; 4] = ["native", "nested", "shadow", "dual-direct"];

/// A console without a user; the run ends when it is looked at a few times.
struct NoConsole(u32);

impl Console for NoConsole {
    fn output(&mut self, _: usize, _: &[u8]) {}

    fn input(&mut self) -> std::io::Result<Vec<u8>> {
        self.0 += 1;
        if self.0 > 4 { Err(std::io::ErrorKind::Interrupted.into()) } else { Ok(Vec::new()) }
    }

    fn listens(&self) -> bool {
        false
    }

    fn idle(&mut self, _: Option<Duration>) -> bool {
        false
    }
}

/// A machine that can go on with `snapshot`, if there is one that is not too large.
fn configuration(snapshot: &Snapshot, scheme: &str) -> Option<Config> {
    let mut builder = ConfigBuilder::default().set("scheme", scheme).ok()?.set("timeout", "1").ok()?;
    for (key, value) in snapshot.shape().settings() {
        builder = builder.set(key, &value).ok()?;
    }
    builder.build().ok().filter(|config| config.memory.0 <= MOST_MEMORY)
}

/// Runs the target. The first byte says what the rest is: a whole file, a description and memory, or a description.
pub fn run(input: &[u8]) {
    let Some((&kind, content)) = input.split_first() else { return };
    let file = match kind {
        b'f' => content.to_vec(),
        b'm' => with_memory(content),
        _ => with_description(content),
    };
    let mut at = NamedTempFile::new().expect("there is room for a small file");
    at.write_all(&file).expect("there is room for a small file");
    let snapshot = match Snapshot::open(at.path()) {
        Ok(snapshot) => snapshot,
        Err(error) => {
            let _line = error.to_string();
            return;
        }
    };
    for scheme in SCHEMES {
        let Some(config) = configuration(&snapshot, scheme) else { continue };
        if snapshot.check(&config).is_err() {
            continue;
        }
        if let Ok(mut machine) = Machine::restore(&config, &snapshot, &[]) {
            let _outcome = machine.run(&mut NoConsole(0));
        }
    }
}

#[cfg(test)]
mod tests;
