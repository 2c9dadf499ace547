//! What a Linux guest knows of itself: its symbols, its types, its processes and what they have mapped.
//!
//! The guest does not help, and nothing of it changes: its memory is read. A kernel describes itself: its symbols are in its image
//! (`CONFIG_KALLSYMS`), and so are its types with the offset of each field (`CONFIG_DEBUG_INFO_BTF`). So no kernel is known in advance. A kernel
//! without either, or with other structures, is one of which nothing is known here.
//!
//! A guest is hostile. Whatever its memory has in it, each question ends after a bounded number of reads, with an answer or without one.
#![forbid(unsafe_code)]

mod areas;
mod btf;
mod kallsyms;
mod layout;
mod linux;
mod maple;
mod mapping;
mod memory;
mod path;
mod process;

pub use areas::{KernelArea, kernel_areas};
pub use kallsyms::{KernelSymbol, KernelSymbolKind, LINKED_AT, kernel_symbols};
pub use linux::{Linux, image_bytes};
pub use mapping::{Contents, Mapping};
pub use memory::KernelMemory;
pub use process::Process;
