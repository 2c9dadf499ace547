//! Files that are copied and removed.

use crate::failure::Failure;
use std::fs;
use std::path::Path;

/// Copies the files of a directory, without its directories, which are Python's caches.
pub(super) fn copy_files(from: &Path, to: &Path) -> Result<(), Failure> {
    let failed = |error: std::io::Error| format!("{}: {error}", from.display());
    fs::create_dir_all(to).map_err(|error| format!("{}: {error}", to.display()))?;
    for entry in fs::read_dir(from).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if let Some(name) = path.file_name().filter(|_| path.is_file()) {
            copy(&path, &to.join(name))?;
        }
    }
    Ok(())
}

/// Copies a file.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::copy(from, to).map(drop).map_err(|error| format!("{}: {error}", from.display()))
}

/// Removes a directory with what it holds, if it is there.
pub(super) fn remove(directory: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(format!("{}: {error}", directory.display())),
        Ok(()) | Err(_) => Ok(()),
    }
}
