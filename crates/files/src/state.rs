//! What the server keeps, and how a number of the guest's becomes a file of the host.

use crate::attributes::{Attributes, Kind};
use crate::handles::Handles;
use crate::nodes::{Nodes, ROOT};
use crate::root::{Access, Root, resolve};
use rustix::fs::{AtFlags, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// A server's state.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) root: Root,
    pub(crate) nodes: Nodes,
    pub(crate) handles: Handles,
}

/// An entry of a directory of the host, whether there is one or not.
#[derive(Debug)]
pub(crate) struct Place {
    /// The directory, open for nothing but paths.
    directory: OwnedFd,
    /// A name that was checked, or `.`.
    pub(crate) name: Arc<[u8]>,
}

impl Place {
    /// The directory.
    pub(crate) fn directory(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }

    /// What is there, which may be a link.
    pub(crate) fn stat(&self) -> Result<Stat, Errno> {
        let stat = rustix::fs::statat(&self.directory, &self.name[..], AtFlags::SYMLINK_NOFOLLOW)?;
        Kind::of_stat(&stat).map(|_| stat)
    }

    /// Opens what is there, which must be no link.
    pub(crate) fn open(&self, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        resolve(self.directory(), &self.name, flags, mode)
    }
}

impl State {
    /// That of a guest that knows nothing but the root.
    pub(crate) const fn new(root: Root) -> Self {
        Self { root, nodes: Nodes::new(), handles: Handles::new() }
    }

    /// The entry `name` of the directory that has the number `parent`.
    pub(crate) fn entry(&self, parent: u64, name: &[u8]) -> Result<Place, Errno> {
        let path = self.nodes.path(parent)?;
        let directory = self.root.resolve(&path, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
        Ok(Place { directory, name: name.into() })
    }

    /// Where the file of this number is.
    pub(crate) fn place(&self, node: u64) -> Result<Place, Errno> {
        if node == ROOT {
            return self.entry(ROOT, b".");
        }
        let (parent, name) = self.nodes.place(node)?;
        self.entry(parent, &name)
    }

    /// A descriptor of a file that the guest has open, and that has no name any more.
    pub(crate) fn nameless(&self, node: u64) -> Option<&OwnedFd> {
        self.handles.file_of(node).filter(|_| self.nodes.is_removed(node))
    }

    /// What the guest is told of a file.
    pub(crate) fn attributes(&self, node: u64) -> Result<Attributes, Errno> {
        let stat = match self.nameless(node) {
            Some(file) => rustix::fs::fstat(file)?,
            None => self.place(node)?.stat()?,
        };
        Attributes::of(&stat, self.nodes.inode(node), self.root.access())
    }

    /// Refuses to change what the guest may only read.
    pub(crate) fn check_writable(&self) -> Result<(), Errno> {
        match self.root.access() {
            Access::Write => Ok(()),
            Access::Read => Err(Errno::ROFS),
        }
    }
}
