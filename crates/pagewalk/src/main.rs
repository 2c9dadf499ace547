//! The `pagewalk` command.
fn main() {}
