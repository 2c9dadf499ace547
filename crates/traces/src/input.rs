//! A trace that is read.

use crate::champsim;
use crate::error::TraceError;
use crate::lackey;
use crate::record::{Format, Record};
use liblzma::read::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use std::io::{BufRead, BufReader, Read};

/// The first bytes of an xz file.
const XZ: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
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
}

/// Begins to read a trace of a format. One that is compressed by xz is decompressed.
///
/// # Errors
/// [`TraceError::Io`].
pub fn open(file: impl Read + Send + 'static, format: Format) -> Result<Source, TraceError> {
    let mut file = BufReader::new(file);
    let mut first = Vec::new();
    (&mut file).take(XZ.len() as u64).read_to_end(&mut first)?;
    let compressed = first == XZ;
    let whole = std::io::Cursor::new(first).chain(file);
    let from: Box<dyn BufRead + Send> = if compressed {
        let stream = Stream::new_stream_decoder(MOST_MEMORY, CONCATENATED).map_err(std::io::Error::from)?;
        Box::new(BufReader::new(XzDecoder::new_stream(whole, stream)))
    } else {
        Box::new(whole)
    };
    let reading = match format {
        Format::ChampSim => Reading::ChampSim(champsim::Reading::default()),
        Format::Lackey => Reading::Lackey(0),
    };
    Ok(Source { from, reading })
}

impl Source {
    /// The next record; `None` behind the last one.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn next_record(&mut self) -> Result<Option<Record>, TraceError> {
        match &mut self.reading {
            Reading::ChampSim(reading) => reading.read(&mut self.from),
            Reading::Lackey(line) => lackey::read(&mut self.from, line),
        }
    }
}
