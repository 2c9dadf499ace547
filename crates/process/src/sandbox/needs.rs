//! What a run needs of the kernel once the guest runs.

use std::ops::Range;
use std::path::PathBuf;

/// What a run needs beside memory, threads and the files that it has open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// Addresses that code is compiled to: the only ones that may become executable. `None`: nothing is compiled.
    pub code: Option<CodeRange>,
    /// Files and directories that are opened or changed while the guest runs.
    pub paths: Vec<(PathBuf, Access)>,
    /// Sockets that are listened on: the only ones on which connections are accepted.
    pub listeners: Vec<u32>,
    /// Whether the run reaches the network: if so, it makes sockets for TCP and UDP, and connects them.
    pub network: Option<Datagrams>,
}

/// What a run that reaches the network does with datagrams beside sending them where their socket is connected to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Datagrams {
    /// Sockets from which datagrams go to any address.
    pub anywhere: Vec<u32>,
}

impl Sandbox {
    /// Whether a directory is shared with a guest that reads it, or changes it.
    pub(super) fn shares(&self) -> (bool, bool) {
        let any = |wanted: &[Access]| self.paths.iter().any(|(_, access)| wanted.contains(access));
        (any(&[Access::ShareRead, Access::ShareWrite]), any(&[Access::ShareWrite]))
    }

    /// Whether any file is opened.
    pub(super) fn opens(&self) -> bool {
        self.paths.iter().any(|(_, access)| access.opens())
    }
}

/// Where compiled code lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeRange {
    /// Addresses at which a change of rights may begin.
    pub addresses: Range<usize>,
    /// The most bytes of one change of rights. As many behind `addresses` belong to the same reservation.
    pub longest: usize,
}

/// What a run does with a file, or with the files in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Opens them for reading.
    Read,
    /// Opens them for reading and writing.
    ReadWrite,
    /// Opens, makes, renames and removes files in the directory.
    Directory,
    /// Gives a file that is open already its name in the directory, in the place of what has it.
    Rename,
    /// Removes empty directories in the directory.
    RemoveDirectory,
    /// Removes files in the directory.
    RemoveFile,
    /// Serves the files of the directory to a guest, which reads them.
    ShareRead,
    /// Serves the files of the directory to a guest, which reads and changes them.
    ShareWrite,
    /// Gives files and directories in one of its directories a name in the directory, in the place of what has it.
    MoveUp,
}

impl Access {
    /// Whether a file is opened.
    const fn opens(self) -> bool {
        match self {
            Self::Read | Self::ReadWrite | Self::Directory => true,
            Self::Rename | Self::RemoveDirectory | Self::RemoveFile | Self::MoveUp => false,
            // With a call of its own.
            Self::ShareRead | Self::ShareWrite => false,
        }
    }
}
