//! The papers' evaluations: each an experiment file (`experiments/*.toml`) that one engine runs.
//!
//! ```text
//! experiment file ─► measurements: commands of Pagewalk, each kept once it is done (measure.rs, ../store.rs)
//!                        └─► figures: the paper's numbers and ours (figure.rs)
//!                        └─► claims: verdicts by rules that are in the file (claim.rs)
//!                                └─► text (table.rs) and JSON (report.rs)
//! ```

mod claim;
mod experiment;
mod expression;
mod figure;
mod measure;
mod report;
mod table;

pub(crate) use experiment::Experiment;
pub use measure::end_with_parent;
pub(crate) use measure::{Scale, measure};
pub(crate) use report::Reproduction;
pub(crate) use table::print;
