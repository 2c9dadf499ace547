//! Why a trace cannot be read.

use std::io;

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The host's system says so, or the decompression.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// An archive cannot be read.
    #[error("the archive cannot be read: {0}")]
    Archive(&'static str),
    /// A line of a text format.
    #[error("line {line}: {problem}")]
    Line {
        /// Its number, from 1 on.
        line: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A record of a binary format.
    #[error("record {record}: {problem}")]
    Record {
        /// Its number, from 0 on.
        record: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
}
