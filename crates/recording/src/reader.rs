//! Reads a recording.

use crate::block::{FORMAT, HEADER, Header, Kind, MAGIC, fill};
use crate::content::Content;
use crate::error::ReadError;
use crate::event::Summary;
use crate::varint::take;
use std::io::{Read, Seek, SeekFrom};

/// The most attachments of a recording.
const MOST_ATTACHMENTS: usize = 16;

/// Where a frame is, and what it has.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Number of its block.
    block: u64,
    /// Offset of its content in the file.
    at: u64,
    header: Header,
    /// Events in the frames before.
    pub first_event: u64,
}

impl Frame {
    /// How many events it has.
    #[must_use]
    pub const fn events(&self) -> u64 {
        self.header.events
    }

    /// How many instructions the guest had retired at its end.
    #[must_use]
    pub const fn instructions(&self) -> u64 {
        self.header.instructions
    }
}

/// A recording that is open. It may be any file: what it says of itself is checked where it is read.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    about: String,
    attachments: Vec<Vec<u8>>,
    frames: Vec<Frame>,
    summary: Summary,
}

impl<R: Read + Seek> Reader<R> {
    /// Reads the description and the attachments, and finds the frames.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn open(mut from: R) -> Result<Self, ReadError> {
        let length = from.seek(SeekFrom::End(0))?;
        from.seek(SeekFrom::Start(0))?;
        let mut magic = [0; 8];
        fill(&mut from, &mut magic).map_err(|_| ReadError::NotRecording)?;
        if magic != MAGIC {
            return Err(ReadError::NotRecording);
        }
        let mut format = [0; 4];
        fill(&mut from, &mut format)?;
        let found = u32::from_le_bytes(format);
        if found != FORMAT {
            return Err(ReadError::Format { found, read: FORMAT });
        }
        let mut at = (magic.len() + size_of::<u32>()) as u64;
        let (mut about, mut attachments, mut frames) = (None, Vec::new(), Vec::new());
        let mut events = 0;
        for block in 0.. {
            let damaged = |problem| ReadError::Block { block, problem };
            let header = Header::read(&mut from, block)?;
            at += HEADER as u64;
            match header.kind {
                Kind::About if about.is_none() && block == 0 => {
                    let content = header.content(&mut from, block)?;
                    about = Some(String::from_utf8(content).map_err(|_| damaged("a description is not UTF-8"))?);
                }
                Kind::Attachment if frames.is_empty() && attachments.len() < MOST_ATTACHMENTS && about.is_some() => {
                    attachments.push(header.content(&mut from, block)?);
                }
                Kind::Frame if about.is_some() => {
                    frames.push(Frame { block, at, header, first_event: events });
                    events += header.events;
                    if at + u64::from(header.stored) > length {
                        return Err(ReadError::CutOff);
                    }
                    from.seek(SeekFrom::Start(at + u64::from(header.stored)))?;
                }
                Kind::End => {
                    let about = about.ok_or(damaged("there is no description"))?;
                    let summary = summary(&header.content(&mut from, block)?, events)
                        .ok_or(damaged("it does not fit the frames"))?;
                    return Ok(Self { from, about, attachments, frames, summary });
                }
                Kind::About | Kind::Attachment | Kind::Frame => return Err(damaged("out of place")),
            }
            at += u64::from(header.stored);
        }
        Err(ReadError::CutOff)
    }

    /// What the recording is of, in JSON.
    #[must_use]
    pub fn about(&self) -> &str {
        &self.about
    }

    /// The files that belong to it.
    #[must_use]
    pub fn attachments(&self) -> &[Vec<u8>] {
        &self.attachments
    }

    /// What it says of itself at its end.
    #[must_use]
    pub const fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Its frames.
    #[must_use]
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// The content of frame number `frame`, for a [`Decoder`](crate::Decoder); `None` behind the last one.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn frame(&mut self, frame: usize) -> Result<Option<Content>, ReadError> {
        let Some(Frame { block, at, header, .. }) = self.frames.get(frame).copied() else { return Ok(None) };
        self.from.seek(SeekFrom::Start(at))?;
        Content::unpack(&header.content(&mut self.from, block)?).map(Some)
    }
}

/// The summary of an end; `None` if its bytes are none, or are of another number of events.
fn summary(bytes: &[u8], events: u64) -> Option<Summary> {
    let mut at = 0;
    let said = take(bytes, &mut at)?;
    let instructions = take(bytes, &mut at)?;
    let used_time = match bytes.get(at..)? {
        [0] => false,
        [1] => true,
        _ => return None,
    };
    (said == events).then_some(Summary { events, instructions, used_time })
}
