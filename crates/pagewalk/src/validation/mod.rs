//! Programs on this machine and in Pagewalk, side by side: what a page size costs, measured and predicted.

mod compared;
mod conditions;
mod here;
mod layouts;
mod native;
mod programs;
mod report;
mod simulated;
mod sources;
mod table;

pub(crate) use compared::{Compared, Summary, compared};
pub(crate) use conditions::{frames, last_level, noisy};
pub(crate) use here::{measure, probe, with_last_level};
pub(crate) use layouts::with_layouts;
pub(crate) use programs::{PROGRAMS, Point, Program, points};
pub(crate) use report::{Made, report};
pub(crate) use simulated::{GuestFrames, predictions, start};
pub(crate) use table::table;
