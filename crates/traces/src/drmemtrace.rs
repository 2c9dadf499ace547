//! The records of `DynamoRIO`'s drmemtrace, in version 7 of its format: files for its analysis tools and simulators, and Google's workload traces.
//!
//! A file is a stream of entries of 12 bytes. The header comes first. An instruction has its encoding before it, where the encoding is new, and the
//! addresses that it loads from and stores to behind it. Markers say what is not an access. An archive (zip) has a chunk of so many instructions in
//! each of its files, so that a reader can begin with any of them.
//!
//! `DynamoRIO` describes what its tools see of this on the page "Trace Format" of its documentation, and the entries in the header
//! `clients/drcachesim/common/trace_entry.h`.

mod archive;
mod entry;
mod read;
mod write;

pub(crate) use archive::Chunks;
pub(crate) use read::Reading;
pub(crate) use write::{CHUNK, Writing};
