//! A trace that is written.

use crate::champsim;
use crate::drmemtrace;
use crate::lackey;
use crate::record::{Format, Record};
use liblzma::write::XzEncoder;
use std::io::{self, BufWriter, Write};

/// How hard xz tries. Higher levels take many times as long as the run that is traced.
const LEVEL: u32 = 1;

/// A trace that is written record by record.
pub struct Sink<W: Write>(Writing<W>);

enum Writing<W: Write> {
    ChampSim(champsim::Writing, Target<W>),
    Lackey(Target<W>),
    Drmemtrace(Box<drmemtrace::Writing<W>>),
}

enum Target<W: Write> {
    Plain(BufWriter<W>),
    Compressed(Box<BufWriter<XzEncoder<W>>>),
}

/// Begins to write a trace of a format, compressed by xz or not. One of [`Format::Drmemtrace`] is an archive, which is compressed always.
pub fn create<W: Write>(file: W, format: Format, compressed: bool) -> Sink<W> {
    Sink(match format {
        Format::ChampSim => Writing::ChampSim(champsim::Writing::default(), Target::new(file, compressed)),
        Format::Lackey => Writing::Lackey(Target::new(file, compressed)),
        Format::Drmemtrace => return create_archive(file, drmemtrace::CHUNK),
    })
}

/// Begins to write a trace of [`Format::Drmemtrace`] with so many instructions in a chunk.
pub fn create_archive<W: Write>(file: W, chunk: u64) -> Sink<W> {
    Sink(Writing::Drmemtrace(Box::new(drmemtrace::Writing::new(file, chunk))))
}

impl<W: Write> Target<W> {
    fn new(file: W, compressed: bool) -> Self {
        if compressed {
            Self::Compressed(Box::new(BufWriter::new(XzEncoder::new(file, LEVEL))))
        } else {
            Self::Plain(BufWriter::new(file))
        }
    }

    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(to) => to,
            Self::Compressed(to) => to,
        }
    }

    fn finish(self) -> io::Result<W> {
        match self {
            Self::Plain(to) => to.into_inner().map_err(io::IntoInnerError::into_error),
            Self::Compressed(to) => to.into_inner().map_err(io::IntoInnerError::into_error)?.finish(),
        }
    }
}

impl<W: Write> Sink<W> {
    /// Writes a record.
    ///
    /// # Errors
    /// Those of the output.
    pub fn record(&mut self, record: &Record) -> io::Result<()> {
        match &mut self.0 {
            Writing::ChampSim(writing, to) => writing.write(to.writer(), record),
            Writing::Lackey(to) => lackey::write(to.writer(), record),
            Writing::Drmemtrace(writing) => writing.write(record),
        }
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            Writing::ChampSim(mut writing, mut to) => {
                writing.finish(to.writer())?;
                to.finish()
            }
            Writing::Lackey(to) => to.finish(),
            Writing::Drmemtrace(writing) => writing.finish(),
        }
    }
}
