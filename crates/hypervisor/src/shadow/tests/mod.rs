//! Shadow tables on real MMUs: closed forms, the paper's cases, hostile guests, and agreement with the model.

mod agile;
mod agreement;
mod derive;
mod fences;
mod fills;
mod fixture;
mod hashed;
mod hostile;
mod intervals;
mod paper;
mod replaced;
mod switches;
mod write_protect;
