//! The registry on disk.
//!
//! # Protocol of a change
//! 1. `<file>.lock` is locked. It stays there; the system takes the lock from a command that dies.
//! 2. The file is read.
//! 3. The changed text is written to `<file>.new`, which is then flushed to the disk.
//! 4. `<file>.new` is renamed to the file, and the directory is flushed.
//!
//! Up to the rename the file is what it was, and from then on what it should be, whatever happens to the command or the disk. A reader needs no
//! lock. What a killed command leaves in `<file>.new` is overwritten by the next.

use super::document::{self, Damaged};
use super::set::{EditError, Registry};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// A registry's file, which need not be there yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegistryFile {
    path: PathBuf,
}

/// Why a registry can be neither read nor changed. The file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The system refuses.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file holds something else.
    #[error("{path}: {damaged}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where and what.
        damaged: Damaged,
    },
    /// What was to be changed cannot be.
    #[error(transparent)]
    Edit(#[from] EditError),
}

/// The longest registry, in bytes: it is read as a whole.
const MOST_BYTES: u64 = 16 << 20;

/// Where the registry is by default: `$XDG_CONFIG_HOME/pagewalk/reserved-memory.toml`, or `~/.config/pagewalk/reserved-memory.toml`. `None`
/// without a home directory.
#[must_use]
pub fn default_path() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")))?;
    Some(base.join("pagewalk").join("reserved-memory.toml"))
}

impl RegistryFile {
    /// The registry at `path`.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it holds: nothing, if it is not there.
    ///
    /// # Errors
    /// [`RegistryError::Io`], [`RegistryError::Damaged`].
    pub fn read(&self) -> Result<Registry, RegistryError> {
        read(&self.path)
    }

    /// Changes what it holds; commands that do so at once wait for each other. Nothing is written if `change` fails.
    ///
    /// # Errors
    /// [`RegistryError`].
    pub fn change<T>(&self, change: impl FnOnce(&mut Registry) -> Result<T, EditError>) -> Result<T, RegistryError> {
        if let Some(directory) = self.path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            fs::create_dir_all(directory).map_err(at(directory))?;
        }
        let path = target(&self.path)?;
        let lock = beside(&path, ".lock");
        let held = OpenOptions::new().create(true).truncate(false).write(true).open(&lock).map_err(at(&lock))?;
        held.lock().map_err(at(&lock))?;
        let mut registry = read(&path)?;
        let outcome = change(&mut registry)?;
        replace(&path, document::write(&registry).as_bytes())?;
        Ok(outcome)
    }
}

fn read(path: &Path) -> Result<Registry, RegistryError> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Registry::default()),
        other => other.map_err(at(path))?,
    };
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(at(path))?;
    let damaged = |line, problem: String| RegistryError::Damaged {
        path: path.to_owned(),
        damaged: Damaged { line, key: None, problem },
    };
    if bytes.len() as u64 > MOST_BYTES {
        return Err(damaged(1, format!("the file has more than {MOST_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.iter().filter(|&&byte| byte == b'\n').count() + 1;
        damaged(line, "the file is not UTF-8 text".to_owned())
    })?;
    document::read(&text).map_err(|damaged| RegistryError::Damaged { path: path.to_owned(), damaged })
}

/// Writes `content` to `path`, all of it or nothing.
fn replace(path: &Path, content: &[u8]) -> Result<(), RegistryError> {
    let new = beside(path, ".new");
    let written = write_new(&new, path, content);
    if written.is_err() {
        // What is left of it is of no use to anybody; that it stays is no further harm.
        let _ = fs::remove_file(&new);
    }
    written.map_err(at(path))?;
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The rename is done, and a directory that cannot be flushed is no reason to say that it is not.
    let _ = File::open(directory).and_then(|directory| directory.sync_all());
    Ok(())
}

fn write_new(new: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    // A killed command may have left one. A new file, and not the old one's content replaced, because the path may be a link.
    match fs::remove_file(new) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => other?,
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(new)?;
    if let Ok(before) = fs::metadata(path) {
        file.set_permissions(before.permissions())?;
    }
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(new, path)
}

/// The file itself, where `path` is a link to it: a rename would put a file in the link's place.
fn target(path: &Path) -> Result<PathBuf, RegistryError> {
    if path.is_symlink() { fs::canonicalize(path).map_err(at(path)) } else { Ok(path.to_owned()) }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> RegistryError {
    let path = path.to_owned();
    move |error| RegistryError::Io { path, error }
}

#[cfg(test)]
mod tests;
