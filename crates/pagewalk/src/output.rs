//! What a command leaves: text on standard output, and files that are whole or not there at all.

use serde::Serialize;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::NamedTempFile;

/// Prints `text` on standard output. That nobody reads it any more, as behind `| head`, is no failure.
///
/// # Errors
/// As the host's system says, such as no space where the output is directed to.
pub fn print(text: &str) -> io::Result<()> {
    print_bytes(text.as_bytes())
}

/// Prints what may be no text, such as a guest's output; see [`print`].
///
/// # Errors
/// As [`print`].
pub fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut output = io::stdout().lock();
    match output.write_all(bytes).and_then(|()| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes `content` to `path` by way of a temporary file beside it, so that no reader and no failure ever sees half of it.
///
/// # Errors
/// As the host's system says: no such directory, no space, no permission. `path` is then untouched.
pub fn write_atomically(path: &Path, content: &[u8]) -> io::Result<()> {
    write_file(path, |mut file| file.write_all(content))
}

/// The same for what `write` makes of an empty file.
///
/// # Errors
/// As [`write_atomically`].
pub fn write_file(path: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    let file = temporary_beside(path)?;
    write(file.as_file())?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Whether [`write_atomically`] has a chance, for whoever has long work to do before. Nothing is left behind.
///
/// # Errors
/// As [`write_atomically`].
pub fn check_writable(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    temporary_beside(path).map(drop)
}

fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The mode of an ordinary new file (the umask applies), where a temporary file's own is the owner's alone.
    let mode = Permissions::from_mode(0o666);
    tempfile::Builder::new().prefix(".pagewalk-").permissions(mode).tempfile_in(directory)
}

/// Writes `value` to `path` as indented JSON with a newline at its end; see [`write_atomically`].
///
/// # Errors
/// As [`write_atomically`], or if `value` has no JSON form.
pub fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    write_atomically(path, &text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_output_replaces_the_earlier_one_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.json");
        write_json(&path, &[1, 2]).unwrap();
        write_json(&path, &[3]).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "[\n  3\n]\n");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_failure_leaves_the_earlier_output() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        fs::create_dir(&path).unwrap();
        assert!(write_atomically(&path, b"x").is_err());
        assert!(write_atomically(&directory.path().join("no/such"), b"x").is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn others_may_read_an_output_as_the_umask_says() {
        let directory = tempfile::tempdir().unwrap();
        let ordinary = directory.path().join("ordinary");
        fs::write(&ordinary, b"x").unwrap();
        let path = directory.path().join("out");
        write_atomically(&path, b"x").unwrap();
        let mode = |path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&ordinary));
    }
}
