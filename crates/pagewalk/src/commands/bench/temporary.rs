//! Files that are gone with the command.

use crate::error::Failure;
use std::io::Write;
use tempfile::NamedTempFile;

/// A file with this content.
///
/// # Errors
/// [`Failure::Run`], if it cannot be written.
pub(super) fn temporary(content: &[u8]) -> Result<NamedTempFile, Failure> {
    let written = NamedTempFile::new().and_then(|mut file| {
        file.write_all(content)?;
        Ok(file)
    });
    written.map_err(|error| Failure::Run(format!("a temporary file: {error}")))
}
