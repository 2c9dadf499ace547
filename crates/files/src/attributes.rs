//! What the guest is told of a file: `struct fuse_attr`, with as little of the host in it as can be.

use crate::message::Answer;
use crate::root::Access;
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

/// For how many seconds of its own time the guest may rely on what it was told.
pub(crate) const VALID_SECONDS: u64 = 1;

/// Permission bits that a guest can see and set. A file that runs with the rights of its owner cannot be made from inside.
pub(crate) const PERMISSIONS: u32 = 0o777;

const BLOCK_BYTES: u32 = 4096;

/// The kinds of files that there are for a guest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    File,
    Directory,
    Link,
}

impl Kind {
    /// That of a file of the host.
    ///
    /// # Errors
    /// `ENOENT`: there is no such file for the guest.
    pub(crate) fn of(file_type: FileType) -> Result<Self, Errno> {
        match file_type {
            FileType::RegularFile => Ok(Self::File),
            FileType::Directory => Ok(Self::Directory),
            FileType::Symlink => Ok(Self::Link),
            _ => Err(Errno::NOENT),
        }
    }

    /// That of a file of the host.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub(crate) fn of_stat(stat: &Stat) -> Result<Self, Errno> {
        Self::of(FileType::from_raw_mode(stat.st_mode))
    }

    /// As `st_mode` has it.
    const fn mode(self) -> u32 {
        match self {
            Self::File => 0o100_000,
            Self::Directory => 0o040_000,
            Self::Link => 0o120_000,
        }
    }

    /// As `d_type` has it.
    pub(crate) const fn entry(self) -> u32 {
        self.mode() >> 12
    }
}

/// What a guest is told of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Attributes {
    inode: u64,
    mode: u32,
    /// Bytes.
    size: u64,
    /// Seconds since 1970, and nanoseconds.
    modified: (u64, u32),
}

impl Attributes {
    /// Those of a file that is `inode` for the guest.
    ///
    /// # Errors
    /// As [`Kind::of`].
    pub(crate) fn of(stat: &Stat, inode: u64, access: Access) -> Result<Self, Errno> {
        let kind = Kind::of_stat(stat)?;
        let size = match kind {
            Kind::File | Kind::Link => u64::try_from(stat.st_size).unwrap_or(0),
            // How long a directory is depends on the host's file system.
            Kind::Directory => u64::from(BLOCK_BYTES),
        };
        let (permissions, modified) = match (access, kind) {
            (_, Kind::Link) => (0o777, (0, 0)),
            (Access::Write, _) => (stat.st_mode & PERMISSIONS, (stat.st_mtime as u64, stat.st_mtime_nsec as u32)),
            // A check-out of the same files has other times, and by the umask other bits.
            (Access::Read, Kind::File) if stat.st_mode & 0o100 == 0 => (0o444, (0, 0)),
            (Access::Read, Kind::File | Kind::Directory) => (0o555, (0, 0)),
        };
        Ok(Self { inode, mode: kind.mode() | permissions, size, modified })
    }

    /// `struct fuse_attr`.
    pub(crate) fn write(&self, answer: Answer) -> Answer {
        let (seconds, nanoseconds) = self.modified;
        let sizes = answer.u64(self.inode).u64(self.size).u64(self.size.div_ceil(512));
        let times = sizes.u64(seconds).u64(seconds).u64(seconds).u32(nanoseconds).u32(nanoseconds).u32(nanoseconds);
        // One link, owner and group root, no device, and no flags.
        times.u32(self.mode).u32(1).zeroes(12).u32(BLOCK_BYTES).u32(0)
    }

    /// `struct fuse_attr_out`.
    pub(crate) fn answer(&self) -> Answer {
        self.write(Answer::default().u64(VALID_SECONDS).zeroes(8))
    }

    /// `struct fuse_entry_out`: the file that has the number `node`.
    pub(crate) fn entry(&self, node: u64) -> Answer {
        self.write(Answer::default().u64(node).u64(0).u64(VALID_SECONDS).u64(VALID_SECONDS).zeroes(8))
    }
}
