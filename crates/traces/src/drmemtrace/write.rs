//! Writes a trace as an archive.
//!
//! Each chunk has the same number of instructions, but the last one, and stands alone: it begins with the ordinal of its first entry, the time and the
//! processor, and has the encoding of each of its instructions before the first use. A chunk begins in front of an instruction, so that what belongs to
//! the one before is in the chunk before.

use super::entry::{Entry, VERSION, file_type, kind, marker};
use crate::record::{Branch, BranchKind, Data, DataKind, Instruction, Mark, Record};
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use zip::write::{SimpleFileOptions, StreamWriter, ZipWriter};
use zip::{CompressionMethod, DateTime};

/// Instructions of a chunk, as `DynamoRIO` has it.
pub(crate) const CHUNK: u64 = 10_000_000;
/// How hard deflate tries. Higher levels take longer than the run that is traced.
const LEVEL: i64 = 1;
/// The one thread, and its process. Neither may be 0.
const THREAD: u64 = 1;
/// Bytes of a cache line and of the smallest page.
const CACHE_LINE: u64 = 64;
const PAGE: u64 = 4096;
/// The beginning of 1970 in microseconds since 1601: when each trace begins.
const BEGINNING: u64 = 11_644_473_600_000_000;
/// Instructions of a microsecond: a trace has no other time, and says the same whenever it is written.
const INSTRUCTIONS_PER_MICROSECOND: u64 = 1000;
/// Instructions between two timestamps, as of a turn.
const TIMESTAMP: u64 = 1 << 16;

/// An output that takes everything once it has failed: an archive that is dropped ends itself, and would print the failure, which has been returned.
struct Quiet<W> {
    to: W,
    failed: bool,
}

impl<W: Write> Quiet<W> {
    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        self.failed |= result.is_err();
        result
    }
}

impl<W: Write> Write for Quiet<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.failed {
            return Ok(bytes.len());
        }
        let result = self.to.write_all(bytes).map(|()| bytes.len());
        self.note(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.failed {
            return Ok(());
        }
        let result = self.to.flush();
        self.note(result)
    }
}

/// A trace that is written.
pub(crate) struct Writing<W: Write> {
    archive: ZipWriter<StreamWriter<Quiet<BufWriter<W>>>>,
    /// Instructions of each chunk.
    chunk: u64,
    /// Chunks that have begun.
    chunks: u64,
    /// Entries that tools see.
    visible: u64,
    /// Instructions that have been written.
    instructions: u64,
    windows: u64,
    /// The latest timestamp.
    time: u64,
    /// Traps whose handlers have not returned.
    traps: u64,
    /// The encodings of this chunk, by address.
    encodings: HashMap<u64, u32>,
    /// The latest instruction and its accesses: what comes next says whether it returns from a handler.
    latest: Option<(Instruction, Vec<Data>)>,
}

impl<W: Write> Writing<W> {
    /// Writes to `file`, with so many instructions in a chunk.
    pub(crate) fn new(file: W, chunk: u64) -> Self {
        Self {
            archive: ZipWriter::new_stream(Quiet { to: BufWriter::new(file), failed: false }),
            chunk: chunk.max(1),
            chunks: 0,
            visible: 0,
            instructions: 0,
            windows: 0,
            time: BEGINNING,
            traps: 0,
            encodings: HashMap::new(),
            latest: None,
        }
    }

    /// Writes a record, once it is complete.
    pub(crate) fn write(&mut self, record: &Record) -> io::Result<()> {
        match record {
            Record::Instruction(instruction) => {
                self.settle(None)?;
                self.latest = Some((*instruction, Vec::new()));
            }
            Record::Data(data) => {
                if let Some((_, accesses)) = &mut self.latest {
                    accesses.push(*data);
                }
            }
            Record::Mark(Mark::Window) => {
                self.settle(None)?;
                self.window()?;
            }
            Record::Mark(Mark::Trap { pc }) => {
                self.settle(None)?;
                self.begin()?;
                self.traps += 1;
                self.put(Entry::marker(marker::HARDWARE_EVENT, *pc))?;
            }
            Record::Mark(Mark::Return { from, to }) => {
                self.settle(Some(*to))?;
                self.begin()?;
                // Each return belongs to a trap. The handler that the trace begins in has none.
                if self.traps > 0 {
                    self.traps -= 1;
                    self.put(Entry::marker(marker::HARDWARE_RETURN, *from))?;
                }
            }
        }
        Ok(())
    }

    /// Ends the trace.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.settle(None)?;
        self.begin()?;
        self.put(Entry { kind: kind::THREAD_EXIT, size: 0, value: THREAD })?;
        self.put(Entry { kind: kind::FOOTER, size: 0, value: 0 })?;
        let archive = self.archive.finish()?.into_inner();
        archive.to.into_inner().map_err(io::IntoInnerError::into_error)
    }

    /// Writes an entry.
    fn put(&mut self, entry: Entry) -> io::Result<()> {
        self.visible += u64::from(entry.is_visible());
        self.archive.write_all(&entry.bytes())
    }

    /// Begins the next file of the archive.
    fn open_chunk(&mut self) -> io::Result<()> {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(LEVEL))
            .last_modified_time(DateTime::default());
        self.archive.start_file(format!("chunk.{:08}", self.chunks), options)?;
        self.chunks += 1;
        self.encodings.clear();
        Ok(())
    }

    /// Writes the header, if there is none yet.
    fn begin(&mut self) -> io::Result<()> {
        if self.chunks > 0 {
            return Ok(());
        }
        self.open_chunk()?;
        self.put(Entry { kind: kind::HEADER, size: 0, value: VERSION })?;
        self.put(Entry::marker(marker::VERSION, VERSION))?;
        self.put(Entry::marker(marker::FILE_TYPE, file_type::ENCODINGS | file_type::WHOLE_SYSTEM))?;
        self.put(Entry { kind: kind::THREAD, size: 0, value: THREAD })?;
        self.put(Entry { kind: kind::PROCESS, size: 0, value: THREAD })?;
        self.put(Entry::marker(marker::CACHE_LINE, CACHE_LINE))?;
        self.put(Entry::marker(marker::CHUNK_INSTRUCTIONS, self.chunk))?;
        self.put(Entry::marker(marker::PAGE_SIZE, PAGE))?;
        self.timestamp()
    }

    /// Ends a chunk, and begins the next one. Its time and processor are those of before, and a reader that comes from there leaves them out.
    fn next_chunk(&mut self) -> io::Result<()> {
        self.put(Entry::marker(marker::CHUNK_FOOTER, self.chunks - 1))?;
        self.open_chunk()?;
        let visible = self.visible;
        self.put(Entry::marker(marker::ORDINAL, visible))?;
        self.put(Entry::marker(marker::TIMESTAMP, self.time))?;
        self.put(Entry::marker(marker::CPU, 0))?;
        self.visible = visible;
        Ok(())
    }

    fn timestamp(&mut self) -> io::Result<()> {
        self.time = BEGINNING + self.instructions / INSTRUCTIONS_PER_MICROSECOND;
        self.put(Entry::marker(marker::TIMESTAMP, self.time))?;
        self.put(Entry::marker(marker::CPU, 0))
    }

    /// A window begins.
    fn window(&mut self) -> io::Result<()> {
        if self.chunks == 0 {
            self.begin()?;
        } else {
            self.timestamp()?;
        }
        self.put(Entry::marker(marker::WINDOW, self.windows))?;
        self.windows += 1;
        Ok(())
    }

    /// Writes the latest instruction. If it returns from a handler, the next one is at `returns_to`.
    fn settle(&mut self, returns_to: Option<u64>) -> io::Result<()> {
        let Some((instruction, accesses)) = self.latest.take() else { return Ok(()) };
        self.begin()?;
        if self.instructions > 0 && self.instructions.is_multiple_of(TIMESTAMP) {
            self.timestamp()?;
        }
        if self.instructions > 0 && self.instructions.is_multiple_of(self.chunk) {
            self.next_chunk()?;
        }
        let Instruction { pc, bytes, branch, encoding, .. } = instruction;
        if let Some(encoding) = encoding
            && self.encodings.insert(pc, encoding) != Some(encoding)
        {
            self.put(Entry { kind: kind::ENCODING, size: u16::from(bytes), value: u64::from(encoding) })?;
        }
        let (kind, target) = match returns_to {
            Some(to) => (kind::INDIRECT_JUMP, Some(to)),
            None => kind_of(branch),
        };
        if let Some(target) = target {
            self.put(Entry::marker(marker::TARGET, target))?;
        }
        self.put(Entry { kind, size: u16::from(bytes), value: pc })?;
        self.instructions += 1;
        for Data { kind, address, bytes } in accesses {
            let size = u16::try_from(bytes).unwrap_or(u16::MAX);
            if matches!(kind, DataKind::Load | DataKind::Modify) {
                self.put(Entry { kind: kind::READ, size, value: address })?;
            }
            if matches!(kind, DataKind::Store | DataKind::Modify) {
                self.put(Entry { kind: kind::WRITE, size, value: address })?;
            }
        }
        Ok(())
    }
}

/// What an instruction is, and where it goes if that does not follow from its encoding. The trace may end before that is known.
fn kind_of(branch: Option<Branch>) -> (u16, Option<u64>) {
    let Some(Branch { kind, taken, target }) = branch else { return (kind::INSTRUCTION, None) };
    let target = Some(target.unwrap_or(0));
    match kind {
        BranchKind::Jump => (kind::JUMP, None),
        BranchKind::IndirectJump => (kind::INDIRECT_JUMP, target),
        BranchKind::Conditional => (if taken { kind::TAKEN } else { kind::UNTAKEN }, None),
        BranchKind::Call => (kind::CALL, None),
        BranchKind::IndirectCall => (kind::INDIRECT_CALL, target),
        BranchKind::Return => (kind::RETURN, target),
    }
}
