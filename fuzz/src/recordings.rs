//! The file of a recording, and its events done to machines. Checksums are made to be right most of the time, or nothing behind them would be
//! reached.

pub mod traces;

use config::ConfigBuilder;
use machine::{Console, Image, Machine, Source};
use recording::{Content, Decoder, Ends, Event, Reader, Writer};
use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;
use types::Gpa;

/// Those that events are done under.
const SCHEMES: [&str; 4] = ["native", "nested", "shadow", "flat"];

/// Where the kernel lies, of which nothing is executed.
const KERNEL: Gpa = Gpa(0x8020_0000);

/// A console without a user.
struct NoConsole;

impl Console for NoConsole {
    fn output(&mut self, _: usize, _: &[u8]) {}

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

/// The events of a content, up to the first that is none.
fn events(content: &Content) -> Vec<Event> {
    let mut decoder = Decoder::new(content);
    std::iter::from_fn(|| decoder.next_event().ok().flatten()).collect()
}

/// A recording of `events`.
fn file(events: &[Event]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, "{}", &[]).expect("memory takes everything");
    for event in events {
        match event {
            Event::Access { access, page, ends: Ends::Done } => writer.access(*access, *page),
            other => writer.event(other),
        }
    }
    writer.finish(false).expect("memory takes everything");
    file
}

/// Does what a recording says to a machine of each scheme; whether all of them have come to its end.
fn replay(file: &[u8]) -> bool {
    let mut ended = true;
    for scheme in SCHEMES {
        let config = ConfigBuilder::default().set("scheme", scheme).and_then(|builder| builder.set("memory", "'32M'"));
        let config = config.and_then(ConfigBuilder::build).expect("the configuration is valid");
        let image = Image {
            kernel: Arc::from([0x6f, 0, 0, 0]),
            kernel_name: "kernel".to_owned(),
            load_address: Some(KERNEL),
            initrd: None,
            command_line: String::new(),
            least_memory: 0,
            devices: Vec::new(),
        };
        let mut machine = Machine::assemble(&config, &image).expect("there is memory for a small machine");
        let Ok(reader) = Reader::open(Box::new(Cursor::new(file.to_vec())) as Box<dyn Source>) else { return false };
        machine.replay(reader);
        let _outcome = machine.run(&mut NoConsole);
        if let Some(failure) = machine.take_replay_failure() {
            assert_eq!(failure.to_string().lines().count(), 1);
            ended = false;
        }
        let _statistics = machine.measured();
    }
    ended
}

/// Runs the target. The first byte says what the rest is: a whole file, or events.
pub fn run(input: &[u8]) {
    let Some((&kind, content)) = input.split_first() else { return };
    if kind == b'f' {
        match Reader::open(Cursor::new(content)) {
            Ok(mut reader) => {
                for frame in 0..reader.frames().len() {
                    let _content = reader.frame(frame);
                }
            }
            Err(error) => assert_eq!(error.to_string().lines().count(), 1),
        }
        return;
    }
    let Ok(content) = Content::unpack(content) else { return };
    let events = events(&content);
    let file = file(&events);
    let mut reader = Reader::open(Cursor::new(&file)).expect("what was written reads back");
    let mut again = Vec::new();
    for frame in 0..reader.frames().len() {
        let content = reader.frame(frame).expect("it reads back").expect("the frame is there");
        again.extend(self::events(&content));
    }
    assert_eq!(again, events);
    let _ended = replay(&file);
}

#[cfg(test)]
mod tests {
    use super::*;
    use recording::{Counts, Leaves};
    use types::{Access, Asid, PagingMode, Privilege, TranslationContext};

    /// Turns whose events reach tables, a device and the end of the guest.
    fn seed() -> Vec<Event> {
        let root = 0x8100_0000 >> 12;
        let mut words = Box::new([0; 512]);
        // A page of 1G with all rights, at the address that it maps.
        words[2] = 0x8000_0000 >> 2 | 0xcf;
        let counts = |instructions| Counts { instructions, ..Counts::default() };
        let data = |page| Event::Access { access: Access::Write, page, ends: Ends::Done };
        vec![
            Event::Begin { hart: 0 },
            Event::Context(TranslationContext { privilege: Privilege::Supervisor, ..TranslationContext::default() }),
            data(root),
            data(0x1000_0000 >> 12),
            Event::TablePage { page: root, words },
            Event::Context(TranslationContext {
                mode: PagingMode::Sv39,
                root: Gpa(root << 12),
                asid: Asid(1),
                ..TranslationContext::default()
            }),
            Event::Access { access: Access::Execute, page: KERNEL.0 >> 12, ends: Ends::Done },
            data(0x8180_0000 >> 12),
            Event::Access { access: Access::Read, page: 0, ends: Ends::Fault },
            Event::Fence { gva: None, asid: None },
            Event::End { leaves: Leaves::Marker(0x100), counts: counts(9) },
        ]
    }

    #[test]
    fn the_seed_is_replayed_to_its_end_by_every_scheme() {
        assert!(replay(&file(&seed())));
        let committed = include_bytes!("../corpus/recordings/events");
        let content = Content::unpack(&committed[1..]).unwrap();
        assert_eq!(events(&content), seed(), "the committed seed is this");
        let mut bytes = file(&seed());
        bytes.insert(0, b'f');
        run(&bytes);
    }
}
