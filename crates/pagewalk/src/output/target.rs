//! A file that the user named for an output: what it is decides how it is written.

use super::standard::claim_standard_output;
use super::temporary::{Temporary, directory_of};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::fd::AsFd;
use std::path::{Component, Path, PathBuf};

/// Where an output goes, opened before the work for it begins.
///
/// A regular file is replaced whole: what is written goes to a temporary file in the same directory, which is renamed at the end, so that
/// no reader and no failure ever sees half of it. A symbolic link is followed first, and stays. Whatever else has the name, such as a device or a
/// FIFO, is written to and stays what it is; so is a file that a process has open already, as `/dev/stdout` and `/dev/fd/3` name it. `-` is
/// standard output, which then carries nothing else.
#[derive(Debug)]
pub struct Output {
    name: PathBuf,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    StandardOutput(File),
    /// Written to directly.
    Direct(File),
    Replace {
        temporary: Temporary,
        target: PathBuf,
    },
}

/// What a path leads to once links are followed.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    /// An open file of a process: `/proc/PID/fd/N`.
    Descriptor(PathBuf),
    /// A name in a directory, whether there is anything of that name or not.
    Name(PathBuf),
}

/// Links that are followed at the most, as by the host's system.
const MOST_LINKS: u32 = 40;

impl Output {
    /// Opens `path` for writing. A regular file stays as it is until the output is written.
    ///
    /// # Errors
    /// As the host's system says, or that another output has standard output.
    pub fn open(path: &Path) -> io::Result<Self> {
        let sink = if path == Path::new("-") {
            claim_standard_output()?;
            Sink::StandardOutput(duplicate(io::stdout())?)
        } else {
            match resolve(path)? {
                Target::Descriptor(path) => Sink::Direct(open_descriptor(&path)?),
                Target::Name(target) => Self::open_name(target)?,
            }
        };
        Ok(Self { name: path.to_owned(), sink })
    }

    /// Opens an output that is written at several positions. A pipe has no positions and is refused.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`io::ErrorKind::NotSeekable`].
    pub fn open_seekable(path: &Path) -> io::Result<Self> {
        let output = Self::open(path)?;
        match &output.sink {
            Sink::StandardOutput(file) | Sink::Direct(file) => {
                let mut file = file;
                file.stream_position()?;
            }
            Sink::Replace { .. } => {}
        }
        Ok(output)
    }

    fn open_name(target: PathBuf) -> io::Result<Sink> {
        let found = match fs::metadata(&target) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Sink::Replace { temporary: Temporary::beside(&target)?, target });
            }
            Err(error) => return Err(error),
        };
        if found.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !found.is_file() {
            return Ok(Sink::Direct(File::options().write(true).open(&target)?));
        }
        let temporary = Temporary::beside(&target)?;
        temporary.file().set_permissions(found.permissions())?;
        Ok(Sink::Replace { temporary, target })
    }

    /// As the user named it.
    #[must_use]
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// The directory in which a file is still to be given its name; `None` if nothing more has to be opened or renamed.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        match &self.sink {
            Sink::StandardOutput(_) | Sink::Direct(_) => None,
            Sink::Replace { temporary, .. } => Some(temporary.directory()),
        }
    }

    /// Writes `content`, which is the whole output.
    ///
    /// # Errors
    /// As the host's system says; a regular file is then as it was before.
    pub fn write(self, content: &[u8]) -> io::Result<()> {
        self.write_with(|mut file| file.write_all(content))
    }

    /// Writes what `write` makes of an empty file.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_with(self, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
        match self.sink {
            Sink::StandardOutput(file) => match write(&file) {
                // As everywhere on standard output, a closed pipe means that its reader has ended.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                other => other,
            },
            Sink::Direct(file) => write(&file),
            Sink::Replace { temporary, target } => {
                write(temporary.file())?;
                temporary.replace(&target)
            }
        }
    }
}

/// Follows symbolic links to the end. An open file is the end: its link says which file it is, and not how it was opened.
fn resolve(path: &Path) -> io::Result<Target> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        if is_descriptor(&path) {
            return Ok(Target::Descriptor(path));
        }
        match fs::read_link(&path) {
            Ok(link) => path = directory_of(&path).join(link),
            // No link, or nothing at all.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::NotFound) => {
                return Ok(Target::Name(path));
            }
            Err(error) => return Err(error),
        }
    }
    Err(Errno::LOOP.into())
}

/// Whether `path` is one of the links by which the host's system shows what a process has open.
fn is_descriptor(path: &Path) -> bool {
    let Ok(directory) = fs::canonicalize(directory_of(path)) else { return false };
    let names: Vec<&str> = directory
        .components()
        .filter_map(|component| match component {
            Component::Normal(name) => name.to_str(),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => None,
        })
        .collect();
    let number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    match names[..] {
        ["proc", process, "fd"] => number(process),
        ["proc", process, "task", thread, "fd"] => number(process) && number(thread),
        _ => false,
    }
}

/// A file that is open already, behind what it holds: others may be writing to it, too.
fn open_descriptor(path: &Path) -> io::Result<File> {
    let opened = File::options().append(true).open(path);
    match (&opened, path.file_name().and_then(|name| name.to_str())) {
        // A socket cannot be opened again, nor can another user's terminal.
        (Err(_), Some("1")) => duplicate(io::stdout()),
        (Err(_), Some("2")) => duplicate(io::stderr()),
        _ => opened,
    }
}

fn duplicate(file: impl AsFd) -> io::Result<File> {
    file.as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileTypeExt, symlink};

    fn resolved(path: &Path) -> Target {
        resolve(path).unwrap()
    }

    #[test]
    fn links_are_followed_to_a_file_and_to_what_is_not_there_yet() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        symlink("second", at("first")).unwrap();
        symlink("file", at("second")).unwrap();
        assert_eq!(resolved(&at("first")), Target::Name(at("file")));
        fs::write(at("file"), "old").unwrap();
        Output::open(&at("first")).unwrap().write(b"new").unwrap();
        assert_eq!(fs::read(at("file")).unwrap(), b"new");
        assert!(at("first").is_symlink() && at("second").is_symlink());
        symlink("round", at("round")).unwrap();
        assert!(resolve(&at("round")).is_err());
    }

    #[test]
    fn open_files_are_known_by_their_directory() {
        for path in ["/dev/stdout", "/dev/fd/2", "/proc/self/fd/0", "/proc/thread-self/fd/1"] {
            assert!(matches!(resolved(Path::new(path)), Target::Descriptor(_)), "{path}");
        }
        assert_eq!(resolved(Path::new("/dev/null")), Target::Name("/dev/null".into()));
    }

    #[test]
    fn a_fifo_is_written_to_and_stays_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let reader = {
            let path = path.clone();
            std::thread::spawn(move || fs::read(path).unwrap())
        };
        Output::open(&path).unwrap().write(b"through").unwrap();
        assert_eq!(reader.join().unwrap(), b"through");
        assert!(fs::symlink_metadata(&path).unwrap().file_type().is_fifo());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn what_is_open_is_written_behind_what_it_holds() {
        use std::os::fd::AsRawFd;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut log = File::create(&path).unwrap();
        log.write_all(b"first\n").unwrap();
        let name = format!("/dev/fd/{}", log.as_raw_fd());
        Output::open(Path::new(&name)).unwrap().write(b"second\n").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first\nsecond\n");
    }

    #[test]
    fn what_is_never_written_leaves_the_earlier_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        fs::write(&path, "old").unwrap();
        drop(Output::open(&path).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
