//! The Python package: its tests, and the wheel.

mod environment;
mod files;
mod package;
mod wheel;

pub(crate) use package::test;
pub(crate) use wheel::make as wheel;
