//! Pagewalk's command as a library: the command line, guests, commands and reports. A crate that adds translation schemes of its own calls [`main`].
#![forbid(unsafe_code)]

mod advice;
mod cleanup;
pub mod cli;
pub mod commands;
mod comparison;
pub mod error;
pub mod guest;
mod hosting;
mod html;
mod image;
mod input;
pub mod interrupt;
mod kernel_panic;
pub mod output;
mod paragraph;
pub mod processor;
mod program;
pub mod progress;
mod quiet;
pub mod quoted;
pub mod readers;
mod reproduce;
mod sandbox;
mod setup;
mod shared_memory;
mod side_by_side;
mod start;
mod store;
mod systems;
pub mod table;
pub mod terminal;
mod walks;
mod workload_size;

pub use program::main;
pub use reproduce::end_with_parent;
pub use schemes;
