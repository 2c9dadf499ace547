//! Writes a recording.

use crate::block::{FORMAT, Header, Kind, MAGIC, MOST_ABOUT, MOST_ATTACHMENT};
use crate::codec::Encoder;
use crate::event::{Event, Summary};
use crate::varint::put;
use std::io::{self, Write};
use types::Access;

/// A frame ends behind the first event that brings it to so many bytes. The longest event, a page of a table, has less than 8 KiB.
const FRAME: usize = 1 << 20;
/// How hard zstd tries. Higher levels take longer than the run that is recorded.
const LEVEL: i32 = 1;

/// What a recording has come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Events.
    pub events: u64,
    /// Bytes of the events before compression.
    pub event_bytes: u64,
    /// Bytes of the frames in the file.
    pub frame_bytes: u64,
}

/// Writes a recording. An error of the output ends the writing, and [`Self::finish`] returns it.
pub struct Writer<W> {
    out: W,
    encoder: Encoder,
    /// The latest frame's content, packed.
    packed: Vec<u8>,
    /// Events in this frame.
    events: u64,
    instructions: u64,
    totals: Totals,
    failed: Option<io::Error>,
}

impl<W: Write> Writer<W> {
    /// Writes the beginning of a recording: what it is of, in JSON, and the files that belong to it.
    ///
    /// # Errors
    /// Those of the output, and [`io::ErrorKind::InvalidInput`] if a part is longer than the format allows.
    pub fn new(mut out: W, about: &str, attachments: &[&[u8]]) -> io::Result<Self> {
        let too_long = |what: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{what} is too long"));
        if about.len() > MOST_ABOUT as usize {
            return Err(too_long("the description of the recording"));
        }
        if attachments.iter().any(|file| file.len() > MOST_ATTACHMENT as usize) {
            return Err(too_long("a file of the guest"));
        }
        out.write_all(&MAGIC)?;
        out.write_all(&FORMAT.to_le_bytes())?;
        block(&mut out, Kind::About, about.as_bytes(), (0, 0))?;
        for file in attachments {
            block(&mut out, Kind::Attachment, file, (0, 0))?;
        }
        let encoder = Encoder::default();
        Ok(Self {
            out,
            encoder,
            packed: Vec::new(),
            events: 0,
            instructions: 0,
            totals: Totals::default(),
            failed: None,
        })
    }

    /// A load, store or fetch that is made, to the page of that number.
    #[inline]
    pub fn access(&mut self, access: Access, page: u64) {
        self.encoder.access(access, page);
        self.count();
    }

    /// Any event.
    pub fn event(&mut self, event: &Event) {
        if let Event::End { counts, .. } = event {
            self.instructions = counts.instructions;
        }
        self.encoder.event(event);
        self.count();
    }

    /// Ends the recording. `used_time` is as [`Summary`] has it.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(mut self, used_time: bool) -> io::Result<Totals> {
        self.flush();
        if let Some(error) = self.failed {
            return Err(error);
        }
        let summary = Summary { events: self.totals.events, instructions: self.instructions, used_time };
        let mut bytes = Vec::new();
        put(&mut bytes, summary.events);
        put(&mut bytes, summary.instructions);
        bytes.push(u8::from(summary.used_time));
        block(&mut self.out, Kind::End, &bytes, (0, 0))?;
        self.out.flush()?;
        Ok(self.totals)
    }

    #[inline]
    fn count(&mut self) {
        self.events += 1;
        if self.encoder.content.bytes() >= FRAME {
            self.flush();
        }
    }

    /// Writes the frame.
    #[cold]
    #[inline(never)]
    fn flush(&mut self) {
        if self.failed.is_none() && self.events != 0 {
            self.encoder.content.pack(&mut self.packed);
            self.totals.events += self.events;
            self.totals.event_bytes += self.packed.len() as u64;
            match block(&mut self.out, Kind::Frame, &self.packed, (self.events, self.instructions)) {
                Ok(stored) => self.totals.frame_bytes += stored,
                Err(error) => self.failed = Some(error),
            }
        }
        self.events = 0;
        self.encoder.restart();
    }
}

/// Writes a block, with its events and instructions; returns its bytes in the file.
fn block(out: &mut impl Write, kind: Kind, content: &[u8], (events, instructions): (u64, u64)) -> io::Result<u64> {
    let stored = zstd::bulk::compress(content, LEVEL)?;
    let header = Header {
        kind,
        bytes: content.len() as u32,
        stored: stored.len() as u32,
        checksum: crc32fast::hash(&stored),
        events,
        instructions,
    };
    header.write(out)?;
    out.write_all(&stored)?;
    Ok((crate::block::HEADER + stored.len()) as u64)
}
