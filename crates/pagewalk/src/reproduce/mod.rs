//! The papers' evaluations: each an experiment file (`experiments/*.toml`) that one engine runs.
//!
//! ```text
//! experiment file ─► measurements: commands of Pagewalk, each kept once it is done (measure.rs, ../store.rs)
//!                        └─► figures: the paper's numbers and ours (figure.rs)
//!                        └─► claims: verdicts by bands in the file (rule.rs, claim.rs), of means over repeats (interval.rs)
//!                                └─► text (table.rs), JSON (report.rs) and verdicts to keep (verdicts.rs), with hashes of rules (manifest.rs)
//! ```

mod claim;
mod experiment;
mod expression;
mod figure;
mod interval;
mod manifest;
mod measure;
mod report;
mod rule;
mod table;
mod verdicts;

pub(crate) use experiment::{ALL, Experiment, Scale};
pub use measure::end_with_parent;
pub(crate) use measure::measure;
pub(crate) use report::{Reproduction, together};
pub(crate) use table::{print, print_counts};
pub(crate) use verdicts::Verdicts;
