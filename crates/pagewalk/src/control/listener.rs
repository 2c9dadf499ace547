//! The socket that clients connect to, and its file.

use crate::cleanup::TemporaryPath;
use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen, socket_with,
};
use rustix::process::umask;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 8;

/// Neither inherited by other programs nor waited for.
const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// Where a run listens: `unix:PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketAddress(pub PathBuf);

impl FromStr for SocketAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("unix:") {
            Some(path) if !path.is_empty() => Ok(Self(path.into())),
            _ => Err(format!("`{text}` is not unix:PATH")),
        }
    }
}

/// A socket that listens. Its file is removed when this is dropped, and when a signal ends the process.
#[derive(Debug)]
pub(crate) struct Listener {
    socket: OwnedFd,
    path: TemporaryPath,
}

impl Listener {
    /// Listens at `address`, for this user alone. A file that a process left which has ended is replaced.
    ///
    /// # Errors
    /// [`io::ErrorKind::AddrInUse`] if a process listens there, or if the file is no socket; and as the host's system says.
    pub(crate) fn open(address: &SocketAddress) -> io::Result<Self> {
        let path = std::path::absolute(&address.0)?;
        let name = SocketAddrUnix::new(&path)?;
        remove_stale(&path, &name)?;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?;
        // The file has its rights from its first moment on.
        let before = umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
        let bound = bind(&socket, &name);
        umask(before);
        bound?;
        let path = TemporaryPath::remove_later(path);
        listen(&socket, BACKLOG)?;
        Ok(Self { socket, path })
    }

    /// The next client that waits, if one does.
    pub(super) fn accept(&self) -> Option<File> {
        accept_with(&self.socket, FLAGS).ok().map(File::from)
    }

    /// The directory of its file.
    pub(crate) fn directory(&self) -> &Path {
        self.path.path().parent().unwrap_or(Path::new("/"))
    }

    /// The number of its descriptor.
    pub(crate) fn number(&self) -> u32 {
        self.socket.as_raw_fd().unsigned_abs()
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Removes the socket's file that a process has left. A process that lives answers.
fn remove_stale(path: &Path, name: &SocketAddrUnix) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    let in_use = |problem: &str| Err(io::Error::new(io::ErrorKind::AddrInUse, problem));
    if !found.file_type().is_socket() {
        return in_use("there is a file that is no socket");
    }
    let probe = socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?;
    match connect(&probe, name) {
        Err(Errno::CONNREFUSED) => fs::remove_file(path),
        // It listens: accepted, or more clients wait already than it takes.
        Ok(()) | Err(Errno::AGAIN) => in_use("another process listens there"),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    #[test]
    fn an_address_has_its_kind_before_it() {
        assert_eq!("unix:a/b".parse(), Ok(SocketAddress("a/b".into())));
        for wrong in ["", "unix:", "a/b", "tcp:1"] {
            assert!(wrong.parse::<SocketAddress>().unwrap_err().contains(&format!("`{wrong}`")));
        }
    }

    #[test]
    fn a_file_of_a_dead_process_is_replaced_and_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| SocketAddress(directory.path().join(name));
        let stale = at("stale");
        drop(UnixListener::bind(&stale.0).unwrap());
        let listener = Listener::open(&stale).unwrap();
        assert_eq!(fs::metadata(&stale.0).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(Listener::open(&stale).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(listener);
        assert!(!stale.0.exists());
        fs::write(at("file").0, "x").unwrap();
        assert_eq!(Listener::open(&at("file")).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert_eq!(fs::read(at("file").0).unwrap(), b"x");
        assert!(Listener::open(&at(&"long".repeat(100))).is_err());
    }
}
