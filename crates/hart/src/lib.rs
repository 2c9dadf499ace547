//! RV64GC decode and execution, CSRs and traps, over a bus that the user of the crate supplies.

pub mod float;
