//! Traces of instructions in the formats of other simulators, and recordings made of them (docs/traces.md).
//!
//! A trace is a stream of [`Record`]s. Each format has a file with its reader and its writer. [`Mapping`] replaces the operating system: it gives
//! frames and page tables to the pages of a trace. [`Importer`] makes the events of a recording of both.
//!
//! Modules use those of the lines below theirs:
//!
//! ```text
//! importer            records as events of a recording
//! given               frames and tables as a map has them
//! mapping             frames and tables for pages
//! input, output       files, compressed or not
//! champsim, lackey, drmemtrace
//!                     formats
//! tables, v2p         tables of pages, the map from virtual to physical pages
//! riscv, operands     what an encoding reads and writes
//! record, error
//! ```
#![forbid(unsafe_code)]

mod champsim;
mod drmemtrace;
mod error;
mod given;
mod importer;
mod input;
mod lackey;
mod mapping;
mod operands;
mod output;
mod record;
mod riscv;
mod tables;
mod v2p;

pub use error::TraceError;
pub use importer::{Imported, Importer, Touches};
pub use input::{Ended, Source, open};
pub use mapping::{Frames, Mapping, MappingError, Policy};
pub use operands::Operands;
pub use output::{Sink, create, create_archive};
pub use record::{Branch, BranchKind, Data, DataKind, Format, Instruction, Mark, Record};
pub use riscv::{Decoded, decode};
pub use v2p::{Page, PageError, PageMap};
