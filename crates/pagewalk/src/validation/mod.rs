//! Programs on this machine and in Pagewalk, side by side: what a page size costs, measured and predicted.

mod compared;
mod layouts;
mod native;
mod programs;
mod report;
mod simulated;
mod sources;

pub(crate) use compared::{Compared, Predicted, Summary, compared};
pub(crate) use layouts::with_layouts;
pub(crate) use native::{Measured, Native};
pub(crate) use programs::{PROGRAMS, Point, Program, Tuning, points};
pub(crate) use report::{Made, report};
pub(crate) use simulated::{GuestFrames, predicted, start};
