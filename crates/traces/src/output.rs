//! A trace that is written.

use crate::champsim;
use crate::drmemtrace;
use crate::lackey;
use crate::record::{Format, Record};
use liblzma::write::XzEncoder;
use std::io::{self, BufWriter, Write};

/// How hard xz tries. Higher levels take many times as long as the run that is traced.
const LEVEL: u32 = 1;

/// Where a trace is written. Writers are of one type, so that this crate compiles them, and not the crate that chooses the output.
type Out<'a> = Box<dyn Write + Send + 'a>;

/// A trace that is written record by record.
pub struct Sink<'a>(Writing<'a>);

enum Writing<'a> {
    ChampSim(champsim::Writing, Target<'a>),
    Lackey(Target<'a>),
    Drmemtrace(Box<drmemtrace::Writing<Out<'a>>>),
}

enum Target<'a> {
    Plain(BufWriter<Out<'a>>),
    Compressed(Box<BufWriter<XzEncoder<Out<'a>>>>),
}

/// Begins to write a trace of a format, compressed by xz or not. One of [`Format::Drmemtrace`] is an archive, which is compressed always.
pub fn create<'a>(file: impl Write + Send + 'a, format: Format, compressed: bool) -> Sink<'a> {
    let file: Out<'a> = Box::new(file);
    Sink(match format {
        Format::ChampSim => Writing::ChampSim(champsim::Writing::default(), Target::new(file, compressed)),
        Format::Lackey => Writing::Lackey(Target::new(file, compressed)),
        Format::Drmemtrace => Writing::Drmemtrace(Box::new(drmemtrace::Writing::new(file, drmemtrace::CHUNK))),
    })
}

/// Begins to write a trace of [`Format::Drmemtrace`] with so many instructions in a chunk.
pub fn create_archive<'a>(file: impl Write + Send + 'a, chunk: u64) -> Sink<'a> {
    Sink(Writing::Drmemtrace(Box::new(drmemtrace::Writing::new(Box::new(file), chunk))))
}

impl<'a> Target<'a> {
    fn new(file: Out<'a>, compressed: bool) -> Self {
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

    fn finish(self) -> io::Result<()> {
        let mut out = match self {
            Self::Plain(to) => to.into_inner().map_err(io::IntoInnerError::into_error)?,
            Self::Compressed(to) => to.into_inner().map_err(io::IntoInnerError::into_error)?.finish()?,
        };
        out.flush()
    }
}

impl Sink<'_> {
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
    pub fn finish(self) -> io::Result<()> {
        match self.0 {
            Writing::ChampSim(mut writing, mut to) => {
                writing.finish(to.writer())?;
                to.finish()
            }
            Writing::Lackey(to) => to.finish(),
            Writing::Drmemtrace(writing) => writing.finish()?.flush(),
        }
    }
}
