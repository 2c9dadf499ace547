//! A directory of the host as a file system of a guest: a server of FUSE messages, as a virtio file system device carries them.
//!
//! The protocol is that of `linux/fuse.h`, version 7.31 and later. [`Server::answer`] takes one message and returns its answer. It runs in
//! the caller's thread and never waits for anything but the host's file system.
//!
//! The guest is hostile. It names files, and everything that it names stays in the directory:
//!
//! * A file is a path of checked names, relative to the directory. The host's kernel resolves the path at each use (openat2(2)), beneath the
//!   directory and through no symbolic link. So it does not matter what the guest, or anyone on the host, renames in between.
//! * A symbolic link is given to the guest as text, and the guest follows it among its own files. A guest makes no link that leads out.
//! * Only regular files, directories and symbolic links are there for the guest. A pipe or a device of the host is not.
//! * All that is kept for the guest is bounded: files that it knows ([`MOST_NODES`]), open ones ([`MOST_OPEN`]), listings ([`MOST_LISTED`]).
//!
//! Equal directories look equal: entries are sorted, inode numbers derive from paths, owners are root. Of a directory that the guest only reads,
//! all times are 0, and modes say only what can be executed.
#![forbid(unsafe_code)]

mod attributes;
mod change;
mod handles;
mod listing;
mod message;
mod names;
mod nodes;
mod opcode;
mod open_files;
mod root;
mod server;
mod state;

pub use handles::{MOST_LISTED, MOST_OPEN};
pub use nodes::MOST_NODES;
pub use root::{Access, Root, RootError};
pub use server::{Malformed, Server};
