//! What `calibrate` makes of its measurements: numbers with how sure they are, and a host model.

mod array;
mod model;
mod quantity;
mod report;
mod warnings;

pub(crate) use model::Calibrated;
pub(crate) use quantity::{Quantity, Unit, kept_beside_scan, lines_under_way, quantities};
pub(crate) use report::report;
pub(crate) use warnings::warnings;
