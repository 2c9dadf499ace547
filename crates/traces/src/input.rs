//! A trace that is read.

use crate::champsim;
use crate::drmemtrace;
use crate::error::TraceError;
use crate::lackey;
use crate::record::{Format, Record};
use flate2::read::MultiGzDecoder;
use liblzma::read::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use std::io::{self, BufRead, BufReader, Read, Seek};

/// The first bytes of an xz file.
const XZ: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
/// Those of an archive, and of a file that gzip has compressed.
const ZIP: [u8; 4] = *b"PK\x03\x04";
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The most memory that decompression may take.
const MOST_MEMORY: u64 = 256 << 20;

/// A trace that is read record by record.
pub struct Source {
    from: Box<dyn BufRead + Send>,
    reading: Reading,
}

enum Reading {
    ChampSim(champsim::Reading),
    /// The number of the latest line.
    Lackey(u64),
    Drmemtrace(drmemtrace::Reading),
}

/// Begins to read a trace of a format. One that is compressed by xz is decompressed; of [`Format::Drmemtrace`], so are archives and what gzip has
/// compressed.
///
/// # Errors
/// [`TraceError::Io`], and [`TraceError::Archive`].
pub fn open(file: impl Read + Seek + Send + 'static, format: Format) -> Result<Source, TraceError> {
    open_erased(Box::new(file), format)
}

/// A file of any type, so that this crate compiles the readers, and not the crate that chooses the file.
trait Seekable: Read + Seek + Send {}

impl<F: Read + Seek + Send> Seekable for F {}

fn open_erased(file: Box<dyn Seekable>, format: Format) -> Result<Source, TraceError> {
    let mut file = BufReader::new(file);
    let mut first = Vec::new();
    (&mut file).take(XZ.len() as u64).read_to_end(&mut first)?;
    let reading = match format {
        Format::ChampSim => Reading::ChampSim(champsim::Reading::default()),
        Format::Lackey => Reading::Lackey(0),
        Format::Drmemtrace => Reading::Drmemtrace(drmemtrace::Reading::default()),
    };
    let from: Box<dyn BufRead + Send> = match format {
        Format::Drmemtrace if first.starts_with(&ZIP) => Box::new(BufReader::new(drmemtrace::Chunks::new(file)?)),
        _ => {
            let compression = Compression::of(&first, format);
            let whole = io::Cursor::new(first).chain(file);
            match compression {
                Compression::None => Box::new(whole),
                Compression::Xz => {
                    let stream = Stream::new_stream_decoder(MOST_MEMORY, CONCATENATED).map_err(io::Error::from)?;
                    Box::new(BufReader::new(XzDecoder::new_stream(whole, stream)))
                }
                Compression::Gzip => Box::new(BufReader::new(MultiGzDecoder::new(whole))),
            }
        }
    };
    Ok(Source { from, reading })
}

/// How a file is compressed.
#[derive(Clone, Copy, Debug)]
enum Compression {
    None,
    Xz,
    Gzip,
}

impl Compression {
    /// Of a file of a format with these first bytes.
    fn of(first: &[u8], format: Format) -> Self {
        if first == XZ {
            Self::Xz
        } else if format == Format::Drmemtrace && first.starts_with(&GZIP) {
            Self::Gzip
        } else {
            Self::None
        }
    }
}

/// Records between two looks at whether to stop.
const LOOK: u64 = 1 << 20;

/// How reading a trace has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// At its end.
    Whole,
    /// Where the caller stopped it.
    Stopped,
    /// Where it touches more pages than can be kept.
    TooManyPages,
}

impl Source {
    /// Does `action` to each record that is left, as long as it returns true; asks `stop` at times whether to stop.
    pub(crate) fn each(
        &mut self,
        stop: &mut dyn FnMut() -> bool,
        mut action: impl FnMut(&Record) -> bool,
    ) -> Result<Ended, TraceError> {
        for number in 0_u64.. {
            if number % LOOK == 0 && stop() {
                return Ok(Ended::Stopped);
            }
            let Some(record) = self.next_record()? else { break };
            if !action(&record) {
                return Ok(Ended::TooManyPages);
            }
        }
        Ok(Ended::Whole)
    }

    /// The next record; `None` behind the last one.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        match &mut self.reading {
            Reading::ChampSim(reading) => reading.read(&mut self.from),
            Reading::Lackey(line) => lackey::read(&mut self.from, line),
            Reading::Drmemtrace(reading) => reading.read(&mut self.from),
        }
    }
}
