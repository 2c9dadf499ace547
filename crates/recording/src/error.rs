//! Why a recording cannot be read.

use std::io;

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The host's system says so.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Another kind of file.
    #[error("not a recording")]
    NotRecording,
    /// Another version of the format.
    #[error("a recording of format {found}; this version reads format {read}")]
    Format {
        /// The file's.
        found: u32,
        /// That of this version.
        read: u32,
    },
    /// The file ends before its end block, as when the recorder was killed.
    #[error("the recording is cut off")]
    CutOff,
    /// A checksum is wrong, or a length is out of range.
    #[error("block {block} is damaged: {problem}")]
    Block {
        /// Number of the block in the file, from 0 on.
        block: u64,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The bytes of a frame are no events.
    #[error("a frame is damaged at byte {at}: {problem}")]
    Event {
        /// Offset in the frame, in bytes.
        at: usize,
        /// What is wrong there.
        problem: &'static str,
    },
}
