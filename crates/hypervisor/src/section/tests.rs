//! The API with real tables, and with real MMUs that walk them.

mod isolation;
mod maps;
mod pages;
mod rig;
mod shadow;
