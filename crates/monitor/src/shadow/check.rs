//! Whether every shadow entry is allowed.
