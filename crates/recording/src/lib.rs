//! The file of a recording: what translation depends on in the run of a guest (docs/record.md).
//!
//! A recording is a stream of [`Event`]s. [`Writer`] writes it and [`Reader`] reads it. The file is a sequence of blocks (`block.rs`), each
//! compressed alone: a description, attachments, frames of events, and an end. A frame is decoded without those before it.
//!
//! Modules use those of the lines below theirs:
//!
//! ```text
//! background          a thread that writes
//! writer, reader      the file
//! codec               events as bytes
//! content             those of a frame, in columns
//! recent              pages that were used lately
//! block, event        blocks; what happens
//! varint, error
//! ```
#![forbid(unsafe_code)]

mod background;
mod block;
mod codec;
mod content;
mod error;
mod event;
mod reader;
mod recent;
mod varint;
mod writer;

pub use background::BackgroundWriter;
pub use codec::{Decoder, Position};
pub use content::Content;
pub use error::ReadError;
pub use event::{Counts, Ends, Event, Leaves, Summary, TABLE_WORDS};
pub use reader::{Frame, Reader};
pub use writer::{Totals, Writer};
