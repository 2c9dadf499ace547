//! `pagewalk record`, `pagewalk import` and `pagewalk sweep`.

mod about;
pub(super) mod import;
mod lines;
mod pages;
mod permitted;
pub(super) mod record;
pub(super) mod sweep;
mod tracing;
