//! A trace that is written.

use crate::champsim;
use crate::lackey;
use crate::record::{Format, Record};
use liblzma::write::XzEncoder;
use std::io::{self, BufWriter, Write};

/// How hard xz tries. Higher levels take many times as long as the run that is traced.
const LEVEL: u32 = 1;

/// A trace that is written record by record.
pub struct Sink<W: Write> {
    to: Target<W>,
    writing: Writing,
}

enum Target<W: Write> {
    Plain(BufWriter<W>),
    Compressed(Box<BufWriter<XzEncoder<W>>>),
}

enum Writing {
    ChampSim(champsim::Writing),
    Lackey,
}

/// Begins to write a trace of a format, compressed by xz or not.
pub fn create<W: Write>(file: W, format: Format, compressed: bool) -> Sink<W> {
    let to = if compressed {
        Target::Compressed(Box::new(BufWriter::new(XzEncoder::new(file, LEVEL))))
    } else {
        Target::Plain(BufWriter::new(file))
    };
    let writing = match format {
        Format::ChampSim => Writing::ChampSim(champsim::Writing::default()),
        Format::Lackey => Writing::Lackey,
    };
    Sink { to, writing }
}

impl<W: Write> Target<W> {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(to) => to,
            Self::Compressed(to) => to,
        }
    }
}

impl<W: Write> Sink<W> {
    /// Writes a record.
    ///
    /// # Errors
    /// Those of the output.
    pub fn record(&mut self, record: &Record) -> io::Result<()> {
        match &mut self.writing {
            Writing::ChampSim(writing) => writing.write(self.to.writer(), record),
            Writing::Lackey => lackey::write(self.to.writer(), record),
        }
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        if let Writing::ChampSim(writing) = &mut self.writing {
            writing.finish(self.to.writer())?;
        }
        match self.to {
            Target::Plain(to) => to.into_inner().map_err(io::IntoInnerError::into_error),
            Target::Compressed(to) => to.into_inner().map_err(io::IntoInnerError::into_error)?.finish(),
        }
    }
}
