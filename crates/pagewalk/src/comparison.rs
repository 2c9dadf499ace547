//! A comparison: one workload, or several, on several systems, side by side on the host's processors.

pub(crate) mod caches;
mod execute;
mod keep;
mod model;
mod report;
mod shadow;
mod table;

pub(crate) use execute::{Finished, Plan, execute};
pub(crate) use model::model;
pub(crate) use report::report;
pub(crate) use shadow::upkeep;
pub(crate) use table::{Over, details, lacks_natives, overview};
