//! The file of a snapshot. Its checksum is made to be right most of the time, or nothing behind the check would be reached.

use machine::config::{Config, ConfigBuilder};
use machine::snapshot::Snapshot;
use machine::{Console, Machine};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::time::Duration;
use tempfile::NamedTempFile;

/// Bytes before the description in a snapshot without memory.
const HEADER: usize = 4096;
/// The most memory of a machine that a snapshot asks for.
const MOST_MEMORY: u64 = 64 << 20;

/// A file with the description `text`, and no memory.
fn with_description(text: &[u8]) -> Vec<u8> {
    let mut file = vec![0; HEADER];
    file[..8].copy_from_slice(b"PAWSNAP\0");
    file[8] = 1;
    file[16..24].copy_from_slice(&(HEADER as u64).to_le_bytes());
    file[24..32].copy_from_slice(&(text.len() as u64).to_le_bytes());
    file.extend(text);
    let digest = Sha256::digest(&file);
    file[32..64].copy_from_slice(&digest);
    file
}

/// A console without a user; the run ends when it is looked at a few times.
struct Nobody(u32);

impl Console for Nobody {
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

/// Runs the target. The first byte says whether the rest is a whole file or a description.
pub fn run(input: &[u8]) {
    let Some((&kind, content)) = input.split_first() else { return };
    let file = if kind == b'f' { content.to_vec() } else { with_description(content) };
    let mut at = NamedTempFile::new().expect("there is room for a small file");
    at.write_all(&file).expect("there is room for a small file");
    let snapshot = match Snapshot::open(at.path()) {
        Ok(snapshot) => snapshot,
        Err(error) => {
            let _line = error.to_string();
            return;
        }
    };
    for scheme in ["native", "nested", "shadow"] {
        let Some(config) = configuration(&snapshot, scheme) else { continue };
        if snapshot.check(&config).is_err() {
            continue;
        }
        if let Ok(mut machine) = Machine::restore(&config, &snapshot) {
            let _outcome = machine.run(&mut Nobody(0));
        }
    }
}
