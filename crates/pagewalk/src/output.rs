//! What a command leaves: text on standard output, lines on standard error, and files.

mod printer;
mod standard;
mod target;
mod temporary;

pub use printer::{Format, Printer};
pub use standard::{print, print_console, print_of_guest, warn};
pub use target::Output;

use serde::Serialize;
use std::io;
use std::path::Path;

/// Writes `content` to `path`; see [`Output`].
///
/// # Errors
/// As the host's system says: no such directory, no space, no permission. A regular file is then untouched.
pub fn write_file(path: &Path, content: &[u8]) -> io::Result<()> {
    Output::open(path)?.write(content)
}

/// `value` as indented JSON with a newline at its end.
///
/// # Errors
/// If `value` has no JSON form.
pub fn json(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut text = profiles::escape_controls(serde_json::to_string_pretty(value)?);
    text.push('\n');
    Ok(text.into_bytes())
}

#[cfg(test)]
mod tests;
