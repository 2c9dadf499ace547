//! A comparison: one workload, or several, on several systems, side by side on the host's processors.

mod agile;
mod beginning;
pub(crate) mod caches;
pub(crate) mod counts;
mod defaults;
mod execute;
mod finished;
mod interrupted;
mod keep;
mod model;
mod notes;
mod outcome;
mod report;
mod shadow;
mod table;
mod work;

pub(crate) use agile::modes;
pub(crate) use beginning::{add_beginnings, beginnings};
pub(crate) use defaults::{default_workloads, shortened, with_default_fidelity};
pub(crate) use execute::{Execution, Plan, execute};
pub(crate) use finished::Finished;
pub(crate) use interrupted::{mark_incomplete, tell_of_interruption, warn_of_missing};
pub(crate) use model::model;
pub(crate) use notes::{caption, notes};
pub(crate) use outcome::failure;
pub(crate) use report::report;
pub(crate) use shadow::maintenance;
pub(crate) use table::{Over, details, lacks_natives, overview};
pub(crate) use work::{LEAST_TRANSACTIONS, SAME};
