//! What the tests of machines share.

pub(crate) mod instructions;

use config::{Config, ConfigBuilder};
use machine::{Console, Image, LEAST_MEMORY};
use std::sync::Arc;

pub(crate) const VOS: &[u8] = include_bytes!("../../../../../guests/vos/vos.elf");

/// Keeps what each guest prints.
#[derive(Default)]
pub(crate) struct Transcript(pub(crate) Vec<String>);

impl Console for Transcript {
    fn output(&mut self, guest: usize, bytes: &[u8]) {
        self.0.resize(self.0.len().max(guest + 1), String::new());
        self.0[guest] += &String::from_utf8_lossy(bytes);
    }
    fn input(&mut self) -> std::io::Result<Vec<u8>> {
        Ok(Vec::new())
    }
}

/// The configuration with some keys set.
pub(crate) fn config(settings: &[(&str, &str)]) -> Config {
    let set = |builder: ConfigBuilder, &(key, value): &(&str, &str)| builder.set(key, value).unwrap();
    settings.iter().fold(ConfigBuilder::default(), set).build().unwrap()
}

/// A kernel and its command line, without devices.
pub(crate) fn image(kernel: impl Into<Arc<[u8]>>, command_line: &str) -> Image {
    Image {
        kernel: kernel.into(),
        kernel_name: "guest".to_owned(),
        load_address: None,
        initrd: None,
        command_line: command_line.to_owned(),
        least_memory: LEAST_MEMORY,
        devices: Vec::new(),
    }
}

/// An ELF file of one segment, entered at its start.
pub(crate) fn elf(at: u64, memory: &[u8]) -> Vec<u8> {
    let length = memory.len() as u64;
    let half = |values: &[u16]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
    let word = |values: &[u32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
    let double = |values: &[u64]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<_>>();
    let header = [
        b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec(),
        half(&[2, 243]),
        word(&[1]),
        double(&[at, 64, 0]),
        word(&[0]),
        half(&[64, 56, 1, 0, 0, 0]),
        word(&[1, 7]),
        double(&[4096, at, at, length, length, 4096]),
    ];
    let mut file = header.concat();
    file.resize(4096, 0);
    file.extend(memory);
    file
}
