//! Reads a trace of one thread, whichever architecture it is of.

use super::entry::{BYTES, Entry, VERSIONS, file_type, kind, marker};
use crate::error::TraceError;
use crate::operands::Operands;
use crate::record::{Branch, BranchKind, Data, DataKind, Instruction, Mark, Record};
use std::io::{self, Read};

/// The longest instruction of any architecture, in bytes.
const LONGEST_INSTRUCTION: u16 = 17;

/// What a reader keeps between entries.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Entries that were read.
    entries: u64,
    place: Place,
    thread: Option<u64>,
    /// The latest chunk that has ended.
    chunk: Option<u64>,
    /// Where the next instruction goes, an indirect branch.
    target: Option<u64>,
    /// The latest instruction: its end, and where it goes if it is an indirect branch.
    latest: Option<(u64, Option<u64>)>,
}

/// Where in the file the next entry is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Place {
    #[default]
    Header,
    Body,
    End,
}

impl Reading {
    /// Reads the next record.
    pub(crate) fn read(&mut self, from: &mut dyn Read) -> Result<Option<Record>, TraceError> {
        loop {
            let Some(entry) = self.next_entry(from)? else { return Ok(None) };
            let number = self.entries;
            let record = self.record(entry).map_err(|problem| TraceError::Record { record: number, problem })?;
            self.entries += 1;
            if record.is_some() {
                return Ok(record);
            }
        }
    }

    /// The next entry; `None` behind the last one.
    fn next_entry(&mut self, from: &mut dyn Read) -> Result<Option<Entry>, TraceError> {
        let mut bytes = [0; BYTES];
        let mut read = 0;
        while read < BYTES {
            match from.read(&mut bytes[read..]) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        let wrong = |problem| Err(TraceError::Record { record: self.entries, problem });
        if read == 0 {
            return match self.place {
                // An empty file is no trace of any format.
                Place::Header if self.entries == 0 => Ok(None),
                Place::Header | Place::Body => wrong("the trace is cut off"),
                Place::End => Ok(None),
            };
        }
        if read < BYTES {
            return wrong("the trace is cut off");
        }
        let entry = Entry::of(bytes);
        match self.place {
            Place::Header if entry.kind != kind::HEADER => wrong("there is no header; is this a trace of drmemtrace?"),
            Place::End => wrong("there is more behind the end"),
            Place::Header | Place::Body => Ok(Some(entry)),
        }
    }

    /// What an entry is, if a record.
    fn record(&mut self, entry: Entry) -> Result<Option<Record>, &'static str> {
        let Entry { kind, size, value } = entry;
        match kind {
            kind::HEADER if self.place == Place::Header => self.place = Place::Body,
            kind::FOOTER => self.place = Place::End,
            kind::THREAD => match self.thread {
                Some(thread) if thread != value => {
                    return Err("it has several threads; import the file of one of them");
                }
                _ => self.thread = Some(value),
            },
            kind::THREAD_EXIT | kind::PROCESS => {}
            kind::MARKER => return self.marker(size, value),
            kind::ENCODING => {
                if size > 8 {
                    return Err("an encoding has at most 8 bytes in an entry");
                }
            }
            kind::READ | kind::WRITE => return self.data(kind, size, value).map(Some),
            kind::FIRST_PREFETCH..=kind::LAST_PREFETCH
            | kind::FIRST_LEVEL_PREFETCH..=kind::LAST_LEVEL_PREFETCH
            | kind::HARDWARE_PREFETCH
            | kind::FIRST_FLUSH..=kind::LAST_FLUSH
            | kind::NOT_FETCHED => {}
            kind::INSTRUCTION..=kind::RETURN | kind::SYSENTER | kind::TAKEN | kind::UNTAKEN => {
                return self.instruction(kind, size, value).map(Some);
            }
            _ => return Err("no file has an entry of this type"),
        }
        Ok(None)
    }

    fn data(&self, kind: u16, size: u16, address: u64) -> Result<Record, &'static str> {
        if self.latest.is_none() {
            return Err("an access before any instruction");
        }
        let kind = if kind == kind::READ { DataKind::Load } else { DataKind::Store };
        Ok(Record::Data(Data { kind, address, bytes: u32::from(size.max(1)) }))
    }

    fn instruction(&mut self, kind: u16, size: u16, pc: u64) -> Result<Record, &'static str> {
        let bytes = u8::try_from(size).ok().filter(|_| (1..=LONGEST_INSTRUCTION).contains(&size));
        let bytes = bytes.ok_or("no instruction has so many bytes")?;
        let target = self.target.take();
        let branch = |kind, taken, target| Some(Branch { kind, taken, target });
        let branch = match kind {
            kind::JUMP => branch(BranchKind::Jump, true, None),
            kind::INDIRECT_JUMP => branch(BranchKind::IndirectJump, true, target),
            kind::CALL => branch(BranchKind::Call, true, None),
            kind::INDIRECT_CALL => branch(BranchKind::IndirectCall, true, target),
            kind::RETURN => branch(BranchKind::Return, true, target),
            kind::TAKEN => branch(BranchKind::Conditional, true, None),
            kind::UNTAKEN => branch(BranchKind::Conditional, false, None),
            // Nothing says whether it is taken.
            kind::CONDITIONAL => None,
            _ => None,
        };
        self.latest = Some((pc.wrapping_add(u64::from(bytes)), target));
        Ok(Record::Instruction(Instruction { pc, bytes, branch, operands: Operands::default(), encoding: None }))
    }

    fn marker(&mut self, marker: u16, value: u64) -> Result<Option<Record>, &'static str> {
        match marker {
            marker::VERSION if !VERSIONS.contains(&value) => Err("its version is none of 2 to 7"),
            marker::FILE_TYPE if value & file_type::FILTERED != 0 => {
                Err("accesses have been left out of it, by a filter")
            }
            marker::FILE_TYPE if value & file_type::INSTRUCTIONS_ONLY != 0 => Err("it has no loads and stores"),
            marker::CHUNK_FOOTER => match self.chunk {
                Some(chunk) if chunk.checked_add(1) != Some(value) => Err("a chunk is missing"),
                _ => {
                    self.chunk = Some(value);
                    Ok(None)
                }
            },
            marker::TARGET => {
                self.target = Some(value);
                Ok(None)
            }
            marker::WINDOW => Ok(Some(Record::Mark(Mark::Window))),
            marker::HARDWARE_EVENT => Ok(Some(Record::Mark(Mark::Trap { pc: value }))),
            marker::HARDWARE_RETURN => {
                let to = self.latest.and_then(|(_, target)| target).ok_or("a return without a branch before it")?;
                Ok(Some(Record::Mark(Mark::Return { from: value, to })))
            }
            _ => Ok(None),
        }
    }
}
