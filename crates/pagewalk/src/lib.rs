//! Pagewalk's command as a library: the command line, guests, commands and reports.
#![forbid(unsafe_code)]

mod advice;
pub mod cli;
pub mod commands;
mod comparison;
pub mod error;
pub mod guest;
mod hosting;
mod html;
mod image;
pub mod output;
mod paragraph;
pub mod processor;
pub mod progress;
mod quiet;
mod reproduce;
mod setup;
mod shared_memory;
mod side_by_side;
mod start;
mod store;
mod systems;
pub mod table;
pub mod terminal;
mod walks;

pub use reproduce::end_with_parent;
