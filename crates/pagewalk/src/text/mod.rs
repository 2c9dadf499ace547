//! Text for people: tables, paragraphs, and what guests and files bring into it.

pub(crate) mod paragraph;
pub mod quoted;
pub mod table;
