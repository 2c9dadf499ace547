//! The file behind a pageable section.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use types::PageSize;

/// Bytes of a page.
const PAGE: u64 = PageSize::Size4K.bytes();

/// A page's content.
pub(super) type PageBytes = [u8; PAGE as usize];

/// A file that holds a section's pages. Its length does not change; a last page that it does not fill ends in zeroes.
#[derive(Debug)]
pub struct BackingFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    writable: bool,
    /// Device and number of the file: what it is, whatever its names.
    identity: (u64, u64),
}

/// Why a backing file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BackingError {
    /// The system refuses.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is a directory, a device or the like, or it is empty.
    #[error("{0}: a section's backing store must be an ordinary file that is not empty")]
    NotAFile(PathBuf),
}

impl BackingFile {
    /// The file at `path`, whose pages may be written back if `writable`.
    ///
    /// # Errors
    /// [`BackingError`].
    pub fn open(path: &Path, writable: bool) -> Result<Self, BackingError> {
        let io = |error| BackingError::Io { path: path.to_owned(), error };
        // What is no ordinary file must not be opened: a FIFO would never return.
        let about = std::fs::metadata(path).map_err(io)?;
        if !about.is_file() || about.len() == 0 {
            return Err(BackingError::NotAFile(path.to_owned()));
        }
        let file = OpenOptions::new().read(true).write(writable).open(path).map_err(io)?;
        let about = file.metadata().map_err(io)?;
        Ok(Self { path: path.to_owned(), file, bytes: about.len(), writable, identity: (about.dev(), about.ino()) })
    }

    /// `bytes` of zeroes, in a file without a name in the system's directory for temporary files. It goes when the section goes.
    ///
    /// # Errors
    /// [`BackingError::Io`].
    pub fn unnamed(bytes: u64) -> Result<Self, BackingError> {
        let path = std::env::temp_dir();
        let io = |error| BackingError::Io { path: path.clone(), error };
        let file = tempfile::tempfile().map_err(io)?;
        file.set_len(bytes).map_err(io)?;
        let about = file.metadata().map_err(io)?;
        let identity = (about.dev(), about.ino());
        Ok(Self { path, file, bytes, writable: true, identity })
    }

    /// Its length in whole pages.
    #[must_use]
    pub const fn pages(&self) -> u64 {
        self.bytes.div_ceil(PAGE)
    }

    /// Whether pages may be written back.
    #[must_use]
    pub const fn is_writable(&self) -> bool {
        self.writable
    }

    /// Whether both are the same file.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.identity == other.identity
    }

    /// Reads page number `page`. That the file has become shorter is an error.
    pub(super) fn read(&self, page: u64) -> Result<PageBytes, BackingError> {
        let mut bytes = [0; PAGE as usize];
        let length = self.length(page);
        self.file.read_exact_at(&mut bytes[..length], page * PAGE).map_err(|error| self.error(error))?;
        Ok(bytes)
    }

    /// Writes page number `page`, as far as the file goes.
    pub(super) fn write(&self, page: u64, bytes: &PageBytes) -> Result<(), BackingError> {
        let length = self.length(page);
        self.file.write_all_at(&bytes[..length], page * PAGE).map_err(|error| self.error(error))
    }

    /// Bytes of page number `page` that are in the file.
    fn length(&self, page: u64) -> usize {
        self.bytes.saturating_sub(page * PAGE).min(PAGE) as usize
    }

    fn error(&self, error: io::Error) -> BackingError {
        BackingError::Io { path: self.path.clone(), error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_last_page_ends_in_zeroes_that_never_reach_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, [7; 5000]).unwrap();
        let file = BackingFile::open(&path, true).unwrap();
        assert_eq!(file.pages(), 2);
        let mut last = file.read(1).unwrap();
        assert!(last[..904].iter().all(|&byte| byte == 7) && last[904..].iter().all(|&byte| byte == 0));
        last.fill(9);
        file.write(1, &last).unwrap();
        let content = fs::read(&path).unwrap();
        assert_eq!((content.len(), content[4095], content[4096], content[4999]), (5000, 7, 9, 9));
    }

    #[test]
    fn what_is_no_file_is_refused_and_what_shrinks_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        let error = |path: &Path| BackingFile::open(path, false).unwrap_err().to_string();
        assert!(error(&path).contains("data"));
        assert!(error(directory.path()).contains("ordinary file"));
        assert!(error(Path::new("/dev/zero")).contains("ordinary file"));
        fs::write(&path, "").unwrap();
        assert!(error(&path).contains("not empty"));
        fs::write(&path, [1; 8192]).unwrap();
        let file = BackingFile::open(&path, false).unwrap();
        fs::write(&path, [1; 100]).unwrap();
        assert!(file.read(1).unwrap_err().to_string().contains("data"));
        assert!(file.write(0, &[0; 4096]).is_err(), "it was opened for reading");
    }
}
