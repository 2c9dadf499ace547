//! Text for people: tables, paragraphs, and what guests and files bring into it; and tables for programs.

pub mod cell;
pub(crate) mod csv;
pub(crate) mod layout;
pub(crate) mod markdown;
pub(crate) mod paragraph;
pub mod quoted;
pub mod table;
