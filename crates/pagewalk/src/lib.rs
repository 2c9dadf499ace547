//! Pagewalk's command as a library: the command line, guests, commands and reports.
#![forbid(unsafe_code)]

pub mod cli;
pub mod commands;
pub mod error;
pub mod guest;
pub mod output;
pub mod progress;
pub mod table;
pub mod terminal;
