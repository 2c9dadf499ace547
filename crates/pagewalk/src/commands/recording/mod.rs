//! `pagewalk record` and `pagewalk sweep`.

mod about;
mod lines;
mod permitted;
pub(super) mod record;
pub(super) mod sweep;
