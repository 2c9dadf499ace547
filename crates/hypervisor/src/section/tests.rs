//! The API with real tables, and with real MMUs that walk them.

mod fixture;
mod isolation;
mod maps;
mod pages;
mod shadow;
