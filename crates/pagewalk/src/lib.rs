//! Pagewalk's command as a library: the command line, guests, commands and reports. A crate that adds translation schemes of its own calls [`main`].
#![forbid(unsafe_code)]

mod advice;
mod calibration;
mod cleanup;
pub mod cli;
pub mod commands;
mod comparison;
mod control;
pub mod error;
mod gdb;
pub mod guest;
mod html;
mod input;
pub mod interactive;
pub mod interrupt;
mod multi_vm;
mod observe;
pub mod output;
pub mod processor;
mod profile;
mod program;
pub mod progress;
pub mod readers;
mod reproduce;
mod runs;
mod sandbox;
mod setup;
mod shared_memory;
mod side_by_side;
mod store;
mod systems;
pub mod terminal;
pub mod text;
mod time_model;
mod top;
mod validation;
mod walks;

pub use program::main;
pub use reproduce::end_with_parent;
pub use schemes;
