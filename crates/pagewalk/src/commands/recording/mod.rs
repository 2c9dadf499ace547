//! `pagewalk record`, `pagewalk import` and `pagewalk sweep`.

mod about;
mod columns;
pub(super) mod import;
mod jobs;
mod lines;
mod permitted;
mod products;
pub(super) mod record;
mod replay;
mod study;
pub(super) mod sweep;
