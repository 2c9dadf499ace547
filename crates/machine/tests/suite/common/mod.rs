//! What the tests of machines share.

use machine::Console;

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
